"""Time and memory of the workflow on events of the size of MovieLens 1M, 10M and 20M.

    python -m benchmarks.archive.large
    python -m benchmarks.archive.large --sizes ml-20m --steps split als

The events are random, with users and items of unequal popularity, in an archive with the layout of
MovieLens 20M. Each step is one call of Snakemake on one core. Writes docs/measured/scale.md, where
rows of other sizes and steps stay.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import yaml
from pyarrow import csv

from sampled_metrics_study.data.movielens import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/measured/scale.md"
LAYOUT = CATALOGUE["ml-20m"]
SIZES = ("ml-1m", "ml-10m", "ml-20m")
LEAST_EVENTS = 20  # of a user, as in MovieLens
CHUNK = 1 << 20  # events drawn at a time
FIRST_TIME = 789_652_009
YEARS_20 = 20 * 365 * 86_400


@dataclass(frozen=True)
class Step:
    """A target of the workflow; targets in several pieces are removed and made again."""

    target: str
    pieces: int = 1
    sizes: tuple[str, ...] = SIZES

    @property
    def recommender(self) -> str | None:
        """Name of the recommender whose ranks are made; None for the split."""
        path = Path(self.target)
        return path.stem if path.parent.name == "ranks" else None


STEPS = {
    "split": Step("split/split.npz"),
    "als": Step("ranks/X.parquet"),
    "als, 4 pieces": Step("ranks/X.parquet", pieces=4, sizes=SIZES[:2]),
    "itemknn, 10 neighbours": Step("ranks/Z.parquet"),
    "itemknn, all neighbours": Step("ranks/Y.parquet"),
}
TEXT = """\
# Time and memory by size of the data

The workflow on random events of the size of MovieLens 1M, 10M and 20M: users have 20 events or more
in a lognormal distribution, items are of unequal popularity. A recommender's step trains it and
ranks all users. Each step ran on one core of a machine that was busy with other work at times, so
CPU seconds say more than elapsed seconds.

- **GB used** is the largest sum of the resident memory of all processes of the step, Snakemake's
  own among them; **largest** is that of the largest process alone.
- **Input in MB** is the size by which the rule requests memory and time
  ([on a cluster](../cluster.md)). Pieces, which share a model, were ranked one after another.
- `itemknn` with all neighbours adds up a weight for each event and each item, 5e11 of them on data
  of MovieLens 20M's size.

{table}

`make measure PAGE=scale` writes this page; `--sizes` and `--steps` of its script renew some rows.
"""
HEADER = """\
| size | users | items | events | step | seconds | of CPU | GB used | largest | input in MB |
| :-- | --: | --: | --: | :-- | --: | --: | --: | --: | --: |"""


def draw_history_sizes(users: int, items: int, events: int) -> np.ndarray:
    """Draw the number of events of each user; the total is `events`."""
    weights = np.random.default_rng(0).lognormal(0.0, 1.25, users)
    above = (events - LEAST_EVENTS * users) * weights / weights.sum()
    sizes = LEAST_EVENTS + np.minimum(above, items // 3).astype(np.int64)
    smallest = np.argsort(sizes, kind="stable")
    lacking = events - sizes.sum()
    sizes += lacking // users
    sizes[smallest[: lacking % users]] += 1
    return sizes


def draw_histories(
    sizes: np.ndarray, items: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct items for each user; return users and items, sorted by both."""
    pairs = np.zeros(0, dtype=np.int64)
    missing = sizes
    while missing.any():
        user = np.repeat(np.arange(sizes.size), missing)
        item = (items * np.square(rng.random(user.size))).astype(np.int64)
        pairs = np.sort(np.concatenate([pairs, user * items + item]))
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]  # np.unique takes ten times as long
        missing = sizes - np.bincount(pairs // items, minlength=sizes.size)
    return np.divmod(pairs, items)


def draw_tables(users: int, items: int, events: int) -> Iterator[pa.Table]:
    """Yield random ratings of some users at a time, with equal times as in MovieLens."""
    sizes = draw_history_sizes(users, items, events)
    rng = np.random.default_rng(1)
    published = rng.permutation(items) + 1
    bounds = np.searchsorted(np.cumsum(sizes), np.arange(CHUNK, events + CHUNK, CHUNK))
    for first, end in zip([0, *(bounds[:-1] + 1)], bounds + 1, strict=True):
        chunk_sizes = sizes[first:end]
        user, item = draw_histories(chunk_sizes, items, rng)
        begins = FIRST_TIME + rng.integers(0, YEARS_20, chunk_sizes.size)
        seconds = (2 * chunk_sizes[user] * rng.random(user.size)).astype(np.int64)
        yield pa.table(
            {
                "userId": first + user + 1,
                "movieId": published[item],
                "rating": rng.integers(1, 11, user.size) / 2,
                "timestamp": begins[user] + seconds,
            }
        )


def write_archive(path: Path, users: int, items: int, events: int) -> None:
    """Write random ratings in the layout of MovieLens 20M."""
    chunks = draw_tables(users, items, events)
    first = next(chunks)
    options = csv.WriteOptions(quoting_header="none")
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(LAYOUT.member, "w", force_zip64=True) as member,
        csv.CSVWriter(member, first.schema, write_options=options) as writer,
    ):
        writer.write(first)
        for chunk in chunks:
            writer.write(chunk)


class MemorySampler(threading.Thread):
    """Records the peak memory of a process and its descendants, in bytes: of all and of one."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.root = psutil.Process(process)
        self.all_processes = 0
        self.largest_process = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample twenty times a second."""
        while not self.ended.wait(0.05):
            sizes = self.resident()
            self.all_processes = max(self.all_processes, sum(sizes))
            self.largest_process = max(self.largest_process, max(sizes))

    def resident(self) -> list[int]:
        """Return the current memory of each process; 0 if one of them ends meanwhile."""
        try:
            processes = [self.root, *self.root.children(recursive=True)]
            return [process.memory_info().rss for process in processes]
        except psutil.Error:
            return [0]


@dataclass(frozen=True)
class StepUse:
    """Time in seconds and memory in GB of one step."""

    seconds: float
    cpu: float
    all_processes: float  # of all processes together
    largest_process: float


def measure_step(target: str, folder: Path, pieces: int) -> StepUse:
    """Make a result by the workflow and measure all of its processes."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--directory", str(folder)]
    command += ["--snakefile", str(ROOT / "workflow/Snakefile"), "--rerun-triggers", "mtime"]
    command += ["--configfile", str(folder / "study.yaml")]
    command += ["--config", f"ranking={{pieces: {pieces}}}", "--quiet", "all", "--", target]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder)
    sampler = MemorySampler(process.pid)
    sampler.start()
    _, status, usage = os.wait4(process.pid, 0)
    sampler.ended.set()
    sampler.join()
    if status:
        sys.exit(f"{target}: Snakemake ended with {os.waitstatus_to_exitcode(status)}")
    return StepUse(
        seconds=time.perf_counter() - began,
        cpu=usage.ru_utime + usage.ru_stime,
        all_processes=sampler.all_processes / 1e9,
        largest_process=sampler.largest_process / 1e9,
    )


def input_megabytes(step: Step, folder: Path) -> float:
    """Return the size of all files that the rule reads."""
    paths = [folder / "ml-20m.zip"]
    if step.recommender is not None:
        paths = [folder / "results/split/split.npz"]
    if step.pieces > 1:
        paths.append(folder / f"results/models/{step.recommender}.npz")
    return sum(path.stat().st_size for path in paths) / 1e6


def measure_size(name: str, folder: Path, steps: list[str]) -> Iterator[str]:
    """Measure the steps for one size, and yield their rows."""
    counts = CATALOGUE[name].counts
    archive = folder / "ml-20m.zip"
    write_archive(archive, counts["users"], counts["items"], counts["interactions"])
    changed = {"dataset": {"name": "ml-20m", "archive": str(archive)}}  # the paper's recommenders
    (folder / "study.yaml").write_text(yaml.safe_dump(changed))
    size = " | ".join(f"{counts[key]:,}" for key in ("users", "items", "interactions"))
    for label in steps:
        step = STEPS[label]
        if name not in step.sizes:
            continue
        if step.pieces > 1:
            (folder / "results" / step.target).unlink(missing_ok=True)
        use = measure_step(f"results/{step.target}", folder, step.pieces)
        megabytes = input_megabytes(step, folder)
        yield (
            f"| {name} | {size} | {label} | {use.seconds:,.0f} | {use.cpu:,.0f} "
            f"| {use.all_processes:.2f} | {use.largest_process:.2f} | {megabytes:,.1f} |"
        )


def row_key(row: str) -> tuple[int, int]:
    """Return the order of a row: indices of its size and its step."""
    cells = [cell.strip() for cell in row.strip("| ").split("|")]
    return SIZES.index(cells[0]), list(STEPS).index(cells[4])


def write_page(new: list[str]) -> None:
    """Write new rows to the page; rows of other sizes and steps stay."""
    old_lines = PAGE.read_text("utf-8").splitlines() if PAGE.exists() else []
    rows_by_key = {row_key(row): row for row in old_lines if row.startswith("| ml-")}
    rows_by_key.update({row_key(row): row for row in new})
    lines = [HEADER, *(rows_by_key[key] for key in sorted(rows_by_key))]
    PAGE.write_text(TEXT.format(table="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    chosen = parser.parse_args()
    print(HEADER, flush=True)
    for name in chosen.sizes:
        with tempfile.TemporaryDirectory() as temporary:
            for row in measure_size(name, Path(temporary), chosen.steps):
                print(row, flush=True)
                write_page([row])
