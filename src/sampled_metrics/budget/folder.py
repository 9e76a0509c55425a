"""An evaluation kept in a folder, with scores from files.

The folder holds the problem and the order of candidates as they were at the start, and in
`state.npz` the scores answered so far with the pairs to be scored next. An interrupted step leaves
the state before it or the one after it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import EXACT, Float, Ids, first_duplicate
from sampled_metrics._base.asking import collected
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import (
    new_folder,
    read_arrays,
    read_json,
    reading_as,
    write_json,
)
from sampled_metrics.budget.candidates import Order, Proxy
from sampled_metrics.budget.evaluation import Session, Settings
from sampled_metrics.budget.problem import Problem
from sampled_metrics.budget.result import BudgetResult
from sampled_metrics.budget.state import State
from sampled_metrics.budget.strata import Frame
from sampled_metrics.tables.arrow import places
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.reading import read_table

_log = logging.getLogger("sampled_metrics")
_SMALLER = "whole numbers of at most 2^53, or decimals"
SETTINGS = "evaluation.json"
PROBLEM = "problem.npz"
STATE = "state.npz"


class Folder:
    """The folder of an evaluation.

    Attributes
    ----------
    settings, problem, state
        As given to `create`; scores so far, and the pairs to be scored next in `state.batch`.
    n_allowed
        Scores that the budget allows, of all recommenders together.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / SETTINGS).is_file():
            problem = "no evaluation on a budget; `sampled-metrics budget start` makes one"
            raise InputError(problem, path=path)
        self.settings = Settings.of(read_json(path / SETTINGS), str(path / SETTINGS))
        what = "the problem of an evaluation on a budget"
        names = (*Problem.array_names(), "proxy", "is_common", "head", "own")
        arrays = read_arrays(path / PROBLEM, what, names)
        with reading_as(path / PROBLEM, what), reading(path / PROBLEM):
            self.problem = Problem.of_arrays(arrays)
            proxy = Proxy(str(arrays["proxy"]), None, bool(arrays["is_common"]))
            kept = arrays["head"], arrays["own"]
            self.order = Order(self.problem, proxy, kept=kept)
        self.state = State.read(path / STATE)
        if self.state.budget is not None:
            self.settings = self.settings.model_copy(update={"budget": self.state.budget})
        n_candidates = self.order.n
        most = int(self.settings.budget * n_candidates.size)
        self.n_allowed = min(most, int(n_candidates.sum())) * len(self.settings.names)
        # Ids by column; that of recommenders only if there are several.
        self._ids: dict[str, Ids] = {USER: self.problem.user_ids, ITEM: self.problem.item_ids}
        if len(self.settings.names) > 1:
            self._ids["recommender"] = np.array(self.settings.names)

    @classmethod
    def create(cls, path: Path, order: Order, settings: Settings) -> "Folder":
        """Make the folder of a new evaluation, all or nothing."""
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise InputError("exists already; name a folder that is new or empty", path=path)
        with new_folder(path) as temporary:
            np.savez(temporary / PROBLEM, **_arrays(order))
            write_json(temporary / SETTINGS, settings.model_dump())
            Session(Frame(order, settings.seed), settings).state.save(temporary / STATE)
        return cls(path)

    @classmethod
    def resumed(cls, path: Path, order: Order, settings: Settings) -> "Folder":
        """Open the folder of this very evaluation, maybe of a smaller budget, or make it."""
        if not (path / SETTINGS).is_file():
            return cls.create(path, order, settings)
        found = cls(path)
        now = _arrays(order)
        before = _arrays(found.order)
        budget = found.settings.budget
        equal = now.keys() == before.keys() and settings.replaced(budget=budget) == found.settings
        if not equal or not all(np.array_equal(now[name], before[name]) for name in now):
            raise InputError("holds another evaluation; name a new folder", path=path)
        if settings.budget < budget:
            problem = f"holds this evaluation with a budget of {budget:g}"
            raise InputError(f"{problem}; give that or more, or name a new folder", path=path)
        if settings.budget > budget:
            return found._extended(settings)
        return found

    def _extended(self, settings: Settings) -> "Folder":
        """Begin again with a larger budget, in which scores told already are not asked."""
        earlier = self.session().scored()
        session = Session(Frame(self.order, settings.seed), settings, earlier=earlier)
        session.tell_known()
        session.state.save(self.path / STATE)
        return Folder(self.path)

    @property
    def pairs(self) -> dict[str, Any]:
        """The pairs to be scored next as columns of ids, without those whose scores are known."""
        batch = self.state.batch
        if batch is None:
            problem = "complete; `sampled-metrics budget result` prints the result"
            raise InputError(problem, path=self.path)
        numbers = (batch.users, batch.items, batch.recommender)
        columns = {}
        for (name, ids), column in zip(self._ids.items(), numbers, strict=False):
            columns[name] = ids[column[self.state.missing]]
        return columns

    def tell(self, paths: Sequence[Path]) -> str:
        """Take the scores of the pairs asked from files; return their price and what they tell."""
        scores = self._read_scores(paths)
        session = self.session()
        state = session.state
        state.part[state.missing] = scores
        session.tell(state.part)
        session.tell_known()
        session.state.save(self.path / STATE)
        self.state = session.state
        answers = self.state.answers
        count = len(self.settings.names)
        n_asked = sum(scores.size for scores in answers[1:])  # without those of held-out items
        per_user = n_asked / self.problem.user_ids.size / count
        following = "complete: `sampled-metrics budget result` prints the result."
        if self.state.batch is not None:
            following = f"{self.state.missing.sum():,} pairs to score next."
        price = (
            f"round {len(answers)}: {n_asked:,} of at most {self.n_allowed:,} scores, "
            f"{per_user:.4g} per user{' and recommender' * (count > 1)}; {following}"
        )
        return "\n".join([price, *_words(session.expected())])

    def result(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.state.batch is not None:
            waiting = f"{self.state.missing.sum():,} pairs wait for scores"
            problem = f"{waiting}; see `sampled-metrics budget ask`"
            raise InputError(problem, path=self.path)
        with collected() as notes:
            found = self.session().finished()
        return replace(found, notes=tuple(notes))

    def session(self) -> Session:
        """Return the evaluation as it was saved."""
        path = self.path / STATE
        with reading_as(path, "the state of this evaluation"), reading(path):
            return Session(Frame(self.order, self.settings.seed), self.settings, self.state)

    def _read_scores(self, paths: Sequence[Path]) -> Float:
        """Read the scores of all pairs asked, in their order; rows of the files may have any."""
        ids = self._ids
        asked = self.pairs
        sizes = [names.size for names in ids.values()]
        columns = (*ids, "score")
        places_asked = [places(asked[name], ids[name]) for name in ids]
        wanted = np.ravel_multi_index(places_asked, sizes)
        scores = np.empty(wanted.size)
        rows = np.empty(0, np.int64)
        for path in paths:
            table = read_table(path, f"scores ({', '.join(columns)})", columns, ids=(*ids,))
            table.require(*columns)
            values = table.finite("score")
            is_large = (np.abs(values) > EXACT) & (np.floor(values) == values)
            table.refuse("score", is_large & table.is_whole("score"), values, _SMALLER)
            codes = np.array([places(table.ids(name), ids[name]) for name in ids])
            numbered = np.ravel_multi_index(list(np.maximum(codes, 0)), sizes)
            row = places(numbered, wanted)
            is_strange = (row < 0) | (codes < 0).any(axis=0)
            strange = np.flatnonzero(is_strange)
            if strange.size:
                pair = ", ".join(f"{name} {table.ids(name)[strange[0]]}" for name in ids)
                problem = f"{pair} was not asked in this round; see `sampled-metrics budget ask`"
                raise table.error_at(int(strange[0]), problem)
            rows = np.concatenate([rows, row])
            again = first_duplicate(rows)
            if again is not None:
                raise table.error_at(again - rows.size + row.size, "duplicate of an earlier row")
            scores[row] = values
        missing = np.setdiff1d(np.arange(wanted.size), rows)
        if missing.size:
            pair = ", ".join(f"{name} {asked[name][missing[0]]}" for name in ids)
            problem = f"no score of {pair}; {missing.size:,} of {wanted.size:,} pairs lack one"
            raise InputError(problem, path=" and ".join(map(str, paths)))
        return scores


def _words(expected: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Say what the model expects of each recommender."""
    for name, metrics in expected.items():
        values = ", ".join(f"{metric} {value:.4f}" for metric, value in metrics.items())
        of_several = ""
        if len(expected) > 1:
            of_several = f" of {name}"
        yield f"expected so far{of_several}, not audited: {values}"


def _arrays(order: Order) -> dict[str, Any]:
    """Return what the file of the problem holds."""
    arrays = order.problem.arrays()
    arrays["proxy"] = np.array(order.proxy.name)
    arrays["is_common"] = np.array(order.proxy.is_common)
    arrays["head"] = order.head
    arrays["own"] = order.own
    return arrays
