"""Held-out and training events, by hand and by loops; equal keys as in libstdc++."""

import datetime as dt
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.events import Interactions
from sampled_metrics_study.data.settings import SplitSettings, TieBreak
from sampled_metrics_study.data.split import (
    given_split,
    hold_out,
    last_after_std_sort,
    leave_last_out,
    load_split,
    sample_users,
    save_split,
)
from sampled_metrics_study.recommenders.ranking import require_candidates
from tests.helpers.interactions import synthetic_interactions

RULES = get_args(TieBreak)


def events(*rows):
    user, item, timestamp = np.array(rows).T
    return Interactions(user, item, timestamp)


def held_out(split):
    """Held-out item by evaluated user, as published ids."""
    return dict(zip(split.evaluated_ids.tolist(), split.held_out_ids.tolist(), strict=True))


def training(split):
    """Training items by user, as published ids."""
    return {
        user: sorted(split.item_ids[split.train[[row]].indices].tolist())
        for row, user in enumerate(split.user_ids.tolist())
    }


def split_by(data, seed=0, **options):
    return hold_out(data, SplitSettings(**options), np.random.default_rng(seed))


# User 2 comes first in the file; user 1 has two events at the last timestamp, 7.
EVENTS = events((2, 50, 1), (2, 40, 9), (1, 40, 7), (1, 60, 3), (1, 50, 7))
# Items by time, with | at the cut, 6. User 1: 10 at 1, 20 at 4 | 30 and 40 at 6. User 2: 10 at 5 |
# 50 at 6, 20 at 8. User 3 has only training events, user 4 has none.
TIMED = events(
    *((1, 30, 6), (1, 10, 1), (1, 20, 4), (1, 40, 6), (3, 60, 2), (3, 10, 5)),
    *((2, 20, 8), (2, 10, 5), (2, 50, 6), (4, 10, 7)),
)


@pytest.mark.parametrize(("tie_break", "of_user_1"), [("first", 40), ("last", 50)])
def test_last_event_by_hand(tie_break, of_user_1):
    split = leave_last_out(EVENTS, tie_break)
    assert held_out(split) == {1: of_user_1, 2: 40}
    assert training(split) == {1: sorted({40, 50, 60} - {of_user_1}), 2: [50]}
    # in the order of their first event
    assert split.item_ids.tolist() == [50, 40, 60]
    assert split.counts() == {
        "users": 2, "items": 3, "interactions": 5, "training_events": 3, "tied_users": 1,
        "evaluated_users": 2,
    }  # fmt: skip


def with_users_moved(data, seed):
    """The same events in a file with users in another order."""
    place = np.random.default_rng(seed).random(data.user.max() + 1)
    order = np.argsort(place[data.user], kind="stable")
    return Interactions(data.user[order], data.item[order], data.timestamp[order])


@given(
    st.integers(0, 10_000),
    st.sampled_from([{"method": "random"}, *({"tie_break": rule} for rule in RULES)]),
)
def test_held_out_items_are_independent_of_user_order(seed, options):
    data = synthetic_interactions(users=9, items=20, seed=seed)
    moved = with_users_moved(data, seed)
    assert held_out(split_by(data, **options)) == held_out(split_by(moved, **options))


@given(st.integers(0, 10_000), st.sampled_from(RULES))
def test_one_of_the_last_events_is_held_out(seed, tie_break):
    data = synthetic_interactions(users=9, items=20, seed=seed)
    split = split_by(data, tie_break=tie_break)
    assert split.user_ids.tolist() == sorted(set(data.user.tolist()))
    for user, chosen in held_out(split).items():
        items, times = data.item[data.user == user], data.timestamp[data.user == user]
        assert times[items == chosen] == times.max()
        assert sorted([*training(split)[user], chosen]) == sorted(items)


@given(st.integers(0, 10_000))
def test_ncf_holds_out_the_last_event_of_std_sort(seed):
    data = synthetic_interactions(users=9, items=20, seed=seed)
    for user, chosen in held_out(split_by(data, tie_break="ncf")).items():
        items, times = data.item[data.user == user], data.timestamp[data.user == user]
        assert chosen == items[last_after_std_sort(times.tolist())]


@pytest.mark.parametrize("options", [{"tie_break": "random"}, {"method": "random"}])
def test_random_is_uniform_and_repeatable(options):
    n_users = 9000  # with three events each, all at the same time
    users, items = np.repeat(np.arange(n_users), 3), np.tile([1, 2, 3], n_users)
    data = Interactions(users, items, np.zeros(users.size, int))
    split, again = (split_by(data, 2, **options) for _ in range(2))
    times_held_out = np.bincount(split.held_out, minlength=3)
    four_sd = 4 * np.sqrt(n_users * (1 / 3) * (2 / 3))
    assert (abs(times_held_out - n_users / 3) < four_sd).all()
    np.testing.assert_array_equal(split.held_out, again.held_out)
    assert split.tied_users == (0 if "method" in options else n_users)


def test_only_random_needs_no_times():
    untimed = replace(EVENTS, timestamp=None)
    assert split_by(untimed, method="random").tied_users == 0
    for options in ({}, {"method": "global-time", "cut": 0.5}):
        with pytest.raises(InputError, match="no timestamps"):
            split_by(untimed, **options)


@pytest.mark.parametrize(
    ("users", "items"),
    [
        ([1, 2], [40, 50, 60]),
        (["ann", "bob"], ["x", "y", "zoë"]),
        ([2**40, 2**41], [-(2**50), 5, 9]),
    ],
)
def test_saved_split_round_trips(tmp_path, users, items):
    # users bob, ann; items y, zoë, x in the order of their first event
    data = Interactions(
        np.array([1, 0, 1, 0], np.int32), np.array([1, 2, 0, 1], np.int32), np.arange(4),
        user_names=np.array(users), item_names=np.array(items),
    )  # fmt: skip
    split = replace(leave_last_out(data), left_out_users=3, left_out_events=4)
    assert split.user_ids.tolist() == users
    assert split.item_ids.tolist() == [items[1], items[2], items[0]]
    assert held_out(split) == {users[0]: items[1], users[1]: items[0]}
    save_split(tmp_path / "split.npz", split)
    again = load_split(tmp_path / "split.npz")
    assert training(again) == training(split)
    assert again.counts() == split.counts()
    for name in ("held_out", "user_ids", "item_ids"):
        np.testing.assert_array_equal(getattr(again, name), getattr(split, name))
        assert getattr(again, name).dtype == getattr(split, name).dtype
    for one in (split, again):
        assert (one.train.indices.dtype, one.train.dtype) == (np.int32, np.float64)


@pytest.mark.parametrize("name", ["user_ids", "item_ids", "held_out"])
def test_damaged_split_is_refused(tmp_path, name):
    save_split(tmp_path / "s.npz", leave_last_out(EVENTS))
    with np.load(tmp_path / "s.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "s.npz", **arrays | {name: np.tile(arrays[name], 2)})
    with pytest.raises(InputError, match=r"s\.npz"):
        load_split(tmp_path / "s.npz")


@pytest.mark.parametrize(("tie_break", "of_user_1"), [("first", 30), ("last", 40), ("ncf", 30)])
def test_global_time_by_hand(tie_break, of_user_1):
    split = split_by(TIMED, method="global-time", cut=6, tie_break=tie_break)
    assert split.user_ids.tolist() == [1, 2, 3]  # users who only train come last
    assert held_out(split) == {1: of_user_1, 2: 50}
    assert training(split) == {1: [10, 20], 2: [10], 3: [10, 60]}
    assert split.seen.toarray().tolist() == split.train.toarray()[:2].tolist()
    # 6 items minus those seen in training
    assert split.n_candidates.tolist() == [4, 5]
    assert split.counts() == {
        "users": 4, "items": 6, "interactions": 10, "training_events": 5, "tied_users": 1,
        "evaluated_users": 2, "left_out_users": 1, "left_out_events": 3,
    }  # fmt: skip


@pytest.mark.parametrize("cut", [0.5, 0.59, 6.0])
def test_global_time_cut_as_share(cut):
    # times in order: 1 2 4 5 5 6 6 6 7 8, so position 5 has a 6
    split = split_by(TIMED, method="global-time", cut=cut, tie_break="first")
    assert held_out(split) == {1: 30, 2: 50}


DAY = 86_400
NOON = 1_730_419_200 + DAY // 2  # of 2024-11-01, UTC
DATED = events(
    (1, 10, NOON - DAY), (1, 20, NOON + 1), (2, 10, NOON - 2), (2, 30, NOON)
)  # fmt: skip


@pytest.mark.parametrize(
    "cut",
    [
        NOON,
        str(NOON),
        "2024-11-01T12:00:00",
        "2024-11-01 12:00:00",
        "2024-11-01T13:00:00+01:00",
        "2024-11-01T12:00:00Z",
        dt.datetime(2024, 11, 1, 12),
        dt.datetime(2024, 11, 1, 12, tzinfo=dt.UTC),
    ],
    ids=str,
)
def test_global_time_cut_as_date(cut):
    split = split_by(DATED, method="global-time", cut=cut, tie_break="first")
    assert held_out(split) == {1: 20, 2: 30}
    assert training(split) == {1: [10], 2: [10]}


@pytest.mark.parametrize("cut", ["2024-11-01", dt.date(2024, 11, 1)], ids=str)
def test_cut_day_begins_at_midnight(cut):
    settings = SplitSettings(method="global-time", cut=cut)
    assert settings.cut_number == NOON - DAY // 2
    assert settings.model_dump(mode="json")["cut"] == "2024-11-01"


MILLISECONDS = events((1, 10, 1_730_419_200_000), (1, 20, 1_730_419_200_001))


@pytest.mark.parametrize(
    ("data", "cut", "message"),
    [
        (TIMED, 9.0, "both before and from split.cut 9"),
        (TIMED, 0.0, "both before and from split.cut 0"),
        # times are named in the format of the cut, and milliseconds as they are
        (DATED, "2030-01-01", "2030-01-01.*from 2024-10-31T12:00:00 to 2024-11-01T12:00:01"),
        (DATED, 1_900_000_000.0, f"1900000000.*from {NOON - DAY} to {NOON + 1}"),
        (MILLISECONDS, "2024-11-01", "from 1730419200000 to 1730419200001"),
    ],
)  # fmt: skip
def test_global_time_impossible_cut_is_refused(data, cut, message):
    with pytest.raises(InputError, match=message):
        split_by(data, method="global-time", cut=cut)


def test_user_without_candidates_is_refused():
    """User 2 has two of the three items in the training data."""
    too_few = events((1, 10, 1), (1, 20, 2), (2, 10, 1), (2, 20, 2), (2, 30, 3))
    with pytest.raises(InputError, match="user 2 "):
        require_candidates(split_by(too_few), "a")
    enough = events((1, 40, 1), (1, 20, 2), (2, 10, 1), (2, 20, 2), (2, 30, 3))
    require_candidates(split_by(enough), "a")


TRAIN = events((7, 10, 1), (8, 20, 2), (7, 30, 3))


def test_given_holds_out_the_first_test_event():
    # user 9 has no training events
    test = events((7, 40, 9), (7, 20, 8), (9, 10, 5))
    split = given_split(TRAIN, test)
    assert held_out(split) == {7: 20}
    assert training(split) == {7: [10, 30], 8: [20]}
    assert split.item_ids.tolist() == [10, 20, 30, 40]
    # 40 of user 7 and 10 of user 9
    assert (split.left_out_users, split.left_out_events) == (1, 2)


def test_given_without_times_holds_out_the_first_in_the_file():
    test = events((7, 40, 9), (7, 20, 8))
    without_times_of_training = given_split(replace(TRAIN, timestamp=None), test)
    assert held_out(without_times_of_training) == {7: 20}
    split = given_split(TRAIN, replace(test, timestamp=None))
    assert (held_out(split), split.tied_users) == ({7: 40}, 0)


def test_given_mixed_text_and_number_ids():
    names = {"user_names": np.array(["7", "ann"]), "item_names": np.array(["10", "x"])}
    test = Interactions(np.array([0, 1], np.int32), np.array([1, 0], np.int32), **names)
    split = given_split(TRAIN, test)
    assert held_out(split) == {"7": "x"}
    assert training(split) == {"7": ["10", "30"], "8": ["20"]}


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        (events((8, 10, 5), (7, 30, 5)), "user 7 has item 30 also in the training"),
        (events((1, 10, 5)), "no user is also in the training events"),
    ],
)
def test_given_files_that_disagree_are_refused(test, problem):
    with pytest.raises(InputError) as caught:
        given_split(TRAIN, test)
    assert caught.value.problem.startswith(problem)


def test_sampled_users_are_some_of_all_with_the_same_training():
    split = leave_last_out(synthetic_interactions(users=30))
    some = sample_users(split, 0.3, np.random.default_rng(1))
    assert held_out(split).items() > held_out(some).items()
    assert training(some) == training(split)
    assert some.evaluated_ids.tolist() == sorted(some.evaluated_ids)


def test_events_of_users_who_are_not_sampled_are_left_out():
    """9 of 30 users are sampled, so 21 held-out events are added to 5 that were left out."""
    split = replace(leave_last_out(synthetic_interactions(users=30)), left_out_events=5)
    some = sample_users(split, 9, np.random.default_rng(1))
    assert some.counts() == split.counts() | {"evaluated_users": 9, "left_out_events": 5 + 21}


@pytest.mark.parametrize(
    ("users", "n_sampled"),
    [(0.001, 1), (0.049, 1), (0.051, 2), (0.3, 9), (0.99, 30), (1, 1), (30, 30)],
)
def test_share_of_30_users_is_rounded_to_at_least_one(users, n_sampled):
    split = leave_last_out(synthetic_interactions(users=30))
    assert sample_users(split, users, np.random.default_rng(1)).held_out.size == n_sampled


def test_more_users_than_there_are_cannot_be_sampled():
    split = leave_last_out(synthetic_interactions(users=30))
    with pytest.raises(InputError, match="30 users"):
        sample_users(split, 31, np.random.default_rng(0))


def test_sample_users_is_uniform():
    split, rng = leave_last_out(synthetic_interactions(users=10)), np.random.default_rng(2)
    draws, share = 2000, 4 / 10  # four of ten users
    sampled_ids = np.concatenate([sample_users(split, 4, rng).evaluated_ids for _ in range(draws)])
    times_sampled = np.bincount(sampled_ids)[1:]  # of users 1 to 10
    four_sd = 4 * np.sqrt(draws * share * (1 - share))
    assert (abs(times_sampled - draws * share) < four_sd).all()


HERE = Path(__file__).parent
VECTORS = json.loads((HERE.parent / "golden" / "std_sort.json").read_text())
KILLER = VECTORS.pop(10)


def random_arrays():
    """Random keys in random, ascending and descending order, and prefixes of these."""
    rng = np.random.default_rng(0)
    for size in [*range(1, 40), *rng.integers(40, 400, 60), 1000, 2500, 5000]:
        for distinct in (1, 2, 5, 30, 10_000):
            keys = rng.integers(0, distinct, size)
            for form in (keys, np.sort(keys), np.sort(keys)[::-1]):
                yield from (form[:end] for end in {1, 2, 17, size // 3, size // 2, size - 1, size})


@pytest.mark.long
def test_last_after_std_sort_matches_libstdcxx(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++ to compile std_sort.cpp with; the stored vectors serve instead")
    program = tmp_path / "std_sort"
    arrays = [keys for keys in random_arrays() if keys.size]
    subprocess.run(["g++", "-O2", "-o", program, HERE / "std_sort.cpp"], check=True)
    text = "\n".join(f"{len(keys)} {' '.join(map(str, keys))}" for keys in arrays)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    orders = done.stdout.split("\n")[:-1]
    last = [int(line.split()[-1]) for line in orders]
    assert [last_after_std_sort(keys.tolist()) for keys in arrays] == last


def test_last_after_std_sort_stored_vectors():
    for vector in VECTORS[1:]:  # the first is empty
        assert last_after_std_sort(vector["keys"]) == vector["order"][-1]


def test_keys_that_std_sort_would_sort_as_a_heap_are_refused():
    """They are constructed to exceed the depth up to which it partitions them."""
    with pytest.raises(InputError, match="heap sort"):
        last_after_std_sort(KILLER["keys"])
