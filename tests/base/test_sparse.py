"""Sparse matrices: one entry per position, no damage, all digits."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, dok_array, issparse, lil_array

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical_csr, check_sparse, indicator_matrix
from sampled_metrics_study.files import sparse_from_arrays, sparse_to_arrays


def test_canonical_csr_has_one_entry_per_position():
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
    with pytest.raises(
        InputError, match=r"damaged sparse matrix \(indices .* of 3\)"
    ):
        check_sparse(table)


@pytest.mark.parametrize("kind", [csr_array, coo_array, lil_array, dok_array])
def test_check_sparse_passes_empty_and_full_matrices(kind):
    check_sparse(kind((3, 3)))
    full = kind(np.eye(3))
    check_sparse(full)
    assert canonical_csr(full).toarray().tolist() == np.eye(3).tolist()
    assert issparse(full)
    assert not issparse(np.eye(3))


def test_sparse_from_arrays_returns_what_was_stored():
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
