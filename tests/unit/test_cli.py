"""The command line as its users meet it: one line, status 2, nothing half-written."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sampled_metrics.ranks import Ranks
from tests.conftest import as_ratings, synthetic_interactions, write_archive


def test_the_command_is_a_program():
    command = [sys.executable, "-m", "sampled_metrics", "study", "exact", "gone.parquet"]
    command += ["--csv", "c", "--md", "m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gone.parquet: no such file; expected ranks, lists or scores")
    assert done.stderr.count("\n") == 1


def test_help_and_version(run):
    for arguments in ([], ["--help"], ["study", "--help"], ["study", "rank", "--help"]):
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage" in done.stdout
    assert run("--version").stdout.startswith("sampled-metrics ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluat"], "No such command 'evaluat'"),
        (["correct", "r.csv", "-m", "5"], "No such option: -m. Did you mean --n-negatives?"),
        (["evaluate", "\udcff.csv"], "'\\udcff.csv' is not UTF-8; rename the file"),
        (["study"], "Missing command"),
        (["study", "rank"], "Missing argument"),
        (["study", "split", "gone.zip", "--output", "o", "--counts", "c"], "gone.zip: not a read"),
        (["study", "rank", "gone.npz", "m.npz", "--output", "o"], "gone.npz: no such file; exp"),
        (
            ["study", "exact", "gone.parquet", "--csv", "c", "--md", "m"],
            "gone.parquet: no such file",
        ),
        (["study", "train", "s", "--kind", "als", "--settings", "{", "--output", "o"], "not JSON"),
        (["study", "train", "s", "--kind", "als", "--settings", "3", "--output", "o"], "a mapping"),
        (["study", "train", "s", "--kind", "svd", "--output", "o"], "unknown recommender kind"),
        (["study", "train", "s", "--kind", "als", "--threads", "0", "--output", "o"], "threads"),
        (["study", "sample", "r", "--settings", '{"m": 1}', "--output", "o"], "unknown key 'm'"),
        (
            ["study", "split", "z", "--filters", '{"x": 1}', "--output", "o", "--counts", "c"],
            "--filters: unknown key 'x'",
        ),
        (["study", "describe", "t.csv", "--dataset", "{}", "--source", "s"], "format is movielens"),
        (["study", "figures", "--numbers", "1,7", "--folder", "f"], "no figure '7'; known: 1, 2"),
        (["study", "figures", "--numbers", "5", "--folder", "f"], "figure 5 needs rank records"),
        (["study", "fetch", "--archive", "gone.zip", "--output", "o", "--source", "s"], "gone.zip"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(refused, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_steps_of_the_study(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    interactions = synthetic_interactions()
    archive = write_archive(tmp_path / "mine.zip", as_ratings(interactions))
    steps = [
        ["fetch", "--archive", archive, "--output", "a.zip", "--source", "source.json"],
        ["split", "a.zip", "--output", "s.npz", "--counts", "split.json"],
        ["train", "s.npz", "--kind", "itemknn", "--output", "m.npz"],
        ["rank", "s.npz", "m.npz", "--output", "ranks/A.parquet"],
        [
            "exact",
            "ranks/A.parquet",
            "--csv",
            "e.csv",
            "--md",
            "e.md",
            "--settings",
            '{"ties": ["random"]}',
        ],
        [
            "provenance",
            "source.json",
            "split.json",
            "--study",
            '{"ranks": "trained"}',
            "--output",
            "p.json",
        ],
        ["reference", "ranks/A.parquet", "--output", "reference"],
    ]
    for step in steps:
        done = run("study", "--log", f"{step[0]}.log", *step)
        assert done.returncode == 0, done.stderr
        log = (tmp_path / f"{step[0]}.log").read_text().splitlines()
        assert [line.split(": ", 1)[1] for line in log] == done.stderr.splitlines()
    record = json.loads((tmp_path / "p.json").read_text())
    assert record["source"]["origin"] == "local archive"
    assert record["source"]["ratings_is_official"] is False
    assert record["split"]["interactions"] == len(interactions)
    assert record["ranks"] == "trained"
    table = pd.read_csv("e.csv")
    assert list(table.columns) == ["recommender", "metric", "ties", "value"]
    assert table["metric"].tolist() == ["recall@10", "ndcg@10", "ap", "auc"]
    assert "Ranks: trained in this run." in (tmp_path / "e.md").read_text()


def test_reference_ranks_hold_no_ids(run, tmp_path):
    path = tmp_path / "A.parquet"
    ids = np.array([71, 72])
    Ranks([5, 6], [1, 2], [0, 1], users=ids, source="run").write(path, items=ids)
    assert run("study", "reference", path, "--output", tmp_path / "kept").returncode == 0
    kept = tmp_path / "kept" / "A.parquet"
    columns = ["user_id", "n_candidates", "n_better", "n_tied"]
    assert pq.read_table(kept).column_names == columns
    records = Ranks.read(kept)
    assert records.users.tolist() == [0, 1]
    assert records.n_better.tolist() == [1, 2]
    assert "reference run" in records.source


def test_exact_table_by_hand(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # ranks 1 and 2-4 (uniform) among 11: AP (1 + (1/2 + 1/3 + 1/4)/3)/2, AUC (1 + 8/10)/2
    records = Ranks([11, 11], [0, 1], [0, 2])
    records.replace(users=np.arange(2), source="hand").write(tmp_path / "A.parquet")
    settings = '{"metrics": ["ap", "auc"], "ties": ["expected", "optimistic"]}'
    arguments = ["--csv", "e.csv", "--md", "e.md", "--settings", settings]
    assert run("study", "exact", "A.parquet", *arguments).returncode == 0
    ap = 100 * (1 + (1 / 2 + 1 / 3 + 1 / 4) / 3) / 2
    assert (tmp_path / "e.csv").read_text() == (
        "recommender,metric,ties,value\n"
        f"A,ap,expected,{ap:.6f}\n"
        "A,ap,optimistic,75.000000\n"
        "A,auc,expected,90.000000\n"
        "A,auc,optimistic,95.000000\n"
    )
    markdown = (tmp_path / "e.md").read_text().splitlines()
    assert markdown[0] == "Exact metrics in percent, by tie policy. Ranks: hand."
    assert [cell.strip() for cell in markdown[4].split("|")[1:-1]] == [
        "A", "expected", f"{ap:.2f}", "90.00",
    ]  # fmt: skip


def test_names_given_twice_and_records_that_are_no_json(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = Ranks([11, 11], [0, 1], [0, 2])
    records.replace(users=np.arange(2), source="hand").write(tmp_path / "A.parquet")
    arguments = ["study", "exact", "A.parquet", "--csv", "e.csv", "--md", "e.md"]
    assert "duplicate entry ap" in refused(*arguments, "--settings", '{"metrics": ["ap", "ap"]}')
    assert "duplicate recommender: A" in refused(*arguments, "A.parquet")
    (tmp_path / "p.json").write_text("{")
    provenance = ["study", "provenance", "p.json", "--output", "o"]
    assert refused(*provenance).startswith("p.json: not JSON")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["A.parquet", "p.json"]


KILLED_WHILE_WRITING = """
import os, signal, sys, time
from pathlib import Path
from sampled_metrics import cli
from sampled_metrics._base.files import replacing
from sampled_metrics.study import toy

def killed(settings):
    with replacing(Path("table1.csv")) as temporary:
        temporary.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

toy.toy_tables = killed
sys.argv = ["x", "study", "toy", "--published", "p", "--cells", "c", "--tables", "t"]
cli.main()
"""


def test_ended_from_outside_leaves_nothing_half_written(tmp_path):
    command = [sys.executable, "-c", KILLED_WHILE_WRITING]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_ours_is_in_the_log_too(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sampled_metrics.study.toy.toy_tables", lambda _: 1 / 0)
    published = ["--published", "p.csv", "--cells", "c", "--tables", "t"]
    done = run("study", "--log", "toy.log", "toy", *published)
    assert done.returncode == 1
    assert "ZeroDivisionError" in (tmp_path / "toy.log").read_text()


def test_a_model_that_is_not_finite_stops_the_run(run, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive = write_archive(tmp_path / "a.zip", as_ratings(synthetic_interactions()))
    assert run("study", "split", archive, "--output", "s.npz", "--counts", "c").returncode == 0
    als = ["--kind", "als", "--settings", '{"d": 2}']
    assert run("study", "train", "s.npz", *als, "--output", "m.npz").returncode == 0
    with np.load("m.npz") as data:
        arrays = dict(data)
    arrays["user_vectors"][4] = np.nan
    np.savez("m.npz", **arrays)
    message = refused("study", "rank", "s.npz", "m.npz", "--output", "r.parquet")
    assert message.startswith("m.npz: vectors of users ")
    assert "expected finite numbers" in message
    assert not (tmp_path / "r.parquet").exists()
