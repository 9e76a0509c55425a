"""Tests of differences over users."""

import numpy as np
from scipy.special import stdtr

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator

TESTS = ("t", "wilcoxon", "permutation")
_PERMUTATIONS = 9999


def p_value(a: Float, b: Float, rows: tuple[Int, Int] | None, test: str, seed: int = 0) -> float:
    """Test whether two recommenders have the same mean, two-sided, by scipy.

    Parameters
    ----------
    a, b
        Values of the users of both.
    rows
        Rows of the same users in both, or None for independent samples.
    test
        `t`: paired t test, or Welch's if independent; `wilcoxon`: signed ranks, or Mann-Whitney's
        if independent; `permutation`: 9,999 random exchanges, drawn with `seed`, of the two values
        of a user, or of all values if independent.

    Examples
    --------
    >>> p_value(np.zeros(4), np.array([1.0, 2, 3, 4]), (np.arange(4), np.arange(4)), "wilcoxon")
    0.125
    """
    if test not in TESTS:
        raise InputError(f"unknown test {test!r}; known: {', '.join(TESTS)}")
    if rows is not None:
        a, b = a[rows[0]], b[rows[1]]
        if (a == b).all():
            return 1.0
    if min(a.size, b.size) < 2 or np.ptp(np.concatenate([a, b])) == 0.0:
        return 1.0
    return float(_TESTS[test](a, b, rows is not None, seed))


def _t(a: Float, b: Float, paired: bool, _: int) -> float:
    """Student's test, or Welch's if users are not paired; `scipy.stats` takes long to import."""
    if paired:
        lead = b - a
        if np.ptp(lead) == 0.0:
            return 0.0
        mean, variance, freedom = lead.mean(), lead.var(ddof=1) / lead.size, lead.size - 1.0
    else:
        if np.ptp(a) == np.ptp(b) == 0.0:
            return 0.0
        of_a, of_b = (values.var(ddof=1) / values.size for values in (a, b))
        mean, variance = b.mean() - a.mean(), of_a + of_b
        freedom = variance**2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
    with np.errstate(divide="ignore"):
        return float(2.0 * stdtr(freedom, -abs(mean) / np.sqrt(variance)))


def _wilcoxon(a: Float, b: Float, paired: bool, _: int) -> float:
    from scipy import stats

    return stats.wilcoxon(a, b).pvalue if paired else stats.mannwhitneyu(a, b).pvalue


def _permutation(a: Float, b: Float, paired: bool, seed: int) -> float:
    from scipy import stats

    found = stats.permutation_test(
        (a, b),
        lambda x, y, axis: y.mean(axis=axis) - x.mean(axis=axis),
        permutation_type="samples" if paired else "independent",
        vectorized=True,
        n_resamples=_PERMUTATIONS,
        batch=max(1, 2**22 // (a.size + b.size)),
        rng=generator(seed, "permutations"),
    )
    return found.pvalue


_TESTS = {"t": _t, "wilcoxon": _wilcoxon, "permutation": _permutation}
