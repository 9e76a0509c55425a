"""How often sampled ranks put two recommenders in the right order, the wrong one or in none.

    python tests/benchmarks/verdicts.py [--seeds N] [--metric NAME ...] [--negatives M ...]

Writes results/reference/verdicts.md and verdicts.csv, for all pairs of the recommenders of the
reference run on MovieLens 100K and on MovieLens 1M. The order by range is that of the exact metrics
if the 95 % range of the paired difference excludes 0, else undecided; the order by an estimator is
the sign of the paired difference if it is more than 1.96 standard errors from 0. What is right is
the order of the exact metrics of the same users. Negatives are drawn without replacement, and
independently for each recommender, because ranks do not tell which negatives are ranked above;
with the same negatives for all, the range of the difference is narrower.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from populations import REFERENCE
from threadpoolctl import threadpool_limits

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.seeds import generator
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.crossfit import Values, fitted, user_values
from sampled_metrics.inference.kernels import NON_INCREASING
from sampled_metrics.inference.ranges import _difference_end, _negative
from sampled_metrics.metrics.measures import Measure, parse_measure
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
Orders = dict[str, Float]


class Evaluated(NamedTuple):
    """One recommender with one draw of negatives: values of users."""

    lower: Values
    upper: Values
    estimates: Float  # shape (estimators, users)


def recommenders(dataset: str) -> dict[str, Ranks]:
    """Rank records by name."""
    paths = [path for name in DATASETS[dataset] for path in (REFERENCE / name).glob("*.parquet")]
    return {path.stem: Ranks.read(path) for path in sorted(paths)}


def exact(dataset: str, measure: Measure) -> dict[str, float]:
    """Exact metrics by name."""
    return {
        name: float(metrics.values(measure, ranks).mean())
        for name, ranks in recommenders(dataset).items()
    }


def orders(dataset: str, m: int, seed: int, names: tuple[str, ...]) -> list[dict[str, object]]:
    """Order of all pairs by all methods with one draw: 1 if B is above A, -1 below, else 0."""
    measures = [parse_measure(name) for name in names]
    evaluated = {
        name: evaluate(ranks, measures, m, generator(seed, dataset, name, m))
        for name, ranks in recommenders(dataset).items()
    }
    return [
        {
            "dataset": dataset,
            "metric": str(measure),
            "n_negatives": m,
            "a": a,
            "b": b,
            **dict(zip(METHODS, signs(evaluated[a][place], evaluated[b][place]), strict=True)),
        }
        for a, b in combinations(evaluated, 2)
        for place, measure in enumerate(measures)
    ]


def evaluate(
    ranks: Ranks, measures: list[Measure], m: int, rng: np.random.Generator
) -> list[Evaluated]:
    """Draw negatives and compute what pairs need, for each metric."""
    drawn = draw_sampled_ranks(ranks, m, rng)
    sample = SampledRanks(drawn, ranks.n_candidates, m)
    fit = fitted(sample, NON_INCREASING, CONFIDENCE)
    vectors = estimator_matrix(
        [parse_estimator(name) for name in ESTIMATORS],
        measures,
        sample.mean_candidates,
        m,
        sampling=sample.sampling,
    )
    return [
        Evaluated(*user_values(measure, fit), estimates=vector[:, drawn - 1])
        for measure, vector in zip(measures, vectors, strict=True)
    ]


def signs(a: Evaluated, b: Evaluated) -> list[int]:
    """Order by each method."""
    all_users = np.arange(a.lower.of_users.size)
    pairs = (all_users, all_users)
    low = -_difference_end(_negative(b.lower), a.upper, pairs, CONFIDENCE)
    high = _difference_end(b.upper, _negative(a.lower), pairs, CONFIDENCE)
    difference = b.estimates - a.estimates
    error = difference.std(axis=1, ddof=1) / np.sqrt(all_users.size)
    significant = np.abs(difference.mean(axis=1)) > SIGNIFICANT * error
    return [int(low > 0) - int(high < 0), *(np.sign(difference.mean(axis=1)) * significant)]


def summarised(rows: pd.DataFrame) -> pd.DataFrame:
    """Count wrong and right orders of every pair."""
    truth = {
        (dataset, metric): exact(dataset, parse_measure(metric))
        for dataset, metric in rows.groupby(["dataset", "metric"]).groups
    }
    counted = []
    keys = ["dataset", "metric", "n_negatives", "a", "b"]
    for key, pair in rows.groupby(keys, sort=False):
        a, b = (truth[key[:2]][name] for name in key[3:])
        counts = {"exact_a": a, "exact_b": b, "relative": max(a, b) / min(a, b) - 1.0}
        counts["seeds"] = len(pair)
        for method in METHODS:
            right = pair[method] * np.sign(b - a)
            counts[f"{method} wrong"], counts[f"{method} right"] = (
                (right < 0).sum(),
                (right > 0).sum(),
            )
        counted.append(dict(zip(keys, key, strict=True)) | counts)
    return pd.DataFrame(counted)


def report(table: pd.DataFrame) -> Iterator[str]:
    """Tables of the results in Markdown."""
    place = np.searchsorted([*CLASSES.values()], table["relative"], side="right") - 1
    table = table.assign(size=np.array([*CLASSES])[place])
    wrong = []
    for (dataset, metric), rows in table.groupby(["dataset", "metric"], sort=False):
        sizes = [size for size in CLASSES if (rows["size"] == size).any()]
        pairs = {size: len(rows[rows["size"] == size].groupby(["a", "b"])) for size in sizes}
        counted = ", ".join(f"{pairs[size]} of {size}" for size in sizes)
        yield f"\n## {dataset}, {metric}\n\nPairs: {counted}.\n"
        header = [
            f"{size}: {METHODS[0]}" if method == METHODS[0] else method
            for size in sizes
            for method in METHODS
        ]
        yield "| m | " + " | ".join(header) + " |"
        yield "| ---: |" + " ---: |" * len(header)
        for m, of_m in rows.groupby("n_negatives"):
            cells = []
            for size in sizes:
                cell = of_m[of_m["size"] == size]
                for method in METHODS:
                    shares = [
                        cell[f"{method} {what}"].sum() / cell["seeds"].sum()
                        for what in ("wrong", "right")
                    ]
                    cells.append(" / ".join(f"{100 * share:.0f}" for share in shares))
                    if method == "range":
                        wrong.append((shares[0], f"{dataset}, {metric}, m = {m}, {size}"))
            yield f"| {m} | " + " | ".join(cells) + " |"
    above = [f"{name}: {100 * share:.1f} %" for share, name in wrong if share > MOST_WRONG]
    yield f"\nOf {len(wrong)} cells, the range is wrong in more than 2 % in {len(above)}."
    yield from (f"- {line}" for line in above)
    pairs = table[table["range wrong"] > MOST_WRONG * table["seeds"]]
    total, bad = table["seeds"].sum(), table["range wrong"].sum()
    yield f"\nIn all: {bad:,} of {total:,} orders by range are wrong, in {len(pairs)} pairs and m."
    for method in METHODS:
        shares = [table[f"{method} {what}"].sum() / total for what in ("wrong", "right")]
        yield f"- {method}: {100 * shares[0]:.2f} % wrong, {100 * shares[1]:.1f} % right"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--metric", nargs="+", default=METRICS)
    parser.add_argument("--negatives", type=int, nargs="+", default=NEGATIVES)
    parser.add_argument("--output", type=Path, default=REFERENCE)
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        jobs = [
            pool.submit(orders, dataset, m, seed, tuple(options.metric))
            for dataset in DATASETS
            for m in options.negatives
            for seed in range(options.seeds)
        ]
        table = summarised(pd.DataFrame([row for job in jobs for row in job.result()]))
    table = table.sort_values(["dataset", "metric"], kind="stable")
    table.to_csv(options.output / "verdicts.csv", index=False, float_format="%.5g")
    lines = [
        "# Orders of two recommenders by sampled ranks\n",
        f"`make verdicts`; every pair in [verdicts.csv](verdicts.csv). All pairs of the "
        f"recommenders on MovieLens 100K and 1M, {options.seeds} draws of m negatives each, "
        "independently for each recommender. In a cell: percent of draws in which the order is "
        "wrong / right, by the 95 % range of the difference and by the sign of an estimated "
        "difference of more than 1.96 standard errors; the rest is undecided. Columns are classes "
        "of pairs by how far their exact metrics differ, relative to the smaller.",
        *report(table),
    ]
    (options.output / "verdicts.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
