"""From which counts on a question is asked of data, or an answer refused: just below and at it."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.inputs.warnings import (
    warn_about_candidates_seen,
    warn_about_unused_grades,
)
from sampled_metrics.ranks.data import as_sampled
from sampled_metrics.ranks.warnings import warn_about_sampled_ranks
from tests.helpers.caught_warnings import full_messages, warns_about

M, N = 100, 3541


def good_ranks(rows):
    """Low sampled ranks, so that no other question is asked."""
    return np.resize([1, 2, 3, 4, 5, 6, 7], rows)


def scores_with(equal, rows, width=20):
    """Scores by which held-out item 0 is first; all scores of the first rows are equal."""
    scores = np.tile(-np.arange(width, dtype=float), (rows, 1))
    scores[:equal] = 1.0
    return scores


@pytest.mark.parametrize(
    ("equal", "rows", "asks"),
    [(1, 50, True), (1, 100, True), (1, 101, False), (2, 200, True), (49, 49, False)],
)
def test_a_hundredth_of_fifty_rows_without_an_order(equal, rows, asks, recwarn):
    sm.correct(
        scores_with(equal, rows),
        "hr@1",
        "sampled",
        positive=0,
        n_items=N,
        shape="none",
    )
    assert any("rows are equal" in each for each in full_messages(recwarn)) == asks


@pytest.mark.parametrize(
    ("rows", "low", "asks"),
    [
        (50, 46, True),
        (49, 46, False),
        (50, 44, False),
        (500, 46, True),
        (500, 44, False),
    ],
)
def test_held_out_items_above_55_percent_of_fifty_rows(
    rows, low, asks, recwarn, tmp_path
):
    """All ranks are `low` + 1 of 101: the items are above 100 - `low` percent of the negatives."""
    path = tmp_path / "ranks.csv"
    pd.DataFrame({"sampled_rank": np.full(rows, low + 1)}).to_csv(path, index=False)
    as_sampled(path, n_negatives=M, n_items=N)
    words = f"above {1 - low / M:.1%} of their negatives"
    assert any(words in each for each in full_messages(recwarn)) == asks


@pytest.mark.parametrize(
    ("largest", "near", "asks"),
    [
        (32, 14, True),
        (32, 6, False),
        (7, 12, False),  # many users have low ranks
        (101, 9, False),  # all that can be
    ],
)
def test_ranks_that_end_early(largest, near, asks, recwarn):
    rows = np.append(np.ones(400, np.int64), np.full(near, largest))
    table = pd.DataFrame({"sampled_rank": rows, "n_negatives": M})
    sm.correct(table, "auc", "sampled", n_items=N, shape="none")
    words = f"the largest rank is {largest} of 101, and {near} of {rows.size} rows are near it"
    assert any(words in each for each in full_messages(recwarn)) == asks


@pytest.mark.parametrize(("least", "is_taken"), [(90, True), (89, False), (99, True)])
def test_at_most_a_tenth_fewer_negatives(least, is_taken):
    table = pd.DataFrame(
        {"sampled_rank": good_ranks(40), "n_negatives": np.resize([least, 100], 40)}
    )
    if is_taken:
        with warns_about(f"20 of 40 rows have more than {least} negatives"):
            result = sm.correct(table, "auc", "sampled", n_items=N)
        assert result[0].n_negatives == least
    else:
        with pytest.raises(sm.InputError, match="89 to 100"):
            sm.correct(table, "auc", "sampled", n_items=N)


@pytest.mark.filterwarnings("ignore:.*the largest rank")
@pytest.mark.parametrize(
    "metric", ["ndcg@10", "ap", "rr@5", "hit@3", "f1@4", "precision@2"]
)
def test_ranks_of_several_items_do_not_give_metrics_of_all_of_them(metric):
    ranks = [1, 2, 5, 30] * 20
    users = np.repeat(np.arange(40), 2)
    several = sm.SampledRanks(ranks, 200, 50, users=users, several_items=True)
    with pytest.raises(sm.InputError, match="held-out"):
        sm.correct(several, metric, "cls")
    for taken in ("recall@10", "auc"):
        assert sm.correct(several, taken, "cls", shape="none")[0].n_users == 40


@pytest.mark.parametrize(
    ("candidates", "users", "asks"),
    [
        (m + more, 10, True)
        for m in (20, 50, 99, 100, 200, 500, 999, 1000)
        for more in (0, 1)
    ]
    + [
        (100, 9, False),
        (19, 10, False),
        (22, 10, False),
        (300, 10, False),
        (1002, 10, False),
    ],
)
def test_ten_users_with_a_usual_number_of_candidates(
    candidates, users, asks, recwarn
):
    """Their lists may be a held-out item and its negatives, with or without that item counted."""
    none = np.zeros(users, np.int64)
    sm.evaluate(sm.Ranks(np.full(users, candidates), none, none), "recall@1")
    words = f"all {users} users have {candidates} candidates"
    assert any(words in each for each in full_messages(recwarn)) == asks


def test_different_numbers_of_candidates_are_not_asked_about(recwarn):
    sm.evaluate(sm.Ranks([100] * 10 + [101], [0] * 11, [0] * 11), "recall@1")
    assert full_messages(recwarn) == []


def test_items_without_grades_are_relevant_up_to_a_grade_of_one():
    ranks = sm.Ranks([9, 9], [0, 4], [0, 0])
    for least in (0, 0.5, 1):
        assert ranks.at_least(least).n_better.tolist() == [0, 4]
    with pytest.raises(
        sm.InputError, match=r"min_relevance .* is 1\.5, but there are no grades"
    ):
        ranks.at_least(1.5)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("m", [5, 100])
def test_ties_by_chance_are_not_asked_about(share, m, recwarn):
    """Each negative has the held-out item's score by itself; then several of them do as well."""
    rng = np.random.default_rng(0)
    each = 1 - (1 - share) ** (1 / m)
    tied = rng.binomial(m, each, 3000)
    warn_about_sampled_ranks(sm.SampledRanks(np.ones(3000, int), N, m, tied=tied))
    assert not any("itself" in each for each in full_messages(recwarn))


@pytest.mark.parametrize(
    ("rows", "alone", "asks"), [(2000, 600, True), (2000, 190, False), (40, 12, False),
                                (200, 60, True)],
)  # fmt: skip
def test_held_out_items_among_their_negatives_are_asked_about(
    rows, alone, asks, recwarn
):
    """Rows with exactly one tie, and none with two: the held-out item itself, if they are many.

    By chance 30 % of ties among 100 would give 5 % with two; of 40 rows these are 2.
    """
    tied = np.zeros(rows, np.int64)
    tied[:alone] = 1
    warn_about_sampled_ranks(sm.SampledRanks(good_ranks(rows), N, 100, tied=tied))
    assert (
        any(
            "is it the held-out item itself" in each
            for each in full_messages(recwarn)
        )
        == asks
    )


@pytest.mark.parametrize(
    ("question", "given", "asks"),
    [
        (warn_about_candidates_seen, (10, 10), True),
        (warn_about_candidates_seen, (9, 10), False),
        (warn_about_candidates_seen, (10, 9), False),
        (warn_about_unused_grades, (np.ones(1),), True),
        (warn_about_unused_grades, (None,), False),
    ],
)
def test_ten_users_are_asked_about(question, given, asks, recwarn):
    question(*given)
    assert len(full_messages(recwarn)) == asks
