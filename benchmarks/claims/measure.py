"""Measure every sentence of the paper that has a number in it; `make claims` writes the page.

measure.py RUN REFERENCE PAGE, of which RUN is the folder of a study with the paper's settings, and
REFERENCE has the tables of other starts of X.
"""

import sys
from pathlib import Path

from benchmarks.claims import ledger, run, starts
from sampled_metrics._base.files import read_table
from sampled_metrics.study import cells
from sampled_metrics.study.reading import read_by_name, sources
from sampled_metrics.study.scorecard import SCORECARD

PUBLISHED = Path("config/paper/tables.csv")


def main() -> None:
    """Write the ledger of claims as a page, and as CSV to the reference run."""
    results, reference, page = map(Path, sys.argv[1:])
    ranks = read_by_name(sorted(results.glob("ranks/*.parquet")))
    ours = cells.read_cells([results / f"cells/table{number}.csv" for number in (3, 4)])
    card = cells.read_texts(results / "scorecard.csv", SCORECARD).astype({"table": int})
    figure6 = read_table(results / "figures/figure6.csv", ["kind"])
    by_start = read_table(reference / "starts.csv", starts.COLUMNS, cells.TEXTS)
    found = ledger.ledger(
        run.comparable_run(ours, card, ranks, figure6),
        run.printed_run(cells.read_published(PUBLISHED)),
        [run.Run(rows) for _, rows in by_start.groupby("start")],
    )
    source = sources(records.source for records in ranks.values())
    ledger.write_claims(found, source, reference / "claims.csv", page)
    print(*found["verdict"].value_counts().items())


if __name__ == "__main__":
    main()
