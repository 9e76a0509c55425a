"""Ranking metrics: names, formulas, tie policies."""

from sampled_metrics.metrics import catalogue  # its declarations make the names known
from sampled_metrics.metrics.exact import values
from sampled_metrics.metrics.measures import (
    Measure,
    known_measures,
    parse_measure,
    parse_measures,
    register,
)
from sampled_metrics.metrics.ties import TIES

__all__ = [
    "TIES",
    "Measure",
    "catalogue",
    "known_measures",
    "parse_measure",
    "parse_measures",
    "register",
    "values",
]
