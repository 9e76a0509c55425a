"""Run the study through a real SLURM on this machine while jobs are disturbed.

    python -m tests.cluster [--small] [--if-possible]

The study is the paper's, on the archive that MOVIELENS_ARCHIVE names. Without an archive, or with
`--small`, a small synthetic study runs. It first runs without SLURM, then through SLURM in pieces.
There, one job requests too little memory, another is cancelled, and the node of a third goes down.
Both runs must give the same bytes.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.cluster import slurm
from tests.conftest import write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions
from tests.workflow.conftest import Project

# Lines of the profile to edit: the account and partition, and a cluster without accounting.
EDITS = {
    "# slurm_account: lab": "slurm_account: lab",
    "# slurm_partition: main": "slurm_partition: main",
    "# slurm-status-command: squeue": "slurm-status-command: squeue",
    "latency-wait: 60": "latency-wait: 10",
    "slurm-init-seconds-before-status-checks: 20": "slurm-init-seconds-before-status-checks: 10",
}
RULE = "rule_rank_wildcards"
# Limits in seconds; continuous integration ends runs sooner.
UNTIL_RANKING, UNTIL_THE_END = 900, 3600
STARVED = "rule_split"
TOO_LITTLE = "split:mem_mb=60 if attempt == 1 else 2000"
# These files differ between runs: dates, number of pieces, and models shared by pieces.
STAGES = ["the start of SLURM"]
LEFT_OUT = (
    "logs/",
    "benchmarks/",
    "reference/",
    "models/",
    "data/source.json",
    "provenance.json",
    "report.html",
)


def edit_profile(profile):
    """The profile after the edits of EDITS; a line that is missing is an error."""
    for line, ours in EDITS.items():
        if line not in profile:
            raise slurm.ClusterError(f"the profile for SLURM has no {line!r}")
        profile = profile.replace(line, ours)
    return profile


def read_results(project):
    contents = {
        path.relative_to(project.results).as_posix(): path.read_bytes()
        for path in project.results.rglob("*")
        if path.is_file()
    }
    return {name: contents[name] for name in sorted(contents) if not name.startswith(LEFT_OUT)}


def compare(expected, actual):
    """Raise ClusterError unless two runs left the same files, byte for byte."""
    names = sorted(expected.keys() | actual.keys())
    differing = [name for name in names if expected.get(name) != actual.get(name)]
    if differing:
        raise slurm.ClusterError(f"the runs differ in {', '.join(differing)}")


@contextmanager
def end_children():
    """At the end, kill all child processes that are still running."""
    try:
        yield
    finally:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()


def state_of(job):
    return slurm.records()[job["JobId"]]["JobState"]


def disturb():
    """Cancel a ranking job, then take down the node of another; return both jobs."""
    disturbed = []
    for disturbance, state in (
        (lambda job: slurm.output("scancel", job["JobId"]), "CANCELLED"),
        (lambda job: slurm.set_node_state(job["NodeList"], "DOWN"), "NODE_FAIL"),
    ):
        deadline = time.monotonic() + UNTIL_RANKING
        while time.monotonic() < deadline and len(disturbed) < (1 if state == "CANCELLED" else 2):
            at_work = [
                job
                for job in slurm.records().values()
                if job["JobState"] == "RUNNING" and job["Comment"].startswith(RULE)
            ]
            for job in at_work[:1]:
                disturbance(job)
                slurm.wait(lambda job=job: state_of(job) not in ("RUNNING", "COMPLETING"), 30)
                if state == "NODE_FAIL":
                    slurm.set_node_state(job["NodeList"], "RESUME")
                if state_of(job) == state:
                    disturbed.append(job)
            time.sleep(0.2)
    if len(disturbed) < 2:
        raise slurm.ClusterError("no job of ranking could be cancelled, or lost its node")
    return disturbed


def require_killed_for_memory(folder):
    """Raise ClusterError unless a job was killed for its memory and then repeated with more."""
    jobs = [job for job in slurm.records().values() if job["Comment"].startswith(STARVED)]
    killed = slurm.jobs_over_memory(folder)
    states = [(job["JobId"] in killed, job["JobState"]) for job in jobs]
    if len(jobs) != 2 or not states[0][0] or states[1] != (False, "COMPLETED"):
        raise slurm.ClusterError(f"{STARVED}, killed for its memory, and state: {states}")


def run_through_slurm(project):
    """Run the study with the SLURM profile, ranked in pieces, and disturb its jobs."""
    profile = project.folder / "workflow/profiles/slurm/config.yaml"
    profile.write_text(edit_profile(profile.read_text()))
    project.change("ranking", pieces=3)
    log = project.folder / "snakemake.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                "snakemake",
                "--profile",
                "workflow/profiles/slurm",
                "--set-resources",
                TOO_LITTLE,
            ],
            cwd=project.folder,
            env=project.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            disturbed = disturb()
            process.wait(UNTIL_THE_END)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode:
        raise slurm.ClusterError(f"Snakemake ended with {process.returncode}:\n{log.read_text()}")
    for job in disturbed:
        jobs = [other for other in slurm.records().values() if other["Comment"] == job["Comment"]]
        if len(jobs) < 2 or jobs[-1]["JobState"] != "COMPLETED":
            raise slurm.ClusterError(f"{job['Comment']} was disturbed and not run again")


def announce(stage):
    """Print the stage that begins, and note it in case the run is stopped."""
    STAGES.append(stage)
    print(f"{time.strftime('%H:%M:%S')} {stage}", file=sys.stderr, flush=True)


def stop(*_):
    """Print the current stage, then end with clean-up."""
    print(f"stopped by SIGTERM in: {STAGES[-1]}", file=sys.stderr, flush=True)
    sys.exit(143)


def run(archive):
    """Run the study without and with SLURM, and compare; without an archive, a small study."""
    began = time.monotonic()
    temporary = tempfile.TemporaryDirectory(prefix="cluster.", ignore_cleanup_errors=True)
    with temporary as name, slurm.cluster() as daemons, end_children():
        folder, small = Path(name), archive is None
        if small:
            archive = write_archive(folder / "small.zip", as_ratings(synthetic_interactions()))
        projects = []
        for place in ("here", "there"):
            (folder / place).mkdir()
            projects.append(Project(folder / place, archive, small=small))
        local_project, slurm_project = projects
        announce("the study without SLURM")
        local_project.snakemake()
        local_seconds = time.monotonic() - began
        announce("the study through SLURM")
        run_through_slurm(slurm_project)
        announce("the comparison")
        require_killed_for_memory(daemons)
        states = Counter(job["JobState"] for job in slurm.records().values())
        actual = read_results(slurm_project)
        compare(read_results(local_project), actual)
    jobs = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    study = "a small study" if small else f"the study of {archive.name}"
    print(
        f"{study}: the same bytes of {len(actual)} files through SLURM; jobs {jobs}; "
        f"{time.monotonic() - began:.0f} s, {local_seconds:.0f} s of them without SLURM"
    )


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    reason = slurm.reason_unavailable()
    if reason:
        print(f"the study was not run through SLURM: {reason}")
        sys.exit(0 if "--if-possible" in sys.argv else 2)
    named = "" if "--small" in sys.argv else os.environ.get("MOVIELENS_ARCHIVE", "")
    try:
        run(Path(named).resolve() if named else None)
    except slurm.ClusterError as failure:
        sys.exit(f"FAILED: {failure}")
