"""Evaluate printed sampled metrics: the atlas, and a page with its counts.

Reads docs/atlas/literature.csv and writes docs/atlas.html and docs/measured/literature.md.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.markdown import markdown
from sampled_metrics._base.files import write_text
from sampled_metrics.intervals.quoting import TOO_WIDE
from sampled_metrics.printed.check import Checked, Checks, Orders, check
from sampled_metrics.printed.consistency import INSIDE, OUTSIDE, WITHIN_ERROR
from sampled_metrics.printed.reported import reported
from sampled_metrics.printed.rows import PrintedRow, read_printed
from sampled_metrics_study.page.atlas import KINDS, METRICS_BY_PREFERENCE, atlas

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs/atlas/literature.csv"
FEWEST = 2  # printed numbers that the number to quote needs
START = "s3rec.amazon-beauty-5-core.sasrec"  # the example of README
HEAD = """# Atlas of printed numbers

Sampled metrics printed in papers and repositories, and what they allow over all items
([method](../reported.md)). `make measure PAGE=literature` writes this page and the atlas from
[literature.csv](../atlas/literature.csv), which has the place of every number, n, m, and how they
are known. Only numbers seen in a named source are in it; [sources.csv](../atlas/sources.csv) says
of each source whether it is a paper, a log of a paper's authors, a reproduction or another source,
and how that is known. A range holds at 95 % and assumes that before the last rank none is likelier
than a better one.

<iframe class="atlas" src="../atlas.html" title="Atlas of printed numbers"
loading="lazy"></iframe>

The [atlas](../atlas.html) on a page of its own.

"""


def main() -> None:
    """Write both pages."""
    rows = read_printed(TABLE)
    checks = check(TABLE)
    write_text(ROOT / "docs/atlas.html", atlas(rows, checks, START))
    parts = (
        summary_text(checks),
        kinds_text(rows),
        likely_text(rows),
        outside_text(rows, checks),
        no_range_text(rows, checks),
        tables_text(checks),
    )
    write_text(ROOT / "docs/measured/literature.md", HEAD + "\n".join(parts))


def summary_text(checks: Checks) -> str:
    """Count rows, exact metrics by their position in ranges, and decided orders."""
    sources = len({checked.source for checked in checks})
    data_sets = len({checked.data_set for checked in checks})
    counts = Counter(exact.standing for checked in checks for exact in checked.placed)
    decided = sum(len(orders.decided) for orders in checks.orders)
    pairs = sum(orders.n_pairs for orders in checks.orders)
    both, right = count_right_orders(checks)
    return (
        f"{len(checks)} rows of {sources} sources and {data_sets} data sets. Of "
        f"{counts.total()} exact metrics that were measured too, {counts[INSIDE]} lie inside of "
        f"their ranges, {counts[WITHIN_ERROR]} more within their own rounding and sampling error, "
        f"and {counts[OUTSIDE]} [outside](#outside-of-the-range). What was printed decides "
        f"{decided} of {pairs:,} orders by HR@10 within a table. Of those, {both} have an exact "
        f"HR@10 of both rows, and {right} of them the decided order.\n"
    )


def kinds_text(rows: list[PrintedRow]) -> str:
    """Tabulate sources, rows and boards, and how often the winner changes, by kind of source."""
    boards = defaultdict(list)
    for row in rows:
        boards[row.source, row.data_set, row.n_negatives].append(row)
    changes: dict[str, list[bool]] = defaultdict(list)
    for board in boards.values():
        is_other = winner_changes(board)
        if is_other is not None:
            changes[board[0].details["kind"]].append(is_other)
    lines = []
    for kind in KINDS:
        rows_of_kind = [row for row in rows if row.details["kind"] == kind]
        lines.append(
            {
                "kind of source": kind,
                "sources": str(len({row.source for row in rows_of_kind})),
                "rows": str(len(rows_of_kind)),
                "measured over all items too": str(sum(bool(row.exact) for row in rows_of_kind)),
                "boards": str(len(changes[kind])),
                "other winner": str(sum(changes[kind])),
            }
        )
    about = (
        "A board is three rows or more of one source, data set and m that have the same metric "
        "against random items and over all items. Of its models, the winner against random items "
        "is another one than over all items in the number of boards in the last column. No test "
        "says which of these winners would win again.\n\n"
    )
    return "## Sources\n\n" + about + markdown(lines)


def winner_changes(board: list[PrintedRow]) -> bool | None:
    """Return whether another row is best over all items; None for less than three rows."""
    for metric in METRICS_BY_PREFERENCE:
        both = [row for row in board if metric in row.printed and metric in row.exact]
        if len(both) >= 3:
            winners = []
            for values in ([row.printed for row in both], [row.exact for row in both]):
                numbers = [float(row_values[metric]) for row_values in values]
                winners.append({i for i, x in enumerate(numbers) if x == max(numbers)})
            return not winners[0] & winners[1]
    return None


def likely_text(rows: Sequence[PrintedRow]) -> str:
    """Compare numbers to quote with exact metrics, for rows with two or more printed numbers."""
    ratios = []
    inside = []
    n_exact = 0
    for row in rows:
        exact = {name: float(value) for name, value in row.exact.items() if float(value) > 0.0}
        if row.sampling is None or len(row.printed) < FEWEST or not exact:
            continue
        estimates = reported(
            row.printed,
            list(exact),
            n_items=row.n_items,
            n_negatives=row.n_negatives,
            n_users=row.n_users,
            runs=row.runs,
            sampling=str(row.sampling),
        )
        n_exact += len(exact)
        for value, estimate in zip(exact.values(), estimates, strict=True):
            if estimate.likely is not None and estimate.likely_low is not None:
                ratios.append(estimate.likely / value)
                inside.append(estimate.likely_low <= value <= (estimate.likely_high or 1.0))
    low, half, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    spread = np.sqrt(np.square(np.log(ratios)).mean())
    return (
        f"## The number to quote\n\nOf {n_exact} exact metrics of rows with two or more printed "
        f"numbers, {len(ratios)} have a number to quote; the others have an interval {TOO_WIDE}, "
        f"or a printed number no better than a random order. It is {half:.2f} times the exact "
        f"metric in the median, {low:.2f} to {high:.2f} times in 80 % of them; the root mean "
        f"square of the logarithm is {spread:.2f}. Its interval holds the exact metric in "
        f"{np.mean(inside):.0%} of them.\n"
    )


def count_right_orders(checks: Checks) -> tuple[int, int]:
    """Count decided orders of rows with exact values, and how many of them are right."""
    exact = {}
    for checked in checks:
        if checked.measured is not None:
            exact[checked.row] = checked.measured
    both = 0
    right = 0
    for orders in checks.orders:
        for better, worse in orders.decided:
            if better in exact and worse in exact:
                both += 1
                right += exact[better] > exact[worse]
    return both, right


def outside_text(rows: list[PrintedRow], checks: Checks) -> str:
    """Tabulate exact metrics outside of their ranges, with the cause if it is known."""
    lines = []
    for row, checked in zip(rows, checks, strict=True):
        outside_values = [exact for exact in checked.placed if exact.standing == OUTSIDE]
        if outside_values:
            values = [
                f"{exact.metric} {row.exact[exact.metric]} ({exact.low:.4f} to {exact.high:.4f})"
                for exact in outside_values
            ]
            lines.append(
                {
                    "source": row.source,
                    "data": row.data_set,
                    "model": row.model,
                    "measured (range)": "<br>".join(values),
                    "in the source": row.details.get("cause", ""),
                }
            )
    about = "Measured values that lie outside by more than their own error, with their ranges.\n\n"
    return "## Outside of the range\n\n" + about + markdown(lines)


def no_range_text(rows: list[PrintedRow], checks: Checks) -> str:
    """Tabulate rows without a range, with the reason."""
    lines = []
    for row, checked in zip(rows, checks, strict=True):
        if checked.range_low is None:
            reason = "drawn by popularity"
            if row.sampling is not None:
                reason = row.details.get("cause", "")
            lines.append(
                {
                    "source": row.source,
                    "data": row.data_set,
                    "model": row.model,
                    "printed": checked.printed,
                    "in the source": reason,
                }
            )
    about = (
        "Negatives drawn by popularity allow no range. Of other rows, the numbers do not fit the "
        "assumption: held-out items that a model cannot score, ranked last, are a usual cause.\n\n"
    )
    return "## No range\n\n" + about + markdown(lines)


def tables_text(checks: Checks) -> str:
    """Tabulate the sizes of all tables, and list the rows of each data set."""
    by_data: dict[str, list[Checked]] = {}
    for checked in checks:
        by_data.setdefault(checked.data_set, []).append(checked)
    by_table: dict[tuple[str, str], list[Checked]] = {}
    for checked in checks:
        by_table.setdefault((checked.source, checked.data_set), []).append(checked)
    parts = [
        "## Tables\n",
        "Times: the upper end of the range of HR@10 by the lower one, in the median row. Decided: "
        "orders by HR@10.\n",
        markdown([table_row(o, by_table[o.source, o.data_set]) for o in checks.orders]),
        "## By data set\n",
    ]
    for data in sorted(by_data):
        rows = by_data[data]
        number = f"{len(rows)} rows" if len(rows) > 1 else "1 row"
        table = markdown([result_row(checked) for checked in rows])
        indented = "".join(f"    {line}\n" for line in table.splitlines())
        parts.append(f'??? "{data}: {number}"\n\n{indented}')
    return "\n".join(parts)


def table_row(orders: Orders, rows: list[Checked]) -> dict[str, str]:
    """Return a row on a table: its size, what it printed, and what this decides."""
    times = []
    for row in rows:
        if row.range_low and row.range_high:
            times.append(row.range_high / row.range_low)
    first = rows[0]
    return {
        "source": orders.source,
        "data": orders.data_set,
        "rows": str(len(rows)),
        "n": f"{first.n_items:,}",
        "m": str(first.n_negatives),
        "printed": " ".join(pair.partition("=")[0] for pair in first.printed.split()),
        "times": f"{median(times):.0f}" if times else "",
        "decided": f"{len(orders.decided)} of {orders.n_pairs}",
    }


def result_row(checked: Checked) -> dict[str, str]:
    """Return a row on one result."""
    allowed = "-"
    if checked.range_low is not None and checked.range_high is not None:
        allowed = f"{checked.range_low:.3f} to {checked.range_high:.3f}"
    measured = dict(pair.split("=") for pair in checked.exact.split()).get("HR@10", "")
    return {
        "source": checked.source,
        "model": checked.model,
        "m": str(checked.n_negatives),
        "printed": checked.printed,
        "HR@10 of all items": allowed,
        "measured": measured,
    }


if __name__ == "__main__":
    main()
