"""Spark, Dask and Ray, each started on this machine, give the ranks of a single process."""

import shutil

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.engines import dask as engine_of_dask
from sampled_metrics.engines import ray as engine_of_ray
from sampled_metrics.engines import spark as engine_of_spark

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # of the engines
    pytest.mark.xdist_group("engines"),
]
RNG = np.random.default_rng(3)
N_USERS, N_ITEMS = 300, 500
USER_VECTORS = RNG.integers(-3, 4, (N_USERS, 8)).astype(np.float32)  # with ties
ITEM_VECTORS = RNG.integers(-3, 4, (N_ITEMS, 8)).astype(np.float32)
ITEM_IDS = np.array([f"item {number}" for number in range(N_ITEMS)])
CHOSEN = RNG.random((N_USERS, N_ITEMS)).argsort(axis=1)
RELEVANT, SEEN = CHOSEN[:, :2], CHOSEN[:, 2:9]
USER_IDS = 1000 + np.arange(N_USERS)


def users_table(items=None):
    """Return a row for each user; items are numbers, or ids if these are given."""
    relevant, seen = (each if items is None else items[each] for each in (RELEVANT, SEEN))
    return pd.DataFrame(
        {
            "user_id": USER_IDS,
            "vector": USER_VECTORS.tolist(),
            "relevant": relevant.tolist(),
            "seen": seen.tolist(),
        }
    )


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no JVM")
    session = sql.SparkSession.builder.master("local[2]").getOrCreate()

    def rank(frame, items, **options):
        users = session.createDataFrame(frame).repartition(3)
        return engine_of_spark.rank(users, items, **options)

    yield rank, lambda ranks: ranks.toPandas(), lambda ranks, path: ranks.write.parquet(path)
    session.stop()


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("dask", reason="dask is not installed")
    import dask as package
    import dask.dataframe as dd

    package.config.set({"dataframe.convert-string": False})

    def rank(frame, items, **options):
        return engine_of_dask.rank(dd.from_pandas(frame, npartitions=3), items, **options)

    return rank, lambda ranks: ranks.compute(), lambda ranks, path: ranks.to_parquet(path)


@pytest.fixture(scope="module")
def ray():
    package = pytest.importorskip("ray", reason="ray is not installed")
    package.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def rank(frame, items, **options):
        users = package.data.from_pandas(frame).repartition(3)
        return engine_of_ray.rank(users, items, **options)

    yield rank, lambda ranks: ranks.to_pandas(), lambda ranks, path: ranks.write_parquet(path)
    package.shutdown()


@pytest.fixture(params=["spark", "dask", "ray"])
def engine(request):
    """Functions that rank, collect a table and write it."""
    return request.getfixturevalue(request.param)


def by_user(table):
    """Return the counts of each user, in any order of its relevant items."""
    table = table.sort_values(["user_id", "n_better", "n_tied"])
    return table[["user_id", "n_candidates", "n_better", "n_tied"]].to_numpy().tolist()


@pytest.fixture(scope="module")
def expected():
    vectors = USER_VECTORS, ITEM_VECTORS
    return sm.rank(vectors, SEEN.tolist(), RELEVANT.tolist(), users=USER_IDS)


@pytest.mark.parametrize("form", ["array", "ids", "files"])
def test_ranks_equal_those_of_one_process(engine, expected, form, tmp_path):
    rank, collect, _ = engine
    ids = None
    if form == "array":
        items = ITEM_VECTORS
    elif form == "ids":
        ids, items = ITEM_IDS, pd.DataFrame(ITEM_VECTORS, index=ITEM_IDS)
    else:
        items = [str(tmp_path / "0.npy"), str(tmp_path / "1.npy")]
        np.save(items[0], ITEM_VECTORS[:120])
        np.save(items[1], ITEM_VECTORS[120:])
    table = collect(rank(users_table(ids), items))
    assert by_user(table) == by_user(expected.to_frame())


def test_folder_of_truncated_ranks_is_evaluated(engine, expected, tmp_path):
    rank, _, write = engine
    write(rank(users_table(), ITEM_VECTORS, up_to=10), str(tmp_path / "ranks"))
    metrics = "recall@10, ndcg@5"
    values = [each.value for each in sm.evaluate(tmp_path / "ranks", metrics)]
    assert values == pytest.approx([each.value for each in sm.evaluate(expected, metrics)])
    with pytest.raises(sm.InputError, match="end at 10"):
        sm.evaluate(tmp_path / "ranks", "recall@20")


def test_one_relevant_item_needs_no_list(engine):
    rank, collect, _ = engine
    frame = users_table().drop(columns="seen").assign(relevant=RELEVANT[:, 0])
    expected = sm.rank((USER_VECTORS, ITEM_VECTORS), None, RELEVANT[:, 0], users=USER_IDS)
    assert by_user(collect(rank(frame, ITEM_VECTORS))) == by_user(expected.to_frame())
