"""What `make reference` and `make schema` keep of a run, and the schema of the configuration.

`python -m benchmarks.keep` with `ranks FOLDER FILE...`, `schema FILE`, or
`gallery FOLDER REFERENCE` for what the notebook of claims reads.
"""

import shutil
import sys
from pathlib import Path

import numpy as np

from sampled_metrics._base.files import write_text
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.study.reading import read_single


def ranks(folder: Path, *paths: Path) -> None:
    """Write ranks without item ids and with users numbered from 0, which may be shared."""
    for path in paths:
        records = read_single(path)
        source = "reference run; nothing was trained here"
        records.replace(users=np.arange(len(records)), source=source).write(folder / path.name)


def gallery(folder: Path, reference: Path) -> None:
    """Write the kept ranks on Neural Collaborative Filtering in one table, and their checks."""
    import pandas as pd

    parts = []
    for name in ("X", "Y", "Z", "GMF", "MLP"):
        kept = reference / ("ranks" if len(name) == 1 else "ncf")
        full = Ranks.read(kept / f"{name}.parquet")
        sampled = SampledRanks.read(reference / f"ncf/{name}.sampled.parquet")
        columns = {
            "n_candidates": full.n_candidates,
            "n_better": full.n_better,
            "n_tied": full.n_tied,
            "sampled_rank": sampled.sampled_ranks,
        }
        rows = pd.DataFrame(columns).astype("int16")
        rows.insert(0, "recommender", name)
        parts.append(rows)
    folder.mkdir(exist_ok=True)
    pd.concat(parts).to_parquet(folder / "ranks.parquet", index=False, compression="zstd")
    for name in ("orders.csv", "checks.csv"):
        shutil.copyfile(reference / "ncf" / name, folder / name)


def schema(path: Path) -> None:
    """Write the JSON schema of the configuration, by which editors complete and check keys."""
    import yaml

    from sampled_metrics._base.settings import Settings

    # Docstrings describe the keys. To look for them takes as long as all other imports of a study.
    Settings.model_config["use_attribute_docstrings"] = True
    from sampled_metrics.study.config import Study

    content = Study.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    write_text(path, yaml.safe_dump(head | content, sort_keys=False, width=100))


if __name__ == "__main__":
    arguments = list(map(Path, sys.argv[2:]))
    if sys.argv[1] == "schema":
        schema(*arguments)
    elif sys.argv[1] == "gallery":
        gallery(*arguments)
    else:
        ranks(*arguments)
