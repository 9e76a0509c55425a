"""Constraints of printed means of sampled metrics: checks, and the programmes of their ranges."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from numbers import Real
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse
from scipy.special import chdtri, ndtri

from sampled_metrics._base.arguments import check_arguments, whole_number
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE, DEFAULT_SHAPE, MAX_UNSCORED
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.intervals.kernels import Extremes
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.shapes import shape_factor
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.averages import exact_metric, last_ranks, sampled_moments
from sampled_metrics.printed.means import Means, conflict, conflict_with, least
from sampled_metrics.ranks import Sampling

Numbers: TypeAlias = Mapping[str, float | str]  # printed metrics by name
Statement: TypeAlias = Numbers | str | Sequence[str]  # also as `HR@10=0.47`, several with blanks
MOST_ITEMS = 10_000_000
_exact_metric = lru_cache(maxsize=2)(exact_metric)  # often the same for all rows of a table


class About(NamedTuple):
    """Known facts of an evaluation whose means are printed, and assumptions."""

    n_items: int
    n_negatives: int
    n_users: int | None = None
    sampling: str = Sampling.WITHOUT_REPLACEMENT
    shape: str | float = DEFAULT_SHAPE
    unscored: float = MAX_UNSCORED
    runs: int = 1
    confidence: float = DEFAULT_CONFIDENCE


class Printed(NamedTuple):
    """Printed numbers, and the distributions that their means allow."""

    names: list[str]  # for errors
    about: About
    means: Means
    measures: tuple[Measure, ...]  # printed

    @property
    def is_random(self) -> bool:
        """Whether a random order explains the numbers.

        A random order is at the edge of the class; it is excluded by a test of all numbers only.
        """
        n_users = self.about.n_users
        if n_users is None or self.means.extremes.factor == np.inf:
            return False
        most = float(chdtri(len(self.names), 1.0 - self.about.confidence)) / n_users
        return conflict_with(self.means, -1) <= most


def state(printed: Numbers, about: About) -> Printed:
    """State the distributions that printed numbers allow, or raise InputError if there are none."""
    about = checked(printed, about)
    names = [f"{name}={number}" for name, number in printed.items()]
    numbers = _values_and_halves(printed)
    measures = tuple(map(parse_measure, printed))
    credit = np.stack([measure.sampled_values(about.n_negatives) for measure in measures])
    ranks = np.arange(1, credit.shape[1] + 1)
    of_any = Means.of_any_rank(numbers[0], numbers[1], ranks, credit)
    possible = Printed(names, about._replace(n_users=None), of_any, measures)
    _conflict(possible, "no sampled ranks have", "")
    problem = Printed(names, about, _of_class(numbers, measures, credit[:, -1:], about), measures)
    found = _conflict(problem, "no distribution of true ranks gives", _remedy(about))
    if about.n_users is None:
        return problem
    # A distribution is as likely as z^2 allows beside the likeliest of the class.
    means = problem.means
    return problem._replace(means=means._replace(error=means.error + found))


def _values_and_halves(printed: Numbers) -> Float:
    """Return printed values and half a unit of their last digits; shape (2, values)."""
    rows = []
    for name, number in printed.items():
        value, decimals = number_of(name, number)
        rows.append((value, 0.5 * 10.0**-decimals))
    return np.array(rows).T


def _of_class(numbers: Float, measures: tuple[Measure, ...], last: Float, about: About) -> Means:
    """State that true ranks of the class give the printed numbers, to half of the last digit.

    `last` has the metrics of a held-out item that is the last of all, an extreme point besides.
    """
    values, halves = numbers
    n = about.n_items
    factor = shape_factor(about.shape)
    alone = factor == np.inf
    given, products = sampled_moments(
        measures, n, about.n_negatives, Sampling(about.sampling), alone, about.runs
    )
    given = np.append(given, last, axis=1)
    products = np.append(products, np.outer(last, last)[..., None], axis=2)
    moments = values[:, None] - given
    crossed = values[:, None, None] * given
    seconds = products - crossed - crossed.swapaxes(0, 1) + np.outer(values, values)[..., None]
    error = 0.0
    if about.n_users is not None:
        error = float(ndtri((1.0 + about.confidence) / 2.0)) ** 2 / about.n_users
    return Means(
        values=values,
        halves=halves,
        moments=moments[:, :-1],
        seconds=seconds[..., :-1],
        extremes=Extremes(factor=factor, last=0 if alone else n, points=last_ranks(n)),
        last=(moments[:, -1], seconds[..., -1]),
        error=error,
        apart=about.unscored,
    )


def _remedy(about: About) -> str:
    """Say which assumption to change."""
    if shape_factor(about.shape) == np.inf or about.unscored >= MAX_UNSCORED:
        return ", or shape"
    return (
        "; are many held-out items not scored at all, as in a split by time? Then give unscored "
        "(--unscored). Or try shape=2 (--shape 2)"
    )


def _conflict(problem: Printed, claim: str, remedy: str) -> float:
    """Return the conflict of printed numbers, or raise an InputError if there is no distribution.

    The error names the numbers without which there would be one.
    """
    names = problem.names
    n_users = problem.about.n_users

    def most(means: Means) -> float:
        if n_users is None:
            return 1e-6  # on the sum of differences
        return float(chdtri(means.values.size, 0.005)) / n_users

    found = conflict(problem.means)
    if found <= most(problem.means):
        return found
    culprits = []
    if len(names) > 1:
        for place, name in enumerate(names):
            others = problem.means.without(place)
            if conflict(others) <= most(others):
                culprits.append(name)
    raise InputError(
        f"{claim} {' and '.join(names)} among {problem.about.n_items:,} candidates; check "
        f"{', '.join(culprits or names)}, n_negatives and n_items{remedy}"
    )


def checked(printed: Numbers, about: About) -> About:
    """Return whole numbers of any library as int, or refuse what cannot have been printed."""
    check_arguments(
        n_users=about.n_users,
        shape=about.shape,
        confidence=about.confidence,
        sampling=about.sampling,
    )
    shape_factor(about.shape)
    if not isinstance(printed, Mapping) or issparse(printed) or not printed:
        raise InputError("no printed numbers; expected a dictionary such as {'HR@10': 0.8245}")
    m = whole_number("n_negatives", about.n_negatives, 1)
    n = whole_number("n_items", about.n_items)
    if not m < n <= MOST_ITEMS:
        raise InputError(
            f"n_negatives is {m} and n_items is {n}; expected 1 <= n_negatives < n_items "
            f"<= {MOST_ITEMS:,}"
        )
    runs = whole_number("runs", about.runs, 1)
    is_number = isinstance(about.unscored, Real) and not isinstance(about.unscored, bool)
    if not is_number or not 0.0 <= about.unscored < 1.0:
        raise InputError(
            f"unscored is {format_value(about.unscored)}; expected a share, at least 0, below 1"
        )
    n_users = about.n_users if about.n_users is None else int(about.n_users)
    return about._replace(n_items=n, n_negatives=m, n_users=n_users, runs=runs)


def exact_metric_of(problem: Printed, measure: Measure) -> Float:
    """Calculate an exact metric under each extreme point; shape (points,)."""
    return _exact_metric(measure, problem.about.n_items, problem.means.extremes.factor == np.inf)


def solve(problem: Printed, measure: Measure) -> Range:
    """Find the range of an exact metric."""
    means = problem.means
    n = problem.about.n_items
    exact = exact_metric_of(problem, measure)
    of_last = float(measure.value_at([n], n)[0])
    low = least(means, exact, of_last)
    high = -least(means, -exact, -of_last)
    if problem.is_random:
        low = min(low, float(exact[-1]))
        high = max(high, float(exact[-1]))
    lowest = min(float(exact.min()), of_last)
    highest = means.extremes.greatest(exact)
    low, high = np.clip([low, high], lowest, highest).tolist()
    return Range(low, high)


def numbers_of(printed: Statement) -> Numbers:
    """Split texts such as `HR@10=0.47 NDCG@10=0.25` into values by metric.

    Examples
    --------
    >>> numbers_of("HR@10=0.47, NDCG@10 = 0.250")
    {'HR@10': '0.47', 'NDCG@10': '0.250'}
    """
    if isinstance(printed, str):
        together = re.sub(r"\s*=\s*", "=", printed.strip())
        printed = re.split(r"\s*,\s+|\s+", together)
    is_list = isinstance(printed, list | tuple)
    if not is_list or not all(isinstance(text, str) for text in printed):
        return printed  # type: ignore[return-value]
    values: dict[str, float | str] = {}
    for text in printed:
        metric, equals, value = text.partition("=")
        if not equals:
            raise InputError(
                f"{format_value(text)}; expected a metric and its value, such as HR@10=0.8245"
            )
        if metric in values:
            raise InputError(f"{metric} is {values[metric]} and {value}; give one of them")
        values[metric] = value
    return values


def number_of(name: str, number: float | str) -> tuple[float, int]:
    """Return a printed number and its decimals."""
    text = str(number).strip()
    try:
        decimal = Decimal(text.removesuffix("%").strip())
        if text.endswith("%"):
            decimal = decimal.scaleb(-2)
        inside = 0 <= decimal <= 1
    except InvalidOperation:
        raise InputError(
            f"{name} is {format_value(number)}; expected a number such as 0.8245"
        ) from None
    if not inside:
        percent = f"; if this is in percent, write {decimal / 100}" if 1 < decimal <= 100 else ""
        raise InputError(f"{name} is {number}; expected a fraction from 0 to 1{percent}")
    return float(decimal), max(-int(decimal.as_tuple().exponent), 0)
