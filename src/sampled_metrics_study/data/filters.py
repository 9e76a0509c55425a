"""Events left out before the split: low ratings, duplicates, users and items with too few."""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sampled_metrics_study.data.events import Interactions
from sampled_metrics_study.data.settings import FilterSettings

LeftOut: TypeAlias = dict[str, NDArray[np.bool_]]  # by filter, whether it removes each event


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
    _check_enough_events(remaining, least)
    return replace(remaining, rating=None), removed


def _low_ratings(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    lowest = filters.min_rating
    if lowest is None:
        return {}
    if interactions.rating is None:
        raise interactions.error(f"no ratings; min_rating {lowest:g} needs a column of ratings")
    return {"min_rating": ~(interactions.rating >= np.float32(lowest))}


def _duplicates(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    """Return which events give way to the first, or the last, of their user and item.

    They are in order of time, and of the file where times are equal or missing.
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
    """Return which events to leave out because their user, or their item, has too few."""
    ids = {"min_user_events": interactions.user, "min_item_events": interactions.item}
    least: dict[str, Any] = {name: filters.on[name] for name in ids if name in filters.on}
    left_out = {name: np.zeros(len(interactions), dtype=bool) for name in least}
    events = pd.DataFrame(ids)
    before = -1
    while len(events) != before:
        before = len(events)
        for name, fewest in least.items():
            few = events.groupby(name)[name].transform("size") < fewest
            left_out[name][events.index[few]] = True
            events = events[~few]
    return left_out


def _check_enough_events(interactions: Interactions, least: int) -> None:
    _, first, counts = np.unique(interactions.user, return_index=True, return_counts=True)
    few = np.flatnonzero(counts < least)
    if few.size:
        user, _ = interactions.ids(first[few[0]])
        raise interactions.error(
            f"user {user} has {counts[few[0]]} of the {least} events needed; "
            f"the filter min_user_events: {least} leaves such users out"
        )
