"""Read all contents of the page from the files of a run into one dictionary."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.files import read_json, read_table
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.report.audit import agrees, spelled
from sampled_metrics.report.page import pictures
from sampled_metrics.report.page.budget import budget_panel
from sampled_metrics.report.page.cells import exact_metrics, laid_out, read_texts
from sampled_metrics.report.page.embedded import explorer, range_panel
from sampled_metrics.report.page.negatives import negatives_panel
from sampled_metrics.report.page.overview import overview
from sampled_metrics.report.page.story import story, title
from sampled_metrics.report.scorecard import COLUMNS as SCORECARD
from sampled_metrics.report.tables import groups
from sampled_metrics.study.allowed import Allowed
from sampled_metrics.study.cells import COLUMNS
from sampled_metrics.study.config import ALL_FIGURES, ALL_TABLES, FIGURES_OF_DATA, TABLES_OF_DATA

_AUDIT_COLUMNS = ("topic", "reading", "quantity", "value", "published", "reproduces")
_CLAIM_COLUMNS = ("section", "claim", "published", "ours", "verdict", "note")
_EVIDENCE = ["overview", "negatives", "tables", "figures", "claims", "audit", "provenance", "cite"]
_ASSUMED = (
    " The tables below assume draws with replacement (binomial noise), as the paper does, so their "
    "BV and CLS differ slightly."
)
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
    ranges: Path | None = None,
    claims: Path | None = None,
    beyond: Path | None = None,
    negatives: Path | None = None,
) -> dict[str, Any]:
    """Read a run; return the texts, numbers, lists and dictionaries that the page shows.

    Files about the paper's numbers (`scorecard`, `audit`, `claims`) are None for other data; there
    are then only Tables 3 and 4 and Figures 5 and 6. `graph` is the graph of the rules, SVG, and
    `times` the folder of Snakemake's benchmarks, which may be missing. No pair of `beyond`, the
    orders by further methods, need be of this run. `negatives` is the folder of what negatives that
    somebody else drew say.
    """
    users = read_by_name(ranks)
    card = read_texts(scorecard, SCORECARD) if scorecard else None
    cells = {
        number: read_texts(tables / f"table{number}.csv", COLUMNS)
        for number in (TABLES_OF_DATA if card is None else ALL_TABLES)
    }
    figure6 = read_table(figures / "figure6.csv", ["kind", "n_negatives"], ["recommender"])
    exact = tables / "exact.csv"
    origin, jobs = read_json(provenance), _jobs(times)
    run = origin.get("provenance", origin)
    m = config.get("experiment", {}).get("n_negatives", 100)
    kinds = [(entry["name"], entry["kind"]) for entry in config.get("recommenders", [])]
    first = story(users, m, title(run.get("source", {}).get("dataset", "")), kinds)
    numbers = explorer(users, m)
    numbers["start"]["pair"] = first["pair"]
    numbers["ranges"] = range_panel(read_ranges(ranges), list(users)) if ranges else None
    numbers["budget"] = budget_panel(beyond, list(users)) if beyond else None
    parts = ["why", "corrections", *(name for name in ("ranges", "budget") if numbers[name])]
    given = negatives_panel(negatives) if negatives else None
    files = {"negatives": negatives, "claims": claims, "audit": audit}
    absent = [name for name, path in files.items() if path is None]
    version = run["versions"]["sampled-metrics"]
    return {
        "title": "On sampled metrics for item recommendation: the study",
        "byline": "On Sampled Metrics for Item Recommendation (Krichene and Rendle, KDD 2020): "
        f"{'another study' if card is None else 'reproduction'} with sampled-metrics {version}",
        "version": version,
        "story": first,
        "full": True,
        "parts": parts,
        "assumed": _ASSUMED,
        "sections": [*parts, *(name for name in _EVIDENCE if name not in absent)],
        "negatives": given and given | {"name": Path(config["negatives"]).name},
        "claims": read_texts(claims, _CLAIM_COLUMNS).to_dict("records") if claims else [],
        "origin": origin,
        "run": run,
        "facts": list(facts(origin)),
        "verdicts": {} if card is None else card["verdict"].value_counts().to_dict(),
        "tables": [
            laid_out(number, table, card)
            | {"csv": pictures.download(tables / f"table{number}.csv")}
            for number, table in cells.items()
        ],
        "scores": pictures.picture("z", figures) if card is not None else None,
        "exact": exact_metrics(exact) | {"csv": pictures.download(exact)},
        "figures": [
            pictures.picture(number, figures)
            for number in (FIGURES_OF_DATA if card is None else ALL_FIGURES)
        ],
        "audit": _audit(audit) if audit else [],
        "audit_of_reference": audit is not None and "reference" in audit.parts,
        "orders_of_reference": beyond is not None and "reference" in beyond.parts,
        "explorer": numbers,
        "graph": pictures.graph(graph, {_PAGE, *(job["rule"] for job in jobs)}),
        "times": jobs,
        "config": _shown(config),
        "overview": overview(cells, card, figure6, config, users),  # the slowest comes last
    }


def read_ranges(path: Path) -> Iterator[Any]:
    """Read the table of `study.allowed`, row by row."""
    table = read_table(path, Allowed._fields, keep_default_na=False)
    return table.itertuples(index=False, name=None)


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

    Examples
    --------
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
