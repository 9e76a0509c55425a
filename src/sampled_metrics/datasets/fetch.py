"""Getting an archive of MovieLens: a local file, the cache, or the publisher's server."""

import logging
import shutil
from pathlib import Path

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.archive import Ratings, read_archive
from sampled_metrics.datasets.catalogue import CITATION, ML_1M, MovieLens
from sampled_metrics.datasets.download import Download, download_to
from sampled_metrics.datasets.source import Source

_log = logging.getLogger(__name__)


def ways_on(dataset: MovieLens) -> str:
    """What to do without the publisher's server."""
    local = (
        "point dataset.archive (config) or MOVIELENS_ARCHIVE (environment) "
        f"at a local {dataset.name}.zip"
    )
    if dataset != ML_1M:  # of which alone there is a reference run
        return f"two ways on: run again with a network; or {local}"
    return (
        f"three ways on: run again with a network; {local}; or set `ranks: reference` (config) "
        "to go on from the rank records of the reference run"
    )


def fetch(
    output: Path,
    archive: Path | None,
    cache: Path | None,
    dataset: MovieLens = ML_1M,
    download: Download | None = None,
) -> Source:
    """Put the archive at `output`: from `archive` if given, else from the cache, else downloaded.

    A downloaded or cached file must have the official checksum if that is verified; if not, a
    difference is logged. A local archive may differ; what it holds is checked when it is parsed,
    and the returned source says whether it is official.

    Parameters
    ----------
    output
        Where the archive goes.
    archive
        A local archive, used instead of cache and network.
    cache
        Folder for downloads; None means the user's cache folder.
    dataset
        Which MovieLens.
    download
        Address, checksum, patience; the defaults are the publisher's.

    Raises
    ------
    InputError
        The local archive is missing or not one, or the server's answer is not the archive.
    UnreachableError
        The server cannot be reached; the message names the ways on.
    """
    import pooch

    if archive is not None:
        if not archive.is_file():
            raise InputError(f"{archive}: no such file; expected a {dataset.title} archive")
        found, origin = archive, "local archive"
    else:
        folder = pooch.os_cache("sampled-metrics") if cache is None else cache
        chosen = download or Download.of(dataset)
        found, origin = _cached_or_downloaded(Path(folder), dataset, chosen)
    ratings = read_archive(found, dataset)
    source = _source(found, origin, ratings)
    with replacing(output) as temporary:
        shutil.copyfile(found, temporary)
    doubtful = dataset.checksum is not None and not dataset.checksum_verified
    if doubtful and not source.archive_is_official:
        actual, published = _checksum(found, str(dataset.checksum)), dataset.checksum
        _log.warning("%s: hashes to %s; not verified: %s", found.name, actual, published)
    return source


def _source(found: Path, origin: str, ratings: Ratings) -> Source:
    dataset = ratings.dataset
    official = None
    if dataset.checksum is not None:
        official = _checksum(found, dataset.checksum) == dataset.checksum
    inside = ratings.is_official
    return Source(
        dataset=dataset.name,
        origin=origin,
        archive=found.name,
        archive_sha256=_checksum(found, "sha256:").removeprefix("sha256:"),
        archive_is_official=official,
        bytes=found.stat().st_size,
        checksum=dataset.checksum,
        checksum_verified=dataset.checksum_verified,
        ratings_sha256=ratings.sha256,
        # What an official archive holds is official; what another holds may be so too.
        ratings_is_official=(official or None) if inside is None else inside,
        licence=dataset.licence,
        licence_url=dataset.licence_url,
        citation=CITATION,
    )


def _checksum(path: Path, like: str) -> str:
    """Hash a file in the way of another checksum."""
    import pooch

    kind = like.partition(":")[0]
    return f"{kind}:{pooch.file_hash(str(path), alg=kind)}"


def _cached_or_downloaded(cache: Path, dataset: MovieLens, download: Download) -> tuple[Path, str]:
    path, wanted = cache / f"{dataset.name}.zip", download.checksum
    if path.is_file() and (wanted is None or _checksum(path, wanted) == wanted):
        return path, "cache"
    _log.info("downloading %s", download.url)
    download_to(path, download, ways_on(dataset))
    return path, "download"
