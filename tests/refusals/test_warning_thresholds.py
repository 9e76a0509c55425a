"""Thresholds of warnings: cases just below and just above each."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.checks.items import signs_of_unused_grades
from sampled_metrics.checks.samples import signs_in_sampled_ranks
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.read.options import as_sampled_ranks
from tests.helpers.caught_warnings import (
    warnings_of,
    warns_about,
    with_warnings,
)

M, N = 100, 3541


def warning_text(warn, *arguments, **options):
    """Return what a function warns of, or an empty text."""
    return "\n".join(warnings_of(warn, *arguments, **options))


def corrected(sample):
    return sm.correct(sample, "auc", "sampled", shape="none")


def full_ranks(ranks, n_candidates, tied=0):
    """Return full rankings with one item per user, by its best rank."""
    count = np.size(ranks)
    return Ranks([n_candidates] * count, np.asarray(ranks) - 1, [tied] * count)


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
def test_hundredth_of_rows_without_order_warns(equal, rows, warns):
    options = {"positive": 0, "n_items": N, "shape": "none"}
    scores = scores_with_equal_rows(equal, rows)
    text = warning_text(sm.correct, scores, "hr@1", "sampled", **options)
    assert ("rows are equal" in text) == warns


@pytest.mark.parametrize(("n_negatives", "warns"), [(8, True), (7, False)])
def test_equal_scores_of_eight_negatives_warn(n_negatives, warns):
    scores = scores_with_equal_rows(equal=10, rows=50, width=1 + n_negatives)
    text = warning_text(sm.correct, scores, "hr@1", "sampled", positive=0, n_items=N, shape="none")
    assert ("rows are equal" in text) == warns


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
def test_held_out_items_near_the_middle_warn(rows, low, warns, tmp_path):
    """Each rank is `low` + 1 of 101: the item is above 100 - `low` percent of its negatives."""
    path = tmp_path / "ranks.csv"
    pd.DataFrame({"sampled_rank": np.full(rows, low + 1)}).to_csv(path, index=False)
    text = warning_text(as_sampled_ranks, path, n_negatives=M, n_items=N)
    message = f"above {100 - 100 * low / M:.1f} % of their negatives"
    assert (message in text) == warns


@pytest.mark.parametrize(
    ("largest", "near", "warns"),
    [
        (32, 14, True),
        (32, 6, False),
        (7, 12, False),  # many users have low ranks
        (101, 9, False),  # the last place
    ],
)
def test_table_of_ranks_that_end_early_warns(largest, near, warns):
    rows = np.append(np.ones(400, np.int64), np.full(near, largest))
    table = pd.DataFrame({"sampled_rank": rows, "n_negatives": M})
    text = warning_text(sm.correct, table, "auc", "sampled", n_items=N, shape="none")
    message = f"the largest rank is {largest} of 101, and {near} of {rows.size} rows are near it"
    assert (message in text) == warns


def with_fewest_negatives(least):
    """Return 40 rows of which every second has fewer than 100 negatives."""
    return pd.DataFrame({"sampled_rank": low_ranks(40), "n_negatives": np.resize([least, 100], 40)})


@pytest.mark.parametrize("least", [90, 99])
def test_up_to_a_tenth_fewer_negatives_are_thinned(least):
    with warns_about(f"20 of 40 rows have more than {least} negatives"):
        (result,) = sm.correct(with_fewest_negatives(least), "auc", "sampled", n_items=N)
    assert result.n_negatives == least


def test_more_than_a_tenth_fewer_negatives_are_refused():
    with pytest.raises(sm.InputError, match="89 to 100"):
        sm.correct(with_fewest_negatives(89), "auc", "sampled", n_items=N)


# Sampled ranks of two items of each of 40 users, one by one.
TWO_ITEMS_EACH = sm.SampledRanks(
    [1, 2, 5, 30] * 20, 200, 50, users=np.repeat(np.arange(40), 2), several_items=True
)


@pytest.mark.filterwarnings("ignore:.*the largest rank")
@pytest.mark.parametrize("metric", ["ndcg@10", "ap", "rr@5", "hit@3", "f1@4", "precision@2"])
def test_ranks_of_single_items_give_no_metric_of_all_items(metric):
    with pytest.raises(sm.InputError, match="held-out"):
        sm.correct(TWO_ITEMS_EACH, metric, "cls")


@pytest.mark.filterwarnings("ignore:.*the largest rank")
@pytest.mark.parametrize("metric", ["recall@10", "auc"])
def test_ranks_of_single_items_give_metrics_of_single_items(metric):
    (result,) = sm.correct(TWO_ITEMS_EACH, metric, "cls", shape="none")
    assert result.n_users == 40


@pytest.mark.parametrize("m", [20, 50, 99, 100, 200, 500, 999, 1000])
def test_ten_users_with_usual_number_of_candidates_warn(m):
    """They may be a held-out item and its m negatives."""
    ranks = full_ranks(np.ones(10, int), m + 1)
    message = f"all 10 users have {m + 1} candidates"
    assert message in warning_text(sm.evaluate, ranks, "recall@1")


@pytest.mark.parametrize(
    ("n_candidates", "users"),
    [(100, 9), (20, 10), (22, 10), (50, 10), (200, 10), (500, 10), (1002, 10)],
)
def test_other_number_of_candidates_or_users_does_not_warn(n_candidates, users):
    ranks = full_ranks(np.ones(users, int), n_candidates)
    assert "candidates" not in warning_text(sm.evaluate, ranks, "recall@1")


def test_candidates_of_users_with_several_relevant_items_do_not_warn():
    """Such as 100 items of an impression, two of which were clicked."""
    ranks = sm.Ranks([100] * 10, [0, 1] * 10, [0] * 20, n_found=[2] * 10)
    assert not warnings_of(sm.evaluate, ranks, "recall@2")


def test_different_numbers_of_candidates_do_not_warn():
    ranks = sm.Ranks([100] * 10 + [101], [0] * 11, [0] * 11)
    assert not warnings_of(sm.evaluate, ranks, "recall@1")


WITHOUT_GRADES = sm.Ranks([9, 9], [0, 4], [0, 0])


@pytest.mark.parametrize("least", [0, 0.5, 1])
def test_items_without_grades_have_grade_1(least):
    assert WITHOUT_GRADES.at_least(least).n_better.tolist() == [0, 4]


def test_min_relevance_above_one_needs_grades():
    with pytest.raises(sm.InputError, match=r"min_relevance is 1\.5"):
        WITHOUT_GRADES.at_least(1.5)


@pytest.mark.parametrize(("share", "m"), [(0.02, 100), (0.05, 5), (0.2, 100), (0.5, 5)])
def test_ties_by_chance_do_not_warn(share, m):
    """Negatives tie independently, so that some rows have several ties."""
    probability = 1 - (1 - share) ** (1 / m)
    tied = np.random.default_rng(0).binomial(m, probability, 3000)
    sample = SampledRanks(np.ones(3000, int), N, m, tied=tied)
    assert "itself" not in warning_text(signs_in_sampled_ranks, sample)


@pytest.mark.parametrize(("grades", "warns"), [(np.ones(1), True), (None, False)])
def test_unused_grades_warn(grades, warns):
    assert len(warnings_of(signs_of_unused_grades, grades)) == warns


@pytest.mark.parametrize(("users", "items", "noted"), [(10, 10, 1), (9, 10, 0), (10, 9, 0)])
def test_scores_of_all_items_for_ten_users_are_noted(users, items, noted):
    """Each user has another held-out item, which is first."""
    scores = np.eye(users, items) + np.arange(items) / 1000
    relevant = np.where(np.arange(users) < items, np.arange(users), -1)
    results, warned = with_warnings(sm.evaluate, scores, "hr@1", relevant=relevant)
    assert [note.partition(":")[0] for note in results.notes].count("seen") == noted
    assert not warned


# Ranks


def repeat_ranks(*parts):
    """Return an array of numbers, each given with how often it occurs."""
    return np.concatenate([np.full(count, number) for number, count in parts])


FIRST_OR_100 = repeat_ranks((100, 30), (1, 30))
FEW_AT_100 = repeat_ranks((100, 6), (1, 54))
QUANTILES = (np.arange(600) + 0.5) / 600
HEAVY_TAIL = np.ceil(QUANTILES**-0.5).astype(int)  # of a very good recommender, up to 35
SHORT_TAIL = np.ceil(-10 * np.log(QUANTILES)).astype(int)  # such as among 100 sampled items


@pytest.mark.parametrize(
    ("ranks", "n_candidates", "tied", "message", "warns"),
    [
        (repeat_ranks((52, 60)), 101, 0, "random order", True),  # in the middle
        (repeat_ranks((52, 25)), 101, 0, "random order", False),  # too few users
        (repeat_ranks((1, 30), (80, 30)), 101, 0, "random order", False),  # half of them first
        (repeat_ranks((26, 60)), 101, 0, "random order", False),  # above three quarters
        (repeat_ranks((2, 60)), 101, 98, "random order", True),  # ties count half
        (repeat_ranks((2, 60)), 101, 40, "random order", False),
        (FIRST_OR_100, 1000, 0, "largest", True),
        (FIRST_OR_100, 105, 0, "largest", False),  # at the end of all candidates
        (HEAVY_TAIL, 2000, 0, "largest", False),
        (SHORT_TAIL, 2000, 0, "the largest rank is 71 of 2,000", True),
        (SHORT_TAIL, 354, 0, "largest", False),  # less than five times as many
        (FEW_AT_100, 400, 0, "largest", False),  # chance explains as many
        (FEW_AT_100, 1000, 0, "largest", True),  # none in the other nine tenths
        (repeat_ranks((4, 30), (1, 30)), 1000, 0, "largest", False),  # low ranks are frequent
        # a tie counts as the worse rank
        (repeat_ranks((100, 30), (2, 30)), 1000, 9, "the largest rank is 109 of 1,000", True),
        (repeat_ranks((1, 60)), 101, 0, "above all of their other", True),
        (repeat_ranks((1, 60)), 101, 1, "above all of their other", False),
    ],
)  # fmt: skip
def test_full_ranks_warn(ranks, n_candidates, tied, message, warns):
    text = warning_text(sm.evaluate, full_ranks(ranks, n_candidates, tied), "auc")
    assert (message in text) == warns


@pytest.mark.parametrize(
    ("last", "count", "warns"),
    [(11, 30, True), (11, 6, False), (100, 30, False), (4, 30, False)],
)
def test_sampled_ranks_that_end_early_warn(last, count, warns):
    ranks = repeat_ranks((1, 400), (last, count))
    text = warning_text(signs_in_sampled_ranks, SampledRanks(ranks, 3000, 100))
    assert ("the largest rank is" in text) == warns
    distinct = SampledRanks(ranks, 3000, 100, "distinct")
    assert "the largest" not in warning_text(signs_in_sampled_ranks, distinct)


@pytest.mark.parametrize(("n_items", "warns"), [(101, True), (102, False)])
def test_sample_of_all_candidates_warns(n_items, warns):
    sample = SampledRanks(repeat_ranks((1, 4), (2, 1)), n_items, 100)
    assert ("n_items is" in warning_text(corrected, sample)) == warns


ITSELF = "is it the held-out item itself"


@pytest.mark.parametrize(
    ("tied", "m", "message", "warns"),
    [
        # Many rows with one tie and none with two: the held-out item is among its negatives. By
        # chance, 30 % of rows with a tie among 100 give 5 % with two, which is 2 of 40 rows.
        (repeat_ranks((1, 600), (0, 1400)), 100, ITSELF, True),
        (repeat_ranks((1, 190), (0, 1810)), 100, ITSELF, False),
        (repeat_ranks((1, 12), (0, 28)), 100, ITSELF, False),
        (repeat_ranks((1, 60), (0, 140)), 100, ITSELF, True),
        # By chance about 13 rows have two ties.
        (repeat_ranks((1, 90), (0, 210)), 20, "check-negatives", True),
        (repeat_ranks((1, 40), (0, 60)), 20, "check-negatives", True),
        (repeat_ranks((1, 40), (2, 8), (0, 52)), 20, "check-negatives", False),
        (repeat_ranks((1, 9), (0, 91)), 20, "check-negatives", False),
        (repeat_ranks((1, 40), (0, 60)), 1, "check-negatives", False),  # tied once
        (repeat_ranks((20, 40), (0, 20)), 100, "a tenth of their negatives", True),
        (repeat_ranks((20, 20), (0, 40)), 100, "a tenth of their negatives", False),
        (repeat_ranks((5, 40), (0, 20)), 100, "a tenth of their negatives", False),  # 5 of 100
        (repeat_ranks((20, 20), (0, 10)), 100, "a tenth of their negatives", False),
    ],
)  # fmt: skip
def test_ties_of_sampled_ranks_warn(tied, m, message, warns):
    ranks = repeat_ranks((1, tied.size - 1), (2, 1))
    text = warning_text(corrected, SampledRanks(ranks, N, m, tied=tied))
    assert (message in text) == warns


# Coincidences

USERS, ITEMS = 200, 300


def lists_with(hits, n_users=60, length=20, n_items=400):
    """Return lists, and a relevant item for each, which only the first `hits` lists hold."""
    lists = {
        user: [(user * 7 + place) % n_items for place in range(length)] for user in range(n_users)
    }
    relevant = {user: [items[0] if user < hits else n_items + 9] for user, items in lists.items()}
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
    assert any("contain every relevant item" in text for text in result) == warns


@pytest.mark.parametrize(("hits", "warns"), [(15, False), (14, True), (0, True)])
def test_lists_with_hits_by_chance_warn(hits, warns):
    """60 lists of 60 of 401 items have 60 * 60 / 401 = 9.0 hits by chance.

    Up to two standard deviations more, 9.0 + 2 * 3.0 = 15.0, are no more than chance.
    """
    lists, relevant = lists_with(hits, n_users=60, length=60)
    known = {item for items in (*lists.values(), *relevant.values()) for item in items}
    expected = 60 * 60 / len(known)
    assert (hits <= expected + 2 * np.sqrt(expected)) == warns
    messages = warnings_of(sm.evaluate, lists, "hr@10", relevant=relevant)
    assert any("by chance" in text for text in messages) == warns


LISTS_OF_12 = {user: [20, 7 + user % 5, user % 7] for user in range(12)}
PAIRS_OF_12 = [[user, (user + 1) % 7] for user in range(12)]


def test_pairs_of_user_and_item_as_relevant_items_of_rows_are_refused():
    with pytest.raises(sm.InputError, match="2 numbers"):
        sm.evaluate(LISTS_OF_12, "hr@1", relevant=PAIRS_OF_12)


@pytest.mark.parametrize(
    "rows", [PAIRS_OF_12[::-1], PAIRS_OF_12[:9]], ids=["not in order", "nine rows"]
)
def test_rows_of_two_items_are_read(rows):
    lists = {user: LISTS_OF_12[user] for user in range(len(rows))}
    assert len(sm.evaluate(lists, "hr@1", relevant=rows)) == 1


def test_rows_of_two_items_do_not_warn():
    rng = np.random.default_rng(13)
    two_each = [[int(x) for x in rng.permutation(9)[:2]] for _ in range(12)]
    assert not warnings_of(sm.evaluate, LISTS_OF_12, "hr@1", relevant=two_each)


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
@pytest.mark.parametrize("low", [-9.0, 0.0], ids=["below all", "among them"])
class TestSixtyPercentScored:
    """Items that are not scored share one score, below all others or among them."""

    @pytest.fixture
    def scores_and_held_out(self, seed, low):
        scores, held_out = good_scores(seed)
        is_unscored = np.random.default_rng(seed).random(ITEMS) < 0.4
        return np.where(is_unscored, low, np.exp(scores)), held_out

    def test_scores_do_not_warn(self, scores_and_held_out, seed):
        scores, held_out = scores_and_held_out
        options = {"relevant": held_out, "seen": random_seen_items(held_out, seed)}
        assert not warnings_of(sm.evaluate, scores, "recall@10, ap, auc", **options)

    def test_lists_do_not_warn(self, scores_and_held_out):
        scores, held_out = scores_and_held_out
        lists = {user: np.argsort(-row)[:50].tolist() for user, row in enumerate(scores)}
        relevant = held_out[:, None].tolist()
        assert not warnings_of(sm.evaluate, lists, "recall@10", relevant=relevant)

    def test_samples_do_not_warn(self, scores_and_held_out, seed):
        """Ties are in random order."""
        scores, held_out = scores_and_held_out
        negatives = np.random.default_rng(seed).integers(0, ITEMS, (USERS, 50))
        rows = np.take_along_axis(scores, np.column_stack([held_out, negatives]), axis=1)
        rows += 1e-9 * np.random.default_rng(seed).random(rows.shape)
        options = {"n_items": ITEMS, "positive": 0, "shape": "none"}
        assert not warnings_of(sm.correct, rows, "auc", "sampled", **options)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_of_40_percent_unscored_items_do_not_warn(seed):
    """These items are spread over the last third of the candidates, or in the last place."""
    rng = np.random.default_rng(seed)
    ranks = np.ceil(ITEMS * rng.beta(0.4, 5, USERS)).astype(int)
    spread = rng.integers(ITEMS * 2 // 3, ITEMS + 1, USERS)
    for places in (spread, np.full(USERS, ITEMS)):
        ranks[: USERS * 2 // 5] = places[: USERS * 2 // 5]
        assert not warnings_of(sm.evaluate, ranks, "recall@10", n_items=ITEMS)
        sample = 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, 50)
        options = {"n_items": ITEMS, "n_negatives": 50, "shape": "none"}
        assert not warnings_of(sm.correct, sample, "auc", "sampled", **options)
