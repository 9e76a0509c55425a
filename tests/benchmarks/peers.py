"""Time of evaluations by this package, by others and by the usual loop, on made-up vectors.

    python tests/benchmarks/peers.py [--runs R] [NAME=PYTHON ...]

6,040 users, 3,706 items, 16 dimensions, as many events as MovieLens 1M. Each package runs in the
interpreter given for its name, on one thread; `make bench-peers` makes their environments. A row is
the least wall and processor seconds of the runs, and how many times those of ours the processor
seconds are. Repetitions of a sampled evaluation are timed once and multiplied where a package has
no call for several. What starts from lists of the top 10 includes making them by numpy.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SPEED = Path(__file__).parents[1] / "peers" / "speed.py"
sys.path.insert(0, str(SPEED.parent))
from speed import REPETITIONS, made  # noqa: E402 - lies beside what other interpreters run

HERE = ("ours", "implicit", "loop")


def timed(package: str, python: str, file: Path, runs: int) -> list[dict]:
    command = [python, "-W", "ignore", str(SPEED), package, str(file), "--runs", str(runs)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(
        command, env=os.environ | threads, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{package}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"what"')]


def repeated(row: dict) -> dict:
    """Multiply the time of one repetition."""
    if not row["what"].startswith("1 sampled"):
        return row
    times = {name: REPETITIONS * row[name] for name in ("wall", "cpu")}
    return row | times | {"what": f"{REPETITIONS} sampled repetitions (one, multiplied)"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("others", nargs="*", metavar="NAME=PYTHON")
    options = parser.parse_args()
    pythons = dict.fromkeys(HERE, sys.executable)
    pythons |= dict(other.split("=", 1) for other in options.others)
    print(f"| {'package':<11} | {'what':<46} | wall s | cpu s | times ours |")
    print(f"| :{'-' * 10} | :{'-' * 45} | -----: | ----: | ---------: |")
    least: dict[bool, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.npz")
        np.savez(file, **made())
        for package, python in pythons.items():
            for row in map(repeated, timed(package, python, file, options.runs)):
                ours = least.setdefault("sampled" in row["what"], row["cpu"])
                print(
                    f"| {package:<11} | {row['what']:<46} | {row['wall']:6.3f} | {row['cpu']:5.3f} "
                    f"| {row['cpu'] / ours:10.1f} |",
                    flush=True,
                )
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"\nload average {load} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
