"""Sections 5.2 to 5.5: the corrections."""

from functools import cache

import numpy as np
import scipy  # `scipy.optimize` takes long to import, so only where it is used

from sampled_metrics._base.arrays import Float
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling import pmf
from sampled_metrics.study.claims.registry import Finding, measurement
from sampled_metrics.study.claims.words import by_metric, joined
from sampled_metrics.study.curves import CORRECTIONS
from sampled_metrics.study.settings import N_ITEMS

RECALL, NDCG, AP, AUC = (parse_measure(name) for name in ("recall@10", "ndcg", "ap", "auc"))
METRICS = {"AP": AP, "NDCG": NDCG, "Recall@10": RECALL, "AUC": AUC}
M = 100  # negatives of section 5.4
SMALL = (50, 9)  # n and m of a problem that is solved in full
_WITH, _WITHOUT = Sampling.WITH_REPLACEMENT, Sampling.WITHOUT_REPLACEMENT


@cache
def vector(estimator: str, measure: Measure, n: int, m: int, nonnegative: bool = True) -> Float:
    """Return one estimator, with replacement and a uniform prior."""
    names = [parse_estimator(estimator)]
    vectors = estimator_matrix(names, [measure], n, m, sampling=_WITH, cls_nonnegative=nonnegative)
    return np.asarray(vectors[0, 0])


@cache
def grid(n: int, m: int) -> Float:
    """p(sampled rank | rank) with replacement, shape (n, m + 1)."""
    return pmf(np.arange(1, n + 1), n, m, _WITH)


@measurement
def _number_of_solutions() -> Finding:
    n, m = SMALL
    rank = np.linalg.matrix_rank(grid(n, m))
    return Finding(
        bool(rank < m + 1), f"{n} equations, {m + 1} unknowns, rank {rank}: one solution"
    )


@measurement
def _matrix_of_least_squares() -> Finding:
    n, m = SMALL
    right = grid(n, m) / np.sqrt(n)
    printed = np.sqrt(np.outer(np.full(n, 1 / n), grid(n, m).mean(axis=0)))
    ranks = [int(np.linalg.matrix_rank(matrix)) for matrix in (printed, right)]
    return Finding(
        ranks[0] == m + 1,
        f"rank of A with {m + 1} unknowns: {ranks[0]} as printed, {ranks[1]} as needed",
    )


@measurement
def _direction_of_the_constraint() -> Finding:
    steps = np.diff(vector("cls", AP, 3541, M))
    return Finding(bool((steps >= 0).all()), f"CLS of AP falls by {-steps.sum():.3f} in all")


@measurement
def _isotonic_regression() -> Finding:
    n, m = SMALL
    free = vector("bv:0", AP, n, m)
    isotonic = scipy.optimize.isotonic_regression(
        free, weights=grid(n, m).mean(axis=0), increasing=False
    ).x
    constrained = vector("cls", AP, n, m, nonnegative=False)
    distance = np.abs(isotonic - constrained).max()
    return Finding(
        bool(distance < 1e-6),
        f"n = {n}, m = {m}: isotonic regression of the free solution is {distance:.3f} away",
    )


@measurement
def _no_variance_term() -> Finding:
    n, m = SMALL
    free = np.linalg.lstsq(grid(n, m), AP.at(np.arange(1, n + 1), n))[0]
    error = np.abs(vector("bv:0", AP, n, m) - free).max() / np.abs(free).max()
    return Finding(bool(error < 1e-6), f"relative difference {error:.0e}")


@measurement
def _posterior_mean() -> Finding:
    n = 1000
    posterior = grid(n, M) / grid(n, M).sum(axis=0)
    error = np.abs(AP.at(np.arange(1, n + 1), n) @ posterior - vector("bv:1", AP, n, M)).max()
    return Finding(bool(error < 1e-12), f"largest difference {error:.0e}")


@measurement
def _sampling_rate() -> Finding:
    return Finding(round(100 * M / N_ITEMS) == 1, f"{100 * M / N_ITEMS:.2f} %")


@measurement
def _oscillations() -> Finding:
    turns = {}
    for name in ("cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001"):
        steps = np.diff(vector(name, AP, N_ITEMS, M))
        signs = np.sign(np.where(np.abs(steps) > 1e-9, steps, 0.0))
        turns[parse_estimator(name).label] = int(np.sum(np.diff(signs[signs != 0]) != 0))
    low = [turns[name] for name in ("BV 0.1", "BV 0.01", "BV 0.001")]
    return Finding(
        turns["CLS"] == 0 < low[-1] and low == sorted(low),
        by_metric({name: str(number) for name, number in turns.items()}),
    )


@measurement
def _closer_in_expectation() -> Finding:
    exact, rates = AP.at(np.arange(1, N_ITEMS + 1), N_ITEMS), grid(N_ITEMS, M)
    vectors = {name: vector(name, AP, N_ITEMS, M) for name in ("sampled", *CORRECTIONS)}
    bias = {name: np.abs(rates @ estimator - exact) for name, estimator in vectors.items()}
    farther = {name: int(np.sum(bias[name] > bias["sampled"] + 1e-12)) for name in CORRECTIONS}
    first = [vectors[name][0] for name in CORRECTIONS[1:]]
    names = [parse_estimator(name).label for name, number in farther.items() if number]
    return Finding(
        not names,
        f"AP at rank 1 is 1 exact and uncorrected, {min(first):.2f} to {max(first):.2f} by CLS and "
        f"BV; farther at {max(farther.values())} of {N_ITEMS:,} ranks by {joined(names)}",
    )


@measurement
def _items_of_figure_4() -> Finding:
    return Finding(
        N_ITEMS < N_ITEMS - 1, f"n = {N_ITEMS:,}; at most {N_ITEMS - 1:,} negatives can be sampled"
    )


def _objective(n: int, m: int) -> float:
    target = AP.at(np.arange(1, n + 1), n)
    residual = grid(n, m) @ np.linalg.lstsq(grid(n, m), target)[0] - target
    return float(np.mean(residual**2))


@measurement
def _objective_by_m() -> Finding:
    values = {m: _objective(1000, m) for m in (5, 10, 20)}
    falls = list(values.values()) == sorted(values.values(), reverse=True)
    shown = by_metric({f"m = {m}": f"{value:.2e}" for m, value in values.items()})
    return Finding(falls, f"eq. 21 for AP, n = 1,000: {shown}")


@measurement
def _objective_by_n() -> Finding:
    values = {n: n * _objective(n, 10) for n in (500, 1000, 2000)}
    rises = list(values.values()) == sorted(values.values())
    shown = by_metric({f"n = {n:,}": f"{value:.3f}" for n, value in values.items()})
    return Finding(rises, f"eq. 21 for AP times n, m = 10: {shown}")
