"""Comparison of recommenders: which has the higher exact metric, where that is decided."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.arrays import one_thread
from sampled_metrics._base.asking import ask
from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.kinds import is_dictionary
from sampled_metrics.estimators import Estimator
from sampled_metrics.inference import orders, ranges
from sampled_metrics.inference.correct import Solved, chosen_estimators, solve
from sampled_metrics.inference.decisions import (
    decided,
    mean_difference,
    of_common,
    p_value,
    strict_level,
    users_needed,
)
from sampled_metrics.inference.evaluate import (
    known_values,
    prior_shape,
    question_ends,
    relevance_note,
)
from sampled_metrics.inference.pairing import different_ids, paired_users
from sampled_metrics.inference.pairs import question_negatives
from sampled_metrics.inference.population import Shape
from sampled_metrics.inference.results import UNDECIDED, Compared, Results, with_questions
from sampled_metrics.inputs.alike import all_alike
from sampled_metrics.inputs.held import Data, OfUsers
from sampled_metrics.inputs.options import Drawn, Ranked
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks

EXACT = "exact"


@with_questions
@one_thread()
def compare(
    data: Mapping[str, Data],
    metrics: str | Sequence[str] = METRICS,
    estimators: str | Sequence[str] | None = None,
    *,
    relevant: OfUsers | None = None,
    seen: OfUsers | None = None,
    n_items: int | None = None,
    min_relevance: float = 0.0,
    complete: bool = False,
    positive: ArrayLike | None = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str | None = None,
    shape: str | float = SHAPE,
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
    metrics, relevant, seen, n_items, min_relevance, complete, ties, confidence
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
    if not is_dictionary(data):
        raise InputError(f"data is of type {type(data).__name__}; expected a dictionary by name")
    if len(data) < 2:
        raise InputError(f"{len(data)} recommender to compare; give two or more")
    check_arguments(ties=ties, shape=shape, test=test, correction=correction, confidence=confidence)
    ties_of_negatives = "random" if ties is None else ties
    drawn = Drawn(n_items, n_negatives, sampling, positive, relevant, ties_of_negatives, seed)
    ranked = Ranked(n_items, relevant, seen, complete, min_relevance)
    samples, rankings = all_alike(data, drawn, ranked)
    _question(samples or rankings)
    if samples:
        samples, pairing = paired_users(samples)
    else:
        rankings, pairing = paired_users(rankings)
    measures = parse_measures(metrics)
    if test not in (None, "t"):
        raise InputError(f"unknown test {test!r}; known: t")
    if samples and test is not None:
        raise InputError("test (--test) is for full rankings, these are sampled")
    if rankings and estimators is not None:
        raise InputError(
            "estimators (--estimator) are for sampled rankings; give n_negatives (--n-negatives)"
        )
    if samples:
        names = ESTIMATORS if estimators is None else estimators
        found = _solved(samples, measures, names, shape, confidence)
        single = list(_by_samples(found, measures, confidence))
        results = decided(single, correction, confidence)
        results = list(_with_factors(results, single, samples, shape, confidence))
        values = {name: of_name.values(measures) for name, of_name in found.items()}
        show_sampled = partial(
            orders.sampled_parts,
            confidence=confidence,
            correction=correction,
            pairing=pairing,
            shape=shape,
            samples=samples,
            values=values,
        )
        return Results(_with_sampled_verdicts(results, values), show_sampled)
    ties_of_rankings = "expected" if ties is None else ties
    single = list(_by_rankings(rankings, measures, ties_of_rankings, confidence, seed))
    results = decided(single, correction, confidence)
    show_full = partial(
        orders.full_parts,
        confidence=confidence,
        correction=correction,
        notes=[*pairing, *filter(None, [relevance_note(rankings.values())])],
        p_values=test is not None,
    )
    return Results(_with_exact_verdicts(results, single, confidence), show_full)


def _by_rankings(
    rankings: Mapping[str, Ranks],
    measures: Sequence[Measure],
    ties: str,
    confidence: float,
    seed: int,
) -> Iterator[Compared]:
    """Compare pairs by their full rankings, orders open."""
    values = {name: known_values(measures, ranks, ties, seed) for name, ranks in rankings.items()}
    for name, ranks in rankings.items():
        with reading(name):
            question_ends(ranks, values[name])
    known = [measure for measure in measures if all(measure in v for v in values.values())]
    for a, b in combinations(rankings, 2):
        common = ranges.common_users(rankings[a].users, rankings[b].users)
        larger = rankings[a]
        n_items = larger.mean_candidates or None
        if rankings[a].mean_candidates != rankings[b].mean_candidates:
            larger = max(rankings[a], rankings[b], key=lambda ranks: ranks.mean_candidates)
            n_items = None
        for measure in known:
            paired = common is not None
            if common is not None and measure.metric.pooled:
                in_common = (rankings[a].take(common[0]), rankings[b].take(common[1]))
                of_a, of_b = (
                    known_values([measure], ranks, ties, seed)[measure] for ranks in in_common
                )
            else:
                of_a, of_b = of_common(values[a][measure], values[b][measure], common)
            prior = prior_shape(measure, larger)
            mean = mean_difference(of_a, of_b, paired, prior, confidence)
            yield Compared(
                a=a,
                b=b,
                metric=str(measure),
                estimator=EXACT,
                value_a=float(of_a.mean()),
                value_b=float(of_b.mean()),
                difference=mean.value,
                std_error=mean.std_error,
                ci_low=mean.ci_low,
                ci_high=mean.ci_high,
                range_low=mean.ci_low,
                range_high=mean.ci_high,
                p_value=p_value(of_a, of_b, paired),
                paired=paired,
                n_users=mean.n_users,
                n_items=n_items,
            )


class _Sampled(NamedTuple):
    """What the sampled ranks of one recommender say: estimates of users and ranges, by metric."""

    solved: Solved
    estimators: Sequence[Estimator]
    bracketed: ranges.Bracketed
    ranges: Sequence[ranges.Range]

    def values(self, measures: Sequence[Measure]) -> orders.SampledValues:
        """Average estimates over users."""
        estimates = {}
        for i, measure in enumerate(measures):
            for j, estimator in enumerate(self.estimators):
                mean = self.solved.user_values(i, j).mean()
                estimates[str(measure), str(estimator)] = float(mean)
        names = map(str, measures)
        return orders.SampledValues(dict(zip(names, self.ranges, strict=True)), estimates)


def _solved(
    samples: Mapping[str, SampledRanks],
    measures: Sequence[Measure],
    estimators: str | Sequence[str],
    shape: str | float,
    confidence: float,
) -> dict[str, _Sampled]:
    """Compute ranges and estimates of each recommender; all must have been drawn alike."""
    for field in ("n_negatives", "sampling"):
        kinds = {str(getattr(sample, field)): name for name, sample in samples.items()}
        if len(kinds) > 1:
            (kind_a, a), (kind_b, b), *_ = kinds.items()
            raise InputError(f"{field} is {kind_a} for {a} and {kind_b} for {b}; draw both alike")
    n_negatives = next(iter(samples.values())).n_negatives
    parsed = chosen_estimators(estimators, n_negatives)
    found = {}
    for name, sample in samples.items():
        with reading(name):
            bracketed, allowed = ranges.checked_ranges(measures, sample, shape, confidence)
        solved = solve(sample, measures, parsed, bracketed.rows.user)
        found[name] = _Sampled(solved, parsed, bracketed, allowed)
    return found


def _by_samples(
    found: Mapping[str, _Sampled], measures: Sequence[Measure], confidence: float
) -> Iterator[Compared]:
    """Compare pairs by their sampled ranks, orders open."""
    for a, b in combinations(found, 2):
        first = found[a].solved
        second = found[b].solved
        bracketed_a = found[a].bracketed
        bracketed_b = found[b].bracketed
        common = ranges.common_users(bracketed_a.rows.users, bracketed_b.rows.users)
        n_items = round((first.ranks.mean_candidates + second.ranks.mean_candidates) / 2)
        for i, measure in enumerate(measures):
            allowed = ranges.difference_range(bracketed_a, bracketed_b, i)
            p = ranges.order_p_value(bracketed_a, bracketed_b, i)
            for j, estimator in enumerate(found[a].estimators):
                of_a, of_b = of_common(first.user_values(i, j), second.user_values(i, j), common)
                paired = common is not None
                prior = Shape.of(first.vectors[i, j])
                mean = mean_difference(of_a, of_b, paired, prior, confidence)
                yield Compared(
                    a=a,
                    b=b,
                    metric=str(measure),
                    estimator=str(estimator),
                    value_a=float(of_a.mean()),
                    value_b=float(of_b.mean()),
                    difference=mean.value,
                    std_error=mean.std_error,
                    ci_low=mean.ci_low,
                    ci_high=mean.ci_high,
                    range_low=allowed.low,
                    range_high=allowed.high,
                    p_value=p,
                    behaves_like=first.behaves_like(i, j),
                    paired=paired,
                    n_users=mean.n_users,
                    n_items=n_items,
                    n_negatives=first.ranks.n_negatives,
                    sampling=str(first.ranks.sampling),
                )


def _with_factors(
    results: Sequence[Compared],
    single: Sequence[Compared],
    samples: Mapping[str, SampledRanks],
    shape: str | float,
    confidence: float,
) -> Iterator[Compared]:
    """Fill in up to which factor decided orders hold; `single` are results before correction."""
    known: dict[tuple[str, str, str], float] = {}
    for result, alone in zip(results, single, strict=True):
        if result.order == UNDECIDED:
            yield result
            continue
        key = (result.a, result.b, result.metric)
        if key not in known:
            better = samples[result.a]
            worse = samples[result.b]
            if result.order == "b":
                better, worse = worse, better
            measure = parse_measure(result.metric)
            level = strict_level(result, alone, confidence)
            known[key] = ranges.order_holds_up_to(better, worse, measure, shape, confidence, level)
        yield replace(result, holds_up_to=known[key])


def _with_exact_verdicts(
    results: Sequence[Compared], single: Sequence[Compared], confidence: float
) -> Iterator[Compared]:
    """Fill in verdicts and users needed; `single` are the results before their correction."""
    for result, alone in zip(results, single, strict=True):
        needed = None
        if result.order == UNDECIDED:
            needed = users_needed(result, strict_level(result, alone, confidence))
        counted = replace(result, users_needed=needed)
        yield replace(counted, verdict=orders.exact_verdict(counted))


def _with_sampled_verdicts(
    results: Sequence[Compared], values: Mapping[str, orders.SampledValues]
) -> Iterator[Compared]:
    for result in results:
        range_a = values[result.a].ranges[result.metric]
        range_b = values[result.b].ranges[result.metric]
        yield replace(result, verdict=orders.sampled_verdict(result, range_a, range_b))


def _question(evaluations: Mapping[str, Ranks | SampledRanks]) -> None:
    """Ask about negatives of one recommender, and about differences between two."""
    for name, ranks in evaluations.items():
        with reading(name):
            if isinstance(ranks, SampledRanks):
                question_negatives(ranks)
    for a, b in combinations(evaluations, 2):
        for words in _unlike(a, b, evaluations[a], evaluations[b]):
            ask("data", f"{words}: are these evaluations on the same data?")


def _unlike(
    a: str, b: str, first: Ranks | SampledRanks, second: Ranks | SampledRanks
) -> Iterator[str]:
    """Say if numbers of candidates differ by more than 1 %, or users in common are few."""
    n_a = first.mean_candidates
    n_b = second.mean_candidates
    if n_a and n_b and abs(n_a - n_b) > 0.01 * max(n_a, n_b):
        yield f"{a} has {n_a:,} candidates and {b} has {n_b:,}"
    ids_a = different_ids(first)
    ids_b = different_ids(second)
    if ids_a is None or ids_b is None:
        return
    rows = ranges.common_users(ids_a, ids_b)
    common = 0 if rows is None else rows[0].size
    least = min(ids_a.size, ids_b.size)
    if 2 * common < least:
        yield f"{a} and {b} have {common:,} of {least:,} users in common"
