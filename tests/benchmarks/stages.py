"""Time and memory of the study by stage, and of a whole run of Snakemake.

    python tests/benchmarks/stages.py [--cores N] [--runs R] [--study FILE] [TARGET ...]

Needs the archive named by MOVIELENS_ARCHIVE, of whichever MovieLens the study is. Everything is
done in temporary folders. Each row is the median over the runs of wall and processor seconds, and
the largest peak of resident memory: of one process for a stage, of all processes together (sampled
ten times a second) for a run of Snakemake, at the end of the table. Targets such as `spread audit`
or another study are measured by stage alone. The rules request memory and time by these numbers.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "config", "workflow", "src", "environment.yml", "results/reference")
MIB = 1 << 20
WHOLE_RUNS = {
    "archive to exact.csv": ("results/tables/exact.csv",),
    "the whole study": (),
}


def copy_project(folder: Path) -> None:
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder)


def printed_commands(folder: Path, cores: int, targets: list[str]) -> list[tuple[str, list[str]]]:
    """The shell commands of a run, in an order that works, from Snakemake's own dry run."""
    done = subprocess.run(
        ["snakemake", "--cores", str(cores), "--dry-run", "--printshellcmds", *targets],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    commands = [line for line in lines if "python -m sampled_metrics study" in line]
    unique = dict.fromkeys(line[line.index("python -m") :] for line in commands)
    return [(name_of(command), ["bash", "-c", f"exec {command}"]) for command in unique]


def name_of(command: str) -> str:
    words = command.split()
    step = words[words.index("--log") + 2]
    log = Path(words[words.index("--log") + 1])
    return step if log.stem == step else f"{step} {log.stem}"


def measure(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, ...]:
    """Wall seconds, processor seconds and peak MiB of one process."""
    began = time.perf_counter()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit((folder / "output.txt").read_text())
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class PeakOfAll(threading.Thread):
    """Follow the resident memory of a process and all its descendants."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process, self.peak = psutil.Process(pid), 0.0

    def run(self) -> None:
        while True:
            try:
                family = [self.process, *self.process.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            total = 0
            for member in family:
                try:
                    total += member.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.peak = max(self.peak, total / MIB)
            time.sleep(0.1)


def measure_run(folder: Path, cores: int, targets: tuple[str, ...]) -> tuple[float, ...]:
    """Wall seconds, processor seconds and peak MiB of Snakemake and all it starts."""
    began, used = time.perf_counter(), os.times()
    process = subprocess.Popen(
        ["snakemake", "--cores", str(cores), *targets],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    peak = PeakOfAll(process.pid)
    peak.start()
    output, _ = process.communicate()
    if process.returncode:
        sys.exit(output.decode())
    after = os.times()
    cpu = (after.children_user - used.children_user) + (
        after.children_system - used.children_system
    )
    return time.perf_counter() - began, cpu, peak.peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--study", type=Path, help="configuration of another study")
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    if not os.environ.get("MOVIELENS_ARCHIVE"):
        sys.exit("MOVIELENS_ARCHIVE does not name a MovieLens 1M archive; nothing to measure")
    targets = options.targets
    if options.study:
        targets = [*targets, "--configfile", str(options.study.resolve())]
    rows: dict[str, list[tuple[float, ...]]] = {}
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            copy_project(folder)
            environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
            for stage, command in printed_commands(folder, options.cores, targets):
                rows.setdefault(stage, []).append(measure(command, folder, environment))
        for name, wanted in () if targets else WHOLE_RUNS.items():
            with tempfile.TemporaryDirectory() as folder_name:
                copy_project(Path(folder_name))
                measured = measure_run(Path(folder_name), options.cores, wanted)
                rows.setdefault(name, []).append(measured)
    print(f"| {'stage':<22} | wall s | cpu s | peak MiB |")
    print(f"| :{'-' * 21} | -----: | ----: | -------: |")
    for stage, runs in rows.items():
        wall, cpu = (statistics.median(run[i] for run in runs) for i in (0, 1))
        print(f"| {stage:<22} | {wall:6.2f} | {cpu:5.2f} | {max(run[2] for run in runs):8.0f} |")


if __name__ == "__main__":
    main()
