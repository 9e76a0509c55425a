"""Holding out what comes later than a time, and evaluating each user's first event of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.datasets.assembling import assemble, by_user, times_of
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.last_events import last_events
from sampled_metrics.datasets.settings import TieBreak
from sampled_metrics.datasets.split import Split


def hold_out_from(
    interactions: Interactions,
    cut: float | str,
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Hold out all events from one time on and evaluate each user's first of them.

    Users without an earlier event are left out; those without a later one only train.

    Parameters
    ----------
    interactions
        Events in file order, without duplicates of user and item.
    cut
        The time, or a number between 0 and 1: the share of the events before it (see `cut_time`).
    tie_break, rng
        Which of several events at the same time, see `hold_out_first`.

    Examples
    --------
    >>> events = Interactions(*np.array([[7, 7, 7, 8], [1, 2, 3, 1], [5, 9, 8, 4]]))
    >>> split = hold_out_from(events, 8)
    >>> split.held_out_ids.tolist(), split.user_ids.tolist()
    ([3], [7, 8])
    """
    times, unit = times_of(interactions, "global-time"), interactions.time_unit
    if isinstance(cut, str) and unit is None:
        raise interactions.error(
            f"timestamps are numbers but split.cut is {cut}; give a number, or a share of the "
            "events such as 0.9"
        )
    is_later = times >= cut_time(times, unit, cut)
    split = hold_out_first(interactions, is_later, tie_break, rng)
    if not split.held_out.size:
        raise interactions.error(
            f"no user has events both before and from split.cut {cut}; choose another time "
            f"from {times.min()} to {times.max()}, or a share of the events such as 0.9"
        )
    return split


def hold_out_first(
    interactions: Interactions,
    is_later: NDArray[np.bool_],
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Hold out the events where `is_later`, and evaluate each user's first of them.

    Of several at the same time, or without times, it is the `first` or `last` in file order, or one
    at `random`; `ncf`, which orders last events, is `first`. The items of all events are
    candidates. Users without training events are left out.

    Examples
    --------
    >>> events = Interactions(np.array([7, 7, 7, 8]), np.array([1, 2, 3, 1]))
    >>> hold_out_first(events, np.array([False, True, True, True])).counts()["users"]
    2
    """
    users = by_user(interactions.user)
    is_later = is_later[users.rows]
    later = np.flatnonzero(is_later)
    bounds = np.searchsorted(later, users.bounds)
    has_both = (np.diff(bounds) > 0) & (np.diff(bounds) < np.diff(users.bounds))
    held_out = np.full(has_both.size, -1)
    tied_users = 0
    if has_both.any():
        kept = np.repeat(has_both, np.diff(bounds))
        later = later[kept]
        bounds = np.append(0, np.cumsum(np.diff(bounds)[has_both]))
        times = interactions.timestamp
        # The first by time is the last by the negative of it.
        reversed_times = np.zeros(later.size) if times is None else -times[users.rows[later]]
        rule: TieBreak = "first" if tie_break == "ncf" else tie_break
        first, tied = last_events(reversed_times, bounds, rule, rng)
        held_out[has_both] = later[first]
        tied_users = 0 if times is None else tied
    return assemble(interactions, users, ~is_later, held_out, tied_users)


def cut_time(times: NDArray[Any], unit: str | None, cut: float | str) -> int | float:
    """Return the time of a cut as a number that compares with `times`.

    Parameters
    ----------
    times
        Times of all events.
    unit
        Their unit since 1970, which a date needs.
    cut
        A date, with or without a time of day, in UTC; a number between 0 and 1, the share of the
        events before the cut, or less where several are at the same time; or any other number,
        which is a time as in `times`.

    Examples
    --------
    >>> times = np.array([5, 9, 8, 4])
    >>> cut_time(times, "D", 0.5), cut_time(times, "D", 6), cut_time(times, "D", "1970-01-09T12")
    (8, 6, 9)
    """
    if isinstance(cut, str):
        moment = np.datetime64(cut, "us")
        time = moment.astype(f"datetime64[{unit}]")
        return int(time.astype(np.int64)) + int(time < moment)
    if not 0 < cut < 1:
        return cut
    place = int(cut * times.size)
    earliest: int | float = np.partition(times, place)[place].item()
    return earliest
