"""What would decide an undecided comparison of sampled ranks, and what to do instead."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from sampled_metrics._base.defaults import BUDGET
from sampled_metrics.inference.compared import Compared
from sampled_metrics.inference.deciding import decidable
from sampled_metrics.inference.intervals import normal_quantile
from sampled_metrics.inference.kernels import NON_INCREASING
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks

INSTEAD = (
    "If scores can be had, rank fully where they are cheap (`evaluate`; under a second for\n"
    "  MovieLens 1M); where each is expensive, `budget` estimates exact metrics from about\n"
    f"  {BUDGET:g} scores per user. Sampled ranks alone allow no more than the range."
)
_MORE = 1000  # negatives that an undecided comparison is told about, or twice those drawn


def advice(
    result: Compared, samples: Mapping[str, SampledRanks], shape: str, confidence: float
) -> str:
    """Say which differences are decided by the negatives drawn, by more, and by full rankings."""
    here, *others = deciding_differences(result, samples, shape, confidence).items()
    first = f"{here[0]} {'decides' if result.n_negatives == 1 else 'decide'} differences"
    rest = [f"{what.removesuffix(' negatives')} above {least:.2g}" for what, least in others]
    return ", ".join([f"{first} above about {here[1]:.2g}", *rest])


def deciding_differences(
    result: Compared, samples: Mapping[str, SampledRanks], shape: str, confidence: float
) -> dict[str, float]:
    """Calculate the least differences that the negatives drawn, more, and full rankings decide.

    How many negatives would decide this comparison cannot be said, because its difference is not
    known. The differences follow from the width of the range, which depends little on which of
    the distributions of true ranks that fit the sampled ranks is the right one.
    """
    measure = parse_measure(result.metric)
    a, b = (samples[name] for name in (result.a, result.b))
    fitted_a, fitted_b = (_fitted(sample, shape) for sample in (a, b))
    pair = Pair(fitted_a, fitted_b, result.n_users, drawn=True, sampling=a.sampling)
    differences = {_negatives(a.n_negatives): (result.range_high - result.range_low) / 2.0}
    more = max(_MORE, 2 * a.n_negatives)
    if more < pair.most_negatives:
        least = decidable(pair, measure, more, shape=shape, confidence=confidence)
        differences[_negatives(more)] = least
    variance = sum(each.sd_of_exact(measure) ** 2 for each in (pair.a, pair.b)) / pair.n_users
    differences["full rankings"] = normal_quantile(confidence) * float(np.sqrt(variance))
    return differences


def _negatives(number: int) -> str:
    return "1 negative" if number == 1 else f"{number:,} negatives"


@lru_cache(maxsize=16)
def _fitted(ranks: SampledRanks, shape: str) -> Population:
    counts = np.bincount(ranks.sampled_ranks - 1, minlength=ranks.n_negatives + 1)
    if shape == NON_INCREASING:
        return Population.non_increasing(counts, ranks.mean_candidates, ranks.sampling)
    return Population.estimated(counts, ranks.mean_candidates, ranks.sampling)
