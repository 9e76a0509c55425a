"""Units: users and visits of users, matched by their ids."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units

USER = st.integers(0, 3)
VISIT = st.sampled_from(["a", "b", "11", "1"])


@given(
    st.lists(st.tuples(USER, VISIT), min_size=1, max_size=8),
    st.lists(st.tuples(USER, VISIT), min_size=1, max_size=8, unique=True),
)
def test_visits_are_found_as_pairs_of_ids(pairs, others):
    units, other_units = (
        Units(*map(np.array, zip(*each, strict=True))) for each in (pairs, others)
    )
    expected = [others.index(pair) if pair in others else -1 for pair in pairs]
    assert units.positions_in(other_units).tolist() == expected


def test_joined_ids_of_two_visits_may_be_the_same_text():
    # 1 and "12" are not 11 and "2", though both are "112".
    units = Units(np.array([1, 11]), np.array(["12", "2"]))
    assert units.first_duplicate() is None
    assert units.positions_in(Units(np.array([11]), np.array([2]))).tolist() == [-1, 0]


def test_numbers_equal_the_same_numbers_as_text():
    units = Units(np.array(["7", "07"]), np.array([1, 1]))
    assert units.positions_in(Units(np.array([7]), np.array(["1"]))).tolist() == [0, -1]


def test_visits_of_unknown_users_are_no_visits_of_known_ones():
    unknown = Units(pa.array([None, 5]), np.array(["a", "a"]))
    known = Units(np.array([5, 6]), np.array(["a", "a"]))
    assert known.positions_in(unknown).tolist() == [1, -1]
    assert unknown.positions_in(known).tolist() == [-1, 0]
    assert unknown.name(0) == "a"


def test_visits_and_users_are_never_equal():
    users = Units(np.array([1, 2]))
    visits = Units(np.array([1, 2]), np.array([1, 1]))
    assert users.positions_in(visits).tolist() == visits.positions_in(users).tolist() == [-1, -1]


def test_visits_are_in_the_order_of_texts_and_users_in_that_of_numbers():
    units = Units(np.array([10, 2, 10, 2]), np.array(["a", "b", "a", "a"]))
    different, number = units.ascending()
    assert list(zip(different.users.to_pylist(), different.visits.to_pylist(), strict=True)) == [
        (10, "a"),
        (2, "a"),
        (2, "b"),
    ]
    assert number.tolist() == [0, 2, 0, 1]
    users, number = Units(np.array([10, 2, 10])).ascending()
    assert (users.users.to_pylist(), number.tolist()) == ([2, 10], [1, 0, 1])


def test_ids_of_visits_are_kept_only_if_some_user_has_several():
    users, visits = Units(np.array([1, 2]), np.array([8, 9])).users_and_visits()
    assert (users.tolist(), visits) == ([1, 2], None)
    users, visits = Units(np.array([1, 1]), np.array([8, 9])).users_and_visits()
    assert (users.tolist(), visits.tolist()) == ([1, 1], [8, 9])


def test_union_appends_units_that_are_new():
    units = Units(np.array([1, 2]), np.array([1, 1]))
    union = units.union(Units(np.array(["2", "x"]), np.array([1, 1])))
    assert union.users.to_pylist() == ["1", "2", "x"]


def test_second_row_of_a_visit_is_refused():
    with pytest.raises(InputError, match="7, visit 3"):
        Units(np.array([7, 7, 7]), np.array([3, 4, 3])).require_unique()
