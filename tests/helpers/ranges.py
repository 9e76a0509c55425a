"""Ranges of exact metrics that sampled ranks allow."""

from sampled_metrics.intervals.ranges import bracket_users, difference_range


def metric_ranges(measures, sample, **options):
    bracketed = bracket_users(tuple(measures), sample, **options)
    return [bracketed.range(place) for place in range(len(measures))]


def difference_ranges(measures, a, b):
    """Return the ranges of differences B - A."""
    first, second = (bracket_users(tuple(measures), sample) for sample in (a, b))
    return [difference_range(first, second, place) for place in range(len(measures))]
