"""The workflow in an environment that has all packages of `environment.yml`, but not this one."""

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

import sampled_metrics
from tests.conftest import ROOT
from tests.workflow.conftest import run


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Python of an environment with the installed packages, this one left out."""
    folder = tmp_path_factory.mktemp("environment")
    done = run(sys.executable, "-m", "venv", "--without-pip", folder)
    assert done.returncode == 0, done.stdout
    inside = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=inside))
    for installed in {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}:
        for path in Path(installed).iterdir():
            if not path.name.startswith(("sampled_metrics", "__editable__")):
                (packages / path.name).symlink_to(path)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def environment(python):
    left_out = {"PYTHONPATH", "MOVIELENS_ARCHIVE"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"PATH": f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"}


def test_nothing_says_that_the_package_is_installed(python, environment, tmp_path):
    for statement in (
        "import sampled_metrics",
        "from importlib.metadata import version; version('sampled-metrics')",
    ):
        done = run(python, "-c", statement, cwd=tmp_path, env=environment)
        assert "NotFoundError" in done.stdout


def test_a_study_ends_with_its_page_and_the_version(python, environment, tmp_path):
    for name in ("config", "workflow", "src", ".test"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("results"))
    shutil.copy(ROOT / "Snakefile", tmp_path)
    shutil.copy(ROOT / "environment.yml", tmp_path)
    words = (python, "-m", "snakemake", "--cores", "2", "--directory", ".test")
    done = run(*words, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout
    results = tmp_path / ".test/results"
    assert (results / "report.html").exists()
    versions = json.loads((results / "provenance.json").read_text())["versions"]
    assert versions["sampled-metrics"] == sampled_metrics.__version__
    assert {"python", "numpy", "snakemake"} <= versions.keys()
