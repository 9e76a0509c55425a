"""Candidates, proxies and their order against brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget import candidates
from sampled_metrics.budget.candidates import LEAST_HEAD, Order, als, make_proxy
from sampled_metrics.budget.problem import Problem
from sampled_metrics.budget.strata import Counts, Frame
from sampled_metrics.study.recommenders import create

USERS, ITEMS = 7, 40


def world(seed: int = 0, items: int = ITEMS) -> tuple[csr_array, Any, Any]:
    rng = np.random.default_rng(seed)
    held = rng.integers(0, items, USERS)
    seen = rng.random((USERS, items)) < 0.2
    seen[np.arange(USERS), held] = False
    return csr_array(seen.astype(float)), held, rng.random((USERS, items))


def ordered(problem: Problem, proxy: Any) -> tuple[Order, list[Any]]:
    """The order, and all items of each user in it."""
    order = Order(problem, make_proxy(proxy, problem, 0))
    users = enumerate(order.n)
    return order, [order.items(np.full(n, user), np.arange(n)).tolist() for user, n in users]


def sorted_items(values: Any, allowed: Any) -> list[int]:
    return [i for i in np.argsort(-values, kind="stable").tolist() if allowed[i]]


@pytest.mark.parametrize("entries", [1 << 20, 2 * ITEMS])
def test_order_is_the_proxys_among_the_candidates(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = lambda rows, columns: blocks(rows, columns, entries)  # noqa: E731 - of two users
    monkeypatch.setattr("sampled_metrics.budget.candidates.blocks", some)
    seen, held, scores = world()
    problem = Problem.of(held, seen)
    orders = [
        ordered(problem, proxy)
        for proxy in (scores, csr_array(scores), lambda users, items: scores[users, items])
    ]
    events = np.asarray(seen.sum(axis=0)).ravel()
    by_events = ordered(problem, "popularity")[1]
    for user in range(USERS):
        allowed = seen[[user]].toarray()[0] == 0
        allowed[held[user]] = False
        expected = sorted_items(scores[user], allowed)
        assert [items[user] for _, items in orders] == [expected] * 3
        above = (scores[user][expected] > scores[user, held[user]]).mean()
        assert orders[0][0].own[user] == pytest.approx(above)
        assert by_events[user] == sorted_items(events, allowed)


@pytest.mark.parametrize(
    ("items", "entries", "length"),
    [
        (3 * LEAST_HEAD, 1, LEAST_HEAD),
        (5 * LEAST_HEAD, 1, LEAST_HEAD),
        (3 * LEAST_HEAD, USERS * (LEAST_HEAD - 1), LEAST_HEAD),
        (3 * LEAST_HEAD, USERS * (LEAST_HEAD + 9) + USERS - 1, LEAST_HEAD + 9),
        (3 * LEAST_HEAD, USERS * 2 * LEAST_HEAD, 2 * LEAST_HEAD),
    ],
)
def test_beyond_the_head_candidates_follow_by_popularity(
    items: int, entries: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head of a user is its part of all entries, but at least the least head."""
    seen, held, scores = world(1, items)
    problem = Problem.of(held, seen)
    events = np.asarray(seen.sum(axis=0)).ravel()
    monkeypatch.setattr(candidates, "HEAD_ENTRIES", entries)
    found = ordered(problem, scores)[1]
    for user in (0, 1, USERS - 1):
        allowed = seen[[user]].toarray()[0] == 0
        allowed[held[user]] = False
        head = sorted_items(scores[user], allowed)[:length]
        allowed[head] = False
        assert found[user] == head + sorted_items(events, allowed)


def test_requests_cover_each_stratum_once_but_no_held_out_item() -> None:
    seen, _, scores = world()
    free = [np.flatnonzero(row == 0) for row in seen.toarray()]
    lists = [items[:2] for items in free]
    problem = Problem.of(lists, seen)
    assert problem.owner.tolist() == np.repeat(np.arange(USERS), 2).tolist()
    order = ordered(problem, scores)[0]
    counts = Counts(Frame(order, 1), scores[problem.owner, problem.item])
    pairs: list[tuple[int, int]] = []
    while counts.left.any():
        task = counts.ask(np.minimum(counts.left, 3))
        asked = next(task)
        pairs += zip(asked.user.tolist(), asked.item.tolist(), strict=True)
        with pytest.raises(StopIteration):
            task.send(scores[asked.user, asked.item])
    assert sorted(pairs) == [(user, i) for user in range(USERS) for i in free[user][2:].tolist()]
    for row, (user, item) in enumerate(zip(problem.owner, problem.item, strict=True)):
        better = int((scores[user][free[user][2:]] > scores[user, item]).sum())
        assert counts.better[row].sum() == better


@pytest.mark.parametrize(
    ("seen", "relevant", "problem"),
    [
        (csr_array((2, 3)), [0], r"relevant items are int64 of shape \(1,\); expected a column"),
        (csr_array((1, 3)), [3], "row 1, column relevant: found 3"),
        (csr_array([[1, 0]]), [0], "held-out item 0 of user 0 is seen"),
        (csr_array((2, 3)), [-1, None], "relevant has no items"),
        (csr_array((1, 3)), {"u": [1]}, "one of relevant and seen has ids"),
    ],
)
def test_invalid_problems(seen: Any, relevant: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Problem.of(relevant, seen)


@pytest.mark.parametrize(
    ("proxy", "problem"),
    [
        ("nothing", "nothing: no such file; expected popularity, als or a table"),
        (np.zeros((3, 2)), r"proxy has shape \(3, 2\); expected \(7, 40\)"),
        (np.full((USERS, ITEMS), np.nan), "user 0 have"),
    ],
)
def test_invalid_proxies(proxy: Any, problem: str) -> None:
    seen, held, _ = world()
    with pytest.raises(InputError, match=problem):
        ordered(Problem.of(held, seen), proxy)


def test_als_is_the_recommender_of_the_study_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, held, _ = world(2)
    model = create("als", {"d": 8, "seed": 5}).fit(seen)
    assert all(map(np.array_equal, als(seen, 5), (model.user_vectors, model.item_vectors)))
    users = np.arange(3)
    assert np.array_equal(
        make_proxy("als", Problem.of(held, seen), 5).scores(users), model.score(users)
    )
    monkeypatch.setitem(__import__("sys").modules, "implicit.cpu.als", None)
    with pytest.raises(InputError, match="pip install implicit"):
        als(seen, 5)
