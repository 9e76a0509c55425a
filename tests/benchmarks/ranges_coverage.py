"""How often the 95 % range holds the exact metric, and how wide it is, by simulation.

    python tests/benchmarks/ranges_coverage.py [--experiments N] [--ranks FILE ...]

Users are drawn from populations whose true ranks are known: recommenders X, Y and Z of the
reference run and those of further files of ranks; recommenders whose ranks are at most k with
probability (k/n)^0.1 and (k/n)^0.3; one that ranks at random. Three more break the assumption
`non-increasing`: one that ranks the held-out item where the power family would rank it from the
end, and X with all ranks worse by 2 and by 15 places. Every user's sampled rank is drawn among m
negatives. `population` is the share of ranges that hold the exact metric of the population,
`users` that of the exact metric of the users drawn; `inverted` and `misfit` are the shares that
are refused, with an end above the other or p < 0.01; `low` and `high` are the mean ends, divided
by the exact metric.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.kernels import SHAPES
from sampled_metrics.inference.misfit import misfit
from sampled_metrics.inference.ranges import metric_ranges
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks

ROOT = Path(__file__).parents[2]
N_ITEMS = 3541
NEGATIVES = (5, 10, 20, 50, 100, 500)
USERS = (200, 1000, 6000)
MEASURES = [parse_measure(name) for name in ("recall@10", "ap")]
LEAST = 0.93
BREAKS_SHAPE = ("anti-correlated", "X + 2", "X + 15")


class Population(NamedTuple):
    """True ranks, numbers of candidates and shares of kinds of users."""

    rank: Int
    n: Int
    share: Float

    def exact(self) -> Float:
        """Exact metrics of the population."""
        values = np.array([measure.at(self.rank, self.n) for measure in MEASURES])
        return values @ self.share


class Cell(NamedTuple):
    """Results of the experiments with one population, shape and number of users and negatives."""

    name: str
    shape: str
    m: int
    users: int
    of_population: Float
    of_users: Float
    inverted: float
    misfits: float
    ends: Float  # divided by the exact metric; shape (measures, 2)


def of_ranks(records: Ranks, worse: int = 0) -> Population:
    """Users of an evaluation, ties in random order."""
    rank = records.best_rank + generator(0, "ties").integers(0, records.n_tied + 1)
    rank = np.minimum(rank + worse, records.n_candidates)
    return Population(rank, records.n_candidates, np.full(rank.size, 1.0 / rank.size))


def power(exponent: float) -> Population:
    """Ranks that are at most k with probability (k/n)^exponent."""
    share = np.diff((np.arange(N_ITEMS + 1) / N_ITEMS) ** exponent)
    return Population(np.arange(1, N_ITEMS + 1), np.full(N_ITEMS, N_ITEMS), share)


def populations(files: tuple[Path, ...]) -> dict[str, Population]:
    """All populations by name."""
    reference = [ROOT / f"results/reference/ranks/{name}.parquet" for name in "XYZ"]
    records = {path.stem: Ranks.read(path) for path in (*reference, *files)}
    ends = power(0.2)
    return {name: of_ranks(ranks) for name, ranks in records.items()} | {
        "(k/n)^0.1": power(0.1),
        "(k/n)^0.3": power(0.3),
        "random": power(1.0),
        "anti-correlated": ends._replace(share=ends.share[::-1]),
        "X + 2": of_ranks(records["X"], 2),
        "X + 15": of_ranks(records["X"], 15),
    }


def cells(name: str, m: int, files: tuple[Path, ...], experiments: int) -> list[Cell]:
    """Run the experiments with one population and number of negatives."""
    population = populations(files)[name]
    if population.n.min() <= m:
        return []
    return [
        _cell(name, population, shape, m, n_users, experiments)
        for shape in SHAPES
        for n_users in USERS
    ]


def _cell(
    name: str, population: Population, shape: str, m: int, n_users: int, experiments: int
) -> Cell:
    rng = generator(0, name, m, n_users)
    exact = population.exact()
    held = np.zeros((2, len(MEASURES)))
    ends = np.zeros((len(MEASURES), 2))
    inverted = misfits = 0.0
    for _ in range(experiments):
        kind = rng.choice(population.share.size, n_users, p=population.share)
        rank, n = population.rank[kind], population.n[kind]
        drawn = draw_sampled_ranks(Ranks(n, rank - 1, np.zeros_like(rank)), m, rng)
        sample = SampledRanks(drawn, n, m)
        ranges = metric_ranges(MEASURES, sample, shape=shape)
        low, high = np.array([(one.low, one.high) for one in ranges]).T
        of_users = np.array([measure.at(rank, n).mean() for measure in MEASURES])
        rounding = 1e-12  # of the average of equal numbers
        held += [(low <= x + rounding) & (x <= high + rounding) for x in (exact, of_users)]
        ends += np.column_stack([low, high])
        inverted += any(one.inverted for one in ranges)
        misfits += misfit(sample, shape).p_value < 0.01
    held, ends = held / experiments, ends / experiments
    with np.errstate(divide="ignore", invalid="ignore"):
        ends /= exact[:, None]
    return Cell(name, shape, m, n_users, *held, inverted / experiments, misfits / experiments, ends)


def report(results: list[Cell]) -> Iterator[str]:
    """Tables of the results in Markdown."""
    for shape in SHAPES:
        yield f"\n## Shape {shape}\n"
        header = ["population", "m", "users", "population", "users", "inverted", "misfit"]
        header += [f"{measure} {end}" for measure in MEASURES for end in ("low", "high")]
        yield "| " + " | ".join(header) + " |"
        yield "| :--- |" + " ---: |" * (len(header) - 1)
        for cell in results:
            if cell.shape == shape:
                shares = (cell.of_population.mean(), cell.of_users.mean())
                percent = [f"{100 * x:.0f}" for x in (*shares, cell.inverted, cell.misfits)]
                ends = [f"{x:.2f}" for x in cell.ends.ravel()]
                yield (
                    f"| {cell.name} | {cell.m} | {cell.users:,} | "
                    + " | ".join((*percent, *ends))
                    + " |"
                )
    holds = [c for c in results if c.shape == "none" or c.name not in BREAKS_SHAPE]
    short = [c for c in holds if c.of_population.mean() < LEAST]
    yield f"\nCells in which the shape holds: {len(holds)}; below 93 %: {len(short)}"
    yield from (f"- {c.shape}, {c.name}, m = {c.m}, {c.users:,} users" for c in short)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=10)
    parser.add_argument("--ranks", type=Path, nargs="*", default=[])
    parser.add_argument("--negatives", type=int, nargs="*", default=NEGATIVES)
    parser.add_argument("--populations", nargs="*", help="names; all if not given")
    options = parser.parse_args()
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    files = tuple(options.ranks)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(cells, name, m, files, options.experiments)
            for m in sorted(options.negatives, reverse=True)
            for name in options.populations or populations(files)
        ]
        results = [cell for job in jobs for cell in job.result()]
    order = list(populations(files))
    results.sort(key=lambda cell: (order.index(cell.name), cell.m, cell.users))
    print("# Coverage of the exact metric by the 95 % range\n")
    print(f"Percent of {options.experiments:,} experiments.")
    print(*report(results), sep="\n")


if __name__ == "__main__":
    main()
