"""Recommenders of the study, trained from interactions or scored elsewhere."""

from sampled_metrics.recommenders import als, baselines, bm25, itemknn, stochastic
from sampled_metrics.recommenders.base import (
    KINDS,
    Recommender,
    create,
    load_recommender,
    register,
    save_recommender,
)

__all__ = [
    "KINDS",
    "Recommender",
    "als",
    "baselines",
    "bm25",
    "create",
    "itemknn",
    "load_recommender",
    "register",
    "save_recommender",
    "stochastic",
]
