"""Tables 1-4 as the paper prints them, ours above the closed form and the published number."""

from pathlib import Path

import pandas as pd

from sampled_metrics.errors import InputError
from sampled_metrics.files import write_text
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
_LINES = {1: ["row"], 2: ["row"], 3: ["metric", "row"], 4: ["row", "metric"]}
_ACROSS = {1: "metric", 2: "metric", 3: "column", 4: "column"}
_CLOSED_FORM = {2, 3, 4}


def read_published(path: Path) -> pd.DataFrame:
    """Read the published numbers, as text exactly as printed.

    Raises
    ------
    InputError
        The file is missing or its columns are not those of the tables.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the published numbers")
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if tuple(table.columns) != COLUMNS:
        raise InputError(
            f"{path}: columns {', '.join(table.columns)}; allowed: {','.join(COLUMNS)}"
        )
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


def side_by_side(table: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Lay a table out as in the paper, with lines for ours, the closed form and the paper."""
    number = int(table["table"].iloc[0])
    kinds = {"ours": as_printed(table)}
    if number in _CLOSED_FORM:
        kinds["closed form"] = as_printed(table, "expected", "expected_std")
        if number == 4:
            kinds["closed form"]["std"] = ""
    kinds["paper"] = published[published["table"] == number]
    lines = []
    for kind, cells in kinds.items():
        text = cells["value"].where(cells["std"] == "", cells["value"] + "±" + cells["std"])
        wide = cells.assign(text=text).set_index([*_LINES[number], _ACROSS[number]])["text"]
        lines.append(wide.unstack(sort=False).assign(number=kind))
    order = lines[0].index
    columns = [name for name in lines[0].columns if name != "number"]
    merged = pd.concat([each.reindex(order).fillna("") for each in lines]).set_index(
        "number", append=True
    )
    ordered = [(*(at if isinstance(at, tuple) else (at,)), kind) for at in order for kind in kinds]
    laid_out = merged.loc[ordered][columns].reset_index()
    return laid_out.rename(columns={"row": "pair" if number == 4 else "recommender", "number": ""})


def write_printed(table: pd.DataFrame, published: pd.DataFrame, stem: Path) -> None:
    """Write one table as `.csv` (as printed), `.md` and `.tex` (beside the published numbers)."""
    number = int(table["table"].iloc[0])
    write_text(stem.with_suffix(".csv"), as_printed(table).to_csv(index=False, lineterminator="\n"))
    laid_out = side_by_side(table, published)
    caption = f"{CAPTIONS[number]} Ranks: {'; '.join(sorted(set(table['ranks'])))}."
    body = laid_out.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    write_text(stem.with_suffix(".md"), f"{caption}\n\n{body}\n")
    tex = laid_out.to_markdown(index=False, tablefmt="latex_booktabs", disable_numparse=True)
    write_text(
        stem.with_suffix(".tex"),
        f"\\begin{{table}}\n\\caption{{{caption}}}\n{tex}\n\\end{{table}}\n",
    )
