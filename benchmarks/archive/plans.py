"""How often comparisons decide an order, compared with the probability that `plan` promises.

    python -m benchmarks.archive.plans [--comparisons N]

Writes docs/measured/plan.md. True ranks follow the power laws that `plan` assumes if there are no
ranks yet. A comparison draws users and negatives for each recommender; it decides the order if its
range of the difference is on the right side of 0.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sampled_metrics import SampledRanks, plan
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics._base.random_streams import generator
from sampled_metrics.intervals.population import Population, power_law_with
from sampled_metrics.intervals.ranges import lower_ends_of_differences
from sampled_metrics.intervals.shapes import NON_INCREASING
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics_study.tables import to_markdown

PAGE = Path(__file__).parents[2] / "docs/measured/plan.md"
N = 3541
METRICS = ("recall@10", "ndcg@10", "ap")
VALUES = (0.05, 0.2)
EFFECTS = (0.04, 0.08, 0.16)
USERS = (500, 2000, 6040)
SIZES = (50, 100, 200, 500)
EVERY = 3  # every third setting is measured
UNCERTAIN = (0.02, 0.98)  # promised probabilities that are worth measuring
ABOUT = """# What plans promise

`make measure PAGE=plan` writes this page. `promised` is the probability of `plan` that a
comparison of {n:,} items decides the order, in percent, and `decided` the share of {comparisons}
comparisons that did, each with its own users and negatives; its standard error is up to
{error:.1f} points. {close} of {settings} settings are within 10 points; the mean difference is
{mean:+.1f} points, the largest {largest:+.0f}. {cpu} s of CPU time.

"""


class Setting(NamedTuple):
    """A comparison that `plan` promises to decide with some probability."""

    metric: str
    value: float
    effect: float
    users: int
    m: int
    promised: float


def plan_settings() -> list[Setting]:
    """Return every third setting whose promise is not near 0 or 1."""
    settings = []
    for metric, value, effect, users in product(METRICS, VALUES, EFFECTS, USERS):
        planned = plan(
            metrics=metric, value=value, effect=effect, n_items=N, n_users=users, sizes=SIZES
        )
        for row in planned:
            if row.n_negatives and UNCERTAIN[0] < row.probability < UNCERTAIN[1]:
                values = (metric, value, effect, users, row.n_negatives, row.probability)
                settings.append(Setting(*values))
    return settings[::EVERY]


def draw_sample(law: Population, setting: Setting, rng: np.random.Generator) -> SampledRanks:
    """Draw users from a power law, and negatives for them."""
    kind = rng.choice(law.share.size, setting.users, p=law.share / law.share.sum())
    ranks = law.ranks.take(kind)
    better = ranks.n_better + rng.integers(0, ranks.n_tied + 1)
    above = rng.hypergeometric(better, N - 1 - better, setting.m)
    return SampledRanks(above + 1, N, setting.m)


def count_decided(setting: Setting, comparisons: int) -> int:
    """Count comparisons that decide that the second recommender is better."""
    measure = parse_measure(setting.metric)
    laws = [
        power_law_with(measure, value, N)
        for value in (setting.value, setting.value + setting.effect)
    ]
    count = 0
    for number in range(comparisons):
        rng = generator(number, "plan", *map(str, setting[:-1]))
        pair = draw_sample(laws[0], setting, rng), draw_sample(laws[1], setting, rng)
        (low,) = lower_ends_of_differences(
            [pair],
            measure,
            shape=NON_INCREASING,
            vector_confidence=DEFAULT_CONFIDENCE,
            confidence=DEFAULT_CONFIDENCE,
        )
        count += low > 0.0
    return count


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=300, help="of each setting")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    chosen = plan_settings()
    count = partial(count_decided, comparisons=options.comparisons)
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        counts = np.array(list(pool.map(count, chosen)))
    table = pd.DataFrame(chosen)
    percent = 100.0 * counts / options.comparisons
    difference = percent - 100.0 * table["promised"]
    table["promised"] = [f"{100 * promised:.0f}" for promised in table["promised"]]
    table["decided"] = [f"{share:.0f}" for share in percent]
    times = os.times()
    about = ABOUT.format(
        n=N,
        comparisons=options.comparisons,
        error=50.0 / options.comparisons**0.5,
        settings=len(chosen),
        close=int((difference.abs() <= 10.0).sum()),
        mean=difference.mean(),
        largest=difference[difference.abs().idxmax()],
        cpu=round(times.user + times.children_user + times.children_system),
    )
    print(about, to_markdown(table), sep="")
    options.output.write_text(f"{about}{to_markdown(table)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
