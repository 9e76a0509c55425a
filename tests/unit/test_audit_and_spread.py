"""Readings and spreads on small synthetic data, with what they must satisfy."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.holding_out import leave_last_out
from sampled_metrics.datasets.split import save_split
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks, rank
from sampled_metrics.recommenders import create
from sampled_metrics.report.audit import write_audit
from sampled_metrics.study.audit import _catalogue_size, run_audit
from sampled_metrics.study.entries import Entry
from sampled_metrics.study.readings import Material, Reading
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.starts import spread_over_starts, spread_over_ties, table_of_starts
from tests.conftest import ROOT, as_ratings, synthetic_interactions, write_archive

RECOMMENDERS = [
    Entry(name="X", kind="als", settings={"d": 2, "lambda": 0.1, "alpha": 0.1}),
    Entry(name="Y", kind="itemknn", settings={"q": 3, "normalise_scores": False}),
    Entry(name="Z", kind="itemknn", settings={"k_prime": 3, "neighbour_axis": "column"}),
]
SETTINGS = ExperimentSettings(n_negatives=10)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    interactions = synthetic_interactions()
    archive = write_archive(folder / "a.zip", as_ratings(interactions))
    split = leave_last_out(interactions)
    save_split(folder / "split.npz", split)
    for entry in RECOMMENDERS:
        model = create(entry.kind, entry.settings).fit(split.train)
        records = rank(model.score, split.train, split.held_out)
        records.replace(users=split.user_ids, source="test").write(folder / f"{entry.name}.parquet")
    ranks = [folder / f"{entry.name}.parquet" for entry in RECOMMENDERS]
    published = ROOT / "config/paper/tables.csv"
    return Material.load(archive, folder / "split.npz", ranks, RECOMMENDERS, SETTINGS, published, 1)


@pytest.fixture(scope="module")
def readings(material):
    return run_audit(material)


def test_every_place_is_there_with_the_published_number(readings):
    topics = {reading.topic.split(".")[0] for reading in readings}
    assert topics == {str(number) for number in range(1, 15)}
    printed = {
        "Y, Recall@10, exact": "8.84",
        "Z, AUC, Sampled": "75.04",
        "Y, AUC, Rank Estimate": "85.48",
        "Y, Recall@10, BV 0.1": "6.95",
    }
    for quantity, number in printed.items():
        assert {each.published for each in readings if each.quantity == quantity} == {number}


def test_settings_of_the_study_give_the_values_of_the_study(material, readings):
    own = {
        "Y": "numerator alone",
        "Z": "nearest of each column; with the item itself",
    }
    for name, reading in own.items():
        found = [r.value for r in readings if r.reading == reading and r.quantity.startswith(name)]
        names = ("recall@10", "ndcg@10", "ap", "auc")
        exact = [values(parse_measure(m), material.ranks[name]).mean() for m in names]
        np.testing.assert_allclose(found, 100 * np.array(exact), rtol=1e-12)


def test_one_n_for_all_users_when_all_have_it(material):
    even = Ranks(np.full(30, 25), np.arange(30) % 25, np.zeros(30, int))
    alike = replace(material, ranks={**material.ranks, "Y": even})
    (_, [mean]), _, (_, [own]) = _catalogue_size(alike)
    assert own == pytest.approx(mean)


@pytest.mark.parametrize(
    ("value", "published", "tolerance", "reproduces"),
    [
        (8.844, "8.84", 0.005, True),
        (8.846, "8.84", 0.005, False),
        (203, "< 300", 0.0, True),
        (599, "< 300", 0.0, False),
        (1601, "> 1600", 0.0, True),
        (1600, "> 1600", 0.0, False),
    ],
)
def test_what_counts_as_reproducing(value, published, tolerance, reproduces):
    assert Reading("t", "r", "q", value, published, tolerance).reproduces == reproduces


def test_files_of_the_audit(tmp_path):
    rows = [
        Reading("1. Split", "ncf", "Y, AP, exact", 4.324, "4.32", 0.005),
        Reading("1. Split", "ncf", "Y, AUC, exact", 85.33, "85.33", 0.005),
        Reading("1. Split", "first", "Y, AP, exact", 4.32, "4.32", 0.005),
        Reading("1. Split", "first", "Y, AUC, exact", 85.4, "85.33", 0.005),
        Reading("2. Else", "only", "Z, AP, exact", 4.0, "4.44", 0.005),
    ]
    write_audit(rows, tmp_path / "a.csv", tmp_path / "a.md")
    assert pd.read_csv(tmp_path / "a.csv")["reproduces"].tolist() == ["yes"] * 3 + ["no"] * 2
    text = (tmp_path / "a.md").read_text()
    assert "## 1. Split\n\nReproduced in all rows by: ncf." in text
    assert "## 2. Else\n\nReproduced in all rows by: no reading." in text


def test_many_readings_of_the_same_quantities_are_a_grid(tmp_path):
    rows = [
        Reading("1. Start", f"{number} iterations", quantity, number + 0.25, "4.25", 0.5)
        for number in range(12)
        for quantity in ("X, AP", "X, AUC")
    ]
    write_audit(rows, tmp_path / "a.csv", tmp_path / "a.md")
    lines = (tmp_path / "a.md").read_text().splitlines()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    assert table[0] == ["reading", "X, AP, 4.25 published", "X, AUC, 4.25 published"]
    assert ["4 iterations", "4.250 yes", "4.250 yes"] in table
    assert ["6 iterations", "6.250 no", "6.250 no"] in table
    assert len(pd.read_csv(tmp_path / "a.csv")) == 24


def test_audit_needs_the_papers_recommenders(tmp_path):
    with pytest.raises(InputError, match="the audit needs a recommender X of kind als"):
        Material.load(tmp_path, tmp_path, [], RECOMMENDERS[1:], SETTINGS, tmp_path, 1)


@pytest.fixture(scope="module")
def of_starts():
    # exact AP of the three starts: 1, 1/2 and 1/4
    starts = [Ranks(np.full(4, 50), np.full(4, b), np.zeros(4, int)) for b in (0, 1, 3)]
    other = Ranks(np.full(4, 50), np.full(4, 9), np.zeros(4, int))
    one = SETTINGS.replaced(metrics=("ap",), estimators=("sampled",), repetitions=10)
    return table_of_starts("X", starts, {"Y": other}, one), one


def test_numbers_of_every_start(of_starts):
    table, _ = of_starts
    cells = table.set_index(["table", "row", "column"])["expected"]
    assert cells[3, "X", "Exact"].tolist() == [100, 50, 25]
    assert cells[3, "Y", "Exact"].tolist() == [10] * 3
    assert cells[5, "X", "top 100"].tolist() == [4] * 3
    assert cells[5, "X", "bottom half"].tolist() == [0] * 3
    # Recall@10 is 1 for X and Y in full rankings, so no m orders them
    assert cells[6, "X vs Y", "Sampled"].isna().all()
    sampled = table[(table["table"] == 3) & (table["row"] == "Y") & (table["column"] == "Sampled")]
    assert sampled["value"].nunique() == 3
    assert sampled["expected"].nunique() == 1


def test_spread_over_starts_is_that_of_the_difference_of_two(of_starts):
    table = spread_over_starts("X", *of_starts)
    cells = table.set_index(["table", "row", "column"])["spread"]
    assert cells[3, "X", "Exact"] == pytest.approx(np.sqrt(2) * np.std([100, 50, 25], ddof=1))
    assert set(table["row"]) == {"X", "X vs Y"}
    assert 0 <= cells[4, "X vs Y", "Sampled"] <= 100
    assert set(table["cause"]) == {"initialisation of X"}


def test_spread_over_ties_by_its_closed_form():
    # e + 1 = 3 equally likely ranks 1, 2, 3 of AP: variance of (1, 1/2, 1/3) over 400 users
    records = Ranks(np.full(400, 20), np.zeros(400, int), np.full(400, 2))
    table = spread_over_ties("Z", records, SETTINGS.replaced(metrics=("ap",)), draws=4000)
    exact = 100 * np.sqrt(np.var([1, 1 / 2, 1 / 3]) / 400)
    assert table["spread"].item() == pytest.approx(exact, rel=4 / np.sqrt(2 * 4000))
