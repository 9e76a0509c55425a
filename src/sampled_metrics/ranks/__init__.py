"""Ranks of relevant items, in full rankings and among sampled negatives; their readers."""
