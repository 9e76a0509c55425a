"""Candidates, proxies and their order against brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.counts import Counts, Frame
from sampled_metrics.inference.budget.order import LEAST_HEAD, Order
from sampled_metrics.inference.budget.proxies import Part, make_proxy

USERS, ITEMS = 7, 40


def world(seed: int = 0, items: int = ITEMS) -> tuple[csr_array, Any, Any]:
    rng = np.random.default_rng(seed)
    held = rng.integers(0, items, USERS)
    seen = rng.random((USERS, items)) < 0.2
    seen[np.arange(USERS), held] = False
    return csr_array(seen.astype(float)), held, rng.random((USERS, items))


def positions(order: Order) -> list[Any]:
    return [
        order.items(np.full(count, user), np.arange(count)) for user, count in enumerate(order.n)
    ]


def test_order_is_the_proxys_among_the_candidates() -> None:
    seen, held, scores = world()
    problem = Candidates(seen, held)
    order = Order(problem, make_proxy(scores, seen, scores.shape, 0))
    for user, items in enumerate(positions(order)):
        expected = [
            item
            for item in np.argsort(-scores[user], kind="stable")
            if not seen[user, item] and item != held[user]
        ]
        assert items.tolist() == expected
        above = (scores[user][expected] > scores[user, held[user]]).mean()
        assert order.own[user] == pytest.approx(above)


def test_popularity_needs_no_head() -> None:
    seen, held, _ = world()
    problem = Candidates(seen, held)
    events = np.asarray(seen.sum(axis=0)).ravel()
    for user, items in enumerate(
        positions(Order(problem, make_proxy("popularity", seen, seen.shape, 0)))
    ):
        expected = [
            item
            for item in np.argsort(-events, kind="stable")
            if not seen[user, item] and item != held[user]
        ]
        assert items.tolist() == expected


def test_beyond_the_head_candidates_follow_by_popularity() -> None:
    items = 3 * LEAST_HEAD
    seen, held, scores = world(1, items)
    problem = Candidates(seen, held)
    order = Order(problem, make_proxy(scores, seen, scores.shape, 0), head_entries=1)
    events = np.asarray(seen.sum(axis=0)).ravel()
    for user, found in enumerate(positions(order)[:2]):
        allowed = problem.mask(np.array([user]))[0]
        head = [i for i in np.argsort(-scores[user], kind="stable") if allowed[i]][:LEAST_HEAD]
        rest = [i for i in np.argsort(-events, kind="stable") if allowed[i] and i not in set(head)]
        assert found.tolist() == head + rest


def test_lists_of_candidates() -> None:
    lists = [np.array([3, 1, 5]), np.array([2, 0])]
    problem = Candidates(lists, [5, 4], n_items=6)
    assert problem.n_others.tolist() == [2, 2]
    scores = np.arange(12.0).reshape(2, 6)
    order = Order(problem, make_proxy(lambda u, i: scores[u, i], None, (2, 6), 0))
    assert [items.tolist() for items in positions(order)] == [[3, 1], [2, 0]]


def test_several_held_out_items_are_no_negatives() -> None:
    seen, _, scores = world()
    lists = [np.flatnonzero(~(seen[[user]].toarray()[0] > 0))[:2] for user in range(USERS)]
    problem = Candidates(seen, lists)
    assert problem.owner.tolist() == np.repeat(np.arange(USERS), 2).tolist()
    order = Order(problem, make_proxy(scores, seen, scores.shape, 0))
    for user, items in enumerate(positions(order)):
        assert not set(items) & set(lists[user])


def test_a_part_of_the_users_has_the_same_order() -> None:
    seen, held, scores = world()
    problem, users = Candidates(seen, held), np.array([1, 4, 5])
    proxy = make_proxy(scores, seen, scores.shape, 0)
    whole = Frame(Order(problem, proxy), problem.owner, 3)
    some = problem.take(users)
    part = Frame(Order(some, Part(proxy, users)), some.owner, 3, users)
    for place, user in enumerate(users):
        for stratum in range(part.n.shape[1]):
            if part.n[place, stratum] != whole.n[user, stratum]:
                continue
            index = np.arange(part.n[place, stratum])
            same = [np.full(index.size, number) for number in (place, user, stratum)]
            ours = part.items(same[0], same[2], index)
            assert np.array_equal(ours, whole.items(same[1], same[2], index))


def test_requests_cover_each_stratum_once() -> None:
    seen, held, scores = world()
    problem = Candidates(seen, held)
    frame = Frame(Order(problem, make_proxy(scores, seen, scores.shape, 0)), problem.owner, 1)
    counts = Counts(frame, scores[np.arange(USERS), held])
    asked_items: list[set[int]] = [set() for _ in range(USERS)]
    while counts.left.any():
        asked = counts.request(np.minimum(counts.left, 3))
        for user, item in zip(asked.user, asked.item, strict=True):
            assert item not in asked_items[user]
            asked_items[user].add(int(item))
        counts.add(asked, scores[asked.user, asked.item])
    for user in range(USERS):
        mask = problem.mask(np.array([user]))[0]
        assert asked_items[user] == set(np.flatnonzero(mask))
        better = (scores[user][mask] > scores[user, held[user]]).sum()
        assert counts.better[user].sum() == better


def test_lists_of_candidates_make_a_catalogue_up_to_the_largest_item() -> None:
    assert Candidates([np.array([1, 6]), np.array([2])], [3, 4]).n_items == 7
    assert Candidates([np.array([1]), np.array([2])], [3, 4]).n_items == 5


@pytest.mark.parametrize(
    ("candidates", "held_out", "problem"),
    [
        (csr_array((2, 3)), [0], "candidates of 2 users"),
        (csr_array((1, 3)), [3], "held-out item of user 0 is 3"),
        (csr_array([[1, 0]]), [0], "held-out item 0 of user 0 is among the seen"),
        (csr_array((1, 3)), [[1, 1]], "user 0 has a duplicate"),
        (csr_array((2, 3)), [[1], []], "user 1 has no held-out item"),
        ([np.array([7])], [0], "user 0 has candidate 7"),
        ([np.array([-1, 2])], [0], "user 0 has candidate -1"),
        (csr_array((1, 3)), [0.5], "dtype float64"),
    ],
)
def test_invalid_candidates(candidates: Any, held_out: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Candidates(candidates, held_out, n_items=3 if isinstance(candidates, list) else None)


@pytest.mark.parametrize(
    ("proxy", "seen", "problem"),
    [
        ("nothing", csr_array((2, 3)), "unknown proxy 'nothing'; known: popularity, als"),
        ("popularity", None, "needs a matrix of what was seen"),
        (np.zeros((3, 2)), None, r"shape \(3, 2\), expected \(2, 3\)"),
    ],
)
def test_invalid_proxies(proxy: Any, seen: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make_proxy(proxy, seen, (2, 3), 0)


def test_a_proxy_without_numbers() -> None:
    seen, held, scores = world()
    scores[2, 3] = np.nan
    with pytest.raises(InputError, match="user 2 have NaN"):
        Order(Candidates(seen, held), make_proxy(scores, seen, scores.shape, 0))


def test_the_als_proxy_does_not_depend_on_the_run() -> None:
    seen, _, _ = world(2)
    one, other = (make_proxy("als", seen, seen.shape, 5)(np.arange(3)) for _ in range(2))
    assert one.shape == (3, ITEMS)
    assert np.array_equal(one, other)
