"""Time and memory of splitting and ranking a large dataset, made here; `make bench-large`.

By default 20 million events of 140,000 users and 27,000 items, popularity-skewed, as a table in
random order with many equal times; then the ranking of as many users and items by factors.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace as Job

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.sparse import csr_array

from sampled_metrics.ranks import rank
from sampled_metrics.study import steps


def pairs(events: int, users: int, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct users and items in random order."""
    rng = np.random.default_rng(0)
    user = (users * rng.random(events) ** 2).astype(np.int64)
    item = (items * rng.random(events) ** 3).astype(np.int64)
    return np.divmod(rng.permutation(np.unique(user * items + item)), items)


def split(folder: Path, *sizes: int) -> None:
    user, item = pairs(*sizes)
    columns = {"user": user, "item": item, "timestamp": 10 * (user % 40)}
    parquet.write_table(pa.table(columns), folder / "table.parquet")
    dataset = {"format": "table", "name": "made", "path": f"{folder}/table.parquet"}
    output = Job(split=folder / "split.npz", counts=folder / "split.json")
    params = Job(dataset=dataset, filters={}, split={"tie_break": "last"})
    timed(
        "split", steps.split, Job(params=params, input=Job(events=dataset["path"]), output=output)
    )


def ranking(_: Path, *sizes: int) -> None:
    _, users, items = sizes
    user, item = pairs(*sizes)
    user, item = user[item < items - 1], item[item < items - 1]  # the last one is held out
    seen = csr_array((np.ones(user.size), (user, item)), shape=(users, items))
    rng = np.random.default_rng(1)
    vectors = tuple(rng.standard_normal((count, 64)) for count in (users, items))
    timed("rank", rank, vectors, seen, np.full(users, items - 1))


def timed(name, function, *arguments) -> None:
    began = time.perf_counter()
    function(*arguments)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<8}{seconds:8.1f} s{peak:8.0f} MiB at most", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("events", 20_000_000), ("users", 140_000), ("items", 27_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for stage in (split, ranking):
            sizes = (Path(name), chosen.events, chosen.users, chosen.items)
            process = multiprocessing.get_context("spawn").Process(target=stage, args=sizes)
            process.start()
            process.join()
