"""Facts stated in two files agree, and nothing is committed that must not be."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pydoc import locate

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

import sampled_metrics
from tests.cluster import __main__ as cluster
from tests.conftest import ROOT
from tests.helpers.documents import text_of

REFERENCE = ROOT / "results/reference"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def names_of(requirements):
    return {re.match(r"[\w-]+", requirement)[0].lower() for requirement in requirements}


def locked():
    return dict(
        re.findall(r"^([a-z0-9-]+)==([^\s;\\]+)", text_of("requirements.lock"), re.MULTILINE)
    )


def test_environment_matches_lock():
    *lines, pip, of_pip = yaml.safe_load(text_of("environment.yml"))["dependencies"]
    assert (pip, of_pip) == ("pip", {"pip": ["--editable ."]})
    pins = dict(line.split(" =") for line in lines)
    assert pins.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    needed = names_of(PROJECT["dependencies"] + EXTRAS["study"])
    assert pins == {name: locked()[name] for name in needed}


def test_every_locked_version_has_a_hash():
    text = text_of("requirements.lock")
    pins = re.findall(r"^\S+==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    assert len(pins) == len(locked())
    assert [pin for pin in pins if "--hash=sha256:" not in pin] == []


def test_lock_names_no_address():
    assert "://" not in text_of("requirements.lock")


def test_versions_of_the_image_are_those_of_the_lock():
    of_image, of_all = (
        set(re.findall(r"(?m)^\S+==\S+", text_of(name)))
        for name in ("requirements-study.lock", "requirements.lock")
    )
    assert of_image - of_all == set()


@cache
def distributions_by_package():
    """Return distributions by package name; listing the files of all takes long."""
    return packages_distributions()


def imported(paths):
    """Return the distributions that files import, except our own and the standard library."""
    by_package, distributions = distributions_by_package(), set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            )
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            modules = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
            distributions |= {by_package[name][0].lower() for name in modules if name in by_package}
    return distributions - {"sampled-metrics"}


@pytest.mark.long
def test_dependencies_of_the_library_match_its_imports():
    """Plots, progress bars and the proxy `als` name the package that they lack."""
    optional = {"matplotlib", "implicit", "tqdm"}
    library = imported((ROOT / "src/sampled_metrics").rglob("*.py"))
    assert library - optional == names_of(PROJECT["dependencies"])


@pytest.mark.long
def test_dependencies_of_the_study_match_its_imports():
    """pyyaml, snakemake and tqdm are used without an import, and h5py for NCF only."""
    study = imported((ROOT / "src/sampled_metrics_study").rglob("*.py")) - {"h5py"}
    scripts = imported((ROOT / "workflow/scripts").glob("*.py"))
    used = study | scripts | {"pyyaml", "snakemake", "tqdm"}
    of_study = names_of(EXTRAS["study"])
    assert used - (of_study | names_of(PROJECT["dependencies"])) == set()
    assert of_study - used == set()


def test_script_environment_matches_environment():
    whole, scripts = (
        yaml.safe_load(text_of(name))["dependencies"]
        for name in ("environment.yml", "workflow/envs/study.yaml")
    )
    assert all(line in whole for line in scripts)


def test_schema_matches_configuration(tmp_path):
    command = [sys.executable, "-m", "sampled_metrics_study.reference", "schema", "schema.yaml"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "schema.yaml").read_text() == text_of("workflow/schemas/config.schema.yaml")


def test_every_setting_is_described():
    described, keys = text_of("config/README.md"), []
    for section, values in yaml.safe_load(text_of("config/config.yaml")).items():
        keys += [section, *(values if isinstance(values, dict) else ())]
    assert [key for key in keys if f"`{key}" not in described] == []


def test_changelog_and_citation_match_version():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    section = f"## {sampled_metrics.__version__} ({citation['date-released']})"
    assert section in text_of("CHANGELOG.md").splitlines()
    assert citation["license"] == PROJECT["license"]
    assert citation["version"] == sampled_metrics.__version__


RANKS = {"ranks": (3, 6040), "global-time/ranks": (3, 1180), "ml-1m/ranks": (6, 6040),
         "ml-100k/ranks": (8, 943), "ncf": (2, 6040)}  # fmt: skip


@pytest.mark.parametrize("folder", RANKS)
def test_reference_ranks_contain_no_event(folder):
    files = sorted((REFERENCE / folder).glob("*.parquet"))
    recommenders, users = RANKS[folder]
    assert sum(".sampled" not in path.stem for path in files) == recommenders
    for path in files:
        table = pq.read_table(path)
        sampled = ["n_negatives", "sampling", "sampled_rank"]
        counts = sampled if ".sampled" in path.stem else ["n_better", "n_tied"]
        assert table.column_names == ["user_id", "n_candidates", *counts]
        assert table["user_id"].to_pylist() == list(range(users))


def test_no_data_is_committed():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so nothing says what is committed")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = listed.stdout.split()
    assert not [name for name in names if name.endswith((".dat", ".zip", ".rating", ".npz"))]


@pytest.mark.parametrize("folder", ["", "ml-100k"])
def test_reference_exact_metrics_follow_from_ranks(folder):
    table = pd.read_csv(REFERENCE / folder / "tables/exact.csv")
    for name, rows in table.groupby("recommender"):
        ranks = pq.read_table(REFERENCE / folder / f"ranks/{name}.parquet")
        n, better, tied = (ranks[column].to_numpy() for column in ranks.column_names[1:])
        # share of the orders of tied items that have a rank of at most 10
        recall = ((10 - better) / (tied + 1)).clip(0, 1).mean()
        auc = ((n - 1 - better - tied / 2) / (n - 1)).mean()
        expected = rows[rows["ties"] == "expected"].set_index("metric")["value"]
        assert expected["recall@10"] == pytest.approx(100 * recall, abs=1e-6)
        assert expected["auc"] == pytest.approx(100 * auc, abs=1e-6)


def test_slurm_profile_has_lines_to_edit():
    text = cluster.edit_profile(text_of("workflow/profiles/slurm/config.yaml"))
    assert "\n  slurm_account: lab\n" in text
    assert "\n  slurm_partition: main\n" in text


def test_scripts_use_existing_names():
    folders = [ROOT / name for name in ("benchmarks", "docs", "workflow")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert not [name for path in paths for name in names_missing(path)]


def names_missing(path):
    """Return names that a script uses from the package but that do not exist."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    imported = {}
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module)) if module.startswith("sampled_metrics"):
                for one in node.names:
                    imported[one.name] = f"{module}.{one.name}"
    used = list(imported.values())
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in imported:
                if inspect.ismodule(locate(imported[name])):
                    used.append(f"{imported[name]}.{node.attr}")
    return [f"{path.name}: {name}" for name in used if locate(name) is None]


def test_study_guide_lists_files():
    tree = text_of("docs/study.md").split("```\nsteps.py")[1].split("\n```")[0]
    listed = set(re.findall(r"(?m)^ *(\w+\.py)", "steps.py" + tree))
    files = (ROOT / "src/sampled_metrics_study").rglob("*.py")
    assert listed == {path.name for path in files} - {"__init__.py"}


def test_contributing_names_existing_tests():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of("CONTRIBUTING.md"))
    assert len(named) >= 35
    for path, name in named:
        assert re.search(rf"(?m)^ *def {name}\(", text_of(path)), f"{path}::{name}"


def test_contributing_names_existing_files():
    """Files are named from the root, from src, or from the library."""
    folders = [ROOT, ROOT / "src", ROOT / "src/sampled_metrics"]
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text_of("CONTRIBUTING.md"))
    assert len(named) >= 35
    for name in named:
        assert any((folder / name).exists() for folder in folders), name


def test_contributing_names_what_files_define():
    """Rows of the table below the picture: names, files in the library, and a description."""
    rows = re.findall(r"(?m)^\| (.*) \| (`[\w/]+\.py`.*) \| .* \|$", text_of("CONTRIBUTING.md"))
    assert len(rows) >= 20
    for names, files in rows:
        code = "".join(
            text_of(f"src/sampled_metrics/{file}") for file in re.findall(r"`(.*?)`", files)
        )
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"(?m)^(?:class |def )?{name}\b", code), f"{name} in {files}"
