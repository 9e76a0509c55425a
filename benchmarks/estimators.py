"""Errors of estimators of exact metrics; `make measure PAGE=estimators`.

Writes tables of docs/measured/estimators.md. The recommenders are those of results/reference. The
two constants of `likely` were chosen on MovieLens 1M and other data; the other recommenders test
them. Recommenders on other catalogues are measured if results/catalogues has their ranks, see
benchmarks/archive/catalogues.py; otherwise their tables on the page stay. Users are drawn with
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
AVERAGED = 3  # errors are averaged over the first three metrics
MEASURES = [parse_measure(name) for name in METRICS]
FITTED = parse_estimators("likely")
FIXED = parse_estimators("bv:0.01, bv:0.1, cls, sampled")
EM_STEPS = 50
NAMES = [*map(str, FITTED), f"em:{EM_STEPS}", *map(str, FIXED), "full ranking"]
PUBLISHED = slice(1, 5)  # em, bv and cls
SIZES = (10, 20, 50, 100, 200, 500)
USERS = (300, 1000, 3000, 6040)
KIND = Sampling.WITHOUT_REPLACEMENT
LEAST_DIFFERENCE = 0.02  # relative; orders of closer metrics are not counted


class Recommender(NamedTuple):
    """A recommender and its full rankings."""

    folder: str
    name: str
    ranks: sm.Ranks

    @property
    def n(self) -> int:
        """Mean number of candidates, rounded."""
        return round(float(self.ranks.n_candidates.mean()))

    def drawn(self, rng: np.random.Generator, users: int, m: int) -> tuple[sm.Ranks, np.ndarray]:
        """Draw users and negatives; return full ranks, and the number of users by sampled rank."""
        chosen = rng.integers(len(self.ranks), size=users)
        ranks = self.ranks.take(chosen)
        before = ranks.n_better + rng.integers(0, ranks.n_tied + 1)
        sampled = rng.hypergeometric(before, ranks.n_candidates - 1 - before, m)
        return ranks, np.bincount(sampled, minlength=m + 1)

    def generator(self, *about: int) -> np.random.Generator:
        """Return the random generator of an experiment."""
        return np.random.default_rng([zlib.crc32(f"{self.folder} {self.name}".encode()), *about])


class Estimates(NamedTuple):
    """Estimates from one draw, shape (estimators, measures); the last row is from full rankings."""

    folder: str
    m: int
    users: int
    repeat: int
    values: np.ndarray
    exact: np.ndarray


def read_recommenders(root: Path, folders: Iterable[str]) -> list[Recommender]:
    """Read the full rankings of all recommenders except Random."""
    recommenders = []
    for folder in folders:
        for path in sorted((root / folder).glob("*.parquet")):
            if path.stem != "Random" and not path.stem.endswith(".sampled"):
                table = pd.read_parquet(path)
                columns = ("n_candidates", "n_better", "n_tied")
                ranks = sm.Ranks(*(table[name].to_numpy(np.int64) for name in columns))
                recommenders.append(Recommender(folder, path.stem, ranks))
    return recommenders


def exact_metrics(ranks: sm.Ranks) -> np.ndarray:
    """Calculate the metrics of full rankings; shape (measures,)."""
    values = np.array([metrics.values(measure, ranks).mean() for measure in MEASURES])
    return np.where(values > 0.0, values, np.nan)  # no relative error from 0


@lru_cache(maxsize=64)
def fixed_vectors(n: int, m: int) -> np.ndarray:
    """Return the vectors of fixed estimators, shape (measures, estimators, m + 1)."""
    return estimator_matrix(FIXED, MEASURES, n, m, sampling=KIND)


@lru_cache(maxsize=64)
def rank_probabilities(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return representative ranks, their weights, and the probabilities of sampled ranks."""
    ranks, weights = rank_rule(MEASURES, n, m)
    return ranks, weights, pmf_at(ranks, n, m, KIND)


def estimate_by_em(shares: np.ndarray, n: int, m: int) -> np.ndarray:
    """Estimate by expectation maximisation, without the vectors of `em`; shape (measures,)."""
    ranks, weights, probabilities = rank_probabilities(n, m)
    share = weights / n
    for _ in range(EM_STEPS):
        share = em_step(probabilities, share, shares)
    return np.array([share @ measure.value_at(ranks, n) for measure in MEASURES])


def likely_vectors(histogram: np.ndarray, n: int, m: int) -> np.ndarray:
    """Return the vectors of `likely`, shape (measures, m + 1)."""
    return estimator_matrix(FITTED, MEASURES, n, m, sampling=KIND, histogram=histogram)[:, 0]


def estimate_by_all(histogram: np.ndarray, n: int, m: int) -> np.ndarray:
    """Estimate with all estimators; shape (estimators, measures)."""
    shares = histogram / histogram.sum()
    return np.array(
        [
            likely_vectors(histogram, n, m) @ shares,
            estimate_by_em(shares, n, m),
            *(fixed_vectors(n, m) @ shares).T,
        ]
    )


def draw_estimates(recommenders: Iterable[Recommender], repeats: int) -> Iterator[Estimates]:
    """Draw users and negatives of recommenders, and yield the estimates."""
    for recommender in recommenders:
        truth = exact_metrics(recommender.ranks)
        for m in SIZES:
            for users in USERS:
                rng = recommender.generator(m, users)
                for repeat in range(repeats):
                    ranks, histogram = recommender.drawn(rng, users, m)
                    values = np.vstack(
                        [estimate_by_all(histogram, recommender.n, m), exact_metrics(ranks)]
                    )
                    yield Estimates(recommender.folder, m, users, repeat, values, truth)


def root_mean_square_errors(
    estimates: Iterable[Estimates], measures: slice = slice(AVERAGED)
) -> np.ndarray:
    """Return the root mean square of relative errors by estimator."""
    relative = [(draw.values / draw.exact - 1.0)[:, measures] for draw in estimates]
    return np.sqrt(np.nanmean(np.square(relative), axis=(0, 2)))


def share_of_right_orders(estimates: list[Estimates]) -> np.ndarray:
    """Return the share of pairs of a folder in the right order, by estimator."""
    right = []
    for i, a in enumerate(estimates):
        for b in estimates[:i]:
            if a[:4] != b[:4]:
                continue
            difference = np.log(a.exact / b.exact)[:AVERAGED]
            agree = np.sign(a.values - b.values)[:, :AVERAGED] * np.sign(difference)
            right.append((agree[:, np.abs(difference) > LEAST_DIFFERENCE] + 1.0) / 2.0)
    return np.hstack(right).mean(axis=1)


def format_number(value: float) -> str:
    """Format a share or a relative error."""
    return f"{value:.3f}"


def rows_by_size(estimates: list[Estimates]) -> list[dict[str, str]]:
    """Tabulate errors by number of negatives and of users, and shares of right orders."""
    columns = {f"m = {m}": root_mean_square_errors(d for d in estimates if d.m == m) for m in SIZES}
    columns |= {
        f"{users:,} users": root_mean_square_errors(d for d in estimates if d.users == users)
        for users in USERS
    }
    columns["right orders"] = share_of_right_orders(estimates)
    rows = []
    for place, name in enumerate(NAMES):
        cells = {column: format_number(values[place]) for column, values in columns.items()}
        rows.append({"estimator": name} | cells)
    return rows


def rows_by_metric(estimates: list[Estimates]) -> list[dict[str, str]]:
    """Tabulate errors by metric, and the ratio of `likely` to the best published estimator."""
    columns = {}
    for m in (20, 100):
        for place, metric in enumerate(METRICS):
            estimates_of_size = [draw for draw in estimates if draw.m == m]
            columns[f"{metric}, m = {m}"] = root_mean_square_errors(
                estimates_of_size, slice(place, place + 1)
            )
    rows = []
    for place, name in enumerate(NAMES):
        cells = {column: format_number(values[place]) for column, values in columns.items()}
        rows.append({"estimator": name} | cells)
    last = {}
    for column, values in columns.items():
        last[column] = f"{values[0] / values[PUBLISHED].min():.2f}"
    rows.append({"estimator": "likely / best of em, bv, cls"} | last)
    return rows


def rows_by_catalogue(estimates: list[Estimates]) -> list[dict[str, str]]:
    """Tabulate errors by catalogue at 20, 100 and 500 negatives."""
    rows = []
    for place, name in enumerate(NAMES):
        row = {"estimator": name}
        for folder in dict.fromkeys(draw.folder for draw in estimates):
            for m in (20, 100, 500):
                selected = [d for d in estimates if d.folder == folder and d.m == m]
                row[f"{folder.partition('_')[0]}, {m}"] = format_number(
                    root_mean_square_errors(selected)[place]
                )
        rows.append(row)
    return rows


def main(repeats: int) -> None:
    """Write the tables of errors."""
    chosen = list(draw_estimates(read_recommenders(REFERENCE, CHOSEN_ON), repeats))
    write_table(PAGE, rows_by_size(chosen), "chosen on")
    shown = list(draw_estimates(read_recommenders(REFERENCE, SHOWN_ON), repeats))
    write_table(PAGE, rows_by_size(shown), "shown on")
    write_table(PAGE, rows_by_metric(chosen + shown), "metrics")
    folders = sorted(path.name for path in CATALOGUES.glob("*") if path.is_dir())
    if folders:
        others = list(draw_estimates(read_recommenders(CATALOGUES, folders), repeats))
        write_table(PAGE, rows_by_size(others), "catalogues")
        write_table(PAGE, rows_by_catalogue(others), "each catalogue")
        write_table(PAGE, rows_by_metric(others), "metrics of catalogues")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
