"""How often wrongly stated negatives are noticed in sampled ranks, and how often they could be.

    python -m benchmarks.archive.power [--experiments N] [--users N ...]

Writes docs/measured/power.md. True ranks are from the first population of `outside.py`; the
negatives are not as stated. `seen` counts the experiments in which `correct` refused the ranks or
warned. `most` bounds what any test at the same level can notice: the power of the likelihood ratio
of these ranks against the nearest allowed distribution, in which no true rank is more likely than
one before it (lemma of Neyman and Pearson). If an allowed distribution gives the same ranks, it is
the level.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import binom, hypergeom
from threadpoolctl import threadpool_limits

from benchmarks.outside import RANKS, N, populations
from sampled_metrics import InputError, InputWarning, SampledRanks, correct
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.random_streams import generator
from sampled_metrics_study.tables import to_markdown

PAGE = Path(__file__).parents[2] / "docs/measured/power.md"
USERS = (500, 2000)
LEVEL = 0.005  # of the test
SINGLY, WIDE = 100, 300  # first ranks one by one, and further ones, as ends of uniform parts
STEPS = 4000  # of expectation maximisation
DRAWS = 10_000  # of the likelihood ratio
ABOUT = """# What sampled ranks can show

`make measure PAGE=power` writes this page. Users have true ranks as the first population of [Ranges
where the assumption fails](outside.md) has, but negatives are not uniform, or not as many as
stated. `seen`: percent of {experiments} experiments in which `correct` refused the sampled ranks or
warned about them. `most`: percent in which any test that refuses correct data in {level} % of
experiments could notice it, by the likelihood ratio of these ranks against the nearest ones of
correct data. Correct data has any distribution of true ranks in which no rank is more likely than
one before it. `users for half`: users for whom that ratio notices half of the cases. {cpu} s of CPU
time.

"""


class Broken(NamedTuple):
    """Distributions of sampled ranks, and the number of negatives that is stated for them."""

    stated: int  # m
    # Of i negatives above the item, given its true rank; shape (ranks, i).
    probabilities: Float


def uniform_probabilities(m: int, stated: int) -> Float:
    """Return the probabilities of i of m uniform negatives above each true rank.

    The result has shape (ranks, stated + 1).
    """
    above = np.arange(stated + 1)
    return np.asarray(hypergeom.pmf(above, N - 1, RANKS[:, np.newaxis] - 1, m), np.float64)


def hard_negatives(m: int, others: int, chance: float) -> Float:
    """Return the probabilities with some further negatives that are above by a fixed chance."""
    uniform = uniform_probabilities(m, m)
    more = binom.pmf(np.arange(others + 1), others, chance)
    return np.stack([np.convolve(row, more) for row in uniform])


def popular_negatives(m: int, power: float) -> Float:
    """Return the probabilities for negatives above with a power of the usual probability."""
    share = ((RANKS - 1) / (N - 1)) ** power
    return np.asarray(binom.pmf(np.arange(m + 1), m, share[:, np.newaxis]), np.float64)


BROKEN: dict[str, Callable[[], Broken]] = {
    "sound": lambda: Broken(100, uniform_probabilities(100, 100)),
    "50 negatives, 100 stated": lambda: Broken(100, uniform_probabilities(50, 100)),
    "popular negatives, power 0.3": lambda: Broken(100, popular_negatives(100, 0.3)),
    "popular negatives, power 0.5": lambda: Broken(100, popular_negatives(100, 0.5)),
    "popular negatives, power 0.8": lambda: Broken(100, popular_negatives(100, 0.8)),
    "5 of 100 negatives hard": lambda: Broken(100, hard_negatives(95, 5, 0.5)),
    "10 of 100 negatives hard": lambda: Broken(100, hard_negatives(90, 10, 0.5)),
}


def nearest_sound(broken: Float, m: int) -> Float:
    """Return the allowed distribution of sampled ranks that is nearest by divergence."""
    ends = np.unique(np.r_[1 : SINGLY + 1, np.geomspace(SINGLY, N, WIDE).round()]).astype(int)
    points = (np.cumsum(uniform_probabilities(m, m), axis=0) / RANKS[:, np.newaxis])[ends - 1]
    weights = np.full(ends.size, 1.0 / ends.size)
    for _ in range(STEPS):
        mixed = weights @ points
        weights *= points @ np.divide(broken, mixed, out=np.zeros_like(mixed), where=broken > 0.0)
    return np.asarray(weights @ points / weights.sum(), np.float64)


def most_power(broken: Float, sound: Float, users: int) -> float:
    """Simulate the power of the most powerful test of one distribution against another."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(broken) - np.log(sound)
    ratio = np.nan_to_num(ratio, nan=0.0, neginf=-1e3, posinf=1e3)
    rng = generator(0, "power", users)
    under = [rng.multinomial(users, p / p.sum(), DRAWS) @ ratio for p in (sound, broken)]
    threshold = np.quantile(under[0], 1.0 - LEVEL)
    above = float(np.mean(under[1] > threshold))
    return max(above, LEVEL)


def users_for_half(broken: Float, sound: Float) -> float:
    """Return the users for a power of one half, to 10 %; infinity above half a million."""
    few, many = 10.0, 5e5
    if most_power(broken, sound, int(many)) < 0.5:
        return np.inf
    while many > 1.1 * few:
        middle = (few * many) ** 0.5
        if most_power(broken, sound, int(middle)) < 0.5:
            few = middle
        else:
            many = middle
    return many


def share_noticed(case: Broken, name: str, users: int, experiments: int) -> float:
    """Return the share of experiments that are refused or that warn."""
    share = next(iter(populations().values()))
    sums = np.cumsum(case.probabilities, axis=1)
    count = 0
    for number in range(experiments):
        rng = generator(number, name, users)
        true = rng.choice(RANKS, users, p=share)
        above = (sums[true - 1] < rng.random(users)[:, np.newaxis]).sum(axis=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            try:
                ranks = 1 + np.minimum(above, case.stated)
                correct(SampledRanks(ranks, N, case.stated), "recall@10", "cls")
            except InputError:
                count += 1
                continue
        count += bool(caught)
    return count / experiments


def measure_row(name: str, user_counts: list[int], experiments: int) -> dict[str, object]:
    """Measure one kind of negatives; return its row."""
    share = next(iter(populations().values()))
    case = BROKEN[name]()
    broken = share @ case.probabilities
    sound = nearest_sound(broken, case.stated)
    row: dict[str, object] = {"negatives": name}
    for users in user_counts:
        row[f"seen, {users:,} users"] = f"{100 * share_noticed(case, name, users, experiments):.0f}"
        row[f"most, {users:,}"] = f"{100 * most_power(broken, sound, users):.1f}"
    half = users_for_half(broken, sound)
    row["users for half"] = "never" if np.isinf(half) else f"{float(f'{half:.1g}'):,.0f}"
    return row


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=20, help="of each cell")
    parser.add_argument("--users", type=int, nargs="+", default=USERS)
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        jobs = [
            pool.submit(measure_row, name, options.users, options.experiments) for name in BROKEN
        ]
        rows = []
        for job in jobs:
            rows.append(job.result())
            print(rows[-1], flush=True)
    times = os.times()
    cpu = round(times.children_user + times.children_system)
    about = ABOUT.format(experiments=options.experiments, cpu=cpu, level=f"{100 * LEVEL:g}")
    options.output.write_text(f"{about}{to_markdown(pd.DataFrame(rows))}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
