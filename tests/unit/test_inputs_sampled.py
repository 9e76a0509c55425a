import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks.sampled_tables import read_sampled_ranks


def test_by_hand(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("sampled_rank,user_id,repetition,n_candidates\n1,a,0,50\n11,b,0,60\n3,a,1,50\n")
    sampled = read_sampled_ranks(path, 10, None)
    assert sampled.rank.tolist() == [1, 11, 3]
    assert sampled.user_ids.tolist() == ["a", "b", "a"]
    assert sampled.repetition.tolist() == [0, 0, 1]
    assert sampled.n_candidates.tolist() == [50, 60, 50]
    # What the file says of each row prevails.
    assert read_sampled_ranks(path, 10, 70).n_candidates.tolist() == [50, 60, 50]


def test_ranks_alone(tmp_path):
    path = tmp_path / "s.tsv"
    path.write_text("sampled_rank\n1\n2.0\n")
    sampled = read_sampled_ranks(path, 1, None)
    assert sampled.rank.tolist() == [1, 2]
    assert (sampled.user_ids, sampled.n_candidates, sampled.repetition) == (None, None, None)
    assert read_sampled_ranks(path, 1, 9).n_candidates.tolist() == [9, 9]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_million_rows(tmp_path, suffix):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"user_id": np.arange(10**6), "sampled_rank": rng.integers(1, 101, 10**6)})
    path = tmp_path / f"s.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    sampled = read_sampled_ranks(path, 99, 3706)
    assert sampled.rank.tolist() == frame["sampled_rank"].tolist()
    assert sampled.user_ids.tolist() == frame["user_id"].tolist()
