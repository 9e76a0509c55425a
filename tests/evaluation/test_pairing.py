"""Users of several recommenders: pairs by id and by row, and warnings about other data."""

import re

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.pairing import pair_users
from sampled_metrics.evaluation.rank import rank
from sampled_metrics.intervals.groups import common_users
from sampled_metrics.ranks import Ranks, SampledRanks
from tests.helpers.caught_warnings import full_messages


def ranks(users, n_rows=0):
    """Ranks of users; those of a matrix also know its number of rows."""
    made_ranks = Ranks([9] * len(users), [1] * len(users), [0] * len(users), users=users)
    made_ranks.__dict__["n_rows"] = n_rows
    return made_ranks


def numbers_in(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def test_users_without_partner_are_noted():
    """1 is missing in B, and 4 and 5 are missing in A and C."""
    evaluations = {"A": ranks([1, 2, 3]), "B": ranks([2, 3, 4, 5]), "C": ranks([3, 1, 2])}
    paired, _, notes = pair_users(evaluations)
    assert paired == evaluations
    assert [numbers_in(note) for note in notes] == [[1, 2], [2, 1]]  # of A and B, of B and C


def test_users_of_two_samples_without_a_common_one_are_not_noted():
    assert pair_users({"A": ranks([1]), "B": ranks([2])}).notes == []


def test_users_are_paired_by_row_if_one_has_no_ids():
    without_ids = Ranks([9, 9], [1, 0], [0, 0])
    paired, _, (note,) = pair_users({"A": without_ids, "B": ranks([7, 8])})
    assert [each.users.tolist() for each in paired.values()] == [[0, 1], [0, 1]]
    assert "by row" in note
    assert without_ids.users is None


def test_rows_of_matrices_are_paired_by_row():
    """Users without an item are left out, so that the ids of the others are their rows."""
    paired, _, (note,) = pair_users({"A": ranks([0, 2], n_rows=3), "B": ranks([0, 1, 2], n_rows=3)})
    assert [each.users.tolist() for each in paired.values()] == [[0, 2], [0, 1, 2]]
    assert "by row" in note


@pytest.mark.parametrize(
    ("a", "b", "refused"),
    [
        (Ranks([9, 9], [1, 0], [0, 0]), ranks([7, 8, 9]), "2 users"),
        (ranks([0, 2], n_rows=4), ranks([0, 1, 2], n_rows=3), "3 users"),
    ],
    ids=["without ids", "matrices"],
)
def test_other_numbers_of_rows_are_refused(a, b, refused):
    with pytest.raises(InputError, match=refused):
        pair_users({"A": a, "B": b})


def ranks_of(ranks, n=100, users=None):
    return Ranks([n] * len(ranks), np.array(ranks) - 1, [0] * len(ranks), users=users)


def sampled(ranks, users=None, n=300, m=10):
    return SampledRanks(np.array(ranks), n, m, users=users)


def named(*evaluations):
    return dict(zip("ABCD", evaluations, strict=False))


@pytest.mark.parametrize(
    ("a", "b", "rows"),
    [
        (["x", "y", "z"], ["z", "q", "x"], [[0, 2], [2, 0]]),
        ([7, 8], ["8", "007"], [[1], [0]]),
        (["8", "9"], [9], [[1], [0]]),
        *((a, b, None) for a, b in ((None, [1]), ([1], None), (None, None), ([1], [2]))),
    ],
)
def test_common_users(a, b, rows):
    units = (None if ids is None else Units(np.array(ids)) for ids in (a, b))
    positions = common_users(*units)
    assert (positions and [each.tolist() for each in positions]) == rows


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (sampled([1] * 9, range(9)), sampled([1] * 95, range(5, 100)), "have 4 of 9 users"),
        (sampled([1], [1]), sampled([1], [2]), "have 0 of 1 users"),
        (sampled([1] * 10, [1] * 9 + [2]), sampled([1] * 11, [1] * 9 + [3, 4]), None),
        (sampled([1] * 9), sampled([1] * 9, range(9)), None),  # without ids
        (sampled([1] * 9, range(9)), sampled([1] * 9), None),
        (sampled([1], [1], 1000), sampled([1], [1], 990), None),
        (sampled([1], [1], 1000), sampled([1], [1], 989), "1,000 candidates and B has 989"),
    ],
)
def test_different_data_warns(a, b, words, recwarn):
    compare(named(a, b), "recall@10", correction="none")
    messages = [text for text in full_messages(recwarn) if "same data" in text]
    assert [words in each for each in messages] == ([] if words is None else [True])


SCORES = np.random.default_rng(0).normal(size=(9, 30))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lambda rows: SCORES[rows], {"positive": 0, "n_items": 99}),
        (lambda rows: rank(lambda users: SCORES[rows][users], None, SCORES[rows] > 1.5), {}),
        (lambda rows: np.arange(1, 10)[rows], {"n_items": 99}),
        (lambda rows: ranks_of(np.arange(1, 10)[rows]), {}),
        (lambda rows: sampled(np.arange(1, 10)[rows]), {}),
        (lambda rows: rank(lambda users: SCORES[rows][users], None, range(9)[rows]), {}),
    ],
)
def test_rows_are_paired_without_ids(make, options):
    whole = make(slice(None))
    results = compare({"A": whole, "B": whole}, "auc", **options)
    assert results[0].paired
    assert "by row" in str(results)
    with pytest.raises(InputError, match="8 users"):
        compare({"A": whole, "B": make(slice(1, None))}, "auc", **options)


class TestCandidates:
    """Two rankings by the same scores; validation items are masked in one of them."""

    RNG = np.random.default_rng(5)
    ALL = RNG.normal(size=(400, 500))
    HELD = RNG.integers(500, size=400)
    TRAIN = (RNG.random(ALL.shape) < 0.03) & (np.arange(500) != HELD[:, None])

    def masked(self, users):
        """Return ranks for which the best other item of the first `users` is masked too."""
        scores = np.where(self.TRAIN, -np.inf, self.ALL)
        scores[np.arange(400), self.HELD] = -np.inf
        best = scores.argmax(axis=1)[:users]
        also = self.TRAIN.copy()
        also[np.arange(users), best] = True
        return rank(self.ALL, also, self.HELD)

    @pytest.mark.parametrize(("users", "warns"), [(400, True), (40, True), (39, False)])
    def test_different_masks_of_a_tenth_of_users_warn(self, users, warns, recwarn):
        a, b = self.masked(users), self.masked(0)
        assert (a.n_candidates != b.n_candidates).sum() == users
        compare({"A": a, "B": b}, "mrr")
        messages = [text for text in full_messages(recwarn) if "numbers of candidates" in text]
        assert len(messages) == warns
        assert all(f"{users} of 400 users" in each and "seen" in each for each in messages)

    def test_same_masks_do_not_warn(self, recwarn):
        (result,) = compare({"A": self.masked(0), "B": self.masked(0)}, "mrr")
        assert result.difference == 0.0
        assert not any("numbers of candidates" in text for text in full_messages(recwarn))
