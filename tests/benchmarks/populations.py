"""Populations of users whose true ranks are known, for the simulations of ranges."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.seeds import generator
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, SampledRanks

REFERENCE = Path(__file__).parents[2] / "results/reference"
N_ITEMS = 3541
BREAKS_SHAPE = ("anti-correlated", "X + 2", "X + 15", "100K Random")


class Population(NamedTuple):
    """Kinds of users: true ranks, numbers of candidates, shares of the users.

    `published` has their ranks among negatives that are not drawn anew.
    """

    rank: Int
    n: Int
    share: Float
    published: Int | None = None

    def exact(self, measure: Measure) -> float:
        """Exact metric of the population."""
        return float(measure.at(self.rank, self.n) @ self.share)

    def users(self, number: int, rng: np.random.Generator) -> Int:
        """Draw kinds of users, with replacement."""
        if np.ptp(self.share) == 0.0:
            return rng.integers(0, self.share.size, number)
        return np.searchsorted(np.cumsum(self.share)[:-1], rng.random(number), side="right")

    def sample(self, kind: Int, m: int, rng: np.random.Generator) -> SampledRanks:
        """Draw m negatives, without replacement, for each user."""
        n = self.n[kind]
        if self.published is not None:
            return SampledRanks(self.published[kind], n, m)
        rank = self.rank[kind]
        return SampledRanks(1 + rng.hypergeometric(rank - 1, n - rank, m), n, m)


def of_ranks(records: Ranks, worse: int = 0) -> Population:
    """Users of an evaluation, ties in random order."""
    rank = records.best_rank + generator(0, "ties").integers(0, records.n_tied + 1)
    rank = np.minimum(rank + worse, records.n_candidates)
    return Population(rank, records.n_candidates, np.full(rank.size, 1.0 / rank.size))


def power(exponent: float) -> Population:
    """Ranks that are at most k with probability (k/n)^exponent."""
    share = np.diff((np.arange(N_ITEMS + 1) / N_ITEMS) ** exponent)
    return Population(np.arange(1, N_ITEMS + 1), np.full(N_ITEMS, N_ITEMS), share)


def recommenders(*folders: str) -> dict[str, Population]:
    """Populations of the rank records in folders of the reference run, by name."""
    files = [
        path
        for folder in folders
        for path in sorted((REFERENCE / folder).glob("*.parquet"))
        if ".sampled" not in path.stem
    ]
    return {path.stem: of_ranks(Ranks.read(path)) for path in files}


def published() -> dict[str, Population]:
    """The models of NCF with their published negatives, 99 for each user."""
    return {
        f"{name}, published": population._replace(
            published=SampledRanks.read(REFERENCE / f"ncf/{name}.sampled.parquet", 99).sampled_ranks
        )
        for name, population in recommenders("ncf").items()
    }


def populations() -> dict[str, Population]:
    """All populations by name."""
    paper, ends = recommenders("ranks"), power(0.2)
    small = {f"100K {name}": one for name, one in recommenders("ml-100k/ranks").items()}
    x = Ranks.read(REFERENCE / "ranks/X.parquet")
    return {
        **paper,
        **small,
        **recommenders("ncf"),
        **published(),
        "(k/n)^0.1": power(0.1),
        "(k/n)^0.3": power(0.3),
        "random": power(1.0),
        "anti-correlated": ends._replace(share=ends.share[::-1]),
        "X + 2": of_ranks(x, 2),
        "X + 15": of_ranks(x, 15),
    }
