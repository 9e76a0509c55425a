"""The workflow with the packages of `environment.yml`, without installing this package."""

import json
import os
import shutil

import pytest
import yaml

import sampled_metrics
from tests.conftest import ROOT
from tests.helpers.environments import make_environment
from tests.workflow.conftest import run

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pins():
    """Packages of `environment.yml` and their versions, except Python."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    lines = [line for line in environment["dependencies"] if " =" in line]
    versions = dict(line.split(" =") for line in lines)
    del versions["python"]
    return versions


@pytest.fixture(scope="module")
def python(tmp_path_factory, pins):
    """Python of an environment with these packages and their requirements."""
    return make_environment(tmp_path_factory.mktemp("environment"), list(pins))


@pytest.fixture(scope="module")
def environment(python):
    left_out = {"PYTHONPATH", "MOVIELENS_ARCHIVE"}
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    return inherited | {"PATH": f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"}


def test_environment_has_pinned_packages(python, environment, pins, tmp_path):
    versions = "{each.name.lower(): each.version for each in distributions()}"
    code = "import json; from importlib.metadata import distributions; "
    code += f"print(json.dumps({versions}))"
    done = run(python, "-c", code, cwd=tmp_path, env=environment)
    installed = {
        name.replace("_", "-"): version for name, version in json.loads(done.stdout).items()
    }
    assert {name: installed.get(name) for name in pins} == pins
    assert not installed.keys() & {"sampled-metrics", "pytest", "mkdocs", "snakefmt"}


def test_environment_lacks_package(python, environment, tmp_path):
    for statement in (
        "import sampled_metrics",
        "from importlib.metadata import version; version('sampled-metrics')",
    ):
        done = run(python, "-c", statement, cwd=tmp_path, env=environment)
        assert "NotFoundError" in done.stdout


def test_study_runs_without_installation(python, environment, tmp_path):
    for name in ("config", "workflow", "src", ".test"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("results"))
    shutil.copy(ROOT / "Snakefile", tmp_path)
    shutil.copy(ROOT / "environment.yml", tmp_path)
    command = (python, "-m", "snakemake", "--cores", "2", "--directory", ".test")
    done = run(*command, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout
    results = tmp_path / ".test/results"
    assert (results / "report.html").exists()
    versions = json.loads((results / "provenance.json").read_text())["versions"]
    assert versions["sampled-metrics"] == sampled_metrics.__version__
    assert {"python", "numpy", "snakemake"} <= versions.keys()
