"""Where several relevant items a user stand, and what no ranking leaves behind."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.metrics.values import relevant_values
from sampled_metrics.ranks.records import Ranks
from sampled_metrics.ranks.relevant import RelevantRanks
from tests.unit.relevance import untied

# User 0 is fully ranked, user 1 a list of the top 5 with one of three relevant items.
GOOD = {
    "user": [0, 0, 1],
    "n_better": [0, 4, 2],
    "n_tied": [1, 0, 0],
    "n_relevant": [2, 3],
    "n_candidates": [8, 0],
    "depth": [8, 5],
}


def test_columns_become_int64():
    ranks = RelevantRanks([0], np.array([1], np.int32), np.array([0], np.uint8), [2], [0], [9])
    columns = vars(ranks).values()
    assert {column.dtype for column in columns} == {np.dtype(np.int64)}
    assert ranks.n_users == 1


def test_no_users_at_all():
    ranks = RelevantRanks([], [], [], [], [], [])
    for name in ("recall@3", "ap", "auc", "ndcg@3", "rr", "ap-by-hits@2"):
        for ties in ("expected", "optimistic", "random"):
            rng = np.random.default_rng(0)
            values = relevant_values(parse_measure(name), ranks, ties, rng)
            assert values.shape == (0,)
            assert values.dtype == np.float64


def test_records_there_and_back():
    records = Ranks([5, 6], [1, 2], [0, 3])
    back = RelevantRanks.from_records(records).records()
    for column in ("n_candidates", "n_better", "n_tied"):
        np.testing.assert_array_equal(getattr(back, column), getattr(records, column))


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (untied(1, 2, n=5), "1 users have several relevant items; allowed: one held-out item"),
        (
            untied(1, n=0, depth=7),
            r"not known of 1 users \(lists end at rank 7\); allowed: ful",
        ),
        (
            untied(1, n=9, depth=7),
            r"not known of 1 users \(lists end at rank 7\); allowed: ful",
        ),
    ],
)
def test_no_records_of(ranks, message):
    with pytest.raises(InputError, match=message):
        ranks.records()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"user": [0, 0, 2]}, "user is 2 in row 2; allowed: 0 to 1"),
        ({"user": [-1, 0, 1]}, "user is -1 in row 0; allowed: 0 to 1"),
        ({"user": [0, 1, 0]}, "user is 0 in row 2; allowed: at least that of the row before"),
        ({"user": [0, 1]}, "columns of different lengths: {'user': 2, 'n_better': 3, 'n_tie"),
        (
            {"depth": [8]},
            "columns of different lengths: {'n_relevant': 2, 'n_candidates': 2, ",
        ),
        (
            {"depth": [8.0, 5.0]},
            "depth must be a one-dimensional array of integers, found flo",
        ),
        ({"n_tied": [[1, 0, 0]]}, "n_tied must be a one-dimensional array of integers, found"),
        ({"n_better": [-1, 4, 2]}, "n_better is -1 in row 0; allowed: at least 0"),
        ({"n_tied": [0, 0, -2]}, "n_tied is -2 in row 2; allowed: at least 0"),
        ({"n_better": [0, 4, 5]}, "n_better is 5 in row 2; allowed: below its user's depth"),
        (
            {"n_tied": [1, 4, 0]},
            "n_tied is 4 in row 1; allowed: n_better + n_tied below its u",
        ),
        ({"n_relevant": [2, 0]}, "n_relevant is 0 in user 1; allowed: at least 1"),
        (
            {"n_relevant": [1, 3]},
            "n_relevant is 1 in user 0; allowed: at least the relevant i",
        ),
        ({"n_relevant": [9, 3]}, "n_relevant is 9 in user 0; allowed: at most n_candidates"),
        ({"n_relevant": [3, 3]}, "n_relevant is 3 in user 0; allowed: as many as are found a"),
        ({"n_candidates": [8, -1]}, "n_candidates is -1 in user 1; allowed: at least 0"),
        ({"depth": [8, -1]}, "depth is -1 in user 1; allowed: at least 0"),
        ({"depth": [9, 5]}, "depth is 9 in user 0; allowed: at most n_candidates"),
        (
            {"n_better": [0, 0, 2]},
            "user 0 has items with 0 better and 1 tied and with 0 better and 0 tied; allowed: ",
        ),
        (
            {"n_better": [3, 4, 2]},
            "user 0 has items with 3 better and 1 tied and with 4 better and 0 tied; allowed: ",
        ),
        (
            {"n_better": [4, 4, 2], "n_tied": [0, 0, 0]},
            "user 0 has 2 items with 4 better and 0 tied; allowed: at most n_tied + 1",
        ),
    ],
)
def test_what_no_ranking_leaves_behind(changed, message):
    RelevantRanks(**GOOD)
    with pytest.raises(InputError) as caught:
        RelevantRanks(**(GOOD | changed))
    assert message in str(caught.value)
    assert str(caught.value).startswith("relevant ranks: ")
    assert "\n" not in str(caught.value)
