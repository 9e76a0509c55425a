"""Getting an archive of MovieLens: a local file, the cache, or the publisher's server."""

import logging
import shutil
from pathlib import Path

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.archive import Ratings, read_archive
from sampled_metrics.datasets.catalogue import CITATION, ML_1M, MovieLens
from sampled_metrics.datasets.download import Download, download_to
from sampled_metrics.datasets.source import Source

_log = logging.getLogger(__name__)


def fetch(
    output: Path,
    archive: Path | None,
    cache: Path | None,
    dataset: MovieLens = ML_1M,
    download: Download | None = None,
) -> Source:
    """Put an archive at `output`: `archive` if given, else from the cache, else downloaded.

    A downloaded or cached file must have the official checksum if that is verified; otherwise a
    difference is logged. A local archive may differ: the source returned says whether it is
    official, and its content is checked when it is parsed.

    Parameters
    ----------
    output
        Where the archive goes.
    archive
        A local archive, used instead of cache and network.
    cache
        Folder for downloads; by default the user's cache folder.
    dataset
        Which MovieLens.
    download
        Address, checksum, timeout and retries; by default the publisher's address.

    Raises
    ------
    InputError
        The local archive is missing or not one, or the server sends something else.
    UnreachableError
        The server cannot be reached; the message names the alternatives.
    """
    import pooch

    if archive is not None:
        if not archive.is_file():
            raise InputError(f"no such file; expected a {dataset.title} archive", path=archive)
        path, origin = archive, "local archive"
    else:
        folder = Path(pooch.os_cache("sampled-metrics") if cache is None else cache)
        path, origin = _cached_or_downloaded(folder, dataset, download or Download.of(dataset))
    source = _source(path, origin, read_archive(path, dataset))
    with replacing(output) as temporary:
        shutil.copyfile(path, temporary)
    doubtful = dataset.checksum is not None and not dataset.checksum_verified
    if doubtful and not source.archive_is_official:
        actual = _checksum(path, str(dataset.checksum))
        _log.warning("%s: checksum %s; not verified: %s", path.name, actual, dataset.checksum)
    return source


def _cached_or_downloaded(cache: Path, dataset: MovieLens, download: Download) -> tuple[Path, str]:
    path, wanted = cache / f"{dataset.name}.zip", download.checksum
    if path.is_file() and (wanted is None or _checksum(path, wanted) == wanted):
        return path, "cache"
    _log.info("downloading %s", download.url)
    try:
        download_to(path, download)
    except UnreachableError as error:
        raise UnreachableError(
            f"GroupLens could not be reached ({download.url}: {error.problem}); "
            f"{_alternatives(dataset)}"
        ) from error
    return path, "download"


def _alternatives(dataset: MovieLens) -> str:
    """Say what to do without the publisher's server."""
    local = (
        "point dataset.archive (config) or MOVIELENS_ARCHIVE (environment) "
        f"at a local {dataset.name}.zip"
    )
    if dataset != ML_1M:
        return f"run again with a network, or {local}"
    return (
        f"run again with a network; {local}; or set `ranks: reference` (config) "
        "to continue from the ranks of the reference run"
    )


def _source(path: Path, origin: str, ratings: Ratings) -> Source:
    dataset = ratings.dataset
    official = None
    if dataset.checksum is not None:
        official = _checksum(path, dataset.checksum) == dataset.checksum
    inside = ratings.is_official
    return Source(
        dataset=dataset.name,
        origin=origin,
        archive=path.name,
        archive_sha256=_checksum(path, "sha256:").removeprefix("sha256:"),
        archive_is_official=official,
        bytes=path.stat().st_size,
        checksum=dataset.checksum,
        checksum_verified=dataset.checksum_verified,
        ratings_sha256=ratings.sha256,
        # The content of an official archive is official; that of another one may be.
        ratings_is_official=(official or None) if inside is None else inside,
        licence=dataset.licence,
        licence_url=dataset.licence_url,
        citation=CITATION,
    )


def _checksum(path: Path, like: str) -> str:
    """Return the checksum of a file, of the same kind as another one."""
    import pooch

    kind = like.partition(":")[0]
    return f"{kind}:{pooch.file_hash(str(path), alg=kind)}"
