from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.introsort import sorted_tail
from sampled_metrics.datasets.settings import SplitSettings, TieBreak
from sampled_metrics.datasets.split import (
    hold_out,
    leave_last_out,
    leave_random_out,
    load_split,
    require_candidates,
    save_split,
)
from tests.conftest import synthetic_interactions


def events(*rows):
    user, item, timestamp = np.array(rows).T
    return Interactions(user, item, timestamp)


def held_out(split):
    """Held-out item by user, in published ids."""
    items = split.item_ids[split.held_out]
    return dict(zip(split.user_ids.tolist(), items.tolist(), strict=True))


# User 2 comes first in the file; user 1 has two events at its last timestamp, 7.
EVENTS = events((2, 50, 1), (2, 40, 9), (1, 40, 7), (1, 60, 3), (1, 50, 7))


@pytest.mark.parametrize(("tie_break", "of_user_1"), [("first", 40), ("last", 50)])
def test_last_event_by_hand(tie_break, of_user_1):
    split = leave_last_out(EVENTS, tie_break)
    assert held_out(split) == {1: of_user_1, 2: 40}
    assert split.user_ids.tolist() == [1, 2]
    assert split.item_ids.tolist() == [50, 40, 60]
    assert split.tied_users == 1
    assert split.counts() == {
        "users": 2,
        "items": 3,
        "interactions": 5,
        "training_events": 3,
        "tied_users": 1,
    }


def test_training_is_what_is_not_held_out():
    split = leave_last_out(EVENTS, "last")
    # items in the order 50, 40, 60; user 1 keeps 40 and 60, user 2 keeps 50
    np.testing.assert_array_equal(split.train.toarray(), [[0, 1, 1], [1, 0, 0]])


def test_swapped_ties_swap_the_choice():
    swapped = events((2, 50, 1), (2, 40, 9), (1, 50, 7), (1, 60, 3), (1, 40, 7))
    assert held_out(leave_last_out(swapped, "first"))[1] == 50
    assert held_out(leave_last_out(swapped, "last"))[1] == 40


@given(st.integers(0, 10_000), st.sampled_from(get_args(TieBreak)))
def test_any_rule_takes_a_last_event(seed, tie_break):
    data = synthetic_interactions(users=9, items=20, seed=seed)
    split = leave_last_out(data, tie_break, np.random.default_rng(0))
    for row, user in enumerate(split.user_ids):
        own = data.user == user
        items, stamps = data.item[own], data.timestamp[own]
        chosen = split.item_ids[split.held_out[row]]
        assert stamps[items == chosen] == stamps.max()
        kept = split.item_ids[split.train[[row]].indices]
        assert sorted([*kept, chosen]) == sorted(items)


def test_ncf_is_the_last_of_each_users_sorted_rows():
    data = synthetic_interactions(users=80, items=300, seed=3)
    split = leave_last_out(data, "ncf")
    for row, user in enumerate(split.user_ids):
        own = data.user == user
        last = sorted_tail(data.timestamp[own])[-1]
        assert split.item_ids[split.held_out[row]] == data.item[own][last]


def test_users_need_not_be_contiguous_in_the_file():
    data = synthetic_interactions(users=12)
    order = np.argsort(data.item, kind="stable")
    mixed = Interactions(data.user[order], data.item[order], data.timestamp[order])
    regrouped = np.argsort(mixed.user, kind="stable")
    grouped = Interactions(
        *(column[regrouped] for column in (mixed.user, mixed.item, mixed.timestamp))
    )
    for tie_break in ("ncf", "first", "last"):
        assert held_out(leave_last_out(mixed, tie_break)) == held_out(
            leave_last_out(grouped, tie_break)
        )


def test_random_is_uniform_and_follows_its_generator():
    users = np.repeat(np.arange(9000), 3)
    data = Interactions(users, np.tile([1, 2, 3], 9000), np.zeros(27_000, int))
    split = leave_last_out(data, "random", np.random.default_rng(2))
    counts = np.bincount(split.held_out, minlength=3)
    assert (abs(counts - 3000) < 4 * np.sqrt(9000 * (1 / 3) * (2 / 3))).all()
    again = leave_last_out(data, "random", np.random.default_rng(2))
    np.testing.assert_array_equal(split.held_out, again.held_out)


def test_missing_generator():
    with pytest.raises(InputError, match="random needs a random generator"):
        leave_last_out(EVENTS, "random")


def test_a_user_with_events_of_all_items_cannot_be_ranked():
    enough = events((1, 10, 1), (1, 20, 2), (2, 20, 2), (2, 30, 3))
    require_candidates(leave_last_out(enough, "last"), "mine.csv")
    everything = events((1, 10, 1), (1, 20, 2), (2, 10, 1), (2, 20, 2), (2, 30, 3))
    message = (
        "^mine.csv: user 2 has an event with each of the 3 items; "
        "ranking needs an item beside the held-out one$"
    )
    with pytest.raises(InputError, match=message):
        require_candidates(leave_last_out(everything, "last"), "mine.csv")


def test_round_trip(tmp_path):
    split = leave_last_out(synthetic_interactions())
    save_split(tmp_path / "split.npz", split)
    again = load_split(tmp_path / "split.npz")
    np.testing.assert_array_equal(again.train.toarray(), split.train.toarray())
    for field in ("held_out", "user_ids", "item_ids"):
        np.testing.assert_array_equal(getattr(again, field), getattr(split, field))
    assert again.tied_users == split.tied_users


class TestRandom:
    def test_any_event_of_each_user(self):
        data = synthetic_interactions(users=30, items=20)
        split = leave_random_out(data, np.random.default_rng(1))
        for row, user in enumerate(split.user_ids):
            chosen = split.item_ids[split.held_out[row]]
            kept = split.item_ids[split.train[[row]].indices]
            assert sorted([*kept, chosen]) == sorted(data.item[data.user == user])
        assert split.tied_users == 0

    def test_is_uniform_and_follows_its_generator(self):
        users = np.repeat(np.arange(9000), 3)
        data = Interactions(users, np.tile([1, 2, 3], 9000), np.tile([1, 2, 3], 9000))
        split = leave_random_out(data, np.random.default_rng(2))
        counts = np.bincount(split.held_out, minlength=3)
        # each of three events with probability 1/3; four standard deviations
        assert (abs(counts - 3000) < 4 * np.sqrt(9000 * (1 / 3) * (2 / 3))).all()
        again = leave_random_out(data, np.random.default_rng(2))
        np.testing.assert_array_equal(split.held_out, again.held_out)

    def test_needs_no_times(self):
        data = synthetic_interactions(users=10)
        untimed = replace(data, timestamp=None)
        random = SplitSettings(method="random")
        split = hold_out(untimed, random, np.random.default_rng(3))
        timed = hold_out(data, random, np.random.default_rng(3))
        np.testing.assert_array_equal(split.held_out, timed.held_out)
        with pytest.raises(InputError, match=r"^no timestamps; leave-last-out needs"):
            hold_out(untimed, SplitSettings(), np.random.default_rng(3))


@pytest.mark.parametrize(
    ("users", "items"),
    [(["ann", "bob"], ["x", "y", "zoë"]), ([2**40, 2**41], [-(2**50), 5, 2**60])],
)
def test_published_ids_are_kept(tmp_path, users, items):
    # users bob, ann; items y, zoë, x in the order of their first event
    data = Interactions(
        np.array([1, 0, 1, 0], np.int32), np.array([1, 2, 0, 1], np.int32), np.arange(4),
        user_names=np.array(users), item_names=np.array(items),
    )  # fmt: skip
    split = leave_last_out(data)
    assert split.user_ids.tolist() == users
    assert split.item_ids.tolist() == [items[1], items[2], items[0]]
    assert held_out(split) == {users[0]: items[1], users[1]: items[0]}
    save_split(tmp_path / "split.npz", split)
    again = load_split(tmp_path / "split.npz")
    for field in ("user_ids", "item_ids"):
        np.testing.assert_array_equal(getattr(again, field), getattr(split, field))
        assert getattr(again, field).dtype == getattr(split, field).dtype


def test_indices_are_small(tmp_path):
    split = leave_last_out(synthetic_interactions())
    save_split(tmp_path / "split.npz", split)
    for each in (split, load_split(tmp_path / "split.npz")):
        assert (each.train.indices.dtype, each.train.indptr.dtype) == (np.int32, np.int32)
        assert (each.train.dtype, each.held_out.dtype) == (np.float64, np.int64)


@given(st.integers(0, 10_000), st.sampled_from(get_args(TieBreak)))
def test_order_of_users_in_the_file_does_not_matter(seed, tie_break):
    data = synthetic_interactions(users=9, items=20, seed=seed)
    order = np.argsort(np.random.default_rng(seed).random(10)[data.user], kind="stable")
    moved = Interactions(data.user[order], data.item[order], data.timestamp[order])
    splits = [leave_last_out(each, tie_break, np.random.default_rng(0)) for each in (data, moved)]
    assert held_out(splits[0]) == held_out(splits[1])
