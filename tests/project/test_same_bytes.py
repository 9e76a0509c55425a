"""Results do not depend on threads, hash seed, time zone, locale or directory."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.data.split import Split, save_split
from tests.conftest import ROOT

ENVIRONMENTS = [
    {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    {"OMP_NUM_THREADS": "5", "PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu",
     "LC_ALL": "de_DE.UTF-8", "PYTHONUTF8": "0"},
]  # fmt: skip
ESTIMATORS = ["sampled", "rank-estimate", "cls", "bv:1", "bv:0.01"]
ENTRIES = {
    "als": {"kind": "als", "settings": {"d": 32, "iterations": 3}},
    "knn": {"kind": "itemknn", "settings": {}},
}
EXPERIMENT = {"repetitions": 20, "estimators": ESTIMATORS}
# Scripts of the study by output file: name, inputs, parameters.
SCRIPTS = {
    **{f"{name}.npz": ("train", {"split": "split.npz"}, {"recommender": entry})
       for name, entry in ENTRIES.items()},
    **{f"{name}.parquet": ("rank", {"split": "split.npz", "source": f"{name}.npz"},
                           {"recommender": entry, "block_size": 512})
       for name, entry in ENTRIES.items()},
    "figures/figure5.svg": ("figures", {"ranks": ["X.parquet", "Y.parquet"], "band": []},
                            {"experiment": EXPERIMENT}),
}  # fmt: skip
RUN = """
import json, sys
import numpy as np
sys.path.append(sys.argv[3])
from sampled_metrics.cli import main
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.experiment import run_experiment
from sampled_metrics_study.settings import ExperimentSettings
from tests.conftest import run_script
for output, (name, inputs, params) in json.loads(sys.argv[1]).items():
    run_script(name, "step.log", inputs, {"figure5": output}, **params)
settings = ExperimentSettings(**json.loads(sys.argv[2]))
experiment = run_experiment("X", Ranks.read("X.parquet"), settings)
np.savez("sample.npz", repeated=experiment.repeated, likely=experiment.likely)
sys.argv = "sampled-metrics correct s.csv --n-negatives 100 --n-items 3000 --output c.json".split()
main()
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What all steps write in each environment, as bytes by file name."""
    inputs, rng = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    for name in "XY":
        better = np.minimum(rng.geometric(0.002, 3000), 2999)
        Ranks(np.full(3000, 3001), better, better % 2).write(inputs / f"{name}.parquet")
    ranks = 1 + rng.binomial(100, rng.beta(0.3, 2, 3000))
    (inputs / "s.csv").write_text("sampled_rank\n" + "\n".join(map(str, ranks)) + "\n")
    events = rng.random((900, 300)) < rng.beta(0.3, 4, 300)
    held_out, ids = rng.integers(0, 300, 900), np.arange(900)
    events[ids, held_out] = False
    split = Split(csr_array(events.astype(float)), held_out, ids, ids[:300], 0)
    save_split(inputs / "split.npz", split)
    contents = []
    for environment in ENVIRONMENTS:
        folder = tmp_path_factory.mktemp("a folder") / "x"
        shutil.copytree(inputs, folder)
        command = [sys.executable, "-c", RUN, json.dumps(SCRIPTS)]
        command += [json.dumps(EXPERIMENT), str(ROOT)]
        subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=True)
        files = [path for path in folder.rglob("*") if path.is_file()]
        contents.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    return contents


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [*SCRIPTS, "figures/figure5.pdf", "figures/figure5.csv", "sample.npz", "c.json"]
)
def test_outputs_do_not_depend_on_the_environment(name, outputs):
    one, other = outputs
    assert one.keys() == other.keys()
    assert one[name] == other[name]
