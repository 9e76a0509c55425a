"""Getting an archive of MovieLens: a local file, the cache, or the publisher's server."""

import logging
import shutil
from pathlib import Path

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.archive import read_archive
from sampled_metrics.datasets.catalogue import ML_1M, MovieLens
from sampled_metrics.datasets.download import download_to
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
    path, wanted, url = cache / f"{dataset.name}.zip", dataset.checksum, settings.url or dataset.url
    if path.is_file() and (wanted is None or checksum_of(path, wanted) == wanted):
        return path, "cache"
    _log.info("downloading %s", url)
    try:
        download_to(path, url, wanted, settings.timeout, settings.retries)
    except UnreachableError as error:
        raise UnreachableError(
            f"GroupLens could not be reached ({url}: {error.problem}); {_alternatives(dataset)}"
        ) from error
    return path, "download"


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
