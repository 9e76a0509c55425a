"""How far estimators are from exact metrics; `make measure PAGE=estimators`.

Writes the tables of docs/measured/estimators.md. Recommenders are those of results/reference: the
two numbers of `likely` were chosen on MovieLens 1M and other data, the rest shows their worth.
Those of other catalogues are measured where results/catalogues holds them, see
benchmarks/archive/catalogues.py; else the table on the page stays. Users are drawn with
replacement, and their negatives without.
"""

import sys
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import sampled_metrics as sm
from benchmarks.markdown import write_table
from sampled_metrics import metrics
from sampled_metrics.estimators import em_step, estimator_matrix, parse_estimators
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/measured/estimators.md"
REFERENCE = ROOT / "results/reference"
CATALOGUES = ROOT / "results/catalogues"
CHOSEN_ON = ("ranks", "ml-1m/ranks")
SHOWN_ON = ("ml-100k/ranks", "global-time/ranks", "ncf")
METRICS = ("recall@10", "ndcg@10", "ap", "recall@1", "auc")
FIRST = 3  # of them in one mean
MEASURES = [parse_measure(name) for name in METRICS]
FITTED = parse_estimators("likely")
FIXED = parse_estimators("bv:0.01, bv:0.1, cls, sampled")
EM_STEPS = 50
NAMES = [*map(str, FITTED), f"em:{EM_STEPS}", *map(str, FIXED), "full ranking"]
PUBLISHED = slice(1, 5)  # em, bv and cls
SIZES = (10, 20, 50, 100, 200, 500)
USERS = (300, 1000, 3000, 6040)
KIND = Sampling.WITHOUT_REPLACEMENT
LEAST_DIFFERENCE = 0.02  # of exact metrics whose order counts


class Recommender(NamedTuple):
    """Full rankings of one recommender."""

    folder: str
    name: str
    ranks: sm.Ranks

    @property
    def n(self) -> int:
        """Mean number of candidates, rounded."""
        return round(float(self.ranks.n_candidates.mean()))

    def drawn(self, rng: np.random.Generator, users: int, m: int) -> tuple[sm.Ranks, np.ndarray]:
        """Draw users and their negatives: full rankings, and users at every sampled rank."""
        chosen = rng.integers(len(self.ranks), size=users)
        ranks = self.ranks.take(chosen)
        before = ranks.n_better + rng.integers(0, ranks.n_tied + 1)
        sampled = rng.hypergeometric(before, ranks.n_candidates - 1 - before, m)
        return ranks, np.bincount(sampled, minlength=m + 1)

    def generator(self, *about: int) -> np.random.Generator:
        """Return a generator of its own for an experiment."""
        return np.random.default_rng([zlib.crc32(f"{self.folder} {self.name}".encode()), *about])


class Drawn(NamedTuple):
    """Estimates from one draw, shape (estimators, measures), the last from full rankings."""

    folder: str
    m: int
    users: int
    repeat: int
    values: np.ndarray
    exact: np.ndarray


def recommenders(root: Path, folders: Iterable[str]) -> list[Recommender]:
    """Read full rankings; a random order is left out."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).glob("*.parquet")):
            if path.stem != "Random" and not path.stem.endswith(".sampled"):
                table = pd.read_parquet(path)
                columns = ("n_candidates", "n_better", "n_tied")
                ranks = sm.Ranks(*(table[name].to_numpy(np.int64) for name in columns))
                found.append(Recommender(folder, path.stem, ranks))
    return found


def exact(ranks: sm.Ranks) -> np.ndarray:
    """Calculate the metrics of full rankings; shape (measures,)."""
    values = np.array([metrics.values(measure, ranks).mean() for measure in MEASURES])
    return np.where(values > 0.0, values, np.nan)  # no relative error from 0


@lru_cache(maxsize=64)
def fixed(n: int, m: int) -> np.ndarray:
    """Vectors of the estimators that are not fitted, shape (measures, estimators, m + 1)."""
    return estimator_matrix(FIXED, MEASURES, n, m, sampling=KIND)


@lru_cache(maxsize=64)
def chances(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks that stand for all, their weights, and probabilities of sampled ranks."""
    ranks, weights = rank_rule(MEASURES, n, m)
    return ranks, weights, pmf_at(ranks, n, m, KIND)


def em(shares: np.ndarray, n: int, m: int) -> np.ndarray:
    """Estimate by expectation maximisation, without the vectors of `em`; shape (measures,)."""
    ranks, weights, given = chances(n, m)
    share = weights / n
    for _ in range(EM_STEPS):
        share = em_step(given, share, shares)
    return np.array([share @ measure.value_at(ranks, n) for measure in MEASURES])


def likely(histogram: np.ndarray, n: int, m: int) -> np.ndarray:
    """Vectors of `likely`, shape (measures, m + 1)."""
    return estimator_matrix(FITTED, MEASURES, n, m, sampling=KIND, histogram=histogram)[:, 0]


def estimates(histogram: np.ndarray, n: int, m: int) -> np.ndarray:
    """Estimate by all estimators, shape (estimators, measures)."""
    shares = histogram / histogram.sum()
    return np.array([likely(histogram, n, m) @ shares, em(shares, n, m), *(fixed(n, m) @ shares).T])


def draws(found: Iterable[Recommender], repeats: int) -> Iterator[Drawn]:
    """Draw users and negatives of recommenders, and estimate."""
    for one in found:
        truth = exact(one.ranks)
        for m in SIZES:
            for users in USERS:
                rng = one.generator(m, users)
                for repeat in range(repeats):
                    ranks, histogram = one.drawn(rng, users, m)
                    values = np.vstack([estimates(histogram, one.n, m), exact(ranks)])
                    yield Drawn(one.folder, m, users, repeat, values, truth)


def errors(found: Iterable[Drawn], measures: slice = slice(FIRST)) -> np.ndarray:
    """Root mean square of relative errors by estimator."""
    relative = [(drawn.values / drawn.exact - 1.0)[:, measures] for drawn in found]
    return np.sqrt(np.nanmean(np.square(relative), axis=(0, 2)))


def orders(found: list[Drawn]) -> np.ndarray:
    """Share of pairs of a folder that are ordered rightly, by estimator."""
    right = []
    for i, a in enumerate(found):
        for b in found[:i]:
            if a[:4] != b[:4]:
                continue
            apart = np.log(a.exact / b.exact)[:FIRST]
            agree = np.sign(a.values - b.values)[:, :FIRST] * np.sign(apart)
            right.append((agree[:, np.abs(apart) > LEAST_DIFFERENCE] + 1.0) / 2.0)
    return np.hstack(right).mean(axis=1)


def number(value: float) -> str:
    """Write a share or a relative error."""
    return f"{value:.3f}"


def by_size(found: list[Drawn]) -> list[dict[str, str]]:
    """Errors by number of negatives and of users, and right orders."""
    columns = {f"m = {m}": errors(d for d in found if d.m == m) for m in SIZES}
    columns |= {f"{users:,} users": errors(d for d in found if d.users == users) for users in USERS}
    columns["right orders"] = orders(found)
    rows = []
    for place, name in enumerate(NAMES):
        cells = {column: number(values[place]) for column, values in columns.items()}
        rows.append({"estimator": name} | cells)
    return rows


def by_metric(found: list[Drawn]) -> list[dict[str, str]]:
    """Errors by metric at 20 and 100 negatives, and those of `likely` by the best published one."""
    columns = {}
    for m in (20, 100):
        for place, metric in enumerate(METRICS):
            of_size = [drawn for drawn in found if drawn.m == m]
            columns[f"{metric}, m = {m}"] = errors(of_size, slice(place, place + 1))
    rows = []
    for place, name in enumerate(NAMES):
        cells = {column: number(values[place]) for column, values in columns.items()}
        rows.append({"estimator": name} | cells)
    last = {}
    for column, values in columns.items():
        last[column] = f"{values[0] / values[PUBLISHED].min():.2f}"
    rows.append({"estimator": "likely / best of em, bv, cls"} | last)
    return rows


def by_catalogue(found: list[Drawn]) -> list[dict[str, str]]:
    """Errors by catalogue at 20, 100 and 500 negatives."""
    rows = []
    for place, name in enumerate(NAMES):
        row = {"estimator": name}
        for folder in dict.fromkeys(drawn.folder for drawn in found):
            for m in (20, 100, 500):
                of_both = [d for d in found if d.folder == folder and d.m == m]
                row[f"{folder.partition('_')[0]}, {m}"] = number(errors(of_both)[place])
        rows.append(row)
    return rows


def main(repeats: int) -> None:
    """Write the tables of errors."""
    chosen = list(draws(recommenders(REFERENCE, CHOSEN_ON), repeats))
    write_table(PAGE, by_size(chosen), "chosen on")
    shown = list(draws(recommenders(REFERENCE, SHOWN_ON), repeats))
    write_table(PAGE, by_size(shown), "shown on")
    write_table(PAGE, by_metric(chosen + shown), "metrics")
    folders = sorted(path.name for path in CATALOGUES.glob("*") if path.is_dir())
    if folders:
        others = list(draws(recommenders(CATALOGUES, folders), repeats))
        write_table(PAGE, by_size(others), "catalogues")
        write_table(PAGE, by_catalogue(others), "each catalogue")
        write_table(PAGE, by_metric(others), "metrics of catalogues")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
