"""Kill small runs of the study, unlock and finish each by the same command; `make kills`.

Half of the runs are killed at a random moment, the others just before or after a result gets its
name. Every run must end with the bytes of one that nothing has disturbed.
"""

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import as_ratings, synthetic_interactions, write_archive
from tests.workflow.conftest import Project

RUNS = 25
NAMES = ["split/split.npz", "ranks/X.parquet", "cells/table3.csv"]
COMMAND = ["make", "reproduce", "CORES=2", f"TARGETS={' '.join(f'results/{n}' for n in NAMES)}"]


def moments(project, seconds, count):
    """Return `count` moments at which to kill, each with a description."""
    kept = set(project.results.glob("reference/*"))
    rng = random.Random(0)  # noqa: S311, which no secret depends on
    for number in range(count):
        at, place, seen = rng.uniform(0.1, seconds), rng.randint(1, 5), set()
        if number % 2 == 0:
            yield f"after {at:.1f} s", lambda elapsed, at=at: elapsed > at
        elif number % 4 == 1:

            def temporary(_, place=place, seen=seen):
                seen.update(path.name for path in project.hidden())
                return len(seen) >= place

            yield f"before name {place}", temporary
        else:

            def named(_, place=place):
                made = set(project.results.glob("*/*")) - kept
                return sum(path.is_file() for path in made) >= place

            yield f"after name {place}", named


def clean(project):
    for path in project.results.iterdir():
        if path.is_file():
            path.unlink()
        elif path.name != "reference":
            shutil.rmtree(path)
    shutil.rmtree(project.folder / ".snakemake", ignore_errors=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(Path(folder, "a.zip"), as_ratings(synthetic_interactions()))
        path = Path(folder, "project")
        path.mkdir()
        project = Project(path, archive, small=True)
        project.change(recommenders=[{"name": "X", "kind": "als", "settings": {"d": 4}}])
        began = time.monotonic()
        done = project.run(*COMMAND)
        assert done.returncode == 0, done.stdout
        seconds, expected = time.monotonic() - began, [project.result(name) for name in NAMES]
        print(f"undisturbed: {seconds:.1f} s", flush=True)
        good = 0
        for name, moment in moments(project, seconds, RUNS):
            clean(project)
            killed = project.killed(COMMAND, moment)
            project.run("snakemake", "--unlock")
            done = project.run(*COMMAND)
            same = done.returncode == 0 and [project.result(name) for name in NAMES] == expected
            good += same
            told = "same" if same else done.stdout
            print(f"{name:16} {'killed' if killed else 'ended'}: {told}", flush=True)
        print(f"{good} of {RUNS} runs finished after `snakemake --unlock` with the same bytes")
    return good < RUNS


if __name__ == "__main__":
    sys.exit(main())
