"""Evaluation on a budget: rounds of scores for the model, then the audit."""

import logging
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, field_validator

from sampled_metrics._base import settings as base
from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import BUDGET, BUDGET_METRICS, CONFIDENCE, MOST_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.audit import Audit
from sampled_metrics.budget.candidates import Order
from sampled_metrics.budget.estimates import estimates
from sampled_metrics.budget.model import Model, parse_metrics
from sampled_metrics.budget.result import LEAST_CONFIRMED, MODEL_SHARE, BudgetResult, depth_of
from sampled_metrics.budget.state import Batch, Scored, State
from sampled_metrics.budget.strata import (
    Asked,
    Asking,
    Counts,
    Frame,
    proxy_helps,
    question_scores,
)
from sampled_metrics.inference.results import UNDECIDED

# Budget spent at each look of an evaluation that may stop early, and its part of 1 - confidence.
# The parts add up to one, so intervals cover as often as stated, whenever the evaluation stops.
LOOKS: tuple[tuple[float, float], ...] = ((0.25, 0.2), (0.5, 0.3), (1.0, 0.5))
FIRST_STEPS = 30  # of expectation maximisation, after the first round
ROUND_STEPS = 6
LAST_STEPS = 40
ROUNDS_PER_E = 3.0  # rounds for every factor e from the first round to the budget
LEAST_ROUNDS = 4
BATCHES = (5, 10, 10, 12, 15, 20)  # fewest scores asked at once of a user in each stratum ...
BATCH = 25  # ... and beyond the sixth
WIDTHS = 0.2, 1.5  # half an interval, as a share of the metric, for a full list; rules of thumb


class Settings(base.Settings):
    """What an evaluation depends on besides its data and the scores; see `evaluate_on_budget`."""

    names: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    metrics: Annotated[tuple[str, ...], Field(strict=False)] = BUDGET_METRICS
    budget: Annotated[float, Field(gt=0.0, le=MOST_ITEMS)] = BUDGET
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)] = CONFIDENCE
    seed: Annotated[int, Field(ge=0)] = 0
    until_decided: bool = False

    @field_validator("names")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("duplicate name of a recommender")
        return names

    @field_validator("metrics", mode="before")
    @classmethod
    def _known(cls, metrics: Any) -> tuple[str, ...]:
        return tuple(map(str, parse_metrics(metrics)))


class Session:
    """An evaluation that asks for scores in batches and can be saved between them.

    Resuming repeats the computation, which takes about a second per recommender.

    Attributes
    ----------
    state
        Scores answered so far and the pairs to be scored next.
    result
        The result, once there is nothing more to ask.
    """

    result: BudgetResult

    def __init__(
        self, order: Order, settings: Settings, begun: State | None = None, path: Path | None = None
    ) -> None:
        frame = Frame(order, settings.seed)
        self._frame = frame
        self._settings = settings
        self._path = path
        single = frame.owner.size == order.n.size
        self._metrics = parse_metrics(settings.metrics, single=single)
        self._models: list[Model] = []
        self._steps = self._evaluation()
        self._told: list[Scored] = []
        self.state = replace(begun or State(), answers=[], check=0)
        self._ask(next(self._steps))

    def resume(self, saved: State) -> None:
        """Tell the scores that were saved, and compare the pairs that follow."""
        for scores in saved.answers:
            if self.state.next is None or scores.shape != self.state.next.users.shape:
                break  # refused below, where answers are counted
            self.tell(scores)
        now, before = (
            [[x.check, len(x.answers)], *(x.next or ())[:3]] for x in (self.state, saved)
        )
        if len(now) != len(before) or not all(map(np.array_equal, now, before)):
            raise InputError("the saved scores belong to another evaluation; start anew")
        self.state.next = saved.next

    def _ask(self, batch: Batch) -> None:
        """Note the pairs to be scored next, and scores of them from a smaller budget."""
        scores = np.full(batch.users.size, np.nan)
        if self.state.earlier:
            scores = self.state.earlier.of(batch)
        self.state.next = Scored(*batch, scores)

    def tell(self, scores: ArrayLike) -> None:
        """Take the scores of the pairs in `state.next`, in their order."""
        state = self.state
        asked = state.next
        if asked is None:
            raise InputError("the evaluation is complete; there is nothing to tell")
        values = np.array(scores, dtype=np.float64)
        if values.shape != asked.users.shape:
            raise InputError(f"{values.size} scores for {asked.users.size} pairs")
        is_wrong = np.isnan(values) | (values == np.inf)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            pair = f"item {asked.items[row]} for user {asked.users[row]}"
            found = f"score of {pair} is {values[row]}"
            raise InputError(f"{found}; expected a finite number", row=row + 1)
        state.check = crc32(np.concatenate(asked[:3]).astype("<i8").tobytes(), state.check)
        state.answers.append(values)
        self._told.append(asked._replace(scores=values))
        try:
            self._ask(self._steps.send(values))
        except StopIteration as stop:
            state.next = None
            self.result = replace(stop.value, n_unused=self._unused())

    def tell_known(self) -> None:
        """Tell batches of which all scores are known, maybe from an earlier, smaller budget."""
        while self.state.next and not self.state.next.missing.any():
            self.tell(self.state.next.scores)

    def save(self) -> None:
        """Write the state, if the evaluation has a file for it."""
        if self._path:
            self.state.save(self._path)

    def _unused(self) -> tuple[int, ...]:
        """Count the scores of each recommender from a smaller budget that were not told again."""
        count = len(self._settings.names)
        earlier = self.state.earlier
        if not earlier:
            return (0,) * count
        unused = earlier.take(np.isnan(Scored.joined(self._told).of(earlier)))
        return tuple(np.bincount(unused.recommender, minlength=count).tolist())

    def scored(self) -> Scored:
        """Return all pairs that have a score."""
        parts = [*self._told, self.state.next, self.state.earlier]
        found = Scored.joined([part for part in parts if part])
        return found.take(~found.missing)

    def expected(self) -> dict[str, dict[str, float]]:
        """Return the metrics of each recommender that the model expects by the scores so far.

        They are not audited, so they may be far off; empty until candidates were scored.
        """
        found = {}
        for name, model in zip(self._settings.names, self._models, strict=False):
            if model.counts.m.any():
                means = model.view().mean.mean(axis=-1)
                found[name] = dict(zip(self._settings.metrics, means.tolist(), strict=True))
        return found

    def _evaluation(self) -> Generator[Batch, Float, BudgetResult]:
        """Yield batches of pairs, take their scores, return the result."""
        frame = self._frame
        settings = self._settings
        count = len(settings.names)
        n_users = frame.order.n.size
        limit = int(settings.budget * n_users)
        first_round = n_users * int(np.count_nonzero(frame.n.any(0)))
        if frame.n.sum() > limit and MODEL_SHARE * limit < first_round:
            needed = np.ceil(first_round / n_users / MODEL_SHARE)
            raise InputError(f"budget is {settings.budget:g}; the first round needs {needed:.0f}")
        items = frame.order.problem.item
        number = np.repeat(np.arange(count), items.size)
        held = yield Batch(number, np.tile(frame.owner, count), np.tile(items, count))
        for scores in np.split(held, count):
            self._models.append(Model(Counts(frame, scores), self._metrics))
        looks = LOOKS
        if not settings.until_decided:
            looks = ((1.0, 1.0),)
        for share, risk in looks:
            if MODEL_SHARE * share * limit < first_round and share < 1.0:
                continue
            result = yield from self._look(int(share * limit), risk)
            if all(pair.order != UNDECIDED for pair in result.compare()):
                break
        return result

    def _look(self, limit: int, risk: float) -> Generator[Batch, Float, BudgetResult]:
        """Continue the rounds and audit, at most `limit` scores in all per recommender."""
        # The audit draws users anew, so its intervals hold whatever came before.
        settings = self._settings
        frame = self._frame
        models = self._models
        n_candidates = int(frame.n.sum())
        already = max(model.counts.n_asked for model in models)
        if n_candidates <= limit:
            yield from joined([model.counts.ask(model.counts.left) for model in models])
        else:
            total = already + int(MODEL_SHARE * (limit - already))
            yield from joined([explore(model, total) for model in models])
        audits = [Audit(m, limit - m.counts.n_asked, already) for m in models]
        yield from joined([audit.run() for audit in audits])
        for name, model in zip(settings.names, models, strict=True):
            question_scores(name * (len(models) > 1), model.counts)
        level = 1.0 - risk * (1.0 - settings.confidence)
        single, pairs = estimates(audits, level)
        return BudgetResult(
            names=settings.names,
            metrics=settings.metrics,
            estimates=single,
            differences=pairs,
            n_asked=tuple(model.counts.n_asked for model in models),
            n_held_out=frame.owner.size,
            n_users=frame.order.n.size,
            n_audited=np.unique(np.concatenate([audit.users for audit in audits])).size,
            n_candidates=n_candidates,
            confidence=settings.confidence,
            level=level,
            proxy=frame.order.proxy.name,
            depth=tuple(map(depth_of, audits)),
            proxy_helps=tuple(model.proxy_helps for model in models),
        )


def expectation(order: Order, budget: float) -> tuple[int, str]:
    """Return what a budget costs and can be expected to give, and the level at which to log it."""
    n_users = order.n.size
    n_candidates = int(order.n.sum())
    most = min(int(budget * n_users), n_candidates)
    price = f"at most {most:,} scores per recommender"
    if most == n_candidates:
        return logging.INFO, f"{price}, which are all: the metrics will be exact"
    lists = (1.0 - MODEL_SHARE) * most * n_users / n_candidates
    fits, hides = (100.0 * width / np.sqrt(max(lists, 0.01)) for width in WIDTHS)
    users = f"{lists:,.0f} users" if lists >= 1.5 else f"{lists:.1g} users"
    text = (
        f"{price}; the audit pays for full lists of about {users}: expect intervals of about "
        f"±{fits:.0f} % of a metric where the proxy fits, ±{hides:.0f} % where not"
    )
    if lists < LEAST_CONFIRMED:
        return logging.WARNING, f"{text}; with so few lists the result cannot tell which"
    return logging.INFO, text


def explore(model: Model, total: int) -> Asking:
    """Ask where the metrics vary most, in rounds; the first asks for one score of every stratum.

    It is the only one if it shows no relation between the orders of proxy and recommender.
    """
    counts = model.counts
    n_users, n_strata = counts.m.shape
    if not counts.m.any():
        yield from counts.ask(np.minimum(1, counts.left))
        model.fit(FIRST_STEPS)
        model.proxy_helps = proxy_helps(counts)
    if not model.proxy_helps:
        return  # the audit ranks users more fully for the rest
    fewest = np.array([*BATCHES, *[BATCH] * n_strata][:n_strata])
    first = counts.n_asked / n_users + 3.0
    limits = [total / n_users]
    if limits[0] > first:
        rounds = max(LEAST_ROUNDS, int(ROUNDS_PER_E * np.log(limits[0] / first)))
        limits = np.geomspace(first, limits[0], rounds).tolist()
    for limit in limits:
        room = min(int(limit * n_users), total) - counts.n_asked
        gain = model.gain()
        more = np.minimum(np.maximum(fewest, counts.m), counts.left).ravel()
        ranked = np.argsort(-np.where(more > 0, gain.ravel(), -1.0), kind="stable")
        n_taken = np.searchsorted(np.cumsum(more[ranked]), room, side="right")
        more[ranked[n_taken:]] = 0
        if more.any():
            yield from counts.ask(more.reshape(n_users, n_strata))
            model.fit(ROUND_STEPS)
    model.fit(LAST_STEPS)


def joined(tasks: Sequence[Generator[Asked, Any, object]]) -> Generator[Batch, Float, None]:
    """Run tasks side by side, a request of each in every batch."""
    replies: dict[int, Float | None] = dict.fromkeys(range(len(tasks)))
    while True:
        wanted: dict[int, Asked] = {}
        for place, scores in replies.items():
            with suppress(StopIteration):
                wanted[place] = tasks[place].send(scores)
        if not wanted:
            return
        sizes = [asked.user.size for asked in wanted.values()]
        users, items = map(np.concatenate, zip(*wanted.values(), strict=True))
        scores = yield Batch(np.repeat(list(wanted), sizes), users, items)
        replies = dict(zip(wanted, np.split(scores, np.cumsum(sizes)[:-1]), strict=True))
