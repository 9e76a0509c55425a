"""Tables as printed, and verdicts that follow from stated tolerances."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table, write_table
from sampled_metrics.report.printed import side_by_side, write_printed
from sampled_metrics.report.scorecard import COLUMNS, VERDICTS, scorecard, totals, write_scorecard
from sampled_metrics.study.cells import KEY, Row, as_printed, read_published
from sampled_metrics.study.joint import Joint
from tests.conftest import ROOT

PUBLISHED = read_published(ROOT / "config/paper/tables.csv")
NO_SPREAD = pd.DataFrame(columns=[*KEY, "spread", "cause"])


def test_the_published_numbers_are_204_cells():
    assert PUBLISHED.groupby("table").size().to_dict() == {1: 12, 2: 12, 3: 96, 4: 84}
    assert not PUBLISHED.duplicated(KEY).any()


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "no such file"), (b"a,b\n1,2\n", "table"), (b"", "CSV"), (b"\xff\xfe\0,\0", "CSV")],
)
def test_files_without_published_numbers_are_refused(tmp_path, content, problem):
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=rf"x\.csv: .*{problem}"):
        read_published(path)


def cell(table, row, metric, column, value, std=None, repetitions=0):
    return Row(table, row, metric, column, value, std, value, std, repetitions, "test")


def unrounded(rows):
    return pd.DataFrame(rows, columns=Row._fields)


def test_rounded_as_each_table_prints():
    rows = [
        cell(1, "A", "AP", "Exact", 0.0104),
        cell(3, "Y", "AP", "Sampled", 30.0149, 0.2049, 100),
        cell(4, "X vs Y", "AP", "CLS", 31.0, None, 100),
    ]
    printed = as_printed(unrounded(rows))
    assert printed["value"].tolist() == ["0.010", "30.01", "31"]
    assert printed["std"].tolist() == ["", "0.20", ""]


def test_files_of_a_table(tmp_path):
    rows = [
        cell(3, row, "AP", column, 1.0, std, 100)
        for row in "XY"
        for column, std in (("Exact", None), ("Sampled", 0.5))
    ]
    write_printed(3, unrounded(rows), PUBLISHED, tmp_path / "table3")
    csv = (tmp_path / "table3.csv").read_text().splitlines()
    assert csv[0] == "table,row,metric,column,value,std"
    assert csv[1:3] == ["3,X,AP,Exact,1.00,", "3,X,AP,Sampled,1.00,0.50"]
    markdown = (tmp_path / "table3.md").read_text()
    assert "Ranks: test." in markdown
    lines = [[c.strip() for c in line.split("|")[1:-1]] for line in markdown.splitlines()[4:]]
    assert lines[:3] == [
        ["AP", "X", "ours", "1.00", "1.00±0.50"],
        ["AP", "X", "closed form", "1.00", "1.00±0.50"],
        ["AP", "X", "paper", "3.75", "32.55±0.21"],
    ]
    tex = (tmp_path / "table3.tex").read_text()
    assert tex.count("\\midrule") == 1
    assert r"32.55$\pm$0.21" in tex


def test_lay_out_keeps_the_order_of_the_table():
    rows = [cell(4, pair, "AUC", "CLS", 1.0, None, 100) for pair in ("Y vs Z", "X vs Y")]
    assert side_by_side(4, unrounded(rows), PUBLISHED)["pair"].tolist() == [
        *["Y vs Z"] * 3,
        *["X vs Y"] * 3,
    ]


def test_cells_that_the_paper_does_not_print_stand_alone():
    rows = [
        cell(3, name, metric, column, 1.0, 0.5, 100)
        for metric in ("AP", "Recall@5")
        for name in ("Y", "W")
        for column in ("Sampled", "BV 0.5")
    ]
    laid_out = side_by_side(3, unrounded(rows), PUBLISHED)
    lines = [(line.metric, line.recommender, line[2]) for line in laid_out.itertuples(index=False)]
    assert lines == [
        ("AP", "Y", "ours"),
        ("AP", "Y", "closed form"),
        ("AP", "Y", "paper"),
        ("AP", "W", "ours"),
        ("AP", "W", "closed form"),
        ("Recall@5", "Y", "ours"),
        ("Recall@5", "Y", "closed form"),
        ("Recall@5", "W", "ours"),
        ("Recall@5", "W", "closed form"),
    ]
    assert laid_out["BV 0.5"].tolist()[:3] == ["1.00±0.50", "1.00±0.50", ""]


def test_one_recommender_makes_an_empty_table_4(tmp_path):
    write_printed(4, unrounded([]), PUBLISHED, tmp_path / "table4")
    assert (tmp_path / "table4.csv").read_text() == "table,row,metric,column,value,std\n"
    assert "One recommender makes no pair." in (tmp_path / "table4.md").read_text()


def test_unrounded_round_trip(tmp_path):
    rows = [cell(3, "Y", "AP", "Sampled", 1 / 3, 0.1 + 0.2, 100), cell(3, "Y", "AP", "Exact", 2.5)]
    write_table(unrounded(rows), tmp_path / "cells.csv", "%.17g")
    again = read_table(tmp_path / "cells.csv", Row._fields)
    assert again["value"].tolist() == [1 / 3, 2.5]
    assert again["std"].tolist()[0] == pytest.approx(0.1 + 0.2, rel=1e-15)
    (tmp_path / "short.csv").write_text("table,row\n1,A\n")
    with pytest.raises(InputError, match=r"short\.csv: lacks column metric; found table, row"):
        read_table(tmp_path / "short.csv", Row._fields)


def judged(row, spread=None, cause="initialisation of X"):
    """The line of the scorecard for one of our cells."""
    spreads = NO_SPREAD
    if spread is not None:
        spreads = pd.DataFrame([(*row[:4], spread, cause)], columns=[*KEY, "spread", "cause"])
    card = scorecard(unrounded([row]), PUBLISHED, spreads)
    assert len(card) == 204
    lines = card[(card[KEY] == list(row[:4])).all(axis=1)]
    assert len(lines) == 1
    return lines.iloc[0]


@pytest.mark.parametrize(
    ("row", "spread", "verdict", "tolerance"),
    [
        # Exact, 8.84 published: the same digits or nothing
        (cell(3, "Y", "Recall@10", "Exact", 8.8449), None, "exact", 0.005),
        (cell(3, "Y", "Recall@10", "Exact", 8.8451), None, "differs", 0.005),
        # on the edge of rounding, the digits decide
        (cell(3, "Y", "AP", "Exact", 4.325001), None, "differs", 0.005),
        # 7.60 published: our start of X gives 7.85; the spread over starts is 0.1
        (cell(3, "X", "Recall@10", "Exact", 7.85), 0.1, "explained", 3 * 0.1 + 0.005),
        (cell(3, "X", "Recall@10", "Exact", 7.95), 0.1, "differs", 3 * 0.1 + 0.005),
        # 30.01 published, a mean of 100: 3 * 0.2 / 10 + 0.005 = 0.065
        (cell(3, "Y", "AP", "Sampled", 30.07, 0.2, 50), None, "within noise", 0.065),
        (cell(3, "Y", "AP", "Sampled", 30.08, 0.2, 50), None, "differs", 0.065),
        # 0.336 published, a mean of 1,000: 3 * 0.073 / sqrt(1000) + 0.0005 = 0.0074254
        (cell(2, "B", "AP", "Sampled", 0.3433, 0.073, 10), None, "within noise", 0.0074254),
        (cell(2, "B", "AP", "Sampled", 0.3436, 0.073, 10), None, "differs", 0.0074254),
        # 24 of 100 published; at 0.36 the lowest accepted count is 22, at 0.4 it is 26
        (cell(4, "X vs Y", "AP", "Rank Estimate", 36, None, 100), None, "within noise", 14),
        (cell(4, "X vs Y", "AP", "Rank Estimate", 40, None, 100), None, "differs", 14),
        # with a spread of 10 over starts: 3 sqrt(100 * 0.4 * 0.6 + 10^2) = 33.4066
        (cell(4, "X vs Y", "AP", "Rank Estimate", 40, None, 100), 10.0, "explained", 33.4066),
        # 100 of 100 both: no noise is needed
        (cell(4, "X vs Y", "AUC", "CLS", 100, None, 100), None, "exact", 0.0),
        # 50 of 50 is as 100 of 100; 990 of 1,000 is as 99, which is not 100 of 100 to the digit
        (cell(4, "X vs Y", "AUC", "CLS", 50, None, 50), None, "exact", 0.0),
        (cell(4, "X vs Y", "AUC", "CLS", 990, None, 1000), None, "within noise", 1.0),
        # 10 of 100 at most 20 times
        (cell(4, "X vs Y", "AUC", "CLS", 100, None, 1000), None, "differs", 10.0),
    ],
)
def test_verdicts_by_hand(row, spread, verdict, tolerance):
    line = judged(row, spread)
    assert line["verdict"] == verdict
    assert float(line["tolerance"]) == pytest.approx(tolerance, abs=1e-4)
    assert ("initialisation of X" in line["note"]) == (spread is not None)


def test_deviation_that_differs_is_remarked_upon():
    line = judged(cell(3, "Y", "AP", "Sampled", 30.01, 0.4, 100))
    assert line["verdict"] == "exact"
    assert line["note"] == "the standard deviations differ by more than 3 standard errors"
    # Of 100 repetitions, s has a standard error of s / sqrt(198); and 0.20 is rounded.
    largest = (0.20 + 0.005) / (1 - 3 / 198**0.5)
    for deviation, is_remarked in ((largest - 1e-4, False), (largest + 1e-4, True)):
        line = judged(cell(3, "Y", "AP", "Sampled", 30.01, deviation, 100))
        assert (line["note"] != "") == is_remarked


def test_a_cell_that_nothing_explains_has_no_note():
    line = judged(cell(3, "Y", "Recall@10", "Exact", 8.8451))
    assert (line["verdict"], line["note"]) == ("differs", "")


def test_a_cell_or_a_spread_given_twice_is_refused():
    row = cell(1, "A", "AUC", "Exact", 0.99)
    with pytest.raises(InputError, match="duplicate cell: 1, A, AUC, Exact"):
        scorecard(unrounded([row, row]), PUBLISHED, NO_SPREAD)
    spreads = pd.DataFrame([(*row[:4], 1.0, "x")] * 2, columns=[*KEY, "spread", "cause"])
    with pytest.raises(InputError, match="duplicate spread: 1, A, AUC, Exact"):
        scorecard(unrounded([row]), PUBLISHED, spreads)


def test_cells_that_were_not_computed_differ():
    card = scorecard(unrounded([cell(1, "A", "AUC", "Exact", 0.99)]), PUBLISHED, NO_SPREAD)
    assert totals(card) == {"exact": 1, "within noise": 0, "explained": 0, "differs": 203}
    assert set(card.loc[card["verdict"] == "differs", "note"]) == {"not computed in this run"}


def test_no_verdict_depends_on_our_simulation():
    row = cell(3, "Y", "AP", "Sampled", 30.02, 0.2, 100)
    assert judged(row).equals(judged(row._replace(value=99.0, std=9.0)))


def test_cells_by_kind():
    kinds = {
        "deterministic": cell(3, "Y", "AP", "Exact", 4.32),
        "random": cell(4, "X vs Y", "AP", "CLS", 31, None, 100),
        "near-certain": cell(4, "X vs Y", "AP", "Sampled", 0, None, 100),
    }
    assert {kind: judged(row)["kind"] for kind, row in kinds.items()} == {k: k for k in kinds}
    # 0.990 is printed for 0.9895 to 0.9905, 1.2 standard errors of 0.013 / sqrt(1000) away
    assert judged(cell(2, "A", "AUC", "Sampled", 0.99, 0.013, 9))["kind"] == "random"
    assert judged(cell(2, "A", "AUC", "Sampled", 0.99, 0.005, 9))["kind"] == "near-certain"


def test_an_event_explains_several_cells(tmp_path):
    rows = [
        cell(3, "X", metric, "Exact", value)
        for metric, value in (("Recall@10", 7.7), ("AP", 3.8), ("AUC", 89.13))
    ]
    spreads = pd.DataFrame(
        [(*row[:4], 0.1, "initialisation of X") for row in rows], columns=[*KEY, "spread", "cause"]
    )
    card = scorecard(unrounded(rows), PUBLISHED, spreads)
    write_scorecard(card, NO_JOINT, NO_POWER, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    text = (tmp_path / "s.md").read_text()
    assert "1 event: initialisation of X, 2 cells" in text
    spreads.loc[0, "cause"] = "order of Z's ties"
    card = scorecard(unrounded(rows), PUBLISHED, spreads)
    write_scorecard(card, NO_JOINT, NO_POWER, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    text = (tmp_path / "s.md").read_text()
    assert "2 events: " in text
    assert "order of Z's ties, 1 cell; initialisation of X, 1 cell" in text


def test_joint_tests_as_printed(tmp_path):
    joint = pd.DataFrame(
        [(3, "X", 5, 6.78, 1.23, 0.12345, np.nan, 0.98765)], columns=NO_JOINT.columns
    )
    card = scorecard(unrounded([cell(1, "A", "AUC", "Exact", 0.99)]), PUBLISHED, NO_SPREAD)
    write_scorecard(card, joint, NO_POWER, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    lines = (tmp_path / "s.md").read_text().splitlines()
    cells = [[text.strip() for text in line.split("|")[1:-1]] for line in lines]
    (texts,) = [each[3:] for each in cells if each[:3] == ["3", "X", "5"]]
    assert texts == ["", "0.988", "6.8", "1.2", "0.123"]


NO_JOINT = pd.DataFrame(columns=["table", "row", *Joint._fields])
NO_POWER = pd.DataFrame(columns=["change"])


def test_files_of_the_scorecard(tmp_path):
    rows = [
        cell(1, "A", "AUC", "Exact", 0.99),
        cell(3, "Y", "AP", "Sampled", 30.01, 0.2, 100),
        cell(4, "X vs Y", "AP", "Sampled", 0, None, 100),
    ]
    card = scorecard(unrounded(rows), PUBLISHED, NO_SPREAD)
    write_scorecard(card, NO_JOINT, NO_POWER, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    again = pd.read_csv(tmp_path / "s.csv", dtype=str, keep_default_na=False)
    assert tuple(again.columns) == COLUMNS
    np.testing.assert_array_equal(again["published"], PUBLISHED["value"])
    markdown = (tmp_path / "s.md").read_text()
    assert "Ranks: from a test." in markdown
    assert all(verdict in markdown for verdict in VERDICTS)
    assert "come from 0 events." in markdown
    summary = [line for line in markdown.splitlines() if line.startswith("| all")]
    counts = [c.strip() for c in summary[0].split("|")[2:-1]]
    assert counts == ["1", "1", "1", "0", "0", "201", "204"]
