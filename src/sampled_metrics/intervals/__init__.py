"""Populations, kernels and ranges: distributions of ranks that sampled ranks allow, as numbers."""
