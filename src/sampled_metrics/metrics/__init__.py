"""Ranking metrics: names, formulas, tie policies."""

from sampled_metrics.metrics import catalogue, gains  # whose declarations make names known
from sampled_metrics.metrics.exact import values
from sampled_metrics.metrics.levels import TIES
from sampled_metrics.metrics.measures import (
    Measure,
    known_measures,
    parse_measure,
    parse_measures,
    register,
)

__all__ = [
    "TIES",
    "Measure",
    "catalogue",
    "gains",
    "known_measures",
    "parse_measure",
    "parse_measures",
    "register",
    "values",
]
