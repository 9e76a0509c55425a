"""Processor time of evaluations by this package and by other libraries on the same vectors.

    python -m benchmarks.peers

Vectors are random: 6,040 users, 3,706 items and 16 dimensions, with as many events as MovieLens 1M;
and 10,000 users, 100,000 items and 64 dimensions, in float32. Each library has its own environment
and runs on one thread, except for one row of ours. Times are summed over threads. Libraries that
take lists of the top 10 are charged for making these lists with numpy. A row has the shortest of up
to five runs, and its ratio to ours. The run ends if metrics differ from ours. The tables are
written to results/reference/peers.md.
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

from benchmarks.conditions import conditions
from benchmarks.environments import python_with

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "results/reference/peers.md"
K = 10
N_USERS, N_ITEMS, N_DIMENSIONS, N_SEEN = 6040, 3706, 16, 165
N_NEGATIVES = REPETITIONS = 100
REQUIREMENTS = {
    "cornac": ("cornac",),
    "ranx": ("ranx",),
    "pytrec_eval": ("pytrec-eval-terrier",),
    "rectools": ("--requirement", str(ROOT / "benchmarks/archive/exports/rectools.txt")),
    "recbole": ("--requirement", str(ROOT / "tests/recbole/requirements.txt")),
    "torch": ("torch", "scipy"),
    "faiss": ("faiss-cpu", "scipy"),
}
VECTOR_SIZES = 10_000, 100_000  # users and items of the tables of vectors
RUNS = 5
MOST_SECONDS = 10.0  # no further run starts after this time
LABELS = {
    "ours": "sampled-metrics",
    "float32": "sampled-metrics, float32, all cores",
    "loop": "a loop over users",
    "at_10": "sampled-metrics, @10",
    "in_full": "sampled-metrics, in full",
    "product": "matrix product of numpy alone",
    "by_torch": "torch, matmul and topk",
    "by_faiss": "faiss, IndexFlatIP",
    "by_implicit": "implicit, ranking_metrics_at_k",
    "by_rectools": "RecTools, ImplicitRanker",
}
PAGE_HEAD = """\
# Time of evaluations by this package and by others

`make measure PAGE=peers` writes this page.
"""
HEADS = {
    "exact": """\
## Exact metrics

| package | metrics | CPU s | times ours |
| :-- | :-- | --: | --: |
""",
    "sampled": """\
## 100 repetitions of 100 negatives

| package | metrics | CPU s | times ours |
| :-- | :-- | --: | --: |
""",
}
VECTORS_HEAD = """\
## Exact metrics of {:,} users and {:,} items, {} lengths

| package | metrics | CPU s | times ours |
| :-- | :-- | --: | --: |
"""
Metrics = dict[str, float]
Data = dict[str, np.ndarray]


def make_data() -> Data:
    """Make vectors of users and items, and the seen items and the held-out item of each user."""
    rng = np.random.default_rng(0)
    popularity = np.arange(1, N_ITEMS + 1) ** -0.8
    users = rng.gamma(1.0, 1.0, (N_USERS, N_DIMENSIONS))
    items = rng.gamma(0.5, 1.0, (N_ITEMS, N_DIMENSIONS)) * np.sqrt(popularity)[:, None]
    keys = np.log(popularity) + rng.gumbel(size=(N_USERS, N_ITEMS))
    seen = np.sort(np.argpartition(-keys, N_SEEN, axis=1)[:, :N_SEEN], axis=1)
    liked = np.log(users @ items.T) + rng.gumbel(size=keys.shape)
    np.put_along_axis(liked, seen, -np.inf, axis=1)
    return {"users": users, "items": items, "seen": seen, "held_out": liked.argmax(axis=1)}


def top_lists(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Return items and scores of the top K of each user."""
    scores = data["users"] @ data["items"].T
    np.put_along_axis(scores, data["seen"], -np.inf, axis=1)
    items = np.argpartition(-scores, K, axis=1)[:, :K]
    best = np.take_along_axis(scores, items, axis=1)
    order = np.argsort(-best, axis=1)
    return np.take_along_axis(items, order, axis=1), np.take_along_axis(best, order, axis=1)


def lists_as_texts(data: Data) -> dict[str, dict[str, float]]:
    """Return the scores of the top K items of each user as dictionaries with text keys."""
    items, scores = top_lists(data)
    lists = {}
    for user in range(N_USERS):
        lists[str(user)] = dict(zip(map(str, items[user]), scores[user].tolist(), strict=True))
    return lists


def seen_matrix(data: Data) -> Any:
    """Return a sparse matrix of shape (users, items) that marks seen items."""
    from scipy.sparse import csr_array

    start = np.arange(N_USERS + 1) * N_SEEN
    marks = np.ones(data["seen"].size, dtype=bool)
    return csr_array((marks, data["seen"].ravel(), start), shape=(N_USERS, N_ITEMS))


def ours(data: Data, n_jobs: int = 1) -> Callable[[], Metrics]:
    import sampled_metrics as sm

    seen = seen_matrix(data)

    def evaluate() -> Metrics:
        vectors = data["users"], data["items"]
        ranks = sm.rank(vectors, seen, data["held_out"], n_jobs=n_jobs)
        results = sm.evaluate(ranks, ["recall@10", "ndcg@10", "ap", "auc"])
        return {result.metric: result.value for result in results}

    return evaluate


def float32(data: Data) -> Callable[[], Metrics]:
    """Rank by vectors in float32, on all cores."""
    vectors = {name: data[name].astype(np.float32) for name in ("users", "items")}
    return ours(data | vectors, n_jobs=-1)


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
        metrics = ranking_metrics_at_k(model, seen, test, K=K, show_progress=False, num_threads=1)
        return {"recall@10": float(metrics["precision"]), "ndcg@10": float(metrics["ndcg"])}

    return evaluate


def cornac(data: Data) -> Callable[[], Metrics]:
    from cornac.data import Dataset
    from cornac.eval_methods.base_method import ranking_eval
    from cornac.metrics import AUC, MAP, NDCG, Recall
    from cornac.models import Recommender

    # Fix all ids beforehand, so that cornac numbers users and items as we do.
    users = {user: user for user in range(N_USERS)}
    items = {item: item for item in range(N_ITEMS)}
    events = []
    for user in users:
        events += [(user, int(item), 1.0) for item in data["seen"][user]]
    held_out = [(user, int(item), 1.0) for user, item in enumerate(data["held_out"])]
    train = Dataset.build(events, global_uid_map=users, global_iid_map=items, seed=0)
    test = Dataset.build(held_out, global_uid_map=users, global_iid_map=items, seed=0)

    class GivenScores(Recommender):
        def score(self, user_idx: int, item_idx: Any = None) -> np.ndarray:
            scores = data["items"] @ data["users"][user_idx]
            return scores if item_idx is None else scores[item_idx]

    model = GivenScores("given", trainable=False)
    model.fit(train)
    model.num_items = N_ITEMS

    def evaluate() -> Metrics:
        metrics = [Recall(k=K), NDCG(k=K), MAP(), AUC()]
        means, _ = ranking_eval(model, metrics, train, test, exclude_unknowns=False)
        names = ["recall@10", "ndcg@10", "ap", "auc"]
        return dict(zip(names, map(float, means), strict=True))

    return evaluate


def ranx(data: Data) -> Callable[[], Metrics]:
    from ranx import Qrels, Run, evaluate

    qrels = Qrels({str(user): {str(item): 1} for user, item in enumerate(data["held_out"])})

    def evaluate_run() -> Metrics:
        run = Run(lists_as_texts(data))
        metrics = evaluate(qrels, run, ["recall@10", "ndcg@10"], make_comparable=True)
        return {name: float(value) for name, value in metrics.items()}

    return evaluate_run


def pytrec_eval(data: Data) -> Callable[[], Metrics]:
    import pytrec_eval as trec

    qrels = {str(user): {str(item): 1} for user, item in enumerate(data["held_out"])}

    def evaluate() -> Metrics:
        evaluator = trec.RelevanceEvaluator(qrels, {"recall.10", "ndcg_cut.10"})
        metrics_by_user = evaluator.evaluate(lists_as_texts(data)).values()
        recall = sum(each["recall_10"] for each in metrics_by_user) / N_USERS
        ndcg = sum(each["ndcg_cut_10"] for each in metrics_by_user) / N_USERS
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
        lists = pd.DataFrame({"user_id": user, "item_id": top_lists(data)[0].ravel(), "rank": rank})
        return {name: float(x) for name, x in calc_metrics(metrics, lists, test).items()}

    return evaluate


def recbole(data: Data) -> Callable[[], Metrics]:
    """Evaluate with the trainer of RecBole; MAP over all items is AP, and GAUC is AUC."""
    trainer, test = recbole_trainer(data, "full", 2**21)
    names = {"recall@10": "recall@10", "ndcg@10": "ndcg@10", "ap": f"map@{N_ITEMS}", "auc": "gauc"}

    def evaluate() -> Metrics:
        metrics = trainer.evaluate(test, load_best_model=False)
        return {ours: float(metrics[theirs]) for ours, theirs in names.items()}

    return evaluate


def recbole_trainer(data: Data, mode: str, batch_size: int) -> tuple[Any, Any]:
    """Return a trainer for a model that scores by the vectors, and the test data."""
    import torch
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.model.abstract_recommender import GeneralRecommender
    from recbole.trainer import Trainer
    from recbole.utils import InputType

    Path("made").mkdir()
    np.savetxt("made/made.item", np.arange(N_ITEMS), "%d", header="item_id:token", comments="")
    rows = np.arange(N_USERS)
    parts = {  # validation events are masked like training events
        "train": (np.repeat(rows, N_SEEN - 1), data["seen"][:, 1:].ravel()),
        "valid": (rows, data["seen"][:, 0]),
        "test": (rows, data["held_out"]),
    }
    for name, columns in parts.items():
        header = "user_id:token\titem_id:token"
        pairs = np.column_stack(columns)
        np.savetxt(f"made/made.{name}.inter", pairs, "%d", "\t", header=header, comments="")

    class GivenScores(GeneralRecommender):
        input_type = InputType.PAIRWISE

        def __init__(self, config: Any, dataset: Any) -> None:
            super().__init__(config, dataset)
            tokens = [dataset.field2id_token[field][1:] for field in ("user_id", "item_id")]
            users, items = (np.asarray(each, dtype=int) for each in tokens)
            padding = torch.zeros(1, N_DIMENSIONS, dtype=torch.float64)
            self.users = torch.cat([padding, torch.from_numpy(data["users"][users])])
            self.items = torch.cat([padding, torch.from_numpy(data["items"][items])])
            self.unused = torch.nn.Parameter(torch.zeros(1))  # an optimizer needs one

        def full_sort_predict(self, interaction: Any) -> Any:
            return self.users[interaction["user_id"]] @ self.items.T

        def predict(self, interaction: Any) -> Any:
            users = self.users[interaction["user_id"]]
            return (users * self.items[interaction["item_id"]]).sum(dim=1).float()

    settings = {
        "data_path": ".",
        "load_col": {"inter": ["user_id", "item_id"], "item": ["item_id"]},
        "benchmark_filename": list(parts),
        "eval_args": {"order": "RO", "group_by": "user", "mode": mode},
        "eval_batch_size": batch_size,
        "metrics": ["Recall", "NDCG", "MAP", "GAUC"],
        "topk": [K, N_ITEMS],
        "valid_metric": f"Recall@{K}",
        "metric_decimal_place": 10,
        "use_gpu": False,
        "show_progress": False,
    }
    config = Config(GivenScores, "made", config_dict=settings)
    dataset = create_dataset(config)
    train, _, test = data_preparation(config, dataset)
    return Trainer(config, GivenScores(config, train.dataset)), test


PACKAGES = {
    each.__name__: each
    for each in (ours, float32, implicit, cornac, ranx, pytrec_eval, rectools, recbole)
}


def sampled_ours(data: Data) -> Callable[[], Metrics]:
    """Rank once, then draw sampled ranks from the full ranks."""
    import sampled_metrics as sm

    seen = seen_matrix(data)

    def evaluate() -> Metrics:
        ranks = sm.rank((data["users"], data["items"]), seen, data["held_out"])
        generators = np.random.default_rng(0).spawn(REPETITIONS)
        sampled_ranks = sm.draw_sampled_ranks(ranks, N_NEGATIVES, generators)
        return {"recall@10": float(np.mean(np.asarray(sampled_ranks) <= K))}

    return evaluate


def sampled_loop(data: Data) -> Callable[[], Metrics]:
    """Draw and score the negatives of one user after the other, once."""
    rng = np.random.default_rng(0)
    unseen = []
    for seen, held_out in zip(data["seen"], data["held_out"], strict=True):
        unseen.append(np.setdiff1d(np.arange(N_ITEMS), np.append(seen, held_out)))

    def evaluate() -> Metrics:
        hits = 0
        for user, candidates in enumerate(unseen):
            negatives = rng.choice(candidates, N_NEGATIVES, replace=False)
            scores = data["items"][negatives] @ data["users"][user]
            held_out_score = data["items"][data["held_out"][user]] @ data["users"][user]
            hits += np.count_nonzero(scores > held_out_score) < K
        return {"recall@10": hits / N_USERS}

    return evaluate


def sampled_recbole(data: Data) -> Callable[[], Metrics]:
    """Evaluate once with the trainer of RecBole, which draws negatives with replacement."""
    trainer, test = recbole_trainer(data, f"uni{N_NEGATIVES}", 2**18)

    def evaluate() -> Metrics:
        return {"recall@10": float(trainer.evaluate(test, load_best_model=False)["recall@10"])}

    return evaluate


def at_10(data: Data) -> Callable[[], Metrics]:
    return lambda: evaluate_by_ours(data, "hr@10, ndcg@10")


def in_full(data: Data) -> Callable[[], Metrics]:
    return lambda: evaluate_by_ours(data, "hr@10, ndcg@10, auc")


def evaluate_by_ours(data: Data, names: str) -> Metrics:
    """Evaluate vectors with this package."""
    import sampled_metrics as sm

    pair = data["users"], data["items"]
    results = sm.evaluate(pair, names, relevant=data["held_out"], n_jobs=1)
    return {each.metric: each.value for each in results if each.metric != "auc"}


def product(data: Data) -> Callable[[], Metrics]:
    """Multiply users and items, and nothing else."""
    out = np.empty((1024, 8192), data["users"].dtype)

    def evaluate() -> Metrics:
        users, items = data["users"], data["items"]
        for first in range(0, len(users), 1024):
            user_block = users[first : first + 1024]
            for begin in range(0, len(items), 8192):
                item_block = items[begin : begin + 8192].T
                np.matmul(user_block, item_block, out=out[: len(user_block), : item_block.shape[1]])
        return {}

    return evaluate


def metrics_of_lists(lists: np.ndarray, held_out: np.ndarray) -> Metrics:
    """Compute the metrics of lists of the top K items."""
    is_hit = lists == held_out[:, None]
    gains = 1.0 / np.log2(np.arange(2, K + 2))
    return {
        "hr@10": float(is_hit.any(axis=1).mean()),
        "ndcg@10": float((is_hit * gains).sum(axis=1).mean()),
    }


def by_torch(data: Data) -> Callable[[], Metrics]:
    import torch

    users, items = torch.from_numpy(data["users"]), torch.from_numpy(data["items"])

    def evaluate() -> Metrics:
        lists = [(some @ items.T).topk(K, dim=1).indices for some in users.split(256)]
        return metrics_of_lists(torch.cat(lists).numpy(), data["held_out"])

    return evaluate


def by_faiss(data: Data) -> Callable[[], Metrics]:
    import faiss

    def evaluate() -> Metrics:
        index = faiss.IndexFlatIP(data["items"].shape[1])
        index.add(data["items"])
        return metrics_of_lists(index.search(data["users"], K)[1], data["held_out"])

    return evaluate


def by_implicit(data: Data) -> Callable[[], Metrics]:
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k
    from scipy.sparse import csr_matrix

    model = AlternatingLeastSquares(num_threads=1)
    model.user_factors, model.item_factors = data["users"], data["items"]
    shape = len(data["users"]), len(data["items"])
    ones = np.ones(shape[0], dtype=np.float32)
    test = csr_matrix((ones, (np.arange(shape[0]), data["held_out"])), shape)
    seen = csr_matrix(shape, dtype=np.float32)

    def evaluate() -> Metrics:
        metrics = ranking_metrics_at_k(model, seen, test, K=K, show_progress=False, num_threads=1)
        return {"hr@10": float(metrics["precision"]), "ndcg@10": float(metrics["ndcg"])}

    return evaluate


def by_rectools(data: Data) -> Callable[[], Metrics]:
    from rectools.models.rank import Distance, ImplicitRanker

    ranker = ImplicitRanker(Distance.DOT, data["users"], data["items"], num_threads=1)

    def evaluate() -> Metrics:
        _, items, _ = ranker.rank(np.arange(len(data["users"])), k=K)
        return metrics_of_lists(np.reshape(items, (-1, K)), data["held_out"])

    return evaluate


VECTOR_PACKAGES = {
    each.__name__: each
    for each in (at_10, in_full, product, by_faiss, by_implicit, by_rectools, by_torch)
}
SAMPLED_PACKAGES = {"ours": sampled_ours, "loop": sampled_loop, "recbole": sampled_recbole}
# Sampled hits are random, and RecBole sometimes draws a negative twice. Products in float32 may
# exchange items with close scores.
TOLERANCES = {"exact": 1e-4, "sampled": 0.015, "vectors": 5e-4}


def measure(kind: str, package: str, file: str) -> None:
    """Print the shortest time and the metrics of a library, in the interpreter that has it."""
    functions = {"exact": PACKAGES, "sampled": SAMPLED_PACKAGES, "vectors": VECTOR_PACKAGES}[kind]
    with np.load(file) as arrays:
        evaluate = functions[package](dict(arrays))
    metrics = evaluate()  # not timed: what is compiled or imported on first use
    seconds = []
    while len(seconds) < RUNS and sum(seconds) < MOST_SECONDS:
        began = time.process_time()
        evaluate()
        seconds.append(time.process_time() - began)
    cpu = min(seconds)
    if kind == "sampled" and package != "ours":
        cpu *= REPETITIONS
    sys.stdout.write("\n" + json.dumps({"cpu": cpu, "metrics": metrics}) + "\n")


def run_measurement(kind: str, package: str, python: str, file: Path) -> dict[str, Any]:
    """Run `measure` in another interpreter, in an empty folder; return what it prints."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    environment["NUMBA_NUM_THREADS"] = "1"
    environment["PYTHONPATH"] = str(ROOT)
    command = [python, "-W", "ignore", "-m", "benchmarks.peers"]
    command += ["--measure", kind, package, str(file)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, env=environment, cwd=folder, stdout=subprocess.PIPE, check=True
        )
    return json.loads(done.stdout.splitlines()[-1])


def table_rows(kind: str, pythons: dict[str, str], file: Path) -> list[str]:
    """Return the rows of a table, ours first; exit if metrics differ from ours."""
    rows = []
    first = next(iter(pythons))
    first_measurement = run_measurement(kind, first, pythons[first], file)
    for package, python in pythons.items():
        measurement = (
            first_measurement if package == first else run_measurement(kind, package, python, file)
        )
        for name, value in measurement["metrics"].items():
            expected = first_measurement["metrics"][name]
            if abs(value - expected) > TOLERANCES[kind]:
                sys.exit(f"{package}: {name} is {value}, ours is {expected}")
        names = ", ".join(measurement["metrics"])
        times = measurement["cpu"] / first_measurement["cpu"]
        label = LABELS.get(package, package)
        row = f"| {label} | {names} | {measurement['cpu']:.3f} | {times:,.1f} |"
        print(row, file=sys.stderr, flush=True)
        rows.append(row)
    return rows


def main() -> None:
    """Write the tables."""
    from benchmarks.vectors import LENGTHS, synthetic  # other interpreters lack its imports

    interpreters = {name: python_with(name, *packages) for name, packages in REQUIREMENTS.items()}
    pythons = {name: interpreters[name] for name in interpreters if name in PACKAGES}
    exact = dict.fromkeys(("ours", "float32", "implicit"), sys.executable) | pythons
    sampled = {"ours": sys.executable, "loop": sys.executable, "recbole": pythons["recbole"]}
    parts = [PAGE_HEAD, conditions()]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "made.npz")
        np.savez(file, **make_data())
        for kind, pythons in (("exact", exact), ("sampled", sampled)):
            parts.append(HEADS[kind] + "\n".join(table_rows(kind, pythons, file)) + "\n")
        this_interpreter = dict.fromkeys(
            ("at_10", "in_full", "product", "by_implicit"), sys.executable
        )
        vector_pythons = this_interpreter | {
            f"by_{name}": interpreters[name] for name in ("faiss", "rectools", "torch")
        }
        for lengths in LENGTHS:
            users, items, held_out, _ = synthetic(*VECTOR_SIZES, lengths)
            np.savez(file, users=users, items=items, held_out=held_out)
            head = VECTORS_HEAD.format(*VECTOR_SIZES, lengths)
            parts.append(head + "\n".join(table_rows("vectors", vector_pythons, file)) + "\n")
    page = "\n".join(parts)
    PAGE.write_text(page)
    print(page)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        arguments = sys.argv[2:]
        sys.argv[1:] = []  # RecBole reads the command line too
        measure(*arguments)
    else:
        main()
