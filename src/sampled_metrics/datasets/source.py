"""Where the data of a run came from, as recorded in its provenance."""

import hashlib
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

from sampled_metrics._base.errors import InputError

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
        Name, checksum and length of the file.
    archive_is_official
        Whether it has the publisher's checksum; None where there is none.
    checksum
        The publisher's, as `kind:digest`; None where there is none.
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

    def as_dict(self) -> dict[str, str | int | bool | None]:
        """Return the fields in order, for JSON."""
        return asdict(self)

    def log_terms(self) -> None:
        """Log the terms of use and what to cite, a line each, where known."""
        if self.licence:
            where = f" ({self.licence_url})" if self.licence_url else ""
            _log.info("licence of %s: %s%s", self.dataset, self.licence, where)
        if self.citation:
            _log.info("to be cited for %s: %s", self.dataset, self.citation)


def describe_table(
    path: Path, name: str, licence: str | None = None, citation: str | None = None
) -> Source:
    """Return the source of a table: its checksum, and the terms that its owner states."""
    try:
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError as error:
        problem = f"{error.strerror}; expected a table of interactions"
        raise InputError(problem, path=path) from error
    return Source(
        dataset=name,
        origin="table",
        archive=path.name,
        archive_sha256=checksum,
        bytes=size,
        ratings_sha256=checksum,
        licence=licence,
        citation=citation,
    )
