"""Estimates and ranges from counts by stratum: negatives of any design that follows popularity."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.special import chdtrc

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import is_among, pair_codes, sorted_unique
from sampled_metrics._base.defaults import QUOTED_ESTIMATOR
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    Estimator,
    estimator_matrix,
    likely_log_errors,
    parse_estimators,
)
from sampled_metrics.estimators.jackknife import jackknife_log_errors, jackknife_over_negatives
from sampled_metrics.estimators.tastes import (
    estimate_by_tastes,
    fit_tastes,
    metrics_of_cells,
)
from sampled_metrics.intervals.kernels import last_shaped_rank
from sampled_metrics.intervals.means import MeanInterval, Moments, collapse_visits, mean_interval
from sampled_metrics.intervals.quoting import Quoted, quote
from sampled_metrics.intervals.ranges import Range, refuse_joint_metrics
from sampled_metrics.intervals.taste_ranges import (
    Mixture,
    fit_mixture,
    profile_ranges,
    tastes_are_safe,
)
from sampled_metrics.intervals.thinned_ranges import (
    ThinnedRange,
    thinned_difference,
    thinned_range,
    thinned_ranges,
)
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.ranks.strata import StratumCounts
from sampled_metrics.sampling.negatives import LEVEL, check_evenness, count_shared

MIN_DRAWS = 10  # of a stratum, in all; with fewer, nothing is known about its items
MAX_UNREACHED = 0.1  # share of the candidates in such strata
STRATUM_ESTIMATORS = (QUOTED_ESTIMATOR, "sampled")  # the others are for uniform negatives
SMOOTH_TASTES, ANY_TASTES = "smooth", "any"
# Levels at which an order is tried: its p-value is the smallest that decides it, 1 if none does.
# They are a little below 0.05, and below this over the usual numbers of pairs.
_NUMBERS_OF_PAIRS = (1, 2, 3, 4, 6, 10, 15, 21, 28, 36, 45, 100, 500)
_LEVELS = (0.5, 0.2, 0.1, *(0.0499 / number for number in _NUMBERS_OF_PAIRS))


ABOUT_STRATA = (
    "assumption: items of about the same count are drawn alike, whatever the way of drawing. Hard "
    "negatives are not, and rules that fill the top places break the other assumption; sampled "
    "ranks cannot confirm it.",
    f"{QUOTED_ESTIMATOR}: the number to quote, with an interval for the exact metric. It assumes "
    "a smooth distribution of true ranks, and of tastes for popular items.",
    "sampled: the metric among the negatives, which is another quantity.",
)


def describe_tastes(tastes: str) -> str:
    """Say which tastes a range allows, in words that can follow a comma."""
    if tastes == SMOOTH_TASTES:
        return "and that popularity matters smoothly for which items are better"
    return "whatever the taste for popularity is"


def check_strata(ranks: SampledRanks) -> None:
    """Refuse draws that counts of items do not explain.

    These are draws that hardly reach many items, that rows share without clusters, or that are
    uneven among items of about the same count.
    """
    pairs, strata = ranks.pairs, ranks.strata
    if pairs is None or strata is None:
        return
    refuse_unreached(strata)
    cluster_of_user = None
    if ranks.clusters is None:
        _refuse_shared(pairs, int(ranks.n_items.min()))
    else:
        # Clusters are those of rows, and a row is a held-out pair.
        user_of_row = pairs.user[pairs.held_out]
        cluster_of_user = np.zeros(int(pairs.user.max()) + 1, np.int64)
        cluster_of_user[user_of_row] = ranks.clusters
    check = check_evenness(pairs, pairs.counts, pairs.units, cluster_of_user)
    if not check.passed:
        raise InputError(f"negatives fail the check {check.name!r}: {check.remark}")


def _refuse_shared(pairs: ScoredPairs, n_items: int) -> None:
    """Raise InputError if many users have the same negatives, or are of the same batch.

    In a batch, the held-out item of each user is a negative of the others, so that all pairs, the
    held-out ones included, are the same.
    """
    codes = pair_codes(pairs.user, pairs.item, pairs.item_ids.size)  # one number for each pair
    is_held_out_item = is_among(codes, sorted_unique(codes[pairs.held_out]))
    is_negative = ~pairs.held_out & ~is_held_out_item
    n_sharing_negatives = count_shared(pairs.user[is_negative], pairs.item[is_negative], n_items)
    n_sharing_batch = count_shared(pairs.user, pairs.item, n_items)
    n_shared = max(n_sharing_negatives, n_sharing_batch)
    if n_shared:
        raise InputError(
            f"{n_shared:,} users have the negatives of another one, or its batch, so that errors "
            "would be too small; pass cluster (--cluster), with one value for all rows of a set of "
            "negatives or of a batch"
        )


def unreached_share(strata: StratumCounts) -> float:
    """Return the share of the candidates in strata of fewer than `MIN_DRAWS` draws in all rows."""
    drawn = strata.drawn.sum(axis=0)
    candidates = strata.candidates.sum(axis=0)
    return float(candidates[drawn < MIN_DRAWS].sum() / candidates.sum())


def refuse_unreached(strata: StratumCounts) -> None:
    """Raise InputError if hardly any draws reach many of the candidates."""
    unreached = unreached_share(strata)
    if unreached > MAX_UNREACHED:
        raise InputError(
            f"{unreached:.0%} of the candidates are of a popularity of which fewer than "
            f"{MIN_DRAWS} were drawn (the most popular items, or those of a retriever?), so that "
            "nothing is known about them; add uniform negatives (`negatives`, design='half')"
        )


class _Rows(NamedTuple):
    """The units of evaluation that the rows of sampled ranks belong to.

    Attributes
    ----------
    unit_of_row
        User, or visit, of each row; shape (rows,).
    user_of_unit
        User of each visit; None if units are users.
    weights
        What a row counts in the likelihood, shape (rows,). Units have equal weights, as in means
        over them, and so have the rows of a unit. All weights sum to the number of users: rows and
        visits of a user may depend on each other entirely, so that they count as one.
    """

    unit_of_row: Int
    user_of_unit: Int | None
    weights: Float

    @classmethod
    def of_ranks(cls, ranks: SampledRanks) -> Self:
        """Group the rows of sampled ranks by units and users."""
        _, unit_of_row = ranks.different_units()
        user_of_unit = ranks.user_of_units()
        n_rows_of_unit = np.bincount(unit_of_row)
        n_units = n_rows_of_unit.size
        n_users = n_units if user_of_unit is None else int(user_of_unit.max()) + 1
        weight_of_unit = n_users / n_units  # units sum to the number of users
        weights = weight_of_unit / n_rows_of_unit[unit_of_row]
        return cls(unit_of_row=unit_of_row, user_of_unit=user_of_unit, weights=weights)

    def means(self, values: Float) -> Float:
        """Average values of rows over each unit, shape (units,)."""
        return np.bincount(self.unit_of_row, values) / np.bincount(self.unit_of_row)


def are_uniform(strata: StratumCounts) -> bool:
    """Return whether all rows have as many negatives, drawn equally often in all strata.

    A chi-square test compares the draws of each stratum, over all rows, with their expectation: m
    times the stratum's share of the candidates of a row, summed over rows.

    Examples
    --------
    >>> strata = StratumCounts(
    ...     better=np.zeros((2, 2), np.int64),
    ...     drawn=np.array([[1, 9], [2, 8]]),
    ...     candidates=np.array([[20, 80], [20, 80]]),
    ...     log_popularity=np.array([1.0, 0.0]),
    ... )
    >>> are_uniform(strata), are_uniform(strata._replace(drawn=strata.drawn[:, ::-1]))
    (True, False)
    >>> are_uniform(strata._replace(drawn=np.array([[1, 4], [3, 12]])))  # 5 and 15 negatives
    False
    """
    m = strata.drawn.sum(axis=1)
    if m.min() < m.max():
        return False
    share = strata.candidates / strata.candidates.sum(axis=1, keepdims=True)  # (rows, strata)
    expected = m @ share  # shape (strata,)
    is_tested = expected > 0.0
    deviation = strata.drawn.sum(axis=0) - expected
    chi_square = float((deviation[is_tested] ** 2 / expected[is_tested]).sum())
    freedom = int(is_tested.sum()) - 1
    if freedom < 1:  # a single stratum cannot be uneven
        return True
    p_value = float(chdtrc(freedom, chi_square))
    return p_value >= LEVEL


class StratumEstimates:
    """Estimates and ranges of the metrics of a recommender, from its counts by stratum.

    Methods take the positions of a metric in `measures` and of an estimator in `estimators`, as
    those of `SampleEstimates`.

    Parameters
    ----------
    ranks
        Sampled ranks with counts by stratum.
    measures, estimators
        Metrics; `likely`, and `sampled` for the metric of the sampled ranks.
    confidence
        Nominal coverage of ranges and intervals.
    tastes
        Which tastes for popularity ranges allow: `smooth` ones, see `intervals.taste_ranges`, or
        `any`; None for smooth ones where this is safe.

    Raises
    ------
    InputError
        If the draws do not reach many candidates, or if users have several held-out items and a
        metric needs them together.
    """

    def __init__(
        self,
        ranks: SampledRanks,
        measures: Sequence[Measure],
        estimators: Sequence[Estimator],
        confidence: float,
        tastes: str | None = None,
    ) -> None:
        if ranks.strata is None:
            raise ValueError("sampled ranks have no counts by stratum")
        self.ranks = ranks
        self.measures = measures
        self.estimators = estimators
        self.confidence = confidence
        self.strata = ranks.strata
        refuse_joint_metrics(measures, ranks)
        self._n = ranks.mean_candidates
        self._rows = _Rows.of_ranks(ranks)
        self._fit = fit_tastes(self.strata, self._rows.weights)
        self._values_by_row, self._log_errors, self.design_effects = self._estimate()
        self.tastes = self._safe_tastes() if tastes is None else tastes
        self._mixtures: dict[int, Mixture] = {}
        self._half_ranges: dict[tuple[int, float], Range] = {}

    def _estimate(self) -> tuple[Float, Float, Float]:
        """Estimate the exact metrics (`likely`) by a fit of tastes for popularity.

        Clusters of rows that depend on each other increase the errors. Negatives that are uniform
        are estimated without tastes instead.

        Returns
        -------
        values_by_row
            Estimates of each row; shape (measures, rows).
        log_errors
            Standard errors of the logs of the means; shape (measures,).
        design_effects
            Factors by which clusters increase the variance due to chance; shape (measures,).
        """
        by_tastes = estimate_by_tastes(self.strata, self.measures, self._n, self._fit)
        no_effects = np.ones(len(self.measures))
        if self.ranks.clusters is not None:
            log_errors = self._jackknife(self.ranks.clusters)
            effects = self._design_effects(by_tastes.log_errors, log_errors)
            return by_tastes.by_row, log_errors, effects
        if are_uniform(self.strata):
            values_by_row, errors_of_ranks = self._estimate_uniform()
            # Uniform negatives hardly tell whether the top is as smooth as usual.
            return values_by_row, np.maximum(errors_of_ranks, by_tastes.log_errors), no_effects
        return by_tastes.by_row, by_tastes.log_errors, no_effects

    def _safe_tastes(self) -> str:
        """Return `smooth` if the draws suffice for ranges with smooth tastes, else `any`."""
        is_safe = tastes_are_safe(self._fit, self.strata, self._n)
        return SMOOTH_TASTES if is_safe else ANY_TASTES

    def _design_effects(self, independent: Float, clustered: Float) -> Float:
        """Return by what factor clusters increase the variance of each metric due to chance.

        Both standard errors of logs, `independent` of clusters or not, have the same terms for what
        is no chance, see (3) of `estimators.tastes`, so that the difference of their squares is
        what clusters add: 1 + (clustered^2 - independent^2) / by_chance^2. All have the shape
        (measures,).
        """
        by_chance = self._fit.fit.log_errors(self._of_cells.T)
        added = clustered**2 - independent**2
        return 1.0 + np.maximum(added, 0.0) / by_chance**2

    def _jackknife(self, clusters: Int) -> Float:
        """Return the errors of log estimates if rows of a cluster depend on each other."""
        weights = self._rows.weights
        if self.ranks.strata_without_part:
            return jackknife_over_negatives(
                self.ranks.strata_without_part,
                self.strata,
                self.measures,
                self._n,
                weights=weights,
                fit=self._fit,
            )
        return jackknife_log_errors(
            self.strata, clusters, self.measures, self._n, weights=weights, fit=self._fit
        )

    def _estimate_uniform(self) -> tuple[Float, Float]:
        """Estimate from sampled ranks among uniform negatives, without strata.

        These estimates err less, because their smooth distribution has no tastes to find. Returns
        the metrics of rows, shape (measures, rows), and the errors of logs, shape (measures,).
        """
        ranks, measures, n = self.ranks, self.measures, self._n
        m = ranks.n_negatives
        histogram = np.bincount(ranks.sampled_ranks - 1, self._rows.weights, m + 1)
        estimator = parse_estimators(QUOTED_ESTIMATOR)
        vectors = estimator_matrix(
            estimator, measures, n, m, sampling=ranks.sampling, histogram=tuple(histogram)
        )
        values_by_row = vectors[:, 0, ranks.sampled_ranks - 1]
        errors = likely_log_errors(tuple(histogram.tolist()), tuple(measures), n, m, ranks.sampling)
        return values_by_row, errors

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """Range of each exact metric by name."""
        return {str(measure): self._range(i) for i, measure in enumerate(self.measures)}

    def _range(self, measure: int) -> Range:
        if self.tastes == SMOOTH_TASTES:
            return self._range_with_tastes(measure, self.confidence)
        return self._range_without_tastes(measure)

    @property
    def user_of_unit(self) -> Int | None:
        """User of each visit; None if units are users."""
        return self._rows.user_of_unit

    @property
    def n_visits(self) -> int | None:
        """Number of visits; None if users have one each."""
        return None if self.user_of_unit is None else self.user_of_unit.size

    def mean(self, measure: int, estimator: int) -> MeanInterval:
        """Return the mean of an estimate over users, and the interval of its expectation."""
        values = collapse_visits(self.user_values(measure, estimator), self.user_of_unit)
        prior = self.prior(measure, estimator)
        return mean_interval(Moments.from_values(values), values.size, prior, self.confidence)

    def user_values(self, measure: int, estimator: int) -> Float:
        """Estimate a metric for each user, or visit: the mean over their rows."""
        values = self._values_by_row[measure]
        if str(self.estimators[estimator]) != QUOTED_ESTIMATOR:
            values = self._sampled_values(measure)[self.ranks.sampled_ranks - 1]
        return self._rows.means(values)

    def _sampled_values(self, measure: int) -> Float:
        """Return the sampled metric at each sampled rank."""
        return self.measures[measure].sampled_values(self.ranks.n_negatives)

    def prior(self, measure: int, estimator: int) -> Moments:
        """Return the moments of a metric at a random rank, sampled or true."""
        if str(self.estimators[estimator]) == QUOTED_ESTIMATOR:
            return Moments.from_values(self._credit(measure))
        return Moments.from_values(self._sampled_values(measure))

    def _credit(self, measure: int) -> Float:
        """Return the metric at the true ranks 1 to n."""
        return self.measures[measure].value_at(np.arange(1, self._n + 1), self._n)

    def value(self, measure: int, estimator: int) -> float:
        """Estimate a metric; `likely` is moved into its range, see `quoted`."""
        if str(self.estimators[estimator]) == QUOTED_ESTIMATOR:
            return self.quoted(measure).value
        return float(self.user_values(measure, estimator).mean())

    def quoted(self, measure: int) -> Quoted:
        """Return the number to quote."""
        value = float(self._rows.means(self._values_by_row[measure]).mean())
        allowed = self.ranges[str(self.measures[measure])]
        return quote(value, float(self._log_errors[measure]), allowed, self.confidence)

    def acts_like(self, *_: int) -> None:
        """Return None: the true rank at which credit falls depends on which items are better."""

    def restrict_to(self, units: Int) -> StratumEstimates:
        """Return the estimates of some units, given by position; the same object if it is all."""
        is_kept = np.isin(self._rows.unit_of_row, units)
        if is_kept.all():
            return self
        ranks = self.ranks.take(is_kept)
        return StratumEstimates(ranks, self.measures, self.estimators, self.confidence, self.tastes)

    @cached_property
    def _of_cells(self) -> Float:
        """Each metric of users in each cell before counts are seen, shape (measures, cells)."""
        return metrics_of_cells(self._fit, self.measures, self._n)

    def _last_shaped(self, measure: int) -> int:
        """Return the last rank that is at most as likely as any better one."""
        return last_shaped_rank(self._n, self.strata.mean_negatives, self.measures[measure].cutoff)

    def _range_with_tastes(
        self, measure: int, confidence: float, share_of_drop: float = 1.0
    ) -> Range:
        """Return the metrics at which the profile likelihood is close enough to its maximum.

        Its log may be lower by `share_of_drop` * z^2 / 2, where z is the normal quantile of the
        confidence, times the design effect.
        """
        last_shaped = self._last_shaped(measure)
        if last_shaped not in self._mixtures:
            self._mixtures[last_shaped] = fit_mixture(self._fit, last_shaped, self._rows.weights)
        (allowed,) = profile_ranges(
            self._mixtures[last_shaped],
            self._of_cells[[measure]],
            confidence,
            design_effect=float(self.design_effects[measure]),
            share_of_drop=share_of_drop,
        )
        return allowed

    def half_range(self, measure: int, confidence: float) -> Range:
        """Return the range with tastes for half of the drop in the log likelihood.

        The other half is that of the second recommender of a difference.
        """
        key = (measure, confidence)
        if key not in self._half_ranges:
            self._half_ranges[key] = self._range_with_tastes(measure, confidence, share_of_drop=0.5)
        return self._half_ranges[key]

    @cached_property
    def thinned(self) -> list[ThinnedRange]:
        """Range of each metric whatever users' tastes for popular items are.

        The rows' negatives are taken as independent of each other. Up to the last shaped rank no
        rank is likelier than a better one; metrics for which it is the same are computed together,
        as they share most of the work.
        """
        measures_by_last_shaped: dict[int, list[Measure]] = {}
        for i, measure in enumerate(self.measures):
            measures_by_last_shaped.setdefault(self._last_shaped(i), []).append(measure)
        range_of_measure: dict[Measure, ThinnedRange] = {}
        for last_shaped, measures in measures_by_last_shaped.items():
            ranges_of_group = thinned_ranges(
                self.strata,
                measures,
                self._n,
                last_shaped,
                self.confidence,
                weights=self._rows.weights,
            )
            range_of_measure.update(zip(measures, ranges_of_group, strict=True))
        return [range_of_measure[measure] for measure in self.measures]

    def thinned_units(self, measure: int) -> ThinnedRange:
        """Return the range of a metric whatever the tastes are, with bounds of each unit."""
        thinned = self.thinned[measure]
        return thinned._replace(
            lower=self._rows.means(thinned.lower), upper=self._rows.means(thinned.upper)
        )

    def _range_without_tastes(self, measure: int) -> Range:
        """Return the range whatever the tastes are; rows that share negatives widen it."""
        thinned = self.thinned_units(measure)
        bounds = Range(float(thinned.lower.mean()), float(thinned.upper.mean()))
        widened = _widen_chance(thinned.allowed, bounds, float(self.design_effects[measure]))
        return Range(max(widened.low, 0.0), widened.high)


def _widen_chance(allowed: Range, bounds: Range, design_effect: float) -> Range:
    """Widen what a range adds for chance to `bounds`, so that its variance has a design effect.

    The distance of each end of `allowed` from that of `bounds` grows by sqrt(design_effect).
    """
    factor = math.sqrt(design_effect)
    return Range(
        bounds.low - factor * (bounds.low - allowed.low),
        bounds.high + factor * (allowed.high - bounds.high),
    )


def _collapse_bounds(thinned: ThinnedRange, units: Int | slice, owner: Int | None) -> ThinnedRange:
    """Average the bounds of some units over each user; `owner` is the user of each of them."""
    return thinned._replace(
        lower=collapse_visits(thinned.lower[units], owner),
        upper=collapse_visits(thinned.upper[units], owner),
    )


class StratumDifferences:
    """The differences B - A of the metrics of two recommenders with counts by stratum.

    With tastes, the log likelihoods of both together may fall as far as that of one does, half of
    it each, so that a difference is between the ends of two ranges. Without, it is the mean
    difference of bounds for each user.

    Parameters
    ----------
    a, b
        Estimates of both recommenders.
    common
        Positions of the units that both have, in the order of `a` and of `b`; None if they have
        none in common.
    """

    def __init__(
        self, a: StratumEstimates, b: StratumEstimates, common: tuple[Int, Int] | None
    ) -> None:
        if common is not None:
            a, b = a.restrict_to(common[0]), b.restrict_to(common[1])
            common = _positions_among(common[0]), _positions_among(common[1])
        self._a = a
        self._b = b
        self._common = common
        self._has_tastes = a.tastes == b.tastes == SMOOTH_TASTES

    def range(self, measure: int, confidence: float | None = None) -> Range:
        """Return the range of the difference of one metric."""
        if confidence is None:
            confidence = self._a.confidence
        if self._has_tastes:
            range_a = self._a.half_range(measure, confidence)
            range_b = self._b.half_range(measure, confidence)
            return _subtract(range_b, range_a)
        return self._thinned_difference(measure, confidence)

    def _thinned_difference(self, measure: int, confidence: float) -> Range:
        """Return the range of the difference whatever the tastes are.

        Without common users it is the difference of two ranges, each of which misses half as often.
        Rows that share negatives widen the part of the range that is due to chance.
        """
        a = self._a.thinned_units(measure)
        b = self._b.thinned_units(measure)
        owner_a, owner_b = self._a.user_of_unit, self._b.user_of_unit
        if self._common is None:
            a = _collapse_bounds(a, slice(None), owner_a)
            b = _collapse_bounds(b, slice(None), owner_b)
            confidence_of_each = (1.0 + confidence) / 2.0
            allowed = _subtract(
                thinned_range(b, confidence_of_each), thinned_range(a, confidence_of_each)
            )
        else:
            units_a, units_b = self._common
            owner = None if owner_a is None else owner_a[units_a]  # the same users as of b
            a = _collapse_bounds(a, units_a, owner)
            b = _collapse_bounds(b, units_b, owner)
            allowed = thinned_difference(a, b, confidence)
        bounds_a = Range(float(a.lower.mean()), float(a.upper.mean()))
        bounds_b = Range(float(b.lower.mean()), float(b.upper.mean()))
        effect = max(self._a.design_effects[measure], self._b.design_effects[measure])
        return _widen_chance(allowed, _subtract(bounds_b, bounds_a), effect)

    def p_value(self, measure: int) -> float:
        """Return the smallest of `_LEVELS` at which the range excludes 0; 1 if none does.

        Levels fall, and ranges widen with them, so that the first levels decide and the others do
        not: the number of levels that decide is found by bisection.
        """

        def is_undecided(level: float) -> bool:
            allowed = self.range(measure, 1.0 - level)
            return allowed.low <= 0.0 <= allowed.high

        n_deciding = bisect_left(_LEVELS, True, key=is_undecided)
        return _LEVELS[n_deciding - 1] if n_deciding else 1.0


def _positions_among(units: Int) -> Int:
    """Return where each of some units is once the others are dropped, which keeps their order.

    Examples
    --------
    >>> _positions_among(np.array([8, 2, 5]))
    array([2, 0, 1])
    """
    return units.argsort().argsort()


def _subtract(minuend: Range, subtrahend: Range) -> Range:
    """Return the range of differences of numbers in two ranges."""
    return Range(minuend.low - subtrahend.high, minuend.high - subtrahend.low)
