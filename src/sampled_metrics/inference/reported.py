"""Range of the exact metric that printed sampled metrics allow.

A paper prints means of sampled metrics, each linear in the unknown distribution of true ranks. The
lowest and highest exact metric among the distributions that give these means, to the printed digits
and within sampling error, are the ends of two linear programmes with one column for each extreme
point of the class: the ranks 1 ... k, equally likely, if no rank is likelier than the one before it
(anywhere, because a few means leave more open than sampled ranks do), or any rank k; n columns and
a few rows. Each programme is first solved on a few hundred columns. Those whose reduced cost shows
that they would move the end are then added, and it is solved again, until no such column is left:
the ends are those of all columns, to about 1e-10. Among more than 200,000 candidates, ranks further
than 100,000 from both ends have columns in steps of a 50,000th of that distance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy  # `scipy.optimize` takes long to import, so only where it is used
from numpy.polynomial import chebyshev
from scipy.special import ndtri

from sampled_metrics._base.arguments import check_arguments, whole_number
from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import Parts
from sampled_metrics.inference.kernels import ALL_POINTS
from sampled_metrics.inference.ranges import Range
from sampled_metrics.inference.results import UNDECIDED, Results, count, span
from sampled_metrics.inference.shapes import NON_INCREASING, SHAPES, assumed, caveat
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

MOST_ITEMS = 10_000_000
_EDGE, _RATIO, _NODES = 512, 1.25, 40  # single ranks at both ends, growth and nodes of panels
_EULER_MACLAURIN = ((1, 1 / 12), (3, -1 / 720), (5, 1 / 30240))  # derivatives and their factors
_SPREAD, _ADDED = 200, 50  # columns to start with, and at most in each round
_FINE = 50_000  # steps in the distance of a rank from the nearer end, at least
_COLUMNS = np.zeros(0, np.int64)  # besides these
_MOST_DIGITS = 15
_ACCURACY, _VIOLATED = 1e-10, 1e-9  # of the solver; more is a contradiction
ADVISED = ("HR@10", "HR@10 NDCG@10", "HR@1 HR@5 HR@10", "MRR", "NDCG@5 NDCG@10")


@dataclass(frozen=True)
class Reported:
    """Range of one exact metric.

    Attributes
    ----------
    metric, reported, printed
        The exact metric, its printed sampled value (None if it was not printed), and all numbers
        printed.
    range_low, range_high, range_middle
        Lowest and highest value, and their geometric mean, the number to quote; None where the
        lowest is 0.
    shape, n_items, n_negatives, n_users, sampling
        As given.
    """

    metric: str
    reported: float | None
    range_low: float
    range_high: float
    range_middle: float | None
    shape: str
    n_items: int
    n_negatives: int
    n_users: int | None
    sampling: str
    printed: str


class Problem(NamedTuple):
    """Printed means as bounds on a mixture of extreme points."""

    names: list[str]  # of the printed numbers, for errors
    given: Float  # sampled metrics under each extreme point; shape (printed, points)
    low: Float  # shape (printed,)
    high: Float
    n: int
    shape: str


def reported(
    printed: Mapping[str, float | str],
    metrics: str | Sequence[str] | None = None,
    *,
    n_items: int,
    n_negatives: int,
    n_users: int | None = None,
    digits: int | None = None,
    sampling: str = Sampling.WITHOUT_REPLACEMENT,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
) -> Results[Reported]:
    """Compute the range of exact metrics that printed sampled metrics allow.

    Parameters
    ----------
    printed
        Sampled metrics by name, as fractions: means over users with one held-out item each.
    metrics
        Exact metrics, by default those printed.
    n_items, n_negatives
        Candidates of a full ranking, the held-out item included (items less those seen), and
        negatives drawn for each user, uniformly.
    n_users
        Users averaged over. Without it the printed numbers are taken as expectations, and the
        range is too narrow by the sampling error.
    digits
        Decimals printed; by default as many as the numbers have. Text such as "0.820" keeps zeros.
    sampling, shape
        How negatives were drawn, and the assumption about true ranks, as for `correct`.
    confidence
        Probability with which all expectations lie in the intervals around the printed numbers.

    Examples
    --------
    >>> paper = {"HR@10": 0.8245, "NDCG@10": 0.5905}
    >>> result = reported(paper, "HR@10", n_items=3416, n_negatives=100, n_users=6040)[0]
    >>> round(result.range_low, 3), round(result.range_high, 3)
    (0.091, 0.48)
    """
    problem = state(printed, n_items, n_negatives, n_users, digits, sampling, shape, confidence)
    measures = parse_measures(list(printed) if metrics is None else metrics)
    known = {str(parse_measure(name)): float(value) for name, value in printed.items()}
    results = []
    for measure in measures:
        low, high = (end for end, _ in solve(problem, measure))
        about = (shape, n_items, n_negatives, n_users, str(Sampling(sampling)))
        ends = (low, high, Range(low, high).middle, *about, " ".join(problem.names))
        results.append(Reported(str(measure), known.get(str(measure)), *ends))
    return Results(results, partial(_parts, confidence=confidence))


def advice(
    printed: Mapping[str, float | str],
    metrics: str | Sequence[str],
    *,
    n_items: int,
    n_negatives: int,
    n_users: int | None = None,
    sampling: str = Sampling.WITHOUT_REPLACEMENT,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
) -> Results[Reported]:
    """Compute the ranges that other printed metrics, or 1,000 negatives, would have allowed.

    The first results are of the numbers given. The others, the narrowest range of each metric and
    number of negatives first, are of one recommender that would have printed these numbers: its
    true ranks are halfway between those of the lowest and of the highest first metric.

    Examples
    --------
    >>> paper, about = {"HR@10": 0.8245, "NDCG@10": 0.5905}, {"n_items": 3416, "n_users": 6040}
    >>> for row in advice(paper, "HR@10", n_negatives=100, **about)[:3]:
    ...     names = [pair.partition("=")[0] for pair in row.printed.split()]
    ...     print(row.n_negatives, *names, f"{row.range_low:.3f} to {row.range_high:.3f}")
    100 HR@10 NDCG@10 0.091 to 0.480
    100 HR@1 HR@5 HR@10 0.129 to 0.368
    100 HR@10 NDCG@10 HR@1 HR@5 MRR NDCG@5 0.128 to 0.371
    """
    about: Any = {"n_items": n_items, "n_users": n_users, "shape": shape, "confidence": confidence}
    given = (printed, n_items, n_negatives, n_users, None, sampling, shape, confidence)
    ends = solve(state(*given), parse_measures(metrics)[0])
    weights = (ends[0][1] + ends[1][1]) / 2.0
    rows: list[Reported] = []
    names = [*dict.fromkeys(name for group in ADVISED for name in group.split())]
    for m in (m for m in dict.fromkeys((n_negatives, 1000)) if n_negatives <= m < n_items):
        measures = list(map(parse_measure, names))
        means = expected_sampled(measures, n_items, m, Sampling(sampling), shape)
        values = dict(zip(names, means @ weights, strict=True))
        for group in (*(group.split() for group in ADVISED), names):
            would = {name: f"{values[name]:.4f}" for name in group}
            rows += reported(would, metrics, n_negatives=m, sampling=sampling, **about)
    own = reported(printed, metrics, n_negatives=n_negatives, sampling=sampling, **about)
    rows.sort(key=lambda row: (row.metric, row.n_negatives, row.range_high - row.range_low))
    return Results([*own, *rows], partial(_advised, n_own=len(own), confidence=confidence))


def order_of(
    a: Mapping[str, float | str],
    b: Mapping[str, float | str],
    metrics: str | Sequence[str] | None = None,
    *,
    confidence: float,
    **about: Any,
) -> list[dict[str, Any]]:
    """Order two papers by their ranges, each at (1 + confidence)/2: `a`, `b` or `undecided`."""
    level = (1.0 + confidence) / 2.0
    theirs = parse_measures(list(b))
    common = [str(measure) for measure in parse_measures(list(a)) if measure in theirs]
    chosen = metrics or common or list(a)
    both = (reported(printed, chosen, confidence=level, **about) for printed in (a, b))
    rows = []
    for one, two in zip(*both, strict=True):
        low, high = two.range_low - one.range_high, two.range_high - one.range_low
        row = {"metric": one.metric, "a_low": one.range_low, "a_high": one.range_high}
        row |= {"b_low": two.range_low, "b_high": two.range_high}
        order = "b" if low > 0.0 else "a" if high < 0.0 else UNDECIDED
        rows.append(row | {"range_low": low, "range_high": high, "order": order})
    return rows


def state(
    printed: Mapping[str, float | str],
    n: int,
    m: int,
    n_users: int | None,
    digits: int | None,
    sampling: str,
    shape: str,
    confidence: float,
) -> Problem:
    """State the programme: bounds on the expectation of each printed number.

    A value in [0, 1] with mean mu has a variance of at most mu (1 - mu), so Wilson's interval
    holds the expectation with the confidence asked for, by Bonferroni for all numbers together.
    """
    check_arguments(n_users=n_users, sampling=sampling, shape=shape, confidence=confidence)
    kind = Sampling(sampling)
    if not isinstance(printed, Mapping) or not printed:
        raise InputError("no printed numbers; expected a dictionary such as {'HR@10': 0.8245}")
    if shape not in SHAPES:
        raise InputError(f"unknown shape {shape!r}; known: {', '.join(SHAPES)}")
    if not whole_number("n_negatives", m, 1) < whole_number("n_items", n) <= MOST_ITEMS:
        raise InputError(
            f"n_negatives is {m} and n_items is {n}; expected 1 <= n_negatives < n_items "
            f"<= {MOST_ITEMS:,}"
        )
    if digits is not None:
        whole_number("digits", digits, 0, _MOST_DIGITS)
    quantile = ndtri(1.0 - (1.0 - confidence) / 2.0 / len(printed))
    share = 0.0 if n_users is None else float(quantile) ** 2 / n_users
    names, low, high = [], [], []
    for name, number in printed.items():
        value, decimals = number_of(name, number)
        half = 0.5 * 10.0 ** -(decimals if digits is None else digits)
        names.append(f"{name}={number}")
        low.append(wilson(max(value - half, 0.0), -1.0, share))
        high.append(wilson(min(value + half, 1.0), 1.0, share))
    given = expected_sampled(list(map(parse_measure, printed)), n, m, kind, shape)
    return Problem(names, given, np.array(low), np.array(high), n, shape)


def solve(problem: Problem, measure: Measure) -> list[tuple[float, Float]]:
    """Return the lowest and the highest exact metric, each with the weights that give it."""
    exact = exact_metric(measure, problem.n, problem.shape)
    violation, weights = _least(None, problem, _COLUMNS)
    if violation > _VIOLATED:
        raise _contradiction(problem)
    ends = []
    for sign in (1.0, -1.0):
        least, of_end = _least(sign * exact, problem, np.flatnonzero(weights))
        ends.append((float(np.clip(sign * least, exact.min(), exact.max())), of_end))
    return ends


def expected_sampled(
    measures: Sequence[Measure], n: int, m: int, kind: Sampling, shape: str
) -> Float:
    """Expected sampled metrics under each extreme point (eq. 16); shape (measures, points).

    For large n by Chebyshev interpolation, to about 1e-12.
    """
    credit = np.stack([measure.at(np.arange(1, m + 2), m + 1) for measure in measures], axis=1)
    return _of_points(lambda ranks: pmf_at(ranks, n, m, kind) @ credit, n, max(m + 2, _EDGE), shape)


def exact_metric(measure: Measure, n: int, shape: str) -> Float:
    """Exact metric under each extreme point; shape (points,)."""
    # Beyond a cut-off a metric is 0; before, it is taken rank by rank.
    edge = max(_EDGE, (measure.cutoff or 0) + 1)
    return _of_points(lambda ranks: measure.at(ranks, n)[:, None], n, edge, shape)[0]


def _of_points(values: Callable[[Any], Float], n: int, edge: int, shape: str) -> Float:
    """Mean of some functions of the rank under each extreme point; shape (functions, points).

    `values` returns a row for each rank, which need not be whole. Of large n, all but the first
    and last ranks, `edge` at both ends, are cut into panels where values are polynomials.
    """
    last_ranks = _last_ranks(n)
    panels = _panels(n, edge)
    found = []
    total: Any = 0.0  # over all ranks before a panel
    for first, last in panels:
        begin, end = np.searchsorted(last_ranks, [first + 1, last + 1])
        chosen = last_ranks[begin:end]
        is_smooth = edge <= first and last <= n - edge and len(panels) > 1
        if is_smooth:
            means, sums = _of_polynomials(values, first, last, chosen)
        else:
            singly = values(np.arange(first + 1, last + 1)).T
            means = singly[:, chosen - first - 1]
            sums = np.cumsum(singly, axis=1)[:, np.append(chosen, last) - first - 1]
        if shape == NON_INCREASING:
            means = (total + sums[:, :-1]) / chosen
            total = total + sums[:, -1:]
        found.append(means)
    return np.hstack(found)


def _panels(n: int, edge: int) -> list[tuple[int, int]]:
    """Cut the ranks 1 ... n into panels, each from the rank after the first of a pair on."""
    if n <= max(ALL_POINTS, 4 * edge):
        return [(0, n)]
    number = int(np.log(n / edge) / np.log(_RATIO)) + 1
    ends = np.geomspace(edge, n - edge, number + 1).round().astype(np.int64).tolist()
    return [*pairwise([0, *ends, n])]


def _of_polynomials(
    values: Callable[[Any], Float], first: int, last: int, chosen: Int
) -> tuple[Float, Float]:
    """Values at some ranks of a panel, and their sums from its first rank to each, and to its last.

    By a polynomial through the values, and the formula of Euler and Maclaurin for its sums.
    """
    middle = (first + last) / 2.0
    half = (last - first) / 2.0
    nodes = chebyshev.chebpts1(_NODES)
    fitted = chebyshev.chebfit(nodes, values(middle + half * nodes), _NODES - 1)
    terms = [chebyshev.chebint(fitted) * half, fitted / 2.0]
    for order, factor in _EULER_MACLAURIN:
        terms.append(chebyshev.chebder(fitted, order) * (factor / half**order))
    sums = np.zeros_like(terms[0])
    for term in terms:
        sums[: len(term)] += term
    sums[0] -= chebyshev.chebval(-1.0, sums)
    places = (np.append(chosen, last) - middle) / half
    means = np.asarray(chebyshev.chebval(places[:-1], fitted), np.float64)
    totals = np.asarray(chebyshev.chebval(places, sums), np.float64)
    return means, totals


def _last_ranks(n: int) -> Int:
    """Ranks k of the extreme points, all but those far from both ends."""
    half = (n + 1) // 2
    near = [np.arange(1, min(_FINE, half) + 1)]
    for step in range(1, half // _FINE + 1):
        near.append(np.arange(step * _FINE, min((step + 1) * _FINE, half + 1), step))
    ranks = np.concatenate(near)
    both = np.concatenate([ranks, n + 1 - ranks[::-1]])
    again = np.diff(both, prepend=0) == 0  # the rank in the middle
    return both[~again]


def number_of(name: str, number: float | str) -> tuple[float, int]:
    """Return a printed number and its decimals."""
    try:
        decimal = Decimal(str(number).strip())
        inside = 0 <= decimal <= 1
    except InvalidOperation:
        raise InputError(f"{name} is {number!r}; expected a number such as 0.8245") from None
    if not inside:
        percent = f"; if this is in percent, write {decimal / 100}" if 1 < decimal <= 100 else ""
        raise InputError(f"{name} is {number}; expected a fraction from 0 to 1{percent}")
    return float(decimal), max(-int(decimal.as_tuple().exponent), 0)


def wilson(value: Any, sign: float, share: Any) -> Any:
    """One end of Wilson's interval; `share` is the squared quantile by users."""
    root = np.sqrt(share * value * (1.0 - value) + share**2 / 4.0)
    return (value + share / 2.0 + sign * root) / (1.0 + share)


def _least(cost: Float | None, problem: Problem, columns: Int) -> tuple[float, Float]:
    """Least mean cost of a mixture within the bounds, and its weights.

    Without a cost, the least sum of violations of the bounds. `columns` are some to start with,
    which with a cost must have a mixture within the bounds.
    """
    k, n = problem.given.shape
    spread = np.geomspace(1, n, _SPREAD).round().astype(np.int64) - 1
    columns = np.unique(np.concatenate([columns, np.arange(min(n, 9)), spread]))
    slack = np.eye(2 * k)[:, : 2 * k * (cost is None)]
    while True:
        given = problem.given[:, columns]
        found = scipy.optimize.linprog(
            np.r_[
                np.zeros(columns.size) if cost is None else cost[columns], np.ones(slack.shape[1])
            ],
            A_ub=np.hstack([np.vstack([given, -given]), -slack]),
            b_ub=np.r_[problem.high, -problem.low],
            A_eq=np.r_[np.ones(columns.size), np.zeros(slack.shape[1])][None],
            b_eq=[1.0],
            method="highs-ds",
            options={
                "primal_feasibility_tolerance": _ACCURACY,
                "dual_feasibility_tolerance": _ACCURACY,
            },
        )
        if found.status:
            raise InputError(f"the programme was not solved: {found.message}")
        dual = found.ineqlin.marginals
        price = -((dual[:k] - dual[k:]) @ problem.given) - found.eqlin.marginals[0]
        price = price if cost is None else price + cost
        beside = np.pad(price, 1, constant_values=np.inf)
        better = (price < -_ACCURACY) & (price <= beside[:-2]) & (price <= beside[2:])
        added = np.setdiff1d(np.flatnonzero(better), columns)
        if not added.size:
            weights = np.zeros(n)
            weights[columns] = found.x[: columns.size]
            return float(found.fun), weights
        columns = np.union1d(columns, added[np.argsort(price[added])[:_ADDED]])


def _contradiction(problem: Problem) -> InputError:
    """Name the printed numbers without which there is a distribution."""
    names, culprits = problem.names, []
    for place in range(len(names) if len(names) > 1 else 0):
        others = np.arange(len(names)) != place
        parts = (problem.given[others], problem.low[others], problem.high[others])
        rest = Problem(names[1:], *parts, problem.n, problem.shape)
        if _least(None, rest, _COLUMNS)[0] <= _VIOLATED:
            culprits.append(names[place])
    remedy = ", or try shape none" if problem.shape == NON_INCREASING else ""
    return InputError(
        f"no distribution of true ranks gives {' and '.join(names)} among {problem.n:,} "
        f"candidates; check {', '.join(culprits or names)}, n_negatives and n_items{remedy}"
    )


def _parts(results: Sequence[Reported], confidence: float) -> Parts:
    """The range of each metric."""
    rows = [
        {
            "metric": r.metric,
            "range": f"{r.range_low:.4f} to {r.range_high:.4f}",
            "middle": r.range_middle,
            "n_negatives": r.n_negatives,
            "printed": r.printed,
        }
        for r in results
    ]
    first = results[0]
    users = "the printed numbers taken as expectations (how many users?)"
    if first.n_users is not None:
        users = f"{count(first.n_users, 'user')}, at {100 * confidence:g} %"
    assumption = assumed(first.shape, where="")
    lines = (
        f"Negatives drawn uniformly {first.sampling.replace('-', ' ')}; {first.n_items:,} "
        f"candidates; {users}, {assumption}.{caveat(first.shape)}\n"
        "middle: geometric mean of the range, if you must quote one number."
    )
    return [rows, lines]


def _advised(results: Sequence[Reported], n_own: int, confidence: float) -> Parts:
    """The range of the numbers given, and the ranges that other numbers would have left."""
    rows = []
    for place, result in enumerate(results):
        names = [pair.partition("=")[0] for pair in result.printed.split()]
        row = {
            "printed": " ".join(names),
            "negatives": str(result.n_negatives),
            "metric": result.metric,
            "range": span(result.range_low, result.range_high),
        }
        if place < n_own:
            row["printed"] += " (yours)"
        rows.append(row)
    _, about = _parts(results[:n_own], confidence)
    own, _, _ = str(about).rpartition("\n")
    lines = (
        f"Other rows: ranges of one recommender that would have printed what you gave; its true "
        f"ranks are not known, and other recommenders would leave other ranges.\n{own}"
    )
    return [rows, lines]
