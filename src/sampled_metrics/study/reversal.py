"""Recall@10 of recommenders among all items and among 100 random ones."""

from collections.abc import Sequence
from pathlib import Path

from sampled_metrics.estimators import sampled
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.sampling import sampled_rank_distribution

N_NEGATIVES = 100


def recall_exact_and_sampled(paths: Sequence[Path]) -> dict[str, tuple[float, float]]:
    """Compute Recall@10 in full rankings and its expectation under sampling, by file stem."""
    measure = parse_measure("recall@10")
    vector = sampled(measure, N_NEGATIVES)
    pairs = {}
    for name, ranks in read_by_name(paths).items():
        expected = sampled_rank_distribution(ranks, N_NEGATIVES) @ vector
        pairs[name] = float(values(measure, ranks).mean()), float(expected.mean())
    return pairs
