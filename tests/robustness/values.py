"""Small data of every kind, and wrong values for any argument."""

import contextlib
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

import sampled_metrics as sm

USERS, ITEMS, N_NEGATIVES = 12, 30, 8
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(USERS, ITEMS))
HELD_OUT = RNG.integers(ITEMS, size=USERS)
SEEN = (RNG.random(SCORES.shape) < 0.1) & (np.arange(ITEMS) != HELD_OUT[:, None])
RANKS = 1 + (SCORES[np.arange(USERS), HELD_OUT][:, None] < SCORES).sum(axis=1)
CANDIDATE_SCORES = RNG.normal(size=(USERS, 1 + N_NEGATIVES))
SAMPLED = 1 + (CANDIDATE_SCORES[:, 1:] > CANDIDATE_SCORES[:, :1]).sum(axis=1)


def table(mask):
    users, items = np.nonzero(mask)
    return pd.DataFrame({"user_id": users, "item_id": items})


TEST = pd.DataFrame({"user_id": np.arange(USERS), "item_id": HELD_OUT})
TRAIN = table(SEEN)
LISTS = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(USERS), ITEMS),
        "item_id": np.tile(np.arange(ITEMS), USERS),
        "score": SCORES.ravel(),
    }
)
PAIRS = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(USERS), 1 + N_NEGATIVES),
        "score": CANDIDATE_SCORES.ravel(),
        "label": np.tile([1] + N_NEGATIVES * [0], USERS),
    }
)
NEGATIVES = pd.DataFrame(
    {"user_id": np.repeat(np.arange(USERS), 2), "item_id": np.arange(2 * USERS)}
)
TWO_MODELS = {"A": SCORES, "B": SCORES[:, ::-1]}


class Odd:
    """An object of an unknown class."""


def frames():
    yield from (TEST, TRAIN, LISTS, PAIRS, NEGATIVES, TEST.head(0), pd.DataFrame())
    yield TEST.astype(str)
    yield TEST.astype(float)
    yield TEST.assign(user_id=None)
    yield TEST.assign(item_id=[None, *range(USERS - 1)])
    yield TEST.astype("category")
    yield TEST.astype("Int64")
    yield LISTS.rename(columns={"score": "weight"})
    yield LISTS.assign(score=np.nan)
    yield LISTS.assign(score="a")
    yield LISTS.assign(score=True)
    yield LISTS.assign(rank=1)
    yield LISTS.drop(columns="score")
    yield pd.DataFrame(SCORES)
    yield pd.DataFrame({"a": ["x"]})
    yield TEST.set_index("user_id")
    yield TEST["item_id"]
    yield pd.Series([[1], [2]])
    yield pd.Series({"a": [1, 2], "b": 3})
    yield pd.concat([TEST, TEST])
    yield pd.concat([TEST, TEST], axis=1)
    yield TEST.assign(user_id=pd.Timestamp("2020-01-01"))


def arrays():
    yield from (
        SCORES, HELD_OUT, SEEN, RANKS, CANDIDATE_SCORES, SAMPLED, SCORES.T, SCORES[0], SCORES[:1],
    )  # fmt: skip
    yield from (SCORES[:0], SCORES[:, :0], SCORES[:, :1], SCORES[..., None])
    for kind in (
        "f2", "f4", ">f8", "i1", "u8", ">i4", "c16", "O", "U", "S", "M8[s]", "m8[s]", "?",
    ):  # fmt: skip
        with contextlib.suppress(TypeError, ValueError):
            yield (100 * SCORES).astype("i8").astype(kind)
            yield HELD_OUT.astype(kind)
    yield from (SCORES * np.nan, SCORES * np.inf, -SCORES * np.inf, 0 * SCORES)
    yield np.where(SCORES > 1, np.nan, SCORES)
    yield np.where(SCORES > 1, np.inf, SCORES)
    yield np.where(SCORES > 1, -np.inf, SCORES)
    yield np.full(USERS, -1)
    yield np.full(USERS, 10**12)
    yield np.full(USERS, -(10**12))
    yield np.full(SCORES.shape, 2**62)
    yield np.ma.masked_greater(SCORES, 1)
    yield np.matrix(SCORES)
    yield np.zeros((), int)
    yield np.array([None] * USERS)
    yield np.array([[1, 2], [3]], dtype=object)
    yield np.zeros(USERS, dtype=[("a", int)])


def sparse_matrices():
    for make in (
        sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.dok_array, sp.csr_matrix,
    ):  # fmt: skip
        yield make(SEEN)
        yield make(SCORES)
    yield sp.csr_array((USERS, ITEMS))
    yield sp.csr_array(SEEN.astype(float) * np.nan)
    yield sp.coo_array(HELD_OUT)
    bad = sp.csr_array(SCORES)
    bad.indices = bad.indices.copy()
    bad.indices[0] = 99
    yield bad


def others():
    yield from (
        None, True, False, 0, 1, -1, 3, 1.5, np.nan, np.inf, 10**30, 1j, "", "x", "recall@3",
    )  # fmt: skip
    yield from (
        "auc, ap", "hr@0", "recall@", "ndcg@-1", "@", "bv:0.1", "em:0", "none", "holm", "\0",
    )  # fmt: skip
    yield from (
        "x" * 5000, "missing.csv", "missing.npy", "/", "\ud800", b"x", Path("gone.parquet"),
    )  # fmt: skip
    yield from (
        [], [[]], {}, set(), (), range(3), [1, 2, 3], ["a"], [None], [1, "a"], [[1], [2, 3]],
    )  # fmt: skip
    yield from (
        {"a": [1]}, {"a": 1}, {"a": {"b": 1}}, {"a": {1}}, {1: [2]}, {None: [1]}, {"a": None},
    )  # fmt: skip
    yield from (
        {"a": [1], "b": {"c": 2}}, {"A": RANKS}, {"A": SCORES}, TWO_MODELS, {"HR@10": 0.4},
    )  # fmt: skip
    yield {"user_id": [1, 2], "item_id": [3]}
    yield {"user_id": [1], "item_id": [3], "score": ["x"]}
    yield {user: [int(item)] for user, item in enumerate(HELD_OUT)}
    yield {user: set(range(3)) for user in range(USERS)}
    yield {user: {1: 0.5, "a": 1} for user in range(USERS)}
    yield from (
        Odd(), Odd, len, lambda: None, lambda _: 0.5, lambda _: None, lambda *_: SCORES,
    )  # fmt: skip
    yield lambda users: SCORES[users]
    yield lambda users, items: SCORES[users, items]
    yield lambda users, items: np.full(len(users), np.nan)  # noqa: ARG005
    yield lambda users, items: [None] * len(users)  # noqa: ARG005
    yield (SCORES, SCORES)
    yield (SCORES[:, :3], SCORES[:, :3])
    yield (SCORES[:, :3], SCORES.T[:, :3])
    yield sm.Ranks([9, 9], [1, 2], [0, 0])
    yield sm.SampledRanks([1, 2], 50, 9)
    yield "distinct"
    yield np.random.default_rng(0)
    yield iter([1, 2])
    yield (x for x in (1, 2))
    yield pa.table(TEST)
    yield pa.table(LISTS)
    yield pa.array([1, 2])
    yield pa.table({"a": [1]})


def polars_values(polars):
    for frame in (
        TEST, TRAIN, LISTS, PAIRS, NEGATIVES, pd.DataFrame(SCORES).add_prefix("c"),
    ):  # fmt: skip
        yield polars.from_pandas(frame)
    yield polars.from_pandas(TEST).lazy()
    yield polars.from_pandas(TEST.astype(str))
    yield polars.Series(HELD_OUT)
    yield polars.Series(SCORES)
    yield polars.Series(["a"])
    yield polars.Series([[1], [2, 3]])
    yield polars.Series([None, 1, 2])
    yield polars.Series(["a", "b"], dtype=polars.Categorical)
    yield polars.Series([{"a": 1}])
    yield polars.DataFrame()
    yield polars.DataFrame({"user_id": [None, 1], "item_id": [1, 2]})
    yield polars.DataFrame({"user_id": [1, 2], "item_id": [[1, 3], [2]]})
    yield polars.from_pandas(TEST).with_columns(polars.col("user_id").cast(polars.Float32))
    yield polars.from_pandas(LISTS).with_columns(
        polars.col("user_id").cast(polars.String).cast(polars.Categorical),
        polars.col("score").cast(polars.Decimal(20, 6)),
    )


def sparse_values(sparse):
    yield sparse.COO.from_numpy(SCORES)
    yield sparse.COO.from_numpy(SEEN)
    yield sparse.COO.from_numpy(HELD_OUT)
    yield sparse.GCXS.from_numpy(SCORES)


def torch_values(torch):
    for values in (
        SCORES, HELD_OUT, SEEN, RANKS, CANDIDATE_SCORES, SAMPLED, SCORES[0],
    ):  # fmt: skip
        yield torch.as_tensor(values.copy())
    yield torch.as_tensor(SCORES.copy()).requires_grad_()
    for kind in ("bfloat16", "float16", "complex64", "int8", "uint8"):
        yield torch.as_tensor(100 * SCORES).to(getattr(torch, kind))
    yield torch.as_tensor(SEEN.copy()).to_sparse()
    yield torch.as_tensor(SCORES.copy()).to_sparse_csr()
    yield torch.as_tensor(SCORES.copy())[:, :, None]
    yield torch.empty(0)
    yield torch.tensor(3)
    yield torch.empty(SCORES.shape, device="meta")
    yield [torch.tensor([1, 2]), torch.tensor([3])]
    yield {user: torch.as_tensor([item]) for user, item in enumerate(HELD_OUT)}
    yield {name: torch.as_tensor(TEST[name].to_numpy().copy()) for name in TEST}
    yield torch.topk(torch.as_tensor(SCORES.copy()), 5)


def xarray_values(xarray):
    named = {"user": np.arange(USERS), "item": np.arange(ITEMS)}
    yield xarray.DataArray(SCORES)
    yield xarray.DataArray(SCORES, named, ("user", "item"))
    yield xarray.DataArray(HELD_OUT, dims="user")
    yield xarray.DataArray(SEEN)
    yield xarray.DataArray(3)
    yield xarray.Dataset({"scores": (("user", "item"), SCORES)})
    yield xarray.Dataset.from_dataframe(TEST)
    yield xarray.Dataset()
    yield xarray.DataArray(TEST.to_numpy()).to_dataset("dim_1")


def ranx_values(ranx):
    run = {f"u{user}": {f"i{i}": row[i] for i in (0, 3)} for user, row in enumerate(SCORES)}
    qrels = {f"u{user}": {f"i{item}": 1} for user, item in enumerate(HELD_OUT)}
    yield ranx.Run(run)
    yield ranx.Qrels(qrels)
    yield ranx.Run()
    yield {"A": ranx.Run(run), "B": ranx.Run(run)}


def other_packages():
    makers = (polars_values, sparse_values, torch_values, xarray_values, ranx_values)
    for make in makers:
        name = make.__name__.removesuffix("_values")
        if importlib.util.find_spec(name):
            yield from make(importlib.import_module(name))


def values():
    """All wrong values; new objects for each call, because iterators are used up."""
    for part in (frames, arrays, sparse_matrices, others, other_packages):
        yield from part()
