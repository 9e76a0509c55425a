"""Tests of whether any plausible true ranks explain the sampled ranks.

Question: were the negatives drawn as described?

A range assumes a shape near the top only (see `shapes`). Nearly all recommenders have true ranks
that are in order everywhere: no rank is likelier than a better one. So sampled ranks that no such
distribution explains cause a warning: many held-out items may have no score, or negatives may be
hard or popular ones. They are refused if not even a factor of 3 in the better half of the ranks
explains them. There are two tests:

- `misfit`: chi-square (likelihood ratio) of the counts of sampled ranks against the closest mixture
  of extreme points;
- `rising_p_value`: a normal test of means for low sampled ranks that are rarer than later ones.

Each shape allows a class of distributions of true ranks. Extreme points are those of its
distributions that are not mixtures of others, and a kernel lists such points with the distribution
of the sampled rank under each (see `kernels`).

No test can confirm an assumption: many distributions outside of a class, and many ways to draw
negatives, give sampled ranks that a distribution inside explains.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, kl_div, ndtr

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.caches import cache_with_owner
from sampled_metrics._base.calls import warn_all
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.solvers import nonnegative_least_squares
from sampled_metrics.checks.samples import signs_of_implausible_ranks, signs_of_unlikely_ranks
from sampled_metrics.intervals.brackets import likely_mixture
from sampled_metrics.intervals.constants import (
    ITERATIONS_PER_POINT,
    LEAST_EXPECTED,
    LEAST_FIT_GAIN,
    LEAST_USERS,
    MOST_JOINING_POINTS,
    PLAUSIBLE_FACTOR,
    REFUSED_P,
    REWEIGHTED_FITS,
    RISING_P,
    SHORTEST_HEAD,
)
from sampled_metrics.intervals.kernels import Kernel, kernel
from sampled_metrics.intervals.shapes import MOST_FACTOR, NON_INCREASING, NONE, shape_factor
from sampled_metrics.ranks import SampledRanks

CAUSES = (
    "negatives are hard or popular ones and not uniform, or the same for all users, or not "
    "distinct, ranks do not start at 1, or the number of negatives or items is wrong"
)


class Misfit(NamedTuple):
    """Chi-square test of sampled ranks against the closest distribution of a class."""

    statistic: float  # likelihood ratio
    degrees: int  # degrees of freedom
    p_value: float  # probability of such a statistic or a larger one if the class holds

    @property
    def is_refused(self) -> bool:
        """Whether no distribution of the class explains the sampled ranks."""
        return self.p_value < REFUSED_P

    def __str__(self) -> str:
        return (
            f"chi-square {self.statistic:.0f} with {self.degrees} degrees of freedom, "
            f"p = {self.p_value:.1g}"
        )


def refuse_unexplained(sample: SampledRanks, shape: str | float) -> None:
    """Raise InputError for sampled ranks that neither their shape nor a plausible one explains.

    Nothing happens if true ranks that are in order everywhere explain them. Otherwise they are
    refused if not even a plausible factor does (3, or that of the shape), with this factor in the
    better half of the ranks; or if the shape itself does not. What remains causes a warning.
    """
    n = sample.mean_candidates
    ordered = misfit(sample, NON_INCREASING, n)
    rising_p = rising_p_value(count_users_by_sampled_rank(sample))
    may_be_ordered = not ordered.is_refused and rising_p > RISING_P
    if may_be_ordered:
        return
    factor = shape_factor(shape)
    plausible_factor = max(min(factor, MOST_FACTOR), PLAUSIBLE_FACTOR)
    plausible = misfit(sample, plausible_factor, n // 2)
    if factor == np.inf:
        _refuse_without_shape(sample, plausible)
        return
    if plausible.is_refused:
        raise InputError(
            f"no plausible distribution of true ranks explains these sampled ranks ({plausible}); "
            f"{CAUSES}"
        )
    of_shape = misfit(sample, shape)
    if of_shape.is_refused:
        raise InputError(
            f"these sampled ranks contradict a factor of {factor:g}: near the top some rank is "
            f"likelier than a better one ({of_shape}). Pass shape={PLAUSIBLE_FACTOR:g} "
            f"(--shape {PLAUSIBLE_FACTOR:g}), unless {CAUSES}"
        )
    evidence = str(ordered) if ordered.is_refused else f"p = {rising_p:.1g}"
    warn_all(signs_of_unlikely_ranks(evidence))


def _refuse_without_shape(sample: SampledRanks, plausible: Misfit) -> None:
    """Refuse sampled ranks that no true ranks explain; warn if no plausible ones do."""
    of_any = misfit(sample, NONE)
    if of_any.is_refused:
        raise InputError(
            f"no distribution of true ranks explains these sampled ranks ({of_any}); {CAUSES}"
        )
    if plausible.is_refused:
        warn_all(signs_of_implausible_ranks(str(plausible)))


def misfit(sample: SampledRanks, shape: str | float = NON_INCREASING, down_to: int = 0) -> Misfit:
    """Test sampled ranks against the closest distribution of a class.

    The class is that of `shape`, which it has at least down to the rank `down_to`, see `kernel`.

    The statistic is G = 2 sum (O log(O / E) - O + E) over cells of sampled ranks in which at least
    five users are expected, with O users observed and E expected. Degrees of freedom are the cells
    less the extreme points in the closest mixture, plus one: this keeps the test from refusing too
    often where users are few.

    Examples
    --------
    With one negative, rank 1 has a probability of at least 1/2 if no true rank is likelier than a
    better one.

    >>> print(misfit(SampledRanks([1] * 30 + [2] * 70, n_items=1000, n_negatives=1)))
    chi-square 16 with 2 degrees of freedom, p = 0.0003
    """
    n = sample.mean_candidates
    table = kernel(n, sample.n_negatives, sample.sampling, shape, None, down_to=down_to)
    users_in_bin = table.sum_by_bin(count_users_by_sampled_rank(sample))
    n_users = users_in_bin.sum()
    mixture = likely_mixture(users_in_bin, table)  # near the closest one
    likely_in_bin = mixture.shares * n_users
    first_bins = _cells(likely_in_bin)
    # Users in each cell: observed, expected, and expected under each extreme point of the kernel.
    observed = np.add.reduceat(users_in_bin, first_bins)
    expected = np.add.reduceat(likely_in_bin, first_bins)
    listed = n_users * np.add.reduceat(table.probabilities, first_bins, axis=1)
    points = listed[mixture.rows]
    for _ in range(REWEIGHTED_FITS):
        std_errors = np.sqrt(np.maximum(expected, 1.0))  # a fit may expect nobody in a cell
        points, weights = _fit_mixture(observed, std_errors, points, listed, table)
        expected = weights @ points
    statistic = 2.0 * float(kl_div(observed, expected).sum())
    n_points = int(np.count_nonzero(weights))
    degrees = max(first_bins.size - n_points + 1, 1)
    p_value = float(chdtrc(degrees, max(statistic, 0.0)))
    return Misfit(statistic, degrees, p_value)


def _cells(expected: Float) -> Int:
    """Join neighbouring bins into cells with at least five expected users each.

    Returns
    -------
    ndarray
        First bin of each cell.

    Examples
    --------
    >>> _cells(np.array([6.0, 2.0, 4.0, 9.0, 1.0]))
    array([0, 1, 3])
    """
    first_bins = [0]
    total = 0.0
    for bin_, expected_in_bin in enumerate(expected[:-1]):
        total += expected_in_bin
        if total >= LEAST_EXPECTED:
            first_bins.append(bin_ + 1)
            total = 0.0
    if len(first_bins) > 1 and expected[first_bins[-1] :].sum() < LEAST_EXPECTED:
        first_bins.pop()
    return np.array(first_bins)


def _fit_mixture(
    observed: Float, std_errors: Float, points: Float, listed: Float, table: Kernel
) -> tuple[Float, Float]:
    """Fit a mixture of extreme points to observed counts by least squares.

    With the observed users O_c in cell c, their standard error e_c, and the users P_kc that are
    expected under extreme point k, the weights w_k >= 0 minimise

        sum over c of ((O_c - sum over k of w_k P_kc) / e_c)^2.

    The kernel lists extreme points that are uniform on the ranks 1 ... k, or rank k alone. If the
    class has a factor above 1, it has many more, which are not listed: on the ranks 1 ... k some
    ranks have the factor as their weight, and the others 1. They are found one by one: after each
    fit, the one that improves it most joins, until none does so noticeably.

    Parameters
    ----------
    observed, std_errors
        Users in each cell, and the standard errors by which residuals are divided; shape (cells,).
    points
        Expected users in each cell under the extreme points to begin with; shape (points, cells).
    listed
        The same under all points that the kernel lists; shape (listed points, cells).
    table
        The kernel. Its `weighted_means` turns means over the ranks 1 ... k into those under the
        unlisted extreme points.

    Returns
    -------
    points, weights
        Expected users under the extreme points of the mixture, and the weights of these points,
        which may be 0.
    """
    # The last round only fits, so that each point that has joined has a weight.
    for n_left in reversed(range(MOST_JOINING_POINTS + 1)):
        max_iterations = ITERATIONS_PER_POINT * len(points)
        weights = nonnegative_least_squares(
            points.T / std_errors[:, None], observed / std_errors, max_iterations
        )
        if table.is_complete or not n_left:
            break
        residuals = observed - weights @ points
        # Minus half the derivative of the sum of squares by the weight of each listed point: where
        # it is positive, more of the point improves the fit.
        gains = listed @ (residuals / std_errors**2)
        # The same for the unlisted point on the ranks 1 ... k that gains most, for each k: ranks
        # with a positive gain have the factor as their weight.
        weighted_gains = table.weighted_means(gains, gains)
        best = int(weighted_gains.argmax())
        if weighted_gains[best] <= LEAST_FIT_GAIN:
            break
        joining = table.weighted_means(listed, gains)[best]
        has_weight = weights > 0.0
        points = np.vstack([points[has_weight], joining])
    return points, weights


def rising_p_value(counts: Float) -> float:
    """Return the p-value of a test for low sampled ranks that are rarer than later ones.

    If no true rank is likelier than a better one, no sampled rank is either. The mean of the
    sampled ranks up to l is then at most (l + 1) / 2, as if they were equally likely, when their
    variance is (l^2 - 1) / 12. The result is the smallest p-value of one-sided normal tests for
    l = 6, 12, 24, ... up to a quarter of all ranks, times the number of tests (Bonferroni).

    Parameters
    ----------
    counts
        Users by sampled rank, see `count_users_by_sampled_rank`.
    """
    longest = max(counts.size // 4, SHORTEST_HEAD)
    n_doublings = int(np.log2(longest / SHORTEST_HEAD))
    lengths = SHORTEST_HEAD * 2 ** np.arange(n_doublings + 1)
    p_values = [1.0]
    for length in lengths:
        users_at_rank = counts[:length]
        n_users = users_at_rank.sum()
        if n_users >= LEAST_USERS:
            mean = users_at_rank @ np.arange(1, users_at_rank.size + 1) / n_users
            std_error = np.sqrt((length**2 - 1.0) / 12.0 / n_users)
            z = (mean - (length + 1.0) / 2.0) / std_error
            p_values.append(float(ndtr(-z)))
    return min(1.0, lengths.size * min(p_values))


@cache_with_owner  # both tests need it
def count_users_by_sampled_rank(sample: SampledRanks) -> Float:
    """Count users by sampled rank; shape (n_negatives + 1,).

    One row is taken of each user with several rows or visits, because these are not independent: at
    random, with a fixed seed.
    """
    ranks = sample.sampled_ranks
    _, unit_of_row = sample.different_units()
    user_of_unit = sample.user_of_units()
    user_of_row = unit_of_row if user_of_unit is None else user_of_unit[unit_of_row]
    has_several_rows_per_user = int(user_of_row.max()) + 1 < ranks.size
    if has_several_rows_per_user:
        shuffled = generator(0, "misfit").permutation(ranks.size)
        _, first_of_user = np.unique(user_of_row[shuffled], return_index=True)
        ranks = ranks[shuffled[first_of_user]]
    return np.bincount(ranks - 1, minlength=sample.n_negatives + 1).astype(np.float64)
