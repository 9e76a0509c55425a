"""Tables 1-4 as the paper prints them, ours above the closed form and the published number."""

from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import read_table, write_text
from sampled_metrics.study.labels import COLUMNS
from sampled_metrics.study.unrounded import KEY

DECIMALS = {1: 3, 2: 3, 3: 2, 4: 0}
CAPTIONS = {
    1: "Table 1. Exact metrics of the toy recommenders A, B and C; n = 10,000.",
    2: "Table 2. Sampled metrics of the toy recommenders, mean ± standard deviation over "
    "repetitions.",
    3: "Table 3. Exact, sampled and corrected metrics in percent, mean ± standard deviation over "
    "repetitions.",
    4: "Table 4. Repetitions in which a pair of recommenders is ordered as by the exact metric.",
}
LINES = {1: ["row"], 2: ["row"], 3: ["metric", "row"], 4: ["row", "metric"]}
ACROSS = {1: "metric", 2: "metric", 3: "column", 4: "column"}
_CLOSED_FORM = {2, 3, 4}


def read_published(path: Path) -> pd.DataFrame:
    """Read the published numbers, as text exactly as printed.

    Raises
    ------
    InputError
        The file is missing, not CSV or lacks a column.
    """
    table = read_table(path, COLUMNS, dtype=str, keep_default_na=False)
    return table.astype({"table": int})


def as_printed(table: pd.DataFrame, value: str = "value", std: str = "std") -> pd.DataFrame:
    """Round cells to the decimals of their table; text, in the columns of the published file."""
    decimals = table["table"].map(DECIMALS)
    return pd.DataFrame(
        {
            **{name: table[name] for name in KEY},
            "value": [_text(x, d) for x, d in zip(table[value], decimals, strict=True)],
            "std": [_text(x, d) for x, d in zip(table[std], decimals, strict=True)],
        }
    )


def _text(number: float, decimals: int) -> str:
    return "" if pd.isna(number) else f"{number:.{decimals}f}"


def side_by_side(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Lay a table out as in the paper, with lines for ours, the closed form and the paper.

    A line that the paper does not print is left out, a cell that it does not print left empty.
    """
    kinds = {"ours": as_printed(table)}
    if number in _CLOSED_FORM:
        kinds["closed form"] = as_printed(table, "expected", "expected_std")
        if number == 4:
            kinds["closed form"]["std"] = ""
    if published is not None:
        kinds["paper"] = published[published["table"] == number]
    lines = pd.concat([_line(number, kind, cells) for kind, cells in kinds.items()])
    across = list(dict.fromkeys(table[ACROSS[number]]))
    keys = [*LINES[number], "number"]
    wide = lines.set_index([*keys, ACROSS[number]])["text"].unstack(fill_value="", sort=False)
    ours = table[LINES[number]].drop_duplicates().itertuples(index=False)
    wanted = [(*line, kind) for line in ours for kind in kinds]
    shown = wide.loc[[key for key in wanted if key in wide.index], across].reset_index()
    return shown.rename(columns={"row": "pair" if number == 4 else "recommender", "number": ""})


def _line(number: int, kind: str, cells: pd.DataFrame) -> pd.DataFrame:
    text = cells["value"].where(cells["std"] == "", cells["value"] + "±" + cells["std"])
    return cells[[*LINES[number], ACROSS[number]]].assign(number=kind, text=text)


def write_printed(
    number: int, table: pd.DataFrame, published: pd.DataFrame | None, stem: Path
) -> None:
    """Write one table as `.csv` (as printed), `.md` and `.tex` (beside any published numbers)."""
    caption, body, tex = f"{CAPTIONS[number]} One recommender makes no pair.", "", ""
    if len(table):
        laid_out = side_by_side(number, table, published)
        caption = f"{CAPTIONS[number]} Ranks: {'; '.join(sorted(set(table['ranks'])))}."
        body = laid_out.to_markdown(index=False, tablefmt="github", disable_numparse=True)
        tex = laid_out.to_markdown(index=False, tablefmt="latex_booktabs", disable_numparse=True)
    write_text(stem.with_suffix(".csv"), as_printed(table).to_csv(index=False, lineterminator="\n"))
    write_text(stem.with_suffix(".md"), f"{caption}\n\n{body}\n")
    write_text(
        stem.with_suffix(".tex"),
        f"\\begin{{table}}\n\\caption{{{caption}}}\n{tex}\n\\end{{table}}\n",
    )
