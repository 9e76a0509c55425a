"""Metrics against numbers in the tests, documentation or code of other libraries."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about


def mean_value(ranks, metric):
    return sm.evaluate(ranks, metric)[0].value


# Lists and relevant items in the documentation of RePlay.
REPLAY = {1: [3, 7, 10, 11, 2], 2: [5, 8, 11, 1, 3], 3: [4, 9, 2]}


REPLAY_TRUE = {1: [5, 6, 7, 8, 9, 10], 2: [6, 7, 4, 10, 11], 3: [1, 2, 3, 4, 5]}


# Lists of three items for three users in the tests of evidently.
EVIDENTLY = pd.DataFrame(
    {"user_id": [*"aaabbbccc"], "rank": [1, 2, 3] * 3, "target": [1, 0, 0, 0, 0, 0, 0, 0, 1]}
)


class TestTheirNumbers:
    """Numbers in the test data or the code of each project."""

    @pytest.mark.parametrize(
        ("labels", "scores", "theirs"),
        [
            ([1, 0], [0.5, 0.5], 1 / 2),
            ([0, 0, 1], [0.25, 0.5, 0.5], 1 / 2),
            ([1, 0, 1], [0.25, 0.5, 0.5], (1 / 2 + 2 / 3) / 2),
            ([1, 1, 0], [0.5, 0.5, 0.5], 2 / 3),
            ([1, 1, 1, 0], [0.5, 0.5, 0.5, 0.5], 3 / 4),
        ],
    )
    def test_ap_by_threshold_matches_scikit_learn_tests(self, labels, scores, theirs):
        """Values of its tests; `ap` averages over orders, which gives .75 in the first."""
        options = {"relevant": np.array([labels])}
        results = sm.evaluate(np.array([scores]), "ap-by-threshold", **options)
        assert results[0].value == pytest.approx(theirs)

    @pytest.mark.parametrize("seed", range(5))
    def test_ap_and_auc_match_scikit_learn(self, seed):
        metrics = pytest.importorskip("sklearn.metrics")
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 6, (8, 12)).astype(float)
        labels = (rng.random((8, 12)) < 0.3) | (np.arange(12) == rng.integers(12))
        names = "ap-by-threshold, auc"
        ours = sm.values_by_user(scores, names, relevant=labels)
        rows = [*zip(labels, scores, strict=True)]
        theirs = {
            "ap-by-threshold": [metrics.average_precision_score(*row) for row in rows],
            "auc": [metrics.roc_auc_score(*row) for row in rows],
        }
        for name, values in theirs.items():
            np.testing.assert_allclose(ours[name], values)
        mean = metrics.label_ranking_average_precision_score(labels, scores)
        assert ours["ap-by-threshold"].mean() == pytest.approx(mean)
        worst = sm.evaluate(scores, "auc", relevant=labels, ties="pessimistic")
        loss = metrics.label_ranking_loss(labels, scores)
        assert worst[0].value == pytest.approx(1 - loss)

    @pytest.mark.parametrize(
        ("metric", "theirs"),
        [
            ("ap@2", [0.25, 0, 0.5]),
            ("precision@2", [0.5, 0, 0.5]),
            ("ndcg@2", [0.38685280723454163, 0, 0.6131471927654584]),
        ],
    )
    def test_replay(self, metric, theirs):
        ranks = sm.Ranks.from_lists(REPLAY, REPLAY_TRUE)
        assert sm.values_by_user(ranks, metric)[metric].tolist() == pytest.approx(theirs)

    @pytest.mark.parametrize(
        ("metric", "theirs"),
        [
            ("ap-by-relevant@3", 2 / 3),
            ("ap-by-relevant@2", 1 / 2),
            ("precision@2", 1 / 4),
            ("precision@3", 1 / 3),
            ("recall@2", 1 / 2),
            ("ndcg@2", 1 / 2),
            ("ndcg@3", 3 / 4),
        ],
    )
    def test_evidently(self, metric, theirs):
        """Evidently, too, leaves out users without a relevant item."""
        with warns_about("have no row"):
            results = sm.evaluate(EVIDENTLY, metric, n_items=4)
        assert results[0].value == pytest.approx(theirs)

    def test_precision_of_short_lists_lenskit_and_evidently(self):
        """2 of 3 items are relevant: their precision at 5 is 2/3, our `precision@3`."""
        relevant = {1: list(range(100))}
        short = {"recommended": {1: [1, 0, 150]}, "relevant": relevant}
        ranks = sm.Ranks.from_lists(**short, missing="last")
        assert mean_value(ranks, "precision@5") == pytest.approx(2 / 5)
        assert mean_value(sm.Ranks.from_lists(**short), "precision@3") == pytest.approx(2 / 3)
        long = {1: [1, 0, 150, 3, 10, 30, 120, 4, 17]}
        assert mean_value(sm.Ranks.from_lists(long, relevant), "precision@5") == 0.8

    def test_ap_lenskit(self):
        lists = {1: [1, 2, 3, 4, 5]}
        mean = mean_value(sm.Ranks.from_lists(lists, {1: [1, 3, 5]}), "ap@3")
        assert mean == pytest.approx((1 + 2 / 3) / 3)

    def test_mteb(self):
        """Values of `test_metrics_at_k` of RetrievalEvaluator."""
        run = {"0": {"0": 1.0, "1": 0.9, "2": 0.8}, "1": {"0": 0.0, "1": 1.0, "2": 0.0}}
        qrels = {"0": {"0": 1, "1": 1}, "1": {"1": 1}}
        theirs = {
            "ndcg_at_1": 1.0,
            "map-cut@1": 0.75,
            "map-cut@2": 1.0,
            "recall_at_1": 0.75,
            "precision_at_2": 0.75,
            "precision_at_3": 0.5,
        }
        results = sm.evaluate(run, ",".join(theirs), relevant=qrels)
        assert {result.metric: result.value for result in results} == theirs

    def test_accuracy_beir(self):
        """`top_k_accuracy` is the share of queries with a hit."""
        run = {"a": {"x": 3.0, "y": 2.0}, "b": {"z": 2.0, "x": 1.0}}
        qrels = {"a": {"x": 1, "u": 1, "v": 1}, "b": {"x": 1}}
        assert sm.evaluate(run, "Accuracy@1", relevant=qrels)[0].value == 0.5

    def test_recall_lenskit(self):
        """Four hits in five, of 100 relevant items."""
        lists = {1: [1, 2, 3, 4, 999]}
        ranks = sm.Ranks.from_lists(lists, {1: list(range(1, 101))})
        assert mean_value(ranks, "recall-capped@5") == pytest.approx(0.8)
        assert mean_value(ranks, "recall@5") == pytest.approx(0.04)

    def test_gauc_recbole(self):
        """AUC 1, .5, .5 of users with 1, 2, 3 relevant items: 3.5 / 6."""
        scores = np.array([[9, 1, 2, 0, 0, 0], [9, 0, 1, 2, -1, -2], [9, 8, 0, 3, 7, 6.0]])
        relevant = np.array([[1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]])
        by_user = sm.values_by_user(scores, "auc", relevant=relevant)["auc"]
        result = sm.evaluate(scores, "gauc", relevant=relevant)[0]
        assert result.value == pytest.approx(np.average(by_user, weights=[1, 2, 3]))

    def test_mrr_mind(self):
        """`mrr_score` of MIND: the sum of labels divided by ranks, divided by the clicks."""
        labels, scores = np.array([0, 1, 0, 1]), np.array([0.4, 0.9, 0.5, 0.1])
        by_rank = labels[np.argsort(-scores)] / np.arange(1, 5)
        theirs = by_rank.sum() / labels.sum()
        results = sm.evaluate(scores[None], "rr-by-relevant, rr", relevant=labels[None])
        assert [result.value for result in results] == pytest.approx([theirs, 1.0])
        assert theirs == 0.625

    def test_auc_over_all_pairs(self):
        """`roc_auc_score` of scikit-learn compares all pairs, whatever their user and item."""
        rng = np.random.default_rng(5)
        pairs = pd.DataFrame({"user_id": rng.integers(0, 9, 80), "label": rng.integers(0, 2, 80)})
        pairs["score"] = np.round(rng.normal(pairs["label"]), 1)  # with ties
        relevant, others = (pairs["score"][pairs["label"] == label].to_numpy() for label in (1, 0))
        above = relevant[:, None] > others
        tied = relevant[:, None] == others
        pooled = pairs[["score", "label"]].assign(user_id="all")
        (result,) = sm.evaluate(pooled, "auc", complete=True)
        assert result.value == pytest.approx(np.mean(above + tied / 2))
