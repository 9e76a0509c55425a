"""Estimators that are fitted to the sampled ranks: from an estimated distribution of true ranks.

The estimate is a function g of the shares f of users at each sampled rank. Its vector is the
linearisation x_i = g(f) + dg(f)[delta_i - f]: the mean of x over the sampled ranks is g(f), and
its spread is what the fit contributes as well, to first order in 1 / users.
"""

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgWarning, solve

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.bias_variance import bias_variance
from sampled_metrics.estimators.entropy import entropy_gradient, maximum_entropy
from sampled_metrics.estimators.expectation import em_gradient, em_path
from sampled_metrics.estimators.quadrature import rank_rule
from sampled_metrics.estimators.registry import Problem, register
from sampled_metrics.estimators.system import ConditioningError, reduced_at, require_solvable
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

PRIOR_ITERATIONS = 100  # steps to the prior of `bv-em`, as in the authors' code


class Observed(NamedTuple):
    """Sampled ranks of some users and what they say about true ranks.

    Attributes
    ----------
    ranks, start
        True ranks and the share of all ranks that each stands for: 1/n, or the weights of a rule
        for sums where n is large; shape (ranks,).
    given
        P(i | r), shape (ranks, m + 1).
    values
        The metrics, shape (ranks, measures).
    shares
        Share of users at every sampled rank, shape (m + 1,).
    users
        Number of users.
    """

    ranks: Float
    start: Float
    given: Float
    values: Float
    shares: Float
    users: float


def observed(problem: Problem) -> Observed:
    """Collect the material of a fit."""
    require_solvable(problem.m)
    counts = np.asarray(problem.histogram, dtype=np.float64)
    users = float(counts.sum())
    if counts.shape != (problem.m + 1,) or not (counts >= 0.0).all() or users <= 0.0:
        raise InputError(
            f"the histogram has shape {counts.shape} and sum {users:g}; expected the users at "
            f"each of {problem.m + 1} sampled ranks"
        )
    cutoffs = tuple(one.cutoff for one in problem.measures if one.cutoff is not None)
    ranks, start, given = true_ranks(problem.n, problem.m, Sampling(problem.sampling), cutoffs)
    values = np.column_stack([measure.at(ranks, problem.n) for measure in problem.measures])
    return Observed(ranks, start, given, values, counts / users, users)


@lru_cache(maxsize=4)
def true_ranks(
    n: int, m: int, sampling: Sampling, cutoffs: tuple[int, ...] = ()
) -> tuple[Float, Float, Float]:
    """Ranks, the share of all ranks that each stands for, and P(i | r)."""
    ranks, weights = rank_rule(n, m, cutoffs)
    return ranks, weights / n, pmf_at(ranks, n, m, sampling)


@register("em", label="EM", parameter="iterations", fitted=True)
def _em(problem: Problem, iterations: float) -> Float:
    seen = observed(problem)
    path = em_path(seen.given, seen.start, seen.shares, int(iterations))
    if not problem.linearised:
        return _constant(seen, path[-1] @ seen.values)
    return em_gradient(seen.given, path, seen.shares, seen.values).T


@register("mes", label="MES", parameter="gamma", fitted=True)
def _mes(problem: Problem, gamma: float) -> Float:
    seen = observed(problem)
    p = maximum_entropy(seen.given, seen.start, seen.shares, gamma)
    if not problem.linearised:
        return _constant(seen, p @ seen.values)
    gradient = entropy_gradient(seen.given, p, seen.shares, gamma, seen.values)
    return (p @ seen.values + gradient - seen.shares @ gradient).T


@register("bv-em", label="BV with EM prior", parameter="gamma", fitted=True)
def _bv_em(problem: Problem, gamma: float) -> Float:
    seen = observed(problem)
    path = em_path(seen.given, seen.start, seen.shares, PRIOR_ITERATIONS)
    prior = path[-1]
    system = reduced_at(seen.ranks, prior, problem.measures, problem.n, problem.m, problem.sampling)
    vectors = bias_variance(system, gamma).T
    if not problem.linearised:
        return vectors.T
    root = np.sqrt(system.marginal)
    scaled = system.triangle / root
    matrix = (1.0 - gamma) * scaled.T @ scaled + gamma * np.eye(root.size)
    dual = solve(matrix, seen.shares / root, assume_a="pos") / root
    credit = (seen.given @ dual)[:, np.newaxis]
    slope = credit * (seen.values - (1.0 - gamma) * (seen.given @ vectors))
    slope -= gamma * (seen.given @ (dual[:, np.newaxis] * vectors))
    return _with_prior(seen, path, vectors, slope)


@register("mn", label="MN with EM prior", parameter="iterations", fitted=True)
def _mn(problem: Problem, iterations: float) -> Float:
    """Minimise bias^2 + variance / (users at the rank), summed over ranks.

    The weight of the variance is 1 / (users p(r)) at rank r instead of one gamma for all (Li, Jin,
    Liu, Ren, Gao, Liu, AAAI 2023).
    """
    seen = observed(problem)
    path = em_path(seen.given, seen.start, seen.shares, int(iterations))
    vectors, dual = minimal_error(seen, problem.n, path[-1])
    if not problem.linearised:
        return vectors.T
    slope = (seen.given @ dual)[:, np.newaxis] * (seen.values - seen.given @ vectors)
    return _with_prior(seen, path, vectors, slope)


def minimal_error(seen: Observed, n: int, prior: Float) -> tuple[Float, Float]:
    """Vectors of MN, shape (m + 1, measures), and the solution with the shares on the right."""
    weights = (n * seen.start)[:, np.newaxis]
    system = seen.given.T @ ((prior[:, np.newaxis] - weights / seen.users) * seen.given)
    system[np.diag_indices_from(system)] += (weights * seen.given).sum(axis=0) / seen.users
    root = np.sqrt(np.diag(system))
    right = np.column_stack([(seen.given * prior[:, np.newaxis]).T @ seen.values, seen.shares])
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            scaled = solve(system / np.outer(root, root), right / root[:, np.newaxis], "pos")
        except (LinAlgWarning, np.linalg.LinAlgError) as error:
            raise ConditioningError(
                f"mn with {root.size - 1} negatives and {seen.users:g} users is not determined in "
                "double precision; use fewer negatives"
            ) from error
    solution = scaled / root[:, np.newaxis]
    return solution[:, :-1], solution[:, -1]


def _constant(seen: Observed, values: Float) -> Float:
    """The estimate at every sampled rank."""
    return np.repeat(values[:, np.newaxis], seen.shares.size, axis=1)


def _with_prior(seen: Observed, path: Float, vectors: Float, slope: Float) -> Float:
    """Linearise shares @ vectors, of which the vectors depend on the prior at the end of a path."""
    gradient = vectors + em_gradient(seen.given, path, seen.shares, slope)
    return (seen.shares @ vectors + gradient - seen.shares @ gradient).T
