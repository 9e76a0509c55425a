"""What is published: the wheel and the source archive, and what runs without extras."""

import re
import subprocess
import sys
import tarfile
import zipfile

import pytest
import yaml
from hatchling import build

from sampled_metrics import __version__
from tests.conftest import ROOT
from tests.helpers.environments import make_environment
from tests.project.test_repository import EXTRAS, PROJECT, names_of

# Every module of the library, every public name, then the README.
IMPORTS = """
import importlib, pkgutil
import sampled_metrics
assert "site-packages" in sampled_metrics.__file__
for module in pkgutil.walk_packages(sampled_metrics.__path__, "sampled_metrics."):
    name = module.name.removeprefix("sampled_metrics.")
    if not name.startswith(("__main__", "recbole")):
        loaded = importlib.import_module(module.name)
        assert all(hasattr(loaded, name) for name in getattr(loaded, "__all__", ())), module.name
assert all(getattr(sampled_metrics, name) for name in sampled_metrics.__all__)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the source archive, built from the repository."""
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return [folder / make(str(folder)) for make in (build.build_wheel, build.build_sdist)]


@pytest.fixture(scope="module")
def python(built, tmp_path_factory):
    """Run programs in an environment with the wheel and its dependencies, without extras."""
    folder = tmp_path_factory.mktemp("environment")
    make_environment(folder, PROJECT["dependencies"])
    (folder / "results").symlink_to(ROOT / "results")  # which the README reads
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", built[0]], check=True)

    def run(*words):
        return subprocess.run(
            [folder / "bin" / words[0], *words[1:]],
            capture_output=True, text=True, check=False, cwd=folder, env={},
        )  # fmt: skip

    return run


@pytest.fixture
def names_in_wheel(built):
    with zipfile.ZipFile(built[0]) as archive:
        return set(archive.namelist())


def test_wheel_contains_every_file(names_in_wheel):
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    ours = {str(path.relative_to(ROOT / "src")) for path in files if "__pycache__" not in str(path)}
    assert ours - names_in_wheel == set()


def test_wheel_has_the_version_in_its_name(built):
    assert built[0].name == f"sampled_metrics-{__version__}-py3-none-any.whl"


def test_wheel_contains_the_licence(names_in_wheel):
    assert any(name.endswith("licenses/LICENSE") for name in names_in_wheel)


def test_source_archive_builds_the_same_wheel(built, tmp_path, monkeypatch):
    with tarfile.open(built[1]) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)  # noqa: S202 - made here
    monkeypatch.chdir(tmp_path / built[1].name.removesuffix(".tar.gz"))
    contents = []
    for path in (built[0], tmp_path / build.build_wheel(str(tmp_path))):
        with zipfile.ZipFile(path) as archive:
            contents.append({name: archive.read(name) for name in archive.namelist()})
    assert contents[0] == contents[1]


@pytest.mark.long
def test_library_and_readme_need_no_extra(python):
    study = sorted(names_of(EXTRAS["study"]) - {"pydantic", "pyyaml", "requests"})
    absent = "".join(f"assert importlib.util.find_spec({name!r}) is None\n" for name in study)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    snippets = re.findall(r"(?s)```python\n(.*?)```", text)
    code = [IMPORTS, "import importlib.util", absent, *snippets]
    done = python("python", "-c", "\n".join(code))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"(?m)^HR@10 +0\.\d+ to 0\.\d+ ", done.stdout)


@pytest.mark.long
def test_version_needs_no_extra(python):
    assert python("sampled-metrics", "--version").stdout == f"sampled-metrics {__version__}\n"


@pytest.fixture
def sampled_ranks(tmp_path):
    (tmp_path / "ranks.csv").write_text("sampled_rank\n1\n3\n11\n")
    return [str(tmp_path / "ranks.csv"), "--n-negatives", "10", "--n-items", "100"]


@pytest.mark.long
def test_command_needs_no_extra(python, sampled_ranks):
    done = python("sampled-metrics", "correct", *sampled_ranks)
    assert (done.returncode, done.stderr) == (0, "")
    assert "recall@10" in done.stdout


@pytest.mark.long
def test_page_needs_no_extra(python, sampled_ranks, tmp_path):
    page = tmp_path / "page.html"
    done = python("sampled-metrics", "report", *sampled_ranks, "--output", str(page))
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size > 0


@pytest.mark.long
def test_missing_extra_is_named(python):
    code = "import sys, sampled_metrics.cli as c\ndef app(*_, **__):\n    import matplotlib\n"
    done = python("python", "-c", f"{code}c.app = app\nsys.argv = ['x', 'y']\nc.main()")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pip install matplotlib" in done.stderr


@pytest.fixture
def recipe():
    text = (ROOT / "conda/meta.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(re.sub(r"{%.*?%}|{{.*?}}", "", text))


def test_conda_recipe_has_the_dependencies_of_the_project(recipe):
    python, *needed = recipe["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    assert needed == PROJECT["dependencies"]


def test_conda_recipe_has_the_command_of_the_project(recipe):
    ((name, function),) = PROJECT["scripts"].items()
    assert recipe["build"]["entry_points"] == [f"{name} = {function}"]


@pytest.fixture
def paper():
    """The metadata of the paper, and its text."""
    text = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    return yaml.safe_load(head), body


def test_paper_cites_its_bibliography(paper):
    metadata, body = paper
    assert metadata["bibliography"] == "paper.bib"
    bibliography = (ROOT / "paper/paper.bib").read_text(encoding="utf-8")
    keys = re.findall(r"(?m)^@\w+{(\w+),$", bibliography)
    assert sorted(set(re.findall(r"@([a-z]+\d{4})", body))) == sorted(keys)


def test_figures_of_the_paper_exist(paper):
    _, body = paper
    figures = re.findall(r"\]\((.+?\.png)\)", body)
    assert figures
    assert [figure for figure in figures if not (ROOT / "paper" / figure).is_file()] == []
