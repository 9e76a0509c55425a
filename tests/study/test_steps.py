"""Behaviour common to all scripts of the workflow, and the code that each stage depends on."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import grimp
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics_study import steps
from sampled_metrics_study.steps import STAGES, code_digest, refuse_edited, step
from tests.conftest import ROOT


def fake_job(log, output=()):
    return SimpleNamespace(log=[str(log)], output=[str(path) for path in output])


@pytest.fixture
def log(tmp_path):
    return tmp_path / "step.log"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("wrong", path="a.csv"), "ERROR: a.csv: wrong\n"),
        (OSError(28, "No space left on device"), "ERROR: No space left on device\n"),
        (OSError(13, "Permission denied", "a.zip"), "ERROR: a.zip: Permission denied\n"),
        (MemoryError("1 GB"), "ERROR: 1 GB\n"),
    ],
)
def test_step_error_is_one_line_status_2(log, capsys, error, message):
    with pytest.raises(SystemExit) as ended, step(fake_job(log)):
        raise error
    assert ended.value.code == 2
    assert log.read_text() == capsys.readouterr().err == message


def test_step_raises_bugs(log):
    with pytest.raises(ZeroDivisionError), step(fake_job(log)):
        raise ZeroDivisionError


def test_step_logs_to_file_and_screen(log, capsys):
    log.write_text("of the last run\n")
    with step(fake_job(log)) as logger:
        logger.info("%d users", 7)
        logger.debug("nobody asks for it")
    assert log.read_text() == capsys.readouterr().err == "7 users\n"


def test_terminal_shows_warnings_and_errors_only(log, capsys, monkeypatch):
    """Snakemake draws its bars there."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with step(fake_job(log)) as logger:
        logger.info("7 users")
        logger.warning("fewer users than published")
    assert capsys.readouterr().err == "fewer users than published\n"
    assert log.read_text() == "7 users\nfewer users than published\n"


def test_edited_file_is_refused(tmp_path, log):
    output, foreign = tmp_path / "made.csv", tmp_path / "foreign.csv"
    for text in ("a\n", "b\n"):  # also when the step runs again
        with step(fake_job(log, output=[output])):
            output.write_text(text)
    # as printed by sha256sum for "b\n"
    digest = "0263829989b6fd954f72baaf2fc64bc2e2f01d692d4de72986ea808f6e99813f"
    assert log.with_suffix(".sha256").read_text() == f"{digest}  {output}\n"
    foreign.write_text("not of a step\n")
    refuse_edited([str(output), str(foreign)], tmp_path)
    output.write_text("c\n")
    refuse_edited([str(foreign)], tmp_path)
    with pytest.raises(InputError, match=r"made\.csv: edited .* remove it"):
        refuse_edited([str(foreign), str(output)], tmp_path)


def test_last_checksum_counts(tmp_path):
    """Another step may have made the same file before, for example with other pieces."""
    output = tmp_path / "made.csv"
    for number, name in enumerate(("z", "a")):
        with step(fake_job(tmp_path / f"{name}.log", output=[output])):
            output.write_text(name)
        os.utime(tmp_path / f"{name}.sha256", (number, number))
    refuse_edited([str(output)], tmp_path)


# Code of the stages.


SOURCE = ROOT / "src"
PACKAGES = ("sampled_metrics", "sampled_metrics_study")
RULE = re.compile(
    r'code=code_digest\("(\w+)"\)(?:(?!^rule ).)*?"\.\./scripts/(\w+)\.py"',
    re.DOTALL | re.MULTILINE,
)


def stages():
    """The scripts of each stage according to the rules."""
    scripts = {stage: set() for stage in STAGES}
    for rules in (ROOT / "workflow/rules").glob("*.smk"):
        for stage, script in RULE.findall(rules.read_text("utf-8")):
            scripts[stage].add(script)
    return scripts


SCRIPTS = stages()


def import_statements(script):
    tree = ast.parse((ROOT / f"workflow/scripts/{script}.py").read_text("utf-8"))
    return [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)


def imported_modules(graph, script):
    """Modules that a script imports, also in functions, and their packages."""
    wanted = set()
    for node in import_statements(script):
        if isinstance(node, ast.ImportFrom) and node.module.startswith(PACKAGES):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            wanted |= {node.module, *(names & graph.modules)}
    modules = set()
    while wanted:
        module = wanted.pop()
        modules.add(module)
        package = module.rpartition(".")[0]
        wanted |= ({package} | graph.find_modules_directly_imported_by(module)) - modules - {""}
    return modules


# Imports large libraries once. A fork for each stage then imports as its scripts do.
PRINT_LOADED = """
import os, sys
import clarabel, jinja2, matplotlib.figure, numpy, pandas, pyarrow.parquet, pydantic, scipy.stats
from scipy import optimize, sparse
for imports in sys.argv[2:]:
    if os.fork() == 0:
        exec(imports)
        print(*(name for name in sys.modules if name.startswith(sys.argv[1])), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded_modules():
    """Modules that are loaded after the imports of the scripts of each stage."""
    imports = [
        "\n".join(
            ast.unparse(node)
            for script in sorted(SCRIPTS[stage])
            for node in import_statements(script)
        )
        for stage in STAGES
    ]
    command = [sys.executable, "-c", PRINT_LOADED, PACKAGES[0], *imports]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [set(line.split()) for line in done.stdout.splitlines()]
    return dict(zip(STAGES, lines, strict=True))


def file_of(module):
    path = Path(*module.split("."))
    if (SOURCE / path).is_dir():
        return path / "__init__.py"
    return path.with_suffix(".py")


@pytest.mark.parametrize(
    ("modules", "slow"),
    [
        # Snakemake reads the configuration and computes digests before the first step.
        (("config", "steps"), ("scipy.sparse", "scipy.linalg", "scipy.optimize", "matplotlib")),
        # The second step waits for the first, which fetches the archive.
        (("data.archive", "steps"), ("pandas", "pyarrow", "scipy.sparse")),
        (("page.contents",), ("scipy.optimize", "scipy.stats", "matplotlib")),
    ],
)
def test_steps_import_no_slow_packages_early(modules, slow):
    imports = "".join(f"import sampled_metrics_study.{name}\n" for name in modules)
    code = f"import sys\n{imports}print(*set({slow}) & set(sys.modules))"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_every_script_has_stage():
    scripts = {path.stem for path in (ROOT / "workflow/scripts").glob("*.py")}
    assert set.union(*SCRIPTS.values()) == scripts


@pytest.mark.long
@pytest.mark.parametrize("stage", STAGES)
def test_stage_lists_imported_files_only(graph, loaded_modules, stage):
    # The library imports public names on first use, which the graph of imports does not show.
    modules = loaded_modules[stage].union(*(imported_modules(graph, one) for one in SCRIPTS[stage]))
    files = {file_of(module) for module in modules}
    places = [Path(name) for name in STAGES[stage]]
    assert all((SOURCE / place).exists() for place in places)
    assert {file for file in files if not any(map(file.is_relative_to, places))} == set()
    idle = [
        place for place in places
        if place.suffix in ("", ".py") and not any(file.is_relative_to(place) for file in files)
    ]  # fmt: skip
    assert not idle


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A folder of modules, of which the stage `data` depends on all of `a` and on `b/c.py`."""
    monkeypatch.setattr(steps, "__file__", str(tmp_path / "sampled_metrics_study/steps.py"))
    monkeypatch.setitem(STAGES, "data", ("a", "b/c.py"))
    for name in ("a/x.py", "a/deep/style.css", "b/c.py", "b/other.py", "a/x.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def digest():
    return code_digest.__wrapped__("data")


@pytest.mark.parametrize("name", ["b/other.py", "a/x.pyc"])
def test_code_digest_ignores_other_files_and_compiled_ones(source, name):
    before = digest()
    (source / name).write_text("changed")
    assert digest() == before


@pytest.mark.parametrize("name", ["a/x.py", "a/deep/style.css", "b/c.py"])
def test_code_digest_depends_on_contents(source, name):
    before = digest()
    (source / name).write_text("changed")
    assert digest() != before


def test_code_digest_depends_on_names(source):
    before = digest()
    (source / "a/x.py").rename(source / "a/y.py")
    assert digest() != before
