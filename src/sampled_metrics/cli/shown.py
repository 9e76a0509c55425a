"""Results of the commands as people read them: tables, and a few lines below."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sampled_metrics._base.defaults import BUDGET
from sampled_metrics._base.text import table_of
from sampled_metrics.cli.options import ASSUMED
from sampled_metrics.cli.output import Row
from sampled_metrics.inference.verdict import FLAT
from sampled_metrics.metrics.measures import parse_measure

if TYPE_CHECKING:
    from sampled_metrics.inference.compared import Compared
    from sampled_metrics.inference.correct import Corrected
    from sampled_metrics.inference.evaluate import Evaluated
    from sampled_metrics.inference.plan import Planned
    from sampled_metrics.ranks import SampledRanks

_FEW = 30.0  # users; the mean of fewer is not near a normal distribution


def evaluated_note(results: Sequence["Evaluated"], confidence: float, relevance: str) -> str:
    """Say what the intervals of exact metrics cover, and where they are too narrow."""
    lines = [f"Fractions, ties {results[0].ties}. The interval covers the variation over users."]
    lines += [relevance] if relevance else []
    few = {
        result.metric: result
        for result in results
        if result.effective_users < _FEW and parse_measure(result.metric).kind not in FLAT
    }
    for metric, result in few.items():
        lines.append(
            f"{metric}: about {max(round(result.effective_users), 1)} of "
            f"{count(result.n_users, 'user')} carry most of the value; its interval is too "
            f"narrow, and holds the metric\n  of other users like these in fewer than "
            f"{100 * confidence:g} % of evaluations."
        )
    return "\n".join(lines)


def relevance_note(is_graded: bool, min_grade: float) -> str:
    """Say which metrics use grades."""
    if not is_graded:
        return ""
    least = f"of {min_grade:g} or more" if min_grade > 0.0 else "above 0"
    return (
        f"ndcg takes grades as gains, ndcg-exp 2^grade - 1; for other metrics any grade {least} "
        "is relevant."
    )


def corrected_rows(results: Sequence["Corrected"], intervals: bool, bias: bool) -> list[Row]:
    """Show the range once for each metric, and beside each estimate what it acts like."""
    rows: list[Row] = []
    for result in results:
        repeated = bool(rows) and rows[-1]["metric"] == result.metric
        row: Row = {"metric": result.metric, "range": '"' if repeated else _range(result)}
        row |= {"estimator": result.estimator, "value": result.value}
        if intervals:
            row["interval"] = f"{result.ci_low:.4f} to {result.ci_high:.4f}"
        if bias:
            row["bias"] = result.bias
        rows.append(row | {"acts like": acts_like(result)})
    return rows


def corrected_note(results: Sequence["Corrected"], confidence: float, intervals: bool) -> str:
    """Say what the columns of corrected metrics are."""
    first = results[0]
    lines = [
        f"{count(first.n_users, 'user')}, {count(first.n_negatives, 'negative')} drawn "
        f"{_drawn(first.sampling)} from {first.n_items - 1:,}. Fractions.",
        "range: values of the exact metric that the sampled ranks allow, at "
        f"{100 * confidence:g} %,\n  {ASSUMED[first.shape]}.",
        "value: the estimate. It weighs true ranks roughly as the metric on its right does, so it "
        "need\n  not be near the exact metric, nor inside the range.",
    ]
    if intervals:
        lines.append("interval: of the expectation of the estimate, which is not the exact metric.")
    return "\n".join(lines)


def compared_rows(
    results: Sequence["Compared"], confidence: float, exact: bool, test: bool
) -> list[Row]:
    """Show one row for each pair and metric, with the order in words."""
    rows: dict[tuple[str, str, str], Row] = {}
    for result in results:
        row: Row = {"a": result.a, "b": result.b, "metric": result.metric}
        if exact:
            row |= {"value_a": result.value_a, "value_b": result.value_b}
        row[f"b - a ({100 * confidence:g} %)"] = _range(result)
        row["order"] = result.in_words()
        if test:
            row["p_value"] = result.p_value
        row |= {"n_users": f"{result.n_users:,}", "paired": "yes" if result.paired else "no"}
        rows.setdefault((result.a, result.b, result.metric), row)
    return list(rows.values())


def exact_note(results: Sequence["Compared"], correction: str) -> str:
    """Say how many users would decide what is undecided."""
    lines = [
        f"{result.a}, {result.b}, {result.metric}: {result.verdict}"
        for result in results
        if result.order == "undecided"
    ]
    rule = _rule(results, "interval", correction).removesuffix(",") + "."
    return "\n".join([*lines, *_paragraph(lines), rule])


def sampled_note(
    results: Sequence["Compared"],
    samples: "Mapping[str, SampledRanks]",
    correction: str,
    shape: str,
    confidence: float,
) -> str:
    """Say what leaves orders open and what would decide them, and then what the estimates say."""
    from sampled_metrics.inference.advice import INSTEAD, advice

    lines: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for result in results:
        pair = (result.a, result.b, result.metric)
        if pair not in seen and result.order == "undecided":
            headline, _, ranges = result.verdict.partition("; ")[0].partition(" between ")
            lines += [f"{result.a}, {result.b}: {headline}", f"  between {ranges};"]
            lines.append(f"  {advice(result, samples, shape, confidence)}")
        seen.add(pair)
    if lines:
        lines.append(INSTEAD)
    lines += [*_paragraph(lines), _rule(results, "range", correction), f"  {ASSUMED[shape]}."]
    estimates = [
        {
            "a": result.a,
            "b": result.b,
            "metric": result.metric,
            "estimator": result.estimator,
            "value_a": result.value_a,
            "value_b": result.value_b,
            "acts like": acts_like(result),
            "says": result.in_words(_estimated_order(result)),
        }
        for result in results
    ]
    lines += ["", "The estimates, which need not be ordered as the exact metrics are:", ""]
    return "\n".join([*lines, table_of(estimates).rstrip("\n")])


def planned_note(
    results: Sequence["Planned"], probability: float, largest: int, assumed: str, shape: str
) -> str:
    """Say what the numbers of negatives are, and what is better where many are needed."""
    from sampled_metrics.inference.advice import INSTEAD

    most = results[0].largest
    where = ", the most that all users have candidates for" if most < largest else ""
    lines = [
        f"n_negatives: from there on the order is right with probability {probability:g}; -: not "
        f"up to {most:,}{where}.",
        f"For {assumed}.",
        "range: its order can be seen from the sampled ranks,",
        f"  {ASSUMED[shape]}.",
        "The others: sampled ranks do not show whether their order is the right one.",
    ]
    if any((result.n_negatives or largest) > BUDGET for result in results):
        lines.append(INSTEAD)
    return "\n".join(lines)


def acts_like(result: "Corrected | Compared") -> str:
    """Name the metric that an estimate acts like.

    That is the cut-off for metrics with the same credit down to it; for others the rank at which
    the credit has fallen to half, of the estimate and of the exact metric.
    """
    measure = parse_measure(result.metric)
    if measure.metric.needs_candidates:
        return result.metric
    n = result.n_items or 0
    if result.behaves_like is None:
        return "no metric"
    if measure.kind in FLAT:
        return f"{measure.name}@{result.behaves_like}"
    exact = next(k for k in range(2, n + 1) if measure.at([k], n)[0] <= measure.at([1], n)[0] / 2)
    return f"half credit at rank {result.behaves_like}, not {exact}"


def count(number: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "user"), count(6040, "user")
    ('1 user', '6,040 users')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _range(result: "Corrected | Compared") -> str:
    return f"{result.range_low:.4f} to {result.range_high:.4f}"


def _estimated_order(result: "Compared") -> str:
    if result.ci_low > 0.0:
        return "b"
    return "a" if result.ci_high < 0.0 else "undecided"


def _rule(results: Sequence["Compared"], kind: str, correction: str) -> str:
    pairs = len({(result.a, result.b) for result in results})
    adjusted = ""
    if pairs > 1 and correction != "none":
        adjusted = f", also corrected for {pairs} pairs ({correction})"
    return f"order: of the exact metrics; decided if the {kind} of b - a excludes 0{adjusted},"


def _paragraph(lines: Sequence[str]) -> list[str]:
    return [""] if lines else []


def _drawn(sampling: str) -> str:
    return "distinct" if sampling == "distinct" else sampling.replace("-", " ")
