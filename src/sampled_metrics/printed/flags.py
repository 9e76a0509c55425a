"""Flags of a row of a table of printed metrics: contradictions in words, with usual causes.

A flag says that numbers do not fit together. It does not say which of them is wrong, nor that
anything was done on purpose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sampled_metrics._base.records import Record
from sampled_metrics._base.text import join_names
from sampled_metrics.intervals.shapes import NONE
from sampled_metrics.printed.consistency import (
    Contradiction,
    ImpossibleShares,
    Placed,
    find_contradictions,
    find_exact_above_sampled,
    find_impossible_shares,
    not_above_random,
)
from sampled_metrics.printed.rows import PrintedRow
from sampled_metrics.printed.statement import parse_number

GRANULARITY, BOUNDS, RANKS, EXACT_RANGE = "granularity", "bounds", "ranks", "exact"
_MOST_EXACT_NAMED = 2  # exact metrics in a message


@dataclass(frozen=True, eq=False)
class Flag(Record):
    """Numbers of a row that do not fit together.

    Attributes
    ----------
    test
        The test that failed: granularity, bounds, ranks or exact.
    problem
        What was found, in words.
    causes
        Questions about usual causes.
    """

    test: str
    problem: str
    causes: str

    def __str__(self) -> str:
        return f"{self.problem}. {self.causes}"


def flag_arithmetic(row: PrintedRow) -> list[Flag]:
    """Flag numbers that one set of users cannot have, whatever the ranks are."""
    flags = []
    numbers = [*row.printed.items(), *row.exact.items()]
    shares = find_impossible_shares(numbers, row.n_users, row.runs)
    if shares is not None:
        flags.append(flag_shares(shares))
    flags += [_flag_contradiction(contradiction) for contradiction in find_contradictions(row)]
    pairs = [
        f"{metric.name} is {metric.exact} over all items and {metric.sampled} among few"
        for metric in find_exact_above_sampled(row)
    ]
    if pairs:
        problem = f"{'; '.join(pairs)}: the rank among few items cannot be the worse one"
        causes = "Columns exchanged? Another cut-off? Other users or weights?"
        flags.append(Flag(BOUNDS, problem, causes))
    return flags


def flag_shares(shares: ImpossibleShares) -> Flag:
    """Flag hit rates that are not a whole number of hits, with the nearest rates that are."""
    user_runs = shares.n_users * shares.runs
    digits = shares.decimals + 1  # one more than printed
    rate_below = f"{(shares.hits - 1) / user_runs:.{digits}f}"
    rate_above = f"{shares.hits / user_runs:.{digits}f}"
    users = f"{shares.n_users:,} users"
    if shares.runs > 1:
        users += f" in {shares.runs} runs"
    a_share = "a share" if len(shares.numbers) == 1 else "shares"
    return Flag(
        test=GRANULARITY,
        problem=(
            f"{join_names(shares.numbers)} cannot be {a_share} of {users}: {shares.hits - 1:,} of "
            f"them are {rate_below}, {shares.hits:,} are {rate_above}"
        ),
        causes=(
            "A mean over several runs? Another number of users? Several held-out items a user?"
        ),
    )


def _flag_contradiction(contradiction: Contradiction) -> Flag:
    """Flag numbers that contradict each other, with the values that the others allow."""
    among = "over all items"
    if contradiction.n_negatives is not None:
        among = f"among {contradiction.n_negatives:,} random items"
    allowed_texts = []
    for allowed in contradiction.allowed:
        _, decimals = parse_number(allowed.name, allowed.printed)
        span = f"{allowed.low:.{decimals}f} to {allowed.high:.{decimals}f}"
        allowed_texts.append(f"{allowed.name} from {span}, not {allowed.printed}")
    if allowed_texts:
        problem = f"{among} the other numbers allow {'; or '.join(allowed_texts)}"
    else:
        problem = f"{among} {join_names(contradiction.numbers)} contradict each other"
    causes = (
        "Columns or rows exchanged? Another cut-off, or a sum that ends there? Another formula?"
    )
    return Flag(BOUNDS, problem, causes)


def flag_ranks(row: PrintedRow, shape: str) -> Flag:
    """Flag sampled metrics that no distribution of true ranks gives."""
    numbers = join_names(format_numbers(row.printed))
    among = f"against {row.n_negatives:,} of {row.n_items:,} items"
    causes = (
        "Another number of negatives or items? Negatives drawn by popularity? Ties counted as hits?"
    )
    if shape == NONE:
        return Flag(RANKS, f"no distribution of true ranks gives {numbers} {among}", causes)
    problem = f"{numbers} {among}: no distribution in which better ranks are likelier gives this"
    names_not_above_random = not_above_random(row.printed, row.n_negatives)
    if not names_not_above_random:
        return Flag(RANKS, problem, causes)
    return Flag(
        test=RANKS,
        problem=f"{problem}; a random order has {join_names(names_not_above_random)}, or more",
        causes="Held-out items that the model cannot score, ranked last? Another cut-off?",
    )


def flag_exact(row: PrintedRow, outside: Sequence[Placed]) -> Flag:
    """Flag exact metrics outside of the ranges that the sampled ones allow.

    Causes depend on whether all of them are below their ranges, or all above.
    """
    texts = [
        f"{placed.metric}={row.exact[placed.metric]}, not in {placed.low:.4f} to {placed.high:.4f}"
        for placed in outside[:_MOST_EXACT_NAMED]
    ]
    if len(outside) > _MOST_EXACT_NAMED:
        texts.append(f"and {len(outside) - _MOST_EXACT_NAMED} more")
    allowed_by = f"the numbers among {row.n_negatives:,} random items allow"
    causes = "Another number of negatives or items? Other weights, users or candidates?"
    are_below = [placed.value < placed.low for placed in outside]
    if all(are_below):
        causes = f"Ties counted as hits among the random items? {causes}"
    elif not any(are_below):
        causes = f"Negatives drawn by popularity? Held-out items without a score? {causes}"
    return Flag(EXACT_RANGE, f"over all items {'; '.join(texts)}, as {allowed_by}", causes)


def format_numbers(numbers: Mapping[str, str]) -> list[str]:
    """Write numbers as they were printed, such as HR@10=0.82."""
    return [f"{name}={text}" for name, text in numbers.items()]
