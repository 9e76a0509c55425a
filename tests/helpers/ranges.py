"""Ranges of exact metrics that sampled ranks allow."""

from sampled_metrics.intervals.ranges import Differences, bracket_users


def metric_ranges(measures, sample, **options):
    bracketed = bracket_users(sample, tuple(measures), **options)
    return [bracketed.range(place) for place in range(len(measures))]


def difference_ranges(measures, a, b):
    """Return the ranges of differences B - A."""
    differences = Differences(*(bracket_users(sample, tuple(measures)) for sample in (a, b)))
    return [differences.range(place) for place in range(len(measures))]
