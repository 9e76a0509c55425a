"""Scores of the relevant items alone are no ranking, and look like a perfect one."""

import numpy as np
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages

RNG = np.random.default_rng(36)
USERS, ITEMS = 80, 300
COLUMNS = np.array([RNG.choice(ITEMS, 3, replace=False) for _ in range(USERS)])
ROW, COLUMN = np.repeat(np.arange(USERS), 3), COLUMNS.ravel()
FALLING = 1 / np.arange(1, 201)
FALLING /= FALLING.sum()
PLACES = np.array(
    [np.sort(RNG.choice(200, 3, replace=False, p=FALLING)) for _ in range(USERS)]
)


def matrix(values):
    return sparse.csr_array((values, (ROW, COLUMN)), shape=(USERS, ITEMS))


TEST = matrix(np.ones(ROW.size))
PREDICTED = matrix(3 + RNG.random(ROW.size))
RANKS = matrix(
    PLACES.ravel().astype(float)
)  # from 0, as predict_rank of LightFM has them


def questions(recwarn, word):
    return [text for text in full_messages(recwarn) if word in text]


class TestSparseScores:
    @pytest.mark.parametrize(
        "scores", [PREDICTED, RANKS, PREDICTED.tocoo(), RANKS.tocsc()]
    )
    @pytest.mark.parametrize(
        "relevant", [TEST, COLUMNS.tolist()], ids=["matrix", "lists"]
    )
    def test_of_relevant_items_only_are_refused(self, scores, relevant):
        with pytest.raises(sm.InputError, match=r"relevant items.*Ranks\.from_ranks"):
            sm.evaluate(scores, "recall@10", relevant=relevant)

    def test_of_one_held_out_item_each_are_refused(self):
        one = sparse.csr_array(
            (np.ones(USERS), (np.arange(USERS), COLUMNS[:, 0])), TEST.shape
        )
        with pytest.raises(sm.InputError, match="relevant items"):
            sm.evaluate(one, "recall@10", relevant=COLUMNS[:, 0])

    def test_the_remedy_is_right(self):
        ranks = sm.Ranks.from_ranks(RANKS.data + 1, 210, users=RANKS.tocoo().row)
        (found,) = sm.evaluate(ranks, "recall@10")
        assert found.value == pytest.approx((PLACES < 10).mean(axis=1).mean())

    @pytest.mark.filterwarnings("ignore:seen")
    def test_of_other_items_too_are_read(self):
        scores = PREDICTED.tolil()
        scores[:, 0] = 5.0
        (found,) = sm.evaluate(scores.tocsr(), "hit@1", relevant=TEST)
        assert found.value == pytest.approx((COLUMNS == 0).any(axis=1).mean())


class TestPerfectOrder:
    def test_of_several_items_is_asked_about(self, recwarn):
        sm.evaluate(PREDICTED.toarray(), "recall@10", relevant=TEST)
        (found,) = questions(recwarn, "above all")
        assert "240 held-out items" in found

    def test_one_item_below_another_is_not(self, recwarn):
        """An item that is below an irrelevant one, and not the first of its user."""
        scores = PREDICTED.toarray()
        best = scores[0].argsort()[-3:]
        scores[0, best[0]] = -1.0
        sm.evaluate(scores, "recall@10", relevant=TEST)
        assert not questions(recwarn, "above all")

    def test_level_with_an_irrelevant_item_is_not(self, recwarn):
        scores = PREDICTED.toarray()
        scores[0, COLUMNS[0]] = 7.0
        scores[0, np.setdiff1d(np.arange(9), COLUMNS[0])[0]] = 7.0
        sm.evaluate(scores, "recall@10", relevant=TEST)
        assert not questions(recwarn, "above all")

    def test_level_with_relevant_items_is(self, recwarn):
        sm.evaluate(TEST.toarray(), "recall@10", relevant=TEST)
        assert questions(recwarn, "above all")

    def test_scores_of_relevant_items_with_some_at_zero_are_asked_about(
        self, recwarn
    ):
        """Ranks from 0 in a dense matrix: a rank of 0 is level with all other items."""
        assert (RANKS.data == 0).any()
        sm.evaluate(RANKS.toarray(), "recall@10", relevant=TEST)
        assert questions(recwarn, "scored alone")

    def test_some_with_another_item_above_are_not(self, recwarn):
        scores = RANKS.toarray()
        scores[0, np.setdiff1d(np.arange(9), COLUMNS[0])[0]] = 999
        sm.evaluate(scores, "recall@10", relevant=TEST)
        assert not questions(recwarn, "scored alone")
