"""Results as people read them: tables, and a few lines below."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sampled_metrics._base.defaults import BUDGET
from sampled_metrics._base.text import Parts
from sampled_metrics.inference.kernels import ASSUMED
from sampled_metrics.inference.verdict import FLAT, resolution
from sampled_metrics.metrics.measures import parse_measure

if TYPE_CHECKING:
    from sampled_metrics.inference.compared import Compared
    from sampled_metrics.inference.correct import Corrected
    from sampled_metrics.inference.evaluate import Evaluated
    from sampled_metrics.inference.plan import Planned
    from sampled_metrics.ranks import Ranks, SampledRanks

Row = dict[str, Any]
_FEW = 30.0  # users; the mean of fewer is not near a normal distribution


def evaluated(results: Sequence["Evaluated"], confidence: float, relevance: str) -> Parts:
    """Exact metrics with what their intervals cover; `relevance` says which metrics use grades."""
    rows = [asdict(result) for result in results]
    for row in rows:
        del row["ties"], row["effective_users"]
    return [rows, evaluated_note(results, confidence, relevance)]


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


def relevance_note(*rankings: "Ranks") -> str:
    """Say which metrics use grades, if any rankings have them."""
    graded = [ranks for ranks in rankings if ranks.grades is not None]
    if not graded:
        return ""
    least = graded[0].min_grade
    which = f"of {least:g} or more" if least > 0.0 else "above 0"
    return (
        f"ndcg takes grades as gains, ndcg-exp 2^grade - 1; for other metrics any grade {which} "
        "is relevant."
    )


def corrected(
    results: Sequence["Corrected"], confidence: float, *, intervals: bool = False
) -> Parts:
    """The range of each metric, and beside each estimate what it acts like."""
    rows: list[Row] = []
    for result in results:
        repeated = bool(rows) and rows[-1]["metric"] == result.metric
        row: Row = {"metric": result.metric, "range": '"' if repeated else _range(result)}
        row |= {"estimator": result.estimator, "value": result.value}
        if intervals:
            row["interval"] = f"{result.ci_low:.4f} to {result.ci_high:.4f}"
        if result.bias is not None:
            row["bias"] = result.bias
        rows.append(row | {"acts like": acts_like(result)})
    first = results[0]
    lines = [
        f"{count(first.n_users, 'user')}, {count(first.n_negatives, 'negative')} drawn uniformly "
        f"{_drawn(first.sampling)} from {first.n_items - 1:,} items. Fractions.",
        "range: values of the exact metric that the sampled ranks allow, at "
        f"{100 * confidence:g} %,\n  {ASSUMED[first.shape]}.",
        "value: the estimate. It weighs true ranks roughly as the metric on its right does, so it "
        "need\n  not be near the exact metric, nor inside the range.",
    ]
    if intervals:
        lines.append("interval: of the expectation of the estimate, which is not the exact metric.")
    return [rows, "\n".join(lines)]


def compared_fully(
    results: Sequence["Compared"],
    confidence: float,
    correction: str,
    relevance: str,
    p_values: bool,
) -> Parts:
    """Orders from full rankings, and how many users would decide what is undecided."""
    lines = [
        f"{result.a}, {result.b}, {result.metric}: {result.verdict}"
        for result in results
        if result.order == "undecided"
    ]
    rule = _rule(results, "interval", correction).removesuffix(",") + "."
    note = [*lines, *([""] if lines else []), rule, *([relevance] if relevance else [])]
    return [_orders(results, confidence, values=True, p_values=p_values), "\n".join(note)]


def compared_sampled(
    results: Sequence["Compared"],
    confidence: float,
    correction: str,
    shape: str,
    samples: "Mapping[str, SampledRanks]",
) -> Parts:
    """Orders from sampled ranks, what would decide open ones, and then what the estimates say."""
    from sampled_metrics.inference.advice import INSTEAD, advice

    lines: list[str] = []
    by_pair = {(result.a, result.b, result.metric): result for result in reversed(results)}
    for result in reversed(by_pair.values()):
        if result.order == "undecided":
            headline, _, ranges = result.verdict.partition("; ")[0].partition(" between ")
            lines += [f"{result.a}, {result.b}: {headline}", f"  between {ranges};"]
            lines.append(f"  {advice(result, samples, shape, confidence)}")
    if lines:
        lines += [INSTEAD, ""]
    lines += [_rule(results, "range", correction), f"  {ASSUMED[shape]}."]
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
    return [
        _orders(results, confidence),
        "\n".join(lines),
        "The estimates, which need not be ordered as the exact metrics are:",
        estimates,
    ]


def _orders(
    results: Sequence["Compared"],
    confidence: float,
    *,
    values: bool = False,
    p_values: bool = False,
) -> list[Row]:
    """Show one row for each pair and metric, with the order in words."""
    rows: dict[tuple[str, str, str], Row] = {}
    for result in results:
        row: Row = {"a": result.a, "b": result.b, "metric": result.metric}
        if values:
            row |= {"value_a": result.value_a, "value_b": result.value_b}
        row[f"b - a ({100 * confidence:g} %)"] = _range(result)
        row["order"] = result.in_words()
        if p_values:
            row["p_value"] = result.p_value
        row |= {"n_users": f"{result.n_users:,}", "paired": "yes" if result.paired else "no"}
        rows.setdefault((result.a, result.b, result.metric), row)
    return list(rows.values())


def planned(
    results: Sequence["Planned"], largest: int, shape: str, assumed: str = "these true ranks"
) -> Parts:
    """Numbers of negatives, what they are, and what is better where many are needed."""
    from sampled_metrics.inference.advice import INSTEAD

    first = results[0]
    fields = ("metric", "estimator", "n_negatives", "at_largest", "exact_a", "exact_b")
    rows = [{name: getattr(result, name) for name in fields} for result in results]
    where = ", the most that all users have candidates for" if first.largest < largest else ""
    lines = [
        "n_negatives: from there on the order is right with probability "
        f"{first.probability:g}; -: not up to {first.largest:,}{where}.",
        f"For {assumed}.",
        "range: its order can be seen from the sampled ranks,",
        f"  {ASSUMED[shape]}.",
        "The others: sampled ranks do not show whether their order is the right one.",
    ]
    if any((result.n_negatives or largest) > BUDGET for result in results):
        lines.append(INSTEAD)
    return [rows, "\n".join(lines)]


def acts_like(result: "Corrected | Compared") -> str:
    """Name the metric that an estimate acts like.

    That is the cut-off for metrics with the same credit down to it; for others the rank at which
    the credit has fallen to half, of the estimate and of the exact metric.
    """
    seen = resolution(result.metric, result.behaves_like).removeprefix("about ")
    measure = parse_measure(result.metric)
    if result.behaves_like is None or measure.kind in FLAT:
        return seen
    n = result.n_items or 0
    credit = (measure.at([k], n)[0] / measure.at([1], n)[0] for k in range(2, n))
    return f"{seen}, not {next((k for k, c in enumerate(credit, 2) if c <= 0.5), n)}"


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
        adjusted = f",\n  also corrected for {pairs} pairs ({correction})"
    return f"order: of the exact metrics; decided if the {kind} of b - a excludes 0{adjusted},"


def _drawn(sampling: str) -> str:
    return {"distinct": "and kept once"}.get(sampling, sampling.replace("-", " "))
