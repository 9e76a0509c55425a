"""Mutate modules one change at a time and print which changes no test notices; `make mutants`.

    python -m tests.mutants --cosmic-ray .venv-mutants/bin [MODULE ...]

A module is named below `src/sampled_metrics`, such as `inference/moments.py`; without names, all
modules of the rooms in `ROOMS` are mutated, which takes hours. Mutants are tested in a copy. The
survivors that are listed in `survivors.md`, each with a reason, are not printed again.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEAST = 92  # percent of mutants that the tests are to notice
# Tests of each room; those of a module's own name come first, because most mutants fail there.
ROOMS = {
    "metrics": ("metrics", "measures", "ties", "relevant", "relevant_oracles", "ratings", "graded"),
    "ranks": ("ranks", "ranking", "sampled_ranks", "pieces", "inputs_rankings", "inputs_errors"),
    "sampling": ("sampling",),
    "estimators": ("estimators", "fitted_estimators"),
    "inference": (
        *("moments", "intervals", "search", "population", "evaluation", "planning"),
        *("comparison", "ranges", "correction"),
    ),
    "datasets/split.py": ("split",),
}
CONFIG = """\
[cosmic-ray]
module-path = "src/sampled_metrics/{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -x -q -n0 -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"
"""
# Changes of annotations, which Python does not look at, and of decorators that only make faster.
IGNORED = re.compile(r"^[-+].*(->.*:$|: [A-Z]\w+.* = |@cache|@cached_property)")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--cosmic-ray", type=Path, default=Path(".venv-mutants/bin"))
    parser.add_argument("--timeout", type=float, default=300.0, help="Seconds for one mutant.")
    parser.add_argument(
        "--own", action="store_true", help="Only the tests of the module's own name: quick."
    )
    options = parser.parse_args()
    known = (ROOT / "tests/mutants/survivors.md").read_text(encoding="utf-8")
    totals: Counter[str] = Counter()
    for module in options.modules or all_modules():
        for outcome, name, change in outcomes(module, options):
            listed = outcome == "survived" and f"`{name}`" in known
            totals["listed" if listed else outcome] += 1
            if outcome == "survived" and not listed:
                print(f"{name}\n{change}\n", flush=True)
    noticed, of_all = totals["killed"], totals.total() - totals["listed"]
    percent = 100 * noticed / max(of_all, 1)
    print(f"{noticed} of {of_all} mutants noticed ({percent:.1f} %); listed: {totals['listed']}")
    return percent < LEAST


def all_modules():
    package = ROOT / "src/sampled_metrics"
    for room in ROOMS:
        paths = [package / room] if room.endswith(".py") else sorted((package / room).rglob("*.py"))
        for path in paths:
            if path.name != "__init__.py" and "budget" not in path.parts:
                yield path.relative_to(package).as_posix()


def tests_of(module):
    """Files of the tests of a module, those of its own name first."""
    room = next(room for room in ROOMS if module.startswith(room))
    own = Path(module).stem
    names = sorted(ROOMS[room], key=lambda name: name != own)
    return [f"tests/unit/test_{name}.py" for name in names]


def outcomes(module, options):
    """Yield for each mutant of a module `killed` or `survived`, its name and its change."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        ignored = shutil.ignore_patterns(".git", ".venv*", ".snakemake", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        tests = tests_of(module)[: 1 if options.own else None]
        settings = {"module": module, "timeout": options.timeout, "tests": " ".join(tests)}
        text = CONFIG.format(python=f"env PYTHONPATH={copy}/src {sys.executable}", **settings)
        (copy / "mutants.toml").write_text(text)

        def call(*arguments):
            command = [str((ROOT / options.cosmic_ray / "cosmic-ray").resolve()), *arguments]
            done = subprocess.run(command, cwd=copy, check=True, stdout=subprocess.PIPE, text=True)
            return done.stdout

        call("baseline", "mutants.toml")
        call("init", "mutants.toml", "mutants.sqlite")
        call("exec", "mutants.toml", "mutants.sqlite")
        for line in call("dump", "mutants.sqlite").splitlines():
            item, result = json.loads(line)
            (mutation,) = item["mutations"]
            change = [each for each in (result["diff"] or "").splitlines() if each[:1] in "+-"][2:]
            if all(IGNORED.search(each) for each in change):
                continue
            operator = mutation["operator_name"].removeprefix("core/")
            row = mutation["start_pos"][0]
            outcome = "survived" if result["test_outcome"] == "survived" else "killed"
            yield outcome, f"{module}:{row} {operator}", "\n".join(change)


if __name__ == "__main__":
    sys.exit(main())
