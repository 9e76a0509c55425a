"""Downloading a file within limits of size and time, in several attempts."""

import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
import urllib3
from tqdm import tqdm

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.settings import DatasetSettings

_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_LONGEST_PAUSE = 10
_CHUNK = 1 << 16
_LOCAL = "a local archive can be named instead (dataset.archive or MOVIELENS_ARCHIVE)"


class _RefusedError(Exception):
    """A failure that another attempt would repeat."""


class _SpoiltError(Exception):
    """A failure that another attempt may mend."""


def download_to(
    path: Path, url: str, settings: DatasetSettings, size: int, check: Callable[[Path], None]
) -> None:
    """Download a zip archive to `path`, complete and checked or not at all.

    The settings limit the time and the attempts, `size` the bytes; `check` raises InputError unless
    the file is the right one.

    Raises
    ------
    UnreachableError
        The server's name does not resolve, it refuses the connection or does not answer in time,
        or it reports an error of its own (5xx) in every attempt.
    InputError
        Anything else: another HTTP status, a failure of TLS, fewer bytes than announced, more
        bytes or seconds than allowed, no archive, a file that `check` refuses, a full disk.
    """
    end = time.monotonic() + settings.time_limit
    for attempt in range(settings.retries + 1):
        if attempt:
            time.sleep(min(attempt, _LONGEST_PAUSE))
        try:
            with replacing(path) as temporary:
                _stream(url, temporary, settings, size, end)
                _check(temporary, check)
        except (_RefusedError, _SpoiltError, requests.RequestException) as error:
            if attempt == settings.retries or _is_final(error):
                raise _told(error, url) from error
        else:
            return


def _is_final(error: Exception) -> bool:
    """Return whether another attempt would fail as well: without TLS, or with a wrong request."""
    if isinstance(error, requests.exceptions.SSLError | requests.HTTPError):
        return _status(error) < _SERVER_ERROR and _status(error) != _TOO_MANY_REQUESTS
    return isinstance(error, _RefusedError)


def _told(error: Exception, url: str) -> InputError:
    """Make the error for the user."""
    silent = (requests.ConnectionError, requests.Timeout, requests.HTTPError)
    if isinstance(error, silent) and not _is_final(error) and _status(error) != _TOO_MANY_REQUESTS:
        return UnreachableError(_reason(error), path=url)
    return InputError(f"{_reason(error)}; {_LOCAL}", path=url)


def _stream(url: str, path: Path, settings: DatasetSettings, size: int, end: float) -> None:
    """Write what the server sends, as it comes, so that a slow server is noticed."""
    with requests.get(url, stream=True, timeout=settings.timeout) as response, _as_requests():
        response.raise_for_status()
        total = int(response.headers.get("content-length", 0))
        bar = tqdm(total=total, unit="B", unit_scale=True, disable=not sys.stderr.isatty())
        with bar, path.open("wb") as file:
            while chunk := response.raw.read1(_CHUNK, decode_content=True):
                file.write(chunk)
                bar.update(len(chunk))
                if file.tell() > size:
                    raise _RefusedError(f"more than {size:,} bytes")
                if time.monotonic() > end:
                    limit = f"{settings.time_limit:g} s (dataset.time_limit)"
                    raise _RefusedError(f"not complete after {limit}")


@contextmanager
def _as_requests() -> Iterator[None]:
    """Turn errors of urllib3 into those of requests, as requests itself does."""
    try:
        yield
    except urllib3.exceptions.ProtocolError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(error) from error


def _check(path: Path, check: Callable[[Path], None]) -> None:
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            page = file.read(1000).lstrip().startswith(b"<")
        what = "a web page instead of an archive; a network may ask you to log in first"
        raise _RefusedError(f"sent {what if page else 'no zip archive'}")
    try:
        check(path)
    except InputError as error:
        raise _SpoiltError(error.problem) from error


def _status(error: Exception) -> int:
    """Return the status of the answer, 0 if there was none."""
    response: requests.Response | None = getattr(error, "response", None)
    return 0 if response is None else response.status_code


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
