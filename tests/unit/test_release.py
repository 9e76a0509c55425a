"""What is published: a wheel and an archive of the source, and what runs without the extras."""

import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
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
assert "site-packages" in __import__("sampled_metrics").__file__
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
def environment(built, tmp_path_factory):
    """An environment with the wheel and its dependencies, which does not see the repository."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    # A folder named in a .pth file is searched, but its own .pth files, such as ours, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", built[0]], check=True)
    return folder


@pytest.fixture
def installed(environment):
    """Run Python with the wheel installed and without the packages of the extras."""

    def python(code, *arguments):
        words = [environment / "bin/python", "-c", WITHOUT_EXTRAS + code, *arguments]
        return subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=environment, env={}
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


def test_source_archive_gives_the_same_wheel(built, tmp_path, monkeypatch):
    wheel, source = built
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path / source.name.removesuffix(".tar.gz"))
    again = tmp_path / buildapi.build_wheel(str(tmp_path))
    contents = []
    for path in (wheel, again):
        with zipfile.ZipFile(path) as archive:
            contents.append({name: archive.read(name) for name in archive.namelist()})
    assert contents[0] == contents[1]


def test_the_command_is_installed(environment):
    done = subprocess.run(
        [environment / "bin/sampled-metrics", "--version"],
        capture_output=True, text=True, check=False, env={},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"sampled-metrics {__version__}\n")


def test_array_work_needs_no_extra(installed):
    """The first lines of the README give a range and an order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.partition("```python\n")[2].partition("```")[0]
    lines = [line for line in block.splitlines() if line and not line.startswith("#")]
    assert len(lines) == 5
    done = installed("\n".join(lines) + PYTHON)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^hit@10 +0\.\d+ to 0\.\d+ ", done.stdout, re.MULTILINE)
    assert re.search(r"^A +B +hit@10 +-.* A above B", done.stdout, re.MULTILINE)


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
