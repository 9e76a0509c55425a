"""What would decide an undecided comparison of sampled ranks."""

from collections.abc import Mapping

import numpy as np

from sampled_metrics.inference.compare import Compared
from sampled_metrics.inference.deciding import deciding_negatives
from sampled_metrics.inference.kernels import NON_INCREASING
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.verdict import two_digits
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks

_TIMES = 10  # as many negatives as there are is how far to look
_HALF = 0.5


def advice(
    result: Compared, samples: Mapping[str, SampledRanks], shape: str, confidence: float
) -> str:
    """Say how many uniform negatives would decide an order if true ranks were those that fit best.

    Many distributions of true ranks fit sampled ranks nearly as well, so the number is rough.
    """
    a, b = (samples[name] for name in (result.a, result.b))
    fitted = [_fitted(sample, shape) for sample in (a, b)]
    pair = Pair(*fitted, result.n_users, drawn=True, sampling=a.sampling)
    m, most = a.n_negatives, min(_TIMES * a.n_negatives, pair.most_negatives)
    needed = deciding_negatives(
        pair,
        parse_measure(result.metric),
        _HALF,
        most,
        least=m + 1,
        shape=shape,
        confidence=confidence,
    )
    if needed is None:
        return f"{most:,} uniform negatives would probably not decide it either; rank all items"
    return (
        f"about {two_digits(needed):,} uniform negatives would decide it for the true ranks that "
        "fit best, more if the difference is smaller; or rank all items"
    )


def _fitted(ranks: SampledRanks, shape: str) -> Population:
    counts = np.bincount(ranks.sampled_ranks - 1, minlength=ranks.n_negatives + 1)
    if shape == NON_INCREASING:
        return Population.non_increasing(counts, ranks.mean_candidates, ranks.sampling)
    return Population.estimated(counts, ranks.mean_candidates, ranks.sampling)
