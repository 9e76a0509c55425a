"""What a full disk leaves behind does not stop the next run."""

import compileall
import marshal
import sys

import pytest

from tests.conftest import ROOT
from tests.workflow.conftest import run

pytestmark = pytest.mark.long

# Imported by the workflow as it starts, by a step only, and by nothing here.
MODULES = ["study/config", "study/curves", "budget/model"]
FIGURE, KEPT = "results/figures/figure1.csv", "results/reference/figures/figure1.csv"


@pytest.fixture
def compiled(make_project):
    """A project whose compiled modules a full disk has cut off, and these files."""
    project = make_project()
    package = project.folder / "src/sampled_metrics"
    assert compileall.compile_dir(package, quiet=2)
    files = []
    for module in MODULES:
        source = package / f"{module}.py"
        name = f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        files.append(source.parent / "__pycache__" / name)
    for file in files:
        whole = file.read_bytes()
        assert len(whole) > 1000
        file.write_bytes(cut_inside_an_object(whole))
    return project, files


def cut_inside_an_object(compiled):
    """About half of a compiled module; a cut between two objects has another message."""
    header = 16
    for end in range(len(compiled) // 2, header, -1):
        with pytest.raises(EOFError) as caught:
            marshal.loads(compiled[header:end])  # noqa: S302 - of our own compiler
        if "marshal data too short" in str(caught.value):
            return compiled[:end]
    raise AssertionError("no cut is inside an object")


def test_python_stops_at_a_truncated_module(compiled):
    project, _ = compiled
    place = {"cwd": project.folder / "src", "env": project.environment | {"PYTHONPATH": "."}}
    done = run("python", "-c", "import sampled_metrics.study.config", **place)
    assert "EOFError: marshal data too short" in done.stdout


def test_reproduce_runs_with_truncated_modules(compiled):
    project, files = compiled
    done = project.run("make", "reproduce", "CORES=2", f"TARGETS={FIGURE}")
    assert done.returncode == 0, done.stdout
    assert project.result("figures/figure1.csv") == (ROOT / KEPT).read_bytes()
    for file in files[:2]:  # compiled again
        marshal.loads(file.read_bytes()[16:])  # noqa: S302 - our own
    assert not files[2].exists()
