"""The toy recommenders A, B and C (sections 3.2 and 4.2): Tables 1 and 2."""

import numpy as np
import pandas as pd

from sampled_metrics._base.seeds import generator
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.moments import estimates, expected_moments, simulated_moments
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import histograms, sampled_rank_distribution
from sampled_metrics.study.labels import EXACT
from sampled_metrics.study.settings import N_ITEMS, ToySettings
from sampled_metrics.study.unrounded import Row, unrounded

PREDICTED_RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
RANKS = "toy recommenders of section 3.2"
METRICS = tuple(parse_measure(name) for name in ("auc", "ap", "ndcg", "recall@10"))


def toy_records(recommender: str) -> Ranks:
    """Return the ranks of a toy recommender, which has no ties.

    >>> toy_records("C").best_rank.tolist()
    [212, 2, 743, 5342, 1548]
    """
    ranks = np.array(PREDICTED_RANKS[recommender])
    return Ranks(np.full(ranks.size, N_ITEMS), ranks - 1, np.zeros_like(ranks))


def table1() -> pd.DataFrame:
    """Exact metrics of the toy recommenders, as fractions."""
    rows = []
    for name, ranks in PREDICTED_RANKS.items():
        for measure in METRICS:
            value = float(measure.at(ranks, N_ITEMS).mean())
            cell = (1, name, measure.label, EXACT)
            rows.append(Row(*cell, value, None, value, None, 0, RANKS))
    return unrounded(rows)


def table2(settings: ToySettings) -> pd.DataFrame:
    """Sampled metrics of the toy recommenders, simulated and in expectation, as fractions.

    `std` is over repetitions of the mean over the five instances, as is `expected_std`.
    """
    m = settings.n_negatives
    vectors = estimator_matrix(
        [parse_estimator("sampled")], METRICS, N_ITEMS, m, sampling=settings.sampling
    )[:, 0]
    rows = []
    for name in PREDICTED_RANKS:
        records = toy_records(name)
        generators = [generator(settings.seed, "toy", name, i) for i in range(settings.repetitions)]
        counts = histograms(records, m, generators, settings.sampling)
        drawn = simulated_moments(estimates(counts, vectors))
        distribution = sampled_rank_distribution(records, m, settings.sampling)
        expected = expected_moments(distribution, vectors)
        for i, measure in enumerate(METRICS):
            row = Row(
                2,
                name,
                measure.label,
                "Sampled",
                float(drawn.mean[i]),
                float(drawn.sd[i]),
                float(expected.mean[i]),
                float(expected.sd[i]),
                settings.repetitions,
                RANKS,
            )
            rows.append(row)
    return unrounded(rows)
