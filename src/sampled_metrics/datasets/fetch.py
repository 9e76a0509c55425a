"""Getting an archive of MovieLens, and where the data of a run came from."""

import hashlib
import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.catalogue import CITATION, ML_1M, MovieLens
from sampled_metrics.datasets.movielens import Ratings, read_archive
from sampled_metrics.datasets.settings import DatasetSettings
from sampled_metrics.tables.reading import require_file

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the data came from, and its terms of use; None where something is not known."""

    dataset: str
    origin: str  # local archive, cache, download or table
    archive: str  # name of the file, or of both files of a given split
    archive_sha256: str
    archive_is_official: bool | None = None  # whether it has the publisher's checksum
    bytes: int
    checksum: str | None = None  # that of the publisher, as kind:digest
    checksum_verified: bool = False  # whether independent sources agree on it
    ratings_sha256: str  # checksum of the ratings file inside
    ratings_is_official: bool | None = None
    licence: str | None = None
    licence_url: str | None = None
    citation: str | None = None

    def log_terms(self) -> None:
        """Log the terms of use and what to cite, a line each, where known."""
        if self.licence:
            where = f" ({self.licence_url})" if self.licence_url else ""
            _log.info("licence of %s: %s%s", self.dataset, self.licence, where)
        if self.citation:
            _log.info("to be cited for %s: %s", self.dataset, self.citation)


def fetch(output: Path, settings: DatasetSettings) -> Source:
    """Put an archive at `output`, a local, cached or downloaded one; return where it came from.

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
    source = _describe_archive(path, origin, read_archive(path, dataset))
    with replacing(output) as temporary:
        shutil.copyfile(path, temporary)
    return source


def describe_tables(paths: Sequence[Path], settings: DatasetSettings) -> Source:
    """Return the source of tables: their checksums, and the terms that their owner states."""
    for path in paths:
        require_file(path, "a table of interactions")
    checksum = ", ".join(_checksum(path, "sha256") for path in paths)
    return Source(
        dataset=settings.name,
        origin="table",
        archive=", ".join(path.name for path in paths),
        archive_sha256=checksum,
        bytes=sum(path.stat().st_size for path in paths),
        ratings_sha256=checksum,
        licence=settings.licence,
        citation=settings.citation,
    )


def _cached_or_downloaded(settings: DatasetSettings, dataset: MovieLens) -> tuple[Path, str]:
    import pooch

    from sampled_metrics.datasets.download import download_to

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
    try:
        download_to(path, url, settings, dataset.largest_archive, check)
    except UnreachableError as error:
        raise UnreachableError(
            f"GroupLens could not be reached ({url}: {error.problem}); {_alternatives(dataset)}"
        ) from error
    return path, "download"


def _check(path: Path, dataset: MovieLens) -> None:
    """Raise InputError unless a file has the published checksum or, without one, can be read."""
    if dataset.checksum is None:
        read_archive(path, dataset).sha256  # noqa: B018, which reads all of it
    elif not _is_published(path, dataset.checksum):
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


def _describe_archive(path: Path, origin: str, ratings: Ratings) -> Source:
    dataset, inside = ratings.dataset, ratings.is_official
    official = None if dataset.checksum is None else _is_published(path, dataset.checksum)
    return Source(
        dataset=dataset.name,
        origin=origin,
        archive=path.name,
        archive_sha256=_checksum(path, "sha256"),
        archive_is_official=official,
        bytes=path.stat().st_size,
        checksum=dataset.checksum,
        checksum_verified=dataset.checksum is not None,
        ratings_sha256=ratings.sha256,
        # The content of an official archive is official; that of another one may be.
        ratings_is_official=(official or None) if inside is None else inside,
        licence=dataset.licence,
        licence_url=dataset.licence_url,
        citation=CITATION,
    )


def _is_published(path: Path, checksum: str) -> bool:
    kind, digest = checksum.split(":")
    return _checksum(path, kind) == digest


def _checksum(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()
