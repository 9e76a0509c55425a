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
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics.estimators.tastes import fit_tastes, metrics_of_cells
from sampled_metrics.evaluation.plan_simulation import Decision
from sampled_metrics.evaluation.strata import refuse_unreached
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
_FEW_COMPARISONS = 3  # after which the simulation stops if the lower end is this many
_CERTAIN_RATIO = 5.0  # standard deviations from 0
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
    exact = [exact_metric(census.counts, measure) for census in pair]
    if exact[0] > exact[1]:
        pair = pair[1], pair[0]
    difference = abs(exact[1] - exact[0])
    decisions: list[Decision] = []
    for m in sizes:
        if decisions and decisions[-1].probability > _CERTAIN:
            decisions.append(decisions[-1])
            continue
        low = _simulate_lower_ends(
            pair, measure, m, design=design, n_users=n_users, confidence=confidence
        )
        decision = _decision(low, difference)
        if decisions:  # more negatives decide more; a lower probability is chance
            before = decisions[-1].probability
            decision = decision._replace(probability=max(decision.probability, before))
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


def _decision(low: Sequence[float], difference: float) -> Decision:
    """Return the probability that lower ends like these are above 0."""
    mean = float(np.mean(low))
    deviation = float(np.std(low, ddof=1))
    probability = 0.0
    if difference > 0.0:
        probability = float(ndtr(mean / deviation)) if deviation > 0.0 else float(mean > 0.0)
    return Decision(probability, difference - mean)


def _simulate_lower_ends(
    pair: tuple[Census, Census],
    measure: Measure,
    m: int,
    *,
    design: Design,
    n_users: int | None,
    confidence: float,
) -> list[float]:
    """Return the lower ends of the ranges of the difference in simulated comparisons.

    A comparison whose negatives would be refused has the lower end -1.
    """
    census = pair[0]
    n_rows = len(census.counts.better)
    row = np.repeat(np.arange(n_rows), m)
    ends: list[float] = []
    for number in range(_COMPARISONS):
        rng = generator(0, "plan", str(design), m, number)
        negatives = draw_negatives(
            census.excluded, m, popularity=census.popularity, design=design, seed=number
        )
        drawn = sums_by_stratum(row, negatives.ravel(), census.stratum, n_rows)
        rows = np.arange(n_rows)
        if n_users is not None or n_rows > _MAX_USERS:
            rows = rng.integers(0, n_rows, min(n_users or n_rows, _MAX_USERS))
        samples = [_draw_sample(each.counts.take(rows), drawn[rows], rng) for each in pair]
        try:
            refuse_unreached(samples[0])
        except InputError:
            return [-1.0] * _FEW_COMPARISONS
        a, b = (_range(sample, measure, confidence) for sample in samples)
        ends.append(b.low - a.high)
        is_certain = abs(np.mean(ends)) > _CERTAIN_RATIO * np.std(ends)
        if number + 1 == _FEW_COMPARISONS and is_certain:
            break
    return ends


def _draw_sample(whole: StratumCounts, drawn: Int, rng: np.random.Generator) -> StratumCounts:
    """Draw how many negatives of each stratum are better than the held-out item."""
    better = rng.hypergeometric(whole.better, whole.candidates - whole.better, drawn)
    return whole._replace(better=better, drawn=drawn)


def _range(sample: StratumCounts, measure: Measure, confidence: float) -> Range:
    """Return the range with half of the drop, for a difference."""
    n = round(float(sample.candidates.sum(axis=1).mean())) + 1
    fit = fit_tastes(sample)
    last_shaped = last_shaped_rank(n, sample.mean_negatives, measure.cutoff)
    mixture = fit_mixture(fit, last_shaped)
    of_cells = metrics_of_cells(fit, [measure], n)
    (found,) = profile_ranges(mixture, of_cells, confidence, share_of_drop=0.5)
    return found
