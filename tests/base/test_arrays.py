"""Operations on arrays, against loops over their rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.arrays import (
    adjust_p_values,
    blocks,
    concatenate_ranges,
    first_duplicate,
    geometric_sizes,
    nontrivial_grades,
    order_preserving_floats,
    run_starts,
)
from sampled_metrics._base.errors import InputError

small = st.integers(0, 5)


EXACT = 2**53  # whole numbers up to which float64 holds all


@given(st.integers(0, 50), st.integers(0, 30), st.integers(1, 100))
def test_blocks_cover_all_rows_within_entries(rows, columns, entries):
    parts = list(blocks(rows, columns, entries))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(
        range(rows)
    )
    for part in parts:
        size = part.stop - part.start
        assert size * columns <= entries or size == 1
    for part, _ in pairwise(parts):  # and no more rows would fit
        assert (part.stop - part.start + 1) * max(columns, 1) > entries


def test_blocks_without_columns_are_cut_by_rows():
    assert [part.stop for part in blocks(5, 0, 2)] == [2, 4, 5]


@given(st.lists(st.tuples(small, small), min_size=1, max_size=9))
def test_concatenate_ranges_equals_loop(pairs):
    first, counts = np.array(pairs).T
    expected = [first + i for first, count in pairs for i in range(count)]
    assert concatenate_ranges(first, counts).tolist() == expected
    assert run_starts(counts).tolist() == [
        int(counts[:i].sum()) for i in range(counts.size)
    ]


@given(st.lists(st.tuples(small, small), max_size=9))
def test_first_duplicate_equals_loop(pairs):
    expected = next((i for i, pair in enumerate(pairs) if pair in pairs[:i]), None)
    columns = np.array(pairs, np.int64).reshape(-1, 2).T
    assert first_duplicate(*columns) == expected


@given(st.lists(st.integers(-(1 << 62), 1 << 62), max_size=9), st.booleans())
def test_order_preserving_floats_keep_order(values, is_near):
    if is_near:  # neighbours that float64 does not tell apart
        values = [EXACT * 4 + value % 5 for value in values]
    floats = order_preserving_floats(np.array(values, np.int64))
    assert floats.dtype == np.float64
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert (a < b) == (floats[i] < floats[j])


def test_order_preserving_floats_keep_exact_integers():
    assert order_preserving_floats(np.array([EXACT, 3, -EXACT])).tolist() == [
        EXACT,
        3,
        -EXACT,
    ]
    assert order_preserving_floats(np.array([EXACT + 1, 3, -7])).tolist() == [2, 1, 0]
    assert order_preserving_floats(np.array([7, 3, -EXACT - 1])).tolist() == [2, 1, 0]


def test_order_preserving_floats_of_empty_and_single_precision():
    assert order_preserving_floats(np.zeros(0, np.int64)).dtype == np.float64
    assert order_preserving_floats(np.array([0.5], np.float32)).dtype == np.float32


def test_nontrivial_grades_of_ones_are_none():
    assert nontrivial_grades(np.ones(3)) is None
    assert nontrivial_grades(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert nontrivial_grades(np.full(2, 0.5)).tolist() == [0.5, 0.5]


def test_adjust_p_values_by_hand():
    p = [0.02, 0.6, 0.01, 0.7]
    assert adjust_p_values(p, "none") == p
    # Sorted .01 * 4, .02 * 3, .6 * 2 and .7 * 1, each at least the one before, at most 1.
    assert adjust_p_values(p, "holm") == pytest.approx([0.06, 1.0, 0.04, 1.0])
    with pytest.raises(InputError, match="'bonferroni'"):
        adjust_p_values(p, "bonferroni")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0.01, 0.5))
def test_adjust_p_values_holm_rejects_stepwise(p, level):
    """From the smallest on while p <= level / (number left)."""
    rejected = set()
    for step, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[place] * (len(p) - step) > level:
            break
        rejected.add(place)
    rejected_by_holm = {
        place
        for place, value in enumerate(adjust_p_values(p, "holm"))
        if value <= level
    }
    assert rejected_by_holm == rejected


def test_geometric_sizes_differ():
    assert geometric_sizes(1, 1000, 4) == [1, 10, 100, 1000]
    assert geometric_sizes(1, 4, 30) == [1, 2, 3, 4]
