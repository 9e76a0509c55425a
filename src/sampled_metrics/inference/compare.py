"""Comparison of recommenders, by full rankings or by sampled ones, as the data is."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from sampled_metrics._base.defaults import CONFIDENCE, ESTIMATORS, METRICS, SHAPE
from sampled_metrics._base.errors import InputError, InputWarning
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.pairing import unlike
from sampled_metrics.inference.results import Results
from sampled_metrics.ranks.given import all_alike
from sampled_metrics.ranks.options import Drawn, Ranked


def compare(
    data: Mapping[str, Any],
    metrics: str | Sequence[str] = METRICS,
    estimators: str | Sequence[str] | None = None,
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
    test: str | None = None,
    correction: str = "holm",
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Results[Compared]:
    """Compare all pairs of recommenders: find which has the higher exact metric.

    Parameters
    ----------
    data
        What `evaluate` takes for each recommender, or what `correct` takes; two or more.
    metrics
        Their names, several with commas or in a list.
    estimators
        For sampled rankings, see `correct`.
    relevant, seen, n_items, min_grade, complete
        See `evaluate`.
    positive, n_negatives, sampling
        See `correct`; data is taken for sampled rankings if one of the first two is given.
    ties
        Default `expected` for full rankings, see `evaluate`, and `random` for scores of a
        held-out item and its negatives.
    test
        For full rankings: `t` (default), `wilcoxon` or `permutation`, see `compare_exact`.
    shape, per_user, correction, confidence, seed
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
    ranked = Ranked(n_items, relevant, seen, min_grade, complete)
    samples, rankings = all_alike(data, drawn, ranked)
    _warn_of_unlike(samples or rankings)
    if samples:
        if test is not None:
            raise InputError("test (--test) is for full rankings, these are sampled")
        from sampled_metrics.inference.compare_sampled import compare_sampled

        return compare_sampled(
            samples,
            metrics,
            estimators or ESTIMATORS,
            shape=shape,
            per_user=per_user,
            correction=correction,
            confidence=confidence,
        )
    if estimators:
        raise InputError(
            "estimators (--estimator) are for sampled rankings; give n_negatives (--n-negatives)"
        )
    from sampled_metrics.inference.compare_exact import compare_exact

    return compare_exact(
        rankings,
        metrics,
        ties=ties or "expected",
        test=test,
        correction=correction,
        confidence=confidence,
        seed=seed,
    )


def _warn_of_unlike(evaluations: Mapping[str, Any]) -> None:
    for words in unlike(evaluations):
        warnings.warn(
            f"{words}: are these evaluations on the same data?", InputWarning, stacklevel=3
        )
