"""An archive from the cache or the publisher."""

import sys
import zipfile
from pathlib import Path

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
    download = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=settings.timeout)
    try:
        cache.fetch(name, downloader=download)
        # Where the publisher states no checksum, only this tells an archive from a web page.
        if not zipfile.is_zipfile(path):
            path.unlink()
            raise ValueError(f"{url} is no zip archive")
    except (requests.RequestException, ValueError) as error:
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
