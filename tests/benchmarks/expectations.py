"""How often 95 % intervals hold the expectation of what they belong to, by simulation.

Users are drawn from populations whose true ranks are known: recommenders X, Y and Z of the
reference run; one whose ranks are at most k with probability (k/n)^0.2; one that ranks at random.
Each user's sampled rank is drawn among m = 100 negatives, or the ranking is full. For every number
of users the tables have the least and the greatest share of experiments, over estimators and
metrics, in which the interval holds what it should, and which shares lie outside 93 to 97 %. The
expectation of an estimate from sampled ranks is not the exact metric. Part of `coverage.py`.
"""

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from itertools import product
from pathlib import Path

import numpy as np

from sampled_metrics import metrics
from sampled_metrics._base.seeds import generator
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.correct import correct
from sampled_metrics.inference.intervals import Shape, estimate
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import sampled_rank_distribution

ROOT = Path(__file__).parents[2]
N_ITEMS, N_NEGATIVES = 3541, 100
USERS = (50, 100, 200, 500, 1000, 6000)
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")]
ESTIMATORS = [
    parse_estimator(name)
    for name in ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
]
LEAST, MOST = 0.93, 0.97
ESTIMATES, EXACT = "Estimates from 100 negatives", "Exact metrics from full rankings"
Shares = dict[str, float]
Jobs = dict[tuple[str, str, int], Future[Shares]]


def populations() -> dict[str, Population]:
    ranks = {name: Ranks.read(ROOT / f"results/reference/ranks/{name}.parquet") for name in "XYZ"}
    known = {name: Population.of_users(records) for name, records in ranks.items()}
    return known | {
        "(k/n)^0.2": Population.power(N_ITEMS, 0.2),
        "random": Population.uniform(N_ITEMS),
    }


def of_exact(
    population: Population, n_users: int, rng: np.random.Generator, repeats: int
) -> Shares:
    """Share of experiments in which the interval of each exact metric holds its expectation."""
    if len(population.ranks) == 1:  # one record stands for all ranks, which a draw tells apart
        population = Population(
            Ranks(np.full(N_ITEMS, N_ITEMS), np.arange(N_ITEMS), np.zeros(N_ITEMS, int)),
            np.full(N_ITEMS, 1.0 / N_ITEMS),
        )
    held = dict.fromkeys((f"exact {measure}" for measure in MEASURES), 0)
    ranks = np.arange(1, N_ITEMS + 1)
    priors = [Shape.of(measure.at(ranks, N_ITEMS)) for measure in MEASURES]
    values = [metrics.values(measure, population.ranks) for measure in MEASURES]
    for _ in range(repeats):
        users = rng.choice(population.share.size, n_users, p=population.share)
        for cell, value, prior in zip(held, values, priors, strict=True):
            found = estimate(Shape.of(value[users]), n_users, prior)
            held[cell] += found.ci_low <= value @ population.share <= found.ci_high
    return {cell: count / repeats for cell, count in held.items()}


def of_sampled(
    population: Population, n_users: int, rng: np.random.Generator, repeats: int
) -> Shares:
    """The same for every estimate from sampled ranks."""
    vectors = estimator_matrix(
        ESTIMATORS, MEASURES, N_ITEMS, N_NEGATIVES, sampling="without-replacement"
    )
    marginal = population.share @ sampled_rank_distribution(population.ranks, N_NEGATIVES)
    places = list(product(range(len(MEASURES)), range(len(ESTIMATORS))))
    held = np.zeros((len(MEASURES), len(ESTIMATORS)))
    for counts in rng.multinomial(n_users, marginal / marginal.sum(), repeats):
        drawn = np.repeat(np.arange(1, N_NEGATIVES + 2), counts)
        ranks = SampledRanks(drawn, N_ITEMS, N_NEGATIVES)
        results = correct(ranks, [*map(str, MEASURES)], [*map(str, ESTIMATORS)])
        for place, result in zip(places, results, strict=True):
            held[place] += result.ci_low <= vectors[place] @ marginal <= result.ci_high
    return {f"{ESTIMATORS[j]} {MEASURES[i]}": held[i, j] / repeats for i, j in places}


def job(what: str, name: str, n_users: int, experiments: int) -> Shares:
    """Run the experiments with one population and number of users."""
    of = of_sampled if what == ESTIMATES else of_exact
    return of(populations()[name], n_users, generator(0, name, n_users), experiments)


def submit(pool: Executor, experiments: int) -> Jobs:
    """Start all experiments."""
    return {
        (what, name, n_users): pool.submit(job, what, name, n_users, experiments)
        for what in (ESTIMATES, EXACT)
        for name in populations()
        for n_users in USERS
    }


def report(jobs: Jobs) -> Iterator[str]:
    """Tables of the results in Markdown."""
    for what in dict.fromkeys(key[0] for key in jobs):
        yield f"\n## {what}\n"
        yield "| population | users | least | mean | greatest | outside 93 to 97 | of |"
        yield "| :--------- | ----: | ----: | ---: | -------: | ---------------: | -: |"
        found = {key[1:]: future.result() for key, future in jobs.items() if key[0] == what}
        for (name, n_users), shares in found.items():
            values = np.array(list(shares.values()))
            spread = (100 * x for x in (values.min(), values.mean(), values.max()))
            numbers = " | ".join(f"{x:.1f}" for x in spread)
            bad = int(((values < LEAST) | (values > MOST)).sum())
            yield f"| {name} | {n_users:,} | {numbers} | {bad} | {len(values)} |"
        outside = [
            f"{name}, {n_users:,} users: {cell} {100 * share:.1f}"
            for (name, n_users), shares in found.items()
            for cell, share in shares.items()
            if not LEAST <= share <= MOST
        ]
        yield "\nOutside: " + ("; ".join(outside) or "none") + "."
