"""Time and memory of the commands for one's own recommender, on generated files.

    python benchmarks/own.py [--runs R] [--only COMMAND]

Median wall and processor seconds and greatest resident memory of whole processes, start
included.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
N_ROWS = N_ITEMS = 10**6
N_NEGATIVES = 100
METRICS = ("recall@10", "ndcg@10", "ap", "auc")
ESTIMATORS = ("sampled", "rank-estimate", "cls", "bv:0.1", "bv:0.01")


def measure(arguments: list[str], folder: Path) -> tuple[float, float, float]:
    command = [sys.executable, "-m", "sampled_metrics", *arguments]
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall, process.returncode = time.perf_counter() - began, os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit status {process.returncode}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def write_files(folder: Path) -> None:
    rng = np.random.default_rng(0)
    sampled, other = (
        1 + np.floor((N_NEGATIVES + 1) * rng.random(N_ROWS) ** power).astype(int)
        for power in (3.0, 3.01)
    )
    exact = 1 + np.floor(N_ITEMS * rng.random(N_ROWS) ** 3).astype(int)
    files = {"s": ("sampled_rank", sampled), "t": ("sampled_rank", other), "e": ("rank", exact)}
    for name, (column, values) in files.items():
        lines = (f"{user},{value}\n" for user, value in enumerate(values))
        (folder / f"{name}.csv").write_text(f"user_id,{column}\n" + "".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", metavar="COMMAND")
    options = parser.parse_args()
    metrics = [word for name in METRICS for word in ("--metric", name)]
    estimators = [word for name in ESTIMATORS for word in ("--estimator", name)]
    sizes = ["--n-items", str(N_ITEMS), "--n-negatives", str(N_NEGATIVES)]
    ranks = {name: str(ROOT / f"results/reference/ranks/{name}.parquet") for name in "XYZ"}
    drawn = ["--n-negatives", str(N_NEGATIVES), "--output", "page.html"]
    commands = {
        "--help": ["--help"],
        "correct, 1e6 ranks, n = 1e6": ["correct", "s.csv", *sizes, *metrics, *estimators],
        "evaluate, 1e6 ranks": ["evaluate", "e.csv", "--n-items", str(N_ITEMS), *metrics],
        "compare, 1e6 ranks each": ["compare", "s.csv", "t.csv", *sizes, *metrics],
        "plan, MovieLens 1M": ["plan", "--ranks", ranks["X"], ranks["Y"]],
        "report, 2 recommenders": ["report", "X.csv", "Y.csv", *drawn],
        "report, 3 recommenders": ["report", "X.csv", "Y.csv", "Z.csv", *drawn],
    }
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'command':32}{'wall s':>8}{'CPU s':>8}{'MiB':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        for ranking, path in ranks.items():
            measure(["sample", path, *drawn[:2], "--output", f"{ranking}.csv"], folder)
        for label, arguments in commands.items():
            if not label.startswith(options.only):
                continue
            runs = [measure(arguments, folder) for _ in range(options.runs)]
            walls, busy, peaks = zip(*runs, strict=True)
            wall, processor = statistics.median(walls), statistics.median(busy)
            print(f"{label:32}{wall:8.2f}{processor:8.2f}{max(peaks):8.0f}", flush=True)


if __name__ == "__main__":
    main()
