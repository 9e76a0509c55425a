"""An archive from the cache or the publisher, within limits of size and time."""

import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pooch
import requests
import urllib3
from pooch.core import download_action
from tqdm import tqdm

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics.study.datasets.catalogue import ML_1M, MovieLens
from sampled_metrics.study.datasets.settings import DatasetSettings

_CHUNK = 65_536


def cached_or_downloaded(settings: DatasetSettings, dataset: MovieLens) -> tuple[Path, str]:
    """Return the path of the archive in the cache, and whether it was there or is downloaded."""
    name = f"{dataset.name}.zip"
    url = settings.url or dataset.url
    cache = pooch.create(
        settings.cache or pooch.os_cache("sampled-metrics"),
        base_url="",
        registry={name: dataset.checksum},
        urls={name: url},
        retry_if_failed=settings.retries,
    )
    path = Path(cache.path) / name
    is_cached = download_action(path, dataset.checksum)[0] == "fetch"
    try:
        cache.fetch(name, downloader=Downloader(settings, dataset))
    except (requests.RequestException, ValueError, LimitError) as error:
        remedy = f"set dataset.archive or MOVIELENS_ARCHIVE to a local {name}, or try again later"
        if not _is_unreachable(error):
            raise InputError(f"{error}; {remedy}", path=url) from error
        if dataset.name == ML_1M.name:
            remedy += "; or set `ranks: reference` to continue from those of the reference run"
        problem = f"GroupLens could not be reached ({url}: {error}); {remedy}"
        raise UnreachableError(problem) from error
    return path, "cache" if is_cached else "download"


def _is_unreachable(error: Exception) -> bool:
    """Return whether a server did not answer, or with an error of its own (5xx)."""
    if isinstance(error, requests.HTTPError):
        return error.response is not None and error.response.status_code >= 500
    silent = isinstance(error, requests.ConnectionError | requests.Timeout)
    return silent and not isinstance(error, requests.exceptions.SSLError)


class LimitError(Exception):
    """A download is too long or too slow; unlike a ValueError, pooch does not repeat it."""


@dataclass
class Downloader:
    """Function that pooch calls for each attempt; the time limit is that of all attempts."""

    settings: DatasetSettings
    dataset: MovieLens
    begin: float = field(default_factory=time.monotonic)

    def __call__(self, url: str, path: str | Path, _: object) -> None:
        """Write what the server sends to a file, as it comes, so that a slow server is noticed."""
        timeout = min(self.settings.timeout, self.settings.time_limit)
        with requests.get(url, stream=True, timeout=timeout) as response:
            response.raise_for_status()
            total = int(response.headers.get("content-length", 0))
            bar = tqdm(total=total, unit="B", unit_scale=True, disable=not sys.stderr.isatty())
            with bar, _errors_of_requests(), Path(path).open("wb") as file:
                while chunk := response.raw.read1(_CHUNK, decode_content=True):
                    file.write(chunk)
                    bar.update(len(chunk))
                    self._check_limits(file.tell())
        # Where the publisher states no checksum, this is all that tells an archive from a web page.
        if self.dataset.checksum is None and not zipfile.is_zipfile(path):
            raise ValueError(f"{url} is no zip archive")

    def _check_limits(self, size: int) -> None:
        if size > self.dataset.largest_archive:
            raise LimitError(f"more than {self.dataset.largest_archive:,} bytes")
        limit = self.settings.time_limit
        if time.monotonic() > self.begin + limit:
            raise LimitError(f"not complete after {limit:g} s (dataset.time_limit)")


@contextmanager
def _errors_of_requests() -> Iterator[None]:
    """Turn errors of urllib3 into those of requests, as requests itself does."""
    try:
        yield
    except urllib3.exceptions.ProtocolError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(error) from error
