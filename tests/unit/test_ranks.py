import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.records import Ranks, read_ranks, write_ranks


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([10], [0, 1], [0]), "different lengths"),
        (([10], [-1], [0]), "n_better is -1 in row 0; allowed: at least 0"),
        (([10, 10], [0, 0], [0, -2]), "n_tied is -2 in row 1; allowed: at least 0"),
        (([10, 1], [0, 0], [0, 0]), "n_candidates is 1 in row 1; allowed: at least 2"),
        (([10], [10], [0]), "n_better is 10 in row 0; allowed: at most n_candidates - 1"),
        (([10], [5], [5]), "n_tied is 5 in row 0; allowed: n_better . n_tied below N"),
        (([10.0], [0], [0]), "n_candidates must be a one-dimensional array of integers"),
        (([[10]], [0], [0]), "found int64 of shape"),
    ],
)
def test_impossible_counts_are_refused(counts, message):
    with pytest.raises(InputError, match=message):
        Ranks(*counts)


def test_ends_of_the_range():
    records = Ranks([5, 5, 5], [0, 4, 0], [0, 0, 4])
    np.testing.assert_array_equal(records.best_rank, [1, 5, 1])
    np.testing.assert_array_equal(records.worst_rank, [1, 5, 5])
    assert len(records) == 3
    assert len(Ranks([], [], [])) == 0


def test_round_trip(tmp_path):
    records = Ranks([9, 8], [1, 0], [0, 3])
    path = tmp_path / "deep" / "A.parquet"
    write_ranks(path, records, user=np.array([7, 9]), item=np.array([1, 2]), source="a test")
    again, user, source = read_ranks(path)
    for column in ("n_candidates", "n_better", "n_tied"):
        np.testing.assert_array_equal(getattr(again, column), getattr(records, column))
    np.testing.assert_array_equal(user, [7, 9])
    assert source == "a test"
    columns = ["user_id", "item_id", "n_candidates", "n_better", "n_tied"]
    assert pq.read_table(path).column_names == columns


COUNTS = {"n_candidates": [3, 3], "n_better": [1, 0], "n_tied": [0, 0]}


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
    write_ranks(path, Ranks([9, 8], [1, 0], [0, 3]), user=ids, item=ids[::-1], source="-")
    table = pq.read_table(path)
    assert [table.schema.field(name).type for name in ("user_id", "item_id")] == [written] * 2
    assert table["item_id"].to_pylist() == ids[::-1].tolist()
    _, user, _ = read_ranks(path)
    assert user.tolist() == ids.tolist()
    assert user.dtype.kind in "iU"


def test_no_users_are_written_as_integers(tmp_path):
    none = np.empty(0, np.int64)
    write_ranks(tmp_path / "A.parquet", Ranks([], [], []), user=none, source="-")
    assert pq.read_table(tmp_path / "A.parquet").schema.field("user_id").type == pa.int32()


def test_text_of_other_writers_is_read(tmp_path):
    path = tmp_path / "A.parquet"
    for kind in (pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        users = pa.array(["b", "a"], pa.string()).cast(kind)
        pq.write_table(pa.table({"user_id": users, **COUNTS}), path)
        assert read_ranks(path)[1].tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ([7, 7], "user_id 7 stands there more than once; allowed: once"),
        (["b", "b"], "user_id b stands there more than once; allowed: once"),
        ([7, None], "no user_id in row 1; allowed: one in each"),
        ([None, "b"], "no user_id in row 0; allowed: one in each"),
        ([7.0, 8.0], "user_id is of type double; allowed: integers or text"),
        ([True, False], "user_id is of type bool; allowed: integers or text"),
    ],
)
def test_users_must_be_told_apart(tmp_path, users, message):
    path = tmp_path / "A.parquet"
    pq.write_table(pa.table({"user_id": users, **COUNTS}), path)
    with pytest.raises(InputError, match=rf"A\.parquet: {message}"):
        read_ranks(path)


def test_unusable_files_are_named(tmp_path):
    missing = tmp_path / "missing.parquet"
    with pytest.raises(InputError, match=r"missing\.parquet: no such file; expected rank records"):
        read_ranks(missing)
    text = tmp_path / "text.parquet"
    text.write_text("n_candidates,n_better,n_tied\n")
    with pytest.raises(InputError, match=r"text\.parquet: not a readable parquet file"):
        read_ranks(text)
    short = tmp_path / "short.parquet"
    pq.write_table(pa.table({"user_id": [1], "n_candidates": [3], "n_better": [1]}), short)
    with pytest.raises(InputError, match=r"short\.parquet: lacks column n_tied"):
        read_ranks(short)
    with pytest.raises(InputError, match="no such file; expected rank records"):
        read_ranks(tmp_path)
    wrong = tmp_path / "wrong.parquet"
    wrong_counts = {"user_id": [1], "n_candidates": [3], "n_better": [3], "n_tied": [0]}
    pq.write_table(pa.table(wrong_counts), wrong)
    with pytest.raises(InputError, match=r"wrong\.parquet: rank records: n_better is 3 in row 0"):
        read_ranks(wrong)
