"""How wide the intervals on a budget are with good, weak and useless proxies, on random data.

    python -m benchmarks.archive.proxies [--runs N] [--budget N]

Writes docs/measured/proxies.md. Users and items have vectors; the scores of the recommender and of
a good proxy are their products plus noise. Runs differ in the random numbers of the evaluation.
"""

import argparse
import logging
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

import sampled_metrics as sm
from sampled_metrics._base.array_types import Float
from sampled_metrics._base.random_streams import generator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics_study.tables import to_markdown

PAGE = Path(__file__).parents[2] / "docs/measured/proxies.md"
USERS, ITEMS, FACTORS, SEEN = 943, 1682, 6, 60
METRICS = ("recall@10", "ndcg@10", "ap")
NOISE = {"good": 0.5, "middling": 3.0, "weak": 12.0}
PROXIES = (*NOISE, "useless", "reversed")
RUNS_OF_JOB = 10
ROUNDING = 1e-12
ABOUT = """# What a proxy is worth

`make measure PAGE=proxies` writes this page. {users:,} made-up users, {items:,} items,
{budget:g} scores per user, {runs} runs of each row. `helps`: percent of runs in which the first
scores showed that the proxy helps. `half`: half of the 95 % interval, divided by the exact metric,
on average; `held`: percent of intervals that hold the exact metric; Recall@10, NDCG@10 and AP
beside each other. Last, all candidates of as many random users as the scores pay for, with the
interval of Student. {cpu} s of CPU time.

"""


@cache
def make_data() -> tuple[Float, csr_array, Float, Float]:
    """Return scores, seen items, held-out items, and exact metrics of users; (metrics, users)."""
    rng = generator(0, "proxies")
    truth = rng.normal(size=(USERS, FACTORS)) @ rng.normal(size=(FACTORS, ITEMS))
    truth -= 1.5 * np.log(np.arange(1, ITEMS + 1))  # first items are popular
    scores = truth + rng.normal(size=truth.shape)
    liked = np.argsort(-truth - 1.5 * rng.gumbel(size=truth.shape), axis=1)[:, : SEEN + 1]
    held_out = liked[np.arange(USERS), rng.integers(0, SEEN + 1, USERS)]
    is_seen = np.zeros(truth.shape)
    np.put_along_axis(is_seen, liked, 1.0, axis=1)
    is_seen[np.arange(USERS), held_out] = 0.0
    held_out_scores = scores[np.arange(USERS), held_out]
    rank = 1 + ((scores > held_out_scores[:, np.newaxis]) & (is_seen == 0.0)).sum(axis=1)
    n = np.full(USERS, ITEMS - SEEN)
    exact = np.stack([parse_measure(name).value_at(rank, n) for name in METRICS])
    return scores, csr_array(is_seen), held_out, exact


def make_proxy(name: str) -> Float:
    """Return the scores of a proxy: standardised scores of the recommender plus noise."""
    scores = make_data()[0] / make_data()[0].std()
    noise = generator(0, "proxies", name).normal(size=scores.shape)
    if name == "useless":
        return noise
    if name == "reversed":
        return -scores
    return np.asarray(scores + NOISE[name] * noise)


def run_evaluations(
    name: str, budget: float, runs: range
) -> list[tuple[bool, list[bool], list[float]]]:
    """Run evaluations; return whether the proxy helps, coverage, and half-widths."""
    logging.disable()
    warnings.simplefilter("ignore")
    scores, seen, held, metrics_of_users = make_data()
    proxy = make_proxy(name)
    exact = metrics_of_users.mean(axis=1)
    results = []
    for seed in runs:
        result = sm.evaluate_on_budget(
            scores, METRICS, relevant=held, seen=seen, proxy=proxy, budget=budget, seed=seed
        )
        pairs = list(zip(result.estimates[0], exact.tolist(), strict=True))
        holds = [x.low - ROUNDING <= value <= x.high + ROUNDING for x, value in pairs]
        halves = [(x.high - x.low) / 2.0 / value for x, value in pairs]
        results.append((result.proxy_helps[0], holds, halves))
    return results


def evaluate_random_users(budget: float, runs: int) -> list[tuple[bool, list[bool], list[float]]]:
    """Evaluate as many random users in full as the scores allow."""
    _, _, _, metrics_of_users = make_data()
    exact = metrics_of_users.mean(axis=1)
    count = int(budget * USERS / (ITEMS - SEEN - 1))
    results = []
    for run in range(runs):
        users = generator(0, "random users", run).choice(USERS, count, replace=False)
        sample = metrics_of_users[:, users]
        error = sample.std(axis=1, ddof=1) * np.sqrt((1.0 - count / USERS) / count)
        half = quantile(count) * error
        holds = np.abs(sample.mean(axis=1) - exact) <= half
        results.append((False, holds.tolist(), (half / exact).tolist()))
    return results


def quantile(count: int) -> float:
    """Return the quantile of Student's distribution for 95 %."""
    return float(stdtrit(count - 1, 0.975))


def summary_row(
    name: str, results: list[tuple[bool, list[bool], list[float]]]
) -> dict[str, object]:
    """Average the runs of a proxy."""
    helps = np.mean([one for one, _, _ in results])
    holds = np.mean([one for _, one, _ in results], axis=0)
    halves = np.mean([one for _, _, one in results], axis=0)
    return {
        "proxy": name,
        "helps": "" if name == "random users" else f"{100 * helps:.0f}",
        "half": " / ".join(f"{value:.2f}" for value in halves),
        "held": " / ".join(f"{100 * value:.1f}" for value in holds),
    }


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="evaluations with each proxy")
    parser.add_argument("--proxies", nargs="*", default=PROXIES, choices=PROXIES)
    parser.add_argument("--budget", type=float, default=100.0, help="scores per user")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    jobs = {}
    with ProcessPoolExecutor(os.cpu_count(), initializer=threadpool_limits, initargs=(1,)) as pool:
        for name in options.proxies:
            parts = []
            for first in range(0, options.runs, RUNS_OF_JOB):
                runs = range(first, min(first + RUNS_OF_JOB, options.runs))
                parts.append(pool.submit(run_evaluations, name, options.budget, runs))
            jobs[name] = parts
        rows = []
        for name, parts in jobs.items():
            rows.append(summary_row(name, [run for part in parts for run in part.result()]))
            print(rows[-1], flush=True)
    rows.append(summary_row("random users", evaluate_random_users(options.budget, options.runs)))
    times = os.times()
    text = ABOUT.format(
        users=USERS,
        items=ITEMS,
        budget=options.budget,
        runs=options.runs,
        cpu=round(times.children_user + times.children_system),
    )
    options.output.write_text(f"{text}{to_markdown(pd.DataFrame(rows))}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
