"""Snakemake's lock on a folder, which a killed run leaves behind."""

import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    from psutil import Process

LOCKS, HOST = ".snakemake/locks", ".snakemake/host"
_ATTRIBUTES = ("pid", "cmdline", "cwd", "username")


def clear_lock(folder: Path) -> bool:
    """Remove the lock of a run whose process is gone; return whether there was one.

    Jobs that the run has left behind are waited for. A run that goes on, here or maybe on another
    machine, is an InputError.
    """
    import psutil

    locks = folder / LOCKS
    owners = {path.owner() for path in locks.glob("*.lock")}
    if not owners:
        return False
    host = folder / HOST
    started_on = host.read_text(encoding="utf-8").strip() if host.exists() else platform.node()
    if started_on != platform.node():
        raise InputError(
            f"locked by a run on {started_on}; if that has ended, `snakemake --unlock` clears it",
            path=folder,
        )
    processes = runs(folder, owners)
    jobs = [process for process in processes if "--target-jobs" in process.info["cmdline"]]
    if len(processes) > len(jobs):
        number = next(process.pid for process in processes if process not in jobs)
        raise InputError(f"process {number} runs a study here; wait for it or end it", path=folder)
    psutil.wait_procs(jobs)
    shutil.rmtree(locks)
    return True


def runs(folder: Path, owners: set[str]) -> "list[Process]":
    """Return the processes of Snakemake in a folder, or where that is hidden those of `owners`."""
    import psutil

    own = {process.pid for process in [psutil.Process(), *psutil.Process().parents()]}
    return [
        process
        for process in psutil.process_iter(_ATTRIBUTES)
        if process.pid not in own
        and any(Path(part).name == "snakemake" for part in (process.info["cmdline"] or ())[:4])
        and (
            Path(process.info["cwd"]).resolve() == folder.resolve()
            if process.info["cwd"]
            else process.info["username"] in owners
        )
    ]
