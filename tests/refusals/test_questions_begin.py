"""Questions about ranks: clear cases of each, and half as clear ones that are not asked about."""

import warnings

import numpy as np
import pytest

from sampled_metrics import InputWarning
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.warnings import (
    warn_about_ranks,
    warn_about_sampled_ranks,
    warn_about_seen_items,
)
from tests.helpers.caught_warnings import full_messages


def rows(*parts):
    """An array of parts, each a number and how often it occurs."""
    return np.concatenate([np.full(count, number) for number, count in parts])


def asked(question, *given):
    """What a question says of some data; an empty text if it is not asked."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        question(*given)
    assert all(issubclass(one.category, InputWarning) for one in caught)
    return "\n".join(full_messages(caught))


def full(ranks, n_candidates, tied=0):
    """Full rankings of one item per user by their best ranks."""
    ranks = np.asarray(ranks)
    return Ranks(
        np.broadcast_to(n_candidates, ranks.shape),
        ranks - 1,
        np.full(ranks.size, tied),
    )


@pytest.mark.parametrize(
    ("ranks", "asks"),
    [
        (full(rows((52, 60)), 101), True),  # in the middle
        (full(rows((52, 25)), 101), False),  # too few users
        (full(rows((1, 30), (80, 30)), 101), False),  # half of them first
        (full(rows((26, 60)), 101), False),  # above three quarters
        (full(rows((2, 60)), 101, 98), True),  # ties count half
        (full(rows((2, 60)), 101, 40), False),
    ],
)
def test_random_orders(ranks, asks):
    assert ("random order" in asked(warn_about_ranks, ranks)) == asks


@pytest.mark.parametrize(
    ("ranks", "asks"),
    [
        (full(rows((100, 30), (1, 30)), 1000), True),
        (full(rows((100, 30), (1, 30)), 105), False),  # at the end of all candidates
        (
            full(rows((100, 6), (1, 54)), 400),
            False,
        ),  # as many as may be there by chance
        (full(rows((100, 6), (1, 54)), 1000), True),  # none in the other nine tenths
        (full(rows((4, 30), (1, 30)), 1000), False),  # low ranks are frequent anyway
    ],
)
def test_ranks_that_end_before_the_last_candidate(ranks, asks):
    assert ("largest" in asked(warn_about_ranks, ranks)) == asks


@pytest.mark.parametrize(
    ("near", "m", "asks"),
    [
        (rows((11, 30)), 100, True),
        (rows((11, 6)), 100, False),
        (rows((100, 30)), 100, False),
        (rows((4, 30)), 100, False),
    ],
)
def test_samples_that_end_early(near, m, asks):
    ranks = np.append(rows((1, 400)), near)
    found = asked(warn_about_sampled_ranks, SampledRanks(ranks, 3000, m))
    assert ("the largest rank is" in found) == asks
    distinct = SampledRanks(ranks, 3000, m, "distinct")
    assert "the largest rank is" not in asked(warn_about_sampled_ranks, distinct)


@pytest.mark.parametrize(("n_items", "asks"), [(101, True), (102, False)])
def test_samples_of_all_candidates(n_items, asks):
    found = asked(
        warn_about_sampled_ranks, SampledRanks(rows((1, 4), (2, 1)), n_items, 100)
    )
    assert ("n_items is" in found.replace(" (--n-items)", "")) == asks


@pytest.mark.parametrize(
    ("tied", "m", "asks"),
    [
        (rows((1, 90), (0, 210)), 20, True),  # by chance about 13 would have two
        (rows((1, 40), (0, 60)), 20, True),
        (rows((1, 40), (2, 8), (0, 52)), 20, False),
        (rows((1, 9), (0, 91)), 20, False),
        (rows((1, 40), (0, 60)), 1, False),  # one negative is tied once
    ],
)
def test_one_tie(tied, m, asks):
    ranks = rows((1, tied.size - 1), (2, 1))
    found = asked(warn_about_sampled_ranks, SampledRanks(ranks, 3000, m, tied=tied))
    assert ("check-negatives" in found) == asks


@pytest.mark.parametrize(
    ("tied", "asks"),
    [
        (rows((20, 40), (0, 20)), True),
        (rows((20, 20), (0, 40)), False),
        (rows((5, 40), (0, 20)), False),  # few of 100 negatives
        (rows((20, 20), (0, 10)), False),
    ],
)
def test_large_ties(tied, asks):
    ranks = rows((1, tied.size - 1), (2, 1))
    found = asked(warn_about_sampled_ranks, SampledRanks(ranks, 3000, 100, tied=tied))
    assert ("a tenth of their negatives" in found) == asks


@pytest.mark.parametrize(("users", "items", "asks"), [(20, 40, True), (5, 40, False)])
def test_all_items_of_all_users(users, items, asks):
    ranks = full(rows((1, users)), items)
    assert bool(asked(warn_about_seen_items, ranks, items)) == asks
    assert not asked(warn_about_seen_items, ranks, items + 1)


def test_ties_count_as_worse_ranks_in_questions_about_ends():
    assert "above" in asked(warn_about_ranks, full(rows((1, 60)), 101))
    assert "above all of their other" not in asked(
        warn_about_ranks, full(rows((1, 60)), 101, 1)
    )
    found = asked(warn_about_ranks, full(rows((100, 30), (2, 30)), 1000, 9))
    assert "the largest rank is 109 of 1,000" in found
