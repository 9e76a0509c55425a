"""Holding out what comes later: after a time, or in a second file."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.last_events import last_events
from sampled_metrics.datasets.settings import TieBreak
from sampled_metrics.datasets.split import Split, assemble, by_user
from sampled_metrics.tables.casts import as_arrow
from sampled_metrics.tables.ids import Codes, Names, as_int32, column_of, encoded


def hold_out_from(
    interactions: Interactions,
    cut: float | str,
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Hold out all events from one time on and evaluate each user's first of them.

    Users without an earlier event are left out; those without a later one only train. For `cut`
    see `_cut_time`, for `tie_break` and `rng` `_hold_out_first`.
    """
    times, unit = interactions.times("global-time"), interactions.time_unit
    if isinstance(cut, str) and unit is None:
        raise interactions.error(
            f"timestamps are numbers but split.cut is {cut}; give a number, or a share of the "
            "events such as 0.9"
        )
    is_later = times >= _cut_time(times, unit, cut)
    split = _hold_out_first(interactions, is_later, tie_break, rng)
    if not split.held_out.size:
        raise interactions.error(
            f"no user has events both before and from split.cut {cut}; choose another time "
            f"from {times.min()} to {times.max()}, or a share of the events such as 0.9"
        )
    return split


def given_split(
    train: Interactions,
    test: Interactions,
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Train on the events of one file and evaluate each user's first event in the other.

    It is the first by time where both files have times, else in file order, see `_hold_out_first`.
    The items of both files are candidates. Users of only one file train, or are left out.
    """
    both = _joined(train, test)
    is_test = np.arange(len(both)) >= len(train)
    pairs = both.pairs()
    again = np.isin(pairs[is_test], pairs[~is_test])
    if again.any():
        event = int(np.argmax(again))
        user, item = test.ids(event)
        raise test.error(
            f"user {user} has item {item} also in {_name(train)}; keep each pair in one of the two "
            "files",
            event,
        )
    split = _hold_out_first(both, is_test, tie_break, rng)
    if not split.held_out.size:
        raise test.error(f"no user is also in {_name(train)}; write ids alike in both files")
    return split


def _hold_out_first(
    interactions: Interactions,
    is_later: NDArray[np.bool_],
    tie_break: TieBreak,
    rng: np.random.Generator | None,
) -> Split:
    """Hold out the events where `is_later`, and evaluate each user's first of them.

    Of several at the same time, or without times, it is the `first` or `last` in file order, or one
    at `random`; `ncf`, which orders last events, is `first`. The items of all events are
    candidates. Users without training events are left out.
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


def _cut_time(times: NDArray[Any], unit: str | None, cut: float | str) -> int | float:
    """Return the time of a cut as a number that compares with `times`.

    A cut is a date, with or without a time of day, in UTC; a number between 0 and 1, the share of
    the events before the cut, or less where several are at the same time; or any other number,
    which is a time as in `times`. `unit` is that of the times since 1970, which a date needs.

    Examples
    --------
    >>> times = np.array([5, 9, 8, 4])
    >>> _cut_time(times, "D", 0.5), _cut_time(times, "D", 6), _cut_time(times, "D", "1970-01-09T12")
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


def _name(interactions: Interactions) -> str:
    return "the training events" if interactions.origin is None else str(interactions.origin.path)


def _joined(train: Interactions, test: Interactions) -> Interactions:
    """Concatenate events; times are kept if both have them, of one unit."""
    user, user_names = _ids((train.user, train.user_names), (test.user, test.user_names))
    item, item_names = _ids((train.item, train.item_names), (test.item, test.item_names))
    times = None
    if train.timestamp is not None and test.timestamp is not None:
        if train.time_unit != test.time_unit:
            kinds = [f"in {part.time_unit or 'numbers'}" for part in (test, train)]
            raise test.error(
                f"times are {kinds[0]}, those of {_name(train)} {kinds[1]}; write both alike"
            )
        times = np.concatenate([train.timestamp, test.timestamp])
    origin, unit = train.origin, train.time_unit
    return Interactions(user, item, times, None, user_names, item_names, None, origin, unit)


def _ids(*parts: tuple[NDArray[np.int32], Names | None]) -> tuple[Codes, Names | None]:
    """Concatenate ids of two files, which are compared as text if one of them has text."""
    import pyarrow as pa

    columns = [
        column_of(ids) if names is None else column_of(names).take(as_arrow(ids))
        for ids, names in parts
    ]
    if columns[0].type != columns[1].type:
        columns = [column.cast(pa.string()) for column in columns]
    return as_int32(*encoded(pa.chunked_array(columns)))
