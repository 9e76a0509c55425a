"""Arrays: types, checks, small operations; random streams, one thread, p-values."""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import array_api_compat as compat
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sampled_metrics._base.arguments import require_known, whole_number
from sampled_metrics._base.errors import InputError, shown

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
Array: TypeAlias = NDArray[Any]
Float: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]  # single precision or double
Int: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]  # numbers of ids, from 0
Bool: TypeAlias = NDArray[np.bool_]
Ids: TypeAlias = NDArray[np.integer] | NDArray[np.str_]
Rows: TypeAlias = Int | NDArray[np.bool_] | slice  # as arrays are indexed

EXACT = 1 << 53  # largest whole number up to which float64 holds all
CACHE = 131_072  # float64 numbers that stay in a processor's cache: 1 MB
_LARGEST = np.iinfo(np.int64).max
MEMORY = 1_048_576  # float64 numbers that a step may hold: 8 MB
CORRECTIONS = ("none", "holm")
# Vectors of users and of items, as models of implicit, LightFM and RecBole call them.
_FACTORS = (
    ("user_factors", "item_factors"),
    ("user_embeddings", "item_embeddings"),
    ("user_embedding", "item_embedding"),
)


def blocks(rows: int, columns: int, entries: int = MEMORY) -> Iterator[slice]:
    """Cut the rows of a (rows, columns) table into slices of at most `entries` numbers."""
    step = max(1, entries // max(1, columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def starts(counts: Int) -> Int:
    """Return where each run begins if runs of these lengths follow each other."""
    return np.cumsum(counts) - counts


def ranges(first: Int | int, counts: Int) -> Int:
    """Concatenate the ranges first[i], first[i] + 1 ..., each of length counts[i]."""
    return np.arange(counts.sum()) + np.repeat(first - starts(counts), counts)


def short_repr(record: object, *names: str) -> str:
    """Return the repr of a dataclass with some of its fields; long arrays show both ends only."""
    with np.printoptions(threshold=10, edgeitems=3, linewidth=1000):
        fields = [f"{name}={getattr(record, name)!r}" for name in names]
    return f"{type(record).__name__}({', '.join(fields)})"


def set_fields(record: object, **values: Any) -> None:
    """Set fields of a frozen record while it is made."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def first_duplicate(*columns: NDArray[Any]) -> int | None:
    """Return the first row with the values of an earlier row in all columns; None if all differ."""
    rows = pd.Index(columns[0])
    if len(columns) > 1:
        rows = pd.MultiIndex.from_arrays(columns)
    if rows.is_unique:
        return None
    return int(np.argmax(rows.duplicated()))


def distinct(values: Int) -> Int:
    """Return different numbers in order, several times as fast as `numpy.unique`."""
    if (values[1:] > values[:-1]).all():
        return values
    ordered = np.sort(values)
    is_new = np.ones(ordered.size, bool)
    is_new[1:] = ordered[1:] > ordered[:-1]
    return ordered[is_new]


def pairs_of(first: Int | Codes, second: Int | Codes, width: int) -> Int:
    """Return a number for each pair of numbers from 0, the second ones below `width`."""
    pairs = first.astype(np.int64)
    pairs *= width
    pairs += second
    return pairs


def best_first(users: Int | Codes, score: Floats | Int, *, is_stable: bool = True) -> Int | slice:
    """Return the rows of each user, best first; rows in this order are not sorted.

    Where the order of equal scores does not matter, it takes a fraction of the time.
    """
    is_next = score[1:] <= score[:-1]
    is_next &= users[1:] == users[:-1]
    is_next |= users[1:] > users[:-1]
    if is_next.all():
        return slice(None)
    if is_stable:
        return np.lexsort((-score, users))
    order = np.argsort(-score)
    numbers = users[order].astype(np.min_scalar_type(users.max(initial=0)))  # short ones are faster
    return order[np.argsort(numbers, kind="stable")]


def by_score(users: Int | Codes, score: Floats | Int) -> tuple[Int, Int]:
    """Count, for each row, rows of the same user with a higher and with an equal score.

    Examples
    --------
    >>> by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    order = best_first(users, score, is_stable=False)
    user = users[order]
    ordered = score[order]
    is_new_user = user[1:] != user[:-1]
    is_other_score = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(np.append(True, is_new_user | is_other_score))
    level = np.diff(begins, append=score.size)
    n_better = np.empty(score.size, np.int64)
    n_tied = np.empty(score.size, np.int64)
    places = ranges(0, np.bincount(users))
    n_better[order] = np.repeat(places[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied


def array_of(name: str, values: ArrayLike, kind: DTypeLike | None = None) -> NDArray[Any]:
    """Convert to an array, never a matrix; a mask is refused, because it would be lost."""
    if np.ma.is_masked(values):
        raise InputError(
            f"{name} have a mask, which would be lost; give scores.data and seen=scores.mask, or "
            "leave masked rows out"
        )
    try:
        return np.asarray(values, kind)
    except MemoryError:
        raise
    except Exception as error:  # objects of other libraries raise errors of their own
        if hasattr(values, "keys"):  # such as a Run of ranx
            found = f"found {type(values).__name__}"
            raise InputError(f"{name}: {found}; give a dictionary, dict(...)") from error
        problem = f"rows of the {type(values).__name__} differ in length, or are no numbers"
        raise InputError(f"{name}: {problem}; expected an array") from None


def as_array(data: Any, name: str = "data") -> Array:
    """Return numbers of one or two dimensions, of any library, as an array of numpy."""
    try:
        data = in_memory(data)
        array = array_of(name, data)
    except (BufferError, RuntimeError, TypeError) as error:
        problem = f"found {type(data).__name__}, which is no array of numpy"
        raise InputError(f"{name}: {problem} ({error})") from error
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
        shape = f" of {array.dtype}, shape {array.shape}" if array.ndim else ""
        instead = _instead_of(data, array)
        if array.ndim > 2 and array.size:
            rows = (
                "scores[..., 0]" if array.shape[-1] == 1 else "scores.reshape(-1, scores.shape[-1])"
            )
            instead += f"; rows: {rows}"
        raise InputError(f"{name}: found {type(data).__name__}{shape}; {instead}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _instead_of(data: object, array: Array) -> str:
    """Say what to give instead of data that holds no numbers, such as a model."""
    if array.dtype.kind == "U" and array.ndim == 2 and array.shape[1] > 1:
        return "expected numbers; are these ids, best first? Ranks.from_top_k(ids, relevant)"
    for names in _FACTORS:
        if all(hasattr(data, name) for name in names):
            users, items = names
            return f"give the vectors of a model, (model.{users}, model.{items})"
    if hasattr(data, "keys") and not array.ndim:  # such as a Run of ranx
        return "give a dictionary, dict(...)"
    if any(hasattr(data, name) for name in ("predict", "recommend", "forward")):
        return "give the scores of a model, users x items, or a function of rows of users"
    return "expected numbers, a DataFrame or a file"


def of_records(data: Any) -> Any:
    """Return an array of records of numbers or text as a DataFrame; other values as they are."""
    if not isinstance(data, np.ndarray) or data.dtype.names is None or data.ndim != 1:
        return data
    if any(data.dtype[name].kind == "V" for name in data.dtype.names):  # records or rows in a cell
        return data
    return pd.DataFrame(
        {name: data[name].astype(data.dtype[name].newbyteorder("=")) for name in data.dtype.names}
    )


def is_table(data: object) -> bool:
    """Return whether data is a table of any library that lends it to Arrow."""
    if not hasattr(data, "__arrow_c_stream__") or getattr(data, "ndim", 2) == 1:
        return False
    return not is_arrow_column(data)


def is_arrow_column(data: object) -> bool:
    """Return whether data is a column, not a table, of a library that lends it to Arrow."""
    if isinstance(data, np.ndarray | pd.Series | pd.DataFrame | pd.Index):
        return False
    lends = any(hasattr(data, f"__arrow_c_{kind}__") for kind in ("stream", "array"))
    is_typed = hasattr(data, "dtype") or isinstance(data, pa.Array | pa.ChunkedArray)
    return lends and is_typed and not hasattr(data, "columns")


def of_arrow_column(data: Any) -> Any:
    """Return a column that a library lends to Arrow as an array, or its lists; others as they are.

    Missing values become None.
    """
    if not is_arrow_column(data):
        return data
    column = data if isinstance(data, pa.Array | pa.ChunkedArray) else pa.chunked_array(data)
    if column.null_count or pa.types.is_nested(column.type):
        return column.to_pylist()
    return np.asarray(column)


def integers(name: str, values: ArrayLike, is_column: bool = False) -> Int:
    """Convert whole numbers, not bool, to int64; a column must have one dimension."""
    array = array_of(name, values)
    if is_column and array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one dimension")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers")
    if array.dtype.kind == "u" and array.max(initial=0) > _LARGEST:
        raise InputError(f"{name} holds {array.max()}, too large for int64")
    return array.astype(np.int64)


def select_rows(values: NDArray[Any] | None, rows: Rows) -> NDArray[Any] | None:
    """Select rows as an array's elements are selected; None stays None."""
    if values is None:
        return None
    return values[rows]


def id_column(name: str, values: ArrayLike, rows: int) -> Ids:
    """Return ids as integers or numpy's str, shape (rows,); anything else raises InputError."""
    array = array_of(name, values)
    if array.dtype.kind == "O":
        for value in array.flat:
            if not isinstance(value, str | int | np.integer):
                raise InputError(f"{name} holds {shown(value)}; expected integers or text")
        array = array.astype(np.str_)
    if array.shape != (rows,):
        raise InputError(f"{name} has shape {array.shape}; expected {(rows,)}")
    if array.dtype.kind == "U":
        return array
    return integers(name, array)


def kind_of_ids(ids: Ids | None) -> str:
    """Return `numbers`, `text`, or `none` of ids that are not known."""
    if ids is None:
        return "none"
    if ids.dtype.kind == "U":
        return "text"
    return "numbers"


def unique_ids(name: str, values: ArrayLike, rows: int) -> Ids:
    """Return ids as `id_column` does, each once."""
    ids = id_column(name, values, rows)
    require_unique(name, ids)
    return ids


def require_unique(name: str, ids: Ids) -> None:
    """Raise InputError for the first row that repeats an id."""
    row = first_duplicate(ids)
    if row is not None:
        raise InputError(f"duplicate {name} {ids[row]}", row=row + 1)


def require(column: str, values: Float | Int, good: NDArray[np.bool_], expected: str) -> None:
    """Raise InputError for the first row that is not `good`; rows are counted from 1."""
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(f"found {values[row]}; expected {expected}", row=row + 1, column=column)


def grades_of(relevance: Float) -> Float | None:
    """Return the relevance of items as grades, or None where it is 1 for all."""
    if (relevance == 1.0).all():
        return None
    return relevance


def ordered_floats(values: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Return numbers as floats in the same order; integers beyond float64 as places."""
    if values.dtype.kind == "f":
        return values
    if not values.size:
        return values.astype(np.float64)
    if values.max() > EXACT or values.min() < -EXACT:
        _, places = np.unique(values, return_inverse=True)
        values = places.reshape(values.shape)
    return values.astype(np.float64)


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of a named stream, independent of all others with the same seed.

    The stream depends on the seed and the keys alone, so a result does not change with the order,
    the batch or the process in which it is computed. Every key is hashed to 128 bits, a text and
    a number never to the same.
    """
    entropy = whole_number("seed", seed, 0)
    words: list[int] = []
    for key in keys:
        digest = hashlib.sha256(repr(key).encode()).digest()
        # Four 32-bit words for each key, so that neighbouring keys cannot run into each other.
        words.extend(struct.unpack_from("<4I", digest))
    sequence = np.random.SeedSequence(entropy, spawn_key=words)
    return np.random.default_rng(sequence)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread; also a decorator of functions.

    On several, a sum depends on their number in its last digit, and small matrices take up to ten
    times as long. Without threadpoolctl, as in a browser, threads are left as they are.
    """
    controller = _controller()
    if controller is None:
        yield
        return
    with controller.limit(limits=1, user_api="blas"):
        yield


def on_threads_of_now(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Have a function run on as many threads as now, also where it is called within `one_thread`.

    Sums of a caller's function are its own matter, and so is its time.
    """
    controller = _controller()
    if controller is None:
        return function
    libraries = controller.select(user_api="blas").info()
    most = max((library["num_threads"] for library in libraries), default=None)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        with controller.limit(limits=most, user_api="blas"):
            return function(*args, **kwargs)

    return call


@cache
def _controller() -> Any:
    """Find the libraries with threads that are loaded at the first call."""
    import scipy.special  # noqa: F401, which loads scipy's library, with threads of its own

    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    return ThreadpoolController()


def adjusted(p_values: Sequence[float], correction: str) -> list[float]:
    """Adjust p-values for their number by Holm's method, or not at all (`none`).

    Holm's method bounds the probability of any wrong rejection.
    """
    require_known("correction", correction, CORRECTIONS)
    raw = np.array(p_values, dtype=np.float64)
    if correction == "holm":
        order = np.argsort(raw)
        n_larger = np.arange(raw.size, 0, -1)
        raw[order] = np.maximum.accumulate(raw[order] * n_larger)
    at_most_one = np.minimum(raw, 1.0)
    return at_most_one.tolist()


def geometric_sizes(smallest: int, largest: int, number: int) -> list[int]:
    """Space whole numbers evenly on a logarithmic scale, at most `number` of them."""
    sizes = np.geomspace(smallest, largest, number)
    return np.unique(sizes.round().astype(np.int64)).tolist()


def is_elsewhere(scores: Any) -> bool:
    """Return whether scores are of another library, and not tensors of torch in main memory.

    Those numpy takes without a copy, and counts three times as fast as torch.
    """
    if isinstance(scores, np.ndarray) or not compat.is_array_api_obj(scores):
        return False
    if compat.is_numpy_array(scores) or compat.is_pydata_sparse_array(scores):
        return False
    return not (compat.is_torch_array(scores) and scores.device.type in ("cpu", "meta"))


def _dense(tensor: Any) -> Any:
    """Return a tensor of torch that stores all values; 0 where a sparse one stores nothing."""
    if str(getattr(tensor, "device", "cpu")) == "meta":
        raise InputError("found a tensor on the device meta, which holds no values")
    is_sparse = "sparse" in str(getattr(tensor, "layout", ""))
    return tensor.to_dense() if is_sparse else tensor


def in_memory(values: Any) -> Any:
    """Return an array of any library and device as one of numpy; other values as they are."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "V":  # the kind of bfloat16
        return values
    if hasattr(values, "detach"):  # a tensor of torch
        values = _dense(values.detach()).cpu()
    if "bfloat16" in str(getattr(values, "dtype", "")):  # all of which float32 holds
        xp = compat.array_namespace(values)
        values = xp.astype(values, xp.float32)
    if compat.is_cupy_array(values):
        return values.get()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    is_other = is_elsewhere(values) or compat.is_torch_array(values)
    return np.asarray(values) if is_other else values
