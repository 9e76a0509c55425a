"""Change the packages in one place at a time, and print the changes that no test notices.

`python -m tests.mutants PYTHON --sample 160 --seed 0`, where PYTHON is the Python that has
cosmic-ray, chooses places at random, equally many in each subpackage; `--modules` limits them to
some modules. A first run of all short tests shows which test files run each place. For each
change, these run until a test fails: the examples in the docstrings of the module, the tests of its
package, then all others; `--tests` names test files instead. They run in a copy of the project, in
forks of a process that has already imported the large libraries. A change that no test notices
shows a gap in the tests, or makes no difference that a user could see; read each one to judge.
"""

import argparse
import contextlib
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
from collections import Counter, defaultdict
from pathlib import Path

from tests.mutants import reach

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = Path("src")
PACKAGES = ("sampled_metrics", "sampled_metrics_study")
TESTS = "tests"
UNTIL_FAILURE = ("-n0", "-x")
ALL = ("-n2",)
# Limits of the tests of one mutant; a mutant that exceeds them counts as noticed.
CPU_SECONDS = 600
WAIT_SECONDS = 1800  # for a mutant that sleeps
MEMORY = 8 * 2**30
SLOW_IMPORTS = (
    "numpy",
    "scipy.optimize",
    "scipy.stats",
    "scipy.sparse",
    "pandas",
    "pyarrow.csv",
    "pyarrow.parquet",
    "pydantic",
    "typer",
    "jinja2",
    "clarabel",
    "tabulate",
    "requests",
)


def all_modules():
    """Paths of all modules, relative to src."""
    paths = [path for package in PACKAGES for path in (ROOT / SOURCE / package).rglob("*.py")]
    return sorted(path.relative_to(ROOT / SOURCE).as_posix() for path in paths)


def subpackage_of(module):
    """The subpackage of a module, or the module itself if it has none."""
    package, name, *_ = module.removesuffix(".py").split("/")
    return f"{package}/{name}"


def files_reaching(mutants, folder, log):
    """For each mutant the files of tests that run its line, from one run of all short tests.

    Its own examples come first, then the tests of its package. A line that runs on import is
    reached by all files.
    """
    record = folder / "record"
    recorder = SOURCE / f"{reach.MODULE}.py"
    recorder.write_text(reach.SOURCE.format(record=str(record)), "utf-8")
    lines_of_module = defaultdict(dict)
    for number, mutant in enumerate(mutants):
        lines_of_module[mutant["module"]][number] = mutant["line"]
    originals = {}
    in_functions = set()
    for module, lines in lines_of_module.items():
        path = SOURCE / module
        originals[path] = path.read_text("utf-8")
        source, numbers = reach.add_calls(originals[path], lines)
        path.write_text(source, "utf-8")
        in_functions |= numbers
    passes([], log, options=ALL)
    recorder.unlink()
    for path, source in originals.items():
        path.write_text(source, "utf-8")
    reached = reach.files_by_number(record)
    all_files = set().union(*reached.values())
    return [
        sorted(
            reached[number] if number in in_functions else all_files,
            key=lambda path, module=mutant["module"]: order_of(path, module),
        )
        for number, mutant in enumerate(mutants)
    ]


def order_of(path, module):
    """The place of a test file among those for a module."""
    is_study = module.startswith(PACKAGES[1])
    folder = "study" if is_study else module.split("/")[1].strip("_")
    is_beside = path.startswith(f"{TESTS}/{folder}/")
    return path != (SOURCE / module).as_posix(), not is_beside, path


def request_for(modules, sample):
    """The request for draw.py: modules and number of mutants of each subpackage."""
    subpackages = sorted({subpackage_of(module) for module in modules})
    request = {}
    for place, subpackage in enumerate(subpackages):
        request[subpackage] = {
            "modules": [each for each in modules if subpackage_of(each) == subpackage],
            "count": sample // len(subpackages) + (place < sample % len(subpackages)),
        }
    return request


def copy_project(folder):
    """Copy the files that git tracks or would add to `folder`."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, check=True, capture_output=True, cwd=ROOT, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)


def run_tests(tests, log, options):
    """Run tests within limits, and end this process with their status."""
    os.setsid()
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import pytest

    options = [*options, "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line"]
    options += ["-m", "not long", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    status = pytest.main([*options, *tests])
    sys.stdout.flush()
    os._exit(int(status))


def passes(tests, log, options=UNTIL_FAILURE):
    """Whether the tests pass in a fork of this process."""
    child = os.fork()
    if child == 0:
        try:
            run_tests(tests, log, options)
        finally:
            os._exit(99)
    end = time.monotonic() + WAIT_SECONDS
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


def survivors_of(mutants, files, log):
    """Test each mutant in the working directory, and yield those that no test notices."""
    for mutant, tests in zip(mutants, files, strict=True):
        path = SOURCE / mutant["module"]
        original = path.read_text("utf-8")
        path.write_text(mutant["source"], "utf-8")
        try:
            survives = not tests or passes(tests, log)
        finally:
            path.write_text(original, "utf-8")
        if survives:
            yield mutant


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="tests.mutants")
    parser.add_argument("cosmic_python", type=Path)
    parser.add_argument("--sample", type=int, default=160)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--modules", nargs="*", help="below src, instead of all")
    parser.add_argument("--tests", nargs="*", help="paths, instead of all")
    unchecked = "do not run the tests without a change first"
    parser.add_argument("--unchecked", action="store_true", help=unchecked)
    return parser.parse_args(arguments)


def main():
    options = options_of(sys.argv[1:])
    command = [
        str(options.cosmic_python),
        str(HERE / "draw.py"),
        str(ROOT / SOURCE),
        options.seed,
    ]
    request = json.dumps(request_for(options.modules or all_modules(), options.sample))
    done = subprocess.run(command, input=request, check=True, stdout=subprocess.PIPE, text=True)
    mutants = json.loads(done.stdout)
    for name in SLOW_IMPORTS:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "copy"
        log = Path(temporary) / "log"
        copy_project(copy)
        os.chdir(copy)
        sys.path[:0] = [str(copy / "src"), str(copy)]
        os.environ["PYTHONPATH"] = str(copy / "src")
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        if not options.unchecked and not passes(options.tests or [], log, options=ALL):
            print(log.read_text("utf-8"))
            sys.exit("the tests fail without a change")
        if options.tests:
            files = [options.tests] * len(mutants)
        else:
            files = files_reaching(mutants, Path(temporary), log)
        report(mutants, files, log)


def report(mutants, files, log):
    """Print each survivor immediately, then the number of noticed mutants by subpackage."""
    survivors = Counter()
    for mutant in survivors_of(mutants, files, log):
        survivors[mutant["subpackage"]] += 1
        place = f"{mutant['module']}:{mutant['line']}"
        print(f"{place}\n  - {mutant['before']}\n  + {mutant['after']}", flush=True)
    counts = Counter(mutant["subpackage"] for mutant in mutants)
    print(f"{'subpackage':<40} {'noticed':>7} {'of':>4}")
    for subpackage, count in counts.items():
        print(f"{subpackage:<40} {count - survivors[subpackage]:>7} {count:>4}")
    noticed = counts.total() - survivors.total()
    share = noticed / max(counts.total(), 1)
    print(f"{'all':<40} {noticed:>7} {counts.total():>4}  {share:.1%}")


if __name__ == "__main__":
    main()
