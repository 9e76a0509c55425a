"""What the published tables say about whether the estimators saw the same samples.

Sharing changes no expectation, only how cells vary together. Deviations of published means from
their expectations are taken to be normal; rounding is simulated.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import chi2, multivariate_normal

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.moments import order_probability
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import COUNTS, REPETITIONS
from sampled_metrics.study.comparison import PERCENT
from sampled_metrics.study.joint import Estimates, covariance_of_means, joint_test
from sampled_metrics.study.judgement import unit
from sampled_metrics.study.settings import ExperimentSettings

READINGS: dict[str, dict[str, Any]] = {
    "samples shared, ties anew for each estimator": {"shared_samples": True, "shared_ties": False},
    "samples and ties shared": {"shared_samples": True, "shared_ties": True},
    "samples anew for each estimator": {"shared_samples": False},
}
SHARED, _, INDEPENDENT = READINGS
TOP_HEAVY, AUC = ("Recall@10", "NDCG@10", "AP"), "AUC"
RANK_ESTIMATE, CLS = "Rank Estimate", "CLS"
_TAIL = 0.00135  # of 3 standard deviations
_DRAWS = 20_000
Quantity = tuple[str, float, str, float]
Printed = Callable[[str, str, str], str]


def sharing(
    ranks: Mapping[str, Ranks], settings: ExperimentSettings, printed: Printed
) -> Iterator[tuple[str, list[Quantity]]]:
    """Measure the three readings by the ranks of X, Y and Z.

    `printed` returns the published cell of Table 3 or 4 by row, metric and column. Yields each
    reading with its quantities: name, value under the reading, published value, and largest
    difference that is not in the outer 0.135 % on either side.
    """
    by_reading: dict[str, dict[str, Estimates]] = {}
    for reading, changes in READINGS.items():
        changed = settings.replaced(**changes)
        by_reading[reading] = {name: Estimates.of(users, changed) for name, users in ranks.items()}
    for reading, estimates in by_reading.items():
        rng = generator(settings.seed, "audit", "sharing", reading)
        quantities = []
        for name in "YZ":
            of_name = {key: of_reading[name] for key, of_reading in by_reading.items()}
            quantities.append(likelihood_ratio(name, reading, of_name, printed, rng))
        quantities += [_chi_square(name, estimates[name], printed) for name in "YZ"]
        quantities += [measure(estimates, printed, rng) for measure in (_multiples, _equal_counts)]
        yield reading, quantities


def likelihood_ratio(
    name: str,
    reading: str,
    estimates: Mapping[str, Estimates],
    printed: Printed,
    rng: np.random.Generator,
) -> Quantity:
    """Log-likelihood ratio of shared against independent samples, given Recall, NDCG and AP."""
    deviations, expected = _deviations(name, TOP_HEAVY, estimates[reading], printed)
    shared, alone = (
        multivariate_normal(cov=_covariance(estimates[key], TOP_HEAVY), allow_singular=True)
        for key in (SHARED, INDEPENDENT)
    )
    noise = _covariance(estimates[reading], TOP_HEAVY) - unit(3) ** 2 / 12 * np.eye(expected.size)
    drawn = expected + rng.multivariate_normal(
        np.zeros(expected.size), noise, _DRAWS, method="eigh"
    )
    simulated = np.round(drawn / unit(3)) * unit(3) - expected
    ratios = shared.logpdf(simulated) - alone.logpdf(simulated)
    observed = float(shared.logpdf(deviations) - alone.logpdf(deviations))
    return _against(f"{name}, log-likelihood ratio of sharing", ratios, observed, 1)


def _deviations(
    name: str, metrics: tuple[str, ...], estimates: Estimates, printed: Printed
) -> tuple[Float, Float]:
    """Published means minus expectations, and the expectations, in percent."""
    kept = estimates.labels.get_level_values(0).isin(metrics)
    expected = PERCENT * estimates.mean[kept]
    published = [float(printed(name, *label)) for label in estimates.labels[kept]]
    return np.array(published) - expected, expected


def _covariance(estimates: Estimates, metrics: tuple[str, ...]) -> Float:
    kept = estimates.labels.get_level_values(0).isin(metrics)
    return covariance_of_means(3, estimates).to_numpy()[np.ix_(kept, kept)]


def _against(words: str, simulated: Float, observed: float, decimals: int) -> Quantity:
    """Compare an observed number with its simulated distribution."""
    below, middle, above = np.quantile(simulated, [_TAIL, 0.5, 1 - _TAIL])
    if observed > middle:
        beyond, allowed = np.mean(simulated >= observed - 1e-9), above - middle
    else:
        beyond, allowed = np.mean(simulated <= observed + 1e-9), middle - below
    named = f"{words} (P {max(beyond, 1 / simulated.size):.2g})"
    return named, float(middle), f"{observed:.{decimals}f}", float(allowed)


def _chi_square(name: str, estimates: Estimates, printed: Printed) -> Quantity:
    """Chi-square of the columns of AUC with their covariance."""
    deviations, _ = _deviations(name, (AUC,), estimates, printed)
    test = joint_test(deviations, _covariance(estimates, (AUC,)))
    cells = test.cells
    named = f"{name}, chi-square of {cells} cells of AUC (P {test.p_value:.2g})"
    return named, float(cells), f"{test.chi_square:.1f}", float(chi2.isf(_TAIL, cells)) - cells


def _multiples(
    estimates: Mapping[str, Estimates], printed: Printed, rng: np.random.Generator
) -> Quantity:
    """Cells of CLS that are the multiple of Rank Estimate that they must be, within rounding.

    Both count the users with sampled rank 1, by Recall@10 and by NDCG@10.
    """
    size, fitting, simulated = unit(3), 0, np.zeros(_DRAWS)
    for name, estimate in estimates.items():
        labels = [(metric, column) for metric in TOP_HEAVY[:2] for column in (RANK_ESTIMATE, CLS)]
        at = [list(estimate.labels).index(label) for label in labels]
        covariance = PERCENT**2 / REPETITIONS[3] * estimate.covariance[np.ix_(at, at)]
        drawn = rng.multivariate_normal(
            PERCENT * estimate.mean[at], covariance, _DRAWS, method="eigh"
        )
        rounded = np.round(drawn / size) * size
        values = [float(printed(name, *label)) for label in labels]
        for a, b in ((0, 1), (2, 3)):
            ratio = estimate.mean[at[b]] / estimate.mean[at[a]]
            allowed = size / 2 * (1 + ratio) + 1e-9
            fitting += int(abs(values[b] - ratio * values[a]) <= allowed)
            simulated += abs(rounded[:, b] - ratio * rounded[:, a]) <= allowed
    words = "cells of CLS that are the multiple of Rank Estimate, of 6"
    return _against(words, simulated, float(fitting), 0)


def _equal_counts(
    estimates: Mapping[str, Estimates], printed: Printed, rng: np.random.Generator
) -> Quantity:
    """Pairs whose count in Table 4 is the same by CLS and by Rank Estimate, Recall@10."""
    metric, equal, simulated = TOP_HEAVY[0], 0, np.zeros(_DRAWS)
    for (name_a, a), (name_b, b) in combinations(estimates.items(), 2):
        pair = f"{name_a} vs {name_b}"
        equal += printed(pair, metric, CLS) == printed(pair, metric, RANK_ESTIMATE)
        at = [list(a.labels).index((metric, column)) for column in (RANK_ESTIMATE, CLS)]
        covariance = (a.covariance + b.covariance)[np.ix_(at, at)]
        sd = np.sqrt(np.diag(covariance))
        z = (b.mean - a.mean)[at] / sd
        both = multivariate_normal(cov=covariance / np.outer(sd, sd), allow_singular=True).cdf(z)
        first, second = order_probability(z)
        # right by both, by either one alone, by neither
        chances = np.array([both, first - both, second - both, 1 - first - second + both])
        counts = rng.multinomial(
            REPETITIONS[COUNTS], np.clip(chances, 0, 1) / chances.sum(), _DRAWS
        )
        simulated += counts[:, 1] == counts[:, 2]
    words = "pairs with equal counts by CLS and Rank Estimate, of 3"
    return _against(words, simulated, float(equal), 0)
