"""Processor seconds of evaluations by this package and by others, on the same made-up vectors.

    python benchmarks/peers.py [NAME=PYTHON ...]

6,040 users, 3,706 items, 16 dimensions, as many events as MovieLens 1M. Each package runs in the
interpreter given for its name, on one thread; `make bench-peers` makes their environments. What
starts from lists of the top 10 includes making them by numpy. A row is the least of five runs and
how many times ours it is. Metrics that differ from ours end the run.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

K = 10
N_USERS, N_ITEMS, N_DIMENSIONS, N_SEEN = 6040, 3706, 16, 165
RUNS = 5
Metrics = dict[str, float]
Data = dict[str, np.ndarray]


def made() -> Data:
    """Make vectors of users and items, the items that each user has seen, and one held out."""
    rng = np.random.default_rng(0)
    popularity = np.arange(1, N_ITEMS + 1) ** -0.8
    users = rng.gamma(1.0, 1.0, (N_USERS, N_DIMENSIONS))
    items = rng.gamma(0.5, 1.0, (N_ITEMS, N_DIMENSIONS)) * np.sqrt(popularity)[:, None]
    keys = np.log(popularity) + rng.gumbel(size=(N_USERS, N_ITEMS))
    seen = np.sort(np.argpartition(-keys, N_SEEN, axis=1)[:, :N_SEEN], axis=1)
    liked = np.log(users @ items.T) + rng.gumbel(size=keys.shape)
    np.put_along_axis(liked, seen, -np.inf, axis=1)
    return {"users": users, "items": items, "seen": seen, "held_out": liked.argmax(axis=1)}


def top(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Return items and scores of the top K of each user."""
    scores = data["users"] @ data["items"].T
    np.put_along_axis(scores, data["seen"], -np.inf, axis=1)
    items = np.argpartition(-scores, K, axis=1)[:, :K]
    best = np.take_along_axis(scores, items, axis=1)
    order = np.argsort(-best, axis=1)
    return np.take_along_axis(items, order, axis=1), np.take_along_axis(best, order, axis=1)


def texts(data: Data) -> dict[str, dict[str, float]]:
    """Return the top K of each user as dictionaries from texts."""
    items, scores = top(data)
    lists = {}
    for user in range(N_USERS):
        lists[str(user)] = dict(zip(map(str, items[user]), scores[user].tolist(), strict=True))
    return lists


def ours(data: Data) -> Callable[[], Metrics]:
    from scipy.sparse import csr_array

    import sampled_metrics as sm

    start = np.arange(N_USERS + 1) * N_SEEN
    marks = np.ones(data["seen"].size, dtype=bool)
    seen = csr_array((marks, data["seen"].ravel(), start), shape=(N_USERS, N_ITEMS))

    def evaluate() -> Metrics:
        ranks = sm.rank((data["users"], data["items"]), seen, data["held_out"])
        found = sm.evaluate(ranks, ["recall@10", "ndcg@10", "ap", "auc"])
        return {each.metric: each.value for each in found}

    return evaluate


def implicit(data: Data) -> Callable[[], Metrics]:
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    model = AlternatingLeastSquares(num_threads=1)
    model.user_factors = data["users"]
    model.item_factors = data["items"]
    shape = (N_USERS, N_ITEMS)
    start = np.arange(N_USERS + 1) * N_SEEN
    marks = np.ones(data["seen"].size, dtype=np.float32)
    seen = csr_matrix((marks, data["seen"].ravel(), start), shape)
    rows = np.arange(N_USERS)
    test = csr_matrix((np.ones(N_USERS, dtype=np.float32), (rows, data["held_out"])), shape)

    def evaluate() -> Metrics:
        found = ranking_metrics_at_k(model, seen, test, K=K, show_progress=False, num_threads=1)
        return {"recall@10": float(found["precision"]), "ndcg@10": float(found["ndcg"])}

    return evaluate


def cornac(data: Data) -> Callable[[], Metrics]:
    from cornac.data import Dataset
    from cornac.eval_methods.base_method import ranking_eval
    from cornac.metrics import AUC, MAP, NDCG, Recall
    from cornac.models import Recommender

    # All ids are known beforehand, so that its numbers of users and items are ours.
    users = {user: user for user in range(N_USERS)}
    items = {item: item for item in range(N_ITEMS)}
    events = []
    for user in users:
        events += [(user, int(item), 1.0) for item in data["seen"][user]]
    held_out = [(user, int(item), 1.0) for user, item in enumerate(data["held_out"])]
    train = Dataset.build(events, global_uid_map=users, global_iid_map=items, seed=0)
    test = Dataset.build(held_out, global_uid_map=users, global_iid_map=items, seed=0)

    class Given(Recommender):
        def score(self, user_idx: int, item_idx: Any = None) -> np.ndarray:
            scores = data["items"] @ data["users"][user_idx]
            return scores if item_idx is None else scores[item_idx]

    model = Given("given", trainable=False)
    model.fit(train)
    model.num_items = N_ITEMS

    def evaluate() -> Metrics:
        chosen = [Recall(k=K), NDCG(k=K), MAP(), AUC()]
        means, _ = ranking_eval(model, chosen, train, test, exclude_unknowns=False)
        names = ["recall@10", "ndcg@10", "ap", "auc"]
        return dict(zip(names, map(float, means), strict=True))

    return evaluate


def ranx(data: Data) -> Callable[[], Metrics]:
    from ranx import Qrels, Run, evaluate

    qrels = Qrels({str(user): {str(item): 1} for user, item in enumerate(data["held_out"])})

    def evaluated() -> Metrics:
        run = Run(texts(data))
        found = evaluate(qrels, run, ["recall@10", "ndcg@10"], make_comparable=True)
        return {name: float(value) for name, value in found.items()}

    return evaluated


def pytrec_eval(data: Data) -> Callable[[], Metrics]:
    import pytrec_eval as trec

    qrels = {str(user): {str(item): 1} for user, item in enumerate(data["held_out"])}

    def evaluate() -> Metrics:
        evaluator = trec.RelevanceEvaluator(qrels, {"recall.10", "ndcg_cut.10"})
        found = evaluator.evaluate(texts(data)).values()
        recall = sum(each["recall_10"] for each in found) / N_USERS
        ndcg = sum(each["ndcg_cut_10"] for each in found) / N_USERS
        return {"recall@10": recall, "ndcg@10": ndcg}

    return evaluate


def rectools(data: Data) -> Callable[[], Metrics]:
    import pandas as pd
    from rectools.metrics import NDCG, Recall, calc_metrics

    rows = np.arange(N_USERS)
    test = pd.DataFrame({"user_id": rows, "item_id": data["held_out"]})
    metrics = {"recall@10": Recall(k=K), "ndcg@10": NDCG(k=K, divide_by_achievable=True)}

    def evaluate() -> Metrics:
        user = np.repeat(rows, K)
        rank = np.tile(np.arange(1, K + 1), N_USERS)
        lists = pd.DataFrame({"user_id": user, "item_id": top(data)[0].ravel(), "rank": rank})
        return {name: float(x) for name, x in calc_metrics(metrics, lists, test).items()}

    return evaluate


PACKAGES = {each.__name__: each for each in (ours, implicit, cornac, ranx, pytrec_eval, rectools)}


def measure(package: str, file: str) -> None:
    """Print the least seconds and the metrics of one package, in the interpreter that has it."""
    with np.load(file) as arrays:
        evaluate = PACKAGES[package](dict(arrays))
    metrics = evaluate()  # what is compiled or imported on first use is not timed
    seconds = []
    for _ in range(RUNS):
        began = time.process_time()
        evaluate()
        seconds.append(time.process_time() - began)
    sys.stdout.write("\n" + json.dumps({"cpu": min(seconds), "metrics": metrics}) + "\n")


def main() -> None:
    pythons = {"ours": sys.executable, "implicit": sys.executable}
    pythons.update(other.split("=", 1) for other in sys.argv[1:])
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    environment["NUMBA_NUM_THREADS"] = "1"
    rows = {}
    print(f"| {'package':11} | {'metrics':32} | CPU s | times ours |")
    print(f"| :{'-' * 10} | :{'-' * 31} | ----: | ---------: |")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.npz")
        np.savez(file, **made())
        for package, python in pythons.items():
            command = [python, "-W", "ignore", __file__, "--measure", package, str(file)]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            row = rows[package] = json.loads(done.stdout.splitlines()[-1])
            names = ", ".join(row["metrics"])
            times = row["cpu"] / rows["ours"]["cpu"]
            print(f"| {package:11} | {names:32} | {row['cpu']:5.3f} | {times:10.1f} |", flush=True)
            for name, value in row["metrics"].items():
                expected = rows["ours"]["metrics"][name]
                if abs(value - expected) > 1e-4:
                    sys.exit(f"{package}: {name} is {value}, ours is {expected}")
    print(f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        package, file = sys.argv[2:]
        sys.argv[1:] = []
        measure(package, file)
    else:
        main()
