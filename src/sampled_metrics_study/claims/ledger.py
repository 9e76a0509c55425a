"""Measure each sentence of the paper that states a number or an order.

`claims.csv` has the sentences. Those about theory and toy recommenders do not depend on a run: the
file has the result, and a test computes it again. For a sentence about X, Y and Z the file names a
method of `Run`, which is applied to this run, to the printed tables and to other starts of X.

`python -m sampled_metrics_study.claims.ledger RUN REFERENCE PAGE` writes the page: RUN is the
folder of a study with the paper's settings, and REFERENCE has the tables of other starts of X.
"""

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_text
from sampled_metrics_study.claims import starts
from sampled_metrics_study.claims.run import Run, comparable_run, printed_run
from sampled_metrics_study.experiment import join_sources, read_ranks_by_name
from sampled_metrics_study.files import read_table, write_table
from sampled_metrics_study.program import program
from sampled_metrics_study.scorecard import SCORECARD
from sampled_metrics_study.tables import (
    TEXT_COLUMNS,
    read_cells,
    read_published,
    read_texts,
    to_markdown,
)

NOT_MEASURED = "not computed in this run, or not with the paper's settings"
HOLDS = "holds"
DEPENDS = "depends on the start"
DOES_NOT_HOLD = "does not hold"
PUBLISHED = Path("config/paper/tables.csv")
OFTEN = 0.95  # a claim holds in general if it holds in this share of the runs
_INTRODUCTION = """\
Each sentence of Krichene and Rendle, "On Sampled Metrics for Item Recommendation" (KDD 2020), that
has a number or an order in it, and one of the article of 2022, in its own words where they are
short, beside what it was measured to be. *published* is the paper's number, or what its printed
tables give. Metrics are in percent. Sampled ones and counts of Table 4 are expectations; a count
of 100 draws scatters around its own by 3 where that is 90, by 5 where it is 50.

- `holds`: as stated; a sentence that depends on the random start of X in at least 95 % of this run
  and of those with other starts.
- `depends on the start`: true of some runs, but of fewer than 95 %; the note says of which.
- `does not hold`: of what was measured.
- `slip`: a misprint or a wrong word that no number depends on.
- `rounding`: roughly right. `cannot be told`: the paper does not say what to measure."""
COLUMNS = ["section", "claim", "published", "ours", "verdict", "note"]


def ledger(run: Run, printed: Run, starts: Iterable[Run]) -> pd.DataFrame:
    """Measure all claims.

    Returns one row per claim, with the columns section, claim, published, ours, verdict and note.
    """
    others = list(starts)
    table = pd.DataFrame([_judge_claim(claim, run, printed, others) for claim in claims()])
    return table.rename(columns={"quote": "claim"})[COLUMNS]


def claims() -> list[dict[str, str]]:
    """Read `claims.csv`."""
    with Path(__file__).with_name("claims.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _judge_claim(
    claim: dict[str, str], run: Run, printed: Run, starts: Sequence[Run]
) -> dict[str, str]:
    """Return the row of a claim, with what the runs say about it.

    Parameters
    ----------
    claim
        Row of `claims.csv`. If it names no measurement, it has its verdict and is returned as it
        stands.
    run
        The run to judge. If any run lacks the numbers, the verdict is `not measured`.
    printed
        The published tables, from which comes the published outcome if the row has none.
    starts
        Runs from other random starts, for claims that vary with the start.
    """
    if not claim["measurement"]:
        return claim
    try:
        return {**claim, **_measure_claim(claim, run, printed, starts)}
    except LookupError:
        return {**claim, "ours": "", "verdict": "not measured", "note": NOT_MEASURED}


def _measure_claim(
    claim: dict[str, str], run: Run, printed: Run, starts: Sequence[Run]
) -> dict[str, str]:
    """Measure a claim; raise LookupError if a run lacks the numbers for it.

    A claim holds in print if the paper states its number (`published`), or else if the published
    tables say so. The verdict on this run is replaced by that over `starts` if the claim varies
    with the start, and by `if_not`, such as `rounding`, if it does not hold.

    Returns
    -------
    dict
        The columns `published`, `ours`, `verdict` and `note`.
    """
    measurement = claim["measurement"]
    holds, ours = run.measure(measurement)
    if claim["published"]:
        holds_in_print, published = True, claim["published"]
    else:
        holds_in_print, published = printed.measure(measurement)
    verdict = _verdict(holds)
    note_on_starts = note_on_print = ""
    if claim["varies_with"]:
        outcomes = [start.measure(measurement)[0] for start in starts]
        verdict, note_on_starts = _judge_over_starts(outcomes, in_print=holds_in_print, holds=holds)
    if holds_in_print != holds and not claim["published"]:
        note_on_print = f"{_verdict(holds_in_print)} in the published tables"
    if claim["if_not"] and not holds:
        verdict = claim["if_not"]
    note = "; ".join(filter(None, [claim["note"], note_on_starts, note_on_print]))
    return {"published": published, "ours": ours, "verdict": verdict, "note": note}


def _verdict(holds: bool) -> str:
    return HOLDS if holds else DOES_NOT_HOLD


def _judge_over_starts(outcomes: Sequence[bool], *, in_print: bool, holds: bool) -> tuple[str, str]:
    """Judge a claim by the share of runs for which it is true; the note says for which.

    Parameters
    ----------
    outcomes
        Whether it is true of each run from another start.
    in_print, holds
        Whether it is true of the published numbers, and of this run.

    Returns
    -------
    verdict, note
    """
    others = f"{sum(outcomes)} of {len(outcomes)} others"
    n_true = sum([holds, *outcomes])
    n_runs = 1 + len(outcomes)
    if n_true == 0:
        return DOES_NOT_HOLD, ""
    if n_true / n_runs >= OFTEN:
        return HOLDS, f"true of {others}"
    true_of = [others]
    if holds:
        true_of.insert(0, "this one")
    if in_print:
        true_of.insert(0, "the published run")
    return DEPENDS, f"true of {', '.join(true_of)}"


def write_claims(ledger: pd.DataFrame, ranks: str, path: Path, md: Path) -> None:
    """Write the ledger as CSV, and as Markdown with the number of claims by verdict."""
    write_table(ledger, path)
    counts = [*ledger["verdict"].value_counts().items(), ("all", len(ledger))]
    parts = (
        "# Claims of the paper",
        f"Ranks: {ranks}.",
        _INTRODUCTION,
        to_markdown(pd.DataFrame(counts, columns=["verdict", "claims"]), decimals=0),
        to_markdown(ledger.apply(lambda column: column.str.replace("|", "\\|"))),
    )
    write_text(md, "\n\n".join(parts) + "\n")


def main() -> None:
    """Write the ledger of claims as a page, and as CSV to the reference run."""
    results, reference, page = map(Path, sys.argv[1:])
    ranks = read_ranks_by_name(sorted(results.glob("ranks/*.parquet")))
    ours = read_cells([results / f"cells/table{number}.csv" for number in (3, 4)])
    card = read_texts(results / "scorecard.csv", SCORECARD).astype({"table": int})
    figure6 = read_table(results / "figures/figure6.csv", ["kind"])
    by_start = read_table(reference / "starts.csv", starts.COLUMNS, TEXT_COLUMNS)
    table = ledger(
        comparable_run(ours, card, ranks, figure6),
        printed_run(read_published(PUBLISHED)),
        [Run(rows) for _, rows in by_start.groupby("start")],
    )
    source = join_sources(records.source for records in ranks.values())
    write_claims(table, source, reference / "claims.csv", page)
    print(*table["verdict"].value_counts().items())


if __name__ == "__main__":
    with program():
        main()
