"""Ranges of exact metrics that samples of several sizes allow."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import pandas as pd

from sampled_metrics._base.arrays import generator
from sampled_metrics.inference.ranges import bracket_users, difference_range
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.sampling import draw_sampled_ranks

RANGE = ["metric", "n_negatives", "a", "b", "low", "high"]
RANGE_SIZES = (1, 10, 100, 1000)
_WITHOUT = Sampling.WITHOUT_REPLACEMENT


def allowed_ranges(
    records: Mapping[str, Ranks],
    names: Sequence[str],
    seed: int = 0,
    sizes: Sequence[int] = RANGE_SIZES,
) -> pd.DataFrame:
    """Compute the ranges of exact metrics that one draw of negatives of each size allows.

    Negatives are drawn without replacement for each recommender, and ranges assume that near
    the top no rank is likelier than a better one. Columns `RANGE`: a range is of the exact
    metric of `a`, or of the difference b - a where `b` is not empty.
    """
    measures = [parse_measure(name) for name in names]
    fewest = min(int(ranks.n_candidates.min()) for ranks in records.values())
    rows = []
    for m in (m for m in sizes if m < fewest):
        brackets = {}
        for name, ranks in records.items():
            rng = generator(seed, "ranges", name, m)
            drawn = draw_sampled_ranks(ranks, m, rng, _WITHOUT, "random")
            sample = SampledRanks(drawn, ranks.n_candidates, m, _WITHOUT, users=ranks.users)
            brackets[name] = bracket_users(tuple(measures), sample)
        for place, metric in enumerate(map(str, measures)):
            for name, bracket in brackets.items():
                single = bracket.range(place)
                rows.append((metric, m, name, "", single.low, single.high))
            for a, b in combinations(brackets, 2):
                both = difference_range(brackets[a], brackets[b], place)
                rows.append((metric, m, a, b, both.low, both.high))
    return pd.DataFrame(rows, columns=RANGE)
