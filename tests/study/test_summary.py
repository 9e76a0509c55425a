"""The closing sentence of a run of the study."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from sampled_metrics_study.summary import main, summary_line
from sampled_metrics_study.verdicts import VERDICT_PHRASES, VERDICTS
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"


def run(folder, *arguments, **environment):
    command = [sys.executable, "-m", "sampled_metrics_study.summary", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env={name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results"
    (folder / "tables").mkdir(parents=True)
    for name in ("scorecard.csv", "tables/exact.csv"):
        shutil.copy(REFERENCE / name, folder / name)
    (folder / "provenance.json").write_text(json.dumps({"ranks": "trained"}))
    (folder / "report.html").touch()
    return folder


def test_every_verdict_has_phrase():
    assert tuple(VERDICT_PHRASES) == VERDICTS


def test_summary_counts_cells(results):
    counted = summary_line(REFERENCE)
    assert counted.startswith("300 published numbers: 64 must")
    assert run(results.parent) == (0, [f"{counted}; open results/report.html"], "")
    card = results / "scorecard.csv"
    head, first, *others = card.read_text().splitlines()
    first = first.replace("exact", "not comparable")
    card.write_text("\n".join([head, first, *others]))
    assert summary_line(results).startswith("300 published numbers: 63 must")
    assert summary_line(results).endswith(", 1 not comparable")


def test_summary_without_scorecard_names_recommenders(results):
    (results / "scorecard.csv").unlink()
    _, (line,), _ = run(results.parent, "results")
    assert "X, Y, Z" in line
    assert line.endswith("open results/report.html")


def test_only_summary_of_reference_ranks_has_second_part(results, capsys):
    parts = {}
    for ranks in ("reference", "trained"):
        (results / "provenance.json").write_text(json.dumps({"ranks": ranks}))
        main(results)
        parts[ranks] = len(capsys.readouterr().out.splitlines()[0].split("; "))
    assert parts == {"reference": 3, "trained": 2}


def test_summary_names_inactive_environment(results):
    activate = results.parent / ".venv/bin/activate"
    activate.parent.mkdir(parents=True)
    activate.touch()
    _, lines, _ = run(results.parent)
    assert "source .venv/bin/activate" in lines[1]
    _, lines, _ = run(results.parent, VIRTUAL_ENV=str(activate.parents[1]))
    assert len(lines) == 1


@pytest.mark.parametrize("name", ["provenance.json", "report.html"])
def test_summary_of_unfinished_run_is_one_line(results, name):
    (results / name).unlink()
    status, lines, error = run(results.parent)
    assert (status, lines) == (2, [])
    assert error.startswith(f"results/{name} is missing")
