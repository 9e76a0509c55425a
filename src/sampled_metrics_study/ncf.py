"""Scores by the two published models of Neural Collaborative Filtering, for config/ncf.yaml.

    python -m sampled_metrics_study.ncf FOLDER ARCHIVE [--output FOLDER]

FOLDER has the files `ml-1m_GMF_8_*.h5`, `ml-1m_MLP_*.h5` and `ml-1m.test.negative` that were
published with "Neural Collaborative Filtering" (He et al., WWW 2017). ARCHIVE is MovieLens 1M. The
models number items in the order of their first rating in the file, and users from 0. The program
writes the scores of all items for all users to `GMF.npz` and `MLP.npz`, 90 MB each, and the
published negatives, by the ids of MovieLens, to `negatives.csv`.
"""

import argparse
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from sampled_metrics_study.program import program

NEGATIVES = "ml-1m.test.negative"
PUBLISHED = (
    "it is in the folder Data or Pretrain of github.com/hexiangnan/neural_collaborative_filtering"
)
Weights = dict[str, np.ndarray]


def load_weights(path: Path) -> Weights:
    """Read the weights of a model, by their names without the name of the layer."""
    weights: Weights = {}

    def collect(name: str, entry: h5py.Dataset | h5py.Group) -> None:
        if isinstance(entry, h5py.Dataset):
            weights[name.rsplit("/", maxsplit=1)[-1]] = entry[()]

    with h5py.File(path) as file:
        file.visititems(collect)
    return weights


def score_by_gmf(weights: Weights, user: int) -> np.ndarray:
    """Score all items by GMF; the output bias is omitted, because it is equal for all items."""
    weighted = weights["user_embedding_W"][user] * weights["prediction_W"][:, 0]
    return weights["item_embedding_W"] @ weighted


def score_by_mlp(weights: Weights, user: int) -> np.ndarray:
    """Score all items by a perceptron of three layers."""
    items = weights["item_embedding_W"]
    user_vector = np.broadcast_to(weights["user_embedding_W"][user], items.shape)
    hidden = np.concatenate([user_vector, items], axis=1)
    for layer in (1, 2, 3):
        hidden = np.maximum(hidden @ weights[f"layer{layer}_W"] + weights[f"layer{layer}_b"], 0)
    return (hidden @ weights["prediction_W"])[:, 0]


MODELS = {"GMF": ("ml-1m_GMF_8_*.h5", score_by_gmf), "MLP": ("ml-1m_MLP_*.h5", score_by_mlp)}


def item_ids(archive: Path) -> np.ndarray:
    """Return the ids of the items in the order of their first rating."""
    with zipfile.ZipFile(archive) as file:
        lines = file.read("ml-1m/ratings.dat").decode("latin-1").splitlines()
    return pd.unique(np.array([int(line.split("::")[1]) for line in lines]))


def read_negative_pairs(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the user and the item of each published negative, as numbers."""
    for line in path.read_text().splitlines():
        user, _, *items = map(int, re.findall(r"\d+", line))
        yield from ((user, item) for item in items)


def find_published_file(folder: Path, pattern: str) -> Path:
    """Return the first file of the folder that matches; exit with one line if there is none."""
    path = next(iter(sorted(folder.glob(pattern))), None)
    return path or sys.exit(f"{folder}: no file {pattern}; {PUBLISHED}")


def main() -> None:
    """Write the scores of both models, and the published negatives."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--output", type=Path, default=Path("results/ncf"))
    options = parser.parse_args()
    files = {
        name: find_published_file(options.folder, pattern) for name, (pattern, _) in MODELS.items()
    }
    pairs = np.array(list(read_negative_pairs(find_published_file(options.folder, NEGATIVES))))
    ids = item_ids(options.archive)
    options.output.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame({"user_id": pairs[:, 0] + 1, "item_id": ids[pairs[:, 1]]})
    table.to_csv(options.output / "negatives.csv", index=False)
    for name, (_, score) in MODELS.items():
        weights = load_weights(files[name])
        users = range(len(weights["user_embedding_W"]))
        scores = np.array([score(weights, user) for user in users], dtype=np.float32)
        np.savez(
            options.output / f"{name}.npz",
            scores=scores,
            user_ids=np.arange(1, len(scores) + 1),
            item_ids=ids,
        )


if __name__ == "__main__":
    with program():
        main()
