"""Mutate modules one change at a time and print which changes no test notices; `make mutants`.

    python -m tests.mutants --cosmic-ray .venv-mutants/bin [--sample N] [MODULE ...]

A module is named below `src/sampled_metrics`, such as `inference/moments.py`; without names, all
modules of `ROOMS` are mutated, which takes days. A sample has N mutants, spread evenly over the
code. Mutants are tested in a copy. The survivors that are listed in `survivors.md`, each with a
reason, are not printed again.
"""

import argparse
import ast
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from statsmodels.stats.proportion import proportion_confint

ROOT = Path(__file__).parents[2]
LEAST = 92  # percent of mutants that the tests are to notice
TESTS = ROOT / "tests/unit"
# Tests of each room, and modules that are mutated; the first that a module begins with counts.
ROOMS = {
    "metrics": ("measures", "metrics", "relevant", "ties", "graded", "relevant_oracles", "ratings"),
    "ranks": (
        *("ranks", "ranking", "given", "sampled_ranks", "pieces", "relevant", "graded"),
        *("inputs_lists", "inputs_matrices", "inputs_rankings", "inputs_errors"),
    ),
    "sampling": ("sampling", "negatives", "shared_samples", "adaptive_negatives"),
    "estimators": ("estimators", "fitted_estimators", "curves"),
    "inference/budget": (
        *("budget_numbers", "budget_result", "budget_order", "budget_evaluation", "budget_audit"),
        "cli_budget",
    ),
    "inference": (
        *("moments", "intervals", "search", "evaluation", "population", "ranges", "comparison"),
        *("correction", "planning"),
    ),
    "datasets/split.py": ("split",),
}
CONFIG = """\
[cosmic-ray]
module-path = {modules}
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -x -q -n0 -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"
"""
DELETE = (
    "delete from mutation_specs where job_id not in (select job_id from kept)",
    "delete from work_items where job_id not in (select job_id from kept)",
)
MEMORY = "/dev/shm"  # a session is a database that is written to disk at every step


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--cosmic-ray", type=Path, default=Path(".venv-mutants/bin"))
    parser.add_argument("--timeout", type=float, default=300.0, help="Seconds for one mutant.")
    parser.add_argument("--sample", type=int, help="Mutants to test; all by default.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the sample.")
    options = parser.parse_args()
    known = (ROOT / "tests/mutants/survivors.md").read_text(encoding="utf-8")
    totals: Counter[str] = Counter()
    session_folder = MEMORY if Path(MEMORY).is_dir() else None
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory(dir=session_folder) as sessions,
    ):
        run = Mutation(Path(folder, "copy"), Path(sessions), options)
        for module, jobs in run.chosen(options.modules or all_modules()).items():
            for outcome, name, change in run.outcomes(module, jobs):
                listed = outcome == "survived" and f"`{name}`" in known
                totals["listed" if listed else outcome] += 1
                if outcome == "survived" and not listed:
                    print(f"{name}\n{change}\n", flush=True)
            print(f"# {module}: {dict(totals)}", file=sys.stderr)
    noticed, of_all = totals["killed"], totals.total() - totals["listed"]
    low, high = proportion_confint(noticed, max(of_all, 1), method="wilson")
    print(
        f"{noticed} of {of_all} mutants noticed ({noticed / max(of_all, 1):.1%}"
        + (f"; 95 % interval {low:.1%} to {high:.1%})" if options.sample else ")")
        + f"; not counted, because no test can notice them: {totals['listed']}"
    )
    return 100 * noticed < LEAST * of_all


def all_modules():
    package = ROOT / "src/sampled_metrics"
    paths = {
        path
        for room in ROOMS
        for path in ([package / room] if room.endswith(".py") else (package / room).rglob("*.py"))
    }
    named = (path.relative_to(package).as_posix() for path in paths)
    return sorted(name for name in named if not name.endswith("__init__.py"))


def tests_of(module):
    """Files of the tests of a module: of its own name, then of its room, then what imports it."""
    dotted = "sampled_metrics." + module.removesuffix(".py").replace("/", ".")
    room = next(room for room in ROOMS if module.startswith(room))
    own = TESTS / f"test_{Path(module).stem}.py"
    of_room = [TESTS / f"test_{name}.py" for name in ROOMS[room]]
    importing = [path for path in sorted(TESTS.glob("test_*.py")) if dotted in path.read_text()]
    first = [own] * own.exists() + [path for path in importing if path in of_room]
    paths = dict.fromkeys([*first, *of_room, *importing])
    return [path.relative_to(ROOT).as_posix() for path in paths]


def unobservable(module):
    """Places that no test can notice: annotations, and decorators that only make faster."""
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
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


class Mutation:
    """A copy of the project in which modules are mutated."""

    def __init__(self, copy, sessions, options):
        self.copy, self.sessions, self.options = copy, sessions, options
        ignored = shutil.ignore_patterns(".git", ".venv*", ".snakemake", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        self.passing = set()

    def call(self, *arguments):
        command = [str((ROOT / self.options.cosmic_ray / "cosmic-ray").resolve()), *arguments]
        done = subprocess.run(command, cwd=self.copy, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def configure(self, modules, tests=()):
        """Write what cosmic-ray is to do; return the file's name."""
        text = CONFIG.format(
            modules=json.dumps([f"src/sampled_metrics/{module}" for module in modules]),
            timeout=self.options.timeout,
            python=f"env PYTHONPATH={self.copy}/src {sys.executable}",
            tests=" ".join(tests),
        )
        (self.copy / "mutants.toml").write_text(text)
        return "mutants.toml"

    def chosen(self, modules):
        """Return the jobs of cosmic-ray by module; all, or an evenly spread sample."""
        self.call("init", self.configure(modules), str(self.sessions / "all"))
        columns = (
            "select module_path, start_pos_row, start_pos_col, operator_name, occurrence, job_id"
        )
        with closing(sqlite3.connect(self.sessions / "all")) as session:
            rows = sorted(session.execute(f"{columns} from mutation_specs"))
        hidden = {path: unobservable(path) for path in {row[0] for row in rows}}
        rows = [
            row for row in rows
            if not any(first <= row[1:3] < last for first, last in hidden[row[0]])
        ]  # fmt: skip
        count = min(self.options.sample or len(rows), len(rows))
        rng = random.Random(self.options.seed)  # noqa: S311, which no secret depends on
        start = rng.random()
        jobs = {}
        for number in range(count):
            path, *_, job = rows[int((number + start) * len(rows) / count)]
            jobs.setdefault(path.removeprefix("src/sampled_metrics/"), []).append(job)
        print(f"{count} of {len(rows)} mutants in {len(jobs)} modules", flush=True)
        # In random order, so that what has been counted is a sample at any time.
        return {module: jobs[module] for module in rng.sample(sorted(jobs), len(jobs))}

    def outcomes(self, module, jobs):
        """Yield for each mutant of a module `killed` or `survived`, its name and its change."""
        session, tests = self.sessions / "part", tests_of(module)
        shutil.copy(self.sessions / "all", session)
        with closing(sqlite3.connect(session)) as database:
            database.execute("create temp table kept (job_id)")
            database.executemany("insert into kept values (?)", [(job,) for job in jobs])
            for statement in DELETE:
                database.execute(statement)
            database.commit()
        new = [path for path in tests if path not in self.passing]
        if new:
            self.call("baseline", self.configure([module], new))
            self.passing.update(new)
        self.call("exec", self.configure([module], tests), str(session))
        for line in self.call("dump", str(session)).splitlines():
            item, result = json.loads(line)
            (mutation,) = item["mutations"]
            lines = (result["diff"] or "").splitlines()
            change = [each for each in lines if each[:1] in "+-"][2:]
            operator = mutation["operator_name"].removeprefix("core/")
            outcome = "survived" if result["test_outcome"] == "survived" else "killed"
            name = f"{module}:{mutation['start_pos'][0]} {operator}"
            yield outcome, name, "\n".join(change)


if __name__ == "__main__":
    sys.exit(main())
