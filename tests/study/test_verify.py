"""What `make verify` compares, and archives whose ratings are written otherwise."""

import json
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

REFERENCE = ROOT / "results/reference"


def run(script, *words):
    command = [
        sys.executable,
        "-m",
        "sampled_metrics_study.reference",
        script,
        *words,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path):
    for name in ("tables", "figures"):
        shutil.copytree(REFERENCE / name, tmp_path / name)
    for name in ("ranges.csv", "scorecard.csv", "provenance.json"):
        shutil.copy(REFERENCE / name, tmp_path)
    return tmp_path


def test_a_copy_is_the_same(copied):
    record = json.loads((copied / "provenance.json").read_text())
    record["source"]["archive_is_official"] = True
    (copied / "provenance.json").write_text(json.dumps(record))
    done = run("verify", copied, REFERENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("official archive (")
    assert done.stdout.count("\n") == 1


def test_changed_values_are_counted_and_the_first_is_named(copied):
    table = copied / "tables/table3.csv"
    text = table.read_text()
    assert text.count(",7.75,") == 1
    table.write_text(text.replace(",7.75,", ",7.76,"))
    figure = copied / "figures/figure3.csv"
    lines = figure.read_text().splitlines(keepends=True)
    figure.write_text("".join(lines[:-1]))
    done = run("verify", copied, REFERENCE)
    assert done.returncode == 1
    assert "Tables 1-4 (1 of " in done.stdout
    assert "table3.csv, row " in done.stdout
    assert "value: 7.76, not 7.75" in done.stdout
    assert "Figures 1-6 (1 of " in done.stdout
    assert done.stdout.endswith(
        "the same as the reference: exact metrics, ranges, scorecard\n"
    )


def test_numbers_may_be_rounded_otherwise(copied):
    figure = copied / "figures/figure6.csv"
    head, first, *rest = figure.read_text().splitlines(keepends=True)
    cells = first.rstrip("\n").split(",")
    places = [i for i, cell in enumerate(cells) if "." in cell and len(cell) > 8]
    for place in places:
        cells[place] = repr(float(cells[place]) * (1.0 + 1e-12))
    assert places
    figure.write_text("".join([head, ",".join(cells) + "\n", *rest]))
    assert run("verify", copied, REFERENCE).returncode == 0


def events_of(path):
    with zipfile.ZipFile(path) as archive:
        lines = archive.read("ml-1m/ratings.dat").decode().split()
    return np.array([line.split("::") for line in lines], dtype=int)


@pytest.fixture
def archive(tmp_path):
    return write_archive(tmp_path / "ml-1m.zip", as_ratings(synthetic_interactions()))


def test_other_times_have_the_same_order_and_ties(archive, tmp_path):
    assert run("times", archive, tmp_path / "o.zip").returncode == 0
    before = events_of(archive)
    after = events_of(tmp_path / "o.zip")
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert set(after[:, 2]) == {3}
    for user in np.unique(before[:, 0]):
        old, new = (events[events[:, 0] == user, 3] for events in (before, after))
        _, places = np.unique(old, return_inverse=True)
        assert new.tolist() == places.tolist()


def test_lines_in_another_order(archive, tmp_path):
    assert run("lines", archive, tmp_path / "o.zip").returncode == 0
    before = events_of(archive).tolist()
    after = events_of(tmp_path / "o.zip").tolist()
    assert before != after
    assert sorted(before) == sorted(after)
