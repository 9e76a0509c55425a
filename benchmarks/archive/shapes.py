"""How the true ranks of real recommenders are distributed; `make measure PAGE=shapes`.

Writes docs/measured/shapes.md. Users are counted in blocks of ranks. The factor of a recommender is
the largest ratio of the density of a block to that of an earlier one. Chance makes it exceed 1, so
it is compared with the factors of as many users from the closest non-increasing distribution.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from sampled_metrics import InputWarning, Ranks
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics_study.tables import to_markdown

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results/reference"
RECOMMENDERS = {
    "ml-1m": ("ranks", ("X", "Y", "Z")),
    "ml-1m, others": (
        "ml-1m/ranks",
        ("Factors32", "BPR", "TwentyNeighbours", "BM25", "Popularity", "Random"),
    ),
    "ml-1m, published": ("ncf", ("GMF", "MLP")),
    "ml-1m, split by time": ("global-time/ranks", ("X", "Y", "Z")),
    "ml-100k": (
        "ml-100k/ranks",
        (
            "Factors",
            "BPR",
            "AllNeighbours",
            "TwentyNeighbours",
            "TenNeighbours",
            "BM25",
            "Popularity",
            "Random",
        ),
    ),
}
STARTS = (1, 2, 3, 5, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513)
NEGATIVES, NEAR_TOP = 100, 5  # the shape is assumed down to rank 5 n/m
DRAWS = 1000
ABOUT = """# How true ranks are distributed

`make measure PAGE=shapes` writes this page. Ranges assume a shape of the distribution of true
ranks: that near the top no rank is more than some factor as likely as any rank before it; the
factor is 1 for `non-increasing`. This page has the factor of real recommenders: the largest ratio
of the density of users in a block of ranks to that in an earlier block. Blocks are 1, 2, 3-4, 5-8,
9-12, 13-16, 17-24, 25-32 and so on, down to rank 5 n/100, which is where the shape ends for 100
negatives.

Chance alone makes a factor exceed 1, so the table also has factors of as many users drawn from the
closest non-increasing distribution: the median and the 95th percentile of 1,000 draws, and the
share of draws with at least the measured factor. A small share says that the distribution itself
increases somewhere.

"""


def starts_of_blocks(last: int) -> Int:
    """Return the first rank of each block down to a rank, and the first rank below."""
    starts = [start for start in STARTS if start <= last]
    return np.array([*starts, last + 1])


def greatest_factor(counts: Float, widths: Int) -> Float:
    """Return the largest ratio of the density of a block to that of an earlier one, by row."""
    density = counts / widths
    earlier = np.minimum.accumulate(density, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(density > 0.0, density / earlier, 1.0)
    return factors.max(axis=-1)


def measure_factor(ranks: Ranks, name: str) -> dict[str, object]:
    """Compute the factor of a recommender, and of draws from the closest distribution."""
    rng = generator(0, "shapes", name)
    rank = ranks.best_rank + rng.integers(0, ranks.n_tied + 1)
    last = round(NEAR_TOP * ranks.n_candidates.mean() / NEGATIVES)
    edges = starts_of_blocks(last)
    widths = np.diff(edges)
    counts = np.histogram(rank, edges)[0].astype(float)
    factor = float(greatest_factor(counts, widths))
    fitted = isotonic_regression(counts / widths, weights=widths, increasing=False).x * widths
    shares = np.append(fitted, rank.size - fitted.sum()) / rank.size
    factors_by_chance = greatest_factor(
        rng.multinomial(rank.size, shares, size=DRAWS)[:, :-1], widths
    )
    middle, high = np.quantile(factors_by_chance, [0.5, 0.95], method="higher")  # some are infinite
    return {
        "recommender": name,
        "users": f"{rank.size:,}",
        "users down to 10": int((rank <= 10).sum()),
        "factor": f"{factor:.2f}",
        "by chance": f"{middle:.2f}",
        "95 %": f"{high:.2f}",
        "share": f"{(factors_by_chance >= factor - 1e-9).mean():.3f}",
    }


def main() -> None:
    """Write the page."""
    warnings.simplefilter("ignore", InputWarning)  # about the random recommenders
    rows = []
    for data, (folder, names) in RECOMMENDERS.items():
        for name in names:
            ranks = Ranks.read(FOLDER / folder / f"{name}.parquet")
            rows.append({"data": data} | measure_factor(ranks, name))
    text = f"{ABOUT}{to_markdown(pd.DataFrame(rows))}\n"
    (ROOT / "docs/measured/shapes.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
