"""Processor seconds as a multiple of those that no program of the kind can do without.

    python benchmarks/limits.py

Both sides of a ratio are measured in turn, in one run and on one thread, so that it depends little
on the machine and on what else it does. A side is the least of five runs.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sampled_metrics as sm
from sampled_metrics._base.arrays import one_thread

RUNS = 5
N_USERS, N_ITEMS, N_DIMENSIONS, N_NEGATIVES, REPETITIONS = 6040, 3706, 16, 100, 100
IMPORTS = "import numpy, scipy.special, pyarrow.csv, typer"
LARGE = (2000, 27000, 64)  # users, items, dimensions
METRICS = ["recall@10", "ndcg@10", "ap", "auc"]


def cpu(task: Callable[[], object]) -> float:
    began = time.process_time()
    task()
    return time.process_time() - began


def of_process(*arguments: str) -> float:
    """Return user and system seconds of an interpreter, start included."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)}: exit status {process.returncode}")
    return used.ru_utime + used.ru_stime


def show(what: str, ours: Callable[[], float], limit: Callable[[], float]) -> None:
    pairs = [(ours(), limit()) for _ in range(RUNS)]
    least, bound = np.min(pairs, axis=0)
    print(f"{what:52}{least:8.3f}{bound:8.3f}{least / bound:7.1f}", flush=True)


def made(
    rng: np.random.Generator, n_users: int, n_items: int, n_dimensions: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make vectors of users and items, and one item held out for each user."""
    users = rng.gamma(1.0, 1.0, (n_users, n_dimensions))
    items = rng.gamma(0.5, 1.0, (n_items, n_dimensions))
    return users, items, rng.integers(0, n_items, n_users)


def main() -> None:
    rng = np.random.default_rng(0)
    users, items, held_out = made(rng, N_USERS, N_ITEMS, N_DIMENSIONS)
    large_users, large_items, large_held_out = made(rng, *LARGE)
    ranks = sm.rank((users, items), None, held_out)
    numbers = np.zeros((REPETITIONS, N_USERS))

    def ranked() -> object:
        return sm.evaluate(sm.rank((users, items), None, held_out), METRICS)

    def large_ranked() -> object:
        return sm.evaluate(sm.rank((large_users, large_items), None, large_held_out), METRICS)

    def drawn() -> object:
        generators = np.random.default_rng(0).spawn(REPETITIONS)
        return sm.draw_sampled_ranks(ranks, N_NEGATIVES, generators)

    print(f"{'':52}{'ours s':>8}{'limit s':>8}{'ratio':>7}")
    with one_thread():
        show(
            "rank and evaluate by vectors / matrix product",
            lambda: cpu(ranked),
            lambda: cpu(lambda: users @ items.T),
        )
        show(
            "the same, 2,000 users x 27,000 items x 64",
            lambda: cpu(large_ranked),
            lambda: cpu(lambda: large_users @ large_items.T),
        )
        show(
            "100 draws for each user / random numbers, copied",
            lambda: cpu(drawn),
            lambda: cpu(lambda: rng.random(out=numbers).copy()),
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "sampled.csv")
        values = 1 + np.floor((N_NEGATIVES + 1) * rng.random(N_USERS) ** 3).astype(int)
        rows = (f"{user},{value}\n" for user, value in enumerate(values))
        file.write_text("user_id,sampled_rank\n" + "".join(rows))
        sizes = ["--n-items", str(N_ITEMS), "--n-negatives", str(N_NEGATIVES)]
        correct = ["-m", "sampled_metrics", "correct", str(file), *sizes]
        imports = ["-c", IMPORTS]
        show("correct / imports of its libraries", lambda: of_process(*correct),
             lambda: of_process(*imports))  # fmt: skip
        hits = ["--metric", "HR@10"]
        show("correct --metric HR@10 / the same", lambda: of_process(*correct, *hits),
             lambda: of_process(*imports))  # fmt: skip
        other = Path(folder, "other.csv")
        other.write_text(file.read_text())
        compare = ["-m", "sampled_metrics", "compare", str(file), str(other), *sizes, *hits]
        show("compare --metric HR@10 / the same", lambda: of_process(*compare),
             lambda: of_process(*imports))  # fmt: skip
    print(f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
