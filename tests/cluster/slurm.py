"""Start, query and stop a SLURM of two virtual nodes on one machine (Debian, as root).

All its files are in a temporary folder except `/etc/slurm/slurm.conf`, because SLURM does not pass
another path on to jobs. An existing file is restored.
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
from contextlib import contextmanager, suppress
from pathlib import Path

CONF, MUNGE = Path("/etc/slurm/slurm.conf"), Path("/run/munge")
MARK = "# Written by tests/cluster; removed when it ends."
NODES = ("n1", "n2")
EXCEEDED = r"StepId=(\d+)\.\w+ exceeded memory limit"
DAEMONS = ("slurmctld", "slurmd", "munged")
TEXT = """{mark}
ClusterName=loop
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
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
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=16000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=16000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


class ClusterError(Exception):
    """The cluster or the run of the study failed."""


def reason_unavailable():
    """Return why SLURM cannot be started, or an empty string; install it where possible."""
    if os.geteuid() != 0:
        return "starting SLURM needs root"
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return "snakemake-executor-plugin-slurm is not installed (extra `cluster`)"
    running = [name for name in (*DAEMONS, "slurmstepd") if output("pgrep", "-x", name)]
    if running:
        return f"{running[0]} is running on this machine, and was not started by this test"
    if not all(map(shutil.which, DAEMONS)) and shutil.which("apt-get"):
        install = (
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            "slurm-wlm",
            "munge",
        )
        output("apt-get", "update", "-qq")
        output(*install, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return "" if all(map(shutil.which, DAEMONS)) else "SLURM is not installed"


def output(*command, **options):
    options = {"capture_output": True, "text": True, "check": False} | options
    return subprocess.run(command, **options).stdout.strip()


def parse_records(text):
    """Parse the output of `scontrol show job --oneliner` into records by job id."""
    lines = [
        dict(re.findall(r"(\S+?)=(.*?)(?=\s+[\w/:]+=|\s*$)", line)) for line in text.splitlines()
    ]
    return {fields["JobId"]: fields for fields in lines if "JobId" in fields}


def records():
    return parse_records(output("scontrol", "show", "job", "--oneliner"))


def jobs_over_memory(folder):
    """Ids of the jobs that SLURM killed because they used more memory than requested."""
    logs = [path.read_text(errors="replace") for path in folder.glob("slurmd.*.log")]
    return {job for text in logs for job in re.findall(EXCEEDED, text)}


def set_node_state(node, state):
    """Set the state of a node, DOWN or RESUME."""
    command = [
        "scontrol",
        "update",
        f"nodename={node}",
        f"state={state}",
        "reason=test",
    ]
    subprocess.run(command, check=True)


def wait(until, seconds):
    """Wait until `until()` is true, at most so many seconds; return whether it is."""
    deadline = time.monotonic() + seconds
    while not (is_done := until()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return bool(is_done)


@contextmanager
def cluster():
    """Start SLURM and yield its folder; at the end stop it and restore changed files."""
    before = CONF.read_text() if CONF.exists() else MARK
    had_munge, folder = MUNGE.exists(), Path(tempfile.mkdtemp(prefix="slurm."))
    try:
        try:
            _start(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ClusterError(f"SLURM did not start: {error}") from error
        yield folder
    finally:
        signals = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, signal.SIG_IGN) for number in signals}
        _stop(folder)
        CONF.unlink(missing_ok=True)
        if not before.startswith(MARK):  # otherwise it is from a killed run of this test
            CONF.write_text(before)
        for path in (folder, *([] if had_munge else [MUNGE])):
            shutil.rmtree(path, ignore_errors=True)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def free_ports(count):
    """Free ports of this machine."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _start(folder):
    (folder / "state").mkdir()
    # munge refuses keys and sockets in folders that others may write to
    owner = ["-o", "munge", "-g", "munge", "-m", "755"]
    subprocess.run(["install", "-d", *owner, MUNGE], check=True)
    as_munge = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"]
    subprocess.run([*as_munge, shutil.which("munged")], check=True, capture_output=True)
    CONF.parent.mkdir(parents=True, exist_ok=True)
    CONF.write_text(TEXT.format(mark=MARK, folder=folder, ports=free_ports(3)))
    for command in (["slurmctld"], *(["slurmd", "-N", name] for name in NODES)):
        subprocess.run(command, check=True, capture_output=True)
    if not wait(lambda: set(output("sinfo", "-h", "-o", "%t").split()) == {"idle"}, 60):
        raise ClusterError("its nodes were not idle within a minute")


def _stop(folder):
    """End all jobs, the daemons, and remaining processes of jobs; none ran before this test.

    This takes at most 20 s, because SIGTERM is often followed by SIGKILL half a minute later.
    """
    output("scancel", "--user=root")
    wait(lambda: not output("squeue", "--noheader"), 8)
    names = [
        *(folder / f"slurmd.{node}.pid" for node in NODES),
        folder / "slurmctld.pid",
    ]
    files = [file for file in (*names, MUNGE / "munged.pid") if file.exists()]
    pids = [*(int(file.read_text()) for file in files)]
    for signal_number, seconds in ((signal.SIGTERM, 8), (signal.SIGKILL, 3)):
        pids += map(int, output("pgrep", "-x", "slurmstepd").split())
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal_number)
        processes = [Path(f"/proc/{pid}") for pid in pids]
        wait(
            lambda processes=processes: not any(place.exists() for place in processes),
            seconds,
        )
