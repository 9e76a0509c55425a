"""Results of an evaluation on a budget as people read them: tables, and what they mean."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sampled_metrics._base.text import Parts, Rows, table_of
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.compared import UNDECIDED, Compared

if TYPE_CHECKING:
    from sampled_metrics.inference.budget.folder import Folder
    from sampled_metrics.inference.budget.session import Session

_SOON = 60.0  # seconds; a full ranking that takes less is worth more than any estimate
_UNITS = (("hours", 3600.0), ("minutes", 60.0), ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))


def parts_of(result: BudgetResult, correction: str = "holm") -> Parts:
    """Lay out metrics, orders, price and proxy; see `BudgetResult.compare` for `correction`."""
    interval = f"interval ({100 * result.confidence:g} %)"
    metrics = [
        {
            "recommender": row["recommender"],
            "metric": row["metric"],
            "value": row["value"],
            interval: f"{row['ci_low']:.4f} to {row['ci_high']:.4f}",
        }
        for row in result.rows()
    ]
    tables: list[Rows] = [metrics]
    orders = result.compare(correction)
    if orders:
        tables += orders_table(orders, result.confidence)
    return [*tables, "\n".join(notes(result, orders, correction))]


def orders_table(orders: Sequence[Compared], confidence: float) -> list[Rows]:
    """Show one row for each pair and metric, with the order in words."""
    rows = [
        {
            "a": one.a,
            "b": one.b,
            "metric": one.metric,
            "b - a": one.difference,
            f"interval ({100 * confidence:g} %)": f"{one.range_low:.4f} to {one.range_high:.4f}",
            "order": one.in_words(),
        }
        for one in orders
    ]
    return [rows]


def notes(result: BudgetResult, orders: list[Compared], correction: str) -> Iterator[str]:
    """Say what the numbers are, what they cost, how the proxy fits, and what to do."""
    yield from _meaning(result)
    if orders and not _complete(result):
        pairs, adjusted = len(result.differences), ""
        if pairs > 1 and correction != "none":
            adjusted = f", also corrected for {pairs} pairs ({correction})"
        yield f"order: decided if the interval of b - a excludes 0{adjusted}."
        if any(one.order == UNDECIDED for one in orders):
            yield "  An undecided order needs a larger budget, a better proxy or full rankings."
    several = len(result.names) > 1
    price = ", ".join(
        f"{name + ' ' if several else ''}{asked:.4g}"
        for name, asked in zip(result.names, result.scores_per_user, strict=True)
    )
    mean = result.n_candidates / result.n_users
    yield f"price: {price} scores per user of {mean:,.5g} candidates, held-out items not counted."
    yield from _proxy(result)
    yield from _speed(result)


def _complete(result: BudgetResult) -> bool:
    return min(result.n_asked) == result.n_candidates


def _meaning(result: BudgetResult) -> Iterator[str]:
    users = f"{result.n_users:,} user{'s' * (result.n_users > 1)}"
    if _complete(result):
        yield f"Exact metrics of these {users}, because all candidates were scored. Fractions."
        return
    yield f"Exact metrics of these {users}, estimated on a budget. Fractions."
    both = "value and b - a" if result.differences else "value"
    yield f"{both}: to rank by; the model's, moved only as far as the audit insists."
    yield (
        "interval: of what a full ranking of these users would give, by the audit of "
        f"{result.n_audited:,} of them;\n  other users like these are not covered."
    )


def _proxy(result: BudgetResult) -> Iterator[str]:
    if _complete(result):
        return
    known = [
        f"{name} {depth:,.0f}"
        for name, depth in zip(result.names, result.depth, strict=True)
        if not math.isnan(depth)
    ]
    depth = "; 90 % of the better items lie within its first: " + ", ".join(known) if known else ""
    yield f"proxy: {result.proxy}{depth}."
    if result.trials:
        trials = ", ".join(f"{name} {depth:,.0f}" for name, depth in result.trials)
        yield f"  The pilot expected a depth of {trials}, and took the least."
    unknown = [n for n, depth in zip(result.names, result.depth, strict=True) if math.isnan(depth)]
    if unknown:
        yield (
            f"  {', '.join(unknown)}: too few users were ranked fully to tell whether the proxy "
            "fits;\n  where it hides what they like, the interval is too narrow. "
            "Take a larger budget."
        )
    weak = [name for name, weak in zip(result.names, result.weak, strict=True) if weak]
    if weak:
        yield (
            f"  Weak proxy for {', '.join(weak)}: trust the interval alone, or take another proxy, "
            "a larger\n  budget, or full rankings of some users."
        )


def _speed(result: BudgetResult) -> Iterator[str]:
    seconds = result.full_ranking_seconds
    if not seconds or _complete(result):
        return
    pairs = result.n_candidates + result.n_held_out
    total = duration(sum(seconds))
    if len(seconds) == 1:
        yield f"full ranking: {pairs:,} scores, about {total} at the speed measured."
    else:
        yield f"full rankings: {len(seconds)} x {pairs:,} scores, about {total} in all."
    if sum(seconds) < _SOON:
        yield "  That is soon: rank fully (sampled_metrics.rank), which leaves no error."


def text_so_far(folder: "Folder", session: "Session") -> str:
    """Say what is known after a round, what it cost, and what comes next."""
    several = len(folder.options.names) > 1
    per_user = folder.n_told / folder.problem.user_ids.size / len(folder.options.names)
    lines = [
        f"round {len(folder.answers.checks)}: {folder.n_told:,} of at most {folder.n_allowed:,} "
        f"scores told, {per_user:.4g} per user{' and recommender' * several}."
    ]
    if folder.pending is None:
        return "\n".join([*lines, "complete: `sampled-metrics budget result` prints the result."])
    known = session.so_far()
    if known:
        rows = [{"recommender": name, **values} for name, values in known.items()]
        lines.append("So far, by the model alone, neither audited nor final:")
        lines.append(table_of(rows).rstrip("\n"))
    return "\n".join([*lines, f"{folder.pending.users.size:,} pairs to score next."])


def duration(seconds: float) -> str:
    """Write a time with two digits, in the largest unit that fits.

    Examples
    --------
    >>> duration(0.0042), duration(90), duration(7200)
    ('4.2 ms', '1.5 minutes', '2 hours')
    """
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return "0 s"
