"""Orders of recommenders in words: the verdicts of comparisons, and the tables that they print."""

from itertools import groupby
from math import floor, isnan
from operator import attrgetter

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
from sampled_metrics.evaluation.correct import Solved
from sampled_metrics.evaluation.results import (
    EXACT,
    INSTEAD,
    UNDECIDED,
    ActsLike,
    Compared,
    Row,
    count,
    extent,
    rankings_meant,
)
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.shapes import MOST_FACTOR, NONE, describe_shape
from sampled_metrics.metrics.measures import parse_measure

_MANY_USERS = 10_000_000
_MOST_ROWS = 30  # in a table of pairs and metrics; more are in a row for each pair
PROVES_LITTLE = 2.0  # an order that holds up to a smaller factor
_SIGNS = {"a": ">", "b": "<", UNDECIDED: "?"}
_ABOUT_FACTORS = (
    "holds up to: the order is wrong only if some rank near the top is at least this many times as "
    "likely as a better one. Sampled ranks cannot show whether it is. Below 2, the order proves "
    "little."
)
_OF_SIGNS = "<, >: b or a has the higher exact metric; ?: undecided. JSON and CSV say more."


def better_first(result: Compared, order: str) -> tuple[str, str]:
    """Return the names of a pair, the better one in this order first."""
    if order == "b":
        return result.b, result.a
    return result.a, result.b


def order_in_words(result: Compared) -> str:
    """Put an order in words, such as B above A."""
    if result.order == UNDECIDED:
        return UNDECIDED
    return Bold(" above ".join(better_first(result, result.order)))


def is_above(result: Compared, order: str) -> str:
    """Describe an order, such as B is above A."""
    return " is above ".join(better_first(result, order))


def exact_verdict(result: Compared) -> str:
    """Put a difference between full rankings in words, with how many users would decide it."""
    if result.order != UNDECIDED:
        return is_above(result, result.order)
    words = f"undecided with {count(result.n_users, 'user')}"
    if result.users_needed is None:
        return words
    if result.users_needed > _MANY_USERS:
        return f"{words}; more than {_MANY_USERS:,} would be needed"
    return f"{words}; about {result.users_needed:,} would do"


def sampled_verdict(result: Compared, range_a: Range, range_b: Range) -> str:
    """Describe the order of the exact metrics, or the known facts about it if it is open."""
    if result.order != UNDECIDED:
        return f"{is_above(result, result.order)}{_unless(result)}"
    leaves = f"{result.n_negatives:,} uniform negatives leave"
    if result.n_negatives == 1:
        leaves = "1 uniform negative leaves"
    words = (
        f"undecided: {leaves} {result.metric} "
        f"between {range_a.low:.3f} and {range_a.high:.3f} for {result.a} and "
        f"between {range_b.low:.3f} and {range_b.high:.3f} for {result.b}"
    )
    if isnan(result.difference):
        return words
    where = ActsLike.from_rank(result.metric, result.acts_like, result.n_items or 0).phrase
    if result.order_of_estimates == UNDECIDED:
        return f"{words}; not distinguishable {where} either"
    return f"{words}; {is_above(result, result.order_of_estimates)} {where}"


def _unless(result: Compared) -> str:
    """Say how likely some rank would have to be if the order did not hold."""
    factor = result.holds_up_to
    if factor is None or parse_measure(result.metric).metric.needs_candidates:
        return ""
    times = "likelier than"
    if factor >= 1.1:  # a smaller one is written as 1
        times = f"{_factor(factor)} times as likely as"
    words = f", unless some rank near the top is {times} a better one"
    if factor < PROVES_LITTLE:
        return f"{words}; this proves little"
    return words


def _factor(factor: float) -> str:
    """Write a factor that an order holds up to."""
    if factor >= MOST_FACTOR:
        return f"more than {factor:.2g}"
    if factor < 9.95:  # cut off, as the order is not known to hold any further
        return f"{floor(10.0 * factor + 1e-9) / 10.0:.1f}"
    return f"{factor:.0f}"


def order_parts(
    results: list[Compared],
    confidence: float,
    correction: str,
    notes: list[str],
    shape: str | float = NONE,
    solved: dict[str, Solved] | None = None,
) -> Parts:
    """Orders and how open ones can be decided; ranges and estimates of sampled ranks."""
    by_pair = groupby(results, key=attrgetter("a", "b", "metric"))
    pairs = [next(of_pair) for _, of_pair in by_pair]  # all estimators have the same order
    is_long = len(pairs) > _MOST_ROWS
    is_any_held = any(pair.holds_up_to is not None for pair in pairs)
    explained: list[str] = []
    if is_any_held:
        explained.append(_ABOUT_FACTORS)
    rule = _rule(pairs, correction, "range" if solved else "interval")
    if solved:
        rule += f", {describe_shape(shape)}"
        explained.append(rankings_meant([x.ranks for x in solved.values()], ordered=True))
        if any(pair.order == UNDECIDED for pair in pairs):
            explained += ["`plan` computes how many negatives decide an order.", INSTEAD]
    elif not is_long and any(map(_needs_users, pairs)):
        rule += "; in brackets the users that would decide it"
    lines = [f"{rule}.", *notes]
    if is_long:
        lines.insert(0, _OF_SIGNS)
        rows = _signs(pairs)
    else:
        rows = [_row(pair, confidence, is_any_held) for pair in pairs]
    parts: list[TableRows | str] = [rows, "\n".join(lines)]
    if solved and is_long:
        parts += ["Ranges of the exact metrics (`correct` prints the estimates):", _ranges(solved)]
    elif solved:
        about = "Ranges of the exact metrics, and estimates, which may be ordered otherwise"
        about += f" ({QUOTED_ESTIMATOR} in: its interval):" if _has_quoted(results) else ":"
        parts += [about, _estimates(solved)]
    return [*parts, *filter(None, [Explanation("\n".join(explained))])]


def _has_quoted(results: list[Compared]) -> bool:
    """Whether a number to quote is among the estimates."""
    return any(result.estimator == QUOTED_ESTIMATOR for result in results)


def _row(pair: Compared, confidence: float, is_any_held: bool) -> Row:
    """One row for a pair and a metric."""
    row: Row = {"a": pair.a, "b": pair.b, "metric": pair.metric}
    if pair.estimator == EXACT:
        row["value_a"] = pair.value_a
        row["value_b"] = pair.value_b
    row[f"b - a ({100 * confidence:g} %)"] = format_range(pair.range_low, pair.range_high)
    row["order"] = order_in_words(pair)
    if _needs_users(pair):
        row["order"] += f" ({pair.users_needed:,})"
    if is_any_held:
        row["holds up to"] = RightAligned(_held(pair))
    return row


def _needs_users(result: Compared) -> bool:
    """Whether so many users would decide an order that it is worth saying."""
    return result.users_needed is not None and result.users_needed <= _MANY_USERS


def _held(result: Compared) -> str:
    """Write the factor that a decided order holds up to."""
    if result.holds_up_to is None:
        return ""
    if parse_measure(result.metric).metric.needs_candidates:
        return "any"
    return _factor(result.holds_up_to)


def _signs(pairs: list[Compared]) -> list[Row]:
    """One row for each pair, with a column of signs for the orders by each metric."""
    rows: dict[tuple[str, str], Row] = {}
    for result in pairs:
        row = rows.setdefault((result.a, result.b), {"a": result.a, "b": result.b})
        row[result.metric] = _SIGNS[result.order]
    return list(rows.values())


def _rule(results: list[Compared], correction: str, kind: str) -> str:
    """Say how many users and pairs the orders are about, and when they are decided."""
    words = extent([result.n_users for result in results], "user")
    n_visits = [result.n_visits for result in results if result.n_visits is not None]
    if n_visits:
        words += f", {extent(n_visits, 'visit')}"
    if all(result.paired for result in results):
        words += ", paired"
    elif not any(result.paired for result in results):
        words += ", not paired"
    words += f". order: of the exact metrics; decided if the {kind} of b - a excludes 0"
    n_pairs = len({(result.a, result.b) for result in results})
    if n_pairs > 1 and correction != "none":
        words += f", also corrected for {n_pairs} pairs ({correction})"
    return words


def _ranges(solved: dict[str, Solved]) -> list[Row]:
    """One row for each recommender, with a column of ranges for each metric."""
    rows = []
    for name, of_name in solved.items():
        row: Row = {"": name}
        for metric, found in of_name.ranges.items():
            row[metric] = format_range(found.low, found.high)
        rows.append(row)
    return rows


def _estimates(solved: dict[str, Solved]) -> list[Row]:
    """One row for each metric, each recommender below it, and how the estimates act."""
    rows: list[Row] = []
    first = next(iter(solved.values()))
    estimators = list(map(str, first.estimators))
    nothing = dict.fromkeys(["range", *estimators], RightAligned())
    for i, measure in enumerate(first.measures):
        rows.append({"": str(measure), **nothing})
        for name, of_name in solved.items():
            found = of_name.ranges[str(measure)]
            row: Row = {"": name, "range": format_range(found.low, found.high)}
            for j, estimator in enumerate(estimators):
                value = of_name.value(i, j)
                row[estimator] = RightAligned("-" if isnan(value) else format_number(value))
            rows.append(row)
            if QUOTED_ESTIMATOR in estimators:
                number = of_name.quoted(i, estimators.index(QUOTED_ESTIMATOR))
                if number.is_quoted and (number.low, number.high) != (found.low, found.high):
                    interval = format_range(number.low, number.high)
                    rows.append({"": f"  {QUOTED_ESTIMATOR} in", **nothing, "range": interval})
        row = {"": "acts like", **nothing}
        for j, estimator in enumerate(estimators):
            n_items = first.ranks.mean_candidates
            acts_like = ActsLike.from_rank(str(measure), first.acts_like(i, j), n_items)
            row[estimator] = RightAligned(acts_like.below_metric)
            if acts_like.exact_rank is not None:
                row["range"] = RightAligned(f"(not {acts_like.exact_rank})")
        rows.append(row)
    return rows
