"""Everything that goes into the page, read from the files of a run into one dictionary."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table
from sampled_metrics.ranks.reading import read_single
from sampled_metrics.report.page.cells import (
    TABLES,
    TABLES_OF_DATA,
    exact_metrics,
    laid_out,
    read_tables,
)
from sampled_metrics.report.page.embedded import explorer
from sampled_metrics.report.page.overview import overview
from sampled_metrics.report.page.pictures import FIGURES, FIGURES_OF_DATA, download, picture
from sampled_metrics.report.page.steps import steps

_AUDIT_COLUMNS = ("topic", "reading", "quantity", "value", "published", "reproduces")
_OF_THE_MACHINE = ("archive", "cache", "path")


@dataclass(frozen=True)
class Sources:
    """Where a run left what the page shows.

    Attributes
    ----------
    ranks
        Rank records, named by their recommenders.
    tables, figures
        Folders of `table{1..4}.csv` and `exact.csv`, and of `figure{1..6}.svg`, `.pdf`, `.csv`;
        without a scorecard only what is about the data: Tables 3 and 4, Figures 5 and 6.
    provenance
        The file of this name.
    graph
        The graphs of rules, as `snakemake --rulegraph dot` prints them.
    times
        Folder of what Snakemake measures of each job (`benchmark:`); it may be missing.
    config
        The configuration.
    scorecard, audit
        Where the data is the paper's, the comparison with its numbers and the audit; CSV.
    """

    ranks: Sequence[Path]
    tables: Path
    figures: Path
    provenance: Path
    graph: Path
    times: Path
    config: Mapping[str, Any]
    scorecard: Path | None = None
    audit: Path | None = None


def collect(sources: Sources) -> dict[str, Any]:
    """Read a run.

    Returns
    -------
    What the templates and the scripts of the page use: texts, numbers, lists and dictionaries.

    Raises
    ------
    InputError
        A file is missing or is not what it should be.
    """
    records = {path.stem: read_single(path) for path in sources.ranks}
    card = _text(sources.scorecard, ["verdict"]) if sources.scorecard else None
    tables = read_tables(sources.tables, TABLES_OF_DATA if card is None else TABLES)
    figures = FIGURES_OF_DATA if card is None else FIGURES
    ordered = read_table(sources.figures / "figure6.csv", ["kind", "n_negatives"])
    origin = _json(sources.provenance)
    return {
        "overview": overview(tables, card, ordered, sources.config, records),
        "origin": origin,
        "run": origin.get("provenance", origin),
        "facts": facts(origin),
        "verdicts": {} if card is None else card["verdict"].value_counts().to_dict(),
        "tables": [
            laid_out(number, table, card) | {"csv": download(sources.tables / f"table{number}.csv")}
            for number, table in tables.items()
        ],
        "exact": exact_metrics(sources.tables / "exact.csv"),
        "figures": [picture(number, sources.figures) for number in figures],
        "audit": _audit(sources.audit) if sources.audit else [],
        "audit_of_reference": sources.audit is not None and "reference" in sources.audit.parts,
        "explorer": explorer(records, sources.config),
        **steps(sources.graph, sources.times, of_paper=card is not None),
        "config": _shown(sources.config),
    }


def _text(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    return read_table(path, columns, dtype=str, keep_default_na=False)


def _audit(path: Path) -> list[dict[str, Any]]:
    table = _text(path, _AUDIT_COLUMNS)
    return [
        {"topic": topic, "readings": [_reading(name, rows) for name, rows in groups(of, "reading")]}
        for topic, of in groups(table, "topic")
    ]


def groups(table: pd.DataFrame, column: str) -> list[tuple[str, pd.DataFrame]]:
    """Rows by the value of a column, in the order in which the values first appear."""
    return [(str(name), rows) for name, rows in table.groupby(column, sort=False)]


def _reading(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "name": name,
        "agrees": set(rows["reproduces"]) == {"yes"},
        "rows": [
            {
                "quantity": row.quantity,
                "ours": f"{float(str(row.value)):.3f}".removesuffix(".000"),
                "published": row.published,
                "agrees": row.reproduces == "yes",
            }
            for row in rows.itertuples(index=False)
        ],
    }


def facts(record: Mapping[str, Any], within: str = "") -> list[list[tuple[str, Any]]]:
    """Flatten a record of records into groups of names and values.

    >>> facts({"ranks": "trained", "seeds": {"X": 0}})
    [[('ranks', 'trained')], [('seeds: X', 0)]]
    """
    plain = [(within + name, v) for name, v in record.items() if not isinstance(v, Mapping)]
    found = [plain] if plain else []
    for name, value in record.items():
        if isinstance(value, Mapping):
            found += facts(value, f"{within}{name}: ")
    return found


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error


def _shown(config: Mapping[str, Any]) -> str:
    """Print the configuration without the folders of the machine."""
    dataset = {k: v for k, v in config.get("dataset", {}).items() if k not in _OF_THE_MACHINE}
    return json.dumps({**config, "dataset": dataset}, indent=2, ensure_ascii=False)
