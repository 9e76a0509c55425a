"""Corrections from counts by stratum: negatives of any design that depends on popularity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.tastes import estimate_by_tastes, fit_tastes, mean_credit
from sampled_metrics.intervals.quoting import Quoted, quote
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.taste_ranges import fit_mixture, profile_ranges
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.strata import StratumCounts

MIN_DRAWS = 10  # of a stratum, in all; with fewer, nothing is known about its items
MAX_UNREACHED = 0.1  # share of the candidates in such strata
_RANKS_BY_NEGATIVES = 5.0  # the shape is assumed down to the rank 5 n / m, and
_RANKS_BY_CUTOFF = 3  # three times the cut-off, as for uniform negatives


class StratumEstimate(NamedTuple):
    """The number to quote for a metric, and the range of the exact metric."""

    quoted: Quoted
    allowed: Range


def refuse_unreached(strata: StratumCounts) -> None:
    """Raise InputError if hardly any draws reach many of the candidates."""
    drawn = strata.drawn.sum(axis=0)
    candidates = strata.candidates.sum(axis=0)
    unreached = float(candidates[drawn < MIN_DRAWS].sum() / candidates.sum())
    if unreached > MAX_UNREACHED:
        raise InputError(
            f"{unreached:.0%} of the candidates are of a popularity of which fewer than "
            f"{MIN_DRAWS} were drawn (the most popular items, or those of a retriever?), so that "
            "nothing is known about them; add uniform negatives, half and half"
        )


def estimate_from_strata(
    ranks: SampledRanks, measures: Sequence[Measure], confidence: float
) -> list[StratumEstimate]:
    """Estimate metrics, and find the ranges that the counts of each user by stratum allow."""
    strata = ranks.strata
    if strata is None:
        raise ValueError("sampled ranks have no counts by stratum")
    if ranks.units is not None and first_duplicate(ranks.units.codes) is not None:
        raise InputError(
            "users have several held-out items; counts need one of each user: evaluate a random "
            "one, or call correct for the first items, the second ones and so on"
        )
    refuse_unreached(strata)
    n = ranks.mean_candidates
    m = float(strata.drawn.sum(axis=1).mean())
    fit = fit_tastes(strata)
    estimates = estimate_by_tastes(strata, measures, n, fit)
    log_errors = estimates.log_errors
    results = []
    none = np.zeros(1, np.int64)
    for i, measure in enumerate(measures):
        last = int(max(_RANKS_BY_NEGATIVES * n / m, _RANKS_BY_CUTOFF * (measure.cutoff or 0)))
        credit = measure.value_at(np.arange(1, n + 1), n)
        of_cell = mean_credit(credit, none, fit.level_of_cell[None])
        (allowed,) = profile_ranges(fit_mixture(fit, last), of_cell, confidence)
        value = float(estimates.values[i])
        results.append(
            StratumEstimate(quote(value, float(log_errors[i]), allowed, confidence), allowed)
        )
    return results
