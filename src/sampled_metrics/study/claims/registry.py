"""Claims: their declaration, and the ledger of all with their verdicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

from sampled_metrics.study.claims.run import Run

VERDICTS = ("holds", "holds in this run only", "does not hold", "slip", "not measured")
COLUMNS = ("section", "claim", "published", "ours", "verdict", "note")
OFTEN = 0.95  # share of runs in which a claim must hold to hold in general


class Finding(NamedTuple):
    """Whether a claim is true of what was measured, and what that was in words and numbers."""

    holds: bool
    measured: str


Measurement: TypeAlias = Callable[..., Finding]


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


CLAIMS: list[Claim] = []


def claim(section: str, quote: str, **options: Any) -> Callable[[Measurement], Measurement]:
    """Declare a claim; decorates its measurement. Options are the attributes of `Claim`."""

    def add(measure: Measurement) -> Measurement:
        CLAIMS.append(Claim(section, quote, measure, **options))
        return measure

    return add


def ledger(run: Run, published: Run, starts: Sequence[Run]) -> pd.DataFrame:
    """Measure every claim on this run, the printed tables, and other starts of X and draws.

    Returns
    -------
    One row per claim with the columns `COLUMNS`, by section. A claim that depends on the start of X
    or on the draws `holds` if it does in at least 95 % of all runs, this one included; `holds in
    this run only` says that it does in fewer, as in the published one. What this run did not
    compute is `not measured`.
    """
    in_order = sorted(CLAIMS, key=lambda claim: _place(claim.section))
    rows = [_row(declared, run, published, starts) for declared in in_order]
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


def _place(section: str) -> tuple[int, ...]:
    """Order sections by their numbers; captions follow the section of their figure or table."""
    of_caption = {
        "Table 1": "3.2", "Table 2": "4.2", "Figure 2": "4.2", "Figure 3": "4.3", "Figure 4": "5.4",
        "Figure 5": "6.1", "Table 3": "6.3", "Figure 6": "6.3", "Table 4": "6.3",
    }  # fmt: skip
    caption = section.removeprefix("Caption of ")
    number, *edition = of_caption.get(caption, section).split()
    parts = [int(part) for part in number.split(".")]
    return (*parts, *[0] * (2 - len(parts)), 2 if caption != section else len(edition))
