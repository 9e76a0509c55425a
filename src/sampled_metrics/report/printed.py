"""Tables 1-4 laid out as in the paper, ours above the closed form and the published number."""

from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.ranks.reading import sources
from sampled_metrics.report.latex import latex
from sampled_metrics.report.tables import markdown
from sampled_metrics.study.cells import as_printed

CAPTIONS = {
    1: "Exact metrics of the toy recommenders A, B and C; n = 10,000.",
    2: "Sampled metrics of the toy recommenders, mean ± standard deviation over repetitions.",
    3: "Exact, sampled and corrected metrics in percent, mean ± standard deviation over "
    "repetitions.",
    4: "Repetitions in which a pair of recommenders is ordered as by the exact metric.",
}
NO_PAIR = "One recommender makes no pair."
LINES = {1: ["row"], 2: ["row"], 3: ["metric", "row"], 4: ["row", "metric"]}
ACROSS = {1: "metric", 2: "metric", 3: "column", 4: "column"}
_CLOSED_FORM = {2, 3, 4}


def heads(number: int) -> dict[str, str]:
    """Names of the leading columns of a table, by the column of the published file."""
    row = "pair" if number == 4 else "recommender"
    return {name: row if name == "row" else name for name in LINES[number]}


def side_by_side(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Lay a table out as in the paper, with lines for ours, the closed form and the paper.

    A line that the paper does not print is left out, a cell that it does not print is empty.
    """
    kinds = {"ours": as_printed(table)}
    if number in _CLOSED_FORM:
        kinds["closed form"] = as_printed(table, "expected", "expected_std")
        if number == 4:
            kinds["closed form"]["std"] = ""
    if published is not None:
        kinds["paper"] = published[published["table"] == number]
    cells = pd.concat([of_kind.assign(number=kind) for kind, of_kind in kinds.items()])
    cells["text"] = cells["value"].where(cells["std"] == "", cells["value"] + "±" + cells["std"])
    lines, across = LINES[number], ACROSS[number]
    wide = cells.set_index([*lines, "number", across])["text"].unstack(fill_value="", sort=False)
    ours = table[lines].drop_duplicates().itertuples(index=False)
    shown = [key for line in ours for kind in kinds if (key := (*line, kind)) in wide.index]
    laid_out = wide.loc[shown, list(dict.fromkeys(table[across]))].reset_index()
    return laid_out.rename(columns={**heads(number), "number": ""})


def write_printed(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None, stem: Path
) -> None:
    """Write one table as `.csv` (as printed), `.md` and `.tex` (beside any published numbers)."""
    write_table(as_printed(table), stem.with_suffix(".csv"))
    if len(table):
        laid_out = side_by_side(number, table, published)
        caption = f"{CAPTIONS[number]} Ranks: {sources(table['ranks'])}."
    else:
        laid_out, caption = pd.DataFrame(), f"{CAPTIONS[number]} {NO_PAIR}"
    write_text(stem.with_suffix(".md"), f"Table {number}. {caption}\n\n{markdown(laid_out)}\n")
    write_text(stem.with_suffix(".tex"), latex(laid_out, caption, stem.name))
