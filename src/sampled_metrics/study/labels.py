"""How the paper's tables spell measures."""

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


def measure_label(measure: Measure) -> str:
    """Spell a measure as the tables do.

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> [measure_label(parse_measure(name)) for name in ("recall@10", "ap", "precision@5")]
    ['Recall@10', 'AP', 'Precision@5']
    """
    name = _MEASURES.get(measure.name, measure.name.capitalize())
    return name if measure.cutoff is None else f"{name}@{measure.cutoff}"
