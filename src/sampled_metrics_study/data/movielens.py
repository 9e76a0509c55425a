"""The MovieLens datasets: address, layout, size and checksum of each.

Checksums are the MD5 that GroupLens publishes beside each archive (`NAME.zip.md5`), except that
ml-1m has the SHA-256 of the same archive. `ml-latest-small` has no checksum, because the publisher
replaces it from time to time; its counts are from September 2018.
"""

from dataclasses import dataclass

FOLDER = "https://files.grouplens.org/datasets/movielens"
CITATION = (
    "F. M. Harper and J. A. Konstan, The MovieLens Datasets: History and Context, "
    "ACM Transactions on Interactive Intelligent Systems 5 (4), 2015, doi:10.1145/2827872"
)
_TERMS = (
    "for research, acknowledged in publications, no endorsement implied, no commercial use without "
    "permission, "
)
_CLOSED = _TERMS + "no redistribution without permission"
_OPEN = _TERMS + "redistribution under the same terms"
_LEAST_ALLOWED_SIZE = 1 << 26  # bytes; more than twice the ratings of ml-1m


@dataclass(frozen=True)
class Layout:
    """Layout of a ratings file; each line has the user, item, rating and timestamp of an event."""

    separator: str
    header: str = ""  # the first line; empty if the first line is an event
    half_stars: bool = False  # whether ratings are 0.5, 1 ... 5 rather than 1, 2 ... 5

    @property
    def line(self) -> str:
        """Description of a line, for error messages."""
        if self.separator == "\t":
            form = "user, item, rating, timestamp with tabs between"
        else:
            form = self.separator.join(("user", "item", "rating", "timestamp"))
        ratings = "0.5, 1 ... 5" if self.half_stars else "1, 2 ... 5"
        return f"{form}, whole numbers and a rating of {ratings}"

    @property
    def as_table(self) -> str:
        """Settings that read an unpacked ratings file as a table, for error messages."""
        columns = "columns: {user: userId, item: movieId}"
        if self.separator == "\t":
            columns = "header: [user, item, rating, timestamp]"
        if self.separator == "::":  # a separator of a table has one character
            columns = "separator: ':', header: [user, a, item, b, rating, c, timestamp]"
        return f"{{format: table, name: NAME, path: PATH, {columns}}}"

    @property
    def pattern(self) -> str:
        """Regular expression of a whole file; its group matches all lines of events."""
        rating = "[1-5]"
        if self.half_stars:
            rating = r"(?:[1-4](?:\.[05])?|5(?:\.0)?|0\.5)"
        line = self.separator.join((r"\d{1,9}+", r"\d{1,9}+", rating, r"\d{1,18}+\n"))
        if not self.header:
            return f"((?:{line})*+)"
        line = line.replace(r"\n", r"\r?\n")
        return rf"{self.header}\r?\n((?:{line})*+)"


@dataclass(frozen=True)
class MovieLens:
    """One of the MovieLens datasets."""

    name: str  # in addresses and in configurations
    title: str
    member: str  # the ratings file inside the archive
    layout: Layout
    counts: dict[str, int]  # `items` counts items with at least one rating
    checksum: str | None  # of the archive, as kind:digest; None if the publisher may replace it
    readme: str = "README.html"  # last part of the address of the terms of use
    licence: str = _CLOSED
    ratings_git_blob: str | None = None  # git's hash of the published ratings file

    @property
    def url(self) -> str:
        """Address of the archive."""
        return f"{FOLDER}/{self.name}.zip"

    @property
    def licence_url(self) -> str:
        """Address of the terms of use."""
        return f"{FOLDER}/{self.name}-{self.readme}"

    @property
    def largest_member(self) -> int:
        """Largest accepted size of the ratings file in bytes, several times the published size."""
        return max(_LEAST_ALLOWED_SIZE, 64 * self.counts["interactions"])


def _counts(users: int, items: int, interactions: int) -> dict[str, int]:
    """Return published sizes under the names that `MovieLens.counts` has."""
    return {"users": users, "items": items, "interactions": interactions}


_CSV = Layout(",", header="userId,movieId,rating,timestamp", half_stars=True)

ML_1M = MovieLens(
    "ml-1m", "MovieLens 1M", "ml-1m/ratings.dat", Layout("::"), _counts(6040, 3706, 1_000_209),
    "sha256:a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20", readme="README.txt",
    ratings_git_blob="77a7c4b150f588c23bb9e1f068aa996c0b413695",
)  # fmt: skip
_DATASETS = (
    MovieLens(
        "ml-100k", "MovieLens 100K", "ml-100k/u.data", Layout("\t"), _counts(943, 1682, 100_000),
        "md5:0e33842e24a9c977be4e0107933c0723", readme="README.txt",
    ),
    ML_1M,
    MovieLens(
        "ml-10m", "MovieLens 10M", "ml-10M100K/ratings.dat", Layout("::", half_stars=True),
        _counts(69_878, 10_677, 10_000_054), "md5:ce571fd55effeba0271552578f2648bd",
    ),
    MovieLens(
        "ml-20m", "MovieLens 20M", "ml-20m/ratings.csv", _CSV, _counts(138_493, 26_744, 20_000_263),
        "md5:cd245b17a1ae2cc31bb14903e1204af3",
    ),
    MovieLens(
        "ml-25m", "MovieLens 25M", "ml-25m/ratings.csv", _CSV, _counts(162_541, 59_047, 25_000_095),
        "md5:6b51fb2759a8657d3bfcbfc42b592ada",
    ),
    MovieLens(
        "ml-32m", "MovieLens 32M", "ml-32m/ratings.csv", _CSV, _counts(200_948, 84_432, 32_000_204),
        "md5:d472be332d4daa821edc399621853b57", licence=_OPEN,
    ),
    MovieLens(
        "ml-latest-small", "MovieLens Latest Small", "ml-latest-small/ratings.csv", _CSV,
        _counts(610, 9724, 100_836), None, licence=_OPEN,
    ),
)  # fmt: skip
CATALOGUE = {dataset.name: dataset for dataset in _DATASETS}
