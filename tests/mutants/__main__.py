"""Change the package in one place at a time, and print the changes that no test notices.

`python -m tests.mutants PYTHON --sample 160 --seed 0`, with the Python of the environment of
cosmic-ray, draws places evenly from the rooms; `--rooms`, `--modules` and `--tests` restrict it.
`tests.tsv` names for each module the tests that are to notice its changes, beside the examples of
its own documentation; `equivalent.tsv` has the changes that nobody can notice, with the reason; `*`
there is any change of a line. The tests run in a copy of the project, each time in a fork of a
process that has imported the large libraries.
"""

import argparse
import contextlib
import csv
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = Path("src/sampled_metrics")
CPU_SECONDS = 90  # of a mutant, after which it counts as noticed
WAIT_SECONDS = 900  # likewise, for one that sleeps
CPU_OF_ALL = 900  # of the tests of a sample, without a change
MEMORY = 8 * 2**30
SLOW_IMPORTS = (
    "numpy",
    "scipy.optimize",
    "scipy.stats",
    "scipy.sparse",
    "pandas",
    "pyarrow.csv",
)
SLOW_IMPORTS += (
    "pyarrow.parquet",
    "pydantic",
    "typer",
    "jinja2",
    "clarabel",
    "tabulate",
    "requests",
)


def table(name):
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def table_of_tests():
    return {row["module"]: row["tests"].split() for row in table("tests.tsv")}


def paths_of(module, tests):
    """Paths of tests, with the module itself where its documentation has examples."""
    examples = PACKAGE / module
    has_examples = ">>> " in (ROOT / examples).read_text("utf-8")
    return [str(examples)] * has_examples + [f"tests/{name}" for name in tests]


def room_of(module):
    return module.split("/")[0].removesuffix(".py")


def request_for(modules, sample):
    """How many mutants to draw from the modules of each room, as draw.py reads it."""
    rooms = sorted({room_of(module) for module in modules})
    asked = {}
    for place, room in enumerate(rooms):
        asked[room] = {
            "modules": [module for module in modules if room_of(module) == room],
            "count": sample // len(rooms) + (place < sample % len(rooms)),
        }
    known = [
        [row["module"], row["before"], row["after"]]
        for row in table("equivalent.tsv")
    ]
    return {"rooms": asked, "equivalent": known}


def copied(folder):
    """Copy the files that git knows, or would add, to `folder`."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(
        listed, check=True, capture_output=True, cwd=ROOT, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


def run_tests(tests, log, cpu_seconds):
    """Run tests with limits until one fails, and end this process with their status."""
    os.setsid()
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import pytest

    options = [
        "-n0",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--tb=line",
    ]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    status = pytest.main([*options, *tests])
    sys.stdout.flush()
    os._exit(int(status))


def passes(tests, log, cpu_seconds=CPU_SECONDS):
    """Whether the tests pass in a fork of this process."""
    child = os.fork()
    if child == 0:
        try:
            run_tests(tests, log, cpu_seconds)
        finally:
            os._exit(99)
    end = time.monotonic() + WAIT_SECONDS * cpu_seconds / CPU_SECONDS
    done, status = os.waitpid(child, os.WNOHANG)
    while done == 0 and time.monotonic() < end:
        time.sleep(0.05)
        done, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if done == 0:
        os.waitpid(child, 0)
        return False
    return os.waitstatus_to_exitcode(status) == 0


def survivors_of(mutants, tests, log):
    """Test each mutant in the working directory, and yield those that no test notices."""
    for mutant in mutants:
        path = PACKAGE / mutant["module"]
        original = path.read_text("utf-8")
        path.write_text(mutant["source"], "utf-8")
        try:
            survives = passes(tests[mutant["module"]], log)
        finally:
            path.write_text(original, "utf-8")
        if survives:
            yield mutant


def shown(mutant):
    return f"{mutant['module']}:{mutant['line']}\n  - {mutant['before']}\n  + {mutant['after']}"


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="tests.mutants")
    parser.add_argument("cosmic_python", type=Path)
    parser.add_argument("--sample", type=int, default=160)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--rooms", nargs="*", help="of these rooms only")
    parser.add_argument("--modules", nargs="*", help="of these modules only")
    parser.add_argument(
        "--tests", nargs="*", help="below tests, instead of those of tests.tsv"
    )
    unchecked = "do not run the tests without a change first"
    parser.add_argument("--unchecked", action="store_true", help=unchecked)
    return parser.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    tests = table_of_tests()
    modules = options.modules or list(tests)
    if options.rooms:
        modules = [module for module in modules if room_of(module) in options.rooms]
    tests = {
        module: paths_of(module, options.tests or tests[module]) for module in modules
    }
    drawing = [
        str(options.cosmic_python),
        str(HERE / "draw.py"),
        str(ROOT / PACKAGE),
        options.seed,
    ]
    request = json.dumps(request_for(modules, options.sample))
    done = subprocess.run(
        drawing, input=request, check=True, stdout=subprocess.PIPE, text=True
    )
    answer = json.loads(done.stdout)
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "copy"
        log = Path(temporary) / "log"
        copied(copy)
        os.chdir(copy)
        sys.path[:0] = [str(copy / "src"), str(copy)]
        os.environ["PYTHONPATH"] = str(copy / "src")
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        if not options.unchecked:
            check(answer["mutants"], tests, log)
        report(answer, tests, log)


def check(mutants, tests, log):
    """End with an error where the tests of these mutants fail without a change."""
    needed = dict.fromkeys(
        name for mutant in mutants for name in tests[mutant["module"]]
    )
    if not passes(list(needed), log, CPU_OF_ALL):
        print(log.read_text("utf-8"))
        sys.exit("the tests fail without a change")


def report(answer, tests, log):
    """Print the survivors as they are found, then how many mutants of each room were noticed."""
    mutants = answer["mutants"]
    left = Counter()
    for mutant in survivors_of(mutants, tests, log):
        left[mutant["room"]] += 1
        print(shown(mutant), flush=True)
    drawn = Counter(mutant["room"] for mutant in mutants)
    print(f"{'room':<12} {'noticed':>7} {'of':>4}")
    for room, count in drawn.items():
        print(f"{room:<12} {count - left[room]:>7} {count:>4}")
    noticed = drawn.total() - left.total()
    print(
        f"{'all':<12} {noticed:>7} {drawn.total():>4}  {noticed / drawn.total():.1%}"
    )
    print(f"{answer['passed_over']} more were drawn that are known to change nothing")


if __name__ == "__main__":
    main()
