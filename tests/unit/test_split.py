from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.holding_out import (
    hold_out,
    leave_last_out,
    leave_random_out,
    sample_users,
)
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.last_events import sorted_tail
from sampled_metrics.datasets.later_events import given_split, hold_out_from
from sampled_metrics.datasets.settings import SplitSettings, TieBreak
from sampled_metrics.datasets.split import load_split, require_candidates, save_split
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
        "evaluated_users": 2,
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
    assert again.counts() == split.counts()
    assert again.later_training_events == split.later_training_events > 0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("user_ids", lambda ids: ids[:-1]),
        ("item_ids", lambda ids: ids[None]),
        ("held_out", lambda items: np.concatenate([items, items])),
        ("held_out", lambda _: np.array(7)),
        ("counted", lambda counts: counts[:2]),
        ("later_training_events", lambda _: np.array("x")),
        ("indices", lambda items: items[:-1]),
    ],
)
def test_arrays_that_do_not_fit_together_are_no_split(tmp_path, name, change):
    save_split(tmp_path / "split.npz", leave_last_out(synthetic_interactions()))
    with np.load(tmp_path / "split.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "split.npz", **arrays | {name: change(arrays[name])})
    with pytest.raises(InputError, match=r"split\.npz: not a split .its arrays do not fit"):
        load_split(tmp_path / "split.npz")


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


def training(split):
    """Training items by user, in published ids."""
    return {
        user: sorted(split.item_ids[split.train[[row]].indices].tolist())
        for row, user in enumerate(split.user_ids.tolist())
    }


class TestLastK:
    def test_by_hand(self):
        # user 1 by time: 10, 20, then 30 and 40 together, 50; user 2: 40, 10, 20
        data = events(
            *((1, 30, 7), (1, 10, 1), (1, 50, 9), (1, 20, 2), (1, 40, 7)),
            *((2, 40, 1), (2, 20, 6), (2, 10, 3)),
        )
        split = leave_last_out(data, "first", k=2)
        assert held_out(split) == {1: 30, 2: 10}  # the first of the two held out
        assert training(split) == {1: [10, 20, 40], 2: [40]}
        assert (split.tied_users, split.left_out_events) == (1, 2)
        assert held_out(leave_last_out(data, "last", k=2)) == {1: 40, 2: 10}
        settings = SplitSettings(method="leave-k-out", k=2, tie_break="last")
        assert held_out(hold_out(data, settings, np.random.default_rng(0))) == {1: 40, 2: 10}

    @settings(max_examples=15)
    @given(st.integers(0, 10_000), st.sampled_from(get_args(TieBreak)))
    def test_one_more_is_the_last_of_what_was_left(self, seed, tie_break):
        data = synthetic_interactions(users=9, items=20, seed=seed)
        one = leave_last_out(data, tie_break, np.random.default_rng(0))
        two = leave_last_out(data, tie_break, np.random.default_rng(0), k=2)
        for user, item in held_out(two).items():
            assert training(one)[user] == sorted([*training(two)[user], item])


# By time: 1 has 10 at 1 and 20 at 4 | 30 and 40 at 6; 2 has 10 at 5 | 20 at 8, 50 at 6; 3 only
# trains; 4 has nothing before the cut at 6.
TIMED = events(
    *((1, 30, 6), (1, 10, 1), (1, 20, 4), (1, 40, 6), (3, 60, 2), (3, 10, 5)),
    *((2, 20, 8), (2, 10, 5), (2, 50, 6), (4, 10, 7)),
)


class TestGlobalTime:
    @pytest.mark.parametrize(("tie_break", "of_user_1"), [("first", 30), ("last", 40), ("ncf", 30)])
    def test_by_hand(self, tie_break, of_user_1):
        split = hold_out_from(TIMED, 6, tie_break)
        assert split.user_ids.tolist() == [1, 2, 3]  # those that only train come last
        assert held_out_of_evaluated(split) == {1: of_user_1, 2: 50}
        assert training(split) == {1: [10, 20], 2: [10], 3: [10, 60]}
        assert split.seen.toarray().tolist() == split.train.toarray()[:2].tolist()
        assert split.n_candidates.tolist() == [4, 5]  # 6 items less those seen in training
        assert split.later_training_events == 0
        assert split.counts() == {
            "users": 4, "items": 6, "interactions": 10, "training_events": 5, "tied_users": 1,
            "evaluated_users": 2, "left_out_users": 1, "left_out_events": 3,
        }  # fmt: skip

    @pytest.mark.parametrize(
        "cut", [0.5, 0.59, 6.0, "1970-01-01T00:00:06", "1970-01-01 00:00:05.5"]
    )
    def test_share_of_the_events_or_a_date(self, cut):
        # times in order: 1 2 4 5 5 6 6 6 7 8, so place 5 is a 6
        data = replace(TIMED, time_unit="s")
        settings = SplitSettings(method="global-time", cut=cut)
        split = hold_out(data, settings, np.random.default_rng(0))
        assert held_out_of_evaluated(split) == {1: 30, 2: 50}

    def test_dates_of_days(self):
        data = replace(TIMED, time_unit="D")  # days 1 to 8 after 1970-01-01
        noon = hold_out_from(data, "1970-01-06T12:00")  # day 5 and a half
        assert held_out_of_evaluated(noon) == held_out_of_evaluated(hold_out_from(data, 6))

    @pytest.mark.parametrize(
        ("cut", "unit", "problem"),
        [
            (9, None, "no user has events both before and from split.cut 9; choose another time"),
            (0, None, "no user has events both before and from split.cut 0; "),
            ("2020-01-01", None, "timestamps are numbers but split.cut is 2020-01-01; "),
        ],
    )
    def test_impossible_cuts(self, cut, unit, problem):
        with pytest.raises(InputError) as caught:
            hold_out_from(replace(TIMED, time_unit=unit), cut)
        assert caught.value.problem.startswith(problem)

    @settings(max_examples=30)
    @given(st.integers(0, 10_000), st.floats(0.05, 0.8))
    def test_nothing_in_training_is_later(self, seed, share):
        data = synthetic_interactions(users=9, items=20, seed=seed)
        data = replace(data, timestamp=data.timestamp % 1000)  # all users at the same times
        cut = np.sort(data.timestamp)[int(share * len(data))]
        if cut == 0:
            return
        split = hold_out_from(data, share)
        for user, items in training(split).items():
            own = data.user == user
            assert items == sorted(data.item[own & (data.timestamp < cut)])
        later = data.timestamp >= cut
        for user, item in held_out_of_evaluated(split).items():
            own = (data.user == user) & later
            (time,) = data.timestamp[own & (data.item == item)]
            assert time == data.timestamp[own].min()


def held_out_of_evaluated(split):
    return dict(zip(split.evaluated_ids.tolist(), split.held_out_ids.tolist(), strict=True))


class TestGiven:
    TRAIN = events((7, 10, 1), (8, 20, 2), (7, 30, 3))

    def test_first_by_time_of_each_user(self):
        test = events((7, 40, 9), (7, 20, 8), (9, 10, 5))
        split = given_split(self.TRAIN, test)
        assert held_out_of_evaluated(split) == {7: 20}
        assert training(split) == {7: [10, 30], 8: [20]}
        assert split.item_ids.tolist() == [10, 20, 30, 40]
        assert (split.left_out_users, split.left_out_events) == (1, 2)

    def test_first_in_the_file_without_times(self):
        test = Interactions(np.array([8, 7, 7]), np.array([30, 40, 20]))
        split = given_split(self.TRAIN, test)
        assert held_out_of_evaluated(split) == {7: 40, 8: 30}
        assert (split.tied_users, split.later_training_events) == (0, None)

    def test_text_in_one_file_and_numbers_in_the_other(self):
        names = {"user_names": np.array(["7", "ann"]), "item_names": np.array(["10", "x"])}
        test = Interactions(np.array([0, 1], np.int32), np.array([1, 0], np.int32), **names)
        split = given_split(self.TRAIN, test)
        assert held_out_of_evaluated(split) == {"7": "x"}
        assert training(split) == {"7": ["10", "30"], "8": ["20"]}

    @pytest.mark.parametrize(
        ("test", "row", "problem"),
        [
            (events((8, 10, 5), (7, 30, 5)), 2, "user 7 has item 30 also in the training events; "),
            (events((1, 10, 5)), None, "no user is also in the training events; write ids alike"),
            (replace(events((7, 20, 5)), time_unit="D"), None, "times are in D, those of the "),
        ],
    )
    def test_files_that_do_not_fit(self, test, row, problem):
        with pytest.raises(InputError) as caught:
            given_split(self.TRAIN, test)
        assert caught.value.row == row
        assert caught.value.problem.startswith(problem)


class TestSomeUsers:
    def test_the_others_still_train_and_nothing_else_changes(self):
        split = leave_last_out(synthetic_interactions(users=30))
        some = sample_users(split, 0.3, np.random.default_rng(1))
        assert some.evaluated_ids.size == 9  # 0.3 of 30
        assert held_out(split).items() > held_out_of_evaluated(some).items()
        assert training(some) == training(split)
        assert some.evaluated_ids.tolist() == sorted(some.evaluated_ids)
        assert some.counts() == split.counts() | {"evaluated_users": 9, "left_out_events": 21}

        # of those that were left out before, none is forgotten
        again = sample_users(replace(split, left_out_events=5), 9, np.random.default_rng(0))
        assert again.left_out_events == 5 + 21

    def test_is_uniform_and_follows_its_generator(self):
        split = leave_last_out(synthetic_interactions(users=10))
        rng = np.random.default_rng(2)
        drawn = np.concatenate([sample_users(split, 4, rng).evaluated_ids for _ in range(2000)])
        counts = np.bincount(drawn, minlength=11)[1:]
        # each of ten users in 4 of 10 draws; four standard deviations
        assert (abs(counts - 800) < 4 * np.sqrt(2000 * 0.4 * 0.6)).all()
        one, again = (sample_users(split, 4, np.random.default_rng(3)) for _ in range(2))
        assert one.evaluated_ids.tolist() == again.evaluated_ids.tolist()

    def test_more_than_there_are(self):
        split = leave_last_out(EVENTS)
        with pytest.raises(InputError, match=r"split.users is 3 but only 2 users can be evaluated"):
            sample_users(split, 3, np.random.default_rng(0))
