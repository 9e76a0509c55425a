"""Comparison of recommenders, by full rankings or by sampled ones, as the data is."""

from collections.abc import Mapping, Sequence
from typing import Any

from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.inference.compare import compare_exact, compare_sampled
from sampled_metrics.inference.compared import Compared
from sampled_metrics.ranks.given import as_ranks, as_sampled, is_sampled
from sampled_metrics.ranks.sampled_reading import Drawn


def compare(
    data: Mapping[str, Any],
    metrics: str | Sequence[str] = METRICS,
    estimators: str | Sequence[str] = ESTIMATORS,
    *,
    relevant: Any = None,
    seen: Any = None,
    n_items: int | None = None,
    min_grade: float = 0.0,
    complete: bool = False,
    positive: Any = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str | None = None,
    shape: str = SHAPE,
    per_user: bool = False,
    test: str = "t",
    correction: str = "holm",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> list[Compared]:
    """Compare all pairs of recommenders: find which has the higher exact metric.

    Parameters
    ----------
    data
        What `evaluate` takes for each recommender, or what `correct` takes; two or more.
    metrics, estimators
        Their names, several with commas or in a list. Full rankings need no estimators.
    relevant, seen, n_items, min_grade, complete
        See `evaluate`.
    positive, n_negatives, sampling
        See `correct`; data is taken for sampled rankings if one of the first two is given.
    ties
        Default `expected` for full rankings, see `evaluate`, and `random` for scores of a
        held-out item and its negatives.
    shape, per_user, test, correction, confidence, seed
        See `compare_exact` and `compare_sampled`.

    Returns
    -------
    One result for each pair, metric and estimator, pairs outermost.

    Examples
    --------
    >>> scores = {"A": [[0.9, 0.2, 0.1]] * 40, "B": [[0.1, 0.9, 0.2]] * 39 + [[0.9, 0.2, 0.1]]}
    >>> (result,) = compare(scores, "hr@1", relevant=[0] * 40)
    >>> result.value_a, result.value_b, result.order
    (1.0, 0.025, 'a')
    """
    if not isinstance(data, Mapping):
        raise InputError(f"found {type(data).__name__}; expected a dictionary by recommender")
    drawn = Drawn(n_items, n_negatives, sampling, positive, relevant, ties or "random", seed)
    kinds = {name: is_sampled(each, drawn) for name, each in data.items()}
    if len(set(kinds.values())) > 1:
        full, among = (
            next(name for name in kinds if kinds[name] is kind) for kind in (False, True)
        )
        raise InputError(f"{full} is ranked in full, {among} among samples; compare like with like")
    if any(kinds.values()):
        samples = {}
        for name, each in data.items():
            with reading(name):
                samples[name] = as_sampled(each, drawn)
        return compare_sampled(
            samples,
            metrics,
            estimators,
            shape=shape,
            per_user=per_user,
            correction=correction,
            confidence=confidence,
        )
    rankings = {}
    for name, each in data.items():
        with reading(name):
            rankings[name] = as_ranks(
                each,
                n_items=n_items,
                relevant=relevant,
                seen=seen,
                min_grade=min_grade,
                complete=complete,
            )
    return compare_exact(
        rankings,
        metrics,
        ties=ties or "expected",
        test=test,
        correction=correction,
        confidence=confidence,
        seed=seed,
    )
