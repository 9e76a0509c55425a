from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.filters import apply_filters
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.settings import FilterSettings as Filters


def events(*rows):
    """Events of (user, item, rating, timestamp)."""
    user, item, rating, timestamp = np.array(rows, dtype=float).reshape(-1, 4).T
    return Interactions(
        user.astype(np.int32),
        item.astype(np.int32),
        timestamp.astype(np.int64),
        rating.astype(np.float32),
    )


def listed(interactions):
    columns = (interactions.user, interactions.item, interactions.timestamp)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def refused(filters, interactions):
    with pytest.raises(InputError) as caught:
        apply_filters(interactions, filters)
    return caught.value


def test_nothing_is_left_out_by_default():
    data = events((1, 7, 5, 0), (1, 8, 1, 0))
    kept, removed = apply_filters(data)
    assert (listed(kept), removed, Filters().on) == (listed(data), {}, {})
    assert kept.rows is None
    assert kept.rating is None


def test_rating_of_at_least():
    data = events((1, 7, 4, 0), (1, 8, 3.5, 1), (1, 9, 4.5, 2))
    kept, removed = apply_filters(data, Filters(min_rating=4))
    assert listed(kept) == [(1, 7, 0), (1, 9, 2)]
    assert removed == {"min_rating": 1}
    assert kept.rows.tolist() == [0, 2]
    # 3.7 is not the float32 nearest to it, but as a rating it must pass its own threshold
    same = events((1, 7, 3.7, 0), (1, 8, 3.7, 1))
    assert len(apply_filters(same, Filters(min_rating=3.7))[0]) == 2


# A pair three times, its times 5, 9, 9; another twice without order in time.
AGAIN = events((1, 7, 1, 9), (1, 8, 1, 3), (1, 7, 1, 5), (2, 8, 1, 4), (1, 7, 1, 9), (2, 8, 1, 4),
               (2, 9, 1, 1))  # fmt: skip


@pytest.mark.parametrize(("duplicates", "rows"), [("first", [1, 2, 3, 6]), ("last", [1, 4, 5, 6])])
def test_one_event_of_each_pair(duplicates, rows):
    kept, removed = apply_filters(AGAIN, Filters(duplicates=duplicates))
    assert kept.rows.tolist() == rows
    assert removed == {"duplicates": 3}


def test_without_times_file_order_decides():
    data = Interactions(AGAIN.user, AGAIN.item)
    assert apply_filters(data, Filters(duplicates="first"))[0].rows.tolist() == [0, 1, 3, 6]
    assert apply_filters(data, Filters(duplicates="last"))[0].rows.tolist() == [1, 4, 5, 6]


def test_negative_ids_are_told_apart():
    data = events((-1, 7, 1, 0), (-1, -7, 1, 0), (1, -7, 1, 0), (1, 7, 1, 0))
    assert len(apply_filters(data)[0]) == 4
    assert len(apply_filters(data, Filters(duplicates="first"))[0]) == 4


def test_duplicates_are_refused():
    for filters in (Filters(), Filters(duplicates="refuse")):
        assert str(refused(filters, AGAIN)) == (
            "row 3: duplicate of row 1 (user 1, item 7); "
            "the filter duplicates can keep the first or the last"
        )


def test_minima_follow_each_other():
    # Item 9 goes for its single event, then user 3 for the one that is left, then item 8.
    data = events((1, 7, 1, 0), (1, 6, 1, 0), (2, 7, 1, 0), (2, 6, 1, 0), (1, 8, 1, 0),
                  (3, 8, 1, 0), (3, 9, 1, 0))  # fmt: skip
    kept, removed = apply_filters(data, Filters(min_user_events=2, min_item_events=2))
    assert kept.rows.tolist() == [0, 1, 2, 3]
    assert removed == {"min_user_events": 1, "min_item_events": 2}


def core(pairs, least_of_user, least_of_item):
    """The largest set of pairs in which both minima hold, by removing one pair at a time."""
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
def test_core_is_the_largest(pairs, least_of_user, least_of_item):
    pairs = sorted(pairs, key=hash)
    data = events(*((*pair, 1, 0) for pair in pairs))
    filters = Filters(min_user_events=least_of_user, min_item_events=least_of_item)
    expected = core(pairs, least_of_user, least_of_item)
    if not expected:
        with pytest.raises(InputError, match="no events remain after min_user_events: "):
            apply_filters(data, filters)
        return
    kept, removed = apply_filters(data, filters)
    assert [row[:2] for row in listed(kept)] == expected
    assert sum(removed.values()) == len(pairs) - len(expected)


def test_order_of_filters():
    # The low rating of the pair goes first, so that the pair is no duplicate any more.
    data = events((1, 7, 1, 9), (1, 7, 5, 3), (1, 8, 5, 3), (2, 7, 5, 1))
    kept, removed = apply_filters(data, Filters(min_rating=2, duplicates="last", min_user_events=2))
    assert kept.rows.tolist() == [1, 2]
    assert removed == {"min_rating": 1, "duplicates": 0, "min_user_events": 1}


def test_filters_that_cannot_be():
    single = events((1, 7, 5, 0), (1, 8, 5, 0), (4, 7, 5, 0), (3, 7, 2, 0))
    error = refused(Filters(), single)
    assert error.row == 4
    assert error.problem.startswith("the only event of user 3; one is needed for training and one")
    error = refused(Filters(min_rating=3), single)
    assert error.row == 3
    assert error.problem.startswith("the only event of user 4")
    nothing = refused(Filters(min_rating=6), single)
    assert (nothing.row, nothing.problem) == (None, "no events remain after min_rating: 6.0")
    unrated = refused(Filters(min_rating=4), Interactions(single.user, single.item))
    assert unrated.problem == "no ratings; min_rating 4 needs a column of ratings"
