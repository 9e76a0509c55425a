"""Ranges of the exact metrics of a study's recommenders that samples of several sizes allow."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.ranges import Bracketed, bracket_users, difference_range
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.sampling import draw_sampled_ranks

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Allowed(NamedTuple):
    """A range of the exact metric of `a`, or of the difference b - a where `b` is not empty."""

    metric: str
    n_negatives: int
    a: str
    b: str
    low: float
    high: float


def allowed_ranges(
    ranks: Mapping[str, Ranks], metrics: Sequence[str], seed: int = 0, sizes: Sequence[int] = SIZES
) -> pd.DataFrame:
    """Compute the ranges that one draw of negatives of each size allows.

    Negatives are drawn without replacement for each recommender, and ranges assume that no rank
    is likelier than the one before it. Returns one row for each `Allowed` range.
    """
    measures = [parse_measure(name) for name in metrics]
    fewest = min(int(of_users.n_candidates.min()) for of_users in ranks.values())
    rows = [
        row
        for m in sizes
        if m < fewest
        for row in _of_size(
            measures,
            {name: _bracketed(name, each, measures, m, seed) for name, each in ranks.items()},
            m,
        )
    ]
    return pd.DataFrame(rows, columns=Allowed._fields)


def _bracketed(
    name: str, ranks: Ranks, measures: Sequence[Measure], m: int, seed: int
) -> Bracketed:
    sampling = Sampling.WITHOUT_REPLACEMENT
    drawn = draw_sampled_ranks(ranks, m, generator(seed, "ranges", name, m), sampling, "random")
    sample = SampledRanks(drawn, ranks.n_candidates, m, sampling, users=ranks.users)
    return bracket_users(measures, sample)


def _of_size(measures: Sequence[Measure], found: Mapping[str, Bracketed], m: int) -> list[Allowed]:
    rows = []
    for place, measure in enumerate(measures):
        for name, each in found.items():
            of_one = each.range(place)
            rows.append(Allowed(str(measure), m, name, "", of_one.low, of_one.high))
        for a, b in combinations(found, 2):
            of_two = difference_range(found[a], found[b], place)
            rows.append(Allowed(str(measure), m, a, b, of_two.low, of_two.high))
    return rows
