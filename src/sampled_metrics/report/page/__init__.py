"""The page of a study: one HTML file with its results and an interactive explorer."""

from sampled_metrics.report.page.collect import collect
from sampled_metrics.report.page.render import render

__all__ = ["collect", "render"]
