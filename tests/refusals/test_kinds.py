"""What people hold, a line for each kind: the metric is that of a dense matrix of scores."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csr_array, csr_matrix

import sampled_metrics as sm

RNG = np.random.default_rng(3)
LEFT, RIGHT = RNG.normal(size=(20, 3)), RNG.normal(size=(30, 3))
S = LEFT @ RIGHT.T  # 20 users, 30 items
HELD = RNG.integers(30, size=20)
SEEN = (RNG.random(S.shape) < 0.2) & (np.arange(30) != HELD[:, None])
U, I = [f"u{k}" for k in range(20)], [100 + k for k in range(30)]  # noqa: E741
USER, ITEM = np.indices(S.shape).reshape(2, -1)
LONG = pd.DataFrame({"user_id": USER, "item_id": ITEM, "score": S.ravel()})
ORDER = np.argsort(np.where(SEEN, np.inf, -S), axis=1, kind="stable")[:, :20]
LISTS = pd.DataFrame({"user_id": np.arange(20).repeat(20), "item_id": ORDER.ravel()})
MARKED = np.zeros(S.shape, bool)
MARKED[np.arange(20), HELD] = True
PAIRS = pd.DataFrame({"user_id": range(20), "item_id": HELD})
NAMED = pd.DataFrame({"user_id": U, "item_id": np.array(I)[HELD]})
NAMED_SEEN = pd.DataFrame({"user_id": np.array(U)[SEEN.nonzero()[0]],
                           "item_id": np.array(I)[SEEN.nonzero()[1]]})  # fmt: skip
SEEN_LISTS = [np.flatnonzero(row).tolist() for row in SEEN]
FRAME = pd.DataFrame(S, index=U, columns=I)
TOP = {u: row[~SEEN[u, row]] for u, row in enumerate(ORDER)}
BY = {"relevant": HELD, "seen": SEEN}


class Dlpack:
    """A tensor that only has the exchange protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (S, {}),
        (S.tolist(), {"relevant": HELD.tolist(), "seen": SEEN_LISTS}),
        (csr_array(S), {"relevant": csr_matrix(MARKED), "seen": coo_matrix(SEEN)}),
        (Dlpack(S), {"relevant": Dlpack(HELD), "seen": Dlpack(SEEN.astype(int))}),
        ((LEFT, RIGHT), {"relevant": MARKED.astype(int)}),
        (lambda users: S[users], {"relevant": [[item] for item in HELD]}),
        (pd.DataFrame(S), {"relevant": PAIRS, "seen": dict(enumerate(SEEN_LISTS))}),
        (FRAME, {"relevant": NAMED, "seen": NAMED_SEEN}),
        (FRAME, {"relevant": dict(NAMED.to_numpy()), "seen": NAMED_SEEN}),
        (FRAME, {"relevant": NAMED.set_index("user_id")["item_id"]}),
        (FRAME, {"relevant": pd.Series(HELD)}),
        (LONG, {"relevant": PAIRS, "seen": SEEN_LISTS}),
        (LONG.sample(frac=1, random_state=0), {}),
        (LISTS, {}),
        (LISTS.rename(columns={"user_id": "user", "item_id": "item"}), {}),
        (LISTS.assign(rank=LISTS.groupby("user_id").cumcount() + 1), {}),
        (TOP, {"relevant": list(HELD)}),
        ((ORDER, np.take_along_axis(S, ORDER, 1)), {}),
    ],
)
def test_every_kind_gives_the_metric_of_the_matrix(data, options):
    expected = (1 + ((S[MARKED][:, None] < S) & ~SEEN).sum(axis=1) <= 5).mean()
    (found,) = sm.evaluate(data, "hr@5", **(BY | options))
    assert found.value == expected


@pytest.mark.parametrize("none", [-1, None])
def test_users_without_a_held_out_item_are_left_out(none):
    (expected,) = sm.evaluate(S[1:], "auc", relevant=HELD[1:], seen=SEEN[1:])
    held = [none, *HELD[1:].tolist()]
    for data in (S, lambda users: S[users], (LEFT, RIGHT)):
        (found,) = sm.evaluate(data, "auc", relevant=held, seen=SEEN)
        assert (found.value, found.n_users) == (pytest.approx(expected.value), 19)
    for score in (
        S,
        csr_array(S),
        FRAME,
        Dlpack(S),
        (LEFT, RIGHT),
        lambda users: S[users],
    ):
        assert len(sm.rank(score, SEEN, held)) == 19


def test_dictionaries_and_columns_of_held_out_items_among_negatives():
    lists = {user: row[:9] for user, row in enumerate(np.argsort(-S))}
    held = [int(lists[user][user % 4]) for user in TOP]
    for relevant in (
        held,
        dict(enumerate(held)),
        {u: [i] for u, i in enumerate(held)},
    ):
        (found,) = sm.correct(
            lists, "mrr", "sampled", relevant=relevant, n_items=30, shape="none"
        )
        assert found.value == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


@pytest.mark.parametrize(
    ("data", "relevant", "words"),
    [
        (lambda users: S[users], PAIRS, "a function of users needs relevant"),
        (S, [[99]] * 20, "found 99"),
        (object(), HELD, "expected numbers, a DataFrame or a file"),
    ],
)
def test_a_refusal_names_the_door(data, relevant, words):
    with pytest.raises(sm.InputError, match=words):
        sm.evaluate(data, "auc", relevant=relevant)
