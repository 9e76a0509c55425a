"""Getting the MovieLens 1M archive: a local file, the cache, or the publisher's server."""

import logging
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from sampled_metrics.datasets.movielens import ARCHIVE_SHA256, read_archive
from sampled_metrics.errors import InputError, UnreachableError
from sampled_metrics.files import replacing

URL = "https://files.grouplens.org/datasets/movielens/ml-1m.zip"
WAYS_ON = (
    "three ways on: run again with a network; point dataset.archive (config) or "
    "MOVIELENS_ARCHIVE (environment) at a local ml-1m.zip; or set `ranks: reference` (config) "
    "to go on from the rank records of the reference run"
)

_log = logging.getLogger(__name__)
_NAME = "ml-1m.zip"
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500


@dataclass(frozen=True)
class Download:
    """Where and how to download.

    Attributes
    ----------
    url
        Address of the archive; a mirror will do, for the checksum decides.
    sha256
        What a downloaded file must hash to.
    timeout
        Seconds without a byte after which an attempt is given up.
    retries
        Further attempts after the first, each after a longer pause.
    """

    url: str = URL
    sha256: str = ARCHIVE_SHA256
    timeout: float = 30.0
    retries: int = 3


@dataclass(frozen=True)
class Source:
    """Where the data came from, for the record of a run."""

    origin: str
    archive: str
    archive_sha256: str
    archive_is_official: bool
    ratings_sha256: str
    ratings_is_official: bool

    def as_dict(self) -> dict[str, str | bool]:
        """Return the fields in order, for JSON."""
        return asdict(self)


def fetch(
    output: Path, archive: Path | None, cache: Path | None, download: Download | None = None
) -> Source:
    """Put the archive at `output`: from `archive` if given, else from the cache, else downloaded.

    A downloaded or cached file must have the official checksum. A local archive may differ; what
    it holds is checked when it is parsed, and the returned source says whether it is official.

    Parameters
    ----------
    output
        Where the archive goes.
    archive
        A local archive, used instead of cache and network.
    cache
        Folder for downloads; None means the user's cache folder.
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
            raise InputError(f"{archive}: no such file; expected a MovieLens 1M archive")
        found, origin = archive, "local archive"
    else:
        found, origin = _cached_or_downloaded(
            pooch.os_cache("sampled-metrics") if cache is None else cache, download or Download()
        )
    ratings = read_archive(found)
    with replacing(output) as temporary:
        shutil.copyfile(found, temporary)
    checksum = pooch.file_hash(str(found))
    return Source(
        origin=origin,
        archive=found.name,
        archive_sha256=checksum,
        archive_is_official=checksum == ARCHIVE_SHA256,
        ratings_sha256=ratings.sha256,
        ratings_is_official=ratings.is_official,
    )


def _cached_or_downloaded(cache: Path, download: Download) -> tuple[Path, str]:
    import pooch

    path = Path(cache) / _NAME
    if path.is_file() and pooch.file_hash(str(path)) == download.sha256:
        return path, "cache"
    _log.info("downloading %s", download.url)
    _download(path, download)
    return path, "download"


class _RefusedError(Exception):
    """The server's final word; deliberately none of the errors that are retried."""


def _download(path: Path, download: Download) -> None:
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    stream = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(), chunk_size=1 << 16, timeout=download.timeout
    )

    def attempt(url: str, output_file: object, pup: object) -> None:
        try:
            stream(url, output_file, pup)
        except requests.HTTPError as error:
            status = error.response.status_code
            if status < _SERVER_ERROR and status != _TOO_MANY_REQUESTS:
                raise _RefusedError(f"answered {status} {error.response.reason}") from error
            raise

    pup = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: f"sha256:{download.sha256}"},
        urls={path.name: download.url},
        retry_if_failed=download.retries,
    )
    try:
        pup.fetch(path.name, downloader=attempt)
    except _RefusedError as error:
        raise InputError(f"{download.url}: {error}; {WAYS_ON}") from error
    except (requests.ConnectionError, requests.Timeout, requests.HTTPError) as error:
        raise UnreachableError(
            f"GroupLens could not be reached ({download.url}: {_reason(error)}); {WAYS_ON}"
        ) from error
    except requests.RequestException as error:
        raise InputError(f"{download.url}: broke off ({_reason(error)}); {WAYS_ON}") from error
    except ValueError as error:
        raise InputError(
            f"{download.url}: sent something else than the official archive, "
            f"whose SHA-256 is {download.sha256}; {WAYS_ON}"
        ) from error


def _reason(error: Exception) -> str:
    """Say in a few words what went wrong below the layers of wrapping."""
    text = str(error)
    known = {
        "Name or service not known": "its name cannot be resolved",
        "name resolution": "its name cannot be resolved",
        "NameResolutionError": "its name cannot be resolved",
        "Connection refused": "connection refused",
        "timed out": "timed out",
        "IncompleteRead": "fewer bytes than announced",
    }
    return next((words for sign, words in known.items() if sign in text), " ".join(text.split()))
