"""Downloading a file: with its checksum, further attempts, and one line when it fails."""

import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics.datasets.catalogue import MovieLens

_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500


@dataclass(frozen=True)
class Download:
    """Where and how to download.

    Attributes
    ----------
    url
        Address of the archive; a mirror will do where the checksum decides.
    checksum
        What a downloaded file must hash to, the kind before a colon; None lets any pass.
    timeout
        Seconds without a byte after which an attempt is given up.
    retries
        Further attempts after the first, each after a longer pause.
    """

    url: str
    checksum: str | None
    timeout: float = 30.0
    retries: int = 3

    @classmethod
    def of(
        cls, dataset: MovieLens, url: str = "", timeout: float = 30.0, retries: int = 3
    ) -> "Download":
        """Download a dataset from its publisher, or from `url` if given.

        Only a verified checksum is demanded.
        """
        checksum = dataset.checksum if dataset.checksum_verified else None
        return cls(url or dataset.url, checksum, timeout, retries)


class _RefusedError(Exception):
    """The server's final word; deliberately none of the errors that are retried."""


def download_to(path: Path, download: Download, ways: str) -> None:
    """Download to `path`, whole and with the right checksum or not at all.

    Raises
    ------
    InputError
        The server refuses, breaks off or sends something else; the message ends with `ways` on.
    UnreachableError
        The server cannot be reached.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    stream = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(), chunk_size=1 << 16, timeout=download.timeout
    )

    def attempt(url: str, output_file: object, pup: object) -> None:
        try:
            stream(url, output_file, pup)
        except requests.HTTPError as error:
            status = error.response.status_code
            if status < _SERVER_ERROR and status != _TOO_MANY_REQUESTS:
                raise _RefusedError(f"answered {status} {error.response.reason}") from error
            raise

    pup = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: download.checksum},
        urls={path.name: download.url},
        retry_if_failed=download.retries,
    )
    try:
        pup.fetch(path.name, downloader=attempt)
    except _RefusedError as error:
        raise InputError(f"{download.url}: {error}; {ways}") from error
    except (requests.ConnectionError, requests.Timeout, requests.HTTPError) as error:
        raise UnreachableError(
            f"GroupLens could not be reached ({download.url}: {_reason(error)}); {ways}"
        ) from error
    except requests.RequestException as error:
        raise InputError(f"{download.url}: broke off ({_reason(error)}); {ways}") from error
    except ValueError as error:
        kind, _, digest = str(download.checksum).partition(":")
        name = {"sha256": "SHA-256"}.get(kind, kind.upper())
        raise InputError(
            f"{download.url}: sent something else than the official archive, "
            f"whose {name} is {digest}; {ways}"
        ) from error


def _reason(error: Exception) -> str:
    """Say in a few words what went wrong below the layers of wrapping."""
    text = str(error)
    known = {
        "Name or service not known": "its name cannot be resolved",
        "name resolution": "its name cannot be resolved",
        "NameResolutionError": "its name cannot be resolved",
        "Connection refused": "connection refused",
        "timed out": "timed out",
        "IncompleteRead": "fewer bytes than announced",
    }
    return next((words for sign, words in known.items() if sign in text), " ".join(text.split()))
