"""Latent classes of users: shares of better candidates by stratum, fitted by EM.

A held-out row of class g has, in stratum s, a share p_gs of better candidates, and the number
among m scored ones is binomial, overdispersed by the factor that a beta distribution of
concentration kappa around p_gs would give. The prior of the classes depends on the bin of the
held-out item's own place in the proxy's order.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.counts import Counts, Frame

MOST_CLASSES, LEAST_CLASSES, ROWS_PER_CLASS = 40, 20, 20
KAPPA = 30.0  # concentration of a row's share around that of its class
BINS = 12  # of the held-out item's place; half of them for the best HEAD_SHARE of the rows
HEAD_SHARE = 0.3
ROWS_PER_BIN = 100
SMOOTHING = 0.5  # scores that the initial share of a class weighs
SLOPE, CEILING = 1.2, 0.95  # of the initial shares as a function of log position


class Fit(NamedTuple):
    """Classes and the posterior of the rows.

    Attributes
    ----------
    share
        Share of better candidates, shape (classes, strata).
    prior
        Probability of the classes in each bin, shape (bins, classes).
    posterior
        Probability of the classes for each row, shape (rows, classes).
    """

    share: Float
    prior: Float
    posterior: Float


class Classes:
    """Model of one recommender's outcomes.

    Parameters
    ----------
    frame
        Strata and held-out rows.
    classes, kappa
        Number of classes, by default fewer where there are few held-out rows; overdispersion.
    """

    def __init__(self, frame: Frame, classes: int | None = None, kappa: float = KAPPA) -> None:
        self.kappa = kappa
        if classes is None:
            fitting = frame.owner.size // ROWS_PER_CLASS
            classes = min(MOST_CLASSES, max(LEAST_CLASSES, fitting))
        bins = _bins(frame.own)
        self._in_bin = (bins[:, np.newaxis] == np.arange(bins.max() + 1)).astype(np.float64)
        self._initial = _initial_shares(frame.edges, classes)
        self._floor = min(0.07 / max(frame.edges[-1], 1), 2e-5)
        self.fit = Fit(
            self._initial,
            np.full((bins.max() + 1, classes), 1 / classes),
            np.full((bins.size, classes), 1 / classes),
        )

    def update(self, counts: Counts, steps: int) -> None:
        """Take EM steps from the present fit."""
        m, better = self._tempered(counts)
        # The log likelihood is one product of what each row has with what each class says.
        data = np.hstack([better, m - better, self._in_bin])
        n_strata = m.shape[1]
        share, prior, posterior = self.fit
        posterior = np.empty_like(posterior)
        weight = _likelihood(data, share, prior, posterior)
        for _ in range(steps):
            sums = posterior.T @ (data * weight[:, np.newaxis])
            hits, misses = sums[:, :n_strata], sums[:, n_strata : 2 * n_strata]
            share = (hits + SMOOTHING * self._initial) / (hits + misses + SMOOTHING)
            share = np.clip(share, self._floor, 0.995)
            prior = sums[:, 2 * n_strata :].T
            prior = prior + prior.sum(0) / prior.sum() + 1e-6
            prior /= prior.sum(1, keepdims=True)
            weight = _likelihood(data, share, prior, posterior)
        posterior *= weight[:, np.newaxis]
        self.fit = Fit(share, prior, posterior)

    def take(self, rows: Int) -> "Classes":
        """Return the same classes for some held-out rows."""
        other = copy(self)
        other._in_bin = self._in_bin[rows]
        other.fit = self.fit._replace(posterior=self.fit.posterior[rows])
        return other

    def cautious_share(self, counts: Counts) -> Float:
        """Shares with a little more than was seen, so that thin strata stay interesting."""
        m, better = self._tempered(counts)
        numerator = self.fit.posterior.T @ better + 0.3
        return np.clip(numerator / (self.fit.posterior.T @ m + 0.3), self._floor, 0.995)

    def unscored(self, counts: Counts, share: Float) -> Float:
        """Expected number of better ones among what was not scored, shape (rows, classes)."""
        m, better, left = _by_row(counts)
        weight = left / (self.kappa + m)
        return (weight * self.kappa) @ share.T + (weight * better).sum(1, keepdims=True)

    def by_stratum(self, counts: Counts) -> Float:
        """Better candidates expected in each stratum, known ones included; (rows, strata)."""
        m, better, left = _by_row(counts)
        share = self.fit.posterior @ self.fit.share
        return better + left * (self.kappa * share + better) / (self.kappa + m)

    def _tempered(self, counts: Counts) -> tuple[Float, Float]:
        m, better, _ = _by_row(counts)
        factor = (self.kappa + 1.0) / (self.kappa + np.maximum(m, 1))
        return m * factor, better * factor


def _by_row(counts: Counts) -> tuple[Float, Float, Float]:
    """Scored, better (half of the tied included) and unscored of each row and stratum."""
    owner = counts.frame.owner
    better = counts.better + 0.5 * counts.tied
    m, left = counts.m.astype(np.float64), counts.left.astype(np.float64)
    return (m, better, left) if counts.frame.one_each else (m[owner], better, left[owner])


def _likelihood(data: Float, share: Float, prior: Float, out: Float) -> Float:
    """Write the likelihood of the classes, up to a factor per row, and return that factor."""
    np.matmul(data, np.vstack([np.log(share).T, np.log1p(-share).T, np.log(prior)]), out=out)
    out -= out.max(1, keepdims=True)
    np.exp(out, out=out)
    factor: Float = 1.0 / (out @ np.ones(out.shape[1]))
    return factor


def _bins(own: Float) -> Int:
    """Bins of the held-out items' own places, finer where the proxy ranks them high."""
    count = max(2, min(BINS, own.size // ROWS_PER_BIN))
    half = count // 2
    shares = np.concatenate(
        [np.linspace(0, HEAD_SHARE, half + 1), np.linspace(HEAD_SHARE, 1, count - half + 1)[1:]]
    )
    cuts = np.unique(np.quantile(own, shares[1:-1]))
    return np.unique(np.searchsorted(cuts, own, side="right"), return_inverse=True)[1]


def _initial_shares(bounds: Int, classes: int) -> Float:
    """Logistic in the logarithm of the position, from classes with few better ones to many."""
    n = max(int(bounds[-1]), 2)
    middle = np.sqrt((bounds[:-1] + 1.0) * bounds[1:])
    level = np.linspace(np.log(0.3), np.log(max(0.85 * n, 1.0)), classes)
    odds = np.exp(-SLOPE * (level[:, np.newaxis] - np.log(middle)))
    return np.clip(CEILING / (1.0 + odds), 0.07 / n, 0.98)
