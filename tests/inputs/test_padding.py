"""What fills up rows and batches: repeated items, a common item, rows without an order."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages

pytestmark = pytest.mark.filterwarnings("ignore:seen")
RNG = np.random.default_rng(8)
USERS, ITEMS = 40, 103
SCORES = -1 - RNG.random((USERS, ITEMS))
SCORES[:, 0] = 0
HELD = RNG.integers(1, ITEMS, USERS)
PAIRS = pd.DataFrame({"user_id": range(USERS), "item_id": HELD})
ZEROS = pd.DataFrame({"user_id": range(USERS), "item_id": 0})
BOTH = pd.concat([PAIRS, ZEROS])
ABOVE = (SCORES[np.arange(USERS), HELD][:, None] < SCORES).sum(axis=1)
LISTS = {
    user: row.tolist() for user, row in enumerate(np.argsort(-SCORES, axis=1)[:, :10])
}


def questions(recwarn, word):
    return [text for text in full_messages(recwarn) if word in text]


class TestRelevantLists:
    @pytest.mark.parametrize(
        "data", [SCORES, np.argsort(-SCORES, axis=1)], ids=["scores", "ids"]
    )
    def test_an_item_twice_is_refused(self, data):
        make = sm.Ranks.from_scores if data is SCORES else sm.Ranks.from_top_k
        with pytest.raises(sm.InputError, match=r"row 1.* twice"):
            make(data, [[int(h), 0, 0] for h in HELD])

    def test_the_remedy_is_right(self):
        (found,) = sm.evaluate(SCORES, "hit@10", relevant=[[int(h)] for h in HELD])
        assert found.value == np.mean(ABOVE < 10)

    def test_seen_items_may_repeat(self):
        seen = [[1 + h % 100, 0, 0] for h in HELD]
        found = sm.rank(SCORES, seen, HELD)
        assert (found.n_candidates == ITEMS - 2).all()

    def test_an_item_twice_in_a_retrieved_list_is_named(self):
        ids = np.array([[7, 8, 3, 1], [4, 2, 2, 9]])
        with pytest.raises(sm.InputError, match="row 2: item 2 is twice"):
            sm.Ranks.from_top_k(ids, [3, 9])


class TestACommonItem:
    @pytest.mark.parametrize("data", [SCORES, LISTS], ids=["scores", "lists"])
    @pytest.mark.parametrize(
        "relevant", [BOTH, {user: [h, 0] for user, h in enumerate(HELD.tolist())}]
    )
    def test_of_all_users_is_asked_about(self, data, relevant, recwarn):
        sm.evaluate(data, "recall@10", relevant=relevant)
        (found,) = questions(recwarn, "fill up")
        assert "item 0 is relevant for 40 of 40 users" in found

    def test_the_remedy_is_right_and_not_asked_about(self, recwarn):
        (found,) = sm.evaluate(SCORES, "recall@10", relevant=PAIRS)
        assert found.value == np.mean(ABOVE < 10)
        assert not questions(recwarn, "fill up")

    def test_as_only_item_or_one_of_several_common_ones_is_not_asked_about(
        self, recwarn
    ):
        sm.evaluate(SCORES, "recall@10", relevant=np.full(USERS, 5))
        most = RNG.random(SCORES.shape) < 0.95
        sm.evaluate(SCORES, "recall@10", relevant=most)
        sm.evaluate(SCORES, "recall@10", relevant=pd.concat([PAIRS, ZEROS[:35]]))
        assert not questions(recwarn, "fill up")


@pytest.mark.parametrize(("rows", "is_asked"), [(2, True), (1, False)])
def test_rows_that_fill_up_a_batch_are_asked_about(rows, is_asked, recwarn):
    """Two of 200 rows are a hundredth."""
    scores = RNG.normal(size=(200, 50))
    scores[:, 0] += 2
    scores[200 - rows :] = 0
    sm.evaluate(scores, "hit@10", relevant=np.zeros(200, int))
    assert bool(questions(recwarn, "rows are equal")) == is_asked


class TestFirstColumn:
    RNG = np.random.default_rng(9)
    ALL = RNG.normal(size=(200, 60)) - 3
    HELD = (ALL + RNG.gumbel(size=ALL.shape)).argmax(axis=1)
    RIGHT = np.mean((ALL[np.arange(200), HELD][:, None] < ALL).sum(axis=1) < 5)
    PADDED = np.column_stack([np.zeros(200), ALL])

    @pytest.mark.parametrize("ids", [None, [*range(100, 161)]])
    def test_of_one_score_is_asked_about(self, ids, recwarn):
        """A padding item of score 0, above most others, which are log probabilities."""
        data, relevant = self.PADDED, self.HELD + 1
        if ids is not None:
            data = pd.DataFrame(data, columns=ids)
        (found,) = sm.evaluate(
            data, "hit@5", relevant=relevant if ids is None else self.by_id()
        )
        assert found.value < self.RIGHT
        (asked,) = questions(recwarn, "padding")
        assert ("item 0 " if ids is None else "item 100 ") in asked

    def by_id(self):
        return pd.DataFrame({"user_id": range(200), "item_id": 101 + self.HELD})

    def test_the_remedy_is_right(self, recwarn):
        data = self.PADDED.copy()
        data[:, 0] = -np.inf
        (found,) = sm.evaluate(data, "hit@5", relevant=self.HELD + 1)
        assert found.value == self.RIGHT
        assert not questions(recwarn, "padding")

    def test_of_row_numbers_is_asked_about(self, recwarn):
        data = np.column_stack([np.arange(200), self.ALL])
        sm.evaluate(data, "hit@5", relevant=self.HELD + 1)
        assert questions(recwarn, "ids of the rows")

    def test_of_an_item_that_some_know_is_not(self, recwarn):
        seen = np.zeros(self.PADDED.shape, bool)
        seen[7, 0] = True
        sm.evaluate(self.PADDED, "hit@5", relevant=self.HELD + 1, seen=seen)
        popular = np.tile(np.arange(61.0), (200, 1))  # the same order for all users
        sm.evaluate(popular, "hit@5", relevant=self.HELD + 1)
        assert not questions(recwarn, "padding")


def test_fillers_of_implicit_are_no_candidates():
    """`recommend` of all items puts those seen behind the others, with the lowest score."""
    ids = np.array([[3, 1, 0, 2], [2, 0, 3, 1]])
    scores = np.array([[0.9, 0.5, 0.2, 0.1], [0.8, 0.4, 0.3, 0.2]], np.float32)
    scores[0, 3] = scores[1, 2:] = np.finfo(np.float32).min
    options = {"relevant": [1, 0], "complete": True}
    found = sm.evaluate((ids, scores), "auc, rr", **options)
    assert [one.value for one in found] == [(1 / 2 + 0) / 2, 0.5]
    assert (
        sm.Ranks.from_top_k(ids, [1, 0], scores, complete=True).n_candidates[0] == 3
    )
