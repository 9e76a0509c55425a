"""Where the data of a run came from, for its record."""

import hashlib
import logging
from dataclasses import asdict, dataclass
from pathlib import Path

from sampled_metrics._base.errors import InputError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """Where the data came from and on what terms.

    Attributes
    ----------
    dataset
        Its name.
    origin
        `local archive`, `cache`, `download` or `table`.
    archive, archive_sha256, bytes
        Name, checksum and length of the file.
    archive_is_official
        Whether it has the publisher's checksum; None where that is not known.
    checksum
        The publisher's, the kind before a colon; None where there is none.
    checksum_verified
        Whether independent sources agree on that, so that a download that differs is refused.
    ratings_sha256, ratings_is_official
        The same of the ratings file inside.
    licence, licence_url, citation
        Terms of use, where they stand, what to cite; None where not given.
    """

    dataset: str
    origin: str
    archive: str
    archive_sha256: str
    archive_is_official: bool | None
    bytes: int
    checksum: str | None
    checksum_verified: bool
    ratings_sha256: str
    ratings_is_official: bool | None
    licence: str | None
    licence_url: str | None
    citation: str | None

    def as_dict(self) -> dict[str, str | int | bool | None]:
        """Return the fields in order, for JSON."""
        return asdict(self)

    def log_terms(self) -> None:
        """Say on what terms the data comes and what to cite, a line each, where that is known."""
        if self.licence:
            where = f" ({self.licence_url})" if self.licence_url else ""
            _log.info("licence of %s: %s%s", self.dataset, self.licence, where)
        if self.citation:
            _log.info("to be cited for %s: %s", self.dataset, self.citation)


def describe_table(
    path: Path, name: str, licence: str | None = None, citation: str | None = None
) -> Source:
    """Record where a table comes from: its checksum, and what its owner says of it.

    Raises
    ------
    InputError
        The file is missing or cannot be read.
    """
    try:
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; expected a table of interactions") from error
    return Source(
        dataset=name,
        origin="table",
        archive=path.name,
        archive_sha256=checksum,
        archive_is_official=None,
        bytes=size,
        checksum=None,
        checksum_verified=False,
        ratings_sha256=checksum,
        ratings_is_official=None,
        licence=licence,
        licence_url=None,
        citation=citation,
    )
