"""Readings and spreads on small synthetic data, with what they must satisfy."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks, rank
from sampled_metrics.study.audit import Material, Reading, run_audit, write_audit
from sampled_metrics.study.config import Entry, ExperimentSettings
from sampled_metrics.study.datasets.split import leave_last_out, save_split
from sampled_metrics.study.recommenders import create
from sampled_metrics.study.starts import COLUMNS, spread_table, table_of_starts
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


def test_every_reading_of_the_reference_is_there_with_its_published_number(readings):
    kept = pd.read_csv(ROOT / "results/reference/audit.csv", dtype=str)
    table, keys = pd.DataFrame(readings), ["topic", "reading", "quantity", "published"]
    kept = kept[~kept["topic"].str.startswith("14.")]  # see docs/measured
    # sizes of the catalogue and the spread over ties are of the data
    same = [rows[keys].replace(r"n = \d+|\d\.\d{3}", "#", regex=True) for rows in (table, kept)]
    pd.testing.assert_frame_equal(
        *(rows.reset_index(drop=True) for rows in same), check_dtype=False
    )


def test_settings_of_the_study_give_the_values_of_the_study(material, readings):
    own = {"Y": "numerator alone", "Z": "nearest of each column; with the item itself"}
    for name, reading in own.items():
        found = [r.value for r in readings if r.reading == reading and r.quantity.startswith(name)]
        measures = map(parse_measure, ("recall@10", "ndcg@10", "ap", "auc"))
        exact = [100 * values(measure, material.ranks[name]).mean() for measure in measures]
        np.testing.assert_allclose(found, exact, rtol=1e-12)


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
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    assert ["", "Y, AUC, exact", "85.400", "85.33", "no"] in lines


def test_audit_needs_the_papers_recommenders(tmp_path):
    with pytest.raises(InputError, match="X of kind als"):
        Material.load(tmp_path, tmp_path, [], RECOMMENDERS[1:], SETTINGS, tmp_path, 1)


def test_numbers_and_spread_over_starts():
    # exact AP of the three starts: 1, 1/2 and 1/4
    starts = [Ranks(np.full(4, 50), np.full(4, b), np.zeros(4, int)) for b in (0, 1, 3)]
    other = Ranks(np.full(4, 50), np.full(4, 9), np.zeros(4, int))
    one = SETTINGS.replaced(metrics=("ap",), estimators=("sampled",), repetitions=10)
    table = table_of_starts("X", starts, {"Y": other}, one)
    cells = table.set_index(["table", "row", "column"])["expected"]
    assert cells[3, "X", "Exact"].tolist() == [100, 50, 25]
    assert cells[3, "Y", "Exact"].tolist() == [10] * 3
    assert cells[5, "X", "top 100"].tolist() == [4] * 3
    assert cells[5, "X", "bottom half"].tolist() == [0] * 3
    # Recall@10 is 1 for X and Y in full rankings, so no m orders them
    assert cells[6, "X vs Y", "Sampled"].isna().all()
    sampled = table[(table["table"] == 3) & (table["row"] == "Y") & (table["column"] == "Sampled")]
    assert (sampled["value"].nunique(), sampled["expected"].nunique()) == (3, 1)
    spread = spread_table("X", table, {"Y": other}, one)
    cells = spread.set_index(["table", "row", "column"])["spread"]
    assert cells[3, "X", "Exact"] == pytest.approx(np.sqrt(2) * np.std([100, 50, 25], ddof=1))
    assert set(spread["row"]) == {"X", "X vs Y"}
    assert 0 <= cells[4, "X vs Y", "Sampled"] <= 100
    assert set(spread["cause"]) == {"initialisation of X"}


def test_spread_over_ties_by_its_closed_form():
    # e + 1 = 3 equally likely ranks 1, 2, 3 of AP: variance of (1, 1/2, 1/3) over 400 users
    records = Ranks(np.full(400, 20), np.zeros(400, int), np.full(400, 2))
    none = pd.DataFrame(columns=COLUMNS)
    table = spread_table("X", none, {"Z": records}, SETTINGS.replaced(metrics=("ap",)))
    exact = 100 * np.sqrt(np.var([1, 1 / 2, 1 / 3]) / 400)
    assert table["spread"].item() == pytest.approx(exact, rel=4 / np.sqrt(2 * 1000))
