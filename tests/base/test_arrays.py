"""Arrays, columns and sparse matrices, against loops over their rows, and random streams."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import coo_array, csr_array, dok_array, issparse, lil_array

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
from sampled_metrics._base.columns import id_column, integer_array, require_all, require_unique
from sampled_metrics._base.conversion import as_array
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.solvers import nonnegative_least_squares
from sampled_metrics._base.sparse import canonical_csr, check_sparse, indicator_matrix

small = st.integers(0, 5)
EXACT = 2**53  # whole numbers up to which float64 holds all


@given(st.integers(0, 50), st.integers(0, 30), st.integers(1, 100))
def test_blocks_cover_all_rows_within_entries(rows, columns, entries):
    parts = list(blocks(rows, columns, entries))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(rows))
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
    assert run_starts(counts).tolist() == [int(counts[:i].sum()) for i in range(counts.size)]


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


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([EXACT, 3, -EXACT], [EXACT, 3, -EXACT]),
        ([EXACT + 1, 3, -7], [2, 1, 0]),
        ([7, 3, -EXACT - 1], [2, 1, 0]),
        (np.zeros(0, np.int64), []),
    ],
)
def test_order_preserving_floats_keep_exact_integers(numbers, expected):
    floats = order_preserving_floats(np.array(numbers))
    assert (floats.dtype, floats.tolist()) == (np.float64, expected)


def test_order_preserving_floats_keep_single_precision():
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
        place for place, value in enumerate(adjust_p_values(p, "holm")) if value <= level
    }
    assert rejected_by_holm == rejected


def test_geometric_sizes_differ():
    assert geometric_sizes(1, 1000, 4) == [1, 10, 100, 1000]
    assert geometric_sizes(1, 4, 30) == [1, 2, 3, 4]


# Columns and conversion


def test_integer_array():
    assert integer_array(np.array([[1, 2]], np.uint8), "x").dtype == np.int64
    assert integer_array([], "x", is_column=True).tolist() == []
    assert integer_array(np.array([2**63 - 1], np.uint64), "x").tolist() == [2**63 - 1]
    for values in ([[1]], [1.0], [True], np.array([2**63], np.uint64)):
        with pytest.raises(InputError, match=r"^x "):
            integer_array(values, "x", is_column=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, -1], [3, -1]),
        (["a", "7"], ["a", "7"]),
        (np.array(["a", 7, np.int8(3)], object), ["a", "7", "3"]),
        ([], []),
    ],
)
def test_id_column(values, expected):
    assert id_column(values, "x", len(expected)).tolist() == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], "x has dtype float64; expected integers"),
        (np.array(["a", None], object), "x contains None; expected integers or text"),
        (np.array([[1, 2]]), r"x has shape \(1, 2\); expected \(2,\)"),
        ([1, 2, 3], r"x has shape \(3,\); expected \(2,\)"),
    ],
)
def test_id_column_of_other_values_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        id_column(values, "x", 2)


def test_require_unique_names_first_duplicate():
    with pytest.raises(InputError, match=r"^row 3: duplicate user_id 5$"):
        require_unique("user_id", np.array([5, 4, 5, 4]))
    require_unique("user_id", np.array([5, 4]))


def test_require_all_names_first_bad_row():
    with pytest.raises(InputError, match=r"^row 2, column k: found 7; expected less$"):
        require_all("k", np.array([1, 7, 9]), np.array([True, False, False]), "less")
    require_all("k", np.array([1]), np.array([True]), "less")


@pytest.mark.parametrize(
    ("values", "kind"), [([[1, 2], [3]], None), ([10**400], float), ([{}], float), (["a"], float)]
)
def test_as_array_of_uneven_rows_is_refused(values, kind):
    with pytest.raises(InputError, match="differ"):
        as_array(values, "x", kind)


def test_as_array_refuses_masks_that_hide_values():
    assert as_array(np.ma.array([1, 2]), "x").tolist() == [1, 2]
    with pytest.raises(InputError, match="mask"):
        as_array(np.ma.array([1, 2], mask=[False, True]), "x")


# Sparse matrices


def test_canonical_csr_has_one_entry_per_position():
    row, column, value = [0, 0, 1, 1, 2], [2, 2, 1, 1, 0], [1.0, 2.0, 4.0, -4.0, 5.0]
    twice = csr_array((value, column, [0, 2, 4, 5]), shape=(3, 3))
    sums = canonical_csr(twice).toarray()
    assert sums.tolist() == [[0, 0, 3], [0, 0, 0], [5, 0, 0]]
    assert canonical_csr(twice).nnz == 2
    assert twice.nnz == len(row)  # the caller's is as it was
    marks = indicator_matrix(twice).toarray()
    assert marks.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    twice.indices[0] = 9
    with pytest.raises(InputError, match="damaged"):
        canonical_csr(twice)


def test_canonical_csr_keeps_all_digits() -> None:
    fine = np.array([[1.0 + 2.0**-50, 0.0], [0.0, -(2.0**-60)]])
    assert canonical_csr(fine).toarray().tolist() == fine.tolist()
    half = fine.astype(np.float16)
    assert canonical_csr(half).dtype == np.float32


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [-1, 3])
def test_check_sparse_refuses_bad_coordinates(axis, place):
    table = coo_array((np.ones(2), ([0, 1], [2, 0])), shape=(3, 3))
    check_sparse(table)
    table.coords[axis][1] = place
    with pytest.raises(InputError, match=r"damaged sparse matrix \(indices .* of 3\)"):
        check_sparse(table)


@pytest.mark.parametrize("kind", [csr_array, coo_array, lil_array, dok_array])
def test_check_sparse_passes_empty_and_full_matrices(kind):
    check_sparse(kind((3, 3)))
    full = kind(np.eye(3))
    check_sparse(full)
    assert canonical_csr(full).toarray().tolist() == np.eye(3).tolist()
    assert issparse(full)
    assert not issparse(np.eye(3))


# Least squares and random numbers


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.booleans())
def test_nonnegative_least_squares_equals_nnls(seed, rows, unknowns, doubled):
    rng = np.random.default_rng(seed)
    matrix = np.abs(rng.normal(size=(rows, unknowns)))
    if doubled:
        matrix = np.c_[matrix, matrix]
    target = matrix @ np.abs(rng.normal(size=matrix.shape[1])) + 0.1 * rng.normal(size=rows)
    weights = nonnegative_least_squares(matrix, target, max_steps=1)
    assert weights.min() >= 0.0
    assert np.linalg.norm(matrix @ weights - target) == pytest.approx(
        nnls(matrix, target)[1], abs=1e-9
    )


def test_generator_depends_on_seed_and_keys_alone():
    keys = [
        *((0,), (0, 0), (0, "0"), (0, 88), (0, ""), (1, "X"), (2**32, "X"), (0, "Y")),
        *((0, "X"), (0, "X", 0), (0, "X", 1), (0, "X", "a"), (0, "Xa"), (0, "X", "0")),
        *((0, "abcdefgh"), (0, "efgh", "abcd"), (0, "abcd", "efgh")),
    ]
    first = [generator(*key).random(4) for key in keys]
    again = [generator(*key).random(4) for key in reversed(keys)][::-1]
    np.testing.assert_array_equal(first, again)
    assert len({tuple(numbers) for numbers in first}) == len(keys)
    with pytest.raises(InputError, match="seed"):
        generator(-1)


def test_generator_streams_are_uncorrelated():
    numbers = [generator(3, "X", "cls", i).standard_normal(200) for i in range(300)]
    correlation = np.corrcoef(numbers)[np.triu_indices(300, 1)]
    # 44,850 correlations of 200 normals: the largest is expected near 4.4 / sqrt(200) = 0.31
    assert abs(correlation).max() < 0.36
    assert abs(correlation.mean()) < 4 / np.sqrt(200 * correlation.size)
