"""Results do not depend on threads, hash seed, time zone, locale or folder."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from sampled_metrics.ranks import Ranks

ENVIRONMENTS = [
    {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    {"OPENBLAS_NUM_THREADS": "5", "PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu",
     "LC_ALL": "de_DE.UTF-8", "PYTHONUTF8": "0"},
]  # fmt: skip
ESTIMATORS = ["sampled", "rank-estimate", "cls", "bv:1", "bv:0.01"]
SETTINGS = json.dumps({"repetitions": 20, "estimators": ESTIMATORS})
STEPS = {
    "sample": ["study", "sample", "X.parquet", "--settings", SETTINGS, "--output", "out.npz"],
    "figures": ["study", "figures", "X.parquet", "Y.parquet", "--numbers", "1,5",
                "--folder", "out"],
    "toy": ["study", "toy", "--settings", '{"repetitions": 20}', "--cells", "out", "--tables",
            "out", "--published", "tables.csv"],
    "correct": ["correct", "s.csv", "--n-negatives", "100", "--format", "json", "--n-items", "3000",
                "--output", "out.json"],
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_same_bytes_whatever_surrounds_them(step, tmp_path, root):
    made = []
    for number, environment in enumerate(ENVIRONMENTS):
        folder = tmp_path / f"folder {number}"
        folder.mkdir()
        rng = np.random.default_rng(0)
        for name in "XY":
            better = np.minimum(rng.geometric(0.002, 3000), 2999)
            Ranks(np.full(3000, 3001), better, better % 2).write(folder / f"{name}.parquet")
        (folder / "tables.csv").write_bytes((root / "config/paper/tables.csv").read_bytes())
        ranks = 1 + rng.binomial(100, rng.beta(0.3, 2, 3000))
        (folder / "s.csv").write_text("sampled_rank\n" + "\n".join(map(str, ranks)) + "\n")
        subprocess.run(
            [sys.executable, "-m", "sampled_metrics", *STEPS[step]],
            cwd=folder,
            env={**os.environ, **environment},
            check=True,
        )
        files = [*folder.glob("out*"), *folder.rglob("out*/**/*")]
        made.append({str(p.relative_to(folder)): p.read_bytes() for p in files if p.is_file()})
    assert made[0]
    assert made[0] == made[1]
