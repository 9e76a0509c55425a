"""Tables in Markdown and LaTeX, and the table of the number to quote."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.experiment import Experiment, run_experiment
from sampled_metrics_study.files import write_table
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import (
    TableCell,
    as_printed,
    column_titles,
    likely_table,
    read_cells,
    table3,
    to_latex,
    write_likely,
    write_printed,
)
from tests.study.conftest import PUBLISHED, REFERENCE

HEAD = (
    "table,row,metric,column,paper,paper std,ours (expected),ours (expected) std,"
    "ours (drawn),ours (drawn) std"
)
NASTY = r"50% of a_b & c#d ~e^f\g {h} <i> |j| $k"


def cell(table, row, metric, column, value, std=None, repetitions=0, uniform=np.nan):
    numbers = (value, std, value, std, uniform, repetitions)
    return TableCell(table, row, metric, column, *numbers, "test")


def cell_table(*rows):
    return pd.DataFrame(rows, columns=TableCell._fields)


def test_as_printed_rounds_by_table(tmp_path):
    rows = [
        cell(1, "A", "AP", "Exact", 0.0104),
        cell(3, "Y", "AP", "Sampled", 30.0149, 0.2049, 100),
        cell(4, "X vs Y", "AP", "CLS", 31.0, None, 100),
        cell(3, "Y", "AP", "Exact", 1 / 3),
    ]
    printed = as_printed(cell_table(*rows))
    assert printed["value"].tolist() == ["0.010", "30.01", "31", "0.33"]
    assert printed["std"].tolist() == ["", "0.20", "", ""]
    write_table(cell_table(*rows), tmp_path / "cells.csv", "%.17g")
    assert read_cells([tmp_path / "cells.csv"])["value"].tolist()[-1] == 1 / 3


@pytest.fixture
def printed(tmp_path):
    """Table 3 of X, of which the paper prints AP, and of W, in all forms; drawn values are ours."""
    rows = [
        cell(3, row, metric, column, 1.0, std, repetitions)
        for metric in ("AP", "Recall@5")
        for row in ("X", "W")
        for column, std, repetitions in (("Exact", None, 0), ("Sampled", 0.5, 100))
    ]
    rows[1] = rows[1]._replace(value=1.2, std=0.6)  # drawn, AP of X
    write_printed(3, cell_table(*rows), PUBLISHED, tmp_path / "table3")
    return {form: (tmp_path / f"table3.{form}").read_text() for form in ("csv", "md", "tex")}


def cells_of(markdown):
    """Rows of a table, without those of its head."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")][2:]
    return [[each.strip() for each in line.split("|")[1:-1]] for line in lines]


def test_printed_csv_has_published_expected_and_drawn_values(printed):
    assert printed["csv"].splitlines()[:3] == [
        HEAD,
        "3,X,AP,Exact,3.75,,1.00,,,",
        "3,X,AP,Sampled,32.55,0.21,1.00,0.50,1.20,0.60",
    ]


def test_best_value_of_each_line_is_bold(printed):
    assert cells_of(printed["md"])[:3] == [
        ["AP", "X", "paper", "**3.75**", "**32.55±0.21**"],
        ["AP", "X", "ours (expected)", "**1.00**", "**1.00±0.50**"],
        ["AP", "X", "ours (drawn)", "", "**1.20±0.60**"],
    ]


def test_values_that_the_paper_does_not_print_have_no_line_of_it(printed):
    not_printed = [("AP", "W"), ("Recall@5", "X"), ("Recall@5", "W")]
    assert [line[:3] for line in cells_of(printed["md"])[3:9]] == [
        [*of, kind] for of in not_printed for kind in ("ours (expected)", "ours (drawn)")
    ]


def test_printed_files_have_the_source_and_deviations(printed):
    assert "Ranks: test." in printed["md"]
    assert r"32.55$\pm$0.21" in printed["tex"]


def test_table_of_one_recommender_has_no_pair(tmp_path):
    write_printed(4, cell_table(), PUBLISHED, tmp_path / "table4")
    assert (tmp_path / "table4.csv").read_text() == f"{HEAD}\n"
    assert "no pair" in (tmp_path / "table4.md").read_text()


def test_to_latex_by_hand():
    table = pd.DataFrame({"name": ["A", "A", NASTY], "": ["ours", "±", "ours"], "AP": [1, 2, 3]})
    lines = to_latex(table, "Toys, 100 %.", "toys").splitlines()
    for line in (r"\caption{Toys, 100 \%.}", r"\label{tab:toys}", r"\begin{tabular}{llr}"):
        assert line in lines
    start = lines.index(r"\toprule")
    assert lines[start + 1 : start + 5] == [
        r"name &  & AP \\", r"\midrule", r"A & ours & 1 \\", r" & $\pm$ & 2 \\",
    ]  # fmt: skip
    assert r"50\% of a\_b \& c\#d" in lines[start + 5]
    assert lines[start + 6] == r"\bottomrule"
    assert r"\begin{tabular}{ll}" in to_latex(table[["name", ""]], "Names", "names")


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_latex_tables_compile_within_page(tmp_path):
    metrics, columns = (("Recall@10", "NDCG@10", "AP"), ("Sampled", "Rank Estimate", "CLS", "BV 1"))
    names = [NASTY, *(f"A-recommender-with-a-very-long-name-{i}" for i in range(3))]
    many = [cell(4, f"{a} vs {names[1]}", metric, column, 100.0, None, 100)
            for a in names for metric in metrics for column in columns]  # fmt: skip
    write_printed(4, cell_table(*many), None, tmp_path / "many")
    head = r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx}\begin{document}"
    (tmp_path / "t.tex").write_text(head + r"\input{many}\end{document}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)
    assert max(map(float, wide), default=0) <= 1


def test_column_titles_of_tables_3_and_4():
    assert [*column_titles(4).values()] == ["pair", "metric"]
    assert [*column_titles(3).values()] == ["metric", "recommender"]


def test_highest_values_are_bold(tmp_path):
    """Of our 7.75 and 8.84 the second is the best, of the published 9.60 and 8.84 the first."""
    ours = [
        cell(3, "X", "Recall@10", "Exact", 7.75),
        cell(3, "Y", "Recall@10", "Exact", 8.84),
    ]
    published = pd.DataFrame(
        [(3, "X", "Recall@10", "Exact", "9.60", ""), (3, "Y", "Recall@10", "Exact", "8.84", "")],
        columns=["table", "row", "metric", "column", "value", "std"],
    )
    write_printed(3, cell_table(*ours), published, tmp_path / "table3")
    assert cells_of((tmp_path / "table3.md").read_text()) == [
        ["Recall@10", "X", "paper", "**9.60**"],
        ["Recall@10", "X", "ours (expected)", "7.75"],
        ["Recall@10", "Y", "paper", "8.84"],
        ["Recall@10", "Y", "ours (expected)", "**8.84**"],
    ]
    tex = (tmp_path / "table3.tex").read_text()
    assert [text in tex for text in (r"\textbf{9.60}", r"\textbf{8.84}")] == [True, True]
    assert "**" not in tex


# The number to quote.


TABLE = pd.read_csv(REFERENCE / "tables/likely.csv")


def test_likely_table_by_hand():
    """An exact value of 20 %; two repetitions give 50 and 70 %, and 10 and 30 % by `likely`."""
    settings = ExperimentSettings(metrics=("ap",), estimators=("sampled",), repetitions=2)
    sampled, likely = np.array([[[0.5, 0.7]]]), np.array([[0.1, 0.3]])
    by_hand = Experiment(settings, np.array([0.2]), sampled, None, None, likely, "by hand")
    cells = likely_table({"A": by_hand}).set_index("estimator")
    sd = np.sqrt((10**2 + 10**2) / (2 - 1))  # both are 10 from their mean
    errors = {"Likely": np.sqrt((10**2 + 10**2) / 2), "Sampled": np.sqrt((30**2 + 50**2) / 2)}
    expected = {
        "Exact": [20, np.nan, np.nan],
        "Likely": [(10 + 30) / 2, sd, errors["Likely"]],
        "Sampled": [(50 + 70) / 2, sd, errors["Sampled"]],
    }
    assert list(cells.index) == list(expected)
    for estimator, values in expected.items():
        row = cells.loc[estimator, ["value", "std", "error"]].astype(float)
        assert row.tolist() == pytest.approx(values, nan_ok=True)


def test_likely_table_others_equal_table_3():
    rng = np.random.default_rng(0)
    settings = ExperimentSettings(
        metrics=("recall@10", "auc"), estimators=("sampled", "cls"), n_negatives=20, repetitions=5
    )
    experiments = {
        name: run_experiment(
            name, Ranks.from_ranks(rng.integers(1, 102, 60), n_items=101), settings
        )
        for name in "AB"
    }
    beside = likely_table(experiments)
    found = beside[beside["estimator"] != "Likely"]
    names = {"row": "recommender", "column": "estimator"}
    columns = ["metric", "recommender", "estimator", "value", "std"]
    expected = table3(experiments).rename(columns=names)[columns]
    pd.testing.assert_frame_equal(found[columns].reset_index(drop=True), expected)


def test_likely_markdown_equals_csv(tmp_path):
    write_likely(TABLE, "kept", tmp_path / "likely.csv", tmp_path / "likely.md")
    again = pd.read_csv(tmp_path / "likely.csv")
    pd.testing.assert_frame_equal(again, TABLE)
    lines = (tmp_path / "likely.md").read_text().splitlines()
    found = {}
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    for metric, recommender, number, *cells in rows:
        for estimator, cell in zip(head[3:], cells, strict=True):
            found[metric, recommender, estimator, number] = cell
    assert len(found) == 2 * len(TABLE)
    for row in TABLE.itertuples():
        key = (row.metric, row.recommender, row.estimator)
        if row.estimator == "Exact":
            assert found[(*key, "mean")] == f"{row.value:.2f}"
            assert found[(*key, "error")] == ""
        else:
            assert found[(*key, "mean")] == f"{row.value:.2f}±{row.std:.2f}"
            assert found[(*key, "error")] == f"{row.error:.2f}"
