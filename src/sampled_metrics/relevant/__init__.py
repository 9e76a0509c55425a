"""Metrics of several relevant items a user (section 3, eq. 2-6), ties and cut lists included."""

from sampled_metrics.relevant.ranks import RelevantRanks
from sampled_metrics.relevant.values import relevant_values

__all__ = ["RelevantRanks", "relevant_values"]
