"""Time and memory of reading and splitting a large dataset, from files made here.

    python tests/benchmarks/large.py [--events N] [--users U] [--items I] [--folder F]

By default 20 million interactions of 140,000 users with 27,000 items, popularity-skewed, with many
events at equal times: once laid out like MovieLens (CSV inside an archive, sorted by user and item,
as a local archive of ml-20m), once as a table of text ids in random order. Files stay in the folder
if one is named, and are not made again. A row is one process of `study split`: seconds to parse and
to split as its log says, wall seconds with start and writing, and its peak of resident memory.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

DATASETS = {
    "archive like ml-20m": ("ml-20m.zip", {"format": "movielens", "name": "ml-20m"}),
    "table": ("table.csv", {"format": "table", "name": "generated"}),
}


def interactions(events: int, users: int, items: int) -> dict[str, np.ndarray]:
    """Distinct pairs of user and item, sorted; each user's times come in bursts of one second."""
    rng = np.random.default_rng(0)
    pairs = np.empty(0, dtype=np.int64)
    while pairs.size < events:
        user = (users * rng.random(events // 2) ** 2).astype(np.int64)
        item = (items * rng.random(events // 2) ** 3).astype(np.int64)
        pairs = np.union1d(pairs, user * items + item)
    pairs = np.delete(pairs, rng.choice(pairs.size, pairs.size - events, replace=False))
    user, item = np.divmod(pairs, items)
    start = rng.integers(800_000_000, 1_600_000_000, users)
    time = start[user] + rng.integers(0, 40, events) * 10
    half_stars = rng.integers(1, 11, events) / 2
    return {"userId": user + 1, "movieId": item + 1, "rating": half_stars, "timestamp": time}


def write_archive(path: Path, columns: dict[str, np.ndarray]) -> None:
    plain = path.with_suffix(".csv")
    csv.write_csv(pa.table(columns), plain, csv.WriteOptions(quoting_header="none"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(plain, "ml-20m/ratings.csv")
    plain.unlink()


def write_table(path: Path, columns: dict[str, np.ndarray]) -> None:
    order = np.random.default_rng(1).permutation(columns["userId"].size)
    named = {}
    for role, letter in (("user", "u"), ("item", "i")):
        ids = columns["userId" if role == "user" else "movieId"][order]
        names = pa.array([f"{letter}{number:07}" for number in range(ids.max() + 1)])
        named[role] = pa.DictionaryArray.from_arrays(pa.array(ids.astype(np.int32)), names)
        named[role] = named[role].cast(pa.string())
    table = pa.table({**named, "timestamp": columns["timestamp"][order]})
    csv.write_csv(table, path)


def write_files(folder: Path, events: int, users: int, items: int) -> None:
    columns = interactions(events, users, items)
    write_archive(folder / "ml-20m.zip", columns)
    write_table(folder / "table.csv", columns)


def measure(file: Path, dataset: dict[str, str]) -> tuple[float, float, float, float]:
    """Seconds to parse, to split and in all, and peak MiB."""
    command = [
        sys.executable, "-m", "sampled_metrics", "study", "split", file.name,
        "--dataset", json.dumps(dataset), "--output", "split.npz", "--counts", "split.json",
    ]  # fmt: skip
    began = time.perf_counter()
    with (file.parent / "log.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=file.parent, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    text = (file.parent / "log.txt").read_text()
    seconds = re.search(r"parsed in ([\d.]+) s, split in ([\d.]+) s", text)
    if process.returncode or not seconds:
        sys.exit(text)
    return float(seconds[1]), float(seconds[2]), wall, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--users", type=int, default=140_000)
    parser.add_argument("--items", type=int, default=27_000)
    parser.add_argument("--folder", type=Path, help="keep the files here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not all((folder / name).exists() for name, _ in DATASETS.values()):
            # In a process of its own: what is started from a large one counts as large itself.
            sizes = (options.events, options.users, options.items)
            writer = multiprocessing.Process(target=write_files, args=(folder, *sizes))
            writer.start()
            writer.join()
        print(f"{'data':<22}{'parse s':>9}{'split s':>9}{'wall s':>9}{'peak MiB':>10}")
        for name, (file, dataset) in DATASETS.items():
            parse, split, wall, peak = measure(folder / file, dataset)
            print(f"{name:<22}{parse:9.2f}{split:9.2f}{wall:9.2f}{peak:10.0f}", flush=True)


if __name__ == "__main__":
    main()
