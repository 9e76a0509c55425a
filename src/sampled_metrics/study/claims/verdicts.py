"""All claims with their verdicts."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from inspect import signature

import pandas as pd

from sampled_metrics.study.claims.registry import MEASUREMENTS, Measurement
from sampled_metrics.study.claims.run import Run

VERDICTS = ("holds", "holds in this run only", "does not hold", "slip", "not measured")
COLUMNS = ("section", "claim", "published", "ours", "verdict", "note")
OFTEN = 0.95  # share of runs in which a claim must hold to hold in general


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper with a number or an order in it."""

    section: str
    """Section, caption or footnote."""
    quote: str
    """The words that make the claim."""
    measure: Measurement
    """Takes a `Run` where the claim is about the recommenders X, Y and Z, else nothing."""
    published: str = ""
    """The paper's number; empty where the measurement of the published tables says it."""
    note: str = ""
    """What a vague word is taken to mean, or what else is to be said."""
    of_run: bool = False
    """Whether the claim is about X, Y and Z."""
    varies: bool = False
    """Whether it depends on the start of X or on the draws."""
    is_slip: bool = False
    """Whether it is a misprint or a wrong word that no number depends on, if it does not hold."""


def _read() -> Iterator[Claim]:
    """Yield the claims of `claims.csv`, by section; a caption follows that of its figure."""
    text = files("sampled_metrics.study.claims").joinpath("claims.csv").read_text("utf-8")
    for row in csv.DictReader(text.splitlines()):
        measure = MEASUREMENTS[row["measurement"]]
        yield Claim(
            *(row["section"], row["quote"], measure, row["published"], row["note"]),
            of_run=bool(signature(measure).parameters),
            varies=row["varies_with"] != "",
            is_slip=row["if_not"] == "slip",
        )


CLAIMS = list(_read())


def ledger(run: Run, published: Run, starts: Sequence[Run]) -> pd.DataFrame:
    """Measure every claim on this run, the printed tables, and other starts of X and draws.

    Returns
    -------
    One row per claim with the columns `COLUMNS`, by section. A claim that depends on the start of X
    or on the draws `holds` if it does in at least 95 % of all runs, this one included; `holds in
    this run only` says that it does in fewer, as in the published one. What this run did not
    compute is `not measured`.
    """
    rows = [_row(claim, run, published, starts) for claim in CLAIMS]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(claim: Claim, run: Run, published: Run, starts: Sequence[Run]) -> tuple[str, ...]:
    printed, notes = claim.published, [claim.note]
    try:
        holds, ours = claim.measure(run) if claim.of_run else claim.measure()
        if claim.of_run and not printed:
            in_print, printed = claim.measure(published)
            if in_print != holds:
                notes.append(f"{VERDICTS[0] if in_print else VERDICTS[2]} in the published tables")
        verdict = VERDICTS[0] if holds else VERDICTS[2]
        if claim.varies:
            count = sum(claim.measure(start).holds for start in starts)
            share = (count + holds) / (len(starts) + 1)
            verdict = VERDICTS[0 if share >= OFTEN else 1 if share else 2]
            if share:
                notes.append(f"in {count} of {len(starts)} other starts and draws")
    except LookupError:
        words = (claim.section, claim.quote, printed, "")
        return (*words, VERDICTS[4], "not computed in this run")
    if claim.is_slip and not holds:
        verdict = VERDICTS[3]
    return (claim.section, claim.quote, printed, ours, verdict, "; ".join(filter(None, notes)))
