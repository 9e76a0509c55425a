"""Differences of two recommenders on a budget, against all outcomes of their audits."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from sampled_metrics.budget.estimates import covariance, estimate_errors, estimate_recommenders
from sampled_metrics.budget.user_audit import Phase

RESOLUTION = 0.3  # in users; an audit cannot see a fraction of one
WIDE = SimpleNamespace(
    least=np.full((1, 1), -99.0), greatest=np.full((1, 1), 99.0)
)  # clips nothing


def audited(change: Any, probabilities: Any, n_phases: int, slack: Any = (0.0, 0.0)) -> Any:
    """Outcome of an audit of one user, who was drawn in the first `n_phases` phases."""
    phases = []
    for number in range(n_phases):
        reached = np.array([np.prod(probabilities[: number + 1])])
        phases.append(
            Phase(np.array([[change[number]]]), np.array([probabilities[number]]), reached)
        )
    before = SimpleNamespace(mean=np.zeros((1, 1)), greatest=np.zeros((1, 1)))
    return SimpleNamespace(
        before=before,
        now=WIDE,
        phases=phases,
        noise=np.zeros((1, 1)),
        assumed=np.zeros((2, 1)),
        slack=np.array(slack)[:, None],
    )


def outcomes(drawn_a: Any, drawn_b: Any) -> Any:
    """Yield how many phases the user stays in either audit, with probabilities.

    In a phase one uniform number decides for both, so that both draw the same users.
    """
    parts = []
    for p, q in zip(drawn_a, drawn_b, strict=True):
        least, most = min(p, q), max(p, q)
        parts.append([(least, True, True), (most - least, p > q, q > p), (1 - most, False, False)])
    for steps in product(*parts):
        probability = np.prod([step[0] for step in steps])
        stays_a, stays_b = (
            int(np.cumprod([step[which] for step in steps]).sum()) for which in (1, 2)
        )
        yield probability, stays_a, stays_b


@pytest.mark.parametrize("drawn_b", [(0.7, 0.5), (0.2, 0.9), (0.4, 0.6)])
def test_covariance_unbiased(drawn_b: Any) -> None:
    drawn_a = (0.4, 0.6)
    change_a, change_b = (0.3, -0.5), (0.2, 0.4)
    mean, product_of_sums = 0.0, 0.0
    for probability, stays_a, stays_b in outcomes(drawn_a, drawn_b):
        a = audited(change_a, drawn_a, stays_a)
        b = audited(change_b, drawn_b, stays_b)
        mean += probability * covariance(a, b)[0, 0]
        shifts = estimate_errors(a).shift[0, 0], estimate_errors(b).shift[0, 0]
        product_of_sums += probability * np.prod(shifts)
    assert mean == pytest.approx(product_of_sums - sum(change_a) * sum(change_b))


@pytest.mark.parametrize("drawn_b", [(0.7,), (0.4,)])
def test_difference_error_is_standard_deviation(drawn_b: Any) -> None:
    """Averaged over all outcomes; errors that both recommenders share cancel."""
    drawn_a = (0.4,)
    change_a, change_b = (0.3,), (0.5,)
    mean, square = 0.0, 0.0
    for probability, stays_a, stays_b in outcomes(drawn_a, drawn_b):
        both = [audited(change_a, drawn_a, stays_a), audited(change_b, drawn_b, stays_b)]
        _, pairs = estimate_recommenders(both, confidence=0.95)
        actual = pairs[0, 1][0]
        mean += probability * (actual.std_error**2 - RESOLUTION**2)
        square += probability * actual.centre**2
    assert mean == pytest.approx(square - (0.5 - 0.3) ** 2)


@pytest.mark.parametrize(("below", "above"), [(2.0, 0.0), (0.0, 2.0), (3.0, 1.0)])
def test_slack_changes_sides_in_difference(below: float, above: float) -> None:
    """If a may be lower by `below`, b - a may be higher by as much."""
    unsure = audited((), (), 0, slack=(below, above))
    sure = audited((), (), 0)
    half = t.ppf(0.975, 10**6) * RESOLUTION
    for both, ends in (
        ([unsure, sure], (-half - above, half + below)),
        ([sure, unsure], (-half - below, half + above)),
        ([unsure, unsure], (-half - below - above, half + below + above)),
    ):
        _, pairs = estimate_recommenders(both, confidence=0.95)
        actual = pairs[0, 1][0]
        assert (actual.low, actual.high) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("change", "share"),
    [
        ((0.3, 0.5), 0.5),  # all errors seen cancel, so half of the assumed errors remains
        ((0.3, -0.5), 1.0),  # opposite errors: at most all assumed errors
    ],
)
def test_unseen_errors_cancel_like_seen(change: Any, share: float) -> None:
    """Both audits drew the user with probability 0.4; the models assume variances of 9 and 16."""
    both = [audited((value,), (0.4,), 1) for value in change]
    spread = both[0].phases[0].variance_factor.item()
    for audit, variance in zip(both, (9.0, 16.0), strict=True):
        audit.assumed[0] = variance * spread
    _, pairs = estimate_recommenders(both, confidence=0.95)
    actual = pairs[0, 1][0]
    assert actual.std_error**2 == pytest.approx(share * spread * 25 + RESOLUTION**2)
