"""Which data a study is of: a MovieLens by name or a table, as configured."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.archive import read_archive
from sampled_metrics.datasets.catalogue import Counts, movielens
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.movielens import read_ratings
from sampled_metrics.datasets.table_format import TableFormat
from sampled_metrics.datasets.tables import read_interactions

FORMATS = ("movielens", "table")
_KEYS = ("format", "name", "columns", "separator", "licence", "citation")


@dataclass(frozen=True)
class Definition:
    """A dataset as configured.

    Attributes
    ----------
    name
        Of a MovieLens, or whatever a table is called.
    table
        How the table is written; None for a MovieLens.
    licence, citation
        What the owner of a table says of it.
    """

    name: str
    table: TableFormat | None = None
    licence: str | None = None
    citation: str | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Definition":
        """Make a definition from settings by name; None is as good as missing.

        Raises
        ------
        InputError
            A name is not known or a value not allowed.

        >>> Definition.of({"format": "movielens", "name": "ml-20m"}).expected.items
        26744
        """
        given = {name: value for name, value in settings.items() if value is not None}
        unknown = [name for name in given if name not in _KEYS]
        if unknown:
            raise InputError(f"dataset: unknown key {unknown[0]!r}; known: {', '.join(_KEYS)}")
        kind = given.pop("format", "movielens")
        if kind not in FORMATS:
            raise InputError(f"dataset: format is {kind!r}; allowed: {', '.join(FORMATS)}")
        for name in ("name", "licence", "citation"):
            if not isinstance(given.get(name, ""), str):
                raise InputError(f"dataset: {name} is {given[name]!r}; allowed: text")
        if kind == "table":
            form = TableFormat.of(given.pop("columns", {}), given.pop("separator", None))
            return cls(given.pop("name", "table"), form, **given)
        if len(given) > ("name" in given):
            extra = next(name for name in given if name != "name")
            raise InputError(f"dataset: {extra} is for the format table alone")
        return cls(movielens(given.get("name", "ml-1m")).name)

    @property
    def expected(self) -> Counts | None:
        """What a published dataset holds; None for a table."""
        return None if self.table else movielens(self.name).counts

    def read(self, path: Path, with_rating: bool = False) -> Interactions:
        """Read the events of an archive or table without any filter."""
        if self.table is not None:
            return read_interactions(path, self.table, with_rating)
        return read_ratings(read_archive(path, movielens(self.name)), with_rating)
