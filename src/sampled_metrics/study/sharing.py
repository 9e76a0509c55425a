"""What the published tables say about whether the estimators saw the same samples.

Sharing changes no expectation, only how cells vary together. Deviations of published means from
their expectations are taken to be normal; rounding is simulated.
"""

from collections.abc import Callable, Iterator, Mapping
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
PAIRS = ("X vs Y", "X vs Z", "Y vs Z")
_TAIL = 0.00135  # of 3 standard deviations
_DRAWS = 20_000
Quantity = tuple[str, float, str, float]
Printed = Callable[[str, str, str], str]


def sharing(
    ranks: Mapping[str, Ranks], settings: ExperimentSettings, printed: Printed
) -> Iterator[tuple[str, list[Quantity]]]:
    """Measure the three readings.

    Parameters
    ----------
    ranks
        Rank records of X, Y and Z.
    settings
        The experiment.
    printed
        Published cell of Table 3 or 4, as text: by row, metric and column.

    Yields
    ------
    Each reading with its quantities: name, value under the reading, published value, and largest
    difference that is not in the outer 0.135 % on either side.
    """
    made = {
        reading: {name: Estimates.of(each, settings.replaced(**changes))
                  for name, each in ranks.items()}
        for reading, changes in READINGS.items()
    }  # fmt: skip
    for reading, estimates in made.items():
        rng = generator(settings.seed, "audit", "sharing", reading)
        quantities = [
            likelihood_ratio(name, reading, {key: each[name] for key, each in made.items()},
                             printed, rng)
            for name in "YZ"
        ]  # fmt: skip
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
    deviations, one = _deviations(name, TOP_HEAVY, estimates[reading], printed)
    shared, alone = (
        multivariate_normal(cov=_covariance(estimates[key], TOP_HEAVY), allow_singular=True)
        for key in (SHARED, INDEPENDENT)
    )
    noise = _covariance(estimates[reading], TOP_HEAVY) - unit(3) ** 2 / 12 * np.eye(one.size)
    drawn = one + rng.multivariate_normal(np.zeros(one.size), noise, _DRAWS, method="eigh")
    simulated = np.round(drawn / unit(3)) * unit(3) - one
    ratios = shared.logpdf(simulated) - alone.logpdf(simulated)
    observed = float(shared.logpdf(deviations) - alone.logpdf(deviations))
    words = f"{name}, log-likelihood ratio of sharing"
    return _against(words, ratios, observed, 1)


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
    is_above = observed > middle
    beyond = np.mean(simulated >= observed - 1e-9) if is_above else np.mean(
        simulated <= observed + 1e-9
    )  # fmt: skip
    allowed = above - middle if is_above else middle - below
    named = f"{words} (P {max(beyond, 1 / simulated.size):.2g})"
    return named, float(middle), f"{observed:.{decimals}f}", float(allowed)


def _chi_square(name: str, estimates: Estimates, printed: Printed) -> Quantity:
    """Chi-square of the columns of AUC with their covariance."""
    deviations, _ = _deviations(name, (AUC,), estimates, printed)
    found = joint_test(deviations, _covariance(estimates, (AUC,)))
    cells = found.cells
    named = f"{name}, chi-square of {cells} cells of AUC (P {found.p_value:.2g})"
    return named, float(cells), f"{found.chi_square:.1f}", float(chi2.isf(_TAIL, cells)) - cells


def _multiples(
    estimates: Mapping[str, Estimates], printed: Printed, rng: np.random.Generator
) -> Quantity:
    """Cells of CLS that are the multiple of Rank Estimate that they must be, within rounding.

    Both count the users with sampled rank 1, by Recall@10 and by NDCG@10.
    """
    size, found, simulated = unit(3), 0, np.zeros(_DRAWS)
    for name, each in estimates.items():
        labels = [(metric, column) for metric in TOP_HEAVY[:2] for column in (RANK_ESTIMATE, CLS)]
        at = [list(each.labels).index(label) for label in labels]
        covariance = PERCENT**2 / REPETITIONS[3] * each.covariance[np.ix_(at, at)]
        drawn = rng.multivariate_normal(PERCENT * each.mean[at], covariance, _DRAWS, method="eigh")
        rounded = np.round(drawn / size) * size
        values = np.array([[float(printed(name, *label)) for label in labels]])
        for a, b in ((0, 1), (2, 3)):
            ratio = each.mean[at[b]] / each.mean[at[a]]
            allowed = size / 2 * (1 + ratio) + 1e-9
            fits = (abs(table[:, b] - ratio * table[:, a]) <= allowed
                    for table in (values, rounded))  # fmt: skip
            one, many = fits
            found, simulated = found + int(one[0]), simulated + many
    words = "cells of CLS that are the multiple of Rank Estimate, of 6"
    return _against(words, simulated, float(found), 0)


def _equal_counts(
    estimates: Mapping[str, Estimates], printed: Printed, rng: np.random.Generator
) -> Quantity:
    """Pairs whose count in Table 4 is the same by CLS and by Rank Estimate, Recall@10."""
    metric, found, simulated = TOP_HEAVY[0], 0, np.zeros(_DRAWS)
    for pair in PAIRS:
        a, b = (estimates[name] for name in pair.split(" vs "))
        found += printed(pair, metric, CLS) == printed(pair, metric, RANK_ESTIMATE)
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
    return _against(words, simulated, float(found), 0)
