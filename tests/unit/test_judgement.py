"""Tolerances, their power, covariances and joint tests, against enumeration and simulation."""

from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sampled_metrics.ranks import Ranks
from sampled_metrics.report.power import power_table
from sampled_metrics.report.scorecard import scorecard
from sampled_metrics.study.cells import KEY, Row, read_published
from sampled_metrics.study.covariance import mean_and_covariance
from sampled_metrics.study.experiment import (
    estimator_vectors,
    expected_estimates,
    run_experiment,
)
from sampled_metrics.study.joint import (
    Estimates,
    covariance_of_counts,
    covariance_of_means,
    covariance_of_signs,
    joint_table,
    joint_test,
)
from sampled_metrics.study.judgement import POWER, of_count, of_mean, of_value
from sampled_metrics.study.settings import ExperimentSettings
from tests.conftest import ROOT

PUBLISHED = read_published(ROOT / "config/paper/tables.csv")
SETTINGS = ExperimentSettings(
    n_negatives=2, n_items=6, metrics=("ap", "auc"), estimators=("sampled", "bv:1", "cls")
)


def binomial(share, n=100):
    """Probabilities of 0 ... n."""
    return np.array([comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)])


def accepted(share):
    """Smallest and largest count whose tail is not below that of 3 standard deviations."""
    chances, tail = binomial(share), stats.norm.sf(3)
    low = next(k for k in range(101) if chances[: k + 1].sum() >= tail)
    return low, next(k for k in range(100, -1, -1) if chances[k:].sum() >= tail)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.36, 0.5, 0.993])
def test_counts_against_the_enumerated_binomial_distribution(share):
    expected, found = 100 * share, of_count(100 * share)
    assert (expected - found.below, expected + found.above) == pytest.approx(accepted(share))
    assert (found.kind == "near-certain") == (binomial(share).max() >= 0.9)
    assert found.error == pytest.approx(100 * np.sqrt(share * (1 - share) / 100))


@pytest.mark.parametrize("expected", [100.0, 50.0, 36.25, 3.0])
def test_an_error_of_counts_is_noticed_as_often_as_stated(expected):
    shares, tail = np.arange(1001) / 1000, stats.norm.sf(3)  # what ours could be
    ours = stats.binom(100, expected / 100)
    low, high = stats.binom(100, shares).ppf(tail), 100 - stats.binom(100, 1 - shares).ppf(tail)
    rejected = ours.cdf(low - 1) + ours.sf(high)
    nearest = abs(100 * shares - expected)[rejected >= POWER].min()
    assert of_count(expected).notices == pytest.approx(nearest, abs=0.0501)


def test_a_deviation_of_means_is_noticed_as_often_as_stated():
    found = of_mean(3, 30.0, 0.2)
    assert found.above == pytest.approx(3 * 0.2 / 10 + 0.005)
    assert found.error == pytest.approx(np.hypot(0.02, 0.01 / np.sqrt(12)))
    printed = np.random.default_rng(1).normal(30.0 + found.notices, 0.02, 40_000).round(2)
    share = (abs(printed - 30.0) > found.above).mean()
    assert share == pytest.approx(POWER, abs=4 * np.sqrt(POWER * (1 - POWER) / 40_000) + 0.002)


def test_a_deviation_of_a_value_changes_its_digits_as_often_as_stated():
    exact = np.random.default_rng(2).uniform(3, 4, 40_000)
    changed = (exact + of_value(3).notices).round(2) != exact.round(2)
    assert changed.mean() == pytest.approx(POWER, abs=0.01)


def enumerated(ranks, settings):
    """Covariance of the estimates over all draws and, for each estimator, all orders of ties."""
    n, m = 6, settings.n_negatives
    vectors = estimator_vectors(n, settings).reshape(-1, m + 1)
    size, estimators = len(vectors), len(settings.estimators)
    total = np.zeros((size, size))
    for better, tied in zip(ranks.n_better, ranks.n_tied, strict=True):
        candidates = "b" * better + "t" * tied + "w" * (n - 1 - better - tied)
        outcomes = []
        for draw in combinations(candidates, m):
            above, ties = draw.count("b"), draw.count("t")
            for places in product(range(max(ties, 1)), repeat=estimators):
                column = [above + places[i % estimators] for i in range(size)]
                row = vectors[np.arange(size), column]
                outcomes.append((row, 1 / (comb(n - 1, m) * max(ties, 1) ** estimators)))
        values, weights = (np.array(each) for each in zip(*outcomes, strict=True))
        mean = weights @ values
        total += (weights[:, None] * (values - mean)).T @ (values - mean)
    return total / len(ranks) ** 2


def test_covariance_by_enumeration():
    ranks = Ranks([6] * 4, [0, 1, 3, 2], [0, 3, 2, 3])
    size = len(SETTINGS.metrics) * len(SETTINGS.estimators)
    found = mean_and_covariance(ranks, SETTINGS)[1].reshape(size, size)
    np.testing.assert_allclose(found, enumerated(ranks, SETTINGS), atol=1e-14)


@pytest.mark.parametrize("sampling", ["without-replacement", "with-replacement", "distinct"])
@pytest.mark.parametrize("ties", ["paper", "random", "optimistic", "pessimistic"])
@pytest.mark.parametrize(("samples", "orders"), [(True, False), (True, True), (False, False)])
def test_covariance_is_that_of_the_moments_and_of_simulation(sampling, ties, samples, orders):
    ranks = Ranks([30] * 40, np.arange(40) % 20, np.arange(40) % 10)
    settings = SETTINGS.replaced(
        n_negatives=8, sampling=sampling, ties=ties, shared_samples=samples, shared_ties=orders
    ).replaced(n_items=None, repetitions=1500)
    size = len(settings.metrics) * len(settings.estimators)
    mean, covariance = mean_and_covariance(ranks, settings)
    expected, found = expected_estimates(ranks, settings), covariance.reshape(size, size)
    np.testing.assert_allclose(mean, expected.mean, rtol=1e-12)
    sd = expected.sd.ravel()
    np.testing.assert_allclose(np.sqrt(np.diag(found)), sd, rtol=1e-9)
    drawn = np.corrcoef(run_experiment("R", ranks, settings).repeated.reshape(size, -1))
    assert abs(drawn - found / np.outer(sd, sd)).max() < 5 / np.sqrt(1500)


def test_joint_test_against_the_multivariate_normal_density():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(4, 4))
    covariance, differences = root @ root.T + np.eye(4), rng.normal(size=4)
    normal = stats.multivariate_normal(cov=covariance)
    whole = 2 * (normal.logpdf(np.zeros(4)) - normal.logpdf(differences))
    found = joint_test(differences, covariance)
    assert found.chi_square == pytest.approx(whole)
    assert found.p_value == pytest.approx(stats.chi2(4).sf(whole))
    # the sum of squares has mean 4 and variance 2 tr(R^2), as 4 / effective times chi-square
    drawn = rng.multivariate_normal(np.zeros(4), covariance, 50_000)
    sums = np.sum(drawn**2 / np.diag(covariance), axis=1)
    assert 2 * 4**2 / found.effective == pytest.approx(sums.var(), rel=0.05)
    # an approximation, best in the upper tail
    assert joint_test(3 * differences, covariance).p_independent == pytest.approx(
        (sums >= 9 * found.independent).mean(), abs=0.03
    )


def test_equal_cells_leave_the_chi_square_out():
    found = joint_test(np.array([1.0, 1.0]), np.ones((2, 2)))
    assert np.isnan(found.chi_square)
    assert (found.independent, found.effective) == (2.0, 1.0)
    assert found.p_independent == pytest.approx(stats.chi2(1).sf(1.0))


@pytest.mark.parametrize("correlation", [-0.999, -0.3, 0.0, 0.6, 0.9999])
def test_covariance_of_signs_is_that_of_a_quadrant(correlation):
    z = np.array([-1.5, 0.0, 0.7])
    normal = stats.multivariate_normal(cov=[[1, correlation], [correlation, 1]])
    quadrants = [[normal.cdf([a, b]) for b in z] for a in z]
    np.testing.assert_allclose(
        covariance_of_signs(z[:, None], z, np.full((3, 3), correlation)),
        quadrants - np.outer(stats.norm.cdf(z), stats.norm.cdf(z)),
        atol=1e-12,
    )


def test_covariance_of_counts_is_that_of_simulated_ones():
    rng = np.random.default_rng(7)
    a, b = (Ranks([400] * 300, rng.integers(0, top, 300), [0] * 300) for top in (200, 190))
    settings = ExperimentSettings(
        n_negatives=20, metrics=("ap",), estimators=("sampled", "bv:0.1"), repetitions=1000
    )
    one, other = (run_experiment(name, ranks, settings) for name, ranks in (("a", a), ("b", b)))
    right = (one.repeated < other.repeated).reshape(2, -1)
    np.testing.assert_allclose(
        covariance_of_counts(Estimates.of(a, settings), Estimates.of(b, settings)),
        100 * np.cov(right),
        atol=100 * 0.06,
    )


def our_cells(ranks):
    """Our cells of Tables 3 and 4 where nothing is random but the published rounding."""
    rows = []
    for cell in PUBLISHED.itertuples(index=False):
        value = float(cell.value)
        std = float(cell.std) if cell.std else None
        repetitions = 0 if cell.column == "Exact" else 100
        rows.append(Row(*cell[:4], value, std, value, std, repetitions, ranks))
    return pd.DataFrame(rows, columns=Row._fields)


def test_power_of_the_published_numbers_against_themselves():
    no_spread = pd.DataFrame(columns=[*KEY, "spread", "cause"])
    ours = our_cells("the print")
    assert set(scorecard(ours, PUBLISHED, no_spread)["verdict"]) == {"exact"}
    table = power_table(ours, PUBLISHED, no_spread).set_index("change")
    # the other recommender's standard errors may be larger, so a margin of one
    assert (table["able to tell"] - table["of these turn"]).isin((0, 1)).all()
    # 1 % of a mean beyond 3 of its standard errors and half a unit, one cell after the other
    turned = 0
    for cell in PUBLISHED[PUBLISHED["table"] < 4].itertuples(index=False):
        value, half = float(cell.value), 0.5 * 10.0 ** -(2 if cell.table == 3 else 3)
        decimals = 2 if cell.table == 3 else 3
        if cell.std:
            error = float(cell.std) / np.sqrt(1000 if cell.table == 2 else 100)
            turned += 0.01 * value > 3 * error + half + 1e-12
        else:
            turned += f"{1.01 * value:.{decimals}f}" != cell.value
    assert table.loc["all means times 1.01", "all that turn"] == turned
    assert table.loc["X and Y swapped", "able to tell"] > 50


def test_joint_table_takes_the_covariance_of_each_row():
    ranks = {name: Ranks([200] * 50, np.arange(50) + shift, [0] * 50)
             for shift, name in enumerate("XY")}  # fmt: skip
    settings = ExperimentSettings(n_negatives=10, metrics=("ap",), estimators=("sampled", "bv:1"))
    cells = [(3, "X", "AP", "Sampled"), (3, "X", "AP", "BV 1"), (4, "X vs Y", "AP", "Sampled")]
    card = pd.DataFrame(cells, columns=KEY).assign(
        difference=["0.1", "0.2", "3"], kind=["random"] * 3
    )
    found = joint_table(card, ranks, settings, {}, settings)
    assert found["row"].tolist() == ["X", "X vs Y"]
    covariance = covariance_of_means(3, Estimates.of(ranks["X"], settings)).to_numpy()
    by_hand = np.array([0.1, 0.2]) @ np.linalg.inv(covariance) @ np.array([0.1, 0.2])
    assert found["chi_square"].iloc[0] == pytest.approx(by_hand)
    # starts that differ by 0, 1 and 2 in both cells: twice a variance of 1 everywhere
    starts = pd.DataFrame(
        [(start, *cell, float(start)) for start in range(3) for cell in cells],
        columns=["start", *KEY, "expected"],
    )
    wider = joint_table(card, ranks, settings, {}, settings, starts)
    by_hand = np.array([0.1, 0.2]) @ np.linalg.inv(covariance + 2.0) @ np.array([0.1, 0.2])
    assert wider["chi_square"].iloc[0] == pytest.approx(by_hand)
