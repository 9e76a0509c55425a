"""Tables as Markdown and LaTeX; Tables 1 to 4 and the exact metrics as files."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.study.cells import COUNTS, as_printed
from sampled_metrics.study.reading import sources

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
# Shrunk to the width of the page, but never enlarged.
_FITTED = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"


def groups(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows by the value of a column, in the order in which the values first appear."""
    for name, rows in table.groupby(column, sort=False):
        yield str(name), rows


def markdown(table: pd.DataFrame, decimals: int | None = None) -> str:
    """Return a table as Markdown, floats with some decimals, or with None all values as text."""
    if decimals is None:
        return table.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    texts = [place for place, kind in enumerate(table.dtypes) if not is_numeric_dtype(kind)]
    return table.to_markdown(
        index=False, tablefmt="github", floatfmt=f".{decimals}f", disable_numparse=texts
    )


def latex(table: pd.DataFrame, caption: str, label: str) -> str:
    r"""Return a table of texts in LaTeX (booktabs, graphicx), as wide as the page at most.

    Columns before the first that holds numbers only are names, not repeated from row to row.
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


def heads(number: int) -> dict[str, str]:
    """Names of the leading columns of a table, by the column of the published file."""
    names = {name: name for name in LINES[number]}
    names["row"] = "recommender"
    if number == COUNTS:
        names["row"] = "pair"
    return names


def side_by_side(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Lay a table out as in the paper, with lines for ours, the closed form and the paper."""
    kinds = {"ours": as_printed(table)}
    if number > 1:
        kinds["closed form"] = as_printed(table, "expected", "expected_std")
    if number == COUNTS:
        kinds["closed form"]["std"] = ""
    if published is not None:
        kinds["paper"] = published[published["table"] == number]
    cells = pd.concat(kinds, names=["number"]).reset_index("number")
    cells["text"] = cells["value"].where(cells["std"] == "", cells["value"] + "±" + cells["std"])
    if number != COUNTS:
        cells["text"] = best_in_bold(cells)
    lines = LINES[number]
    across = ACROSS[number]
    wide = cells.set_index([*lines, "number", across])["text"].unstack(fill_value="", sort=False)
    ours = table[lines].drop_duplicates().itertuples(index=False)
    shown = [key for line in ours for kind in kinds if (key := (*line, kind)) in wide.index]
    laid_out = wide.loc[shown, table[across].unique()].reset_index()
    return laid_out.rename(columns={**heads(number), "number": ""})


def best_in_bold(cells: pd.DataFrame) -> "pd.Series[str]":
    """Return texts of cells, the highest of its kind, metric and column between `**`."""
    values = pd.to_numeric(cells["value"])
    best = values.groupby([cells["number"], cells["metric"], cells["column"]]).transform("max")
    return cells["text"].mask(values == best, "**" + cells["text"] + "**")


def write_printed(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None, stem: Path
) -> None:
    """Write one table as `.csv` (as printed), `.md` and `.tex` (beside any published numbers)."""
    write_table(as_printed(table), stem.with_suffix(".csv"))
    laid_out = pd.DataFrame(columns=[*heads(number).values()])
    words = "One recommender makes no pair."
    if len(table):
        laid_out = side_by_side(number, table, published)
        words = f"Ranks: {sources(table['ranks'])}."
    if number > 1:
        words = f"Ours: simulated; closed form: expected. {words}"
    caption = f"{CAPTIONS[number]} {words}"
    write_text(stem.with_suffix(".md"), f"Table {number}. {caption}\n\n{markdown(laid_out)}\n")
    write_text(stem.with_suffix(".tex"), latex(laid_out, caption, stem.name))


def write_tables(
    made: Mapping[int, pd.DataFrame], published: pd.DataFrame | None, folder: Path, cells: Path
) -> None:
    """Write some tables as printed to one folder, and their unrounded cells to another."""
    for number, table in made.items():
        write_table(table, cells / f"table{number}.csv", "%.17g")
        write_printed(number, table, published, folder / f"table{number}")


def write_exact(table: pd.DataFrame, source: str, csv: Path, md: Path) -> None:
    """Write the exact metrics as CSV, and as Markdown with a column per metric."""
    write_table(table, csv, "%.6f")
    caption = f"Exact metrics in percent, by tie policy. Ranks: {source}."
    wide = table.set_index(["recommender", "ties", "metric"])["value"].unstack(sort=False)
    write_text(md, f"{caption}\n\n{markdown(wide.reset_index(), decimals=2)}\n")
