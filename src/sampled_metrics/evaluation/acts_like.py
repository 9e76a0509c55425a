"""The rank, or the metric with a cut-off, that an estimate from sampled ranks acts like.

HR@10 among 100 of 3,540 negatives falls with the true rank about as HR@342 does.
"""

from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from sampled_metrics._base.array_types import Bool, Float
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks
from sampled_metrics.intervals.kernels import rank_grid
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

# Metrics that give the same credit to all ranks up to the cut-off.
FLAT = ("f", "hit", "precision", "recall", "recall-capped", "recall-micro")
_HALF = 0.5 + 1e-12  # of the credit of rank 1; allows for rounding errors
_REFINEMENT = 17  # ranks of each finer grid, which divide an interval into 16


class ActsLike(NamedTuple):
    """The cut-off or rank at which an estimate has half of the credit of rank 1.

    Attributes
    ----------
    name
        A metric that gives the same credit to all ranks up to its cut-off, such as recall, which
        the estimate acts like at the cut-off `rank`; or AUC, which sampling does not distort.
        None for other metrics.
    rank
        The first true rank whose expected credit is at most half of that of rank 1. None for AUC,
        and if no rank has so little credit.
    exact_rank
        The same for the exact metric; None if `name` is set or `rank` is None.
    """

    name: str | None = None
    rank: int | None = None
    exact_rank: int | None = None

    @classmethod
    def from_rank(cls, metric: str, acts_like: int | None, n_items: int) -> Self:
        """Describe the rank at which the credit of an estimate has fallen to half.

        Examples
        --------
        >>> str(ActsLike.from_rank("recall@10", 17, n_items=1000))
        'recall@17'
        >>> str(ActsLike.from_rank("ndcg@10", 17, n_items=1000))
        'rank 17 (not 3)'
        """
        measure = parse_measure(metric)
        if measure.metric.needs_candidates:
            return cls(name=metric)
        if acts_like is None:
            return cls()
        if measure.kind in FLAT:
            return cls(name=measure.name, rank=acts_like)
        return cls(rank=acts_like, exact_rank=_half_credit_rank(measure, n_items))

    @property
    def place(self) -> str:
        """The rank in words, such as `rank 17`."""
        if self.rank is None:
            return "no rank"
        return f"rank {self.rank}"

    def __str__(self) -> str:
        if self.exact_rank is not None:
            return f"{self.place} (not {self.exact_rank})"
        if self.name is None:
            return self.place
        if self.rank is None:
            return self.name
        return f"{self.name}@{self.rank}"

    @property
    def below_metric(self) -> str:
        """Short form for a row that already names the metric and the rank of the exact one."""
        if self.name is None:
            return self.place
        if self.rank is None:
            return ""
        return f"@{self.rank}"

    @property
    def phrase(self) -> str:
        """Where estimates separate recommenders best, such as `at about recall@17`."""
        if self.name is None:
            return f"with half credit at {self.place}"
        if self.rank is None:
            return f"at {self}"
        return f"at about {self}"


def _half_credit_rank(measure: Measure, n_items: int) -> int:
    """Return the first rank whose exact metric is at most half of that of rank 1, or `n_items`."""
    half = measure.value_at([1], n_items)[0] / 2.0
    rank = 2
    while rank < n_items and measure.value_at([rank], n_items)[0] > half:
        rank += 1
    return rank


def acts_like_rank(
    vector: Float, n: int, sampling: str = Sampling.WITHOUT_REPLACEMENT
) -> int | None:
    """Find the first true rank whose expected credit is at most half of that of rank 1.

    The expected credit of true rank r is sum_s P(s | r) vector[s], over the sampled ranks s. It is
    computed on a coarse grid of ranks first, and then on finer ones before the first rank found.
    None if rank 1 has no credit, or if no rank has so little.

    Parameters
    ----------
    vector
        Credit of each sampled rank, shape (m + 1,).
    n
        Candidates of a full ranking, the relevant item included.
    sampling
        How the negatives are drawn.

    Examples
    --------
    >>> acts_like_rank(np.array([1.0, 0.75, 0.5, 0.25, 0.0]), 101)  # falls by 1/100 per rank
    51
    """
    m = vector.size - 1
    sampling = Sampling(sampling)
    half = _HALF * float(vector[0])
    if half <= 0.0:
        return None

    grid = rank_grid(n)
    first = _first_low_on_grid(vector, half, n, sampling)
    if first is None:
        return None
    # The answer is the first such rank of the grid, or lies between it and the grid point before.
    while grid[first] - grid[first - 1] > 1:
        finer = np.linspace(grid[first - 1], grid[first], _REFINEMENT)
        grid = np.unique(finer.round().astype(np.int64))
        expected_credit = pmf_at(grid, n, m, sampling) @ vector
        first = _first_true(expected_credit <= half)
    return int(grid[first])


def _first_low_on_grid(vector: Float, half: float, n: int, sampling: Sampling) -> int | None:
    """Return the first position in `rank_grid` whose expected credit is at most `half`, or None."""
    for block in blocks(rank_grid(n).size, vector.size, CACHE_ENTRIES):
        expected_credit = _grid_pmf(n, vector.size - 1, sampling, block.start) @ vector
        is_low = expected_credit <= half
        if is_low.any():
            return block.start + _first_true(is_low)
    return None


def _first_true(values: Bool) -> int:
    return int(np.argmax(values))


@lru_cache(maxsize=4)  # 1 MB each; the first block is enough for most vectors
def _grid_pmf(n: int, m: int, sampling: Sampling, first: int) -> Float:
    """Calculate the probabilities of sampled ranks for the true ranks in a block of `rank_grid`.

    The block starts at the position `first` of the grid; shape (ranks, m + 1).
    """
    ranks = rank_grid(n)[first:]
    block = next(blocks(ranks.size, m + 1, CACHE_ENTRIES))
    return pmf_at(ranks[block], n, m, sampling)
