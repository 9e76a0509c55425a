"""Ranges that samples of several sizes allow, and how the page reads them."""

import numpy as np
import pytest

from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.ranges import metric_ranges
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.report.page.collect import read_ranges
from sampled_metrics.report.page.embedded import range_panel
from sampled_metrics.sampling import draw_sampled_ranks
from sampled_metrics.study.allowed import allowed_ranges
from tests.conftest import difference_ranges

N, METRICS, SIZES = 60, ("recall@10", "ap"), (5, 20)


def recommender(power, seed):
    better = np.floor(N * np.random.default_rng(seed).random(300) ** power).astype(int)
    return Ranks(np.full(300, N), better, np.zeros(300, dtype=int), users=np.arange(300))


@pytest.fixture(scope="module")
def ranks():
    return {"A": recommender(1.5, 0), "B": recommender(3.0, 1), "C": recommender(1.0, 2)}


@pytest.fixture(scope="module")
def table(ranks):
    return allowed_ranges(ranks, METRICS, seed=3, sizes=SIZES)


def rows(table, m, metric):
    chosen = table[(table["n_negatives"] == m) & (table["metric"] == metric)]
    return {(row.a, row.b): (row.low, row.high) for row in chosen.itertuples()}


@pytest.mark.parametrize("m", SIZES)
def test_ranges_are_those_of_one_draw_of_each_recommender(ranks, table, m):
    measures = [parse_measure(name) for name in METRICS]
    samples = {}
    for name, each in ranks.items():
        draws = generator(3, "ranges", name, m)
        drawn = draw_sampled_ranks(each, m, draws, "without-replacement", "random")
        samples[name] = SampledRanks(drawn, each.n_candidates, m, users=each.users)
    alone = {name: metric_ranges(measures, each) for name, each in samples.items()}
    pairs = {
        (a, b): difference_ranges(measures, samples[a], samples[b]) for a, b in ("AB", "AC", "BC")
    }
    found = {**{(name, ""): each for name, each in alone.items()}, **pairs}
    for place, metric in enumerate(METRICS):
        wanted = {key: (each[place].low, each[place].high) for key, each in found.items()}
        assert rows(table, m, metric) == {key: pytest.approx(w) for key, w in wanted.items()}


def test_exact_metrics_and_their_differences_are_in_the_ranges(ranks, table):
    exact = {
        "recall@10": {name: np.mean(each.n_better < 10) for name, each in ranks.items()},
        "ap": {name: np.mean(1 / (1 + each.n_better)) for name, each in ranks.items()},
    }
    for metric, values in exact.items():
        for m in SIZES:
            for (a, b), (low, high) in rows(table, m, metric).items():
                assert low <= (values[b] - values[a] if b else values[a]) <= high


def test_no_sample_is_as_large_as_the_candidates(ranks):
    found = allowed_ranges({"A": ranks["A"]}, ["ap"], sizes=(5, N - 1, N, 1000))
    assert found["n_negatives"].tolist() == [5, N - 1]
    assert set(found["b"]) == {""}


def test_the_page_has_the_same_ranges(table, tmp_path):
    path = tmp_path / "ranges.csv"
    table.to_csv(path, index=False)
    panel = range_panel(read_ranges(path), ["A", "B", "C"])
    assert panel["sizes"] == list(SIZES)
    for place, m in enumerate(SIZES):
        shown, wanted = panel["metrics"]["ap-all"], rows(table, m, "ap")
        values = [wanted[name, ""] for name in "ABC"]
        differences = [wanted[a, b] for a, b in ("AB", "AC", "BC")]
        np.testing.assert_allclose(shown["ranges"][place], values, atol=1e-5)
        np.testing.assert_allclose(shown["differences"][place], differences, atol=1e-5)
