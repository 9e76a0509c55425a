"""Tests of one row of a table of printed metrics: whether its numbers can go together.

From the strictest to the weakest:

- granularity: a hit rate times the users and runs is a whole number of hits;
- bounds: some distribution of the sampled rank, from 1 to m + 1, has all printed sampled metrics,
  and no metric is higher over all items. One set of users has all the numbers, so only rounding is
  allowed for;
- ranks: some distribution of true ranks has the sampled metrics, within sampling error and under
  the assumption of a shape. `reported` tells;
- exact: one distribution of true ranks has the sampled metrics and the metrics over all
  items: a score test of means that the same users have.

The tests return numbers; `flags` writes sentences about them.

In the score test, a user's values are functions of the true rank, and of the sampled rank, whose
distribution given the true rank is known. So their means and their covariance are linear in the
distribution of true ranks, apart from the square of the means, and the least distance of the
printed means from the means of a distribution of a class is found by least squares with weights of
at least 0 on its extreme points: the ranks 1 ... k, equally likely, if no rank is likelier than a
better one, and any rank k for all other shapes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, ndtri

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.solvers import nearest_weights
from sampled_metrics.intervals.kernels import rank_grid, spread
from sampled_metrics.intervals.shapes import NON_INCREASING
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.averages import moments
from sampled_metrics.printed.means import Means, conflict, least
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics.printed.statement import number_of
from sampled_metrics.ranks import Sampling

_SHARES_OF_USERS = ("hit", "recall")  # with one held-out item a user
_ROUNDING = 1e-9
_VIOLATED = 1e-7  # sum of differences that is a contradiction
_SINGLY = 64  # first k that are points of the score test
_WIDE = 250  # its points in equal proportions
_COVARIANCE_ROUNDS = 6
_TURNS = 500  # changes of active sets; hardly more weights than numbers are positive
_SUM = 1e4  # weight of the condition that probabilities sum to 1
_APART = 0.001  # probability of a distance that is refused
_MOST_PLACES = 2_000  # up to this many ranks, each is a column of the programme


@dataclass(frozen=True)
class NoShare:
    """Hit rates that are no whole number of users."""

    numbers: tuple[str, ...]
    hits: int  # the first of them is too many
    n_users: int
    runs: int
    decimals: int


@dataclass(frozen=True)
class Allowed:
    """Values of a metric that the rest of the printed numbers allows."""

    name: str
    printed: str
    low: float
    high: float


@dataclass(frozen=True)
class Contradiction:
    """Numbers that no ranks have; `n_negatives` is None for metrics over all items."""

    numbers: tuple[str, ...]
    n_negatives: int | None
    allowed: tuple[Allowed, ...]


@dataclass(frozen=True)
class Higher:
    """A metric that is higher over all items than among a few."""

    name: str
    exact: str
    sampled: str


@dataclass(frozen=True)
class Placed:
    """Where an exact metric lies that was measured too.

    Attributes
    ----------
    metric, value
        Its name in the table, and its value.
    low, high
        Range that the sampled metrics allow.
    low_error, high_error
        Interval of its own rounding and sampling error.
    """

    metric: str
    value: float
    low: float
    high: float
    low_error: float
    high_error: float

    @property
    def standing(self) -> str:
        """Inside of the range, inside within its own error, or outside."""
        if self.low <= self.value <= self.high:
            return INSIDE
        if self.low_error <= self.high and self.high_error >= self.low:
            return WITHIN_ERROR
        return OUTSIDE


INSIDE, WITHIN_ERROR, OUTSIDE = "inside", "inside within its error", "outside"


def no_share(row: PrintedRow) -> NoShare | None:
    """Find hit rates that are no whole number of hits, cut off or rounded to the printed digits.

    Examples
    --------
    >>> row = PrintedRow(1, "", "", "A", {"HR@10": "0.45"}, {}, 500, 99, n_users=13)
    >>> no_share(row).hits  # 5/13 = 0.385, 6/13 = 0.462
    6
    """
    if row.n_users is None:
        return None
    units = row.n_users * row.runs
    shares = {}
    for numbers in (row.printed, row.exact):
        for name, text in numbers.items():
            if parse_measure(name).kind in _SHARES_OF_USERS:
                shares[f"{name}={text}"] = number_of(name, text)
    wrong = [name for name, share in shares.items() if not _can_be_share(*share, units)]
    if not wrong:
        return None
    value, decimals = shares[wrong[0]]
    return NoShare(
        numbers=tuple(wrong),
        hits=floor(value * units) + 1,
        n_users=row.n_users,
        runs=row.runs,
        decimals=decimals,
    )


def contradictions(row: PrintedRow) -> list[Contradiction]:
    """Find sampled metrics that contradict each other, and exact ones.

    Examples
    --------
    >>> row = PrintedRow(1, "", "", "A", {"HR@5": "0.80", "HR@10": "0.70"}, {}, 500, 99)
    >>> for allowed in contradictions(row)[0].allowed:
    ...     print(f"{allowed.name} {allowed.low:.2f} to {allowed.high:.2f}")
    HR@5 0.00 to 0.71
    HR@10 0.79 to 1.00
    """
    found = [
        _contradiction(row.printed, row.n_negatives + 1, row.n_negatives),
        _contradiction(row.exact, row.n_items, None),
    ]
    return [contradiction for contradiction in found if contradiction is not None]


def higher_over_all(row: PrintedRow) -> list[Higher]:
    """Find metrics that are higher over all items than among a few, where no rank is worse."""
    sampled = {parse_measure(name): (name, text) for name, text in row.printed.items()}
    found = []
    for name, text in row.exact.items():
        measure = parse_measure(name)
        if measure not in sampled or measure.metric.needs_candidates:
            continue
        value, decimals = number_of(name, text)
        printed, printed_decimals = number_of(*sampled[measure])
        if value - printed > 10.0**-decimals + 10.0**-printed_decimals:
            found.append(Higher(name, text, sampled[measure][1]))
    return found


def not_above_random(printed: Mapping[str, float | str], n_negatives: int) -> list[str]:
    """Name the sampled metrics that do not exceed a random order's."""
    found = []
    for name, text in printed.items():
        of_random = float(parse_measure(name).in_sample(n_negatives).mean())
        if number_of(name, text)[0] <= of_random:
            found.append(name)
    return found


def place(name: str, row: PrintedRow, low: float, high: float, confidence: float) -> Placed:
    """Place an exact metric of a row beside the range that the sampled metrics allow.

    Its own interval is Wilson's around the ends of the rounding.
    """
    value, decimals = number_of(name, row.exact[name])
    ends = np.clip([value - 0.5 * 10.0**-decimals, value + 0.5 * 10.0**-decimals], 0.0, 1.0)
    share = 0.0
    if row.n_users is not None:
        share = float(ndtri((1.0 + confidence) / 2.0)) ** 2 / row.n_users
    half = np.sqrt(share * ends * (1.0 - ends) + share**2 / 4.0)
    interval = (ends + share / 2.0 + half * [-1.0, 1.0]) / (1.0 + share)
    return Placed(
        metric=name,
        value=value,
        low=low,
        high=high,
        low_error=float(interval[0]),
        high_error=float(interval[1]),
    )


def _can_be_share(printed: float, decimals: int, units: int) -> bool:
    """Whether k / units, rounded or cut off to the decimals, is `printed` for a whole k."""
    step = 10.0**-decimals
    least = (printed - step / 2.0) * units
    most = (printed + step) * units
    return ceil(least - _ROUNDING * units) <= floor(most + _ROUNDING * units)


def _contradiction(
    numbers: Mapping[str, str], places: int, n_negatives: int | None
) -> Contradiction | None:
    """Test whether some distribution of a rank from 1 to `places` has the printed means."""
    if len(numbers) < 2:
        return None
    middles = []
    halves = []
    for name, text in numbers.items():
        value, decimals = number_of(name, text)
        step = 10.0**-decimals
        middles.append(value + step / 4.0)  # from half a digit less, rounded, to one more, cut off
        halves.append(0.75 * step + _ROUNDING)
    ranks = np.arange(1, places + 1) if places <= _MOST_PLACES else rank_grid(places)
    credit = np.stack([parse_measure(name).at(ranks, places) for name in numbers])
    means = Means.of_any_rank(np.array(middles), np.array(halves), ranks, credit)
    if conflict(means) <= _VIOLATED:
        return None
    allowed = []
    for place, (name, text) in enumerate(numbers.items()):
        others = means.without(place)
        if conflict(others) <= _VIOLATED:
            low = least(others, credit[place])
            high = -least(others, -credit[place])
            allowed.append(Allowed(name, text, max(low, 0.0), high))
    pairs = tuple(f"{name}={text}" for name, text in numbers.items())
    return Contradiction(pairs, n_negatives, tuple(allowed))


def go_together(row: PrintedRow, shape: str) -> bool:
    """Test whether one distribution of true ranks gives the sampled and the exact metrics."""
    if not row.exact or row.n_users is None or row.sampling is None:
        return True
    numbers = [*row.printed.items(), *row.exact.items()]
    values = np.array([number_of(name, text)[0] for name, text in numbers])
    steps = np.array([10.0 ** -number_of(name, text)[1] for name, text in numbers])
    course = course_of(
        tuple(map(parse_measure, row.printed)),
        tuple(map(parse_measure, row.exact)),
        row.n_items,
        row.n_negatives,
        row.sampling,
        shape,
    )
    return distance(values, steps, course, row.n_users) <= float(chdtri(values.size, _APART))


class Course(NamedTuple):
    """Expectations under some extreme points of a class of distributions of true ranks."""

    means: Float  # functions of the true and the sampled rank; shape (functions, points)
    products: Float  # each two of them; shape (functions, functions, points)


def distance(values: Float, steps: Float, course: Course, n_users: int) -> float:
    """Least distance, by chi-square, of means of users from a distribution of a class.

    `steps` are units of the last digit. The nearest distribution, whose covariance is taken,
    is found by least squares with weights of at least 0, and again with its covariance.
    """
    own = np.diag(0.25 * steps**2 + n_users**-2.0)  # rounding, and one user
    covariance = np.diag(values * (1.0 - values)) / n_users + own
    ones = np.full((1, course.means.shape[1]), _SUM)
    found = np.inf
    for _ in range(_COVARIANCE_ROUNDS):
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        matrix = np.concatenate([root @ course.means, ones])
        weights = nearest_weights(matrix, np.append(root @ values, _SUM), _TURNS)
        weights /= weights.sum()
        means = course.means @ weights
        covariance = (course.products @ weights - np.outer(means, means)) / n_users + own
        difference = values - means
        found = min(found, float(difference @ np.linalg.solve(covariance, difference)))
    return found


@lru_cache(maxsize=4)  # often the same for all rows of a table
def course_of(
    sampled: tuple[Measure, ...],
    exact: tuple[Measure, ...],
    n: int,
    m: int,
    sampling: str,
    shape: str,
) -> Course:
    """Expectations of sampled and exact metrics, and of products, under some extreme points.

    The points are the first k, others in equal proportions, and cut-offs; and the last rank alone,
    where any share of users may be (see `reported`).
    """
    cutoffs = [measure.cutoff or 1 for measure in exact]
    points = np.union1d(spread(n, _SINGLY, _WIDE), np.minimum(cutoffs, n))
    alone = shape != NON_INCREASING
    kind = Sampling(sampling)
    means, products = moments(sampled, exact, n, m, kind, alone, points)
    if not alone:
        of_last = moments(sampled, exact, n, m, kind, True, np.array([n]))
        means = np.append(means, of_last[0], axis=-1)
        products = np.append(products, of_last[1], axis=-1)
    return Course(means, products)
