"""An evaluation on a budget whose scores come as files: its state, kept in a folder.

The folder holds the problem and the proxy as they were at the start, and in `state.npz` the scores
answered so far with the pairs to be scored next. An interrupted step leaves the state before it or
the one after it.
"""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from sampled_metrics._base.arrays import Float, Ids, Int, first_duplicate
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_arrays, read_json, write_json
from sampled_metrics._base.sparse import from_structure, marked, structure, structure_names
from sampled_metrics.budget.candidates import Candidates, Proxy, als, by_factors, by_popularity
from sampled_metrics.budget.evaluation import Session, Settings, State
from sampled_metrics.budget.result import BudgetResult
from sampled_metrics.ranks.pairs import Pairs, read_known_items
from sampled_metrics.tables import ITEM, USER, places, read_table

SETTINGS, PROBLEM, STATE = "evaluation.json", "problem.npz", "state.npz"


class Problem(NamedTuple):
    """What users have seen and what was held out of it.

    Attributes
    ----------
    events
        1 where a user has seen an item; shape (all users, items). Users with held-out items come
        first and are evaluated; the events of the others only train proxies.
    owner, item
        User and item of each held-out row, ordered by user.
    user_ids, item_ids
        Ids of the users evaluated and of all items.
    """

    events: csr_array
    owner: Int
    item: Int
    user_ids: Ids
    item_ids: Ids

    @classmethod
    def read(cls, seen: Path, held_out: Path, items: Path | None = None) -> "Problem":
        """Read tables of seen, held-out (or qrels) and, if some are in neither, all items."""
        known = read_known_items(held_out, seen, items)
        events = marked(vstack([known.seen, known.seen_by_others], format="csr"))
        owner, item = csr_array(known.held_out).sorted_indices().nonzero()
        return cls(events, owner, item, known.user_ids, known.item_ids)

    def candidates(self) -> Candidates:
        """Candidates of the users evaluated: all items that they have not seen."""
        first = np.searchsorted(self.owner, np.arange(1, self.user_ids.size))
        return Candidates(self.events[: self.user_ids.size], np.split(self.item, first))

    def proxy(self, name: str, arrays: Mapping[str, Any]) -> Proxy:
        """Make a proxy from the arrays that `_proxy_arrays` returned."""
        if name == "popularity":  # among all users, also those who are not evaluated
            return by_popularity(self.events, self.events.shape[0] == self.user_ids.size)
        if name == "als":
            return by_factors(arrays["users"], arrays["items"])
        table = from_structure(arrays, "scores_", arrays["scores"])
        return Proxy(name, lambda users: table[users].toarray())


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
        names = (*structure_names(), *Problem._fields[1:], "proxy")
        arrays = read_arrays(path / PROBLEM, "the problem of an evaluation on a budget", names)
        columns = (arrays[name] for name in Problem._fields[1:])
        self.problem = Problem(from_structure(arrays), *columns)
        self._proxy = self.problem.proxy(str(arrays["proxy"]), arrays)
        self.state = State.read(path / STATE)
        n_candidates, budget = self.problem.candidates().n_others, self.settings.budget
        most = min(int(budget * n_candidates.size), int(n_candidates.sum()))
        self.n_allowed = most * len(self.settings.names)
        # Ids by column; that of recommenders only if there are several.
        self._ids: dict[str, Ids] = {USER: self.problem.user_ids, ITEM: self.problem.item_ids}
        if len(self.settings.names) > 1:
            self._ids["recommender"] = np.array(self.settings.names)

    @classmethod
    def create(cls, path: Path, problem: Problem, proxy: str, settings: Settings) -> "Folder":
        """Make the folder of a new evaluation, all or nothing; `proxy` as for `budget start`."""
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise InputError("exists already; name a folder that is new or empty", path=path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            columns, arrays = problem._asdict(), _proxy_arrays(proxy, problem, settings.seed)
            np.savez(temporary / PROBLEM, **structure(columns.pop("events")), **columns, **arrays)
            write_json(temporary / SETTINGS, settings.model_dump())
            made = problem.proxy(str(arrays["proxy"]), arrays)
            Session.of(problem.candidates(), made, settings).save(temporary / STATE)
            temporary.chmod(0o755)
            temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return cls(path)

    @property
    def pairs(self) -> dict[str, Any]:
        """The pairs to be scored next as columns of ids."""
        batch = self.state.batch
        if batch is None:
            raise InputError("complete; `budget result` prints the result", path=self.path)
        columns = (batch.users, batch.items, batch.recommender)
        return {x: ids[c] for (x, ids), c in zip(self._ids.items(), columns, strict=False)}

    def tell(self, paths: Sequence[Path]) -> str:
        """Take the scores of the pairs asked from files; return what they cost so far."""
        scores = self._read_scores(paths)
        session = self._resumed()
        session.tell(scores)
        session.save(self.path / STATE)
        self.state = session.state
        answers, count = self.state.answers, len(self.settings.names)
        n_asked = sum(scores.size for scores in answers[1:])  # without those of held-out items
        per_user = n_asked / self.problem.user_ids.size / count
        following = "complete: `sampled-metrics budget result` prints the result."
        if self.state.batch is not None:
            following = f"{self.state.batch.users.size:,} pairs to score next."
        return (
            f"round {len(answers)}: {n_asked:,} of at most {self.n_allowed:,} scores, "
            f"{per_user:.4g} per user{' and recommender' * (count > 1)}; {following}"
        )

    def result(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.state.batch is not None:
            problem = f"{self.state.batch.users.size:,} pairs wait for scores; see `budget ask`"
            raise InputError(problem, path=self.path)
        return self._resumed().finished()

    def _resumed(self) -> Session:
        path = self.path / STATE
        with reading(path):
            return Session.of(self.problem.candidates(), self._proxy, self.settings, path)

    def _read_scores(self, paths: Sequence[Path]) -> Float:
        """Read the scores of all pairs asked, in their order; rows of the files may have any."""
        ids, asked = self._ids, self.pairs
        sizes, columns = [names.size for names in ids.values()], (*ids, "score")
        wanted = np.ravel_multi_index([places(asked[name], ids[name]) for name in ids], sizes)
        scores, rows = np.empty(wanted.size), np.empty(0, np.int64)
        for path in paths:
            table = read_table(path, f"scores ({', '.join(columns)})", columns, ids=(*ids,))
            table.require(*columns)
            values = table.finite("score")
            codes = np.array([places(table.ids(name), ids[name]) for name in ids])
            row = places(np.ravel_multi_index(list(np.maximum(codes, 0)), sizes), wanted)
            strange = np.flatnonzero((row < 0) | (codes < 0).any(axis=0))
            if strange.size:
                pair = ", ".join(f"{name} {table.ids(name)[strange[0]]}" for name in ids)
                problem = f"{pair} was not asked in this round; see `budget ask`"
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


def _proxy_arrays(proxy: str, problem: Problem, seed: int) -> dict[str, Any]:
    """Train or read a proxy; return its name and what `Problem.proxy` needs."""
    name = {"proxy": np.array(Path(proxy).name)}
    if proxy == "popularity":
        return name
    n_users, n_items = problem.user_ids.size, problem.item_ids.size
    if proxy == "als":
        users, items = als(problem.events, seed)
        return name | {"users": users[:n_users], "items": items}
    what = "popularity, als or a table of scores (user_id, item_id, score)"
    table = read_table(proxy, what, (USER, ITEM, "score"))
    table.require(USER, ITEM, "score")
    score, pairs = table.finite("score"), Pairs.of(table)
    user = places(pairs.user_ids, problem.user_ids)[pairs.user]
    item = places(pairs.item_ids, problem.item_ids)[pairs.item]
    inside = (user >= 0) & (item >= 0)
    missing = np.setdiff1d(np.arange(n_users), user[inside])
    if missing.size:
        raise InputError(f"no score for user_id {problem.user_ids[missing[0]]}", path=proxy)
    # Only the order counts: places from 1, so that candidates without a score come last.
    order = np.unique(score, return_inverse=True)[1] + 1
    scores = csr_array((order[inside], (user[inside], item[inside])), shape=(n_users, n_items))
    return name | {"scores": scores.data, **structure(scores, "scores_")}
