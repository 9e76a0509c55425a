"""Thresholds of warnings: cases just below and just above each."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.inputs.warnings import (
    warn_about_candidates_seen,
    warn_about_unused_grades,
)
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.data import as_sampled_ranks
from sampled_metrics.ranks.warnings import (
    warn_about_ranks,
    warn_about_sampled_ranks,
    warn_about_seen_items,
)
from tests.helpers.caught_warnings import (
    full_messages,
    messages_with,
    warnings_of,
    warns_about,
)

M, N = 100, 3541


def low_ranks(rows):
    """Return low sampled ranks, which cause no other warning."""
    return np.resize([1, 2, 3, 4, 5, 6, 7], rows)


def scores_with_equal_rows(equal, rows, width=20):
    """Return scores that rank held-out item 0 first, except for rows of equal scores."""
    scores = np.tile(-np.arange(width, dtype=float), (rows, 1))
    scores[:equal] = 1.0
    return scores


@pytest.mark.parametrize(
    ("equal", "rows", "warns"),
    [(1, 50, True), (1, 100, True), (1, 101, False), (2, 200, True), (49, 49, False)],
)
def test_hundredth_of_rows_without_order_warns(equal, rows, warns, recwarn):
    sm.correct(
        scores_with_equal_rows(equal, rows),
        "hr@1",
        "sampled",
        positive=0,
        n_items=N,
        shape="none",
    )
    assert bool(messages_with(recwarn, "rows are equal")) == warns


@pytest.mark.parametrize(
    ("rows", "low", "warns"),
    [
        (50, 46, True),
        (49, 46, False),
        (50, 44, False),
        (500, 46, True),
        (500, 44, False),
    ],
)
def test_held_out_items_near_the_middle_warn(rows, low, warns, recwarn, tmp_path):
    """Each rank is `low` + 1 of 101: the item is above 100 - `low` percent of its negatives."""
    path = tmp_path / "ranks.csv"
    pd.DataFrame({"sampled_rank": np.full(rows, low + 1)}).to_csv(path, index=False)
    as_sampled_ranks(path, n_negatives=M, n_items=N)
    message = f"above {100 - 100 * low / M:.1f} % of their negatives"
    assert bool(messages_with(recwarn, message)) == warns


@pytest.mark.parametrize(
    ("largest", "near", "warns"),
    [
        (32, 14, True),
        (32, 6, False),
        (7, 12, False),  # many users have low ranks
        (101, 9, False),  # the last place
    ],
)
def test_table_of_ranks_that_end_early_warns(largest, near, warns, recwarn):
    rows = np.append(np.ones(400, np.int64), np.full(near, largest))
    table = pd.DataFrame({"sampled_rank": rows, "n_negatives": M})
    sm.correct(table, "auc", "sampled", n_items=N, shape="none")
    message = f"the largest rank is {largest} of 101, and {near} of {rows.size} rows are near it"
    assert bool(messages_with(recwarn, message)) == warns


@pytest.mark.parametrize(("least", "is_taken"), [(90, True), (89, False), (99, True)])
def test_up_to_a_tenth_fewer_negatives_are_thinned(least, is_taken):
    table = pd.DataFrame(
        {"sampled_rank": low_ranks(40), "n_negatives": np.resize([least, 100], 40)}
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
def test_ranks_of_single_items_give_no_metric_of_all_items(metric):
    ranks = [1, 2, 5, 30] * 20
    users = np.repeat(np.arange(40), 2)
    several = sm.SampledRanks(ranks, 200, 50, users=users, several_items=True)
    with pytest.raises(sm.InputError, match="held-out"):
        sm.correct(several, metric, "cls")
    for taken in ("recall@10", "auc"):
        assert sm.correct(several, taken, "cls", shape="none")[0].n_users == 40


@pytest.mark.parametrize(
    ("candidates", "users", "warns"),
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
def test_ten_users_with_usual_number_of_candidates_warn(
    candidates, users, warns, recwarn
):
    """They may be a held-out item and its negatives; the item may be counted or not."""
    none = np.zeros(users, np.int64)
    sm.evaluate(sm.Ranks(np.full(users, candidates), none, none), "recall@1")
    message = f"all {users} users have {candidates} candidates"
    assert bool(messages_with(recwarn, message)) == warns


def test_different_numbers_of_candidates_do_not_warn(recwarn):
    sm.evaluate(sm.Ranks([100] * 10 + [101], [0] * 11, [0] * 11), "recall@1")
    assert full_messages(recwarn) == []


def test_min_relevance_above_one_needs_grades():
    ranks = sm.Ranks([9, 9], [0, 4], [0, 0])
    for least in (0, 0.5, 1):
        assert ranks.at_least(least).n_better.tolist() == [0, 4]
    with pytest.raises(
        sm.InputError, match=r"min_relevance is 1\.5, but there are no grades"
    ):
        ranks.at_least(1.5)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("m", [5, 100])
def test_ties_by_chance_do_not_warn(share, m, recwarn):
    """Negatives tie independently, so that some rows have several ties."""
    rng = np.random.default_rng(0)
    probability = 1 - (1 - share) ** (1 / m)
    tied = rng.binomial(m, probability, 3000)
    warn_about_sampled_ranks(sm.SampledRanks(np.ones(3000, int), N, m, tied=tied))
    assert not messages_with(recwarn, "itself")


@pytest.mark.parametrize(
    ("rows", "alone", "warns"), [(2000, 600, True), (2000, 190, False), (40, 12, False),
                                (200, 60, True)],
)  # fmt: skip
def test_held_out_item_among_its_negatives_warns(rows, alone, warns, recwarn):
    """Many rows with one tie and none with two: the held-out item is among its negatives.

    By chance, 30 % of rows with a tie among 100 would give 5 % with two, which is 2 of 40 rows.
    """
    tied = np.zeros(rows, np.int64)
    tied[:alone] = 1
    warn_about_sampled_ranks(sm.SampledRanks(low_ranks(rows), N, 100, tied=tied))
    assert (
        any(
            "is it the held-out item itself" in text
            for text in full_messages(recwarn)
        )
        == warns
    )


@pytest.mark.parametrize(
    ("warn", "arguments", "warns"),
    [
        (warn_about_candidates_seen, (10, 10), True),
        (warn_about_candidates_seen, (9, 10), False),
        (warn_about_candidates_seen, (10, 9), False),
        (warn_about_unused_grades, (np.ones(1),), True),
        (warn_about_unused_grades, (None,), False),
    ],
)
def test_ten_users_or_unused_grades_warn(warn, arguments, warns, recwarn):
    warn(*arguments)
    assert len(full_messages(recwarn)) == warns


# Ranks


def repeat_ranks(*parts):
    """Return an array of numbers, each given with how often it occurs."""
    return np.concatenate([np.full(count, number) for number, count in parts])


def warning_text(warn, *arguments):
    """Return what a function warns of, or an empty text."""
    return "\n".join(warnings_of(warn, *arguments))


def full_ranks(ranks, n_candidates, tied=0):
    """Return full rankings with one item per user, by its best rank."""
    ranks = np.asarray(ranks)
    return Ranks(
        np.broadcast_to(n_candidates, ranks.shape),
        ranks - 1,
        np.full(ranks.size, tied),
    )


@pytest.mark.parametrize(
    ("ranks", "warns"),
    [
        (full_ranks(repeat_ranks((52, 60)), 101), True),  # in the middle
        (full_ranks(repeat_ranks((52, 25)), 101), False),  # too few users
        (
            full_ranks(repeat_ranks((1, 30), (80, 30)), 101),
            False,
        ),  # half of them first
        (full_ranks(repeat_ranks((26, 60)), 101), False),  # above three quarters
        (full_ranks(repeat_ranks((2, 60)), 101, 98), True),  # ties count half
        (full_ranks(repeat_ranks((2, 60)), 101, 40), False),
    ],
)
def test_random_order_warns(ranks, warns):
    assert ("random order" in warning_text(warn_about_ranks, ranks)) == warns


@pytest.mark.parametrize(
    ("ranks", "warns"),
    [
        (full_ranks(repeat_ranks((100, 30), (1, 30)), 1000), True),
        (full_ranks(repeat_ranks((100, 30), (1, 30)), 105), False),  # at the end of all candidates
        (full_ranks(repeat_ranks((100, 6), (1, 54)), 400), False),  # chance explains as many
        (full_ranks(repeat_ranks((100, 6), (1, 54)), 1000), True),  # none in the other nine tenths
        (full_ranks(repeat_ranks((4, 30), (1, 30)), 1000), False),  # low ranks are frequent anyway
    ],
)  # fmt: skip
def test_full_ranks_that_end_early_warn(ranks, warns):
    assert ("largest" in warning_text(warn_about_ranks, ranks)) == warns


@pytest.mark.parametrize(
    ("near", "m", "warns"),
    [
        (repeat_ranks((11, 30)), 100, True),
        (repeat_ranks((11, 6)), 100, False),
        (repeat_ranks((100, 30)), 100, False),
        (repeat_ranks((4, 30)), 100, False),
    ],
)
def test_sampled_ranks_that_end_early_warn(near, m, warns):
    ranks = np.append(repeat_ranks((1, 400)), near)
    result = warning_text(warn_about_sampled_ranks, SampledRanks(ranks, 3000, m))
    assert ("the largest rank is" in result) == warns
    distinct = SampledRanks(ranks, 3000, m, "distinct")
    assert "the largest rank is" not in warning_text(
        warn_about_sampled_ranks, distinct
    )


@pytest.mark.parametrize(("n_items", "warns"), [(101, True), (102, False)])
def test_sample_of_all_candidates_warns(n_items, warns):
    result = warning_text(
        warn_about_sampled_ranks,
        SampledRanks(repeat_ranks((1, 4), (2, 1)), n_items, 100),
    )
    assert ("n_items is" in result) == warns


@pytest.mark.parametrize(
    ("tied", "m", "warns"),
    [
        (
            repeat_ranks((1, 90), (0, 210)),
            20,
            True,
        ),  # chance would give about 13 rows with two ties
        (repeat_ranks((1, 40), (0, 60)), 20, True),
        (repeat_ranks((1, 40), (2, 8), (0, 52)), 20, False),
        (repeat_ranks((1, 9), (0, 91)), 20, False),
        (repeat_ranks((1, 40), (0, 60)), 1, False),  # one negative is tied once
    ],
)
def test_single_ties_warn(tied, m, warns):
    ranks = repeat_ranks((1, tied.size - 1), (2, 1))
    result = warning_text(
        warn_about_sampled_ranks, SampledRanks(ranks, 3000, m, tied=tied)
    )
    assert ("check-negatives" in result) == warns


@pytest.mark.parametrize(
    ("tied", "warns"),
    [
        (repeat_ranks((20, 40), (0, 20)), True),
        (repeat_ranks((20, 20), (0, 40)), False),
        (repeat_ranks((5, 40), (0, 20)), False),  # only 5 of 100 negatives
        (repeat_ranks((20, 20), (0, 10)), False),
    ],
)
def test_large_ties_warn(tied, warns):
    ranks = repeat_ranks((1, tied.size - 1), (2, 1))
    result = warning_text(
        warn_about_sampled_ranks, SampledRanks(ranks, 3000, 100, tied=tied)
    )
    assert ("a tenth of their negatives" in result) == warns


@pytest.mark.parametrize(
    ("users", "items", "warns"), [(20, 40, True), (5, 40, False)]
)
def test_all_items_of_all_users_warn(users, items, warns):
    ranks = full_ranks(repeat_ranks((1, users)), items)
    assert bool(warning_text(warn_about_seen_items, ranks, items)) == warns
    assert not warning_text(warn_about_seen_items, ranks, items + 1)


def test_tie_counts_as_worse_rank():
    assert "above" in warning_text(
        warn_about_ranks, full_ranks(repeat_ranks((1, 60)), 101)
    )
    assert "above all of their other" not in warning_text(
        warn_about_ranks, full_ranks(repeat_ranks((1, 60)), 101, 1)
    )
    result = warning_text(
        warn_about_ranks, full_ranks(repeat_ranks((100, 30), (2, 30)), 1000, 9)
    )
    assert "the largest rank is 109 of 1,000" in result


# Coincidences

USERS, ITEMS = 200, 300
RNG = np.random.default_rng(12)


def lists_with(hits, n_users=60, length=20, n_items=400):
    """Return lists, and a relevant item for each, which only the first `hits` lists hold."""
    lists = {
        user: [(user * 7 + place) % n_items for place in range(length)]
        for user in range(n_users)
    }
    relevant = {
        user: [items[0] if user < hits else n_items + 9]
        for user, items in lists.items()
    }
    return lists, relevant


@pytest.mark.parametrize(
    ("hits", "users", "length", "warns"),
    [
        (60, 60, 20, True),
        (59, 60, 20, False),
        (49, 49, 20, False),
        (60, 60, 215, False),
    ],
)
def test_lists_that_hold_every_relevant_item_warn(hits, users, length, warns):
    lists, relevant = lists_with(hits, users, length)
    result = warnings_of(sm.evaluate, lists, "hr@10", relevant=relevant)
    assert any("hold every relevant item" in text for text in result) == warns


@pytest.mark.parametrize(("hits", "warns"), [(15, False), (14, True), (0, True)])
def test_lists_with_hits_by_chance_warn(hits, warns):
    """60 lists of 60 of 401 items have 9.0 hits by chance, so 14 hits are no more than chance."""
    lists, relevant = lists_with(hits, 60, 60)
    n_known = len(
        {item for items in (*lists.values(), *relevant.values()) for item in items}
    )
    expected = 60 * 60 / n_known
    assert expected >= 8
    assert (hits <= expected + 2 * np.sqrt(expected)) == warns
    result = warnings_of(sm.evaluate, lists, "hr@10", relevant=relevant)
    assert any("by chance" in text for text in result) == warns


def test_rows_of_ids_do_not_warn_and_pairs_are_refused():
    lists = {user: [20, 7 + user % 5, user % 7] for user in range(12)}
    pairs = [[user, (user + 1) % 7] for user in range(12)]
    with pytest.raises(sm.InputError, match="2 numbers"):
        sm.evaluate(lists, "hr@1", relevant=pairs)
    for relevant, rows in ((pairs[::-1], 12), (pairs[:9], 9)):
        first = {user: lists[user] for user in range(rows)}
        assert len(sm.evaluate(first, "hr@1", relevant=relevant)) == 1
    two_each = [[int(x) for x in RNG.permutation(9)[:2]] for _ in range(12)]
    assert not warnings_of(sm.evaluate, lists, "hr@1", relevant=two_each)


def good_scores(seed=0):
    """Return scores that rank held-out items near the top, and these items."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(USERS, ITEMS))
    held_out = rng.integers(0, ITEMS, USERS)
    scores[np.arange(USERS), held_out] += 2.5
    return scores, held_out


def random_seen_items(held_out, seed=0):
    seen = np.random.default_rng(seed).random((USERS, ITEMS)) < 0.03
    seen[np.arange(USERS), held_out] = False
    return seen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("low", [-9.0, 0.0])
def test_recommender_that_scores_60_percent_does_not_warn(seed, low):
    """Items that are not scored share one score, below all others or among them."""
    scores, held_out = good_scores(seed)
    is_unscored = np.random.default_rng(seed).random(ITEMS) < 0.4
    scores = np.exp(scores)
    scores[:, is_unscored] = low
    seen = random_seen_items(held_out, seed)
    assert not warnings_of(
        sm.evaluate, scores, "recall@10, ap, auc", relevant=held_out, seen=seen
    )
    lists = {user: np.argsort(-row)[:50].tolist() for user, row in enumerate(scores)}
    assert not warnings_of(
        sm.evaluate, lists, "recall@10", relevant=held_out[:, None].tolist()
    )
    negatives = np.random.default_rng(seed).integers(0, ITEMS, (USERS, 50))
    rows = np.take_along_axis(scores, np.column_stack([held_out, negatives]), axis=1)
    rows += 1e-9 * np.random.default_rng(seed).random(
        rows.shape
    )  # ties are in random order
    options = {"n_items": ITEMS, "positive": 0, "shape": "none"}
    assert not warnings_of(sm.correct, rows, "auc", "sampled", **options)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_of_40_percent_unscored_items_do_not_warn(seed):
    """These items are spread over the last third of the candidates, or in the last place."""
    rng = np.random.default_rng(seed)
    ranks = np.ceil(ITEMS * rng.beta(0.4, 5, USERS)).astype(int)
    for places in (
        rng.integers(ITEMS * 2 // 3, ITEMS + 1, USERS),
        np.full(USERS, ITEMS),
    ):
        ranks[: USERS * 2 // 5] = places[: USERS * 2 // 5]
        assert not warnings_of(sm.evaluate, ranks, "recall@10", n_items=ITEMS)
        sample = 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, 50)
        options = {"n_items": ITEMS, "n_negatives": 50, "shape": "none"}
        assert not warnings_of(sm.correct, sample, "auc", "sampled", **options)
