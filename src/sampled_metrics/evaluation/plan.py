"""Plans of evaluations: how likely an order is decided, by the number of negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.arguments import check_arguments, whole_number
from sampled_metrics._base.array_types import Data, ItemsByUser
from sampled_metrics._base.calls import IN_RESULT, current_call, place_of, public
from sampled_metrics._base.columns import integer_array
from sampled_metrics._base.defaults import (
    DECIDED_SHARE,
    DEFAULT_CONFIDENCE,
    DEFAULT_METRICS,
    DEFAULT_SHAPE,
    MAX_ITEMS,
    Names,
    RankShape,
)
from sampled_metrics._base.errors import InputError, NoRelevantItemsError, cli_option
from sampled_metrics._base.records import OMIT_IF_NONE, Record
from sampled_metrics._base.text import Parts, RightAligned
from sampled_metrics._base.threads import one_thread
from sampled_metrics.evaluation.pairing import pair_users, with_text_names
from sampled_metrics.evaluation.plan_designs import LEAST_SIZE, plan_design
from sampled_metrics.evaluation.plan_simulation import Decision, Pair, simulate_decision
from sampled_metrics.evaluation.results import (
    OTHER_WAYS,
    Results,
    Row,
    explained_table,
    quantity,
)
from sampled_metrics.intervals.population import Population, power_law_with
from sampled_metrics.intervals.shapes import describe_shape
from sampled_metrics.metrics.measures import Measure, parse_measures
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.ranks.sampling import Design
from sampled_metrics.read.census import Census, read_census
from sampled_metrics.read.item_counts import ItemCounts, read_item_counts
from sampled_metrics.read.kinds import DICTIONARIES, kind_of
from sampled_metrics.read.options import Reading, read_data, refuse_vectors
from sampled_metrics.read.roles import NamesByRole, check_roles
from sampled_metrics.read.scores import ScoreSource

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_SMALLEST = 0.001  # smaller probabilities are printed as less than this
_POWER_LAW = (
    "Assumed: a share (k/n)^e of users has a rank of at most k, where the exponents e give these "
    "metrics, and the ranks of the two recommenders are independent. If they rank alike for the "
    "same users, fewer negatives decide. Pass their rankings (--ranks) instead if you have them."
)
_NO_SCORES = (
    "counts (--counts) need scores of all items, a matrix of users x items, with relevant "
    "(--relevant); drop counts for ranks and lists"
)


@dataclass(frozen=True, eq=False)
class Planned(Record):
    """How likely an evaluation decides the order of two recommenders by one metric.

    Attributes
    ----------
    n_negatives
        m, the negatives drawn for each user; None for full rankings.
    probability
        Probability that the range of the difference of the exact metrics excludes 0 on the right
        side; 0 if the exact metrics are equal.
    decides_above
        The smallest difference that about half of such evaluations decide: half of the expected
        width of the range. For half and half negatives, sizes above one that surely decides have
        its number.
    decides
        The least number of negatives whose probability is at least 0.95; None if only full
        rankings decide, or nothing does.
    exact_a, exact_b
        Exact metrics as fractions.
    n_items, n_users, sampling
        Mean number of candidates, number of users, and how negatives are drawn.
    n_visits
        Number of visits, if users have several; otherwise None.
    design
        `uniform`, also for full rankings, or `half`; None without counts.
    """

    metric: str
    n_negatives: int | None
    probability: float
    decides_above: float
    decides: int | None
    exact_a: float
    exact_b: float
    n_items: int
    n_users: int
    sampling: str
    n_visits: int | None = field(default=None, metadata=OMIT_IF_NONE)
    design: str | None = field(default=None, metadata=OMIT_IF_NONE)


@public(columns=check_roles, see=IN_RESULT)
@one_thread()
def plan(
    a: Data = None,
    b: Data = None,
    metrics: Names = DEFAULT_METRICS[:1],
    *,
    effect: float | None = None,
    value: float | None = None,
    n_items: int | None = None,
    n_users: int | None = None,
    relevant: ItemsByUser | None = None,
    seen: ItemsByUser | None = None,
    counts: Any = None,
    sampling: str = str(Sampling.WITHOUT_REPLACEMENT),
    shape: RankShape = DEFAULT_SHAPE,
    confidence: float = DEFAULT_CONFIDENCE,
    sizes: Sequence[int] = SIZES,
    columns: NamesByRole = None,
) -> Results[Planned]:
    """Calculate how likely the range of a difference decides an order, by number of negatives.

    Each probability comes from twenty simulated comparisons, or fewer if the decision is certain.
    Their random numbers are always the same.

    Parameters
    ----------
    a, b
        Full rankings of two recommenders, as for `evaluate`, with one relevant item per user; or
        `a` is a dictionary of both by name. Users are paired by their ids, or by row without ids.
        Omit both if nothing is ranked yet, and pass `effect` and `value`.
    metrics, n_items, columns
        See `evaluate`.
    effect, value
        The difference to detect, and the exact metric of the weaker recommender. The share of users
        with a rank of at most k is then assumed to be (k/n)^e, where the exponent e of each
        recommender gives its metric, and the ranks of the two to be independent. This is cautious:
        recommenders that rank alike for the same users need fewer negatives.
    n_users
        Number of users of the evaluation, drawn anew from users like these. By default the
        evaluation has the users of the rankings, and only negatives are drawn anew. Not for
        rankings with several visits of a user.
    relevant, seen
        For scores, the held-out items and the items seen in training, see `evaluate`.
    counts
        Popularity of items: events of users and items, or the count of each item. The plan then
        also says how likely negatives decide that are drawn half by popularity and half uniformly
        (`negatives` with design `half`), and corrected with these counts. It needs `relevant`, and
        `a` and `b` must be matrices of scores of all items for the same users. This takes longer:
        there are up to six simulated comparisons, with at most 10,000 users, and sizes from 10 on.
    sampling, shape, confidence
        How negatives are drawn, and options of the ranges; see `correct`.
    sizes
        Numbers of negatives. Those that exceed the candidates of some user are skipped.

    Returns
    -------
    Results
        A list of `Planned`, which prints as a table: for each metric one for each size and one for
        full rankings.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    compare : Decide between recommenders. With vectors of users and items, exact metrics at a
        cut-off need only part of all scores.
    evaluate_on_budget : Fewer scores than a full ranking.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> import numpy as np
    >>> users = np.arange(1, 2001) / 2000
    >>> a, b = (np.ceil(1000 * users**power).astype(int) for power in (3, 4))
    >>> for row in plan(a, b, "recall@10", n_items=1000, sizes=[10, 100]):
    ...     print(row.n_negatives, round(row.probability, 2), round(row.decides_above, 2))
    10 0.0 0.28
    100 1.0 0.06
    None 1.0 0.01
    >>> about = {"n_items": 3000, "n_users": 6000, "sizes": [50, 100]}
    >>> plan(metrics="recall@10", effect=0.08, value=0.1, **about)[0].decides
    100
    """
    check_arguments(n_users=n_users, sampling=sampling, shape=shape, confidence=confidence)
    check_arguments(effect=effect, value=value)
    if n_users is not None:
        n_users = int(n_users)
    sizes = integer_array(sizes, "sizes", is_column=True).tolist()
    sampling = Sampling(sampling)
    measures = parse_measures(metrics)
    rankings = _name_rankings(a, b)
    censuses = None
    are_ranks_assumed = effect is not None or value is not None
    if are_ranks_assumed:
        if counts is not None:
            raise InputError("counts (--counts) need rankings; drop effect and value, or counts")
        if a is not None or b is not None:
            raise InputError("effect and value are for a plan without rankings; drop them")
        pair = _assumed_pair(
            measures,
            effect=effect,
            value=value,
            n_items=n_items,
            n_users=n_users,
            sampling=sampling,
        )
        notes = [_POWER_LAW]
        about_ranks = "by a power law"
    else:
        options = Reading(n_items=n_items, relevant=relevant, seen=seen)
        pair, notes = _read_pair(rankings, options, n_users, sampling)
        if counts is not None:
            censuses = _read_censuses(rankings, relevant, seen, read_item_counts(counts))
        current_call().require_columns()  # before the simulation
        about_ranks = "as in these rankings"
    fewest_candidates = min(
        int(population.ranks.n_candidates.min()) for population in (pair.a, pair.b)
    )
    possible_sizes = [m for m in sizes if m < fewest_candidates]
    sizes_and_full = [*possible_sizes, None]
    results = []
    for measure in measures:
        planned = _plan_metric(pair, measure, sizes_and_full, shape=shape, confidence=confidence)
        if censuses is not None:
            planned = _add_half(planned, censuses, measure, n_users=n_users, confidence=confidence)
        results += planned
    show = partial(_planned_parts, shape=shape, about_ranks=about_ranks, notes=notes)
    return Results(results, show, current_call().notes)


def _name_rankings(a: Data, b: Data) -> dict[str, Data]:
    """Return the data of two recommenders by name."""
    are_dictionaries = [kind_of(data) in DICTIONARIES for data in (a, b)]
    if not any(are_dictionaries):
        return {"a": a, "b": b}
    if b is not None:
        raise InputError(
            "pass either a dictionary of both recommenders or a and b, which are no dictionaries; "
            "pass other options by name (metrics=)"
        )
    recommenders = with_text_names(a)
    if len(recommenders) != 2:
        raise InputError(f"a plan is for two recommenders; found {len(recommenders)}")
    return recommenders


def _read_pair(
    data_by_name: dict[str, Data],
    options: Reading,
    n_users: int | None,
    sampling: Sampling,
) -> tuple[Pair, list[str]]:
    """Read two full rankings; also return notes on how their users are paired.

    The pair has `n_users` users, drawn anew, or those of the rankings if it is None.
    """
    _require_two_rankings(data_by_name)
    rankings = {}
    for name, data in data_by_name.items():
        with place_of(str(data) if isinstance(data, str | Path) else name):
            refuse_vectors(data, "use `compare`, with relevant")
            rankings[name] = _read_ranks(data, options).single()
    paired = pair_users(rankings)
    a, b = paired.evaluations.values()
    (common_rows,) = paired.common.values()  # of the only pair
    if common_rows is not None:
        a, b = a.take(common_rows[0]), b.take(common_rows[1])
    if a.user is not None and n_users is not None:
        raise InputError(
            "n_users (--n-users) cannot be used with several visits of a user; drop it"
        )
    pair = Pair(
        a=Population.from_ranks(a),
        b=Population.from_ranks(b),
        n_users=n_users or min(len(a), len(b)),
        is_redrawn=n_users is not None,
        is_paired=common_rows is not None,
        sampling=sampling,
        owners=(a.user, b.user),
    )
    return pair, paired.notes


def _require_two_rankings(data_by_name: dict[str, Data]) -> None:
    """Raise InputError if the data of one or both recommenders is missing."""
    n_missing = sum(data is None for data in data_by_name.values())
    if n_missing == 1:
        raise InputError(
            "a plan needs the rankings of two recommenders; pass those of one as a and those of "
            "the other as b"
        )
    if n_missing == 2:
        raise InputError(
            "pass rankings (--ranks) of two recommenders, or effect (--effect) and value (--value)"
        )


def _read_ranks(data: Data, options: Reading) -> Ranks:
    """Read ranks, or rank scores if relevant items are given."""
    try:
        return options.ranks(data)
    except NoRelevantItemsError as error:
        raise InputError(
            "scores and lists need relevant items (--relevant); pass them, or pass ranks, as "
            "Ranks.from_scores(scores, relevant), Ranks.from_function(score, relevant), "
            "Ranks.from_lists(lists, relevant, complete=True) or a table of user_id and rank"
        ) from error


def _read_censuses(
    data_by_name: dict[str, Data], relevant: ItemsByUser, seen: ItemsByUser, counts: ItemCounts
) -> tuple[Census, Census]:
    """Count all candidates of the same users by popularity, for two recommenders."""
    censuses = []
    for name, data in data_by_name.items():
        with place_of(str(data) if isinstance(data, str | Path) else name):
            if isinstance(data, Ranks):
                raise InputError(_NO_SCORES)
            form = read_data(data, relevant)
            if not isinstance(form, ScoreSource):
                raise InputError(_NO_SCORES)
            censuses.append(read_census(form, relevant, seen, counts))
    a, b = censuses
    if not np.array_equal(a.counts.candidates, b.counts.candidates):
        raise InputError(
            "with counts (--counts), both matrices of scores need the same users and items in the "
            "same order"
        )
    return a, b


def _assumed_pair(
    measures: Sequence[Measure],
    *,
    effect: float | None,
    value: float | None,
    n_items: int | None,
    n_users: int | None,
    sampling: Sampling,
) -> Pair:
    """Return two power laws, one with a metric of `value` and one with `value + effect`."""
    if effect is None or value is None or n_items is None or n_users is None:
        needed = {"effect": effect, "value": value, "n_items": n_items, "n_users": n_users}
        name = next(name for name, number in needed.items() if number is None)
        raise InputError(f"a plan without rankings needs {name} ({cli_option(name)})")
    if len(measures) != 1:
        raise InputError("effect and value are for one metric; pass one")
    if not 0.0 < effect < 1.0:
        raise InputError(f"effect is {effect:g}; expected a difference between 0 and 1")
    n = whole_number("n_items", n_items, 2, MAX_ITEMS)
    return Pair(
        a=power_law_with(measures[0], value, n),
        b=power_law_with(measures[0], value + effect, n),
        n_users=n_users,
        is_redrawn=True,
        sampling=sampling,
    )


def _plan_metric(
    pair: Pair,
    measure: Measure,
    sizes: Sequence[int | None],
    *,
    shape: str | float,
    confidence: float,
) -> list[Planned]:
    """Return one result for each number of negatives, where None stands for full rankings."""
    decisions = [
        simulate_decision(pair, measure, m, shape=shape, confidence=confidence) for m in sizes
    ]
    exact_a, exact_b = pair.exact(measure)
    n_users, n_visits = pair.n_users, None
    user_of_visit, _ = pair.owners
    if user_of_visit is not None:  # the pair counts visits
        n_users, n_visits = np.unique(user_of_visit).size, pair.n_users
    decides = _first_deciding(sizes, decisions)
    return [
        Planned(
            metric=str(measure),
            n_negatives=m,
            probability=decision.probability,
            decides_above=decision.half_width,
            decides=decides,
            exact_a=exact_a,
            exact_b=exact_b,
            n_items=pair.n_items,
            n_users=n_users,
            n_visits=n_visits,
            sampling=str(pair.sampling),
        )
        for m, decision in zip(sizes, decisions, strict=True)
    ]


def _add_half(
    planned: Sequence[Planned],
    censuses: tuple[Census, Census],
    measure: Measure,
    *,
    n_users: int | None,
    confidence: float,
) -> list[Planned]:
    """Add results for half and half negatives of the same sizes, before that of full rankings.

    `planned` are the results for uniform negatives, and last that for full rankings, which has all
    fields that do not depend on negatives.
    """
    *uniform, full = [replace(each, design=str(Design.UNIFORM)) for each in planned]
    sizes = [
        each.n_negatives
        for each in uniform
        if each.n_negatives is not None and each.n_negatives >= LEAST_SIZE
    ]
    decisions = plan_design(
        censuses, measure, sizes, design=Design.HALF, n_users=n_users, confidence=confidence
    )
    decides = _first_deciding(sizes, decisions)
    half = [
        replace(
            full,
            n_negatives=m,
            probability=decision.probability,
            decides_above=decision.half_width,
            decides=decides,
            design=str(Design.HALF),
        )
        for m, decision in zip(sizes, decisions, strict=True)
    ]
    return [*uniform, *half, full]


def _first_deciding(sizes: Sequence[int | None], decisions: Sequence[Decision]) -> int | None:
    """Return the first number of negatives that decides in most evaluations, None without any."""
    for m, decision in zip(sizes, decisions, strict=True):
        if decision.probability >= DECIDED_SHARE:
            return m
    return None


def _planned_parts(
    results: Sequence[Planned], shape: str | float, about_ranks: str, notes: Sequence[str]
) -> Parts:
    """Return a table of probabilities by metric and number of negatives, and lines about it."""
    users = quantity(results[0].n_users, "user")
    if results[0].n_visits is not None:
        users += f", {quantity(results[0].n_visits, 'visit')}"
    lines = [f"{users} with true ranks {about_ranks}:"]
    of_full_rankings = [result for result in results if result.n_negatives is None]
    for full in of_full_rankings:  # one for each metric
        lines.append(
            f"  {full.metric} {full.exact_a:.4f} and {full.exact_b:.4f}: "
            f"{_decision_in_words(full)} in {100 * DECIDED_SHARE:g} % of evaluations."
        )
        lines += _half_in_words(results, full.metric)
    explained = [
        "probability: that the range of the difference excludes 0 on the right side, "
        f"{describe_shape(shape)}.",
        "decides above: smallest difference decided in half of the evaluations. all: full "
        "rankings.",
        OTHER_WAYS,
    ]
    rows = [_planned_row(result) for result in results]
    return explained_table(rows, [*lines, *notes], explained)


def _planned_row(result: Planned) -> Row:
    """Return the row of a metric and a number of negatives, with the design if it is planned."""
    size = "all" if result.n_negatives is None else f"{result.n_negatives:,}"
    design = {} if result.design is None else {"design": result.design}
    return {
        "metric": result.metric,
        **design,
        "n_negatives": RightAligned(size),
        "probability": RightAligned(_probability_in_words(result.probability)),
        "decides above": result.decides_above,
    }


def _probability_in_words(probability: float) -> str:
    """Write a probability with three decimals.

    Examples
    --------
    >>> [_probability_in_words(p) for p in (0.0, 0.5, 1.0)]
    ['< 0.001', '0.500', '> 0.999']
    """
    if probability < _SMALLEST:
        return f"< {_SMALLEST:g}"
    if probability > 1 - _SMALLEST:
        return f"> {1 - _SMALLEST:g}"
    return f"{probability:.3f}"


def _half_in_words(results: Sequence[Planned], metric: str) -> list[str]:
    """Write how many half and half negatives decide the order, if they are planned.

    `results` of a metric are in ascending order of the numbers of negatives, and all of a design
    have the same `decides`.
    """
    half = [each for each in results if each.metric == metric and each.design == Design.HALF]
    if not half:
        return []
    decides = half[0].decides
    largest = half[-1].n_negatives
    if decides is None:
        return [f"  Half by popularity and half uniform: none of up to {largest:,}."]
    return [f"  Half by popularity and half uniform: {quantity(decides, 'negative')} decide."]


def _decision_in_words(full: Planned) -> str:
    """Write how many negatives decide the order, or whether full rankings do."""
    if full.decides is not None:
        return f"{quantity(full.decides, 'negative')} decide"
    if full.probability >= DECIDED_SHARE:
        return "only full rankings decide"
    return "not even full rankings decide"
