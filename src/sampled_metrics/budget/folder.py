"""An evaluation kept in a folder, with scores from files or from functions.

The folder holds the problem and the order of candidates as they were at the start, and in
`state.npz` the scores answered so far with the pairs to be scored next. An interrupted step leaves
the state before it or the one after it.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.arrays import EXACT, Float, Ids, first_duplicate
from sampled_metrics._base.asking import collected
from sampled_metrics._base.defaults import BUDGET, BUDGET_METRICS, CONFIDENCE
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import (
    alone_in,
    new_folder,
    read_arrays,
    read_json,
    reading_as,
    write_json,
)
from sampled_metrics._base.kinds import Kind, is_dictionary, kind_of
from sampled_metrics.budget.candidates import Order, Proxy, make_proxy
from sampled_metrics.budget.evaluation import Session, Settings, expectation
from sampled_metrics.budget.problem import Function, Grid, Problem, Scorer, numbers
from sampled_metrics.budget.questions import question_stored
from sampled_metrics.budget.result import BudgetResult
from sampled_metrics.budget.state import Batch, Scored, State
from sampled_metrics.budget.strata import Frame
from sampled_metrics.inputs.held import OfUsers
from sampled_metrics.tables.arrow import places
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.reading import read_table

_log = logging.getLogger("sampled_metrics")
_SMALLER = "whole numbers of at most 2^53, or decimals"
SETTINGS = "evaluation.json"
PROBLEM = "problem.npz"
STATE = "state.npz"
Recommender: TypeAlias = Function | OfUsers


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


def evaluate_on_budget(
    recommender: Recommender | Mapping[str, Recommender],
    metrics: str | Sequence[str] = BUDGET_METRICS,
    *,
    relevant: OfUsers,
    seen: OfUsers | None = None,
    candidates: OfUsers | None = None,
    items: OfUsers | None = None,
    proxy: Function | OfUsers = "popularity",
    budget: float = BUDGET,
    until_decided: bool = False,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    batch_size: int | None = None,
    state: str | Path | None = None,
) -> BudgetResult:
    """Estimate metrics over all candidates from about a hundred scores per user.

    Use it where scores are expensive. A recommender that scores the whole catalogue at once is
    better ranked fully (`rank`), which takes less time and leaves no error; the result says how
    long that would take. Intervals and orders are about the exact metrics of the users given.
    Before the first score a line is logged that says what the budget can be expected to give, as a
    warning where that is little.

    Parameters
    ----------
    recommender
        Function of arrays of users and items that returns a score per pair, larger is better; a
        matrix of scores, users x items; a DataFrame of them with ids as index and columns; or
        several under their names, which are compared on the same users and random numbers.
    metrics
        recall@k, ndcg@k and ap; with one held-out item per user also hr@k, mrr, mrr@k and map@k.
    relevant, seen
        Held-out items, and those that are no candidates. Both as tables of `user_id` and `item_id`
        (files, DataFrames, or dictionaries of a list per user), whose ids functions then get. Or
        by position: `seen` as a matrix, users x items, or a list of columns per user, and the
        column of each user's held-out item, -1 for none, a list of them per user, or a matrix.
    candidates
        Items that are ranked for each user, in the forms of `seen`, by default all; seen items are
        taken out of them, and the held-out items need not be among them. With them `seen` may be
        left out, if the proxy is given as scores.
    items
        Table of all items (`item_id`), if some are in no other table; by position their number,
        where no matrix says it.
    proxy
        Cheap scores that tell where to look: `popularity`; `als` (8 factors, trained on what was
        seen; needs the package implicit); or scores as of a recommender, or in a table.
    budget
        Scores per user and recommender, a bound on their mean; held-out items are not counted.
    until_decided
        Stop before the budget is spent, once all orders are decided in every metric. The
        evaluation looks at a quarter, at half and at the end of the budget; the intervals allow
        for it and are somewhat wider.
    confidence, seed
        Coverage of the intervals; seed of all random numbers.
    batch_size
        Largest number of pairs in one call of a function; does not change the result.
    state
        Folder that keeps all scores, after each call. The same evaluation goes on from there if it
        was interrupted, also by `sampled-metrics budget`, or if `budget` is larger now. A few pairs
        are then scored again, to see that the recommender is the same.

    Returns
    -------
    BudgetResult
        Prints as a table; `to_frame()` has the metrics, `compare()` the orders of all pairs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((40, 30))
    >>> held_out = np.arange(40) % 30
    >>> result = evaluate_on_budget(
    ...     lambda users, items: scores[users, items], "HR@5",
    ...     relevant=held_out, seen=np.zeros((40, 30)), budget=29,
    ... )
    >>> exact = np.mean((scores > scores[np.arange(40), held_out, np.newaxis]).sum(axis=1) < 5)
    >>> bool(np.isclose(result.estimates[0][0].value, exact))
    True
    """
    if batch_size is not None and whole_number("batch_size", batch_size) < 1:
        raise InputError(f"batch_size is {batch_size}, expected at least 1")
    if state is not None and not isinstance(state, str | Path):
        raise InputError(f"state is a {type(state).__name__}; expected the name of a folder")
    given: Any = recommender
    if not is_dictionary(given):
        given = {"score": recommender}
    if not given or not all(isinstance(name, str) for name in given):
        raise InputError("recommender has no names; expected at least one, each a text")
    options: dict[str, Any] = {
        "names": tuple(given),
        "metrics": metrics,
        "budget": budget,
        "confidence": confidence,
        "seed": seed,
        "until_decided": until_decided,
    }
    settings = Settings.of(options, "evaluate_on_budget")
    sources = []
    for scores in given.values():
        is_grid = kind_of(scores) is not Kind.FUNCTION
        sources.append(Grid.of("recommender", scores) if is_grid else scores)
    catalogue = [x.items() for x in sources if isinstance(x, Grid) and items is None]
    shapes = [x.values.shape for x in sources if isinstance(x, Grid) and x.item_ids is None]
    shape = next(iter(shapes), None)
    with collected() as notes, ExitStack() as stack:
        problem = Problem.of(relevant, seen, next(iter(catalogue), items), candidates, shape)
        scorers = [problem.scorer("recommender", source) for source in sources]
        order = Order(problem, make_proxy(proxy, problem, settings.seed))
        folder = None
        if state is not None:
            folder = Folder.resumed(Path(state), order, settings)
            stack.enter_context(alone_in(folder.path))
            folder = Folder(folder.path)  # as another process may have left it
            session = folder.session()
            _question_stored(session.scored(), scorers, settings.names)
        else:
            session = Session(Frame(order, settings.seed), settings)
        _log.log(*expectation(order, settings.budget))
        times = _scored(session, folder, scorers, batch_size)
    return replace(session.finished(), seconds_per_score=times, notes=tuple(notes))


def _question_stored(stored: Scored, scorers: Sequence[Scorer], names: Sequence[str]) -> None:
    """Ask whether recommenders are still those whose scores are stored."""
    for number, name in enumerate(names):
        mine = stored.pairs.recommender == number
        if mine.any():
            pairs = Batch(*(column[mine] for column in stored.pairs))
            label = name if len(names) > 1 else ""
            question_stored(label, Scored(pairs, stored.scores[mine]), scorers[number])


def _scored(
    session: Session, folder: Folder | None, scorers: Sequence[Scorer], size: int | None
) -> tuple[float, ...]:
    """Score all that the session asks; return the mean time of a pair by recommender."""
    seconds = np.zeros(len(scorers))
    pairs = np.zeros(len(scorers))
    for number, part, *pair in _parts(session, folder, size):
        began = time.perf_counter()
        found = numbers("result of recommender", scorers[number](*pair), part.shape)
        session.state.part[part] = found
        seconds[number] += time.perf_counter() - began
        pairs[number] += part.size
    if not pairs.all():
        return ()
    return tuple((seconds / pairs).tolist())


def _parts(session: Session, folder: Folder | None, size: int | None) -> Iterator[Any]:
    """Yield recommender, places in the batch, users and items to score; keep what was scored."""
    while (batch := session.ask()) is not None:
        missing = session.state.missing
        for number in range(batch.recommender.max() + 1):
            mine = np.flatnonzero((batch.recommender == number) & missing)
            step = size or max(mine.size, 1)
            for first in range(0, mine.size, step):
                part = mine[first : first + step]
                yield number, part, batch.users[part], batch.items[part]
                if folder:
                    session.state.save(folder.path / STATE)
        session.tell(session.state.part)
        if folder:
            session.state.save(folder.path / STATE)
        _log.info("%s scores so far", f"{sum(map(len, session.state.answers)):,}")
