"""Download or copy an archive of MovieLens, and record where the data of a run came from."""

import hashlib
import logging
import shutil
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sampled_metrics import InputError
from sampled_metrics._base.files import replace_file, require_file
from sampled_metrics_study.data.movielens import CATALOGUE, CITATION, ML_1M, MovieLens
from sampled_metrics_study.data.settings import DatasetSettings
from sampled_metrics_study.files import checksum

_log = logging.getLogger(__name__)
_UNREADABLE = (OSError, EOFError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error)


class UnreachableError(InputError):
    """The publisher's server could not be reached."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the data came from, and its terms of use; None where that is unknown."""

    dataset: str
    origin: str  # local archive, cache, download or table
    archive: str  # file name, or both names for split method given
    archive_sha256: str
    archive_is_official: bool | None = None  # whether the checksum is the publisher's
    bytes: int
    checksum: str | None = None  # the publisher's, as kind:digest
    ratings_sha256: str  # checksum of the ratings file inside
    ratings_is_official: bool | None = None
    licence: str | None = None
    licence_url: str | None = None
    citation: str | None = None

    def log_terms(self) -> None:
        """Log the terms of use and the citation, where known."""
        terms = {"licence": self.licence, "terms": self.licence_url, "citation": self.citation}
        for name, text in terms.items():
            if text:
                _log.info("%s of %s: %s", name, self.dataset, text)


def fetch(output: Path, settings: DatasetSettings) -> Source:
    """Copy an archive to `output` from a local file, the cache or the network; return its source.

    A downloaded or cached file must have the official checksum, if the publisher states one. A
    local archive may differ: the result says whether it is official, and its content is checked
    when it is parsed.
    """
    dataset = CATALOGUE[settings.name]
    if settings.archive is not None:
        path = Path(settings.archive)
        origin = "local archive"
        require_file(path, f"a {dataset.title} archive")
    else:
        path, origin = find_or_download(settings, dataset)
    is_official = None
    if dataset.checksum is not None:
        kind, digest = dataset.checksum.split(":")
        is_official = checksum(path, kind) == digest
    content = read_member(path, dataset)
    # An official archive has official ratings; another archive may contain them too.
    is_published: bool | None = is_official or None
    if not is_official and dataset.ratings_git_blob is not None:
        is_published = git_blob_hash(content) == dataset.ratings_git_blob
    source = Source(
        dataset=dataset.name,
        origin=origin,
        archive=path.name,
        archive_sha256=checksum(path),
        archive_is_official=is_official,
        bytes=path.stat().st_size,
        checksum=dataset.checksum,
        ratings_sha256=hashlib.sha256(content).hexdigest(),
        ratings_is_official=is_published,
        licence=dataset.licence,
        licence_url=dataset.licence_url,
        citation=CITATION,
    )
    with replace_file(output) as temporary:
        shutil.copyfile(path, temporary)
    return source


def git_blob_hash(content: bytes) -> str:
    """Return the hash by which git identifies the content of a file."""
    head = b"blob %d\0" % len(content)
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def describe_tables(paths: Sequence[Path], settings: DatasetSettings) -> Source:
    """Return the source of tables: their checksums, and the terms from the configuration."""
    checksums = ", ".join(map(checksum, paths))
    return Source(
        dataset=settings.name,
        origin="table",
        archive=", ".join(path.name for path in paths),
        archive_sha256=checksums,
        bytes=sum(path.stat().st_size for path in paths),
        ratings_sha256=checksums,
        licence=settings.licence,
        citation=settings.citation,
    )


def find_or_download(settings: DatasetSettings, dataset: MovieLens) -> tuple[Path, str]:
    """Return the path of the archive in the cache; download it first if necessary.

    The second value says where it came from: `cache` or `download`.
    """
    import pooch
    import requests
    from pooch.core import download_action

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
    download = pooch.HTTPDownloader(timeout=settings.timeout)
    try:
        cache.fetch(name, downloader=download)
        # Without a checksum, a login page in place of the archive would pass unnoticed.
        if not zipfile.is_zipfile(path):
            path.unlink()
            raise ValueError(f"{url} is not a zip archive")
    except (requests.RequestException, ValueError) as error:
        remedy = f"set dataset.archive or MOVIELENS_ARCHIVE to a local {name}, or try again later"
        if not _is_unreachable(error):
            raise InputError(f"{error}; {remedy}", path=url) from error
        if dataset.name == ML_1M.name:
            remedy += "; or set `ranks: reference` to continue from those of the reference run"
        raise UnreachableError(
            f"GroupLens could not be reached ({url}: {error}); {remedy}"
        ) from error
    return path, "cache" if is_cached else "download"


def _is_unreachable(error: Exception) -> bool:
    """Return whether the server did not answer, or answered with a server error (5xx)."""
    import requests

    if isinstance(error, requests.HTTPError):
        return error.response is not None and error.response.status_code >= 500
    is_silent = isinstance(error, requests.ConnectionError | requests.Timeout)
    return is_silent and not isinstance(error, requests.exceptions.SSLError)


def read_member(path: Path, dataset: MovieLens) -> bytes:
    """Read the ratings file in an archive.

    Raises InputError if the archive is damaged, if it has several files of this name, or if the
    file is much larger than the published one.
    """
    member = dataset.member
    most = dataset.largest_member
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(member).file_size
            if archive.namelist().count(member) > 1:
                raise InputError(f"{member} is in the archive more than once", path=path)
            # zipfile never reads more bytes than the size that the archive states.
            if size > most:
                raise InputError(
                    f"{member} has {size:,} bytes; expected at most {most:,}", path=path
                )
            return archive.read(member)
    except _UNREADABLE as error:
        raise InputError(
            f"not a readable {dataset.title} archive ({error}); if its files were unpacked or "
            f"packed again, set dataset: {dataset.layout.as_table}",
            path=path,
        ) from error
