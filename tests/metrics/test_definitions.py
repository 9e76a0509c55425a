"""Definitions of other libraries under names of their own, with numbers of theirs and by hand."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about

# Relevant items at ranks 1 and 4 of 10; at rank 3 of 10; at ranks 2, 5 and 6 of 8.
PLACES = [[1, 4], [3], [2, 5, 6]]
RANKS = sm.Ranks(
    [10, 10, 8],
    [place - 1 for row in PLACES for place in row],
    [0] * 6,
    n_found=[2, 1, 3],
)
AUC = [(8 + 6) / 16, 7 / 9, (4 + 2 + 2) / 15]


def value(ranks, metric):
    return sm.evaluate(ranks, metric)[0].value


class TestByHand:
    @pytest.mark.parametrize(
        ("metric", "expected"),
        [
            ("recall-capped@2", [1 / 2, 0, 1 / 2]),
            ("recall-capped@5", [1, 1, 2 / 3]),
            ("recall-capped@8", [1, 1, 1]),
            ("rr-by-relevant", [(1 + 1 / 4) / 2, 1 / 3, (1 / 2 + 1 / 5 + 1 / 6) / 3]),
            ("rr-by-relevant@4", [(1 + 1 / 4) / 2, 1 / 3, 1 / 6]),
            ("accuracy@1", [1, 0, 0]),
            ("map-cut@1", [1 / 2, 0, 0]),
            ("ap-by-k@4", [(1 + 2 / 4) / 4, 1 / 3 / 4, 1 / 2 / 4]),
            (
                "ap-by-threshold",
                [(1 + 2 / 4) / 2, 1 / 3, (1 / 2 + 2 / 5 + 3 / 6) / 3],
            ),
        ],
    )
    def test_values_of_users(self, metric, expected):
        found = sm.values_by_user(RANKS, metric)[metric]
        np.testing.assert_allclose(found, expected, rtol=1e-15)

    def test_micro_auc_is_weighted_by_relevant_items(self):
        assert value(RANKS, "auc-micro") == pytest.approx(
            np.average(AUC, weights=[2, 1, 3])
        )
        assert value(RANKS, "auc") == pytest.approx(np.mean(AUC))
        assert value(RANKS, "GAUC") == value(RANKS, "auc-micro")
        with pytest.raises(sm.InputError, match="take auc"):
            sm.values_by_user(RANKS, "gauc")

    def test_micro_auc_leaves_out_users_with_relevant_candidates_only(self):
        full = sm.Ranks([2], [0, 1], [0, 0], n_found=[2])
        with warns_about("leaves out 1 of 4"):
            found = value(sm.Ranks.concatenate([RANKS, full]), "auc-micro")
        assert found == pytest.approx(np.average(AUC, weights=[2, 1, 3]))


# Lists and relevant items of the documentation of RePlay.
REPLAY = {1: [3, 7, 10, 11, 2], 2: [5, 8, 11, 1, 3], 3: [4, 9, 2]}
REPLAY_TRUE = {1: [5, 6, 7, 8, 9, 10], 2: [6, 7, 4, 10, 11], 3: [1, 2, 3, 4, 5]}
# Relevant items of three users in the tests of evidently, who each have three items.
EVIDENTLY = pd.DataFrame(
    {
        "user_id": [*"aaabbbccc"],
        "rank": [1, 2, 3] * 3,
        "target": [1, 0, 0, 0, 0, 0, 0, 0, 1],
    }
)


class TestTheirNumbers:
    """Numbers of the test data or of the source of each project."""

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
    def test_scikit_learn_average_precision_with_ties(self, labels, scores, theirs):
        """Of its tests, where `ap` averages over orders: .75 in the first."""
        options = {"relevant": np.array([labels])}
        found = sm.evaluate(np.array([scores]), "ap-by-threshold", **options)
        assert found[0].value == pytest.approx(theirs)

    @pytest.mark.parametrize("seed", range(5))
    def test_scikit_learn_itself(self, seed):
        metrics = pytest.importorskip("sklearn.metrics")
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 6, (8, 12)).astype(float)
        labels = (rng.random((8, 12)) < 0.3) | (np.arange(12) == rng.integers(12))
        names = "ap-by-threshold, auc"
        found = sm.values_by_user(scores, names, relevant=labels)
        rows = [*zip(labels, scores, strict=True)]
        theirs = {
            "ap-by-threshold": [
                metrics.average_precision_score(*row) for row in rows
            ],
            "auc": [metrics.roc_auc_score(*row) for row in rows],
        }
        for name, values in theirs.items():
            np.testing.assert_allclose(found[name], values)
        mean = metrics.label_ranking_average_precision_score(labels, scores)
        assert found["ap-by-threshold"].mean() == pytest.approx(mean)
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
        assert sm.values_by_user(ranks, metric)[metric].tolist() == pytest.approx(
            theirs
        )

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
        """Users without a relevant item are left out there too."""
        with warns_about("have no row"):
            found = sm.evaluate(EVIDENTLY, metric, n_items=4)
        assert found[0].value == pytest.approx(theirs)

    def test_lenskit_and_evidently_precision_of_short_lists(self):
        """2 of 3 items are relevant: theirs at 5 is 2/3, as `precision@3` here."""
        relevant = {1: list(range(100))}
        short = {"recommended": {1: [1, 0, 150]}, "relevant": relevant}
        ranks = sm.Ranks.from_lists(**short, missing="last")
        assert value(ranks, "precision@5") == pytest.approx(2 / 5)
        assert value(sm.Ranks.from_lists(**short), "precision@3") == pytest.approx(
            2 / 3
        )
        long = {1: [1, 0, 150, 3, 10, 30, 120, 4, 17]}
        assert value(sm.Ranks.from_lists(long, relevant), "precision@5") == 0.8

    def test_lenskit_average_precision(self):
        lists = {1: [1, 2, 3, 4, 5]}
        found = value(sm.Ranks.from_lists(lists, {1: [1, 3, 5]}), "ap@3")
        assert found == pytest.approx((1 + 2 / 3) / 3)

    def test_mteb(self):
        """`test_metrics_at_k` of its RetrievalEvaluator."""
        run = {
            "0": {"0": 1.0, "1": 0.9, "2": 0.8},
            "1": {"0": 0.0, "1": 1.0, "2": 0.0},
        }
        qrels = {"0": {"0": 1, "1": 1}, "1": {"1": 1}}
        theirs = {
            "ndcg_at_1": 1.0,
            "map-cut@1": 0.75,
            "map-cut@2": 1.0,
            "recall_at_1": 0.75,
            "precision_at_2": 0.75,
            "precision_at_3": 0.5,
        }
        found = sm.evaluate(run, ",".join(theirs), relevant=qrels)
        assert {one.metric: one.value for one in found} == theirs

    def test_beir_accuracy(self):
        """`top_k_accuracy`: the share of queries with a hit, of 3 and 1 relevant ones."""
        run = {"a": {"x": 3.0, "y": 2.0}, "b": {"z": 2.0, "x": 1.0}}
        qrels = {"a": {"x": 1, "u": 1, "v": 1}, "b": {"x": 1}}
        assert sm.evaluate(run, "Accuracy@1", relevant=qrels)[0].value == 0.5

    def test_lenskit_recall(self):
        """Four hits in five, of 100 relevant items."""
        lists = {1: [1, 2, 3, 4, 999]}
        ranks = sm.Ranks.from_lists(lists, {1: list(range(1, 101))})
        assert value(ranks, "recall-capped@5") == pytest.approx(0.8)
        assert value(ranks, "recall@5") == pytest.approx(0.04)

    def test_recbole_gauc(self):
        """AUC 1, .5, .5 of users with 1, 2, 3 relevant items: 3.5 / 6."""
        scores = np.array(
            [[9, 1, 2, 0, 0, 0], [9, 0, 1, 2, -1, -2], [9, 8, 0, 3, 7, 6.0]]
        )
        relevant = np.array(
            [[1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]]
        )
        by_user = sm.values_by_user(scores, "auc", relevant=relevant)["auc"]
        found = sm.evaluate(scores, "gauc", relevant=relevant)[0]
        assert found.value == pytest.approx(np.average(by_user, weights=[1, 2, 3]))

    def test_mind_mrr(self):
        """`mrr_score` of MIND: the sum of labels by rank, by the clicks."""
        labels, scores = np.array([0, 1, 0, 1]), np.array([0.4, 0.9, 0.5, 0.1])
        by_rank = labels[np.argsort(-scores)] / np.arange(1, 5)
        theirs = by_rank.sum() / labels.sum()
        found = sm.evaluate(scores[None], "rr-by-relevant, rr", relevant=labels[None])
        assert [one.value for one in found] == pytest.approx([theirs, 1.0])
        assert theirs == 0.625


@pytest.mark.parametrize("text", ["HR@1,5,10", "recall@5, 10"])
def test_a_cut_off_alone_is_named(text):
    with pytest.raises(sm.InputError, match=r"cut-off alone.*hr@"):
        sm.evaluate(RANKS, text)
