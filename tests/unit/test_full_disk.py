"""Every step says which file it could not write when the disk is full."""

import json
import resource
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from sampled_metrics.ranks import Ranks
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
}


@pytest.fixture(scope="module")
def prepared(made):
    """Run the steps that others start from, before anything is full."""
    import sys

    from sampled_metrics.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        (made / "s.json").write_text("{}")
        for name, output in (
            ("split", "split.npz"),
            ("train", "model.npz"),
            ("rank", "ranked.parquet"),
        ):
            arguments = [output if str(each).startswith("out.") else each for each in STEPS[name]]
            patch.setattr(sys, "argv", ["sampled-metrics", "study", *arguments])
            with pytest.raises(SystemExit) as ended:
                main()
            assert not ended.value.code
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
    with full_after(100):
        done = run("study", *STEPS[step])
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith("out"), done.stderr
    assert line.endswith(": cannot be written (File too large)")
    left = [path for path in sorted(prepared.rglob("*")) if path.is_file() and path not in before]
    assert not left


def test_a_command_for_ones_own_ranks_too(prepared, refused, monkeypatch):
    monkeypatch.chdir(prepared)
    for name in ("out.csv", "out.parquet"):
        with full_after(100):
            line = refused("sample", "X.parquet", "--n-negatives", 5, "--output", name)
        assert line == f"{name}: cannot be written (File too large)"
