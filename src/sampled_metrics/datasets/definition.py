"""Which data a study is of: a MovieLens by name or a table, as configured."""

from dataclasses import dataclass
from pathlib import Path

from sampled_metrics.datasets.archive import read_archive
from sampled_metrics.datasets.catalogue import Counts, movielens
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.movielens import read_ratings
from sampled_metrics.datasets.settings import DatasetSettings
from sampled_metrics.datasets.table_format import TableFormat
from sampled_metrics.datasets.tables import read_interactions


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
    def of(cls, settings: DatasetSettings) -> "Definition":
        """Make a definition from validated settings.

        >>> Definition.of(DatasetSettings(name="ml-20m")).expected.items
        26744
        """
        if settings.is_movielens:
            return cls(settings.name)
        columns = settings.columns.given() if settings.columns else {}
        form = TableFormat(columns, settings.separator)
        return cls(settings.name, form, settings.licence, settings.citation)

    @property
    def expected(self) -> Counts | None:
        """What a published dataset holds; None for a table."""
        return None if self.table else movielens(self.name).counts

    def read(self, path: Path, with_rating: bool = False) -> Interactions:
        """Read the events of an archive or table without any filter."""
        if self.table is not None:
            return read_interactions(path, self.table, with_rating)
        return read_ratings(read_archive(path, movielens(self.name)), with_rating)
