"""Comparison of recommenders: which has the higher exact metric, where that is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from math import nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.defaults import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ESTIMATORS,
    DEFAULT_METRICS,
    DEFAULT_SHAPE,
    QUOTED_ESTIMATOR,
    Names,
)
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.text import join_names
from sampled_metrics._base.threads import one_thread
from sampled_metrics.evaluation import orders
from sampled_metrics.evaluation.correct import Solved, chosen_estimators, question_negatives, solve
from sampled_metrics.evaluation.decisions import (
    decided,
    mean_difference,
    of_common,
    p_value,
    strict_level,
    users_needed,
)
from sampled_metrics.evaluation.evaluate import (
    cut_of,
    defined,
    known_values,
    question_ends,
    relevance_notes,
)
from sampled_metrics.evaluation.pairing import Common, Paired, all_alike, questioned_users
from sampled_metrics.evaluation.results import (
    EXACT,
    UNDECIDED,
    Compared,
    Results,
    missing_notes,
    with_questions,
)
from sampled_metrics.inputs.roles import NamesByRole, naming
from sampled_metrics.intervals import ranges
from sampled_metrics.intervals.means import Moments, collapse_visits, prior_moments
from sampled_metrics.intervals.quoting import Quoted, quote_difference
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.data import Data, ItemsByUser

_holds_up_to = lru_cache(maxsize=1)(ranges.order_holds_up_to)  # the same for all estimators


@with_questions
@one_thread()
def compare(
    data: Mapping[str, Data],
    metrics: Names = DEFAULT_METRICS,
    estimators: Names | None = None,
    *,
    relevant: ItemsByUser = None,
    seen: ItemsByUser = None,
    n_items: int | None = None,
    min_relevance: float = 0.0,
    complete: bool = False,
    missing: str = "refuse",
    positive: ArrayLike | None = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str | None = None,
    shape: str | float = DEFAULT_SHAPE,
    correction: str = "holm",
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    columns: NamesByRole = None,
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
        Data of two or more recommenders, each as for `evaluate` or as for `correct`. Negatives must
        be as many for all, and drawn in the same way.
    metrics, relevant, seen, n_items, min_relevance, complete, missing, ties
    confidence, seed, columns
        See `evaluate`; ties of scores among negatives are `random` by default.
    estimators, positive, n_negatives, sampling, shape
        For sampled rankings, see `correct`; data is taken for such if `positive` or `n_negatives`
        is given.
    correction
        For the number of pairs: `holm` or `none`.

    Returns
    -------
    Results
        A list of `Compared`, one for each pair, metric and estimator, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    evaluate : Exact metrics of one recommender.
    correct : Ranges of one recommender.
    plan : How many negatives decide.

    References
    ----------
    S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.

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
    check_arguments(ties=ties, shape=shape, correction=correction, confidence=confidence)
    check_arguments(complete=complete, min_relevance=min_relevance, missing=missing)
    both: dict[str, Any] = {"n_items": n_items, "relevant": relevant, "missing": missing}
    drawn = {
        **both,
        "n_negatives": n_negatives,
        "sampling": sampling,
        "positive": positive,
        "ties": "random" if ties is None else ties,
        "seed": seed,
    }
    measures = parse_measures(metrics)
    full = {**both, "seen": seen, "complete": complete, "min_relevance": min_relevance}
    cut = cut_of(measures, "expected" if ties is None else ties)
    with naming(columns):
        samples, rankings = all_alike(data, full, drawn, cut)
    solved: dict[str, Solved] = {}
    if samples:
        names = DEFAULT_ESTIMATORS if estimators is None else estimators
        solved, common, notes, shared = _solved(samples, measures, names, shape, confidence)
        single = list(_by_samples(solved, common, shared, confidence))
    else:
        if estimators is not None:
            raise InputError(
                "estimators (--estimator) are for sampled rankings; give n_negatives "
                "(--n-negatives)"
            )
        paired = questioned_users(rankings)
        notes = [*paired.notes, *relevance_notes(rankings.values())]
        of_rankings = "expected" if ties is None else ties
        single = list(_by_rankings(paired, measures, of_rankings, seed, confidence))
    results = []
    for result, alone in zip(decided(single, correction, confidence), single, strict=True):
        level = strict_level(result, alone, confidence)
        results.append(_finished(result, level, solved, shape, confidence))
    show = partial(
        orders.order_parts,
        confidence=confidence,
        correction=correction,
        notes=notes,
        shape=shape,
        solved=solved,
    )
    return Results(results, show)


def _solved(
    samples: Mapping[str, SampledRanks],
    measures: list[Measure],
    estimators: Names,
    shape: str | float,
    confidence: float,
) -> tuple[dict[str, Solved], Common, list[str], list[str]]:
    """Compute ranges and estimates of each recommender; all must have been drawn alike.

    Also returns the users in common, how they are paired, and the recommenders whose users are
    known to share their negatives.
    """
    shared = []
    for name, sample in samples.items():
        with reading(name):
            if question_negatives(sample):
                shared.append(name)
    samples, common, notes = questioned_users(samples)
    notes += missing_notes(samples.values())
    for field in ("n_negatives", "sampling"):
        kinds = {str(getattr(sample, field)): name for name, sample in samples.items()}
        if len(kinds) > 1:
            (kind_a, a), (kind_b, b), *_ = kinds.items()
            raise InputError(f"{field} is {kind_a} for {a} and {kind_b} for {b}; draw both alike")
    parsed = chosen_estimators(estimators, next(iter(samples.values())).n_negatives)
    solved = {}
    for name, sample in samples.items():
        with reading(name):
            checked = ranges.checked_ranges(measures, sample, shape, confidence)
        solved[name] = solve(sample, measures, parsed, *checked)
    if shared:
        notes.append(f"undecided by {join_names(shared)}, whose users share their negatives.")
    return solved, common, notes, shared


def _finished(
    result: Compared,
    level: float,
    solved: dict[str, Solved],
    shape: str | float,
    confidence: float,
) -> Compared:
    """Fill in the verdict, the users needed, and the factor that the order holds up to."""
    is_open = result.order == UNDECIDED
    if not solved:
        if is_open:
            result = replace(result, users_needed=users_needed(result, level))
        return replace(result, verdict=orders.exact_verdict(result))
    if not is_open:
        better, worse = (solved[name].ranks for name in orders.better_first(result, result.order))
        measure = parse_measure(result.metric)
        factor = _holds_up_to(better, worse, measure, shape, confidence, level)
        result = replace(result, holds_up_to=factor)
    of_both = (solved[name].ranges[result.metric] for name in (result.a, result.b))
    return replace(result, verdict=orders.sampled_verdict(result, *of_both))


def _by_rankings(
    users: Paired[Ranks],
    measures: list[Measure],
    ties: str,
    seed: int,
    confidence: float,
) -> Iterator[Compared]:
    """Compare pairs by their full rankings, without a verdict."""
    rankings = users.evaluations
    known = {name: known_values(measures, ranks, ties, seed) for name, ranks in rankings.items()}
    for name, ranks in rankings.items():
        with reading(name):
            question_ends(ranks, known[name])
    priors = {name: prior_moments(known[name], ranks) for name, ranks in rankings.items()}
    for pair, rows in users.common.items():
        a, b = (rankings[name] for name in pair)
        larger = max(pair, key=lambda name: rankings[name].mean_candidates)
        n_items = None
        if a.mean_candidates == b.mean_candidates > 0:
            n_items = a.mean_candidates
        for measure in measures:
            if not all(measure in values for values in known.values()):
                continue
            of_a, of_b = (known[name][measure] for name in pair)
            if rows is not None and measure.metric.pooled:
                taken = map(Ranks.take, (a, b), rows)
                of_a, of_b = (known_values([measure], x, ties, seed)[measure] for x in taken)
            else:
                of_a, of_b = of_common(of_a, of_b, rows)
            paired = rows is not None
            if rows is not None:
                has_both = ~(np.isnan(of_a) | np.isnan(of_b))
                of_a, of_b = of_a[has_both], of_b[has_both]
                owners = [None if a.user is None else a.user[rows[0]][has_both]] * 2
            else:
                owners = [
                    None if each.user is None else each.user[~np.isnan(values)]
                    for each, values in ((a, of_a), (b, of_b))
                ]
            of_a, of_b = defined(of_a), defined(of_b)
            n_visits = None if owners[0] is None else min(of_a.size, of_b.size)
            of_a, of_b = collapse_visits(of_a, owners[0]), collapse_visits(of_b, owners[1])
            prior = priors[larger][measure]
            p = p_value(of_a, of_b, paired)
            compared = _compared(pair, measure, EXACT, (of_a, of_b), paired, prior, p, confidence)
            yield replace(compared, n_items=n_items, n_visits=n_visits)


def _by_samples(
    solved: dict[str, Solved], common: Common, shared: list[str], confidence: float
) -> Iterator[Compared]:
    """Compare pairs by their sampled ranks, without a verdict.

    Where users share their negatives, `shared`, their ranks are not independent, and p-values of 1
    leave orders undecided.
    """
    for pair, rows in common.items():
        a, b = (solved[name] for name in pair)
        owners = [of_name.bracketed.rows.owner for of_name in (a, b)]
        if rows is not None and owners[0] is not None:
            owners = [owners[0][rows[0]]] * 2
        for i, measure in enumerate(a.measures):
            allowed = ranges.difference_range(a.bracketed, b.bracketed, i)
            p = 1.0
            if not {*pair} & {*shared}:
                p = ranges.order_p_value(a.bracketed, b.bracketed, i)
            for j, estimator in enumerate(a.estimators):
                of_a, of_b = of_common(a.user_values(i, j), b.user_values(i, j), rows)
                n_visits = None if owners[0] is None else min(of_a.size, of_b.size)
                of_pair = collapse_visits(of_a, owners[0]), collapse_visits(of_b, owners[1])
                prior = Moments.from_values(a.vectors[i, j])
                compared = _compared(
                    pair, measure, str(estimator), of_pair, rows is not None, prior, p, confidence
                )
                if str(estimator) == QUOTED_ESTIMATOR:
                    compared = _quoted(compared, allowed, a.quoted(i, j), b.quoted(i, j))
                yield replace(
                    compared,
                    range_low=allowed.low,
                    range_high=allowed.high,
                    acts_like=a.acts_like(i, j),
                    n_items=round((a.ranks.mean_candidates + b.ranks.mean_candidates) / 2),
                    n_negatives=a.ranks.n_negatives,
                    sampling=str(a.ranks.sampling),
                    n_visits=n_visits,
                )


def _quoted(result: Compared, allowed: Range, a: Quoted, b: Quoted) -> Compared:
    """Keep a difference in its range, with an interval about the exact one; nan if not quoted.

    An interval of the expectation that the difference then lies outside of is dropped.
    """
    if not a.is_quoted:
        result = replace(result, value_a=nan)
    if not b.is_quoted:
        result = replace(result, value_b=nan)
    number = quote_difference(result.difference, a, b, allowed)
    result = replace(
        result, difference=number.value, likely_low=number.low, likely_high=number.high
    )
    if not number.is_quoted:
        return replace(result, std_error=nan, ci_low=nan, ci_high=nan)
    if not result.ci_low <= number.value <= result.ci_high:
        return replace(result, ci_low=nan, ci_high=nan)
    return result


def _compared(
    pair: tuple[str, str],
    measure: Measure,
    estimator: str,
    values: tuple[Float, Float],
    paired: bool,
    prior: Moments,
    p: float,
    confidence: float,
) -> Compared:
    """Compare means over users by the interval of their difference, without a verdict."""
    mean = mean_difference(*values, paired, prior, confidence)
    value_a, value_b = (float(of_users.mean()) for of_users in values)
    return Compared(
        a=pair[0],
        b=pair[1],
        metric=str(measure),
        estimator=estimator,
        value_a=value_a,
        value_b=value_b,
        difference=mean.value,
        std_error=mean.std_error,
        ci_low=mean.ci_low,
        ci_high=mean.ci_high,
        range_low=mean.ci_low,
        range_high=mean.ci_high,
        p_value=p,
        paired=paired,
        n_users=mean.n_users,
    )
