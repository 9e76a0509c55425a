"""How often comparisons decide an order, beside the probability that `plan` promises.

    python benchmarks/plan.py [--comparisons N]

Writes docs/measured/plan.md. Users are drawn from the full rankings of the reference run, and
negatives for each recommender; a comparison decides if its range of the difference lies on the
right side of 0.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markdown import markdown
from threadpoolctl import threadpool_limits

from sampled_metrics import Ranks, SampledRanks, plan
from sampled_metrics._base.arrays import generator
from sampled_metrics.inference.ranges import bracket_users, difference_range
from sampled_metrics.metrics.measures import parse_measure

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/measured/plan.md"
METRICS = ("recall@10", "ndcg@10", "ap")
USERS = (500, 2000, 6040)
SIZES = (20, 50, 100, 200, 500)
UNCERTAIN = (0.005, 0.995)  # other probabilities are not simulated
ABOUT = """# What plans promise

`python benchmarks/plan.py` writes this page. For users drawn from the full rankings of the
reference run, `promised` is the probability of `plan` that a comparison decides the order, and
`decided` the share of {comparisons} comparisons that did, each with its own users and negatives.
Of {settings} settings with a promise between 0.5 and 99.5 %, {close} are within 10 points of it;
the mean difference is {mean:+.1f} points, the largest {largest:+.1f}. {cpu} s of CPU time.

"""


class Setting(NamedTuple):
    """A comparison that `plan` promises to decide with some probability."""

    a: str
    b: str
    metric: str
    m: int
    n_users: int
    promised: float


def rankings() -> dict[str, Ranks]:
    """Full rankings of the reference run."""
    return {name: Ranks.read(ROOT / f"results/reference/ranks/{name}.parquet") for name in "XYZ"}


def settings() -> list[Setting]:
    """All settings whose promise is not near 0 or 1."""
    ranks = rankings()
    found = []
    for (a, b), metric, n_users in product(combinations(ranks, 2), METRICS, USERS):
        for row in plan(ranks[a], ranks[b], metric, n_users=n_users, sizes=SIZES):
            if row.n_negatives and UNCERTAIN[0] < row.probability < UNCERTAIN[1]:
                found.append(Setting(a, b, metric, row.n_negatives, n_users, row.probability))
    return found


def sample(ranks: Ranks, m: int, users: np.ndarray, rng: np.random.Generator) -> SampledRanks:
    """Draw negatives for some users, with ties in random order."""
    taken = ranks.take(users)
    better = taken.n_better + rng.integers(0, taken.n_tied + 1)
    above = rng.hypergeometric(better, taken.n_candidates - 1 - better, m)
    return SampledRanks(above + 1, taken.n_candidates, m)


def decided(setting: Setting, comparisons: int) -> float:
    """Share of comparisons that decide the right order."""
    measure = parse_measure(setting.metric)
    ranks = rankings()
    a, b = ranks[setting.a], ranks[setting.b]
    exact = [measure.at(each.best_rank, each.n_candidates).mean() for each in (a, b)]
    right = 0
    with threadpool_limits(1):
        for number in range(comparisons):
            rng = generator(number, "plans", *map(str, setting[:5]))
            brackets = []
            users = rng.integers(0, len(a), setting.n_users)
            for each in (a, b):
                drawn = sample(each, setting.m, users, rng)
                brackets.append(bracket_users((measure,), drawn))
            found = difference_range(*brackets, 0)
            right += found.low > 0.0 if exact[1] > exact[0] else found.high < 0.0
    return right / comparisons
