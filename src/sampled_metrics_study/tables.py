"""Tables 1 to 4 and the table of the number to quote: computed, rounded and laid out.

A `TableCell` has the mean of drawn samples and the expectation over samples; `as_printed` rounds
them to the digits of the table. `write_tables` writes each table as CSV, Markdown and LaTeX. All
call their numbers as `NUMBERS` does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.files import write_text
from sampled_metrics.estimators import REGISTERED_ESTIMATORS
from sampled_metrics.metrics import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.experiment import (
    Experiment,
    MeanAndSd,
    join_sources,
    probability_less,
    run_experiment,
)
from sampled_metrics_study.files import read_table, write_table
from sampled_metrics_study.settings import N_ITEMS, ExperimentSettings, ToySettings

KEY = ["table", "row", "metric", "column"]
COLUMNS = (*KEY, "value", "std")
PAPER = "paper"
EXPECTED = "ours (expected)"
DRAWN = "ours (drawn)"
NUMBERS = (PAPER, EXPECTED, DRAWN)
SPREAD_COLUMNS = (*KEY, "spread", "cause")
TEXT_COLUMNS = ("row", "metric", "column", "ranks", "cause")


def std_of(number: str) -> str:
    """Return the name of the column with the standard deviations of one of `NUMBERS`."""
    return f"{number} std"


PRINTED_COLUMNS = (*KEY, *(name for number in NUMBERS for name in (number, std_of(number))))
EXACT = "Exact"
SAMPLED = "Sampled"
COUNTS = 4  # number of the table that counts repetitions
DECIMALS = {1: 3, 2: 3, 3: 2, COUNTS: 0}  # as the paper prints them
PAPERS_REPETITIONS = {2: 1000, 3: 100, COUNTS: 100}
PERCENT = 100.0
PREDICTED_RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
METRICS = tuple(parse_measure(name) for name in ("auc", "ap", "ndcg", "recall@10"))
CAPTIONS = {
    1: "Exact metrics of the toy recommenders A, B and C; n = 10,000.",
    2: "Sampled metrics of the toy recommenders, mean ± standard deviation of an evaluation.",
    3: "Exact, sampled and corrected metrics in percent, mean ± standard deviation of an "
    "evaluation.",
    4: "How many repetitions order a pair of recommenders as the exact metric does.",
}
LINES = {1: ["row"], 2: ["row"], 3: ["metric", "row"], 4: ["row", "metric"]}
ACROSS = {1: "metric", 2: "metric", 3: "column", 4: "column"}
_SIGNS = {"±": r"$\pm$", "−": "$-$", "γ": r"$\gamma$", "∞": r"$\infty$"}
_NUMBER = re.compile(r"(\*\*)?[-−]?[\d.]")
# Shrinks a table to the width of the page, but never enlarges it.
_FITTED = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"
LIKELY = REGISTERED_ESTIMATORS["likely"].label
LIKELY_COLUMNS = ["metric", "recommender", "estimator", "value", "std", "error"]


class TableCell(NamedTuple):
    """One cell: a fraction in Tables 1 and 2, percent in Table 3, a count in Table 4.

    `value` and `std` are the mean and the standard deviation over `repetitions`, which is 0 for an
    exact value. `expected` and `expected_std` are the same in closed form. `uniform` is what
    `expected` would be if all orders of tied samples were equally likely. `ranks` says where the
    ranks come from.
    """

    table: int
    row: str
    metric: str
    column: str
    value: float
    std: float | None
    expected: float
    expected_std: float | None
    uniform: float
    repetitions: int
    ranks: str


def toy_ranks(recommender: str) -> Ranks:
    """Return the ranks of a toy recommender (sections 3.2 and 4.2); it has no ties."""
    ranks = np.array(PREDICTED_RANKS[recommender])
    source = "toy recommenders of section 3.2"
    return Ranks(np.full(ranks.size, N_ITEMS), ranks - 1, np.zeros_like(ranks), source=source)


def toy_tables(settings: ToySettings) -> dict[int, pd.DataFrame]:
    """Compute exact metrics (Table 1) and sampled metrics (Table 2) of the toys, as fractions."""
    metrics = tuple(map(str, METRICS))
    experiment = ExperimentSettings(
        **settings.model_dump(), metrics=metrics, estimators=("sampled",)
    )
    rows: list[TableCell] = []
    for name in PREDICTED_RANKS:
        ranks = toy_ranks(name)
        outcome = run_experiment("toy", ranks, experiment, [name], with_likely=False)
        rows += _cells_of_experiment(2, name, outcome)
    cells = pd.DataFrame(rows)
    is_exact = cells["column"] == EXACT
    exact = cells[is_exact].assign(table=1)
    return {1: exact.reset_index(drop=True), 2: cells[~is_exact].reset_index(drop=True)}


def table3(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Lay out exact, sampled and corrected metrics in percent, one row per cell."""
    rows: list[TableCell] = []
    for name, experiment in experiments.items():
        rows += _cells_of_experiment(3, name, experiment, PERCENT)
    estimator_labels = [measure.label for measure in experiment.settings.measures]
    rows.sort(key=lambda row: estimator_labels.index(row.metric))
    return pd.DataFrame(rows, columns=TableCell._fields)


def _cells_of_experiment(
    table: int, name: str, experiment: Experiment, unit: float = 1.0
) -> Iterator[TableCell]:
    """Yield for each metric its exact value, then a cell for each estimator, all times `unit`."""
    settings = experiment.settings
    for i, measure in enumerate(settings.measures):
        make_cell = partial(
            TableCell, table=table, row=name, metric=measure.label, ranks=experiment.source
        )
        exact = unit * float(experiment.exact[i])
        yield make_cell(
            column=EXACT,
            value=exact,
            std=None,
            expected=exact,
            expected_std=None,
            uniform=exact,
            repetitions=0,
        )
        for j, estimator in enumerate(settings.corrections):
            drawn = unit * experiment.repeated[i, j]
            expected, expected_std = (unit * float(each[i, j]) for each in experiment.expected)
            yield make_cell(
                column=estimator.label,
                value=float(drawn.mean()),
                std=float(drawn.std(ddof=1)),
                expected=expected,
                expected_std=expected_std,
                uniform=unit * float(experiment.uniform.mean[i, j]),
                repetitions=drawn.size,
            )


def table4(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Count the repetitions that order a pair as the exact metric does; compute the expected count.

    Equal estimates count as a wrong order; the expected count takes them as half right.
    """
    rows = []
    for (name_a, a), (name_b, b) in combinations(experiments.items(), 2):
        source = "; ".join(sorted({a.source, b.source}))
        sign = np.where(a.exact < b.exact, 1.0, -1.0)[:, np.newaxis]
        counts = np.sum(sign[..., np.newaxis] * (b.repeated - a.repeated) > 0.0, axis=-1)
        repetitions = a.repeated.shape[-1]
        chances = _probability_of_right_order(sign, a.expected, b.expected)
        expected = repetitions * chances
        spread = np.sqrt(expected * (1.0 - chances))
        uniform = repetitions * _probability_of_right_order(sign, a.uniform, b.uniform)
        for i, measure in enumerate(a.settings.measures):
            for j, estimator in enumerate(a.settings.corrections):
                cell = TableCell(
                    table=4,
                    row=f"{name_a} vs {name_b}",
                    metric=measure.label,
                    column=estimator.label,
                    value=float(counts[i, j]),
                    std=None,
                    expected=expected[i, j],
                    expected_std=spread[i, j],
                    uniform=uniform[i, j],
                    repetitions=repetitions,
                    ranks=source,
                )
                rows.append(cell)
    return pd.DataFrame(rows, columns=TableCell._fields)


def _probability_of_right_order(sign: Float, a: MeanAndSd, b: MeanAndSd) -> Float:
    """Probability that B's estimate is above A's, or below it where `sign` is -1."""
    return probability_less(MeanAndSd(sign * a.mean, a.sd), MeanAndSd(sign * b.mean, b.sd))


def estimator_labels(settings: ExperimentSettings) -> list[str]:
    """Return the labels of `likely` and of the other estimators, in the order of `join_likely`."""
    return [LIKELY, *(one.label for one in settings.corrections)]


def join_likely(likely: Float, others: Float) -> Float:
    """Put `likely` before the other estimates; shape (measures, estimators, repetitions)."""
    return np.concatenate([likely[:, np.newaxis], others], axis=1)


def likely_table(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Compare `likely` with the estimators of Table 3 on the same samples, in percent.

    `value` and `std` are the mean and the standard deviation over repetitions; `error` is the root
    mean square of the differences from the exact metric.
    """
    rows = []
    for name, experiment in experiments.items():
        settings = experiment.settings
        estimates = PERCENT * join_likely(experiment.likely, experiment.repeated)
        for i, measure in enumerate(settings.measures):
            cell = (measure.label, name)
            exact = PERCENT * experiment.exact[i]
            rows.append((*cell, EXACT, exact, None, None))
            for label, repeated in zip(estimator_labels(settings), estimates[i], strict=True):
                error = np.sqrt(np.square(repeated - exact).mean())
                rows.append((*cell, label, repeated.mean(), repeated.std(ddof=1), error))
    order = [measure.label for measure in settings.measures]
    rows.sort(key=lambda row: order.index(row[0]))
    return pd.DataFrame(rows, columns=LIKELY_COLUMNS)


def read_texts(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table with all cells as text, so that their digits stay as printed."""
    return read_table(path, columns, dtype=str, keep_default_na=False)


def read_published(path: Path) -> pd.DataFrame:
    """Read the published cells: texts, but for the integer `table`."""
    return read_texts(path, COLUMNS).astype({"table": int})


def read_cells(paths: Sequence[Path]) -> pd.DataFrame:
    """Read the unrounded cells of several tables, with the columns of `TableCell`."""
    return pd.concat(
        [read_table(path, TableCell._fields, TEXT_COLUMNS) for path in paths], ignore_index=True
    )


def counts_per_100_repetitions(cells: pd.DataFrame, column: str = "expected") -> "pd.Series[float]":
    """Return a column of cells, with the counts of Table 4 scaled to 100 repetitions."""
    scale = PAPERS_REPETITIONS[COUNTS] / cells["repetitions"].clip(lower=1)
    return cells[column] * scale.where(cells["table"] == COUNTS, 1.0)


def as_printed(table: pd.DataFrame, value: str = "value", std: str = "std") -> pd.DataFrame:
    """Round cells to the decimals of their table, as texts in the columns of the published file."""
    printed = table[KEY].copy()
    for name, column in (("value", value), ("std", std)):
        printed[name] = [
            "" if pd.isna(number) else f"{number:.{DECIMALS[table_number]}f}"
            for number, table_number in zip(table[column], table["table"], strict=True)
        ]
    return printed


def rows_by_value(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each value of a column and its rows, in the order in which the values first appear."""
    for name, rows in table.groupby(column, sort=False):
        yield str(name), rows


def to_markdown(table: pd.DataFrame, decimals: int | None = None) -> str:
    """Return a table as Markdown; floats have `decimals`, or all values are printed as text."""
    if decimals is None:
        return table.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    texts = [place for place, kind in enumerate(table.dtypes) if not is_numeric_dtype(kind)]
    return table.to_markdown(
        index=False, tablefmt="github", floatfmt=f".{decimals}f", disable_numparse=texts
    )


def to_latex(table: pd.DataFrame, caption: str, label: str) -> str:
    r"""Return a table of texts in LaTeX (booktabs, graphicx), at most as wide as the page.

    The columns before the first numeric one contain names, which are not repeated from row to row.
    """
    body = table.astype(str)
    is_numeric = [all(map(_NUMBER.match, filter(None, body[column]))) for column in body]
    names = [*is_numeric, True].index(True)
    repeated = pd.Series(True, index=body.index)
    for column in body.columns[: max(names - 1, 0)]:
        repeated &= body[column] == body[column].shift()
        body.loc[repeated, column] = ""
    style = body.style.hide(axis="index").format(escape="latex")
    text = style.format_index(escape="latex", axis=1).to_latex(
        column_format="l" * names + "r" * (len(is_numeric) - names),
        environment="table*",
        position_float="centering",
        hrules=True,
        caption=caption.replace("%", r"\%"),
        label=f"tab:{label}",
    )
    text = text.replace(r"\begin{tabular}", f"{_FITTED}\n\\begin{{tabular}}")
    text = text.replace(r"\end{tabular}", "\\end{tabular}%\n}")
    text = re.sub(r"\*\*(.*?)\*\*", r"\\textbf{\1}", text)
    return re.sub("|".join(_SIGNS), lambda sign: _SIGNS[sign[0]], text)


def column_titles(number: int) -> dict[str, str]:
    """Return the titles of a table's leading columns, by their names in the published file."""
    names = {name: name for name in LINES[number]}
    names["row"] = "recommender"
    if number == COUNTS:
        names["row"] = "pair"
    return names


def beside_paper(table: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the texts of a table with the columns `PRINTED_COLUMNS`, in the order of its cells.

    A text is empty if there is no such number: what the paper does not print, draws of an exact
    metric, and standard deviations of the counts of Table 4.
    """
    drawn = as_printed(table)
    drawn.loc[(table["repetitions"] == 0).to_numpy(), ["value", "std"]] = ""
    expected = as_printed(table, "expected", "expected_std")
    expected["std"] = expected["std"].mask(expected["table"] == COUNTS, "")
    paper = pd.DataFrame(columns=COLUMNS) if published is None else published
    printed = table[KEY]
    for number, texts in zip(NUMBERS, (paper, expected, drawn), strict=True):
        texts = texts.rename(columns={"value": number, "std": std_of(number)})
        printed = printed.merge(texts.astype({"table": int}), on=KEY, how="left", validate="1:1")
    return printed.fillna("")


def side_by_side(number: int, printed: pd.DataFrame) -> pd.DataFrame:
    """Lay out the result of `beside_paper` as in the paper; a cell has a line for each number."""
    kinds = {
        kind: printed[KEY].assign(value=printed[kind], std=printed[std_of(kind)])
        for kind in NUMBERS
    }
    cells = pd.concat(kinds, names=["number"]).reset_index("number")
    cells = cells[cells["value"] != ""]
    cells["text"] = cells["value"].where(cells["std"] == "", cells["value"] + "±" + cells["std"])
    if number != COUNTS:
        cells["text"] = best_in_bold(cells)
    lines = LINES[number]
    across = ACROSS[number]
    wide = cells.set_index([*lines, "number", across])["text"].unstack(fill_value="", sort=False)
    ours = printed[lines].drop_duplicates().itertuples(index=False)
    shown = [key for line in ours for kind in kinds if (key := (*line, kind)) in wide.index]
    laid_out = wide.loc[shown, printed[across].unique()].reset_index()
    return laid_out.rename(columns={**column_titles(number), "number": ""})


def best_in_bold(cells: pd.DataFrame) -> "pd.Series[str]":
    """Return the texts of cells, with the highest of each kind, metric and column in bold."""
    values = pd.to_numeric(cells["value"])
    best = values.groupby([cells["number"], cells["metric"], cells["column"]]).transform("max")
    return cells["text"].mask(values == best, "**" + cells["text"] + "**")


def write_printed(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None, stem: Path
) -> None:
    """Write one table, rounded, beside any published numbers: as `.csv`, `.md` and `.tex`."""
    printed = beside_paper(table, published)
    write_table(printed, stem.with_suffix(".csv"))
    laid_out = pd.DataFrame(columns=[*column_titles(number).values()])
    sentence = "One recommender makes no pair."
    if len(table):
        laid_out = side_by_side(number, printed)
        sentence = f"Ranks: {join_sources(table['ranks'])}."
    if number > 1:
        sentence = f"Expected: over all samples; drawn: in this run. {sentence}"
    caption = f"{CAPTIONS[number]} {sentence}"
    write_text(stem.with_suffix(".md"), f"Table {number}. {caption}\n\n{to_markdown(laid_out)}\n")
    write_text(stem.with_suffix(".tex"), to_latex(laid_out, caption, stem.name))


def write_tables(
    tables: Mapping[int, pd.DataFrame], published: pd.DataFrame | None, folder: Path, cells: Path
) -> None:
    """Write tables to `folder`, rounded, and their unrounded cells to the folder `cells`."""
    for number, table in tables.items():
        write_table(table, cells / f"table{number}.csv", "%.17g")
        write_printed(number, table, published, folder / f"table{number}")


def write_likely(table: pd.DataFrame, source: str, csv: Path, md: Path) -> None:
    """Write the result of `likely_table` as CSV, and as Markdown with a column per estimator."""
    write_table(table, csv, "%.6f")
    spread = table["std"].map("±{:.2f}".format, na_action="ignore").fillna("")
    lines = {
        "mean": table["value"].map("{:.2f}".format) + spread,
        "error": table["error"].map("{:.2f}".format, na_action="ignore").fillna(""),
    }
    parts = [table.assign(number=number, text=text) for number, text in lines.items()]
    cells = pd.concat(parts)
    index = ["metric", "recommender", "number"]
    wide = cells.pivot(index=index, columns="estimator", values="text")
    order = pd.MultiIndex.from_product(
        [table["metric"].unique(), table["recommender"].unique(), lines], names=index
    )
    laid_out = wide.loc[order, table["estimator"].unique()].reset_index()
    caption = (
        "The number to quote beside the estimators of Table 3, from the same samples, in percent: "
        "mean ± standard deviation of an evaluation, and root mean square error. "
        f"Ranks: {source}."
    )
    write_text(md, f"{caption}\n\n{to_markdown(laid_out)}\n")
