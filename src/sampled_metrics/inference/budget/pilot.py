"""A pilot on a few users: which of several proxies fits the recommenders."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts, Frame
from sampled_metrics.inference.budget.evaluation import (
    Batch,
    Modelled,
    Settings,
    rounds,
    start,
)

SHARE = 0.05  # of the users in the pilot
LEAST_USERS = 100
SCORES = 25  # per pilot user, recommender and proxy, at most
FEW, MANY = 1.0, 30.0  # expected better candidates of the users a depth is about
DEPTH_SHARE = 0.9  # of the better candidates lie before the depth


class Trial(NamedTuple):
    """A proxy in the pilot.

    Attributes
    ----------
    name
        Of the proxy.
    depth
        Position in its order before which 90 % of the better candidates of users with 1 to 30 of
        them are expected, the greatest over recommenders.
    """

    name: str
    depth: float


def pilot_users(n_users: int, draws: Float) -> Int:
    """Users with the smallest of some uniform numbers, ascending."""
    count = min(n_users, max(LEAST_USERS, round(SHARE * n_users)))
    return np.sort(np.argsort(draws, kind="stable")[:count])


def pilot(
    frames: Sequence[Frame], users: Int, held_items: Int, settings: Settings
) -> Generator[Batch, Float, list[Trial]]:
    """Fit the model to a few users under several proxies; return their depths.

    Parameters
    ----------
    frames
        One per proxy, of the pilot users alone.
    users
        Running numbers of the pilot users.
    held_items
        Held-out items of the pilot users.
    settings
        Of the whole evaluation.
    """
    trials = []
    for frame in frames:
        inner = _modelled(frame, held_items, settings, pilot_scores(frame))
        scores: Float | None = None
        while True:
            try:
                batch = next(inner) if scores is None else inner.send(scores)
            except StopIteration as stop:
                counts, classes = stop.value[:2]
                break
            scores = yield batch._replace(users=users[batch.users])
        depths = [expected_depth(*pair) for pair in zip(counts, classes, strict=True)]
        trials.append(Trial(frame.order.name, max(depths)))
    return trials


def pilot_scores(frame: Frame) -> int:
    """Scores asked of a recommender in the pilot of one proxy, at most."""
    least = int(np.count_nonzero(frame.n.any(0)))
    return min(max(SCORES, least + 1) * frame.order.n.size, int(frame.n.sum()))


def _modelled(
    frame: Frame, held_items: Int, settings: Settings, total: int
) -> Generator[Batch, Float, Modelled]:
    model = yield from start(frame, held_items, settings)
    yield from rounds(model, settings.method, total)
    return model


def expected_depth(counts: Counts, classes: Classes) -> float:
    """Depth of a proxy's order by the model; the number of candidates if nothing was better."""
    by_row = classes.by_stratum(counts)
    total = by_row.sum(1)
    sums = np.concatenate([[0.0], np.cumsum(by_row[(total >= FEW) & (total <= MANY)].sum(0))])
    if sums[-1] == 0.0:
        return float(counts.frame.edges[-1])
    return float(np.interp(DEPTH_SHARE * sums[-1], sums, counts.frame.edges))
