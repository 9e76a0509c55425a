"""Small operations on arrays and sparse matrices, against loops over their rows."""

import ast
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, dok_array, issparse, lil_array
from threadpoolctl import threadpool_info, threadpool_limits

from sampled_metrics._base import arguments
from sampled_metrics._base.arguments import (
    check_arguments,
    require_same,
    to_path,
    whole_number,
)
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
from sampled_metrics._base.columns import (
    id_column,
    integer_array,
    require_all,
    require_unique,
)
from sampled_metrics._base.conversion import to_array
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import short_repr
from sampled_metrics._base.sparse import canonical_csr, check_sparse, indicator_matrix
from sampled_metrics._base.threads import one_thread
from sampled_metrics_study.files import sparse_from_arrays, sparse_to_arrays
from tests.conftest import ROOT

small = st.integers(0, 5)

EXACT = 2**53  # whole numbers up to which float64 holds all


@given(st.integers(0, 50), st.integers(0, 30), st.integers(1, 100))
def test_blocks_follow_each_other_and_hold_what_they_may(rows, columns, entries):
    parts = list(blocks(rows, columns, entries))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(
        range(rows)
    )
    for part in parts:
        size = part.stop - part.start
        assert size * columns <= entries or size == 1
    for part, _ in pairwise(parts):  # and no more rows would fit
        assert (part.stop - part.start + 1) * max(columns, 1) > entries


@given(st.lists(st.tuples(small, small), min_size=1, max_size=9))
def test_ranges_are_concatenated(pairs):
    first, counts = np.array(pairs).T
    expected = [first + i for first, count in pairs for i in range(count)]
    assert concatenate_ranges(first, counts).tolist() == expected
    assert run_starts(counts).tolist() == [
        int(counts[:i].sum()) for i in range(counts.size)
    ]


@given(st.lists(st.tuples(small, small), max_size=9))
def test_the_first_duplicate_has_an_earlier_equal(pairs):
    expected = next((i for i, pair in enumerate(pairs) if pair in pairs[:i]), None)
    columns = np.array(pairs, np.int64).reshape(-1, 2).T
    assert first_duplicate(*columns) == expected


@given(st.lists(st.integers(-(1 << 62), 1 << 62), max_size=9), st.booleans())
def test_floats_keep_the_order_of_whole_numbers(values, is_near):
    if is_near:  # neighbours that float64 does not tell apart
        values = [EXACT * 4 + value % 5 for value in values]
    floats = order_preserving_floats(np.array(values, np.int64))
    assert floats.dtype == np.float64
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert (a < b) == (floats[i] < floats[j])


def test_whole_numbers_that_float64_holds_stay():
    assert order_preserving_floats(np.array([EXACT, 3, -EXACT])).tolist() == [
        EXACT,
        3,
        -EXACT,
    ]
    assert order_preserving_floats(np.array([EXACT + 1, 3, -7])).tolist() == [2, 1, 0]
    assert order_preserving_floats(np.array([7, 3, -EXACT - 1])).tolist() == [2, 1, 0]


def test_holm_by_hand():
    p = [0.02, 0.6, 0.01, 0.7]
    assert adjust_p_values(p, "none") == p
    # Sorted .01 * 4, .02 * 3, .6 * 2 and .7 * 1, each at least the one before, at most 1.
    assert adjust_p_values(p, "holm") == pytest.approx([0.06, 1.0, 0.04, 1.0])
    with pytest.raises(InputError, match="'bonferroni'"):
        adjust_p_values(p, "bonferroni")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.floats(0.01, 0.5))
def test_holm_rejects_step_by_step(p, level):
    """From the smallest on while p <= level / (number left)."""
    rejected = set()
    for step, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[place] * (len(p) - step) > level:
            break
        rejected.add(place)
    found = {
        place
        for place, value in enumerate(adjust_p_values(p, "holm"))
        if value <= level
    }
    assert found == rejected


def test_streams_depend_on_seed_and_keys_alone():
    keys = [
        (0, "a"),
        (1, "a"),
        (0, "b"),
        (0, "a", "b"),
        (0, "ab"),
        (0, 1),
        (0, "1"),
        (0,),
    ]
    first = [int(generator(seed, *names).integers(1 << 62)) for seed, *names in keys]
    assert len(set(first)) == len(keys)
    assert first == [
        int(generator(seed, *names).integers(1 << 62)) for seed, *names in keys
    ]
    with pytest.raises(InputError, match="seed"):
        generator(-1)


@pytest.mark.parametrize(
    ("least", "most", "is_valid"), [(3, 3, True), (4, None, False), (None, 2, False)]
)
def test_bounds_of_whole_numbers(least, most, is_valid):
    if is_valid:
        assert whole_number("k", np.int8(3), least, most) == 3
    else:
        with pytest.raises(InputError, match=r"k is 3, expected at (least 4|most 2)"):
            whole_number("k", 3, least, most)


@pytest.mark.parametrize(
    "given",
    [{"confidence": 0.0}, {"confidence": 1.0}, {"confidence": "1"}, {"min_relevance": -0.1},
     {"min_relevance": np.inf}, {"complete": 1}, {"seed": -1}, {"n_users": 0}, {"n_items": 1},
     {"block_size": 0}, {"shape": None}],
)  # fmt: skip
def test_arguments_out_of_range(given):
    with pytest.raises(InputError, match=next(iter(given))):
        check_arguments(**given)


def test_arguments_at_their_bounds():
    check_arguments(
        confidence=0.999, min_relevance=0, complete=True, seed=0, n_users=1, n_items=2
    )
    check_arguments(n_users=None, n_items=None, sampling=None, ties=None, seed=10**12)


def test_columns_of_whole_numbers():
    assert integer_array("x", np.array([[1, 2]], np.uint8)).dtype == np.int64
    assert integer_array("x", [], is_column=True).tolist() == []
    assert integer_array("x", np.array([2**63 - 1], np.uint64)).tolist() == [
        2**63 - 1
    ]
    for values in ([[1]], [1.0], [True], np.array([2**63], np.uint64)):
        with pytest.raises(InputError, match=r"^x "):
            integer_array("x", values, is_column=True)


def test_sizes_are_evenly_spaced_and_different():
    assert geometric_sizes(1, 1000, 4) == [1, 10, 100, 1000]
    assert geometric_sizes(1, 4, 30) == [1, 2, 3, 4]


def threads_of_linear_algebra():
    return {
        each["num_threads"]
        for each in threadpool_info()
        if each["user_api"] == "blas"
    }


def test_linear_algebra_has_one_thread():
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads_of_linear_algebra()
        with one_thread():
            assert threads_of_linear_algebra() == {1}
        assert threads_of_linear_algebra() == before


def test_sparse_matrices_have_one_entry_per_place():
    row, column, value = [0, 0, 1, 1, 2], [2, 2, 1, 1, 0], [1.0, 2.0, 4.0, -4.0, 5.0]
    twice = csr_array((value, column, [0, 2, 4, 5]), shape=(3, 3))
    assert canonical_csr(twice).toarray().tolist() == [
        [0, 0, 3],
        [0, 0, 0],
        [5, 0, 0],
    ]
    assert canonical_csr(twice).nnz == 2
    assert twice.nnz == len(row)  # the caller's is as it was
    assert indicator_matrix(twice).toarray().tolist() == [
        [0, 0, 1],
        [0, 0, 0],
        [1, 0, 0],
    ]
    twice.indices[0] = 9
    with pytest.raises(InputError, match="damaged"):
        canonical_csr(twice)


def test_sparse_matrices_come_back_from_arrays():
    table = csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    arrays = sparse_to_arrays(table, "seen_")
    assert sorted(arrays) == ["seen_indices", "seen_indptr", "seen_shape"]
    assert sparse_from_arrays(arrays, "seen_", table.data).toarray().tolist() == [
        [0, 2],
        [3, 0],
    ]
    assert sparse_from_arrays(arrays, "seen_").toarray().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="damaged sparse matrix"):
        sparse_from_arrays(arrays | {"seen_shape": np.array([2.0, 2.0])}, "seen_")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[1, 2], [3]], None),
        ([10**400], np.float64),
        ([{}], np.float64),
        (["a"], np.float64),
    ],
)
def test_what_is_no_array(values, kind):
    with pytest.raises(InputError, match="differ"):
        to_array("x", values, kind)


def test_masks_are_refused_where_they_hide_something():
    assert to_array("x", np.ma.array([1, 2])).tolist() == [1, 2]
    with pytest.raises(InputError, match="mask"):
        to_array("x", np.ma.array([1, 2], mask=[False, True]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, -1], [3, -1]),
        (["a", "7"], ["a", "7"]),
        (np.array(["a", 7, np.int8(3)], object), ["a", "7", "3"]),
        ([], []),
    ],
)
def test_columns_of_ids(values, expected):
    assert id_column("x", values, len(expected)).tolist() == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], "x has dtype float64; expected integers"),
        (np.array(["a", None], object), "x holds None; expected integers or text"),
        (np.array([[1, 2]]), r"x has shape \(1, 2\); expected \(2,\)"),
        ([1, 2, 3], r"x has shape \(3,\); expected \(2,\)"),
    ],
)
def test_what_is_no_column_of_ids(values, words):
    with pytest.raises(InputError, match=words):
        id_column("x", values, 2)


def test_the_first_bad_row_is_named():
    with pytest.raises(InputError, match=r"^row 3: duplicate user_id 5$"):
        require_unique("user_id", np.array([5, 4, 5, 4]))
    require_unique("user_id", np.array([5, 4]))
    with pytest.raises(
        InputError, match=r"^row 2, column k: found 7; expected less$"
    ):
        require_all("k", np.array([1, 7, 9]), np.array([True, False, False]), "less")
    require_all("k", np.array([1]), np.array([True]), "less")


def test_options_that_differ_from_the_data():
    for option, found in ((None, 3), (3, None), (3, 3), (3, [3, 3]), ("a", ["a"])):
        require_same("n_items", option, "n", found)
    for found, said in ((4, "4"), ([4, 4], "4"), ([5, 3, 3], "3 to 5")):
        words = rf"^found n {said}, but n_items is 3$"
        with pytest.raises(InputError, match=words):
            require_same("n_items", 3, "n", found)


def test_grades_that_are_all_one_are_none():
    assert nontrivial_grades(np.ones(3)) is None
    assert nontrivial_grades(np.array([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert nontrivial_grades(np.full(2, 0.5)).tolist() == [0.5, 0.5]


def test_paths_and_short_forms_of_records():
    assert to_path("a/b") == to_path(to_path("a/b"))
    with pytest.raises(InputError, match="PathLike"):
        to_path(3)
    assert short_repr(np.arange(3), "size", "ndim") == "ndarray(size=3, ndim=1)"
    assert short_repr(np.arange(100), "T").startswith(
        "ndarray(T=array([ 0,  1,  2, ..., 97, "
    )
    assert (
        short_repr(np.arange(10), "T")
        == "ndarray(T=array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"complete": 1}, "complete is of type int, expected bool"),
        (
            {"confidence": "1"},
            "confidence is of type str, expected int or float or integer or flo",
        ),
        ({"ties": 7}, "ties is of type int, expected str"),
        (
            {"n_items": 10**9 + 1},
            "n_items is 1000000001, expected at most 1000000000",
        ),
    ],
)
def test_types_of_arguments(given, words):
    with pytest.raises(InputError, match=words):
        check_arguments(**given)
    check_arguments(n_items=10**9)


def test_largest_and_smallest_of_unsigned_and_empty_columns():
    assert order_preserving_floats(np.zeros(0, np.int64)).dtype == np.float64
    assert order_preserving_floats(np.array([0.5], np.float32)).dtype == np.float32
    assert blocks(3, 0, 2)
    assert [part.stop for part in blocks(5, 0, 2)] == [2, 4, 5]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [-1, 3])
def test_damaged_matrices_of_coordinates(axis, place):
    table = coo_array((np.ones(2), ([0, 1], [2, 0])), shape=(3, 3))
    check_sparse(table)
    table.coords[axis][1] = place
    with pytest.raises(
        InputError, match=r"damaged sparse matrix \(indices .* of 3\)"
    ):
        check_sparse(table)


@pytest.mark.parametrize("kind", [csr_array, coo_array, lil_array, dok_array])
def test_sound_matrices_without_entries_and_at_the_bounds(kind):
    check_sparse(kind((3, 3)))
    full = kind(np.eye(3))
    check_sparse(full)
    assert canonical_csr(full).toarray().tolist() == np.eye(3).tolist()
    assert issparse(full)
    assert not issparse(np.eye(3))


def test_every_argument_that_is_checked_is_declared():
    names = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "check_arguments"
            ):
                names |= {keyword.arg for keyword in node.keywords if keyword.arg}
    assert names
    assert names <= set(arguments._RULES)


@pytest.mark.parametrize(
    "value", [True, np.array(3), np.array([3]), int, 3.0, "3", None, np.bool_(1)]
)
def test_what_is_no_whole_number(value):
    with pytest.raises(InputError, match=r"k is .*expected a whole number"):
        whole_number("k", value)


def test_matrices_keep_all_digits() -> None:
    fine = np.array([[1.0 + 2.0**-50, 0.0], [0.0, -(2.0**-60)]])
    assert canonical_csr(fine).toarray().tolist() == fine.tolist()
    half = fine.astype(np.float16)
    assert canonical_csr(half).dtype == np.float32
