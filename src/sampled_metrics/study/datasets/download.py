"""An archive from the cache or the publisher, within limits of size and time."""

import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import pooch
import requests
from pooch.core import download_action

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics.study.datasets.catalogue import ML_1M, MovieLens
from sampled_metrics.study.datasets.settings import DatasetSettings


def cached_or_downloaded(settings: DatasetSettings, dataset: MovieLens) -> tuple[Path, str]:
    """Return the path of the archive in the cache, and its origin, `cache` or `download`."""
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
    """Function that pooch calls for each attempt; the time limit is for all attempts together."""

    settings: DatasetSettings
    dataset: MovieLens
    begin: float = field(default_factory=time.monotonic)

    def __call__(self, url: str, path: str | Path, _: object) -> None:
        """Download to a file, within the limits."""
        timeout = min(self.settings.timeout, self.settings.time_limit)
        download = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=timeout)
        with LimitedFile(path, self.check) as file:
            download(url, file, None)
        # Where the publisher states no checksum, only this check tells an archive from a web page.
        if self.dataset.checksum is None and not zipfile.is_zipfile(path):
            raise ValueError(f"{url} is no zip archive")

    def check(self, size: int) -> None:
        """Raise LimitError if the size exceeds the limit or the time is up."""
        if size > self.dataset.largest_archive:
            raise LimitError(f"more than {self.dataset.largest_archive:,} bytes")
        limit = self.settings.time_limit
        if time.monotonic() > self.begin + limit:
            raise LimitError(f"not complete after {limit:g} s (dataset.time_limit)")


class LimitedFile(FileIO):
    """A new file whose size is checked after each part that is written."""

    def __init__(self, path: str | Path, check: Callable[[int], None]) -> None:
        super().__init__(path, "wb")
        self.check = check

    def write(self, part: Any) -> int:
        """Write some bytes."""
        written = super().write(part)
        self.check(self.tell())
        return written
