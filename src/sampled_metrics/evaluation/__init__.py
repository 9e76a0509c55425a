"""Results of ranks: exact metrics, corrections, comparisons, plans, and how they print."""
