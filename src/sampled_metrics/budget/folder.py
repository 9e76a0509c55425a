"""An evaluation kept in a folder, with scores from files.

The folder holds the problem and the order of candidates as they were at the start, and in
`state.npz` the scores answered so far with the pairs to be scored next. An interrupted step leaves
the state before it or the one after it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arrays import EXACT, Float, Ids, first_duplicate
from sampled_metrics._base.errors import InputError, collected, reading
from sampled_metrics._base.files import new_folder, read_arrays, read_json, reading_as, write_json
from sampled_metrics._base.sparse import from_structure, structure, structure_names
from sampled_metrics.budget.candidates import Order, Proxy
from sampled_metrics.budget.evaluation import Session, Settings
from sampled_metrics.budget.problem import Problem
from sampled_metrics.budget.result import BudgetResult
from sampled_metrics.budget.state import Scored, State
from sampled_metrics.inputs.tables import ITEM, USER, places, read_table

_SMALLER = "whole numbers of at most 2^53, or decimals"
SETTINGS = "evaluation.json"
PROBLEM = "problem.npz"
STATE = "state.npz"
_OF_PROBLEM = ("owner", "item", "user_ids", "item_ids", "by_id")  # arrays of its file
_OF_ORDER = ("proxy", "is_common", "head", "own")
_LISTED = "candidates_"  # prefix of the arrays of candidates, if they were given


class Folder:
    """The folder of an evaluation.

    Attributes
    ----------
    settings, problem, order, state
        As given to `create`; scores so far, and the pairs to be scored next in `state.next`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / SETTINGS).is_file():
            problem = "no evaluation on a budget; `sampled-metrics budget start` makes one"
            raise InputError(problem, path=path)
        self.settings = Settings.of(read_json(path / SETTINGS), str(path / SETTINGS))
        self.order = _read_order(path / PROBLEM)
        self.problem = self.order.problem
        self.state = State.read(path / STATE)
        if self.state.budget is not None:
            self.settings = self.settings.replaced(budget=self.state.budget)
        # Ids by column; that of recommenders only if there are several.
        self._ids: dict[str, Ids] = {USER: self.problem.user_ids, ITEM: self.problem.item_ids}
        if len(self.settings.names) > 1:
            self._ids["recommender"] = np.array(self.settings.names)

    @staticmethod
    def create(path: Path, order: Order, settings: Settings) -> None:
        """Make the folder of a new evaluation, all or nothing."""
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise InputError("exists already; name a folder that is new or empty", path=path)
        with new_folder(path) as temporary:
            np.savez(temporary / PROBLEM, **_arrays(order))
            write_json(temporary / SETTINGS, settings.model_dump())
            Session(order, settings, path=temporary / STATE).save()

    @classmethod
    def resume(cls, path: Path, order: Order, settings: Settings) -> None:
        """Make the folder, or go on in that of this very evaluation, maybe of a smaller budget."""
        if not (path / SETTINGS).is_file():
            cls.create(path, order, settings)
            return
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
        if settings.budget > budget:  # scores told already are not asked again
            larger = State(budget=settings.budget, earlier=found.session().scored())
            session = Session(found.order, settings, larger, path / STATE)
            session.tell_known()
            session.save()

    @property
    def asked(self) -> Scored:
        """The pairs to be scored next."""
        if self.state.next is None:
            problem = "complete; `sampled-metrics budget result` prints the result"
            raise InputError(problem, path=self.path)
        return self.state.next

    @property
    def pairs(self) -> dict[str, Any]:
        """The pairs to be scored next as columns of ids, without those whose scores are known."""
        wanted = self.asked.take(self.asked.missing)
        columns = (wanted.users, wanted.items, wanted.recommender)
        ids = zip(self._ids.items(), columns, strict=False)
        return {name: of_column[numbers] for (name, of_column), numbers in ids}

    def tell(self, paths: Sequence[Path]) -> str:
        """Take the scores of the pairs asked from files; return their price and what they tell."""
        self.asked.scores[self.asked.missing] = self._read_scores(paths)
        session = self.session()
        session.tell_known()
        session.save()
        self.state = session.state
        answers = self.state.answers
        count = len(self.settings.names)
        n_candidates = self.order.n
        most = min(int(self.settings.budget * n_candidates.size), int(n_candidates.sum()))
        n_asked = sum(scores.size for scores in answers[1:])  # without those of held-out items
        per_user = n_asked / n_candidates.size / count
        following = "complete: `sampled-metrics budget result` prints the result."
        if self.state.next:
            following = f"{self.state.next.missing.sum():,} pairs to score next."
        lines = [
            f"round {len(answers)}: {n_asked:,} of at most {most * count:,} scores, "
            f"{per_user:.4g} per user{' and recommender' * (count > 1)}; {following}"
        ]
        for name, metrics in session.expected().items():
            values = ", ".join(f"{metric} {value:.4f}" for metric, value in metrics.items())
            of_several = f" of {name}" * (count > 1)
            lines.append(f"expected so far{of_several}, not audited: {values}")
        return "\n".join(lines)

    def result(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.state.next:
            waiting = f"{self.state.next.missing.sum():,} pairs wait for scores"
            problem = f"{waiting}; see `sampled-metrics budget ask`"
            raise InputError(problem, path=self.path)
        with collected() as notes:
            found = self.session().result
        return replace(found, notes=tuple(notes))

    def session(self) -> Session:
        """Return the evaluation as it was saved."""
        path = self.path / STATE
        with reading_as(path, "the state of this evaluation"), reading(path):
            session = Session(self.order, self.settings, self.state, path)
            session.resume(self.state)
            return session

    def _read_scores(self, paths: Sequence[Path]) -> Float:
        """Read the scores of all pairs asked, in their order; rows of the files may have any."""
        ids = self._ids
        asked = self.pairs
        sizes = [names.size for names in ids.values()]
        columns = (*ids, "score")
        numbers = [places(asked[name], ids[name]) for name in ids]
        wanted = np.ravel_multi_index(numbers, sizes)
        scores = np.empty(wanted.size)
        rows = np.empty(0, np.int64)
        for path in paths:
            table = read_table(path, f"scores ({', '.join(columns)})", columns, ids=(*ids,))
            table.require(*columns)
            values = table.finite("score")
            is_large = (np.abs(values) > EXACT) & (np.floor(values) == values)
            table.refuse(
                "score",
                is_large & pa.types.is_integer(table.columns["score"].type),
                values,
                _SMALLER,
            )
            codes = [places(table.ids(name), ids[name]) for name in ids]
            row = places(np.ravel_multi_index(codes, sizes, mode="clip"), wanted)
            strange = np.flatnonzero(np.min([row, *codes], axis=0) < 0)
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


def _arrays(order: Order) -> dict[str, Any]:
    """Return what the file of the problem holds."""
    problem = order.problem
    arrays = structure(problem.events)
    arrays.update((name, getattr(problem, name)) for name in _OF_PROBLEM)
    if problem.candidates is not None:
        arrays.update(structure(problem.candidates, _LISTED))
    arrays["proxy"] = order.proxy.name
    arrays["is_common"] = order.proxy.is_common
    arrays["head"] = order.head
    arrays["own"] = order.own
    return arrays


def _read_order(path: Path) -> Order:
    """Read what `_arrays` returned."""
    what = "the problem of an evaluation on a budget"
    arrays = read_arrays(path, what, (*structure_names(), *_OF_PROBLEM, *_OF_ORDER))
    with reading_as(path, what), reading(path):
        candidates = None
        if structure_names(_LISTED)[0] in arrays:
            candidates = from_structure(arrays, _LISTED)
        columns: dict[str, Any] = {name: arrays[name] for name in _OF_PROBLEM}
        problem = Problem(from_structure(arrays), candidates=candidates, **columns)
        proxy = Proxy(str(arrays["proxy"]), None, bool(arrays["is_common"]))
        return Order(problem, proxy, kept=(arrays["head"], arrays["own"]))
