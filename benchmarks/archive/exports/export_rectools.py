"""Export recommendations of RecTools and its own metrics: export_rectools.py FOLDER.

For an interpreter that has rectools 0.19; writes `reco.csv` (as `recommend` gives it, scores
rounded), `relevant.csv` and `metrics.json`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import rectools
from interactions import interactions
from rectools import Columns
from rectools.dataset import Dataset
from rectools.metrics import MAP, NDCG, Recall, calc_metrics
from rectools.models import EASEModel

K = 10


def table(pairs: list[tuple[str, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(pairs, columns=Columns.UserItem)
    return frame.assign(**{Columns.Weight: 1.0, Columns.Datetime: "2020-01-01"})


def main(folder: Path) -> None:
    parts = interactions()
    known_pairs, test = table(parts["train"] + parts["valid"]), table(parts["test"])
    dataset = Dataset.construct(known_pairs)
    model = EASEModel(regularization=5.0).fit(dataset)
    reco = model.recommend(test[Columns.User].unique(), dataset, k=K, filter_viewed=True)
    metrics = {
        "recall@10": Recall(k=K),
        "ndcg@10": NDCG(k=K, divide_by_achievable=True),
        "ap@10": MAP(k=K),
    }
    values = calc_metrics(metrics, reco, test)
    versions = {"rectools": rectools.__version__, "numpy": np.__version__}
    about = {"versions": versions, "metrics": {key: float(values[key]) for key in metrics}}
    folder.mkdir(parents=True, exist_ok=True)
    reco.to_csv(folder / "reco.csv", index=False, float_format="%.6g", lineterminator="\n")
    test[Columns.UserItem].to_csv(folder / "relevant.csv", index=False, lineterminator="\n")
    (folder / "metrics.json").write_text(json.dumps(about, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
