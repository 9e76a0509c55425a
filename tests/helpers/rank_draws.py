"""Sampled ranks drawn from made-up true ranks, and the extreme points of classes by brute force."""

import math
from functools import cache

import numpy as np
import pytest

from sampled_metrics.intervals.brackets import LOWER, UPPER, bracketing_vectors
from sampled_metrics.intervals.shapes import SHAPES
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import pmf_at

N, M = 3541, 100  # candidates and negatives, unless said otherwise
RECALL = [parse_measure("recall@10")]
each_sampling = pytest.mark.parametrize("sampling", Sampling)
each_shape = pytest.mark.parametrize("shape", SHAPES)


def bracket(measure, table, shares, n_users, z):
    """Lower and upper vectors of a metric."""
    return tuple(
        bracketing_vectors(measure, table, shares, n_users=n_users, z=z, sign=sign)
        for sign in (LOWER, UPPER)
    )


def power_ranks(users, exponent, rng):
    """True ranks that are at most k with probability (k/n)^exponent."""
    return np.ceil(N * rng.random(users) ** (1 / exponent)).astype(int).clip(1, N)


def draw_ranks(true, m, rng, n=N):
    return 1 + rng.hypergeometric(true - 1, n - true, m)


@cache
def chances(n, m, sampling):
    """Distributions of the sampled rank for all true ranks."""
    return pmf_at(np.arange(1, n + 1), n, m, sampling)


def all_points(n, m, shape, sampling, metric, cutoff=None):
    """Distributions of sampled ranks and exact metrics under all extreme points."""
    ranks = np.arange(1, n + 1)
    single = chances(n, m, sampling).copy()
    values = parse_measure(metric).value_at(ranks, n)
    last = 0 if shape == "none" else max(math.ceil(5 * n / m), 3 * (cutoff or 0))
    single[:last] = np.cumsum(single[:last], axis=0) / ranks[:last, None]
    values[:last] = np.cumsum(values[:last]) / ranks[:last]
    return single, values
