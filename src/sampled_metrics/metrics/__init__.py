"""Ranking metrics: names, formulas, tie policies."""
