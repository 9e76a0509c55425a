"""The study through a real SLURM on this machine: the same bytes, also where jobs and nodes fail.

    python -m tests.cluster [--small] [--if-possible]

Installs SLURM where it can (Debian, root), starts two virtual nodes, and stops and restores
everything in the end. The small study is synthetic; without --small and with MOVIELENS_ARCHIVE
the paper's is run as well. Each is run on this machine in one piece, and through SLURM in pieces
while one job fills its memory, one is cancelled and one node goes down; the paper's also
undisturbed.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.cluster import runs, slurm
from tests.conftest import as_ratings, synthetic_interactions, write_archive
from tests.workflow.conftest import Project

CANNOT = 2
PIECES = 2  # of ranking
OTHER_PIECES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="the synthetic study only")
    parser.add_argument(
        "--if-possible", action="store_true", help="succeed where no SLURM can be started"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    archive = "" if options.small else os.environ.get("MOVIELENS_ARCHIVE", "")
    began = time.monotonic()
    reason = slurm.missing()
    try:
        if not reason:
            run_all(archive)
    except slurm.StartError as error:
        reason = f"it did not start: {error}"
    except runs.RunError as failure:
        sys.exit(f"FAILED: {failure}")
    if reason:
        runs.say(f"the study was not run through SLURM: {reason}")
        sys.exit(0 if options.if_possible else CANNOT)
    runs.say(f"all of it in {time.monotonic() - began:.0f} s")


def run_all(archive: str) -> None:
    """Run the small study, and the paper's if there is an archive."""
    with tempfile.TemporaryDirectory(prefix="cluster.") as folder, slurm.cluster() as cluster:
        small = write_archive(Path(folder, "small.zip"), as_ratings(synthetic_interactions()))
        study(cluster, Path(folder, "small"), small, is_small=True)
        if archive:
            study(cluster, Path(folder, "full"), Path(archive), is_small=False)


def study(cluster: slurm.Slurm, folder: Path, archive: Path, *, is_small: bool) -> None:
    """Run one study on this machine and through SLURM, and compare."""
    here = project(folder / "local", archive, is_small=is_small)
    seconds = runs.locally(here)
    expected = runs.results(here)
    runs.say(f"{folder.name}: {len(expected)} files on this machine in {seconds:.0f} s")
    if not is_small:
        there = project(folder / "slurm", archive, is_small=is_small)
        tell(f"{folder.name}: through SLURM", runs.through(cluster, there, PIECES))
        runs.compare(expected, runs.results(there))
    there = project(folder / "disturbed", archive, is_small=is_small)
    disturbance = runs.Disturbance(cluster)
    run = runs.through(cluster, there, OTHER_PIECES, disturbance, disturbance.OPTIONS)
    tell(f"{folder.name}: through SLURM, disturbed", run)
    disturbance.check(run)
    runs.compare(expected, runs.results(there))
    runs.say(f"{folder.name}: the same bytes in all runs")


def project(folder: Path, archive: Path, *, is_small: bool) -> Project:
    """A study in a new folder."""
    folder.mkdir(parents=True)
    return Project(folder, archive, is_small)


def tell(title: str, run: runs.Run) -> None:
    """Print the counts of a run and the jobs that failed."""
    states = Counter(each["JobState"] for each in run.jobs.values())
    nodes = Counter(each["NodeList"] for each in run.jobs.values())
    most = max(map(runs.megabytes, run.jobs.values()))
    counts = ", ".join(f"{count} {name}" for name, count in sorted((states + nodes).items()))
    runs.say(f"{title}: {len(run.jobs)} jobs in {run.seconds:.0f} s: {counts}; {most} MB at most")
    for job, record in run.jobs.items():
        if record["JobState"] != "COMPLETED":
            memory = f"{runs.megabytes(record)} MB on {record['NodeList']}"
            runs.say(f"  job {job} with {memory} ({record['Comment']}): {record['JobState']}")


if __name__ == "__main__":
    main()
