"""How often the 95 % range holds the exact metric, and how wide it is, by simulation.

    python tests/benchmarks/coverage.py [--fits N] [--samples N] [--expectations N]

Writes results/reference/coverage.md and coverage.csv. An experiment draws users, with replacement,
from a population whose true ranks are known, and m negatives for each user without replacement
(`published`: the negatives are those published with the models of NCF). The exact metric is that
of the population, which has as many kinds of users as there are users in the rank records, or
ranks from 1 to 3,541.

What takes time in a range is its vectors, which come from the sampled ranks of other users. So
each cell fits vectors on a few samples only, and computes ranges with each of them from many
further samples. A cell that is below 93 % is repeated with more of both. The ranges of the samples
of the fits themselves, in which each half of the users has the vectors of the other half, as always
outside of simulations, are counted separately.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path

import expectations
import numpy as np
import pandas as pd
from populations import BREAKS_SHAPE, REFERENCE, Population, populations
from threadpoolctl import threadpool_limits

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.crossfit import Fit, Values, _bracket, fitted, possible
from sampled_metrics.inference.kernels import NON_INCREASING, SHAPES
from sampled_metrics.inference.misfit import misfit
from sampled_metrics.inference.ranges import (
    _INVERSION,
    Range,
    _negative,
    _range,
    _upper_end,
    metric_ranges,
)
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import SampledRanks

NEGATIVES = (5, 10, 20, 50, 100, 500)
PUBLISHED = 99
USERS = (200, 1000, 6000)
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap")]
LEAST = 0.93
MISFIT = 0.01
REPEATED = 8  # fits of a cell below 93 %, in a second round
TESTED = 4  # further samples of each fit that are tested for misfit
ROUNDING = 1e-12  # of the average of equal numbers
BELOW = "# Coverage of expectations"
WIDTHS = (10, 100, 500)  # m of the widths that are printed
ENDS = ("lower", "upper")


class Vectors:
    """Lower and upper vectors of a metric, for use on samples other than that of their fit."""

    def __init__(self, measure: Measure, fit: Fit) -> None:
        brackets = [
            _bracket(measure, fit, n, shares)
            for n, shares in zip(fit.sizes.tolist(), fit.shares, strict=True)
        ]
        n = np.broadcast_to(fit.sample.n_items, fit.group.size)
        self.edges = [n[fit.group == group].min() for group in range(1, fit.sizes.size)]
        self.fold = fit.fold
        self.ends = [np.stack([getattr(one, end) for one in brackets]) for end in ENDS]
        self.possible = possible(measure, fit)

    def range(self, sample: SampledRanks) -> Range:
        """Range of a sample with as many users."""
        group = np.searchsorted(self.edges, sample.n_items, side="right")
        places = group, self.fold, sample.sampled_ranks - 1
        lower, upper = (
            Values(vectors[places], float(vectors.min()), float(vectors.max()))
            for vectors in self.ends
        )
        ends = outer = (-_upper_end(_negative(lower), CONFIDENCE), _upper_end(upper, CONFIDENCE))
        if ends[0] > ends[1]:
            outer = (-_upper_end(_negative(lower), _INVERSION), _upper_end(upper, _INVERSION))
        return _range(ends, outer, self.possible)


def cells(name: str, m: int, fits: int, samples: int) -> list[dict[str, object]]:
    """Run the experiments with one population and number of negatives."""
    population = populations()[name]
    return [
        row
        for n_users in (USERS if population.published is None else USERS[:-1])
        for shape in SHAPES
        for row in cell(name, population, shape, m, n_users, fits, samples)
    ]


def cell(
    name: str,
    population: Population,
    shape: str,
    m: int,
    n_users: int,
    fits: int,
    samples: int,
    seed: int = 0,
) -> Iterator[dict[str, object]]:
    """Run the experiments of one cell; a row for each metric."""
    rng = generator(seed, name, m, n_users)
    found: list[list[Range]] = []
    fitting: list[list[Range]] = []
    users: list[Float] = []
    tests: list[float] = []
    for _ in range(fits):
        first = population.sample(population.users(n_users, rng), m, rng)
        fit = fitted(first, shape, CONFIDENCE)
        vectors = [Vectors(measure, fit) for measure in MEASURES]
        fitting.append([one.range(first) for one in vectors])
        tests.append(misfit(first, shape).p_value)
        for place in range(samples):
            kind = population.users(n_users, rng)
            rank, n = population.rank[kind], population.n[kind]
            sample = population.sample(kind, m, rng)
            found.append([one.range(sample) for one in vectors])
            users.append(np.array([measure.at(rank, n).mean() for measure in MEASURES]))
            if place < TESTED:
                tests.append(misfit(sample, shape).p_value)
    for place, measure in enumerate(MEASURES):
        exact = population.exact(measure)
        ranges = pd.DataFrame([one[place] for one in found])
        of_users = np.array(users)[:, place]
        fit_ranges = pd.DataFrame([one[place] for one in fitting])
        yield {
            "shape": shape,
            "population": name,
            "n_negatives": m,
            "users": n_users,
            "metric": str(measure),
            "exact": exact,
            "experiments": len(ranges),
            "held": _holds(ranges, exact).mean(),
            "held_users": _holds(ranges, of_users).mean(),
            "fits": fits,
            "held_fits": _holds(fit_ranges, exact).mean(),
            "inverted": ranges["inverted"].mean(),
            "tested": len(tests),
            "misfit": np.mean(np.array(tests) < MISFIT),
            "low": ranges["low"].mean(),
            "high": ranges["high"].mean(),
        }


def again(
    name: str, shape: str, m: int, n_users: int, fits: int, samples: int
) -> list[dict[str, object]]:
    """Run new experiments of one cell."""
    return list(cell(name, populations()[name], shape, m, n_users, fits, samples, seed=1))


def repeated(table: pd.DataFrame, pool: Executor, samples: int) -> pd.DataFrame:
    """Replace the cells below 93 %, where the shape holds, by new and more experiments."""
    keys = ["population", "shape", "n_negatives", "users"]
    short = table[(table["held"] < LEAST) & shape_holds(table)]
    jobs = [
        pool.submit(again, *key, REPEATED, samples)
        for key in short[keys].drop_duplicates().itertuples(index=False, name=None)
    ]
    rows = pd.DataFrame([row for job in jobs for row in job.result()], columns=table.columns)
    places = [*keys, "metric"]
    table = table.set_index(places)
    rows = rows.set_index(places)
    table.loc[rows.index] = rows
    return table.reset_index()


def shape_holds(table: pd.DataFrame) -> "pd.Series[bool]":
    """Whether ranks are of the shape that a row assumes."""
    return (table["shape"] != NON_INCREASING) | ~table["population"].isin(BREAKS_SHAPE)


def _holds(ranges: pd.DataFrame, exact: float | Float) -> pd.Series:
    inside = (ranges["low"] <= exact + ROUNDING) & (exact - ROUNDING <= ranges["high"])
    return inside & ~ranges["inverted"]


def report(table: pd.DataFrame) -> Iterator[str]:
    """Tables of the results in Markdown."""
    for shape in SHAPES:
        rows = table[table["shape"] == shape]
        yield f"\n## Range, shape `{shape}`\n"
        widths = [f"m = {m}" for m in WIDTHS]
        header = ["population", "held", "least", "in", "inverted", "misfit", *widths]
        yield "| " + " | ".join(header) + " |"
        yield "| :--- | ---: | ---: | :--- | ---: | ---: |" + " :---: |" * len(widths)
        for name, cell in rows.groupby("population", sort=False):
            yield "| " + " | ".join([str(name), *_line(cell)]) + " |"
        if shape == NON_INCREASING:
            yield (
                f"\nThe ranks of {', '.join(BREAKS_SHAPE)} are not of this shape; the last by "
                "chance: 5 of its 943 users have a rank up to 10, fewer than of equally probable "
                "ranks, and the shape allows no fewer."
            )
    holds = table[shape_holds(table)]
    short = holds[holds["held"] < LEAST]
    fits = np.average(holds["held_fits"], weights=holds["fits"])
    yield f"\nOf {len(holds):,} cells in which the shape holds, {len(short)} are below 93 %."
    yield from (
        f"- {cell.shape}, {cell.population}, m = {cell.n_negatives}, {cell.users:,} users, "
        f"{cell.metric}: {100 * cell.held:.0f} %"
        for cell in short.itertuples()
    )
    yield (
        f"\nThe ranges of the {int(holds['fits'].sum()):,} samples of the fits, "
        f"metrics counted singly, held the exact metric in {100 * fits:.2f} %, the others in "
        f"{100 * holds['held'].mean():.2f} %."
    )


def all_published() -> Iterator[str]:
    """Ranges of the models of NCF by all users, with the published negatives."""
    yield "\nRanges by all users with the published negatives, `non-increasing`, in percent:\n"
    yield "| model | metric | exact | from | to |"
    yield "| :--- | :--- | ---: | ---: | ---: |"
    for name, population in populations().items():
        if population.published is not None:
            sample = SampledRanks(population.published, population.n, PUBLISHED)
            for measure, found in zip(MEASURES, metric_ranges(MEASURES, sample), strict=True):
                values = (population.exact(measure), found.low, found.high)
                numbers = " | ".join(f"{100 * value:.2f}" for value in values)
                yield f"| {name.split(',')[0]} | {measure} | {numbers} |"


def _line(cell: pd.DataFrame) -> list[str]:
    worst = cell.loc[cell["held"].idxmin()]
    where = f"m = {worst['n_negatives']}, {worst['users']:,} users, {worst['metric']}"
    percent = [f"{100 * cell[name].mean():.1f}" for name in ("held", "inverted", "misfit")]
    return [
        percent[0],
        f"{100 * worst['held']:.0f}",
        where if worst["held"] < 1.0 else "",
        *percent[1:],
        *(_width(cell, m) for m in WIDTHS),
    ]


def _width(cell: pd.DataFrame, m: int) -> str:
    """Mean ends divided by the exact metric."""
    place = (cell["n_negatives"] == m) & (cell["users"] == USERS[-1])
    chosen = cell[place & (cell["metric"] == "recall@10")]
    if chosen.empty:
        return ""
    (one,) = chosen.itertuples()
    if one.exact < ROUNDING:
        return f"{100 * one.low:.1f} to {100 * one.high:.1f} %"
    return f"{one.low / one.exact:.2f} to {one.high / one.exact:.2f}"


def _expectations(jobs: expectations.Jobs, options: argparse.Namespace) -> Iterator[str]:
    yield f"\n{BELOW}\n\nPercent of {options.expectations:,} experiments. The expectation of an "
    yield "estimate is not the exact metric."
    yield from expectations.report(jobs)


def _kept(folder: Path) -> list[str]:
    """Part of an earlier report."""
    text = (folder / "coverage.md").read_text(encoding="utf-8")
    return ["", text[text.index(BELOW) :].rstrip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=2)
    parser.add_argument("--samples", type=int, default=50, help="of each fit")
    parser.add_argument(
        "--expectations", type=int, default=1000, help="experiments, 0 keeps those there"
    )
    parser.add_argument("--populations", nargs="*", help="names; all if not given")
    parser.add_argument("--output", type=Path, default=REFERENCE)
    options = parser.parse_args()
    names = [name for name in populations() if name in (options.populations or populations())]
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        jobs = [
            pool.submit(cells, name, m, options.fits, options.samples)
            for name in names
            for m in ((PUBLISHED,) if "published" in name else NEGATIVES)
        ]
        below = expectations.submit(pool, options.expectations) if options.expectations else None
        table = pd.DataFrame([row for job in jobs for row in job.result()])
        table = repeated(table, pool, options.samples)
        table.to_csv(options.output / "coverage.csv", index=False, float_format="%.5g")
        users = ", ".join(f"{users:,}" for users in USERS)
        lines = [
            "# Coverage of the 95 % range and of the 95 % intervals\n",
            f"`make coverage`; every cell in [coverage.csv](coverage.csv). A population has "
            f"{len(NEGATIVES) * len(USERS) * len(MEASURES)} cells: m = "
            f"{', '.join(map(str, NEGATIVES))}; {users} users; "
            f"{', '.join(map(str, MEASURES))}. Each is {options.fits} x {options.samples} "
            f"experiments, or {REPEATED} x {options.samples} new ones if below 93 % of the first "
            "hold the exact metric. Users are drawn with replacement from the population, and "
            "negatives without. `published` has the negatives published with the models of NCF, "
            "m = 99, at most 1,000 users: more would share their one draw of negatives too much."
            "\n\n`held`: percent of ranges that hold the exact metric of the population, on "
            "average and least of all cells; `inverted`: percent of ranges refused because one end "
            "is above the other at 99 %; `misfit`: percent of samples refused by p < 0.01 of the "
            "chi-square. Refused because inverted is not held. Last: mean ends for recall@10 and "
            f"{USERS[-1]:,} users, divided by the exact metric.",
            *report(table),
            *all_published(),
            *(_kept(options.output) if below is None else _expectations(below, options)),
        ]
    text = "\n".join(lines) + "\n"
    (options.output / "coverage.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
