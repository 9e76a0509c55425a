"""How the paper's tables spell measures and estimators."""

from sampled_metrics.estimators import Estimator
from sampled_metrics.metrics.measures import Measure

COLUMNS = ("table", "row", "metric", "column", "value", "std")
EXACT = "Exact"

_MEASURES = {
    "ap": "AP",
    "ap-by-hits": "AP by hits",
    "ap-by-relevant": "AP by relevant",
    "auc": "AUC",
    "ndcg": "NDCG",
    "ndcg-by-k": "NDCG by k",
    "ndcg-by-relevant": "NDCG by relevant",
    "recall": "Recall",
    "rr": "RR",
}
_ESTIMATORS = {"sampled": "Sampled", "rank-estimate": "Rank Estimate", "cls": "CLS"}


def measure_label(measure: Measure) -> str:
    """Spell a measure as the tables do.

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> [measure_label(parse_measure(name)) for name in ("recall@10", "ap", "precision@5")]
    ['Recall@10', 'AP', 'Precision@5']
    """
    name = _MEASURES.get(measure.name, measure.name.capitalize())
    return name if measure.cutoff is None else f"{name}@{measure.cutoff}"


def estimator_label(estimator: Estimator) -> str:
    """Spell an estimator as the tables do.

    >>> from sampled_metrics.estimators import parse_estimator
    >>> [estimator_label(parse_estimator(name)) for name in ("rank-estimate", "bv:0.1")]
    ['Rank Estimate', 'BV 0.1']
    """
    if estimator.gamma is not None:
        return f"BV {estimator.gamma:g}"
    return _ESTIMATORS[estimator.name]
