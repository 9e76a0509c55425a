"""Tests of one row of a table of printed metrics: whether its numbers can go together.

From the strictest to the weakest:

- granularity: a hit rate times the users and runs is a whole number of hits;
- bounds: some distribution of the sampled rank, from 1 to m + 1, has all printed sampled metrics,
  and no metric is higher over all items. One set of users has all the numbers, so only rounding is
  allowed for;
- ranks: some distribution of true ranks has the sampled metrics, within sampling error and under
  the assumption of a shape. `reported` tells;
- exact: each metric over all items lies in the range that the sampled ones allow, or its own
  rounding and sampling error reaches into it.

The tests return numbers; `flags` writes sentences about them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.records import Record
from sampled_metrics.intervals.kernels import rank_grid
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.printed.means import Means, conflict, least
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics.printed.statement import number_of

_SHARES_OF_USERS = ("hit", "recall", "recall-capped")  # with one held-out item a user
_ROUNDING = 1e-9
_VIOLATED = 1e-7  # sum of differences that is a contradiction
_MOST_PLACES = 2_000  # up to this many ranks, each is a column of the programme


@dataclass(frozen=True, eq=False)
class NoShare(Record):
    """Hit rates that are no whole number of users."""

    numbers: tuple[str, ...]
    hits: int  # the first of them is too many
    n_users: int
    runs: int
    decimals: int


@dataclass(frozen=True, eq=False)
class Allowed(Record):
    """Values of a metric that the rest of the printed numbers allows."""

    name: str
    printed: str
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Contradiction(Record):
    """Numbers that no ranks have; `n_negatives` is None for metrics over all items."""

    numbers: tuple[str, ...]
    n_negatives: int | None
    allowed: tuple[Allowed, ...]


@dataclass(frozen=True, eq=False)
class Higher(Record):
    """A metric that is higher over all items than among a few."""

    name: str
    exact: str
    sampled: str


@dataclass(frozen=True, eq=False)
class Placed(Record):
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


def no_share(
    numbers: Iterable[tuple[str, float | str]], n_users: int | None, runs: int
) -> NoShare | None:
    """Find hit rates that are no whole number of hits, cut off or rounded to the printed digits.

    `numbers` are names and values of metrics.

    Examples
    --------
    >>> no_share([("HR@10", "0.45")], n_users=13, runs=1).hits  # 5/13 = 0.385, 6/13 = 0.462
    6
    """
    if n_users is None:
        return None
    units = n_users * runs
    shares = {}
    for name, number in numbers:
        if parse_measure(name).kind in _SHARES_OF_USERS:
            shares[f"{name}={number}"] = number_of(name, number)
    wrong = [name for name, share in shares.items() if not _can_be_share(*share, units)]
    if not wrong:
        return None
    value, decimals = shares[wrong[0]]
    hits = floor(value * units) + 1
    return NoShare(tuple(wrong), hits, n_users, runs, decimals)


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
        of_random = float(parse_measure(name).sampled_values(n_negatives).mean())
        if number_of(name, text)[0] <= of_random:
            found.append(name)
    return found


def place(name: str, row: PrintedRow, allowed: Range, confidence: float) -> Placed:
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
        low=allowed.low,
        high=allowed.high,
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
    credit = np.stack([parse_measure(name).value_at(ranks, places) for name in numbers])
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
