"""Filters of events: by rating, duplicates, and minimum numbers per user and item."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.numbers import check_number
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.tables.ids import encoded

DUPLICATES = ("refuse", "first", "last")


@dataclass(frozen=True)
class Filters:
    """What to leave out, in the order of the attributes; None is off.

    Attributes
    ----------
    min_rating
        Events with a lower rating are left out.
    duplicates
        Of several events of a user with an item, keep the `first` or the `last` by time (in file
        order where times are equal or missing); `refuse` is an error where there are any.
    min_user_events, min_item_events
        Users and items with fewer events are left out, users first, again and again until both
        minima hold: what remains is the largest set of events in which they do (the k-core).

    >>> events = Interactions(np.array([1, 1, 2, 2, 3]), np.array([7, 8, 7, 8, 8]))
    >>> kept, removed = Filters(min_user_events=2).apply(events)
    >>> kept.user.tolist(), removed
    ([1, 1, 2, 2], {'min_user_events': 1})
    """

    min_rating: float | None = None
    duplicates: str | None = None
    min_user_events: int | None = None
    min_item_events: int | None = None

    def __post_init__(self) -> None:
        if self.min_rating is not None:
            check_number("min_rating", self.min_rating, above=float("-inf"))
        if self.duplicates is not None and self.duplicates not in DUPLICATES:
            raise InputError(
                f"duplicates is {self.duplicates!r}; allowed: {', '.join(DUPLICATES)}, null"
            )
        for name in ("min_user_events", "min_item_events"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), least=1)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Filters":
        """Make filters from settings by name; those missing are off."""
        known = [field.name for field in fields(cls)]
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise InputError(f"unknown filter {unknown[0]!r}; known: {', '.join(known)}")
        return cls(**settings)

    @property
    def on(self) -> dict[str, float | int | str]:
        """Values of the filters that are on, by name."""
        return {
            name: value for name, value in asdict(self).items() if value not in (None, "refuse")
        }

    def apply(self, interactions: Interactions) -> tuple[Interactions, dict[str, int]]:
        """Return the events that pass all filters, and how many events each filter removed.

        Duplicates that no filter removes, users with a single event, and a result without events
        are errors, because they cannot be split.
        """
        kept, removed = interactions, dict[str, int]()
        if self.min_rating is not None:
            by_rating = _by_rating(kept, self.min_rating)
            kept = _filtered("min_rating", self.min_rating, by_rating, kept, removed)
        if self.duplicates in (None, "refuse"):
            _refuse_duplicates(kept)
        else:
            last = self.duplicates == "last"
            kept = _filtered("duplicates", self.duplicates, ~_superseded(kept, last), kept, removed)
        if self.min_user_events is not None or self.min_item_events is not None:
            by_user, by_item = _core(kept, self.min_user_events or 1, self.min_item_events or 1)
            counts = {"min_user_events": by_user, "min_item_events": by_item}
            removed |= {n: int(counts[n].sum()) for n in counts if n in self.on}
            told = ", ".join(f"{n}: {self.on[n]}" for n in counts if n in self.on)
            kept = _taken(kept, ~(by_user | by_item), told)
        _check_enough_events(kept)
        return replace(kept, rating=None), removed


def _filtered(
    name: str,
    value: object,
    kept: NDArray[np.bool_],
    interactions: Interactions,
    removed: dict[str, int],
) -> Interactions:
    removed[name] = int(kept.size - kept.sum())
    return _taken(interactions, kept, f"{name}: {value}")


def _taken(interactions: Interactions, kept: NDArray[np.bool_], filters: str) -> Interactions:
    if kept.all():
        return interactions
    if not kept.any():
        raise interactions.error(f"no events remain after {filters}")
    return interactions.take(kept)


def _by_rating(interactions: Interactions, least: float) -> NDArray[np.bool_]:
    if interactions.rating is None:
        raise interactions.error(f"no ratings; min_rating {least:g} needs a column of ratings")
    return interactions.rating >= np.float32(least)


def _pairs(interactions: Interactions) -> NDArray[np.int64]:
    """Encode each pair of user and item as one number."""
    pairs = interactions.user.astype(np.int64) << 32
    pairs |= interactions.item.astype(np.int64) & 0xFFFFFFFF
    return pairs


def _refuse_duplicates(interactions: Interactions) -> None:
    """Raise InputError for the first event that repeats a pair of user and item."""
    pairs = _pairs(interactions)
    if (pairs[1:] > pairs[:-1]).all():  # sorted, as the larger MovieLens are
        return
    ordered = np.sort(pairs)
    if (ordered[1:] != ordered[:-1]).all():
        return
    order = np.argsort(pairs, kind="stable")
    repeats = np.flatnonzero(pairs[order[1:]] == pairs[order[:-1]])
    place = repeats[np.argmin(order[repeats + 1])]
    first, again = int(order[place]), int(order[place + 1])
    user, item = interactions.user_id(again), interactions.item_id(again)
    raise interactions.error(
        f"duplicate of row {interactions.row(first) + 1} (user {user}, item {item}); "
        "the filter duplicates can keep the first or the last",
        again,
    )


def _superseded(interactions: Interactions, last: bool) -> NDArray[np.bool_]:
    """Return whether another event of the same user and item is to be kept instead of an event.

    That is the last of them by time if `last`, else the first; where times are equal or missing,
    file order decides.

    >>> _superseded(Interactions(np.array([1, 1, 1]), np.array([7, 8, 7])), last=True)
    array([ True, False, False])
    """
    pairs = _pairs(interactions)
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


def _check_enough_events(interactions: Interactions) -> None:
    code, ids = encoded(interactions.user)
    single = np.flatnonzero(np.bincount(code) < 2)
    if single.size:
        lowest = single[np.argmin(ids.to_numpy()[single])]
        event = int(np.argmax(code == lowest))
        raise interactions.error(
            f"the only event of user {interactions.user_id(event)}; one is needed for training "
            "and one to hold out (the filter min_user_events: 2 leaves such users out)",
            event,
        )
