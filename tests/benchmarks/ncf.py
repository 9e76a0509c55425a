"""Full and sampled ranks of the two published models of Neural Collaborative Filtering.

    python tests/benchmarks/ncf.py FOLDER ARCHIVE [--output FOLDER] [--scores FOLDER]

FOLDER has `ml-1m_GMF_8_*.h5`, `ml-1m_MLP_*.h5` and `ml-1m.test.negative` as published with "Neural
Collaborative Filtering" (He et al., WWW 2017; hexiangnan/neural_collaborative_filtering on GitHub).
ARCHIVE is MovieLens 1M. Items are numbered as there, in the order of their first rating in the
file. `GMF.parquet` and `MLP.parquet` get the ranks among all items without a training event of the
user, `*.sampled.parquet` those among the 99 published negatives; users are numbers from 0. The
published negatives of a user are distinct. Those of 156 users hold the held-out item itself, which
does not count here, so that these users have 98 negatives.
"""

import argparse
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from sampled_metrics.ranks import Ranks, SampledRanks

BLOCK = 256
Weights = dict[str, np.ndarray]


def load(path: Path) -> Weights:
    """Weights of a model, by their names without the layer's."""
    weights: Weights = {}

    def keep(name: str, entry: h5py.Dataset | h5py.Group) -> None:
        if isinstance(entry, h5py.Dataset):
            weights[name.rsplit("/", maxsplit=1)[-1]] = entry[()]

    with h5py.File(path) as file:
        file.visititems(keep)
    return weights


def gmf(weights: Weights, user: int) -> np.ndarray:
    """Scores of all items; the bias of the output, equal for all, is left out."""
    weighted = weights["user_embedding_W"][user] * weights["prediction_W"][:, 0]
    return weights["item_embedding_W"] @ weighted


def mlp(weights: Weights, user: int) -> np.ndarray:
    items = weights["item_embedding_W"]
    own = np.broadcast_to(weights["user_embedding_W"][user], items.shape)
    hidden = np.concatenate([own, items], axis=1)
    for layer in (1, 2, 3):
        hidden = np.maximum(hidden @ weights[f"layer{layer}_W"] + weights[f"layer{layer}_b"], 0)
    return (hidden @ weights["prediction_W"])[:, 0]


def events(archive: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """User and item of every rating, numbered from 0, and the ids of the items."""
    with zipfile.ZipFile(archive) as file:
        lines = file.read("ml-1m/ratings.dat").decode("latin-1").splitlines()
    user, published = np.array([line.split("::")[:2] for line in lines], dtype=int).T
    ids, first, place = np.unique(published, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return user - 1, np.argsort(order)[place], ids[order]


def negatives(path: Path) -> Iterator[tuple[int, int, list[int]]]:
    """User, held-out item and negatives of every line."""
    for line in path.read_text().splitlines():
        user, item, *others = map(int, re.findall(r"\d+", line))
        yield user, item, others


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--output", type=Path, default=Path("results/reference/ncf"))
    parser.add_argument("--scores", type=Path, help="also keep the scores, 90 MB each")
    options = parser.parse_args()
    user, item, item_ids = events(options.archive)
    seen = np.zeros((user.max() + 1, item.max() + 1), bool)
    seen[user, item] = True
    _, held_out, others = map(
        np.array, zip(*sorted(negatives(options.folder / "ml-1m.test.negative")), strict=True)
    )
    users = np.arange(len(held_out))
    seen[users, held_out] = False
    n = (~seen).sum(axis=1)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, pattern, score in (("GMF", "ml-1m_GMF_8_*.h5", gmf), ("MLP", "ml-1m_MLP_*.h5", mlp)):
        (path,) = options.folder.glob(pattern)
        weights = load(path)
        better, tied, sampled = np.empty((3, users.size), dtype=int)
        matrix = np.empty(seen.shape, np.float32)
        for one in users:
            scores = matrix[one] = score(weights, one)
            own = scores[held_out[one]]
            sampled[one] = 1 + (scores[others[one]] > own).sum()
            candidates = scores[~seen[one]]
            better[one], tied[one] = (candidates > own).sum(), (candidates == own).sum() - 1
        source = f"published weights {path.name}; nothing was trained here"
        ranks = Ranks(n, better, tied, users=users, source=source)
        ranks.write(options.output / f"{name}.parquet")
        among = SampledRanks(sampled, n, others.shape[1], users=users)
        among.write(options.output / f"{name}.sampled.parquet")
        if options.scores:
            options.scores.mkdir(parents=True, exist_ok=True)
            path = options.scores / f"{name}.npz"
            np.savez(path, scores=matrix, user_ids=users + 1, item_ids=item_ids)
        print(f"{name}: HR@10 {(sampled <= 10).mean():.4f} among the published negatives")


if __name__ == "__main__":
    main()
