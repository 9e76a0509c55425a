"""How far a published cell may lie from ours, and what deviation that tolerance would notice.

The expectation over sampling has a closed form, so a published mean is judged against it and the
mean's own standard error, and a published count against its binomial distribution. No simulation
of ours enters.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import scipy  # `scipy.special` takes long to import, so only where it is used

from sampled_metrics._base.arrays import Float
from sampled_metrics.study.cells import COUNTS, DECIMALS, REPETITIONS

SIGMAS = 3.0
POWER = 0.99
CERTAIN = 0.9  # probability of one printed outcome from which on a cell says little
KINDS = ("deterministic", "near-certain", "random")
_N = REPETITIONS[COUNTS]


class Tolerance(NamedTuple):
    """What a published cell may be, given ours."""

    kind: str
    """`deterministic`; `random`; or `near-certain`, if it is random but one printed outcome has a
    probability of at least 90 %."""
    error: float
    """Standard deviation of the published number given ours; with rounding."""
    below: float
    above: float
    """Largest accepted difference to ours on either side."""
    notices: float
    """Smallest deviation of ours from the truth that is rejected with a probability of 99 %;
    infinite if none is."""


def unit(table: int) -> float:
    """Return one unit of the last printed digit."""
    return float(10.0 ** -DECIMALS[table])


def of_value(table: int) -> Tolerance:
    """Tolerance of a deterministic cell: the printed digits."""
    half = unit(table) / 2.0
    # A deviation of d units changes the last digit with probability d.
    return Tolerance("deterministic", 0.0, half, half, 2.0 * POWER * half)


def of_mean(table: int, expected: float, deviation: float, spread: float = 0.0) -> Tolerance:
    """Tolerance of a mean over the paper's repetitions: 3 standard errors plus half a unit.

    `expected` and `deviation` are of one repetition, in closed form; `spread` is the standard
    deviation of what the paper leaves open.
    """
    size, of_sampling = unit(table), deviation / REPETITIONS[table] ** 0.5
    error = float(np.hypot(of_sampling, spread))
    edges = (np.round(expected / size) + np.array([-0.5, 0.5])) * size
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = scipy.special.ndtr((edges - expected) / error) if error else (0.0, 1.0)
    allowed = SIGMAS * error + size / 2.0
    return Tolerance(
        "near-certain" if high - low >= CERTAIN else "random",
        float(np.hypot(error, size / 12.0**0.5)),
        allowed,
        allowed,
        allowed + float(scipy.special.ndtri(POWER)) * error,
    )


@cache
def of_count(expected: float, spread: float = 0.0) -> Tolerance:
    """Tolerance of a count of Table 4: all but 0.135 % of its binomial distribution on each side.

    With a spread, 3 standard deviations of both together. What it notices is found to a tenth of a
    count.

    Examples
    --------
    >>> of_count(100.0)
    Tolerance(kind='near-certain', error=0.0, below=0.0, above=0.0, notices=6.4)
    """
    share = min(max(expected / _N, 0.0), 1.0)
    of_cell = np.array([share])
    low, high = (float(bound[0]) for bound in _widened(of_cell, *_bounds(of_cell), spread))
    chances = np.diff(scipy.special.bdtr(np.arange(_N + 1.0), _N, share), prepend=0.0)
    others, lows, highs = _grid()
    lows, highs = _widened(others, lows, highs, spread)
    rejected = 1.0 - scipy.special.bdtr(np.floor(highs), _N, share) + _below(np.ceil(lows), share)
    noticed = abs(others - share)[rejected >= POWER]
    return Tolerance(
        "near-certain" if chances.max() >= CERTAIN else "random",
        float(np.hypot(_deviation(share), spread)),
        expected - low,
        high - expected,
        round(float(_N * noticed.min(initial=np.inf)), 1),
    )


def _deviation(share: Float | float) -> Float:
    return np.asarray(np.sqrt(_N * share * (1.0 - share)))


def _below(count: Float, share: Float | float) -> Float:
    """Probability of less than a count."""
    return np.where(count > 0, scipy.special.bdtr(np.maximum(count - 1.0, 0.0), _N, share), 0.0)


def _bounds(shares: Float) -> tuple[Float, Float]:
    """Least and largest accepted count of the binomial distribution of each share."""
    counts, tail = np.arange(_N + 1.0), scipy.special.ndtr(-SIGMAS)
    at_most = scipy.special.bdtr(counts, _N, shares[:, None])
    at_least = 1.0 - _below(counts[None, :], shares[:, None])
    low = np.argmax(at_most >= tail, axis=1).astype(float)
    return low, _N - np.argmax(at_least[:, ::-1] >= tail, axis=1).astype(float)


@cache
def _grid() -> tuple[Float, Float, Float]:
    """Shares by tenths of a count, with their bounds."""
    shares = np.linspace(0.0, 1.0, 10 * _N + 1)
    return shares, *_bounds(shares)


def _widened(shares: Float, low: Float, high: Float, spread: float) -> tuple[Float, Float]:
    """Bounds that also allow 3 standard deviations of sampling and spread together."""
    if not spread:
        return low, high
    allowed = SIGMAS * np.hypot(_deviation(shares), spread)
    return np.minimum(low, _N * shares - allowed), np.maximum(high, _N * shares + allowed)
