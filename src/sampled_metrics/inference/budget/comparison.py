"""Orders of recommenders evaluated on a budget, in the form of other comparisons."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import stdtr, stdtrit

from sampled_metrics.inference.budget.estimate import Estimate
from sampled_metrics.inference.budget.printed import orders_table
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.compared import UNDECIDED, Compared
from sampled_metrics.inference.orders import decided
from sampled_metrics.inference.results import Results

ON_A_BUDGET = "budget"  # in the place of the name of an estimator


def compared(result: BudgetResult, correction: str) -> Results[Compared]:
    """Compare all pairs of recommenders by the intervals of their differences.

    Returns
    -------
    One result for each pair and metric, pairs outermost. `difference` is the value to rank by,
    which the audit moves for each pair, so it need not be `value_b - value_a`; interval, range and
    order are about the exact metrics of the users evaluated.
    """
    looks = (1.0 - result.confidence) / (1.0 - result.level)  # at which it might have stopped
    mean_candidates = round((result.n_candidates + result.n_held_out) / result.n_users)
    pairs = [
        Compared(
            a=result.names[a],
            b=result.names[b],
            metric=metric,
            estimator=ON_A_BUDGET,
            value_a=result.estimates[a][index].value,
            value_b=result.estimates[b][index].value,
            difference=one.value,
            std_error=one.std_error,
            ci_low=one.low,
            ci_high=one.high,
            range_low=one.low,
            range_high=one.high,
            order=UNDECIDED,
            p_value=min(1.0, p_value(one, result.level) * looks),
            behaves_like=None,
            verdict="",
            paired=True,
            n_users=result.n_users,
            n_items=mean_candidates,
        )
        for (a, b), row in result.differences.items()
        for index, (metric, one) in enumerate(zip(result.metrics, row, strict=True))
    ]
    orders = decided(pairs, correction, result.confidence)
    return Results(
        [replace(one, verdict=_verdict(one, result)) for one in orders],
        partial(orders_table, confidence=result.confidence),
    )


def p_value(one: Estimate, level: float) -> float:
    """Return one less the highest level at which the interval, now of `level`, excludes 0.

    Clipping to the values that the scores allow can only shorten an interval, so its longer side
    tells how far it reaches beyond the standard error.

    Examples
    --------
    >>> round(p_value(Estimate(0.1, -0.096, 0.296, 0.1, 0.1, 1e6, 0.1), 0.95), 4)
    0.3173
    """
    risk = 1.0 - level
    if not one.std_error:
        return 0.0 if one.centre else 1.0
    reach = max(one.high - one.centre, one.centre - one.low)
    slack = max(0.0, reach - float(stdtrit(one.freedom, 1.0 - risk / 2.0)) * one.std_error)
    distance = max(0.0, abs(one.centre) - slack) / one.std_error
    p = 2.0 * float(stdtr(one.freedom, -distance))
    if one.low <= 0.0 <= one.high:
        return max(p, risk)
    return min(p, float(np.nextafter(risk, 0.0)))


def _verdict(one: Compared, result: BudgetResult) -> str:
    if one.order != UNDECIDED:
        above, below = (one.b, one.a) if one.order == "b" else (one.a, one.b)
        return f"{above} is above {below}"
    words = f"undecided after {max(result.scores_per_user):.4g} scores per user"
    if not one.difference:
        return words
    above, below = (one.b, one.a) if one.difference > 0 else (one.a, one.b)
    return f"{words}; the estimates put {above} above {below}"
