"""Ranking metrics: names, formulas, tie policies."""

from sampled_metrics.metrics import formulas  # its import registers the metrics
from sampled_metrics.metrics.levels import TIE_POLICIES
from sampled_metrics.metrics.measures import (
    Measure,
    known_measures,
    parse_measure,
    parse_measures,
    register,
    values,
)

__all__ = [
    "TIE_POLICIES",
    "Measure",
    "formulas",
    "known_measures",
    "parse_measure",
    "parse_measures",
    "register",
    "values",
]
