"""Conclusions from ranks: estimates, intervals, comparisons, plans."""
