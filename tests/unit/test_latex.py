"""LaTeX tables: escaped by hand, and compiled in a document of two columns."""

import re
import shutil
import subprocess

import pandas as pd
import pytest

from sampled_metrics.report.latex import escape, latex
from sampled_metrics.report.printed import write_printed
from sampled_metrics.study.cells import Row, read_published
from tests.conftest import ROOT

NASTY = r"50% of a_b & c#d ~e^f\g {h} <i> |j| $k"
DOCUMENT = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs}
\begin{document}
Tables %s.
%s
\end{document}
"""


def test_escaped_by_hand():
    assert escape(NASTY) == (
        r"50\% of a\_b \& c\#d \textasciitilde{}e\textasciicircum{}f\textbackslash{}g "
        r"\{h\} \textless{}i\textgreater{} \textbar{}j\textbar{} \$k"
    )
    assert escape("1.00±0.10, γ, −2, ∞") == r"1.00$\pm$0.10, $\gamma$, $-$2, $\infty$"


def test_a_small_table_by_hand():
    table = pd.DataFrame({"name": ["A", "A", "B"], "": ["ours", "paper", "ours"], "AP": [1, 2, 3]})
    lines = latex(table.astype(str), "Toys, 100 %.", "toys").splitlines()
    assert lines[0] == r"\begin{table}"
    assert lines[1:3] == [r"\caption{Toys, 100 \%.}", r"\label{tab:toys}"]
    assert r"\begin{tabular}{@{}llr@{}}" in lines
    start = lines.index(r"\toprule")
    assert lines[start:] == [
        r"\toprule",
        r"name &  & AP \\",
        r"\midrule",
        r"A & ours & 1 \\",
        r" & paper & 2 \\",
        r"\addlinespace",
        r"B & ours & 3 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_the_first_of_three_names_is_written_above_its_rows():
    rows = [
        (metric, name, kind, "1.0")
        for metric in ("AP", "AUC")
        for name in "XY"
        for kind in ("a", "b")
    ]
    text = latex(pd.DataFrame(rows, columns=["metric", "recommender", "", "value"]), "C.", "t")
    assert text.count(r"\textit{AP}") == text.count(r"\textit{AUC}") == 1
    assert r"recommender &  & value \\" in text
    assert text.count("X & a") == text.count("Y & a") == 2


def test_a_table_of_many_rows_goes_on_in_others():
    rows = [(str(pair), metric, "1") for pair in range(20) for metric in ("AP", "AUC", "NDCG")]
    text = latex(pd.DataFrame(rows, columns=["pair", "metric", "value"]), "C.", "t")
    parts = text.split(r"\begin{table}")[1:]
    assert len(parts) == 2
    assert text.count(r"\label{tab:t}") == 1
    assert all(r"\caption{C.}" in part for part in parts[:1])
    assert all(r"\caption{C. (continued)}" in part for part in parts[1:])
    numbers = [int(found) for found in re.findall(r"^(\d+) & AP", text, flags=re.MULTILINE)]
    assert numbers == list(range(20)), "every row once, in order"
    assert all(part.count("AP") == part.count("NDCG") for part in parts), "pairs stay together"


def cells(number, names, metrics=("Recall@10", "NDCG@10", "AP", "AUC")):
    columns = ("Sampled", "Rank Estimate", "CLS", "BV 1", "BV 0.1", "BV 0.01", "BV 0.001")
    value, std = (66.12, 0.25) if number == 3 else (100.0, None)
    rows = [
        Row(number, name, metric, column, value, std, value, std, 100, "trained in this run")
        for metric in metrics
        for name in names
        for column in (("Exact", *columns) if number == 3 else columns)
    ]
    return pd.DataFrame(rows, columns=Row._fields)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with Tables 1-4 of the reference run and 3 and 4 of nine long names."""
    folder = tmp_path_factory.mktemp("tex")
    published = read_published(ROOT / "config/paper/tables.csv")
    for number in (1, 2, 3, 4):
        ours = published[published["table"] == number]
        values = {name: pd.to_numeric(ours[name]) for name in ("value", "std")}
        table = ours.assign(
            **values,
            expected=values["value"],
            expected_std=values["std"],
            repetitions=100,
            ranks="r",
        )
        write_printed(number, table[list(Row._fields)], published, folder / f"table{number}")
    names = [
        NASTY,
        *(f"A-recommender-with-a-very-long-name-{i}" for i in range(2)),
        *(f"Recommender{i}" for i in range(6)),
    ]
    pairs = [f"{a} vs {b}" for i, a in enumerate(names) for b in names[i + 1 :]]
    write_printed(3, cells(3, names), None, folder / "many3")
    write_printed(4, cells(4, pairs), None, folder / "many4")
    write_printed(4, cells(4, []), None, folder / "none4")
    return folder


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_all_tables_compile_in_two_columns_without_sticking_out(written):
    names = sorted(path.stem for path in written.glob("*.tex"))
    labels = ", ".join(rf"\ref{{tab:{name}}}" for name in names)
    inputs = "\n".join(rf"\input{{{name}}}" for name in names)
    (written / "paper.tex").write_text(DOCUMENT % (labels, inputs))
    for _ in range(2):  # references are known the second time
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        run = subprocess.run(command, cwd=written, capture_output=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout.decode(errors="replace")[-2000:]
    log = (written / "paper.log").read_text(errors="replace")
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert max(wide, default=0) <= 1
    assert "Float too large" not in log
    assert "undefined" not in log
