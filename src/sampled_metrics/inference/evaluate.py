"""Exact metrics of one's own full rankings, with error bars."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE, METRICS
from sampled_metrics._base.errors import InputError, InputWarning
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators.quadrature import rank_rule
from sampled_metrics.inference import printed
from sampled_metrics.inference.intervals import Shape, estimate
from sampled_metrics.inference.results import Results
from sampled_metrics.metrics import Measure, parse_measures
from sampled_metrics.metrics import values as exact_values
from sampled_metrics.metrics.exact import DepthError
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.given import as_ranks
from sampled_metrics.ranks.options import Ranked

if TYPE_CHECKING:
    import pandas as pd

# Round numbers of negatives, and one more for the held-out item.
_SAMPLE_SIZES = {m + one for m in (20, 50, 99, 100, 200, 500, 999, 1000) for one in (0, 1)}
_SEVERAL = 10  # users that all have as many candidates by chance no more
_UNKNOWN_ITEMS = 1000  # n of the prior if the size of the catalogue is not known


@dataclass(frozen=True)
class Evaluated:
    """One exact metric.

    Attributes
    ----------
    metric
        What was computed.
    ties
        How tied candidates were ordered, see `metrics.values`.
    value
        Mean over users, as a fraction.
    std_error, ci_low, ci_high
        Over users, see `intervals`; nan for one user.
    n_users
        Users averaged over.
    n_items
        n: candidates of a full ranking; the mean where users differ, None if not known.
    effective_users
        (sum of v)^2 / sum of v^2 over the values v of users: how many carry the mean if they carry
        it equally. The interval is too narrow where these are few.
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


@one_thread()
def evaluate(
    data: Any,
    metrics: str | Sequence[str] = METRICS,
    *,
    relevant: Any = None,
    seen: Any = None,
    n_items: int | None = None,
    min_grade: float = 0.0,
    complete: bool = False,
    ties: str = "expected",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Results[Evaluated]:
    """Average exact metrics over users.

    Metrics that lists end too early for are left out with a warning, if others are known.

    Parameters
    ----------
    data
        Ranks of the relevant items, or scores, tables, lists or files that give them.
    metrics
        Their names, several with commas or in a list.
    relevant, seen, n_items, min_grade, complete
        Relevant and seen items, candidates of each ranking, the least grade of a relevant item, and
        whether lists are complete; see `sampled_metrics.ranks.options.Ranked`.
    ties
        `expected`, `random` (drawn with `seed`), `optimistic` or `pessimistic`.
    confidence
        Nominal coverage of the intervals.

    Examples
    --------
    >>> ranks = Ranks([10] * 4, [0, 2, 5, 9], [0] * 4)
    >>> [(result.metric, result.value) for result in evaluate(ranks, ["recall@3", "auc"])]
    [('recall@3', 0.5), ('auc', 0.5555555555555556)]

    Of scores, users x items, with the column of each user's held-out item:

    >>> scores = [[0.3, 0.9, 0.5], [0.8, 0.1, 0.4]]
    >>> [result.value for result in evaluate(scores, "hr@1", relevant=[1, 2])]
    [0.5]
    """
    ranks = as_ranks(data, Ranked(n_items, relevant, seen, min_grade, complete))
    warn_of_few_candidates(ranks)
    results = []
    for measure, values in known_values(parse_measures(metrics), ranks, ties, seed).items():
        prior = prior_shape(measure, ranks)
        mean = estimate(Shape.of(values), values.size, prior, confidence)
        results.append(
            Evaluated(
                metric=str(measure),
                ties=ties,
                **asdict(mean),
                n_items=ranks.mean_candidates or None,
                effective_users=_effective(values),
            )
        )
    relevance = printed.relevance_note(ranks)
    return Results(results, partial(printed.evaluated, confidence=confidence, relevance=relevance))


def values_by_user(
    data: Any,
    metrics: str | Sequence[str] = METRICS,
    *,
    ties: str = "expected",
    seed: int = 0,
    **options: Any,
) -> "pd.DataFrame":
    """Calculate exact metrics of each user, a column for each metric and a row for each user.

    Arguments are those of `evaluate`. The index holds the ids of the users, or running numbers from
    0; a column of the result is a Series by user.

    Examples
    --------
    >>> scores = [[0.3, 0.9, 0.5], [0.8, 0.1, 0.4]]
    >>> values_by_user(scores, "hr@1, rr", relevant=[1, 2])["rr"].tolist()
    [1.0, 0.5]
    """
    import pandas as pd

    ranks = as_ranks(data, Ranked(**options))
    measures = parse_measures(metrics)
    pooled = [str(measure) for measure in measures if measure.metric.pooled]
    if pooled:
        raise InputError(f"{pooled[0]} is of all users together, and no user has a value of it")
    known = known_values(measures, ranks, ties, seed)
    index = pd.Index(np.arange(len(ranks)) if ranks.users is None else ranks.users, name="user_id")
    return pd.DataFrame({str(measure): values for measure, values in known.items()}, index=index)


def warn_of_few_candidates(ranks: Ranks) -> None:
    """Warn if all users have a number of candidates that is usual for samples."""
    n = ranks.n_candidates
    if len(ranks) < _SEVERAL or n[0] not in _SAMPLE_SIZES or (n != n[0]).any():
        return
    warnings.warn(
        f"all {len(ranks):,} users have {n[0]} candidates: these look like sampled candidates, and "
        "metrics among them are not exact; `correct` takes the scores of a held-out item and its "
        "negatives (--positive), or sampled ranks",
        InputWarning,
        stacklevel=4,  # the caller of the public function, which is wrapped
    )


def _effective(values: Float) -> float:
    squares = float(np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares > 0.0 else 0.0


def user_values(measure: Measure, ranks: Ranks, ties: str, seed: int) -> Float:
    """Calculate the exact metric of each user; random ties have one order for all measures."""
    return exact_values(measure, ranks, ties, generator(seed, "ties"))


def known_values(
    measures: Sequence[Measure], ranks: Ranks, ties: str, seed: int
) -> dict[Measure, Float]:
    """Calculate metrics of each user, without those for which lists end too early.

    These are named in a warning, or in an InputError if there are no others.
    """
    known, unknown = {}, []
    for measure in measures:
        try:
            known[measure] = user_values(measure, ranks, ties, seed)
        except DepthError as error:
            unknown.append(error)
    if not known:
        raise unknown[0]
    for problem in unknown:
        warnings.warn(f"left out: {problem}", InputWarning, stacklevel=4)
    return known


def over_common(
    measure: Measure, ranks: Ranks, values: Float, rows: Int | None, ties: str, seed: int
) -> Float:
    """Return values by user; a pooled metric is calculated anew over the users in `rows`."""
    if rows is None or not measure.metric.pooled:
        return values
    pooled = values.copy()
    pooled[rows] = user_values(measure, ranks.take(rows), ties, seed)
    return pooled


def prior_shape(measure: Measure, ranks: Ranks) -> Shape:
    """Calculate the shape of a metric of one relevant item at a uniformly random rank."""
    n = ranks.mean_candidates or _UNKNOWN_ITEMS
    places, weights = rank_rule(n, 1, [measure.cutoff] if measure.cutoff else [])
    return Shape.of(measure.at(places, n), weights)
