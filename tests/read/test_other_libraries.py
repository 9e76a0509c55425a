"""Objects of other libraries are read, or refused in one line.

Each library is used where it is installed, and a stand-in with its behaviour everywhere.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import sampled_metrics as sm

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")

SCORES = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.6]])
HELD = [2, 0]  # at ranks 2 and 3
RR = (1 / 2 + 1 / 3) / 2
FRAME = pd.DataFrame(
    {"user_id": ["a", "a", "b"], "item_id": ["x", "y", "x"], "score": [3.0, 2.0, 1.0]}
)


class Tensor:
    """A stand-in for a tensor of torch."""

    def __init__(self, values: Any, device: str = "cpu", layout: str = "strided"):
        self.values = np.asarray(values)
        self.device, self.layout = device, layout
        self.shape, self.ndim = self.values.shape, self.values.ndim
        self.dtype = self.values.dtype

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def to_dense(self) -> "Tensor":
        return Tensor(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self.device == "meta" or self.layout != "strided":
            raise RuntimeError("no numpy() of this tensor")
        return np.array(self.values, dtype)


class Number:
    """A stand-in for a tensor of one whole number, with which numpy cannot calculate."""

    __array_ufunc__ = None
    shape = ()

    def __init__(self, value: int):
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.value, dtype)

    def prod(self, *_: Any, **__: Any) -> None:
        raise TypeError("argument 'dim' must be int, not NoneType")


class Run:
    """A stand-in for a Run of ranx: keys and values, but neither a Mapping nor an iterable."""

    def __init__(self, run: Mapping[str, Mapping[str, float]]):
        self.run = run

    def keys(self) -> Any:
        return self.run.keys()

    def __len__(self) -> int:
        return len(self.run)

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self.run[name]


class RaisingRun(Run):
    """A stand-in for a run of ranx that raises another error for numbers."""

    def __getitem__(self, name: Any) -> Mapping[str, float]:
        if isinstance(name, int):
            raise AttributeError("error of another library")
        return self.run[name]


class Dataset(Mapping[str, Any]):
    """A stand-in for a Dataset of xarray: a Mapping that numpy cannot convert."""

    def __init__(self, variables: Mapping[str, np.ndarray]):
        self.variables = variables

    def __getitem__(self, name: str) -> np.ndarray:
        return self.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError("cannot directly convert a Dataset into an array")


def torch_tensor(values: Any, device: str = "cpu", layout: str = "strided") -> Any:
    torch = pytest.importorskip("torch")
    tensor = torch.as_tensor(np.array(values), device=device)
    return tensor if layout == "strided" else tensor.to_sparse()


def torch_number(value: int) -> Any:
    return pytest.importorskip("torch").tensor(value)


def ranx_run(run: Mapping[str, Mapping[str, float]]) -> Any:
    return pytest.importorskip("ranx").Run(run)


def xarray_dataset(variables: Mapping[str, np.ndarray]) -> Any:
    names = "batch", "user", "item"
    arrays = {name: (names, values) for name, values in variables.items()}
    return pytest.importorskip("xarray").Dataset(arrays)


with_tensors = pytest.mark.parametrize("make", [Tensor, torch_tensor])
with_numbers = pytest.mark.parametrize("make", [Number, torch_number])
with_runs = pytest.mark.parametrize("make", [Run, RaisingRun, ranx_run])
with_datasets = pytest.mark.parametrize("make", [Dataset, xarray_dataset])


@with_tensors
def test_tensor_without_values_is_refused(make: Callable[..., Any]) -> None:
    with pytest.raises(sm.InputError, match="meta"):
        sm.evaluate(make(SCORES, device="meta"), "rr", relevant=HELD)
    with pytest.raises(sm.InputError, match="meta"):
        sm.correct(make(SCORES, device="meta"), "auc", positive=0, n_items=9)


@with_tensors
def test_sparse_tensor_is_0_where_nothing_is_stored(make: Callable[..., Any]) -> None:
    stored = np.where(SCORES < 0.15, 0.0, SCORES)
    results = sm.evaluate(make(stored, layout="sparse_coo"), "rr", relevant=HELD)
    assert results[0].value == pytest.approx(RR)


CALLS_WITH_2 = {
    "m": lambda two: 1 + sm.draw_sampled_ranks(sm.Ranks([9], [0], [0]), two, 0).min(),
    "negatives": lambda two: sm.negatives({"u": [0]}, None, two, items=9)["user_id"].size,
    "runs": lambda two: sm.reported(
        {"HR@1": 0.5}, n_items=99, n_negatives=20, n_users=50, runs=two) and 2,
    "from_ranks": lambda two: sm.Ranks.from_ranks([1, 2], two).n_candidates.max(),
    "from_table": lambda two: sm.Ranks.from_table({"rank": [1, 2]}, two).n_candidates.max(),
    "evaluate": lambda two: sm.evaluate([1, 2], "rr", n_items=two)[0].n_items,
    "lists": lambda two: sm.evaluate(
        {"u": [0, 1]}, "rr@2", relevant={"u": [0]}, n_items=two)[0].n_items,
    "n_negatives": lambda two: sm.SampledRanks.from_table(
        {"sampled_rank": [1]}, n_items=9, n_negatives=two).n_negatives,
    "plan": lambda two: sm.plan(
        effect=0.1, value=0.3, n_items=99, n_users=two, metrics="hr@5") and 2,
    "seed": lambda two: sm.SampledRanks.from_scores(SCORES, 0, n_items=9, seed=two) and 2,
    "from_function": lambda two: sm.Ranks.from_function(
        lambda users, items: SCORES[users, items], [1, 0], n_items=two).n_candidates.max(),
}  # fmt: skip


@with_numbers
@pytest.mark.parametrize("name", CALLS_WITH_2)
def test_whole_number_of_another_library_is_read(make: Callable[[int], Any], name: str) -> None:
    assert CALLS_WITH_2[name](make(2)) == 2


def damaged_labels() -> sparse.csr_array:
    labels = sparse.csr_array(SCORES)
    labels.indices = labels.indices.copy()
    labels.indices[0] = 99
    return labels


def budget_of_vectors(*vectors: np.ndarray) -> Any:
    options: dict[str, Any] = {"relevant": HELD, "seen": np.zeros(SCORES.shape)}
    return sm.evaluate_on_budget(vectors, "hr@1", budget=2, **options)


def records(*types: tuple[Any, ...]) -> Any:
    data = np.zeros(3, [("user_id", "i4"), *types])
    return sm.evaluate(data, "rr@2", relevant={1: [6]})


REFUSED = {  # the call, and what the message names
    "labels in a damaged sparse matrix": (
        lambda: sm.RankMeter("rr").update(SCORES, damaged_labels()), "positive: damaged"),
    "number of items in a sparse matrix": (
        lambda: sm.Ranks.from_function(
            lambda users, items: SCORES[users, items], HELD,
            n_items=sparse.coo_array(np.array([3, 3]))),
        "n_items"),
    "no vectors": (budget_of_vectors, None),
    "vectors of users only": (lambda: budget_of_vectors(SCORES), None),
    "three arrays of vectors": (lambda: budget_of_vectors(SCORES, SCORES, SCORES), None),
    "ids without rows": (lambda: sm.Ranks.from_top_k(np.zeros((0, 0), int), []), "rows"),
    "ids without rows of three": (
        lambda: sm.Ranks.from_top_k(np.zeros((0, 3), int), []), "rows"),
    "records in records": (lambda: records(("item_id", [("a", "i4"), ("b", "i4")])), None),
    "arrays in records": (lambda: records(("item_id", "i4", (2,))), None),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_data_in_a_wrong_form_is_refused(name: str) -> None:
    call, named = REFUSED[name]
    with pytest.raises(sm.InputError, match=named):
        call()


@with_runs
@pytest.mark.parametrize(
    "call",
    [
        lambda run: sm.evaluate(SCORES, "rr", relevant=run),
        lambda run: sm.evaluate({"q": ["a", "b"]}, "rr@2", relevant=run),
        lambda run: sm.evaluate(SCORES, run, relevant=HELD),
        lambda run: sm.Ranks.concatenate(run),
        lambda run: sm.Ranks.from_top_k(run, [0]),
        lambda run: sm.correct(run, "auc", n_items=9),
        lambda run: sm.compare(run, "rr", relevant=HELD),
    ],
    ids=["relevant", "relevant of lists", "metrics", "parts", "ids", "correct", "compare"],
)  # fmt: skip
def test_run_of_ranx_is_refused(make: Callable[..., Any], call: Callable[[Any], Any]) -> None:
    run = make({"q": {"a": 0.9, "b": 0.6}})
    with pytest.raises(sm.InputError):
        call(run)


@with_runs
def test_run_of_ranx_is_read_as_a_dictionary(make: Callable[..., Any]) -> None:
    run = make({"q": {"a": 0.9, "b": 0.6}, "p": {"c": 0.8, "d": 0.7}})
    relevant = {"q": {"b": 1}, "p": {"x": 1}}
    with pytest.raises(sm.InputError, match=r"found \w*Run.*dict\("):
        sm.evaluate(run, "rr@2", relevant=relevant)
    as_dictionary = {name: dict(run[name]) for name in run.keys()}  # noqa: SIM118
    results = sm.evaluate(as_dictionary, "rr@2", relevant=relevant)
    assert results[0].value == (1 / 2 + 0) / 2


@with_datasets
@pytest.mark.parametrize(
    "call",
    [
        lambda data: sm.evaluate(data, "rr", relevant=HELD),
        lambda data: sm.evaluate(SCORES, "rr", relevant=data),
        lambda data: sm.evaluate(SCORES, "rr", relevant=HELD, seen=data),
        lambda data: sm.compare(data, "rr", relevant=HELD),
        lambda data: sm.report(data, "page.html", "rr", relevant=HELD),
        lambda data: sm.reported(data, n_items=99, n_negatives=20, n_users=50),
        lambda data: sm.evaluate_on_budget(data, "hr@1", relevant=HELD, seen=[[], []], budget=9),
    ],
    ids=["data", "relevant", "seen", "compare", "report", "reported", "budget"],
)
def test_dataset_of_xarray_is_refused(
    make: Callable[..., Any],
    call: Callable[[Any], Any],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sm.InputError):
        call(make({"scores": SCORES[None], "others": SCORES[None]}))


def test_categories_of_string_views_are_read() -> None:  # as of polars
    users = pa.DictionaryArray.from_arrays(
        pa.array([0, 0, 1], pa.int32()), pa.array(["a", "b"], pa.string_view())
    )
    scores = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()),
        pa.array(["3.5", "2.5", "1.5"], pa.string_view()),
    )
    table = pa.table({"user_id": users, "item_id": ["x", "y", "x"], "score": scores})
    results = sm.evaluate(table, "recall@1", relevant={"a": ["y"], "b": ["x"]})
    assert results[0].value == 1 / 2


def test_categories_of_polars_are_read() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(FRAME).with_columns(polars.col("user_id").cast(polars.Categorical))
    results = sm.evaluate(frame, "recall@1", relevant={"a": ["y"], "b": ["x"]})
    assert results[0].value == 1 / 2


@pytest.mark.parametrize("make", [sparse.dok_array, sparse.dok_matrix])
def test_sparse_matrix_by_keys_is_one_recommender(make: Callable[..., Any]) -> None:
    """Such a matrix is a dictionary in Python, but not one of recommenders."""
    scores = np.random.default_rng(0).random((12, 30))
    options = {"relevant": np.arange(12), "seen": np.zeros((12, 30)), "budget": 29}
    results = sm.evaluate_on_budget(make(scores), "hr@5", **options)
    dense = sm.evaluate_on_budget(scores, "hr@5", **options)
    assert results.estimates[0][0].value == dense.estimates[0][0].value


# Items 6 and 5 are at ranks 2 and 1.
LISTS = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 6, 5], "score": [0.9, 0.2, 0.8]})
WANTED = pd.DataFrame({"user_id": [1, 2], "item_id": [6, 5]})
TAKEN = pd.DataFrame({"user_id": [1], "item_id": [9]})
RANKS = pd.DataFrame({"user_id": [1, 2], "rank": [2, 1]})
OF_ROWS = {
    "lists": (LISTS, lambda data: sm.evaluate(data, "rr@2", relevant=WANTED, missing="last")),
    "from_lists": (LISTS, lambda data: sm.evaluate(sm.Ranks.from_lists(data, WANTED), "rr@2")),
    "relevant": (WANTED, lambda relevant: sm.evaluate(LISTS, "rr@2", relevant=relevant)),
    "seen": (TAKEN, lambda seen: sm.evaluate(LISTS, "rr@2", relevant=WANTED, seen=seen)),
    "from_ranks": (RANKS, lambda ranks: sm.evaluate(sm.Ranks.from_ranks(ranks, 9), "rr")),
    "from_table": (RANKS, lambda data: sm.evaluate(sm.Ranks.from_table(data, 9), "rr")),
}
ROWS = {
    "recarray": lambda frame: frame.to_records(index=False),
    "structured": lambda frame: np.asarray(frame.to_records(index=False)).view(np.ndarray),
    "dictionaries": lambda frame: frame.to_dict("records"),
    "named tuples": lambda frame: [*frame.itertuples(index=False)],
}


@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("form", ROWS)
def test_records_are_refused_and_a_table_of_them_is_read(name: str, form: str) -> None:
    frame, call = OF_ROWS[name]
    rows = ROWS[form](frame)
    with pytest.raises(sm.InputError, match="pass pandas"):
        call(rows)
    assert call(pd.DataFrame(rows))[0].value == (1 / 2 + 1) / 2


@pytest.mark.parametrize("relevant", [[[6], [5]], [{6}, {5}], {1: [6], 2: [5]}, [6, 5]])
def test_lists_without_names_are_no_records(relevant: Any) -> None:
    """The items are at ranks 2 and 1."""
    scores = np.array([[0.0] * 5 + [0.9, 0.8], [0.0] * 5 + [0.7, 0.3]])
    users = [1, 2] if isinstance(relevant, dict) else None
    ranks = sm.Ranks.from_scores(scores, relevant, users=users)
    assert ranks.best_rank.tolist() == [2, 1]


class Collection(dict[Any, Any]):
    """Like an ItemListCollection of LensKit, which dict() does not convert."""

    def to_df(self) -> pd.DataFrame:
        return pd.DataFrame({"user_id": ["a", "a"], "item_id": ["x", "y"], "score": [0.9, 0.5]})

    def __iter__(self) -> Any:
        raise TypeError("cannot convert to a dictionary")


class ItemsOfOneUser:
    """Like an ItemList of LensKit."""

    def to_df(self) -> pd.DataFrame:
        return pd.DataFrame({"item_id": ["x", "y"], "score": [0.9, 0.5]})


class LazyTable:
    """Like a LazyFrame of polars."""

    def collect_schema(self) -> None:
        raise NotImplementedError

    def collect(self) -> pd.DataFrame:
        return Collection().to_df()


class LabelledArray:
    """Like a DataArray of xarray, with scores of x and y."""

    dims = coords = ("user", "item")
    values = np.array([[0.9, 0.5]])

    def to_dataset(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("data", "expression", "relevant"),
    [
        (Collection(), "data.to_df()", {"a": ["y"]}),
        (LazyTable(), "data.collect()", {"a": ["y"]}),
        (LabelledArray(), "data.values", [1]),
        (
            {"a": ItemsOfOneUser()},
            "pandas.concat({user: items.to_df() for user, items in data.items()}, "
            "names=['user_id'])",
            {"a": ["y"]},
        ),
    ],
)
def test_object_is_converted_as_suggested(data: Any, expression: str, relevant: Any) -> None:
    """Item y is at rank 2."""
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.evaluate(data, "rr@2", relevant=relevant)
    converted = eval(expression, {"data": data, "pandas": pd})  # noqa: S307
    assert sm.evaluate(converted, "rr@2", relevant=relevant)[0].value == 1 / 2
    with pytest.raises(sm.InputError, match="relevant: found"):
        sm.evaluate([[0.9, 0.5]], "rr@2", relevant=data)
    if not isinstance(data, dict) or isinstance(data, Collection):
        with pytest.raises(sm.InputError, match="true: found"):
            sm.rmse(data, data)
