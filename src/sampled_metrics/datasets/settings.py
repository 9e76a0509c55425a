"""Settings of a study's data: the dataset, its filters and its split."""

from datetime import date, datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_serializer, model_validator

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
    """Times, which all split methods but given and random need; null leaves the column unread."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.given()
        columns = [column for column in given.values() if column is not None]
        if len({type(column) for column in columns}) > 1:
            raise InputError("names and places are mixed; use one or the other")
        if int in map(type, columns) and not {"user", "item"} <= set(given):
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
        return {role: column for role, column in self if role in self.model_fields_set}


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
    url: Annotated[str, Field(pattern=r"^https?://[^\x00-\x20\x7f]+$")] | None = None
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
        return {name: value for name, value in self if value not in (None, "refuse")}


def _cut(cut: object) -> object:
    """Spell a date, which YAML also reads as one, as text; refuse other text."""
    if isinstance(cut, date):
        cut = cut.isoformat()
    if isinstance(cut, str):
        try:
            in_utc = datetime.fromisoformat(cut).tzinfo is None
        except ValueError:
            in_utc = False
        if not in_utc:
            raise InputError(f"no time {cut!r}; write 2024-12-31 or 2024-12-31T18:00:00, in UTC")
    return cut


def _users(users: object) -> object:
    if isinstance(users, float) and not 0 < users < 1:
        raise InputError(f"{users:g} is neither a whole number nor a share between 0 and 1")
    return users


_METHODS = {"k": "leave-k-out", "cut": "global-time", "train": "given", "test": "given"}


class SplitSettings(Settings):
    """Which events are held out, and which of them is evaluated: one per user.

    Held-out events that are not evaluated are not trained on, and their items are candidates.
    """

    method: Literal["leave-last-out", "leave-k-out", "global-time", "given", "random"] = (
        "leave-last-out"
    )
    """Hold out the last event of each user; the last k, evaluating the first of them; all events
    from one time on, evaluating each user's first of them (users without an earlier event are left
    out, those without a later one only train); those of a file; or one per user at random, which
    needs no timestamps. All but global-time, and maybe given, train on events that are later than
    other users' held-out ones."""
    tie_break: TieBreak = "ncf"
    """Which of several events at the same time: of last events, that of the Neural Collaborative
    Filtering split, which elsewhere is first; the first or last in file order; or one at random."""
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Events of each user that method leave-k-out holds out."""
    cut: Annotated[float | str, BeforeValidator(_cut)] | None = None
    """Where method global-time cuts: a time as in the file, a date such as 2024-12-31, or, between
    0 and 1, the share of the events before it."""
    train: FileName | None = None
    """Training events for method given: a table as described by dataset, without dataset.path."""
    test: FileName | None = None
    """Held-out events for method given, likewise; of several of a user, the first by time, or in
    file order without times, is evaluated. Users without training events are left out."""
    users: (
        Annotated[
            Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)],
            BeforeValidator(_users),
        ]
        | None
    ) = None
    """Evaluate only so many users, or this share of them, drawn at random; all users still train.
    null is all."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of method random, tie_break random and users."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, method in _METHODS.items():
            is_set, is_used = getattr(self, key) is not None, self.method == method
            if is_set and not is_used:
                raise InputError(f"{key} is set but method is {self.method}; set method: {method}")
            if is_used and not is_set:
                raise InputError(f"{key} is missing; method {method} needs it")
        return self

    @property
    def least_events(self) -> int:
        """Events that each user needs."""
        per_user = {"global-time": 1, "given": 1, "leave-k-out": (self.k or 1) + 1}
        return per_user.get(self.method, 2)


def check_given(dataset: DatasetSettings, filters: FilterSettings) -> None:
    """Raise InputError if other settings do not agree with split method given."""
    if dataset.is_movielens or dataset.path is not None:
        raise InputError(
            "split.method is given, which needs dataset.format table without dataset.path; "
            "split.train and split.test are the files"
        )
    for name in sorted({"min_user_events", "min_item_events"} & set(filters.on)):
        raise InputError(f"filters.{name}: split.method is given; filter the files themselves")
