"""Flags of a row of a table of printed metrics: contradictions, and their usual causes.

A flag asks a question. It does not say which number is wrong, nor that anything was done on
purpose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sampled_metrics._base.records import Record
from sampled_metrics._base.text import join_names
from sampled_metrics.intervals.shapes import NONE
from sampled_metrics.printed import consistency
from sampled_metrics.printed.consistency import (
    Contradiction,
    NoShare,
    Placed,
    not_above_random,
)
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics.printed.statement import number_of

GRANULARITY, BOUNDS, RANKS, EXACT = "granularity", "bounds", "ranks", "exact"
_MOST_NAMED = 2  # exact metrics in a message


@dataclass(frozen=True, eq=False)
class Flag(Record):
    """Numbers of a row that do not go together.

    Attributes
    ----------
    test
        The test that failed: granularity, bounds, ranks or exact.
    problem
        The finding, in words.
    causes
        Questions about usual causes.
    """

    test: str
    problem: str
    causes: str

    def __str__(self) -> str:
        return f"{self.problem}. {self.causes}"


def of_arithmetic(row: PrintedRow) -> list[Flag]:
    """Flags of numbers that one set of users cannot have, whatever the ranks are."""
    found = []
    numbers = [*row.printed.items(), *row.exact.items()]
    share = consistency.no_share(numbers, row.n_users, row.runs)
    if share is not None:
        found.append(of_share(share))
    found += [_of_contradiction(one) for one in consistency.contradictions(row)]
    pairs = [
        f"{one.name} is {one.exact} over all items and {one.sampled} among few"
        for one in consistency.higher_over_all(row)
    ]
    if pairs:
        problem = f"{'; '.join(pairs)}: the rank among few items cannot be the worse one"
        causes = "Columns exchanged? Another cut-off? Other users or weights?"
        found.append(Flag(BOUNDS, problem, causes))
    return found


def of_share(found: NoShare) -> Flag:
    """Flag hit rates that are no whole number of users."""
    units = found.n_users * found.runs
    digits = found.decimals + 1
    below = f"{(found.hits - 1) / units:.{digits}f}"
    above = f"{found.hits / units:.{digits}f}"
    who = f"{found.n_users:,} users"
    if found.runs > 1:
        who += f" in {found.runs} runs"
    verb = "is no share" if len(found.numbers) == 1 else "are no shares"
    return Flag(
        test=GRANULARITY,
        problem=(
            f"{join_names(found.numbers)} {verb} of {who}: {found.hits - 1:,} of them are {below}, "
            f"{found.hits:,} are {above}"
        ),
        causes=(
            "A mean over several runs? Another number of users? Several held-out items a user?"
        ),
    )


def _of_contradiction(found: Contradiction) -> Flag:
    """Numbers that contradict each other, and the values that the rest allows."""
    among = "over all items"
    if found.n_negatives is not None:
        among = f"among {found.n_negatives:,} random items"
    problem = f"{among} {join_names(found.numbers)} contradict each other"
    ends = []
    for one in found.allowed:
        _, decimals = number_of(one.name, one.printed)
        span = f"{one.low:.{decimals}f} to {one.high:.{decimals}f}"
        ends.append(f"{one.name} from {span}, not {one.printed}")
    if ends:
        problem = f"{among} the other numbers allow {'; or '.join(ends)}"
    causes = (
        "Columns or rows exchanged? Another cut-off, or a sum that ends there? Another formula?"
    )
    return Flag(BOUNDS, problem, causes)


def of_ranks(row: PrintedRow, shape: str) -> Flag:
    """Sampled metrics that no distribution of true ranks gives."""
    numbers = join_names(pairs_of(row.printed))
    among = f"against {row.n_negatives:,} of {row.n_items:,} items"
    causes = (
        "Another number of negatives or items? Negatives drawn by popularity? Ties counted as hits?"
    )
    if shape == NONE:
        return Flag(RANKS, f"no distribution of true ranks gives {numbers} {among}", causes)
    problem = f"{numbers} {among}: no distribution in which better ranks are likelier gives this"
    low = not_above_random(row.printed, row.n_negatives)
    if low:
        problem += f"; a random order has {join_names(low)}, or more"
        causes = "Held-out items that the model cannot score, ranked last? Another cut-off?"
    return Flag(RANKS, problem, causes)


def of_exact(row: PrintedRow, outside: Sequence[Placed]) -> Flag:
    """Exact metrics outside of the ranges that the sampled ones allow."""
    found = [
        f"{one.metric}={row.exact[one.metric]}, not in {one.low:.4f} to {one.high:.4f}"
        for one in outside[:_MOST_NAMED]
    ]
    if len(outside) > _MOST_NAMED:
        found.append(f"and {len(outside) - _MOST_NAMED} more")
    few = f"the numbers among {row.n_negatives:,} random items allow"
    causes = "Another number of negatives or items? Other weights, users or candidates?"
    sides = {exact.value < exact.low for exact in outside}
    if sides == {True}:
        causes = f"Ties counted as hits among the random items? {causes}"
    elif sides == {False}:
        causes = f"Negatives drawn by popularity? Held-out items without a score? {causes}"
    return Flag(EXACT, f"over all items {'; '.join(found)}, as {few}", causes)


def pairs_of(numbers: Mapping[str, str]) -> list[str]:
    """Write numbers as they are given, such as HR@10=0.82."""
    return [f"{name}={text}" for name, text in numbers.items()]
