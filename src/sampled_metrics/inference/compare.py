"""Comparison of recommenders: which has the higher exact metric, if that can be told."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtr

from sampled_metrics._base.arrays import Float, adjusted, check_arguments, one_thread
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError, InputWarning, reading
from sampled_metrics._base.text import Parts
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.inference import ranges
from sampled_metrics.inference.brackets import ASSUMED
from sampled_metrics.inference.correct import Solved, solve
from sampled_metrics.inference.evaluate import extent, known_values, prior_shape
from sampled_metrics.inference.pairing import paired_users
from sampled_metrics.inference.plan import deciding_differences
from sampled_metrics.inference.population import Shape, estimate
from sampled_metrics.inference.results import (
    INSTEAD,
    UNDECIDED,
    Compared,
    Results,
    Row,
    acts_like,
    count,
    resolution,
)
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.options import Ranked
from sampled_metrics.ranks.sampled import Drawn, all_alike

EXACT = "exact"
_MANY_USERS = 10_000_000
_MOST_ROWS = 30  # of a table of pairs and metrics; more are in a row for each pair
_SIGNS = {"a": ">", "b": "<", UNDECIDED: "?"}
_ROUNDING = 1e-13


@one_thread()
def compare(
    data: Mapping[str, Any],
    metrics: str | Sequence[str] = METRICS,
    estimators: str | Sequence[str] | None = None,
    *,
    relevant: Any = None,
    seen: Any = None,
    n_items: int | None = None,
    complete: bool = False,
    positive: Any = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str | None = None,
    shape: str = SHAPE,
    test: str | None = None,
    correction: str = "holm",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Results[Compared]:
    """Compare all pairs of recommenders: find which has the higher exact metric.

    An order is decided if the interval of the difference of full rankings excludes 0, or the range
    that sampled ranks allow, and the p-value corrected for the number of pairs does not object.
    Users that both of a pair have are paired by their ids, and others left out; without a common
    user they are two independent samples. Without ids they are paired by row, and must be as many
    for all. Ranges are narrowest if all recommenders ranked the same
    negatives. One result for each pair, metric and estimator, pairs outermost.

    Parameters
    ----------
    data
        What `evaluate` takes for each recommender, or what `correct` takes; two or more. Negatives
        must be as many for all, and drawn in the same way.
    metrics, relevant, seen, n_items, complete, ties, confidence
        See `evaluate`; ties of scores among negatives are `random` by default.
    estimators, positive, n_negatives, sampling, shape
        For sampled rankings, see `correct`; data is taken for such if `positive` or `n_negatives`
        is given.
    test
        `t` prints the p-value of full rankings: Student's test of paired users, or Welch's.
    correction
        For the number of pairs: `holm` or `none`.

    Examples
    --------
    >>> scores = {"A": [[0.9, 0.2, 0.1]] * 40, "B": [[0.1, 0.9, 0.2]] * 39 + [[0.9, 0.2, 0.1]]}
    >>> (result,) = compare(scores, "hr@1", relevant=[0] * 40)
    >>> result.value_a, result.value_b, result.order
    (1.0, 0.025, 'a')
    """
    if not isinstance(data, Mapping):
        raise InputError(f"data is of type {type(data).__name__}; expected a dictionary by name")
    if len(data) < 2:
        raise InputError(f"{len(data)} recommender to compare; give two or more")
    tests = {"test": test, "correction": correction, "confidence": confidence}
    check_arguments(ties=ties, shape=shape, **tests)
    drawn = Drawn(n_items, n_negatives, sampling, positive, relevant, ties or "random", seed)
    samples, rankings = all_alike(data, drawn, Ranked(n_items, relevant, seen, complete))
    _warn_if_unlike(samples or rankings)
    samples, pairing = paired_users(samples) if samples else (samples, [])
    rankings, pairing = paired_users(rankings) if rankings else (rankings, pairing)
    measures = parse_measures(metrics)
    if test not in (None, "t"):
        raise InputError(f"unknown test {test!r}; known: t")
    show: dict[str, Any] = {"confidence": confidence, "correction": correction, "pairing": pairing}
    if samples:
        if test is not None:
            raise InputError("test (--test) is for full rankings, these are sampled")
        names = ESTIMATORS if estimators is None else estimators
        results, found = _by_samples(samples, measures, names, shape, correction, confidence)
        show |= {"shape": shape, "samples": samples, "estimates": found}
        return Results(results, partial(_sampled_parts, **show))
    if estimators is not None:
        raise InputError(
            "estimators (--estimator) are for sampled rankings; give n_negatives (--n-negatives)"
        )
    single = list(_by_rankings(rankings, measures, ties or "expected", confidence, seed))
    results = []
    for result, alone in zip(decided(single, correction, confidence), single, strict=True):
        # What a correction for several pairs asks of this one.
        strictness = alone.p_value / result.p_value if result.p_value > 0.0 else 1.0
        verdict = _exact_verdict(result, 1.0 - (1.0 - confidence) * strictness)
        results.append(replace(result, verdict=verdict))
    return Results(results, partial(_full_parts, **show, p_values=test is not None))


def _by_rankings(
    rankings: Mapping[str, Ranks],
    measures: Sequence[Measure],
    ties: str,
    confidence: float,
    seed: int,
) -> Iterator[Compared]:
    """Compare pairs by their full rankings, orders open."""
    values = {name: known_values(measures, ranks, ties, seed) for name, ranks in rankings.items()}
    measures = [measure for measure in measures if all(measure in v for v in values.values())]
    for names in combinations(rankings, 2):
        both = [rankings[name] for name in names]
        rows = ranges.common_users(both[0].users, both[1].users)
        n_a, n_b = (ranks.mean_candidates for ranks in both)
        larger = max(both, key=lambda ranks: ranks.mean_candidates)  # so that a and b may change
        for measure in measures:
            a, b = (values[name][measure] for name in names)
            if rows is not None:
                a, b = a[rows[0]], b[rows[1]]
            n_items, paired = n_a if n_a and n_a == n_b else None, rows is not None
            fields = {"metric": str(measure), "estimator": EXACT, "p_value": p_value(a, b, paired)}
            prior = prior_shape(measure, larger)
            yield _compared(names, a, b, paired, prior, confidence, n_items=n_items, **fields)


def _by_samples(
    samples: Mapping[str, SampledRanks],
    measures: Sequence[Measure],
    estimators: str | Sequence[str],
    shape: str,
    correction: str,
    confidence: float,
) -> tuple[list[Compared], list[Row]]:
    """Compare pairs by their sampled ranks; also return ranges and estimates of each."""
    for field in ("n_negatives", "sampling"):
        kinds = {str(getattr(sample, field)): name for name, sample in samples.items()}
        if len(kinds) > 1:
            (kind_a, a), (kind_b, b) = list(kinds.items())[:2]
            raise InputError(f"{field} is {kind_a} for {a} and {kind_b} for {b}; draw both alike")
    parsed = parse_estimators(estimators)
    bracketed, solved = {}, {}
    allowed: dict[tuple[str, str], ranges.Range] = {}
    for name, sample in samples.items():
        with reading(name):
            bracketed[name], of_name = ranges.checked_ranges(measures, sample, shape, confidence)
        allowed |= {(name, str(x)): found for x, found in zip(measures, of_name, strict=True)}
        solved[name] = solve(sample, measures, parsed, bracketed[name].user)
    results = []
    for names in combinations(samples, 2):
        first, second = (solved[name] for name in names)
        pair = [bracketed[name] for name in names]
        rows = ranges.common_users(pair[0].users, pair[1].users)
        fields: dict[str, Any] = {
            "n_items": round((first.ranks.mean_candidates + second.ranks.mean_candidates) / 2),
            "n_negatives": first.ranks.n_negatives,
            "sampling": str(first.ranks.sampling),
        }
        for i, measure in enumerate(measures):
            low, high, _ = ranges.difference_range(pair[0], pair[1], i)
            fields |= {"metric": str(measure), "range_low": low, "range_high": high}
            fields["p_value"] = ranges.order_p_value(pair[0], pair[1], i)
            for j, estimator in enumerate(parsed):
                x, y = first.user_values(i, j), second.user_values(i, j)
                if rows is not None:
                    x, y = x[rows[0]], y[rows[1]]
                fields |= {"estimator": str(estimator), "behaves_like": first.behaves_like(i, j)}
                prior, paired = Shape.of(first.vectors[i, j]), rows is not None
                results.append(_compared(names, x, y, paired, prior, confidence, **fields))
    return [
        replace(x, verdict=_sampled_verdict(x, allowed[x.a, x.metric], allowed[x.b, x.metric]))
        for x in decided(results, correction, confidence)
    ], _estimates(results, solved, allowed)


def _estimates(
    results: Sequence[Compared],
    solved: Mapping[str, Solved],
    allowed: Mapping[tuple[str, str], ranges.Range],
) -> list[Row]:
    """One row for each metric and recommender, and below them what the estimates act like."""
    rows: list[Row] = []
    estimators = list(dict.fromkeys(result.estimator for result in results))
    for i, metric in enumerate(dict.fromkeys(result.metric for result in results)):
        for name, of_name in solved.items():
            low, high, _ = allowed[name, metric]
            row: Row = {"": name, "metric": metric, "range": f"{low:.4f} to {high:.4f}"}
            for j, estimator in enumerate(estimators):
                row[estimator] = f"{of_name.user_values(i, j).mean():.5f}"
            rows.append(row)
        kind = parse_measure(metric).kind
        row = {"": "acts like", "metric": kind, "range": ""}
        for x in [x for x in results if x.metric == metric][: len(estimators)]:
            like, _, exact = acts_like(metric, x.behaves_like, x.n_items or 0).partition(" (")
            row |= {x.estimator: like.removeprefix(kind), "metric": f"({exact}" if exact else kind}
        rows.append(row)
    return rows


def _compared(
    names: tuple[str, str],
    a: Float,
    b: Float,
    paired: bool,
    prior: Shape,
    confidence: float,
    **fields: Any,
) -> Compared:
    """Estimate a difference; its range is the interval unless it is among the other `fields`."""
    if paired:
        difference = b - a
        difference[np.abs(difference) < _ROUNDING] = 0.0
        shape, size = Shape.of(difference), a.size
    else:
        shape, size = Shape.of_means(Shape.of(a), a.size, Shape.of(b), b.size)
    mean = estimate(shape, size, prior.difference(), confidence)
    found = mean._asdict() | {"value_a": float(a.mean()), "value_b": float(b.mean())}
    found |= {"difference": found.pop("value"), "range_low": mean.ci_low}
    found |= {"range_high": mean.ci_high, "paired": paired} | fields
    return Compared(a=names[0], b=names[1], **found)


def decided(results: Sequence[Compared], correction: str, confidence: float) -> list[Compared]:
    """Adjust the p-values of each metric for its pairs, and fill in the orders."""
    corrected: dict[tuple[str, str, str], float] = {}
    for metric in dict.fromkeys(result.metric for result in results):
        pairs = {(metric, x.a, x.b): x.p_value for x in results if x.metric == metric}
        corrected |= zip(pairs, adjusted(list(pairs.values()), correction), strict=True)
    filled = []
    for result in results:
        p, order = corrected[result.metric, result.a, result.b], UNDECIDED
        if p < 1.0 - confidence and not result.range_low <= 0.0 <= result.range_high:
            order = "b" if result.range_low > 0.0 else "a"
        filled.append(replace(result, p_value=p, order=order))
    return filled


def p_value(a: Float, b: Float, paired: bool) -> float:
    """Test whether two recommenders have the same mean, two-sided; Student's or Welch's test."""
    if min(a.size, b.size) < 2:
        return 1.0
    samples = [b - a] if paired else [a, b]
    if all(np.ptp(values) == 0.0 for values in samples):
        return 1.0 if a[0] == b[0] else 0.0
    difference = samples[0].mean() if paired else b.mean() - a.mean()
    variances = [values.var(ddof=1) / values.size for values in samples]
    variance, parts = sum(variances), zip(variances, samples, strict=True)
    freedom = variance**2 / sum(part**2 / (values.size - 1) for part, values in parts)
    return float(2.0 * stdtr(freedom, -abs(difference) / np.sqrt(variance)))


def _warn_if_unlike(evaluations: Mapping[str, Ranks | SampledRanks]) -> None:
    """Warn of numbers of candidates that differ by more than 1 %, and of few common users."""
    found = []
    for (first, a), (second, b) in combinations(evaluations.items(), 2):
        n_a, n_b = a.mean_candidates, b.mean_candidates
        if n_a and n_b and abs(n_a - n_b) > 0.01 * max(n_a, n_b):
            found.append(f"{first} has {n_a:,} candidates and {second} has {n_b:,}")
        if a.users is not None and b.users is not None:
            ids_a, ids_b = np.unique(a.users), np.unique(b.users)
            rows = ranges.common_users(ids_a, ids_b)
            common, least = 0 if rows is None else rows[0].size, min(ids_a.size, ids_b.size)
            if 2 * common < least:
                found.append(f"{first} and {second} have {common:,} of {least:,} users in common")
    for words in found:
        words = f"{words}: are these evaluations on the same data?"
        warnings.warn(words, InputWarning, stacklevel=4)  # the caller of the public function


def _exact_verdict(result: Compared, confidence: float) -> str:
    """Put a difference between full rankings in words, with how many users would decide it."""
    if result.order != UNDECIDED:
        return result.in_words(verb="is ")
    words = f"undecided with {count(result.n_users, 'user')}"
    if not result.difference or not result.std_error > 0.0:
        return words
    observed = max(abs(result.difference / result.std_error), 1e-9)
    needed = result.n_users * (ndtri((1.0 + confidence) / 2.0) / observed) ** 2
    if needed > _MANY_USERS:
        return f"{words}; more than {_MANY_USERS:,} would be needed"
    needed = max(needed, result.n_users + 1.0)
    unit = 10 ** max(0, math.floor(math.log10(needed)) - 1)  # a prediction is no more precise
    return f"{words}; about {math.ceil(needed / unit) * unit:,} would do"


def _sampled_verdict(result: Compared, range_a: ranges.Range, range_b: ranges.Range) -> str:
    """Put the order of the exact metrics in words, or what ranges and estimates say of it."""
    if result.order != UNDECIDED:
        return result.in_words(verb="is ")
    m, estimated = result.n_negatives, result.order_of_estimates
    leaves = "1 uniform negative leaves" if m == 1 else f"{m:,} uniform negatives leave"
    spans = [
        f"between {found.low:.3f} and {found.high:.3f} for {name}"
        for found, name in ((range_a, result.a), (range_b, result.b))
    ]
    words = f"undecided: {leaves} {result.metric} {' and '.join(spans)}"
    seen = resolution(result.metric, result.behaves_like)
    where = f"with {seen}" if seen.startswith("half credit") else f"at {seen}"
    if estimated == UNDECIDED:
        return f"{words}; not distinguishable {where} either"
    return f"{words}; {result.in_words(estimated, verb='is ')} {where}"


def _full_parts(
    results: Sequence[Compared],
    confidence: float,
    correction: str,
    pairing: Sequence[str],
    p_values: bool,
) -> Parts:
    """Orders from full rankings, and how many users would decide what is undecided."""
    rows, rule = _orders(results, confidence, correction, "interval", p_values)
    lines = [f"{rule}.", *pairing]
    return [rows, "\n".join(lines)]


def _sampled_parts(
    results: Sequence[Compared],
    confidence: float,
    correction: str,
    pairing: Sequence[str],
    shape: str,
    samples: Mapping[str, SampledRanks],
    estimates: Sequence[Row],
) -> Parts:
    """Orders from sampled ranks, what would decide open ones, and ranges and estimates."""
    rows, rule = _orders(results, confidence, correction, "range")
    lines = [f"{rule}, {ASSUMED[shape]}.", *pairing]
    undecided = {(x.a, x.b, x.metric): x for x in results if x.order == UNDECIDED}
    widest = deciding_differences(list(undecided.values()), samples, shape, confidence)
    for metric, differences in widest.items():
        (here, least), *others = differences.items()
        verb = "decides" if here == "1 negative" else "decide"
        line = f"{metric}: {here} {verb} differences above about {least:.2g}"
        for what, more in others:
            if more < least:
                line += f", {what.removesuffix(' negatives')} above {more:.2g}"
        lines.append(f"{line}.")
    lines += [INSTEAD] if widest else []
    if "metric" not in rows[0]:
        words = "Ranges of the exact metrics (`correct` prints the estimates):"
        estimates = _by_metric([row for row in estimates if row["range"]], [""], "range")
        return [rows, "\n".join(lines), words, estimates]
    words = "Ranges of the exact metrics, and estimates, which may be ordered otherwise:"
    return [rows, "\n".join(lines), words, estimates]


def _orders(
    results: Sequence[Compared],
    confidence: float,
    correction: str,
    kind: str,
    p_values: bool = False,
) -> tuple[list[Row], str]:
    """One row for each pair and metric, with the order in words, and when it is decided.

    Many are a row for each pair, with signs for the orders by metric.
    """
    rows: dict[tuple[str, str, str], Row] = {}
    for result in results:
        row: Row = {"a": result.a, "b": result.b, "metric": result.metric}
        if kind == "interval":
            row |= {"value_a": result.value_a, "value_b": result.value_b}
        span = f"{result.range_low:.4f} to {result.range_high:.4f}"
        row[f"b - a ({100 * confidence:g} %)"] = span
        needed = result.verdict.partition("; about ")[2].partition(" would")[0]
        row["order"] = result.in_words() + f" ({needed})" * bool(needed)
        if p_values:
            row["p_value"] = result.p_value
        rows.setdefault((result.a, result.b, result.metric), row | {"sign": _SIGNS[result.order]})
    paired = {result.paired for result in results}
    words = extent([result.n_users for result in results], "user")
    words += ", paired" if paired == {True} else "" if True in paired else ", not paired"
    pairs, shown = len({(x.a, x.b) for x in results}), list(rows.values())
    rule = f"{words}. order: of the exact metrics; decided if the {kind} of b - a excludes 0"
    if pairs > 1 and correction != "none":
        rule += f", also corrected for {pairs} pairs ({correction})"
    if len(shown) > _MOST_ROWS:
        signs = "<, >: b or a has the higher exact metric; ?: undecided. JSON and CSV say more."
        return _by_metric(shown, ["a", "b"], "sign"), f"{signs}\n{rule}"
    if any(row["order"].startswith(f"{UNDECIDED} (") for row in shown):
        rule += "; in brackets the users that would decide it"
    return [{key: row[key] for key in row if key != "sign"} for row in shown], rule


def _by_metric(rows: Sequence[Row], keys: Sequence[str], value: str) -> list[Row]:
    """One row for rows with the same keys, and a column of values for each metric."""
    table: dict[tuple[str, ...], Row] = {}
    for row in rows:
        name = tuple(row[key] for key in keys)
        table.setdefault(name, {key: row[key] for key in keys})[row["metric"]] = row[value]
    return list(table.values())
