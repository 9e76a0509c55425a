"""How often the range of printed numbers holds the exact HR@10; `make coverage-reported`.

Draws users from those of a recommender, and negatives for them, prints sampled metrics to four
decimals, and asks for the range. Writes docs/measured/reported.md. EXPERIMENTS=20 runs fewer.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from sampled_metrics import InputError, Ranks, reported
from sampled_metrics._base.arrays import Int, generator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.study.printed import markdown

ROOT = Path(__file__).parents[1]
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
EXPERIMENTS = int(os.environ.get("EXPERIMENTS", "400"))
SIZES, PRINTED = (20, 100), ("HR@10 NDCG@10", "HR@1 HR@5 HR@10")
USERS = (500, 6040)


def populations() -> Iterator[tuple[str, str, int, Int]]:
    """Data, recommender, candidates and true ranks of each population."""
    for data, paths in NAMES.items():
        for path in paths:
            ranks = Ranks.read(path)
            ties = generator(0, "ties").integers(0, ranks.n_tied + 1)
            n = ranks.mean_candidates
            yield data, path.stem, n, np.minimum(ranks.best_rank + ties, n)
    yield "", "random order", N_ITEMS, np.arange(1, N_ITEMS + 1)


def experiments(true: Int, n: int, names: list[str], m: int, users: int) -> tuple[float, float]:
    """Shares of ranges that hold the exact metric of the population, and of refusals."""
    rng = generator(0, " ".join(names), m, users)
    exact = (true <= 10).mean()
    credit = [parse_measure(name).at(np.arange(1, m + 2), m + 1) for name in names]
    held = refused = 0
    for _ in range(EXPERIMENTS):
        rank = rng.choice(true, users)
        place = rng.hypergeometric(rank - 1, n - rank, m)
        printed = {
            name: f"{values[place].mean():.4f}" for name, values in zip(names, credit, strict=True)
        }
        try:
            found = reported(printed, "HR@10", n_items=n, n_negatives=m, n_users=users)[0]
        except InputError:
            refused += 1
            continue
        held += found.range_low <= exact <= found.range_high
    return held / max(EXPERIMENTS - refused, 1), refused / EXPERIMENTS


def main() -> None:
    """Write the page."""
    rows = []
    for data, recommender, n, true in populations():
        for names in PRINTED:
            row: dict[str, object] = {"data": data, "recommender": recommender, "printed": names}
            for m in SIZES:
                for users in USERS:
                    held, refused = experiments(true, n, names.split(), m, users)
                    cell = f"{100 * held:.1f}"
                    if refused:
                        cell += f" ({100 * refused:.1f})"
                    row[f"m = {m}, {users:,} users"] = cell
            rows.append(row)
            print(row, flush=True)
    text = (
        "# Coverage of ranges from printed numbers\n\n"
        f"How often, in percent of {EXPERIMENTS} experiments, the range that `reported` computes, "
        "at 95 %, from sampled metrics\nprinted to four decimals holds the exact HR@10 of the "
        "population of users; in brackets how often the numbers\nwere refused. Users are drawn "
        "with replacement, negatives without. `make coverage-reported` writes this page.\n\n"
    )
    page = ROOT / "docs/measured/reported.md"
    page.write_text(f"{text}{markdown(pd.DataFrame(rows))}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
