"""Exact HR@10 and NDCG@10 of a million users over a million items: docs/measured/million.md.

    python -m benchmarks.million [--users 1000000] [--items 1000000] [--lengths lognormal equal]

Each row is measured in its own process, on all cores, after the vectors are made. Memory is the
peak during the call minus the memory before it. With options, the rows are only printed.
"""

import argparse
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import sampled_metrics as sm
from benchmarks.conditions import conditions
from benchmarks.cores import memory
from benchmarks.vectors import LENGTHS, Vectors, sampled_hit_rate
from sampled_metrics._base.threads import one_thread

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/measured/million.md"
MILLION = 1_000_000
D = 64
SIGMA = 0.7  # of lognormal lengths
SOME = 400  # most held-out items have a log-uniform place among this many items
LONGEST = 20_000  # if lengths differ, hits are among this many longest items
HITS = 18  # one user in 18 has a hit
PULL = np.float32(6.5)  # puts an item among the first ten of a million for most users
PRODUCT_USERS = 1024  # the bare product is measured for these and scaled to all users
SAMPLED_USERS = 50_000
METRICS = "HR@10, NDCG@10"
HEADER = """\
# A million users by a million items

`make measure PAGE=million` writes this page. Vectors of {} numbers in float32. One user in {} has a
held-out item among the first ten; the others have one whose place among {} random items is
log-uniform. `sm.evaluate((users, items), "{}", relevant=held_out)` on all cores, exact. The product
is that of {} users on all cores, times all users. Negatives, 100 of each user, are drawn and
scored for {} users on one thread, times all users.

| lengths | users x items | HR@10 | NDCG@10 | wall s | CPU s | MiB | product s | negatives, CPU s |
| :-- | --: | --: | --: | --: | --: | --: | --: | --: |
"""
CONDITIONS = """
What makes it slow: items of equal lengths, as none is too short to matter; many hits, as nearly all
other items are multiplied for a user with a hit, unless they are too short; and metrics without a
cut-off, which take the product.
"""


def make_vectors(n_users: int, n_items: int, lengths: str) -> Vectors:
    """Make vectors and held-out items; ranking all items to choose them would take hours."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(n_items, D)).astype(np.float32)
    items /= np.linalg.norm(items, axis=1)[:, None]
    if lengths == "lognormal":
        items *= np.exp(rng.normal(0.0, SIGMA, n_items)).astype(np.float32)[:, None]
    users = rng.normal(size=(n_users, D)).astype(np.float32)
    some_items = rng.choice(n_items, SOME, replace=False)
    held_out = np.empty(n_users, np.int64)
    for first in range(0, n_users, 5000):
        scores = users[first : first + 5000] @ items[some_items].T
        place = np.exp(rng.uniform(0.0, np.log(SOME), len(scores))).astype(int).clip(0, SOME - 1)
        order = np.argsort(-scores, axis=1)
        held_out[first : first + 5000] = some_items[order[np.arange(len(scores)), place]]
    hits = rng.choice(n_users, n_users // HITS, replace=False)
    if lengths == "equal":  # vectors of users in the direction of the item
        held_out[hits] = rng.integers(0, n_items, hits.size)
        users[hits] += PULL * items[held_out[hits]]
        return Vectors(users, items, held_out)
    longest = np.argsort(-np.linalg.norm(items, axis=1))[:LONGEST]
    for first in range(0, hits.size, 200):
        hit_users = hits[first : first + 200]
        scores = users[hit_users] @ items[longest].T
        best = np.argpartition(scores, scores.shape[1] - 10, axis=1)[:, -10:]
        place = rng.integers(0, 10, hit_users.size)
        held_out[hit_users] = longest[best[np.arange(hit_users.size), place]]
    return Vectors(users, items, held_out)


def measure(n_users: int, n_items: int, lengths: str) -> str:
    """Measure one case, and return its row."""
    vectors = make_vectors(n_users, n_items, lengths)
    users, items, held_out, _ = vectors
    start = time.perf_counter()
    for first in range(0, n_items, 65_536):
        users[:PRODUCT_USERS] @ items[first : first + 65_536].T
    product = (time.perf_counter() - start) * n_users / min(n_users, PRODUCT_USERS)
    some_users = slice(SAMPLED_USERS)
    cpu = time.process_time()
    with one_thread():
        sampled_hit_rate(Vectors(users[some_users], items, held_out[some_users]))
    sampled = (time.process_time() - cpu) * n_users / min(n_users, SAMPLED_USERS)
    warnings.simplefilter("ignore", sm.InputWarning)  # about seen items
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    start, cpu = time.perf_counter(), time.process_time()
    hit_rate, ndcg = sm.evaluate((users, items), METRICS, relevant=held_out)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory_above = memory("VmHWM") - before
    size = f"{n_users:,} x {n_items:,}"
    cells = (lengths, size, f"{hit_rate.value:.5f}", f"{ndcg.value:.5f}")
    seconds = f"{wall:.1f} | {cpu:.1f} | {memory_above:.0f} | {product:,.0f} | {sampled:.1f}"
    return f"| {' | '.join(cells)} | {seconds} |"


def main() -> None:
    """Write the page, or print the rows of some cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=MILLION)
    parser.add_argument("--items", type=int, default=MILLION)
    parser.add_argument("--lengths", nargs="+", default=LENGTHS, choices=LENGTHS)
    options = parser.parse_args()
    if len(options.lengths) == 1:
        print(measure(options.users, options.items, *options.lengths), flush=True)
        return
    rows = []
    for lengths in options.lengths:
        command = [sys.executable, "-m", "benchmarks.million", "--lengths", lengths]
        command += ["--users", str(options.users), "--items", str(options.items)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        rows.append(done.stdout.strip())
        print(rows[-1], flush=True)
    if len(sys.argv) == 1:
        text = HEADER.format(D, HITS, SOME, METRICS, f"{PRODUCT_USERS:,}", f"{SAMPLED_USERS:,}")
        text += "\n".join(rows) + "\n" + CONDITIONS
        PAGE.write_text(f"{text}\n{conditions()}")


if __name__ == "__main__":
    main()
