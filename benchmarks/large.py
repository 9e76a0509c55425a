"""Seconds and memory of the workflow on events of the size of MovieLens 1M, 10M and 20M.

    make bench-large

The events are made up, with users and items of unequal popularity, and read from an archive in the
layout of MovieLens 20M. Each step is one call of Snakemake; memory is the largest resident set of
any process of it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import yaml
from pyarrow import csv

from sampled_metrics.study.datasets.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[1]
LAYOUT = CATALOGUE["ml-20m"]
SIZES = ("ml-1m", "ml-10m", "ml-20m")
RECOMMENDERS = {  # those of the study, and their kinds
    "X": ("als", {}),
    "Y": ("itemknn", {"q": 3, "normalise_scores": False}),
    "Z": ("itemknn", {"k_prime": 100, "normalise_scores": False}),
}
STEPS = {
    "split": "split/split.npz",
    "als": "ranks/X.parquet",
    "itemknn, 100 neighbours": "ranks/Z.parquet",
    "itemknn, all neighbours": "ranks/Y.parquet",
}


def pairs(users: int, items: int, events: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct pairs of a user and an item in random order."""
    rng = np.random.default_rng(0)
    drawn = np.zeros(0, dtype=np.int64)
    while drawn.size < events:
        more = 2 * (events - drawn.size)
        user = (users * rng.random(more) ** 1.7).astype(np.int64)
        item = (items * rng.random(more) ** 2).astype(np.int64)
        drawn = np.unique(np.concatenate([drawn, user * items + item]))
    return np.divmod(rng.permutation(drawn)[:events], items)


def write_archive(path: Path, users: int, items: int, events: int) -> None:
    """Write made-up ratings as in an archive of MovieLens 20M, with some equal times."""
    user, item = pairs(users, items, events)
    rng = np.random.default_rng(1)
    columns = {"userId": user + 1, "movieId": item + 1}
    columns["rating"] = rng.integers(1, 11, user.size) / 2
    columns["timestamp"] = rng.integers(789_652_009, 789_652_009 + 10_000_000, user.size)
    options = csv.WriteOptions(quoting_header="none")
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(LAYOUT.member, "w", force_zip64=True) as member,
    ):
        csv.write_csv(pa.table(columns), member, options)


def measured(target: str, folder: Path) -> tuple[float, float, float]:
    """Make a result; return seconds, seconds of CPU, and GB of the largest process."""
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(folder)]
    command += ["--snakefile", str(ROOT / "workflow/Snakefile")]
    command += ["--configfile", str(folder / "study.yaml"), "--quiet", "all", "--", target]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{target}: Snakemake ended with {os.waitstatus_to_exitcode(status)}")
    seconds = time.perf_counter() - began
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e9


def row(name: str, folder: Path, steps: list[str]) -> None:
    """Print the rows of one size."""
    counts = CATALOGUE[name].counts
    archive = folder / "ml-20m.zip"
    write_archive(archive, counts["users"], counts["items"], counts["interactions"])
    recommenders = [
        {"name": short, "kind": kind, "settings": settings}
        for short, (kind, settings) in RECOMMENDERS.items()
    ]
    study = {
        "dataset": {"name": "ml-20m", "archive": str(archive)},
        "recommenders": recommenders,
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    size = " | ".join(f"{counts[key]:,}" for key in ("users", "items", "interactions"))
    for step in steps:
        seconds, cpu, memory = measured(f"results/{STEPS[step]}", folder)
        print(f"| {size} | {step} | {seconds:,.0f} | {cpu:,.0f} | {memory:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    chosen = parser.parse_args()
    print("| users | items | events | step | seconds | of CPU | GB |")
    print("| --: | --: | --: | :-- | --: | --: | --: |", flush=True)
    for name in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            row(name, Path(folder), chosen.steps)
