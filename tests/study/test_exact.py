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
    """Ranks of three recommenders among 60 items for 300 users, better for higher powers."""
    users = np.arange(300)
    ranks = {}
    for seed, (name, power) in enumerate({"A": 1.5, "B": 3.0, "C": 1.0}.items()):
        better = np.floor(N * np.random.default_rng(seed).random(300) ** power).astype(int)
        ranks[name] = Ranks(np.full(300, N), better, np.zeros(300, int), users=users)
    return ranks


@pytest.fixture(scope="module")
def ranges(population):
    """Ranges by metric, number of negatives, and one or two recommenders."""
    table = allowed_ranges(population, METRICS, seed=3, sizes=(*SIZES, N, 1000))
    return table.set_index(["metric", "n_negatives", "a", "b"])


def sample_of(population, name, m):
    """The sampled ranks of a recommender with the stream that its ranges have."""
    full, rng = population[name], generator(3, "ranges", name, m)
    sampled_ranks = draw_sampled_ranks(full, m, rng, "without-replacement", "random")
    return SampledRanks(sampled_ranks, full.n_candidates, m, users=full.users)


def test_no_sample_is_as_large_as_the_candidates(ranges):
    assert set(ranges.index.unique("n_negatives")) == set(SIZES)


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_allowed_range_of_a_recommender_is_that_of_its_sample(population, ranges, name, m):
    measures = [parse_measure(metric) for metric in METRICS]
    expected = metric_ranges(measures, sample_of(population, name, m))
    for metric, range_ in zip(METRICS, expected, strict=True):
        ends = tuple(ranges.loc[metric, m, name, ""])
        assert ends == pytest.approx((range_.low, range_.high))


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize(("a", "b"), ["AB", "AC", "BC"])
def test_allowed_range_of_a_difference_is_that_of_both_samples(population, ranges, a, b, m):
    measures = [parse_measure(metric) for metric in METRICS]
    samples = [sample_of(population, name, m) for name in (a, b)]
    for metric, range_ in zip(METRICS, difference_ranges(measures, *samples), strict=True):
        ends = tuple(ranges.loc[metric, m, a, b])
        assert ends == pytest.approx((range_.low, range_.high))


def test_allowed_ranges_contain_exact_values_and_differences(population, ranges):
    exact = {
        "recall@10": {name: np.mean(ranks.n_better < 10) for name, ranks in population.items()},
        "ap": {name: np.mean(1 / (1 + ranks.n_better)) for name, ranks in population.items()},
    }
    for (metric, _, a, b), (low, high) in ranges.iterrows():
        value = exact[metric][b] - exact[metric][a] if b else exact[metric][a]
        assert low <= value <= high
