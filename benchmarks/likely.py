"""Print how far the estimator `likely` is from exact metrics, beside others, and its steps.

python benchmarks/likely.py [REPEATS]; two minutes. Recommenders are those of results/reference:
the start and the steps were chosen on MovieLens 1M, the others show what they are worth. Users are
drawn from those of a recommender with replacement, and their negatives without.
"""

import sys
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import sampled_metrics as sm
from sampled_metrics import metrics
from sampled_metrics.estimators import em_step, estimator_matrix, parse_estimators
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf

REFERENCE = Path(__file__).parents[1] / "results" / "reference"
CHOSEN_ON = ("ranks", "ml-1m/ranks")
SHOWN_ON = ("ml-100k/ranks", "global-time/ranks", "ncf")
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap")]
FITTED = parse_estimators("likely")
FIXED = parse_estimators("bv:0.01, bv:0.1, cls, sampled")
EM_STEPS = 50
NAMES = [*map(str, FITTED), f"em:{EM_STEPS}", *map(str, FIXED), "full ranking"]
SIZES = (10, 20, 50, 100, 200, 500)
USERS = (300, 1000, 3000, 6040)
KIND = Sampling.WITHOUT_REPLACEMENT
LEAST_DIFFERENCE = 0.02  # of exact metrics whose order counts


class Drawn(NamedTuple):
    """Estimates from one draw, shape (estimators, measures), the last from full rankings."""

    folder: str
    m: int
    users: int
    repeat: int
    values: np.ndarray
    exact: np.ndarray


def exact(ranks: sm.Ranks) -> np.ndarray:
    """Calculate the metrics of full rankings; shape (measures,)."""
    return np.array([metrics.values(measure, ranks).mean() for measure in MEASURES])


@lru_cache
def fixed(n: int, m: int) -> np.ndarray:
    """Vectors of the estimators that are not fitted, shape (measures, estimators, m + 1)."""
    return estimator_matrix(FIXED, MEASURES, n, m, sampling=KIND)


@lru_cache
def chances(n: int, m: int) -> np.ndarray:
    """Probability of every sampled rank given the true rank, shape (n, m + 1)."""
    return pmf(np.arange(1, n + 1), n, m, KIND)


def em(shares: np.ndarray, n: int, m: int) -> np.ndarray:
    """Estimate by expectation maximisation, without the vectors of `em`; shape (measures,)."""
    ranks = np.full(n, 1.0 / n)
    for _ in range(EM_STEPS):
        ranks = em_step(chances(n, m), ranks, shares)
    return np.array([ranks @ measure.at(np.arange(1, n + 1), n) for measure in MEASURES])


def draws(folder: str, path: Path, repeats: int) -> Iterator[Drawn]:
    """Draw users and negatives of one recommender, and estimate."""
    table = pd.read_parquet(path)
    columns = [table[name].to_numpy(np.int64) for name in ("n_candidates", "n_better", "n_tied")]
    truth = exact(sm.Ranks(*columns))
    n = round(columns[0].mean())
    for m in SIZES:
        for users in USERS:
            rng = np.random.default_rng([zlib.crc32(str(path.stem).encode()), m, users])
            for repeat in range(repeats):
                chosen = rng.integers(len(table), size=users)
                candidates, better, tied = (column[chosen] for column in columns)
                place = better + rng.integers(0, tied + 1)
                sampled = rng.hypergeometric(place, candidates - 1 - place, m)
                histogram = np.bincount(sampled, minlength=m + 1)
                fitted = estimator_matrix(
                    *(FITTED, MEASURES, n, m), sampling=KIND, histogram=histogram
                )
                values = [
                    *(fitted @ histogram / users).T,
                    em(histogram / users, n, m),
                    *(fixed(n, m) @ histogram / users).T,
                    exact(sm.Ranks(candidates, better, tied)),
                ]
                yield Drawn(folder, m, users, repeat, np.array(values), truth)


def errors(found: list[Drawn]) -> np.ndarray:
    """Root mean square of relative errors by estimator."""
    relative = [drawn.values / drawn.exact - 1.0 for drawn in found]
    return np.sqrt(np.square(relative).mean(axis=(0, 2)))


def orders(found: list[Drawn]) -> np.ndarray:
    """Share of pairs of a folder that are ordered rightly, by estimator."""
    right = []
    for i, a in enumerate(found):
        for b in found[:i]:
            if a[:4] != b[:4]:
                continue
            apart = np.log(a.exact / b.exact)
            agree = np.sign(a.values - b.values) * np.sign(apart)
            right.append((agree[:, np.abs(apart) > LEAST_DIFFERENCE] + 1.0) / 2.0)
    return np.hstack(right).mean(axis=1)


def main(repeats: int) -> None:
    """Print a table for each set of recommenders."""
    for title, folders in (("chosen on", CHOSEN_ON), ("shown on", SHOWN_ON)):
        found = [
            drawn
            for folder in folders
            for path in sorted((REFERENCE / folder).glob("*.parquet"))
            if path.stem != "Random" and not path.stem.endswith(".sampled")
            for drawn in draws(folder, path, repeats)
        ]
        table = pd.DataFrame({f"m = {m}": errors([d for d in found if d.m == m]) for m in SIZES})
        for users in USERS:
            table[f"{users} users"] = errors([d for d in found if d.users == users])
        table["right orders"] = orders(found)
        table.index = pd.Index(NAMES)
        print(f"\n{title} {', '.join(folders)}\n{table.round(3).to_string()}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
