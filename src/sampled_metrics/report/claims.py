"""The ledger of the paper's claims as a table and as a report."""

from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.report.tables import markdown
from sampled_metrics.study.claims import VERDICTS

_INTRODUCTION = """\
Each sentence of Krichene and Rendle, "On Sampled Metrics for Item Recommendation" (KDD 2020), that
has a number or an order in it, in its own words where they are short enough, beside what it was
measured to be. *published* is the paper's number, or what its printed tables give. Metrics are in
percent, sampled ones in expectation, counts of Table 4 as simulated.

- `holds`: as stated; a sentence that depends on the random start of X or on the draws of negatives
  in at least 95 % of this run and other starts and draws.
- `holds in this run only`: in the published run and in some of ours, but in fewer than 95 %.
- `does not hold`: of what was measured.
- `slip`: a misprint or a wrong word that no number depends on."""


def write_claims(ledger: pd.DataFrame, ranks: str, csv: Path, md: Path) -> None:
    """Write the ledger as CSV, and as Markdown below the number of claims by verdict."""
    write_table(ledger, csv)
    counts = {verdict: int((ledger["verdict"] == verdict).sum()) for verdict in VERDICTS}
    lines = [line for line in counts.items() if line[1]] + [("all", len(ledger))]
    shown = pd.DataFrame(lines, columns=["verdict", "claims"])
    parts = (
        "# Claims of the paper",
        f"Ranks: {ranks}.",
        _INTRODUCTION,
        markdown(shown, decimals=0),
        markdown(ledger.apply(lambda column: column.str.replace("|", "\\|"))),
    )
    write_text(md, "\n\n".join(parts) + "\n")
