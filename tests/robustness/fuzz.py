"""Call every public function with wrong values, and run commands on damaged files.

    python -m tests.robustness.fuzz [--calls N] [--runs N] [--seed N]
    python -m tests.robustness.fuzz --repeat calls:SEED:NUMBER

Each call returns or raises InputError in one line, and each command ends with a message and exit
status 2. Anything else, such as a TypeError from inside the package, counts as raw: it is printed
with the command that repeats it, and the exit status is 1. The exit status is also 1 if a function
is never called, or fails on valid arguments. The wrong values include objects of polars, ranx,
sparse, torch and xarray if these are installed. Everything runs in temporary folders.
"""

import argparse
import contextlib
import io
import logging
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

import sampled_metrics as sm
from sampled_metrics import cli
from tests.robustness.calls import cases, public_names
from tests.robustness.commands import COMMANDS, damage, write_files
from tests.robustness.values import values

CALLS, RUNS = 8_000, 3_000
CHUNK = 200  # calls made by one process in a row
CHUNKS_OF_A_POOL = 20  # then new processes start, so that no memory is lost
SECONDS = 20  # longer calls count as slow
HERE = Path(__file__).parent
ENDS = ("returned", "refused", "of the caller", "slow", "raw")


def is_of_caller(error):
    """Whether the error comes from a function among the wrong values."""
    frames = traceback.extract_tb(error.__traceback__)
    if Path(frames[-1].filename).parent == HERE:
        return True
    return isinstance(error, TypeError) and "<lambda>() " in str(error)


def raise_timeout(*_):
    raise TimeoutError


def outcome(call):
    """Return how a call ends, and a description of a raw error."""
    signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call()
    except sm.InputError as error:
        if "\n" in str(error):
            return "raw", f"InputError of several lines: {error}"[:90]
        return "refused", ""
    except TimeoutError:
        return "slow", ""
    except Exception as error:
        if is_of_caller(error):
            return "of the caller", ""
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if "sampled_metrics" in frame.filename]
        place = (inside or frames)[-1]
        message = " ".join(str(error).split())[:90]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return "raw", f"{type(error).__name__} ({where}) {message}"
    finally:
        signal.alarm(0)
    return "returned", ""


def changed_call(seed, number):
    """Choose a function and change up to two arguments, as seed and number determine."""
    chooser = random.Random(f"{seed}:{number}")  # noqa: S311 - no secret depends on it
    all_cases = cases()
    name = chooser.choice(sorted({name for name, *_ in all_cases}))
    _, function, arguments = chooser.choice([case for case in all_cases if case[0] == name])
    names = chooser.sample(sorted(arguments), min(chooser.choice([0, 1, 1, 2]), len(arguments)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matrices of numpy
        wrong = list(values()) if names else []
    for argument in names:
        arguments[argument] = chooser.choice(wrong)
    return name, function, arguments, names


def call(seed, number):
    """Make a call; return its function, how it ends, and a description of a raw error."""
    name, function, arguments, names = changed_call(seed, number)
    np.random.seed(0)  # noqa: NPY002 - in case a value draws
    end, problem = outcome(lambda: function(**arguments))
    if end != "returned" and not names:
        end, problem = "raw", f"sound arguments were {end}: {problem}"
    if problem:
        problem = f"{name}({', '.join(names)}): {problem}"
    return name, end, problem


def run_command(command):
    """Run a command in this process; return its exit status and what it printed as errors."""
    error = io.StringIO()
    arguments = sys.argv
    sys.argv = ["sampled-metrics", *command]
    for handler in logging.getLogger().handlers[:]:
        logging.getLogger().removeHandler(handler)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(error),
        ):
            cli.main()
    except SystemExit as end:
        return end.code or 0, error.getvalue()
    finally:
        sys.argv = arguments
    return 0, error.getvalue()


def run(seed, number):
    """Run a command on a damaged file; one file in eight is left as it is."""
    chooser = random.Random(f"{seed}:{number}")  # noqa: S311
    name, text = chooser.choice(COMMANDS)
    status, error = None, ""

    def command():
        nonlocal status, error
        status, error = run_command(text.split())

    with tempfile.TemporaryDirectory(dir=".") as folder, contextlib.chdir(folder):
        write_files(Path())
        is_sound = chooser.randrange(8) == 0
        if not is_sound:
            Path(name).write_bytes(damage(Path(name).read_bytes(), chooser))
        end, problem = outcome(command)
    if end == "returned" and status not in (0, 1, 3):
        is_line = status == 2 and error.strip() and "Traceback" not in error
        end, problem = "refused", ""
        if not is_line:
            end, problem = "raw", f"exit status {status}: {error[-90:]!r}"
    if is_sound and end != "returned":
        end, problem = "raw", f"sound files were {end}: {problem or error[-90:]!r}"
    if problem:
        problem = f"{text} ({name}): {problem}"
    return text.split()[0], end, problem


MAKERS = {"calls": call, "runs": run}


def enter(folder):
    """Change to a new folder for this process, inside one that is removed at the end."""
    os.chdir(tempfile.mkdtemp(dir=folder))
    tempfile.tempdir = str(Path.cwd())
    logging.disable(logging.WARNING)


def make_chunk(kind, seed, numbers):
    """Make some calls or runs in sequence."""
    return [(number, *MAKERS[kind](seed, number)) for number in numbers]


def run_in_processes(kind, seed, numbers):
    """Make calls or runs in new processes; yield how each one ends, or that a process died."""
    chunks = [numbers[first : first + CHUNK] for first in range(0, len(numbers), CHUNK)]
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            mp_context=multiprocessing.get_context("spawn"),
            initializer=enter,
            initargs=(folder,),
        ) as pool,
    ):
        jobs = [pool.submit(make_chunk, kind, seed, some) for some in chunks]
        for some, job in zip(chunks, jobs, strict=True):
            try:
                yield from job.result()
            except BrokenProcessPool:
                died = f"a process died in one of the {len(some)} calls from here on"
                yield some[0], kind, "raw", died


def fuzz(kind, number, seed):
    """Make calls or runs in several processes, print how they end, and count failures.

    Returns the number of raw errors and the number of functions that never returned.
    """
    counts = defaultdict(Counter)
    problems = {}
    for start in range(0, number, CHUNK * CHUNKS_OF_A_POOL):
        stop = min(start + CHUNK * CHUNKS_OF_A_POOL, number)
        for index, name, end, problem in run_in_processes(kind, seed, range(start, stop)):
            counts[name][end] += 1
            if end == "raw":
                problems[index] = problem
    print(f"{kind:<24}" + "".join(f"{end:>14}" for end in ENDS))
    for name in sorted(counts):
        print(f"{name:<24}" + "".join(f"{counts[name][end]:>14,}" for end in ENDS))
    print_problems(kind, seed, problems)
    if kind == "calls":
        missing = [name for name in public_names() if not counts[name]["returned"]]
    else:
        missing = [name for name in commands() if not counts[name]["returned"]]
    if missing:
        print(f"never returned: {', '.join(missing)}")
    return len(problems), len(missing)


def commands():
    """Names of the commands that read files."""
    return sorted({command.split()[0] for _, command in COMMANDS})


def print_problems(kind, seed, problems):
    """Print each raw error once, with the command that repeats it."""
    first = {}
    times = Counter(problems.values())
    for index in sorted(problems):
        first.setdefault(problems[index], index)
    for problem, index in first.items():
        command = f"python -m tests.robustness.fuzz --repeat {kind}:{seed}:{index}"
        print(f"{times[problem]:6}  {problem}\n        {command}")


def repeat(kind, seed, number):
    """Repeat one call or run, and show its arguments and its traceback."""
    with tempfile.TemporaryDirectory() as folder:
        enter(folder)
        if kind == "calls":
            name, function, arguments, names = changed_call(seed, number)
            for argument in names:
                print(f"{name}: {argument} = {arguments[argument]!r}"[:300])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with contextlib.suppress(sm.InputError):
                    function(**arguments)
        _, end, problem = MAKERS[kind](seed, number)
        print(f"{end}: {problem}" if problem else end)
        os.chdir("/")
    return end == "raw"


def main(arguments=None):
    """Fuzz functions and commands; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.robustness.fuzz")
    parser.add_argument("--calls", type=int, default=CALLS, help="of functions")
    parser.add_argument("--runs", type=int, default=RUNS, help="of commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", metavar="KIND:SEED:NUMBER", help="one call again")
    options = parser.parse_args(arguments)
    if options.repeat:
        kind, seed, number = options.repeat.split(":")
        return int(repeat(kind, int(seed), int(number)))
    raw = missing = 0
    for kind, number in (("calls", options.calls), ("runs", options.runs)):
        if number:
            totals = fuzz(kind, number, options.seed)
            raw, missing = raw + totals[0], missing + totals[1]
    print(f"{options.calls:,} calls and {options.runs:,} runs: {raw} raw, {missing} never returned")
    return int(raw + missing > 0)


if __name__ == "__main__":
    sys.exit(main())
