"""What ranks allow to say: estimates, intervals, comparisons, plans."""
