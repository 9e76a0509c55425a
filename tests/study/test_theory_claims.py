"""Claims about theory and toy recommenders in claims.csv, computed independently."""

import re
from collections import Counter
from functools import cache, partial
from itertools import groupby

import numpy as np
import pytest
from scipy import optimize, stats

from sampled_metrics._base.arrays import geometric_sizes
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.sampling import pmf
from sampled_metrics_study.claims.ledger import claims
from sampled_metrics_study.figures.figure1_to_4 import expected_values

WITH, WITHOUT = "with-replacement", "without-replacement"
RANKS = {"A": [100] * 5, "B": [40, 40, 8437, 9266, 4482], "C": [212, 2, 743, 5342, 1548]}
NAMES = {"AUC": "auc", "AP": "ap", "NDCG": "ndcg", "Recall@10": "recall@10"}
AUC, AP, NDCG, RECALL = ALL = [parse_measure(name) for name in NAMES.values()]
TOP = [AP, NDCG, RECALL]
N, M, SMALL, HALF_UNIT = 10_000, 100, (50, 9), 0.0005
SIZES = geometric_sizes(1, N - 1, 41)
EVERY = np.arange(1, N + 1)
BV = ("bv:1", "bv:0.1", "bv:0.01", "bv:0.001")


@cache
def toys(measure, m=None):
    """Metric of A, B and C: exact, or expected among m negatives."""
    if m is None:
        return {name: measure.value_at(np.array(ranks), N).mean() for name, ranks in RANKS.items()}
    return {k: expected_values(measure, r, N, m, WITHOUT).mean() for k, r in RANKS.items()}


def order(values, equal=0.0):
    """Names from best to worst; values that differ by at most `equal` are tied."""
    best, *others = sorted(values, key=lambda name: -values[name])
    text = best
    for better, name in zip([best, *others], others, strict=False):
        text += f"{' = ' if values[better] - values[name] <= equal else ' > '}{name}"
    return " > ".join(" = ".join(sorted(part.split(" = "))) for part in text.split(" > "))


def values_in_order(values, decimals=3):
    names = sorted(values, key=lambda name: -values[name])
    return ", ".join(f"{name} {values[name]:.{decimals}f}" for name in names)


def by_measure(describe, measures=TOP):
    return "; ".join(f"{measure.label}: {describe(measure)}" for measure in measures)


def orders(measure, sizes):
    parts = []
    for words, group in groupby(sizes, lambda m: order(toys(measure, m))):
        first, *_, last = [*group] * 2
        parts.append(f"{words} at m = {first}" + (f" to {last}" if last > first else ""))
    return ", ".join(parts)


def change(measure, equal=HALF_UNIT):
    return f"{order(toys(measure), equal)} becomes {order(toys(measure, 99), equal)}"


@cache
def grid(n, m):
    return pmf(np.arange(1, n + 1), n, m, WITH)


@cache
def vector(name, measure, n, m, nonnegative=True):
    return estimator_matrix([parse_estimator(name)], [measure], n, m, sampling=WITH,
                            cls_nonnegative=nonnegative)[0, 0]  # fmt: skip


def least_squares(n, m):
    target = AP.value_at(np.arange(1, n + 1), n)
    free = np.linalg.lstsq(grid(n, m), target)[0]
    return free, np.mean((grid(n, m) @ free - target) ** 2)


def bias_of_1000_samples(measure):
    ranks = np.arange(1, 1001)
    errors = np.abs(expected_values(measure, ranks, N, 1000, WITH) - measure.value_at(ranks, N))
    return f"{errors.max():.2f} at rank {ranks[errors.argmax()]}"


def bend_at_one_negative(measure):
    return np.abs(np.diff(expected_values(measure, np.arange(1, 1001), 1000, 1, WITHOUT), 2)).max()


def auc_bias():
    ways = [expected_values(AUC, EVERY, N, M, way) for way in (WITH, WITHOUT)]
    return np.abs(np.array(ways) - AUC.value_at(EVERY, N)).max()


def rank_estimate_bias():
    return np.abs(grid(1000, M) @ (1 + 999 * np.arange(M + 1) / M) - EVERY[:1000]).max()


def formula_of_ap():
    p = np.arange(1, N) / (N - 1)
    formula = np.append(1.0, (1 - (1 - p) ** (M + 1)) / (p * (M + 1)))
    return np.abs(expected_values(AP, EVERY, N, M, WITH) - formula).max()


def isotonic():
    free, weights = vector("bv:0", AP, *SMALL), grid(*SMALL).mean(axis=0)
    monotone = optimize.isotonic_regression(free, weights=weights, increasing=False).x
    return np.abs(monotone - vector("cls", AP, *SMALL, nonnegative=False)).max()


def turns(name):
    steps = np.diff(vector(name, AP, N, M))
    signs = np.sign(np.where(np.abs(steps) > 1e-9, steps, 0.0))
    return f"{parse_estimator(name).label}: {np.sum(np.diff(signs[signs != 0]) != 0)}"


def farther():
    """Estimators that are more biased than the uncorrected AP, and at how many ranks."""
    exact, names = AP.value_at(EVERY, N), ("sampled", "rank-estimate", "cls", *BV)
    bias = {name: np.abs(grid(N, M) @ vector(name, AP, N, M) - exact) for name in names}
    number = {k: int(np.sum(bias[k] > bias["sampled"] + 1e-12)) for k in names}
    first = [vector(name, AP, N, M)[0] for name in ("cls", *BV)]
    worse = ", ".join(parse_estimator(k).label for k in names if number[k])
    return (
        f"AP at rank 1 is 1 exact and uncorrected, {min(first):.2f} to {max(first):.2f} by CLS "
        f"and BV; farther at {max(number.values())} of 10,000 ranks by {worse}"
    )


def consistent_recall():
    # B's share of users below rank 10: two of five, by scipy
    def of_b(m):
        return 0.4 * stats.hypergeom(N - 1, 39, m).cdf(9)

    equal = next(m for m in range(4700, 4900) if of_b(m) < HALF_UNIT)
    best = next(m for m in range(2400, 2600) if of_b(m) < 0.2)
    return f"C > A = B from m = {equal} on; C is the best from m = {best} on"


def ranks_of_matrices():
    printed = np.sqrt(np.outer(np.full(50, 1 / 50), grid(*SMALL).mean(axis=0)))
    found = [np.linalg.matrix_rank(matrix) for matrix in (printed, grid(*SMALL))]
    return f"rank of A with 10 unknowns: {found[0]} as printed, {found[1]} as needed"


def one_solution():
    rank = np.linalg.matrix_rank(grid(*SMALL))
    return f"50 equations, 10 unknowns, rank {rank}: one solution"


def consistent_metrics():
    consistent = [
        one.label for one in ALL if {order(toys(one, m)) for m in SIZES} == {order(toys(one))}
    ]
    moves = max(abs(toys(AUC, m)[name] - toys(AUC)[name]) for m in SIZES for name in "ABC")
    return f"order kept at all of {len(SIZES)} m: {', '.join(consistent)}; AUC moves by {moves:.0e}"


def ends_of_ratios():
    ratios = (1 + M * (EVERY[1:] - 1) / (N - 1)) / EVERY[1:]
    return f"{ratios.min():.3f} to {ratios.max():.3f}"


small_ends = "n = 50, m = 9: P(1 | 1) = {:g}, P(m + 1 | n) = {:g}"
COMPUTED = {
    "rank 1 is twice": lambda: f"{np.divide(*AP.value_at([1, 2], N)):g}",
    "for NDCG, rank 1": lambda: f"{np.divide(*NDCG.value_at([1, 2], N)):.3f} times",
    "from position 101": lambda: "{0:.6f} and {2:.6f}".format(
        *-np.diff(AUC.value_at([100, 101, 1, 2], N))),
    "On AUC, recommender A": lambda: values_in_order(toys(AUC)),
    "For top heavy": lambda: by_measure(lambda one: values_in_order(toys(one))),
    "a 10x higher": lambda: "C over A {C[A]:.2f}, over B {C[B]:.2f}".format(
        C={name: toys(AP)["C"] / toys(AP)[name] for name in "AB"}),
    "it has the lowest": lambda: values_in_order(toys(AP, 99)),
    "A and B perform": lambda: by_measure(
        lambda one: "{A:.3f} and {B:.3f}".format(**toys(one)), ALL
    ),
    "A has a 2x": lambda: f"{toys(AP, 99)['A'] / toys(AP, 99)['B']:.2f}",
    "even the relative": lambda: by_measure(change),
    "sampled NDCG and": lambda: by_measure(partial(change), [NDCG, RECALL]),
    "Only AUC is consistent between": lambda: "order kept at m = 99: " + ", ".join(
        one.label for one in ALL if len(set(change(one).split(" becomes "))) == 1),
    "A better than C": lambda: orders(AP, range(1, 601)),
    "A better than B": lambda: orders(AP, range(1, 601)),
    "C better than A": lambda: orders(AP, range(1, 601)),
    "finally C better": lambda: values_in_order(toys(AP, N - 1), 4),
    "Similar observations": lambda: orders(NDCG, SIZES),
    "it takes about": consistent_recall,
    "Only AUC is consistent for": consistent_metrics,
    "the relative ordering of A": lambda: COMPUTED["Only AUC is consistent between"](),
    "For Average Precision": lambda: by_measure(
        lambda one: f"{len({order(toys(one, m), 1e-12) for m in SIZES})} orders"),
    "If there are no": lambda: small_ends.format(grid(*SMALL)[0, 0], grid(*SMALL)[-1, -1]),
    "If r is at": lambda: small_ends.format(grid(*SMALL)[0, 0], grid(*SMALL)[-1, -1]),
    "Even large": lambda: by_measure(bias_of_1000_samples),
    "AUC measurements": lambda: f"largest bias over all ranks {auc_bias():.0e}",
    "E[AP] = ": lambda: f"largest difference over all ranks {formula_of_ap():.0e}",
    "for m = 1 all": lambda: "largest second difference over ranks: " + by_measure(
        lambda one: f"{bend_at_one_negative(one):.0e}", [AP, NDCG, AUC]),
    "precision and recall": lambda: "range over all ranks {:.0e}".format(max(
        np.ptp(expected_values(parse_measure(f"{name}@{k}"), EVERY[:1000], 1000, 1, WITHOUT))
        for name in ("recall", "precision") for k in (2, 10))),
    "in fact it always": lambda: f"m = 100, n = 10,000: {ends_of_ratios()} of the rank",
    "an unbiased estimator of r": lambda: f"largest bias over all ranks {rank_estimate_bias():.0e}",
    "the problem is": one_solution,
    "A = root of": ranks_of_matrices,
    "M(r + 1) ≥ M(r) for": lambda: "CLS of AP falls by {:.3f} in all".format(
        -np.diff(vector("cls", AP, 3541, M)).sum()),
    "problem (21) becomes": lambda: "n = 50, m = 9: isotonic regression of the free solution is "
    f"{isotonic():.3f} away",
    "for the limit case": lambda: COMPUTED["for m = 1 all"](),
    "When γ = 0": lambda: "relative difference {:.0e}".format(
        np.ptp(vector("bv:0", AP, *SMALL) - least_squares(*SMALL)[0])),
    "When γ = 1": lambda: "largest difference {:.0e}".format(np.abs(
        AP.value_at(EVERY[:1000], 1000) @ (grid(1000, M) / grid(1000, M).sum(axis=0))
        - vector("bv:1", AP, 1000, M)).max()),
    "i.e., a sampling rate": lambda: f"{100 * M / N:.2f} %",
    "lower values of γ": lambda: "; ".join(map(turns, ("cls", *BV))),
    "All corrected sampled": farther,
    "the full item set": lambda: "n = 10,000; at most 9,999 negatives can be sampled",
    "a lower value when": lambda: "eq. 21 for AP, n = 1,000: " + "; ".join(
        f"m = {m}: {least_squares(1000, m)[1]:.2e}" for m in (5, 10, 20)),
    "Increasing the size": lambda: "eq. 21 for AP, n = 500, 1,000, 2,000: " + "; ".join(
        f"m = {m}: " + ", ".join(f"{least_squares(n, m)[1]:.2e}" for n in (500, 1000, 2000))
        for m in (10, 20)) + "; times n, m = 10: " + ", ".join(
        f"{n * least_squares(n, 10)[1]:.3f}" for n in (500, 1000, 2000)),
    "the constraint M(r)": lambda: "CLS of 4 metrics rises nowhere" if max(
        np.diff(vector("cls", one, 3541, M)).max() for one in ALL) <= 1e-12 else "rises",
    "(equivalent to": lambda: f"{100 * 1000 / 3540:.0f} %, 1 of {3540 / 1000:.1f}",
}  # fmt: skip
CONSTANT = [claim for claim in claims() if not claim["measurement"]]


def test_every_constant_claim_is_computed():
    keys = [key for claim in CONSTANT for key in COMPUTED if claim["quote"].startswith(key)]
    assert keys == list(dict.fromkeys(keys)) == list(COMPUTED)
    assert len(keys) == len(CONSTANT) == 45
    verdicts = Counter(claim["verdict"] for claim in CONSTANT)
    assert verdicts == {"holds": 36, "slip": 6, "does not hold": 2, "rounding": 1}


@pytest.mark.parametrize("claim", CONSTANT, ids=lambda claim: claim["quote"][:20])
def test_constant_claim_matches_ledger(claim):
    """Text and numbers are equal, except for rounding errors below 1e-11."""
    (key,) = [key for key in COMPUTED if claim["quote"].startswith(key)]
    number = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]\d+)?")
    stored, computed = (text.replace(",", "") for text in (claim["ours"], COMPUTED[key]()))
    assert number.sub("#", computed) == number.sub("#", stored)
    pairs = zip(number.findall(computed), number.findall(stored), strict=True)
    assert all(a == b or max(float(a), float(b)) < 1e-11 for a, b in pairs), computed
