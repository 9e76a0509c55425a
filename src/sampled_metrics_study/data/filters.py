"""Filters before the split: low ratings, duplicates, users and items with too few events."""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sampled_metrics_study.data.events import Interactions
from sampled_metrics_study.data.settings import FilterSettings

LeftOut: TypeAlias = dict[str, NDArray[np.bool_]]  # a mask of the events that a filter removes


def apply_filters(
    interactions: Interactions, filters: FilterSettings | None = None, min_events: int = 2
) -> tuple[Interactions, dict[str, int]]:
    """Return the events that pass all filters, and how many events each filter removed.

    The filters are applied in the order of the settings. `duplicates` keeps the first or the last
    event by time, and by file order where times are equal or missing. Users and items with too few
    events are removed in turn, users first, until both minima hold; the result is the largest set
    of events in which they do (the k-core).

    Duplicates that no filter removes, users with fewer than `min_events` events, and a result
    without events raise InputError, because such events cannot be split.

    Examples
    --------
    >>> events = Interactions(np.array([1, 1, 2, 2, 3]), np.array([7, 8, 7, 8, 8]))
    >>> remaining, removed = apply_filters(events, FilterSettings(min_user_events=2))
    >>> remaining.user.tolist(), removed
    ([1, 1, 2, 2], {'min_user_events': 1})
    """
    filters = filters or FilterSettings()
    remaining = interactions
    removed = dict[str, int]()
    for step in (_low_ratings, _duplicates, _few_events):
        left_out = step(remaining, filters)
        if not left_out:
            continue
        removed.update({name: int(events.sum()) for name, events in left_out.items()})
        passes = ~np.logical_or.reduce(list(left_out.values()))
        if not passes.any():
            applied = ", ".join(f"{name}: {filters.on[name]}" for name in left_out)
            raise remaining.error(f"no events remain after {applied}")
        if not passes.all():
            remaining = remaining.take(passes)
    _check_enough_events(remaining, min_events)
    return replace(remaining, rating=None), removed


def _low_ratings(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    """Mark the events with a rating below `min_rating`, or without a rating."""
    lowest = filters.min_rating
    if lowest is None:
        return {}
    if interactions.rating is None:
        raise interactions.error(f"no ratings; min_rating {lowest:g} needs a column of ratings")
    return {"min_rating": ~(interactions.rating >= np.float32(lowest))}


def _duplicates(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    """Mark all but the first, or the last, event of each pair of user and item.

    Events are ordered by time, and by file order where times are equal or missing.
    """
    pairs = pd.DataFrame({"user": interactions.user, "item": interactions.item})
    if filters.duplicates == "refuse":
        again = pairs.duplicated()
        if again.any():
            user, item = interactions.ids(int(again.argmax()))
            raise interactions.error(
                f"user {user} has item {item} more than once; "
                "the filter duplicates can keep the first or the last"
            )
        return {}
    if interactions.timestamp is not None:
        pairs = pairs.iloc[np.argsort(interactions.timestamp, kind="stable")]
    return {"duplicates": pairs.duplicated(keep=filters.duplicates).sort_index().to_numpy()}


def _few_events(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    """Mark the events whose user or item has too few events."""
    ids = {"min_user_events": interactions.user, "min_item_events": interactions.item}
    minima: dict[str, Any] = {name: filters.on[name] for name in ids if name in filters.on}
    left_out = {name: np.zeros(len(interactions), dtype=bool) for name in minima}
    events = pd.DataFrame(ids)
    n_before = -1
    while len(events) != n_before:
        n_before = len(events)
        for name, minimum in minima.items():
            few = events.groupby(name)[name].transform("size") < minimum
            left_out[name][events.index[few]] = True
            events = events[~few]
    return left_out


def _check_enough_events(interactions: Interactions, min_events: int) -> None:
    """Raise InputError for the first user with fewer than `min_events` events."""
    _, first, counts = np.unique(interactions.user, return_index=True, return_counts=True)
    few = np.flatnonzero(counts < min_events)
    if few.size:
        user, _ = interactions.ids(first[few[0]])
        raise interactions.error(
            f"user {user} has {counts[few[0]]} of the {min_events} events needed; "
            f"set the filter min_user_events: {min_events} to drop such users"
        )
