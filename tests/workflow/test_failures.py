"""What a user reads when something is wrong, and how the study goes on without a network."""

import json

import pytest

from tests.conftest import ROOT, write_archive


@pytest.fixture(scope="module")
def offline(make_project):
    return make_project()


def test_config_that_breaks_the_schema_is_one_line(offline):
    done = offline.run("snakemake", "--cores", "1", "--config", "ranks=both")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == ("config: ranks is 'both'; allowed: trained, reference")
    assert "Traceback" not in done.stdout


def test_reference_without_the_ranks_of_a_recommender_is_one_line(make_project):
    project = make_project()
    project.change("recommenders", 1, name="W")
    done = project.run("snakemake", "--cores", "1", "--config", "ranks=reference")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == (
        "config: ranks is 'reference', which keeps X, Y, Z; recommenders are X, W, Z"
    )


def test_bad_archive_stops_the_study_and_leaves_nothing_half_written(make_project, tmp_path):
    project = make_project(write_archive(tmp_path / "bad.zip", b"1::1::5::7\n1::2::9::8\n"))
    done = project.run("make", "reproduce", "CORES=1")
    assert done.returncode != 0
    assert "going on with" not in done.stdout
    assert (
        "results/data/ml-1m.zip:ml-1m/ratings.dat, row 2 (line 2): found rating 9; "
        "expected a rating from 1 to 5"
    ) in done.stdout.splitlines()
    split = project.folder / "results/split"
    assert not split.exists() or not list(split.iterdir())


@pytest.fixture(scope="module")
def reproduced(make_project):
    """The paper's study, offline and without an archive; figures are left to a test of theirs."""
    project = make_project(small=False)
    targets = "results/tables/exact.csv results/scorecard.csv results/provenance.json"
    done = project.run("make", "reproduce", f"TARGETS={targets}")
    assert done.returncode == 0, done.stdout
    project.output = done.stdout
    return project


def test_offline_names_the_three_ways_on_once(reproduced):
    told = [line for line in reproduced.output.splitlines() if "three ways on" in line]
    assert len(told) == 1
    assert told[0].startswith("GroupLens could not be reached")
    for way in ("with a network", "dataset.archive", "MOVIELENS_ARCHIVE", "`ranks: reference`"):
        assert way in told[0]


def test_reproduce_goes_on_from_the_reference_ranks(reproduced):
    assert "GroupLens could not be reached: going on with the ranks" in reproduced.output
    assert "Training" not in reproduced.output.split("going on with")[1]
    assert not list(reproduced.folder.glob("results/models/*"))
    record = json.loads(reproduced.result("provenance.json"))
    assert record["ranks"] == "reference"
    committed = json.loads((ROOT / "results/reference/provenance.json").read_text())
    assert record["provenance"] == committed


SPEAKING = ["exact.md", "table3.md", "table3.tex", "table4.md", "table4.tex"]


@pytest.mark.parametrize(
    "name", [*(f"tables/{name}" for name in SPEAKING), "scorecard.md", "cells/table3.csv"]
)
def test_outputs_say_that_nothing_was_trained(reproduced, name):
    assert "reference run; nothing was trained here" in reproduced.result(name).decode()


def test_reference_ranks_give_the_reference_tables_to_the_last_digit(reproduced):
    reference = ROOT / "results/reference"
    tables = [f"tables/table{number}.csv" for number in range(1, 5)]
    for name in ["tables/exact.csv", "scorecard.csv", *tables]:
        assert reproduced.result(name) == (reference / name).read_bytes(), name
