"""Time and memory of functions and commands: docs/measured/speed.md.

A ratio compares with a lower bound: work that any such program has to do. Its two sides are
measured in turn on one thread, so that it depends little on the machine; each is the shortest of
several runs. Commands are whole processes, including their start, on generated files.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sampled_metrics as sm
from benchmarks.conditions import conditions
from sampled_metrics._base.threads import one_thread

ROOT = Path(__file__).resolve().parents[1]
LAUNCHER = ROOT / "benchmarks/launch.py"
PAGE = ROOT / "docs/measured/speed.md"
METRICS = ["recall@10", "ndcg@10", "ap", "auc"]
N_USERS, N_ITEMS, N_DIMENSIONS = 6040, 3706, 16  # of MovieLens 1M, and vectors of the study
LARGE = (2000, 27000, 64)  # users, items, dimensions
MILLION = 10**6
N_NEGATIVES = REPETITIONS = 100
IMPORTS = ["-c", "import numpy, scipy.special, pyarrow.csv, typer"]
RUNS_OF_RATIOS = 5
RUNS_OF_COMMANDS = 3

TITLE = """\
# Speed

`make measure PAGE=speed` writes this page; `make measure PAGE=peers` compares with
[other packages](../evidence.md#beside-other-packages).
"""
RATIOS = """\
## Multiples of a bound

Processor seconds of functions and commands, and of what no program of the kind can do without. Both
are measured in turn, on one thread, and are the least of {} runs. The libraries of a command are
numpy, scipy.special, pyarrow.csv and typer; start and imports of an interpreter are measured.

| what | CPU s | beside | CPU s | ratio |
| :-- | --: | :-- | --: | --: |
"""
COMMANDS = """\
## Commands

Whole processes: processor and wall seconds, each the least of {} runs, and the greatest resident
memory. Files of ranks have a million users where nothing else is said, and all have 100 negatives
where m is not given.

| command | CPU s | wall s | MiB |
| :-- | --: | --: | --: |
"""


@dataclass(frozen=True, kw_only=True)
class ProcessUse:
    """Processor seconds, wall seconds and peak memory in MiB of a process."""

    cpu: float
    wall: float
    memory: float


def measure_process(arguments: list[str], folder: Path) -> ProcessUse:
    """Run an interpreter with these arguments; return what it used, including its start."""
    command = [sys.executable, str(LAUNCHER), sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: exit status {done.returncode}")
    cpu, wall, memory = map(float, done.stdout.split())
    return ProcessUse(cpu=cpu, wall=wall, memory=memory)


def cpu_seconds(task: Callable[[], object]) -> float:
    """Return the processor seconds of a function in this process."""
    began = time.process_time()
    task()
    return time.process_time() - began


def ratio_row(
    what: str, ours: Callable[[], float], bound_name: str, bound: Callable[[], float]
) -> str:
    """Return the row of a ratio; both sides are measured in turn."""
    pairs = [(ours(), bound()) for _ in range(RUNS_OF_RATIOS)]
    least, bound_least = np.min(pairs, axis=0)
    times = least / bound_least
    return f"| {what} | {least:.4f} | {bound_name} | {bound_least:.4f} | {times:.1f} |"


def make_vectors(
    rng: np.random.Generator, n_users: int, n_items: int, n_dimensions: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make vectors of users and items, and one item held out for each user."""
    users = rng.gamma(1.0, 1.0, (n_users, n_dimensions))
    items = rng.gamma(0.5, 1.0, (n_items, n_dimensions))
    return users, items, rng.integers(0, n_items, n_users)


def metric_values(rank: np.ndarray, n_items: int) -> list[np.ndarray]:
    """Compute METRICS for each rank with numpy, without any checks."""
    hits = rank <= 10
    gains = np.where(hits, 1 / np.log2(rank + 1.0), 0.0)
    return [hits.astype(float), gains, 1.0 / rank, (n_items - rank) / (n_items - 1.0)]


def ratios_of_vectors() -> list[str]:
    """Return the rows of ranking by vectors, and of drawing sampled ranks."""
    rng = np.random.default_rng(0)
    users, items, held_out = make_vectors(rng, N_USERS, N_ITEMS, N_DIMENSIONS)
    large_users, large_items, large_held_out = make_vectors(rng, *LARGE)
    ranks = sm.rank((users, items), None, held_out)
    numbers = np.zeros((REPETITIONS, N_USERS))

    def evaluate() -> object:
        return sm.evaluate(sm.rank((users, items), None, held_out), METRICS)

    def evaluate_large() -> object:
        return sm.evaluate(sm.rank((large_users, large_items), None, large_held_out), METRICS)

    def draw() -> object:
        generators = np.random.default_rng(0).spawn(REPETITIONS)
        return sm.draw_sampled_ranks(ranks, N_NEGATIVES, generators)

    return [
        ratio_row(
            "`evaluate(rank(vectors))`, 6,040 users x 3,706 items x 16",
            lambda: cpu_seconds(evaluate),
            "product of the vectors",
            lambda: cpu_seconds(lambda: users @ items.T),
        ),
        ratio_row(
            "the same, 2,000 users x 27,000 items x 64",
            lambda: cpu_seconds(evaluate_large),
            "product of the vectors",
            lambda: cpu_seconds(lambda: large_users @ large_items.T),
        ),
        ratio_row(
            "`draw_sampled_ranks`, 100 negatives 100 times, 6,040 users",
            lambda: cpu_seconds(draw),
            "a random number for each, copied",
            lambda: cpu_seconds(lambda: rng.random(out=numbers).copy()),
        ),
    ]


def ratios_of_a_million_users() -> list[str]:
    """Return the rows of functions that start from ranks."""
    rng = np.random.default_rng(0)
    better = np.floor(N_ITEMS * rng.random(MILLION) ** 3).astype(np.int64)
    candidates = np.full(MILLION, N_ITEMS)
    tied = np.zeros(MILLION, dtype=np.int64)
    ranks = sm.Ranks(candidates, better, tied)
    columns = (candidates, better, tied)

    def by_numpy() -> list[np.ndarray]:
        return metric_values(better + 1, N_ITEMS)

    def means_by_numpy() -> list[float]:
        return [float(values.mean()) for values in by_numpy()]

    return [
        ratio_row(
            "`Ranks`, a million users",
            lambda: cpu_seconds(lambda: sm.Ranks(*columns)),
            "copies of its three columns",
            lambda: cpu_seconds(lambda: [column.copy() for column in columns]),
        ),
        ratio_row(
            "`evaluate`, a million users",
            lambda: cpu_seconds(lambda: sm.evaluate(ranks, METRICS)),
            "its formulas in numpy",
            lambda: cpu_seconds(means_by_numpy),
        ),
        ratio_row(
            "`values_by_user`, a million users",
            lambda: cpu_seconds(lambda: sm.values_by_user(ranks, METRICS)),
            "its formulas in numpy",
            lambda: cpu_seconds(by_numpy),
        ),
    ]


def write_ranks(path: Path, column: str, ranks: np.ndarray) -> None:
    rows = (f"{user},{rank}\n" for user, rank in enumerate(ranks))
    path.write_text(f"user_id,{column}\n" + "".join(rows))


def write_files(folder: Path) -> None:
    """Write the generated ranks that the commands read."""
    rng = np.random.default_rng(0)
    sizes = {"small": N_USERS, "X": MILLION, "Y": MILLION}
    for name, power in (("small", 3.0), ("X", 3.0), ("Y", 3.01)):
        sampled_ranks = 1 + np.floor((N_NEGATIVES + 1) * rng.random(sizes[name]) ** power).astype(
            int
        )
        write_ranks(folder / f"{name}.csv", "sampled_rank", sampled_ranks)
    (folder / "small2.csv").write_text((folder / "small.csv").read_text())
    among_more = 1 + np.floor(1001 * rng.random(N_USERS) ** 3).astype(int)
    write_ranks(folder / "m1000.csv", "sampled_rank", among_more)
    exact = 1 + np.floor(MILLION * rng.random(MILLION) ** 3).astype(int)
    write_ranks(folder / "exact.csv", "rank", exact)


def command(text: str, *others: str) -> list[str]:
    return ["-m", "sampled_metrics", *text.split(), *others]


def ratios_of_commands(folder: Path) -> list[str]:
    """Return the rows of commands, compared with an interpreter that only imports libraries."""
    sizes = f"--n-items {N_ITEMS} --n-negatives {N_NEGATIVES}"
    commands = {
        "`correct X.csv`, 6,040 users": f"correct small.csv {sizes}",
        "`correct X.csv --metric HR@10`": f"correct small.csv {sizes} --metric HR@10",
        "`compare X.csv Y.csv --metric HR@10`": (
            f"compare small.csv small2.csv {sizes} --metric HR@10"
        ),
    }
    rows = []
    for what, text in commands.items():
        arguments = command(text)
        row = ratio_row(
            what,
            lambda arguments=arguments: measure_process(arguments, folder).cpu,
            "imports of its libraries",
            lambda: measure_process(IMPORTS, folder).cpu,
        )
        rows.append(row)
    return rows


def rows_of_commands(folder: Path) -> list[str]:
    """Return the rows of time and memory of whole commands."""
    sizes = f"--n-items {MILLION} --n-negatives {N_NEGATIVES}"
    metrics = "--metric recall@10,ndcg@10,ap,auc"
    estimators = "--estimator sampled,rank-estimate,cls,bv:0.1,bv:0.01"
    reported = f"reported HR@10=0.82 --n-users 6040 --n-negatives {N_NEGATIVES} --n-items"
    reference = ROOT / "results/reference/ranks"
    ranks = [str(reference / f"{name}.parquet") for name in "XYZ"]
    page = ["--output", "page.html"]
    for name, path in zip("abc", ranks, strict=True):
        sample_command = command("sample", path, "--n-negatives", str(N_NEGATIVES))
        measure_process([*sample_command, "--output", f"{name}.csv"], folder)
    commands = {
        "`--help`": command("--help"),
        "`correct`, n = 1,000,000, 4 metrics, 5 estimators": command(
            f"correct X.csv {sizes} {metrics} {estimators}"
        ),
        "`correct --estimator cls`, m = 1,000, 6,040 users": command(
            f"correct m1000.csv --n-items {N_ITEMS} --n-negatives 1000 {metrics} --estimator cls"
        ),
        "`evaluate`": command(f"evaluate exact.csv --n-items {MILLION} {metrics}"),
        "`compare` of 2": command(f"compare X.csv Y.csv {sizes} {metrics}"),
        "`reported HR@10=0.82`, n = 1,000,000": command(f"{reported} {MILLION}"),
        "`reported HR@10=0.82`, n = 10,000,000": command(f"{reported} {10 * MILLION}"),
        "`plan` with 2 full rankings, 6,040 users": command("plan --ranks", *ranks[:2]),
        "`report` of 2, 6,040 users": command("report a.csv b.csv", *page),
        "`report` of 3, 6,040 users": command("report a.csv b.csv c.csv", *page),
    }
    rows = []
    for what, arguments in commands.items():
        runs = [measure_process(arguments, folder) for _ in range(RUNS_OF_COMMANDS)]
        cpu = min(run.cpu for run in runs)
        wall = min(run.wall for run in runs)
        memory = max(run.memory for run in runs)
        rows.append(f"| {what} | {cpu:.2f} | {wall:.2f} | {memory:.0f} |")
    return rows


def print_table(head: str, rows: list[str]) -> str:
    text = head + "\n".join(rows) + "\n"
    print(text, flush=True)
    return text


def main() -> None:
    """Write the page."""
    parts = [TITLE, conditions()]
    print(parts[1])
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the commands
    # so that modules are compiled once, like those of installed packages
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name, one_thread():
        folder = Path(name)
        write_files(folder)
        rows = ratios_of_vectors()
        rows += ratios_of_a_million_users()
        rows += ratios_of_commands(folder)
        parts.append(print_table(RATIOS.format(RUNS_OF_RATIOS), rows))
        parts.append(print_table(COMMANDS.format(RUNS_OF_COMMANDS), rows_of_commands(folder)))
    PAGE.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
