"""Downloading a file with its checksum, in several attempts."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError, UnreachableError

if TYPE_CHECKING:
    import requests

_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_LOCAL = "a local archive can be named instead (dataset.archive or MOVIELENS_ARCHIVE)"


class _RefusedError(Exception):
    """A failure that further attempts would repeat; not one of the errors that pooch retries."""


def download_to(path: Path, url: str, checksum: str | None, timeout: float, retries: int) -> None:
    """Download to `path`, complete and with the right checksum or not at all.

    Parameters
    ----------
    path, url
        Where to and where from.
    checksum
        Checksum that the file must have, as `kind:digest`; None accepts any file.
    timeout
        Seconds without a byte after which an attempt is given up.
    retries
        Further attempts after the first, each after a longer pause.

    Raises
    ------
    UnreachableError
        The server's name does not resolve, it refuses the connection or does not answer in time,
        or it reports an error of its own (5xx) in every attempt.
    InputError
        Anything else: another HTTP status, a failure of TLS, fewer bytes than announced, a wrong
        checksum.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    stream = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(), chunk_size=1 << 16, timeout=timeout
    )

    def attempt(url: str, output_file: object, pup: object) -> None:
        try:
            stream(url, output_file, pup)
        except (requests.exceptions.SSLError, requests.HTTPError) as error:
            # Without TLS, or where the request is at fault, another attempt would fail as well.
            if _status(error) < _SERVER_ERROR and _status(error) != _TOO_MANY_REQUESTS:
                raise _RefusedError(_reason(error)) from error
            raise

    pup = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: checksum},
        urls={path.name: url},
        retry_if_failed=retries,
    )
    try:
        pup.fetch(path.name, downloader=attempt)
    except (_RefusedError, requests.RequestException) as error:
        silent = (requests.ConnectionError, requests.Timeout, requests.HTTPError)
        if isinstance(error, silent) and _status(error) != _TOO_MANY_REQUESTS:
            raise UnreachableError(_reason(error), path=url) from error
        raise InputError(f"{_reason(error)}; {_LOCAL}", path=url) from error
    except ValueError as error:
        problem = f"wrong checksum, expected {checksum}; {_LOCAL}"
        raise InputError(problem, path=url) from error


def _status(error: "requests.RequestException") -> int:
    """Return the status of the answer, 0 if there was none."""
    return 0 if error.response is None else error.response.status_code


def _reason(error: Exception) -> str:
    """Say in a few words what went wrong below the layers of wrapping."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"answered {response.status_code} {response.reason}"
    text = str(error)
    known = {
        "Name or service not known": "its name cannot be resolved",
        "name resolution": "its name cannot be resolved",
        "NameResolutionError": "its name cannot be resolved",
        "Connection refused": "connection refused",
        "timed out": "timed out",
        "IncompleteRead": "fewer bytes than announced",
        "SSLError": "no secure connection",
        "[SSL": "no secure connection",
    }
    return next((words for sign, words in known.items() if sign in text), " ".join(text.split()))
