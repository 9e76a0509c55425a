"""Recommenders of the study behind one small protocol."""

from sampled_metrics.recommenders.base import (
    KINDS,
    Recommender,
    create,
    load_recommender,
    save_recommender,
)

__all__ = ["KINDS", "Recommender", "create", "load_recommender", "save_recommender"]
