"""Folders of parquet files, as Spark and Dask write them, are read as one table."""

import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.read import large_files

# ranks 1, 3, 2 and 5 of four users among 9 candidates
RANKS = pd.DataFrame(
    {"user_id": [4, 2, 9, 7], "n_candidates": 9, "n_better": [0, 2, 1, 4], "n_tied": 0}
)
HITS_AT_2 = (1 + 0 + 1 + 0) / 4


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "ranks"
    folder.mkdir()
    RANKS[:3].to_parquet(folder / "part-0.snappy.parquet")
    RANKS[3:].to_parquet(folder / "part-1.snappy.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.snappy.parquet.crc").touch()
    (folder / "_temporary.parquet").touch()
    return folder


@pytest.mark.parametrize("block_size", [2, None])
def test_folder_of_ranks_is_read_as_one_table(folder, monkeypatch, block_size):
    if block_size is not None:  # the reader of large files
        monkeypatch.setattr(large_files, "LARGE_FILE_ROWS", 4)
        monkeypatch.setattr(large_files, "ROWS_AT_A_TIME", block_size)
    (hits,) = sm.evaluate(folder, "hr@2")
    assert (hits.value, hits.n_users) == (HITS_AT_2, 4)
    assert sm.evaluate(str(folder), "hr@2")[0].value == HITS_AT_2


def test_folders_are_compared_by_name(folder):
    (result,) = sm.compare({"A": str(folder), "B": RANKS.assign(n_better=8)}, "hr@2")
    assert (result.value_a, result.value_b) == (HITS_AT_2, 0.0)


def test_user_in_two_files_is_one_user(folder):
    RANKS[:1].assign(n_better=8).to_parquet(folder / "part-2.parquet")
    (recall,) = sm.evaluate(folder, "recall@2")
    assert (recall.value, recall.n_users) == ((1 / 2 + 0 + 1 + 0) / 4, 4)


def test_folder_without_parquet_files_is_refused(tmp_path):
    (tmp_path / "ranks.csv").write_text("user_id,rank\n1,1\n")
    with pytest.raises(sm.InputError, match="parquet"):
        sm.evaluate(tmp_path, "hr@2")


def test_files_of_other_columns_are_refused(folder):
    pd.DataFrame({"user": [1], "title": ["a"]}).to_parquet(folder / "part-2.parquet")
    with pytest.raises(sm.InputError) as caught:
        sm.evaluate(folder, "hr@2")
    assert caught.value.path == folder
