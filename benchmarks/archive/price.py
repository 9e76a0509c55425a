"""How often 100 scores per user put X, Y and Z of the paper in the right order.

    MOVIELENS_ARCHIVE=ml-1m.zip python -m benchmarks.archive.price [--runs N] [--users N]

Writes results/reference/beyond/orders.csv. Method `users` ranks all items for as many users as the
scores allow, drawn without replacement and the same for all recommenders. Method `budget` is
`sm.evaluate_on_budget` with other random numbers in each run. An order is right if the difference
of the two estimates has the sign of the exact difference; `significantly_wrong` counts intervals
that exclude 0 on the wrong side.
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
from sampled_metrics.evaluation.rank import rank
from sampled_metrics.metrics import values
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics_study.paper import REFERENCE, Paper, read_paper
from sampled_metrics_study.recommenders import create

METRICS = ("recall@10", "ndcg@10", "ap")
NAMES = ("X", "Y", "Z")
PAIRS = tuple(combinations(range(len(NAMES)), 2))
PROXIES = ("popularity", "als")
SMALL = {"d": 8, "lambda": 10.0, "alpha": 0.2, "iterations": 15}  # settings of the proxy
BUDGET = 100
RUNS_OF_JOB = 2  # few, so that all processes end at about the same time
COLUMNS = (
    *("method", "proxy", "budget", "scores_per_user"),
    *("pair", "metric", "right", "significantly_wrong", "runs"),
)
Outcome = tuple[str, str, float, bool, bool]  # pair, metric, scores per user, right, wrong


def name_of(pair: tuple[int, int]) -> str:
    """Return the name of a pair as in the paper's tables."""
    first, second = pair
    return f"{NAMES[first]} vs {NAMES[second]}"


def judge(
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


def metrics_of_users(paper: Paper, scores: Mapping[str, Float]) -> Float:
    """Return the exact metrics of each user, shape (recommenders, metrics, users)."""
    metrics = []
    for recommender_scores in scores.values():
        ranks = rank(recommender_scores, paper.split.seen, paper.split.held_out)
        metrics.append([values(parse_measure(metric), ranks) for metric in METRICS])
    return np.array(metrics)


@cache
def study() -> tuple[Paper, dict[str, Float], Float]:
    """Return the paper's study, all scores and the metrics of users; computed once per process."""
    paper = read_paper()
    scores = {name: paper.scores(name) for name in NAMES}
    return paper, scores, metrics_of_users(paper, scores)


def evaluate_users(runs: range) -> Iterator[Outcome]:
    """Yield outcomes of full rankings for some users."""
    paper, _, exact = study()
    price = paper.split.n_candidates - 1
    n_users = price.size
    count = round(BUDGET * n_users / price.mean())
    for run in runs:
        rng = generator(0, "users", BUDGET, run)
        users = rng.choice(n_users, count, replace=False)
        paid = price[users].sum() / n_users
        for pair in PAIRS:
            differences = exact[pair[1]] - exact[pair[0]]
            for place, metric in enumerate(METRICS):
                sample = differences[place, users]
                error = sample.std(ddof=1) * np.sqrt((1 - count / n_users) / count)
                half = stdtrit(count - 1, 0.975) * error
                mean = sample.mean()
                estimate = mean, mean - half, mean + half
                yield judge(pair, metric, paid, differences[place].mean(), estimate)


def evaluate_budget(proxy: str, runs: range) -> Iterator[Outcome]:
    """Yield outcomes of evaluations on a budget."""
    paper, scores, exact_of_users = study()
    cheap: str | tuple[Float, Float] = proxy
    exact = exact_of_users.mean(axis=2)
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
            for place, difference in enumerate(result.differences[pair]):
                estimate = difference.value, difference.low, difference.high
                yield judge(pair, METRICS[place], paid, differences[place], estimate)


@one_thread()
def run_method(method: str, proxy: str, runs: range) -> pd.DataFrame:
    """Run a method several times; return a row for each run, pair and metric."""
    logging.disable()
    began = time.process_time()
    outcomes = evaluate_users(runs) if method == "users" else evaluate_budget(proxy, runs)
    columns = ["pair", "metric", "scores_per_user", "right", "significantly_wrong"]
    table = pd.DataFrame(outcomes, columns=columns)
    seconds = time.process_time() - began
    print(f"{len(runs)} runs of {method}, {proxy}: {seconds:.0f} s CPU", flush=True)
    return table.assign(method=method, proxy=proxy, budget=BUDGET)


def count_outcomes(table: pd.DataFrame) -> pd.DataFrame:
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
    """Run all methods, and write the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="evaluations on a budget, per proxy")
    parser.add_argument("--users", type=int, default=100, help="full rankings of some users")
    options = parser.parse_args()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(run_method, "users", "all items", range(options.users))]
        for proxy in PROXIES:
            for first in range(0, options.runs, RUNS_OF_JOB):
                runs = range(first, min(first + RUNS_OF_JOB, options.runs))
                jobs.append(pool.submit(run_method, "budget", proxy, runs))
        table = pd.concat([job.result() for job in jobs])
    count_outcomes(table).to_csv(REFERENCE / "beyond/orders.csv", index=False, float_format="%.10g")


if __name__ == "__main__":
    main()
