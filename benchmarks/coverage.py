"""Coverage of 95 % ranges of exact metrics and of 95 % intervals of expectations, by simulation.

    python -m benchmarks.coverage [--experiments N] [--expectations N] [--populations NAME]

Writes results/reference/coverage.md and coverage.csv. An experiment draws users, with replacement,
from a population with known true ranks, and m negatives for each user without replacement.
Populations called `published` have the negatives that were published with the models of NCF.
"""

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.evaluation.correct import _SMOOTHING as SMOOTHING
from sampled_metrics.intervals.means import Moments, mean_interval
from sampled_metrics.intervals.misfit import misfit
from sampled_metrics.intervals.population import Population
from sampled_metrics.intervals.ranges import bracket_users
from sampled_metrics.intervals.shapes import NON_INCREASING, SHAPES
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics_study.tables import to_markdown

REFERENCE = Path(__file__).parents[1] / "results/reference"
N_ITEMS, N_NEGATIVES = 3541, 100
BREAKS_SHAPE = ("anti-correlated", "X + 2", "X + 15", "100K Random")
NEGATIVES, PUBLISHED = (5, 10, 20, 50, 100, 500), 99
USERS = (200, 1000, 6000)
MEASURES = tuple(parse_measure(name) for name in ("recall@10", "ndcg@10", "ap"))
LEAST_COVERAGE, MISFIT = 0.93, 0.01
ROUNDING = 1e-12  # error of an average of equal numbers
WIDTHS = (10, 100, 500)  # values of m whose widths are printed
EXPECTATION_USERS, MOST_COVERAGE = (50, 100, 200, 500, 1000, 6000), 0.97
WITH_AUC = [*MEASURES, parse_measure("auc")]
NAMES = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
ESTIMATORS = [parse_estimator(name) for name in NAMES]
ESTIMATES, EXACT = "Estimates from 100 negatives", "Exact metrics from full rankings"
Shares = dict[str, float]
Jobs = dict[tuple[str, str, int], Future[Shares]]


class Simulated(NamedTuple):
    """A population of kinds of users: true ranks, numbers of candidates and shares of users.

    `published` has their ranks among published negatives, if these replace drawn ones.
    """

    rank: Int
    n: Int
    share: Float
    published: Int | None = None

    def exact(self, measure: Measure) -> float:
        """Exact metric of the population."""
        return float(measure.value_at(self.rank, self.n) @ self.share)

    def users(self, number: int, rng: np.random.Generator) -> Int:
        """Draw kinds of users, with replacement."""
        if np.ptp(self.share) == 0.0:
            return rng.integers(0, self.share.size, number)
        return np.searchsorted(np.cumsum(self.share)[:-1], rng.random(number), side="right")

    def sample(self, kind: Int, m: int, rng: np.random.Generator) -> SampledRanks:
        """Draw m negatives, without replacement, for each user."""
        n = self.n[kind]
        if self.published is not None:
            return SampledRanks(self.published[kind], n, m)
        rank = self.rank[kind]
        return SampledRanks(1 + rng.hypergeometric(rank - 1, n - rank, m), n, m)


def population_of_ranks(records: Ranks, worse: int = 0) -> Simulated:
    """Return the users of an evaluation as a population; ties are in random order."""
    rank = records.best_rank + generator(0, "ties").integers(0, records.n_tied + 1)
    rank = np.minimum(rank + worse, records.n_candidates)
    return Simulated(rank, records.n_candidates, np.full(rank.size, 1.0 / rank.size))


def power_law(exponent: float) -> Simulated:
    """Return a population whose ranks are at most k with probability (k/n)^exponent."""
    share = np.diff((np.arange(N_ITEMS + 1) / N_ITEMS) ** exponent)
    return Simulated(np.arange(1, N_ITEMS + 1), np.full(N_ITEMS, N_ITEMS), share)


def recommenders(folder: str) -> dict[str, Simulated]:
    """Return the populations of the ranks in a folder of the reference run, by name."""
    paths = sorted((REFERENCE / folder).glob("*.parquet"))
    return {p.stem: population_of_ranks(Ranks.read(p)) for p in paths if ".sampled" not in p.stem}


def populations() -> dict[str, Simulated]:
    """Return all populations by name."""
    ends, x, published = power_law(0.2), Ranks.read(REFERENCE / "ranks/X.parquet"), {}
    for name, population in recommenders("ncf").items():
        path = REFERENCE / f"ncf/{name}.sampled.parquet"
        ranks = SampledRanks.read(path).sampled_ranks
        published[f"{name}, published"] = population._replace(published=ranks)
    return {
        **recommenders("ranks"),
        **{f"100K {name}": one for name, one in recommenders("ml-100k/ranks").items()},
        **recommenders("ncf"),
        **published,
        "(k/n)^0.1": power_law(0.1),
        "(k/n)^0.3": power_law(0.3),
        "random": power_law(1.0),
        "anti-correlated": ends._replace(share=ends.share[::-1]),
        "X + 2": population_of_ranks(x, 2),
        "X + 15": population_of_ranks(x, 15),
    }


def run_cells(
    name: str, m: int, users: list[int], shapes: list[str], experiments: int
) -> list[dict[str, object]]:
    """Run the experiments with one population and number of negatives; return a row per metric."""
    population, rows = populations()[name], []
    for n_users in users:
        for shape in shapes:
            rng, rows_of_experiments = generator(0, name, m, n_users), []
            for _ in range(experiments):
                kind = population.users(n_users, rng)
                sample = population.sample(kind, m, rng)
                bracketed = bracket_users(sample, MEASURES, shape)
                p_value = misfit(sample, shape).p_value
                for place, measure in enumerate(MEASURES):
                    users_metric = measure.value_at(
                        population.rank[kind], population.n[kind]
                    ).mean()
                    rows_of_experiments.append(
                        (str(measure), *bracketed.range(place), users_metric, p_value)
                    )
            columns = ["metric", "low", "high", "inverted", "of_users", "p_value"]
            table = pd.DataFrame(rows_of_experiments, columns=columns)
            for measure in MEASURES:
                ranges, exact = table[table["metric"] == str(measure)], population.exact(measure)
                rows.append(
                    {
                        "shape": shape,
                        "population": name,
                        "n_negatives": m,
                        "users": n_users,
                        "metric": str(measure),
                        "exact": exact,
                        "experiments": experiments,
                        "held": holds_value(ranges, exact).mean(),
                        "held_users": holds_value(ranges, ranges["of_users"]).mean(),
                        "inverted": ranges["inverted"].mean(),
                        "misfit": (ranges["p_value"] < MISFIT).mean(),
                        "low": ranges["low"].mean(),
                        "high": ranges["high"].mean(),
                    }
                )
    return rows


def holds_value(ranges: pd.DataFrame, exact: "float | pd.Series[float]") -> "pd.Series[bool]":
    """Return whether ranges contain a value; inverted ranges, which are refused, do not."""
    inside = (ranges["low"] <= exact + ROUNDING) & (exact - ROUNDING <= ranges["high"])
    return inside & ~ranges["inverted"]


def report(table: pd.DataFrame) -> Iterator[str]:
    """Yield the tables of ranges in Markdown."""
    for shape, rows in table.groupby("shape", sort=False):
        yield f"\n## Range, shape `{shape}`\n"
        lines = []
        for name, cell in rows.groupby("population", sort=False):
            worst = cell.loc[cell["held"].idxmin()]
            where = f"m = {worst['n_negatives']}, {worst['users']:,} users, {worst['metric']}"
            line = {"population": name, "held": f"{100 * cell['held'].mean():.1f}"}
            line |= {
                "least": f"{100 * worst['held']:.0f}",
                "in": where if worst["held"] < 1 else "",
            }
            line |= {x: f"{100 * cell[x].mean():.1f}" for x in ("inverted", "misfit")}
            lines.append(line | {f"m = {m}": format_width(cell, m) for m in WIDTHS})
        yield to_markdown(pd.DataFrame(lines))
    yield f"\nThe ranks of {', '.join(BREAKS_SHAPE)} are not of the shape `{NON_INCREASING}`."
    holds = table[(table["shape"] != NON_INCREASING) | ~table["population"].isin(BREAKS_SHAPE)]
    short = holds[holds["held"] < LEAST_COVERAGE]
    yield f"\nOf {len(holds):,} cells in which the shape holds, {len(short)} are below 93 %."
    for cell in short.itertuples():
        place = f"{cell.shape}, {cell.population}, m = {cell.n_negatives}, {cell.users:,} users"
        yield f"- {place}, {cell.metric}: {100 * cell.held:.0f} %"


def format_width(cell: pd.DataFrame, m: int) -> str:
    """Format the mean ends for recall@10 and the most users, divided by the exact metric."""
    place = (cell["n_negatives"] == m) & (cell["users"] == cell["users"].max())
    for one in cell[place & (cell["metric"] == "recall@10")].itertuples():
        if one.exact < ROUNDING:
            return f"{100 * one.low:.1f} to {100 * one.high:.1f} %"
        return f"{one.low / one.exact:.2f} to {one.high / one.exact:.2f}"
    return ""


def expectation_populations() -> dict[str, Population]:
    ranks = {name: Ranks.read(REFERENCE / f"ranks/{name}.parquet") for name in "XYZ"}
    populations_by_name = {name: Population.from_ranks(records) for name, records in ranks.items()}
    every = Ranks(np.full(N_ITEMS, N_ITEMS), np.arange(N_ITEMS), np.zeros(N_ITEMS, int))
    for name, exponent in (("(k/n)^0.2", 0.2), ("random", 1.0)):
        share = np.diff((np.arange(N_ITEMS + 1) / N_ITEMS) ** exponent)
        populations_by_name[name] = Population(every, share)
    return populations_by_name


def exact_coverage(
    population: Population, n_users: int, rng: np.random.Generator, repeats: int
) -> Shares:
    """Return the share of experiments in which intervals of exact metrics hold the expectation."""
    n_held = dict.fromkeys((f"exact {measure}" for measure in WITH_AUC), 0)
    ranks = np.arange(1, N_ITEMS + 1)
    priors = [Moments.from_values(measure.value_at(ranks, N_ITEMS)) for measure in WITH_AUC]
    values = [metrics.values(measure, population.ranks) for measure in WITH_AUC]
    for _ in range(repeats):
        users = rng.choice(population.share.size, n_users, p=population.share)
        for cell, value, prior in zip(n_held, values, priors, strict=True):
            interval = mean_interval(Moments.from_values(value[users]), n_users, prior)
            n_held[cell] += interval.ci_low <= value @ population.share <= interval.ci_high
    return {cell: count / repeats for cell, count in n_held.items()}


def sampled_coverage(
    population: Population, n_users: int, rng: np.random.Generator, repeats: int
) -> Shares:
    """Return the same shares for every estimate from sampled ranks."""
    sampling = "without-replacement"
    vectors = estimator_matrix(ESTIMATORS, WITH_AUC, N_ITEMS, N_NEGATIVES, sampling=sampling)
    marginal = population.share @ sampled_rank_distribution(population.ranks, N_NEGATIVES, sampling)
    places = list(product(range(len(WITH_AUC)), range(len(ESTIMATORS))))
    n_held = np.zeros((len(WITH_AUC), len(ESTIMATORS)))
    priors = [Moments.from_values(vectors[place]) for place in places]
    for counts in rng.multinomial(n_users, marginal / marginal.sum(), repeats):
        # The intervals of `correct`, without its ranges and its refusals.
        _, likely = Population.from_counts(counts, N_ITEMS, sampling, SMOOTHING)
        for place, prior in zip(places, priors, strict=True):
            moments = Moments.from_values(vectors[place], counts)
            smooth = Moments.from_values(vectors[place], likely)
            interval = mean_interval(moments, n_users, prior, 0.95, smooth)
            n_held[place] += interval.ci_low <= vectors[place] @ marginal <= interval.ci_high
    return {f"{ESTIMATORS[j]} {WITH_AUC[i]}": n_held[i, j] / repeats for i, j in places}


def run_expectations(what: str, name: str, n_users: int, experiments: int) -> Shares:
    """Run the experiments on expectations with one population and number of users."""
    coverage = sampled_coverage if what == ESTIMATES else exact_coverage
    return coverage(
        expectation_populations()[name], n_users, generator(0, name, n_users), experiments
    )


def submit_expectations(pool: Executor, experiments: int) -> Jobs:
    """Start all experiments on expectations."""
    keys = product((ESTIMATES, EXACT), expectation_populations(), EXPECTATION_USERS)
    return {key: pool.submit(run_expectations, *key, experiments) for key in keys}


def expectations(jobs: Jobs) -> Iterator[str]:
    """Yield the tables of intervals in Markdown."""
    for what in (ESTIMATES, EXACT):
        rows, outside = [], []
        for name, n_users in product(expectation_populations(), EXPECTATION_USERS):
            shares = jobs[what, name, n_users].result()
            values = np.array(list(shares.values()))
            bad = [
                cell
                for cell, share in shares.items()
                if not LEAST_COVERAGE <= share <= MOST_COVERAGE
            ]
            outside += [f"{name}, {n_users:,} users: {x} {100 * shares[x]:.1f}" for x in bad]
            row = {"population": name, "users": f"{n_users:,}"}
            spread = {"least": values.min(), "mean": values.mean(), "greatest": values.max()}
            row |= {key: f"{100 * value:.1f}" for key, value in spread.items()}
            rows.append(row | {"outside 93 to 97": len(bad), "of": len(values)})
        yield f"\n## {what}\n"
        yield to_markdown(pd.DataFrame(rows))
        yield "\nOutside: " + ("; ".join(outside) or "none") + "."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=100, help="of each cell")
    parser.add_argument("--expectations", type=int, default=1000, help="the same; 0 for none")
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    parser.add_argument("--negatives", type=int, nargs="+", default=NEGATIVES)
    parser.add_argument("--populations", nargs="*", default=list(populations()))
    parser.add_argument("--users", type=int, nargs="+", default=USERS)
    parser.add_argument("--output", type=Path, default=REFERENCE)
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        jobs = []
        for name in options.populations:
            published = populations()[name].published is not None
            # There is one published draw, which more than 1,000 users would share too often.
            users = [each for each in options.users if each <= 1000 or not published]
            for m in (PUBLISHED,) if published else options.negatives:
                job = run_cells, name, m, users, options.shapes, options.experiments
                jobs.append(pool.submit(*job))
        below = submit_expectations(pool, options.expectations) if options.expectations else {}
        table = pd.DataFrame([row for job in jobs for row in job.result()])
        expected = list(expectations(below)) if below else []
        if expected:
            head = f"Percent of {options.expectations:,} experiments. The expectation of an"
            head = f"\n# Coverage of expectations\n\n{head} estimate is not the exact metric."
            expected.insert(0, head)
    table.to_csv(options.output / "coverage.csv", index=False, float_format="%.5g")
    lines = [
        "# Coverage of the 95 % range and of the 95 % intervals\n",
        "`make measure PAGE=coverage`; every cell in [coverage.csv](coverage.csv): a population, "
        f"m, users and metric, {options.experiments} experiments each. Users are drawn with "
        "replacement from the population, and negatives without. `published` has the negatives "
        "published with the models of NCF, m = 99.\n\n`held`: percent of ranges that hold the "
        "exact metric of the "
        "population, on average and least of all cells; `inverted`: percent of ranges refused "
        "because one end is above the other at 99 %; `misfit`: percent of samples with p < 0.01 "
        "of the chi-square. Refused because inverted is not held. Last: mean ends for recall@10 "
        "and the most users, divided by the exact metric.",
        *report(table),
        *expected,
    ]
    (options.output / "coverage.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
