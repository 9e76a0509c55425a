"""Corrected metrics of sampled ranks, and the range of the exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks
from sampled_metrics._base.defaults import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ESTIMATORS,
    DEFAULT_METRICS,
    DEFAULT_SHAPE,
    QUOTED_ESTIMATOR,
    Names,
)
from sampled_metrics._base.errors import reading, warn_input
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
from sampled_metrics.estimators import (
    REGISTERED_ESTIMATORS,
    Estimator,
    estimator_matrix,
    likely_log_errors,
    parse_estimators,
)
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.evaluation.results import (
    ActsLike,
    Results,
    Row,
    count,
    explained_table,
    missing_notes,
    rankings_meant,
    with_questions,
)
from sampled_metrics.evaluation.several import each_recommender
from sampled_metrics.inputs.roles import NamesByRole
from sampled_metrics.intervals.kernels import rank_grid
from sampled_metrics.intervals.means import MeanInterval, Moments, collapse_visits, mean_interval
from sampled_metrics.intervals.population import Population
from sampled_metrics.intervals.quoting import NOT_QUOTED, TOO_WIDE, Quoted, quote
from sampled_metrics.intervals.ranges import Bracketed, Range, checked_ranges
from sampled_metrics.intervals.shapes import describe_caveat, describe_shape, shape_name
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import SampledRanks, Sampling
from sampled_metrics.ranks.data import Data, ItemsByUser, as_sampled
from sampled_metrics.sampling.negatives import check_pairs
from sampled_metrics.sampling.probability import pmf_at

_ROUNDING = 1e-12
_MOST_BY_DEFAULT = 1500  # negatives, beyond which cls takes more than 2 s and bv not much less
_FAST = 2  # default estimators that are fast for all m
_SHARED = "shared"  # name of the check that users have different negatives
_SMOOTHING = 30  # steps of the fit that smooths sampled ranks, stopped early as regularisation
_vectors = lru_cache(maxsize=32)(estimator_matrix)  # often the same for all recommenders
_log_errors = lru_cache(maxsize=32)(likely_log_errors)


@dataclass(frozen=True, eq=False)
class Corrected(Record):
    """One corrected metric.

    Attributes
    ----------
    metric, estimator
        Names of both.
    value
        The estimate, as a fraction. For `likely` it is nan, and so are its error and interval,
        where the interval is too wide to quote a number (high end more than 16 times the low one).
    std_error, ci_low, ci_high
        Of the expectation of this estimate, which is not the exact metric, over users and over
        the negatives drawn for them; nan for one user. The ends are nan for `likely` if it is kept
        in a range that its interval lies beside.
    range_low, range_high, shape
        Values of the exact metric that the sampled ranks allow, the same for all estimators, and
        the assumption about the distribution of true ranks.
    likely_low, likely_high
        Of `likely`, the interval about the exact metric: with chance, and with what is usual of
        ranks that the sampled ranks do not show. It holds `value`, and is in the range; nan for
        other estimators. For AUC it is the range.
    acts_like
        The first true rank whose expected credit is at most half of the credit of rank 1, so that
        the estimate acts like an exact metric with this cut-off; None for AUC, which sampling does
        not distort.
    n_users, n_items
        Users averaged over; n, the candidates of a full ranking, the mean where users differ.
    n_visits
        Visits averaged over, of which users have several; None without.
    n_negatives, sampling
        m: negatives drawn, the held-out item not included, and how.
    recommender
        Its name, if data is a dictionary of recommenders.
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
    recommender: str | None = field(default=None, metadata=OMIT_IF_NONE)


@with_questions
@each_recommender
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
    missing: str = "refuse",
    ties: str = "random",
    seed: int = 0,
    shape: str | float = DEFAULT_SHAPE,
    confidence: float = DEFAULT_CONFIDENCE,
    columns: NamesByRole = None,
) -> Results[Corrected]:
    """Correct sampled metrics (section 5), and compute the range of the exact ones.

    An estimate is the mean over users of an estimator's vector; its interval is not about the exact
    metric. `likely`, the number to quote, and `em:ITERATIONS` are fitted to the ranks; their
    intervals take that into account to first order. `likely` has another interval, about the exact
    metric; it is kept in the range, and is nan where that interval is wide. One result for each
    metric and estimator, metrics outermost.

    Parameters
    ----------
    data
        Sampled ranks, or scores of held-out items and their negatives; an array, a DataFrame, a
        file or `SampledRanks`; or a dictionary of several recommenders by name.
    metrics
        Names, several with commas or in a list; by default recall@10, ndcg@10, ap and auc.
    estimators
        Likewise; by default likely, sampled, cls, bv:0.1 and bv:0.01, of more than 1,500 negatives
        likely and sampled only, because the rest takes long.
    n_items
        n: candidates of a full ranking, the held-out item included, if the data does not say.
    n_negatives, sampling
        m, and how the negatives were drawn, if the data does not say.
    positive, relevant
        Of scores, the column of the held-out items; of lists and runs, the held-out items.
    missing
        Held-out items that are no candidates of their users: `refuse`, or `last` behind all.
    ties, seed
        Place among negatives with the same score: `random`, `optimistic` or `pessimistic`.
    shape
        Assumption about the distribution of true ranks: `non-increasing` (near the top no
        rank is likelier than a better one), a factor such as 2 (none is more than twice as likely
        as a better one) or `none`. The sampled ranks cannot confirm it.
    confidence
        Nominal coverage of the intervals and ranges.
    columns
        Names of columns of tables by role, see `evaluate`.

    Returns
    -------
    Results
        A list of `Corrected`, one for each metric and estimator, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    compare : Orders of several recommenders.
    reported : The same from printed numbers.
    plan : How many negatives decide.
    evaluate : Exact metrics; by vectors of users and items, at a cut-off, for the cost of 100
        negatives.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> found = correct([1, 1, 5, 40, 90], "hr@10", n_items=3541, n_negatives=100)
    >>> found.to_frame()[["estimator", "value", "acts_like", "range_high"]].round(3)
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
    ranks = as_sampled(
        data,
        n_items=n_items,
        n_negatives=n_negatives,
        sampling=sampling,
        positive=positive,
        relevant=relevant,
        ties=ties,
        seed=seed,
        missing=missing,
        columns=columns,
    )
    with reading(data):
        question_negatives(ranks)
    parsed = chosen_estimators(estimators, ranks.n_negatives)
    bracketed, ranges = checked_ranges(measures, ranks, shape, confidence)
    solved = solve(ranks, measures, parsed, bracketed, ranges)
    n = ranks.mean_candidates
    counts = np.bincount(ranks.sampled_ranks - 1, minlength=ranks.n_negatives + 1)
    likely = None
    owner = bracketed.rows.owner
    n_users = bracketed.rows.n_independent
    if n_users == len(ranks):
        _, likely = Population.from_counts(counts, n, ranks.sampling, _SMOOTHING)
    results = []
    for i, measure in enumerate(measures):
        for j, estimator in enumerate(parsed):
            vector = solved.vectors[i, j]
            smooth = None
            if likely is None:
                of_users = Moments.from_values(collapse_visits(solved.user_values(i, j), owner))
            else:
                of_users = Moments.from_values(vector, counts)
                smooth = Moments.from_values(vector, likely)
            mean = mean_interval(of_users, n_users, Moments.from_values(vector), confidence, smooth)
            number = NOT_QUOTED
            if str(estimator) == QUOTED_ESTIMATOR:
                number = solved.quoted(i, j)
                mean = _around(mean, number.value)
            results.append(
                Corrected(
                    metric=str(measure),
                    estimator=str(estimator),
                    **mean._asdict(),
                    range_low=ranges[i].low,
                    range_high=ranges[i].high,
                    likely_low=number.low,
                    likely_high=number.high,
                    shape=shape_name(shape),
                    acts_like=solved.acts_like(i, j),
                    n_items=n,
                    n_negatives=ranks.n_negatives,
                    sampling=str(ranks.sampling),
                    n_visits=None if owner is None else owner.size,
                )
            )
    meant = rankings_meant([ranks])
    notes = missing_notes([ranks])
    return Results(results, partial(_parts, confidence=confidence, meant=meant, notes=notes))


def question_negatives(ranks: SampledRanks) -> bool:
    """Ask about each property of negatives that corrections assume and these pairs do not have.

    Returns whether users share their negatives, as far as pairs are known.
    """
    if ranks.pairs is None:
        return False
    with_replacement = ranks.sampling is Sampling.WITH_REPLACEMENT
    is_shared = False
    for check in check_pairs(ranks.pairs, int(ranks.n_items.min())):
        if check.passed or (check.name == "duplicates" and with_replacement):
            continue
        is_shared = is_shared or check.name == _SHARED
        warn_input("data", f"negatives fail the check {check.name!r}: {check.remark}")
    return is_shared


def _around(mean: MeanInterval, value: float) -> MeanInterval:
    """Replace an estimate by the number to quote; its error and interval are nan if that is.

    An interval of the expectation that the number lies outside of is dropped.
    """
    if np.isnan(value):
        return mean._replace(value=np.nan, std_error=np.nan, ci_low=np.nan, ci_high=np.nan)
    if not mean.ci_low <= value <= mean.ci_high:
        mean = mean._replace(ci_low=np.nan, ci_high=np.nan)
    return mean._replace(value=value)


def chosen_estimators(names: Names, m: int) -> list[Estimator]:
    """Return the estimators of these names; by default without any that are slow for m."""
    if names is DEFAULT_ESTIMATORS and m > _MOST_BY_DEFAULT:
        left_out = ", ".join(DEFAULT_ESTIMATORS[_FAST:])
        problem = f"left out: {left_out}, which take long for {m:,} negatives"
        warn_input("estimators", f"{problem}; name them to have them")
        names = DEFAULT_ESTIMATORS[:_FAST]
    return parse_estimators(names)


class Solved(NamedTuple):
    """Vectors of estimators and ranges of exact metrics for some sampled ranks."""

    ranks: SampledRanks
    measures: Sequence[Measure]
    estimators: Sequence[Estimator]
    vectors: Float  # shape (measures, estimators, m + 1)
    bracketed: Bracketed
    ranges: Mapping[str, Range]  # by metric
    log_errors: Float  # of `likely`, about each exact metric; shape (measures,)

    def user_values(self, measure: int, estimator: int) -> Float:
        """Estimate of one metric for each user, or visit: the mean over their rows."""
        values = self.vectors[measure, estimator, self.ranks.sampled_ranks - 1]
        user = self.bracketed.rows.user
        return np.bincount(user, values) / np.bincount(user)

    def value(self, measure: int, estimator: int) -> float:
        """Mean estimate of one metric; the number to quote is kept in its range, see `quoted`."""
        if str(self.estimators[estimator]) == QUOTED_ESTIMATOR:
            return self.quoted(measure, estimator).value
        return float(self.user_values(measure, estimator).mean())

    def quoted(self, measure: int, estimator: int) -> Quoted:
        """Number to quote of one metric, by the place of `likely` among the estimators."""
        value = float(self.user_values(measure, estimator).mean())
        allowed = self.ranges[str(self.measures[measure])]
        return quote(value, float(self.log_errors[measure]), allowed, self.bracketed.confidence)

    def acts_like(self, measure: int, estimator: int) -> int | None:
        """Rank at which the credit of an estimate has fallen to half; None for AUC."""
        if self.measures[measure].metric.needs_candidates:
            return None
        n = self.ranks.mean_candidates
        return acts_like_rank(self.vectors[measure, estimator], n, self.ranks.sampling)


def solve(
    ranks: SampledRanks,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    bracketed: Bracketed,
    ranges: Sequence[Range] = (),
) -> Solved:
    """Solve for vectors; fitted estimators are fitted to all rows, with equal weights of users."""
    m = ranks.n_negatives
    histogram = None
    if any(REGISTERED_ESTIMATORS[estimator.name].fitted for estimator in estimators):
        user = bracketed.rows.user
        weights = 1.0 / np.bincount(user)[user]
        histogram = tuple(np.bincount(ranks.sampled_ranks - 1, weights, m + 1).tolist())
    vectors = _vectors(
        tuple(estimators),
        tuple(measures),
        ranks.mean_candidates,
        m,
        sampling=ranks.sampling,
        histogram=histogram,
    )
    by_metric = dict(zip(map(str, measures), ranges, strict=False))
    log_errors = np.full(len(measures), np.nan)
    if histogram is not None and QUOTED_ESTIMATOR in map(str, estimators):
        # Visits of a user are alike: the error is at most that of one visit of each user.
        part = bracketed.rows.n_independent / sum(histogram)
        independent = tuple(part * count for count in histogram)
        about = (tuple(measures), ranks.mean_candidates, m, ranks.sampling)
        log_errors = _log_errors(independent, *about)
    return Solved(ranks, measures, estimators, vectors, bracketed, by_metric, log_errors)


def acts_like_rank(
    vector: Float, n: int, sampling: str = Sampling.WITHOUT_REPLACEMENT
) -> int | None:
    """Find the first true rank whose expected credit is at most half of that of rank 1.

    None if rank 1 has no credit, or if no rank has so little.

    Parameters
    ----------
    vector
        Credit of each sampled rank, shape (m + 1,).
    n
        Candidates of a full ranking, the relevant item included.
    sampling
        How the negatives are drawn.

    Examples
    --------
    >>> acts_like_rank(np.array([1.0, 0.75, 0.5, 0.25, 0.0]), 101)  # falls by 1/100 per rank
    51
    """
    m = vector.size - 1
    kind = Sampling(sampling)
    half = (0.5 + _ROUNDING) * float(vector[0])
    if half <= 0.0:
        return None

    ranks = rank_grid(n)
    for rows in blocks(ranks.size, m + 1, CACHE_ENTRIES):
        fallen = _pmf_of_grid(n, m, kind, rows.start) @ vector <= half
        if fallen.any():
            place = rows.start + int(np.argmax(fallen))
            break
    else:
        return None
    while ranks[place] - ranks[place - 1] > 1:
        ranks = np.unique(np.linspace(ranks[place - 1], ranks[place], 17).round().astype(np.int64))
        place = int(np.argmax(pmf_at(ranks, n, m, kind) @ vector <= half))
    return int(ranks[place])


@lru_cache(maxsize=4)  # 1 MB each; most vectors have fallen in the first block
def _pmf_of_grid(n: int, m: int, sampling: Sampling, first: int) -> Float:
    """Probability of sampled ranks given the true ranks in a block of `rank_grid`."""
    ranks = rank_grid(n)[first:]
    block = next(blocks(ranks.size, m + 1, CACHE_ENTRIES))
    return pmf_at(ranks[block], n, m, sampling)


def _parts(
    results: Sequence[Corrected],
    confidence: float,
    meant: str,
    *,
    notes: Sequence[str] = (),
    intervals: bool = False,
) -> Parts:
    """Tables of the range of each metric, and of estimates with the cut-off that each acts like."""
    rows: list[Row] = []
    random = []
    for result in results:
        row: Row = {"metric": result.metric, "range": RightAligned()}
        if not rows or rows[-1]["metric"] != result.metric:
            row["range"] = format_range(result.range_low, result.range_high)
            value = _of_random_order(result.metric, result.n_items)
            if result.range_low <= value <= result.range_high:
                words = f"the range includes {value:.4f}, the value of a random order."
                random.append(f"{result.metric}: {words}")
        is_quoted = result.estimator == QUOTED_ESTIMATOR
        row["estimator"] = Bold(QUOTED_ESTIMATOR) if is_quoted else result.estimator
        row["value"] = BoldNumber(result.value) if is_quoted else result.value
        row["interval" if intervals else "error"] = _error(result, intervals)
        row["acts like"] = str(ActsLike.from_rank(result.metric, result.acts_like, result.n_items))
        rows.append(row)
    first = results[0]
    drawn = "and kept once" if first.sampling == "distinct" else first.sampling.replace("-", " ")
    users = count(first.n_users, "user")
    if first.n_visits is not None:
        users += f", {count(first.n_visits, 'visit')}"
    facts = [
        f"{users}, {count(first.n_negatives, 'negative')} drawn uniformly "
        f"{drawn} from {first.n_items - 1:,} items. Fractions.",
        *notes,
        "range: values of the exact metric that the sampled ranks allow, at "
        f"{100 * confidence:g} %, {describe_shape(first.shape)}.",
        *random,
    ]
    lines = [*filter(None, [describe_caveat(first.shape)]), meant]
    if any(result.estimator == QUOTED_ESTIMATOR for result in results):
        lines.append(
            f"{QUOTED_ESTIMATOR}: the number to quote, with its interval about the exact metric. "
            "What sampled ranks leave open it fills in by a smooth distribution of true ranks, of "
            "a usual slope: a random order of many items comes out at twice its value, and a flat "
            f"top too low. None is quoted with an interval {TOO_WIDE}."
        )
    about = "error: standard error; how far others are from the exact metric, the range says."
    if intervals:
        about = "interval of others: of the expectation of the estimate, not of the exact metric."
    lines.append(
        'value: what the estimator gives. It measures the metric under "acts like", so it may lie '
        f"outside the range. {about}"
    )
    return explained_table(rows, facts, lines)


def _error(result: Corrected, intervals: bool) -> RightAligned:
    """Write the interval of the number to quote, and the error or interval of an estimate."""
    if result.estimator == QUOTED_ESTIMATOR:
        return format_interval(result.likely_low, result.likely_high, is_short=True)
    if intervals:
        return format_interval(result.ci_low, result.ci_high)
    return RightAligned("-" if np.isnan(result.std_error) else format_number(result.std_error))


def _of_random_order(metric: str, n: int) -> float:
    """Value of a metric of one relevant item in a random order of n items."""
    measure = parse_measure(metric)
    ranks, weights = rank_rule([measure], n, 1)
    return float(weights @ measure.value_at(ranks, n) / n)
