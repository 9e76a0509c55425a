"""Sampled ranks: their distribution, the expected metrics under it, and draws (section 4)."""

from sampled_metrics.sampling.adaptive import draw_adaptively
from sampled_metrics.sampling.averages import average_over_ranks
from sampled_metrics.sampling.distinct import distinct_items
from sampled_metrics.sampling.distribution import TIES, sampled_rank_distribution
from sampled_metrics.sampling.draws import draw_sampled_ranks, histograms
from sampled_metrics.sampling.probability import expected_values, pmf
from sampled_metrics.sampling.shared import shared_histograms

__all__ = [
    "TIES",
    "average_over_ranks",
    "distinct_items",
    "draw_adaptively",
    "draw_sampled_ranks",
    "expected_values",
    "histograms",
    "pmf",
    "sampled_rank_distribution",
    "shared_histograms",
]
