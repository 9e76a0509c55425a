"""Time one package on made-up vectors: speed.py PACKAGE FILE [--runs R].

For the interpreter of its environment. Prints a line of JSON for each thing timed: what, the least
wall and processor seconds of the runs, and the metrics found. `made` says what the file holds.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

K = 10
REPETITIONS, N_NEGATIVES = 100, 100
Task = tuple[str, Callable[[], dict[str, float]]]


def made(users: int = 6040, items: int = 3706, d: int = 16, seen: int = 165) -> dict[str, Any]:
    """Vectors of users and items, `seen` items of each user, and one other that is held out.

    As many as in MovieLens 1M, the number of events included. Popular items are seen more often,
    and the held-out one is among those that score high.
    """
    rng = np.random.default_rng(0)
    popularity = np.arange(1, items + 1) ** -0.8
    vectors = rng.gamma(1.0, 1.0, (users, d)), rng.gamma(0.5, 1.0, (items, d))
    vectors[1][:] *= np.sqrt(popularity)[:, None]
    keys = np.log(popularity) + rng.gumbel(size=(users, items))
    known = np.argpartition(-keys, seen, axis=1)[:, :seen]
    scores = vectors[0] @ vectors[1].T
    liked = np.log(scores) + rng.gumbel(size=scores.shape)
    np.put_along_axis(liked, known, -np.inf, axis=1)
    return {"users": vectors[0], "items": vectors[1], "seen": known, "held_out": liked.argmax(1)}


class Data:
    """The arrays of a file that `made` made, and the seen items as a matrix."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as arrays:
            self.users, self.items = arrays["users"], arrays["items"]
            self.held_out = arrays["held_out"]
            known = np.sort(arrays["seen"], axis=1)
        self.shape = len(self.users), len(self.items)
        start = np.arange(len(known) + 1) * known.shape[1]
        self.seen = csr_matrix((np.ones(known.size, np.float32), known.ravel(), start), self.shape)

    def candidates(self, user: int) -> np.ndarray:
        """All items that a user has not seen but the held-out one."""
        free = np.ones(self.shape[1], dtype=bool)
        free[self.seen.indices[self.seen.indptr[user] : self.seen.indptr[user + 1]]] = False
        free[self.held_out[user]] = False
        return np.flatnonzero(free)

    def test(self) -> csr_matrix:
        """The held-out items as a matrix."""
        rows = np.arange(self.shape[0])
        return csr_matrix((np.ones(rows.size, np.float32), (rows, self.held_out)), self.shape)

    def top(self) -> tuple[np.ndarray, np.ndarray]:
        """Items and scores of the top K of each user, which packages of lists start from."""
        scores = self.users @ self.items.T
        scores[self.seen.nonzero()] = -np.inf
        items = np.argpartition(-scores, K, axis=1)[:, :K]
        best = np.take_along_axis(scores, items, axis=1)
        order = np.argsort(-best, axis=1)
        return np.take_along_axis(items, order, axis=1), np.take_along_axis(best, order, axis=1)


def ours(data: Data) -> Iterator[Task]:
    import sampled_metrics as sm

    metrics = ["recall@10", "ndcg@10", "ap", "auc"]
    vectors = data.users, data.items

    def exact(score: Any) -> dict[str, float]:
        ranks = sm.rank(score, data.seen, data.held_out)
        return {each.metric: each.value for each in sm.evaluate(ranks, metrics)}

    yield "exact, 4 metrics, from vectors", lambda: exact(vectors)
    yield (
        "exact, 4 metrics, from a function of users",
        lambda: exact(lambda users: data.users[users] @ data.items.T),
    )
    ranks = sm.rank(vectors, data.seen, data.held_out)

    def drawn() -> dict[str, float]:
        generators = np.random.default_rng(0).spawn(REPETITIONS)
        sampled = sm.draw_sampled_ranks(ranks, N_NEGATIVES, generators)
        return {"sampled recall@10": float((sampled <= K).mean())}

    yield f"{REPETITIONS} sampled repetitions", drawn


def loop(data: Data) -> Iterator[Task]:
    def sampled() -> dict[str, float]:
        rng, found = np.random.default_rng(0), np.empty(data.shape[0])
        for user, own in enumerate(data.held_out):
            negatives = rng.choice(data.candidates(user), N_NEGATIVES, replace=False)
            scores = data.items[np.append(negatives, own)] @ data.users[user]
            found[user] = (scores[:-1] > scores[-1]).sum() + 1
        return {"sampled recall@10": float((found <= K).mean())}

    yield "1 sampled repetition", sampled


def implicit(data: Data) -> Iterator[Task]:
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k

    model = AlternatingLeastSquares(num_threads=1)
    model.user_factors, model.item_factors = data.users, data.items
    options = {"K": K, "show_progress": False, "num_threads": 1}
    test = data.test()

    def top() -> dict[str, float]:
        found = ranking_metrics_at_k(model, data.seen, test, **options)
        return {"recall@10": float(found["precision"]), "ndcg@10": float(found["ndcg"])}

    yield "top 10, 4 metrics of these", top


def cornac(data: Data) -> Iterator[Task]:
    from cornac.data import Dataset
    from cornac.eval_methods.base_method import ranking_eval
    from cornac.metrics import AUC, MAP, NDCG, Recall
    from cornac.models import Recommender

    class Given(Recommender):
        def score(self, user_idx: int, item_idx: Any = None) -> np.ndarray:
            scores = data.items @ data.users[user_idx]
            return scores if item_idx is None else scores[item_idx]

    user, item = data.seen.nonzero()
    train = Dataset.from_uir(list(zip(user, item, np.ones(user.size), strict=True)), seed=0)
    # Its numbers of users and items are those of their first events.
    new_user = np.array([train.uid_map[each] for each in range(data.shape[0])])
    known = dict(train.iid_map)
    rest = [each for each in range(data.shape[1]) if each not in known]
    known |= {each: len(known) + number for number, each in enumerate(rest)}
    test = Dataset.build(
        [(each, int(own), 1.0) for each, own in enumerate(data.held_out)],
        global_uid_map=train.uid_map, global_iid_map=known, seed=0, exclude_unknowns=False,
    )  # fmt: skip
    data.users[new_user] = data.users.copy()
    data.items[np.array([known[each] for each in range(data.shape[1])])] = data.items.copy()
    model = Given("given", trainable=False)
    model.fit(train)
    model.num_items = len(known)

    def evaluated() -> dict[str, float]:
        means, _ = ranking_eval(
            model, [Recall(k=K), NDCG(k=K), MAP(), AUC()], train, test, exclude_unknowns=False
        )
        return dict(zip(("recall@10", "ndcg@10", "ap", "auc"), map(float, means), strict=True))

    yield "exact, 4 metrics", evaluated


def ranx(data: Data) -> Iterator[Task]:
    from ranx import Qrels, Run, evaluate

    qrels = Qrels({f"{user}": {f"{own}": 1} for user, own in enumerate(data.held_out)})

    def evaluated() -> dict[str, float]:
        lists = {
            f"{user}": dict(zip(map(str, items), scores, strict=True))
            for user, (items, scores) in enumerate(zip(*data.top(), strict=True))
        }
        found = evaluate(qrels, Run(lists), ["recall@10", "ndcg@10"], make_comparable=True)
        return {name: float(value) for name, value in found.items()}

    yield "top 10, recall and NDCG", evaluated


def pytrec_eval(data: Data) -> Iterator[Task]:
    import pytrec_eval as trec

    qrels = {f"{user}": {f"{own}": 1} for user, own in enumerate(data.held_out)}

    def evaluated() -> dict[str, float]:
        lists = {
            f"{user}": dict(zip(map(str, items), scores.tolist(), strict=True))
            for user, (items, scores) in enumerate(zip(*data.top(), strict=True))
        }
        evaluator = trec.RelevanceEvaluator(qrels, {"recall.10", "ndcg_cut.10"})
        found = evaluator.evaluate(lists).values()
        names = {"recall@10": "recall_10", "ndcg@10": "ndcg_cut_10"}
        return {
            ours: sum(each[name] for each in found) / len(found) for ours, name in names.items()
        }

    yield "top 10, recall and NDCG", evaluated


def rectools(data: Data) -> Iterator[Task]:
    import pandas as pd
    from rectools import Columns
    from rectools.metrics import NDCG, Recall, calc_metrics

    rows = np.arange(data.shape[0])
    test = pd.DataFrame({Columns.User: rows, Columns.Item: data.held_out})

    def evaluated() -> dict[str, float]:
        items, scores = data.top()
        lists = pd.DataFrame(
            {
                Columns.User: np.repeat(rows, K),
                Columns.Item: items.ravel(),
                Columns.Score: scores.ravel(),
                Columns.Rank: np.tile(np.arange(1, K + 1), rows.size),
            }
        )
        metrics = {"recall@10": Recall(k=K), "ndcg@10": NDCG(k=K, divide_by_achievable=True)}
        return {name: float(value) for name, value in calc_metrics(metrics, lists, test).items()}

    yield "top 10, recall and NDCG", evaluated


def recbole(data: Data) -> Iterator[Task]:
    import torch
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.trainer import Trainer

    torch.set_num_threads(1)
    os.chdir(tempfile.mkdtemp())
    write_for_recbole(data)
    model = model_of_recbole(data)

    def prepared(mode: str, metrics: dict[str, str], size: int) -> Callable[[], dict[str, float]]:
        settings = {
            "data_path": ".", "USER_ID_FIELD": "user_id", "ITEM_ID_FIELD": "item_id",
            "load_col": {"inter": ["user_id", "item_id"]}, "use_gpu": False, "state": "ERROR",
            "benchmark_filename": ["train", "valid", "test"], "show_progress": False,
            "eval_args": {"order": "RO", "group_by": "user", "mode": mode},
            "topk": [K, data.shape[1]], "valid_metric": f"Recall@{K}", "eval_batch_size": size,
            "metrics": list(dict.fromkeys(name.partition("@")[0] for name in metrics)),
            "metric_decimal_place": 10,
        }  # fmt: skip
        if mode == "uni100":
            settings["topk"] = [K]
        config = Config(model, "made", config_dict=settings)
        dataset = create_dataset(config)
        train, _, test = data_preparation(config, dataset)
        trainer = Trainer(config, model(config, train.dataset))

        def evaluated() -> dict[str, float]:
            found = trainer.evaluate(test, load_best_model=False)
            return {ours: float(found[name.lower()]) for name, ours in metrics.items()}

        return evaluated

    names = {"Recall@10": "recall@10", "NDCG@10": "ndcg@10", f"MAP@{data.shape[1]}": "ap"}
    yield "exact, 4 metrics", prepared("full", {**names, "GAUC": "auc"}, 1 << 21)
    yield "1 sampled repetition", prepared("uni100", {"Recall@10": "sampled recall@10"}, 1 << 18)


def write_for_recbole(data: Data) -> None:
    """Write `made` in the working folder; an item without any event would be no candidate."""
    import pandas as pd

    user, item = data.seen.nonzero()
    missing = np.setdiff1d(np.arange(data.shape[1]), np.union1d(item, data.held_out))
    parts = {"train": (user, item), "valid": (np.zeros(missing.size, int), missing)}
    parts["test"] = (np.arange(data.shape[0]), data.held_out)
    Path("made").mkdir()
    for name, pair in parts.items():
        table = pd.DataFrame(dict(zip(("user_id:token", "item_id:token"), pair, strict=True)))
        table.to_csv(f"made/made.{name}.inter", sep="\t", index=False)


def model_of_recbole(data: Data) -> Any:
    """Return a recommender with these vectors, in the order that RecBole gives users and items."""
    import torch
    from recbole.model.abstract_recommender import GeneralRecommender
    from recbole.utils import InputType

    def reordered(vectors: np.ndarray, tokens: list[str]) -> Any:
        rows = vectors[[int(token) for token in tokens]]
        return torch.tensor(np.vstack([np.zeros(rows.shape[1]), rows]), dtype=torch.float32)

    class Given(GeneralRecommender):
        input_type = InputType.PAIRWISE

        def __init__(self, config: Any, dataset: Any) -> None:
            super().__init__(config, dataset)
            self.one = torch.nn.Parameter(torch.ones(1))
            users = dataset.id2token("user_id", range(1, self.n_users))
            items = dataset.id2token("item_id", range(1, self.n_items))
            self.users, self.items = reordered(data.users, users), reordered(data.items, items)

        def full_sort_predict(self, interaction: Any) -> Any:
            return (self.users[interaction["user_id"]] @ self.items.T).ravel()

        def predict(self, interaction: Any) -> Any:
            users, items = self.users[interaction["user_id"]], self.items[interaction["item_id"]]
            return (users * items).sum(1)

    return Given


PACKAGES = {
    each.__name__: each
    for each in (ours, loop, implicit, cornac, ranx, pytrec_eval, rectools, recbole)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    sys.argv[1:] = []  # RecBole reads the command line too
    for what, evaluate in PACKAGES[options.package](Data(options.file.resolve())):
        metrics = evaluate()  # what is compiled or imported on first use is not timed
        runs = []
        for _ in range(options.runs):
            began = time.perf_counter(), time.process_time()
            evaluate()
            runs.append((time.perf_counter() - began[0], time.process_time() - began[1]))
        wall, cpu = map(min, zip(*runs, strict=True))
        row = {"what": what, "wall": wall, "cpu": cpu, "metrics": metrics}
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
