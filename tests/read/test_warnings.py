"""Warnings about padding, common items, orders of lists, and how negatives were drawn."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.cases import Case, Warned, assert_ends_as_expected, call_of, each_case
from tests.helpers.caught_warnings import messages_with, warns_about
from tests.helpers.forms import tables
from tests.helpers.many_users import (
    NEGATIVES,
    POPULARITY,
    TEST,
    correct,
    draw_negatives,
    labelled_pairs,
)
from tests.helpers.results import values_and_warnings
from tests.helpers.retriever import HELD_OUT, N_USERS, TOP_ITEMS

RNG = np.random.default_rng(8)
USERS, ITEMS = 40, 103
SCORES = -1 - RNG.random((USERS, ITEMS))
SCORES[:, 0] = 0
HELD = RNG.integers(1, ITEMS, USERS)
PAIRS = pd.DataFrame({"user_id": range(USERS), "item_id": HELD})
ZEROS = pd.DataFrame({"user_id": range(USERS), "item_id": 0})
BOTH = pd.concat([PAIRS, ZEROS])
ABOVE = (SCORES[np.arange(USERS), HELD][:, None] < SCORES).sum(axis=1)
LISTS = {user: row.tolist() for user, row in enumerate(np.argsort(-SCORES, axis=1)[:, :10])}


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize("data", [SCORES, LISTS], ids=["scores", "lists"])
@pytest.mark.parametrize("relevant", [BOTH, {user: [h, 0] for user, h in enumerate(HELD.tolist())}])
def test_item_of_all_users_warns(data, relevant, recwarn):
    sm.evaluate(data, "recall@10", relevant=relevant)
    (message,) = messages_with(recwarn, "if it is padding")
    assert "item 0 is relevant for 40 of 40 users" in message


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize(
    ("relevant", "value"),
    [
        pytest.param(PAIRS, np.mean(ABOVE < 10), id="remedy"),
        pytest.param(np.full(USERS, 5), None, id="only item"),
        pytest.param(RNG.random(SCORES.shape) < 0.95, None, id="several common"),
        pytest.param(pd.concat([PAIRS, ZEROS[:35]]), None, id="of most users"),
    ],
)
def test_item_that_is_not_of_all_users_does_not_warn(relevant, value, recwarn):
    (result,) = sm.evaluate(SCORES, "recall@10", relevant=relevant)
    assert value is None or result.value == value
    assert not messages_with(recwarn, "if it is padding")


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize(("rows", "warns"), [(2, True), (1, False)])
def test_rows_that_fill_up_a_batch_warn(rows, warns, recwarn):
    """The threshold is one hundredth: two of 200 rows."""
    rng = np.random.default_rng(9)
    scores = rng.normal(size=(200, 50))
    scores[:, 0] += 2
    scores[200 - rows :] = 0
    sm.evaluate(scores, "hit@10", relevant=np.zeros(200, int))
    assert bool(messages_with(recwarn, "rows are equal")) == warns


COLUMN_RNG = np.random.default_rng(9)
WITHOUT_PADDING = COLUMN_RNG.normal(size=(200, 60)) - 3
LIKED_ITEM = (WITHOUT_PADDING + COLUMN_RNG.gumbel(size=(200, 60))).argmax(axis=1)
LIKED_SCORE = WITHOUT_PADDING[np.arange(200), LIKED_ITEM][:, None]
RIGHT = np.mean((LIKED_SCORE < WITHOUT_PADDING).sum(axis=1) < 5)
PADDED = np.column_stack([np.zeros(200), WITHOUT_PADDING])
BY_ID = pd.DataFrame({"user_id": range(200), "item_id": 101 + LIKED_ITEM})


@pytest.mark.filterwarnings("ignore:seen")
@pytest.mark.parametrize(
    ("data", "relevant", "item"),
    [
        (PADDED, LIKED_ITEM + 1, "item 0 "),
        (pd.DataFrame(PADDED, columns=[*range(100, 161)]), BY_ID, "item 100 "),
    ],
    ids=["places", "ids"],
)
def test_first_column_of_one_score_warns(data, relevant, item, recwarn):
    """The padding item has score 0, above most others, which are log probabilities."""
    (result,) = sm.evaluate(data, "hit@5", relevant=relevant)
    assert result.value < RIGHT
    (message,) = messages_with(recwarn, "padding")
    assert item in message


@pytest.mark.filterwarnings("ignore:seen")
def test_first_column_of_row_numbers_warns(recwarn):
    data = np.column_stack([np.arange(200), WITHOUT_PADDING])
    sm.evaluate(data, "hit@5", relevant=LIKED_ITEM + 1)
    assert messages_with(recwarn, "ids of the rows")


@pytest.mark.filterwarnings("ignore:seen")
def test_padding_without_scores_gives_the_right_value_without_a_warning(recwarn):
    remedied = PADDED.copy()
    remedied[:, 0] = -np.inf
    (result,) = sm.evaluate(remedied, "hit@5", relevant=LIKED_ITEM + 1)
    assert result.value == RIGHT
    assert not messages_with(recwarn, "padding")


@pytest.mark.filterwarnings("ignore:seen")
def test_first_column_that_a_user_has_seen_is_an_item(recwarn):
    seen = np.zeros(PADDED.shape, bool)
    seen[7, 0] = True
    sm.evaluate(PADDED, "hit@5", relevant=LIKED_ITEM + 1, seen=seen)
    assert not messages_with(recwarn, "padding")


@pytest.mark.filterwarnings("ignore:seen")
def test_first_column_of_the_same_order_for_all_users_is_an_item(recwarn):
    popularity = np.tile(np.arange(61.0), (200, 1))
    sm.evaluate(popularity, "hit@5", relevant=LIKED_ITEM + 1)
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
    assert sm.Ranks.from_top_k(ids, [1, 0], scores, complete=True).n_candidates[0] == 3


# Lists


LISTED = pd.DataFrame({"user_id": np.repeat(np.arange(N_USERS), 10), "item_id": TOP_ITEMS.ravel()})
HELD_OUT_ITEMS = pd.DataFrame({"user_id": np.arange(N_USERS), "item_id": HELD_OUT})


SORTED_ITEMS = np.sort(TOP_ITEMS, axis=1)


HELD_OUT_BY_USER = {user: [int(item)] for user, item in enumerate(HELD_OUT)}


@pytest.mark.parametrize(
    "make",
    [
        lambda: (LISTED.assign(item_id=SORTED_ITEMS.ravel()), HELD_OUT_BY_USER),
        lambda: (dict(enumerate(SORTED_ITEMS.tolist())), HELD_OUT_BY_USER),
        lambda: (sm.Ranks.from_top_k(SORTED_ITEMS, HELD_OUT), None),
    ],
    ids=["frame", "dictionary", "array"],
)
def test_lists_sorted_by_item_warn(make):
    def evaluate():
        data, relevant = make()
        return sm.evaluate(data, "hit@5", relevant=relevant)

    assert "ascend" in values_and_warnings(evaluate)[1]


# Negatives of pairs, of 300 users and 400 items of tests/helpers/many_users.py

UNIFORM, POPULAR = labelled_pairs(NEGATIVES), labelled_pairs(draw_negatives(POPULARITY))
OF_TEST_SET = labelled_pairs(draw_negatives(np.isin(np.arange(400), TEST["item_id"]) + 1e-9))
EACH_SECOND = (np.arange(300) % 2 == 0)[:, None] & (np.arange(50) == 1)
REPEATED = labelled_pairs(np.where(EACH_SECOND, NEGATIVES[:, :1], NEGATIVES))
OF_30 = (np.arange(300) < 30)[:, None] & (np.arange(50) == 5)
WITH_HELD_OUT = labelled_pairs(np.where(OF_30, TEST[["item_id"]], NEGATIVES))
ANY_ITEMS = np.random.default_rng(6).integers(0, 400, size=(300, 50))
DRAWN_AGAIN = labelled_pairs((ANY_ITEMS + (TEST[["item_id"]].to_numpy() == ANY_ITEMS)) % 400)
NOT_UNIFORM = "'uniformity'"

NEGATIVE_CASES = [
    Case("uniform", correct(tables(UNIFORM)), 1),
    Case("of the test set", correct(tables(OF_TEST_SET)), NOT_UNIFORM),
    Case("popular", correct(tables(POPULAR)), NOT_UNIFORM),
    Case("popular, in lists", correct(POPULAR.drop(columns="label"), relevant=TEST), NOT_UNIFORM),
    Case("popular, read before", call_of(sm.SampledRanks.from_pairs, POPULAR, n_items=388)._replace(
         value=lambda sample: sm.correct(sample, "HR@10")), NOT_UNIFORM),
    Case("popular, of one recommender",
         call_of(sm.compare, {"good": UNIFORM, "bad": POPULAR}, "HR@10", n_items=388),
         f"bad: .*{NOT_UNIFORM}"),
    Case("duplicates", correct(tables(REPEATED)),
         Warned("'duplicates'.* 150 repeat an item of the user")),
    Case("held-out items", correct(tables(WITH_HELD_OUT)),
         Warned("'held-out item'.* 30 users have their held-out item")),
    Case("drawn again", correct(DRAWN_AGAIN, n_items=400, shape="none"), Warned("'duplicates'")),
]  # fmt: skip


@each_case(NEGATIVE_CASES)
def test_negatives(case, tmp_path):
    assert_ends_as_expected(case, tmp_path)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_draws_with_replacement_may_repeat():
    options = {"n_items": 400, "sampling": "with-replacement", "shape": "none"}
    notes = sm.correct(DRAWN_AGAIN, "auc", "sampled", **options).notes
    assert "duplicates" not in " ".join(notes)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_uniform_negatives_do_not_warn(seed):
    """Popular items are seen more often, and so are drawn less often."""
    data = labelled_pairs(draw_negatives(seed=seed))
    assert not sm.correct(data, "auc", "sampled", n_items=388, shape="none").notes


class TestUnevenNegatives:
    """Popular negatives are above the held-out item more often; scores of uniform ones do."""

    RNG = np.random.default_rng(0)
    POPULARITY = 1 / np.arange(1, 2001) ** 0.8
    USERS = np.arange(1000)
    SCORES = np.log(POPULARITY) + RNG.normal(size=(1000, 2000))
    HELD = RNG.choice(2000, 1000, p=POPULARITY / POPULARITY.sum())
    SCORES[USERS, HELD] += 0.5

    def pairs(self, negatives):
        items = np.column_stack([self.HELD, negatives])
        scores = np.take_along_axis(self.SCORES, items, axis=1)
        label = np.tile([1] + [0] * 100, 1000)
        columns = {"item_id": items.ravel(), "label": label, "score": scores.ravel()}
        return pd.DataFrame({"user_id": np.repeat(self.USERS, 101), **columns})

    def test_popular_negatives_are_refused(self):
        noise = np.random.default_rng(1).gumbel(size=self.SCORES.shape)
        keys = np.log(self.POPULARITY) + noise
        keys[self.USERS, self.HELD] = -np.inf
        popular = np.argsort(-keys, axis=1)[:, :100]
        with pytest.raises(sm.InputError, match="negatives"):
            sm.correct(self.pairs(popular), "HR@10", n_items=2000)

    def test_range_of_uniform_negatives_contains_the_exact_metric(self):
        relevant = {user: [int(item)] for user, item in enumerate(self.HELD)}
        seen = {0: [int(self.HELD[0] + 1) % 2000]}
        uniform = sm.negatives(relevant, seen, 100, items=2000)["item_id"].to_numpy()
        pairs = self.pairs(uniform.reshape(1000, 100))
        (result,) = sm.correct(pairs, "HR@10", "likely", n_items=2000)
        own = self.SCORES[self.USERS, self.HELD][:, None]
        exact = ((own < self.SCORES).sum(axis=1) < 10).mean()
        assert result.range_low <= exact <= result.range_high


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_warning_names_the_recommender():
    data = {"good": UNIFORM, "bad": WITH_HELD_OUT}
    with warns_about("negatives"):
        results = sm.compare(data, "auc", "sampled", n_items=388, shape="none")
    assert {note.partition(":")[0] for note in results.notes} <= {"bad, data", "data"}
    assert any(note.startswith("bad, data") for note in results.notes)


# Copies of items


class TestCopies:
    """Items of a corpus made from interactions: each of 200 once, and 1,500 more rows."""

    RNG = np.random.default_rng(0)
    USERS, ITEMS = RNG.normal(size=(300, 8)), RNG.normal(size=(200, 8))
    SCORES = USERS @ ITEMS.T
    HELD_OUT = np.argsort(-SCORES, axis=1)[np.arange(300), RNG.integers(30, size=300)]
    OWN = SCORES[np.arange(300), HELD_OUT][:, None]
    ITEM_OF_ROW = np.r_[0:200, RNG.choice(200, 1500)]
    CORPUS = ITEMS[ITEM_OF_ROW]
    FORMS = pytest.mark.parametrize("form", ["vectors", "scores"])

    def evaluate(self, form, rows=slice(None)):
        """Evaluate some rows of the corpus."""
        items = self.ITEM_OF_ROW[rows]
        data = (self.USERS, self.ITEMS[items]) if form == "vectors" else self.SCORES[:, items]
        return sm.evaluate(data, "hit@10", relevant=self.HELD_OUT)

    @FORMS
    def test_copies_of_items_warn(self, form):
        """A held-out item ties with its copies: with b above, it has 10 - b of its 1 + c places."""
        better, tied = (
            [compare(row, own)[self.ITEM_OF_ROW].sum()
             for row, own in zip(self.SCORES, self.OWN, strict=True)]
            for compare in (np.greater, np.equal)
        )  # fmt: skip
        share_in_ten = np.clip((10 - np.array(better)) / tied, 0.0, 1.0)
        with warns_about("1,500 of 1,700"):
            (result,) = self.evaluate(form)
        assert result.value == pytest.approx(share_in_ten.mean())

    @FORMS
    def test_removal_of_copies_gives_the_right_number(self, form):
        _, first = np.unique(self.CORPUS, axis=0, return_index=True)
        value, message = values_and_warnings(self.evaluate, form, np.sort(first))
        assert value == pytest.approx([((self.SCORES > self.OWN).sum(axis=1) < 10).mean()])
        assert "more than once" not in message


@pytest.mark.parametrize("rows_of_a_copied_item", [2, 501])
def test_copies_of_one_percent_of_many_items_warn(rows_of_a_copied_item):
    """Of 50,000 items 500 are copies: of 500 items in two rows each, or of one in 501 rows."""
    rng = np.random.default_rng(0)
    items = rng.normal(size=(50_000, 4)).astype(np.float32)
    is_copy = rng.choice(50_000, 1000, replace=False).reshape(2, 500)
    n_copied = 500 // (rows_of_a_copied_item - 1)
    items[is_copy[0]] = np.resize(items[is_copy[1][:n_copied]], (500, 4))
    users, held_out = rng.normal(size=(2, 4)), [0, 1]
    with warns_about("500 of 50,000 rows of the item vectors equal another"):
        sm.rank((users, items), None, held_out, up_to=1)


# Items x, y, x and one user, whose held-out item y is second of the two.
OF_XYX = pd.DataFrame([[3.0], [2.0], [3.0]], index=["x", "y", "x"])
ONE_USER = pd.DataFrame([[1.0]])


@pytest.mark.parametrize("data", [OF_XYX.T, (ONE_USER, OF_XYX)], ids=["scores", "vectors"])
def test_duplicate_ids_of_items_are_refused_by_position(data):
    with pytest.raises(sm.InputError, match="id x, at positions 0 and 2"):
        sm.evaluate(data, "rr", relevant={0: ["y"]})


@pytest.mark.parametrize("data", [OF_XYX[:2].T, (ONE_USER, OF_XYX[:2])], ids=["scores", "vectors"])
def test_ids_of_items_without_duplicates_are_read(data):
    assert sm.evaluate(data, "rr", relevant={0: ["y"]})[0].value == 1 / 2


@pytest.mark.parametrize(
    "scores",
    [
        np.outer(np.linspace(1.0, 2.0, 60), np.arange(400) // 4),  # activity times popularity
        np.where(np.arange(400) < 90, 0.0, np.random.default_rng(1).normal(size=(60, 400))),
        np.random.default_rng(1).integers(1, 6, size=(60, 400)).astype(float),  # ratings
    ],
    ids=["popularity", "items without a score", "ratings"],
)
def test_equal_scores_of_different_items_are_no_copies(scores):
    held_out = np.random.default_rng(2).integers(100, 400, size=60)
    _, message = values_and_warnings(lambda: sm.evaluate(scores, "hit@10", relevant=held_out))
    assert "more than once" not in message


# Square batches

BATCH_RNG = np.random.default_rng(63)
SIZE, BATCHES, CATALOGUE = 40, 5, 3000
BIAS = -np.log(1 + np.arange(CATALOGUE))
BATCH_SCORES = BATCH_RNG.normal(size=(SIZE * BATCHES, CATALOGUE)) + BIAS
BATCH_ROWS = np.arange(SIZE * BATCHES)
BATCH_HELD = (BATCH_SCORES + BATCH_RNG.gumbel(size=BATCH_SCORES.shape)).argmax(axis=1)
EXACT = np.mean((BATCH_SCORES[BATCH_ROWS, BATCH_HELD][:, None] < BATCH_SCORES).sum(axis=1) < 10)
BATCH_PARTS = [BATCH_ROWS[k * SIZE : (k + 1) * SIZE] for k in range(BATCHES)]
IN_BATCH = np.concatenate([BATCH_SCORES[np.ix_(rows, BATCH_HELD[rows])] for rows in BATCH_PARTS])
DIAGONAL = np.tile(np.arange(SIZE), BATCHES)


@pytest.mark.parametrize("positive", [DIAGONAL, np.tile(np.eye(SIZE, dtype=int), (BATCHES, 1))])
def test_square_batches_are_not_corrected(positive):
    sampled_ranks = 1 + (IN_BATCH[BATCH_ROWS, DIAGONAL][:, None] < IN_BATCH).sum(axis=1)
    ranks = sm.SampledRanks(sampled_ranks, n_items=CATALOGUE, n_negatives=SIZE - 1)
    result = sm.correct(ranks, "HR@10", "sampled")[0]
    assert result.range_high < EXACT  # as if negatives were uniform
    with pytest.raises(sm.InputError, match=r"positive: .*popularity"):
        sm.correct(IN_BATCH, "HR@10", positive=positive, n_items=CATALOGUE)
    meter = sm.RankMeter("HR@10", n_items=CATALOGUE)
    with pytest.raises(sm.InputError, match=r"positive: .*popularity"):
        meter.update(IN_BATCH[:SIZE], positive=np.arange(SIZE))


def test_square_batches_of_a_meter_warn(recwarn):
    meter = sm.RankMeter("HR@10")
    for rows in BATCH_PARTS:
        meter.update(IN_BATCH[rows], positive=np.arange(SIZE))
    assert messages_with(recwarn, "square batches")


def test_remedy_for_square_batches_holds(recwarn):
    rng = np.random.default_rng(64)
    sample = np.array(
        [rng.choice(np.delete(np.arange(CATALOGUE), item), 99, False) for item in BATCH_HELD]
    )
    scores = np.take_along_axis(BATCH_SCORES, np.column_stack([BATCH_HELD, sample]), axis=1)
    result = sm.correct(scores, "HR@10", "sampled", positive=0, n_items=CATALOGUE)[0]
    assert result.range_low <= EXACT <= result.range_high
    assert not messages_with(recwarn, "square batches")


def test_columns_other_than_the_diagonal_do_not_warn(recwarn):
    other = DIAGONAL.copy()
    other[7] = 3
    sm.correct(IN_BATCH, "HR@10", "sampled", positive=other, n_items=CATALOGUE)
    assert not messages_with(recwarn, "square batches")


def test_one_square_of_a_meter_does_not_warn(recwarn):
    """Such as texts and their pictures."""
    meter = sm.RankMeter("HR@10")
    meter.update(IN_BATCH[:SIZE], positive=np.arange(SIZE))
    assert not messages_with(recwarn, "square batches")
