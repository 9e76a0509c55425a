"""Export scores of RecBole and its own metrics: export_recbole.py FOLDER.

For an interpreter that has recbole 1.2.1; writes `topk.csv` (`full_sort_topk`) and `relevant.csv`
with ids as in the data, `scores.npy` (`full_sort_scores`: -inf for history and padding),
`relevant_rows.csv` with rows and columns of it, and `metrics.json`.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import recbole
import torch
from interactions import interactions
from recbole.config import Config
from recbole.data import create_dataset, data_preparation
from recbole.utils import get_model, get_trainer, init_seed
from recbole.utils.case_study import full_sort_scores, full_sort_topk

K = 10
NAMES = {"Recall": "recall@10", "NDCG": "ndcg@10", "MAP": "ap@10"}
SETTINGS = {
    "USER_ID_FIELD": "user_id",
    "ITEM_ID_FIELD": "item_id",
    "load_col": {"inter": ["user_id", "item_id"]},
    "benchmark_filename": ["train", "valid", "test"],
    "eval_args": {"order": "RO", "group_by": "user", "mode": "full"},
    "metrics": list(NAMES),
    "topk": [K],
    "valid_metric": f"Recall@{K}",
    "metric_decimal_place": 10,
    "reg_weight": 5.0,
    "use_gpu": False,
    "show_progress": False,
}


def save(folder: Path, parts: dict[str, list[tuple[str, str]]]) -> None:
    """Make the atomic files in the working folder, train EASE, write its scores and metrics."""
    Path("made").mkdir()
    for name, pairs in parts.items():
        table = pd.DataFrame(pairs, columns=["user_id:token", "item_id:token"])
        table.to_csv(f"made/made.{name}.inter", sep="\t", index=False)
    config = Config("EASE", "made", config_dict={**SETTINGS, "data_path": "."})
    init_seed(0, True)
    dataset = create_dataset(config)
    train, _, test = data_preparation(config, dataset)
    model = get_model("EASE")(config, train.dataset)
    trainer = get_trainer(config["MODEL_TYPE"], "EASE")(config, model)
    values = trainer.evaluate(test, load_best_model=False)
    users = np.arange(1, dataset.user_num)
    scores, items = full_sort_topk(users, model, test, K)
    topk = {
        "user_id": np.repeat(dataset.id2token("user_id", users), K),
        "item_id": dataset.id2token("item_id", items.numpy()).ravel(),
        "score": scores.numpy().ravel(),
    }
    options = {"index": False, "lineterminator": "\n"}
    pd.DataFrame(topk).to_csv(folder / "topk.csv", float_format="%.9g", **options)
    np.save(folder / "scores.npy", full_sort_scores(users, model, test).numpy())
    relevant = pd.DataFrame(parts["test"], columns=["user_id", "item_id"])
    relevant.to_csv(folder / "relevant.csv", **options)
    rows = {
        "user_id": dataset.token2id("user_id", relevant["user_id"].to_numpy()) - 1,
        "item_id": dataset.token2id("item_id", relevant["item_id"].to_numpy()),
    }
    pd.DataFrame(rows).to_csv(folder / "relevant_rows.csv", **options)
    versions = {each.__name__: each.__version__ for each in (recbole, torch, np)}
    metrics = {ours: float(values[f"{theirs.lower()}@{K}"]) for theirs, ours in NAMES.items()}
    about = {"versions": versions, "metrics": metrics}
    (folder / "metrics.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    target = Path(sys.argv.pop()).resolve()  # RecBole reads the command line too
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:  # and writes logs where it stands
        os.chdir(work)
        save(target, interactions())
        os.chdir(target)
