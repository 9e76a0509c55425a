"""Scan and stop: scores in the proxy's order until enough better ones are known.

The second method, for those who want little of a model: every user's candidates are scored in the
proxy's order until ten better ones are known or position 400 is reached, and whoever reaches it
gets 250 random draws of the rest. The classes only fill what was not scored.
"""

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics.inference.budget.classes import Classes
from sampled_metrics.inference.budget.counts import Counts
from sampled_metrics.inference.budget.rounds import FIRST_STEPS, LAST_STEPS, Asking, ask
from sampled_metrics.inference.budget.shuffle import hashed, stream, uniform
from sampled_metrics.inference.budget.values import Tables
from sampled_metrics.inference.budget.walk import random_draws

HEAD = 400  # position up to which candidates are scored in the proxy's order
DRAWS = 250  # random draws beyond it
TURNS = (10, 15, 25, 50, 100, 200)  # scores asked in the turns of a scan


def sweep(counts: Counts, classes: Classes, tables: Tables, offset: Int, total: int) -> Asking:
    """Ask for at most `total` scores by scan and stop, and fit the classes.

    Where the scores do not suffice, users in a random order go without.
    """
    frame = counts.frame
    order = np.argsort(uniform(stream(frame.seed, "sweep"), np.arange(frame.n.shape[0])))
    before = np.minimum(np.cumsum(frame.n, axis=1), HEAD)
    head = np.diff(before, axis=1, prepend=0)
    for turn in TURNS:
        left = np.maximum(head - counts.m, 0)
        start = np.cumsum(left, axis=1) - left
        more = np.clip(turn - start, 0, left) * _short(counts, tables, offset)[:, np.newaxis]
        yield from _within(counts, more, order, total)
    survivors = np.flatnonzero(_short(counts, tables, offset))
    yield from _within(counts, _draws(counts, survivors), order, total)
    classes.update(counts, FIRST_STEPS + LAST_STEPS)


def _short(counts: Counts, tables: Tables, offset: Int) -> Int:
    """1 for users with a held-out row of which fewer than `depth` better ones are known."""
    short = counts.better.sum(1) + offset < tables.depth
    return np.minimum(counts.frame.by_user(short.astype(np.int64)), 1)


def _within(counts: Counts, more: Int, order: Int, total: int) -> Asking:
    """Ask for as many users, in a given order, as the scores suffice for."""
    sums = np.cumsum(more[order].sum(1))
    more[order[np.searchsorted(sums, total - counts.m.sum(), side="right") :]] = 0
    if more.any():
        yield from ask(counts, more)


def _draws(counts: Counts, users: Int) -> Int:
    """Numbers of random draws per stratum, without replacement from what was not scored."""
    more = np.zeros_like(counts.m)
    left = counts.left[users]
    keys = hashed(stream(counts.frame.seed, "sweep"), users, 1)
    more[users] = random_draws(left, np.minimum(left.sum(1), DRAWS), keys)
    return more
