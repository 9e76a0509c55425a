"""`SampledRanks`: reading, writing, wrong arguments."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import SampledRanks, Sampling
from sampled_metrics.read.options import as_sampled_ranks


@pytest.fixture
def table(tmp_path):
    """Write a table, and return its path."""

    def write(text):
        (tmp_path / "s.csv").write_text(text)
        return tmp_path / "s.csv"

    return write


def test_columns_of_a_table_are_read(table):
    path = table("sampled_rank,user_id,repetition,n_candidates\n1,a,0,50\n11,b,0,60\n3,a,1,50\n")
    sampled = as_sampled_ranks(path, n_negatives=10)
    assert sampled.sampled_ranks.tolist() == [1, 11, 3]
    assert sampled.users.tolist() == ["a", "b", "a"]
    assert sampled.n_items.tolist() == [50, 60, 50]
    assert (sampled.n_negatives, sampled.sampling) == (10, Sampling.WITHOUT_REPLACEMENT)


def test_options_describe_a_table_of_ranks_alone(table):
    path = table("sampled_rank\n1\n2.0\n")
    sampled = as_sampled_ranks(path, n_negatives=1, n_items=9, sampling="distinct")
    assert sampled.sampled_ranks.tolist() == [1, 2]
    assert (sampled.users, sampled.n_items) == (None, 9)
    assert sampled.sampling == Sampling.DISTINCT


def test_several_rows_of_a_user_in_one_repetition_are_several_items(table):
    path = table("user_id,item_id,repetition,sampled_rank\na,x,0,1\na,y,0,3\na,x,1,3\n")
    assert as_sampled_ranks(path, n_negatives=9, n_items=50).several_items


@pytest.mark.parametrize(
    ("options", "missing"),
    [({"n_negatives": 1}, "column n_candidates"), ({"n_items": 9}, "negatives")],
)
def test_table_without_a_number_and_no_option_is_refused(table, options, missing):
    with pytest.raises(InputError, match=missing):
        as_sampled_ranks(table("sampled_rank\n1\n2\n"), **options)


def test_option_that_contradicts_a_column_is_refused(table):
    path = table("sampled_rank,n_candidates\n1,50\n11,60\n")
    with pytest.raises(InputError, match=r"n_candidates 50 to 60.* 70"):
        as_sampled_ranks(path, n_negatives=10, n_items=70)


def test_write_round_trip(tmp_path):
    users = ["b", "a", "b"]
    sampled = SampledRanks([1, 4, 2], [9, 8, 7], 3, "with-replacement", users)
    sampled.take([1, 0]).write(tmp_path / "s.parquet")
    again = as_sampled_ranks(tmp_path / "s.parquet")
    assert again.sampled_ranks.tolist() == [4, 1]
    assert again.n_items.tolist() == [8, 9]
    assert again.users.tolist() == ["a", "b"]
    assert (again.n_negatives, again.sampling) == (3, Sampling.WITH_REPLACEMENT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampled_ranks": []}, "no sampled ranks"),
        ({"sampled_ranks": [[1, 2]]}, r"sampled_ranks has shape \(1, 2\)"),
        ({"sampled_ranks": [1.0, 2.0]}, "sampled_ranks has dtype float64"),
        ({"sampled_ranks": [1, 0]}, "row 2, column sampled_rank: found 0; .* 1 to 11"),
        ({"n_items": 10}, "n_items is 10, .* 10"),
        ({"n_items": [50]}, r"n_items has shape \(1,\)"),
        ({"n_negatives": 0}, "n_negatives is 0"),
        ({"sampling": "urn"}, "unknown sampling 'urn'"),
        ({"users": [1]}, r"users has shape \(1,\)"),
        ({"users": np.array([1, 2**63], np.uint64)}, "users contains 9223372036854775808"),
        ({"users": ["a", None]}, "users contains None"),
        ({"n_negatives": 10.0}, "n_negatives is 10.0"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(options, message):
    arguments = {"sampled_ranks": [1, 2], "n_items": 50, "n_negatives": 10} | options
    with pytest.raises(InputError, match=message):
        SampledRanks(**arguments)
