"""Conversion of arrays and columns of other libraries to arrays of numpy."""

from collections.abc import Mapping
from typing import Any

import array_api_compat as compat
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import DTypeLike

from sampled_metrics._base.array_types import Array
from sampled_metrics._base.errors import InputError

# Attributes for the vectors of users and of items in models of implicit, LightFM and RecBole.
_VECTOR_ATTRIBUTES = (
    ("user_factors", "item_factors"),
    ("user_embeddings", "item_embeddings"),
    ("user_embedding", "item_embedding"),
)


# Objects of other libraries, by attributes that only they have, and how these convert them.
_CONVERSIONS = (
    (("to_df", "keys"), "to_df()"),  # ItemListCollection of LensKit
    (("collect", "collect_schema"), "collect()"),  # LazyFrame of polars
    (("dims", "coords", "to_dataset"), "values"),  # DataArray of xarray
)


def needs_conversion(data: object) -> bool:
    """Return whether data is an object that its own library converts to a table or an array."""
    return _conversion_of(data) is not None


def refuse_unconverted(data: object, name: str) -> None:
    """Raise InputError for data that a library converts to a table or an array in one call."""
    if is_records(data):
        raise InputError(f"{name}: found records; pass pandas.DataFrame({name})")
    conversion = _conversion_of(data)
    if conversion is not None:
        raise InputError(f"{name}: found {type(data).__name__}; pass {name}.{conversion}")


def _conversion_of(data: object) -> str | None:
    """Return what converts an object of another library, None for other data."""
    for attributes, conversion in _CONVERSIONS:
        if all(hasattr(data, attribute) for attribute in attributes):
            return conversion
    return None


def as_array(values: Any, name: str, dtype: DTypeLike | None = None) -> Array:
    """Convert values of any library and device to an array of numpy, never to a matrix.

    Bytes become text. A masked array is refused, because its mask would be lost.

    Parameters
    ----------
    values
        An array, a tensor, a column, a list or a number.
    name
        Name of the values in errors.
    dtype
        Type of the array; by default that of the values.

    Raises
    ------
    InputError
        For a mask, rows that differ in length, and objects that numpy cannot convert.

    Examples
    --------
    >>> as_array([[1, 2], [3, 4]], "scores").shape
    (2, 2)
    >>> as_array([b"a", b"b"], "users")
    array(['a', 'b'], dtype='<U1')
    """
    if np.ma.is_masked(values):
        raise InputError(
            f"{name} have a mask, which would be lost; pass scores.data and seen=scores.mask, or "
            "drop masked rows"
        )
    try:
        values = to_numpy(values, name)
    except (BufferError, RuntimeError, TypeError) as error:
        raise InputError(
            f"{name}: cannot convert {type(values).__name__} to a NumPy array ({error})"
        ) from error
    try:
        return _with_text(np.asarray(values, dtype), name)
    except (MemoryError, InputError):
        raise
    except Exception as error:  # objects of other libraries raise errors of their own
        if hasattr(values, "keys"):  # such as a Run of ranx
            raise InputError(
                f"{name}: found {type(values).__name__}; pass a dictionary, dict(...)"
            ) from error
        raise InputError(
            f"{name}: rows of the {type(values).__name__} differ in length, or contain other "
            "values than numbers; expected an array"
        ) from None


def _with_text(array: Array, name: str) -> Array:
    """Convert bytes, and NumPy's strings of any length, to text; return other arrays unchanged."""
    if array.dtype.kind == "T":
        return np.array(array.tolist())
    if array.dtype.kind == "S":
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: found bytes, not UTF-8 ({error}); expected text") from error
    return array


def numeric_array(data: Any, name: str = "data") -> Array:
    """Convert numbers of any library to an array of one or two dimensions in native byte order."""
    array = as_array(data, name)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
        details = f" of {array.dtype}, shape {array.shape}" if array.ndim else ""
        remedy = _remedy(data, array)
        raise InputError(f"{name}: found {type(data).__name__}{details}; {remedy}")
    return to_native(array)


def to_native(array: Array) -> Array:
    """Convert numbers to the byte order of this machine; those of HDF5 or FITS may have another."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _remedy(data: object, array: Array) -> str:
    """Say what to pass in place of data that is not an array of numbers, such as a model."""
    if array.dtype.kind == "U" and array.ndim == 2 and array.shape[1] > 1:
        return "expected numbers; are these ids, best first? Ranks.from_top_k(ids, relevant)"
    for user_vectors, item_vectors in _VECTOR_ATTRIBUTES:
        if hasattr(data, user_vectors) and hasattr(data, item_vectors):
            return f"pass the vectors of a model, (model.{user_vectors}, model.{item_vectors})"
    is_dictionary = hasattr(data, "keys") and not isinstance(data, Mapping)
    if is_dictionary and not array.ndim:  # such as a Run of ranx
        return "pass a dictionary, dict(...)"
    remedy = "expected numbers, a DataFrame or a file"
    is_model = any(hasattr(data, method) for method in ("predict", "recommend", "forward"))
    if is_model:
        remedy = "pass the scores of a model, users x items, or a function of rows of users"
    has_more_axes = array.ndim > 2 and array.size > 0
    return f"{remedy}; rows: {_matrix_of(array)}" if has_more_axes else remedy


def _matrix_of(array: Array) -> str:
    """Write the expression that makes a matrix of scores with more than two axes."""
    has_one_column = array.shape[-1] == 1
    return "scores[..., 0]" if has_one_column else "scores.reshape(-1, scores.shape[-1])"


def is_records(data: object) -> bool:
    """Return whether data is rows with names: records of numpy, dictionaries or named tuples."""
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    if not isinstance(data, list) or not data:
        return False
    return all(isinstance(row, Mapping) or hasattr(row, "_fields") for row in data)


def is_arrow_column(data: object) -> bool:
    """Return whether data is one column of a library, such as polars, that exports to Arrow."""
    if isinstance(data, np.ndarray | pd.Series | pd.DataFrame | pd.Index):
        return False
    exports = any(hasattr(data, f"__arrow_c_{kind}__") for kind in ("stream", "array"))
    is_typed = hasattr(data, "dtype") or isinstance(data, pa.Array | pa.ChunkedArray)
    return exports and is_typed and not hasattr(data, "columns")


def arrow_column_to_array(data: Any) -> Any:
    """Convert a column that exports to Arrow to an array; return other data unchanged.

    A column with missing values or with lists becomes a list, with None for missing values.
    """
    if not is_arrow_column(data):
        return data
    column = data if isinstance(data, pa.Array | pa.ChunkedArray) else pa.chunked_array(data)
    if column.null_count or pa.types.is_nested(column.type):
        return column.to_pylist()
    return np.asarray(column)


def keeps_own_library(scores: Any) -> bool:
    """Return whether scores are an array that its own library computes with, not numpy.

    This holds for arrays of all libraries of the array API, such as jax and cupy, on any device,
    except

    - arrays of numpy;
    - tensors of torch in main memory: numpy takes these without a copy, and counts three times as
      fast as torch;
    - tensors of torch on the device "meta", which have no values;
    - sparse arrays of pydata/sparse.

    It does not hold for anything else, such as lists and DataFrames.
    """
    if isinstance(scores, np.ndarray) or not compat.is_array_api_obj(scores):
        return False
    if compat.is_numpy_array(scores) or compat.is_pydata_sparse_array(scores):
        return False
    return not (compat.is_torch_array(scores) and scores.device.type in ("cpu", "meta"))


def to_numpy(values: Any, name: str = "data") -> Any:
    """Convert an array of any library and device to numpy; return other values unchanged.

    The memory is shared where the library allows it. Sparse arrays of pydata/sparse count as other
    values. In this order: arrays of numpy, but bfloat16, which has a type of its own; lists and
    tuples, unchanged; then tensors, which are copied to main memory, and bfloat16, which becomes
    float32, before the way out of each library.
    """
    is_bfloat16 = "bfloat16" in str(getattr(values, "dtype", ""))
    if isinstance(values, np.ndarray) and not is_bfloat16:
        return to_native(_with_text(values, name))
    if isinstance(values, list | tuple):  # rows of lists are converted one by one, so fast
        return values
    is_tensor = hasattr(values, "detach")  # of torch
    if is_tensor:
        values = _to_dense(values.detach()).cpu()
    if is_bfloat16:  # float32 holds all its values
        xp = compat.array_namespace(values)
        values = xp.astype(values, xp.float32)
    if compat.is_cupy_array(values):  # numpy refuses to copy from the device
        return values.get()
    has_dlpack_only = hasattr(values, "__dlpack__") and not hasattr(values, "__array__")
    if has_dlpack_only:
        return np.from_dlpack(values)
    if keeps_own_library(values) or compat.is_torch_array(values):
        return np.asarray(values)
    return values


def _to_dense(tensor: Any) -> Any:
    """Return a dense tensor of torch, 0 where a sparse tensor stores nothing."""
    if str(getattr(tensor, "device", "cpu")) == "meta":
        raise InputError("found a tensor on the device meta, which contains no values")
    is_sparse = "sparse" in str(getattr(tensor, "layout", ""))
    return tensor.to_dense() if is_sparse else tensor
