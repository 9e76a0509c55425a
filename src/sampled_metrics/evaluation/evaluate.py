"""Exact metrics of full rankings, with error bars."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from math import isnan
from typing import NamedTuple

import numpy as np
import pandas as pd

from sampled_metrics._base.arguments import ALL_CORES, check_arguments
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE, DEFAULT_METRICS, Names
from sampled_metrics._base.errors import InputError, reading, warn_input
from sampled_metrics._base.progress import iterate_with_bar
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import OMIT_IF_NONE, Record
from sampled_metrics._base.text import Parts, format_range
from sampled_metrics._base.threads import one_thread
from sampled_metrics.evaluation.results import (
    FLAT,
    Results,
    Row,
    count,
    explained_table,
    missing_notes,
    with_questions,
)
from sampled_metrics.evaluation.several import each_recommender
from sampled_metrics.inputs.roles import USER, VISIT, NamesByRole
from sampled_metrics.intervals.means import Moments, collapse_visits, mean_interval, prior_moments
from sampled_metrics.metrics import Measure, parse_measure, parse_measures
from sampled_metrics.metrics import values as exact_values
from sampled_metrics.metrics.measures import DepthError
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.data import Cut, Data, ItemsByUser, as_ranks
from sampled_metrics.ranks.large_files import LargeRankFile
from sampled_metrics.ranks.warnings import warn_about_number_of_candidates, warn_about_ranks

ROWS_QUESTIONED = 131_072  # rows of a large file that questions are about
TOY = 10  # users; fewer are an example


@dataclass(frozen=True, eq=False)
class Evaluated(Record):
    """An exact metric, averaged over users.

    Attributes
    ----------
    ties
        How tied candidates were ordered.
    value, std_error, ci_low, ci_high
        Mean over `n_users` users, as a fraction, and its interval; nan for one.
    n_items
        n: candidates of a full ranking; the mean where users differ, None if not known.
    n_visits
        Visits averaged over, if users have several; the errors are then those of users. None
        without.
    effective_users
        (sum of v)^2 / sum of v^2 over the values v of users: how many carry the mean if they carry
        it equally. The interval is too narrow if they are few.
    recommender
        Its name, if data is a dictionary of recommenders.
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
    recommender: str | None = field(default=None, metadata=OMIT_IF_NONE)


@with_questions
@each_recommender
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
        Ranks of the relevant items, or scores, tables, lists or files that give them; or a
        dictionary of several recommenders by name.
    metrics
        Names, several with commas or in a list; by default recall@10, ndcg@10, ap and auc.
    relevant, seen
        For scores and lists, the relevant items and the items seen in training, as tables, columns
        or matrices. Relevant items may have grades, in qrels, a column `relevance`, a dictionary of
        dictionaries or a matrix, which NDCG takes as gains.
    n_items
        Candidates of each ranking, if the data does not say.
    min_relevance
        Least grade of an item that is relevant for other metrics; by default any above 0. Users
        without such an item are left out.
    complete
        Whether lists hold all candidates of their users.
    missing
        `refuse` users without a list, or count items that lists lack as not found (`last`).
    ties
        `expected`, `random` (drawn with `seed`), `optimistic` or `pessimistic`.
    confidence
        Nominal coverage of the intervals.
    seed
        Of the order of ties, where that is `random`.
    n_jobs
        Threads that rank scores, as in joblib; -1 for one per core. The result does not depend
        on it.
    progress
        Whether a bar shows how many users are done; by default on a terminal, if tqdm is installed.
    columns
        Names of columns of tables by role, such as {"item": "docno"}, for names that are not known;
        `sampled-metrics columns` prints the roles and the names that are.

    Returns
    -------
    Results
        A list of `Evaluated`, one for each metric, which prints as a table.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    compare : Which of several recommenders is better.
    correct : The same from sampled ranks.
    report : One page with all of it.

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
    measures = parse_measures(metrics)
    is_plain = relevant is None and seen is None and not complete and missing == "refuse"
    is_plain = is_plain and columns is None
    if is_plain and min_relevance == 0.0 and not any(each.metric.pooled for each in measures):
        file = LargeRankFile.open_if_large(data, n_items)
        if file is not None:
            return _results(_by_parts(file, measures, ties, seed, progress), ties, confidence)
    ranks = as_ranks(
        data,
        relevant=relevant,
        seen=seen,
        n_items=n_items,
        complete=complete,
        min_relevance=min_relevance,
        missing=missing,
        n_jobs=n_jobs,
        progress=progress,
        cut=cut_of(measures, ties),
        columns=columns,
    )
    return _results(_at_once(ranks, measures, ties, seed), ties, confidence)


def cut_of(measures: list[Measure], ties: str) -> Cut | None:
    """Return where rankings may be cut: at the largest cut-off, if all metrics have one."""
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    if len(cutoffs) < len(measures) or ties == "random":  # which draws for all tied items
        return None
    return Cut(max(cutoffs), partial(_is_enough, measures, ties))


def _is_enough(measures: list[Measure], ties: str, ranks: Ranks) -> bool:
    """Return whether intervals and the question about ties need no item below the cut."""
    if ranks.relevance is not None:  # intervals draw grades in the order of all items
        return False
    n_items = int(ranks.n_relevant.sum())
    n_tied = int(np.count_nonzero(ranks.n_tied))
    n_cut = n_items - ranks.n_tied.size
    if n_tied == 0 or not are_many(n_tied + n_cut, n_items):
        return True
    known = {measure: exact_values(measure, ranks, ties) for measure in measures}
    return not _ends(ranks, known)


class _Averages(NamedTuple):
    """Shapes of metrics over users, and those of users with random ranks."""

    shapes: dict[Measure, Moments]
    priors: dict[Measure, Moments]
    n_users: int
    n_of: dict[Measure, int]  # users with a value, if some have none
    n_visits: dict[Measure, int]  # likewise, if users have several
    n_items: int  # mean, 0 if not known
    notes: list[str]
    several_items: bool  # whether some user has several, so that recall is no share of users
    is_mean: bool  # whether users differ in candidates


@one_thread()
def _at_once(ranks: Ranks, measures: list[Measure], ties: str, seed: int) -> _Averages:
    """Average metrics over the users of ranks in memory."""
    warn_about_number_of_candidates(ranks)
    known = known_values(measures, ranks, ties, seed)
    question_ends(ranks, known)
    of_users = {}
    n_visits = {}
    for measure, values in known.items():
        has_value = ~np.isnan(values)
        of_users[measure] = values[has_value]
        if ranks.user is not None:
            of_users[measure] = collapse_visits(values[has_value], ranks.user[has_value])
            n_visits[measure] = int(np.count_nonzero(has_value))
    return _Averages(
        shapes={measure: Moments.from_values(values) for measure, values in of_users.items()},
        priors=prior_moments(known, ranks),
        n_users=ranks.n_users,
        n_of={measure: values.size for measure, values in of_users.items()},
        n_visits=n_visits,
        n_items=ranks.mean_candidates,
        notes=relevance_notes([ranks]),
        several_items=bool((ranks.n_relevant > 1).any()),
        is_mean=bool(np.ptp(ranks.n_candidates)),
    )


@one_thread()
def _by_parts(
    file: LargeRankFile, measures: list[Measure], ties: str, seed: int, progress: bool | None
) -> _Averages:
    """Average metrics over the users of a large file; questions are about some of its rows."""
    shapes: dict[Measure, list[Moments]] = {measure: [] for measure in measures}
    draws = {measure: generator(seed, "ties") for measure in measures}
    step = -(-file.n_rows // ROWS_QUESTIONED)
    some = []
    sizes: list[int] = []
    total = 0
    for ranks in iterate_with_bar(file.blocks(), file.n_rows, len, "users", progress):
        for measure in measures:
            values = exact_values(measure, ranks, ties, draws[measure])
            shapes[measure].append(Moments.from_values(values))
        some.append(ranks.take(slice(-sum(sizes) % step, None, step)))
        sizes.append(len(ranks))
        total += int(ranks.n_candidates.sum())
    sample = Ranks.concatenate(some)
    place = f"{file.path}, 1 of {step} rows" if step > 1 else file.path
    with reading(place):
        warn_about_ranks(sample)
        found = _at_once(sample, measures, ties, seed)
    n_items = round(total / file.n_rows)
    return found._replace(
        shapes={measure: Moments.pooled(parts, sizes) for measure, parts in shapes.items()},
        priors=prior_moments(measures, Ranks([n_items], [0], [0])),
        n_users=file.n_rows,
        n_of={},
        n_items=n_items,
        is_mean=found.is_mean or total != n_items * file.n_rows,
    )


def _results(found: _Averages, ties: str, confidence: float) -> Results[Evaluated]:
    """Estimate the mean of each metric, with its interval."""
    results = []
    for measure, shape in found.shapes.items():
        n_users = found.n_of.get(measure, found.n_users)
        mean = mean_interval(shape, n_users, found.priors[measure], confidence)
        square = shape.second + shape.mean**2
        effective_users = 0.0
        if square > 0.0:
            effective_users = n_users * shape.mean**2 / square
        results.append(
            Evaluated(
                metric=str(measure),
                ties=ties,
                **mean._asdict(),
                n_items=found.n_items or None,
                effective_users=effective_users,
                n_visits=found.n_visits.get(measure),
            )
        )
    return Results(results, partial(_parts, found=found, confidence=confidence))


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
    """Calculate exact metrics of each user, a column for each metric and a row for each user.

    Parameters
    ----------
    data, metrics, relevant, seen, n_items, min_relevance, complete, missing, ties, seed, columns
        As for `evaluate`.

    Returns
    -------
    pandas.DataFrame
        A column for each metric, and a row for each user, or for each visit of one; the index holds
        the ids of users, and of visits if users have several, or running numbers from 0.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

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
    measures = parse_measures(metrics)
    ranks = as_ranks(
        data,
        relevant=relevant,
        seen=seen,
        n_items=n_items,
        complete=complete,
        min_relevance=min_relevance,
        missing=missing,
        cut=cut_of(measures, ties),
        columns=columns,
    )
    for measure in measures:
        if measure.metric.pooled:
            problem = f"{measure} is of all users together, and no user has a value of it"
            instead = measure.spelled(measure.kind.removesuffix("-micro"))
            raise InputError(f"{problem}; take {instead}")
    users = np.arange(len(ranks)) if ranks.users is None else ranks.users
    index = pd.Index(users, name=USER)
    if ranks.visits is not None:
        index = pd.MultiIndex.from_arrays([users, ranks.visits], names=[USER, VISIT])
    known = known_values(measures, ranks, ties, seed)
    return pd.DataFrame({str(measure): values for measure, values in known.items()}, index=index)


def known_values(
    measures: list[Measure], ranks: Ranks, ties: str, seed: int
) -> dict[Measure, Float]:
    """Calculate metrics of each user.

    Questions name metrics that need longer lists, and those whose cut-off no candidate is below, so
    that all rankings have the same value.
    """
    most = int(ranks.n_candidates.max())
    known: dict[Measure, Float] = {}
    unknown = []
    for measure in measures:
        is_whole = 0 < most <= (measure.cutoff or 0)
        if is_whole and measure.kind in FLAT and len(ranks) >= TOY:
            warn_input(
                "metrics", f"{measure} is of all {most} candidates, the same for any ranking"
            )
        rng = generator(seed, "ties") if ties == "random" else None
        try:
            known[measure] = exact_values(measure, ranks, ties, rng)
        except DepthError as error:
            unknown.append(error)
    if not known:
        raise unknown[0]
    for problem in unknown:
        warn_input("metrics", f"left out: {problem}")
    for measure, values in known.items():
        n_left_out = int(np.isnan(values).sum())
        if n_left_out:
            warn_input(
                "metrics",
                f"{measure} leaves out {n_left_out:,} of {values.size:,} users, all of whose "
                "candidates are relevant",
            )
    return known


def defined(values: Float) -> Float:
    """Return the values of users who have one."""
    return values[~np.isnan(values)]


def question_ends(ranks: Ranks, known: dict[Measure, Float]) -> None:
    """Ask about metrics that ties decide: most items are tied, and both ends are far apart."""
    n_tied = int(np.count_nonzero(ranks.n_tied))
    n_items = ranks.n_tied.size
    # Ties of most of 50 users do not happen by chance.
    if len(ranks) < 50 or not are_many(n_tied, n_items):
        return
    ends = _ends(ranks, known)
    if ends:
        warn_input(
            "ties",
            f"{n_tied:,} of {n_items:,} relevant items have the score of others, and "
            f"metrics depend on the order of those (--ties): {', '.join(ends)}; were scores "
            "rounded, or are they of too few bits?",
        )


def are_many(n_tied: int, n_items: int) -> bool:
    """Return whether more items are tied than half of all, and than chance adds to that."""
    return n_tied > n_items / 2.0 + np.sqrt(n_items)


def _ends(ranks: Ranks, known: dict[Measure, Float]) -> list[str]:
    """Write both ends of the metrics that ties change by more than about an interval."""
    ends = []
    for measure, values in known.items():
        both = (exact_values(measure, ranks, end) for end in ("pessimistic", "optimistic"))
        low, high = (float(defined(of_users).mean()) for of_users in both)
        if high - low > 4.0 * defined(values).std() / np.sqrt(values.size):
            ends.append(f"{measure} {format_range(low, high)}")
    return ends


def relevance_notes(rankings: Collection[Ranks]) -> list[str]:
    """Say which items count as not found, and which metrics use grades, if any do."""
    notes = missing_notes(rankings)
    for ranks in rankings:
        if ranks.relevance is not None:
            least = "above 0"
            if ranks.min_relevance > 0.0:
                least = f"of at least {ranks.min_relevance:g}"
            notes.append(
                f"ndcg takes grades as gains; for other metrics items {least} are relevant."
            )
            break
    return notes


def _parts(results: list[Evaluated], found: _Averages, confidence: float) -> Parts:
    """Return rows of results, lines that say where intervals are too narrow, and an explanation.

    The interval of a share of users, such as recall with one item per user, is right for few users
    too.
    """
    shares = ("hit",) if found.several_items else FLAT
    percent = f"{100 * confidence:g} %"
    interval = f"interval ({percent})"
    rows: list[Row] = []
    users = count(found.n_users, "user")
    words = users
    if found.n_visits:
        words = f"{users}, {count(max(found.n_visits.values()), 'visit')}"
    if found.n_items:
        mean = "a mean of " if found.is_mean else ""
        words += f", {mean}{count(found.n_items, 'candidate')}"
    lines = [f"{words}. Fractions, ties {results[0].ties}.", *found.notes]
    if found.n_visits:
        lines.append("means over visits; errors and intervals are those of independent users.")
    if 1 < found.n_users < TOY:
        lines.append(f"fewer than {TOY} users: intervals say little.")
    for result in results:
        row: Row = {"metric": result.metric, "value": result.value, "std_error": result.std_error}
        row[interval] = None
        if not isnan(result.ci_low):
            row[interval] = format_range(result.ci_low, result.ci_high)
        rows.append(row)
        # The mean of fewer users is not near a normal distribution.
        is_few = found.n_users >= TOY and 0.0 < result.effective_users < 30.0
        if is_few and parse_measure(result.metric).kind not in shares:
            lines.append(
                f"{result.metric}: about {max(round(result.effective_users), 1)} of {users} carry "
                "most of the value; its interval is too narrow, and holds the metric of other "
                f"users like these in fewer than {percent} of evaluations."
            )
    about = (
        "interval: values that other users like these may have. ties: place of a held-out item "
        "among candidates of its score."
    )
    return explained_table(rows, lines, [about])
