"""A difference between two recommenders: its estimate and test, the order, users needed."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri, stdtr

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import adjust_p_values
from sampled_metrics.evaluation.results import UNDECIDED, Compared, order_of
from sampled_metrics.intervals.means import MeanInterval, Moments, mean_interval

_ROUNDING = 1e-13
_LEAST_RATIO = 1e-5  # difference by error, so that users needed fit into int64


def of_common(a: Float, b: Float, common: tuple[Int, Int] | None) -> tuple[Float, Float]:
    """Values of the users in common, or of all users if there are none."""
    if common is None:
        return a, b
    return a[common[0]], b[common[1]]


def mean_difference(
    a: Float, b: Float, paired: bool, prior: Moments, confidence: float
) -> MeanInterval:
    """Estimate the mean of b - a over users; `prior` is the shape of one recommender's values."""
    if paired:
        difference = b - a
        difference[np.abs(difference) < _ROUNDING] = 0.0
        shape = Moments.from_values(difference)
        n_users = a.size
    else:
        shape, n_users = Moments.from_mean_difference(
            Moments.from_values(a), a.size, Moments.from_values(b), b.size
        )
    return mean_interval(shape, n_users, prior.of_difference(), confidence)


def decided(results: Sequence[Compared], correction: str, confidence: float) -> list[Compared]:
    """Adjust the p-values of each metric for its pairs, and fill in the orders."""
    by_metric: dict[str, dict[tuple[str, str], float]] = {}
    for result in results:
        by_metric.setdefault(result.metric, {})[result.a, result.b] = result.p_value
    filled = []
    for pairs in by_metric.values():
        corrected = adjust_p_values(list(pairs.values()), correction)
        pairs.update(zip(pairs, corrected, strict=True))
    for result in results:
        p = by_metric[result.metric][result.a, result.b]
        order = UNDECIDED
        if p < 1.0 - confidence:
            order = order_of(result.range_low, result.range_high)
        filled.append(replace(result, p_value=p, order=order))
    return filled


def strict_level(result: Compared, alone: Compared, confidence: float) -> float:
    """Confidence that a correction for several pairs asks of one that was decided `alone`."""
    strictness = 1.0
    if result.p_value > 0.0:
        strictness = alone.p_value / result.p_value
    return 1.0 - (1.0 - confidence) * strictness


def users_needed(result: Compared, confidence: float) -> int | None:
    """Predict how many users decide a difference that grows no smaller with them, to two digits."""
    if not result.difference or not result.std_error > 0.0:
        return None
    ratio = max(abs(result.difference / result.std_error), _LEAST_RATIO)
    wanted = float(ndtri((1.0 + confidence) / 2.0))
    needed = max(result.n_users * (wanted / ratio) ** 2, result.n_users + 1.0)
    unit = 10 ** max(0, math.floor(math.log10(needed)) - 1)  # a prediction is no more precise
    return math.ceil(needed / unit) * unit


def p_value(a: Float, b: Float, paired: bool) -> float:
    """Test whether two recommenders have the same mean, two-sided; Student's or Welch's test."""
    if min(a.size, b.size) < 2:
        return 1.0
    if paired:
        samples = [b - a]
        difference = samples[0].mean()
    else:
        samples = [a, b]
        difference = b.mean() - a.mean()
    if all(np.ptp(values) == 0.0 for values in samples):
        return 1.0 if a[0] == b[0] else 0.0
    variance = 0.0
    scatter = 0.0
    for values in samples:
        of_mean = values.var(ddof=1) / values.size
        variance += of_mean
        scatter += of_mean**2 / (values.size - 1)
    freedom = variance**2 / scatter
    return float(2.0 * stdtr(freedom, -abs(difference) / np.sqrt(variance)))
