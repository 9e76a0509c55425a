"""How the ranges of two recommenders decide their order, by the number of negatives.

The vectors behind a range (see `brackets`) are those fitted to the given distributions of true
ranks. The ends of a range, which are means over users, are taken to be normal, with mean and
variance in closed form from the distribution of the sampled ranks (section 4.3). That vectors are
fitted to each sample in fact is added by `repeated`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics.inference.brackets import bracket, likely_mixture
from sampled_metrics.inference.kernels import kernel
from sampled_metrics.inference.population import Moments, Population
from sampled_metrics.inference.ranges import unbiased_auc
from sampled_metrics.inference.results import Compared
from sampled_metrics.inference.shapes import NONE, name_of
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import SampledRanks, Sampling

_MORE = 1000  # negatives that an undecided comparison is told about, or twice those drawn


@dataclass(frozen=True)
class Pair:
    """Two recommenders whose true ranks are known or fitted, and their evaluation.

    If users are `drawn` anew from the populations, they vary too; otherwise only the negatives do,
    which both recommenders draw independently. If they are `paired`, user i of one is user i of
    the other, so that what they share cancels.
    """

    a: Population
    b: Population
    n_users: int
    drawn: bool = False
    paired: bool = False
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT

    @property
    def n_items(self) -> int:
        """Mean number of candidates over users of both, rounded."""
        return round(float(np.mean([x.share @ x.ranks.n_candidates for x in (self.a, self.b)])))

    def exact(self, measure: Measure) -> tuple[float, float]:
        """Exact metric of both."""
        return float(self.a.exact([measure])[0]), float(self.b.exact([measure])[0])

    def difference(self, a: Moments, b: Moments) -> tuple[Float, Float, Float]:
        """Mean of b - a, its standard deviation, and that with users drawn anew."""
        within = a.within + b.within
        anew = a.total + b.total
        if self.paired:
            anew = within + (b.by_kind[..., self.b.kind] - a.by_kind[..., self.a.kind]).var(axis=-1)
        error = np.sqrt(anew / self.n_users)
        sd = error if self.drawn else np.sqrt(within / self.n_users)
        return b.mean - a.mean, sd, error


def deciding_differences(
    results: Sequence[Compared],
    samples: Mapping[str, SampledRanks],
    shape: str | float = SHAPE,
    confidence: float = CONFIDENCE,
) -> dict[str, dict[int | None, float]]:
    """Calculate the differences that the negatives drawn, more, and full rankings may decide.

    The largest of all results, by metric and by number of negatives, of which the first are those
    drawn and None stands for full rankings. They follow from the width of the range, which depends
    little on which of the distributions of true ranks that fit the sampled ranks is the right one.
    """
    z = float(ndtri((1.0 + confidence) / 2.0))
    fitted: dict[str, Population] = {}
    largest: dict[str, dict[int | None, float]] = {}
    for result in results:
        for name in (result.a, result.b):
            if name not in fitted:
                fitted[name] = _fitted(samples[name], shape)
        a = samples[result.a]
        b = samples[result.b]
        pair = Pair(
            fitted[result.a],
            fitted[result.b],
            result.n_users,
            drawn=True,
            sampling=a.sampling,
        )
        measure = parse_measure(result.metric)
        found: dict[int | None, float] = {}
        found[a.n_negatives] = (result.range_high - result.range_low) / 2.0
        more = max(_MORE, 2 * a.n_negatives)
        if more < min(a.mean_candidates, b.mean_candidates) - 1:
            found[more] = decision(pair, measure, more, shape, z)[1]
        found[None] = decision(pair, measure, None, shape, z)[1]
        of_metric = largest.setdefault(result.metric, {})
        for n_negatives, difference in found.items():
            of_metric[n_negatives] = max(difference, of_metric.get(n_negatives, 0.0))
    return largest


def _fitted(sample: SampledRanks, shape: str | float) -> Population:
    """Fit a distribution of true ranks to sampled ranks."""
    counts = np.bincount(sample.sampled_ranks - 1, minlength=sample.n_negatives + 1)
    if name_of(shape) == NONE:
        population, _ = Population.estimated(counts, sample.mean_candidates, sample.sampling)
        return population
    return Population.non_increasing(counts, sample.mean_candidates, sample.sampling)


def decision(
    pair: Pair, measure: Measure, m: int | None, shape: str | float, z: float
) -> tuple[float, float]:
    """Standard deviations by which the expected range excludes 0, and half of its width.

    The vectors are those fitted to the populations; see `repeated` for those of each sample.
    """
    evaluation = (measure, pair.n_items, pair.n_users, m, Sampling(pair.sampling), shape, z)
    a = _ends(pair.a, *evaluation)
    b = _ends(pair.b, *evaluation)
    # The lower end of the difference has the upper end of a, and the upper end the lower one.
    difference, sd, error = pair.difference(Moments(*(field[::-1] for field in a)), b)
    width = float(difference[1] - difference[0] + z * error.sum()) / 2.0
    exact_a, exact_b = pair.exact(measure)
    if exact_a == exact_b:
        return -np.inf, width
    above = difference[0] - z * error[0]
    end = 0
    if exact_a > exact_b:
        above = -difference[1] - z * error[1]
        end = 1
    if sd[end] != 0.0:
        return float(above / sd[end]), width
    if above == 0.0:
        return 0.0, width
    return float(np.copysign(np.inf, above)), width


@lru_cache(maxsize=32)
def _ends(
    population: Population,
    measure: Measure,
    n: int,
    n_users: int,
    m: int | None,
    sampling: Sampling,
    shape: str | float,
    z: float,
) -> Moments:
    """Moments of the lower and of the upper end of the range; of full rankings, the metric."""
    if m is None:
        exact = population.exact_moments(measure)
        return Moments(*(np.stack([field, field]) for field in exact))
    if measure.metric.needs_candidates:
        auc = unbiased_auc(n, m, sampling)
        return population.moments(np.stack([auc, auc]), sampling)
    table = kernel(n, m, sampling, shape, measure.cutoff)
    # Of the closest distribution of the class, as for a sample: the population itself may be
    # outside, as that of a few users is, and then no vector is narrowest where it is.
    expected = n_users * population.share @ population.in_bins(m, sampling)
    likely = likely_mixture(expected, table).shares
    vectors = np.concatenate(bracket(measure, table, likely[None], n_users, z))
    return population.binned_moments(vectors, sampling)
