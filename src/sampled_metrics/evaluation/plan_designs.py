"""How likely negatives of a design decide the order of two recommenders, by simulation.

Scores of all items show how many candidates of a user are better than the held-out item in each
stratum of popularity. A sample of a design has some number of the candidates of a stratum, of which
a hypergeometric number is better, independently for both recommenders. The order is decided if the
range of the difference of the exact metrics excludes 0, as for uniform negatives; the lower end of
this range is about normal, with the mean and the variance of a few simulated comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from sampled_metrics._base.array_types import Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.estimators.tastes import fit_tastes, metrics_of_cells
from sampled_metrics.evaluation.plan_simulation import Decision
from sampled_metrics.evaluation.strata import MAX_UNREACHED, unreached_share
from sampled_metrics.intervals.kernels import last_shaped_rank
from sampled_metrics.intervals.population import Population
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.taste_ranges import fit_mixture, profile_ranges
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.sampling import Design
from sampled_metrics.ranks.strata import StratumCounts, sums_by_stratum
from sampled_metrics.read.census import Census
from sampled_metrics.sampling.negatives import draw_negatives

LEAST_SIZE = 10  # fewer negatives, of which half are uniform, decide hardly anything
_COMPARISONS = 6  # simulated for each number of negatives
# The simulation stops after this few comparisons if the mean lower end is then more than this many
# standard deviations from 0.
_FEW_COMPARISONS = 3
_CERTAIN_RATIO = 5.0
_CERTAIN = 0.9999  # probability above which more negatives decide too
_MAX_USERS = 10_000  # in a simulated comparison; for more users the plan is cautious


def plan_design(
    pair: tuple[Census, Census],
    measure: Measure,
    sizes: Sequence[int],
    *,
    design: Design,
    n_users: int | None,
    confidence: float,
) -> list[Decision]:
    """Estimate for each number of negatives how likely the order is decided.

    Probabilities do not fall with the number of negatives: once one is nearly 1, larger numbers get
    the same decision without a simulation.

    Parameters
    ----------
    pair
        All candidates of the same users, by two recommenders.
    measure, sizes, design
        The metric, and numbers of negatives in ascending order and their design.
    n_users
        Users of an evaluation, drawn anew; None for those of the pair.
    confidence
        Of the range of the difference.
    """
    exact_a, exact_b = (exact_metric(census.counts, measure) for census in pair)
    weaker_first = pair if exact_a <= exact_b else (pair[1], pair[0])
    decisions: list[Decision] = []
    for m in sizes:
        with_fewer = decisions[-1] if decisions else None
        if with_fewer is not None and with_fewer.probability > _CERTAIN:
            decisions.append(with_fewer)
            continue
        lower_ends = _simulate_lower_ends(
            weaker_first, measure, m, design=design, n_users=n_users, confidence=confidence
        )
        decision = _decision(lower_ends, abs(exact_b - exact_a))
        if with_fewer is not None:  # more negatives tell more; a lower probability is chance
            probability = max(decision.probability, with_fewer.probability)
            decision = decision._replace(probability=probability)
        decisions.append(decision)
    return decisions


def exact_metric(counts: StratumCounts, measure: Measure) -> float:
    """Calculate the exact metric of all candidates."""
    ranks = Ranks(
        counts.candidates.sum(axis=1) + 1,
        counts.better.sum(axis=1),
        np.zeros(len(counts.better), np.int64),
    )
    return Population.from_ranks(ranks).exact(measure)


def _decision(lower_ends: Sequence[float], difference: float) -> Decision:
    """Return the probability that lower ends like these are above 0, and half of the range's width.

    Lower ends are taken to be normal, so the probability is Phi(mean / deviation). The half width
    is the exact `difference` minus the mean lower end. Equal metrics are never decided.
    """
    mean = float(np.mean(lower_ends))
    deviation = float(np.std(lower_ends, ddof=1))
    half_width = difference - mean
    if difference <= 0.0:
        return Decision(0.0, half_width)
    if not deviation > 0.0:
        return Decision(float(mean > 0.0), half_width)
    return Decision(float(ndtr(mean / deviation)), half_width)


def _simulate_lower_ends(
    pair: tuple[Census, Census],
    measure: Measure,
    m: int,
    *,
    design: Design,
    n_users: int | None,
    confidence: float,
) -> list[float]:
    """Return the lower ends of the ranges of the difference b - a in simulated comparisons.

    A difference is at least the low end of b minus the high end of a. The simulation ends early if
    the first comparisons leave no doubt. Comparisons whose negatives would be refused have the
    lower end -1, which decides nothing.
    """
    lower_ends: list[float] = []
    for number in range(_COMPARISONS):
        samples = _simulate_samples(pair, m, number, design=design, n_users=n_users)
        are_refused = unreached_share(samples[0]) > MAX_UNREACHED
        if are_refused:
            return [-1.0] * _FEW_COMPARISONS
        range_a, range_b = (_half_range(sample, measure, confidence) for sample in samples)
        lower_ends.append(range_b.low - range_a.high)
        is_certain = abs(np.mean(lower_ends)) > _CERTAIN_RATIO * np.std(lower_ends)
        if len(lower_ends) == _FEW_COMPARISONS and is_certain:
            break
    return lower_ends


def _simulate_samples(
    pair: tuple[Census, Census], m: int, number: int, *, design: Design, n_users: int | None
) -> list[StratumCounts]:
    """Draw m negatives for each user of an evaluation, and count those of both recommenders.

    Both have the same numbers of negatives in each stratum, of which how many are better is drawn
    for each. `number` is that of the comparison, and the seed of its random numbers.
    """
    census = pair[0]
    n_rows = len(census.counts.better)
    rng = generator(0, "plan", str(design), m, number)
    negatives = draw_negatives(
        census.excluded, m, popularity=census.popularity, design=design, seed=number
    )
    row_of_negative = np.repeat(np.arange(n_rows), m)
    drawn = sums_by_stratum(row_of_negative, negatives.ravel(), census.stratum, n_rows)
    rows = np.arange(n_rows)
    are_redrawn = n_users is not None or n_rows > _MAX_USERS
    if are_redrawn:
        rows = rng.integers(0, n_rows, min(n_users or n_rows, _MAX_USERS))
    return [_draw_sample(whole.counts.take(rows), drawn[rows], rng) for whole in pair]


def _draw_sample(whole: StratumCounts, drawn: Int, rng: np.random.Generator) -> StratumCounts:
    """Draw how many of the negatives `drawn` in each stratum are better than the held-out item.

    `whole` counts all candidates; `drawn` has the shape (rows, strata).
    """
    better = rng.hypergeometric(whole.better, whole.candidates - whole.better, drawn)
    return whole._replace(better=better, drawn=drawn)


def _half_range(sample: StratumCounts, measure: Measure, confidence: float) -> Range:
    """Return the range of one recommender's metric that goes into the range of a difference.

    The log likelihoods of both recommenders together may fall by the usual drop, half of it each;
    see `StratumDifferences`.
    """
    n = round(float(sample.candidates.sum(axis=1).mean())) + 1  # with the held-out item
    fit = fit_tastes(sample)
    last_shaped = last_shaped_rank(n, sample.mean_negatives, measure.cutoff)
    mixture = fit_mixture(fit, last_shaped)
    metric_of_cells = metrics_of_cells(fit, [measure], n)
    (allowed,) = profile_ranges(mixture, metric_of_cells, confidence, share_of_drop=0.5)
    return allowed
