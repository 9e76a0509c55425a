"""Sampled ranks: their distribution, the expected metrics under it, and draws (section 4)."""

from sampled_metrics.sampling.draws import draw_sampled_ranks, histograms, shared_histograms
from sampled_metrics.sampling.probability import (
    SAMPLED_TIE_POLICIES,
    distinct_items,
    pmf,
    sampled_rank_distribution,
)

__all__ = [
    "SAMPLED_TIE_POLICIES",
    "distinct_items",
    "draw_sampled_ranks",
    "histograms",
    "pmf",
    "sampled_rank_distribution",
    "shared_histograms",
]
