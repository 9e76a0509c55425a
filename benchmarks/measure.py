"""Measure pages of the documentation again, and list pages that are older than their code.

    python -m benchmarks.measure PAGE ...
    python -m benchmarks.measure --list

The last line of a page has a digest of the code that measured it: its scripts and all modules of
this repository that they import, without comments and docstrings. A page is stale if its code has
another digest now, or if it has no digest.
"""

import argparse
import ast
import hashlib
import io
import os
import re
import resource
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.markdown import markdown

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "src", ROOT)  # where modules of the repository are
RECORD = re.compile(r"\n*<!-- measured with code ([0-9a-f]{12}) -->\n")
ARCHIVE, SMALL_ARCHIVE = "MOVIELENS_ARCHIVE", "MOVIELENS_100K_ARCHIVE"  # variables
TITLES = {ARCHIVE: "MovieLens 1M", SMALL_ARCHIVE: "MovieLens 100K"}
STUDY = tuple(sorted(str(path) for path in (ROOT / "workflow/scripts").glob("*.py")))
Step = tuple[str, ...]  # a module and its arguments


class Page(NamedTuple):
    """A page of numbers, and the steps that measure them."""

    path: str
    minutes: float  # of processor time
    steps: tuple[Step, ...]
    also: tuple[str, ...] = ()  # modules that run in other processes, and data files
    archives: tuple[str, ...] = ()  # variables that name the archives that it reads

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of the steps."""
        return tuple(module for module, *_ in self.steps)


def archive_step(name: str, *arguments: str) -> tuple[Step, ...]:
    """Return the single step that runs a script of the archive."""
    return ((f"benchmarks.archive.{name}", *arguments),)


COVERAGE = (
    *("benchmarks.coverage", "--experiments", "400", "--expectations", "2000"),
    *("--users", "1000", "--shapes", "non-increasing", "--negatives", "10", "100", "500"),
    *("--populations", "Z", "100K BPR", "100K BM25", "GMF"),
)
COMMAND = ("sampled_metrics.__main__",)
PAGES = {
    "speed": Page("docs/measured/speed.md", 2, (("benchmarks.speed",),), COMMAND),
    "cores": Page(
        "docs/measured/cores.md",
        10,
        (("benchmarks.cores",),),
        archives=(ARCHIVE,),
    ),
    "million": Page("docs/measured/million.md", 3, (("benchmarks.million",),)),
    "peers": Page("results/reference/peers.md", 9, (("benchmarks.peers",),)),
    "coverage": Page("results/reference/coverage.md", 22, (COVERAGE,)),
    "outside": Page(
        "docs/measured/outside.md",
        75,
        (("benchmarks.outside", "--experiments", "200"),),
    ),
    "negatives": Page(
        "docs/measured/negatives.md",
        54,
        (("benchmarks.negatives",),),
        also=("config/config.yaml", "config/ml-1m-more.yaml"),
        archives=(ARCHIVE, SMALL_ARCHIVE),
    ),
    "estimators": Page(
        "docs/measured/estimators.md",
        4,
        (("benchmarks.estimators",), ("benchmarks.quoting",)),
    ),
    "verdicts": Page(
        "results/reference/verdicts.md",
        4,
        (("benchmarks.verdicts", "--seeds", "5"),),
    ),
    "literature": Page(
        "docs/measured/literature.md",
        2,
        (("benchmarks.literature",),),
        also=("docs/atlas/literature.csv", "docs/atlas/sources.csv"),
    ),
    "warnings": Page("docs/measured/warnings.md", 0.3, (("benchmarks.false_alarms",),)),
    "plan": Page("docs/measured/plan.md", 8, archive_step("plans")),
    "power": Page("docs/measured/power.md", 2, archive_step("power", "--experiments", "50")),
    "proxies": Page("docs/measured/proxies.md", 1, archive_step("proxies", "--runs", "40")),
    "reported": Page("docs/measured/reported.md", 15, archive_step("reported")),
    "shapes": Page("docs/measured/shapes.md", 0.1, archive_step("shapes")),
    "check": Page("docs/reported.md", 1.5, archive_step("check")),
    "llm": Page("docs/llm.md", 0.4, archive_step("llm")),
    "scale": Page("docs/measured/scale.md", 13, archive_step("large"), STUDY),
    "orders": Page(
        "results/reference/beyond/README.md",
        6,
        archive_step("price"),
        archives=(ARCHIVE,),
    ),
    "audit": Page(
        "results/reference/audit.md",
        7,
        (("sampled_metrics_study.audit",),),
        archives=(ARCHIVE,),
    ),
    "future": Page(
        "docs/measured/future.md",
        0.1,
        (("sampled_metrics_study.audit", "future"),),
        archives=(ARCHIVE,),
    ),
}


def file_of(module: str) -> Path | None:
    """Return the file of a module of this repository; None for other modules."""
    for folder in FOLDERS:
        place = folder / module.replace(".", "/")
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def nodes_at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a tree, without the blocks that are imported for types only."""
    for child in ast.iter_child_nodes(node):
        if not is_type_checking(child):
            yield child
            yield from nodes_at_run_time(child)


@cache
def lazy_names(path: Path) -> dict[str, str]:
    """Return the modules of names that a package imports lazily.

    The package also imports them in a block for types, which is read here.
    """
    modules = {}
    for block in filter(is_type_checking, tree_of(path).body):
        for node in ast.walk(block):
            if isinstance(node, ast.ImportFrom) and node.module:
                modules |= {alias.name: node.module for alias in node.names}
    return modules


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports; some of the names may be attributes of modules."""
    packages = {}
    nodes = list(nodes_at_run_time(tree_of(path)))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            packages |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield from (node.module, f"{node.module}.{alias.name}")
                yield from module_of(node.module, alias.name)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from module_of(packages.get(node.value.id, ""), node.attr)


def module_of(package: str, name: str) -> Iterator[str]:
    """Yield the module of a name that a package imports lazily."""
    path = file_of(package) if package else None
    if path is not None and name in lazy_names(path):
        yield lazy_names(path)[name]


def files_of(entries: tuple[str, ...]) -> set[Path]:
    """Return the files of modules, scripts and data files, and of all that they import."""
    waiting = list(entries)
    files: set[Path] = set()
    while waiting:
        name = waiting.pop()
        path = ROOT / name if "/" in name else file_of(name)
        if path is None or path in files:
            continue
        files.add(path)
        if path.suffix != ".py":
            continue
        if "/" not in name and "." in name:
            waiting.append(name.rpartition(".")[0])  # its package
        waiting += imported_modules(path)
    packages = {path.parent for path in files if path.name == "__init__.py"}
    return files | {path for package in packages for path in data_of(package)}


def data_of(package: Path) -> Iterator[Path]:
    """Yield the templates and tables of a package."""
    for path in package.rglob("*"):
        is_of_package = not any(
            (folder / "__init__.py").exists()
            for folder in path.parents
            if package in folder.parents
        )
        is_code = path.suffix in (".py", ".pyc", ".typed")
        if is_of_package and path.is_file() and not is_code:
            yield path


@cache
def read_code(path: Path) -> bytes:
    """Read a file; Python files are returned without comments, docstrings and empty lines."""
    if path.suffix != ".py":
        return path.read_bytes()
    text = path.read_text("utf-8")
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            for row in range(docstring.lineno - 1, docstring.end_lineno or docstring.lineno):
                lines[row] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def digest_of(page: Page) -> str:
    """Return the digest of the code and tables that the numbers of a page depend on."""
    digest = hashlib.sha256(repr(page.steps).encode())
    for path in sorted(files_of((*page.modules, *page.also))):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + read_code(path) + b"\0")
    return digest.hexdigest()[:12]


def recorded_in(page: Page) -> str:
    """Return the digest in a page; empty if there is none."""
    match = RECORD.search((ROOT / page.path).read_text("utf-8"))
    return match[1] if match else ""


def record(page: Page, digest: str) -> None:
    """Write the digest as the last line of a page."""
    path = ROOT / page.path
    text = RECORD.sub("\n", path.read_text("utf-8")).rstrip("\n")
    path.write_text(f"{text}\n\n<!-- measured with code {digest} -->\n", encoding="utf-8")


def state_of(page: Page) -> str:
    """Return whether a page is stale, and why."""
    digest = recorded_in(page)
    if not digest:
        return "stale: its code is not recorded"
    return "current" if digest == digest_of(page) else "stale: its code has changed"


def command_of(step: Step) -> str:
    """Return the command of a step."""
    quoted = [f'"{word}"' if " " in word else word for word in step]
    return " ".join(["python -m", *quoted])


def rows() -> list[dict[str, str]]:
    """Return a row for each page: its name, file, scripts and minutes."""
    return [
        {
            "page": name,
            "file": page.path,
            "scripts": ", ".join(page.modules),
            "minutes": f"{page.minutes:g}",
        }
        for name, page in PAGES.items()
    ]


def measure(name: str) -> None:
    """Run the steps of a page, and record the digest of their code."""
    page = PAGES[name]
    digest = digest_of(page)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for step in page.steps:
        print(command_of(step), flush=True)
        done = subprocess.run([sys.executable, "-m", *step], cwd=ROOT, check=False)
        if done.returncode:
            sys.exit(f"{name}: {command_of(step)} ended with exit status {done.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    record(page, digest)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{page.path}: {cpu:.0f} s of processor time, with code {digest}")


def main() -> None:
    """Measure pages, or list them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=", ".join(PAGES))
    parser.add_argument("--list", action="store_true", help="list pages, and which are stale")
    options = parser.parse_args()
    if options.list:
        listed = zip(rows(), PAGES.values(), strict=True)
        print(markdown([row | {"state": state_of(page)} for row, page in listed]))
        return
    if not options.pages:
        sys.exit(f"no page is named; choose from {', '.join(PAGES)}")
    for name in options.pages:
        if name not in PAGES:
            sys.exit(f"{name}: not a page; choose from {', '.join(PAGES)}")
        for variable in PAGES[name].archives:
            if not os.environ.get(variable):
                sys.exit(f"{name}: needs {TITLES[variable]}; set {variable}=/path/to/it.zip")
    for name in options.pages:
        measure(name)


if __name__ == "__main__":
    main()
