"""Kill small runs of the study and finish each by one command; `make kills`.

Half of the runs are killed at a random moment, the others just before or after a result gets its
name. Every run must end with the bytes of one that nothing has disturbed.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import as_ratings, synthetic_interactions, write_archive
from tests.workflow.conftest import Project
from tests.workflow.kills import after, after_rename, before_rename

NAMES = ["split/split.npz", "models/X.npz", "ranks/X.parquet", "tables/exact.csv"]
COMMAND = ["make", "reproduce", "CORES=2", f"TARGETS={' '.join(f'results/{n}' for n in NAMES)}"]


def moments(seed, seconds, count):
    """Return `count` moments at which to kill, each with a description."""
    rng = random.Random(seed)  # noqa: S311, which no secret depends on
    for number in range(count):
        at = rng.uniform(0.1, seconds)
        place = rng.randint(1, 6)
        yield (
            (f"after {at:.1f} s", after(at)),
            (f"before name {place}", before_rename(place)),
            (f"after {at:.1f} s", after(at)),
            (f"after name {place}", after_rename(place)),
        )[number % 4]


def clean(project):
    for name in ("split", "models", "ranks", "tables", "data", "logs", "benchmarks"):
        shutil.rmtree(project.folder / "results" / name, ignore_errors=True)
    shutil.rmtree(project.folder / ".snakemake", ignore_errors=True)


def results(project):
    return [project.result(name) for name in NAMES]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = write_archive(Path(folder, "a.zip"), as_ratings(synthetic_interactions()))
        path = Path(folder, "project")
        path.mkdir()
        project = Project(path, archive, small=True)
        project.change(recommenders=[{"name": "X", "kind": "als", "settings": {"d": 4}}])
        began = time.monotonic()
        assert project.run(*COMMAND).returncode == 0
        seconds, expected = time.monotonic() - began, results(project)
        print(f"undisturbed: {seconds:.1f} s")
        good = 0
        for name, moment in moments(options.seed, seconds, options.runs):
            clean(project)
            killed = project.killed(COMMAND, moment)
            done = project.run(*COMMAND)
            left = [p for p in (path / "results").rglob(".*") if p.is_file()]
            same = done.returncode == 0 and results(project) == expected and not left
            good += same
            print(f"{name:16} {'killed' if killed else 'ended'}: {'same' if same else done.stdout}")
        print(f"{good} of {options.runs} runs finished by one command with the same bytes")
    return good < options.runs


if __name__ == "__main__":
    sys.exit(main())
