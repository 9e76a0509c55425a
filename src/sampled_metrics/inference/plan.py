"""How the ranges of two recommenders decide their order, by the number of negatives.

The vectors behind a range (see `brackets`) are those that samples of the given distributions of
true ranks are likely to get. The ends of a range, which are means over users, are taken to be
normal, with mean and variance in closed form from the distribution of the sampled ranks
(section 4.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sampled_metrics._base.arrays import Float, check_arguments, integers, one_thread
from sampled_metrics._base.defaults import CONFIDENCE, METRICS, SHAPE
from sampled_metrics._base.errors import reading
from sampled_metrics._base.text import Parts
from sampled_metrics.inference.brackets import (
    ASSUMED,
    NON_INCREASING,
    bracket,
    kernel,
    likely_mixture,
)
from sampled_metrics.inference.pairing import paired_users
from sampled_metrics.inference.population import Moments, Population
from sampled_metrics.inference.ranges import common_users, unbiased_auc
from sampled_metrics.inference.results import INSTEAD, Compared, Results, count
from sampled_metrics.metrics.measures import Measure, parse_measure, parse_measures
from sampled_metrics.ranks import SampledRanks, Sampling
from sampled_metrics.ranks.options import Ranked
from sampled_metrics.ranks.reading import as_ranks

SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
_DECIDED = 0.95
_OF_FITTED = 2.0  # vectors fitted to each sample about double the sd of an end, by simulation
_MORE = 1000  # negatives that an undecided comparison is told about, or twice those drawn


@dataclass(frozen=True)
class Planned:
    """What an evaluation with `n_negatives`, None for full rankings, is expected to decide.

    `probability` is that of a range of the difference of the exact metrics that excludes 0 on the
    right side, 0 if they are equal; `decides_above` the difference from which on a decision is
    likely, half of the expected width of the range; `decides` the least number of negatives whose
    probability is at least 0.95, None if only full rankings decide or none do. Exact metrics are
    fractions.
    """

    metric: str
    n_negatives: int | None
    probability: float
    decides_above: float
    decides: int | None
    exact_a: float
    exact_b: float
    n_items: int
    n_users: int
    sampling: str


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

    def difference(self, a: Moments, b: Moments) -> tuple[float, float, float]:
        """Mean of b - a, its standard deviation, and that with users drawn anew."""
        within, anew = a.within + b.within, a.total + b.total
        if self.paired and self.a.kind is not None and self.b.kind is not None:
            anew = within + (b.by_kind[self.b.kind] - a.by_kind[self.a.kind]).var()
        sd, error = np.sqrt(np.array([anew if self.drawn else within, anew]) / self.n_users)
        return float(b.mean - a.mean), float(sd), float(error)


@one_thread()
def plan(
    a: Any,
    b: Any,
    metrics: str | Sequence[str] = METRICS[:1],
    *,
    n_items: int | None = None,
    n_users: int | None = None,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
    sizes: Sequence[int] = SIZES,
) -> Results[Planned]:
    """Calculate how likely the range of a difference decides an order, by number of negatives.

    One result for each size and one for full rankings, for each metric, metrics outermost.

    Parameters
    ----------
    a, b
        Full rankings of two recommenders, as `evaluate` takes them, one relevant item per user;
        users are paired by ids, or without ids by row.
    metrics, n_items
        See `evaluate`.
    n_users
        Users of the evaluation. By default those of the rankings, with negatives drawn anew; if
        given, they are drawn from users like those.
    sampling, shape, confidence
        How negatives are drawn; of the ranges, see `correct`.
    sizes
        Numbers of negatives; those that a user has too few candidates for are left out.

    Examples
    --------
    >>> a, b = (np.geomspace(1, last, 2000).astype(int) for last in (100, 1000))
    >>> for row in plan(a, b, "recall@10", n_items=1000, sizes=[10, 100]):
    ...     print(row.n_negatives, round(row.probability, 2), round(row.decides_above, 2))
    10 0.02 0.35
    100 0.95 0.11
    None 1.0 0.02
    """
    check_arguments(n_users=n_users, sampling=sampling, shape=shape, confidence=confidence)
    sizes = integers("sizes", sizes, is_column=True).tolist()
    kind, both, z = Sampling(sampling), [], float(ndtri((1.0 + confidence) / 2.0))
    for name, data in (("a", a), ("b", b)):
        with reading(str(data) if isinstance(data, str | Path) else name):
            both.append(as_ranks(data, Ranked(n_items)).single())
    numbered, pairing = paired_users(dict(zip("ab", both, strict=True)))
    both = list(numbered.values())
    rows = common_users(both[0].users, both[1].users)
    if rows is not None:
        both = [ranks.take(which) for ranks, which in zip(both, rows, strict=True)]
    size, drawn = n_users or min(map(len, both)), n_users is not None
    x, y = map(Population.of_users, both)
    largest = min(int(ranks.n_candidates.min()) for ranks in both) - 1
    pair = Pair(x, y, size, drawn=drawn, paired=rows is not None, sampling=kind)
    results = []
    for measure in parse_measures(metrics):
        exact_a, exact_b = (float(each.exact([measure])[0]) for each in (x, y))
        found, decides = list[Planned](), None
        for m in (*[m for m in sizes if m <= largest], None):
            lead, width = _decision(pair, measure, m, shape, z)
            chance = float(ndtr(lead))
            decides = m if decides is None and chance >= _DECIDED else decides
            found.append(
                Planned(
                    metric=str(measure),
                    n_negatives=m,
                    probability=chance,
                    decides_above=width,
                    decides=None,
                    exact_a=exact_a,
                    exact_b=exact_b,
                    n_items=pair.n_items,
                    n_users=size,
                    sampling=str(kind),
                )
            )
        results += [replace(row, decides=decides) for row in found]
    return Results(results, partial(_parts, shape=shape, pairing=pairing))


def deciding_differences(
    results: Sequence[Compared],
    samples: Mapping[str, SampledRanks],
    shape: str = SHAPE,
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
            found[more] = _decision(pair, measure, more, shape, z)[1]
        found[None] = _decision(pair, measure, None, shape, z)[1]
        of_metric = largest.setdefault(result.metric, {})
        for n_negatives, difference in found.items():
            of_metric[n_negatives] = max(difference, of_metric.get(n_negatives, 0.0))
    return largest


def _fitted(sample: SampledRanks, shape: str) -> Population:
    """Fit a distribution of true ranks to sampled ranks."""
    counts = np.bincount(sample.sampled_ranks - 1, minlength=sample.n_negatives + 1)
    if shape == NON_INCREASING:
        return Population.non_increasing(counts, sample.mean_candidates, sample.sampling)
    population, _ = Population.estimated(counts, sample.mean_candidates, sample.sampling)
    return population


def _decision(
    pair: Pair, measure: Measure, m: int | None, shape: str, z: float
) -> tuple[float, float]:
    """Standard deviations by which the expected range excludes 0, and half of its width."""
    evaluation = pair.n_items, pair.n_users, m, Sampling(pair.sampling), shape, z
    (low_a, high_a), (low_b, high_b) = (_ends(x, measure, *evaluation) for x in (pair.a, pair.b))
    low, sd_low, error_low = pair.difference(high_a, low_b)
    high, sd_high, error_high = pair.difference(low_a, high_b)
    width = float(high - low + z * (error_low + error_high)) / 2.0
    exact_a, exact_b = (x.exact([measure])[0] for x in (pair.a, pair.b))
    if exact_a == exact_b:
        return -np.inf, width
    above, sd = low - z * error_low, sd_low
    if exact_b < exact_a:
        above, sd = -high - z * error_high, sd_high
    if m is not None and not measure.metric.needs_candidates:
        sd *= _OF_FITTED
    if sd == 0.0:
        return (float(np.copysign(np.inf, above)) if above else 0.0), width
    return above / sd, width


@lru_cache(maxsize=32)
def _ends(
    population: Population,
    measure: Measure,
    n: int,
    n_users: int,
    m: int | None,
    sampling: Sampling,
    shape: str,
    z: float,
) -> tuple[Moments, Moments]:
    """Moments of the lower and of the upper end of the range; of full rankings, the metric."""
    if m is None:
        exact = population.exact_moments(measure)
        return exact, exact
    if measure.metric.needs_candidates:
        vectors: Float = np.stack([unbiased_auc(n, m, sampling)] * 2)
    else:
        table = kernel(n, m, sampling, shape, measure.cutoff)
        # Of the closest distribution of the class, as for a sample: the population itself may be
        # outside, as that of a few users is, and then no vector is narrowest where it is.
        expected = n_users * population.sampled_shares(m, sampling)
        likely = likely_mixture(expected, table).shares
        found = bracket(measure, table, likely[None], n_users, z)
        vectors = np.concatenate(found)
    both = population.moments(vectors, sampling)
    return Moments(*(field[0] for field in both)), Moments(*(field[1] for field in both))


def _parts(results: Sequence[Planned], shape: str, pairing: Sequence[str]) -> Parts:
    """The probability of a decision by metric and number of negatives."""
    rows = [
        {
            "metric": result.metric,
            "n_negatives": "all" if result.n_negatives is None else f"{result.n_negatives:,}",
            "probability": result.probability,
            "decides above": result.decides_above,
        }
        for result in results
    ]
    exact = {r.metric: (r.exact_a, r.exact_b, _words(r.decides)) for r in results}
    lines = [
        f"{count(results[0].n_users, 'user')} with true ranks as in these rankings:",
        *(f"  {metric} {a:.4f} and {b:.4f}: {decide}." for metric, (a, b, decide) in exact.items()),
        "probability: that the range of the difference excludes 0 on the right side, "
        f"{ASSUMED[shape]}.",
        "decides above: the difference from which on a decision is likely; all: full rankings.",
        *pairing,
        INSTEAD,
    ]
    return [rows, "\n".join(lines)]


def _words(decides: int | None) -> str:
    """Say how many negatives decide."""
    if decides is None:
        return "no number of negatives decides in 95 % of evaluations"
    return f"{count(decides, 'negative')} decide in 95 % of evaluations"
