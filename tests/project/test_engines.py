"""The functions for Spark and Dask in docs/scale.md give the ranks of a single process."""

import re
import shutil

import numpy as np
import pytest

import sampled_metrics as sm
from tests.conftest import ROOT

pytestmark = pytest.mark.long
RNG = np.random.default_rng(3)
USERS = RNG.integers(-3, 4, (300, 8)).astype(np.float32)  # with ties
ITEMS = RNG.integers(-3, 4, (500, 8)).astype(np.float32)
HELD_OUT = RNG.integers(0, 500, 300)


def documented(name):
    """Return the function that a block of the page defines."""
    page = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    (block,) = [
        code
        for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        if f"def {name}" in code
    ]
    names = {}
    exec(block, names)  # noqa: S102
    return names[name]


def counts(ranks):
    return [
        ranks.n_candidates.tolist(),
        ranks.n_better.tolist(),
        ranks.n_tied.tolist(),
    ]


def test_dask_ranks_equal_those_of_one_process():
    pytest.importorskip("dask", reason="dask is not installed")
    ranks = documented("ranks_by_dask")(USERS, ITEMS, HELD_OUT)
    assert counts(ranks) == counts(sm.rank((USERS, ITEMS), None, HELD_OUT))
    assert ranks.users.tolist() == list(range(300))


@pytest.mark.filterwarnings("ignore")
def test_spark_ranks_equal_those_of_one_process():
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no JVM")
    session = sql.SparkSession.builder.master("local[2]").getOrCreate()
    try:
        rows = [
            (number, vector.tolist(), int(item))
            for number, (vector, item) in enumerate(zip(USERS, HELD_OUT, strict=True))
        ]
        schema = "user_id long, vector array<float>, held_out long"
        users = session.createDataFrame(rows, schema).repartition(3)
        table = documented("ranks_by_spark")(users, ITEMS).toPandas().sort_values("user_id")
    finally:
        session.stop()
    expected = counts(sm.rank((USERS, ITEMS), None, HELD_OUT))
    assert table.drop(columns="user_id").T.to_numpy().tolist() == expected
