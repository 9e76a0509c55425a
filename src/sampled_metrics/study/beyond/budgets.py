"""Evaluation on a budget, by a proxy and in rounds or by scan-and-stop."""

import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.inference.budget import BudgetResult, Candidates
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.evaluation import Settings, evaluation
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.proxies import make_proxy
from sampled_metrics.inference.budget.values import parse_metrics
from sampled_metrics.study.beyond.outcomes import Compared
from sampled_metrics.study.beyond.runs import Runs
from sampled_metrics.study.beyond.settings import BUDGET, NO_PROXY, SCAN, BeyondSettings

ROUNDS = {BUDGET: "adaptive", SCAN: "scan"}  # how `inference.budget` calls the methods
_log = logging.getLogger(__name__)


class RandomProxy:
    """Scores without meaning: every order of a user's candidates is equally probable."""

    name = NO_PROXY

    def __init__(self, n_items: int, seed: int, run: int) -> None:
        self._shape, self._seed, self._run = n_items, seed, run

    def __call__(self, users: Int) -> Float:
        """Scores of shape (users, items)."""
        key = [self._seed, self._run, int(users[0])]
        return np.random.default_rng(np.random.SeedSequence(key)).random((users.size, self._shape))


def on_budgets(
    compared: Compared, settings: BeyondSettings, split: Split, method: str, proxy: str
) -> Iterator[Runs]:
    """Yield the runs of `budget` or `scan` by one proxy at all budgets.

    Budgets that do not suffice for the first round are left out.
    """
    candidates = Candidates(split.seen, split.held_out)
    fixed = None
    if proxy != NO_PROXY:
        shape = (candidates.n_users, candidates.n_items)
        fixed = Order(candidates, make_proxy(proxy, split.train, shape, settings.seed))
    full = settings.full_budgets(method, proxy)
    for budget in sorted({*settings.budgets, *full}):
        results: list[BudgetResult] = []
        began = time.process_time()
        for run in range(settings.runs_of(budget, full)):
            order = fixed or Order(candidates, RandomProxy(candidates.n_items, settings.seed, run))
            frame = Frame(order, candidates.owner, run)
            try:
                result = _evaluated(frame, candidates.item, compared, settings, method, budget)
            except InputError as error:
                _log.info("%s with proxy %s: %s", method, proxy, error)
                break
            results.append(result)
        if results:
            seconds = (time.process_time() - began) / len(results) / len(compared.names)
            _log.info(
                "%s with proxy %s and budget %d: %.2f s of processor time per recommender",
                *(method, proxy, budget, seconds),
            )
            yield _runs(results, method, proxy, budget)


def _evaluated(
    frame: Frame,
    held_out: Int,
    compared: Compared,
    settings: BeyondSettings,
    method: str,
    budget: int,
) -> BudgetResult:
    """Evaluate once; outcomes serve as scores, because only comparisons count."""
    of_method = Settings(
        names=compared.names,
        metrics=parse_metrics(settings.metrics),
        budget=budget,
        method=ROUNDS[method],
    )
    steps = evaluation(frame, held_out, of_method)
    batch = next(steps)
    while True:
        scores = np.empty(batch.users.size)
        for number, codes in enumerate(compared.codes):
            mine = batch.recommender == number
            scores[mine] = codes[batch.users[mine], batch.items[mine]]
        try:
            batch = steps.send(scores)
        except StopIteration as stop:
            return stop.value


def _runs(results: list[BudgetResult], method: str, proxy: str, budget: int) -> Runs:
    def collected(rows: list[Any]) -> tuple[Float, Float]:
        """Values of shape (runs, ...) and limits of shape (2, runs, ...)."""
        numbers = np.array(
            [[[(x.value, x.low, x.high) for x in row] for row in of_run] for of_run in rows]
        )
        return numbers[..., 0], np.moveaxis(numbers[..., 1:], -1, 0)

    values, intervals = collected([one.estimates for one in results])
    leads, of_leads = collected([list(one.differences.values()) for one in results])
    scores = [np.mean(one.n_asked) / one.n_users for one in results]
    return Runs(method, proxy, budget, np.array(scores), values, leads, intervals, of_leads)
