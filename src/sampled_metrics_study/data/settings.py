"""Settings of the dataset, the filters and the split of a study."""

from contextlib import suppress
from datetime import UTC, date, datetime
from math import isfinite
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from sampled_metrics import InputError
from sampled_metrics_study.data.movielens import CATALOGUE, MovieLens
from sampled_metrics_study.validation import Count, Seed, Settings, described_pattern

# Snakemake reads < > { } in a file name as the delimiters of a wildcard. In regular expressions of
# pydantic, `$` matches only at the end of the text.
FileName = Annotated[
    str,
    described_pattern(
        r"^[^<>{}\x00-\x1f\x7f-][^<>{}\x00-\x1f\x7f]*$",
        "a name without < > { } and control characters that does not begin with -",
        max_length=1000,
    ),
]
Url = Annotated[
    str,
    described_pattern(r"^https?://[^\x00-\x20\x7f]+$", "an address that begins with https://"),
]
Separator = Annotated[
    str, described_pattern(r"^[\t !#-~]$", "one character, such as a tab, a comma or a semicolon")
]
TieBreak = Literal["ncf", "first", "last", "random"]
Column = Annotated[str, Field(min_length=1)]


def _parse_time(value: Any) -> float | str | None:
    """Return a time as the file has it: a number, or a date in ISO format."""
    if isinstance(value, date):
        return value.isoformat()
    if value is None:
        return None
    if isinstance(value, str):
        if _is_date(value) and not value.isdigit():
            return value
        with suppress(ValueError):
            value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and isfinite(value) and value >= 0:
        return value
    raise InputError(
        f"found {value!r}; expected a valid number of at least 0, or a date such as 2024-11-01"
    )


def _is_date(text: str) -> bool:
    """Return whether a text is a date or time in ISO format."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class Columns(Settings):
    """Names of the columns of a table; rating and timestamp are read if the table has them."""

    user: Column = "user"
    """Ids of users."""
    item: Column = "item"
    """Ids of items."""
    rating: Column | None = "rating"
    """Ratings, for filters.min_rating, or null."""
    timestamp: Column | None = "timestamp"
    """Times, for splits by time, or null."""


class DatasetSettings(Settings):
    """The interactions."""

    format: Literal["movielens", "table"] = "movielens"
    """A published MovieLens dataset, or a table: CSV, TSV or parquet."""
    name: FileName = "ml-1m"
    """Name of the MovieLens dataset; any other name for a table."""
    archive: str | None = None
    """Local archive; null is MOVIELENS_ARCHIVE, or else cache and network."""
    cache: str | None = None
    """Folder for downloads; null is the user's cache."""
    url: Url | None = None
    """Address of the archive; null is the publisher's."""
    timeout: float = Field(30, gt=0, le=86_400)
    """Seconds without a byte after which a download fails."""
    retries: int = Field(3, ge=0, le=100)
    """Further attempts at a download."""
    path: FileName | None = None
    """The table."""
    columns: Columns | None = None
    """Columns; null means the default names."""
    separator: Separator | None = None
    """Character between columns; null is a tab if the first line has one, or else a comma."""
    header: Annotated[tuple[Column, ...], Field(strict=False, min_length=2)] | None = None
    """Names of all columns of a text file without a header, in their order."""
    licence: str | None = None
    """Terms of the table, for the record."""
    citation: str | None = None
    """What to cite for the table, for the record."""

    @model_validator(mode="after")
    def _check_format(self) -> Self:
        """Raise InputError for settings of the other format, or a name that does not fit it."""
        if self.is_movielens:
            for key in ("path", "columns", "separator", "header"):
                if getattr(self, key) is not None:
                    raise InputError(f"{key} is set but format is movielens; set format: table")
            if self.name not in CATALOGUE:
                raise InputError(f"unknown name {self.name!r}; known: {', '.join(CATALOGUE)}")
        elif self.name in CATALOGUE:
            raise InputError(
                f"name {self.name} is that of a MovieLens dataset; choose another for the table"
            )
        return self

    @property
    def is_movielens(self) -> bool:
        """Whether the data is one of the published MovieLens datasets."""
        return self.format == "movielens"

    @property
    def published(self) -> MovieLens | None:
        """The published MovieLens dataset; None for a table."""
        return CATALOGUE.get(self.name)

    def without_locations(self) -> "DatasetSettings":
        """Return the settings that describe the data: without paths, addresses and time limits."""
        left_out = {"archive", "cache", "url", "timeout", "retries", "path"}
        return DatasetSettings.model_validate(self.model_dump(exclude=left_out))


class FilterSettings(Settings):
    """Events to drop before the split, in this order."""

    min_rating: float | None = None
    """Lowest rating to keep; null keeps all events."""
    duplicates: Literal["refuse", "first", "last"] = "refuse"
    """Which of several events of a user and an item to keep; refuse raises an error."""
    min_user_events: Count | None = None
    """Leave out users with fewer events; repeated until all users and items have enough."""
    min_item_events: Count | None = None
    """The same for items."""

    @property
    def on(self) -> dict[str, float | int | str]:
        """The filters that are switched on, by name."""
        return {name: value for name, value in self if value not in (None, "refuse")}


class SplitSettings(Settings):
    """Which events are held out, and which of them is evaluated: one per user."""

    method: Literal["leave-last-out", "global-time", "given", "random"] = "leave-last-out"
    """Which events are held out, see docs/other-data.md."""
    tie_break: TieBreak = "ncf"
    """Which of several events at the same time is held out; ncf is the published choice."""
    cut: Annotated[float | str | None, BeforeValidator(_parse_time)] = None
    """For global-time: a time as in the file (a number or an ISO date such as 2024-11-01), or a
    share of the events."""
    train: FileName | None = None
    """For given: table of the training events."""
    test: FileName | None = None
    """For given: table of the held-out events."""
    users: Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)] | None = None
    """Number of users to evaluate, or their share, drawn at random; null evaluates all."""
    seed: Seed = 0
    """Seed of method random, tie_break random and users."""

    @model_validator(mode="after")
    def _check_method(self) -> Self:
        """Raise InputError if a setting is missing for its method, or set for another."""
        for key, method in (("cut", "global-time"), ("train", "given"), ("test", "given")):
            is_set = getattr(self, key) is not None
            is_used = self.method == method
            if is_set != is_used:
                state = "set" if is_set else "missing"
                raise InputError(f"{key} is {state} but method is {self.method}")
        return self

    @property
    def cut_number(self) -> float:
        """The cut as a number: a date becomes seconds since 1970, in UTC unless it names a zone."""
        if not isinstance(self.cut, str):
            return self.cut or 0
        time = datetime.fromisoformat(self.cut)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

    @property
    def least_events(self) -> int:
        """Number of events that each user needs."""
        if self.method in ("global-time", "given"):
            return 1
        return 2
