"""Scores of the pairs asked, read from files in any order of rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Ids, Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.evaluation import Batch
from sampled_metrics.inference.budget.problem import Problem
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER, places
from sampled_metrics.tables.reading import read_table

SCORE, RECOMMENDER = "score", "recommender"


class Asked(NamedTuple):
    """The pairs of one round, and what their users, items and recommenders are called.

    With several recommenders, rows also name the one that is to score the pair.
    """

    batch: Batch
    problem: Problem
    names: tuple[str, ...]

    @property
    def ids(self) -> dict[str, Ids]:
        """Ids of users, items and maybe recommenders, by column."""
        ids: dict[str, Ids] = {USER: self.problem.user_ids, ITEM: self.problem.item_ids}
        return ids | {RECOMMENDER: np.array(self.names)} if len(self.names) > 1 else ids

    @property
    def n_held_out(self) -> int:
        """How many of the pairs are held-out items."""
        n_items = self.problem.item_ids.size
        held_out = self.problem.owner * n_items + self.problem.item
        return int(np.isin(self.batch.users * n_items + self.batch.items, held_out).sum())

    def columns(self) -> dict[str, Any]:
        """Return the pairs as columns of ids."""
        numbers = (self.batch.users, self.batch.items, self.batch.recommender)
        pairs = zip(self.ids.items(), numbers, strict=False)
        return {name: ids[column] for (name, ids), column in pairs}

    def scores(self, paths: Sequence[Path]) -> Float:
        """Read the scores of all pairs, in the order in which they were asked.

        The files together hold each pair once. The first row that is not asked, duplicate or not a
        finite number is an InputError, and so is a pair without a row.
        """
        what = f"scores ({', '.join(self.ids)}, {SCORE})"
        tables = [
            read_table(path, what, (*self.ids, SCORE), ids=(*self.ids,), likely={SCORE: "float64"})
            for path in paths
        ]
        for table in tables:
            table.require(*self.ids, SCORE)
        values = np.concatenate([table.finite(SCORE) for table in tables])
        wanted = self._key(self.batch.users, self.batch.items, self.batch.recommender)
        keys = [self._keys(table) for table in tables]
        for table, mine in zip(tables, keys, strict=True):
            self._require_asked(table, np.isin(mine, wanted))
        key = np.concatenate(keys)
        self._require_once(tables, key)
        if key.size < wanted.size:
            self._refuse_missing(paths, np.isin(wanted, key))
        order = np.argsort(key)
        return values[order][np.searchsorted(key, wanted, sorter=order)]

    def _key(self, users: Int, items: Int, recommender: Int) -> Int:
        """Return one number for each pair of each recommender."""
        row = recommender * self.problem.user_ids.size + users
        return row * self.problem.item_ids.size + items

    def _keys(self, table: Table) -> Int:
        """Return the numbers of the rows of a table, -1 for unknown ids."""
        numbers = []
        for name, ids in self.ids.items():
            codes, names = table.codes(name)
            numbers.append(places(names, ids)[codes])
        unknown = np.min(numbers, axis=0) < 0
        user, item, *others = numbers
        key = self._key(user, item, others[0] if others else np.zeros_like(user))
        return np.where(unknown, -1, key)

    def _require_asked(self, table: Table, asked: NDArray[np.bool_]) -> None:
        if not asked.all():
            row = int(np.argmin(asked))
            pair = ", ".join(f"{name} {table.ids(name)[row]}" for name in self.ids)
            problem = f"{pair} was not asked in this round; `budget ask` writes the pairs to score"
            raise table.error_at(row, problem)

    def _require_once(self, tables: Sequence[Table], key: Int) -> None:
        again = first_duplicate(key)
        if again is None:
            return
        starts = np.cumsum([0, *map(len, tables)])
        first = int(np.argmax(key == key[again]))
        file, other = np.searchsorted(starts, [again, first], side="right") - 1
        elsewhere = "" if file == other else f" of {tables[other].path}"
        problem = f"duplicate of row {first - starts[other] + 1}{elsewhere}"
        raise tables[file].error_at(int(again - starts[file]), problem)

    def _refuse_missing(self, paths: Sequence[Path], known: NDArray[np.bool_]) -> None:
        row = int(np.argmin(known))
        pair = ", ".join(f"{name} {column[row]}" for name, column in self.columns().items())
        missing = known.size - np.count_nonzero(known)
        raise InputError(
            f"no score of {pair}, row {row + 1} of the pairs asked; {missing:,} of {known.size:,} "
            "lack one",
            path=" and ".join(map(str, paths)),
        )
