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


def test_wheel_contains_every_file(built):
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file()]
    ours = {str(path.relative_to(ROOT / "src")) for path in files if "__pycache__" not in str(path)}
    assert ours <= names
    assert built[0].name == f"sampled_metrics-{__version__}-py3-none-any.whl"
    assert any(name.endswith("licenses/LICENSE") for name in names)


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
def test_command_needs_no_extra(python, tmp_path):
    assert python("sampled-metrics", "--version").stdout == f"sampled-metrics {__version__}\n"
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("sampled_rank\n1\n3\n11\n")
    sizes = ["--n-negatives", "10", "--n-items", "100"]
    done = python("sampled-metrics", "correct", str(ranks), *sizes)
    assert (done.returncode, done.stderr) == (0, "")
    assert "recall@10" in done.stdout
    page = tmp_path / "page.html"
    assert (
        python("sampled-metrics", "report", str(ranks), *sizes, "--output", str(page)).returncode
        == 0
    )
    assert page.stat().st_size


@pytest.mark.long
def test_missing_extra_is_named(python):
    code = "import sys, sampled_metrics.cli as c\ndef app(*_, **__):\n    import matplotlib\n"
    done = python("python", "-c", f"{code}c.app = app\nsys.argv = ['x', 'y']\nc.main()")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pip install matplotlib" in done.stderr


def test_conda_recipe_matches_dependencies():
    text = (ROOT / "conda/meta.yaml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(re.sub(r"{%.*?%}|{{.*?}}", "", text))
    python, *needed = recipe["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    assert needed == PROJECT["dependencies"]
    (script,) = PROJECT["scripts"].items()
    assert recipe["build"]["entry_points"] == [" = ".join(script)]


def test_paper_cites_its_bibliography():
    paper = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    head, _, body = paper.removeprefix("---\n").partition("\n---\n")
    assert yaml.safe_load(head)["bibliography"] == "paper.bib"
    keys = re.findall(r"(?m)^@\w+{(\w+),$", (ROOT / "paper/paper.bib").read_text(encoding="utf-8"))
    assert set(re.findall(r"@([a-z]+\d{4})", body)) == set(keys)
    assert len(keys) == len(set(keys))
    for figure in re.findall(r"\]\((.+?\.png)\)", body):
        assert (ROOT / "paper" / figure).is_file()
