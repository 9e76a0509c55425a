"""Comparison of recommenders: which has the higher exact metric, where that is decided."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtr

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Bool, Data, Float, Int, ItemsByUser
from sampled_metrics._base.arrays import adjust_p_values
from sampled_metrics._base.calls import IN_RESULT, current_call, place_of, public
from sampled_metrics._base.defaults import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ESTIMATORS,
    DEFAULT_METRICS,
    DEFAULT_SHAPE,
    QUOTED_ESTIMATOR,
    Names,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.records import OMIT_IF_NONE, Record
from sampled_metrics._base.text import join_names
from sampled_metrics._base.threads import one_thread
from sampled_metrics.evaluation import compare_text
from sampled_metrics.evaluation.correct import (
    Estimates,
    SampleEstimates,
    check_negatives_of,
    estimate_ranks,
)
from sampled_metrics.evaluation.evaluate import (
    early_stop_of,
    metric_values,
    relevance_notes,
    warn_about_ties,
)
from sampled_metrics.evaluation.pairing import (
    CommonRows,
    Paired,
    pair_users,
    read_recommenders,
    warn_about_pairs,
)
from sampled_metrics.evaluation.results import (
    EXACT,
    UNDECIDED,
    Results,
    missing_notes,
)
from sampled_metrics.evaluation.strata import ANY_TASTES, StratumDifferences, StratumEstimates
from sampled_metrics.intervals import ranges
from sampled_metrics.intervals.means import (
    MeanInterval,
    Moments,
    collapse_visits,
    mean_interval,
    prior_moments,
)
from sampled_metrics.intervals.quoting import Quoted, quote_difference
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.read.options import Reading
from sampled_metrics.read.roles import NamesByRole, check_roles

_SAME_VALUE = 1e-13  # smaller differences of a user's values are rounding errors
_LEAST_RATIO = 1e-5  # of difference to standard error; keeps the users needed below 2^63


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Record):
    """The difference in one metric between recommenders `a` and `b`.

    Fields that are not described here are as in `Corrected`.

    Attributes
    ----------
    estimator
        `exact` for full rankings.
    value_a, value_b, difference
        The metric of both as fractions, over the common users if users are paired, and
        value_b - value_a. For `likely`, the difference is moved into its range; values are nan
        where no number is quoted, and the difference if that is so for `a` or `b`.
    std_error, ci_low, ci_high
        Standard error and interval of the expectation of this difference. For estimates from
        sampled ranks, the expectation differs from the difference of the exact metrics.
    range_low, range_high
        Range of the difference of the exact metrics that the sampled ranks allow; for full
        rankings the interval.
    likely_low, likely_high
        For `likely`, the interval of the difference of the exact metrics, computed from the
        intervals of `a` and `b` as if their errors were independent; nan for other estimators.
    order
        The recommender with the higher exact metric, `a` or `b`, or `undecided`.
    p_value
        1 minus the highest confidence at which the range excludes 0; for full rankings the p-value
        of a t-test. Adjusted for the number of pairs compared by the same metric.
    verdict
        The order in words, and what the estimates say if it is undecided.
    n_users
        Number of pairs of users if `paired`, or else the smaller number of users.
    n_visits
        The same for visits, if users have several; otherwise None.
    users_needed
        Approximate number of users who would decide an undecided order of full rankings, if they
        differed as these do. None for decided orders, sampled ranks and equal values.
    holds_up_to
        The largest factor of a shape (see `correct`) at which sampled ranks still decide the
        order, within 5 %; 16 means 16 or more. An order that holds up to less than 2 only proves
        little. None for undecided orders and full rankings.
    """

    a: str
    b: str
    metric: str
    estimator: str
    value_a: float
    value_b: float
    difference: float
    std_error: float
    ci_low: float
    ci_high: float
    range_low: float
    range_high: float
    likely_low: float = nan
    likely_high: float = nan
    order: str = UNDECIDED
    p_value: float
    acts_like: int | None = None
    verdict: str = ""
    paired: bool
    n_users: int
    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None
    users_needed: int | None = None
    holds_up_to: float | None = None
    n_visits: int | None = field(default=None, metadata=OMIT_IF_NONE)
    tastes: str | None = field(default=None, metadata=OMIT_IF_NONE)

    @property
    def order_of_estimates(self) -> str:
        """The order that the interval of the estimates decides; the exact order may differ."""
        return order_of(self.ci_low, self.ci_high)


def order_of(low: float, high: float) -> str:
    """Return the order that an interval of b - a decides: `a`, `b` or `undecided`."""
    if low > 0.0:
        return "b"
    if high < 0.0:
        return "a"
    return UNDECIDED


@public(columns=check_roles, see=IN_RESULT)
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
    counts: Any = None,
    items: Any = None,
    users: Any = None,
    cluster: Any = None,
    ties: str | None = None,
    shape: str | float = DEFAULT_SHAPE,
    correction: str = "holm",
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    columns: NamesByRole = None,
) -> Results[Compared]:
    """Compare all pairs of recommenders: find which has the higher exact metric.

    Full rankings decide an order if the interval of the difference excludes 0, sampled ranks if
    their range does. The p-value, corrected for the number of pairs, must be below 1 - confidence
    as well.

    Users are paired by their ids; users that only one of the two recommenders has are dropped.
    Two recommenders without a common user are compared as independent samples. Without ids, users
    are paired by row, and all recommenders need the same number of users. Ranges are narrowest if
    all recommenders ranked the same negatives.

    Parameters
    ----------
    data
        Two or more recommenders by name; each as for `evaluate` or as for `correct`. All must have
        the same number of negatives, drawn in the same way.
    metrics, relevant, seen, n_items, min_relevance, complete, missing, ties
    confidence, seed, columns
        See `evaluate`; tied scores among negatives are broken at random (`random`) by default.
    estimators, positive, n_negatives, sampling, shape, counts, items, users, cluster
        For sampled rankings, see `correct`. Data is read as sampled rankings if `positive`,
        `n_negatives` or `counts` is passed.
    correction
        Correction for the number of pairs: `holm` or `none`.

    Returns
    -------
    Results
        A list of `Compared`, one for each pair, metric and estimator, which prints as a table.
        Pairs vary slowest, estimators fastest.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

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
        raise InputError(f"{len(data)} recommender to compare; pass two or more")
    check_arguments(ties=ties, shape=shape, correction=correction, confidence=confidence)
    check_arguments(complete=complete, min_relevance=min_relevance, missing=missing)
    measures = parse_measures(metrics)
    ties_of_rankings = "expected" if ties is None else ties
    options = Reading(
        n_items=n_items,
        relevant=relevant,
        missing=missing,
        seen=seen,
        complete=complete,
        min_relevance=min_relevance,
        early_stop=early_stop_of(measures, ties_of_rankings, min_relevance),
        n_negatives=n_negatives,
        sampling=sampling,
        positive=positive,
        counts=counts,
        items=items,
        users=users,
        cluster=cluster,
        ties="random" if ties is None else ties,
        seed=seed,
    )
    samples, rankings = read_recommenders(data, options)
    estimates: dict[str, Estimates] = {}
    if samples:
        names = DEFAULT_ESTIMATORS if estimators is None else estimators
        sampled = _estimate_recommenders(samples, measures, names, shape, confidence)
        estimates = sampled.estimates
        notes = sampled.notes
        uncorrected = list(_compare_samples(sampled, confidence))
    else:
        if estimators is not None:
            raise InputError(
                "estimators (--estimator) are for sampled rankings, but these are full; drop "
                "them, or pass n_negatives (--n-negatives) if ranks are among negatives"
            )
        paired = pair_users(rankings)
        warn_about_pairs(paired)
        notes = [*paired.notes, *relevance_notes(rankings.values())]
        uncorrected = list(
            _compare_rankings(
                paired, measures, ties=ties_of_rankings, seed=seed, confidence=confidence
            )
        )
    # p-values are corrected for the number of pairs, and then decide the orders.
    decided = decide_orders(uncorrected, correction, confidence)
    levels = [
        strict_level(after.p_value, before.p_value, confidence)
        for before, after in zip(uncorrected, decided, strict=True)
    ]
    if estimates:
        results = _finish_sampled(decided, levels, estimates, shape=shape, confidence=confidence)
    else:
        results = [_finish_exact(*each) for each in zip(decided, levels, strict=True)]
    show = partial(
        compare_text.order_parts,
        confidence=confidence,
        correction=correction,
        notes=notes,
        shape=shape,
        estimates=estimates,
    )
    return Results(results, show, current_call().notes)


class _Sampled(NamedTuple):
    """Estimates of all recommenders from sampled ranks, and how their users are paired."""

    estimates: dict[str, Estimates]
    common: CommonRows
    notes: list[str]
    sharing: list[str]  # recommenders whose users are known to share their negatives

    def differences(self, a: str, b: str) -> ranges.Differences | StratumDifferences:
        """Return the ranges of the differences of two recommenders."""
        first, second = self.estimates[a], self.estimates[b]
        if isinstance(first, StratumEstimates) and isinstance(second, StratumEstimates):
            return StratumDifferences(first, second, self.common[a, b])
        if isinstance(first, SampleEstimates) and isinstance(second, SampleEstimates):
            return ranges.Differences(first.bracketed, second.bracketed)
        raise TypeError("estimates of two kinds")


def _estimate_recommenders(
    samples: Mapping[str, SampledRanks],
    measures: list[Measure],
    estimators: Names,
    shape: str | float,
    confidence: float,
) -> _Sampled:
    """Compute ranges and estimates of each recommender; all must be sampled alike."""
    sharing = []
    for name, sample in samples.items():
        with place_of(name):
            do_users_share = check_negatives_of(sample)
            if do_users_share:
                sharing.append(name)
    paired = pair_users(samples)
    warn_about_pairs(paired)
    samples = paired.evaluations
    notes = [*paired.notes, *missing_notes(samples.values())]
    _require_same_draws(samples)
    estimates = {}
    for name, sample in samples.items():
        with place_of(name):
            estimates[name] = estimate_ranks(sample, measures, estimators, shape, confidence)
    if sharing:
        notes.append(f"undecided by {join_names(sharing)}, whose users share their negatives.")
    return _Sampled(estimates, paired.common, notes, sharing)


def _require_same_draws(samples: Mapping[str, SampledRanks]) -> None:
    """Raise InputError unless the negatives of all recommenders were drawn in the same way.

    Recommenders with counts of items may have been drawn in any way, but then all need counts.
    """
    with_counts = [name for name, sample in samples.items() if sample.strata is not None]
    others = [name for name, sample in samples.items() if sample.strata is None]
    if with_counts and others:
        raise InputError(
            f"{with_counts[0]} has counts of items and {others[0]} has none; pass counts "
            "(--counts), and the pairs or scores of all recommenders"
        )
    if with_counts:
        return
    for field_name in ("n_negatives", "sampling"):
        name_by_value = {str(getattr(sample, field_name)): name for name, sample in samples.items()}
        if len(name_by_value) > 1:
            (value_a, a), (value_b, b), *_ = name_by_value.items()
            raise InputError(
                f"{a} and {b} were sampled differently: {field_name} is {value_a} and {value_b}; "
                "draw the negatives of both in the same way"
            )


def _finish_exact(result: Compared, level: float) -> Compared:
    """Add the verdict of full rankings, and the users needed for an undecided order."""
    if result.order == UNDECIDED:
        result = replace(result, users_needed=users_needed(result, level))
    return replace(result, verdict=compare_text.exact_verdict(result))


def _finish_sampled(
    results: Sequence[Compared],
    levels: Sequence[float],
    estimates: Mapping[str, Estimates],
    *,
    shape: str | float,
    confidence: float,
) -> list[Compared]:
    """Add the verdicts of sampled ranks, and the factors up to which decided orders hold.

    `levels` are the confidences at which single comparisons decide, see `strict_level`.
    """
    # The estimators of a pair and a metric follow each other and have the same factor.
    holds_up_to = lru_cache(maxsize=1)(ranges.order_holds_up_to)
    finished = []
    for result, level in zip(results, levels, strict=True):
        factor = None
        has_factor = result.order != UNDECIDED and result.tastes is None
        if has_factor:
            better, worse = compare_text.better_first(result, result.order)
            factor = holds_up_to(
                estimates[better].ranks,
                estimates[worse].ranks,
                parse_measure(result.metric),
                shape=shape,
                vector_confidence=confidence,
                confidence=level,
            )
        with_factor = replace(result, holds_up_to=factor)
        range_a = estimates[result.a].ranges[result.metric]
        range_b = estimates[result.b].ranges[result.metric]
        verdict = compare_text.sampled_verdict(with_factor, range_a, range_b)
        finished.append(replace(with_factor, verdict=verdict))
    return finished


def _compare_rankings(
    paired: Paired[Ranks],
    measures: list[Measure],
    *,
    ties: str,
    seed: int,
    confidence: float,
) -> Iterator[Compared]:
    """Compare pairs by their full rankings; orders and verdicts are still missing.

    Pairs without common users are compared by the means of all users. A measure is skipped if the
    lists of some recommender are too short for it, about which `metric_values` warns.
    """
    rankings = paired.evaluations
    values = {name: metric_values(measures, ranks, ties, seed) for name, ranks in rankings.items()}
    for name, ranks in rankings.items():
        with place_of(name):
            warn_about_ties(ranks, values[name])
    priors = {name: prior_moments(values[name], ranks) for name, ranks in rankings.items()}
    comparable = [
        measure
        for measure in measures
        if all(measure in values_of_one for values_of_one in values.values())
    ]
    for pair, common_rows in paired.common.items():
        a, b = (rankings[name] for name in pair)
        # Numbers of candidates are mostly equal; `warn_about_pairs` warns if not. The difference
        # has a single prior, by the ranking of more candidates.
        name_of_larger = max(pair, key=lambda name: rankings[name].mean_candidates)
        n_items = None
        if a.mean_candidates == b.mean_candidates > 0:
            n_items = a.mean_candidates
        for measure in comparable:
            if common_rows is not None and measure.metric.pooled:
                common_values = _pooled_values(
                    measure, a, b, rows=common_rows, ties=ties, seed=seed
                )
            else:
                values_a, values_b = (values[name][measure] for name in pair)
                common_values = _common_values(values_a, values_b, common_rows)
            by_user = _average_visits(common_values, (a.user, b.user), common_rows)
            yield _compare_means(
                pair,
                measure,
                EXACT,
                by_user,
                prior=priors[name_of_larger][measure],
                p_value=t_test(by_user.a, by_user.b, paired=by_user.are_paired),
                n_items=n_items,
                confidence=confidence,
            )


def _compare_samples(sampled: _Sampled, confidence: float) -> Iterator[Compared]:
    """Compare pairs by their sampled ranks; orders and verdicts are still missing.

    Yields one comparison for each pair, metric and estimator. If users share their negatives, their
    ranks are not independent: the p-value is then 1, which leaves the order undecided.
    """
    for pair, common_rows in sampled.common.items():
        a, b = (sampled.estimates[name] for name in pair)
        differences = sampled.differences(*pair)
        are_independent = set(pair).isdisjoint(sampled.sharing)
        for i, measure in enumerate(a.measures):
            allowed = differences.range(i)  # for all estimators
            p_value = differences.p_value(i) if are_independent else 1.0
            for j, estimator in enumerate(a.estimators):
                common_values = _common_values(
                    a.user_values(i, j), b.user_values(i, j), common_rows
                )
                by_user = _average_visits(
                    common_values, (a.user_of_unit, b.user_of_unit), common_rows
                )
                compared = _compare_means(
                    pair,
                    measure,
                    str(estimator),
                    by_user,
                    prior=a.prior(i, j),
                    p_value=p_value,
                    n_items=round((a.ranks.mean_candidates + b.ranks.mean_candidates) / 2),
                    confidence=confidence,
                )
                if str(estimator) == QUOTED_ESTIMATOR:
                    compared = _quote(compared, allowed, a.quoted(i), b.quoted(i))
                yield replace(
                    compared,
                    range_low=allowed.low,
                    range_high=allowed.high,
                    acts_like=a.acts_like(i, j),
                    n_negatives=a.ranks.n_negatives,
                    sampling=str(a.ranks.sampling),
                    tastes=tastes_of(a, b),
                )


def tastes_of(a: Estimates, b: Estimates) -> str | None:
    """Return the tastes that the range of a difference allows: any, if one of both does."""
    return ANY_TASTES if ANY_TASTES in (a.tastes, b.tastes) else a.tastes


def _quote(result: Compared, allowed: Range, a: Quoted, b: Quoted) -> Compared:
    """Move the difference of `likely` into its range, and add its interval.

    `a` and `b` are the numbers to quote for the two recommenders. Values are nan where no number is
    quoted. The interval of the expectation is dropped if the difference then lies outside of it.
    """
    number = quote_difference(result.difference, a, b, allowed)
    quoted = replace(
        result,
        value_a=result.value_a if a.is_quoted else nan,
        value_b=result.value_b if b.is_quoted else nan,
        difference=number.value,
        likely_low=number.low,
        likely_high=number.high,
    )
    if not number.is_quoted:
        return replace(quoted, std_error=nan, ci_low=nan, ci_high=nan)
    is_in_interval = quoted.ci_low <= number.value <= quoted.ci_high
    return quoted if is_in_interval else replace(quoted, ci_low=nan, ci_high=nan)


class _UserValues(NamedTuple):
    """Values of a metric by user for two recommenders.

    Attributes
    ----------
    a, b
        Values of the users of each, shape (users,).
    are_paired
        Whether they are of the same users in the same order.
    n_visits
        Number of visits that they are means of; None if users have one value each.
    """

    a: Float
    b: Float
    are_paired: bool
    n_visits: int | None


def _compare_means(
    pair: tuple[str, str],
    measure: Measure,
    estimator: str,
    values: _UserValues,
    *,
    prior: Moments,
    p_value: float,
    n_items: int | None,
    confidence: float,
) -> Compared:
    """Compare means over users by the interval of their difference."""
    mean = mean_difference(
        values.a, values.b, paired=values.are_paired, prior=prior, confidence=confidence
    )
    return Compared(
        a=pair[0],
        b=pair[1],
        metric=str(measure),
        estimator=estimator,
        value_a=float(values.a.mean()),
        value_b=float(values.b.mean()),
        difference=mean.value,
        std_error=mean.std_error,
        ci_low=mean.ci_low,
        ci_high=mean.ci_high,
        range_low=mean.ci_low,
        range_high=mean.ci_high,
        p_value=p_value,
        paired=values.are_paired,
        n_users=mean.n_users,
        n_items=n_items,
        n_visits=values.n_visits,
    )


def _pooled_values(
    measure: Measure, a: Ranks, b: Ranks, *, rows: tuple[Int, Int], ties: str, seed: int
) -> tuple[Float, Float]:
    """Calculate the values of a pooled metric from the common users alone.

    It cannot be selected from the values of all users, which depend on all of them.
    """
    rows_a, rows_b = rows
    return (
        metric_values([measure], a.take(rows_a), ties, seed)[measure],
        metric_values([measure], b.take(rows_b), ties, seed)[measure],
    )


def _common_values(a: Float, b: Float, rows: tuple[Int, Int] | None) -> tuple[Float, Float]:
    """Select the values of the common users; without a common user, return all values."""
    if rows is None:
        return a, b
    return a[rows[0]], b[rows[1]]


def _average_visits(
    values: tuple[Float, Float],
    owners: tuple[Int | None, Int | None],
    rows: tuple[Int, Int] | None,
) -> _UserValues:
    """Average the values of each user's visits; those that are not known (nan) are dropped.

    Parameters
    ----------
    values
        Of the users, or visits, that are compared, see `_common_values`.
    owners
        The user of each visit of both recommenders; None if users have one value each.
    rows
        Where the common users, or visits, are among those of each recommender. They are dropped
        unless both of their values are known.
    """
    values_a, values_b = values
    owner_a, owner_b = owners
    is_known_a, is_known_b = ~np.isnan(values_a), ~np.isnan(values_b)
    are_paired = rows is not None
    if rows is not None:
        common_owner = None if owner_a is None else owner_a[rows[0]]
        owner_a = owner_b = common_owner
        is_known_a = is_known_b = is_known_a & is_known_b
    n_visits = None
    if owner_a is not None:
        n_visits = int(min(is_known_a.sum(), is_known_b.sum()))
    return _UserValues(
        a=_means_by_owner(values_a, owner_a, is_known_a),
        b=_means_by_owner(values_b, owner_b, is_known_b),
        are_paired=are_paired,
        n_visits=n_visits,
    )


def _means_by_owner(values: Float, owner: Int | None, is_known: Bool) -> Float:
    """Average the known values of each user."""
    return collapse_visits(values[is_known], None if owner is None else owner[is_known])


def mean_difference(
    a: Float, b: Float, *, paired: bool, prior: Moments, confidence: float
) -> MeanInterval:
    """Estimate the mean of b - a over users.

    Parameters
    ----------
    a, b
        Values of users, shape (users,); of the same users in the same order if `paired`.
    prior
        Moments of one recommender's values at a random rank.
    """
    if paired:
        differences = b - a
        differences[np.abs(differences) < _SAME_VALUE] = 0.0
        moments = Moments.from_values(differences)
        n_users = a.size
    else:
        moments, n_users = Moments.from_mean_difference(
            Moments.from_values(a), a.size, Moments.from_values(b), b.size
        )
    return mean_interval(moments, n_users, prior.of_difference(), confidence)


def decide_orders(
    results: Sequence[Compared], correction: str, confidence: float
) -> list[Compared]:
    """Correct the p-values of each metric for the number of pairs, and fill in the orders.

    An order is decided if the corrected p-value is below 1 - confidence and the range excludes 0.
    """
    metrics = dict.fromkeys(result.metric for result in results)
    corrected_p = {metric: _correct_p_values(results, metric, correction) for metric in metrics}
    decided = []
    for result in results:
        p_value = corrected_p[result.metric][result.a, result.b]
        order = UNDECIDED
        if p_value < 1.0 - confidence:
            order = order_of(result.range_low, result.range_high)
        decided.append(replace(result, p_value=p_value, order=order))
    return decided


def _correct_p_values(
    results: Sequence[Compared], metric: str, correction: str
) -> dict[tuple[str, str], float]:
    """Return the p-value of each pair by one metric, corrected for the number of pairs.

    The estimators of a pair have the same p-value.
    """
    p_by_pair = {(each.a, each.b): each.p_value for each in results if each.metric == metric}
    corrected = adjust_p_values(list(p_by_pair.values()), correction)
    return dict(zip(p_by_pair, corrected, strict=True))


def strict_level(corrected_p: float, p: float, confidence: float) -> float:
    """Return the confidence of a single comparison that decides as the corrected p-value does.

    A correction that multiplies the p-value by c needs a confidence of 1 - (1 - confidence) / c.
    """
    strictness = 1.0
    if corrected_p > 0.0:
        strictness = p / corrected_p
    return 1.0 - (1.0 - confidence) * strictness


def users_needed(result: Compared, confidence: float) -> int | None:
    """Predict how many users decide a difference, rounded up to two digits.

    Assumes that the difference stays the same and its standard error falls as 1 / sqrt(users), so
    that |difference| / standard error reaches the normal quantile z with

        n_users * (z / (|difference| / std_error))^2

    users. None for equal metrics or without a standard error.
    """
    if not result.difference or not result.std_error > 0.0:
        return None
    ratio = max(abs(result.difference / result.std_error), _LEAST_RATIO)
    z = float(ndtri((1.0 + confidence) / 2.0))
    needed = max(result.n_users * (z / ratio) ** 2, result.n_users + 1.0)
    n_digits_dropped = max(0, math.floor(math.log10(needed)) - 1)  # all but two
    unit = 10**n_digits_dropped
    return math.ceil(needed / unit) * unit


def t_test(a: Float, b: Float, *, paired: bool) -> float:
    """Return the two-sided p-value that the means are equal, by Student's or Welch's test.

    With the variances v of the means of samples of n users (of `a` and of `b`, or of the paired
    differences alone), t = difference / sqrt(sum of v), and by Welch and Satterthwaite

        freedom = (sum of v)^2 / sum of v^2 / (n - 1),

    which is n - 1 if paired. The p-value is 1 for fewer than two users. Without any variance it is
    1 for equal means and 0 for others.
    """
    if min(a.size, b.size) < 2:
        return 1.0
    if paired:
        samples = [b - a]
        difference = samples[0].mean()
    else:
        samples = [a, b]
        difference = b.mean() - a.mean()
    if all(np.ptp(values) == 0.0 for values in samples):
        return 1.0 if a[0] == b[0] else 0.0
    sum_of_variances = 0.0
    squares_by_freedom = 0.0
    for values in samples:
        variance_of_mean = values.var(ddof=1) / values.size
        sum_of_variances += variance_of_mean
        squares_by_freedom += variance_of_mean**2 / (values.size - 1)
    freedom = sum_of_variances**2 / squares_by_freedom
    t = abs(difference) / np.sqrt(sum_of_variances)
    return float(2.0 * stdtr(freedom, -t))
