"""Ranks: what they hold, which counts no ranking can have, reading and writing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.full import read_by_name, read_single
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.records import sources
from tests.unit.relevance import untied

COLUMNS = ("n_candidates", "n_better", "n_tied", "n_found", "n_relevant", "depth")


def columns(ranks):
    return {name: getattr(ranks, name).tolist() for name in COLUMNS}


# User 0 is fully ranked, user 1 a list of the top 5 with one of three relevant items.
GOOD = {
    "n_candidates": [8, 0],
    "n_better": [0, 4, 2],
    "n_tied": [1, 0, 0],
    "n_found": [2, 1],
    "n_relevant": [2, 3],
    "depth": [8, 5],
}


@pytest.mark.parametrize(
    ("changed", "row", "column"),
    [
        ({"n_better": [-1, 4, 2]}, 1, "n_better"),
        ({"n_tied": [0, 0, -2]}, 3, "n_tied"),
        ({"n_better": [0, 4, 5]}, 3, "n_better"),  # beyond the depth
        ({"n_tied": [1, 4, 0]}, 2, "n_tied"),
        ({"n_relevant": [2, 0]}, 2, "n_relevant"),
        ({"n_relevant": [1, 3]}, 1, "n_found"),
        ({"n_found": [2, -1]}, 2, "n_found"),
        ({"n_relevant": [9, 3]}, 1, "n_relevant"),
        ({"n_relevant": [3, 3]}, 1, "n_relevant"),  # no place for the third
        ({"n_candidates": [8, -1]}, 2, "n_candidates"),
        ({"depth": [9, 5]}, 1, "depth"),
    ],
)
def test_impossible_counts_of_several_items(changed, row, column):
    with pytest.raises(InputError) as caught:
        Ranks(**(GOOD | changed))
    assert (caught.value.row, caught.value.column) == (row, column)


def test_columns_become_int64_with_the_best_item_first():
    with pytest.raises(InputError, match="row 2, column n_candidates: 1, expected at least 2"):
        Ranks([10, 1], [0, 0], [0, 0])
    ranks = Ranks([9], np.array([4, 1], np.int32), np.array([0, 2], np.uint8), n_found=[2])
    assert all(getattr(ranks, name).dtype == np.int64 for name in COLUMNS)
    assert (ranks.n_better.tolist(), ranks.n_tied.tolist()) == ([1, 4], [2, 0])


def test_properties():
    ranks = Ranks([5, 5, 6], [0, 4, 0], [0, 0, 4], users=list("xyz"))
    assert ranks.best_rank.tolist() == [1, 5, 1]
    assert ranks.worst_rank.tolist() == [1, 5, 5]
    assert (len(ranks), ranks.mean_candidates, ranks.is_single) == (3, 5, True)
    assert (len(Ranks([], [], [])), Ranks([], [], []).mean_candidates) == (0, 0)
    several = Ranks(**GOOD)
    assert (len(several), several.mean_candidates, several.is_single) == (2, 0, False)


def test_take():
    ranks = Ranks(**GOOD, users=["a", "b"], source="hand")
    last, first = ranks.take([1]), ranks.take(np.array([True, False]))
    assert columns(last) == columns(untied(3, n=0, n_relevant=3, depth=5))
    assert (first.users.tolist(), first.source) == (["a"], "hand")
    assert columns(ranks.take(slice(None, None, -1)).take([1, 0])) == columns(ranks)
    assert columns(ranks.take([0, 0]))["n_better"] == [0, 4, 0, 4]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depth": [8]}, "columns differ in length: n_candidates 2"),
        ({"n_tied": [0]}, "columns differ in length: n_better 3, n_tied 1"),
        ({"n_candidates": [8.0, 0.0]}, "n_candidates has dtype float64"),
        ({"n_candidates": [[8, 0]]}, r"n_candidates has shape \(1, 2\)"),
        ({"n_found": [2, 2]}, "3 ranks of items, but n_found is 4 in all"),
        ({"n_better": [0, 0, 2]}, "0 better and 1 tied, 0 better and 0 tied; ranks of two items"),
        ({"n_better": [4, 4, 2], "n_tied": [0, 0, 0]}, "4 better and 0 tied, 4 better and 0 tied"),
        ({"users": [7, 7]}, "row 2: duplicate user_id 7"),
        ({"users": [1.0, 2.0]}, "users has dtype float64"),
    ],
)
def test_arguments_that_do_not_fit_together(changed, message):
    with pytest.raises(InputError, match=message):
        Ranks(**(GOOD | changed))


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (Ranks(**GOOD, users=["a", "b"]), "user a has 2 relevant items"),
        (untied(1, 2, n=5), "user 1 has 2 relevant items"),
        (untied(1, n=9, depth=7), "a list of 7 places"),
        (untied(n=9, n_relevant=1, depth=7), "a list of 7 places"),
    ],
)
def test_single_requires_one_item_fully_ranked(ranks, message):
    with pytest.raises(InputError, match=message):
        ranks.single()


def test_what_is_written_comes_back(tmp_path):
    path = tmp_path / "deep" / "A.parquet"
    single = Ranks([9, 8], [1, 0], [0, 3], users=[7, 9], source="a test")
    several = Ranks([9, 8], [1, 4, 0], [0, 0, 3], n_found=[2, 1], users=["b", "a"])
    for ranks in (single, several):
        ranks.write(path, items=np.arange(ranks.n_better.size))
        again = Ranks.read(path)
        assert columns(again) == columns(ranks)
        assert (again.users.tolist(), again.source) == (ranks.users.tolist(), ranks.source)
        names = ["user_id", "item_id", "n_candidates", "n_better", "n_tied"]
        assert pq.read_table(path).column_names == names
    with pytest.raises(InputError, match="user b has 2 relevant items") as caught:
        read_single(path)
    assert caught.value.path == path
    with pytest.raises(InputError, match="cut at some depth"):
        Ranks(**GOOD).write(path)


def test_recommenders_by_name_and_their_sources(tmp_path):
    Ranks([5], [1], [0]).write(tmp_path / "A.parquet")
    table = pq.read_table(tmp_path / "A.parquet")
    table = table.replace_schema_metadata({b"source": b"a\nb \xff\x1b[2J"})
    pq.write_table(table, tmp_path / "B.parquet")
    ranks = read_by_name([tmp_path / "A.parquet", tmp_path / "B.parquet"])
    assert [r.source for r in ranks.values()] == ["unknown", "a b \ufffd\\x1b[2J"]
    assert list(ranks) == ["A", "B"]
    with pytest.raises(InputError, match="duplicate recommender: A"):
        read_by_name([tmp_path / "A.parquet"] * 2)
    Ranks([5, 5], [1, 1], [0, 0]).write(tmp_path / "B.parquet")
    with pytest.raises(InputError, match=r"2 users, but A\.parquet has 1"):
        read_by_name([tmp_path / "A.parquet", tmp_path / "B.parquet"])
    assert sources(["trained here", "scores; trained here"]) == "scores; trained here"


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        (np.array([-(2**31), 2**31 - 1]), pa.int32()),
        (np.array([7, 2**31]), pa.int64()),
        (np.array([-(2**31) - 1, 7]), pa.int64()),
        (np.array(["7", "ω"]), pa.string()),
    ],
)
def test_ids_of_any_type_come_back(tmp_path, ids, written):
    path = tmp_path / "A.parquet"
    Ranks([9, 8], [1, 0], [0, 3], users=ids).write(path, items=ids[::-1])
    table = pq.read_table(path)
    assert [table.schema.field(name).type for name in ("user_id", "item_id")] == [written] * 2
    assert table["item_id"].to_pylist() == ids[::-1].tolist()
    users = Ranks.read(path).users
    assert users.tolist() == ids.tolist()
    assert users.dtype.kind in "iU"
