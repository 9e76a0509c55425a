"""Verdicts on published cells, and studies with other settings."""

from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.config import departures
from sampled_metrics_study.experiment import run_experiment
from sampled_metrics_study.figures import draw
from sampled_metrics_study.page.contents import count_other_settings
from sampled_metrics_study.scorecard import (
    SCORECARD,
    VERDICTS,
    count_by_verdict,
    count_tolerance,
    mean_tolerance,
    scorecard,
    std_tolerance,
    verdicts_of_numbers,
    write_scorecard,
    z_scores,
)
from sampled_metrics_study.tables import KEY, SPREAD_COLUMNS, TEXT_COLUMNS, table3, table4
from tests.study.conftest import PUBLISHED, REFERENCE
from tests.study.test_config import study
from tests.study.test_tables import cell, cell_table

# The scorecard.


def card_of(*rows, spread=None, cause="initialisation of X"):
    keys = [(*row[:4], spread, cause) for row in rows if spread is not None and row.table > 2]
    spreads = pd.DataFrame(keys, columns=[*KEY, "spread", "cause"])
    card = scorecard(cell_table(*rows), PUBLISHED, spreads)
    np.testing.assert_array_equal(card["paper"], PUBLISHED["value"])
    return card


def judge(row, spread=None):
    """The row of the scorecard for one of our cells."""
    card = card_of(row, spread=spread)
    (line,) = card[(card[KEY] == list(row[:4])).all(axis=1)].to_dict("records")
    return line


X_EXACT = (3, "X", "Recall@10", "Exact")
Y_AP = (3, "Y", "AP", "Sampled")
B_AP = (2, "B", "AP", "Sampled")
COUNT = (4, "X vs Y", "AP", "Rank Estimate")
AUC = (4, "X vs Y", "AUC", "CLS")


@pytest.mark.parametrize(
    ("row", "spread", "verdict", "tolerance"),
    [
        # Exact, 8.84 published: the same digits or nothing
        (cell(3, "Y", "Recall@10", "Exact", 8.8449), None, "exact", 0.005),
        (cell(3, "Y", "Recall@10", "Exact", 8.8451), None, "differs", 0.005),
        (cell(3, "Y", "Recall@10", "Exact", 8.8349), None, "differs", 0.005),
        # on the edge of rounding, the digits decide
        (cell(3, "Y", "AP", "Exact", 4.325001), None, "differs", 0.005),
        # 7.60 published: our start of X gives 7.85; the spread over starts is 0.1
        (cell(*X_EXACT, 7.85), 0.1, "explained", 3 * 0.1 + 0.005),
        (cell(*X_EXACT, 7.95), 0.1, "differs", 3 * 0.1 + 0.005),
        # 30.01 published, a mean of 100: 3 * 0.2 / 10 + 0.005 = 0.065
        (cell(*Y_AP, 30.07, 0.2, 50), None, "within noise", 0.065),
        (cell(*Y_AP, 30.08, 0.2, 50), None, "differs", 0.065),
        # 0.336 published, a mean of 1,000: 3 * 0.073 / sqrt(1000) + 0.0005 = 0.0074254
        (cell(*B_AP, 0.3433, 0.073, 10), None, "within noise", 0.0074254),
        (cell(*B_AP, 0.3436, 0.073, 10), None, "differs", 0.0074254),
        # 24 of 100 published; at 0.36 the lowest accepted count is 22, at 0.4 it is 26
        (cell(*COUNT, 36, None, 100), None, "within noise", 14),
        (cell(*COUNT, 40, None, 100), None, "differs", 14),
        # with a spread of 10 over starts: 3 sqrt(100 * 0.4 * 0.6 + 10^2) = 33.4066
        (cell(*COUNT, 40, None, 100), 10.0, "explained", 33.4066),
        # 50 of 50 is as 100 of 100; 990 of 1,000 is as 99, which is not 100 of 100 to the digit
        (cell(*AUC, 50, None, 50), None, "exact", 0.0),
        (cell(*AUC, 990, None, 1000), None, "within noise", 1.0),
        # 10 of 100 at most 20 times
        (cell(*AUC, 100, None, 1000), None, "differs", 10.0),
    ],
)
def test_verdict_by_hand(row, spread, verdict, tolerance):
    line = judge(row, spread)
    assert line["verdict"] == verdict
    assert float(line["tolerance"]) == pytest.approx(tolerance, abs=1e-4)
    assert ("initialisation" in line["note"]) == (spread is not None)
    assert line == judge(row._replace(value=99.0), spread), "our simulation does not matter"


@pytest.mark.parametrize(
    ("ours", "uniform", "verdict"),
    [  # 30.01 published, accepted if at most 0.065 away
        (30.01, 30.07, "within noise"),
        (30.01, 30.08, "explained"),
        (30.07, 29.95, "within noise"),
        (30.07, 29.94, "explained"),
        (30.08, 30.01, "differs"),
    ],
)
def test_cell_due_to_order_of_ties_is_explained(ours, uniform, verdict):
    line = judge(cell(*Y_AP, ours, 0.2, 100, uniform))
    assert (line["verdict"], bool(line["note"])) == (verdict, verdict == "explained")
    assert float(line["tolerance"]) == pytest.approx(0.065)


def binomial(share):
    """Probabilities of 0 ... 100."""
    return np.array([comb(100, k) * share**k * (1 - share) ** (100 - k) for k in range(101)])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.36, 0.5, 0.993, 1.0])
def test_count_tolerance_matches_binomial(share):
    expected, found = 100 * share, count_tolerance(100 * share)
    chances = binomial(share)
    tail = stats.norm.sf(3)  # the probability beyond 3 standard deviations
    low = next(k for k in range(101) if chances[: k + 1].sum() >= tail)
    high = next(k for k in range(100, -1, -1) if chances[k:].sum() >= tail)
    assert (expected - found.below, expected + found.above) == pytest.approx((low, high))
    assert (found.kind == "near-certain") == (chances.max() >= 0.9)
    assert found.error == pytest.approx(100 * np.sqrt(share * (1 - share) / 100))


def test_tolerance_of_count_with_spread_over_starts():
    """Half of 100 counts vary by sqrt(100 / 4) = 5, and starts by as much."""
    kind, error, below, above = count_tolerance(50.0, 5.0)
    assert kind == "random"
    assert error == pytest.approx(np.sqrt(5**2 + 5**2))
    assert below == above == pytest.approx(3 * error)


def test_tolerance_of_mean_of_100_repetitions():
    """Three standard errors and half a unit of 0.01; the error of rounding is uniform."""
    standard_error, unit = 0.2 / np.sqrt(100), 0.01
    kind, error, below, above = mean_tolerance(3, 30.0, 0.2)
    assert kind == "random"
    assert above == below == pytest.approx(3 * standard_error + unit / 2)
    assert error == pytest.approx(np.sqrt(standard_error**2 + unit**2 / 12))
    assert mean_tolerance(3, 30.0, 0.2, 0.05).error > error
    assert mean_tolerance(3, 30.0, 0.0).kind == "near-certain"


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [  # 0.20 published, over 100 repetitions: accepted up to s = 0.2 + 3 s / sqrt(198) + 0.005
        (0.2605, "within noise"),
        (0.2606, "differs"),
        (0.20, "within noise"),  # the same digits, by chance
        # and from s = 0.2 - 3 s / sqrt(198) - 0.005 on
        (0.1608, "within noise"),
        (0.1607, "differs"),
        (0.0, "differs"),
    ],
)
def test_verdict_on_standard_deviation_by_hand(ours, verdict):
    line = judge(cell(*Y_AP, 30.01, ours, 100))
    assert line["paper std"] == "0.20"
    assert line["std verdict"] == verdict
    assert float(line["std difference"]) == pytest.approx(ours - 0.2, abs=1e-4)
    assert float(line["std tolerance"]) == pytest.approx(3 * ours / 198**0.5 + 0.005, abs=1e-4)


def test_std_tolerance_matches_simulation():
    deviations = np.random.default_rng(0).normal(scale=0.25, size=(20_000, 100)).std(1, ddof=1)
    found = std_tolerance(3, 0.25)
    assert found.above - 0.005 == pytest.approx(3 * deviations.std(), rel=0.02)
    assert found.kind == "random"
    assert std_tolerance(2, 0.0).kind == "near-certain"
    # 0.010 over 1,000 repetitions has a standard error of 0.0002, a fifth of a unit
    assert std_tolerance(2, 0.01).kind == "near-certain"


def test_all_300_numbers_of_the_paper_are_judged():
    card = pd.read_csv(REFERENCE / "scorecard.csv", dtype=str).fillna("")
    printed = (PUBLISHED["value"] != "").sum() + (PUBLISHED["std"] != "").sum()
    verdicts = pd.Series(verdicts_of_numbers(card)).value_counts()
    assert verdicts.sum() == printed == 300
    assert ((card["std verdict"] == "") == (PUBLISHED["std"] == "")).all()
    # a standard deviation agrees to 3 standard errors and half a unit, or the run has other numbers
    judged = card[card["std verdict"] != ""]
    apart = judged["std difference"].astype(float).abs()
    assert (apart <= judged["std tolerance"].astype(float)).all()
    counts = count_by_verdict(card)
    assert counts.iloc[-1, 2:].tolist() == [*(verdicts.get(name, 0) for name in VERDICTS), 300]
    assert (counts[list(VERDICTS)].sum(axis=1) == counts["all"]).all()
    assert (counts.iloc[:-1]["all"]).sum() == 300


def test_reference_verdicts_partition_cells():
    card = pd.read_csv(REFERENCE / "scorecard.csv", dtype=str).fillna("")
    # numbers that must match do; explained cells have a cause
    same = card["ours (expected)"] == card["paper"]
    must = (card["kind"] != "random") & (card["verdict"] != "explained")
    assert (must == (card["verdict"] == "exact")).all()
    assert same[must].all()
    assert (card.loc[card["verdict"] == "explained", "note"] != "").all()
    of_ties = card["note"].str.startswith("order of tied samples")
    assert set(card.loc[of_ties, ["row", "metric", "verdict"]].itertuples(index=False)) == {
        ("Z", "AUC", "explained")
    }
    within = card["difference"].astype(float).abs() <= card["tolerance"].astype(float)
    assert (within | (card["verdict"] == "exact")).all()


@pytest.fixture
def card():
    """The scorecard of five of our cells: two of X depend on its start, three are certain."""
    rows = [
        cell(3, "X", "Recall@10", "Exact", 7.7),  # 7.60 published
        cell(3, "X", "AP", "Exact", 3.8),  # 3.75 published
        cell(3, "X", "AUC", "Exact", 89.13),  # as published
        cell(1, "A", "AUC", "Exact", 0.99),  # as published
        cell(4, "X vs Y", "AP", "Sampled", 0, None, 100),  # as published
    ]
    return card_of(*rows, spread=0.1)


def test_cells_that_were_not_computed_are_not_comparable(card):
    uncomputed = card[card["note"] == "not computed in this run"]
    assert len(uncomputed) == len(PUBLISHED) - 5
    assert set(uncomputed["verdict"]) == {"not comparable"}


def test_written_scorecard_counts_verdicts(tmp_path, card):
    write_scorecard(card, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    assert tuple(pd.read_csv(tmp_path / "s.csv").columns) == SCORECARD
    markdown = (tmp_path / "s.md").read_text()
    assert "from a test" in markdown
    (line,) = [line for line in markdown.splitlines() if line.startswith("| all")]
    counts = [int(each) for each in line.split("|")[3:-1]]
    uncompared = 300 - 5
    assert dict(zip([*VERDICTS, "all"], counts, strict=True)) == {
        "exact": 3, "within noise": 0, "explained": 2, "differs": 0, "not comparable": uncompared,
        "all": 300,
    }  # fmt: skip
    assert "initialisation of X, 2" in markdown  # explained cells by cause


# Studies with other settings.


@pytest.fixture(scope="module")
def fifty_negatives():
    """The scorecard of a study with 50 negatives."""
    changed_study = study({"experiment": {"n_negatives": 50, "repetitions": 2}})
    folder = REFERENCE / "ranks"
    ranks = {name: Ranks.read(folder / f"{name}.parquet") for name in "XYZ"}
    experiments = {}
    for name, records in ranks.items():
        experiments[name] = run_experiment(name, records, changed_study.experiment)
    cells = pd.concat([table3(experiments), table4(experiments)])
    spread = pd.read_csv(REFERENCE / "spread.csv", dtype=dict.fromkeys(TEXT_COLUMNS, str))
    return scorecard(
        cells, PUBLISHED, spread[list(SPREAD_COLUMNS)], departures(changed_study, study())
    )


def test_other_n_negatives_is_not_comparable(fifty_negatives, tmp_path):
    assert set(fifty_negatives["verdict"]) == {"not comparable"}
    write_scorecard(fifty_negatives, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    assert set(verdicts_of_numbers(fifty_negatives)) == {"not comparable"}
    assert "n_negatives is 50, the paper's 100: 204" in (tmp_path / "s.md").read_text()


def test_count_other_settings_in_order_of_cells():
    notes = ["b", "", "a; b", "a", "a", "c"]
    verdicts = ["not comparable", "exact", *["not comparable"] * 3, "differs"]
    deviations = ["not comparable", *[""] * 5]
    card = pd.DataFrame({"verdict": verdicts, "std verdict": deviations, "note": notes})
    assert count_other_settings(card) == [("b", 3), ("a", 3)]


def test_z_scores_figure_without_cells(fifty_negatives, tmp_path):
    table = z_scores(fifty_negatives)
    assert len(table) == 0
    draw("z", table, tmp_path / "z")
    assert (tmp_path / "z.svg").stat().st_size > 0
