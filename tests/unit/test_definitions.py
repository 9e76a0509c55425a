"""Definitions of other libraries under names of their own, with numbers of theirs and by hand."""

import numpy as np
import pytest

import sampled_metrics as sm

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
        with pytest.warns(sm.InputWarning, match="leaves out 1 of 4"):
            found = value(sm.Ranks.concatenate([RANKS, full]), "auc-micro")
        assert found == pytest.approx(np.average(AUC, weights=[2, 1, 3]))


class TestTheirNumbers:
    """Numbers of the test data or of the source of each project."""

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
