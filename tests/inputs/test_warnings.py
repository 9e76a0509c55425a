"""Warnings about padding, common items, orders of lists, and how negatives were drawn."""

import warnings

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import messages_with, warns_about
from tests.helpers.results import values_and_warnings
from tests.helpers.retriever import HELD_OUT, HIT_RATE, N_USERS, TOP_ITEMS, TOP_SCORES

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


@pytest.mark.filterwarnings("ignore:seen")
class TestACommonItem:
    @pytest.mark.parametrize("data", [SCORES, LISTS], ids=["scores", "lists"])
    @pytest.mark.parametrize(
        "relevant", [BOTH, {user: [h, 0] for user, h in enumerate(HELD.tolist())}]
    )
    def test_item_of_all_users_warns(self, data, relevant, recwarn):
        sm.evaluate(data, "recall@10", relevant=relevant)
        (result,) = messages_with(recwarn, "fills up")
        assert "item 0 is relevant for 40 of 40 users" in result

    def test_remedy_is_right_and_does_not_warn(self, recwarn):
        (result,) = sm.evaluate(SCORES, "recall@10", relevant=PAIRS)
        assert result.value == np.mean(ABOVE < 10)
        assert not messages_with(recwarn, "fills up")

    def test_only_item_or_several_common_items_do_not_warn(self, recwarn):
        sm.evaluate(SCORES, "recall@10", relevant=np.full(USERS, 5))
        most = RNG.random(SCORES.shape) < 0.95
        sm.evaluate(SCORES, "recall@10", relevant=most)
        sm.evaluate(SCORES, "recall@10", relevant=pd.concat([PAIRS, ZEROS[:35]]))
        assert not messages_with(recwarn, "fills up")


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize(("rows", "warns"), [(2, True), (1, False)])
def test_rows_that_fill_up_a_batch_warn(rows, warns, recwarn):
    """The threshold is one hundredth: two of 200 rows."""
    scores = RNG.normal(size=(200, 50))
    scores[:, 0] += 2
    scores[200 - rows :] = 0
    sm.evaluate(scores, "hit@10", relevant=np.zeros(200, int))
    assert bool(messages_with(recwarn, "rows are equal")) == warns


@pytest.mark.filterwarnings("ignore:seen")
class TestFirstColumn:
    RNG = np.random.default_rng(9)
    ALL = RNG.normal(size=(200, 60)) - 3
    HELD = (ALL + RNG.gumbel(size=ALL.shape)).argmax(axis=1)
    RIGHT = np.mean((ALL[np.arange(200), HELD][:, None] < ALL).sum(axis=1) < 5)
    PADDED = np.column_stack([np.zeros(200), ALL])

    @pytest.mark.parametrize("ids", [None, [*range(100, 161)]])
    def test_column_of_one_score_warns(self, ids, recwarn):
        """The padding item has score 0, above most others, which are log probabilities."""
        data, relevant = self.PADDED, self.HELD + 1
        if ids is not None:
            data = pd.DataFrame(data, columns=ids)
        (result,) = sm.evaluate(
            data, "hit@5", relevant=relevant if ids is None else self.by_id()
        )
        assert result.value < self.RIGHT
        (messages,) = messages_with(recwarn, "padding")
        assert ("item 0 " if ids is None else "item 100 ") in messages

    def by_id(self):
        return pd.DataFrame({"user_id": range(200), "item_id": 101 + self.HELD})

    def test_remedy_is_right(self, recwarn):
        data = self.PADDED.copy()
        data[:, 0] = -np.inf
        (result,) = sm.evaluate(data, "hit@5", relevant=self.HELD + 1)
        assert result.value == self.RIGHT
        assert not messages_with(recwarn, "padding")

    def test_column_of_row_numbers_warns(self, recwarn):
        data = np.column_stack([np.arange(200), self.ALL])
        sm.evaluate(data, "hit@5", relevant=self.HELD + 1)
        assert messages_with(recwarn, "ids of the rows")

    def test_column_of_an_item_that_some_know_does_not_warn(self, recwarn):
        seen = np.zeros(self.PADDED.shape, bool)
        seen[7, 0] = True
        sm.evaluate(self.PADDED, "hit@5", relevant=self.HELD + 1, seen=seen)
        popular = np.tile(np.arange(61.0), (200, 1))  # all users have the same order
        sm.evaluate(popular, "hit@5", relevant=self.HELD + 1)
        assert not messages_with(recwarn, "padding")


@pytest.mark.filterwarnings("ignore:seen")
def test_fillers_of_implicit_are_not_candidates():
    """`recommend` puts seen items last, with the lowest number as score."""
    ids = np.array([[3, 1, 0, 2], [2, 0, 3, 1]])
    scores = np.array([[0.9, 0.5, 0.2, 0.1], [0.8, 0.4, 0.3, 0.2]], np.float32)
    scores[0, 3] = scores[1, 2:] = np.finfo(np.float32).min
    options = {"relevant": [1, 0], "complete": True}
    results = sm.evaluate((ids, scores), "auc, rr", **options)
    assert [result.value for result in results] == [(1 / 2 + 0) / 2, 0.5]
    assert (
        sm.Ranks.from_top_k(ids, [1, 0], scores, complete=True).n_candidates[0] == 3
    )


# Lists


def test_distances_or_ranks_as_scores_warn():
    assert (
        "contradict"
        in values_and_warnings(
            sm.evaluate, (TOP_ITEMS, -TOP_SCORES), "hit@5", relevant=HELD_OUT
        )[1]
    )
    lists = pd.DataFrame(
        {"user_id": np.repeat(np.arange(N_USERS), 10), "item_id": TOP_ITEMS.ravel()}
    )
    relevant = pd.DataFrame({"user_id": np.arange(N_USERS), "item_id": HELD_OUT})
    for score, message in (
        (-TOP_SCORES.ravel(), "if they are distances"),
        (np.tile(np.arange(10), N_USERS), "if they are ranks"),
        (np.tile(np.arange(1.0, 11), N_USERS), "if they are ranks"),
    ):
        data = lists.assign(score=score)
        assert (
            message
            in values_and_warnings(sm.evaluate, data, "hit@5", relevant=relevant)[1]
        )
    right = lists.assign(score=TOP_SCORES.ravel())
    result, messages = values_and_warnings(
        sm.evaluate, right, "hit@5", relevant=relevant
    )
    assert (result, messages) == ([pytest.approx(HIT_RATE)], "")


@pytest.mark.parametrize("form", ["frame", "dictionary", "arrays"])
def test_lists_sorted_by_item_warn(form):
    items = np.sort(TOP_ITEMS, axis=1)
    held_out = {user: [int(item)] for user, item in enumerate(HELD_OUT)}
    data = {user: row.tolist() for user, row in enumerate(items)}
    if form == "frame":
        data = pd.DataFrame(
            {"user_id": np.repeat(np.arange(N_USERS), 10), "item_id": items.ravel()}
        )
    elif form == "arrays":
        _, messages = values_and_warnings(
            lambda: sm.evaluate(sm.Ranks.from_top_k(items, HELD_OUT), "hit@5")
        )
        assert "ascend" in messages or not messages
        return
    assert (
        "ascend"
        in values_and_warnings(sm.evaluate, data, "hit@5", relevant=held_out)[1]
    )


# Negatives of pairs

PAIR_USERS, PAIR_ITEMS, N_NEGATIVES, N_SEEN = 500, 800, 40, 25
PAIR_RNG = np.random.default_rng(6)
POPULARITY = 1.0 / np.arange(5, PAIR_ITEMS + 5)


def draw_items(weights, size, rng, excluded):
    """Draw items of each user without replacement, by the largest random keys."""
    keys = np.log(weights) + rng.gumbel(size=(PAIR_USERS, PAIR_ITEMS))
    keys[excluded] = -np.inf
    return np.argsort(-keys, axis=1)[:, :size]


TASTE = np.exp(
    PAIR_RNG.normal(size=(PAIR_USERS, 5)) @ PAIR_RNG.normal(size=(5, PAIR_ITEMS))
)
NONE = np.zeros((PAIR_USERS, PAIR_ITEMS), bool)
LIKED = draw_items(POPULARITY * TASTE, N_SEEN + 1, PAIR_RNG, NONE)
PAIR_HELD = LIKED[:, 0]
SEEN_MASK = NONE.copy()
np.put_along_axis(SEEN_MASK, LIKED, True, axis=1)
UNIFORM = np.ones(PAIR_ITEMS)


def labelled_pairs(negatives, seed=0):
    rng = np.random.default_rng(seed)
    items = np.column_stack([PAIR_HELD, negatives])
    width = items.shape[1]
    frame = pd.DataFrame(
        {"user_id": np.repeat(np.arange(PAIR_USERS), width), "item_id": items.ravel()}
    )
    score = rng.normal(size=items.shape) + 2 * (np.arange(width) == 0)
    labels = np.tile([1] + [0] * (width - 1), PAIR_USERS)
    return frame.assign(score=score.ravel(), label=labels)


def notes_of(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)
        arguments = {"n_items": PAIR_ITEMS - N_SEEN, "shape": "none", **options}
        return sm.correct(data, "auc", "sampled", **arguments).notes


def uniform_negatives(seed):
    return draw_items(UNIFORM, N_NEGATIVES, np.random.default_rng(seed), SEEN_MASK)


def test_uniform_negatives_do_not_warn():
    """Popular items are seen more often, and so are drawn less often."""
    assert [
        note
        for seed in range(20)
        for note in notes_of(labelled_pairs(uniform_negatives(seed), seed))
    ] == []


def negatives_of_a_retriever():
    scores = np.where(SEEN_MASK, 0, TASTE * POPULARITY)
    return np.argsort(-scores, axis=1)[:, :20]


def negatives_of_the_test_set():
    weights = np.isin(np.arange(PAIR_ITEMS), PAIR_HELD) + 1e-9
    return draw_items(weights, N_NEGATIVES, np.random.default_rng(1), SEEN_MASK)


def repeated_negatives():
    negatives = uniform_negatives(3)
    negatives[::2, 1] = negatives[::2, 0]
    return negatives


def negatives_with_held_out_items():
    negatives = uniform_negatives(4)
    negatives[:30, 5] = PAIR_HELD[:30]
    return negatives


def popular_negatives():
    return draw_items(POPULARITY, N_NEGATIVES, np.random.default_rng(2), SEEN_MASK)


@pytest.mark.parametrize(
    ("make", "check", "message"),
    [
        (popular_negatives, "uniformity", "drawn by popularity"),
        (negatives_of_a_retriever, "uniformity", "by a retriever"),
        (
            negatives_of_the_test_set,
            "uniformity",
            "estimates and the range are too low",
        ),
        (
            lambda: np.tile(uniform_negatives(5)[0], (PAIR_USERS, 1)),
            "shared",
            "have the negatives of another one",
        ),
        (repeated_negatives, "duplicates", "250 repeat an item of the user"),
        (
            negatives_with_held_out_items,
            "held-out item",
            "30 users have their held-out item",
        ),
    ],
)
def test_failing_check_is_named_in_each_form(make, check, message, tmp_path):
    data = labelled_pairs(make())
    data.to_csv(tmp_path / "p.csv", index=False)
    data.to_parquet(tmp_path / "p.parquet")
    for form in (
        data,
        data.to_dict("list"),
        tmp_path / "p.csv",
        tmp_path / "p.parquet",
    ):
        results = [
            note for note in notes_of(form) if f"fail the check '{check}'" in note
        ]
        assert len(results) == 1
        assert message in results[0]
    scored = data.drop(columns="label")
    held_out = {user: [int(item)] for user, item in enumerate(PAIR_HELD)}
    if check == "uniformity":
        assert any(check in note for note in notes_of(scored, relevant=held_out))


def test_draws_with_replacement_may_repeat():
    negatives = PAIR_RNG.integers(0, PAIR_ITEMS, size=(PAIR_USERS, N_NEGATIVES))
    negatives[negatives == PAIR_HELD[:, None]] = 0
    negatives[PAIR_HELD == 0] = np.arange(1, N_NEGATIVES + 1)
    data = labelled_pairs(negatives)
    options = {"n_items": PAIR_ITEMS, "sampling": "with-replacement"}
    assert not [note for note in notes_of(data, **options) if "duplicates" in note]
    assert [
        note for note in notes_of(data, n_items=PAIR_ITEMS) if "duplicates" in note
    ]


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_warning_names_the_recommender():
    data = {
        "good": labelled_pairs(uniform_negatives(8)),
        "bad": labelled_pairs(popular_negatives()),
    }
    with warns_about("negatives"):
        results = sm.compare(
            data, "auc", "sampled", n_items=PAIR_ITEMS - N_SEEN, shape="none"
        )
    assert [note.partition(":")[0] for note in results.notes] == ["bad, data", "data"]


# Square batches

BATCH_RNG = np.random.default_rng(63)
SIZE, BATCHES, CATALOGUE = 40, 5, 3000
BIAS = -np.log(1 + np.arange(CATALOGUE))
BATCH_SCORES = BATCH_RNG.normal(size=(SIZE * BATCHES, CATALOGUE)) + BIAS
BATCH_ROWS = np.arange(SIZE * BATCHES)
BATCH_HELD = (BATCH_SCORES + BATCH_RNG.gumbel(size=BATCH_SCORES.shape)).argmax(axis=1)
EXACT = np.mean(
    (BATCH_SCORES[BATCH_ROWS, BATCH_HELD][:, None] < BATCH_SCORES).sum(axis=1) < 10
)
BATCH_PARTS = [BATCH_ROWS[k * SIZE : (k + 1) * SIZE] for k in range(BATCHES)]
IN_BATCH = np.concatenate(
    [BATCH_SCORES[np.ix_(rows, BATCH_HELD[rows])] for rows in BATCH_PARTS]
)
DIAGONAL = np.tile(np.arange(SIZE), BATCHES)


@pytest.mark.parametrize(
    "positive", [DIAGONAL, np.tile(np.eye(SIZE, dtype=int), (BATCHES, 1))]
)
def test_square_batches_warn(positive, recwarn):
    result = sm.correct(
        IN_BATCH, "HR@10", "sampled", positive=positive, n_items=CATALOGUE
    )[0]
    assert (
        result.range_high < EXACT
    )  # the range misses the exact value, which is why it warns
    (message,) = messages_with(recwarn, "square batches")
    assert "popularity" in message


@pytest.mark.parametrize("n_items", [CATALOGUE, None])
def test_square_batches_of_a_meter_warn(n_items, recwarn):
    meter = sm.RankMeter("HR@10", n_items=n_items)
    for rows in BATCH_PARTS:
        meter.update(IN_BATCH[rows], positive=np.arange(SIZE))
    assert messages_with(recwarn, "square batches")


def test_remedy_for_square_batches_holds(recwarn):
    sample = np.array(
        [
            BATCH_RNG.choice(np.delete(np.arange(CATALOGUE), item), 99, False)
            for item in BATCH_HELD
        ]
    )
    scores = np.take_along_axis(
        BATCH_SCORES, np.column_stack([BATCH_HELD, sample]), axis=1
    )
    result = sm.correct(scores, "HR@10", "sampled", positive=0, n_items=CATALOGUE)[0]
    assert result.range_low <= EXACT <= result.range_high
    assert not messages_with(recwarn, "square batches")


def test_other_columns_or_one_square_do_not_warn(recwarn):
    other = DIAGONAL.copy()
    other[7] = 3
    sm.correct(IN_BATCH, "HR@10", "sampled", positive=other, n_items=CATALOGUE)
    meter = sm.RankMeter("HR@10")
    meter.update(
        IN_BATCH[:SIZE], positive=np.arange(SIZE)
    )  # such as texts and their pictures
    assert not messages_with(recwarn, "square batches")
