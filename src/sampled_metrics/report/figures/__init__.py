"""Figures of the paper and of the study, drawn from their tables for the screen and for print."""

from sampled_metrics.report.figures.rendering import render, rounded, save

__all__ = ["render", "rounded", "save"]
