"""Where the data of a run came from, as recorded in its provenance."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sampled_metrics.datasets.archive import Ratings
from sampled_metrics.datasets.catalogue import CITATION
from sampled_metrics.datasets.settings import DatasetSettings
from sampled_metrics.tables.reading import require_file

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the data came from, and its terms of use.

    Attributes
    ----------
    dataset
        Its name.
    origin
        `local archive`, `cache`, `download` or `table`.
    archive, archive_sha256, bytes
        Name, checksum and length of the file, or of both files of a given split.
    archive_is_official
        Whether it has the checksum of the publisher; None if the publisher gives none.
    checksum
        Checksum of the publisher, as `kind:digest`; None if there is no such checksum.
    checksum_verified
        Whether there is one, agreed on by independent sources, which a download must have.
    ratings_sha256, ratings_is_official
        Checksum of the ratings file inside, and whether it is the publisher's; None if not known.
    licence, licence_url, citation
        Terms of use, their address, what to cite; None where not known.
    """

    dataset: str
    origin: str
    archive: str
    archive_sha256: str
    archive_is_official: bool | None = None
    bytes: int
    checksum: str | None = None
    checksum_verified: bool = False
    ratings_sha256: str
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


def describe_archive(path: Path, origin: str, ratings: Ratings) -> Source:
    """Return the source of an archive of MovieLens."""
    dataset = ratings.dataset
    official = None
    if dataset.checksum is not None:
        official = checksum_of(path, dataset.checksum) == dataset.checksum
    inside = ratings.is_official
    return Source(
        dataset=dataset.name,
        origin=origin,
        archive=path.name,
        archive_sha256=checksum_of(path, "sha256:").removeprefix("sha256:"),
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


def describe_tables(paths: Sequence[Path], settings: DatasetSettings) -> Source:
    """Return the source of tables: their checksums, and the terms that their owner states."""
    for path in paths:
        require_file(path, "a table of interactions")
    checksum = ", ".join(checksum_of(path, "sha256:").removeprefix("sha256:") for path in paths)
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


def checksum_of(path: Path, like: str) -> str:
    """Return the checksum of a file as `kind:digest`, of the same kind as another one."""
    kind = like.partition(":")[0]
    with path.open("rb") as file:
        return f"{kind}:{hashlib.file_digest(file, kind).hexdigest()}"
