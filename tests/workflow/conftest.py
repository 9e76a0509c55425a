"""Copies of the project in temporary folders, in which tests run Snakemake as users do."""

import contextlib
import copy
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

# Nothing listens on the discard port, so the study behaves as if there were no network.
UNREACHABLE = "http://127.0.0.1:9/ml-1m.zip"
# Appended to the copy of figures/__init__.py: tests of rules do not draw figures.
STUB_OF_DRAW = """
def draw(number, table, stem, note=""):
    for kind in _FILE_TYPES:
        stem.with_name(f"{stem.name}.{kind}").write_text("<svg></svg>")
"""
FILES = (
    "Snakefile",
    "Makefile",
    "environment.yml",
    "pyproject.toml",
    "requirements.lock",
    "requirements-study.lock",
)


def run(*command, **place):
    """Run a command to its end; its `stdout` includes the errors that it prints."""
    ends = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.run(command, check=False, **ends, **place)


class Project:
    def __init__(self, folder: Path, archive: Path | None, small: bool) -> None:
        self.folder, self.results = folder, folder / "results"
        for name in FILES:
            shutil.copy(ROOT / name, folder)
        for name in ("config", "workflow", "src", "results/reference"):
            # with what is compiled already
            shutil.copytree(ROOT / name, folder / name)
        # `make` finds these stamps, and uses the environment on the path, that of the tests.
        (folder / ".venv").mkdir()
        for stamp in (".study", ".installed"):
            (folder / ".venv" / stamp).touch()
        self.change("dataset", url=UNREACHABLE, retries=0, cache=str(folder / "cache"))
        if small:
            self.change("experiment", n_negatives=10, repetitions=20)
            self.change("toy", repetitions=20)
        # the copy is compiled once
        left_out = {"MOVIELENS_ARCHIVE", "PYTHONDONTWRITEBYTECODE"}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in left_out},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "xdg"),
        }
        if archive is not None:
            self.environment["MOVIELENS_ARCHIVE"] = str(archive)

    def copy_to(self, folder):
        """Copy the project with its results, and with what Snakemake recorded of them."""
        shutil.copytree(self.folder, folder, symlinks=True)
        copied = copy.copy(self)
        copied.folder, copied.results = folder, folder / "results"
        return copied

    def change(self, *path, **values):
        file = self.folder / "config/config.yaml"
        config = yaml.safe_load(file.read_text())
        place = config
        for step in path:
            place = place[step]
        place.update(values)
        file.write_text(yaml.safe_dump(config, sort_keys=False))

    def run(self, *command):
        return run(*command, cwd=self.folder, env=self.environment)

    def start(self, *command):
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill_when(self, command, until):
        """Start a command; kill it and its children once `until(seconds)` is true."""
        running, began = self.start(*command), time.monotonic()
        while running.poll() is None and not until(time.monotonic() - began):
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):  # a command that has ended
            os.killpg(running.pid, signal.SIGKILL)
        return running.wait() == -signal.SIGKILL

    def snakemake(self, *arguments, cores=2):
        arguments_of_profile = ("--profile", "workflow/profiles/local", "--cores", str(cores))
        done = self.run("snakemake", *arguments_of_profile, *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def planned_results(self, *targets):
        """Names of the result files that a run would make."""
        rows = [line.split("\t") for line in self.snakemake("--summary", *targets).splitlines()]
        plans = {row[0]: row[-1] for row in rows if row[0].startswith("results/")}
        assert plans
        return {
            name.removeprefix("results/") for name, plan in plans.items() if plan != "no update"
        }

    def result(self, name):
        return (self.results / name).read_bytes()

    def temporary_files(self):
        """Temporary files, which a killed run may leave."""
        return [path for path in self.results.rglob(".*") if path.is_file()]


@pytest.fixture(scope="module")
def small_archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "small.zip"
    return write_archive(path, as_ratings(synthetic_interactions()))


@pytest.fixture(scope="module")
def make_project(tmp_path_factory):
    def make(archive=None, small=True):
        project = Project(tmp_path_factory.mktemp("project"), archive, small)
        with (project.folder / "src/sampled_metrics_study/figures/__init__.py").open("a") as module:
            module.write(STUB_OF_DRAW)
        return project

    return make
