"""Columns and words that the paper's tables share."""

COLUMNS = ("table", "row", "metric", "column", "value", "std")
EXACT = "Exact"
