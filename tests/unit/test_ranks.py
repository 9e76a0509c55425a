import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sampled_metrics.errors import InputError
from sampled_metrics.ranks import RankRecords, read_ranks, write_ranks


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
        RankRecords(*counts)


def test_ends_of_the_range():
    records = RankRecords([5, 5, 5], [0, 4, 0], [0, 0, 4])
    np.testing.assert_array_equal(records.best_rank, [1, 5, 1])
    np.testing.assert_array_equal(records.worst_rank, [1, 5, 5])
    assert len(records) == 3
    assert len(RankRecords([], [], [])) == 0


def test_round_trip(tmp_path):
    records = RankRecords([9, 8], [1, 0], [0, 3])
    path = tmp_path / "deep" / "A.parquet"
    write_ranks(path, records, user=np.array([7, 9]), item=np.array([1, 2]), source="a test")
    again, user, source = read_ranks(path)
    for column in ("n_candidates", "n_better", "n_tied"):
        np.testing.assert_array_equal(getattr(again, column), getattr(records, column))
    np.testing.assert_array_equal(user, [7, 9])
    assert source == "a test"
    columns = ["user_id", "item_id", "n_candidates", "n_better", "n_tied"]
    assert pq.read_table(path).column_names == columns


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
    for name, users in (("twice", [7, 7]), ("text", ["a", "b"])):
        path = tmp_path / f"{name}.parquet"
        counts = {"n_candidates": [3, 3], "n_better": [1, 0], "n_tied": [0, 0]}
        pq.write_table(pa.table({"user_id": users, **counts}), path)
        with pytest.raises(InputError, match=rf"{name}\.parquet: user_id must be integers, each"):
            read_ranks(path)
    wrong = tmp_path / "wrong.parquet"
    wrong_counts = {"user_id": [1], "n_candidates": [3], "n_better": [3], "n_tied": [0]}
    pq.write_table(pa.table(wrong_counts), wrong)
    with pytest.raises(InputError, match=r"wrong\.parquet: rank records: n_better is 3 in row 0"):
        read_ranks(wrong)
