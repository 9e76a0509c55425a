"""A SLURM of two virtual nodes on one machine: started, asked and stopped.

Needs root. Everything of it is in a temporary folder but `/etc/slurm/slurm.conf`, which SLURM
strips of any other place on its way to a job; one that exists is put back afterwards.
"""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CONF = Path("/etc/slurm/slurm.conf")
MUNGE = Path("/run/munge")
MARK = "# Written by tests/cluster; removed when it ends."
NODES = ("n1", "n2")
DAEMONS = ("slurmctld", "slurmd", "munged")
STEP = "slurmstepd"
PACKAGES = ("slurm-wlm", "munge")


class StartError(Exception):
    """Why the daemons did not come up."""


def conf(folder: Path, ports: tuple[int, int, int], cpus: int = 8, memory: int = 16000) -> str:
    """The text of slurm.conf: a controller and two nodes that share this machine, no accounting."""
    controller, *nodes = ports
    lines = "\n".join(
        f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
        f"CPUs={cpus} RealMemory={memory} State=UNKNOWN"
        for name, port in zip(NODES, nodes, strict=True)
    )
    return f"""{MARK}
ClusterName=loop
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0
DefMemPerCPU=500
SlurmdParameters=config_overrides
ReturnToService=1
MinJobAge=3600
KillWait=5
SlurmdTimeout=30
{lines}
PartitionName=main Nodes={",".join(NODES)} Default=YES MaxTime=INFINITE State=UP
"""


def parse_records(text: str) -> dict[str, dict[str, str]]:
    """What `scontrol show job --oneliner` prints, by job id."""
    records = {}
    for line in text.splitlines():
        fields = dict(re.findall(r"(\S+?)=(.*?)(?=\s+[\w/:]+=|\s*$)", line))
        if "JobId" in fields:
            records[fields["JobId"]] = fields
    return records


def seconds(run_time: str) -> int:
    """A RunTime of SLURM, [days-]hours:minutes:seconds."""
    days, _, clock = run_time.rpartition("-")
    hours, minutes, rest = (int(part) for part in clock.split(":"))
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest


def missing() -> str:
    """Why no SLURM can be started here, or nothing."""
    if os.geteuid() != 0:
        return "starting SLURM needs root"
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return "snakemake-executor-plugin-slurm is not installed (extra `cluster`)"
    running = [name for name in (*DAEMONS, STEP) if _pids(name)]
    if running:
        return f"{running[0]} is running on this machine, and it is not ours to touch"
    if not all(map(shutil.which, DAEMONS)):
        if not shutil.which("apt-get"):
            return "SLURM is not installed, and there is no apt-get to install it"
        if not _installed():
            return f"apt-get could not install {' and '.join(PACKAGES)}"
    return ""


def _installed() -> bool:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    options = ("-y", "-qq", "--no-install-recommends")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, **quiet)
    subprocess.run(["apt-get", "install", *options, *PACKAGES], env=environment, **quiet)
    return all(map(shutil.which, DAEMONS))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


class Slurm:
    """Questions to the cluster that runs, and what is done to it."""

    def records(self) -> dict[str, dict[str, str]]:
        return parse_records(_output("scontrol", "show", "job", "--oneliner"))

    def state(self, job: str) -> str:
        return self.records().get(job, {}).get("JobState", "unknown")

    def running(self, least: int) -> list[dict[str, str]]:
        """Jobs that have run for at least some seconds, so that their work has begun."""
        return [
            record
            for record in self.records().values()
            if record["JobState"] == "RUNNING" and seconds(record["RunTime"]) >= least
        ]

    def cancel(self, job: str) -> None:
        subprocess.run(["scancel", job], check=True)

    def take_down(self, node: str) -> None:
        change = ["scontrol", "update", f"nodename={node}", "state=DOWN", "reason=test"]
        subprocess.run(change, check=True)

    def bring_back(self, node: str) -> None:
        change = ["scontrol", "update", f"nodename={node}", "state=RESUME"]
        subprocess.run(change, check=True)


@contextmanager
def cluster() -> Iterator[Slurm]:
    """Start SLURM; stop it and put back what was there, whatever happens."""
    before = CONF.read_bytes() if CONF.exists() else None
    if before is not None and before.startswith(MARK.encode()):
        before = None  # left behind by a run that was killed
    had_munge = MUNGE.exists()
    folder = Path(tempfile.mkdtemp(prefix="slurm."))
    try:
        try:
            _start(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            raise StartError(_in_a_line(error)) from error
        yield Slurm()
    finally:
        with _undisturbed():
            _stop(folder)
            if before is None:
                CONF.unlink(missing_ok=True)
            else:
                CONF.write_bytes(before)
            if not had_munge:
                shutil.rmtree(MUNGE, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let no signal interrupt the clearing up."""
    kept = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)


def _start(folder: Path) -> None:
    (folder / "state").mkdir()
    # munge refuses a key or socket below a folder that others may write to
    subprocess.run(
        ["install", "-d", "-o", "munge", "-g", "munge", "-m", "755", str(MUNGE)], check=True
    )
    as_munge = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    munged = shutil.which("munged") or "munged"
    subprocess.run([*as_munge, munged], check=True, capture_output=True)
    CONF.parent.mkdir(parents=True, exist_ok=True)
    CONF.write_text(conf(folder, free_ports()))
    subprocess.run(["slurmctld"], check=True, capture_output=True)
    for name in NODES:
        subprocess.run(["slurmd", "-N", name], check=True, capture_output=True)
    if not _wait(lambda: set(_output("sinfo", "-h", "-o", "%t").split()) == {"idle"}, 60):
        last = (folder / "slurmctld.log").read_text().splitlines()[-1:]
        raise StartError(" ".join(["its nodes were not idle within a minute:", *last]))


def _in_a_line(error: OSError | subprocess.CalledProcessError) -> str:
    told = getattr(error, "stderr", None) or b""
    return " ".join([str(error), *told.decode(errors="replace").split()])


def free_ports() -> tuple[int, int, int]:
    """Three ports that nothing listens on."""
    sockets = [socket.socket() for _ in range(3)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        first, second, third = (each.getsockname()[1] for each in sockets)
    finally:
        for each in sockets:
            each.close()
    return first, second, third


def _stop(folder: Path) -> None:
    """End all jobs, then the daemons, and what is still left of jobs; none ran here before."""
    if _output("squeue", "--noheader"):
        subprocess.run(["scancel", "--user=root"], capture_output=True, check=False)
        _wait(lambda: not _output("squeue", "--noheader"), 20)
    files = [
        *(folder / f"slurmd.{name}.pid" for name in NODES),
        folder / "slurmctld.pid",
        MUNGE / "munged.pid",
    ]
    pids = [int(file.read_text()) for file in files if file.exists()]
    _end([*pids, *_pids(STEP)], signal.SIGTERM, 15)
    _end([*pids, *_pids(STEP)], signal.SIGKILL, 5)


def _pids(name: str) -> list[int]:
    return [int(pid) for pid in _output("pgrep", "-x", name).split()]


def _end(pids: list[int], how: signal.Signals, patience: float) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, how)
    _wait(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), patience)


def _wait(until: Callable[[], bool], patience: float) -> bool:
    """Whether something has come about, within so many seconds."""
    deadline = time.monotonic() + patience
    while not until():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
