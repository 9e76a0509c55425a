"""Tests of sampled ranks that look for errors in how they were drawn.

Ranges assume a shape near the top only. Nearly all recommenders have true ranks that are in order
everywhere, none likelier than a better one, so sampled ranks that no such distribution explains
raise a question: further down many held-out items may be unscored, but negatives may also be hard
or popular ones. They are refused where the better half of the ranks contradicts even a factor of 3.
No test can confirm an assumption: many distributions outside of a class, and many ways to draw
negatives, give sampled ranks that a distribution inside explains.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr, xlogy

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.errors import InputError, warn_input
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.solvers import nonnegative_least_squares
from sampled_metrics.intervals.brackets import likely_mixture
from sampled_metrics.intervals.kernels import Kernel, kernel
from sampled_metrics.intervals.shapes import MOST_FACTOR, NON_INCREASING, NONE, shape_factor
from sampled_metrics.ranks import SampledRanks

CAUSES = (
    "negatives are hard or popular ones and not uniform, or the same for all users, or not "
    "distinct, ranks do not start at 1, or the number of negatives or items is wrong"
)
_QUESTION = (
    "are many held-out items not scored, or are negatives hard or popular ones and not uniform?"
)
_REFUSED = 0.005  # p below which a class does not explain sampled ranks
_RISING = 0.0025  # the same for low ranks that are rarer than higher ones
_SHORTEST = 6  # ranks whose mean is tested
_FEWEST = 20  # users among them, for a normal mean
_PLAUSIBLE = 3.0  # factor that no sound recommender exceeds
_LEAST_EXPECTED = 5.0  # users in a cell
_REWEIGHTED_FITS = 3
_TURNS = 30  # changes of active sets per unknown
_MOST_JOINED = 30  # extreme points that join a fit
_GAIN = 1e-3  # that the next of them must bring


class Misfit(NamedTuple):
    """Chi-square test of sampled ranks against the closest distribution of a class."""

    statistic: float  # likelihood ratio
    degrees: int  # degrees of freedom
    p_value: float  # probability of such a statistic or a larger one if the class holds

    @property
    def is_refused(self) -> bool:
        """Whether no distribution of the class explains the sampled ranks."""
        return self.p_value < _REFUSED

    def __str__(self) -> str:
        return (
            f"chi-square {self.statistic:.0f} with {self.degrees} degrees of freedom, "
            f"p = {self.p_value:.1g}"
        )


def refuse_unexplained(sample: SampledRanks, shape: str | float) -> None:
    """Raise InputError for sampled ranks that neither their shape nor a plausible one explains.

    Asks about ranks that some true ranks explain, but none that are in order everywhere.
    """
    n = sample.mean_candidates
    ordered = misfit(sample, NON_INCREASING, n)
    rising = rise(users_by_rank(sample))
    if not ordered.is_refused and rising > _RISING:
        return
    factor = shape_factor(shape)
    plausible = misfit(sample, max(min(factor, MOST_FACTOR), _PLAUSIBLE), n // 2)
    if factor == np.inf:
        _refuse_or_ask_of_any(sample, plausible)
        return
    if plausible.is_refused:
        raise InputError(
            f"no plausible distribution of true ranks explains these sampled ranks ({plausible}); "
            f"{CAUSES}"
        )
    assumed = misfit(sample, shape)
    if assumed.is_refused:
        raise InputError(
            f"these sampled ranks contradict a factor of {factor:g}: near the top some rank is "
            f"likelier than a better one ({assumed}). Give shape={_PLAUSIBLE:g} "
            f"(--shape {_PLAUSIBLE:g}), unless {CAUSES}"
        )
    found = str(ordered) if ordered.is_refused else f"p = {rising:.1g}"
    warn_input("data", f"some ranks are likelier than others before them ({found}): {_QUESTION}")


def _refuse_or_ask_of_any(sample: SampledRanks, plausible: Misfit) -> None:
    """Refuse sampled ranks that no true ranks explain; ask if no plausible ones do."""
    assumed = misfit(sample, NONE)
    if assumed.is_refused:
        raise InputError(
            f"no distribution of true ranks explains these sampled ranks ({assumed}); {CAUSES}"
        )
    if plausible.is_refused:
        warn_input(
            "data",
            f"no plausible true ranks explain these sampled ranks ({plausible}): {_QUESTION}",
        )


def misfit(sample: SampledRanks, shape: str | float = NON_INCREASING, down_to: int = 0) -> Misfit:
    """Test sampled ranks against the closest distribution of a class, see `kernel`.

    Users are counted in cells of sampled ranks in which at least five are expected. Degrees of
    freedom are the cells less extreme points in the closest mixture, and one more, which keeps the
    test from refusing too much where users are few.
    """
    n = sample.mean_candidates
    table = kernel(n, sample.n_negatives, sample.sampling, shape, None, down_to)
    of_bins = table.binned(users_by_rank(sample))
    n_users = of_bins.sum()
    mixture = likely_mixture(of_bins, table)
    likely = mixture.shares * n_users
    starts = [0]  # first bins of cells: neighbouring bins joined until enough is there
    total = 0.0
    for place, value in enumerate(likely[:-1]):
        total += value
        if total >= _LEAST_EXPECTED:
            starts.append(place + 1)
            total = 0.0
    if len(starts) > 1 and likely[starts[-1] :].sum() < _LEAST_EXPECTED:
        starts.pop()
    cells = np.array(starts)
    observed = np.add.reduceat(of_bins, cells)
    listed = n_users * np.add.reduceat(table.given, cells, axis=1)
    given = listed[mixture.rows]
    expected = np.add.reduceat(likely, cells)
    for _ in range(_REWEIGHTED_FITS):
        root = np.sqrt(expected)
        given, weights = _closest(observed, root, given, listed, table)
        expected = weights @ given
    statistic = 2.0 * float((xlogy(observed, observed / expected) - observed + expected).sum())
    degrees = max(cells.size - int(np.count_nonzero(weights)) + 1, 1)
    return Misfit(statistic, degrees, float(chdtrc(degrees, max(statistic, 0.0))))


def rise(counts: Float) -> float:
    """Test whether low sampled ranks are rarer than is possible, and return the p-value.

    No true rank is to be likelier than a better one. Then no sampled rank is likelier than a better
    one either, so the ranks up to some l have a mean of at most (l + 1) / 2, as equally likely ones
    have. The smallest p-value of normal tests for l = 6, 12, 24, ... up to a quarter of all ranks,
    times their number. `counts` are `users_by_rank`.
    """
    last = max(counts.size // 4, _SHORTEST)
    lengths = _SHORTEST * 2 ** np.arange(int(np.log2(last / _SHORTEST)) + 1)
    smallest = 1.0
    for length in lengths:
        head = counts[:length]
        users = head.sum()
        if users >= _FEWEST:
            mean = head @ np.arange(1, head.size + 1) / users
            error = np.sqrt((length**2 - 1.0) / 12.0 / users)
            above = (mean - (length + 1.0) / 2.0) / error
            smallest = min(smallest, float(ndtr(-above)))
    return min(1.0, lengths.size * smallest)


@lru_cache(maxsize=8)  # shared by both tests
def users_by_rank(sample: SampledRanks) -> Float:
    """Count users by sampled rank; shape (n_negatives + 1,).

    If a user has several rows, or visits, one is taken at random (with a fixed seed), because they
    are not independent.
    """
    ranks = sample.sampled_ranks
    _, user = sample.different_units()
    owner = sample.user_of_units()
    if owner is not None:
        user = owner[user]
    if int(user.max()) + 1 < ranks.size:
        order = generator(0, "misfit").permutation(ranks.size)
        ranks = ranks[order[np.unique(user[order], return_index=True)[1]]]
    return np.bincount(ranks - 1, minlength=sample.n_negatives + 1).astype(np.float64)


def _closest(
    observed: Float, root: Float, given: Float, listed: Float, table: Kernel
) -> tuple[Float, Float]:
    """Fit a mixture by least squares; extreme points that bring it closer join the `given` ones."""
    for left in reversed(range(_MOST_JOINED + 1)):
        turns = _TURNS * len(given)
        weights = nonnegative_least_squares(given.T / root[:, None], observed / root, turns)
        if table.is_complete or not left:
            break
        gains = listed @ ((observed - weights @ given) / root**2)
        heaviest = table.heaviest(gains)
        best = int(heaviest.argmax())
        if heaviest[best] <= _GAIN:
            break
        joined = table.heaviest(gains, listed)[best]
        given = np.vstack([given[weights > 0.0], joined])
    return given, weights
