"""How often the range of printed numbers holds the exact HR@10; `make coverage-reported`.

Draws users from those of a recommender, and negatives for them, prints HR@10 and NDCG@10 to four
decimals, and asks for the range. Writes docs/measured/reported.md.
"""

from functools import cache
from pathlib import Path

import numpy as np

from sampled_metrics import Ranks
from sampled_metrics._base.arrays import generator
from sampled_metrics._base.text import table_of
from sampled_metrics.inference import reported as module

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
SIZES, EXPERIMENTS, METRICS = (5, 20, 100, 500), 400, ("HR@10", "NDCG@10")
expected = cache(lambda names, *about: module_expected(list(names), *about))
module_expected = module.expected_sampled


def experiments(ranks: Ranks, m: int, rng: np.random.Generator) -> float:
    """Share of ranges that hold the exact metric of all users."""
    n, best, tied = ranks.n_candidates, ranks.best_rank, ranks.n_tied
    exact = np.clip((10 - ranks.n_better) / (tied + 1), 0, 1).mean()
    held = 0
    for _ in range(EXPERIMENTS):
        users = rng.integers(len(ranks), size=len(ranks))
        rank = best[users] + rng.integers(0, tied[users] + 1)
        place = 1 + rng.hypergeometric(rank - 1, n[users] - rank, m)
        top = place <= 10
        means = top.mean(), np.where(top, 1 / np.log2(place + 1), 0).mean()
        printed = {name: f"{mean:.4f}" for name, mean in zip(METRICS, means, strict=True)}
        about = {"n_items": ranks.mean_candidates, "n_negatives": m, "n_users": len(ranks)}
        found = module.reported(printed, "HR@10", **about)[0]
        held += found.range_low <= exact <= found.range_high
    return held / EXPERIMENTS


def main() -> None:
    """Write the page."""
    module.expected_sampled = lambda measures, *about: expected(tuple(measures), *about)
    rows = []
    for data, paths in NAMES.items():
        for path in paths:
            row = {"data": data, "recommender": path.stem}
            for m in SIZES:
                share = experiments(Ranks.read(path), m, generator(0, path.stem, m))
                row[f"m = {m}"] = f"{100 * share:.1f}"
            rows.append(row)
            print(row, flush=True)
    text = (
        "# Coverage of ranges from printed numbers\n\n"
        f"How often, in percent of {EXPERIMENTS} experiments, the range that `reported` computes "
        "from HR@10 and NDCG@10,\nprinted to four decimals, holds the exact HR@10 of the users' "
        "population, at 95 %. Users are drawn\nwith replacement, negatives without. "
        "`make coverage-reported` writes this page.\n\n"
    )
    page = ROOT / "docs/measured/reported.md"
    page.write_text(text + table_of(rows, "github"), encoding="utf-8")


if __name__ == "__main__":
    main()
