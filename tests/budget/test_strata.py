"""Candidates, proxies and their order against brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2

from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget import strata as strata_module
from sampled_metrics.budget.candidates import EvaluationData, read_evaluation_data
from sampled_metrics.budget.counts import StratumCounts
from sampled_metrics.budget.strata import Strata, make_proxy, stratum_edges

USERS, ITEMS = 7, 40


def world(seed: int = 0, items: int = ITEMS) -> tuple[csr_array, Any, Any]:
    rng = np.random.default_rng(seed)
    held = rng.integers(0, items, USERS)
    seen = rng.random((USERS, items)) < 0.2
    seen[np.arange(USERS), held] = False
    return csr_array(seen.astype(float)), held, rng.random((USERS, items))


def ordered(data: EvaluationData, proxy: Any) -> tuple[Strata, list[list[set[int]]]]:
    """Return the strata, and the items of each user in each of them."""
    strata = Strata(data, make_proxy(proxy, data), 0)
    actual: list[list[set[int]]] = []
    for user, of_user in enumerate(strata.sizes):
        actual.append([])
        for stratum, n in enumerate(of_user):
            some = np.full(n, user), np.full(n, stratum), np.arange(n)
            items = strata.items(*some).tolist()
            assert len(set(items)) == n
            actual[-1].append(set(items))
    return strata, actual


def cut(items: list[int], strata: Strata) -> list[set[int]]:
    """Cut items in the order of the proxy into strata."""
    bounds = zip(strata.edges[:-1], strata.edges[1:], strict=True)
    return [set(items[first:end]) for first, end in bounds]


def sorted_items(values: Any, allowed: Any) -> list[int]:
    return [i for i in np.argsort(-values, kind="stable").tolist() if allowed[i]]


@pytest.mark.parametrize("entries", [1 << 20, 2 * ITEMS])
def test_order_follows_proxy(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    some = lambda rows, columns: blocks(rows, columns, entries)  # noqa: E731 - of two users
    monkeypatch.setattr("sampled_metrics.budget.strata.blocks", some)
    seen, held, scores = world()
    data = read_evaluation_data(held, seen)
    orders = [
        ordered(data, proxy) for proxy in (scores, csr_array(scores), lambda users: scores[users])
    ]
    events = np.asarray(seen.sum(axis=0)).ravel()
    by_events = ordered(data, "popularity")[1]
    for user in range(USERS):
        allowed = seen[[user]].toarray()[0] == 0
        allowed[held[user]] = False
        expected = sorted_items(scores[user], allowed)
        assert [items[user] for _, items in orders] == [cut(expected, orders[0][0])] * 3
        above = (scores[user][expected] > scores[user, held[user]]).mean()
        assert orders[0][0].share_before[user] == pytest.approx(above)
        assert by_events[user] == cut(sorted_items(events, allowed), orders[0][0])


@pytest.mark.parametrize(("entries", "length"), [(1, 40), (USERS * 99, 40), (USERS * 100, 100)])
def test_tail_in_random_order(entries: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's head ends at the last edge within the user's part of all entries."""
    seen, held, scores = world(1, 300)
    data = read_evaluation_data(held, seen)
    monkeypatch.setattr(strata_module, "LEAST_HEAD", 50)
    monkeypatch.setattr(strata_module, "HEAD_ENTRIES", entries)
    strata, actual = ordered(data, scores)
    n_head = int(np.searchsorted(strata.edges, length))
    for user in range(USERS):
        allowed = seen[[user]].toarray()[0] == 0
        allowed[held[user]] = False
        expected = sorted_items(scores[user], allowed)
        assert actual[user][:n_head] == cut(expected, strata)[:n_head]
        tail = set().union(*actual[user][n_head:])
        assert tail == set(expected[length:])


@pytest.mark.parametrize("entries", [1, 1 << 25])
def test_stratum_starts_with_random_sample(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of the 8 candidates of the second stratum are equally frequent."""
    monkeypatch.setattr(strata_module, "LEAST_HEAD", 5)
    monkeypatch.setattr(strata_module, "HEAD_ENTRIES", entries)
    data = read_evaluation_data(np.zeros(1, int), csr_array((1, 14)))
    proxy = make_proxy(-np.arange(14.0)[np.newaxis], data)
    counts = np.zeros((14, 14))
    runs = 800
    for seed in range(runs):
        strata = Strata(data, proxy, seed)
        first, second = strata.items(np.zeros(2, int), np.ones(2, int), np.arange(2))
        counts[first, second] += 1
    actual = counts[6:, 6:]
    if entries > 1:
        assert actual.sum() == runs
    else:  # in the tail, strata are random parts of all tail items
        assert counts[1:6].sum() == 0
    off = actual[~np.eye(8, dtype=bool)]
    expected = actual.sum() / off.size
    assert ((off - expected) ** 2 / expected).sum() < chi2.isf(1e-4, off.size - 1)


def test_pairs_scored_once() -> None:
    seen, _, scores = world()
    free = [np.flatnonzero(row == 0) for row in seen.toarray()]
    lists = [items[:2] for items in free]
    data = read_evaluation_data(lists, seen)
    assert data.user_of_row.tolist() == np.repeat(np.arange(USERS), 2).tolist()
    pairs: list[tuple[int, int]] = []

    def score(users: Any, items: Any) -> Any:
        pairs.extend(zip(users.tolist(), items.tolist(), strict=True))
        return scores[users, items]

    counts = StratumCounts(ordered(data, scores)[0], score)
    pairs.clear()  # without held-out items
    while counts.n_left.any():
        counts.score_next(np.minimum(counts.n_left, 3))
    assert sorted(pairs) == [(user, i) for user in range(USERS) for i in free[user][2:].tolist()]
    for row, (user, item) in enumerate(zip(data.user_of_row, data.held_out_items, strict=True)):
        better = int((scores[user][free[user][2:]] > scores[user, item]).sum())
        assert counts.better[row].sum() == better


@pytest.mark.parametrize(
    ("seen", "relevant", "message"),
    [
        (csr_array((2, 3)), [0], "relevant items"),
        (csr_array((1, 3)), [3], "row 1, column relevant: found 3"),
        (csr_array([[1, 0]]), [0], "held-out item 0 of user 0 is seen"),
        (csr_array((2, 3)), [-1, None], "relevant has no items"),
        (csr_array((1, 3)), {"u": [1]}, "one of relevant and seen has ids"),
    ],
)
def test_invalid_data_refused(seen: Any, relevant: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_evaluation_data(relevant, seen)


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("nothing", "unknown proxy 'nothing'"),
        (np.zeros((3, 2)), r"proxy has shape \(3, 2\); expected \(7, 40\)"),
        (np.full((USERS, ITEMS), np.nan), "user 0 .*NaN"),
    ],
)
def test_invalid_proxy_refused(proxy: Any, message: str) -> None:
    seen, held, _ = world()
    with pytest.raises(InputError, match=message):
        ordered(read_evaluation_data(held, seen), proxy)


@pytest.mark.parametrize("n", [1, 3, 5, 6, 16, 100, 3706, 30_000, 10**6])
def test_stratum_edges_cover_candidates(n: int) -> None:
    bounds = stratum_edges(n)
    assert (bounds[0], bounds[-1]) == (0, n)
    assert np.all(np.diff(bounds) > 0)
