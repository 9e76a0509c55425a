"""Strata, and metrics under a Poisson law."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import poisson, t

from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.audit import Audit
from sampled_metrics.budget.estimates import estimate_errors, estimate_metrics
from sampled_metrics.budget.model import (
    PoissonMeans,
    average_over_ties,
    parse_metrics,
)
from sampled_metrics.budget.strata import stratum_edges


@pytest.mark.parametrize("n", [1, 3, 5, 6, 16, 100, 3706, 30_000, 10**6])
def test_strata_cover_all_candidates(n: int) -> None:
    bounds = stratum_edges(n)
    assert (bounds[0], bounds[-1]) == (0, n)
    assert np.all(np.diff(bounds) > 0)


def test_ties_are_averaged_over_orders() -> None:
    better, tied = np.array([0, 8, 3]), np.array([2, 4, 0])
    recall = average_over_ties(parse_metrics(["recall@10"]), better, tied)[0]
    assert recall == pytest.approx([1, 2 / 5, 1])
    average = average_over_ties(parse_metrics(["ap"]), better, tied)[0]
    assert average == pytest.approx(
        [(1 + 1 / 2 + 1 / 3) / 3, np.mean(1 / np.arange(9, 14)), 1 / 4]
    )


@pytest.mark.parametrize(
    "names", [["recall@10", "ndcg@5", "ap"], ["ap"], ["recall@100"]]
)
def test_tables_agree_with_sums_over_the_poisson_law(names: list[str]) -> None:
    metrics = parse_metrics(names)
    depth = max((one.cutoff for one in metrics if one.cutoff), default=10)
    tables = PoissonMeans(metrics, depth, 5000)
    better = np.array([0, 2, 7, 60, 4])
    mean = np.array(
        [[0.002, 3.0], [12.0, 0.7], [150.0, 1.0], [5.0, 900.0], [0.0, 2500.0]]
    )
    share = np.array([[0.3, 0.7], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8], [0.6, 0.4]])
    moments = tables.moments(share, better, mean)
    support = np.arange(6000)
    law = poisson.pmf(support, mean[:, :, np.newaxis])
    for index, metric in enumerate(metrics):
        values = metric.value_at(better[:, np.newaxis] + support + 1, 10_000)[
            :, np.newaxis
        ]
        first = (share * (law * values).sum(2)).sum(1)
        second = (share * (law * values**2).sum(2)).sum(1)
        assert moments[0][index] == pytest.approx(first, rel=2e-3, abs=2e-4)
        assert moments[1][index] == pytest.approx(
            second - first**2, rel=2e-2, abs=5e-4
        )


def test_beyond_the_depth_ap_is_its_mean_under_the_poisson_law() -> None:
    tables = PoissonMeans(parse_metrics(["ap"]), 10, 5000)
    better, mean = np.array([12, 20, 15, 40]), np.array([10.0, 30.0, 100.0, 400.0])
    (found,), _ = tables.moments(np.ones((4, 1)), better, mean[:, np.newaxis])
    support = np.arange(6000)
    law = poisson.pmf(support, mean[:, np.newaxis])
    expected = (law / (better[:, np.newaxis] + support + 1)).sum(1)
    assert found == pytest.approx(expected, rel=5e-4)


def begun(mean: Any, n_users: int) -> Any:
    """An audit before its first phase, of a metric that the scores leave between -9 and 9."""
    wide = {
        "least": np.full((1, n_users), -9.0),
        "greatest": np.full((1, n_users), 9.0),
    }
    return SimpleNamespace(
        model=SimpleNamespace(uncut=np.array([0])),
        view_before=SimpleNamespace(mean=mean, greatest=np.ones((1, n_users))),
        view=SimpleNamespace(**wide),
        phases=[],
        reach_probability=np.ones(n_users),
        noise=np.zeros((1, n_users)),
        assumed=np.zeros((2, 1)),
        slack=np.zeros((2, 1)),
        _values=mean,
    )


def test_what_users_add_to_an_audit_by_hand() -> None:
    audit = begun(np.array([[0.3, 0.5, 0.6]]), 3)
    values, variance = np.array([[0.4, 0.9, 0.4]]), np.array([[0.2, 0.9, 0.4]])
    Audit.record_phase(
        audit,
        users=np.array([0, 2]),
        probability=np.array([1.0, 0.5]),
        values=values,
        expected_variance=variance,
        at_random=np.array([2]),
    )
    # A user drawn for certain adds no error; the other counts 1 / 0.5 times.
    assert audit.assumed[0] == pytest.approx([0.4 * (1 - 0.5) / 0.5**2])
    assert audit.assumed[1] == pytest.approx([(0 + 0.6**2 * (1 - 0.5) / 0.5**2) / 2])
    assert estimate_errors(audit).shift == pytest.approx(
        np.array([[0.1, 0, -0.2 / 0.5]])
    )
    assert audit.noise == pytest.approx(np.array([[0, 0, -0.2 / np.sqrt(0.5)]]))
    # What is assumed exceeds the variance of the other user, 0.2^2 (1 / 0.5^2 - 1 / 0.5) and noise.
    total, square = 0.8 + 0.3**2, 0.04 * 2 + 0.04 / 0.5
    ((result,),), _ = estimate_metrics([audit], 0.9)
    centre, half = (
        (1.4 + 0.1 - 0.4) / 3,
        t.ppf(0.95, (total / square) ** 2) * np.sqrt(total) / 3,
    )
    assert result[1:4] == pytest.approx((centre - half, centre + half, centre))
    assert result.value == pytest.approx(
        1.4 / 3
    )  # the model's: the error is within a deviation


def test_the_variance_of_an_audit_is_unbiased() -> None:
    """A user, two phases: the mean over all outcomes is the variance of the sum."""
    p, q, change = 0.4, 0.7, (0.3, -0.5)
    sums, variances = [], []
    for count in range(3):
        audit = begun(np.zeros((1, 1)), 1)
        for drawn, value in ((p, change[0]), (q, sum(change)))[:count]:
            Audit.record_phase(
                audit,
                users=np.arange(1),
                probability=np.array([drawn]),
                values=np.array([[value]]),
                expected_variance=np.zeros((1, 1)),
                at_random=np.arange(0),
            )
        found = estimate_errors(audit)
        sums.append(found.shift[0, 0])
        variances.append(found.variance[0, 0])
    weights = np.array([1 - p, p * (1 - q), p * q])
    assert weights @ sums == pytest.approx(sum(change))
    assert weights @ variances == pytest.approx(
        weights @ np.square(sums) - sum(change) ** 2
    )


@pytest.mark.parametrize("name", ["recall", "recall@0", "auc", "ndcg", "ndcg@-1"])
def test_unknown_metrics(name: str) -> None:
    for names in ([name], name):
        with pytest.raises(
            InputError, match=r"unknown me(tric|asure)|expected a list"
        ):
            parse_metrics(names)
