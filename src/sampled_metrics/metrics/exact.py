"""Exact metrics of each user, under a stated tie policy."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.levels import TIES, Levels
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks


class DepthError(InputError):
    """Lists end before a metric is known."""


def values(
    measure: Measure, ranks: Ranks, ties: str = "expected", rng: np.random.Generator | None = None
) -> Float:
    """Return the exact metric of each user as a fraction; float64, shape (users,).

    Parameters
    ----------
    measure
        What to compute; `sampled_metrics.metrics.catalogue` lists the conventions.
    ranks
        Ranks of the relevant items; only NDCG uses their grades. In a list that is cut, candidates
        below the cut count as not tied with those above; one that ends too early to know the value
        raises InputError.
    ties
        `expected` (mean over a uniformly random order of candidates with equal scores, relevant
        and irrelevant alike), `random` (one such order, drawn with `rng`), `optimistic` (relevant
        items first among their ties) or `pessimistic` (last). The last two are the extremes of
        every measure but `ap-by-hits`, which one more hit far down can lower.
    rng
        Source of the random order; only `random` uses it.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> recall = parse_measure("recall@5")
    >>> [values(recall, Ranks([101], [0], [9]), ties).item()
    ...  for ties in ("optimistic", "expected", "pessimistic")]
    [1.0, 0.5, 0.0]

    Relevant items at ranks 1, 3 and 4 of 6:

    >>> ranks = Ranks([6], [0, 2, 3], [0, 0, 0], n_found=[3])
    >>> values(parse_measure("ap@4"), ranks).round(4)  # (1/1 + 2/3 + 3/4) / 3
    array([0.8056])

    Grades 3 and 1 in the wrong order, and gains of 2^grade - 1:

    >>> ranks = Ranks([2], [0, 1], [0, 0], n_found=[2], grades=[1, 3])
    >>> values(parse_measure("ndcg@2"), ranks).round(4)  # (1 + 3/log2(3)) / (3 + 1/log2(3))
    array([0.7967])
    >>> values(parse_measure("ndcg-exp@2"), ranks).round(4)  # (1 + 7/log2(3)) / (7 + 1/log2(3))
    array([0.7098])
    """
    if ties not in TIES:
        raise InputError(f"unknown tie policy {ties!r}; known: {', '.join(TIES)}")
    if not measure.metric.graded:
        ranks = ranks.ungraded
    levels = TIES[ties](Levels.of(ranks), rng)
    if ranks.is_single and measure.metric.of_rank is not None:
        return _of_single(measure, ranks, levels)
    _require_depth(measure, ranks)
    return measure.metric.of_levels(levels, ranks, measure)


def _of_single(measure: Measure, ranks: Ranks, levels: Levels) -> Float:
    """Average the formula of one relevant item over the places of each level.

    Means over several places come from differences of a cumulative sum.
    """
    tied = levels.size > 1
    if tied.any() and measure.metric.needs_candidates:
        return measure.metric.of_levels(levels, ranks, measure)
    result = measure.at(levels.above + 1, ranks.n_candidates)
    if not tied.any():
        return result
    above, below = levels.above[tied], (levels.above + levels.size)[tied]
    last = int(below.max())
    cumulative = np.zeros(last + 1)
    np.cumsum(measure.at(np.arange(1, last + 1), last), out=cumulative[1:])
    result[tied] = (cumulative[below] - cumulative[above]) / (below - above)
    return result


def _require_depth(measure: Measure, ranks: Ranks) -> None:
    """Raise InputError if the list of a user ends before the value is known.

    Items not found are below all those found. So nothing below matters once every relevant item
    is found, or for some metrics the first.
    """
    if measure.metric.needs_candidates and not ranks.n_candidates.all():
        users = int((ranks.n_candidates == 0).sum())
        raise DepthError(
            f"{measure} needs n_candidates, which is 0 (not known) for {users} users; are lists "
            "--complete?"
        )
    needed = 1 if measure.metric.first_item_decides else ranks.n_relevant
    unknown = ranks.n_found < needed
    unknown &= (ranks.n_candidates == 0) | (ranks.depth < ranks.n_candidates)
    if measure.cutoff is not None:
        unknown &= ranks.depth < measure.cutoff
    if unknown.any():
        raise DepthError(f"{measure} needs {_missing(measure, ranks, unknown)}")


def _missing(measure: Measure, ranks: Ranks, unknown: NDArray[np.bool_]) -> str:
    ends = ranks.depth[unknown]
    first, last = int(ends.min()), int(ends.max())
    lists = "the list of 1 user ends" if ends.size == 1 else f"the lists of {ends.size} users end"
    lists += f" at {first}" if first == last else f" at {first} to {last}"
    if measure.cutoff is not None:
        return f"ranks down to {measure.cutoff}; {lists}"
    items = "the ranks of all relevant items"
    if measure.metric.first_item_decides:
        items = "the rank of the first relevant item"
    can_be_cut = measure.metric.cutoff != "none" and first > 0
    remedy = f"use {measure.name}@{first}" if can_be_cut else "full rankings are needed"
    return f"{items}, but {lists} before that; {remedy}"
