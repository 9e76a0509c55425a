"""Range of the exact metric that printed sampled metrics allow.

A paper prints means of sampled metrics, each linear in the unknown distribution of true ranks. The
ends of a range are the lowest and the highest exact metric among the distributions of a class that
give these means, to the printed digits and within sampling error (see `means`). The class has its
shape at all ranks but the last, where any share of users may be: the tail of sampled ranks is free
in `correct` as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, one_thread
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE, UNSCORED, Names
from sampled_metrics._base.errors import ask
from sampled_metrics._base.text import Bold, Explanation, Parts, span
from sampled_metrics.evaluation.results import UNDECIDED, Results, count, order_of
from sampled_metrics.intervals.shapes import (
    BEFORE_LAST,
    NON_INCREASING,
    NONE,
    assumed,
    caveat,
    factor_of,
    name_of,
)
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.printed.averages import sampled_moments
from sampled_metrics.printed.consistency import no_share, not_above_random
from sampled_metrics.printed.means import Least
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics.printed.statement import (
    About,
    Numbers,
    number_of,
    require_printed,
    solve,
    state,
)
from sampled_metrics.printed.tilt import NONE_QUOTED, likely
from sampled_metrics.ranks import Sampling

ADVISED = ("HR@10", "HR@10 NDCG@10", "HR@1 HR@5 HR@10", "MRR", "NDCG@5 NDCG@10")


@dataclass(frozen=True)
class Reported:
    """Range of one exact metric.

    Attributes
    ----------
    metric, reported, printed
        The exact metric, its printed sampled value (None if it was not printed), and all numbers
        printed.
    range_low, range_high, likely
        Lowest and highest value, and a likely one, see `tilt`; None if one number is printed.
    shape, n_items, n_negatives, n_users, sampling
        As given.
    """

    metric: str
    reported: float | None
    range_low: float
    range_high: float
    likely: float | None
    shape: str
    n_items: int
    n_negatives: int
    n_users: int | None
    sampling: str
    printed: str


@dataclass(frozen=True)
class Orders:
    """Ranges of one exact metric of two papers, and the order that they decide.

    `range_low` and `range_high` are ends of the range of the difference b - a; `order` is `a`, `b`
    or `undecided`.
    """

    metric: str
    a_low: float
    a_high: float
    b_low: float
    b_high: float
    range_low: float
    range_high: float
    order: str


@one_thread()
def reported(
    printed: Numbers,
    metrics: Names | None = None,
    *,
    n_items: int,
    n_negatives: int,
    n_users: int | None = None,
    digits: int | None = None,
    sampling: str = Sampling.WITHOUT_REPLACEMENT,
    shape: str | float = SHAPE,
    unscored: float = UNSCORED,
    runs: int = 1,
    against: Numbers | None = None,
    confidence: float = CONFIDENCE,
) -> Results[Any]:
    """Compute the range of exact metrics that printed sampled metrics allow.

    Parameters
    ----------
    printed
        Sampled metrics by name, as fractions: means over users with one held-out item each.
    metrics
        Exact metrics, by default the printed ones.
    n_items, n_negatives
        Candidates of a full ranking, the held-out item included (items less seen ones), and
        negatives drawn for each user, uniformly.
    n_users
        Users averaged over. Without it the printed numbers are taken as expectations, and the
        range is too narrow by the sampling error.
    digits
        Decimals printed; by default as many as the numbers have. Text such as "0.820" keeps zeros.
    sampling, shape
        How negatives were drawn, and the assumption about true ranks, as for `correct`.
    unscored
        Share of users at most whose held-out item is last of all, because the recommender does not
        score it, such as an item that is new in a split by time; the shape is of the rest.
        By default almost any share; with 0 the shape holds down to the last rank.
    runs
        Runs over the same users, each with negatives of its own, whose means were printed.
    against
        Numbers that another paper prints of the same data. Then results are the orders by each
        metric, `a`, `b` (`against`) or `undecided`, from ranges that hold together.
    confidence
        Nominal coverage of each range.

    Returns
    -------
    Results
        A list with the range of each metric, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    check : A whole table of printed numbers.
    correct : The same from sampled ranks.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> paper = {"HR@10": 0.8245, "NDCG@10": 0.5905}
    >>> result = reported(paper, "HR@10", n_items=3416, n_negatives=100, n_users=6040)[0]
    >>> round(result.range_low, 3), round(result.range_high, 3)
    (0.098, 0.457)
    """
    about = About(
        n_items=n_items,
        n_negatives=n_negatives,
        n_users=n_users,
        sampling=sampling,
        shape=shape,
        unscored=unscored,
        runs=runs,
        digits=digits,
        confidence=confidence,
    )
    if against is not None:
        orders = _orders(printed, against, metrics, about)
        return Results(orders, partial(_order_parts, confidence=confidence))
    found = _ranges(printed, metrics, about)
    _question_users(printed, about)
    low: list[str] = []
    if not unscored and name_of(shape) != NONE:
        low = not_above_random(printed, n_negatives)
    return Results(found, partial(_parts, confidence=confidence, low=low))


def _question_users(printed: Numbers, about: About) -> None:
    """Ask about hit rates that are no share of so many users."""
    numbers = {}
    for name, number in printed.items():
        value, decimals = number_of(name, number)
        numbers[name] = f"{value:.{about.digits or decimals}f}"
    n, m = about.n_items, about.n_negatives
    row = PrintedRow(1, "", "", "", numbers, {}, n, m, n_users=about.n_users, runs=about.runs)
    wrong = no_share(row)
    if wrong is not None:
        users = count(wrong.n_users * wrong.runs, "user")
        ask("n_users", f"{', '.join(wrong.numbers)} is no share of {users}: are there others?")


def _ranges(printed: Numbers, metrics: Names | None, about: About) -> list[Reported]:
    """Range of each metric."""
    problem = state(printed, about)
    known = {}
    for name, number in printed.items():
        known[parse_measure(name)], _ = number_of(name, number)
    results = []
    for measure in parse_measures(list(printed) if metrics is None else metrics):
        found = solve(problem, measure).range
        result = Reported(
            metric=str(measure),
            reported=known.get(measure),
            range_low=found.low,
            range_high=found.high,
            likely=likely(problem, measure, found),
            shape=name_of(about.shape),
            n_items=about.n_items,
            n_negatives=about.n_negatives,
            n_users=about.n_users,
            sampling=str(about.sampling),
            printed=" ".join(problem.names),
        )
        results.append(result)
    return results


def advice(printed: Numbers, metrics: Names, about: About) -> Results[Reported]:
    """Compute the ranges that further printed metrics, or 1,000 negatives, would have allowed.

    The first results are for the numbers given. All further ones, the narrowest range of each
    metric and number of negatives first, are for one recommender that would have printed these
    numbers: its true ranks are halfway between the ranks with the lowest and with the highest first
    metric, of shape `non-increasing` if the shape is a factor.

    Examples
    --------
    >>> paper, about = {"HR@10": 0.8245, "NDCG@10": 0.5905}, About(3416, 100, n_users=6040)
    >>> for row in advice(paper, "HR@10", about)[:3]:
    ...     names = [pair.partition("=")[0] for pair in row.printed.split()]
    ...     print(row.n_negatives, *names, f"{row.range_low:.3f} to {row.range_high:.3f}")
    100 HR@10 NDCG@10 0.098 to 0.457
    100 HR@10 NDCG@10 HR@1 HR@5 MRR NDCG@5 0.171 to 0.303
    100 HR@1 HR@5 HR@10 0.136 to 0.357
    """
    typical = about
    if np.isfinite(factor_of(about.shape)):
        typical = about._replace(shape=NON_INCREASING)
    ends = solve(state(printed, typical), parse_measures(metrics)[0]).found
    rows: list[Reported] = []
    names = [*dict.fromkeys(" ".join(ADVISED).split())]
    for m in dict.fromkeys((about.n_negatives, 1000)):
        if not about.n_negatives <= m < about.n_items:
            continue
        values = _expected(parse_measures(names), typical._replace(n_negatives=m), ends)
        would = {name: f"{value:.4f}" for name, value in zip(names, values, strict=True)}
        for group in (*(group.split() for group in ADVISED), names):
            chosen = {name: would[name] for name in group}
            rows += _ranges(chosen, metrics, about._replace(n_negatives=m))
    own = _ranges(printed, metrics, about)
    rows.sort(key=lambda row: (row.metric, row.n_negatives, row.range_high - row.range_low))
    return Results([*own, *rows], partial(_advised, n_own=len(own), confidence=about.confidence))


def _expected(measures: list[Measure], about: About, ends: list[Least]) -> Float:
    """Expected sampled metrics halfway between two distributions."""
    n = about.n_items
    m = about.n_negatives
    alone = factor_of(about.shape) == np.inf
    given, _ = sampled_moments(tuple(measures), n, m, Sampling(about.sampling), alone)
    last = np.concatenate([measure.at([m + 1], m + 1) for measure in measures])
    total = np.zeros(len(measures))
    for end in ends:
        total += given @ end.weights + end.apart * last
    return total / (sum(end.weights.sum() + end.apart for end in ends))


def _orders(a: Numbers, b: Numbers, metrics: Names | None, about: About) -> list[Orders]:
    """Order two papers by their ranges, each at (1 + confidence)/2."""
    for printed in (a, b):
        require_printed(printed)
    theirs = parse_measures(list(b))
    common = [str(measure) for measure in parse_measures(list(a)) if measure in theirs]
    chosen = metrics or common or list(a)
    strict = about._replace(confidence=(1.0 + about.confidence) / 2.0)
    found = []
    for one, two in zip(_ranges(a, chosen, strict), _ranges(b, chosen, strict), strict=True):
        low = two.range_low - one.range_high
        high = two.range_high - one.range_low
        orders = Orders(
            metric=one.metric,
            a_low=one.range_low,
            a_high=one.range_high,
            b_low=two.range_low,
            b_high=two.range_high,
            range_low=low,
            range_high=high,
            order=order_of(low, high),
        )
        found.append(orders)
    return found


def _parts(results: list[Reported], confidence: float, low: list[str]) -> Parts:
    """The range of each metric; `low` names printed numbers that a random order has, or more."""
    rows = [
        {
            "metric": result.metric,
            "range": span(result.range_low, result.range_high),
            "likely": result.likely,
            "n_negatives": result.n_negatives,
            "printed": result.printed,
        }
        for result in results
    ]
    lines = [_assumptions(results[0], confidence)]
    explained = [*filter(None, [caveat(results[0].shape)])]
    if any(result.likely is not None for result in results):
        explained.append(
            "likely: the number to quote with the range, if you must quote one; in 80 % of "
            "published cases the exact metric was .7 to 1.25 times as much."
        )
    if any(result.likely is None for result in results):
        explained.append(f"likely: -, {NONE_QUOTED}")
    if low:
        lines.append(
            f"{' and '.join(low)}: a random order has as much, or more. Are many held-out items "
            "not scored at all, as in a split by time? Then the range is too low (unscored, "
            "--unscored)."
        )
    return [rows, "\n".join(lines), *filter(None, [Explanation("\n".join(explained))])]


def _assumptions(result: Reported, confidence: float) -> str:
    """Describe the errors that a range includes, and its assumptions."""
    users = "no sampling error, because the number of users is not given"
    if result.n_users is not None:
        users = f"{count(result.n_users, 'user')}, at {100 * confidence:g} %"
    return (
        f"Negatives drawn uniformly {result.sampling.replace('-', ' ')}; {result.n_items:,} "
        f"candidates; {users}, {assumed(result.shape, where=BEFORE_LAST)}."
    )


def _advised(results: list[Reported], n_own: int, confidence: float) -> Parts:
    """The range of the numbers given, and the ranges that other numbers would have left."""
    rows = []
    for place, result in enumerate(results):
        names = [pair.partition("=")[0] for pair in result.printed.split()]
        if place < n_own:
            names.append("(yours)")
        row = {
            "printed": " ".join(names),
            "negatives": str(result.n_negatives),
            "metric": result.metric,
            "range": span(result.range_low, result.range_high),
        }
        rows.append(row)
    about = Explanation(
        "Other rows: ranges of one recommender that would have printed what you gave; its true "
        "ranks are not known, and other recommenders would leave other ranges."
    )
    return [rows, _assumptions(results[0], confidence), about]


def _order_parts(results: list[Orders], confidence: float) -> Parts:
    """The order of two papers by each metric."""
    rows = [
        {
            "metric": orders.metric,
            "a": span(orders.a_low, orders.a_high),
            "b": span(orders.b_low, orders.b_high),
            "b - a": span(orders.range_low, orders.range_high),
            "order": orders.order if orders.order == UNDECIDED else Bold(orders.order),
        }
        for orders in results
    ]
    words = f"All ranges hold together at {100 * confidence:g} %; b - a: range of the difference."
    return [rows, words]
