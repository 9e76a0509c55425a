"""Coverage of 95 % ranges by assumed shape, also of populations that break the assumption.

    python -m benchmarks.outside [--experiments N] [--populations NAME ...]

Writes docs/measured/outside.md. An experiment draws users from a population with a known
distribution of true ranks, and m negatives for each. Broken data has the true ranks of the first
population, but negatives that are not drawn as stated.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sampled_metrics import InputError, InputWarning, SampledRanks
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.intervals.ranges import checked_ranges
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics_study.tables import to_markdown

PAGE = Path(__file__).parents[1] / "docs/measured/outside.md"
N = 3541
RANKS = np.arange(1, N + 1)
SHAPES, USERS, NEGATIVES = (1.0, 1.5, 2.0), (300, 6040), (50, 100, 500)
MEASURES = tuple(map(parse_measure, ("recall@10", "ndcg@10", "ap")))
ROUNDING = 1e-12
ABOUT = """# Ranges where the assumption fails

`make measure PAGE=outside` writes this page. Of {experiments} experiments in each cell, with
{users} users: percent that were refused, or that warned about hard or popular negatives, at shape
1; percent of the other ranges that contain the exact Recall@10, NDCG@10 and AP, in this order; and
the mean width of the range of Recall@10, divided by the exact value. `factor` is the smallest one
with which the assumption holds for a population down to rank 5 n/m. Rows without a factor have
broken negatives, and their ranges mean nothing. {cpu} s of CPU time.
"""


def shares(weights: Float) -> Float:
    """Normalise weights to probabilities."""
    return np.asarray(weights / weights.sum(), np.float64)


def around(mean: float) -> Float:
    """Return a distribution of ranks around a mean, with about half of it as spread."""
    return shares((RANKS / mean) ** 3 * np.exp(-4.0 * RANKS / mean))


def populations() -> dict[str, Float]:
    """Return distributions of the true rank by name."""
    zipf = 1.0 / (RANKS + 20.0)
    broad = shares(1.0 / (RANKS + 30.0))
    last = (RANKS > N - 600).astype(float)
    return {
        "zipf, 20": shares(zipf),
        "zipf, 5": shares(1.0 / (RANKS + 5.0)),
        "near perfect": shares(RANKS**-2.5),
        "near random": shares(1.0 + 2.0 * np.exp(-RANKS / 500.0)),
        "40 % not scored": 0.6 * shares(zipf) + 0.4 * shares(last),
        "rank 1 three tenths": shares(np.where(RANKS == 1, 0.3, 1.0) * zipf),
        "ranks 1 to 10 half": shares(np.where(RANKS <= 10, 0.5, 1.0) * zipf),
        "ranks 1 to 3 never": shares(np.where(RANKS <= 3, 0.0, 1.0) * zipf),
        "40 % around rank 8": 0.4 * around(8.0) + 0.6 * broad,
        "40 % around rank 40": 0.4 * around(40.0) + 0.6 * broad,
    }


def uniform(true: Int, m: int, rng: np.random.Generator) -> Int:
    """Count the negatives above the held-out item among m drawn without replacement."""
    return rng.hypergeometric(true - 1, N - true, m)


BROKEN: dict[str, Callable[[Int, int, np.random.Generator], Int]] = {
    "a tenth of the negatives hard": lambda true, m, rng: (
        uniform(true, m - m // 10, rng) + rng.binomial(m // 10, 0.5, true.size)
    ),
    "popular negatives": lambda true, m, rng: rng.binomial(m, ((true - 1) / (N - 1)) ** 0.3),
    "every negative twice": lambda true, m, rng: 2 * uniform(true, m // 2, rng),
    "ranks from 2": lambda true, m, rng: np.minimum(uniform(true, m, rng) + 1, m),
}


def factor(share: Float, last: int) -> float:
    """Return the smallest factor that allows a distribution: density over the lowest one before."""
    top = share[:last]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(top / np.minimum.accumulate(top)))


def run_cell(name: str, m: int, users: int, shape: float, experiments: int) -> dict[str, object]:
    """Run the experiments of one cell."""
    known_shares = populations()
    share = known_shares.get(name, next(iter(known_shares.values())))
    exact = [float(share @ measure.value_at(RANKS, N)) for measure in MEASURES]
    held = np.zeros(len(MEASURES))
    n_refused = n_warned = 0
    width = 0.0
    for number in range(experiments):
        rng = generator(number, name, m, users)
        true = rng.choice(RANKS, users, p=share)
        above = BROKEN.get(name, uniform)(true, m, rng)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            try:
                _, ranges = checked_ranges(MEASURES, SampledRanks(1 + above, N, m), shape, 0.95)
            except InputError:
                n_refused += 1
                continue
        n_warned += bool(caught)
        width += ranges[0].high - ranges[0].low
        for place, value in enumerate(exact):
            held[place] += ranges[place].low - ROUNDING <= value <= ranges[place].high + ROUNDING
    n_left = max(experiments - n_refused, 1)
    held_text = ""
    if n_refused < experiments:
        held_text = " / ".join(f"{100 * count / n_left:.0f}" for count in held)
    return {
        "name": name,
        "m": m,
        "users": users,
        "shape": shape,
        "refused": n_refused / experiments,
        "warned": n_warned / experiments,
        "held": held_text,
        "width": width / n_left / exact[0],
    }


def format_page(results: pd.DataFrame, experiments: int, cpu: float) -> str:
    """Format the page, with a table for each number of users."""
    known_shares = populations()
    parts = []
    for users, cells in results.groupby("users"):
        rows = []
        for (name, m), cell_rows in cells.groupby(["name", "m"], sort=False):
            row: dict[str, object] = {"population": name, "m": m, "factor": ""}
            if name in known_shares:
                row["factor"] = f"{factor(known_shares[name], -(-5 * N // m)):.2f}"
            first = cell_rows.iloc[0]
            row["refused"] = f"{100 * first['refused']:.0f}"
            row["warned"] = f"{100 * first['warned']:.0f}"
            for one in cell_rows.itertuples():
                if name not in known_shares:
                    continue
                row[f"held, {one.shape:g}"] = one.held
                row[f"width, {one.shape:g}"] = f"{one.width:.2f}" if one.held else ""
            rows.append(row)
        about = ABOUT.format(experiments=experiments, users=f"{users:,}", cpu=round(cpu))
        if parts:
            about = f"\n## {users:,} users\n"
        parts.append(f"{about}\n{to_markdown(pd.DataFrame(rows).fillna(''))}\n")
    return "".join(parts)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=100, help="of each cell")
    parser.add_argument("--populations", nargs="*", default=[*populations(), *BROKEN])
    parser.add_argument("--negatives", type=int, nargs="+", default=NEGATIVES)
    parser.add_argument("--users", type=int, nargs="+", default=USERS)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    all_keys = product(options.populations, options.negatives, options.users, SHAPES)
    keys = [key for key in all_keys if key[0] not in BROKEN or key[-1] == 1.0]
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        jobs = [pool.submit(run_cell, *key, options.experiments) for key in keys]
        results = pd.DataFrame([job.result() for job in jobs])
    times = os.times()
    cpu = times.children_user + times.children_system
    text = format_page(results, options.experiments, cpu)
    options.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
