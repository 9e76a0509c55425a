"""What a user reads when something is wrong, and how the study goes on without a network."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.conftest import ROOT, write_archive


def test_an_invalid_configuration_is_one_line(make_project):
    done = make_project().run("snakemake", "--cores", "1", "--config", "ranks=both")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == "config: ranks must be trained or reference, not 'both'"
    assert "Traceback" not in done.stdout


class Handler(BaseHTTPRequestHandler):
    """Answers as a network does that asks for a login."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>Please log in.</html>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def failing(make_project):
    """A project with the results of an earlier run."""
    project = make_project()
    (project.folder / "results/tables").mkdir()
    for name in ("scorecard.md", "tables/exact.md"):
        (project.folder / "results" / name).write_text("an earlier run\n")
    return project


def assert_stopped(project):
    done = project.run("make", "reproduce", "CORES=1")
    assert done.returncode != 0
    assert "going on with" not in done.stdout
    assert "an earlier run" not in done.stdout
    assert not (project.folder / "results/scorecard.csv").exists()
    return done.stdout


def test_reproduce_stops_if_the_server_sends_no_archive(failing, server):
    failing.change("dataset", url=f"{server}/ml-1m.zip")
    output = assert_stopped(failing)
    log = (failing.folder / "results/logs/fetch.log").read_text()
    assert "web page" in log
    assert log.splitlines()[-1].removeprefix("ERROR: ") in output
    for folder in ("cache", "results/data"):
        assert not [path for path in (failing.folder / folder).rglob("*") if path.is_file()]


def test_reproduce_stops_at_a_bad_archive(failing, tmp_path):
    archive = write_archive(tmp_path / "bad.zip", b"1::1::5::7\n1::2::9::8\n")
    failing.environment["MOVIELENS_ARCHIVE"] = str(archive)
    assert "ratings.dat, row 2" in assert_stopped(failing)
    split = failing.folder / "results/split"
    assert not split.exists() or not list(split.iterdir())


def test_a_step_that_is_killed_names_its_memory_and_a_remedy(failing, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'toy' in sys.orig_argv: os.kill(os.getpid(), 9)\n"
    )
    monkeypatch.setitem(failing.environment, "PYTHONPATH", str(tmp_path))
    done = failing.run("snakemake", "--cores", "1", "results/cells/table1.csv")
    assert done.returncode != 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("toy probably ran out")]
    assert "600 MB" in line
    assert line.endswith("--cores 1")


@pytest.fixture(scope="module")
def reproduced(make_project):
    """The paper's study, offline and without an archive; figures are left to a test of theirs."""
    project = make_project(small=False)
    targets = "results/tables/exact.csv results/scorecard.csv results/provenance.json"
    done = project.run("make", "reproduce", f"TARGETS={targets}")
    assert done.returncode == 0, done.stdout
    project.output = done.stdout
    return project


def test_offline_names_the_alternatives_once(reproduced):
    start = "GroupLens could not be reached ("
    told = [line for line in reproduced.output.splitlines() if line.startswith(start)]
    assert len(told) == 1
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
