"""Getting an archive of MovieLens: a local file, the cache, or the publisher's server."""

import logging
import shutil
from functools import partial
from pathlib import Path

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.archive import read_archive
from sampled_metrics.datasets.catalogue import ML_1M, MovieLens
from sampled_metrics.datasets.download import Limits, download_to
from sampled_metrics.datasets.settings import DatasetSettings
from sampled_metrics.datasets.source import Source, checksum_of, describe_archive

_log = logging.getLogger(__name__)


def fetch(output: Path, settings: DatasetSettings) -> Source:
    """Put an archive at `output`: the local one if there is one, else cached or downloaded.

    A downloaded or cached file must have the official checksum. A local archive may differ: the
    source returned says whether it is official, and its content is checked when it is parsed.
    """
    dataset = settings.published
    if dataset is None:
        raise InputError(f"{settings.name} is a table; only a MovieLens is fetched")
    if settings.archive is not None:
        path, origin = Path(settings.archive), "local archive"
        if not path.is_file():
            raise InputError(f"no such file; expected a {dataset.title} archive", path=path)
    else:
        path, origin = _cached_or_downloaded(settings, dataset)
    source = describe_archive(path, origin, read_archive(path, dataset))
    with replacing(output) as temporary:
        shutil.copyfile(path, temporary)
    return source


def _cached_or_downloaded(settings: DatasetSettings, dataset: MovieLens) -> tuple[Path, str]:
    import pooch

    cache = Path(settings.cache or pooch.os_cache("sampled-metrics"))
    path, url = cache / f"{dataset.name}.zip", settings.url or dataset.url
    check = partial(_check, dataset=dataset)
    if path.is_file():
        try:
            check(path)
        except InputError as error:
            _log.info("%s: %s", path, error.problem)
        else:
            return path, "cache"
    _log.info("downloading %s", url)
    time_limit, size = settings.time_limit, dataset.largest_archive
    try:
        limits = Limits(settings.timeout, time_limit, settings.retries, size)
        download_to(path, url, limits, check)
    except UnreachableError as error:
        raise UnreachableError(
            f"GroupLens could not be reached ({url}: {error.problem}); {_alternatives(dataset)}"
        ) from error
    return path, "download"


def _check(path: Path, dataset: MovieLens) -> None:
    """Raise InputError unless a file has the published checksum or, without one, can be read."""
    if dataset.checksum is None:
        read_archive(path, dataset).sha256  # noqa: B018, which reads all of it
    elif checksum_of(path, dataset.checksum) != dataset.checksum:
        raise InputError(f"wrong checksum, expected {dataset.checksum}", path=path)


def _alternatives(dataset: MovieLens) -> str:
    """Say what to do without the publisher's server."""
    local = (
        "point dataset.archive (config) or MOVIELENS_ARCHIVE (environment) "
        f"at a local {dataset.name}.zip"
    )
    if dataset.name != ML_1M.name:
        return f"run again with a network, or {local}"
    return (
        f"run again with a network; {local}; or set `ranks: reference` (config) "
        "to continue from the ranks of the reference run"
    )
