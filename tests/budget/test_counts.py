"""Relation of a proxy's order and a recommender's, by one score of each user and stratum."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from sampled_metrics.budget.counts import does_proxy_help

STRATA = 6


def counts_of(better: Any, user_of_row: Any = None) -> Any:
    """Counts with one score in every stratum: 1 if better than the held-out item, 1/2 if tied."""
    better = np.asarray(better, float)
    if user_of_row is None:
        user_of_row = np.arange(len(better))
    users = int(user_of_row.max()) + 1
    by_user = lambda rows: np.stack(  # noqa: E731
        [rows[:, user_of_row == u].sum(1) for u in range(users)], 1
    )
    strata = SimpleNamespace(user_of_row=user_of_row, reduce_by_user=by_user)
    return SimpleNamespace(
        strata=strata, n_scored=np.ones((users, STRATA), int), expected_better=better
    )


def by_loops(better: Any) -> bool:
    """Compute the same test pair by pair."""
    first, second = [], []
    for user in better:
        pairs = list(product(user[:3], user[3:]))
        first.append(sum(a * (1 - b) for a, b in pairs))
        second.append(sum((1 - a) * b for a, b in pairs))
    n_first, n_second = sum(first) + 0.5, sum(second) + 0.5
    terms = [(a / n_first - b / n_second) ** 2 for a, b in zip(first, second, strict=True)]
    distance = abs(np.log(n_first / n_second)) - norm.ppf(0.99) * sum(terms) ** 0.5
    return distance > np.log(3)


def scores(users: int, odds: float, seed: int) -> Any:
    """Scores better in the first half of the strata with `odds` times the odds of the second."""
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.05, 0.5, users)[:, None]
    near = odds * rate / (1 - rate + odds * rate)
    return rng.random((users, STRATA)) < np.where(np.arange(STRATA) < 3, near, rate)


@pytest.mark.parametrize("odds", [0.1, 0.5, 1.0, 3.0, 4.5, 10.0])
def test_proxy_test_matches_pairs(odds: float) -> None:
    for seed in range(10):
        better = scores(80, odds, seed) * 1.0
        better[seed, seed % STRATA] = 0.5
        assert does_proxy_help(counts_of(better)) == by_loops(better)


def share_that_helps(odds: float, runs: int) -> float:
    return np.mean([does_proxy_help(counts_of(scores(200, odds, seed))) for seed in range(runs)])


@pytest.mark.long
def test_useless_proxy_never_helps() -> None:
    assert share_that_helps(1.0, runs=300) == 0


@pytest.mark.long
def test_proxy_at_the_limit_helps_in_about_1_percent() -> None:
    """3 of 300 are expected, and 9 are three times as many."""
    assert share_that_helps(3.0, runs=300) <= 9 / 300


@pytest.mark.long
@pytest.mark.parametrize("odds", [15.0, 1 / 15], ids=["good", "reversed"])
def test_good_proxy_always_helps_in_either_order(odds: float) -> None:
    assert share_that_helps(odds, runs=30) == 1


def test_proxy_test_counts_users_once() -> None:
    """Repeating every row does not change the test."""
    for seed in range(8):
        better = scores(60, 6.0, seed)
        twice = counts_of(np.repeat(better, 2, axis=0), np.repeat(np.arange(60), 2))
        assert does_proxy_help(twice) == does_proxy_help(counts_of(better))


@pytest.mark.parametrize("better", [np.zeros((50, STRATA)), np.ones((50, STRATA))])
def test_proxy_of_equal_strata_does_not_help(better: Any) -> None:
    assert not does_proxy_help(counts_of(better))
