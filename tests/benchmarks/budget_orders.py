"""How often evaluation on a budget orders recommenders rightly, and how often its intervals cover.

    python tests/benchmarks/budget_orders.py DATA PROXY [--budget B] [--seeds N] [--set SET]

DATA is `ml-1m` (needs results/split and results/models of a run of the study, under --results),
`synthetic` (3,000 users, 30,000 items; see --size), or a file of MovieLens, ratings.dat or u.data.
SET is `reported` or `tuning`: constants were chosen on the latter alone. In `hidden`, 40 random
items of the less popular half are above all others for every second user. Scores are kept under
--cache.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import generator
from sampled_metrics._base.defaults import BUDGET_METRICS
from sampled_metrics.budget.candidates import Order, make_proxy
from sampled_metrics.budget.evaluation import Session, Settings
from sampled_metrics.budget.model import Frame, over_ties, parse_metrics
from sampled_metrics.budget.problem import Problem
from sampled_metrics.study.recommenders.base import create, load_recommender

KNN = {"normalise_scores": False}
NEAR = {**KNN, "neighbour_axis": "column", "self_similarity": False}
BPR = ("bpr", {"d": 32, "learning_rate": 0.05, "iterations": 60})
ALS = {
    "ALS 16": ("als", {"d": 16, "iterations": 4, "seed": 1}),
    "ALS 32": ("als", {"d": 32, "iterations": 6, "seed": 1}),
}
COLUMNS = {f"kNN {k}": ("itemknn", {"k_prime": k, **NEAR}) for k in (20, 50)}
OTHERS = {"BPR": BPR, "random": ("random", {})}
SETS: dict[tuple[str, str], dict[str, Any]] = {
    ("ml-1m", "reported"): {"X": None, "Y": None, "Z": None, **OTHERS},
    ("ml-1m", "tuning"): {**ALS, **COLUMNS, "kNN q=2": ("itemknn", {"q": 2, **KNN})},
    ("synthetic", "reported"): {**ALS, **COLUMNS, **OTHERS},
}
HIDDEN = {**ALS, "kNN 50": COLUMNS["kNN 50"]}


def movielens_1m(args: argparse.Namespace) -> tuple[csr_array, Any]:
    split = np.load(args.results / "split/split.npz")
    shape = (split["held_out"].size, split["item_ids"].size)
    ones = np.ones(split["indices"].size)
    return csr_array((ones, split["indices"], split["indptr"]), shape=shape), split["held_out"]


def synthetic(args: argparse.Namespace) -> tuple[csr_array, Any]:
    """Zipf popularity times a log-bilinear taste; 100 distinct items per user on average."""
    rng = generator(0, "synthetic catalogue")
    (users, items), d = args.size, 12
    popularity = -0.9 * np.log(np.arange(1, items + 1))
    tastes, traits = rng.normal(size=(users, d)), rng.normal(size=(items, d))
    pairs = []
    for number, taste in enumerate(tastes):
        noise = rng.gumbel(size=items)
        count = int(np.clip(rng.lognormal(4.3, 0.7), 20, 1000))
        best = np.argsort(-(popularity + 0.8 * traits @ taste + noise))[:count]
        pairs.append(np.stack([np.full(count, number), best]))
    user, item = np.concatenate(pairs, axis=1)
    return last_held_out(user, item, rng.permutation(user.size))


def movielens(args: argparse.Namespace) -> tuple[csr_array, Any]:
    events = pd.read_csv(args.data, sep="::|\\t", engine="python", header=None)
    user, item = (np.unique(events[column], return_inverse=True)[1] for column in (0, 1))
    return last_held_out(user, item, events[3].to_numpy())


def hide(scores: Any, seen: csr_array) -> Any:
    """Put 40 items of the less popular half above all others, for every second user."""
    events, hidden = np.bincount(seen.indices, minlength=seen.shape[1]), np.array(scores)
    niche = np.argsort(events, kind="stable")[: events.size // 2]
    rng = generator(0, "hidden taste")
    for row in hidden[::2]:
        row[rng.choice(niche, 40, replace=False)] += np.ptp(row) + 1.0
    return hidden


def last_held_out(user: Any, item: Any, when: Any) -> tuple[csr_array, Any]:
    order = np.lexsort((when, user))
    user, item = user[order], item[order]
    last = np.append(user[1:] != user[:-1], True)
    seen = csr_array((np.ones((~last).sum()), (user[~last], item[~last])))
    seen.resize((user.max() + 1, item.max() + 1))
    return seen, item[last]


def scores_of(name: str, about: Any, seen: csr_array, args: argparse.Namespace) -> Any:
    """Scores of all users and items, float64; trained once and kept."""
    path = args.cache / f"{Path(args.data).name}-{name.replace(' ', '-')}.npy"
    if not path.exists():
        stored = args.results / f"models/{name}.npz"
        model = load_recommender(stored) if about is None else create(*about).fit(seen)
        np.save(path, np.concatenate([model.score(rows) for rows in blocks(seen.shape[0])]))
    return np.load(path, mmap_mode="r")


def blocks(n_users: int) -> list[Any]:
    return np.array_split(np.arange(n_users), max(1, n_users // 256))


def exact_values(scores: Any, seen: csr_array, held_out: Any, metrics: Any) -> Any:
    """Exact metrics per user, shape (metrics, users)."""
    better, tied = np.empty((2, held_out.size), np.int64)
    for rows in blocks(held_out.size):
        block = np.array(scores[rows])
        own = block[np.arange(rows.size), held_out[rows], np.newaxis]
        block[seen[rows].toarray() > 0] = -np.inf
        better[rows], tied[rows] = (block > own).sum(1), (block == own).sum(1) - 1
    return over_ties(metrics, better, tied)


def run(frame: Frame, settings: Settings, scores: list[Any]) -> tuple[Any, float]:
    """Result, and CPU seconds of the method itself."""
    started, asking, session = time.process_time(), 0.0, Session(frame, settings)
    while (batch := session.ask()) is not None:
        paused, values = time.process_time(), np.empty(batch.users.size)
        for number, matrix in enumerate(scores):
            mine = batch.recommender == number
            values[mine] = matrix[batch.users[mine], batch.items[mine]]
        asking += time.process_time() - paused
        session.tell(values)
    return session.finished(), time.process_time() - started - asking


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="ml-1m, synthetic, or a file of MovieLens")
    parser.add_argument("proxy", help="popularity, als, or the name of one of the recommenders")
    parser.add_argument("--budget", type=float, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--set", default="reported")
    parser.add_argument("--until-decided", action="store_true")
    parser.add_argument("--size", type=int, nargs=2, default=(3000, 30_000))
    for name, folder in (("--results", "results"), ("--cache", ".cache/budget")):
        parser.add_argument(name, type=Path, default=Path(folder))
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    return args


def main() -> None:
    args = arguments()
    readers = {"ml-1m": movielens_1m, "synthetic": synthetic}
    seen, held_out = readers.get(args.data, movielens)(args)
    about = HIDDEN if args.set == "hidden" else SETS[args.data, args.set]
    names, metrics = tuple(about), parse_metrics(BUDGET_METRICS)
    scores = [scores_of(name, about[name], seen, args) for name in names]
    scores = [hide(matrix, seen) for matrix in scores] if args.set == "hidden" else scores
    exact = np.stack([exact_values(matrix, seen, held_out, metrics) for matrix in scores])
    proxy = scores[names.index(args.proxy)] if args.proxy in names else args.proxy
    settings = Settings(names=names, budget=args.budget, until_decided=args.until_decided)
    problem = Problem.of(held_out, seen)
    order = Order(problem, make_proxy(proxy, problem, 0))
    rows = []
    for seed in range(args.seeds):
        result, seconds = run(Frame(order, seed), settings, scores)
        asked = np.mean(result.scores_per_user)
        print(f"seed {seed}: {asked:.1f} scores, {seconds:.2f} s CPU, weak {result.weak}")
        rows += rows_of(result, exact.mean(2))
    columns = ["of", "metric", "exact", "flagged", "value", "low", "high", "centre"]
    report(pd.DataFrame(rows, columns=columns))


def rows_of(result: Any, exact: Any) -> list[tuple[Any, ...]]:
    said = [weak or np.isnan(depth) for weak, depth in zip(result.weak, result.depth, strict=True)]
    single = zip(result.names, exact, said, result.estimates, strict=True)
    pairs = [
        (f"{result.names[a]} < {result.names[b]}", exact[b] - exact[a], False, row)
        for (a, b), row in result.differences.items()
    ]
    return [
        (name, metric, value, weak, x.value, x.low, x.high, x.centre)
        for name, values, weak, row in [*single, *pairs]
        for metric, value, x in zip(result.metrics, values, row, strict=True)
    ]


def report(table: pd.DataFrame) -> None:
    """Print bias, errors, coverage and orders over seeds, in points of percent or shares."""
    exact, error = table["exact"], table["value"] - table["exact"]
    decided = (table["low"] > 0) | (table["high"] < 0)
    half = (table["high"] - table["low"]) / 2
    columns = {
        "exact": 100 * exact,
        "bias / half-width": error / half,
        "flagged": table["flagged"],
        "near or flagged": table["flagged"] | (error.abs() <= half / 3),
        "bias": 100 * error,
        "rmse": 1e4 * error**2,
        "design bias": 100 * (table["centre"] - exact),
        "half-width": 100 * half,
        "covered": (table["low"] <= exact) & (exact <= table["high"]),
        "right": np.sign(table["value"]) == np.sign(exact),
        "significant": decided,
        "wrong": decided & (np.sign(table["low"] + table["high"]) != np.sign(exact)),
    }
    means = table[["of", "metric"]].assign(**columns).groupby(["of", "metric"], sort=False).mean()
    print(means.assign(rmse=np.sqrt(means["rmse"])).round(3).to_string())


if __name__ == "__main__":
    main()
