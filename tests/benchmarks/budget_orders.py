"""How often evaluation on a budget orders recommenders rightly, and how often its intervals cover.

    python tests/benchmarks/budget_orders.py DATA PROXY [--budget B] [--seeds N] [--set SET]

DATA is `ml-1m` (needs results/split and results/models of a run of the study, under --results),
`ml-100k` (needs the events under --events) or `synthetic` (30,000 items, 3,000 users). SET is
`reported` or `tuning`: constants were chosen on the latter alone. Scores are kept under --cache.
Prints, per recommender and metric, the exact value, bias and error of the value to rank by, the
coverage and half-width of the interval; per pair the share of right and of significantly wrong
orders; and the cost.
"""

import argparse
import time
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.defaults import BUDGET_METRICS
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.evaluation import METHODS, Settings, evaluation
from sampled_metrics.inference.budget.order import Order
from sampled_metrics.inference.budget.proxies import make_proxy
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.values import over_ties, parse_metrics
from sampled_metrics.recommenders.base import create, load_recommender

KNN = {"normalise_scores": False}
NEAR = {**KNN, "neighbour_axis": "column", "self_similarity": False}
BPR = ("bpr", {"d": 32, "learning_rate": 0.05, "iterations": 60})
SETS: dict[tuple[str, str], dict[str, Any]] = {
    ("ml-1m", "reported"): {"X": None, "Y": None, "Z": None, "BPR": BPR, "random": ("random", {})},
    ("ml-1m", "tuning"): {
        "ALS 32": ("als", {"d": 32, "seed": 1, "iterations": 6}),
        "kNN q=2": ("itemknn", {"q": 2, **KNN}),
        "kNN 20": ("itemknn", {"k_prime": 20, **NEAR}),
        "kNN 50": ("itemknn", {"k_prime": 50, **NEAR}),
    },
}
SMALL = {
    "ALS 16": ("als", {"d": 16, "iterations": 4, "seed": 1}),
    "ALS 32": ("als", {"d": 32, "iterations": 6, "seed": 2}),
    "kNN q=1": ("itemknn", {"q": 1, **KNN}),
    "kNN q=3": ("itemknn", {"q": 3, **KNN}),
    "kNN 20": ("itemknn", {"k_prime": 20, **NEAR}),
    "BPR": BPR,
    "random": ("random", {}),
}
SETS["ml-100k", "tuning"] = SMALL
SETS["synthetic", "reported"] = {
    "ALS 16": SMALL["ALS 16"],
    "ALS 32": SMALL["ALS 32"],
    "kNN 20": SMALL["kNN 20"],
    "kNN 50": ("itemknn", {"k_prime": 50, **NEAR}),
    "BPR": BPR,
    "random": ("random", {}),
}


class Run(NamedTuple):
    """Result, CPU seconds of the method itself, number of batches, exact metrics."""

    result: BudgetResult
    seconds: float
    batches: int
    exact: Any


def movielens_1m(args: argparse.Namespace) -> tuple[csr_array, Any]:
    split = np.load(args.results / "split/split.npz")
    shape = (split["held_out"].size, split["item_ids"].size)
    ones = np.ones(split["indices"].size)
    return csr_array((ones, split["indices"], split["indptr"]), shape=shape), split["held_out"]


def movielens_100k(args: argparse.Namespace) -> tuple[csr_array, Any]:
    user, item, _, when = np.loadtxt(args.events, dtype=np.int64).T
    user, item = (np.unique(column, return_inverse=True)[1] for column in (user, item))
    return last_held_out(user, item, when)


def synthetic(args: argparse.Namespace) -> tuple[csr_array, Any]:
    """Zipf popularity times a log-bilinear taste; 100 distinct items per user on average."""
    rng = generator(args.catalogue, "synthetic catalogue")
    users, items, d = 3000, 30_000, 12
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


def last_held_out(user: Any, item: Any, when: Any) -> tuple[csr_array, Any]:
    order = np.lexsort((when, user))
    user, item = user[order], item[order]
    last = np.append(user[1:] != user[:-1], True)
    seen = csr_array((np.ones((~last).sum()), (user[~last], item[~last])))
    seen.resize((user.max() + 1, item.max() + 1))
    return seen, item[last]


DATA = {"ml-1m": movielens_1m, "ml-100k": movielens_100k, "synthetic": synthetic}


def scores_of(name: str, about: Any, seen: csr_array, args: argparse.Namespace) -> Any:
    """Scores of all users and items, float64; trained once and kept."""
    number = f"-{args.catalogue}" if args.data == "synthetic" and args.catalogue else ""
    path = args.cache / f"{args.data}{number}-{name.replace(' ', '-')}.npy"
    if not path.exists():
        if about is None:
            model = load_recommender(args.results / f"models/{name}.npz")
        else:
            model = create(*about).fit(seen)
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
    return np.stack([over_ties(metric, better, tied) for metric in metrics])


def run(frame: Frame, items: Any, settings: Settings, scores: list[Any]) -> tuple[Any, float, int]:
    """Result, CPU seconds of the method itself and number of batches."""
    started, asking, batches = time.process_time(), 0.0, 0
    steps, values = evaluation(frame, items, settings), None
    while True:
        try:
            batch = next(steps) if values is None else steps.send(values)
        except StopIteration as stop:
            return stop.value, time.process_time() - started - asking, batches
        paused = time.process_time()
        values = np.empty(batch.users.size)
        for number, matrix in enumerate(scores):
            mine = batch.recommender == number
            values[mine] = matrix[batch.users[mine], batch.items[mine]]
        asking += time.process_time() - paused
        batches += 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=DATA)
    parser.add_argument("proxy", help="popularity, als, or the name of one of the recommenders")
    parser.add_argument("--budget", type=float, default=100)
    parser.add_argument("--method", choices=METHODS, default="adaptive")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--set", default="reported")
    parser.add_argument("--until-decided", action="store_true")
    parser.add_argument("--only", nargs="*", help="names of recommenders")
    parser.add_argument("--users", type=int, help="as many users, drawn anew for every seed")
    parser.add_argument("--catalogue", type=int, default=0, help="seed of the synthetic one")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--events", type=Path, default=Path("u.data"))
    parser.add_argument("--cache", type=Path, default=Path(".cache/budget"))
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    return args


def main() -> None:
    args = arguments()
    seen, held_out = DATA[args.data](args)
    about = SETS[args.data, args.set]
    names = tuple(args.only or about)
    scores = [scores_of(name, about[name], seen, args) for name in names]
    metrics = parse_metrics(BUDGET_METRICS)
    exact = [exact_values(one, seen, held_out, metrics) for one in scores]
    proxy = args.proxy
    if proxy == "als":
        proxy = scores_of("proxy", ("als", {"d": 8}), seen, args)
    elif proxy != "popularity":
        proxy = scores_of(proxy, about[proxy], seen, args)
    settings = Settings(names, metrics, args.budget, args.method, until_decided=args.until_decided)
    runs: list[Run] = []
    order = None
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        users = np.arange(held_out.size)
        if args.users:
            rng = generator(seed, "users")
            users = np.sort(rng.choice(users, args.users, replace=False))
        if args.users or order is None:
            rows = Candidates(csr_array(seen[users]), held_out[users])
            matrix = proxy if isinstance(proxy, str) else np.array(proxy[users])
            order = Order(rows, make_proxy(matrix, rows.seen, (users.size, seen.shape[1]), 0))
        picked = [np.array(one[users]) for one in scores] if args.users else scores
        outcome = run(Frame(order, rows.owner, seed), rows.item, settings, picked)
        runs.append(Run(*outcome, np.stack([one[:, users].mean(1) for one in exact])))
    report(args, names, runs)


def report(args: argparse.Namespace, names: tuple[str, ...], runs: list[Run]) -> None:
    results = [one.result for one in runs]
    cost = np.array([result.n_asked for result in results]) / results[0].n_users
    print(
        f"{args.data}, proxy {args.proxy}, budget {args.budget:g}, {args.seeds} seeds;",
        f"scores per user {cost.mean(0).round(1)} (all {cost.mean():.1f}, most",
        f"{cost.mean(1).max():.1f}); CPU {np.mean([one.seconds for one in runs]):.2f} s for",
        f"{len(names)} recommenders; {runs[-1].batches} batches;",
        f"audited {np.mean([result.n_audited for result in results]):.0f}",
    )
    depths = np.array([result.depth for result in results])
    depth = [
        np.median(column[~np.isnan(column)] if np.isfinite(column).any() else column)
        for column in depths.T
    ]
    weak = np.mean([result.weak for result in results], axis=0)
    for number, name in enumerate(names):
        print(f"{name:18s} depth {depth[number]:.0f}, called weak in {weak[number]:.2f}")
    for number, name in enumerate(names):
        rows = [result.estimates[number] for result in results]
        of_one(name, np.array([one.exact[number] for one in runs]), rows)
    for a, b in combinations(range(len(names)), 2):
        rows = [result.differences[a, b] for result in results]
        difference = np.array([one.exact[b] - one.exact[a] for one in runs])
        of_pair(f"{names[a]} < {names[b]}", difference, rows)


def of_one(name: str, exact: Any, rows: list[Any]) -> None:
    value, low, high, centre = columns(rows)
    covered = ((low <= exact) & (exact <= high)).mean(0)
    error = value - exact
    print(
        f"{name:18s}",
        "exact " + " ".join(f"{100 * one:6.2f}" for one in exact.mean(0)),
        "| bias " + " ".join(f"{100 * one:6.3f}" for one in error.mean(0)),
        "| rmse " + " ".join(f"{100 * one:5.3f}" for one in np.sqrt((error**2).mean(0))),
        "| design bias " + " ".join(f"{100 * one:6.3f}" for one in (centre - exact).mean(0)),
        "| half " + " ".join(f"{100 * one:5.2f}" for one in ((high - low) / 2).mean(0)),
        "| covered " + " ".join(f"{one:.2f}" for one in covered),
    )


def of_pair(name: str, difference: Any, rows: list[Any]) -> None:
    value, low, high, _ = columns(rows)
    right = (np.sign(value) == np.sign(difference)).mean(0)
    significant = (low > 0) | (high < 0)
    wrong = significant & (np.where(low > 0, 1, -1) != np.sign(difference))
    covered = ((low <= difference) & (difference <= high)).mean(0)
    print(
        f"{name:22s}",
        "right " + " ".join(f"{one:.2f}" for one in right),
        "| significant " + " ".join(f"{one:.2f}" for one in significant.mean(0)),
        "| significantly wrong " + " ".join(f"{one:.2f}" for one in wrong.mean(0)),
        "| covered " + " ".join(f"{one:.2f}" for one in covered),
    )


def columns(rows: list[Any]) -> list[Any]:
    """Values, lower and upper limits and centres, shape (seeds, metrics) each."""
    fields = ("value", "low", "high", "centre")
    return [np.array([[getattr(one, name) for one in row] for row in rows]) for name in fields]


if __name__ == "__main__":
    main()
