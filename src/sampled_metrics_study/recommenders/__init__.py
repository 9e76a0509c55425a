"""Recommenders of the study: trained from interactions, or read from files of scores."""

from sampled_metrics_study.recommenders import factors, neighbours  # noqa: F401 - registers
from sampled_metrics_study.recommenders.base import (
    KINDS,
    Recommender,
    create,
    load_recommender,
    register,
    save_recommender,
)

__all__ = ["KINDS", "Recommender", "create", "load_recommender", "register", "save_recommender"]
