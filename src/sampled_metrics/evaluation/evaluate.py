"""Exact metrics of full rankings, with error bars."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from typing import NamedTuple

import numpy as np
import pandas as pd

from sampled_metrics._base.arguments import ALL_CORES, check_arguments
from sampled_metrics._base.array_types import Data, Float, ItemsByUser
from sampled_metrics._base.arrays import ceil_divide
from sampled_metrics._base.calls import (
    IN_RESULT,
    current_call,
    note_meaning,
    place_of,
    public,
    warn_all,
)
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE, DEFAULT_METRICS, Names
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.progress import iterate_with_bar
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import OMIT_IF_NONE, Record
from sampled_metrics._base.text import Parts, format_range
from sampled_metrics._base.threads import one_thread
from sampled_metrics.checks.metrics import (
    Ends,
    are_most_tied,
    signs_of_flat_metrics,
    signs_of_skipped_metrics,
    signs_of_ties,
    signs_of_undefined_values,
)
from sampled_metrics.checks.ranks import signs_in_ranks, signs_of_sampled_candidates
from sampled_metrics.evaluation.acts_like import FLAT
from sampled_metrics.evaluation.results import (
    Results,
    Row,
    explained_table,
    missing_notes,
    quantity,
)
from sampled_metrics.intervals.means import Moments, collapse_visits, mean_interval, prior_moments
from sampled_metrics.metrics import Measure, parse_measure, parse_measures
from sampled_metrics.metrics import values as exact_values
from sampled_metrics.metrics.measures import DepthError
from sampled_metrics.ranks import Ranks
from sampled_metrics.read.early_stop import EarlyStop
from sampled_metrics.read.large_files import LargeRankFile
from sampled_metrics.read.options import Reading
from sampled_metrics.read.roles import USER, VISIT, NamesByRole, check_roles

_SAMPLE_ROWS = 131_072  # rows of a large file that are checked for warnings
_EXAMPLE_SIZE = 10  # users; data with fewer is an example, which gets fewer warnings
_TIES_IN_WORDS = {
    "expected": "Values are fractions; tied items count in random order.",
    "random": "Values are fractions; ties are random: their order is drawn.",
    "optimistic": "Values are fractions; ties are optimistic: relevant items come first.",
    "pessimistic": "Values are fractions; ties are pessimistic: relevant items come last.",
}
_FEWEST_EFFECTIVE = 30.0  # users; with fewer, the mean is not nearly normal


@dataclass(frozen=True, eq=False)
class Evaluated(Record):
    """An exact metric, averaged over users.

    Attributes
    ----------
    ties
        How tied candidates were ordered.
    value, std_error, ci_low, ci_high
        Mean over `n_users` users as a fraction, its standard error and its interval; the last
        three are nan for one user.
    n_items
        n, the candidates of a full ranking: the mean if users differ, None if not known.
    n_visits
        Number of visits averaged over, if users have several; the errors are then those of
        independent users. Otherwise None.
    effective_users
        (sum of v)^2 / (sum of v^2) for the values v of users. If few users have most of the total,
        this number is small, and the interval is too narrow.
    """

    metric: str
    ties: str
    value: float
    std_error: float
    ci_low: float
    ci_high: float
    n_users: int
    n_items: int | None
    effective_users: float
    n_visits: int | None = field(default=None, metadata=OMIT_IF_NONE)


@public(columns=check_roles, see=IN_RESULT)
def evaluate(
    data: Data,
    metrics: Names = DEFAULT_METRICS,
    *,
    relevant: ItemsByUser | None = None,
    seen: ItemsByUser | None = None,
    n_items: int | None = None,
    min_relevance: float = 0.0,
    complete: bool = False,
    missing: str = "refuse",
    ties: str = "expected",
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    n_jobs: int = ALL_CORES,
    progress: bool | None = None,
    columns: NamesByRole = None,
) -> Results[Evaluated]:
    """Average exact metrics over users, or over visits if users have several.

    Metrics that need longer lists are skipped with a warning, unless none remains.

    Parameters
    ----------
    data
        Ranks of the relevant items, or scores, tables, lists or files from which they follow. A
        dictionary contains the columns of a table, or a list or scores by item for each user. A
        dictionary of recommenders by name is for `compare`.
    metrics
        Names, as a list or separated by commas; by default recall@10, ndcg@10, ap and auc.
    relevant, seen
        For scores and lists, the relevant items and the items seen in training, as tables, columns
        or matrices; "none" or an empty list as `seen` says that there are none. NDCG uses the
        grades of relevant items as gains, if there are any: in qrels, a column `relevance`, a
        dictionary of dictionaries or a matrix.
    n_items
        Candidates of each ranking, if the data does not say.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG; by default any above
        0. Users without such an item are dropped.
    complete
        Whether lists contain all candidates of their users.
    missing
        What to do with relevant items that are missing from the lists, or have no score: `refuse`
        them, or count them as not found (`last`), below all candidates.
    ties
        Order of candidates with the same score: `expected` (the mean over all orders), `random`
        (drawn with `seed`), `optimistic` or `pessimistic`.
    confidence
        Nominal coverage of the intervals.
    seed
        Seed of the random order of ties.
    n_jobs
        Threads that rank scores, as in joblib; -1 for one per core. The result does not depend
        on it.
    progress
        Whether to show a progress bar; by default on a terminal, if tqdm is installed.
    columns
        Mapping from role to column name, such as {"item": "docno"}, for columns that are not
        recognised.
        `sampled-metrics columns` prints the roles and the known names.

    Returns
    -------
    Results
        A list of `Evaluated`, one for each metric, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    compare : Which of several recommenders is better.
    correct : The same from sampled ranks.
    report : A page with metrics, intervals and comparisons.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> ranks = Ranks([10] * 4, [0, 2, 5, 9], [0] * 4)
    >>> [(result.metric, result.value) for result in evaluate(ranks, ["recall@3", "auc"])]
    [('recall@3', 0.5), ('auc', 0.5555555555555556)]

    Scores, users x items, with the column of each user's held-out item:

    >>> scores = [[0.3, 0.9, 0.5], [0.8, 0.1, 0.4]]
    >>> [result.value for result in evaluate(scores, "hr@1", relevant=[1, 2])]
    [0.5]

    Items with grades 1, 2 and 3 in the worst order:

    >>> worst = evaluate([[0.9, 0.5, 0.1]], "ndcg@3", relevant=[[1, 2, 3]])
    >>> round(worst[0].value, 3)
    0.79
    """
    check_arguments(ties=ties, confidence=confidence, seed=seed)
    measures = parse_measures(metrics, any_bounds=True)
    has_options = (
        relevant is not None
        or seen is not None
        or columns is not None
        or complete
        or missing != "refuse"
        or min_relevance != 0.0
    )
    needs_all_users = any(measure.metric.pooled for measure in measures)
    large_file = None
    if not has_options and not needs_all_users:  # then blocks of rows can be averaged one by one
        large_file = LargeRankFile.open_if_large(data, n_items)
    if large_file is not None:
        averages = _average_large_file(
            large_file, measures, ties=ties, seed=seed, progress=progress
        )
        return _to_results(averages, ties, confidence)
    options = Reading(
        relevant=relevant,
        seen=seen,
        n_items=n_items,
        complete=complete,
        min_relevance=min_relevance,
        missing=missing,
        n_jobs=n_jobs,
        progress=progress,
        early_stop=early_stop_of(measures, ties, min_relevance),
    )
    ranks = options.ranks(data)
    return _to_results(_average(ranks, measures, ties, seed), ties, confidence)


def early_stop_of(
    measures: list[Measure], ties: str, min_relevance: float = 0.0
) -> EarlyStop | None:
    """Return where rankings may end: at the largest cut-off, if all metrics have one."""
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    if len(cutoffs) < len(measures) or ties == "random":  # random order draws for all tied items
        return None
    return EarlyStop(
        depth=max(cutoffs),
        is_enough=partial(_is_depth_enough, measures, ties),
        min_relevance=min_relevance,
    )


def _is_depth_enough(measures: list[Measure], ties: str, ranks: Ranks) -> bool:
    """Return whether rankings that end at the depth give the results that whole ones would give.

    Items below the depth are not found. They matter to intervals by grades, and to the warning
    about ties, which counts all tied items: it cannot be due if few are tied, however many of the
    items below are, or if the order of ties changes no metric.
    """
    if ranks.relevance is not None:  # intervals draw grades in the order of all items
        return False
    n_relevant_items = int(ranks.n_relevant.sum())
    n_tied = int(np.count_nonzero(ranks.n_tied))
    n_below_depth = n_relevant_items - ranks.n_tied.size
    may_warn_about_ties = n_tied > 0 and are_most_tied(n_tied + n_below_depth, n_relevant_items)
    if not may_warn_about_ties:
        return True
    values = {measure: exact_values(measure, ranks, ties) for measure in measures}
    return not any(ends.differ for ends in _ends_of_ties(ranks, values))


class _Averages(NamedTuple):
    """Moments of metrics over users, and what the printed table says about the users."""

    moments: dict[Measure, Moments]
    priors: dict[Measure, Moments]  # of a user whose relevant items have random ranks
    n_users: int
    n_defined: dict[Measure, int]  # users with a value, if some have none
    n_visits: dict[Measure, int]  # visits with a value, if users have several
    n_items: int  # mean, 0 if not known
    notes: list[str]
    several_items: bool  # whether some user has several; then recall is not a proportion of users
    is_mean: bool  # whether users differ in candidates


@one_thread()
def _average(ranks: Ranks, measures: list[Measure], ties: str, seed: int) -> _Averages:
    """Average metrics over the users of ranks in memory.

    Users, or visits, without a value of a metric (nan) do not count. If users have visits, each
    user counts once, with the mean over visits.
    """
    warn_all(signs_of_sampled_candidates(ranks))
    values_by_measure = metric_values(measures, ranks, ties, seed)
    warn_about_ties(ranks, values_by_measure)
    user_values = {}
    for measure, values in values_by_measure.items():
        has_value = ~np.isnan(values)
        user_of_value = None if ranks.user is None else ranks.user[has_value]
        user_values[measure] = collapse_visits(values[has_value], user_of_value)
    n_visits = {}
    if ranks.user is not None:
        n_visits = {
            measure: int(np.count_nonzero(~np.isnan(values)))
            for measure, values in values_by_measure.items()
        }
    return _Averages(
        moments={measure: Moments.from_values(values) for measure, values in user_values.items()},
        priors=prior_moments(values_by_measure, ranks),
        n_users=ranks.n_users,
        n_defined={measure: values.size for measure, values in user_values.items()},
        n_visits=n_visits,
        n_items=ranks.mean_candidates,
        notes=relevance_notes([ranks]),
        several_items=bool((ranks.n_relevant > 1).any()),
        is_mean=bool(np.ptp(ranks.n_candidates)),
    )


@one_thread()
def _average_large_file(
    file: LargeRankFile,
    measures: list[Measure],
    *,
    ties: str,
    seed: int,
    progress: bool | None,
) -> _Averages:
    """Average metrics over the users of a large file, which is read block by block.

    The moments of the blocks are pooled. Every `step`-th row is kept as a sample, which is checked
    for warnings, and from which comes what the moments do not show.
    """
    moments_of_blocks: dict[Measure, list[Moments]] = {measure: [] for measure in measures}
    generators = {measure: generator(seed, "ties") for measure in measures}
    step = ceil_divide(file.n_rows, _SAMPLE_ROWS)
    sampled_rows = []
    block_sizes = []
    first_row = 0  # of the block, in the file
    total_candidates = 0
    for ranks in iterate_with_bar(file.blocks(), file.n_rows, len, "users", progress):
        for measure in measures:
            values = exact_values(measure, ranks, ties, generators[measure])
            moments_of_blocks[measure].append(Moments.from_values(values))
        first_sampled_row = ceil_divide(first_row, step) * step
        sampled_rows.append(ranks.take(slice(first_sampled_row - first_row, None, step)))
        block_sizes.append(len(ranks))
        first_row += len(ranks)
        total_candidates += int(ranks.n_candidates.sum())
    sample = Ranks.concatenate(sampled_rows)
    place = f"{file.path}, 1 of {step} rows" if step > 1 else file.path
    with place_of(place):
        warn_all(signs_in_ranks(sample))
        averages_of_sample = _average(sample, measures, ties, seed)
    mean_candidates = round(total_candidates / file.n_rows)
    do_users_differ = total_candidates != mean_candidates * file.n_rows
    return averages_of_sample._replace(
        moments={
            measure: Moments.pooled(moments, block_sizes)
            for measure, moments in moments_of_blocks.items()
        },
        priors=prior_moments(measures, Ranks([mean_candidates], [0], [0])),
        n_users=file.n_rows,
        n_defined={},
        n_items=mean_candidates,
        is_mean=averages_of_sample.is_mean or do_users_differ,
    )


def _to_results(averages: _Averages, ties: str, confidence: float) -> Results[Evaluated]:
    """Estimate the mean of each metric, with its interval."""
    results = []
    for measure, moments in averages.moments.items():
        n_users = averages.n_defined.get(measure, averages.n_users)
        mean = mean_interval(moments, n_users, averages.priors[measure], confidence)
        results.append(
            Evaluated(
                metric=str(measure),
                ties=ties,
                **mean._asdict(),
                n_items=averages.n_items or None,
                effective_users=_effective_users(moments, n_users),
                n_visits=averages.n_visits.get(measure),
            )
        )
    show = partial(_evaluated_parts, averages=averages, confidence=confidence)
    return Results(results, show, current_call().notes)


def _effective_users(moments: Moments, n_users: int) -> float:
    """Return (sum of v)^2 / (sum of v^2) for the values v of users; 0 if all are 0.

    `moments` are those of v: its mean and, as `second`, its variance.
    """
    mean_square = moments.second + moments.mean**2
    if mean_square > 0.0:
        return n_users * moments.mean**2 / mean_square
    return 0.0


@public(columns=check_roles)
def values_by_user(
    data: Data,
    metrics: Names = DEFAULT_METRICS,
    *,
    relevant: ItemsByUser | None = None,
    seen: ItemsByUser | None = None,
    n_items: int | None = None,
    min_relevance: float = 0.0,
    complete: bool = False,
    missing: str = "refuse",
    ties: str = "expected",
    seed: int = 0,
    columns: NamesByRole = None,
) -> pd.DataFrame:
    """Calculate exact metrics of each user.

    Parameters
    ----------
    data, metrics, relevant, seen, n_items, min_relevance, complete, missing, ties, seed, columns
        As for `evaluate`.

    Returns
    -------
    pandas.DataFrame
        A column for each metric, and a row for each user, or for each visit if users have several.
        The index contains the ids of users (and visits), or running numbers from 0.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    evaluate : Means of these values, with intervals.

    Examples
    --------
    >>> scores = [[0.3, 0.9, 0.5], [0.8, 0.1, 0.4]]
    >>> values_by_user(scores, "hr@1, rr", relevant=[1, 2])["rr"].tolist()
    [1.0, 0.5]
    """
    check_arguments(ties=ties, seed=seed)
    measures = parse_measures(metrics, any_bounds=True)
    options = Reading(
        relevant=relevant,
        seen=seen,
        n_items=n_items,
        complete=complete,
        min_relevance=min_relevance,
        missing=missing,
        early_stop=early_stop_of(measures, ties, min_relevance),
    )
    ranks = options.ranks(data)
    for measure in measures:
        if measure.metric.pooled:
            single = measure.format_name(measure.metric.pooled)
            raise InputError(
                f"{measure} is pooled over all users, so a single user has no value; use {single}"
            )
    users = np.arange(len(ranks)) if ranks.users is None else ranks.users
    index = pd.Index(users, name=USER)
    if ranks.visits is not None:
        index = pd.MultiIndex.from_arrays([users, ranks.visits], names=[USER, VISIT])
    values_by_measure = metric_values(measures, ranks, ties, seed)
    columns_by_name = {str(measure): values for measure, values in values_by_measure.items()}
    return pd.DataFrame(columns_by_name, index=index)


def metric_values(
    measures: list[Measure], ranks: Ranks, ties: str, seed: int
) -> dict[Measure, Float]:
    """Calculate metrics of each user, or visit; those that need longer lists are skipped.

    Warns about metrics that are skipped, that not all users have a value of, and that are the same
    for any ranking, because their cut-off covers all candidates. Notes which do not follow
    `min_relevance`.
    """
    _note_graded_metrics(measures, ranks)
    most_candidates = int(ranks.n_candidates.max())  # 0 if not known
    same_for_any_ranking = [
        str(measure)
        for measure in measures
        if measure.kind in FLAT
        and measure.cutoff is not None
        and 0 < most_candidates <= measure.cutoff
    ]
    warn_all(signs_of_flat_metrics(same_for_any_ranking, most_candidates, len(ranks)))
    values_by_measure: dict[Measure, Float] = {}
    errors = []
    for measure in measures:
        rng = generator(seed, "ties") if ties == "random" else None
        try:
            values_by_measure[measure] = exact_values(measure, ranks, ties, rng)
        except DepthError as error:
            errors.append(error)
    if not values_by_measure:
        raise errors[0]
    warn_all(signs_of_skipped_metrics(error.text for error in errors))
    values_by_name = {str(measure): values for measure, values in values_by_measure.items()}
    warn_all(signs_of_undefined_values(values_by_name))
    return values_by_measure


def _note_graded_metrics(measures: list[Measure], ranks: Ranks) -> None:
    """Note that grades below `min_relevance` are gains of some metrics, if there are any."""
    graded = [str(measure) for measure in measures if measure.metric.graded]
    if graded and ranks.relevance is not None and (ranks.relevance < ranks.min_relevance).any():
        note_meaning(
            "min_relevance",
            f"{ranks.min_relevance:g} for metrics other than {', '.join(graded)}, whose gains are "
            "all grades above 0",
        )


def warn_about_ties(ranks: Ranks, values_by_measure: dict[Measure, Float]) -> None:
    """Warn if most items are tied, and the order of ties changes metrics."""
    n_tied = int(np.count_nonzero(ranks.n_tied))
    ends = _ends_of_ties(ranks, values_by_measure)
    warn_all(signs_of_ties(n_tied, ranks.n_tied.size, len(ranks), ends))


def _ends_of_ties(ranks: Ranks, values_by_measure: dict[Measure, Float]) -> Iterator[Ends]:
    """Compute the means of metrics with all ties lost and won, one metric after the other."""
    for measure, values in values_by_measure.items():
        # Sorted, as lower is better for some metrics.
        low, high = sorted(
            float(_defined(exact_values(measure, ranks, order)).mean())
            for order in ("pessimistic", "optimistic")
        )
        std_error = float(_defined(values).std() / np.sqrt(values.size))
        yield Ends(str(measure), low, high, std_error)


def _defined(values: Float) -> Float:
    """Return the values that are not nan."""
    return values[~np.isnan(values)]


def relevance_notes(rankings: Collection[Ranks]) -> list[str]:
    """Write which items count as not found, and which metrics use grades, if any do."""
    notes = missing_notes(rankings)
    with_grades = [ranks for ranks in rankings if ranks.relevance is not None]
    if with_grades:
        least = with_grades[0].min_relevance
        relevant_grades = f"of at least {least:g}" if least > 0.0 else "above 0"
        notes.append(
            f"ndcg uses grades as gains; for other metrics, items with a grade {relevant_grades} "
            "are relevant."
        )
    return notes


def _evaluated_parts(results: list[Evaluated], averages: _Averages, confidence: float) -> Parts:
    """Return a table of metrics, lines about it, and an explanation."""
    percent = f"{100 * confidence:g} %"
    rows: list[Row] = [
        {
            "metric": result.metric,
            "value": result.value,
            "std_error": result.std_error,
            f"interval ({percent})": (
                None if isnan(result.ci_low) else format_range(result.ci_low, result.ci_high)
            ),
        }
        for result in results
    ]
    lines = [f"{_describe_size(averages)}. {_TIES_IN_WORDS[results[0].ties]}", *averages.notes]
    if averages.n_visits:
        lines.append("Values are means over visits; errors and intervals are over users.")
    if 1 < averages.n_users < _EXAMPLE_SIZE:
        lines.append(f"fewer than {_EXAMPLE_SIZE} users: intervals say little.")
    for result in results:
        lines += _caveats(result, averages, percent)
    about_columns = (
        "interval: values that other users like these may have. ties: order of a held-out item "
        "and candidates with the same score."
    )
    return explained_table(rows, lines, [about_columns])


def _caveats(result: Evaluated, averages: _Averages, percent: str) -> list[str]:
    """Return lines about a metric that is no fraction, or whose interval is too narrow.

    `percent` is the confidence of the interval as text.
    """
    lines = []
    if parse_measure(result.metric, any_bounds=True).kind == "mean-rank":
        lines.append(f"{result.metric} is no fraction, and lower is better.")
    if _is_interval_narrow(result, averages):
        few = max(round(result.effective_users), 1)
        lines.append(
            f"{result.metric}: about {few} of {quantity(averages.n_users, 'user')} carry most "
            "of the value. Its interval is too narrow: it contains the metric of other users "
            f"like these in fewer than {percent} of evaluations."
        )
    return lines


def _describe_size(averages: _Averages) -> str:
    """Write the numbers of users, visits and candidates, as far as they are known."""
    numbers = [quantity(averages.n_users, "user")]
    if averages.n_visits:
        numbers.append(quantity(max(averages.n_visits.values()), "visit"))
    if averages.n_items:
        mean = "a mean of " if averages.is_mean else ""
        numbers.append(f"{mean}{quantity(averages.n_items, 'candidate')}")
    return ", ".join(numbers)


def _is_interval_narrow(result: Evaluated, averages: _Averages) -> bool:
    """Return whether few users have most of the total, so that the mean is far from normal.

    This does not apply to proportions of users, such as recall with one item per user, whose
    intervals allow for that.
    """
    measure = parse_measure(result.metric, any_bounds=True)
    proportions = ("hit",) if averages.several_items else FLAT
    if not measure.metric.is_fraction or measure.kind in proportions:
        return False
    are_few = 0.0 < result.effective_users < _FEWEST_EFFECTIVE
    return are_few and averages.n_users >= _EXAMPLE_SIZE
