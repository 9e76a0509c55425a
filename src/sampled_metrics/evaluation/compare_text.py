"""What comparisons print: verdicts on single pairs, and tables of all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import floor, isnan
from operator import attrgetter
from typing import TYPE_CHECKING

from sampled_metrics._base.defaults import QUOTED_ESTIMATOR
from sampled_metrics._base.text import (
    Bold,
    Explanation,
    Parts,
    RightAligned,
    TableRows,
    format_number,
    format_range,
)
from sampled_metrics.evaluation.acts_like import ActsLike
from sampled_metrics.evaluation.results import (
    EXACT,
    OTHER_WAYS,
    UNDECIDED,
    Row,
    describe_rankings,
    quantity,
    quantity_range,
)
from sampled_metrics.evaluation.strata import (
    ABOUT_STRATA,
    ANY_TASTES,
    SMOOTH_TASTES,
    describe_tastes,
)
from sampled_metrics.intervals.shapes import MOST_FACTOR, NONE, describe_shape
from sampled_metrics.metrics.measures import parse_measure

if TYPE_CHECKING:
    from sampled_metrics.evaluation.compare import Compared
    from sampled_metrics.evaluation.correct import Estimates
    from sampled_metrics.intervals.ranges import Range

_MANY_USERS = 10_000_000  # larger numbers of users are written as more than this
_MOST_ROWS = 30  # in a table of pairs and metrics; more are in a row for each pair
PROVES_LITTLE = 2.0  # an order that holds up to a smaller factor
_SIGNS = {"a": ">", "b": "<", UNDECIDED: "?"}
_ABOUT_SIGNS = "<, >: b or a has the higher exact metric; ?: undecided. JSON and CSV say more."
_ABOUT_FACTORS = (
    "holds up to: the order is wrong only if some rank near the top is at least this many times as "
    "likely as a better one. Sampled ranks cannot show whether it is. Below 2, the order proves "
    "little."
)


def better_first(result: Compared, order: str) -> tuple[str, str]:
    """Return the names of a pair, the better recommender by this order first."""
    if order == "b":
        return result.b, result.a
    return result.a, result.b


def order_in_words(result: Compared) -> str:
    """Describe a decided order in a table, such as B above A."""
    if result.order == UNDECIDED:
        return UNDECIDED
    return Bold(" above ".join(better_first(result, result.order)))


def is_above(result: Compared, order: str) -> str:
    """Describe an order in a sentence, such as B is above A."""
    return " is above ".join(better_first(result, order))


def exact_verdict(result: Compared) -> str:
    """Describe the order by full rankings, or how many users would decide it."""
    if result.order != UNDECIDED:
        return is_above(result, result.order)
    undecided = f"undecided with {quantity(result.n_users, 'user')}"
    if result.users_needed is None:
        return undecided
    if result.users_needed > _MANY_USERS:
        return f"{undecided}; more than {_MANY_USERS:,} would be needed"
    return f"{undecided}; about {result.users_needed:,} would do"


def sampled_verdict(result: Compared, range_a: Range, range_b: Range) -> str:
    """Describe the order of the exact metrics, or what the sampled ranks say if it is undecided."""
    if result.order != UNDECIDED:
        return f"{is_above(result, result.order)}{_factor_condition(result)}"
    uniform = "uniform " if result.tastes is None else ""
    negatives = f"{result.n_negatives:,} {uniform}negatives leave"
    if result.n_negatives == 1:
        negatives = f"1 {uniform}negative leaves"
    ranges = (
        f"undecided: {negatives} {result.metric} "
        f"between {range_a.low:.3f} and {range_a.high:.3f} for {result.a} and "
        f"between {range_b.low:.3f} and {range_b.high:.3f} for {result.b}"
    )
    if isnan(result.difference) or result.tastes is not None:
        return ranges
    where = ActsLike.from_rank(result.metric, result.acts_like, result.n_items or 0).phrase
    if result.order_of_estimates == UNDECIDED:
        return f"{ranges}; not distinguishable {where} either"
    return f"{ranges}; {is_above(result, result.order_of_estimates)} {where}"


def _factor_condition(result: Compared) -> str:
    """Say how likely some rank would have to be for a decided order to be wrong."""
    factor = result.holds_up_to
    if factor is None or parse_measure(result.metric).metric.needs_candidates:
        return ""
    times = "likelier than"
    if factor >= 1.1:  # a smaller factor would be written as 1.0
        times = f"{_format_factor(factor)} times as likely as"
    condition = f", unless some rank near the top is {times} a better one"
    if factor < PROVES_LITTLE:
        return f"{condition}; this proves little"
    return condition


def _format_factor(factor: float) -> str:
    """Write a factor that an order holds up to."""
    if factor >= MOST_FACTOR:
        return f"more than {factor:.2g}"
    if factor < 9.95:  # rounded down, because the order may not hold for a larger factor
        return f"{floor(10.0 * factor + 1e-9) / 10.0:.1f}"
    return f"{factor:.0f}"


def order_parts(
    results: list[Compared],
    *,
    confidence: float,
    correction: str,
    notes: list[str],
    shape: str | float = NONE,
    estimates: Mapping[str, Estimates] | None = None,
) -> Parts:
    """Return a table of orders, lines about it, and the ranges and estimates of sampled ranks.

    `estimates` are those of the recommenders by name, empty or None for full rankings.
    """
    # The first result of each pair and metric; all estimators have the same order.
    by_pair = groupby(results, key=attrgetter("a", "b", "metric"))
    pairs = [next(group) for _, group in by_pair]
    is_long = len(pairs) > _MOST_ROWS
    rule = _describe_rule(pairs, correction, "range" if estimates else "interval")
    if estimates:
        rule += f", {_describe_assumptions(pairs, shape)}"
    elif not is_long and any(map(_needs_users, pairs)):
        rule += "; in brackets, the number of users that would decide it"
    lines = [f"{rule}.", *notes]
    if is_long:
        lines = [_ABOUT_SIGNS, *lines]
        rows = _sign_rows(pairs)
    else:
        has_factors = any(pair.holds_up_to is not None for pair in pairs)
        rows = [_order_row(pair, confidence, has_factors) for pair in pairs]
    parts: list[TableRows | str] = [rows, "\n".join(lines)]
    if estimates:
        parts += _sample_parts(results, estimates, is_long)
    explained = _explain(pairs, estimates)
    if explained:
        parts.append(Explanation("\n".join(explained)))
    return parts


def _describe_assumptions(pairs: list[Compared], shape: str | float) -> str:
    """Say which true ranks, and which tastes for popularity, the ranges of sampled ranks allow."""
    tastes = {pair.tastes for pair in pairs if pair.tastes is not None}
    if not tastes:
        return describe_shape(shape)
    weakest = ANY_TASTES if ANY_TASTES in tastes else SMOOTH_TASTES
    return f"{describe_shape(shape)}, {describe_tastes(weakest)}"


def _sample_parts(
    results: list[Compared], estimates: Mapping[str, Estimates], is_long: bool
) -> list[TableRows | str]:
    """Return a table of the ranges of sampled ranks, with the estimates if there are few rows."""
    if is_long:
        heading = "Ranges of the exact metrics (`correct` prints the estimates):"
        return [heading, _range_rows(estimates)]
    heading = "Ranges of the exact metrics, and estimates, which may be ordered otherwise"
    if any(result.estimator == QUOTED_ESTIMATOR for result in results):
        heading += f" ({QUOTED_ESTIMATOR} in: its interval)"
    return [f"{heading}:", _estimate_rows(estimates)]


def _explain(pairs: list[Compared], estimates: Mapping[str, Estimates] | None) -> list[str]:
    """Return the lines that explain how to read the table, and how to decide more orders."""
    lines = []
    if any(pair.holds_up_to is not None for pair in pairs):
        lines.append(_ABOUT_FACTORS)
    if estimates:
        samples = [single.ranks for single in estimates.values()]
        lines.append(describe_rankings(samples, ordered=True))
        if any(pair.tastes is not None for pair in pairs):
            lines += ABOUT_STRATA
        if any(pair.order == UNDECIDED for pair in pairs):
            lines += ["`plan` computes how many negatives decide an order.", OTHER_WAYS]
    return lines


def _order_row(pair: Compared, confidence: float, has_factors: bool) -> Row:
    """Return the row of a pair and a metric, with the column of factors if any pair has one."""
    order = order_in_words(pair)
    if _needs_users(pair):
        order += f" ({pair.users_needed:,})"
    values = {}
    if pair.estimator == EXACT:
        values = {"value_a": pair.value_a, "value_b": pair.value_b}
    factor = {}
    if has_factors:
        factor = {"holds up to": RightAligned(_holds_up_to_in_words(pair))}
    return {
        "a": pair.a,
        "b": pair.b,
        "metric": pair.metric,
        **values,
        f"b - a ({100 * confidence:g} %)": format_range(pair.range_low, pair.range_high),
        "order": order,
        **factor,
    }


def _needs_users(result: Compared) -> bool:
    """Return whether an order is undecided, and few enough users would decide it to say so."""
    return result.users_needed is not None and result.users_needed <= _MANY_USERS


def _holds_up_to_in_words(result: Compared) -> str:
    """Write the factor up to which a decided order holds."""
    if result.holds_up_to is None:
        return ""
    if parse_measure(result.metric).metric.needs_candidates:
        return "any"
    return _format_factor(result.holds_up_to)


def _sign_rows(pairs: list[Compared]) -> list[Row]:
    """Return a row for each pair, with a sign for its order by each metric."""
    rows: dict[tuple[str, str], Row] = {}
    for result in pairs:
        row = rows.setdefault((result.a, result.b), {"a": result.a, "b": result.b})
        row[result.metric] = _SIGNS[result.order]
    return list(rows.values())


def _describe_rule(results: list[Compared], correction: str, interval: str) -> str:
    """Say how many users were compared, and when an order is decided.

    `interval` is the noun for the interval of b - a: range or interval.
    """
    rule = quantity_range([result.n_users for result in results], "user")
    n_visits = [result.n_visits for result in results if result.n_visits is not None]
    if n_visits:
        rule += f", {quantity_range(n_visits, 'visit')}"
    if all(result.paired for result in results):
        rule += ", paired"
    elif not any(result.paired for result in results):
        rule += ", not paired"
    rule += f". order: by the exact metrics; decided if the {interval} of b - a excludes 0"
    n_pairs = len({(result.a, result.b) for result in results})
    if n_pairs > 1 and correction != "none":
        rule += f", also corrected for {n_pairs} pairs ({correction})"
    return rule


def _range_rows(estimates: Mapping[str, Estimates]) -> list[Row]:
    """Return a row for each recommender, with its range of each metric."""
    rows = []
    for name, single in estimates.items():
        row: Row = {"": name}
        for metric, allowed in single.ranges.items():
            row[metric] = format_range(allowed.low, allowed.high)
        rows.append(row)
    return rows


def _estimate_rows(estimates: Mapping[str, Estimates]) -> list[Row]:
    """Return, for each metric, a row for each recommender, and one for what estimates act like."""
    first = next(iter(estimates.values()))
    rows: list[Row] = []
    for i, measure in enumerate(first.measures):
        rows.append({"": str(measure), **_empty_cells(first)})
        for name, single in estimates.items():
            rows.append({"": name, **_value_cells(single, i)})
            if QUOTED_ESTIMATOR in map(str, single.estimators):
                rows += _quoted_rows(single, i)
        if first.tastes is None:
            rows.append({"": "acts like", **_empty_cells(first), **_acts_like_cells(first, i)})
    return rows


def _empty_cells(estimates: Estimates) -> Row:
    """Return the columns of ranges and estimates, without numbers."""
    return dict.fromkeys(["range", *map(str, estimates.estimators)], RightAligned())


def _value_cells(estimates: Estimates, measure: int) -> Row:
    """Return the range and the estimates of a metric, given by its position."""
    allowed = estimates.ranges[str(estimates.measures[measure])]
    cells: Row = {"range": format_range(allowed.low, allowed.high)}
    for j, estimator in enumerate(estimates.estimators):
        value = estimates.value(measure, j)
        cells[str(estimator)] = RightAligned("-" if isnan(value) else format_number(value))
    return cells


def _quoted_rows(estimates: Estimates, measure: int) -> list[Row]:
    """Return a row with the interval of `likely`, if there is one and it is not the range."""
    quoted = estimates.quoted(measure)
    allowed = estimates.ranges[str(estimates.measures[measure])]
    if not quoted.is_quoted or (quoted.low, quoted.high) == (allowed.low, allowed.high):
        return []
    interval = format_range(quoted.low, quoted.high)
    return [{"": f"  {QUOTED_ESTIMATOR} in", **_empty_cells(estimates), "range": interval}]


def _acts_like_cells(estimates: Estimates, measure: int) -> Row:
    """Return what each estimate of a metric acts like, by the column of the estimator.

    The column of the range has the rank at which the credit of the exact metric falls to half.
    """
    cells: Row = {}
    for j, estimator in enumerate(estimates.estimators):
        acts_like = ActsLike.from_rank(
            str(estimates.measures[measure]),
            estimates.acts_like(measure, j),
            estimates.ranks.mean_candidates,
        )
        cells[str(estimator)] = RightAligned(acts_like.below_metric)
        if acts_like.exact_rank is not None:
            cells["range"] = RightAligned(f"(not {acts_like.exact_rank})")
    return cells
