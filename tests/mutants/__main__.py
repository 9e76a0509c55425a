"""Mutate modules one change at a time and print which changes no test notices; `make mutants`.

    python -m tests.mutants --tools .venv-mutants [--sample N] [MODULE ...]

A module is named below `src/sampled_metrics`, such as `inference/moments.py`; without names, all
modules of `ROOMS` are mutated, which takes days. A sample has N mutants, spread evenly over the
code. Mutants are made by cosmic-ray in a copy of the project, and each meets the tests that run its
line. The survivors that are listed in `survivors.md`, each with a reason, are not printed again.
"""

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from scipy.stats import binomtest

from tests.mutants import SETUP

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/sampled_metrics")
WAITS = 10  # times the processor time, after which tests are taken to wait for ever
LEAST = 92  # percent of mutants that the tests are to notice
SPLIT = ("split", "holding_out", "last_events", "later_events")
# Tests of each room, and modules that are mutated; the first that a module begins with counts.
ROOMS = {
    "metrics": ("measures", "metrics", "relevant", "ties", "graded", "relevant_oracles", "ratings"),
    "ranks": (
        *("ranks", "ranking", "given", "sampled_ranks", "pieces", "relevant", "graded"),
        *("inputs_lists", "inputs_matrices", "inputs_rankings", "inputs_errors"),
    ),
    "sampling": ("sampling", "negatives", "shared_samples", "adaptive_negatives"),
    "estimators": ("estimators", "fitted_estimators", "curves"),
    "inference": (
        *("moments", "intervals", "search", "evaluation", "population", "ranges", "comparison"),
        *("correction", "planning", "budget_numbers", "budget_result", "budget_order"),
        *("budget_evaluation", "budget_audit", "cli_budget"),
    ),
    **dict.fromkeys((f"datasets/{name}.py" for name in SPLIT), ("split", "introsort")),
    "report/scorecard.py": ("printed_and_scorecard", "judgement", "figures"),
    "study/judgement.py": ("judgement", "printed_and_scorecard"),
}
CONFIG = """\
[cosmic-ray]
module-path = {modules}
timeout = 1
excluded-modules = []
test-command = ""
[cosmic-ray.distributor]
name = "local"
"""
PYTEST = ("-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider")
MUTANTS = "select module_path, start_pos_row, start_pos_col, operator_name, occurrence"
MEMORY = "/dev/shm"  # cosmic-ray writes to disk for each mutant that it finds


class Mutant(NamedTuple):
    path: str
    row: int
    column: int
    operator: str
    occurrence: int

    @property
    def module(self):
        return Path(self.path).relative_to(PACKAGE).as_posix()

    def __str__(self):
        return f"{self.module}:{self.row} {self.operator.removeprefix('core/')}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--tools", type=Path, default=Path(".venv-mutants"))
    parser.add_argument(
        "--timeout", type=int, default=300, help="Seconds of processor time for one mutant."
    )
    parser.add_argument("--sample", type=int, help="Mutants to test; all by default.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the sample.")
    options = parser.parse_args()
    known = listed_changes()
    totals: Counter[str] = Counter()
    shared = MEMORY if Path(MEMORY).is_dir() else None
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=shared) as notes:
        laboratory = Laboratory(Path(folder, "copy"), Path(notes), options.tools)
        chosen = laboratory.sample(options.modules or all_modules(), options.sample, options.seed)
        laboratory.trace(chosen)
        for mutant in chosen:
            change = laboratory.survives(mutant, options.timeout)
            listed = change and any(is_of(entry, mutant, change) for entry in known)
            totals["listed" if listed else "survived" if change else "noticed"] += 1
            if change and not listed:
                print(f"{mutant}\n{change}\n", flush=True)
            print(f"# {totals.total()} {mutant}: {dict(totals)}", file=sys.stderr, flush=True)
    noticed, of_all = totals["noticed"], totals.total() - totals["listed"]
    low, high = binomtest(noticed, max(of_all, 1)).proportion_ci(method="wilson")
    interval = f"; 95 % interval {low:.1%} to {high:.1%}" if options.sample else ""
    print(
        f"{noticed} of {of_all} mutants noticed ({noticed / max(of_all, 1):.1%}{interval}); "
        f"not counted, because no test can notice them: {totals['listed']}"
    )
    return 100 * noticed < LEAST * of_all


def listed_changes():
    """Entries of the list of mutants that no test can notice."""
    text = (ROOT / "tests/mutants/survivors.md").read_text(encoding="utf-8")
    return [" ".join(entry.split()) for entry in text.split("\n- ")[1:]]


def is_of(entry, mutant, change):
    """Whether an entry is about a mutant: its module, and the lines that were changed."""
    after = " ".join(line[1:] for line in change.splitlines() if line.startswith("+"))
    after = " ".join(after.split())
    return entry.startswith(f"`{mutant.module}`") and f"`{after}`" in entry


def all_modules():
    package = ROOT / PACKAGE
    paths = {
        path
        for room in ROOMS
        for path in ([package / room] if room.endswith(".py") else (package / room).rglob("*.py"))
    }
    named = (path.relative_to(package).as_posix() for path in paths)
    return sorted(name for name in named if not name.endswith("__init__.py"))


def unobservable(path):
    """Places that no test can notice: annotations, and decorators that only make faster."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        found += [getattr(node, name, None) for name in ("annotation", "returns")]
        found += getattr(node, "decorator_list", [])
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0])[0].isupper():
            found += [node.value] * isinstance(node.value, ast.Subscript)  # the name of a type
    return [
        ((node.lineno, node.col_offset - 1), (node.end_lineno, node.end_col_offset))
        for node in found
        if node is not None
    ]


class Laboratory:
    """A copy of the project in which code is changed, and what its tests run there."""

    def __init__(self, copy, notes, tools):
        self.copy, self.notes, self.tools = copy, notes, ROOT / tools
        ignored = shutil.ignore_patterns(".git", ".venv*", ".snakemake", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        (coverage,) = self.tools.glob("lib/python*/site-packages/coverage")
        (notes / "tools").mkdir()
        (notes / "tools/coverage").symlink_to(coverage.resolve())
        self.environment = {
            **os.environ,
            "PYTHONPATH": f"{copy}/src:{copy}:{notes}/tools",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SECONDS": str(notes / "seconds.json"),
        }

    def call(self, *command, **options):
        return subprocess.run(
            command, cwd=self.copy, env=self.environment, stdout=subprocess.DEVNULL, **options
        )

    def cosmic_ray(self, *arguments):
        self.call(str((self.tools / "bin/cosmic-ray").resolve()), *arguments, check=True)

    def sample(self, modules, count, seed):
        """Mutants of modules: all, or some that are spread evenly over them, in random order."""
        config, session = self.notes / "mutants.toml", self.notes / "mutants.sqlite"
        paths = [(PACKAGE / module).as_posix() for module in modules]
        config.write_text(CONFIG.format(modules=json.dumps(paths)))
        self.cosmic_ray("init", str(config), str(session))
        with closing(sqlite3.connect(session)) as database:
            found = [Mutant(*row) for row in database.execute(f"{MUTANTS} from mutation_specs")]
        hidden = {path: unobservable(path) for path in paths}
        found = sorted(
            mutant
            for mutant in found
            if not any(a <= (mutant.row, mutant.column) < b for a, b in hidden[mutant.path])
        )
        count = min(count or len(found), len(found))
        rng = random.Random(seed)  # noqa: S311, which no secret depends on
        start = rng.random()
        taken = [found[int((number + start) * len(found) / count)] for number in range(count)]
        print(f"{count} of {len(found)} mutants", flush=True)
        rng.shuffle(taken)
        return taken

    def trace(self, mutants):
        """Run the tests once, to know which of them run which lines, and for how long."""
        modules = {mutant.module for mutant in mutants}
        rooms = {next(room for room in ROOMS if name.startswith(room)) for name in modules}
        files = dict.fromkeys(
            f"tests/unit/test_{name}.py" for room in rooms for name in ROOMS[room]
        )
        coverage = ["coverage", "run", f"--include={PACKAGE}/*", f"--data-file={self.notes}/lines"]
        plugin = ["-p", "tests.mutants.contexts"]
        doctests = sorted({mutant.path for mutant in mutants})
        command = [sys.executable, "-m", *coverage, *PYTEST, *plugin, *files, *doctests]
        self.call(*command, check=True)
        self.seconds = json.loads((self.notes / "seconds.json").read_text())
        self.lines = defaultdict(lambda: defaultdict(set))
        rows = "select path, context, numbits from line_bits join file on file.id = file_id"
        with closing(sqlite3.connect(self.notes / "lines")) as database:
            for path, context, bits in database.execute(
                f"{rows} join context on context.id = context_id"
            ):
                of_file = self.lines[Path(path).relative_to(self.copy.resolve()).as_posix()]
                for row in range(8 * len(bits)):
                    if bits[row // 8] >> row % 8 & 1:
                        of_file[row].add(context)

    def tests_of(self, mutant):
        """Tests that run the line of a mutant, or else any of its module; quick files first."""
        of_file = self.lines[mutant.path]
        contexts = of_file[mutant.row] - {""} or set().union(*of_file.values()) - {""}
        whole = {name.removeprefix(SETUP) for name in contexts if name.startswith(SETUP)}
        names = [
            name
            for name in self.seconds
            if name in contexts or (name.split("::")[0] in whole and "::" in name)
        ]
        times = Counter()
        for name in names:
            times[name.split("::")[0]] += self.seconds[name]
        return sorted(
            names, key=lambda name: (times[(file := name.split("::")[0])], file, self.seconds[name])
        )

    def survives(self, mutant, timeout):
        """Return the change of a mutant that no test notices, else None."""
        tests = self.tests_of(mutant)
        path = self.copy / mutant.path
        before = path.read_text(encoding="utf-8")
        self.cosmic_ray("apply", mutant.path, mutant.operator, str(mutant.occurrence))
        after = path.read_text(encoding="utf-8")
        try:
            # Processor time, because tests on a busy machine take longer without noticing anything.
            limited = ["prlimit", f"--cpu={timeout}", sys.executable, *PYTEST, "-x", *tests]
            noticed = tests and self.call(*limited, timeout=WAITS * timeout, check=False).returncode
        except subprocess.TimeoutExpired:
            noticed = True
        finally:
            path.write_text(before, encoding="utf-8")
        changed = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        return None if noticed else "\n".join(list(changed)[3:])


if __name__ == "__main__":
    sys.exit(main())
