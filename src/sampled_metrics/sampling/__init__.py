"""Sampled ranks: their distribution, the expected metrics under it, and draws (section 4)."""

from sampled_metrics.sampling.closed_forms import expected_ap, expected_auc, expected_recall
from sampled_metrics.sampling.distinct import distinct_items
from sampled_metrics.sampling.distribution import (
    NOISE_OF,
    SAMPLING,
    TIES,
    check_sampling,
    sampled_rank_distribution,
    take,
)
from sampled_metrics.sampling.draws import draw_sampled_ranks, histograms
from sampled_metrics.sampling.noise import NOISE_MODELS, expected_values, pmf

__all__ = [
    "NOISE_MODELS",
    "NOISE_OF",
    "SAMPLING",
    "TIES",
    "check_sampling",
    "distinct_items",
    "draw_sampled_ranks",
    "expected_ap",
    "expected_auc",
    "expected_recall",
    "expected_values",
    "histograms",
    "pmf",
    "sampled_rank_distribution",
    "take",
]
