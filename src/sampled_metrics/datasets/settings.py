"""Settings of a study's data: the dataset, its filters and its split."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_serializer, model_validator

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.settings import Count, Settings
from sampled_metrics.datasets.catalogue import CATALOGUE, MovieLens

# Snakemake takes < > { } in the name of a file for the borders of a wildcard. (These patterns are
# no Python: their $ is the end of the text, also where its last character ends a line.)
FileName = Annotated[
    str, Field(pattern=r"^[^<>{}\x00-\x1f\x7f-][^<>{}\x00-\x1f\x7f]*$", max_length=1000)
]
Place = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=1000)]
TieBreak = Literal["ncf", "first", "last", "random"]


def _column(column: str | int) -> str | int:
    if column == "" or (isinstance(column, int) and column < 0):
        raise InputError(f"no column {column!r}; name it, or count its place from 0")
    return column


Column = Annotated[str | int, AfterValidator(_column)]


class Columns(Settings):
    """Columns of a table: names, or places from 0 in a text file without a header."""

    user: Column = "user"
    """Ids of users."""
    item: Column = "item"
    """Ids of items."""
    rating: Column | None = "rating"
    """Ratings, which only filters.min_rating needs; null leaves a column of this name unread."""
    timestamp: Column | None = "timestamp"
    """Times, which only split.method leave-last-out needs; null leaves the column unread."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        columns = [column for column in self.given().values() if column is not None]
        if len({type(column) for column in columns}) > 1:
            raise InputError("names and places are mixed; use one or the other")
        if any(isinstance(column, int) for column in columns) and not {"user", "item"} <= set(
            self.given()
        ):
            raise InputError("places need both user and item")
        if len(set(columns)) < len(columns):
            raise InputError("one column is used twice")
        return self

    @property
    def has_header(self) -> bool:
        """Whether the first line of a text file names the columns."""
        return isinstance(self.user, str)

    @property
    def by_role(self) -> dict[str, str]:
        """Name of the column to read for each role; a place is written as text."""
        columns = dict(self) if self.has_header else self.given()
        return {role: str(column) for role, column in columns.items() if column is not None}

    @property
    def required(self) -> list[str]:
        """Columns that must be present: those of user and item, and those that were set."""
        roles = {"user", "item"} | self.model_fields_set
        return [column for role, column in self.by_role.items() if role in roles]

    @model_serializer
    def given(self) -> dict[str, str | int | None]:
        """Columns that were set; the others are read only where they have their default names."""
        return {
            role: getattr(self, role)
            for role in self.setting_names()
            if role in self.model_fields_set
        }


class DatasetSettings(Settings):
    """The interactions."""

    format: Literal["movielens", "table"] = "movielens"
    """A published MovieLens, or a table of your own: CSV, TSV or parquet."""
    name: FileName = "ml-1m"
    """Which MovieLens; any other name for a table."""
    archive: Place | None = None
    """Local archive to use instead of cache and network; null asks MOVIELENS_ARCHIVE first."""
    cache: Place | None = None
    """Folder for downloads; null is the user's cache folder."""
    url: Annotated[str, Field(pattern="^https?://")] | None = None
    """Address of the archive, such as a mirror's; null is the publisher's."""
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 30
    """Seconds without a byte after which a download is given up."""
    time_limit: Annotated[float, Field(gt=0, le=604_800)] = 3600
    """Seconds after which a download is given up, all attempts together."""
    retries: Annotated[int, Field(ge=0, le=100)] = 3
    """Further attempts at a download, each after a longer pause."""
    path: FileName | None = None
    """The table."""
    columns: Columns | None = None
    """Columns of the table; null is by their default names."""
    separator: Annotated[str, Field(pattern=r"^[\t !#-~]$")] | None = None
    """Character between the columns of a text; null is a tab if the first line has one, else a
    comma."""
    licence: str | None = None
    """Terms of the table, for the record."""
    citation: str | None = None
    """What to cite for the table, for the record."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.format == "movielens":
            for key in ("path", "columns", "separator"):
                if getattr(self, key) is not None:
                    raise InputError(f"{key} is set but format is movielens; set format: table")
            if self.name not in CATALOGUE:
                raise InputError(f"unknown name {self.name!r}; known: {', '.join(CATALOGUE)}")
        elif self.name in CATALOGUE:
            raise InputError(f"name {self.name} is that of a MovieLens; give the table another")
        return self

    @property
    def is_movielens(self) -> bool:
        """Whether the data is a published MovieLens."""
        return self.format == "movielens"

    @property
    def published(self) -> MovieLens | None:
        """The published MovieLens; None for a table."""
        return CATALOGUE[self.name] if self.is_movielens else None

    def without_places(self) -> "DatasetSettings":
        """Return what the data is, without where this machine keeps it and how it gets there."""
        places = ("archive", "cache", "url", "timeout", "time_limit", "retries", "path")
        kept = {key: value for key, value in self.model_dump().items() if key not in places}
        return DatasetSettings.model_validate(kept)


class FilterSettings(Settings):
    """Events to leave out before the split, in this order."""

    min_rating: float | None = None
    """Leave out events with a lower rating; null keeps all."""
    duplicates: Literal["refuse", "first", "last"] = "refuse"
    """Of several events of a user and an item, keep the first or the last; refuse is an error."""
    min_user_events: Count | None = None
    """Leave out users with fewer events, and items likewise, until all have enough (k-core)."""
    min_item_events: Count | None = None
    """As min_user_events, of items."""

    @property
    def on(self) -> dict[str, float | int | str]:
        """The filters that are on, by name."""
        return {
            name: value
            for name, value in self.model_dump().items()
            if value not in (None, "refuse")
        }


class SplitSettings(Settings):
    """Which event of each user is held out."""

    method: Literal["leave-last-out", "random"] = "leave-last-out"
    """The last event of each user, or one at random, which needs no timestamps."""
    tie_break: TieBreak = "ncf"
    """Which of several last events: that of the Neural Collaborative Filtering split, the first or
    last in file order, or one at random."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of method random and tie_break random."""
