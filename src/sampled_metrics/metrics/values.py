"""Exact metrics of several relevant items a user, where the ranking is known deep enough."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.expectations import EXPECTATIONS
from sampled_metrics.metrics.levels import POLICIES, levels_of
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks

_OF_FIRST_ITEM = ("hit", "rr")


def relevant_values(
    measure: Measure,
    ranks: Ranks,
    ties: str = "expected",
    rng: np.random.Generator | None = None,
) -> Float:
    """Exact metric of every user, eq. 2-6, as fractions; float64, shape (users,).

    Parameters
    ----------
    measure
        What to compute; `sampled_metrics.metrics.expectations` tells the conventions apart.
    ranks
        Where the relevant items stand. A list that ends at its depth is taken as given: its ties
        are those that `n_tied` counts.
    ties
        `expected` (mean over a uniformly random order of candidates with equal scores, relevant
        and irrelevant alike), `random` (one such order, drawn with `rng`), `optimistic` (relevant
        items first among their ties) or `pessimistic` (last). The last two are the extremes of
        every measure but `ap-by-hits`, which one more hit far down can lower.
    rng
        Source of the random order; only `random` uses it.

    Raises
    ------
    InputError
        The policy is not known, or `random` has no generator; a list ends too early to know the
        value; AUC of a user without irrelevant candidates, or with candidates not counted.

    Relevant items at ranks 1, 3 and 4 of 6:

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> ranks = Ranks([6], [0, 2, 3], [0, 0, 0], n_found=[3])
    >>> relevant_values(parse_measure("ap@4"), ranks).round(4)  # (1/1 + 2/3 + 3/4) / 3
    array([0.8056])

    Two relevant items tied with one other, so at ranks 1 2, 1 3 or 2 3:

    >>> ranks = Ranks([6], [0, 0], [2, 2], n_found=[2])
    >>> relevant_values(parse_measure("recall@2"), ranks).round(4)  # (2/2 + 1/2 + 1/2) / 3
    array([0.6667])
    """
    if ties not in POLICIES:
        raise InputError(f"unknown tie policy {ties!r}; known: {', '.join(sorted(POLICIES))}")
    _check_known(measure, ranks)
    levels = POLICIES[ties](levels_of(ranks), rng)
    return EXPECTATIONS[measure.kind](levels, ranks, measure)


def _check_known(measure: Measure, ranks: Ranks) -> None:
    """Raise InputError where the list of a user ends before the value is settled.

    Items not found stand below all those found. So once every relevant item is found, nothing
    below matters, and for `hit` and `rr` once the first is.
    """
    if measure.needs_candidates and not ranks.n_candidates.all():
        users = int((ranks.n_candidates == 0).sum())
        raise InputError(
            f"{measure} needs n_candidates, which is 0 (not known) of {users} users; allowed: the "
            "number of items ranked"
        )
    of_first = measure.kind in _OF_FIRST_ITEM
    unknown = ranks.n_found < (1 if of_first else ranks.n_relevant)
    unknown &= (ranks.n_candidates == 0) | (ranks.depth < ranks.n_candidates)
    if measure.cutoff is not None:
        unknown &= ranks.depth < measure.cutoff
    if unknown.any():
        raise InputError(f"{measure} needs {_what_is_missing(measure, ranks, unknown)}")


def _what_is_missing(measure: Measure, ranks: Ranks, unknown: NDArray[np.bool_]) -> str:
    ends = ranks.depth[unknown]
    first, last = int(ends.min()), int(ends.max())
    lists = "the list of 1 user ends" if ends.size == 1 else f"the lists of {ends.size} users end"
    lists += f" at {first}" if first == last else f" at {first} to {last}"
    if measure.cutoff is not None:
        return f"ranks down to {measure.cutoff}; {lists}"
    of_first = measure.kind in _OF_FIRST_ITEM
    items = "the rank of the first relevant item" if of_first else "the ranks of all relevant items"
    # AUC has no form with a cut-off, and a list without places has nothing to cut.
    truncated = not measure.needs_candidates and first > 0
    remedy = f"use {measure.name}@{first}" if truncated else "allowed: full rankings"
    return f"{items}, but {lists} without; {remedy}"
