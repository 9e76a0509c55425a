"""Held-out items that are also seen: how many users have some, and remedies that work."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sampled_metrics as sm

RNG = np.random.default_rng(5)
USERS, ITEMS = 60, 200
ROWS = np.arange(USERS)
SCORES = RNG.normal(size=(USERS, ITEMS))
HELD = RNG.integers(0, ITEMS, USERS)
SCORES[ROWS, HELD] += 1.5
OTHERS = RNG.random(SCORES.shape) < 0.05
OTHERS[ROWS, HELD] = False
OTHERS[:, 0] = HELD != 0
KNOWN = OTHERS.copy()
KNOWN[ROWS[:45], HELD[:45]] = True  # of 45 users, the held-out item is seen too
ABOVE = ((SCORES[ROWS, HELD][:, None] < SCORES) & ~OTHERS).sum(axis=1)
FILTERED = np.mean(1 / (1 + ABOVE))
NEW = np.mean(1 / (1 + ABOVE[45:]))


def table(marked):
    user, item = marked.nonzero()
    return pd.DataFrame({"user_id": user, "item_id": item})


def as_lists(marked):
    return [np.flatnonzero(row) for row in marked]


MARKED = np.zeros(SCORES.shape, bool)
MARKED[ROWS, HELD] = True
FORMS = {
    "matrix": np.asarray,
    "sparse": sparse.csr_array,
    "table": table,
    "lists": as_lists,
    "by user": lambda marked: dict(enumerate(as_lists(marked))),
}
LISTS = {user: row.tolist() for user, row in enumerate(np.argsort(-SCORES, axis=1))}


@pytest.mark.parametrize("form", FORMS)
class TestScores:
    def test_the_message_says_how_many_users(self, form):
        make = FORMS[form]
        with pytest.raises(
            sm.InputError, match=r"45 pairs of 45 users.*out of seen.*out of relevant"
        ):
            sm.evaluate(SCORES, "rr", relevant=make(MARKED), seen=make(KNOWN))

    def test_leaving_them_out_of_seen_gives_filtered_ranks(self, form):
        make = FORMS[form]
        found = sm.evaluate(
            SCORES, "rr", relevant=make(MARKED), seen=make(KNOWN & ~MARKED)
        )
        assert found[0].value == pytest.approx(FILTERED)

    def test_leaving_them_out_of_relevant_counts_new_items(self, form):
        make = FORMS[form]
        found = sm.evaluate(
            SCORES, "rr", relevant=make(MARKED & ~KNOWN), seen=make(KNOWN)
        )
        assert found[0].value == pytest.approx(NEW)
        assert found[0].n_users == 15


class TestLists:
    def test_the_message_says_how_many_users(self):
        with pytest.raises(sm.InputError, match="45 pairs of 45 users"):
            sm.evaluate(LISTS, "rr", relevant=table(MARKED), seen=table(KNOWN))

    @pytest.mark.parametrize(
        ("relevant", "seen", "value"),
        [(MARKED, KNOWN & ~MARKED, FILTERED), (MARKED & ~KNOWN, KNOWN, NEW)],
    )
    def test_remedies(self, relevant, seen, value):
        options = {"relevant": table(relevant), "seen": table(seen)}
        assert sm.evaluate(LISTS, "rr", **options)[0].value == pytest.approx(value)


def test_negatives_and_budgets_say_how_many_users():
    with pytest.raises(sm.InputError, match="45 pairs of 45 users"):
        sm.negatives(table(MARKED), table(KNOWN), 5)
    with pytest.raises(sm.InputError, match="45 pairs of 45 users"):
        sm.evaluate_on_budget(SCORES, relevant=MARKED, seen=KNOWN)


def test_an_item_without_a_score_is_named_with_a_remedy():
    scores = SCORES.copy()
    scores[3, HELD[3]] = -np.inf
    with pytest.raises(
        sm.InputError, match=r"of user 3 has score -inf.*leave it out of relevant"
    ):
        sm.evaluate(scores, "rr", relevant=HELD, seen=OTHERS)
    relevant = np.where(ROWS == 3, -1, HELD)
    found = sm.evaluate(scores, "rr", relevant=relevant, seen=OTHERS)
    assert found[0].value == pytest.approx(np.delete(1 / (1 + ABOVE), 3).mean())
