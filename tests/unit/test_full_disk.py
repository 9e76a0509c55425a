"""Every step says which file it could not write when the disk is full."""

import json
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics.study.cells import Row
from sampled_metrics.study.readings import Reading
from tests.conftest import ROOT, as_ratings, synthetic_interactions, write_archive


@contextmanager
def full_after(size):
    """Let no file grow beyond some bytes, which fails like a full disk does, in writing."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files of a small study, by the steps that are to fail."""
    folder = tmp_path_factory.mktemp("study")
    write_archive(folder / "ml-1m.zip", as_ratings(synthetic_interactions()))
    rng = np.random.default_rng(0)
    n = np.full(500, 300)
    for name in "XY":
        Ranks(n, rng.integers(0, 300, 500), n * 0).write(folder / f"{name}.parquet")
    return folder


TABLES, SCORECARD = ROOT / "config/paper/tables.csv", ROOT / "results/reference/scorecard.csv"
TOY = '{"repetitions": 2}'
SETTINGS = json.dumps({"n_negatives": 5, "repetitions": 2})
TRAIN = ["--kind", "als", "--settings", '{"iterations": 1}']
ENTRY = '{"name": "M", "kind": "als", "settings": {"iterations": 1}}'
OWN = '{"format": "table", "name": "Own", "path": "e.csv"}'
REFERENCE = ROOT / "results/reference"
BEYOND = REFERENCE / "beyond"
ONE_METHOD = {"metrics": ["ap"], "estimators": ["sampled"], "budgets": [5], "reported": 5}
BEYOND_SETTINGS = json.dumps(ONE_METHOD | {"runs": 2, "curve_runs": 2})
CELLS = "cells.csv"
STEPS = {
    "fetch": ["fetch", "--archive", "ml-1m.zip", "--output", "out.zip", "--source", "s.json"],
    "split": ["split", "ml-1m.zip", "--output", "out.npz", "--counts", "c.json"],
    "train": ["train", "split.npz", "--output", "out.npz", *TRAIN],
    "rank": ["rank", "split.npz", "model.npz", "--output", "out.parquet"],
    "sample": ["sample", "X.parquet", "--output", "out.npz", "--settings", SETTINGS],
    "gather-ranks": ["gather-ranks", "split.npz", "ranked.parquet", "--output", "out.parquet"],
    "ranges": ["ranges", "X.parquet", "--output", "out.csv", "--settings", SETTINGS],
    "toy": ["toy", "--published", TABLES, "--cells", "out", "--tables", "out", "--settings", TOY],
    "provenance": ["provenance", "--output", "out.json", "s.json"],
    "z-scores": ["z-scores", SCORECARD, "--folder", "out"],
    "compare": ["compare", "samples/X.npz", "samples/Y.npz", "--cells", "out", "--tables", "t"],
    "exact": ["exact", "X.parquet", "--csv", "out.csv", "--md", "m.md"],
    "figures": ["figures", "--numbers", "1", "--folder", "out"],
    "reversal": ["reversal", "X.parquet", "Y.parquet", "--output", "out.png"],
    "reference": ["reference", "X.parquet", "--output", "out"],
    "describe": ["describe", "e.csv", "--source", "out.json", "--dataset", OWN],
    "rank-external": [
        *("rank-external", "split.npz", "ranked.parquet"),
        *("--format", "ranks", "--output", "out.parquet"),
    ],
    "spread": [
        "spread",
        "split.npz",
        "X.parquet",
        "--output",
        "s.csv",
        "--by-start",
        "out.csv",
        "--band",
        "b.csv",
        "--recommender",
        ENTRY,
        "--starts",
        "2",
        "--settings",
        SETTINGS,
    ],
    "outcomes": ["outcomes", "split.npz", "model.npz", "--output", "out.npy"],
    "beyond": [
        "beyond",
        f"{BEYOND}/values.csv",
        "--orders",
        f"{BEYOND}/orders.csv",
        "--output",
        "out",
        "--tables",
        "out",
        "--figures",
        "out",
    ],
    "negatives": ["negatives", "split.npz", "n.csv", "M.npy", "N.npy", "--output", "out"],
    "repeat": [
        "repeat",
        "split.npz",
        "M.npy",
        "--part",
        "sampled",
        "--settings",
        BEYOND_SETTINGS,
        "--values",
        "out.csv",
        "--orders",
        "o.csv",
    ],
    "scorecard": [
        "scorecard",
        CELLS,
        "--published",
        TABLES,
        "--spread",
        REFERENCE / "spread.csv",
        "--by-start",
        REFERENCE / "starts.csv",
        "--ranks",
        "X.parquet",
        "--csv",
        "out.csv",
        "--md",
        "m.md",
    ],
    "claims": [
        "claims",
        CELLS,
        "--published",
        TABLES,
        "--by-start",
        REFERENCE / "starts.csv",
        "--figure6",
        REFERENCE / "figures/figure6.csv",
        "--ranks",
        "X.parquet",
        "--csv",
        "out.csv",
        "--md",
        "m.md",
    ],
    "audit": [
        "audit",
        "split.npz",
        "X.parquet",
        "--archive",
        "ml-1m.zip",
        "--published",
        TABLES,
        "--recommenders",
        "[]",
        "--csv",
        "out.csv",
        "--md",
        "m.md",
    ],
    "report": [
        "report",
        "X.parquet",
        "--tables",
        ".",
        "--figures",
        ".",
        "--provenance",
        "s.json",
        "--graph",
        "g.svg",
        "--output",
        "out.html",
    ],
}


def nothing(*_):
    return []


# Steps of minutes, and what they write in this test.
WITHOUT_WORK = {"scorecard", "claims", "audit", "report"}
WORK = {
    "report.scorecard.scorecard": lambda *_: pd.read_csv(SCORECARD),
    "report.power.power_table": nothing,
    "study.joint.joint_table": nothing,
    "study.claims.Run": SimpleNamespace(of=nothing, of_table=nothing, published=nothing),
    "study.claims.ledger": lambda *_: pd.read_csv(REFERENCE / "claims.csv"),
    "study.readings.Material": SimpleNamespace(load=nothing),
    "study.audit.run_audit": lambda _: [Reading("topic", "reading" * 20, "AP", 1.0, "1", 1.0)],
    "report.page.collect.collect": lambda **_: {},
    "report.page.render.render": lambda _: "<html>" * 100,
}


@pytest.fixture(scope="module")
def prepared(made):
    """Run the steps that others start from, before anything is full."""
    from sampled_metrics.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        (made / "s.json").write_text("{}")
        (made / CELLS).write_text(",".join(Row._fields) + "\n" + ",".join(Row._fields) + "\n")
        events = synthetic_interactions()
        pairs = [f"{u},{i}\n" for u, i in zip(events.user, events.item, strict=True)]
        (made / "e.csv").write_text("user_id,item_id\n" + "".join(pairs))
        seen = set(zip(events.user, events.item, strict=True))
        unseen = [(u, [i for i in range(1, 41) if (u, i) not in seen]) for u in set(events.user)]
        rows = [f"{user},{item}\n" for user, items in unseen for item in items[:5]]
        (made / "n.csv").write_text("user_id,item_id\n" + "".join(rows))
        for name, output in (
            ("split", "split.npz"),
            ("train", "model.npz"),
            ("rank", "ranked.parquet"),
            ("outcomes", "M.npy"),
        ):
            arguments = [output if str(each).startswith("out.") else each for each in STEPS[name]]
            patch.setattr(sys, "argv", ["sampled-metrics", "study", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
        (made / "N.npy").write_bytes((made / "M.npy").read_bytes())
        for name in "XY":
            arguments = ["sample", f"{name}.parquet", "--settings", SETTINGS]
            arguments += ["--output", f"samples/{name}.npz"]
            patch.setattr(sys, "argv", ["sampled-metrics", "study", *arguments])
            with pytest.raises(SystemExit):
                main()
    return made


@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_is_one_line_with_the_path(step, prepared, run, monkeypatch):
    monkeypatch.chdir(prepared)
    before = sorted(prepared.rglob("*"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    for place, function in WORK.items() if step in WITHOUT_WORK else ():
        monkeypatch.setattr(f"sampled_metrics.{place}", function)
    with full_after(100):
        done = run("study", *STEPS[step])
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith("out"), done.stderr
    assert line.endswith(": cannot be written (File too large)")
    left = [path for path in sorted(prepared.rglob("*")) if path.is_file() and path not in before]
    assert not left


def test_standard_output_on_a_full_disk():
    command = [sys.executable, "-m", "sampled_metrics", "metrics", "--format", "csv"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "standard output: cannot be written (No space left on device)\n"


def test_a_command_for_ones_own_ranks_too(prepared, refused, monkeypatch):
    monkeypatch.chdir(prepared)
    for name in ("out.csv", "out.parquet"):
        with full_after(100):
            line = refused("sample", "X.parquet", "--n-negatives", 5, "--output", name)
        assert line == f"{name}: cannot be written (File too large)"
