"""The page people look at: one HTML file with the whole study and an explorer of it."""

from sampled_metrics.report.page.collect import Sources, collect
from sampled_metrics.report.page.render import render

__all__ = ["Sources", "collect", "render"]
