"""The code by which each stage of the workflow is made again, held against what it imports."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from sampled_metrics_study import steps
from sampled_metrics_study.steps import STAGES, code_digest
from tests.conftest import ROOT

SOURCE = ROOT / "src"
PACKAGES = ("sampled_metrics", "sampled_metrics_study")
RULE = re.compile(
    r'code=code_digest\("(\w+)"\)(?:(?!^rule ).)*?"\.\./scripts/(\w+)\.py"',
    re.DOTALL | re.MULTILINE,
)


def stages():
    """The scripts of each stage, as the rules state it."""
    found = {stage: set() for stage in STAGES}
    for rules in (ROOT / "workflow/rules").glob("*.smk"):
        for stage, script in RULE.findall(rules.read_text("utf-8")):
            found[stage].add(script)
    return found


SCRIPTS = stages()


def statements(script):
    """The imports of a script, as written."""
    tree = ast.parse((ROOT / f"workflow/scripts/{script}.py").read_text("utf-8"))
    return [
        node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    ]


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph(
        *PACKAGES, exclude_type_checking_imports=True, cache_dir=None
    )


def written(graph, script):
    """Modules that a script imports, also within functions, and the packages that hold them."""
    wanted = set()
    for node in statements(script):
        if isinstance(node, ast.ImportFrom) and node.module.startswith(PACKAGES):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            wanted |= {node.module, *(names & graph.modules)}
    found = set()
    while wanted:
        module = wanted.pop()
        found.add(module)
        package = module.rpartition(".")[0]
        wanted |= (
            ({package} | graph.find_modules_directly_imported_by(module))
            - found
            - {""}
        )
    return found


def loaded(script):
    """Modules that are there once the imports of a script have run."""
    lines = [ast.unparse(node) for node in statements(script)]
    lines += [
        "import sys",
        f"print(*(name for name in sys.modules if name.startswith({PACKAGES})))",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def file_of(module):
    path = Path(*module.split("."))
    if (SOURCE / path).is_dir():
        return path / "__init__.py"
    return path.with_suffix(".py")


def test_every_script_has_a_stage():
    scripts = {path.stem for path in (ROOT / "workflow/scripts").glob("*.py")}
    assert set.union(*SCRIPTS.values()) == scripts


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_names_what_its_scripts_import_and_no_more(graph, stage):
    files = set()
    for script in SCRIPTS[stage]:
        # The library imports its public names when they are first used, which no graph shows.
        files |= set(map(file_of, written(graph, script) | loaded(script)))
    places = [Path(name) for name in STAGES[stage]]
    assert all((SOURCE / place).exists() for place in places)
    missing = {
        file
        for file in files
        if not any(file.is_relative_to(place) for place in places)
    }
    assert not missing
    idle = [
        place for place in places
        if place.suffix in ("", ".py") and not any(file.is_relative_to(place) for file in files)
    ]  # fmt: skip
    assert not idle


def test_each_change_of_a_file_or_its_name_changes_the_code(tmp_path, monkeypatch):
    monkeypatch.setattr(
        steps, "__file__", str(tmp_path / "sampled_metrics_study/steps.py")
    )
    monkeypatch.setitem(STAGES, "data", ("a", "b/c.py"))
    for name in ("a/x.py", "a/deep/style.css", "b/c.py", "b/other.py", "a/x.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    digest = code_digest.__wrapped__
    before = digest("data")
    for name in ("b/other.py", "a/x.pyc"):
        (tmp_path / name).write_text("changed")
        assert digest("data") == before
    seen = {before}
    for name in ("a/x.py", "a/deep/style.css", "b/c.py"):
        (tmp_path / name).write_text("changed")
        seen.add(digest("data"))
    (tmp_path / "a/x.py").rename(tmp_path / "a/y.py")
    assert len({*seen, digest("data")}) == 5
