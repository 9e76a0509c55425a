"""Evaluations that share their negatives, against enumeration and the closed form."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import TIES, sampled_rank_distribution, shared_histograms
from sampled_metrics.sampling.shared import draw_better_and_tied, expected_better_and_tied

USERS = 20_000
N, BETTER, TIED, M = 7, 2, 3, 4
LEAST = 1e-4  # of a p-value; the seeds are fixed


def alike(users=USERS):
    return Ranks(np.full(users, N), np.full(users, BETTER), np.full(users, TIED))


def generators(*keys):
    return [np.random.default_rng(key) for key in keys]


def fits(observed, probability):
    possible = probability > 0
    assert observed[~possible].sum() == 0
    if possible.sum() > 1:
        expected = probability[possible] * observed.sum()
        assert stats.chisquare(observed[possible], expected).pvalue > LEAST


def enumerated(sampling, n=N, n_better=BETTER, n_tied=TIED, m=M):
    """Probability of every number of better and tied items, over all equally likely draws."""
    candidates = "b" * n_better + "t" * n_tied + "w" * (n - 1 - n_better - n_tied)
    places = range(len(candidates))
    if sampling == Sampling.WITHOUT_REPLACEMENT:
        draws = list(combinations(places, m))
    else:
        draws = list(product(places, repeat=m))
    if sampling == Sampling.DISTINCT:
        draws = [set(draw) for draw in draws]
    drawn = [[candidates[place] for place in draw] for draw in draws]
    counts = Counter((each.count("b"), each.count("t")) for each in drawn)
    table = np.zeros((m + 1, m + 1))
    for cell, count in counts.items():
        table[cell] = count / len(draws)
    return table


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize("user", [(7, 2, 3), (7, 0, 6), (7, 6, 0), (4, 2, 1), (3, 0, 1), (4, 0, 0)])
def test_expected_numbers_by_enumeration(sampling, user):
    m = min(user[0] - 1, 4) if sampling == Sampling.WITHOUT_REPLACEMENT else 5
    found = expected_better_and_tied(Ranks(*([count] for count in user)), m, sampling)
    np.testing.assert_allclose(found, enumerated(sampling, *user, m), atol=1e-14)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_better_and_tied_by_enumeration(sampling):
    better, tied = draw_better_and_tied(alike(), M, np.random.default_rng(3), sampling)
    table = np.zeros((M + 1, M + 1))
    np.add.at(table, (better, tied), 1)
    fits(table.ravel(), enumerated(sampling).ravel())


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("sampling", list(Sampling))
def test_every_evaluation_follows_the_closed_form(sampling, ties):
    places = [generators(11), generators(12)]
    counts = shared_histograms(alike(), M, generators(4), places, sampling, ties)
    assert counts.shape == (2, 1, M + 1)
    (probability,) = sampled_rank_distribution(alike(1), M, sampling, ties)
    for (histogram,) in counts:
        fits(histogram, probability)


def test_evaluations_differ_by_their_ties_alone():
    seeds = ([5, 6], [7, 8])
    untied = Ranks([50] * 40, np.arange(40), [0] * 40)
    one, other = shared_histograms(untied, 9, generators(1, 2), [generators(*s) for s in seeds])
    assert np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])
    tied = Ranks([50] * 40, np.arange(40), [5] * 40)
    one, other = shared_histograms(tied, 9, generators(1, 2), [generators(*s) for s in seeds])
    assert not np.array_equal(one, other)
    assert (one.sum(axis=1) == 40).all()


def test_all_candidates_tie_or_are_drawn():
    every = Ranks([4, 4], [0, 3], [3, 0])
    (only,) = shared_histograms(every, 3, generators(1), [generators(2)], ties="pessimistic")
    assert only.tolist() == [[0, 0, 0, 2]]
    (only,) = shared_histograms(
        every, 3, generators(1), [generators(2)], "with-replacement", "optimistic"
    )
    assert only.tolist() == [[1, 0, 0, 1]]
