"""Ranks of relevant items, in full rankings and among sampled negatives, and how they are made."""

from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.sampling import Sampling

__all__ = ["Ranks", "SampledRanks", "Sampling"]
