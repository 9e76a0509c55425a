"""Walks and audits: unbiased whatever is known and whatever the model says."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.inference.budget import audit as audit_module
from sampled_metrics.inference.budget.audit import Audit
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts, Frame
from sampled_metrics.inference.budget.estimate import estimates
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.proxies import make_proxy
from sampled_metrics.inference.budget.purse import Purse
from sampled_metrics.inference.budget.runs import Audited, start_run
from sampled_metrics.inference.budget.values import Moments, Tables, over_ties, parse_metrics
from sampled_metrics.inference.budget.walk import Walk

BOUNDS = np.stack([np.zeros((1, 3)), np.ones((1, 3))])
METRICS = parse_metrics(["recall@3", "ndcg@3", "ap"])


def drive(task: Any, scores: Any) -> Any:
    """Run an asker on a matrix of scores."""
    try:
        asked = next(task)
        while True:
            batch = asked if isinstance(asked, list) else [asked]
            replies = [scores[one.user, one.item] for one in batch]
            asked = task.send(replies if isinstance(asked, list) else replies[0])
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


@pytest.mark.parametrize("known", [0, 5, 20])
@pytest.mark.parametrize("tied", [0, 4])
def test_walks_are_unbiased_for_the_reciprocal_rank(known: int, tied: int) -> None:
    users, items = 3000, 31
    scores = np.tile(np.arange(items, dtype=float), (users, 1))
    better = np.arange(users) % 6
    own = items - 2.0 - better + 0.5
    if tied:
        levels = items - 1 - better[:, np.newaxis]  # the next items are level with the held-out one
        level = (scores < levels - 0.75) & (scores >= levels - 0.75 - tied)
        scores[level] = np.broadcast_to(own[:, np.newaxis], scores.shape)[level]
    scores[:, -1] = own
    frame, counts = counted(scores, own, 5, known)
    exact = over_ties(
        METRICS[2],
        (scores > own[:, np.newaxis]).sum(1),
        (scores == own[:, np.newaxis]).sum(1) - 1,
    )
    walk = Walk(counts, np.arange(users), np.zeros(users, np.int64), 77)
    drive(walk.run(Purse(10**9), np.arange(users)), scores)
    values = walk.values()
    for rank in range(6):
        rows = better == rank
        spread = values[rows].std() / np.sqrt(rows.sum())
        assert abs(values[rows].mean() - exact[rows].mean()) <= 4 * spread + 1e-12
    assert np.all(counts.m <= frame.n)


def test_walks_stop_when_the_purse_is_empty() -> None:
    scores = np.tile(np.arange(50.0), (20, 1))
    own = np.full(20, 48.5)  # nothing is better
    scores[:, -1] = own
    _, counts = counted(scores, own, 1, 0)
    purse = Purse(600)
    walk = Walk(counts, np.arange(20), np.zeros(20, np.int64), 3)
    drive(walk.run(purse, np.arange(20)), scores)
    assert counts.m.sum() <= 600
    assert purse.cut < 20
    assert np.all(counts.left[: purse.cut].sum(1) == 0)


def audited_once(
    scores: Any, own: Any, seed: int, money: int, lie: str
) -> tuple[Any, Audited, Counts]:
    """One audit of a model that lies as told; return the estimates."""
    frame, counts = counted(scores, own, seed, 6, proxy=scores + 3 * np.sin(scores * 7))
    offset = np.zeros(own.size, np.int64)
    tables = Tables(METRICS, int(frame.order.n.max()))
    better = counts.better.sum(1)
    mean = {
        "collapse": np.full((3, own.size), 1e-6),
        "praise": np.stack([np.where(better < 3, 0.9, 0.0)] * 3),
        "half": 0.5
        * np.stack([metric((scores > own[:, np.newaxis]).sum(1)) for metric in METRICS]),
    }[lie]
    mean[:2, better >= 3] = 0.0  # a metric with a cutoff is known to be zero
    posterior = Moments(mean, 0.1 * mean * (1 - mean), mean[0], 0.05 * np.ones(own.size))
    run = start_run(counts, Classes(frame, 5), posterior, np.ones((3, own.size)), offset, tables)
    audit = Audit([run], frame, tables, np.ones((1, 3, own.size)), offset[np.newaxis], money)
    result = drive(audit.run(), scores)
    single, _ = estimates(run.mean[np.newaxis], result, BOUNDS, [2], confidence=0.95)
    return single[0], result, counts


@pytest.mark.parametrize("lie", ["collapse", "praise", "half"])
def test_audits_are_unbiased_and_cover_whatever_the_model_says(lie: str) -> None:
    rng = np.random.default_rng(8)
    users, items, runs = 150, 60, 60
    scores = rng.normal(size=(users, items))
    own = np.quantile(scores, rng.beta(3, 1, users), axis=1).diagonal().copy()
    scores[:, -1] = own
    better = (scores > own[:, np.newaxis]).sum(1)
    exact = np.array([metric(better).mean() for metric in METRICS])
    centres, covered = [], []
    for seed in range(runs):
        row, audited, counts = audited_once(scores, own, seed, 1800, lie)
        centres.append([one.centre for one in row])
        covered.append(
            [one.low <= value <= one.high for one, value in zip(row, exact, strict=True)]
        )
        assert counts.m.sum() - 6 * users <= 1800
        assert audited.users.size > 0
    spread = np.std(centres, axis=0) / np.sqrt(runs)
    assert np.all(np.abs(np.mean(centres, axis=0) - exact) <= 4 * spread + 0.004)
    assert np.all(np.mean(covered, axis=0) >= 0.9)


def test_an_audit_with_money_for_everybody_is_exact() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(40, 30))
    own = scores[:, -1].copy()
    row, audited, _ = audited_once(scores, own, 0, 10**6, "collapse")
    better = (scores > own[:, np.newaxis]).sum(1)
    for one, metric in zip(row[:2], METRICS[:2], strict=True):
        assert one.centre == pytest.approx(metric(better).mean(), abs=1e-12)
    assert np.all(audited.probability[0, 0, better < 3] == 1.0)


def test_recommenders_are_audited_on_the_same_users() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(80, 50))
    own = scores[:, -1].copy()
    frame, counts = counted(scores, own, 4, 6)
    other = counts.copy()
    other.number = 1
    tables = Tables(METRICS, 49)
    zero = np.zeros(80, np.int64)
    mean = np.full((3, 80), 0.2)
    posterior = Moments(mean, 0.1 * mean, mean[0], np.full(80, 0.05))
    runs = [
        start_run(one, Classes(frame, 5), posterior, np.ones((3, 80)), zero, tables)
        for one in (counts, other)
    ]
    audit = Audit(runs, frame, tables, np.ones((2, 3, 80)), np.stack([zero, zero]), 3000)
    result = drive(audit.run(), scores)
    assert np.array_equal(result.probability[0], result.probability[1])
    assert np.array_equal(result.error[0], result.error[1])
    _, pairs = estimates(
        np.stack([run.mean for run in runs]), result, np.repeat(BOUNDS, 2, 1), [2], confidence=0.95
    )
    assert [one.centre for one in pairs[0, 1]] == [0.0, 0.0, 0.0]


def test_larger_surprises_widen_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(100, 50))
    own = scores[:, -1].copy()
    half = []
    for users in (0.0, 1.0):
        monkeypatch.setattr(audit_module, "PSEUDO_OF_FEW", users)
        row, _, _ = audited_once(scores, own, 0, 700, "half")
        half.append(row[0].std_error)
    assert half[1] > half[0]


def test_without_an_audit_nothing_is_certain_but_what_the_scores_allow() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(40, 30))
    row, audited, _ = audited_once(scores, scores[:, -1].copy(), 0, 0, "half")
    assert audited.users.size == 0
    assert [(one.low, one.high) for one in row[:2]] == [(0.0, 1.0)] * 2
