"""Train recommenders on other catalogues, and write the ranks of held-out items.

    python -m benchmarks.archive.catalogues FOLDER [OUTPUT]

Ten minutes. FOLDER holds a text file for each catalogue, a line for each user: the user, then items
in the order of time, as in data/*.txt of the public code of S3-Rec (RUCAIBox/CIKM2020-S3Rec on
GitHub, commit 2a81540): Amazon Beauty, Sports and Toys, LastFM, Yelp. The last item of a user is
held out and the others are seen. OUTPUT, by default results/catalogues, gets the ranks of up to
6,040 users for each catalogue and recommender, from which `make measure PAGE=estimators` makes its
tables of other catalogues. Neither data nor ranks are committed.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[2]
MOST_USERS = 6040
BATCH = 500
SEED = 0
Scores = Callable[[np.ndarray], np.ndarray]  # of all items, for some users


def read(path: Path) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    """Read a catalogue: items seen by users, the last of them, and the held-out items."""
    rows = [np.array(line.split()[1:], np.int64) for line in path.open(encoding="utf-8")]
    rows = [row for row in rows if row.size > 2]
    ids, item = np.unique(np.concatenate(rows), return_inverse=True)
    ends = np.cumsum([row.size for row in rows])
    user = np.repeat(np.arange(len(rows)), [row.size for row in rows])
    kept = np.ones(item.size, bool)
    kept[ends - 1] = False
    shape = (len(rows), ids.size)
    seen = csr_matrix((np.ones(kept.sum(), np.float32), (user[kept], item[kept])), shape)
    seen.data[:] = 1.0
    return seen, item[ends - 2], item[ends - 1]


def popularity(seen: csr_matrix, _: np.ndarray) -> Scores:
    """Score items by the number of users who have them."""
    counts = np.asarray(seen.sum(axis=0)).ravel()
    return lambda users: np.tile(counts, (users.size, 1))


def following(seen: csr_matrix, last: np.ndarray) -> Scores:
    """Score items by their cosine similarity to the last item of a user."""
    lengths = np.sqrt(np.asarray(seen.sum(axis=0)).ravel())
    by_item = seen.T.tocsr()
    scale = 1.0 / np.maximum(lengths, 1.0)
    return lambda users: (by_item[last[users]] @ seen).toarray() * scale


def factors(model: Any) -> Callable[..., Scores]:
    """Score items by the factors of a model of `implicit`."""

    def train(seen: csr_matrix, _: np.ndarray) -> Scores:
        model.fit(seen, show_progress=False)
        return lambda users: model.user_factors[users] @ model.item_factors.T

    return train


def neighbours(model: Any) -> Callable[..., Scores]:
    """Score items by their similarity to those of a user."""

    def train(seen: csr_matrix, _: np.ndarray) -> Scores:
        model.fit(seen, show_progress=False)
        return lambda users: (seen[users] @ model.similarity).toarray()

    return train


def recommenders() -> dict[str, Callable[..., Scores]]:
    """Return untrained recommenders by name."""
    als = AlternatingLeastSquares(64, regularization=0.05, iterations=10, random_state=SEED)
    bpr = BayesianPersonalizedRanking(64, iterations=60, random_state=SEED)
    return {
        "Popularity": popularity,
        "Last": following,
        "Cosine": neighbours(CosineRecommender(K=50)),
        "BM25": neighbours(BM25Recommender(K=200)),
        "ALS": factors(als),
        "BPR": factors(bpr),
    }


def ranked(seen: csr_matrix, held_out: np.ndarray, scores: Scores) -> pd.DataFrame:
    """Count candidates, and those that are better than the held-out item or tied with it."""
    rng = np.random.default_rng(SEED)
    users = rng.permutation(seen.shape[0])[:MOST_USERS]
    blocks = []
    for first in range(0, users.size, BATCH):
        of_block = users[first : first + BATCH]
        candidates = np.ones((of_block.size, seen.shape[1]), bool)
        row, column = seen[of_block].nonzero()
        candidates[row, column] = False
        own = held_out[of_block, None]
        np.put_along_axis(candidates, own, True, axis=1)
        values = scores(of_block)
        at = np.take_along_axis(values, own, axis=1)
        counts = {
            "n_candidates": candidates.sum(axis=1),
            "n_better": (candidates & (values > at)).sum(axis=1),
            "n_tied": (candidates & (values == at)).sum(axis=1) - 1,
        }
        blocks.append(pd.DataFrame(counts))
    return pd.concat(blocks, ignore_index=True)


def main(folder: Path, output: Path) -> None:
    """Write a file of ranks for each catalogue and recommender."""
    for path in sorted(folder.glob("*.txt")):
        seen, last, held_out = read(path)
        (output / path.stem).mkdir(parents=True, exist_ok=True)
        for name, train in recommenders().items():
            with threadpool_limits(1, "blas"):
                table = ranked(seen, held_out, train(seen, last))
            table.to_parquet(output / path.stem / f"{name}.parquet")
            hits = (table["n_better"] < 10).mean()
            print(f"{path.stem} {name}: {len(table)} of {seen.shape}, at ranks to 10 {hits:.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "results/catalogues"))
