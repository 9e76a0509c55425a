"""From which numbers on each question is asked: data at the bound and just before it, by hand."""

import warnings

import numpy as np
import pytest

from sampled_metrics import InputWarning
from sampled_metrics.inputs import questions
from sampled_metrics.ranks import Ranks, SampledRanks

ROWS = 50  # from which on most questions are asked


def rows(*parts):
    """An array of parts, each a number and how often it occurs."""
    return np.concatenate([np.full(count, number) for number, count in parts])


def asked(question, *given):
    """What a question says of some data; an empty text if it is not asked."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(questions, question)(*given)
    assert all(issubclass(one.category, InputWarning) for one in caught)
    return "\n".join(str(one.message) for one in caught)


def full(ranks, n_candidates, tied=0):
    """Full rankings of one item per user by their best ranks."""
    ranks = np.asarray(ranks)
    return Ranks(np.broadcast_to(n_candidates, ranks.shape), ranks - 1, np.full(ranks.size, tied))


def lists(steps):
    """A list of one user by its scores, from a place to the next."""
    score = np.append(0, np.cumsum(steps))
    return np.zeros(score.size, int), np.arange(score.size), score.astype(float)


def matrix(lengths, width=6, filler=9.0):
    """Scores 0, 1, 2 ... of each row, filled up from a length on."""
    scores = np.tile(np.arange(width, dtype=float), (len(lengths), 1))
    scores += 10 * np.arange(len(lengths))[:, None]
    scores[np.arange(width) >= np.asarray(lengths)[:, None]] = filler
    return scores


@pytest.mark.parametrize(
    ("n_seen", "n_relevant", "users", "words"),
    [
        (10, 31, 10, "users have 3.1 relevant items and have seen 1"),
        (10, 31, 9, ""),
        (9, 31, 10, ""),
        (10, 30, 10, ""),
    ],
)
def test_seen_and_relevant(n_seen, n_relevant, users, words):
    found = asked("ask_of_seen_and_relevant", n_seen, n_relevant, users)
    assert words in found if words else not found


@pytest.mark.parametrize(("n_common", "n_ids", "asks"), [(1, 11, True), (1, 10, False)])
def test_few_ids_in_common(n_common, n_ids, asks):
    found = asked("ask_of_few_common", "the users of seen", n_common, "the lists", n_ids)
    words = f"seen: {n_common} of {n_ids} ids of the users of seen and the lists are in both"
    assert found.startswith(words) if asks else not found


@pytest.mark.parametrize(
    ("falling", "rising", "asks"),
    [(6, 44, True), (5, 45, False), (44, 6, True), (45, 5, False), (25, 25, True), (25, 24, False)],
)
def test_ranks_and_scores(falling, rising, asks):
    """The smaller half of the steps down is none at all, which counts as down."""
    down = rows((-1, falling // 2), (0, falling - falling // 2))
    user, rank, score = lists(np.append(down, rows((1, rising))))
    words = f"in {falling / (falling + rising):.0%} of rows" if asks else ""
    assert words in asked("ask_of_rank_and_score", user, rank, score)
    assert asks == bool(asked("ask_of_rank_and_score", user, rank, score))
    # Rows in any order, and a second user whose only item has no step.
    order = np.random.default_rng(0).permutation(user.size + 1)
    given = (np.append(user, 1)[order], np.append(rank, 0)[order], np.append(score, 99)[order])
    assert asks == bool(asked("ask_of_rank_and_score", *given))


@pytest.mark.parametrize(
    ("better", "tied", "others", "asks"),
    [
        (rows((0, 50)), rows((10, 26), (0, 24)), 100, True),  # half of the rows, and one more
        (rows((0, 50)), rows((10, 25), (0, 25)), 100, False),
        (rows((0, 49)), rows((10, 49)), 100, False),
        (rows((0, 50)), rows((9, 50)), 100, False),  # a tenth of the negatives
        (rows((5, 50)), rows((10, 50)), 100, True),  # 1/6 - 1/16 = .104
        (rows((6, 50)), rows((10, 50)), 100, False),  # 1/7 - 1/17 = .084
        (rows((0, 50)), rows((1, 50)), 5, True),  # at least one
        (rows((0, 50)), rows((0, 50)), 5, False),
        (rows((0, 50)), rows((2, 50)), 20, True),
        (rows((0, 50)), rows((1, 50)), 20, False),
    ],
)
def test_ties_at_the_ends(better, tied, others, asks):
    found = asked("question_ends", tied, better, np.full(tied.size, others))
    assert bool(found) == asks
    if asks:
        n_tied = (tied >= others / 10).sum() if others > 9 else (tied > 0).sum()
        low = np.mean(1 / (1 + better + tied))
        high = np.mean(1 / (1 + better))
        assert f"{n_tied} of 50 held-out items" in found
        assert f"is {low:.3f} to {high:.3f} by ties" in found


@pytest.mark.parametrize(
    ("once", "twice", "none", "m", "asks"),
    [
        # Of ties with .3 of the rows, independent ones are two in a row with a probability of
        # .0499 among 100 negatives, of .0267 among 2.
        (33, 0, 77, 100, True),  # 110 x .0499 = 5.5 rows are expected
        (27, 0, 63, 100, False),  # 4.5
        (551, 49, 1400, 100, True),  # half of 99.8
        (550, 50, 1400, 100, False),
        (574, 26, 1400, 2, True),  # half of 53.4
        (573, 27, 1400, 2, False),
        (200, 0, 1800, 100, True),  # a tenth of the rows
        (199, 0, 1801, 100, False),
    ],
)
def test_own_negatives(once, twice, none, m, asks):
    tied = rows((1, once), (2, twice), (0, none))
    found = asked("question_ties", tied, np.full(tied.size, m))
    words = f"{once + twice:,} of {tied.size:,} held-out items have the score of one of their"
    assert words in found if asks else not found
    half = np.where(np.arange(tied.size) % 2, m - 1, m + 1)  # as many in the mean
    assert bool(asked("question_ties", tied, half)) == asks


def test_no_rows_have_no_ties():
    assert not asked("question_ties", np.zeros(0, int), np.zeros(0, int))


LOW = rows((1, 400))


@pytest.mark.parametrize(
    ("near", "m", "asks"),
    [
        (rows((21, 1), (19, 2)), 100, True),  # the largest of 10 % are those from 19 on
        (rows((21, 1), (18, 2)), 100, False),
        (rows((51, 3)), 102, True),
        (rows((51, 3)), 101, False),  # half of the negatives and more are not a usual number
        (rows((51, 12)), 101, True),
        (rows((100, 12)), 100, True),  # one before the last
        (rows((100, 11), (99, 9)), 100, False),
        (rows((99, 1), (98, 11)), 100, True),
    ],
)
def test_samples_that_end_early(near, m, asks):
    ranks = np.append(LOW, near)
    found = asked("question_samples", SampledRanks(ranks, 3000, m), None)
    words = f"the largest rank is {near.max()}, and {near.size} of {ranks.size} rows"
    assert (words in found) == asks == bool(found)
    silent = asked_of_distinct(ranks, m)
    assert not silent


def asked_of_distinct(ranks, m):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        questions.question_samples(SampledRanks(ranks, 3000, m, "distinct"), None)
    return caught


@pytest.mark.parametrize(("few", "many", "words"), [
    (10, 390, "is 101 in 10 of 400 rows, the held-out"), (9, 391, ""), (5, 0, "is 101, the held-"),
])  # fmt: skip
def test_samples_of_all_candidates(few, many, words):
    n_items = rows((101, few), (3000, many))
    ranks = rows((1, few + many - 1), (2, 1))
    found = asked("question_samples", SampledRanks(ranks, n_items, 100), None)
    assert words in found if words else not found


@pytest.mark.parametrize(
    ("inside", "outside", "asks"),
    [
        (rows((0.5, 49), (0.7, 1)), rows((2.0, 6), (0.5, 44)), True),
        (rows((0.5, 49), (0.7, 1)), rows((2.0, 5), (0.5, 45)), False),  # a tenth
        (rows((0.5, 49), (0.7, 1)), rows((-1.0, 3), (1.1, 3), (0.0, 22), (1.0, 22)), True),
        (rows((0.5, 49), (0.7, 1)), rows((-1.0, 3), (1.1, 2), (0.0, 22), (1.0, 23)), False),
        (rows((0.0, 49), (1.0, 1)), rows((2.0, 50)), True),
        (rows((0.5, 50)), rows((2.0, 50)), False),  # all are equal
        (rows((0.5, 49), (1.1, 1)), rows((2.0, 50)), False),
        (rows((0.5, 49), (-0.1, 1)), rows((2.0, 50)), False),
    ],
)
def test_probabilities_and_logits(inside, outside, asks):
    share = ((outside < 0) | (outside > 1)).mean()
    found = asked("question_scales", outside, inside)
    words = f"negatives are from 0 to 1, and of held-out items {share:.0%} are not"
    assert (words in found) == asks == bool(found)
    found = asked("question_scales", inside, outside)
    words = f"held-out items are from 0 to 1, and of negatives {share:.0%} are not"
    assert (words in found) == asks == bool(found)


def test_fifty_held_out_items_have_a_scale():
    negatives = rows((0.5, 9), (0.7, 1))
    assert asked("question_scales", rows((2.0, 50)), negatives)
    assert not asked("question_scales", rows((2.0, 49)), negatives)
    assert not asked("question_scales", rows((2.0, 50)), negatives[:0])


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (matrix(rows((4, 5), (3, 5))), "10 of 10 rows end in 2 to 3 scores of 9"),
        (matrix(rows((4, 5), (3, 4))), ""),  # nine rows
        (matrix(rows((4, 10))), ""),  # all of one length
        (matrix(rows((4, 1), (3, 1), (6, 17))), "2 of 19 rows end in 2 to 3 scores of 9"),
        (matrix(rows((4, 1), (3, 1), (6, 18))), ""),  # a tenth of the rows
        (matrix(rows((4, 1), (3, 1), (5, 9), (6, 9))), ""),  # one score may be so by chance
        (matrix(rows((0, 10))), ""),  # equal scores
        (matrix(rows((1, 5), (0, 5)), 3), "10 of 10 rows end in 2 to 3 scores of 9"),
        (matrix(rows((1, 5), (0, 5)), 2), ""),
    ],
)
def test_rows_that_are_filled_up(scores, words):
    found = asked("question_padding", scores)
    assert words in found if words else not found


def test_a_last_score_of_many_rows_is_no_filler():
    scores = matrix(rows((4, 2), (3, 2), (6, 12)))
    scores[4:, -1] = 77.0
    assert "4 of 16 rows end in 2 to 3 scores of 9" in asked("question_padding", scores)


def test_fillers_are_nowhere_else():
    """25 scores are filled in; of two others and of three of that score is asked, or not."""
    scores = matrix(rows((4, 5), (3, 5)))
    for elsewhere in (2, 3):
        scores[:elsewhere, 0] = 9.0
        assert bool(asked("question_padding", scores)) == (elsewhere == 2)


def places(level, spread, difference, users=ROWS):
    """Shares of items below the held-out one, and by another user's scores, by their moments."""
    other = level + spread * np.where(np.arange(users) % 2, 1.0, -1.0) - difference
    return np.full(users, level), other


@pytest.mark.parametrize(
    ("level", "spread", "difference", "users", "asks"),
    [
        (0.55, 0.2, 0.056, 50, True),  # 2 x .2 / root of 50 = .0566
        (0.55, 0.2, 0.057, 50, False),
        (0.55, 0.2, 0.056, 49, False),
        (0.54, 0.2, 0.056, 50, False),
        (0.55, 0.11, 0.03, 50, True),
        (0.55, 0.09, 0.02, 50, False),
        (0.75, 0.2, -0.1, 50, True),
    ],
)
def test_rows_of_other_users(level, spread, difference, users, asks):
    if users % 2:
        own, other = (part[:users] for part in places(level, spread, difference, users + 1))
    else:
        own, other = places(level, spread, difference, users)
    assert bool(asked("question_places", own, other)) == asks


def others(n, *parts):
    """Full rankings of so many candidates by ranks and how often they occur."""
    return full(rows(*parts), n)


@pytest.mark.parametrize(
    ("ranks", "asks"),
    [
        (others(101, (1, 21), (70, 79)), True),  # at most 2 x 11 of 101 ranks are at the top
        (others(101, (1, 22), (70, 78)), False),
        (others(101, (11, 22), (70, 78)), False),  # above 90 % of the others
        (others(101, (12, 22), (70, 78)), True),
        (others(101, (46, 50)), False),  # above 55 %
        (others(101, (47, 50)), True),
        (others(101, (47, 49)), False),
    ],
)
def test_random_orders(ranks, asks):
    below = 1 - (ranks.best_rank - 1).mean() / 100
    words = f"held-out items are above {below:.1%} of their other candidates"
    assert (words in asked("question_ranks", ranks)) == asks


def test_ties_count_half_in_a_random_order():
    for tied, asks in ((90, False), (92, True)):  # half of the ties are above
        found = asked("question_ranks", full(rows((1, 50)), 101, tied))
        assert ("of their other candidates, 50 %" in found) == asks


@pytest.mark.parametrize(
    ("ranks", "asks"),
    [
        (others(300, (20, 12), (1, 38)), True),
        (others(300, (20, 11), (1, 39)), False),
        (others(300, (20, 12), (1, 37)), False),  # 49 rows
        (others(300, (20, 16), (19, 1), (1, 38)), True),  # 10 times half a row before, and one
        (others(300, (20, 15), (19, 1), (1, 38)), False),
        (others(300, (20, 15), (18, 1), (1, 38)), False),
        (others(300, (20, 15), (17, 1), (1, 38)), True),
        (others(300, (8, 21), (7, 1), (1, 38)), True),
        (others(300, (8, 20), (7, 1), (1, 38)), False),
        (others(300, (7, 21), (1, 38)), False),
        (others(20, (20, 12), (1, 38)), False),  # the last
        (full(rows((20, 24), (1, 38)), rows((20, 12), (300, 50))), True),
        (full(rows((20, 24), (1, 38)), rows((20, 13), (300, 49))), False),
    ],
)
def test_ranks_of_items_that_were_not_found(ranks, asks):
    found = asked("question_ranks", ranks)
    largest = ranks.best_rank.max()
    piled = int(((ranks.best_rank == largest) & (ranks.n_candidates > largest)).sum())
    words = f"{piled} of {len(ranks)} ranks are {largest}, the largest, of 300 candidates"
    assert (words in found) == asks == ("the largest, of" in found)


NEAR, AMONG = "near it", "all ranks are among the first"


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (others(1000, (100, 24), (1, 26)), NEAR),
        (others(1000, (100, 23), (1, 27)), AMONG),
        (others(1000, (100, 24), (1, 25)), ""),  # 49 rows
        (others(500, (100, 23), (1, 27)), AMONG),
        (others(499, (100, 23), (1, 27)), ""),
        (others(499, (100, 24), (1, 26)), NEAR),
        (others(110, (100, 24), (1, 26)), NEAR),
        (others(109, (100, 24), (1, 26)), ""),
        (others(499, (100, 1), (91, 23), (1, 26)), NEAR),
        (others(499, (100, 1), (90, 23), (1, 26)), ""),
        # 30 rows after 36 let 25 expect, after 38 fewer than 24
        (others(499, (100, 30), (81, 18), (90, 18), (1, 26)), NEAR),
        (others(499, (100, 30), (81, 19), (90, 19), (1, 26)), ""),
        (others(499, (100, 30), (80, 40), (1, 26)), NEAR),
        (others(1000, (7, 24), (1, 26)), ""),
        (others(1000, (8, 24), (1, 26)), NEAR),
        (full(rows((1, 26), (100, 24)), rows((109, 1), (499, 49))), ""),  # the fewest candidates
    ],
)
def test_ranks_that_end_before_the_last_candidate(ranks, words):
    found = asked("question_ranks", ranks)
    assert (NEAR in found) == (words == NEAR)
    assert (AMONG in found) == (words == AMONG)
    largest = ranks.best_rank.max()
    n = f"{ranks.n_candidates.min():,} candidates"
    if words == NEAR:
        near = int((ranks.best_rank > 0.9 * largest).sum())
        assert f"the largest rank is {largest} of {n}, and {near} of {len(ranks)} rows are" in found
    if words == AMONG:
        assert f"{AMONG} {largest} of {n}" in found


def different(count, seed=0):
    """Ranks of users, of which no part repeats another one."""
    return np.random.default_rng(seed).permutation(300)[:count] + 1


@pytest.mark.parametrize(
    ("ranks", "folds"),
    [
        (np.tile(different(50), 2), 2),
        (np.tile(different(49), 2), None),
        (np.tile(different(50), 10), 10),
        (np.tile(different(50), 11), None),
        (np.append(np.tile(different(50), 2), 1), None),  # one more row
        (np.append(different(60), np.append(different(60)[:50], different(10, 1))), None),
        (np.append(np.append(1, different(60)[1:]), different(60)), None),
        (np.full(100, 3), None),
    ],
)
def test_folds_by_equal_ranks(ranks, folds):
    found = asked("question_ranks", full(ranks, 301))
    rows_of = len(ranks) // (folds or 1)
    words = f"rows {rows_of + 1}, {rows_of + 2} and so on look like rows 1, 2 and so on: are these "
    assert (f"{words}{folds} folds" in found) == bool(folds) == ("folds" in found)


def test_folds_by_numbers_of_candidates():
    """Numbers of the same users are alike; those of users three rows on are not."""
    rng = np.random.default_rng(0)
    ranks = different(120)
    own = 400 + 10 * rng.permutation(60)
    for n, asks in (
        (np.append(own, own + rng.integers(0, 90, 60)), True),
        (np.append(own, own + rng.integers(0, 900, 60)), False),
        (np.append(np.sort(own), np.sort(own)), False),  # users in that order are all alike
        (np.full(120, 400), False),
        (np.append(own, np.full(60, 400)), False),
        (np.append(own[:49], own[:49]), False),
    ):
        found = asked("question_ranks", full(ranks[: n.size], n))
        assert ("2 folds of the same users" in found) == asks
        none = np.zeros(n.size, int)
        named = Ranks(n, ranks[: n.size] - 1, none, users=np.arange(n.size))
        assert "folds" not in asked("question_ranks", named)


@pytest.mark.parametrize(
    ("lists", "asks"),
    [
        ([[user, 9] for user in range(10)], True),
        ([[user, 9] for user in range(9)], False),
        ([[user, 9, 1, 2, 3] for user in range(10)], True),
        ([[user, 9, 1, 2, 3, 4] for user in range(10)], False),
        ([[user] for user in range(10)], False),
        ([[user, 9] for user in range(9)] + [[9, 9, 9]], False),
        ([[user // 2, 9] for user in range(10)], True),
        ([[1, 9], [0, 9], *([user, 9] for user in range(2, 10))], False),
        ([], False),
    ],
)
def test_rows_of_users_and_items(lists, asks):
    items = np.array([item for items in lists for item in items], dtype=int)
    found = asked("ask_of_rows_of_ids", "relevant", items, [len(items) for items in lists])
    words = f"relevant: the first items of all {len(lists)} users are in ascending order"
    assert found.startswith(words) if asks else not found


def test_ties_count_as_worse_ranks_in_questions_about_ends():
    assert "above all of their other" in asked("question_ranks", full(rows((1, 50)), 101))
    assert "above all of their other" not in asked("question_ranks", full(rows((1, 50)), 101, 1))
    found = asked("question_ranks", full(rows((100, 24), (2, 26)), 1000, 9))
    assert "the largest rank is 109 of 1,000 candidates, and 24 of 50 rows are near it" in found
    # ranks of ties are no pile
    assert "the largest, of" not in asked("question_ranks", full(rows((20, 12), (1, 38)), 300, 1))
