"""Check of a table of printed metrics: impossible numbers, ranges, and orders that are decided.

Each row is tested by itself (`consistency`, `flags`), and gets the range and the number to quote of
`reported`. Rows of one table are ordered by their ranges where these do not meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.calls import public
from sampled_metrics._base.defaults import (
    CHECKED_METRIC,
    DEFAULT_CONFIDENCE,
    DEFAULT_SHAPE,
    MAX_UNSCORED,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.progress import iterate_with_bar
from sampled_metrics._base.records import Record
from sampled_metrics._base.text import (
    Explanation,
    Parts,
    RightAligned,
    format_interval,
    format_range,
)
from sampled_metrics._base.threads import one_thread
from sampled_metrics.evaluation.results import Results, Row, quantity
from sampled_metrics.intervals.quoting import none_if_nan
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.shapes import (
    BEFORE_LAST,
    NONE,
    describe_caveat,
    describe_shape,
    shape_name,
)
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.consistency import OUTSIDE, Placed, place_exact_metric
from sampled_metrics.printed.flags import (
    BOUNDS,
    Flag,
    flag_arithmetic,
    flag_exact,
    flag_ranks,
    format_numbers,
)
from sampled_metrics.printed.likely import WHY_NOT_QUOTED, quote_likely
from sampled_metrics.printed.popular import (
    ABOUT_POPULAR,
    Popularity,
    popular_range,
    read_popularity,
)
from sampled_metrics.printed.rows import PrintedRow, read_printed
from sampled_metrics.printed.statement import (
    EvaluationSetting,
    PrintedMeans,
    exact_range,
    state_means,
)
from sampled_metrics.ranks import Sampling

_ONE_NUMBER = "One number per row decides no order: print HR@1, HR@5 and HR@10."
_MOST_ORDERS = 20  # decided orders shown of one table
_MEANING_OF_FLAGS = (
    "A flag means that its numbers do not fit together as the table describes them. It does not "
    "say which of them is wrong."
)


@dataclass(frozen=True, eq=False)
class Checked(Record):
    """Flags, range and number to quote of one row.

    Attributes
    ----------
    row, source, data_set, model
        As in the table; rows from 1.
    printed, exact
        Sampled metrics, and metrics over all items, as `HR@10=0.82 NDCG@10=0.59`.
    n_items, n_negatives, n_users, runs, sampling
        As in the table; `sampling` is None for negatives drawn by popularity.
    metric, range_low, range_high, likely, likely_low, likely_high
        An exact metric, with the range and the number to quote that `reported` computes from the
        printed numbers; None if there is no range.
    flags
        Numbers that do not fit together.
    measured, standing
        The measured value of `metric`, if the table has it, and where it lies relative to the
        range.
    placed
        All exact metrics of the row, placed beside their ranges.
    """

    row: int
    source: str
    data_set: str
    model: str
    printed: str
    exact: str
    n_items: int
    n_negatives: int
    n_users: int | None
    runs: int
    sampling: str | None
    metric: str
    range_low: float | None = None
    range_high: float | None = None
    likely: float | None = None
    likely_low: float | None = None
    likely_high: float | None = None
    flags: tuple[Flag, ...] = ()
    measured: float | None = None
    standing: str | None = None
    placed: tuple[Placed, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """Number and names of the row, to be shown."""
        return ", ".join(filter(None, (f"row {self.row}", self.model, self.data_set)))


@dataclass(frozen=True, eq=False)
class Orders(Record):
    """Orders of the rows of one table by an exact metric.

    Attributes
    ----------
    source, data_set
        Source and data set of the table.
    n_pairs
        Number of pairs of rows with a range.
    decided
        Pairs of rows with ranges that do not overlap, the better row first. The ranges have half
        the error, so that two of them hold together.
    """

    source: str
    data_set: str
    n_pairs: int
    decided: tuple[tuple[int, int], ...]


class Checks(Results[Checked]):
    """Rows of a table, each with its range and flags, and the orders that they decide."""

    orders: list[Orders]

    @classmethod
    def with_orders(cls, results: list[Checked], orders: list[Orders], options: _Options) -> Checks:
        """Join the rows and the orders that they decide."""
        checks = cls(results, partial(_format_checks, orders=orders, options=options))
        checks.orders = orders
        return checks

    def rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, its flags as dictionaries."""
        rows = []
        for checked in self:
            row = asdict(checked)
            del row["placed"]
            rows.append(row)
        return rows

    def flat_rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row, its flags as text."""
        rows = self.rows()
        for row, checked in zip(rows, self, strict=True):
            row["flags"] = " | ".join(f"{flag.test}: {flag}" for flag in checked.flags)
        return rows


class _Options(NamedTuple):
    """Options that are the same for every row."""

    measure: Measure
    shape: str
    unscored: float
    confidence: float
    popularity: Popularity | None

    def setting(self, row: PrintedRow, confidence: float) -> EvaluationSetting:
        """Return the facts about the evaluation of a row."""
        return EvaluationSetting(
            n_items=row.n_items,
            n_negatives=row.n_negatives,
            n_users=row.n_users,
            sampling=row.sampling or Sampling.WITHOUT_REPLACEMENT,
            shape=self.shape,
            unscored=self.unscored,
            runs=row.runs,
            confidence=confidence,
        )

    def state_means(self, row: PrintedRow, confidence: float) -> PrintedMeans:
        """State the distributions that the printed numbers of a row allow."""
        return state_means(row.printed, self.setting(row, confidence))


@public()
@one_thread()
def check(
    table: Any,
    metric: str = CHECKED_METRIC,
    *,
    n_items: int | None = None,
    n_negatives: int | None = None,
    shape: str | float = DEFAULT_SHAPE,
    unscored: float = MAX_UNSCORED,
    counts: Any = None,
    power: float = 1.0,
    confidence: float = DEFAULT_CONFIDENCE,
    progress: bool | None = None,
) -> Checks:
    """Check a table of printed sampled metrics for contradictions, and compute ranges and orders.

    A row is flagged if its numbers do not fit together. If its sampled metrics do, it gets the
    range of an exact metric that they allow. Rows of the same source and data set are ordered where
    their ranges do not meet.

    Parameters
    ----------
    table
        A CSV file, a DataFrame, or dictionaries, one row per model. Columns are n_items,
        n_negatives and, if known, n_users, runs (the numbers are means over runs), sampling, model,
        data_set and source_id; one for each sampled metric, such as HR@10, and for each metric over
        all items, such as `exact HR@10`. Numbers as text, such as "0.820", keep their zeros.
    metric
        Exact metric whose range and orders are computed.
    n_items, n_negatives
        For rows without these columns.
    shape
        Assumption about the distribution of true ranks, as for `correct`.
    unscored
        Largest share of users whose held-out item comes last because the recommender does not score
        it; the shape holds for the others. See `reported`.
    counts, power
        For rows with the sampling `popularity`, see `reported`; they have no range without counts.
    confidence
        Nominal coverage of each range.
    progress
        Whether to show a progress bar; by default on a terminal, if tqdm is installed.

    Returns
    -------
    Checks
        A list of `Checked`, one for each row, with its flags, range and number to quote. Its
        attribute `orders` has the decided orders, an `Orders` for each source and data set.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    reported : The range of one printed number.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> about = {"n_items": 3253, "n_negatives": 100, "n_users": 6040}
    >>> checks = check([
    ...     {"model": "A", "HR@5": "0.6913", "HR@10": "0.8245", **about},
    ...     {"model": "B", "HR@5": "0.7886", "HR@10": "0.5538", **about},
    ... ])
    >>> [flag.test for flag in checks[0].flags], [flag.test for flag in checks[1].flags]
    ([], ['bounds'])
    >>> print(checks[1].flags[0].problem)
    among 100 random items the other numbers allow HR@5 from 0.0000 to 0.5539, not 0.7886; or \
HR@10 from 0.7885 to 1.0000, not 0.5538
    """
    check_arguments(metric=metric, shape=shape, confidence=confidence)
    options = _Options(
        measure=parse_measure(metric),
        shape=shape_name(shape),
        unscored=unscored,
        confidence=confidence,
        popularity=read_popularity(counts, power),
    )
    results = []
    wider_ranges = []
    rows = read_printed(table, n_items, n_negatives)
    for row in iterate_with_bar(rows, len(rows), lambda _: 1, "rows", progress):
        checked, wider_range = _check_row(row, options)
        results.append(checked)
        wider_ranges.append(wider_range)
    return Checks.with_orders(results, _decide_orders(results, wider_ranges), options)


def _check_row(row: PrintedRow, options: _Options) -> tuple[Checked, Range | None]:
    """Test one row, and compute its range unless its numbers contradict each other.

    Returns
    -------
    checked
        The row with its flags and range.
    wider_range
        A range for orders, which is wrong half as often, so that the ranges of two rows are both
        right with the confidence (Bonferroni); None if the row has no range, or one that decides
        no order.
    """
    checked = _without_range(row, options.measure)
    are_negatives_popular = row.sampling is None
    if are_negatives_popular:
        return _add_popular_range(checked, row, options), None
    if any(flag.test == BOUNDS for flag in checked.flags):
        return checked, None
    wider_confidence = (1.0 + options.confidence) / 2.0
    try:
        wider_means = options.state_means(row, wider_confidence)
        wider_range = exact_range(wider_means, options.measure)
        means = options.state_means(row, options.confidence)
        allowed = exact_range(means, options.measure)
    except InputError:  # the arguments are valid, so the numbers are not
        if row.n_users is None:  # the sampling error may explain it
            return checked, None
        flag = flag_ranks(row, options.shape)
        return replace(checked, flags=(*checked.flags, flag)), None
    return _add_range(checked, row, means, options.measure, allowed), wider_range


def _without_range(row: PrintedRow, measure: Measure) -> Checked:
    """Describe a row, with the flags of its numbers alone."""
    return Checked(
        row=row.row,
        source=row.source,
        data_set=row.data_set,
        model=row.model,
        printed=" ".join(format_numbers(row.printed)),
        exact=" ".join(format_numbers(row.exact)),
        n_items=row.n_items,
        n_negatives=row.n_negatives,
        n_users=row.n_users,
        runs=row.runs,
        sampling=row.sampling,
        metric=str(measure),
        flags=tuple(flag_arithmetic(row)),
    )


def _add_range(
    checked: Checked, row: PrintedRow, means: PrintedMeans, measure: Measure, allowed: Range
) -> Checked:
    """Add the range of a metric, the number to quote, and the exact metrics beside their ranges."""
    placed = _place_exact_metrics(row, means, measure, allowed)
    measured = next((exact for exact in placed if parse_measure(exact.metric) == measure), None)
    outside = [exact for exact in placed if exact.standing == OUTSIDE]
    flags = checked.flags
    if outside and row.n_users is not None:  # else the sampling error may explain it
        flags = (*flags, flag_exact(row, outside))
    quoted = quote_likely(means, measure, allowed)
    return replace(
        checked,
        range_low=allowed.low,
        range_high=allowed.high,
        likely=none_if_nan(quoted.value),
        likely_low=none_if_nan(quoted.low),
        likely_high=none_if_nan(quoted.high),
        flags=flags,
        measured=None if measured is None else measured.value,
        standing=None if measured is None else measured.standing,
        placed=tuple(placed),
    )


def _add_popular_range(checked: Checked, row: PrintedRow, options: _Options) -> Checked:
    """Add the range of a row among negatives by popularity, if their counts are known."""
    if options.popularity is None:
        return checked
    setting = options.setting(row, options.confidence)
    try:
        allowed = popular_range(row.printed, setting, options.measure, options.popularity)
    except InputError as error:
        error.row = row.row
        raise
    return replace(checked, range_low=allowed.low, range_high=allowed.high)


def _place_exact_metrics(
    row: PrintedRow, means: PrintedMeans, measure: Measure, allowed: Range
) -> list[Placed]:
    """Place the exact metrics of a row beside the ranges that its printed numbers allow.

    The range of one of them, `measure`, is known: `allowed`.
    """
    placed = []
    for name in row.exact:
        exact_measure = parse_measure(name)
        metric_range = allowed
        if exact_measure != measure:
            metric_range = exact_range(means, exact_measure)
        placed.append(place_exact_metric(name, row, metric_range, means.setting.confidence))
    return placed


def _decide_orders(results: list[Checked], wider_ranges: list[Range | None]) -> list[Orders]:
    """Decide orders within each table, by ranges that hold together.

    `wider_ranges` are those of `results`, None for rows without one; tables are rows of the same
    source and data set.
    """
    tables = dict.fromkeys((checked.source, checked.data_set) for checked in results)
    orders = []
    for source, data_set in tables:
        rows = [
            (checked.row, allowed)
            for checked, allowed in zip(results, wider_ranges, strict=True)
            if (checked.source, checked.data_set) == (source, data_set) and allowed is not None
        ]
        orders.append(
            Orders(
                source=source,
                data_set=data_set,
                n_pairs=comb(len(rows), 2),
                decided=tuple(_decided_pairs(rows)),
            )
        )
    return orders


def _decided_pairs(rows: list[tuple[int, Range]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs (better, worse) of numbered rows whose ranges do not overlap."""
    for pair in combinations(rows, 2):
        (worse, lower_range), (better, upper_range) = sorted(pair, key=lambda row: row[1].low)
        if upper_range.low > lower_range.high:
            yield better, worse


def _format_checks(results: list[Checked], orders: list[Orders], options: _Options) -> Parts:
    """Write a table of the rows, their flags, and the orders decided."""
    lines = []
    has_single_numbers = all(" " not in result.printed for result in results)
    if len(results) > 1 and has_single_numbers:
        lines.append(_ONE_NUMBER)
    for result in results:
        lines += [f"{result.name}: {flag}" for flag in result.flags]
    n_flagged = sum(1 for result in results if result.flags)
    lines.append(f"{quantity(len(results), 'row')}, {n_flagged} with a flag.")
    names = {result.row: result.model or f"row {result.row}" for result in results}
    lines += [_format_orders_of_table(each, names) for each in orders if each.n_pairs]
    level = f"{100 * options.confidence:g} %"
    assumption = describe_shape(options.shape, where=BEFORE_LAST)
    lines.append(f"Ranges of {options.measure} over all items at {level}, {assumption}.")
    explanation = _explain_checks(options, has_flags=n_flagged > 0)
    return [list(map(_format_row, results)), "\n".join(lines), explanation]


def _explain_checks(options: _Options, *, has_flags: bool) -> Explanation:
    """Explain the columns of the table, its flags, and what ranges assume."""
    lines = [
        "likely: the number to quote; likely in: its interval about the exact metric; "
        f"-, {WHY_NOT_QUOTED}"
    ]
    if has_flags:
        lines.append(_MEANING_OF_FLAGS)
    if options.shape != NONE:
        lines.append(describe_caveat(options.shape))
    if options.popularity is not None:
        lines.append(f"Rows by popularity: {ABOUT_POPULAR}")
    return Explanation("\n".join(lines))


def _format_row(result: Checked) -> Row:
    """Write one row of the table."""
    row: Row = {"row": str(result.row), "model": result.model, result.metric: RightAligned("-")}
    if result.range_low is not None and result.range_high is not None:
        row[result.metric] = format_range(result.range_low, result.range_high)
    row["likely"] = result.likely
    row["likely in"] = format_interval(result.likely_low, result.likely_high)
    row["measured"] = result.measured
    row["flags"] = ", ".join(flag.test for flag in result.flags)
    return row


def _format_orders_of_table(orders: Orders, names: dict[int, str]) -> str:
    """Write the orders of one table that are decided."""
    pairs = [f"{names[a]} above {names[b]}" for a, b in orders.decided[:_MOST_ORDERS]]
    if len(orders.decided) > _MOST_ORDERS:
        pairs.append("...")
    line = f"{len(orders.decided)} of {quantity(orders.n_pairs, 'order')} decided"
    parts = (orders.source, orders.data_set, line, ", ".join(pairs))
    return f"{': '.join(filter(None, parts))}."
