"""Sparse matrices: one entry per place, and as arrays of a file."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sampled_metrics._base.array_types import Array
from sampled_metrics._base.errors import InputError

Matrix: TypeAlias = "sparse.sparray | sparse.spmatrix | Array"


def to_scipy_dtype(matrix: Any) -> Any:
    """Return a matrix of a type that scipy.sparse has; half precision becomes single."""
    kind = np.float32 if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("=")
    return matrix.astype(kind, copy=False)


def canonical_csr(table: Matrix, name: str = "", *, keep_zeros: bool = False) -> sparse.csr_array:
    """Return a copy whose rows are sorted, without duplicate entries and zeros."""
    check_sparse(table, name)
    copy = sparse.csr_array(to_scipy_dtype(table), copy=True)
    copy.sum_duplicates()
    if not keep_zeros:
        copy.eliminate_zeros()
    return copy


def check_sparse(table: Matrix, name: str = "") -> None:
    """Raise InputError for a sparse matrix whose indices point outside of it."""
    try:
        if hasattr(table, "check_format"):  # a compressed format
            table.check_format(full_check=True)
        for indices, size in zip(getattr(table, "coords", ()), table.shape, strict=False):
            least = indices.min(initial=0)
            most = indices.max(initial=-1)
            if least < 0 or most >= size:
                raise ValueError(f"indices {least} to {most} of {size}")
    except ValueError as error:
        place = f"{name}: " if name else ""
        raise InputError(f"{place}damaged sparse matrix ({error})") from None


def indicator_matrix(table: Matrix) -> sparse.csr_array:
    """Return ones at the nonzeros of a table."""
    ones = canonical_csr(table)
    ones.data = np.ones(ones.nnz)
    return ones
