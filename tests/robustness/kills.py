"""Kill small runs of the study, unlock each and finish it with the same command.

    python -m tests.robustness.kills [--kills N] [--seed N]

Half of the runs are killed at a random moment, the others just before or after a result is renamed
to its final name. Every run must end with the same bytes as an undisturbed run.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions
from tests.workflow.conftest import Project

RUNS = 4
NAMES = ["split/split.npz", "ranks/X.parquet", "cells/table3.csv"]
COMMAND = [
    "make",
    "reproduce",
    "CORES=2",
    f"TARGETS={' '.join(f'results/{n}' for n in NAMES)}",
]


def moments(project, seconds, count, seed):
    """Yield `count` moments at which to kill: a description, and a test of the elapsed time."""
    reference = set(project.results.glob("reference/*"))
    rng = random.Random(seed)  # noqa: S311 - no secret depends on it
    for number in range(count):
        delay, n_files, names = rng.uniform(0.1, seconds), rng.randint(1, 5), set()
        if number % 2 == 0:
            yield f"after {delay:.1f} s", lambda elapsed, delay=delay: elapsed > delay
        elif number % 4 == 1:

            def has_temporary_file(_, n_files=n_files, names=names):
                names.update(path.name for path in project.temporary_files())
                return len(names) >= n_files

            yield f"before name {n_files}", has_temporary_file
        else:

            def has_name(_, n_files=n_files):
                results = set(project.results.glob("*/*")) - reference
                return sum(path.is_file() for path in results) >= n_files

            yield f"after name {n_files}", has_name


def clean(project):
    for path in project.results.iterdir():
        if path.is_file():
            path.unlink()
        elif path.name != "reference":
            shutil.rmtree(path)
    shutil.rmtree(project.folder / ".snakemake", ignore_errors=True)


def kill_runs(number, seed=0):
    """Kill runs, finish each one, and return how many end with other bytes."""
    with tempfile.TemporaryDirectory() as folder:
        ratings = as_ratings(synthetic_interactions())
        archive = write_archive(Path(folder, "a.zip"), ratings)
        path = Path(folder, "project")
        path.mkdir()
        project = Project(path, archive, small=True)
        als = {"name": "X", "kind": "als", "settings": {"d": 4}}
        project.change(recommenders=[als])
        began = time.monotonic()
        done = project.run(*COMMAND)
        if done.returncode:
            print(done.stdout)
            return number
        seconds = time.monotonic() - began
        expected = [project.result(name) for name in NAMES]
        print(f"undisturbed: {seconds:.1f} s", flush=True)
        bad = 0
        for name, moment in moments(project, seconds, number, seed):
            clean(project)
            is_killed = project.kill_when(COMMAND, moment)
            project.run("snakemake", "--unlock")
            done = project.run(*COMMAND)
            is_same = done.returncode == 0 and expected == [project.result(name) for name in NAMES]
            bad += not is_same
            print(
                f"{name:16} {'killed' if is_killed else 'ended'}: "
                f"{'same bytes' if is_same else done.stdout}",
                flush=True,
            )
    print(f"{number - bad} of {number} killed runs finished with the same bytes")
    return bad


def main(arguments=None):
    """Kill runs; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.robustness.kills")
    parser.add_argument("--kills", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args(arguments)
    return int(kill_runs(options.kills, options.seed) > 0)


if __name__ == "__main__":
    sys.exit(main())
