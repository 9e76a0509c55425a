"""Exact metrics by hand, and ranges of sampled metrics by the number of negatives."""

import numpy as np
import pytest

from sampled_metrics._base.random_streams import generator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks
from sampled_metrics_study.exact import allowed_ranges, exact_table, write_exact
from sampled_metrics_study.settings import ExactSettings
from tests.helpers.ranges import difference_ranges, metric_ranges


def test_exact_table_by_hand(tmp_path):
    # ranks 1 and 2-4 (uniform) among 11: AP (1 + (1/2 + 1/3 + 1/4)/3)/2, AUC (1 + 8/10)/2
    ranks = {"A": Ranks([11, 11], [0, 1], [0, 2], source="hand")}
    settings = ExactSettings(metrics=("auc", "ap"), ties=("optimistic", "expected"))
    write_exact(exact_table(ranks, settings), "hand", tmp_path / "e.csv", tmp_path / "e.md")
    ap = 100 * (1 + (1 / 2 + 1 / 3 + 1 / 4) / 3) / 2
    assert (tmp_path / "e.csv").read_text() == (
        "recommender,metric,ties,value\n"
        "A,auc,optimistic,95.000000\n"
        "A,auc,expected,90.000000\n"
        "A,ap,optimistic,75.000000\n"
        f"A,ap,expected,{ap:.6f}\n"
    )
    # columns and lines are in the order of the settings, not of the alphabet
    lines = (tmp_path / "e.md").read_text().splitlines()[2:]
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert head == ["recommender", "ties", "auc", "ap"]
    assert rows == [["A", "optimistic", "95.00", "75.00"], ["A", "expected", "90.00", f"{ap:.2f}"]]


# Ranges of sampled metrics by the number of negatives.

N, METRICS, SIZES = 60, ("recall@10", "ap"), (5, 20)


@pytest.fixture(scope="module")
def population():
    rng = [np.random.default_rng(seed).random(300) for seed in range(3)]
    better = {name: np.floor(N * u**power).astype(int)
              for name, u, power in zip("ABC", rng, (1.5, 3.0, 1.0), strict=True)}  # fmt: skip
    users = np.arange(300)
    return {name: Ranks(users * 0 + N, b, users * 0, users=users) for name, b in better.items()}


def test_allowed_ranges_match_direct_computation(population):
    table = allowed_ranges(population, METRICS, seed=3, sizes=(*SIZES, N, 1000))
    assert set(table["n_negatives"]) == set(SIZES), "no sample is as large as the candidates"
    measures = [parse_measure(name) for name in METRICS]
    range_of = table.set_index(["metric", "n_negatives", "a", "b"])
    exact = {name: np.array([np.mean(r.n_better < 10), np.mean(1 / (1 + r.n_better))])
             for name, r in population.items()}  # fmt: skip
    for m in SIZES:
        samples = {}
        for name, full in population.items():
            rng = generator(3, "ranges", name, m)
            sampled_ranks = draw_sampled_ranks(full, m, rng, "without-replacement", "random")
            samples[name] = SampledRanks(sampled_ranks, full.n_candidates, m, users=full.users)
        wanted = {(name, ""): metric_ranges(measures, one) for name, one in samples.items()}
        pairs = ("AB", "AC", "BC")
        wanted |= {(a, b): difference_ranges(measures, samples[a], samples[b]) for a, b in pairs}
        for place, metric in enumerate(METRICS):
            for (a, b), one in wanted.items():
                low, high = range_of.loc[(metric, m, a, b)]
                assert (low, high) == pytest.approx((one[place].low, one[place].high))
                value = exact[b] - exact[a] if b else exact[a]
                assert low <= value[place] <= high
