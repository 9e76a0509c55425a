"""Train recommenders on other catalogues, and write the ranks of held-out items.

    python -m benchmarks.archive.catalogues FOLDER [OUTPUT]

Takes ten minutes. FOLDER has a text file for each catalogue, with a line for each user: the user,
then items in the order of time, as in data/*.txt of the public code of S3-Rec
(RUCAIBox/CIKM2020-S3Rec on GitHub, commit 2a81540): Amazon Beauty, Sports and Toys, LastFM, Yelp.
The last item of a user is held out and the others are seen. The ranks of up to 6,040 users for each
catalogue and recommender are written to OUTPUT, by default results/catalogues, where `make measure
PAGE=estimators` reads them. Neither data nor ranks are committed.
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
Scores = Callable[[np.ndarray], np.ndarray]  # scores of all items for some users


def read_catalogue(path: Path) -> tuple[csr_matrix, np.ndarray, np.ndarray]:
    """Read a catalogue; return seen items, last seen items and held-out items."""
    rows = [np.array(line.split()[1:], np.int64) for line in path.open(encoding="utf-8")]
    rows = [row for row in rows if row.size > 2]
    ids, item = np.unique(np.concatenate(rows), return_inverse=True)
    ends = np.cumsum([row.size for row in rows])
    user = np.repeat(np.arange(len(rows)), [row.size for row in rows])
    is_seen = np.ones(item.size, bool)
    is_seen[ends - 1] = False
    shape = (len(rows), ids.size)
    seen = csr_matrix((np.ones(is_seen.sum(), np.float32), (user[is_seen], item[is_seen])), shape)
    seen.data[:] = 1.0
    return seen, item[ends - 2], item[ends - 1]


def score_by_popularity(seen: csr_matrix, _: np.ndarray) -> Scores:
    """Score items by their number of users."""
    counts = np.asarray(seen.sum(axis=0)).ravel()
    return lambda users: np.tile(counts, (users.size, 1))


def score_by_last(seen: csr_matrix, last: np.ndarray) -> Scores:
    """Score items by their cosine similarity to the last seen item of a user."""
    lengths = np.sqrt(np.asarray(seen.sum(axis=0)).ravel())
    by_item = seen.T.tocsr()
    scale = 1.0 / np.maximum(lengths, 1.0)
    return lambda users: (by_item[last[users]] @ seen).toarray() * scale


def score_by_factors(model: Any) -> Callable[..., Scores]:
    """Score items by the factors of a model of `implicit`."""

    def train(seen: csr_matrix, _: np.ndarray) -> Scores:
        model.fit(seen, show_progress=False)
        return lambda users: model.user_factors[users] @ model.item_factors.T

    return train


def score_by_neighbours(model: Any) -> Callable[..., Scores]:
    """Score items by their similarity to the seen items of a user."""

    def train(seen: csr_matrix, _: np.ndarray) -> Scores:
        model.fit(seen, show_progress=False)
        return lambda users: (seen[users] @ model.similarity).toarray()

    return train


def recommenders() -> dict[str, Callable[..., Scores]]:
    """Return untrained recommenders by name."""
    als = AlternatingLeastSquares(64, regularization=0.05, iterations=10, random_state=SEED)
    bpr = BayesianPersonalizedRanking(64, iterations=60, random_state=SEED)
    return {
        "Popularity": score_by_popularity,
        "Last": score_by_last,
        "Cosine": score_by_neighbours(CosineRecommender(K=50)),
        "BM25": score_by_neighbours(BM25Recommender(K=200)),
        "ALS": score_by_factors(als),
        "BPR": score_by_factors(bpr),
    }


def rank_held_out(seen: csr_matrix, held_out: np.ndarray, scores: Scores) -> pd.DataFrame:
    """Count candidates, and those better than or tied with the held-out item."""
    rng = np.random.default_rng(SEED)
    users = rng.permutation(seen.shape[0])[:MOST_USERS]
    blocks = []
    for first in range(0, users.size, BATCH):
        block = users[first : first + BATCH]
        candidates = np.ones((block.size, seen.shape[1]), bool)
        row, column = seen[block].nonzero()
        candidates[row, column] = False
        held_out_items = held_out[block, None]
        np.put_along_axis(candidates, held_out_items, True, axis=1)
        values = scores(block)
        held_out_scores = np.take_along_axis(values, held_out_items, axis=1)
        counts = {
            "n_candidates": candidates.sum(axis=1),
            "n_better": (candidates & (values > held_out_scores)).sum(axis=1),
            "n_tied": (candidates & (values == held_out_scores)).sum(axis=1) - 1,
        }
        blocks.append(pd.DataFrame(counts))
    return pd.concat(blocks, ignore_index=True)


def main(folder: Path, output: Path) -> None:
    """Write a file of ranks for each catalogue and recommender."""
    for path in sorted(folder.glob("*.txt")):
        seen, last, held_out = read_catalogue(path)
        (output / path.stem).mkdir(parents=True, exist_ok=True)
        for name, train in recommenders().items():
            with threadpool_limits(1, "blas"):
                table = rank_held_out(seen, held_out, train(seen, last))
            table.to_parquet(output / path.stem / f"{name}.parquet")
            hits = (table["n_better"] < 10).mean()
            print(f"{path.stem} {name}: {len(table)} of {seen.shape}, at ranks to 10 {hits:.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "results/catalogues"))
