"""Summarize a run in one line: `python -m sampled_metrics_study.summary results`."""

import csv
import json
import os
import sys
from collections import Counter
from pathlib import Path

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.program import program
from sampled_metrics_study.verdicts import verdict_line


def summary_line(results: Path) -> str:
    """Count the cells of the scorecard by verdict; without a scorecard, name the recommenders.

    Examples
    --------
    >>> summary_line(Path("results/reference"))
    '300 published numbers: 64 must match and do, 215 fit the noise (3 standard errors), 21 follow \
from choices that the paper leaves open, 0 differ'
    """
    card = results / "scorecard.csv"
    if not card.exists():
        names = dict.fromkeys(row["recommender"] for row in _rows(results / "tables/exact.csv"))
        return f"Tables 3 and 4, Figures 5 and 6 of {', '.join(names)}"
    rows = _rows(card)
    verdicts = [row[name] for row in rows for name in ("verdict", "std verdict") if row[name]]
    return verdict_line(Counter(verdicts)).removesuffix(".")


def _rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main(results: Path) -> None:
    """Print the summary, where the page is, and how to activate the environment."""
    page, record = results / "report.html", results / "provenance.json"
    for path in (page, record):
        if not path.exists():
            raise InputError(f"{path} is missing; run the study first: make reproduce")
    line = summary_line(results)
    ranks = json.loads(record.read_text("utf-8"))["ranks"]
    if ranks == "reference":
        line += "; nothing was trained, the ranks are those of the reference run"
    print(f"{line}; open {page}")
    if Path(".venv/bin/activate").exists() and "VIRTUAL_ENV" not in os.environ:
        print("For snakemake and sampled-metrics on the path: source .venv/bin/activate")


if __name__ == "__main__":
    with program():
        main(Path(*sys.argv[1:] or ["results"]))
