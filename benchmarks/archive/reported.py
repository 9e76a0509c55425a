"""How often the range of printed numbers holds the exact HR@10; `make measure PAGE=reported`.

    python -m benchmarks.archive.reported [--experiments N] [--recommenders NAME ...]

Draws users of a recommender and negatives for them, prints sampled metrics to four decimals, and
computes the range from them. Writes docs/measured/reported.md.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sampled_metrics import InputError, Ranks, reported
from sampled_metrics._base.array_types import Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics_study.tables import to_markdown

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results/reference"
NAMES = {
    "MovieLens 1M": [FOLDER / f"ranks/{name}.parquet" for name in "XYZ"],
    "MovieLens 1M, NCF": [FOLDER / f"ncf/{name}.parquet" for name in ("GMF", "MLP")],
    "MovieLens 100K": [
        FOLDER / f"ml-100k/ranks/{name}.parquet"
        for name in ("Factors", "AllNeighbours", "TenNeighbours")
    ],
}
N_ITEMS = 3541  # of a random order
PAGE = ROOT / "docs/measured/reported.md"
SIZES, PRINTED = (20, 100), ("HR@10 NDCG@10", "HR@1 HR@5 HR@10")
USERS = (500, 6040)


def populations() -> Iterator[tuple[str, str, int, Int]]:
    """Yield data, recommender, number of candidates and true ranks of each population."""
    for data, paths in NAMES.items():
        for path in paths:
            ranks = Ranks.read(path)
            ties = generator(0, "ties").integers(0, ranks.n_tied + 1)
            n = ranks.mean_candidates
            yield data, path.stem, n, np.minimum(ranks.best_rank + ties, n)
    yield "", "random order", N_ITEMS, np.arange(1, N_ITEMS + 1)


def measure_cell(true: Int, n: int, printed: str, m: int, users: int, experiments: int) -> str:
    """Format the percentage of ranges that contain the exact metric, and of refusals."""
    names = printed.split()
    rng = generator(0, printed, m, users)
    exact = (true <= 10).mean()
    credit = [parse_measure(name).value_at(np.arange(1, m + 2), m + 1) for name in names]
    n_held = n_refused = 0
    for _ in range(experiments):
        rank = rng.choice(true, users)
        place = rng.hypergeometric(rank - 1, n - rank, m)
        numbers = {
            name: f"{values[place].mean():.4f}" for name, values in zip(names, credit, strict=True)
        }
        try:
            estimate = reported(numbers, "HR@10", n_items=n, n_negatives=m, n_users=users)[0]
        except InputError:
            n_refused += 1
            continue
        n_held += estimate.range_low <= exact <= estimate.range_high
    text = f"{100 * n_held / max(experiments - n_refused, 1):.1f}"
    if n_refused:
        text += f" ({100 * n_refused / experiments:.1f})"
    return text


def main() -> None:
    """Write the page."""
    all_populations = list(populations())
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=400, help="of each cell")
    parser.add_argument(
        "--recommenders", nargs="*", default=[name for _, name, *_ in all_populations]
    )
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        for data, recommender, n, true in all_populations:
            if recommender not in options.recommenders:
                continue
            for printed in PRINTED:
                row: dict[str, object] = {"data": data, "recommender": recommender}
                row["printed"] = printed
                for m, users in product(SIZES, USERS):
                    arguments = true, n, printed, m, users, options.experiments
                    row[f"m = {m}, {users:,} users"] = pool.submit(measure_cell, *arguments)
                rows.append(row)
        for row in rows:
            for name, value in row.items():
                if isinstance(value, Future):
                    row[name] = value.result()
            print(row, flush=True)
    times = os.times()
    cpu = round(times.children_user + times.children_system)
    text = (
        "# Coverage of ranges from printed numbers\n\n"
        f"How often, in percent of {options.experiments} experiments, the range that `reported` "
        "computes, at 95 %, from sampled metrics\nprinted to four decimals holds the exact HR@10 "
        "of the population of users; in brackets how often the numbers\nwere refused. Users are "
        "drawn with replacement, negatives without. `make measure PAGE=reported` writes this\n"
        f"page; {cpu} s of CPU time.\n\n"
    )
    options.output.write_text(f"{text}{to_markdown(pd.DataFrame(rows))}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
