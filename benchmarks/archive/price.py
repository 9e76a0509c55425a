"""How often 100 scores per user put X, Y and Z of the paper in the right order.

    MOVIELENS_ARCHIVE=ml-1m.zip python -m benchmarks.archive.price [--runs N] [--users N]

Writes results/reference/beyond/orders.csv. `users` ranks all items of as many users as the scores
pay for, drawn without replacement, the same for all recommenders. `budget` is
`sm.evaluate_on_budget`, whose random numbers differ between the runs. An order is right if the
difference of the two estimates has the sign of the exact one; `significantly_wrong` counts
intervals that exclude 0 on the wrong side.
"""

import argparse
import logging
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

import sampled_metrics as sm
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.metrics import values
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks.data import rank
from sampled_metrics_study.paper import REFERENCE, Paper, read_paper
from sampled_metrics_study.recommenders import create

METRICS = ("recall@10", "ndcg@10", "ap")
NAMES = ("X", "Y", "Z")
PAIRS = tuple(combinations(range(len(NAMES)), 2))
PROXIES = ("popularity", "als")
SMALL = {"d": 8, "lambda": 10.0, "alpha": 0.2, "iterations": 15}  # settings of the proxy
BUDGET = 100
RUNS_OF_JOB = 2  # few, so that processes end together
COLUMNS = (
    *("method", "proxy", "budget", "scores_per_user"),
    *("pair", "metric", "right", "significantly_wrong", "runs"),
)
Outcome = tuple[str, str, float, bool, bool]  # pair, metric, scores per user, right, wrong


def name_of(pair: tuple[int, int]) -> str:
    """Name of a pair as in the paper's tables."""
    first, second = pair
    return f"{NAMES[first]} vs {NAMES[second]}"


def outcome(
    pair: tuple[int, int],
    metric: str,
    price: float,
    exact: float,
    estimate: tuple[float, float, float],
) -> Outcome:
    """Judge an estimated difference and its interval by the exact difference."""
    value, low, high = estimate
    wrong = high < 0 if exact > 0 else low > 0
    return name_of(pair), metric, price, value * exact > 0, wrong


def of_users(paper: Paper, scores: Mapping[str, Float]) -> Float:
    """Exact metrics of each user, shape (recommenders, metrics, users)."""
    found = []
    for of_recommender in scores.values():
        ranks = rank(of_recommender, paper.split.seen, paper.split.held_out)
        found.append([values(parse_measure(metric), ranks) for metric in METRICS])
    return np.array(found)


@cache
def study() -> tuple[Paper, dict[str, Float], Float]:
    """Return the paper's study, all scores and the exact metrics of each user, once a process."""
    paper = read_paper()
    scores = {name: paper.scores(name) for name in NAMES}
    return paper, scores, of_users(paper, scores)


def by_users(runs: range) -> Iterator[Outcome]:
    """Full rankings of some users."""
    paper, _, exact = study()
    price = paper.split.n_candidates - 1
    n_users = price.size
    count = round(BUDGET * n_users / price.mean())
    for run in runs:
        rng = generator(0, "users", BUDGET, run)
        drawn = rng.choice(n_users, count, replace=False)
        paid = price[drawn].sum() / n_users
        for pair in PAIRS:
            differences = exact[pair[1]] - exact[pair[0]]
            for place, metric in enumerate(METRICS):
                sample = differences[place, drawn]
                error = sample.std(ddof=1) * np.sqrt((1 - count / n_users) / count)
                half = stdtrit(count - 1, 0.975) * error
                mean = sample.mean()
                estimate = mean, mean - half, mean + half
                yield outcome(pair, metric, paid, differences[place].mean(), estimate)


def by_budget(proxy: str, runs: range) -> Iterator[Outcome]:
    """Evaluations on a budget."""
    paper, scores, of_all = study()
    cheap: str | tuple[Float, Float] = proxy
    exact = of_all.mean(axis=2)
    data = {"relevant": paper.split.held_out, "seen": paper.split.seen}
    for run in runs:
        if proxy == "als":
            small = create("als", {**SMALL, "seed": run}).fit(paper.split.seen)
            cheap = small.user_vectors, small.item_vectors
        result = sm.evaluate_on_budget(
            scores, METRICS, proxy=cheap, budget=BUDGET, seed=run, **data
        )
        paid = float(np.mean(result.scores_per_user))
        for pair in PAIRS:
            differences = exact[pair[1]] - exact[pair[0]]
            for place, found in enumerate(result.differences[pair]):
                estimate = found.value, found.low, found.high
                yield outcome(pair, METRICS[place], paid, differences[place], estimate)


@one_thread()
def outcomes(method: str, proxy: str, runs: range) -> pd.DataFrame:
    """Run one method some times; a row for each run, pair and metric."""
    logging.disable()
    began = time.process_time()
    found = by_users(runs) if method == "users" else by_budget(proxy, runs)
    columns = ["pair", "metric", "scores_per_user", "right", "significantly_wrong"]
    table = pd.DataFrame(found, columns=columns)
    seconds = time.process_time() - began
    print(f"{len(runs)} runs of {method}, {proxy}: {seconds:.0f} s CPU", flush=True)
    return table.assign(method=method, proxy=proxy, budget=BUDGET)


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """Count the outcomes of each method, pair and metric."""
    groups = table.groupby(["method", "proxy", "budget", "pair", "metric"], sort=False)
    counts = groups[["right", "significantly_wrong"]].sum()
    counts["runs"] = groups.size()
    counts = counts.reset_index()
    price = table.groupby(["method", "proxy"])["scores_per_user"].mean()
    counts["scores_per_user"] = [
        price[key] for key in zip(counts["method"], counts["proxy"], strict=True)
    ]
    return counts[list(COLUMNS)]


def main() -> None:
    """Run all methods, print what they took, and keep the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="evaluations on a budget, per proxy")
    parser.add_argument("--users", type=int, default=100, help="full rankings of some users")
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(outcomes, "users", "all items", range(options.users))]
        for proxy in PROXIES:
            for first in range(0, options.runs, RUNS_OF_JOB):
                runs = range(first, min(first + RUNS_OF_JOB, options.runs))
                jobs.append(pool.submit(outcomes, "budget", proxy, runs))
        table = pd.concat([job.result() for job in jobs])
    counted(table).to_csv(REFERENCE / "beyond/orders.csv", index=False, float_format="%.10g")


if __name__ == "__main__":
    main()
