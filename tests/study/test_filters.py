"""Filters of events, compared with plain loops."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.events import Interactions
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.settings import FilterSettings as Filters


def events(*rows):
    """Events of (user, item, rating, timestamp)."""
    user, item, rating, timestamp = np.array(rows, dtype=float).reshape(-1, 4).T
    user, item, rating = (user.astype(np.int32), item.astype(np.int32), rating.astype(np.float32))
    return Interactions(user, item, timestamp.astype(np.int64), rating)


def rows_of(interactions):
    columns = (interactions.user, interactions.item, interactions.timestamp)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_min_rating_is_inclusive():
    data = events((1, 7, 4, 0), (1, 8, 3.5, 1), (1, 9, 4.5, 2))
    remaining, removed = apply_filters(data, Filters(min_rating=4))
    assert rows_of(remaining) == [(1, 7, 0), (1, 9, 2)]
    assert removed == {"min_rating": 1}
    # 3.7 differs from its nearest float32, but a rating of 3.7 must pass the threshold 3.7
    same = events((1, 7, 3.7, 0), (1, 8, 3.7, 1))
    assert len(apply_filters(same, Filters(min_rating=3.7))[0]) == 2


# One pair three times, at times 5, 9, 9; another twice, not in order of time.
AGAIN = events((1, 7, 1, 9), (1, 8, 1, 3), (1, 7, 1, 5), (2, 8, 1, 4), (1, 7, 1, 9), (2, 8, 1, 4),
               (2, 9, 1, 1))  # fmt: skip


@pytest.mark.parametrize(
    ("duplicates", "times", "rows"),
    [
        ("first", True, [1, 2, 3, 6]),
        ("last", True, [1, 4, 5, 6]),
        ("first", False, [0, 1, 3, 6]),
        ("last", False, [1, 4, 5, 6]),
    ],
)
def test_duplicates_by_time_or_file_order(duplicates, times, rows):
    data = Interactions(AGAIN.user, AGAIN.item, AGAIN.timestamp if times else None)
    remaining, removed = apply_filters(data, Filters(duplicates=duplicates))
    columns = [data.user, data.item, *([data.timestamp] if times else [])]
    actual = [remaining.user, remaining.item, *([remaining.timestamp] if times else [])]
    for column, whole in zip(actual, columns, strict=True):
        assert column.tolist() == whole[rows].tolist()
    assert removed == {"duplicates": 3}


def test_duplicates_distinguish_negative_ids():
    data = events((-1, 7, 1, 0), (-1, -7, 1, 0), (1, -7, 1, 0), (1, 7, 1, 0))
    for filters in (None, Filters(duplicates="first")):
        assert len(apply_filters(data, filters)[0]) == 4


def largest_core(pairs, least_of_user, least_of_item):
    """The largest set of pairs that satisfies both minima, by removing one pair at a time."""
    pairs = list(pairs)
    while True:
        users, items = (Counter(pair[side] for pair in pairs) for side in (0, 1))
        few = [p for p in pairs if users[p[0]] < least_of_user or items[p[1]] < least_of_item]
        if not few:
            return pairs
        pairs.remove(few[0])


@given(
    st.sets(st.tuples(st.integers(0, 6), st.integers(-3, 3)), min_size=1),
    st.integers(2, 4),
    st.integers(1, 4),
)
def test_minima_give_largest_core(pairs, least_of_user, least_of_item):
    pairs = sorted(pairs, key=hash)
    data = events(*((*pair, 1, 0) for pair in pairs))
    filters = Filters(min_user_events=least_of_user, min_item_events=least_of_item)
    expected = largest_core(pairs, least_of_user, least_of_item)
    if not expected:
        with pytest.raises(InputError, match="min_user_events"):
            apply_filters(data, filters)
        return
    remaining, removed = apply_filters(data, filters)
    assert [row[:2] for row in rows_of(remaining)] == expected
    assert sum(removed.values()) == len(pairs) - len(expected)


def test_filters_apply_in_order():
    # The low rating of the pair is removed first, so the pair is no longer a duplicate.
    data = events((1, 7, 1, 9), (1, 7, 5, 3), (1, 8, 5, 3), (2, 7, 5, 1))
    remaining, removed = apply_filters(
        data, Filters(min_rating=2, duplicates="last", min_user_events=2)
    )
    assert rows_of(remaining) == [(1, 7, 3), (1, 8, 3)]
    assert removed == {"min_rating": 1, "duplicates": 0, "min_user_events": 1}


SINGLE = events((1, 7, 5, 0), (1, 8, 5, 0), (4, 7, 5, 0), (3, 7, 2, 0))


@pytest.mark.parametrize(
    ("data", "filters", "problem"),
    [
        (AGAIN, {}, "user 1 has item 7 more than once"),
        (SINGLE, {}, "user 3 has 1 of the 2 events needed"),
        (SINGLE, {"min_rating": 3}, "user 4 has 1 of the 2 events needed"),
        (SINGLE, {"min_rating": 6}, "no events remain after min_rating: 6.0"),
        (Interactions(SINGLE.user, SINGLE.item), {"min_rating": 4}, "no ratings"),
    ],
)
def test_impossible_filters_are_refused(data, filters, problem):
    with pytest.raises(InputError) as caught:
        apply_filters(replace(data, path="t.csv"), Filters(**filters))
    assert caught.value.path == "t.csv"
    assert caught.value.problem.startswith(problem)
