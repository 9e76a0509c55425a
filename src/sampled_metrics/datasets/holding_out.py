"""Ways of splitting interactions into training events and one held-out item per user.

- `leave-last-out` holds out the last event of each user by time;
- `leave-k-out` holds out the last k events of each user and evaluates the first of them;
- `global-time` holds out all events from one time on and evaluates each user's first of them;
- `given` takes training and held-out events from two files, and evaluates likewise;
- `random` holds out one event of each user, each equally likely.

All but the last choose by time, with a tie-break where a user has several events at that time.
Held-out events that are not evaluated are not trained on; their items are candidates as any other.
"""

from dataclasses import replace

import numpy as np

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.last_events import last_events
from sampled_metrics.datasets.later_events import hold_out_from
from sampled_metrics.datasets.settings import SplitSettings, TieBreak
from sampled_metrics.datasets.split import Split, assemble, by_user


def hold_out(
    interactions: Interactions, settings: SplitSettings, rng: np.random.Generator
) -> Split:
    """Split by the method of the settings; the generator replaces their seed."""
    tie_break = settings.tie_break
    if settings.method == "random":
        return leave_random_out(interactions, rng)
    if settings.method == "global-time":
        return hold_out_from(interactions, settings.cut or 0, tie_break, rng)
    return leave_last_out(interactions, tie_break, rng, settings.k or 1)


def leave_last_out(
    interactions: Interactions,
    tie_break: TieBreak = "ncf",
    rng: np.random.Generator | None = None,
    k: int = 1,
) -> Split:
    """Hold out the last k events of each user and evaluate the first of them.

    Each user needs more than k events, none a duplicate of user and item. For `tie_break` see the
    module `last_events`; `rng` is for `random` only.
    """
    times, users = interactions.times("leave-last-out"), by_user(interactions.user)
    held_out, tied_users = last_events(times[users.rows], users.bounds, tie_break, rng)
    training = np.ones(len(interactions), dtype=bool)
    training[held_out] = False
    for removed in range(1, k):
        left = np.flatnonzero(training)
        bounds = users.bounds - removed * np.arange(users.bounds.size)
        last, tied_users = last_events(times[users.rows[left]], bounds, tie_break, rng)
        held_out = left[last]
        training[held_out] = False
    return assemble(interactions, users, training, held_out, tied_users)


def leave_random_out(interactions: Interactions, rng: np.random.Generator) -> Split:
    """Hold out one event of each user, each equally likely; timestamps are ignored."""
    users = by_user(interactions.user)
    held_out = users.bounds[:-1] + rng.integers(0, np.diff(users.bounds))
    training = np.ones(len(interactions), dtype=bool)
    training[held_out] = False
    return assemble(interactions, users, training, held_out)


def sample_users(split: Split, users: float, rng: np.random.Generator) -> Split:
    """Evaluate only so many users, or this share below 1, drawn at random; all still train."""
    n_users = split.held_out.size
    count = max(1, round(users * n_users)) if users < 1 else int(users)
    if count > n_users:
        raise InputError(
            f"split.users is {count:,} but only {n_users:,} users can be evaluated; lower it, or "
            "set null for all"
        )
    drawn = np.zeros(split.user_ids.size, dtype=bool)
    drawn[rng.choice(n_users, count, replace=False)] = True
    order = np.argsort(~drawn, kind="stable")
    return replace(
        split,
        train=split.train[order],
        held_out=split.held_out[order[:count]],
        user_ids=split.user_ids[order],
        left_out_events=split.left_out_events + n_users - count,
    )
