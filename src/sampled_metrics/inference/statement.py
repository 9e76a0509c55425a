"""What printed means of sampled metrics allow: their checks, and the programmes of their ranges."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri, ndtri

from sampled_metrics._base.arguments import check_arguments, whole_number
from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import is_dictionary
from sampled_metrics.inference.averages import exact_metric, last_ranks, sampled_moments
from sampled_metrics.inference.kernels import Extremes
from sampled_metrics.inference.means import Least, Means, conflict, conflict_with, least
from sampled_metrics.inference.shapes import factor_of
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling

MOST_ITEMS = 10_000_000
_MOST_DIGITS = 15
_VIOLATED, _REFUSED = 1e-6, 0.005  # sum of differences, and probability, of a contradiction


class About(NamedTuple):
    """What is known of an evaluation whose means are printed."""

    n_items: int
    n_negatives: int
    n_users: int | None
    sampling: Sampling
    shape: str | float
    unscored: float
    runs: int


class Printed(NamedTuple):
    """Printed numbers, and what their means allow."""

    names: list[str]  # for errors
    n: int
    means: Means
    is_random: bool = False  # whether a random order explains them
    n_users: int | None = None
    conflict: float = 0.0  # with all distributions of the class

    def at(self, confidence: float) -> "Printed":
        """State the same numbers at another confidence."""
        if self.n_users is None:
            return self
        # A distribution is as likely as z^2 allows beside the likeliest of the class. That a random
        # order is, which is at its edge, takes more to exclude: a test of all numbers.
        most = float(chdtri(len(self.names), 1.0 - confidence)) / self.n_users
        is_alone = self.means.extremes.factor == np.inf
        is_random = not is_alone and conflict_with(self.means, -1) <= most
        error = _error(confidence, self.n_users) + self.conflict
        return self._replace(means=self.means._replace(error=error), is_random=is_random)


class _Limits(NamedTuple):
    """Of an exact metric under all distributions, and its value in a random order."""

    lowest: float
    highest: float
    random: float

    def ends(self, low: float, high: float, is_random: bool, found: list[Least]) -> "Ends":
        """Limit the ends of a range, which has the value of a random order if that explains it."""
        if is_random:
            low = min(low, self.random)
            high = max(high, self.random)
        low, high = np.clip([low, high], self.lowest, self.highest).tolist()
        return Ends(low, high, found, self)


class Ends(NamedTuple):
    """The lowest and the highest exact metric, and the programmes that found them."""

    low: float
    high: float
    found: list[Least]
    limits: _Limits


def state(
    printed: Mapping[str, float | str], about: About, digits: int | None, confidence: float
) -> Printed:
    """State what the printed numbers allow, or raise an InputError where they allow nothing."""
    _check(printed, about, digits, confidence)
    n, m, n_users = about.n_items, about.n_negatives, about.n_users
    measures = tuple(map(parse_measure, printed))
    names, values, halves = [], [], []
    for name, number in printed.items():
        value, decimals = number_of(name, number)
        names.append(f"{name}={number}")
        values.append(value)
        halves.append(0.5 * 10.0 ** -(decimals if digits is None else digits))
    of_sampled = _means_of_sampled_ranks(np.array(values), np.array(halves), measures, m)
    if conflict(of_sampled) > _VIOLATED:
        problem = Printed(names, n, of_sampled)
        raise _contradiction(problem, None, "no sampled ranks have", "")
    factor = factor_of(about.shape)
    alone = factor == np.inf
    given, products = sampled_moments(measures, n, m, about.sampling, alone, about.runs)
    error = 0.0
    if n_users is not None:
        error = _error(confidence, n_users)
    points = last_ranks(n)
    moments, seconds = _about_printed(given, products, of_sampled.values)
    means = Means(
        values=of_sampled.values,
        halves=of_sampled.halves,
        moments=moments,
        seconds=seconds,
        extremes=Extremes(factor=factor, last=0 if alone else n, points=points),
        last=_last_moments(measures, about, of_sampled.values),
        error=error,
        apart=about.unscored,
    )
    found = conflict(means)
    if found > _largest_conflict(means, n_users):
        remedy = ", or shape"
        if not alone:
            remedy = (
                "; are many held-out items not scored at all, as in a split by time (unscored, "
                "--unscored)? Or try shape 2"
            )
        problem = Printed(names, n, means)
        raise _contradiction(problem, n_users, "no distribution of true ranks gives", remedy)
    return Printed(names, n, means, n_users=n_users, conflict=found).at(confidence)


def _error(confidence: float, n_users: int) -> float:
    """Square of the quantile of a confidence, by the number of users."""
    return float(ndtri((1.0 + confidence) / 2.0)) ** 2 / n_users


def _means_of_sampled_ranks(
    values: Float, halves: Float, measures: Sequence[Measure], m: int
) -> Means:
    """State that one distribution of sampled ranks, any at all, has the printed numbers."""
    ranks = np.arange(1, m + 2)
    credit = np.stack([measure.at(ranks, m + 1) for measure in measures])
    none = np.zeros((values.size, values.size, ranks.size))
    return Means(
        values=values,
        halves=halves,
        moments=values[:, None] - credit,
        seconds=none,
        extremes=Extremes(factor=np.inf, last=0, points=ranks),
        last=(values - credit[:, -1], none[..., -1]),
        error=0.0,
    )


def _about_printed(means: Float, products: Float, values: Float) -> tuple[Float, Float]:
    """Moments about the printed numbers, from means and products by extreme point."""
    crossed = values[:, None, None] * means
    seconds = products - crossed - crossed.swapaxes(0, 1)
    return values[:, None] - means, seconds + np.outer(values, values)[..., None]


def at_last(measures: Sequence[Measure], about: About) -> tuple[Float, Float]:
    """Sampled metrics, and products of each two, of a held-out item that is the last of all."""
    worst = np.array([about.n_negatives + 1])
    credit = np.concatenate([measure.at(worst, about.n_negatives + 1) for measure in measures])
    return credit, np.outer(credit, credit)


def _last_moments(measures: Sequence[Measure], about: About, values: Float) -> tuple[Float, Float]:
    """Moments about the printed numbers of a held-out item that is the last of all."""
    credit, products = at_last(measures, about)
    moments, seconds = _about_printed(credit[:, None], products[..., None], values)
    return moments[:, 0], seconds[..., 0]


def _largest_conflict(means: Means, n_users: int | None) -> float:
    """Return the conflict of printed numbers above which they are refused."""
    if n_users is None:
        return _VIOLATED
    return float(chdtri(means.values.size, _REFUSED)) / n_users


def _check(
    printed: Mapping[str, float | str], about: About, digits: int | None, confidence: float
) -> None:
    """Raise an InputError for what cannot have been printed."""
    check_arguments(
        n_users=about.n_users, shape=about.shape, confidence=confidence, sampling=about.sampling
    )
    factor_of(about.shape)
    require_printed(printed)
    n, m = about.n_items, about.n_negatives
    if not whole_number("n_negatives", m, 1) < whole_number("n_items", n) <= MOST_ITEMS:
        raise InputError(
            f"n_negatives is {m} and n_items is {n}; expected 1 <= n_negatives < n_items "
            f"<= {MOST_ITEMS:,}"
        )
    if digits is not None:
        whole_number("digits", digits, 0, _MOST_DIGITS)
    whole_number("runs", about.runs, 1)
    is_number = isinstance(about.unscored, Real) and not isinstance(about.unscored, bool)
    if not is_number or not 0.0 <= about.unscored < 1.0:
        raise InputError(f"unscored is {about.unscored!r}; expected a share, at least 0, below 1")


def require_printed(printed: Any) -> None:
    """Raise an InputError unless this is a dictionary of numbers."""
    if not is_dictionary(printed) or not printed:
        raise InputError("no printed numbers; expected a dictionary such as {'HR@10': 0.8245}")


def solve(problem: Printed, measure: Measure) -> Ends:
    """Find the lowest and the highest exact metric, and the distributions that have them."""
    means = problem.means
    exact = exact_metric(measure, problem.n, means.extremes.factor == np.inf)
    of_last = float(measure.at(np.array([problem.n]), problem.n)[0])
    found = [least(means, sign * exact, sign * of_last) for sign in (1.0, -1.0)]
    limits = _Limits(
        lowest=min(float(exact.min()), of_last),
        highest=means.extremes.greatest(exact),
        random=float(exact[-1]),
    )
    return limits.ends(found[0].value, -found[1].value, problem.is_random, found)


def bound(problem: Printed, ends: Ends, confidence: float) -> Ends:
    """Bound the ends at another confidence, without another programme."""
    other = problem.at(confidence)
    low, high = [end.at_error(problem.means.error, other.means.error) for end in ends.found]
    return ends.limits.ends(low, -high, other.is_random, ends.found)


def _contradiction(problem: Printed, n_users: int | None, what: str, remedy: str) -> InputError:
    """Name the printed numbers without which there is a distribution."""
    names = problem.names
    culprits = []
    if len(names) > 1:
        for place, name in enumerate(names):
            others = problem.means.without(place)
            if conflict(others) <= _largest_conflict(others, n_users):
                culprits.append(name)
    return InputError(
        f"{what} {' and '.join(names)} among {problem.n:,} candidates; check "
        f"{', '.join(culprits or names)}, n_negatives and n_items{remedy}"
    )


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
