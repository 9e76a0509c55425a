"""Figures 1 to 6 of the paper: pure renderings of their tables, for the screen and for print."""

from sampled_metrics.report.figures.output import save
from sampled_metrics.report.figures.rendering import render

__all__ = ["render", "save"]
