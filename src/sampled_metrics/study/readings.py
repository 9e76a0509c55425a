"""A reading of the paper, and the data and models that readings are measured with."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.filters import apply_filters
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.movielens import read_archive, read_ratings
from sampled_metrics.datasets.split import Split, load_split
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Ranks, rank
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.recommenders import create
from sampled_metrics.study.cells import EXACT, read_published
from sampled_metrics.study.entries import Entry
from sampled_metrics.study.settings import ExperimentSettings

_log = logging.getLogger(__name__)
METRICS = tuple(map(parse_measure, defaults.METRICS))


class Reading(NamedTuple):
    """A quantity under one reading of the paper."""

    topic: str
    """Place in the paper."""
    reading: str
    """How the place is understood."""
    quantity: str
    """Quantity compared, in percent unless it says otherwise."""
    value: float
    """Ours under this reading."""
    published: str
    """The paper's number, as text; `< 300` and `> 1600` are bounds."""
    tolerance: float
    """Largest difference that counts as reproducing the published number."""

    @property
    def reproduces(self) -> bool:
        """Whether the published number follows from this reading."""
        sign, _, bound = self.published.rpartition(" ")
        if sign:
            return self.value < float(bound) if sign == "<" else self.value > float(bound)
        return abs(self.value - float(self.published)) <= self.tolerance


def retrained(entry: Entry, split: Split, threads: int, **settings: Any) -> Ranks:
    """Return the ranks of a recommender trained with some settings changed."""
    model = create(entry.kind, {**entry.settings, **settings}).fit(split.train, threads)
    return rank(model.scorer, split.train, split.held_out)


def ranks_by_start(entry: Entry, split: Split, starts: int, threads: int) -> list[Ranks]:
    """Return the ranks of an als recommender for each of the seeds 0, 1 ... it is trained from."""
    ranks = []
    for seed in range(starts):
        ranks.append(retrained(entry, split, threads, seed=seed))
        _log.info("spread: start %d of %d", seed + 1, starts)
    return ranks


@dataclass(frozen=True)
class Material:
    """Data, recommenders X, Y and Z, their ranks and the published numbers."""

    interactions: Interactions
    split: Split
    ranks: Mapping[str, Ranks]
    recommenders: Mapping[str, Entry]
    experiment: ExperimentSettings
    cells: Mapping[tuple[str, str, str], str]
    threads: int = 1

    @classmethod
    def load(
        cls,
        archive: Path,
        split: Path,
        ranks: Sequence[Path],
        recommenders: Sequence[Entry],
        experiment: ExperimentSettings,
        published: Path,
        threads: int,
    ) -> "Material":
        """Read archive, split, ranks and published cells."""
        by_name = {entry.name: entry for entry in recommenders}
        for name, kind in {"X": "als", "Y": "itemknn", "Z": "itemknn"}.items():
            if name not in by_name or by_name[name].kind != kind:
                raise InputError(f"the audit needs a recommender {name} of kind {kind}")
        printed = read_published(published)
        printed = printed[printed["table"] >= 3]
        cells: dict[Any, Any] = printed.set_index(["row", "metric", "column"])["value"].to_dict()
        return cls(
            apply_filters(read_ratings(read_archive(archive)))[0],
            load_split(split),
            read_by_name(ranks),
            by_name,
            experiment,
            cells,
            threads,
        )

    def printed(self, name: str, measure: Measure, column: str = EXACT) -> str:
        """Return the published cell of Table 3 for a recommender, a metric and a column."""
        return self.cell(name, measure.label, column)

    def cell(self, row: str, metric: str, column: str) -> str:
        """Return a published cell of Table 3 or 4."""
        return self.cells[row, metric, column]

    def trained(self, name: str, split: Split | None = None, **settings: Any) -> Ranks:
        """Return the ranks of a recommender trained with other settings."""
        data = self.split if split is None else split
        return retrained(self.recommenders[name], data, self.threads, **settings)

    def untrained(self, name: str, **settings: Any) -> Any:
        """Return a recommender with some settings changed, before its training."""
        entry = self.recommenders[name]
        return create(entry.kind, {**entry.settings, **settings})
