"""Walks and audits: unbiased whatever is known and whatever the model says."""

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.inference.budget import audit as audit_module
from sampled_metrics.inference.budget.audit import Audit, Audited
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts, Frame
from sampled_metrics.inference.budget.estimate import estimates
from sampled_metrics.inference.budget.evaluation import LOOKS
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.proxies import make_proxy
from sampled_metrics.inference.budget.runs import Run, View, limits, view
from sampled_metrics.inference.budget.shuffle import hashed
from sampled_metrics.inference.budget.values import Tables, parse_metrics
from sampled_metrics.inference.budget.walk import after_draws, random_draws

METRICS = parse_metrics(["recall@3", "ndcg@3", "ap"])


def mean_of_first(left: int, better: int, draws: Any) -> float:
    """Mean of T / n over all places of the better ones known among the unscored ones."""
    n = left + better + 1
    first = []
    for places in combinations(range(n - 1), better):
        unscored = iter(draws)
        hits = [place in places or next(unscored) for place in range(n - 1)]
        first.append(hits.index(True) + 1 if any(hits) else n)
    return float(np.mean(first)) / n


@pytest.mark.parametrize(("left", "better"), [(4, 0), (4, 1), (3, 3), (5, 2)])
def test_draws_give_the_mean_of_the_first_better_place(left: int, better: int) -> None:
    for hits in range(left + 1):
        orders = set(permutations([True] * hits + [False] * (left - hits)))
        whole = np.mean([mean_of_first(left, better, order) for order in orders])
        assert whole == pytest.approx(1 / (better + hits + 1), rel=1e-12)
        for draws in range(left + 1):
            mean = 0.0
            for order in orders:
                found = sum(order[:draws])
                line = after_draws(*(np.array([x]) for x in (left, better, draws, found)))
                # What follows a draw without a better one is unbiased for 1 / rank.
                mean += line.known[0] + line.factor[0] / (better + hits + 1)
                if found:
                    same = [one for one in orders if sum(one[:draws]) == found]
                    kept = np.mean([mean_of_first(left, better, one) for one in same])
                    assert line.known[0] == pytest.approx(kept, rel=1e-12)
                    assert line.factor[0] == 0
            assert mean / len(orders) == pytest.approx(1 / (better + hits + 1), rel=1e-12)


def test_random_draws_take_every_candidate_equally_often() -> None:
    left = np.tile([2, 0, 5, 3], (4000, 1))
    draws = random_draws(left, np.full(4000, 4), hashed(9, np.arange(4000)))
    assert np.all(draws.sum(1) == 4)
    assert np.all(draws <= left)
    assert draws.mean(0) == pytest.approx(0.4 * left[0], abs=0.05)


def drive(task: Any, scores: Any) -> Any:
    """Run an asker on a matrix of scores."""
    try:
        asked = next(task)
        while True:
            asked = task.send(scores[asked.user, asked.item])
    except StopIteration as stop:
        return stop.value


def counted(
    scores: Any, own: Any, seed: int, known: int, proxy: Any = None
) -> tuple[Frame, Counts]:
    """Counts after `known` random scores per user."""
    users, items = scores.shape
    held = np.full(users, items - 1)
    problem = Candidates(csr_array(scores.shape), held)
    order = Order(problem, make_proxy(scores if proxy is None else proxy, None, scores.shape, 0))
    frame = Frame(order, problem.owner, seed)
    counts = Counts(frame, own)
    rng = np.random.default_rng(seed)
    more = np.zeros_like(counts.m)
    for user in range(users):
        places = np.repeat(np.arange(more.shape[1]), frame.n[user])
        np.add.at(more[user], rng.permutation(places)[:known], 1)
    asked = counts.request(more)
    counts.add(asked, scores[asked.user, asked.item])
    return frame, counts


def lying(view: View, run: Run, lie: str, exact: Any) -> View:
    """Turn a view of the model into one that lies as told; what is known stays."""
    dead = run.better >= run.tables.depth
    mean = {
        "collapse": np.full_like(view.mean, 1e-6),
        "praise": np.full_like(view.mean, 0.9),
        "half": 0.5 * exact[:, run.counts.frame.labels],
    }[lie]
    mean[:2, dead] = 0.0
    mean[2, dead] = np.minimum(mean[2, dead], 1 / (run.better[dead] + 1.0))
    done = run.counts.left.sum(1) == 0
    mean[:, done] = view.mean[:, done]
    return View(mean, 0.1 * mean * (1 - mean), view.top, mean)


def audited_once(
    scores: Any, own: Any, seed: int, money: int, lie: str, patch: pytest.MonkeyPatch
) -> tuple[Any, Audited, Counts]:
    """One audit of a model that lies as told; return the estimates."""
    frame, counts = counted(scores, own, seed, 6, proxy=scores + 3 * np.sin(scores * 7))
    better = (scores > own[:, np.newaxis]).sum(1)
    exact = np.array([metric(better) for metric in METRICS])
    tables = Tables(METRICS, int(frame.order.n.max()))
    run = Run(counts, Classes(frame, 5), tables, np.zeros(own.size, np.int64))
    patch.setattr(audit_module, "view", lambda run: lying(view(run), run, lie, exact))
    result = drive(Audit(run, money, 0).run_all(), scores)
    bounds = np.stack([np.zeros((1, 3)), np.ones((1, 3))])
    single, _ = estimates([result], bounds, [2], confidence=0.95)
    return single[0], result, counts


@pytest.mark.parametrize("lie", ["collapse", "praise", "half"])
@pytest.mark.parametrize("tied", [False, True])
def test_audits_are_unbiased_and_cover_whatever_the_model_says(
    lie: str, tied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    users, items, runs = 150, 60, 40
    scores = rng.normal(size=(users, items))
    own = np.quantile(scores, rng.beta(3, 1, users), axis=1).diagonal().copy()
    scores[:, -1] = own
    if tied:
        scores, own = scores.round(1), own.round(1)
    better = (scores > own[:, np.newaxis]).sum(1)
    level = (scores == own[:, np.newaxis]).sum(1)
    exact = np.array(
        [
            np.mean([metric(b + np.arange(t)).mean() for b, t in zip(better, level, strict=True)])
            for metric in METRICS
        ]
    )
    centres, covered = [], []
    for seed in range(runs):
        row, audited, counts = audited_once(scores, own, seed, 1800, lie, monkeypatch)
        centres.append([one.centre for one in row])
        covered.append(
            [one.low <= value <= one.high for one, value in zip(row, exact, strict=True)]
        )
        assert counts.m.sum() - 6 * users <= 1800
        assert audited.users.size > 0
    spread = np.std(centres, axis=0) / np.sqrt(runs)
    assert np.all(np.abs(np.mean(centres, axis=0) - exact) <= 4 * spread)
    assert np.all(np.mean(covered, axis=0) >= 0.9)


def test_an_audit_with_money_for_everybody_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(40, 30))
    own = scores[:, -1].copy()
    row, _, _ = audited_once(scores, own, 0, 10**6, "collapse", monkeypatch)
    better = (scores > own[:, np.newaxis]).sum(1)
    for one, metric in zip(row[:2], METRICS[:2], strict=True):
        assert one.centre == pytest.approx(metric(better).mean(), abs=1e-12)


def test_recommenders_are_audited_on_the_same_users() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(80, 50))
    own = scores[:, -1].copy()
    results = []
    for _ in range(2):
        frame, counts = counted(scores, own, 4, 6)
        run = Run(counts, Classes(frame, 5), Tables(METRICS, 49), np.zeros(80, np.int64))
        results.append(drive(Audit(run, 1500, 0).run_all(), scores))
    assert len(results[0].phases) > 2
    bounds = np.stack([np.zeros((2, 3)), np.ones((2, 3))])
    _, pairs = estimates(results, bounds, [2], confidence=0.95)
    assert [one.centre for one in pairs[0, 1]] == [0.0, 0.0, 0.0]
    single, _ = estimates(results, bounds, [2], confidence=0.95)
    assert all(
        pair.std_error <= one.std_error for pair, one in zip(pairs[0, 1], single[0], strict=True)
    )


def test_without_an_audit_nothing_is_certain_but_what_the_scores_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(40, 30))
    row, audited, counts = audited_once(scores, scores[:, -1].copy(), 0, 0, "half", monkeypatch)
    assert counts.m.sum() == 40 * 6
    assert audited.slack[:, 0].sum() > 0
    possible = np.mean(counts.better.sum(1) < 3)
    assert (row[0].low, row[0].high) == (0.0, pytest.approx(possible, abs=0.02))


def test_a_scan_asks_until_enough_better_ones_are_expected() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(30, 200))
    own = np.sort(scores, axis=1)[:, -rng.integers(20, 50, 30)].diagonal().copy()
    frame, counts = counted(scores, own, 0, 60)
    run = Run(
        counts, Classes(frame, 5), Tables(parse_metrics(["recall@20"]), 199), np.zeros(30, int)
    )
    fit = run.classes.fit  # by which half of all candidates are better
    run.classes.fit = fit._replace(share=np.full_like(fit.share, 0.5))
    asked = next(Audit(run, 10**6, 0).run_all())
    known = counts.better.sum(1)
    assert known.min() < 6
    assert 15 < known.max() < 20
    # one more than is missing to depth 20, at least 16 scores
    assert np.bincount(asked.user).tolist() == np.maximum(2 * (20 - known + 1), 16).tolist()


@pytest.mark.parametrize("lie", ["collapse", "half"])
def test_intervals_of_all_looks_hold_at_once(lie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(risk for _, risk in LOOKS) == pytest.approx(1.0)
    rng = np.random.default_rng(5)
    users, items, runs = 100, 50, 40
    scores = rng.normal(size=(users, items))
    own = np.quantile(scores, rng.beta(3, 1, users), axis=1).diagonal().copy()
    scores[:, -1] = own
    better = (scores > own[:, np.newaxis]).sum(1)
    exact = np.array([metric(better) for metric in METRICS])
    monkeypatch.setattr(audit_module, "view", lambda run: lying(view(run), run, lie, exact))
    covered = np.zeros(3)
    for seed in range(runs):
        frame, counts = counted(scores, own, seed, 4, proxy=scores + 3 * np.sin(scores * 7))
        run = Run(counts, Classes(frame, 5), Tables(METRICS, items - 1), np.zeros(users, int))
        inside = np.ones(3, bool)
        for share, risk in LOOKS:
            money = int(share * 25 * users) - int(counts.m.sum())
            result = drive(Audit(run, money, int(counts.m.sum())).run_all(), scores)
            bounds = limits(run).mean(axis=-1)[:, np.newaxis]
            (row,), _ = estimates([result], bounds, [2], confidence=1 - 0.1 * risk)
            inside &= [one.low <= x <= one.high for one, x in zip(row, exact.mean(1), strict=True)]
        covered += inside
    assert np.all(covered / runs >= 0.8)  # 0.9 is stated; a standard error is 0.05
