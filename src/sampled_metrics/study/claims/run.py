"""The numbers of a study that claims are measured on: of this run, of another start, or printed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import COUNTS, EXACT, KEY, SAMPLED, scale_of_counts
from sampled_metrics.study.starts import SIZES, USERS, users_by_rank

NAMES = ("X", "Y", "Z")
PAIRS = ("X vs Y", "X vs Z", "Y vs Z")
TOP_HEAVY = ("Recall@10", "NDCG@10", "AP")
METRICS = (*TOP_HEAVY, "AUC")
CORRECTIONS = tuple(
    parse_estimator(name).label
    for name in ("rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
)
LOW_GAMMA = CORRECTIONS[3:]
BEST = CORRECTIONS[3]  # BV 0.1, which section 6.3 prefers
CELLS = [(name, metric) for metric in TOP_HEAVY for name in NAMES]


@dataclass(frozen=True)
class Run:
    """Cells of Tables 3 and 4, and numbers on Figures 5 and 6, in the units of the tables."""

    cells: pd.DataFrame
    """Rows by `KEY`, with the columns `value`, `expected` and maybe `expected_std`: simulated, in
    closed form, and its standard deviation over sampling."""
    ranks: Mapping[str, Ranks] = field(default_factory=dict)
    """Rank records by recommender; those of this run only."""

    @classmethod
    def of(
        cls, cells: pd.DataFrame, ranks: Mapping[str, Ranks], sizes: Mapping[str, float]
    ) -> "Run":
        """Collect this run: its cells, its rank records, and the m that order X and Y."""
        rows: list[tuple[int, str, str, str, float, float]]
        scale = scale_of_counts(cells["table"], cells["repetitions"])
        scaled = cells.assign(value=cells["value"] * scale, expected=cells["expected"] * scale)
        counts = users_by_rank(ranks["X"]) if "X" in ranks else {}
        rows = [(USERS[0], "X", USERS[1], which, users, users) for which, users in counts.items()]
        rows += [(SIZES[0], "X vs Y", SIZES[1], name, m, m) for name, m in sizes.items()]
        others = pd.DataFrame(rows, columns=[*KEY, "value", "expected"])
        return cls(cls.of_table(pd.concat([scaled, others])).cells, ranks)

    @classmethod
    def of_table(cls, table: pd.DataFrame) -> "Run":
        """Index a table with the columns `KEY`, `value` and `expected`."""
        return cls(table.set_index(KEY).sort_index())

    @classmethod
    def published(cls, cells: pd.DataFrame) -> "Run":
        """Take the printed tables; their means and counts are also what they expect."""
        numbers = cells[cells["table"] >= 3].assign(
            value=lambda table: table["value"].astype(float),
            expected=lambda table: table["value"],
            expected_std=lambda table: pd.to_numeric(table["std"]),
        )
        return cls.of_table(numbers[[*KEY, "value", "expected", "expected_std"]])

    def at(
        self, row: str, metric: str, column: str, table: int = 3, kind: str = "expected"
    ) -> float:
        """Return one number."""
        return float(self._numbers[kind][table, row, metric, column])

    @cached_property
    def _numbers(self) -> dict[Any, dict[Any, Any]]:
        """The columns of the cells by `KEY`: a claim looks up thousands of cells."""
        return {kind: column.to_dict() for kind, column in self.cells.items()}

    def means(self, metric: str, column: str, kind: str = "expected") -> dict[str, float]:
        """Return a column of Table 3 for a metric, by recommender."""
        return {name: self.at(name, metric, column, kind=kind) for name in NAMES}

    def exact(self, metric: str) -> dict[str, float]:
        """Return the exact metric by recommender."""
        return self.means(metric, EXACT)

    def sampled(self, metric: str) -> dict[str, float]:
        """Return the uncorrected sampled metric by recommender, in expectation."""
        return self.means(metric, SAMPLED)

    def bias(self, name: str, metric: str, column: str) -> float:
        """Return how far an estimate is from the exact metric in expectation."""
        return abs(self.at(name, metric, column) - self.at(name, metric, EXACT))

    def relative_bias(self, name: str, metric: str, column: str) -> float:
        """Return the bias of an estimate over that of the uncorrected metric."""
        return self.bias(name, metric, column) / self.bias(name, metric, SAMPLED)

    def deviation(self, name: str, metric: str, column: str) -> float:
        """Return the standard deviation of an estimate over sampling."""
        return self.at(name, metric, column, kind="expected_std")

    def counts(self, column: str) -> dict[tuple[str, str], float]:
        """Return a column of Table 4 by pair and metric."""
        return {
            (pair, metric): self.at(pair, metric, column, COUNTS, "value")
            for pair in PAIRS
            for metric in METRICS
        }

    def users(self, which: str) -> int:
        """Return the number of users of X whose held-out item ranks so."""
        return int(self.at("X", USERS[1], which, USERS[0]))

    def size(self, column: str) -> float:
        """Return the smallest m from which on X and Y are ordered correctly in expectation.

        Infinite if no size suffices.
        """
        key = (SIZES[0], "X vs Y", SIZES[1], column)
        if key not in self.cells.index or np.isnan(m := self.at(*key[1:], key[0])):
            return float(np.inf)
        return m
