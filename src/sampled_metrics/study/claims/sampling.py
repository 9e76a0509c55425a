"""Sections 4.3 to 5.1: what sampling does to a rank and to a metric."""

import numpy as np

from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling import expected_values
from sampled_metrics.study.claims.registry import Finding, measurement
from sampled_metrics.study.claims.theory import AP, AUC, METRICS, NDCG, SMALL, M, grid
from sampled_metrics.study.claims.words import by_metric
from sampled_metrics.study.settings import N_ITEMS

_WITH, _WITHOUT = Sampling.WITH_REPLACEMENT, Sampling.WITHOUT_REPLACEMENT


@measurement
def _first_and_last_rank() -> Finding:
    first, last = grid(*SMALL)[[0, -1]]
    n, m = SMALL
    return Finding(
        first[0] == last[-1] == 1.0,
        f"n = {n}, m = {m}: P(1 | 1) = {first[0]:g}, P(m + 1 | n) = {last[-1]:g}",
    )


@measurement
def _bias_of_1000_samples() -> Finding:
    ranks = np.arange(1, 1001)
    bias = {}
    for name in ("AP", "NDCG", "Recall@10"):
        measure = METRICS[name]
        values = expected_values(measure, ranks, N_ITEMS, 1000, _WITH)
        errors = np.abs(values - measure.at(ranks, N_ITEMS))
        bias[name] = float(errors.max()), int(ranks[errors.argmax()])
    holds = all(error > 0.1 for error, _ in bias.values())
    return Finding(holds, by_metric({k: f"{e:.2f} at rank {r}" for k, (e, r) in bias.items()}))


@measurement
def _auc_is_unbiased() -> Finding:
    ranks = np.arange(1, N_ITEMS + 1)
    errors = [
        np.abs(expected_values(AUC, ranks, N_ITEMS, M, sampling) - AUC.at(ranks, N_ITEMS)).max()
        for sampling in (_WITH, _WITHOUT)
    ]
    return Finding(max(errors) < 1e-12, f"largest bias over all ranks {max(errors):.0e}")


@measurement
def _formula_of_sampled_ap() -> Finding:
    n, m = N_ITEMS, M
    p = np.arange(1, n) / (n - 1)
    formula = np.concatenate([[1.0], (1 - (1 - p) ** (m + 1)) / (p * (m + 1))])
    error = np.abs(expected_values(AP, np.arange(1, n + 1), n, m, _WITH) - formula).max()
    return Finding(error < 1e-12, f"largest difference over all ranks {error:.0e}")


def _curvature(measure: Measure) -> float:
    """Largest second difference over ranks at m = 1."""
    values = expected_values(measure, np.arange(1, 1001), 1000, 1, _WITHOUT)
    return float(np.abs(np.diff(values, 2)).max())


@measurement
def _all_metrics_at_one_negative() -> Finding:
    bends = {name: _curvature(METRICS[name]) for name in ("AP", "NDCG", "AUC")}
    falls = all(measure.at([1], 2)[0] > measure.at([2], 2)[0] for measure in (AP, NDCG, AUC))
    return Finding(
        falls and max(bends.values()) < 1e-12,
        "largest second difference over ranks: "
        + by_metric({name: f"{bend:.0e}" for name, bend in bends.items()}),
    )


@measurement
def _constant_at_one_negative() -> Finding:
    measures = [parse_measure(f"{name}@{k}") for name in ("recall", "precision") for k in (2, 10)]
    ranges = [
        float(np.ptp(expected_values(measure, np.arange(1, 1001), 1000, 1, _WITHOUT)))
        for measure in measures
    ]
    return Finding(max(ranges) < 1e-12, f"range over all ranks {max(ranges):.0e}")


@measurement
def _sampled_rank_underestimates() -> Finding:
    ranks = np.arange(1, N_ITEMS + 1)
    expected = 1 + M * (ranks - 1) / (N_ITEMS - 1)
    least, most = (expected[1:] / ranks[1:]).min(), (expected[1:] / ranks[1:]).max()
    return Finding(
        bool((expected[1:] < ranks[1:]).all()),
        f"m = {M}, n = {N_ITEMS:,}: {least:.3f} to {most:.3f} of the rank",
    )


@measurement
def _rank_estimate_is_unbiased() -> Finding:
    n, m = 1000, M
    estimates = 1 + (n - 1) * np.arange(m + 1) / m
    error = np.abs(grid(n, m) @ estimates - np.arange(1, n + 1)).max()
    return Finding(error < 1e-8, f"largest bias over all ranks {error:.0e}")
