"""Stored results of Neural Collaborative Filtering, and the numbers of the gallery."""

import runpy

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import hypergeom

import sampled_metrics as sm
from sampled_metrics.read.options import as_ranks, as_sampled_ranks
from sampled_metrics_study.config import Study
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"
NCF = REFERENCE / "ncf"
NAMES = ("X", "Y", "Z", "GMF", "MLP")


@pytest.fixture(scope="module")
def values():
    table = pd.read_csv(NCF / "values.csv")
    return table[table["metric"] == "recall@10"].set_index("recommender")


def ranks(name):
    return as_ranks((NCF if len(name) > 1 else REFERENCE / "ranks") / f"{name}.parquet")


def test_stored_values_match_counts(values):
    # Counts of ranks up to 10, computed without the code that made the tables.
    for name in NAMES:
        sampled = pd.read_parquet(NCF / f"{name}.sampled.parquet")
        hits = (sampled["sampled_rank"] <= 10).mean()
        np.testing.assert_allclose(values.loc[name, "sampled"], hits, rtol=1e-9)
        # a tie at the boundary counts by its share of positions up to 10
        full = ranks(name)
        places = np.clip(10 - full.n_better, 0, full.n_tied + 1) / (full.n_tied + 1)
        np.testing.assert_allclose(values.loc[name, "exact"], places.mean(), rtol=1e-9)
    # The published protocol reverses the order.
    assert values["sampled"].idxmax() == "MLP"
    assert values["sampled"].idxmin() == values["exact"].idxmax() == "Z"


def test_stored_ranges_contain_exact_values(values):
    between = (values["range_low"] < values["exact"]) & (values["exact"] < values["range_high"])
    assert between.all()
    sample = as_sampled_ranks(NCF / "MLP.sampled.parquet")
    (result,) = sm.correct(sample, "recall@10", "sampled")
    expected = values.loc["MLP", ["range_low", "range_high"]].to_numpy(float)
    np.testing.assert_allclose([result.range_low, result.range_high], expected, atol=1e-4)


def test_stored_orders_by_ranges_and_budget():
    orders = pd.read_csv(NCF / "orders.csv")
    assert len(orders) == 30  # 10 pairs, 3 metrics
    assert (orders["sampled_order"] == "undecided").all()
    decided = orders[orders["budget_order"] != "undecided"]
    assert len(decided) == 26
    assert (decided["budget_order"] == decided["exact_order"]).all()
    assert orders["scores_per_user"].max() <= 100


def test_stored_checks_find_held_out_items():
    checks = pd.read_csv(NCF / "checks.csv").set_index("name")
    assert checks.index[~checks["passed"]].tolist() == ["held-out item"]
    assert checks.loc["held-out item", "found"] == 156
    # If the held-out item is not excluded, it is among 99 of n unseen items with probability 99/n.
    probability = 99 / ranks("GMF").n_candidates
    mean, variance = probability.sum(), (probability * (1 - probability)).sum()
    assert abs(156 - mean) < 2 * np.sqrt(variance)


def test_gallery_numbers_by_hand():
    assert round(hypergeom(9999, 1489, 100).cdf(19), 2) == 0.90
    assert hypergeom(9999, 1490, 100).cdf(19) < 0.90  # 1,490 is the last such rank
    (result,) = sm.correct(sm.SampledRanks([1], 3541, 20), "recall@10", "sampled")
    assert abs(result.acts_like / 3541 - 1 / 2) < 0.03


def test_ncf_study_has_papers_recommenders():
    paper, ncf = (
        yaml.safe_load((ROOT / f"config/{x}.yaml").read_text()) for x in ("config", "ncf")
    )
    study = Study.of(paper | ncf, "config")
    assert study.names == [*NAMES]
    assert study.recommenders[:3] == Study.of(paper, "config").recommenders
    assert study.is_papers_data


@pytest.mark.long
def test_gallery_shows_stored_values(values, monkeypatch):
    monkeypatch.chdir(ROOT)
    table = runpy.run_path("docs/notebooks/gallery.py")["table"]
    shown = table.loc[list(NAMES)]
    expected = values.loc[list(NAMES), ["sampled", "range_low", "range_high", "exact"]]
    np.testing.assert_allclose(shown, expected, atol=1e-4)
