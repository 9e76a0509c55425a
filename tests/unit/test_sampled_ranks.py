import numpy as np
import pandas as pd
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import SampledRanks, Sampling


def test_by_hand(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("sampled_rank,user_id,repetition,n_candidates\n1,a,0,50\n11,b,0,60\n3,a,1,50\n")
    sampled = SampledRanks.read(path, 10)
    assert sampled.sampled_ranks.tolist() == [1, 11, 3]
    assert sampled.users.tolist() == ["a", "b", "a"]
    assert sampled.n_items.tolist() == [50, 60, 50]
    assert (sampled.n_negatives, sampled.sampling) == (10, Sampling.WITHOUT_REPLACEMENT)
    with pytest.raises(InputError, match=r"found n_candidates 50 to 60, but n_items .* is 70"):
        SampledRanks.read(path, 10, 70)


def test_ranks_alone(tmp_path):
    path = tmp_path / "s.tsv"
    path.write_text("sampled_rank\n1\n2.0\n")
    with pytest.raises(InputError, match="no column n_candidates"):
        SampledRanks.read(path, 1)
    sampled = SampledRanks.read(path, 1, 9, "distinct")
    assert sampled.sampled_ranks.tolist() == [1, 2]
    assert (sampled.users, sampled.n_items, sampled.sampling) == (None, 9, Sampling.DISTINCT)


def test_repetitions_need_users(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("sampled_rank,repetition\n1,0\n2,1\n")
    with pytest.raises(InputError, match="column repetition requires column user_id") as caught:
        SampledRanks.read(path, 1, 9)
    assert caught.value.path == path


def test_one_draw_is_not_averaged_twice(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("user_id,repetition,sampled_rank\na,0,1\nb,0,2\na,1,1\na,0,3\n")
    with pytest.raises(InputError, match=r"duplicate of repetition 0, user_id a$") as caught:
        SampledRanks.read(path, 9, 50)
    assert (caught.value.row, caught.value.line) == (4, 5)
    # Several held-out items of a user are several rows.
    path.write_text("user_id,item_id,repetition,sampled_rank\na,x,0,1\na,y,0,3\na,x,1,3\n")
    assert len(SampledRanks.read(path, 9, 50)) == 3
    path.write_text("user_id,item_id,repetition,sampled_rank\na,x,0,1\na,x,0,3\n")
    with pytest.raises(InputError, match="duplicate of repetition 0, user_id a, item_id x"):
        SampledRanks.read(path, 9, 50)


def test_written_rows_come_back(tmp_path):
    one = SampledRanks([1, 4, 2], [9, 8, 7], 3, "with-replacement", ["b", "a", "b"])
    both = SampledRanks.concat([one, one.take([1])])
    both.write(tmp_path / "s.parquet")
    again = SampledRanks.read(tmp_path / "s.parquet")
    for each in (both, again):
        assert each.sampled_ranks.tolist() == [1, 4, 2, 4]
        assert each.n_items.tolist() == [9, 8, 7, 8]
        assert each.users.tolist() == ["b", "a", "b", "a"]
        assert each.sampling is Sampling.WITH_REPLACEMENT
    other = SampledRanks([1], 9, 2)
    with pytest.raises(InputError, match="differ between parts: 3 with-replacement, 2 without-rep"):
        SampledRanks.concat([one, other])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampled_ranks": []}, "no sampled ranks"),
        ({"sampled_ranks": [[1, 2]]}, r"sampled_ranks has shape \(1, 2\)"),
        ({"sampled_ranks": [1.0, 2.0]}, "sampled_ranks has dtype float64"),
        ({"sampled_ranks": [True]}, "sampled_ranks has dtype bool"),
        ({"sampled_ranks": [1, 0]}, "row 2, column sampled_rank: 0, expected 1 to 11"),
        ({"sampled_ranks": [12, 0]}, "row 1, column sampled_rank: 12, expected 1 to 11"),
        ({"n_items": 10}, "n_items is 10, expected more than n_negatives, 10"),
        ({"n_items": [50, 10]}, "n_items is 10, expected more than n_negatives, 10"),
        ({"n_items": [50]}, r"n_items has shape \(1,\)"),
        ({"n_items": 50.0}, "n_items has dtype float64"),
        ({"n_items": None}, "n_items has dtype object"),
        ({"n_negatives": 0}, "n_negatives is 0"),
        ({"sampling": "urn"}, "unknown sampling 'urn'"),
        ({"users": [1]}, r"users has shape \(1,\)"),
        ({"users": np.array([1, 2**63], np.uint64)}, "users holds 9223372036854775808, too large"),
        ({"users": ["a", None]}, "users holds None; expected integers or text"),
        ({"sampled_ranks": np.array([1, 2**63], np.uint64)}, "sampled_ranks holds 922337"),
        ({"n_negatives": 10.0}, "n_negatives is 10.0, expected a whole number"),
    ],
)
def test_invalid_arguments(options, words):
    with pytest.raises(InputError, match=words):
        SampledRanks(**({"sampled_ranks": [1, 2], "n_items": 50, "n_negatives": 10} | options))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_many_rows(tmp_path, suffix):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"user_id": np.arange(10**5), "sampled_rank": rng.integers(1, 101, 10**5)})
    path = tmp_path / f"s.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    sampled = SampledRanks.read(path, 99, 3706)
    assert sampled.sampled_ranks.tolist() == frame["sampled_rank"].tolist()
    assert sampled.users.tolist() == frame["user_id"].tolist()
