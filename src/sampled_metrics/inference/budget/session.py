"""Evaluations that ask for scores in batches and can be stopped and resumed."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.evaluation import (
    Batch,
    Modelled,
    Settings,
    Watch,
    evaluation,
    require_budget,
)
from sampled_metrics.inference.budget.ledger import Ledger
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.pilot import pilot, pilot_scores, pilot_users
from sampled_metrics.inference.budget.proxies import Part, Proxy, make_proxy
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.shuffle import stream, uniform


class Prepared(NamedTuple):
    """Problem and proxies of an evaluation, before any score of a recommender is known."""

    candidates: Candidates
    proxies: tuple[Proxy, ...]
    seed: int

    def frame(self, proxy: Proxy) -> Frame:
        """Strata of all users in the order of a proxy."""
        return Frame(Order(self.candidates, proxy), self.candidates.owner, self.seed)


def prepare(candidates: Candidates, proxy: Any, seed: int) -> Prepared:
    """Make the proxies of an evaluation; `proxy` is one or a list of them."""
    several = proxy if isinstance(proxy, (list, tuple)) else [proxy]
    shape = (candidates.n_users, candidates.n_items)
    made = tuple(make_proxy(one, candidates.seen, shape, seed) for one in several)
    if not made:
        raise InputError("proxy is an empty list; name at least one")
    return Prepared(candidates, made, seed)


def steps(
    prepared: Prepared, settings: Settings, watch: Watch | None = None
) -> Generator[Batch, Float, BudgetResult]:
    """Yield batches of pairs, take their scores, return the result; a pilot first if need be."""
    candidates, proxies, seed = prepared
    if len(proxies) == 1:
        frame = prepared.frame(proxies[0])
        return (yield from evaluation(frame, candidates.item, settings, watch=watch))
    draws = uniform(stream(seed, "pilot"), np.arange(candidates.n_users))
    users = pilot_users(candidates.n_users, draws)
    part = candidates.take(users)
    frames = [Frame(Order(part, Part(one, users)), part.owner, seed, users) for one in proxies]
    most = min(sum(map(pilot_scores, frames)), int(frames[0].n.sum()))
    require_budget(settings.budget, candidates.n_others, most)  # before anything is spent
    ledger = Ledger(candidates.n_users, candidates.n_items)
    trials = yield from ledger.once(pilot(frames, users, part.item, settings))
    best = min(range(len(proxies)), key=lambda number: trials[number].depth)
    recommenders = range(len(settings.names))
    spent = sum(ledger.count(number) - part.owner.size for number in recommenders)
    frame = prepared.frame(proxies[best])
    result = yield from ledger.once(evaluation(frame, candidates.item, settings, spent, watch))
    asked = tuple(ledger.count(number) - candidates.owner.size for number in recommenders)
    return replace(result, n_asked=asked, trials=tuple((one.name, one.depth) for one in trials))


class Answers(NamedTuple):
    """Scores told so far, batch by batch, with checksums of the pairs they belong to."""

    scores: list[Float]
    checks: list[int]


class Session:
    """An evaluation that asks for scores in batches and can be saved between them.

    The state is the scores told so far: resuming repeats the computation with them, which takes
    about a second per recommender.

    Parameters
    ----------
    prepared
        Problem and proxies, from `prepare`.
    settings
        Metrics, budget and names.
    answers
        Scores told so far, to resume.

    Attributes
    ----------
    result
        The result, None while there is more to ask.
    """

    def __init__(
        self, prepared: Prepared, settings: Settings, answers: Answers | None = None
    ) -> None:
        self._settings = settings
        self._model: Modelled | None = None
        self._steps = steps(prepared, settings, self._watch)
        self.answers = Answers([], [])
        self.result: BudgetResult | None = None
        self._batch: Batch | None = next(self._steps)
        for scores, check in zip(*(answers or ((), ())), strict=True):
            if self._batch is None or check != _checksum(self._batch):
                raise InputError(
                    f"batch {len(self.answers.scores)} of the saved scores belongs to another "
                    "evaluation; start anew, or use the same data, proxy, budget and seed"
                )
            self.tell(scores)

    def ask(self) -> Batch | None:
        """Return the pairs to be scored next; None when the result is ready."""
        return self._batch

    def tell(self, scores: ArrayLike) -> None:
        """Take the scores of the pairs that `ask` returned, in their order."""
        if self._batch is None:
            raise InputError("the evaluation is complete; there is nothing to tell")
        values = np.array(scores, dtype=np.float64)
        _require_scores(values, self._batch)
        self.answers.scores.append(values)
        self.answers.checks.append(_checksum(self._batch))
        try:
            self._batch = self._steps.send(values)
        except StopIteration as stop:
            self._batch, self.result = None, stop.value

    def so_far(self) -> dict[str, dict[str, float]]:
        """Metrics by the model so far, per recommender; empty before the first round.

        They are not audited: take them as progress, not as a result.
        """
        if self._model is None or not self._model.counts[0].m.any():
            return {}
        metrics = [str(metric) for metric in self._settings.metrics]
        return {
            name: dict(zip(metrics, row.tolist(), strict=True))
            for name, row in zip(self._settings.names, self._model.means(), strict=True)
        }

    def _watch(self, model: Modelled) -> None:
        self._model = model

    def finished(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.result is None:
            raise InputError("the evaluation is not complete; ask for the next batch")
        return self.result

    def save(self, path: Path) -> None:
        """Write the scores told so far as `.npz`."""
        with path.open("wb") as file:
            named: dict[str, Any] = {f"scores{i}": x for i, x in enumerate(self.answers.scores)}
            np.savez(file, checks=np.array(self.answers.checks, np.int64), **named)


def read_answers(path: Path) -> Answers:
    """Read the scores that `Session.save` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        checks = arrays["checks"].tolist()
        return Answers([arrays[f"scores{i}"] for i in range(len(checks))], checks)


def _checksum(batch: Batch) -> int:
    return crc32(np.concatenate(batch).astype("<i8").tobytes())


def _require_scores(scores: Float, batch: Batch) -> None:
    if scores.shape != batch.users.shape:
        raise InputError(f"{scores.size} scores for {batch.users.size} pairs")
    if np.isnan(scores).any():
        row = int(np.argmax(np.isnan(scores)))
        raise InputError(
            f"score of item {batch.items[row]} for user {batch.users[row]} is NaN", row=row + 1
        )
