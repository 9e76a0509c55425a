"""Corrected metrics of sampled ranks, and the range of the exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Data, Float, Int, ItemsByUser
from sampled_metrics._base.calls import (
    IN_RESULT,
    current_call,
    place_of,
    public,
    warn_all,
)
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
from sampled_metrics._base.text import (
    Bold,
    BoldNumber,
    Parts,
    RightAligned,
    format_interval,
    format_number,
    format_range,
)
from sampled_metrics._base.threads import one_thread
from sampled_metrics.checks.metrics import signs_of_slow_estimators
from sampled_metrics.checks.samples import signs_of_failed_checks
from sampled_metrics.estimators import (
    REGISTERED_ESTIMATORS,
    Estimator,
    estimator_matrix,
    likely_log_errors,
    parse_estimators,
)
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.evaluation.acts_like import ActsLike, acts_like_rank
from sampled_metrics.evaluation.results import (
    Results,
    Row,
    describe_rankings,
    explained_table,
    missing_notes,
    quantity,
)
from sampled_metrics.evaluation.strata import (
    ABOUT_STRATA,
    STRATUM_ESTIMATORS,
    StratumEstimates,
    check_strata,
    describe_tastes,
)
from sampled_metrics.intervals.means import MeanInterval, Moments, collapse_visits, mean_interval
from sampled_metrics.intervals.population import Population
from sampled_metrics.intervals.quoting import NOT_QUOTED, TOO_WIDE, Quoted, quote
from sampled_metrics.intervals.ranges import Range, UserBrackets, checked_ranges
from sampled_metrics.intervals.shapes import describe_caveat, describe_shape, shape_name
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import SampledRanks, Sampling
from sampled_metrics.read.options import Reading
from sampled_metrics.read.roles import NamesByRole, check_roles
from sampled_metrics.sampling.negatives import check_pairs

_MOST_BY_DEFAULT = 1500  # negatives; for more, cls takes over 2 s and bv nearly as long
_N_FAST = 2  # the first of DEFAULT_ESTIMATORS are fast for all m
_SHARED = "shared"  # names of checks: that users do not share their negatives,
_UNIFORMITY = "uniformity"  # that all items are drawn equally often,
_DUPLICATES = "duplicates"  # and that no user has a negative twice
# Steps of the fit that smooths sampled ranks. More would fit the noise: stopping early regularises.
_SMOOTHING = 30
_estimator_matrix = lru_cache(maxsize=32)(estimator_matrix)  # often the same for all recommenders
_likely_log_errors = lru_cache(maxsize=32)(likely_log_errors)


@dataclass(frozen=True, eq=False)
class Corrected(Record):
    """An estimate of one metric from sampled ranks, and the range of the exact metric.

    Attributes
    ----------
    metric, estimator
        Their names.
    value
        The estimate, as a fraction. For `likely`, the value, its error and its interval are nan if
        the interval is too wide to quote a number (high end more than 16 times the low end).
    std_error, ci_low, ci_high
        Standard error and interval of the expectation of this estimate over users and over draws
        of negatives; nan for one user. The expectation is not the exact metric. For `likely`, the
        ends are nan if moving the value into the range moves it out of this interval.
    range_low, range_high, shape
        Range of the exact metric that the sampled ranks allow, the same for all estimators, and
        the assumed distribution of true ranks.
    likely_low, likely_high
        For `likely`, the interval of the exact metric, which contains `value` and lies in the
        range. It allows for chance, and for how much the distributions of true ranks usually differ
        where sampled ranks do not determine them. For AUC it is the range. nan for other
        estimators.
    acts_like
        The first true rank whose expected credit is at most half of the credit of rank 1, so that
        the estimate acts like an exact metric with this cut-off; None for AUC, which sampling does
        not distort.
    n_users, n_items
        Number of users averaged over, and n, the candidates of a full ranking: the mean if users
        differ.
    n_visits
        Number of visits averaged over, if users have several; otherwise None.
    n_negatives, sampling
        m, the negatives drawn for each user without the held-out item, and how they were drawn.
    tastes
        For negatives corrected by `counts`, which tastes for popularity the range allows: `smooth`
        ones, see `intervals.taste_ranges`, or `any`; otherwise None.
    """

    metric: str
    estimator: str
    value: float
    std_error: float
    ci_low: float
    ci_high: float
    range_low: float
    range_high: float
    likely_low: float
    likely_high: float
    shape: str
    acts_like: int | None
    n_users: int
    n_items: int
    n_negatives: int
    sampling: str
    n_visits: int | None = field(default=None, metadata=OMIT_IF_NONE)
    tastes: str | None = field(default=None, metadata=OMIT_IF_NONE)


@public(columns=check_roles, see=IN_RESULT)
@one_thread()
def correct(
    data: Data,
    metrics: Names = DEFAULT_METRICS,
    estimators: Names = DEFAULT_ESTIMATORS,
    *,
    n_items: ArrayLike | None = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    positive: ArrayLike | None = None,
    relevant: ItemsByUser = None,
    counts: Any = None,
    items: Any = None,
    users: Any = None,
    cluster: Any = None,
    missing: str = "refuse",
    ties: str = "random",
    seed: int = 0,
    shape: str | float = DEFAULT_SHAPE,
    confidence: float = DEFAULT_CONFIDENCE,
    columns: NamesByRole = None,
) -> Results[Corrected]:
    """Correct sampled metrics (section 5), and compute the range of the exact metrics.

    An estimate is the mean over users of an estimator's vector, which assigns a credit to each
    sampled rank. Its interval covers the expectation of the estimate, not the exact metric.

    `likely`, the number to quote, and `em:ITERATIONS` are fitted to the ranks; their intervals
    allow for that to first order. `likely` has a second interval, which covers the exact metric.
    Its value is moved into the range, and is nan if this interval is too wide.

    Parameters
    ----------
    data
        Sampled ranks, or scores of held-out items and their negatives, as an array, a DataFrame, a
        file or `SampledRanks`. A dictionary contains the columns of a table, or a list or scores by
        item for each user. A dictionary of recommenders by name is for `compare`.
    metrics
        Names, as a list or separated by commas; by default recall@10, ndcg@10, ap and auc.
    estimators
        The same; by default likely, sampled, cls, bv:0.1 and bv:0.01. For more than 1,500 negatives
        only likely and sampled, because the others are slow.
    n_items
        n: candidates of a full ranking, the held-out item included, if the data does not say.
    n_negatives, sampling
        m, and how the negatives were drawn, if the data does not say.
    positive, relevant
        For scores, the column of the held-out items; for lists and runs, the held-out items.
    counts
        For negatives that were drawn by popularity, or in any way that follows it: the events of
        training (a table of users and items), or the count of each item (a table, a dictionary or a
        Series). Data needs the ids of the negatives; how they were drawn need not be known.
    items, users
        With `counts`, the ids of the items of scores, shape (rows, 1 + m), or (1 + m,) if all rows
        have the same; and ids of the users of rows, whose events in `counts` are no candidates.
    cluster
        With `counts`, which rows share a set of negatives or a batch, so that they depend on each
        other: the name of a column of a table, or a value for each row of scores.
    missing
        What to do with held-out items that are missing from the user's candidates: `refuse` them,
        or rank them `last`.
    ties, seed
        Order of candidates with the same score: `random` (drawn with `seed`), `optimistic` or
        `pessimistic`.
    shape
        Assumption about the distribution of true ranks near the top: `non-increasing` (no rank is
        likelier than a better one), a factor such as 2 (no rank is more than twice as likely as a
        better one) or `none`. The sampled ranks cannot confirm it.
    confidence
        Nominal coverage of the intervals and ranges.
    columns
        Mapping from role to column name, see `evaluate`.

    Returns
    -------
    Results
        A list of `Corrected`, one for each metric and estimator, which prints as a table. Metrics
        vary slowest.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    compare : Orders of several recommenders.
    reported : The same from printed numbers.
    plan : How many negatives decide.
    evaluate : Exact metrics. With vectors of users and items, those at a cut-off need only part of
        all scores.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> results = correct([1, 1, 5, 40, 90], "hr@10", n_items=3541, n_negatives=100)
    >>> results.to_frame()[["estimator", "value", "acts_like", "range_high"]].round(3)
      estimator  value  acts_like  range_high
    0    likely    NaN         72       0.902
    1   sampled  0.600        342       0.902
    2       cls  0.197         26       0.902
    3    bv:0.1  0.236         17       0.902
    4   bv:0.01  0.355         12       0.902

    Scores, the first column being those of the held-out items:

    >>> scores = [[0.9, 0.2, 0.1], [0.4, 0.7, 0.1]]
    >>> [result.value for result in correct(scores, "hr@1", "sampled", positive=0, n_items=50)]
    [0.5]
    """
    check_arguments(shape=shape, confidence=confidence)
    measures = parse_measures(metrics)
    options = Reading(
        n_items=n_items,
        n_negatives=n_negatives,
        sampling=sampling,
        positive=positive,
        relevant=relevant,
        ties=ties,
        seed=seed,
        missing=missing,
        counts=counts,
        items=items,
        users=users,
        cluster=cluster,
    )
    ranks = options.sampled(data)
    with place_of(data):
        check_negatives_of(ranks)
    estimates = estimate_ranks(ranks, measures, estimators, shape, confidence)
    results = [
        _corrected(estimates, i, j, shape_name(shape))
        for i in range(len(estimates.measures))
        for j in range(len(estimates.estimators))
    ]
    show = partial(
        _corrected_parts,
        confidence=confidence,
        about_rankings=describe_rankings([ranks]),
        notes=missing_notes([ranks]),
    )
    return Results(results, show, current_call().notes)


def _corrected(estimates: Estimates, measure: int, estimator: int, shape: str) -> Corrected:
    """Return the result of a metric and an estimator, given by their positions."""
    ranks = estimates.ranks
    metric = str(estimates.measures[measure])
    name = str(estimates.estimators[estimator])
    allowed = estimates.ranges[metric]
    mean = estimates.mean(measure, estimator)
    quoted = NOT_QUOTED
    if name == QUOTED_ESTIMATOR:
        quoted = estimates.quoted(measure)
        mean = _replace_value(mean, quoted.value)
    return Corrected(
        metric=metric,
        estimator=name,
        **mean._asdict(),
        range_low=allowed.low,
        range_high=allowed.high,
        likely_low=quoted.low,
        likely_high=quoted.high,
        shape=shape,
        acts_like=estimates.acts_like(measure, estimator),
        n_items=ranks.mean_candidates,
        n_negatives=ranks.n_negatives,
        sampling=str(ranks.sampling),
        n_visits=estimates.n_visits,
        tastes=estimates.tastes,
    )


def check_negatives_of(ranks: SampledRanks) -> bool:
    """Refuse negatives that were not drawn uniformly, and warn about other unmet assumptions.

    Negatives with counts by stratum only have to be uniform within strata. Returns whether users
    share their negatives, as far as the pairs of users and items are known.
    """
    if ranks.pairs is None:
        return False
    if ranks.strata is not None:
        check_strata(ranks)
        return False
    failed = {
        check.name: check.remark
        for check in check_pairs(ranks.pairs, int(ranks.n_items.min()))
        if not check.passed
    }
    no_warning = {_UNIFORMITY}  # an error below
    if ranks.sampling is Sampling.WITH_REPLACEMENT:
        no_warning.add(_DUPLICATES)
    warn_all(
        signs_of_failed_checks(
            {name: remark for name, remark in failed.items() if name not in no_warning}
        )
    )
    if _UNIFORMITY in failed:
        raise InputError(f"negatives fail the check {_UNIFORMITY!r}: {failed[_UNIFORMITY]}")
    return _SHARED in failed


def _replace_value(mean: MeanInterval, value: float) -> MeanInterval:
    """Replace a mean by the number to quote; all fields are nan if there is none.

    The interval is dropped if the number lies outside of it.
    """
    if np.isnan(value):
        return mean._replace(value=np.nan, std_error=np.nan, ci_low=np.nan, ci_high=np.nan)
    if not mean.ci_low <= value <= mean.ci_high:
        mean = mean._replace(ci_low=np.nan, ci_high=np.nan)
    return mean._replace(value=value)


def default_estimators(names: Names, m: int) -> list[Estimator]:
    """Parse names of estimators; omit slow ones from the default for many negatives."""
    if names is DEFAULT_ESTIMATORS and m > _MOST_BY_DEFAULT:
        warn_all(signs_of_slow_estimators(DEFAULT_ESTIMATORS[_N_FAST:], m))
        names = DEFAULT_ESTIMATORS[:_N_FAST]
    return parse_estimators(names)


@dataclass(frozen=True, eq=False)
class SampleEstimates:
    """Estimators' vectors and ranges of the exact metrics for some sampled ranks.

    Methods take the positions of a metric in `measures` and of an estimator in `estimators`.
    """

    ranks: SampledRanks
    measures: Sequence[Measure]
    estimators: Sequence[Estimator]
    vectors: Float  # credit of each sampled rank; shape (measures, estimators, m + 1)
    bracketed: UserBrackets
    ranges: Mapping[str, Range]  # by metric
    log_errors: Float  # of `likely` as an estimate of each exact metric; shape (measures,)
    tastes: ClassVar[None] = None  # as in `StratumEstimates`

    @property
    def user_of_unit(self) -> Int | None:
        """User of each visit; None if units are users."""
        return self.bracketed.groups.user_of_unit

    @property
    def n_visits(self) -> int | None:
        """Number of visits; None if users have one each."""
        return None if self.user_of_unit is None else self.user_of_unit.size

    @cached_property
    def _counts(self) -> Int:
        """Rows at each sampled rank, shape (m + 1,)."""
        return np.bincount(self.ranks.sampled_ranks - 1, minlength=self.ranks.n_negatives + 1)

    @cached_property
    def _smooth_counts(self) -> Float:
        """Rows at each sampled rank of a smooth distribution that was fitted to them."""
        n = self.ranks.mean_candidates
        _, smooth = Population.from_counts(self._counts, n, self.ranks.sampling, _SMOOTHING)
        return smooth

    def mean(self, measure: int, estimator: int) -> MeanInterval:
        """Return the mean of an estimate over users, and the interval of its expectation.

        If each user has one row, the interval also uses the moments by smoothed counts of ranks.
        """
        n_users = self.bracketed.groups.n_users
        vector = self.vectors[measure, estimator]
        smooth = None
        has_single_rows = n_users == len(self.ranks)
        if has_single_rows:
            observed = Moments.from_values(vector, self._counts)
            smooth = Moments.from_values(vector, self._smooth_counts)
        else:
            values = collapse_visits(self.user_values(measure, estimator), self.user_of_unit)
            observed = Moments.from_values(values)
        prior = self.prior(measure, estimator)
        return mean_interval(observed, n_users, prior, self.bracketed.confidence, smooth)

    def prior(self, measure: int, estimator: int) -> Moments:
        """Return the moments of an estimate at a random sampled rank."""
        return Moments.from_values(self.vectors[measure, estimator])

    def user_values(self, measure: int, estimator: int) -> Float:
        """Estimate a metric for each user, or visit: the mean over their rows."""
        values = self.vectors[measure, estimator, self.ranks.sampled_ranks - 1]
        unit = self.bracketed.groups.unit_of_row
        return np.bincount(unit, values) / np.bincount(unit)

    def value(self, measure: int, estimator: int) -> float:
        """Estimate a metric; `likely` is moved into its range, see `quoted`."""
        if str(self.estimators[estimator]) == QUOTED_ESTIMATOR:
            return self.quoted(measure).value
        return float(self.user_values(measure, estimator).mean())

    def quoted(self, measure: int) -> Quoted:
        """Return the number to quote, if `likely` is among the estimators."""
        estimator = list(map(str, self.estimators)).index(QUOTED_ESTIMATOR)
        value = float(self.user_values(measure, estimator).mean())
        allowed = self.ranges[str(self.measures[measure])]
        return quote(value, float(self.log_errors[measure]), allowed, self.bracketed.confidence)

    def acts_like(self, measure: int, estimator: int) -> int | None:
        """Find the rank at which the credit of an estimate has fallen to half; None for AUC."""
        if self.measures[measure].metric.needs_candidates:
            return None
        n = self.ranks.mean_candidates
        return acts_like_rank(self.vectors[measure, estimator], n, self.ranks.sampling)


Estimates: TypeAlias = SampleEstimates | StratumEstimates


def estimate_ranks(
    ranks: SampledRanks,
    measures: Sequence[Measure],
    estimators: Names,
    shape: str | float,
    confidence: float,
) -> Estimates:
    """Estimate metrics, and find their ranges, from sampled ranks of any design."""
    if ranks.strata is None:
        parsed = default_estimators(estimators, ranks.n_negatives)
        bracketed, allowed = checked_ranges(measures, ranks, shape, confidence)
        return estimate_from_sample(ranks, measures, parsed, bracketed, allowed)
    if shape_name(shape) != DEFAULT_SHAPE:
        raise InputError(
            f"shape (--shape) cannot be used with counts, which need {DEFAULT_SHAPE}; drop it"
        )
    names = STRATUM_ESTIMATORS if estimators is DEFAULT_ESTIMATORS else estimators
    parsed = parse_estimators(names)
    others = [each for each in map(str, parsed) if each not in STRATUM_ESTIMATORS]
    if others:
        raise InputError(
            f"estimator {others[0]} is for uniform negatives; with counts (--counts) use "
            f"{' or '.join(STRATUM_ESTIMATORS)}"
        )
    return StratumEstimates(ranks, measures, parsed, confidence)


def estimate_from_sample(
    ranks: SampledRanks,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    bracketed: UserBrackets,
    ranges: Sequence[Range] = (),
) -> SampleEstimates:
    """Compute the vectors of estimators, and the errors of `likely`.

    Some vectors are fitted to the sampled ranks of all rows, users having equal weights.

    Parameters
    ----------
    bracketed, ranges
        Those of `checked_ranges`; `ranges` may be omitted if nothing asks for them.
    """
    n = ranks.mean_candidates
    m = ranks.n_negatives
    histogram = None
    if any(REGISTERED_ESTIMATORS[estimator.name].fitted for estimator in estimators):
        histogram = _count_units_at_ranks(ranks, bracketed.groups.unit_of_row)
    vectors = _estimator_matrix(
        tuple(estimators), tuple(measures), n, m, sampling=ranks.sampling, histogram=histogram
    )
    log_errors = np.full(len(measures), np.nan)
    if histogram is not None and QUOTED_ESTIMATOR in map(str, estimators):
        # Visits of a user are alike: the error is at most that of one visit of each user.
        users_per_unit = bracketed.groups.n_users / sum(histogram)
        users_at_ranks = tuple(users_per_unit * n_units for n_units in histogram)
        log_errors = _likely_log_errors(users_at_ranks, tuple(measures), n, m, ranks.sampling)
    return SampleEstimates(
        ranks=ranks,
        measures=measures,
        estimators=estimators,
        vectors=vectors,
        bracketed=bracketed,
        ranges=dict(zip(map(str, measures), ranges, strict=False)),
        log_errors=log_errors,
    )


def _count_units_at_ranks(ranks: SampledRanks, unit_of_row: Int) -> tuple[float, ...]:
    """Count users, or visits, at each sampled rank; the rows of one share its count of 1.

    The result has m + 1 numbers, and is a tuple to be a key of caches.
    """
    weight_of_row = 1.0 / np.bincount(unit_of_row)[unit_of_row]
    n_ranks = ranks.n_negatives + 1
    return tuple(np.bincount(ranks.sampled_ranks - 1, weight_of_row, n_ranks).tolist())


def _corrected_parts(
    results: Sequence[Corrected],
    confidence: float,
    about_rankings: str,
    *,
    notes: Sequence[str] = (),
    intervals: bool = False,
) -> Parts:
    """Return a table of ranges and estimates, lines about it, and an explanation."""
    first = results[0]
    by_metric = [list(group) for _, group in groupby(results, key=attrgetter("metric"))]
    rows: list[Row] = []
    for first_of_metric, *others in by_metric:
        rows.append(_corrected_row(first_of_metric, intervals))
        for other in others:  # the range, which is the same, is printed once
            rows.append({**_corrected_row(other, intervals), "range": RightAligned()})
    users = quantity(first.n_users, "user")
    if first.n_visits is not None:
        users += f", {quantity(first.n_visits, 'visit')}"
    assumption = describe_shape(first.shape)
    if first.tastes is not None:
        assumption += f", {describe_tastes(first.tastes)}"
    lines = [
        f"{users}, {quantity(first.n_negatives, 'negative')} {_describe_draws(first)} "
        f"{first.n_items - 1:,} items. Values are fractions.",
        *notes,
        "range: values of the exact metric that the sampled ranks allow, at "
        f"{100 * confidence:g} %, {assumption}.",
        *_random_orders_in_ranges([first_of_metric for first_of_metric, *_ in by_metric]),
    ]
    if first.tastes is not None:
        return explained_table(rows, lines, [about_rankings, *ABOUT_STRATA])
    explained = [*filter(None, [describe_caveat(first.shape)]), about_rankings]
    explained += _explain_estimates(results, intervals)
    return explained_table(rows, lines, explained)


def _corrected_row(result: Corrected, intervals: bool) -> Row:
    """Return the row of a metric and an estimator, with its interval or its error."""
    is_quoted = result.estimator == QUOTED_ESTIMATOR
    row: Row = {
        "metric": result.metric,
        "range": format_range(result.range_low, result.range_high),
        "estimator": Bold(QUOTED_ESTIMATOR) if is_quoted else result.estimator,
        "value": BoldNumber(result.value) if is_quoted else result.value,
        "interval" if intervals else "error": _format_error(result, intervals),
    }
    if result.tastes is None:
        row["acts like"] = str(ActsLike.from_rank(result.metric, result.acts_like, result.n_items))
    return row


def _random_orders_in_ranges(results: Sequence[Corrected]) -> list[str]:
    """Write which ranges include the value of a random order, one result for each metric."""
    lines = []
    for result in results:
        value = _random_order_value(result.metric, result.n_items)
        if result.range_low <= value <= result.range_high:
            lines.append(
                f"{result.metric}: the range includes {value:.4f}, the value of a random order."
            )
    return lines


def _describe_draws(result: Corrected) -> str:
    """Say how negatives were drawn, or that they were corrected."""
    if result.tastes is not None:
        return "corrected by the counts of"
    way = result.sampling.replace("-", " ")
    if result.sampling == Sampling.DISTINCT:
        way = "(duplicates dropped)"
    return f"drawn uniformly {way} from"


def _explain_estimates(results: Sequence[Corrected], intervals: bool) -> list[str]:
    """Explain the estimates from uniform negatives, and their errors."""
    explained = []
    if any(result.estimator == QUOTED_ESTIMATOR for result in results):
        explained.append(
            f"{QUOTED_ESTIMATOR}: the number to quote, with an interval for the exact metric. "
            "Where sampled ranks do not determine the true ranks, it assumes a smooth distribution "
            "of the usual slope: for a random order of many items it is about twice the exact "
            "metric, and for a flat top it is too low. No number is quoted with an interval "
            f"{TOO_WIDE}."
        )
    about_errors = (
        "error: standard error of the estimate; the range shows how far it may be from the exact "
        "metric."
    )
    if intervals:
        about_errors = (
            "interval of other estimators: for the expectation of the estimate, not for the exact "
            "metric."
        )
    explained.append(
        'value: the estimate. It measures the metric under "acts like", so it may lie '
        f"outside the range. {about_errors}"
    )
    return explained


def _format_error(result: Corrected, intervals: bool) -> RightAligned:
    """Write the interval of the number to quote, or the error or interval of an estimate."""
    if result.estimator == QUOTED_ESTIMATOR:
        return format_interval(result.likely_low, result.likely_high, is_short=True)
    if intervals:
        return format_interval(result.ci_low, result.ci_high)
    return RightAligned("-" if np.isnan(result.std_error) else format_number(result.std_error))


def _random_order_value(metric: str, n: int) -> float:
    """Calculate the expected metric of one relevant item in a random order of n items.

    It is the mean of the metric over the ranks 1 to n, by a sum over few ranks with weights.
    """
    measure = parse_measure(metric)
    ranks, weights = rank_rule([measure], n, 1)
    return float(weights @ measure.value_at(ranks, n) / n)
