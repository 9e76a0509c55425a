"""Tests of one row of a table of printed metrics, whether its numbers can go together.

From the strictest to the weakest:

- granularity: a hit rate times users and runs is a whole number of hits;
- bounds: some distribution of the sampled rank, from 1 to m + 1, has all printed sampled metrics,
  and no metric is higher over all items. One set of users has all the numbers, so only rounding is
  allowed for;
- ranks: some distribution of true ranks has the sampled metrics, within sampling error and under
  the assumption of a shape (see `statement`);
- exact: each metric over all items lies in the range that the sampled ones allow, or its own
  rounding and sampling error reach into it.

The tests return numbers; `flags` writes sentences about them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.records import Record
from sampled_metrics.intervals.kernels import rank_grid
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.printed.programme import MeanConstraints, distance_to_class, least_mean
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics.printed.statement import parse_number, rounding_interval, wilson_interval

_SHARES_OF_USERS = ("hit", "recall", "recall-capped")  # with one held-out item a user
_NUMBER_ROUNDING = 1e-9  # of floating-point numbers
_LEAST_CONTRADICTION = 1e-7  # smaller sums of differences are errors of the solver
_MOST_SINGLE_RANKS = 2_000  # up to here each rank is a column of the programme


@dataclass(frozen=True, eq=False)
class ImpossibleShares(Record):
    """Hit rates that are not a whole number of hits divided by the number of users.

    Attributes
    ----------
    numbers
        The hit rates, such as `HR@10=0.45`.
    hits
        For the first of them, the least number of hits that is too many.
    n_users, runs, decimals
        Users and runs of the row, and decimals of the first hit rate.
    """

    numbers: tuple[str, ...]
    hits: int
    n_users: int
    runs: int
    decimals: int


@dataclass(frozen=True, eq=False)
class AllowedValues(Record):
    """Values of a metric that the other printed numbers allow."""

    name: str
    printed: str
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Contradiction(Record):
    """Numbers that no ranks have; `n_negatives` is None for metrics over all items."""

    numbers: tuple[str, ...]
    n_negatives: int | None
    allowed: tuple[AllowedValues, ...]


@dataclass(frozen=True, eq=False)
class ExactAboveSampled(Record):
    """A metric that is higher over all items than among a few."""

    name: str
    exact: str
    sampled: str


@dataclass(frozen=True, eq=False)
class Placed(Record):
    """A measured exact metric beside the range that the sampled metrics allow.

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
        """Inside the range, inside within its own error, or outside."""
        if self.low <= self.value <= self.high:
            return INSIDE
        if self.low_error <= self.high and self.high_error >= self.low:
            return WITHIN_ERROR
        return OUTSIDE


INSIDE, WITHIN_ERROR, OUTSIDE = "inside", "inside within its error", "outside"


def find_impossible_shares(
    numbers: Iterable[tuple[str, float | str]], n_users: int | None, runs: int
) -> ImpossibleShares | None:
    """Find hit rates that no whole number of hits gives, rounded or cut off to their digits.

    Parameters
    ----------
    numbers
        Names and values of metrics.
    n_users, runs
        Users, None if not known, and runs averaged over.

    Examples
    --------
    >>> find_impossible_shares([("HR@10", "0.45")], n_users=13, runs=1).hits  # 5/13 = 0.385
    6
    """
    if n_users is None:
        return None
    user_runs = n_users * runs
    shares = {
        f"{name}={number}": parse_number(name, number)
        for name, number in numbers
        if parse_measure(name).kind in _SHARES_OF_USERS
    }
    impossible = [
        text
        for text, (value, decimals) in shares.items()
        if not _is_possible_share(value, decimals, user_runs)
    ]
    if not impossible:
        return None
    first_value, first_decimals = shares[impossible[0]]
    return ImpossibleShares(
        numbers=tuple(impossible),
        hits=floor(first_value * user_runs) + 1,
        n_users=n_users,
        runs=runs,
        decimals=first_decimals,
    )


def _is_possible_share(printed: float, decimals: int, user_runs: int) -> bool:
    """Whether hits / user_runs, rounded or cut off to the decimals, is `printed` for some hits.

    With the unit of the last digit, the share is from printed - unit / 2 (rounded up) to
    printed + unit (cut off).
    """
    unit = 10.0**-decimals
    least_hits = (printed - unit / 2.0) * user_runs
    most_hits = (printed + unit) * user_runs
    rounding = _NUMBER_ROUNDING * user_runs
    return ceil(least_hits - rounding) <= floor(most_hits + rounding)


def find_contradictions(row: PrintedRow) -> list[Contradiction]:
    """Find sampled metrics that contradict each other, and exact ones that do.

    Examples
    --------
    >>> row = PrintedRow(1, "", "", "A", {"HR@5": "0.80", "HR@10": "0.70"}, {}, 500, 99)
    >>> for allowed in find_contradictions(row)[0].allowed:
    ...     print(f"{allowed.name} {allowed.low:.2f} to {allowed.high:.2f}")
    HR@5 0.00 to 0.71
    HR@10 0.79 to 1.00
    """
    candidates = [
        _find_contradiction(row.printed, row.n_negatives + 1, row.n_negatives),
        _find_contradiction(row.exact, row.n_items, None),
    ]
    return [contradiction for contradiction in candidates if contradiction is not None]


def _find_contradiction(
    numbers: Mapping[str, str], n_ranks: int, n_negatives: int | None
) -> Contradiction | None:
    """Test whether some distribution of a rank from 1 to `n_ranks` has the printed means.

    If none has, the result has the values of each number that all others allow, as far as these do
    not contradict each other too. None for numbers that some distribution has.
    """
    if len(numbers) < 2:
        return None
    ranks = np.arange(1, n_ranks + 1) if n_ranks <= _MOST_SINGLE_RANKS else rank_grid(n_ranks)
    credit = np.stack([parse_measure(name).value_at(ranks, n_ranks) for name in numbers])
    middles, half_widths = _rounded_or_cut_off(numbers)
    constraints = MeanConstraints.from_ranks(middles, half_widths, ranks, credit)
    do_numbers_agree = distance_to_class(constraints) <= _LEAST_CONTRADICTION
    if do_numbers_agree:
        return None
    allowed = []
    for index, (name, text) in enumerate(numbers.items()):
        others = constraints.without(index)
        do_others_agree = distance_to_class(others) <= _LEAST_CONTRADICTION
        if do_others_agree:
            low = least_mean(others, credit[index])
            high = -least_mean(others, -credit[index])
            allowed.append(AllowedValues(name, printed=text, low=max(low, 0.0), high=high))
    texts = tuple(f"{name}={text}" for name, text in numbers.items())
    return Contradiction(texts, n_negatives, tuple(allowed))


def _rounded_or_cut_off(numbers: Mapping[str, str]) -> tuple[Float, Float]:
    """Return the middles and half widths of the intervals of values behind printed numbers.

    A number may be rounded or cut off: the value is from half a unit of the last digit below it to
    one unit above, so the middle is a quarter of a unit above and the half width 3/4 of a unit.
    Both have the shape (numbers,).
    """
    middles = []
    half_widths = []
    for name, text in numbers.items():
        value, decimals = parse_number(name, text)
        unit = 10.0**-decimals
        middles.append(value + unit / 4.0)
        half_widths.append(0.75 * unit + _NUMBER_ROUNDING)
    return np.array(middles), np.array(half_widths)


def find_exact_above_sampled(row: PrintedRow) -> list[ExactAboveSampled]:
    """Find metrics that are higher over all items than among a few.

    Among a sample, no held-out item has a worse rank than among all items, so that no metric is
    lower, but for those that depend on the number of candidates. Each number may be off by a unit
    of its last digit, if it was cut off.
    """
    sampled_texts = {parse_measure(name): (name, text) for name, text in row.printed.items()}
    results = []
    for name, exact_text in row.exact.items():
        measure = parse_measure(name)
        if measure not in sampled_texts or measure.metric.needs_candidates:
            continue
        sampled_name, sampled_text = sampled_texts[measure]
        exact, exact_decimals = parse_number(name, exact_text)
        sampled, sampled_decimals = parse_number(sampled_name, sampled_text)
        two_units = 10.0**-exact_decimals + 10.0**-sampled_decimals
        if exact - sampled > two_units:
            results.append(ExactAboveSampled(name, exact=exact_text, sampled=sampled_text))
    return results


def not_above_random(printed: Mapping[str, float | str], n_negatives: int) -> list[str]:
    """Name the sampled metrics that do not exceed those of a random order."""
    names = []
    for name, text in printed.items():
        random_value = float(parse_measure(name).sampled_values(n_negatives).mean())
        if parse_number(name, text)[0] <= random_value:
            names.append(name)
    return names


def place_exact_metric(name: str, row: PrintedRow, allowed: Range, confidence: float) -> Placed:
    """Place an exact metric of a row beside the range that the sampled metrics allow.

    Its own interval is Wilson's, about both ends of its rounding.
    """
    value, decimals = parse_number(name, row.exact[name])
    rounded_low, rounded_high = rounding_interval(value, decimals)
    quantile = float(ndtri((1.0 + confidence) / 2.0))
    low_error, high_error = wilson_interval(rounded_low, rounded_high, quantile, row.n_users)
    return Placed(
        metric=name,
        value=value,
        low=allowed.low,
        high=allowed.high,
        low_error=low_error,
        high_error=high_error,
    )
