"""Sums are taken on one thread, because their last digit depends on the number of threads."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import ThreadpoolController

import sampled_metrics as sm
from sampled_metrics._base.threads import one_thread
from sampled_metrics.budget.model import Model
from sampled_metrics.metrics import measures
from sampled_metrics.ranks import Ranks
from sampled_metrics.read import products
from sampled_metrics.read.counting import rank_items
from sampled_metrics.read.items import items_by_position
from sampled_metrics_study.claims import starts
from sampled_metrics_study.exact import exact_table
from sampled_metrics_study.experiment import run_experiment
from sampled_metrics_study.figures.figure6 import recall_against_samples
from sampled_metrics_study.settings import ExactSettings, ExperimentSettings

LIBRARIES = ThreadpoolController().select(user_api="blas")
N = 200


@pytest.fixture
def seen_threads(monkeypatch):
    """Threads of linear algebra whenever a metric is computed that a user registered."""
    monkeypatch.setattr(measures, "REGISTERED_METRICS", dict(measures.REGISTERED_METRICS))
    monkeypatch.setattr(measures, "_KINDS", dict(measures._KINDS))
    thread_counts = set()

    @measures.register("watched", "Watched")
    def watched(levels, ranks, measure):
        thread_counts.update(threads())
        return levels.per_user(ranks, levels.above < measure.cutoff)

    with LIBRARIES.limit(limits=2):
        assert threads() == {2}
        yield thread_counts


def threads():
    return {each.num_threads for each in LIBRARIES.lib_controllers}


def ranked(*better):
    return Ranks(np.full(len(better), N), better, np.zeros(len(better), int))


def study_settings():
    return ExperimentSettings(
        n_negatives=10, repetitions=2, metrics=("watched@3",), estimators=("sampled",)
    )


def spread():
    tied = Ranks([N] * 4, [0] * 4, [9] * 4)
    none = pd.DataFrame(columns=starts.COLUMNS)
    return starts.spread_table("X", none, {"Z": tied}, study_settings())


class Watched(dict):
    """Ranks by recommender, which note the threads when they are read."""

    def __init__(self, thread_counts):
        super().__init__(X=ranked(*range(40)))
        self.thread_counts = thread_counts

    def items(self):
        self.thread_counts.update(threads())
        return super().items()


def test_one_thread_limits_linear_algebra():
    with LIBRARIES.limit(limits=2):
        assert threads() == {2}
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}


A, B = ranked(0, 5, 9), ranked(1, 2, 3)
SAMPLED = {"n_items": N, "n_negatives": 10}
PRINTED = {"model": ["A"], "HR@10": [0.5], "n_items": [N], "n_negatives": [99]}


def exact_settings():
    return ExactSettings(metrics=("watched@8",), ties=("expected",))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda _: sm.evaluate(ranked(0, 5, 9, 2), "watched@4"), id="evaluate"),
        pytest.param(
            lambda _: sm.correct([1, 1, 5, 9], "watched@5", "sampled", **SAMPLED, shape="none"),
            id="correct"),
        pytest.param(lambda _: sm.compare({"a": A, "b": B}, "watched@6"), id="compare"),
        pytest.param(lambda _: sm.plan(A, B, "watched@7", sizes=[5]), id="plan"),
        pytest.param(
            lambda _: sm.reported({"watched@3": 0.5}, "watched@8", **SAMPLED), id="reported"),
        pytest.param(lambda _: sm.check(pd.DataFrame(PRINTED), "watched@9"), id="check"),
        pytest.param(lambda _: run_experiment("X", A, study_settings()), id="experiment"),
        pytest.param(lambda _: exact_table({"X": A}, exact_settings()), id="exact"),
        pytest.param(lambda _: spread(), id="spread"),
        pytest.param(
            lambda counts: recall_against_samples(Watched(counts), study_settings()),
            id="figure"),
    ],
)  # fmt: skip
def test_metrics_are_computed_on_one_thread(seen_threads, call):
    call(seen_threads)
    assert seen_threads == {1}
    assert threads() == {2}


def test_inner_products_are_computed_on_one_thread(monkeypatch):
    thread_counts = set()
    count = products.count_around_limits

    def noted(*arguments):
        thread_counts.update(threads())
        return count(*arguments)

    monkeypatch.setattr(products, "count_around_limits", noted)
    users = np.array([[1.0, 2.0], [3.0, 4.0]])
    scores = products.InnerProducts(users, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    with LIBRARIES.limit(limits=2):
        ranks = rank_items(scores, items_by_position([0, 1], "relevant", (2, 3)), n_jobs=2)
        assert threads() == {2}
    assert thread_counts == {1}
    assert ranks.n_better.tolist() == [2, 1]


def test_rank_counts_scores_before_function_reuses_memory():
    """Scores of users of several blocks, all in the memory of the first."""
    rng = np.random.default_rng(1)
    users, items = rng.normal(size=(2100, 4)), rng.normal(size=(60, 4))
    held_out = rng.integers(60, size=2100)
    memory = np.empty((512, 60))

    def score(some):
        return np.matmul(users[some], items.T, out=memory[: len(some)])

    scores = users @ items.T
    n_better = (scores > scores[np.arange(2100), held_out][:, None]).sum(axis=1)
    for _ in range(5):
        ranks = sm.rank(score, None, held_out, n_jobs=4)
        assert ranks.n_better.tolist() == n_better.tolist()


def test_evaluate_on_budget_recommender_keeps_its_threads(monkeypatch):
    thread_counts = {"model": set(), "recommender": set()}
    fit = Model.fit

    def noted(model, steps):
        thread_counts["model"].update(threads())
        return fit(model, steps)

    def score(users, items):
        thread_counts["recommender"].update(threads())
        return -np.abs((items - users) % 200).astype(float)

    monkeypatch.setattr(Model, "fit", noted)
    seen_items = np.zeros((60, 200))
    with LIBRARIES.limit(limits=2):
        sm.evaluate_on_budget(score, "HR@10", relevant=np.arange(60), seen=seen_items, budget=30)
        assert threads() == {2}
    assert thread_counts == {"model": {1}, "recommender": {2}}


CALLS = """
import hashlib
import numpy as np
from scipy.sparse import csr_array
import sampled_metrics as sm

rng = np.random.default_rng(0)
taste = rng.normal(size=(1500, 2000)) - np.log(np.arange(1, 2001))
liked = np.argsort(-taste - rng.gumbel(size=taste.shape))[:, :21]
rows = np.repeat(np.arange(1500), 20)
seen = csr_array((np.ones(30000), (rows, liked[:, 1:].ravel())), taste.shape)
taste += rng.normal(size=taste.shape)
calls = hashlib.sha256()

def score(users, items):
    calls.update(np.stack([users, items]).astype(np.int64).tobytes())
    return taste[users, items]

result = sm.evaluate_on_budget(score, "HR@10", relevant=liked[:, 0], seen=seen)
print(calls.hexdigest(), result.n_asked, result.estimates[0][0])
"""


@pytest.mark.long
def test_evaluate_on_budget_calls_do_not_depend_on_threads():
    """With these kernels, sums of matrices of this size do."""
    lines = set()
    for number in "12":
        environment = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": number}
        done = subprocess.run(
            [sys.executable, "-c", CALLS],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        lines.add(done.stdout)
    assert len(lines) == 1
