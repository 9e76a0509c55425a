"""Exact or unbiased metrics of audited users."""

from collections.abc import Generator

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.counts import Asked, Counts
from sampled_metrics.inference.budget.purse import Purse
from sampled_metrics.inference.budget.rounds import Asking, ask
from sampled_metrics.inference.budget.values import Tables, over_ties
from sampled_metrics.inference.budget.walk import Walk

FIRST_TURN, GROWTH = 16, 8  # scores asked per user in the first turn of a scan; factor
SURPLUS = 1  # better ones asked for beyond those needed, where the model says how many to expect


def scan(
    counts: Counts,
    users: Int,
    rank: Int,
    offset: Int,
    expected: Float,
    tables: Tables,
    purse: Purse,
) -> Asking:
    """Ask in the proxy's order until `depth` better ones are known for every row of the users.

    Parameters
    ----------
    users, rank
        Users, and their places in the order in which the purse serves them.
    offset
        Better held-out items of the same user; shape (rows,).
    expected
        Probability that a candidate is better, shape (users, strata), least over a user's rows.
    """
    turn = FIRST_TURN
    at = np.arange(users.size)
    while True:
        missing = tables.depth - _known(counts, users[at], offset)
        at = at[(missing > 0) & (counts.left[users[at]].sum(1) > 0)]
        if not at.size:
            return
        left = counts.left[users[at]]
        missing = tables.depth - _known(counts, users[at], offset)
        length = np.maximum(turn, _length(left, expected[at], missing))
        before = np.cumsum(left, axis=1) - left
        more = np.clip(length[:, np.newaxis] - before, 0, left)
        at = at[: purse.allow(rank[at], more.sum(1))]
        if at.size:
            of_all = np.zeros_like(counts.m)
            of_all[users[at]] = more[: at.size]
            yield from ask(counts, of_all)
        turn *= GROWTH


def _known(counts: Counts, users: Int, offset: Int) -> Int:
    """Better ones known of each user, least over its rows."""
    place, row = counts.frame.rows_of(users)
    least = np.full(users.size, np.iinfo(np.int64).max)
    np.minimum.at(least, place, counts.better[row].sum(1) + offset[row])
    return least


def _length(left: Int, expected: Float, missing: Int) -> Int:
    """Scores until `missing` better ones are expected; 0 where they never are."""
    missing = missing + SURPLUS
    hits = left * expected
    sums = np.cumsum(hits, axis=1)
    enough = sums >= missing[:, np.newaxis]
    stratum = enough.argmax(1)
    row = np.arange(left.shape[0])
    before = sums[row, stratum] - hits[row, stratum]
    inside = (missing - before) / np.maximum(expected[row, stratum], 1e-9)
    ahead = np.cumsum(left, axis=1)[row, stratum] - left[row, stratum]
    return np.where(enough.any(1), ahead + np.ceil(inside), 0).astype(np.int64)


def resolve(
    counts: Counts,
    users: Int,
    rank: Int,
    offset: Int,
    expected: Float,
    tables: Tables,
    purse: Purse,
    key: int,
) -> Generator[Asked, Float, tuple[Int, Float, Float]]:
    """Find the metrics of some users; return their rows, the values and their variance.

    Metrics with a cutoff are exact. The average precision is exact where all candidates were
    scored, else T / n of a walk. Values are of shape (metrics, rows), the variance, of the
    average precision alone, of shape (rows,).
    """
    yield from scan(counts, users, rank, offset, expected, tables, purse)
    place, rows = counts.frame.rows_of(users)
    better, tied = counts.better[rows].sum(1) + offset[rows], counts.tied[rows].sum(1)
    values = np.stack([over_ties(metric, better, tied) for metric in tables.metrics])
    variance = np.zeros(rows.size)
    partly = np.flatnonzero(counts.left[users].sum(1) > 0)
    open_rows = np.isin(place, partly)
    for index, metric in enumerate(tables.metrics):
        if metric.cutoff is not None:
            values[index, open_rows & (better >= tables.depth)] = 0.0
    sums = [index for index, metric in enumerate(tables.metrics) if metric.cutoff is None]
    if sums and partly.size:
        walk = Walk(counts, users[partly], offset, key)
        yield from walk.run(purse, rank[partly])
        for index in sums:
            values[index, open_rows] = walk.values()
        variance[open_rows] = walk.values() ** 2 / 2.0
    return rows, values, variance
