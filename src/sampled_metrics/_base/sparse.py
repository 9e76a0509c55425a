"""Sparse matrices, checked and in one standard form."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy

from sampled_metrics._base.array_types import Array
from sampled_metrics._base.errors import InputError

Matrix: TypeAlias = "scipy.sparse.sparray | scipy.sparse.spmatrix | Array"


def to_scipy_dtype(matrix: Any) -> Any:
    """Convert a matrix to a type of numbers that scipy.sparse supports: float16 to float32."""
    dtype = np.float32 if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("=")
    return matrix.astype(dtype, copy=False)


def canonical_csr(
    matrix: Matrix, name: str = "", *, keep_zeros: bool = False
) -> scipy.sparse.csr_array:
    """Return a copy with sorted rows, one entry per position and, by default, no stored zeros."""
    check_sparse(matrix, name)
    copy = scipy.sparse.csr_array(to_scipy_dtype(matrix), copy=True)
    copy.sum_duplicates()
    if not keep_zeros:
        copy.eliminate_zeros()
    return copy


def check_sparse(matrix: Matrix, name: str = "") -> None:
    """Raise InputError for a sparse matrix with indices outside of its shape."""
    try:
        if hasattr(matrix, "check_format"):  # a compressed format
            matrix.check_format(full_check=True)
        for indices, size in zip(getattr(matrix, "coords", ()), matrix.shape, strict=False):
            lowest = indices.min(initial=0)
            highest = indices.max(initial=-1)
            if lowest < 0 or highest >= size:
                raise ValueError(f"indices {lowest} to {highest} of {size}")
    except ValueError as error:
        place = f"{name}: " if name else ""
        raise InputError(f"{place}damaged sparse matrix ({error})") from None


def indicator_matrix(matrix: Matrix) -> scipy.sparse.csr_array:
    """Return a matrix of ones at the nonzeros of another matrix."""
    ones = canonical_csr(matrix)
    ones.data = np.ones(ones.nnz)
    return ones
