"""Expected sampled metrics, compared with enumeration and with Table 2."""

import numpy as np
import pytest

from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics_study.figures.figure1_to_4 import expected_values
from tests.helpers.enumeration import (
    WITH,
    all_samples,
)

MEASURES = [
    parse_measure(name) for name in ("recall@3", "precision@2", "ap", "ndcg@5", "auc")
]


class TestExpectedValues:
    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("measure", MEASURES, ids=str)
    def test_enumeration(self, sampling, measure):
        n, m = 6, 3
        for rank in range(1, n + 1):
            others = [other for other in range(1, n + 1) if other != rank]
            drawn = list(all_samples(others, m, sampling))
            sampled_ranks = [
                1 + sum(item < rank for item in sample) for sample in drawn
            ]
            mean = measure.value_at(np.array(sampled_ranks), m + 1).mean()
            assert expected_values(measure, rank, n, m, sampling) == pytest.approx(
                mean, rel=1e-13
            )

    def test_table_2_of_the_paper(self):
        # recommenders A, B, C of section 3.2 with m = 99
        printed = {
            "ap": (0.630, 0.336, 0.325),
            "ndcg": (0.724, 0.444, 0.460),
            "recall@10": (1.000, 0.400, 0.567),
            "auc": (0.990, 0.555, 0.843),
        }
        ranks = [[100] * 5, [40, 40, 8437, 9266, 4482], [212, 2, 743, 5342, 1548]]
        for name, of_recommenders in printed.items():
            ours = [
                expected_values(parse_measure(name), r, 10_000, 99, WITH).mean()
                for r in ranks
            ]
            assert ours == pytest.approx(of_recommenders, abs=0.01)
