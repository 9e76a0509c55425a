"""Ranks: what they hold, which counts no ranking can have, reading and writing."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.reading import read_single, sources
from tests.unit.relevance import untied

COLUMNS = ("n_candidates", "n_better", "n_tied", "n_found", "n_relevant", "depth")


def columns(ranks):
    return {name: getattr(ranks, name).tolist() for name in COLUMNS}


@pytest.mark.parametrize(
    ("counts", "row", "column"),
    [
        (([10], [-1], [0]), 1, "n_better"),
        (([10, 10], [0, 0], [0, -2]), 2, "n_tied"),
        (([10, 1], [0, 0], [0, 0]), 2, "n_candidates"),
        (([10], [10], [0]), 1, "n_better"),
        (([10], [5], [5]), 1, "n_tied"),
    ],
)
def test_impossible_counts_of_one_item(counts, row, column):
    with pytest.raises(InputError) as caught:
        Ranks(*counts)
    assert (caught.value.row, caught.value.column) == (row, column)


def test_an_error_in_full():
    with pytest.raises(InputError) as caught:
        Ranks([10, 10], [0, -1], [0, 0])
    assert str(caught.value) == "row 2, column n_better: -1, expected at least 0"


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([10], [0, 1], [0]), "columns differ in length: n_candidates 1, n_better 2"),
        (([10.0], [0], [0]), "n_candidates has dtype float64"),
        (([[10]], [0], [0]), r"n_candidates has shape \(1, 1\)"),
    ],
)
def test_columns_that_are_no_counts(counts, message):
    with pytest.raises(InputError, match=message):
        Ranks(*counts)


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
        ({"n_found": [3, -1]}, 2, "n_found"),
        ({"n_relevant": [9, 3]}, 1, "n_relevant"),
        ({"n_relevant": [3, 3]}, 1, "n_relevant"),  # no place for the third
        ({"n_candidates": [8, -1]}, 2, "n_candidates"),
        ({"depth": [8, -1]}, 2, "depth"),
        ({"depth": [9, 5]}, 1, "depth"),
    ],
)
def test_impossible_counts_of_several_items(changed, row, column):
    Ranks(**GOOD)
    with pytest.raises(InputError) as caught:
        Ranks(**(GOOD | changed))
    assert (caught.value.row, caught.value.column) == (row, column)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"depth": [8]}, "columns differ in length"),
        ({"n_found": [2, 2]}, "3 ranks of items, but n_found is 4 in all"),
        ({"n_better": [0, 0, 2]}, "ranks of two items overlap: 0 better and 1 tied, 0 better and "),
        ({"n_better": [3, 4, 2]}, "ranks of two items overlap: 3 better and 1 tied, 4 better and "),
        ({"n_better": [4, 4, 2], "n_tied": [0, 0, 0]}, "2 items with 4 better and 0 tied"),
    ],
)
def test_ranks_that_do_not_fit_together(changed, message):
    with pytest.raises(InputError, match=message):
        Ranks(**(GOOD | changed))


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ([7, 7], "row 2: duplicate user_id 7"),
        (["b", "b"], "row 2: duplicate user_id b"),
        ([1.0, 2.0], "users has dtype float64; expected integers or text"),
        ([1], r"users has shape \(1,\)"),
    ],
)
def test_users_must_be_different(users, message):
    with pytest.raises(InputError, match=message):
        Ranks([5, 5], [0, 1], [0, 0], users=users)


def test_columns_become_int64_with_the_best_item_first():
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


def test_take_and_concat_are_each_others_inverse():
    ranks = Ranks(**GOOD, users=["a", "b"], source="hand")
    parts = [ranks.take([1]), ranks.take(np.array([True, False]))]
    assert columns(parts[0]) == columns(untied(3, n=0, n_relevant=3, depth=5))
    assert parts[1].users.tolist() == ["a"]
    again = Ranks.concat(parts).take(slice(None, None, -1))
    assert columns(again) == columns(ranks)
    assert (again.users.tolist(), again.source) == (["a", "b"], "hand")
    assert columns(ranks.take([0, 0]))["n_better"] == [0, 4, 0, 4]


def test_concat_of_different_ranks():
    one, other = Ranks([5], [1], [0], users=[7], source="A"), Ranks([6], [2], [0], source="B")
    both = Ranks.concat([one, other])
    assert (both.users, both.source, both.mean_candidates) == (None, "A; B", 6)
    with pytest.raises(InputError, match="duplicate user_id 7"):
        Ranks.concat([one, one])


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (untied(1, 2, n=5), "user 1 has 2 relevant items"),
        (untied(1, n=0, depth=7), "the list of user 1 ends at rank 7"),
        (untied(1, n=9, depth=7), "the list of user 1 ends at rank 7"),
    ],
)
def test_single_requires_one_item_fully_ranked(ranks, message):
    with pytest.raises(InputError, match=message):
        ranks.single()


def test_round_trip(tmp_path):
    ranks = Ranks([9, 8], [1, 0], [0, 3], users=[7, 9], source="a test")
    path = tmp_path / "deep" / "A.parquet"
    ranks.write(path, items=np.array([1, 2]))
    again = read_single(path)
    assert columns(again) == columns(ranks)
    assert (again.users.tolist(), again.source) == ([7, 9], "a test")
    names = ["user_id", "item_id", "n_candidates", "n_better", "n_tied"]
    assert pq.read_table(path).column_names == names


def test_several_items_come_back_and_cut_lists_are_not_written(tmp_path):
    ranks = Ranks([9, 8], [1, 4, 0], [0, 0, 3], n_found=[2, 1], users=["b", "a"])
    ranks.write(tmp_path / "r.parquet")
    again = Ranks.read(tmp_path / "r.parquet")
    assert columns(again) == columns(ranks)
    assert again.users.tolist() == ["b", "a"]
    with pytest.raises(InputError, match="cut at some depth"):
        Ranks(**GOOD).write(tmp_path / "cut.parquet")


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        (np.array([7, 9], np.int32), pa.int32()),
        (np.array([-(2**31), 2**31 - 1]), pa.int32()),
        (np.array([7, 2**31]), pa.int64()),
        (np.array([-(2**31) - 1, 7]), pa.int64()),
        (np.array(["007", "b"]), pa.string()),
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


def test_no_users_are_written_as_integers(tmp_path):
    Ranks([], [], [], users=[]).write(tmp_path / "A.parquet")
    assert pq.read_table(tmp_path / "A.parquet").schema.field("user_id").type == pa.int32()


COUNTS = {"n_candidates": [3, 3], "n_better": [1, 0], "n_tied": [0, 0]}


def test_text_of_other_writers_is_read(tmp_path):
    path = tmp_path / "A.parquet"
    for kind in (pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        users = pa.array(["b", "a"], pa.string()).cast(kind)
        pq.write_table(pa.table({"user_id": users, **COUNTS}), path)
        assert Ranks.read(path).users.tolist() == ["b", "a"]


def test_unusable_files_are_named(tmp_path):
    path = tmp_path / "A.parquet"
    for users in ([7, 7], [7, None]):
        pq.write_table(pa.table({"user_id": users, **COUNTS}), path)
        with pytest.raises(InputError, match=r"A\.parquet") as caught:
            read_single(path)
        assert "\n" not in str(caught.value)
    path.write_text("n_candidates,n_better,n_tied\n")
    with pytest.raises(InputError, match=r"A\.parquet: not parquet"):
        Ranks.read(path)


def test_sources_of_several_ranks_are_named_once():
    assert sources(["trained here", "scores; trained here"]) == "scores; trained here"


def test_words_on_the_source_stay_on_one_line_whatever_bytes_they_are(tmp_path):
    path = tmp_path / "r.parquet"
    Ranks([5], [1], [0]).write(path)
    table = pq.read_table(path).replace_schema_metadata({b"source": b"a\nb \xff\x1b[2J"})
    pq.write_table(table, path)
    assert Ranks.read(path).source == "a b \ufffd\\x1b[2J"


def test_a_name_of_several_lines_makes_a_message_of_one(tmp_path):
    path = tmp_path / "a\nb.csv"
    path.write_text("rank\n0\n")
    with pytest.raises(InputError) as caught:
        Ranks.read(path, n_items=9)
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/a b.csv, row 1 (line 2), column rank: {caught.value.problem}"
    ]
