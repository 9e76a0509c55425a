"""The study run on this machine and through SLURM, and what the two left behind compared."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.cluster.slurm import Slurm
from tests.workflow.conftest import HOW_IT_RAN, Project

# For the cluster of this test: its account, its partition, and no accounting to ask.
EDITS = {
    "# slurm_account: lab": "slurm_account: lab",
    "# slurm_partition: main": "slurm_partition: main",
    "# slurm-status-command: squeue": "slurm-status-command: squeue",
    "local-cores: 1": "local-cores: 2",
    "latency-wait: 60": "latency-wait: 10",
    "slurm-init-seconds-before-status-checks: 20": "slurm-init-seconds-before-status-checks: 10",
}
LOG = "snakemake.log"
# Logs and benchmarks tell of one run.
LEFT_OUT = ("logs/", "benchmarks/")
PIECES = re.compile(r"(?:&#34;|\")pieces(?:&#34;|\")?: *\d+|pieces: *\d+")


class RunError(Exception):
    """What the cluster or the run of the study did not do."""


@dataclass(frozen=True)
class Run:
    """What a run through SLURM was.

    Attributes
    ----------
    jobs
        SLURM's records of the jobs that Snakemake submitted, by id.
    seconds
        Wall time.
    """

    jobs: Mapping[str, Mapping[str, str]]
    seconds: float


def submitted(output: str) -> list[str]:
    """The ids of jobs in what Snakemake prints."""
    return re.findall(r"^Job \S+ has been submitted with SLURM jobid (\d+) ", output, re.MULTILINE)


def edited(profile: str) -> str:
    """The profile with what its user is to edit edited; every line must be there."""
    for line, ours in EDITS.items():
        if line not in profile:
            raise RunError(f"the profile for SLURM has no {line!r}")
        profile = profile.replace(line, ours)
    return profile


def results(project: Project) -> dict[str, bytes]:
    """Every result by name; of the page what neither times nor pieces change."""
    folder = project.folder / "results"
    names = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and folder / "reference" not in path.parents
    ]
    found = {name: (folder / name).read_bytes() for name in names if not name.startswith(LEFT_OUT)}
    if "report.html" in found:
        page = found["report.html"].decode()
        found["report.html"] = PIECES.sub("", HOW_IT_RAN.sub("", page)).encode()
    return found


def compare(expected: Mapping[str, bytes], found: Mapping[str, bytes]) -> None:
    """Raise RunError unless two runs left the same files, byte for byte."""
    other = sorted(expected.keys() ^ found.keys())
    if other:
        raise RunError(f"only one of the runs made {', '.join(other)}")
    differing = [name for name in expected if expected[name] != found[name]]
    if differing:
        raise RunError(f"bytes differ in {', '.join(differing)}")


def locally(project: Project) -> float:
    """Run the study on this machine through the local profile; return seconds."""
    began = time.monotonic()
    with _snakemake(project, "local") as process:
        process.wait()
    _require_success(project, process)
    return time.monotonic() - began


def through(
    slurm: Slurm,
    project: Project,
    pieces: int,
    disturb: Callable[[], None] | None = None,
    options: Sequence[str] = (),
) -> Run:
    """Run the study through the profile for SLURM, ranked in pieces, and disturb it meanwhile."""
    profile = project.folder / "workflow/profiles/slurm/config.yaml"
    profile.write_text(edited(profile.read_text()))
    project.change("ranking", pieces=pieces)
    before, began = set(slurm.records()), time.monotonic()
    with _snakemake(project, "slurm", options) as process:
        if disturb is not None:
            disturb()
        process.wait()
    output = _require_success(project, process)
    records = {name: each for name, each in slurm.records().items() if name not in before}
    if set(submitted(output)) != set(records):
        raise RunError(f"Snakemake submitted {submitted(output)}, SLURM had {sorted(records)}")
    return Run(records, time.monotonic() - began)


@contextmanager
def _snakemake(
    project: Project, profile: str, options: Sequence[str] = ()
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start Snakemake; ended with all that it runs here if we do not wait for it."""
    with (project.folder / LOG).open("wb") as output:
        process = subprocess.Popen(
            ["snakemake", "--profile", f"workflow/profiles/{profile}", *options],
            cwd=project.folder,
            env=project.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _require_success(project: Project, process: "subprocess.Popen[bytes]") -> str:
    """Return what Snakemake printed."""
    output = (project.folder / LOG).read_text()
    if process.returncode:
        raise RunError(f"Snakemake ended with status {process.returncode}:\n{output[-6000:]}")
    return output


class Disturbance:
    """What a run is to survive.

    The split has too little memory at first; then the job of a piece is cancelled, and the node of
    another taken down.
    """

    STARVED = "rule_split"
    # SLURM measures once a second: the first attempt holds less than Python with its libraries.
    OPTIONS = ("--set-resources", "split:mem_mb=100 * 6 ** (attempt - 1)", "--")
    RULE = "rule_rank_wildcards"
    PATIENCE = 300
    BEGUN = 2  # seconds, after which a job is at work

    def __init__(self, slurm: Slurm) -> None:
        self.slurm = slurm
        self.cancelled = self.failed = self.node = ""

    def __call__(self) -> None:
        self.cancelled = self._hit(lambda job: self.slurm.cancel(job["JobId"]), "CANCELLED")
        self.failed = self._hit(self._take_down, "NODE_FAIL")
        self.slurm.bring_back(self.node)

    def _take_down(self, job: Mapping[str, str]) -> None:
        self.node = job["NodeList"]
        self.slurm.take_down(self.node)

    def _hit(self, strike: Callable[[Mapping[str, str]], None], state: str) -> str:
        """Strike at jobs at work until one has ended as it should; one that ended first is not."""
        deadline = time.monotonic() + self.PATIENCE
        while time.monotonic() < deadline:
            at_work = self.slurm.running(self.BEGUN)
            for job in [each for each in at_work if each["Comment"].startswith(self.RULE)][:1]:
                strike(job)
                if self._ended(job["JobId"]) == state:
                    return job["JobId"]
                if self.node:
                    self.slurm.bring_back(self.node)
            time.sleep(0.2)
        raise RunError(f"no job that ended {state} within {self.PATIENCE} s")

    def _ended(self, job: str) -> str:
        deadline = time.monotonic() + 30
        while (state := self.slurm.state(job)) in ("RUNNING", "COMPLETING"):
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        return state

    def check(self, run: Run) -> None:
        """Raise RunError unless the jobs hit were run again, with more memory."""
        starved = min(
            (name for name, each in run.jobs.items() if each["Comment"] == self.STARVED), key=int
        )
        if run.jobs[starved]["JobState"] == "COMPLETED":
            raise RunError(f"{self.STARVED} did not fill its {megabytes(run.jobs[starved])} MB")
        for job in (starved, self.cancelled, self.failed):
            record = run.jobs[job]
            again = [
                each
                for name, each in run.jobs.items()
                if each["Comment"] == record["Comment"] and int(name) > int(job)
            ]
            if not again or again[-1]["JobState"] != "COMPLETED":
                raise RunError(f"{record['Comment']} was hit and not run again")
            if megabytes(again[0]) <= megabytes(record):
                raise RunError(
                    f"{record['Comment']} asked for {megabytes(record)} MB, then for "
                    f"{megabytes(again[0])}; expected more"
                )


def megabytes(record: Mapping[str, str]) -> int:
    """Memory that a job asked for."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([MG])", record["MinMemoryNode"])
    if found is None:
        raise RunError(f"job {record['JobId']} asked for no memory: {record['MinMemoryNode']}")
    return round(float(found[1]) * {"M": 1, "G": 1024}[found[2]])


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)
