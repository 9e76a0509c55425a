"""The slope chart of the reference run: Recall@10 against random items and all items."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from sampled_metrics import Ranks, compare
from sampled_metrics_study import reference
from sampled_metrics_study.figures.slope import (
    THEMES,
    describe_decisions,
    headline,
    recall_by_candidates,
    write_slope,
)
from sampled_metrics_study.paper import read_study
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"


@pytest.fixture(scope="module")
def records():
    return {name: Ranks.read(REFERENCE / f"ranks/{name}.parquet") for name in "XYZ"}


@pytest.fixture(scope="module")
def experiment():
    return read_study().experiment


def test_recall_by_candidates_matches_hypergeometric(experiment):
    better = np.array([0, 12, 40, 300])
    ranks = Ranks([500] * 4, better, [0] * 4)
    (row,) = recall_by_candidates({"A": ranks}, experiment).itertuples(index=False)
    chances = hypergeom.cdf(9, 499, better, experiment.n_negatives)
    assert row.sampled == pytest.approx(100 * chances.mean())
    assert row.exact == 25


def test_recall_by_candidates_of_reference(records, experiment):
    table = recall_by_candidates(records, experiment)
    assert table["sampled"].round(1).tolist() == [66.1, 56.5, 54.2]
    assert table["exact"].round(2).tolist() == [7.75, 8.84, 9.42]


def test_describe_decisions_names_undecided(records):
    orders = describe_decisions(compare(records, "recall@10"))
    assert "Y above X" in orders
    assert "Z above X" in orders
    assert "Y against Z is undecided" in orders


def test_describe_decisions_of_few_users():
    rng = np.random.default_rng(0)
    pair = {name: Ranks([2000] * 50, rng.geometric(0.01, 50), [0] * 50) for name in "AB"}
    assert "decide no order" in describe_decisions(compare(pair, "recall@10"))


@pytest.mark.parametrize(
    ("exact", "place"),
    [("ABC", "the best"), ("BAC", "in place 2"), ("CBA", "the worst")],
)
def test_headline_states_exact_place(exact, place):
    assert headline("ABC", exact, 100).endswith(f"it is {place}.")


def test_committed_charts_are_current(tmp_path, records, experiment):
    write_slope(records, experiment, tmp_path)
    for suffix in THEMES:
        name = f"slope{suffix}.svg"
        assert (tmp_path / name).read_text() == (REFERENCE / name).read_text()


def test_slope_command_reads_ranks(tmp_path):
    (tmp_path / "ranks").symlink_to(REFERENCE / "ranks")
    reference.slope(tmp_path)
    assert (tmp_path / "slope-dark.svg").read_text().startswith("<?xml")
