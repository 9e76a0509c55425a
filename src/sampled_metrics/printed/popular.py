"""Ranges of exact metrics from printed means among negatives that were drawn by popularity.

Question: which exact metrics do printed numbers allow if nobody knows which negatives were better?

Let b items be better than the held-out one. Of m negatives, the number of better ones depends on
which items these are. It is largest, in distribution, if they are the b likeliest ones to be drawn,
and, under the assumption

    items above a held-out item are at least as likely to be drawn as a random set of items,  (A1)

smallest if they are drawn like the average candidate. A sampled metric falls with this number, so
its expectation at true rank b + 1 is between those of these two extremes,

    E_likeliest(b) <= E(b) <= E_average(b).                                                  (1)

Distributions of true ranks, with weights w of the extreme points of the class (see
`intervals.kernels`), are compatible with a printed value from v to u if w @ E_average >= v and
w @ E_likeliest <= u. The ends of the range are the least and the greatest exact metric among them:
two linear programmes. The interval from v to u has the rounding, and Wilson's interval for D users
at a confidence for all numbers together: values in [0, 1] vary at most as hits do.

How likely items are drawn, and the distribution of the number of better negatives, is described in
`intervals.rank_only_ranges`, which has the like for sampled ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.special import ndtri

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.estimators.least_squares import mean_up_to
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.rank_only_ranges import (
    item_draws,
    means_of_likeliest,
    means_up_to,
    programme_ranks,
)
from sampled_metrics.intervals.shapes import NON_INCREASING, shape_factor
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.statement import (
    EvaluationSetting,
    Numbers,
    parse_number,
    rounding_interval,
    wilson_interval,
)
from sampled_metrics.read.item_counts import read_item_counts

MOST_POWER = 4.0  # of counts; usual are .5 to 1


class Popularity(NamedTuple):
    """How negatives were drawn: in proportion to the counts of items, raised to a power.

    Attributes
    ----------
    counts
        Count of each item of the catalogue, above 0.
    power
        1 for draws by popularity, 0 for uniform ones.
    """

    counts: Float
    power: float


MORE_POPULAR = "items above a held-out item are at least as likely to be drawn as a random set"
ABOUT_POPULAR = (
    "likely: -, without ids of the negatives nothing shows how popular the better ones were. The "
    "range is therefore wide, and decides no order. It may be too high for a recommender that "
    f"avoids popular items, because it assumes that {MORE_POPULAR}. With ids, `correct` "
    "uses counts and returns a number."
)


def read_popularity(counts: Any, power: float) -> Popularity | None:
    """Return how negatives were drawn; None without counts."""
    if counts is None:
        if power != 1.0:
            raise InputError("power (--power) needs counts (--counts); pass them")
        return None
    if isinstance(power, bool) or not isinstance(power, Real) or not 0.0 <= power <= MOST_POWER:
        raise InputError(
            f"power (--power) is {format_value(power)}; expected 0 to {MOST_POWER:g}, 1 for draws "
            "in proportion to counts"
        )
    return Popularity(read_item_counts(counts).counts, float(power))


def popular_range(
    printed: Numbers, setting: EvaluationSetting, measure: Measure, popularity: Popularity
) -> Range:
    """Return the range of an exact metric that printed numbers allow, see (1).

    It is from the least to the greatest w @ exact among weights w >= 0 of the extreme points, which
    sum to 1, with

        w @ E_likeliest <= u  and  -w @ E_average <= -v

    for the interval from v to u of each printed number.

    Raises
    ------
    InputError
        For a shape other than `non-increasing` and `none`, for fewer counts than candidates, and
        for printed numbers that no distribution of the class gives.

    Examples
    --------
    >>> setting = EvaluationSetting(n_items=1000, n_negatives=100, n_users=5000)
    >>> popularity = Popularity(1000.0 / np.arange(1, 1001), power=1.0)
    >>> allowed = popular_range({"HR@10": "0.5"}, setting, parse_measure("HR@1"), popularity)
    >>> round(allowed.low, 3), round(allowed.high, 3)  # HR@10 was from 0.45 to 0.55
    (0.004, 0.564)
    """
    factor = shape_factor(setting.shape)
    if factor not in {1.0, np.inf}:
        raise InputError(
            f"shape (--shape) {setting.shape} cannot be used with counts; use {NON_INCREASING} or "
            "none"
        )
    n = setting.n_items
    if popularity.counts.size < n - 1:
        raise InputError(
            f"counts are of {popularity.counts.size:,} items, fewer than the {n - 1:,} other "
            "candidates (n_items - 1); pass a count for each item, and 0.5 for new ones"
        )
    measures = [parse_measure(name) for name in printed]
    cutoffs = [each.cutoff for each in (*measures, measure) if each.cutoff is not None]
    # Metrics jump after their cut-offs k, so k and k + 1 are among the ranks.
    ranks = programme_ranks(n, [k + step for k in cutoffs for step in (0, 1)])
    conditions = _conditions(ranks, measures, setting, popularity)
    at_single_ranks = np.vstack([conditions, measure.value_at(ranks, n)])
    at_points = at_single_ranks
    if factor == 1.0:  # extreme points are uniform on the ranks 1 ... k
        at_points = np.vstack([means_up_to(ranks, conditions), mean_up_to(ranks, measure, n)])
    at_last_rank = at_single_ranks[:, -1]
    low, high = np.transpose(_intervals(printed, setting))
    return _least_and_greatest(
        columns=np.column_stack([at_points, at_last_rank]),
        limits=np.concatenate([high, -low]),
        max_unscored=setting.unscored,
    )


def _conditions(
    ranks: Int, measures: Sequence[Measure], setting: EvaluationSetting, popularity: Popularity
) -> Float:
    """Return E_likeliest of each metric at each true rank, and below these -E_average, see (1).

    Shape (2 metrics, ranks). Their means over users must not exceed the upper ends of the intervals
    of the metrics, and the lower ends times -1.
    """
    n, m = setting.n_items, setting.n_negatives
    draws = item_draws(popularity.counts, popularity.power, n, m, setting.sampling)
    credit = np.stack([measure.sampled_values(m) for measure in measures])
    of_likeliest = means_of_likeliest(draws, ranks, credit)
    of_average = means_of_likeliest(draws.of_average, ranks, credit)
    return np.vstack([of_likeliest, -of_average])


def _intervals(printed: Numbers, setting: EvaluationSetting) -> list[tuple[float, float]]:
    """Return the interval of the expectation behind each printed number.

    All of them hold together with the confidence (Bonferroni).
    """
    error_of_each = (1.0 - setting.confidence) / 2.0 / len(printed)  # at either end
    quantile = float(ndtri(1.0 - error_of_each))
    intervals = []
    for name, number in printed.items():
        low, high = rounding_interval(*parse_number(name, number))
        intervals.append(wilson_interval(low, high, quantile, setting.n_users))
    return intervals


def _least_and_greatest(columns: Float, limits: Float, max_unscored: float) -> Range:
    """Return the least and the greatest cost of weights of columns, two linear programmes.

    Weights are at least 0, sum to 1, and meet the conditions.

    Parameters
    ----------
    columns
        A column for each extreme point, and one for the last rank alone: the left sides of the
        conditions, and as last row the cost; shape (conditions + 1, points + 1).
    limits
        Right sides of the conditions, shape (conditions,).
    max_unscored
        Largest weight of the last rank alone.
    """
    conditions, cost = columns[:-1], columns[-1]
    n_columns = columns.shape[1]
    bounds = [(0.0, None)] * (n_columns - 1) + [(0.0, max_unscored)]
    ends = []
    for sign in (1.0, -1.0):  # the least cost, and minus the least of -cost
        solution = scipy.optimize.linprog(
            sign * cost,
            A_ub=conditions,
            b_ub=limits,
            A_eq=np.ones((1, n_columns)),
            b_eq=[1.0],
            bounds=bounds,
            method="highs",
        )
        if solution.status != 0:
            raise InputError(
                "no distribution of true ranks gives the printed numbers; check them, n_items, "
                "n_negatives and counts"
            )
        ends.append(sign * float(solution.fun))
    low, high = ends
    return Range(max(low, 0.0), high)
