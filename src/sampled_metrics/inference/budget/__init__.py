"""Metrics over all candidates from about a hundred scores per user."""
