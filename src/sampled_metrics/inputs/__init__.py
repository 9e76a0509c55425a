"""Reading what people have: ranks, lists and scores of any package, as files."""

from sampled_metrics.inputs.rankings import Ranking, read_ranking
from sampled_metrics.inputs.relevant_items import RelevantItems, read_relevant
from sampled_metrics.inputs.sampled import SampledRanks, read_sampled_ranks

__all__ = [
    "Ranking",
    "RelevantItems",
    "SampledRanks",
    "read_ranking",
    "read_relevant",
    "read_sampled_ranks",
]
