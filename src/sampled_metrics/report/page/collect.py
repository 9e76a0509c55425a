"""Read all contents of the page from the files of a run into one dictionary."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.files import read_json, read_table
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.report.audit import agrees, spelled
from sampled_metrics.report.page import pictures
from sampled_metrics.report.page.cells import exact_metrics, laid_out, read_texts
from sampled_metrics.report.page.embedded import explorer
from sampled_metrics.report.page.overview import overview
from sampled_metrics.report.tables import groups
from sampled_metrics.study.cells import COLUMNS
from sampled_metrics.study.config import ALL_FIGURES, ALL_TABLES, FIGURES_OF_DATA, TABLES_OF_DATA

_AUDIT_COLUMNS = ("topic", "reading", "quantity", "value", "published", "reproduces")
_OF_THE_MACHINE = ("archive", "cache", "path")
_PAGE = "page"  # the rule that makes the page


def collect(
    *,
    ranks: Sequence[Path],
    tables: Path,
    figures: Path,
    provenance: Path,
    graph: Path,
    times: Path,
    config: Mapping[str, Any],
    scorecard: Path | None = None,
    audit: Path | None = None,
) -> dict[str, Any]:
    """Read a run; return the texts, numbers, lists and dictionaries that the page shows.

    Parameters
    ----------
    ranks
        Rank records, named by their recommenders.
    tables, figures
        Folders of `table{1..4}.csv` and `exact.csv`, and of `figure{1..6}.svg`, `.pdf`, `.csv`;
        without a scorecard only Tables 3 and 4 and Figures 5 and 6, which depend on the data.
    provenance
        `provenance.json`.
    graph
        The graph of the rules, as `make graph` draws it; SVG.
    times
        Folder of Snakemake's benchmarks, one file per job; it may be missing.
    config
        The configuration.
    scorecard, audit
        Comparison with the paper's numbers and audit of its readings; CSV, None for other data.
    """
    users = read_by_name(ranks)
    card = read_texts(scorecard, ["verdict"]) if scorecard else None
    cells = {
        number: read_texts(tables / f"table{number}.csv", COLUMNS)
        for number in (TABLES_OF_DATA if card is None else ALL_TABLES)
    }
    figure6 = read_table(figures / "figure6.csv", ["kind", "n_negatives"], ["recommender"])
    exact = tables / "exact.csv"
    origin, jobs = read_json(provenance), _jobs(times)
    return {
        "overview": overview(cells, card, figure6, config, users),
        "origin": origin,
        "run": origin.get("provenance", origin),
        "facts": list(facts(origin)),
        "verdicts": {} if card is None else card["verdict"].value_counts().to_dict(),
        "tables": [
            laid_out(number, table, card)
            | {"csv": pictures.download(tables / f"table{number}.csv")}
            for number, table in cells.items()
        ],
        "exact": exact_metrics(exact) | {"csv": pictures.download(exact)},
        "figures": [
            pictures.picture(number, figures)
            for number in (FIGURES_OF_DATA if card is None else ALL_FIGURES)
        ],
        "audit": _audit(audit) if audit else [],
        "audit_of_reference": audit is not None and "reference" in audit.parts,
        "explorer": explorer(users, config),
        "graph": pictures.graph(graph, {_PAGE, *(job["rule"] for job in jobs)}),
        "times": jobs,
        "config": _shown(config),
    }


def _audit(path: Path) -> list[dict[str, Any]]:
    """Readings by topic, each with its rows and whether all of them agree with the paper."""
    table = read_texts(path, _AUDIT_COLUMNS)
    table["ours"] = table["value"].astype(float).map(spelled)
    return [
        {
            "topic": topic,
            "readings": [
                {"name": name, "agrees": agrees(rows), "rows": rows.to_dict("records")}
                for name, rows in groups(of_topic, "reading")
            ],
        }
        for topic, of_topic in groups(table, "topic")
    ]


def facts(record: Mapping[str, Any], within: str = "") -> Iterator[list[tuple[str, Any]]]:
    """Flatten a record of records into groups of names and values.

    >>> list(facts({"ranks": "trained", "seeds": {"X": 0}}))
    [[('ranks', 'trained')], [('seeds: X', 0)]]
    """
    plain = [(within + name, v) for name, v in record.items() if not isinstance(v, Mapping)]
    if plain:
        yield plain
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from facts(value, f"{within}{name}: ")


def _jobs(folder: Path) -> list[dict[str, str]]:
    """Rule, wildcards, seconds and log of each job; the page's own is not finished yet."""
    jobs = []
    for path in sorted(folder.rglob("*.tsv")):
        name = path.relative_to(folder).with_suffix("")
        rule, *wildcards = name.parts
        if rule == _PAGE:
            continue
        seconds = read_table(path, ["s"], sep="\t")["s"].iloc[-1]
        jobs.append(
            {
                "rule": rule,
                "wildcards": " ".join(wildcards),
                "seconds": f"{float(seconds):.1f}",
                "log": f"logs/{name.as_posix()}.log",
            }
        )
    return jobs


def _shown(config: Mapping[str, Any]) -> str:
    """Return the configuration as JSON, without paths on this machine."""
    dataset = {k: v for k, v in config.get("dataset", {}).items() if k not in _OF_THE_MACHINE}
    return json.dumps({**config, "dataset": dataset}, indent=2, ensure_ascii=False)
