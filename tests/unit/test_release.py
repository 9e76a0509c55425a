"""What is published: a wheel and an archive of the source, and what runs without the extras."""

import subprocess
import sys
import tarfile
import zipfile

import pytest
from flit_core import buildapi

from sampled_metrics import __version__
from tests.conftest import ROOT

# Packages that only the study needs cannot be imported.
WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"implicit", "jinja2", "matplotlib", "pooch", "requests"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
PYTHON = """
import numpy as np
import sampled_metrics as sm
ranks = sm.SampledRanks([1, 3, 1, 40, 2], n_items=3541, n_negatives=100)
assert sm.correct(ranks, ["recall@10"], ["cls", "bv:0.1"])[0].range_high > 0.3
full = sm.Ranks([120] * 40, [3] * 40, [0] * 40)
assert sm.evaluate(full, ["ap"])[0].value == 0.25
assert sm.compare({"a": full, "b": full}, ["ap"])[0].order == "undecided"
assert sm.draw_sampled_ranks(full, 10, np.random.default_rng(0)).size == 40
"""
COMMAND = """
import sys
from sampled_metrics.cli import main
main()
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder with the wheel and the source, built from what the repository holds."""
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        wheel, source = buildapi.build_wheel(str(folder)), buildapi.build_sdist(str(folder))
    return folder / wheel, folder / source


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Run Python with the wheel's files and without the packages of the extras."""
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(built[0]).extractall(site)  # noqa: S202 - built above

    def python(code, *arguments):
        words = [sys.executable, "-c", WITHOUT_EXTRAS + code, *arguments]
        environment = {"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=site, env=environment
        )

    return python


def test_wheel_holds_every_file_of_the_package(built):
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    ours = {str(path.relative_to(ROOT / "src")) for path in files if "__pycache__" not in str(path)}
    assert ours <= names
    assert wheel.name == f"sampled_metrics-{__version__}-py3-none-any.whl"
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_source_archive_can_be_built_from(built):
    with tarfile.open(built[1]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "src/sampled_metrics/__init__.py"} <= names


def test_array_work_needs_no_extra(installed):
    done = installed(PYTHON)
    assert (done.returncode, done.stderr) == (0, "")


def test_own_commands_need_no_extra(installed, tmp_path):
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("sampled_rank\n1\n3\n11\n")
    done = installed(COMMAND, "correct", str(ranks), "--n-negatives", "10", "--n-items", "100")
    assert (done.returncode, done.stderr) == (0, "")
    assert "recall@10" in done.stdout


def test_a_missing_extra_is_named_with_its_remedy(installed, tmp_path):
    files = ["--output", str(tmp_path / "data.zip"), "--source", str(tmp_path / "source.json")]
    done = installed(COMMAND, "study", "fetch", *files)
    assert done.returncode == 2
    assert "sampled-metrics[study]" in done.stderr
