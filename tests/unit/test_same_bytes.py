"""Results do not depend on threads, hash seed, time zone, locale or folder."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.datasets.split import Split, save_split
from sampled_metrics.ranks import Ranks

ENVIRONMENTS = [
    {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    {"OPENBLAS_NUM_THREADS": "5", "PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu",
     "LC_ALL": "de_DE.UTF-8", "PYTHONUTF8": "0"},
]  # fmt: skip
ESTIMATORS = ["sampled", "rank-estimate", "cls", "bv:1", "bv:0.01"]
SETTINGS = json.dumps({"repetitions": 20, "estimators": ESTIMATORS})
FEW = '{"repetitions": 20}'
ALS = '{"d": 32, "iterations": 3}'
# Each writes to a file, or into a folder, of its own name.
STEPS = {
    "als.npz": ["study", "train", "split.npz", "--kind", "als", "--settings", ALS],
    "knn.npz": ["study", "train", "split.npz", "--kind", "itemknn"],
    "als.parquet": ["study", "rank", "split.npz", "als.npz"],
    "knn.parquet": ["study", "rank", "split.npz", "knn.npz"],
    "sample.npz": ["study", "sample", "X.parquet", "--settings", SETTINGS],
    "figures": ["study", "figures", "X.parquet", "Y.parquet", "--numbers", "1,5", "--folder"],
    "toy": ["study", "toy", "--settings", FEW, "--published", "tables.csv", "--cells", "toy",
            "--tables"],
    "correct.json": ["correct", "s.csv", "--n-negatives", "100", "--n-items", "3000",
                     "--format", "json", "--output"],
}  # fmt: skip
RUN = """
import json, sys
from sampled_metrics.cli import main
for name, step in json.loads(sys.argv[1]).items():
    output = [] if step[-1].startswith("--") else ["--output"]
    sys.argv = ["sampled-metrics", *step, *output, name]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, sys.argv
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, root):
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    for name in "XY":
        better = np.minimum(rng.geometric(0.002, 3000), 2999)
        Ranks(np.full(3000, 3001), better, better % 2).write(folder / f"{name}.parquet")
    ranks = 1 + rng.binomial(100, rng.beta(0.3, 2, 3000))
    (folder / "s.csv").write_text("sampled_rank\n" + "\n".join(map(str, ranks)) + "\n")
    shutil.copy(root / "config/paper/tables.csv", folder)
    events = rng.random((900, 300)) < rng.beta(0.3, 4, 300)
    held_out = rng.integers(0, 300, 900)
    events[np.arange(900), held_out] = False
    ids = np.arange(900)
    save_split(
        folder / "split.npz", Split(csr_array(events.astype(float)), held_out, ids, ids[:300], 0)
    )
    return folder


@pytest.fixture(scope="module")
def made(inputs, tmp_path_factory):
    """The bytes that each step writes, by name, in both environments."""
    found = []
    for environment in ENVIRONMENTS:
        folder = tmp_path_factory.mktemp("a folder") / "x"
        shutil.copytree(inputs, folder)
        command = [sys.executable, "-c", RUN, json.dumps(STEPS)]
        subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=True)
        files = [path for path in folder.rglob("*") if path.is_file()]
        found.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    return found


@pytest.mark.parametrize("step", STEPS)
def test_same_bytes_whatever_surrounds_them(step, made):
    one, other = (
        {name: content for name, content in each.items() if name.split("/")[0] == step}
        for each in made
    )
    assert one
    assert one == other
