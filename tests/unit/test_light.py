"""Arrays are ranked and evaluated with numpy and scipy alone."""

import subprocess
import sys

ALONE = """
import sys, warnings
warnings.simplefilter("ignore")

KNOWN = {*sys.stdlib_module_names, "numpy", "scipy", "sampled_metrics"}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in KNOWN and not root.startswith("_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
import numpy as np
import scipy.sparse
import sampled_metrics as sm
scores = np.random.default_rng(0).normal(size=(40, 30))
held_out = np.arange(40) % 30
seen = np.zeros(scores.shape, dtype=bool)
seen[np.arange(40), (held_out + 1) % 30] = True

def computed(meter):
    meter.update(scores, positive=held_out)
    return meter.compute()

"""
WAYS = {
    "ranks": "sm.evaluate([1, 2, 7], n_items=30)",
    "Ranks": "sm.evaluate(sm.Ranks([30, 30], [0, 4], [0, 2]))",
    "scores": "sm.evaluate(scores, relevant=held_out, seen=seen)",
    "sparse": "sm.evaluate(scores, relevant=held_out, seen=scipy.sparse.csr_array(seen))",
    "lists of columns": "sm.evaluate(scores, relevant=[[c] for c in held_out.tolist()])",
    "matrix of grades": "sm.evaluate(scores, 'ndcg', relevant=2.0 * seen)",
    "function": "sm.evaluate(lambda users: scores[users], relevant=held_out)",
    "vectors": "sm.evaluate(sm.rank((scores, np.eye(30)), seen, held_out))",
    "rank": "sm.evaluate(sm.rank(scores, seen, held_out))",
    "meter": "computed(sm.RankMeter())",
    "one user": "sm.evaluate([3], n_items=30)",
}


def alone(code):
    return subprocess.run(
        [sys.executable, "-c", ALONE + code], capture_output=True, text=True, check=False
    )


def test_arrays_need_no_other_package():
    shows = "print(found)\nassert '<table>' in found._repr_html_()\n"
    done = alone("".join(f"found = {call}\n{shows}" for call in WAYS.values()))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("std_error") == len(WAYS)


def test_what_needs_another_package_names_it():
    calls = {
        "pyarrow": "sm.evaluate({'a': [1]}, relevant={'a': [1]})",
        "clarabel": "sm.correct([1, 2, 3], n_items=30, n_negatives=9)",
    }
    code = "".join(
        f"try:\n    {call}\nexcept sm.InputError as error:\n    print(error)\n"
        for call in calls.values()
    )
    done = alone(code)
    assert done.returncode == 0, done.stderr
    for line, package in zip(done.stdout.splitlines(), calls, strict=True):
        assert f"pip install {package}" in line
