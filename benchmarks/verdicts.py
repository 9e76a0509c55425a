"""How often sampled ranks give the right order of two recommenders, a wrong order, or none.

    python -m benchmarks.verdicts [--seeds N] [--metric NAME ...] [--negatives M ...]

Writes results/reference/verdicts.md and verdicts.csv for all pairs of recommenders of the reference
run on MovieLens 100K and on MovieLens 1M. The right order is that of the exact metrics for the same
users. Negatives are drawn without replacement.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.coverage import REFERENCE
from sampled_metrics import metrics
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.text import format_table
from sampled_metrics.estimators import parse_estimators
from sampled_metrics.evaluation.correct import estimate_from_sample
from sampled_metrics.intervals.ranges import Differences, bracket_users
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks

DATASETS = {"MovieLens 100K": ("ml-100k/ranks",), "MovieLens 1M": ("ranks", "ml-1m/ranks")}
NEGATIVES = (5, 10, 20, 50, 100, 200, 500)
METRICS = ("recall@10", "ndcg@10", "ap")
ESTIMATORS = ("cls", "bv:0.1")
METHODS = ("range", *ESTIMATORS)
SIGNIFICANT = 1.96
MOST_WRONG = 0.02
CLASSES = {"< 10 %": 0.0, "10-20 %": 0.1, "20-50 %": 0.2, "> 50 %": 0.5}


def read_recommenders(dataset: str) -> dict[str, Ranks]:
    """Read the ranks of the recommenders, by name."""
    paths = [path for name in DATASETS[dataset] for path in (REFERENCE / name).glob("*.parquet")]
    return {path.stem: Ranks.read(path) for path in sorted(paths)}


def order_pairs(dataset: str, m: int, seed: int, names: tuple[str, ...]) -> list[dict[str, object]]:
    """Order all pairs by all methods with one draw: 1 if B is above A, -1 if below, else 0."""
    measures, estimates = tuple(map(parse_measure, names)), {}
    for name, ranks in read_recommenders(dataset).items():
        sampled_ranks = draw_sampled_ranks(ranks, m, generator(seed, dataset, name, m))
        sample = SampledRanks(
            sampled_ranks, ranks.n_candidates, m, users=np.arange(sampled_ranks.size)
        )
        bracketed = bracket_users(sample, measures)
        estimates[name] = estimate_from_sample(
            sample, measures, parse_estimators(ESTIMATORS), bracketed
        )
    rows = []
    for a, b in combinations(estimates, 2):
        differences = Differences(estimates[a].bracketed, estimates[b].bracketed)
        for i, measure in enumerate(measures):
            interval = differences.range(i)
            signs = [int(interval.low > 0) - int(interval.high < 0)]
            for j in range(len(ESTIMATORS)):
                difference = estimates[b].user_values(i, j) - estimates[a].user_values(i, j)
                mean = difference.mean()
                error = difference.std(ddof=1) / np.sqrt(difference.size)
                signs.append(int(np.sign(mean)) if abs(mean) > SIGNIFICANT * error else 0)
            keys = {"dataset": dataset, "metric": str(measure), "n_negatives": m, "a": a, "b": b}
            rows.append(keys | dict(zip(METHODS, signs, strict=True)))
    return rows


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Count the wrong and the right orders of each pair."""
    truth: dict[tuple[str, str], dict[str, float]] = {}
    for dataset, metric in rows.groupby(["dataset", "metric"]).groups:
        truth[dataset, metric] = {
            name: float(metrics.values(parse_measure(metric), ranks).mean())
            for name, ranks in read_recommenders(dataset).items()
        }
    rows_of_pairs = []
    keys = ["dataset", "metric", "n_negatives", "a", "b"]
    for key, pair in rows.groupby(keys, sort=False):
        a, b = (truth[key[:2]][name] for name in key[3:])
        counts = {"exact_a": a, "exact_b": b, "relative": max(a, b) / min(a, b) - 1.0}
        counts["seeds"] = len(pair)
        for method in METHODS:
            right = pair[method] * np.sign(b - a)
            counts |= {f"{method} wrong": (right < 0).sum(), f"{method} right": (right > 0).sum()}
        rows_of_pairs.append(dict(zip(keys, key, strict=True)) | counts)
    return pd.DataFrame(rows_of_pairs)


def report(table: pd.DataFrame) -> Iterator[str]:
    """Yield the tables of the results in Markdown."""
    place = np.searchsorted([*CLASSES.values()], table["relative"], side="right") - 1
    table = table.assign(size=np.array([*CLASSES])[place])
    for (dataset, metric), rows in table.groupby(["dataset", "metric"], sort=False):
        sizes = [size for size in CLASSES if (rows["size"] == size).any()]
        pairs = {size: len(rows[rows["size"] == size].groupby(["a", "b"])) for size in sizes}
        counted = ", ".join(f"{pairs[size]} of {size}" for size in sizes)
        yield f"\n## {dataset}, {metric}\n\nPairs: {counted}.\n"
        lines = []
        for m, rows_of_m in rows.groupby("n_negatives"):
            lines.append({"m": m})
            for size, method in product(sizes, METHODS):
                shares = shares_of(rows_of_m[rows_of_m["size"] == size], method)
                text = " / ".join(f"{100 * share:.0f}" for share in shares)
                lines[-1][f"{size}: {method}"] = text
        yield format_table(lines, "pipe")
    pairs = table[table["range wrong"] > MOST_WRONG * table["seeds"]]
    total, bad = table["seeds"].sum(), table["range wrong"].sum()
    yield f"\nIn all: {bad:,} of {total:,} orders by range are wrong,"
    yield f"in more than {100 * MOST_WRONG:g} % of the draws for {len(pairs)} pairs and m.\n"
    for method in METHODS:
        wrong, right = shares_of(table, method)
        yield f"- {method}: {100 * wrong:.2f} % wrong, {100 * right:.1f} % right"


def shares_of(table: pd.DataFrame, method: str) -> list[float]:
    """Return the shares of draws in which a method gives the wrong, and the right, order."""
    total = table["seeds"].sum()
    return [table[f"{method} {what}"].sum() / total for what in ("wrong", "right")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--metric", nargs="+", default=METRICS)
    parser.add_argument("--negatives", type=int, nargs="+", default=NEGATIVES)
    parser.add_argument("--output", type=Path, default=REFERENCE)
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        jobs = [
            pool.submit(order_pairs, dataset, m, seed, tuple(options.metric))
            for dataset in DATASETS
            for m in options.negatives
            for seed in range(options.seeds)
        ]
        table = summarise(pd.DataFrame([row for job in jobs for row in job.result()]))
    table = table.sort_values(["dataset", "metric"], kind="stable")
    table.to_csv(options.output / "verdicts.csv", index=False, float_format="%.5g")
    lines = [
        "# Orders of two recommenders by sampled ranks\n",
        f"`make measure PAGE=verdicts`; every pair in [verdicts.csv](verdicts.csv). All pairs "
        f"of the recommenders on MovieLens 100K and 1M, {options.seeds} draws of m negatives each, "
        "independently for each recommender. In a cell: percent of draws in which the order is "
        "wrong / right, by the 95 % range of the difference and by the sign of an estimated "
        "difference of more than 1.96 standard errors; the rest is undecided. Columns are classes "
        "of pairs by how far their exact metrics differ, relative to the smaller.",
        *report(table),
    ]
    (options.output / "verdicts.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
