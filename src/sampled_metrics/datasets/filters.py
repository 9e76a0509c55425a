"""Filters of events: by rating, duplicates, and minimum numbers per user and item."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.settings import FilterSettings
from sampled_metrics.tables.casts import as_numpy
from sampled_metrics.tables.ids import encoded


def apply_filters(
    interactions: Interactions, filters: FilterSettings | None = None, least: int = 2
) -> tuple[Interactions, dict[str, int]]:
    """Return the events that pass all filters, and how many events each filter removed.

    The filters are applied in the order of the settings. `duplicates` goes by time, and by file
    order where times are equal or missing. Users and items with too few events are left out in
    turn, users first, until both minima hold; this leaves the largest set of events in which they
    do (the k-core).

    Duplicates that no filter removes, users with fewer than `least` events, and a result without
    events are errors, because they cannot be split.

    Examples
    --------
    >>> events = Interactions(np.array([1, 1, 2, 2, 3]), np.array([7, 8, 7, 8, 8]))
    >>> kept, removed = apply_filters(events, FilterSettings(min_user_events=2))
    >>> kept.user.tolist(), removed
    ([1, 1, 2, 2], {'min_user_events': 1})
    """
    filters = filters or FilterSettings()
    kept, removed, values = interactions, dict[str, int](), filters.on

    def leave_out(**out: NDArray[np.bool_]) -> Interactions:
        """Leave out the events that filters remove, by name of the filter."""
        names = [name for name in out if name in values]
        removed.update({name: int(out[name].sum()) for name in names})
        passing = ~np.logical_or.reduce(list(out.values()))
        if passing.all():
            return kept
        if not passing.any():
            applied = ", ".join(f"{name}: {values[name]}" for name in names)
            raise kept.error(f"no events remain after {applied}")
        return kept.take(passing)

    if filters.min_rating is not None:
        kept = leave_out(min_rating=_below(kept, filters.min_rating))
    if filters.duplicates == "refuse":
        _refuse_duplicates(kept)
    else:
        kept = leave_out(duplicates=_superseded(kept, filters.duplicates == "last"))
    if filters.min_user_events is not None or filters.min_item_events is not None:
        by_user, by_item = _core(kept, filters.min_user_events or 1, filters.min_item_events or 1)
        kept = leave_out(min_user_events=by_user, min_item_events=by_item)
    _check_enough_events(kept, least)
    return replace(kept, rating=None), removed


def _below(interactions: Interactions, least: float) -> NDArray[np.bool_]:
    if interactions.rating is None:
        raise interactions.error(f"no ratings; min_rating {least:g} needs a column of ratings")
    return ~(interactions.rating >= np.float32(least))


def _refuse_duplicates(interactions: Interactions) -> None:
    """Raise InputError for the first event that repeats a pair of user and item."""
    pairs = interactions.pairs()
    if (pairs[1:] > pairs[:-1]).all():  # sorted, as the larger MovieLens are
        return
    again = first_duplicate(pairs)
    if again is None:
        return
    first = int(np.argmax(pairs == pairs[again]))
    user, item = interactions.ids(again)
    raise interactions.error(
        f"duplicate of row {interactions.row(first) + 1} (user {user}, item {item}); "
        "the filter duplicates can keep the first or the last",
        again,
    )


def _superseded(interactions: Interactions, last: bool) -> NDArray[np.bool_]:
    """Return whether another event of the same user and item is to be kept instead of an event.

    That is the last of them by time if `last`, else the first; where times are equal or missing,
    file order decides.
    """
    pairs = interactions.pairs()
    order = np.argsort(pairs, kind="stable")
    same = pairs[order[1:]] == pairs[order[:-1]]
    superseded = np.zeros(pairs.size, dtype=bool)
    superseded[order[1:][same]] = superseded[order[:-1][same]] = True
    events = np.flatnonzero(superseded)
    time = np.zeros(pairs.size) if interactions.timestamp is None else interactions.timestamp
    events = events[np.lexsort((events, time[events], pairs[events]))]
    same = pairs[events[1:]] == pairs[events[:-1]]
    superseded[events] = np.append(same, False) if last else np.insert(same, 0, False)
    return superseded


def _core(
    interactions: Interactions, least_of_user: int, least_of_item: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which events to leave out because their user, or their item, has too few."""
    codes = [encoded(ids)[0] for ids in (interactions.user, interactions.item)]
    left_out = [np.zeros(len(interactions), dtype=bool) for _ in codes]
    events = np.arange(len(interactions))
    while True:
        before = events.size
        for code, least, out in zip(codes, (least_of_user, least_of_item), left_out, strict=True):
            few = np.bincount(code[events])[code[events]] < least
            out[events[few]] = True
            events = events[~few]
        if events.size == before:
            return left_out[0], left_out[1]


def _check_enough_events(interactions: Interactions, least: int) -> None:
    code, ids = encoded(interactions.user)
    count = np.bincount(code)
    few = np.flatnonzero(count < least)
    if few.size:
        lowest = few[np.argmin(as_numpy(ids)[few])]
        event = int(np.argmax(code == lowest))
        which = "only event" if count[lowest] == 1 else f"first of {count[lowest]} events"
        raise interactions.error(
            f"the {which} of user {interactions.ids(event)[0]}; one is needed for training and "
            f"{'one' if least == 2 else least - 1} to hold out (the filter min_user_events: "
            f"{least} leaves such users out)",
            event,
        )
