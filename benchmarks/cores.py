"""Time of exact ranking against the bare product and against sampling, on cores and with files.

    MOVIELENS_ARCHIVE=ml-1m.zip python -m benchmarks.cores

Writes docs/measured/cores.md; `--exact` only prints its first table. The two sides of a ratio are
measured in turn; each is the shortest processor time of several runs. Each file is read in its own
process, whose peak of resident memory is compared with the memory after imports. Joins use polars
if it is installed, or else pyarrow.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

import sampled_metrics as sm
from benchmarks.conditions import conditions
from benchmarks.vectors import (
    LENGTHS,
    SIGMA,
    Vectors,
    movielens,
    product,
    sampled_hit_rate,
    synthetic,
)
from sampled_metrics._base.threads import one_thread

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/measured/cores.md"
USERS, ITEMS, D, SEEN = 2000, 50_000, 64, 50
RUNS = 7
FILE_RUNS = 5
SYNTHETIC = ((20_000, 200_000), (2000, 1_000_000))  # users and items
SIZES = (10**6, 10**7)  # rows of files of ranks
LISTS, K = 500_000, 10
JOINS = "polars" if importlib.util.find_spec("polars") else "pyarrow"
MANY_RUNS = 3  # of cases that take longer than SHORT
SHORT = 1.0  # seconds
HEADER = """\
# Exact ranks beside sampled ones, several cores, and large files

`make measure PAGE=cores` writes this page.

## Exact metrics and 100 negatives

Vectors in float32, each row on one thread: processor seconds, the least of {} runs, or of {} of
what takes longer than {:g} s, and how many times those of the bare matrix product, whose result is
thrown away. All in turn in one process. The last column has the wall seconds on two threads as a
share of those on one.

- `100 negatives` draws 100 items for each user, scores them and the held-out item, and counts.
- `@10` and `@100` are `sm.rank(..., up_to=10)` and 100, exact; `evaluate @10` is
  `sm.evaluate(..., "HR@10, NDCG@10")`, which ranks 128 users among a sample of the items first, to
  warn as full ranks do.
- `all ranks` is `sm.rank` without `up_to`.

Vectors of MovieLens 1M are those of ALS by implicit, and items seen in training are left out.
Others are made up, of 64 numbers, with held-out items whose ranks are as in real data: HR@10 about
.05, and a median of 3 % of the items. Lengths of items are lognormal (sigma {}) or equal, which is
the worst case.

| vectors | what | CPU s | of the product | two threads |
| :-- | :-- | --: | --: | --: |
"""
THREADS = """
## Several cores

{} users, {} items, vectors of {} numbers, {} items seen
by each user; processor seconds, the least of {} runs, beside a matrix product in the same type on
one thread, whose result is thrown away. `n_jobs` does not change a count.

| vectors | items | n_jobs | CPU s | of the product | ratio |
| :-- | :-- | --: | --: | --: | --: |
"""
FILES = """
## Files

A file of ranks has a row for each user, and four metrics are evaluated; lists of {} items for {}
users are evaluated by two metrics. Beside them are the reading of the same file at once, and a join
of the lists by {} that finds the hits and checks nothing. Memory is the greatest during the call
above that before it.

| file | CPU s | ratio | MiB | ratio |
| :-- | --: | --: | --: | --: |
"""


def least_seconds(*sides: Callable[[], object]) -> list[float]:
    """Run all sides in turn; return the shortest processor time of each."""
    best = [np.inf] * len(sides)
    for _ in range(RUNS):
        for number, side in enumerate(sides):
            start = time.process_time()
            side()
            best[number] = min(best[number], time.process_time() - start)
    return best


class Measurement:
    """The time of a function on one thread and, if it has threads, on two."""

    def __init__(self, name: str, work: Callable[[int], object], has_threads: bool = True) -> None:
        self.name = name
        self.work = work
        self.has_threads = has_threads
        self.cpu = self.one = self.two = np.inf

    def run(self) -> None:
        """Measure once."""
        start, cpu = time.perf_counter(), time.process_time()
        with one_thread():
            self.work(1)
        self.cpu = min(self.cpu, time.process_time() - cpu)
        self.one = min(self.one, time.perf_counter() - start)
        if self.has_threads:
            start = time.perf_counter()
            self.work(2)
            self.two = min(self.two, time.perf_counter() - start)


def measurements_of(vectors: Vectors) -> list[Measurement]:
    """Return the measurements for some vectors, the product first."""
    pair = vectors.users, vectors.items
    seen, held_out = vectors.seen, vectors.held_out

    def rank(up_to: int | None, n_jobs: int) -> None:
        sm.rank(pair, seen, held_out, up_to=up_to, n_jobs=n_jobs)

    def evaluate(n_jobs: int) -> None:
        sm.evaluate(pair, "HR@10, NDCG@10", relevant=held_out, seen=seen, n_jobs=n_jobs)

    return [
        Measurement("product", lambda _: product(vectors), has_threads=False),
        Measurement("100 negatives, drawn and scored", lambda _: sampled_hit_rate(vectors), False),
        Measurement("exact @10", partial(rank, 10)),
        Measurement("exact @100", partial(rank, 100)),
        Measurement("evaluate @10", evaluate),
        Measurement("all ranks", partial(rank, None)),
    ]


def exact_rows() -> list[str]:
    """Measure exact ranking, the bare product, and sampling."""
    cases: dict[str, Callable[[], Vectors]] = {
        f"MovieLens 1M, ALS {d}": partial(movielens, d) for d in (64, 128)
    }
    for n_users, n_items in SYNTHETIC:
        for lengths in LENGTHS:
            name = f"{n_users:,} x {n_items:,}, {lengths} lengths"
            cases[name] = partial(synthetic, n_users, n_items, lengths)
    rows = []
    for name, make in cases.items():
        measurements = measurements_of(make())
        for run in range(RUNS):
            for measurement in measurements:
                if run < MANY_RUNS or measurement.cpu < SHORT:
                    measurement.run()
        for measurement in measurements:
            ratio = f"{measurement.cpu / measurements[0].cpu:.3f}"
            threads = f"{measurement.two / measurement.one:.2f}" if measurement.has_threads else ""
            rows.append(
                f"| {name} | {measurement.name} | {measurement.cpu:.3f} | {ratio} | {threads} |"
            )
            print(rows[-1], flush=True)
    return rows


def product_rows() -> list[str]:
    """Measure ranking by vectors, and the product of the vectors."""
    rng = np.random.default_rng(0)
    users = rng.normal(size=(USERS, D))
    items = rng.normal(size=(ITEMS, D))
    half_equal, all_equal = items.copy(), items.copy()
    half_equal[::2] = items[0]
    all_equal[:] = items[0]
    held_out = rng.integers(0, ITEMS // 2, USERS) * 2
    seen = rng.integers(0, ITEMS // 2, (USERS, SEEN)) * 2 + 1
    user = np.repeat(np.arange(USERS), SEEN)
    seen_matrix = sparse.coo_array((np.ones(seen.size), (user, seen.ravel()))).tocsr()
    seen_matrix.resize((USERS, ITEMS))
    rows = []
    for kind in ("float32", "float64"):
        left = users.astype(kind)
        for what, vectors_of_items in (
            ("random", items),
            ("half equal", half_equal),
            ("all equal", all_equal),
        ):
            right = vectors_of_items.astype(kind)

            def multiply(left: np.ndarray = left, right: np.ndarray = right) -> None:
                with one_thread():
                    for first in range(0, USERS, 128):
                        left[first : first + 128] @ right.T

            def rank(n_jobs: int, left: np.ndarray = left, right: np.ndarray = right) -> None:
                sm.rank((left, right), seen_matrix, held_out, n_jobs=n_jobs)

            seconds = least_seconds(multiply, lambda: rank(1), lambda: rank(2))
            for n_jobs in (1, 2):
                row = [kind, what, n_jobs, f"{seconds[n_jobs]:.2f}", f"{seconds[0]:.2f}"]
                rows.append(f"| {' | '.join(map(str, row))} | {seconds[n_jobs] / seconds[0]:.2f} |")
                print(rows[-1], flush=True)
    return rows


def write_ranks(path: Path, n: int) -> None:
    """Write ranks of n users, with ids."""
    rng = np.random.default_rng(0)
    rank = np.minimum(1 + rng.pareto(0.3, n) * 20, 1_000_000).astype(np.int32)
    sizes = np.full(n, 1_000_000, np.int32)
    table = {"user_id": np.arange(n), "rank": rank, "n_candidates": sizes}
    pq.write_table(pa.table(table), path)


def write_lists(folder: Path) -> None:
    """Write lists, and a relevant item per user, which is in the list of three of ten users."""
    rng = np.random.default_rng(0)
    item = rng.integers(0, 190_000, (LISTS, 1)) + 1000 * rng.permuted(
        np.tile(np.arange(K), (LISTS, 1)), axis=1
    )
    users = np.arange(LISTS)
    rank = np.tile(np.arange(1, K + 1), LISTS)
    lists = {"user_id": np.repeat(users, K), "item_id": item.ravel(), "rank": rank}
    listed = item[users, rng.integers(0, K, LISTS)]
    relevant = np.where(rng.random(LISTS) < 0.3, listed, rng.integers(0, 200_000, LISTS))
    pq.write_table(pa.table(lists), folder / "lists.parquet")
    pq.write_table(pa.table({"user_id": users, "item_id": relevant}), folder / "relevant.parquet")


def join_lists(folder: Path) -> None:
    """Join lists with relevant items to find the hits, and nothing else."""
    paths = folder / "relevant.parquet", folder / "lists.parquet"
    if JOINS != "polars":
        tables = [pq.read_table(path) for path in paths]
        tables[0].join(tables[1], ["user_id", "item_id"], join_type="inner")
        return
    import polars as pl

    left, right = map(pl.scan_parquet, paths)
    hits = left.join(right, on=["user_id", "item_id"])
    hits.select(pl.len(), (1 / (pl.col("rank") + 1).log(2)).sum()).collect()


def memory(name: str) -> float:
    """Return VmHWM or VmRSS in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) / 1024


def measure(what: str, path: str) -> None:
    """Print the processor time and the memory of one call in this process."""
    sm.evaluate(np.arange(1, 30), "hr@10", n_items=1000)  # imports
    calls = {
        "ranks": lambda: sm.evaluate(path, "hr@10, ndcg@10, ap, auc"),
        "lists": lambda: sm.evaluate(
            f"{path}/lists.parquet", "hr@10, ndcg@10", relevant=f"{path}/relevant.parquet"
        ),
        "join": lambda: join_lists(Path(path)),
        "read": lambda: pq.read_table(path),
    }
    if what == "join":  # import its library
        importlib.import_module(JOINS)
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    start = time.process_time()
    calls[what]()
    print(json.dumps([time.process_time() - start, memory("VmHWM") - before]))


def file_rows(folder: Path) -> list[str]:
    """Measure the reading of files; each call has its own process."""

    def child(what: str, path: Path) -> list[float]:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.cores", what, str(path)]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    write_lists(folder)
    cases = {}
    for n in SIZES:
        path = folder / f"{n}.parquet"
        write_ranks(path, n)
        cases[f"ranks, {n:,} rows with ids"] = ("ranks", path)
        cases[f"reading, {n:,} rows"] = ("read", path)
    cases["lists"] = ("lists", folder)
    cases["join"] = ("join", folder)
    runs_by_name: dict[str, list[list[float]]] = {name: [] for name in cases}
    for _ in range(FILE_RUNS):
        for name, case in cases.items():
            runs_by_name[name].append(child(*case))
    least_by_name = {name: np.min(runs, axis=0) for name, runs in runs_by_name.items()}
    rows = []
    names = list(cases)
    for name, baseline in zip(names[::2], names[1::2], strict=True):
        for each in (name, baseline):
            cells = []
            for number, digits in enumerate((2, 0)):
                value = least_by_name[each][number]
                cells += [f"{value:.{digits}f}", f"{value / least_by_name[baseline][number]:.2f}"]
            rows.append(f"| {each} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Write the page."""
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
        return
    warnings.simplefilter("ignore", sm.InputWarning)  # about seen items
    text = HEADER.format(RUNS, MANY_RUNS, SHORT, SIGMA) + "\n".join(exact_rows()) + "\n"
    if sys.argv[1:] == ["--exact"]:
        return
    text += THREADS.format(f"{USERS:,}", f"{ITEMS:,}", D, SEEN, RUNS)
    text += "\n".join(product_rows()) + "\n" + FILES.format(K, f"{LISTS:,}", JOINS)
    with tempfile.TemporaryDirectory() as folder:
        text += "\n".join(file_rows(Path(folder))) + "\n"
    PAGE.write_text(f"{text}\n{conditions()}")


if __name__ == "__main__":
    main()
