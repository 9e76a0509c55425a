"""The reference run: stored ranks, verification of other runs, rewritten archives."""

import json
import runpy
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.read.options import as_ranks
from sampled_metrics_study import reference
from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

REFERENCE = ROOT / "results/reference"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the module as a program; return its status and output."""

    def run_program(*arguments):
        monkeypatch.setattr("sys.argv", ["reference", *map(str, arguments)])
        status = 0
        try:
            runpy.run_path(reference.__file__, run_name="__main__")
        except SystemExit as ended:
            status = ended.code
        return status, capsys.readouterr().out

    return run_program


@pytest.fixture
def results(tmp_path):
    for name in ("tables", "figures"):
        shutil.copytree(REFERENCE / name, tmp_path / name)
    for name in ("ranges.csv", "scorecard.csv", "provenance.json"):
        shutil.copy(REFERENCE / name, tmp_path)
    return tmp_path


def test_verify_copy_is_the_same(results):
    record = json.loads((results / "provenance.json").read_text())
    record["source"]["archive_is_official"] = True
    (results / "provenance.json").write_text(json.dumps(record))
    command = [sys.executable, "-m", "sampled_metrics_study.reference", "verify"]
    command += [results, REFERENCE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("official archive (")
    assert done.stdout.count("\n") == 1


def test_verify_counts_changes_and_names_first(results, run):
    table = results / "tables/table3.csv"
    text = table.read_text()
    assert text.count(",7.75,") == 1
    table.write_text(text.replace(",7.75,", ",7.76,"))
    figure = results / "figures/figure3.csv"
    lines = figure.read_text().splitlines(keepends=True)
    figure.write_text("".join(lines[:-1]))
    status, printed = run("verify", results, REFERENCE)
    assert status == 1
    tables = [REFERENCE / f"tables/table{number}.csv" for number in (1, 2, 3, 4)]
    n_values = sum(pd.read_csv(path, header=None, dtype=str).size for path in tables)
    assert f"Tables 1-4 (1 of {n_values:,} values)" in printed
    assert "table3.csv, row " in printed
    assert "7.76, not 7.75" in printed
    assert "Figures 1-6 (1 of " in printed
    assert printed.endswith("the same as the reference: exact metrics, ranges, scorecard\n")


def test_verify_allows_rounding(results, run):
    figure = results / "figures/figure6.csv"
    head, first, *rest = figure.read_text().splitlines(keepends=True)
    cells = first.rstrip("\n").split(",")
    places = [i for i, cell in enumerate(cells) if "." in cell and len(cell) > 8]
    for place in places:
        cells[place] = repr(float(cells[place]) * (1.0 + 1e-12))
    assert places
    figure.write_text("".join([head, ",".join(cells) + "\n", *rest]))
    assert run("verify", results, REFERENCE)[0] == 0


def events_of(path):
    with zipfile.ZipFile(path) as archive:
        lines = archive.read("ml-1m/ratings.dat").decode().split()
    return np.array([line.split("::") for line in lines], dtype=int)


@pytest.fixture
def archive(tmp_path):
    return write_archive(tmp_path / "ml-1m.zip", as_ratings(synthetic_interactions()))


def test_rewritten_times_keep_order_and_ties(archive, tmp_path, run):
    assert run("times", archive, tmp_path / "o.zip") == (0, "")
    before = events_of(archive)
    after = events_of(tmp_path / "o.zip")
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert set(after[:, 2]) == {3}
    for user in np.unique(before[:, 0]):
        old, new = (events[events[:, 0] == user, 3] for events in (before, after))
        _, places = np.unique(old, return_inverse=True)
        assert new.tolist() == places.tolist()


def test_rewritten_lines_are_shuffled(archive, tmp_path, run):
    assert run("lines", archive, tmp_path / "o.zip") == (0, "")
    before = events_of(archive).tolist()
    after = events_of(tmp_path / "o.zip").tolist()
    assert before != after
    assert sorted(before) == sorted(after)


def test_stored_ranks_have_no_ids(tmp_path):
    path = tmp_path / "X.parquet"
    users = np.array([71, 5, 9])
    sm.Ranks([9, 8, 7], [1, 0, 3], [0, 2, 1], users=users, source="trained").write(
        path, items=users
    )
    reference.store(tmp_path / "stored", path)
    (stored,) = (tmp_path / "stored").iterdir()
    assert stored.name == "X.parquet"
    ranks = as_ranks(stored)
    assert ranks.users.tolist() == [0, 1, 2]
    assert ranks.n_better.tolist() == [1, 0, 3]
    assert ranks.source == "reference run; nothing was trained here"
    assert "item_id" not in pd.read_parquet(stored)
