"""Relevant and seen items of users: lists, matrices, tables and pairs of ids."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.read.items import items_by_id, items_by_position
from sampled_metrics.read.options import as_ranks
from sampled_metrics.sampling.catalogue import read_catalogue
from tests.helpers.files import write_file
from tests.helpers.results import refusal_message

SQUARE_SCORES = np.array([[3.0, 2.0], [1.0, 2.0]])
WIDE_SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
ITEM_LISTS = [[1, 0], [0, 1]]  # as a matrix item 0 of user 0 and item 1 of user 1
VECTORS = (np.eye(2), SQUARE_SCORES.T)
UNSEEN = np.zeros((2, 2), bool)


def wide_rows(users):
    return WIDE_SCORES[users]


def square_rows(users):
    return SQUARE_SCORES[users]


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (SQUARE_SCORES, {}),
        (SQUARE_SCORES.tolist(), {}),
        (csr_array(SQUARE_SCORES), {}),
        (VECTORS, {}),
        (square_rows, {}),
        (square_rows, {"items": ["a", "b"]}),
        (square_rows, {"seen": UNSEEN}),
        (square_rows, {"seen": csr_array(UNSEEN)}),
    ],
)
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_lists_of_the_shape_of_scores_are_a_matrix(score, options):
    ranks = sm.rank(score, relevant=ITEM_LISTS, **({"seen": None} | options))
    assert ranks.n_better.tolist() == [0, 0]
    assert ranks.is_single


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (WIDE_SCORES, {}),
        ((np.eye(2), WIDE_SCORES.T), {}),
        (wide_rows, {}),
        (wide_rows, {"items": ["a", "b", "c"]}),
    ],
)
def test_lists_of_another_shape_are_columns(score, options):
    ranks = sm.rank(score, None, ITEM_LISTS, **options)
    assert ranks.n_better.tolist() == [0, 1, 1, 2]
    assert ranks.n_found.tolist() == [2, 2]


@pytest.mark.parametrize("relevant", [[[], [2], [0, 1]], [None, 2, [0, 1]], [(), [2], (1, 0)],
                                      [np.array([], int), {2}, np.array([0, 1])]])  # fmt: skip
def test_user_may_have_no_one_or_several_items(relevant):
    scores = np.tile([1.0, 2.0, 3.0], (3, 1))
    ranks = sm.rank(scores, None, relevant)
    assert ranks.users.tolist() == [1, 2]
    assert ranks.n_better.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("lists", "row"), [([[0], [1], [2]], None), ([[0], [3]], 2), ([[-2], [1]], 1)]
)
def test_list_out_of_bounds_is_refused(lists, row):
    with pytest.raises(sm.InputError) as caught:
        items_by_position(lists, "relevant", (2, 3))
    assert "relevant" in str(caught.value)
    assert caught.value.row == row


@pytest.mark.parametrize("columns", [[0], [0, 1, 0], [0, 1, -1]])
def test_columns_need_one_for_each_user(columns):
    for form in (columns, np.array(columns)):
        with pytest.raises(sm.InputError, match="relevant"):
            items_by_position(form, "relevant", (2, 3))


def test_columns_give_the_number_of_items():
    result = items_by_position([[0, 4], [2]], "relevant")
    assert (result.n_users, result.n_items) == (2, 5)
    assert result.item.tolist() == [0, 4, 2]
    result = items_by_position([[2], [2, 2]], "seen", (2, 3))
    assert (result.n_users, result.n_items, result.item.tolist()) == (2, 3, [2, 2])
    result = items_by_position([1, -1, 0], "relevant", (3, 2))
    assert (result.user.tolist(), result.item.tolist()) == ([0, 2], [1, 0])
    assert items_by_position([1, None, 0], "relevant", (3, 2)).user.tolist() == [0, 2]
    result = items_by_position([[1, 3], [], [0]], "seen")
    assert (result.n_users, result.n_items) == (3, 4)
    assert result.item.tolist() == [1, 3, 0]
    assert items_by_position([[], []], "seen").n_items == 0
    for lists, size in (([[], []], 0), ([[0], []], 1), ([[4], [2]], 5)):
        assert len(items_by_id(lists, "seen").item_ids) == size


@pytest.mark.parametrize(
    ("marked", "pairs", "grades"),
    [
        (np.array([[0, 1], [1, 1]]), [(0, 1), (1, 0), (1, 1)], None),
        (np.array([[0, 2], [1, -1]]), [(0, 1), (1, 0)], [2, 1]),
        (np.array([[0.0, 0.5], [0.0, 3.0]]), [(0, 1), (1, 1)], [0.5, 3]),
        (np.array([[False, True], [True, False]]), [(0, 1), (1, 0)], None),
    ],
)
def test_nonzero_entries_of_a_matrix_are_items(marked, pairs, grades):
    for form in (marked, csr_array(marked)):
        result = items_by_position(form, "relevant", (2, 2))
        users, items = result.user.tolist(), result.item.tolist()
        assert list(zip(users, items, strict=True)) == pairs
        assert (result.relevance is None) == (grades is None)
        if grades:
            assert result.relevance.tolist() == grades
        seen = items_by_position(form, "seen", (2, 2))
        assert seen.item.size == np.count_nonzero(marked)
        assert seen.relevance is None
        with pytest.raises(sm.InputError, match=r"shape \(2, 2\)"):
            items_by_position(form, "relevant", (2, 3))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_matrix_that_is_not_finite_is_refused(number):
    marked = np.array([[0.0, 1.0], [number, 0.0]])
    for form in (marked, csr_array(marked)):
        with pytest.raises(sm.InputError, match=r"seen has .* not finite"):
            items_by_position(form, "seen", (2, 2))


@pytest.mark.parametrize(
    ("rows", "fields", "values", "is_refused"),
    [
        (10, 3, 11, True),
        (9, 3, 11, False),
        (10, 5, 11, True),
        (10, 6, 11, False),
        (10, 3, 10, False),
    ],
)
def test_rows_of_ids_are_not_a_matrix(rows, fields, values, is_refused):
    """Many rows of few fields with more values than grades have."""
    ids = np.resize(np.arange(values), (rows, fields))
    if is_refused:
        with pytest.raises(sm.InputError, match=f"relevant: .* rows of {fields}"):
            items_by_position(ids, "relevant")
    else:
        result = items_by_position(ids, "relevant")
        assert result.item.size == np.count_nonzero(ids)
    assert items_by_position(ids, "relevant", (rows, fields)).n_items == fields


def test_absent_user_or_item_is_in_none_of_the_pairs():
    seen = items_by_position([[0, 2], [1]], "seen", (2, 3))
    user = np.array([0, 0, 1, -1, 0, 1, 1])
    item = np.array([0, 1, 1, 1, -1, -1, 2])
    is_seen = [True, False, True, False, False, False, False]
    assert seen.has(user, item).tolist() == is_seen


# By id


def test_items_seen_by_other_users_are_separate():
    held_out = {"cy": ["b"], "al": ["a"]}
    seen = {"al": ["b", "c"], "bo": ["a"], "cy": ["d"], "di": ["e", "b"]}
    catalogue = read_catalogue(held_out, seen)
    assert catalogue.user_ids.tolist() == ["al", "cy"]
    assert catalogue.item_ids.tolist() == list("abcde")

    def listed(items):
        pairs = zip(items.user.tolist(), items.item.tolist(), strict=True)
        return sorted((user, catalogue.item_ids[item]) for user, item in pairs)

    assert listed(catalogue.held_out) == [(0, "a"), (1, "b")]
    assert listed(catalogue.seen) == [(0, "b"), (0, "c"), (1, "d")]
    # items of bo and di, in the order of the table
    assert listed(catalogue.seen_by_others) == [(0, "a"), (1, "b"), (1, "e")]


@pytest.mark.filterwarnings("ignore:seen. rows of label 0 do not count")
@pytest.mark.parametrize(
    ("relevance", "n_relevant", "grades"),
    [
        ([1, 1, 1, 1], 4, None),
        ([0, 1, -1, 1], 2, None),
        ([0.5, 1, 0, 2], 3, [0.5, 1, 2]),
        ([2, 2, 2, 2], 4, [2, 2, 2, 2]),
    ],
)
def test_rows_above_zero_count(relevance, n_relevant, grades):
    table = {"user_id": [1, 1, 2, 2], "item_id": [3, 4, 3, 5], "relevance": relevance}
    items = items_by_id(table, "relevant")
    assert items.item.size == n_relevant
    assert grades is None or items.relevance.tolist() == grades
    assert (items.relevance is None) == (grades is None)
    assert items_by_id(table, "seen").item.size == n_relevant
    assert items_by_id(table, "seen").relevance is None


def test_ids_match_across_types(tmp_path):
    # One file has whole numbers, the other texts, as one of its ids is no number.
    text = "user_id,item_id,rank\n1,10,1\n1,x,2\n1,010,3\n"
    path = write_file(tmp_path, "r.csv", text)
    for items, n_better in ((["10", "x"], [0, 1]), (["010", "y"], [2])):
        relevant = pd.DataFrame({"user_id": [1.0, 1.0], "item_id": items})
        assert as_ranks(path, relevant=relevant).n_better.tolist() == n_better


@pytest.mark.parametrize(("kind", "large"), [("f2", 2**11), ("f4", 2**24), ("f8", 2**53)])
def test_ids_in_narrow_floats_are_refused(kind, large):
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [large + 2, large + 6]})
    relevant = pd.DataFrame({"user_id": [1], "item_id": np.array([large + 2], kind)})
    message = refusal_message(sm.evaluate, lists, "hit@1", relevant=relevant)
    assert "item_id" in message
    small = pd.DataFrame({"user_id": [1], "item_id": np.array([6], kind)})
    results = sm.evaluate(lists.assign(item_id=[6, 8]), "hit@1", relevant=small)
    assert results[0].value == 1


def test_stored_zero_of_a_seen_item_is_seen():
    seen = csr_array((np.array([0.0]), np.array([1]), np.array([0, 1])), shape=(1, 3))
    ranks = sm.Ranks.from_scores([[0.3, 0.9, 0.5]], [0], seen=seen)
    assert (ranks.n_candidates[0], ranks.n_better[0]) == (2, 1)


@pytest.mark.parametrize(
    "items",
    [
        *(6, range(6), [0, 1, 2, 3, 4, 5], np.arange(6)),
        *(pd.DataFrame({"item_id": range(6)}), {"item_id": [*range(6)]}),
    ],
)
def test_items_are_a_number_or_ids_in_any_form(items):
    held_out, seen = {0: [3], 1: [4]}, {0: [1], 1: [2]}
    sample = sm.negatives(held_out, seen, 4, items=items)
    assert sorted(sample[sample.user_id == 0].item_id) == [0, 2, 4, 5]
    assert len(sm.check_negatives(sample, held_out, seen, items=items)) > 2


def test_array_of_ids_beside_a_catalogue_is_refused():
    held_out, seen = np.array([[4], [0]]), np.array([[3, 2], [1, 3]])
    for pair in ((held_out, seen.tolist()), (held_out.tolist(), seen)):
        with pytest.raises(sm.InputError, match="csr_array"):
            sm.negatives(*pair, 2)
    sample = sm.negatives(held_out.tolist(), seen.tolist(), 2, items=5)
    assert sample.groupby("user_id")["item_id"].agg(set).tolist() == [{0, 1}, {2, 4}]


# Items that are both seen and relevant

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
KNOWN[ROWS[:45], HELD[:45]] = True  # the held-out items of 45 users are also seen
ABOVE = ((SCORES[ROWS, HELD][:, None] < SCORES) & ~OTHERS).sum(axis=1)
FILTERED_RR = np.mean(1 / (1 + ABOVE))
NEW_ITEMS_RR = np.mean(1 / (1 + ABOVE[45:]))


def pairs_table(marked):
    user, item = marked.nonzero()
    return pd.DataFrame({"user_id": user, "item_id": item})


def item_lists(marked):
    return [np.flatnonzero(row) for row in marked]


MARKED = np.zeros(SCORES.shape, bool)
MARKED[ROWS, HELD] = True
FORMS = {
    "matrix": np.asarray,
    "sparse": sparse.csr_array,
    "table": pairs_table,
    "lists": item_lists,
    "by user": lambda marked: dict(enumerate(item_lists(marked))),
}
LISTS = {user: row.tolist() for user, row in enumerate(np.argsort(-SCORES, axis=1))}


@pytest.mark.parametrize(("data", "form"), [*((SCORES, form) for form in FORMS), (LISTS, "table")])
def test_items_both_seen_and_relevant_are_refused_with_two_remedies(data, form):
    make = FORMS[form]
    message = r"45 pairs of 45 users.*from seen.*from relevant"
    with pytest.raises(sm.InputError, match=message):
        sm.evaluate(data, "rr", relevant=make(MARKED), seen=make(KNOWN))
    results = sm.evaluate(data, "rr", relevant=make(MARKED), seen=make(KNOWN & ~MARKED))
    assert results[0].value == pytest.approx(FILTERED_RR)
    results = sm.evaluate(data, "rr", relevant=make(MARKED & ~KNOWN), seen=make(KNOWN))
    assert results[0].value == pytest.approx(NEW_ITEMS_RR)
    assert results[0].n_users == 15


def test_negatives_and_budget_count_users():
    with pytest.raises(sm.InputError, match="45 pairs of 45 users"):
        sm.negatives(pairs_table(MARKED), pairs_table(KNOWN), 5)
    with pytest.raises(sm.InputError, match="45 pairs of 45 users"):
        sm.evaluate_on_budget(SCORES, relevant=MARKED, seen=KNOWN)


def test_relevant_item_without_score_is_named():
    scores = SCORES.copy()
    scores[3, HELD[3]] = -np.inf
    message = r"of user 3 has score -inf.*drop it from relevant"
    with pytest.raises(sm.InputError, match=message):
        sm.evaluate(scores, "rr", relevant=HELD, seen=OTHERS)
    relevant = np.where(ROWS == 3, -1, HELD)
    results = sm.evaluate(scores, "rr", relevant=relevant, seen=OTHERS)
    assert results[0].value == pytest.approx(np.delete(1 / (1 + ABOVE), 3).mean())


# Items given twice

REPEAT_RNG = np.random.default_rng(8)
REPEAT_USERS, REPEAT_ITEMS = 40, 103
REPEAT_SCORES = -1 - REPEAT_RNG.random((REPEAT_USERS, REPEAT_ITEMS))
REPEAT_SCORES[:, 0] = 0
REPEAT_HELD = REPEAT_RNG.integers(1, REPEAT_ITEMS, REPEAT_USERS)
REPEAT_BETTER = (REPEAT_SCORES[np.arange(REPEAT_USERS), REPEAT_HELD][:, None] < REPEAT_SCORES).sum(
    axis=1
)


@pytest.mark.filterwarnings("ignore:seen")
class TestItemsTwice:
    def test_item_twice_is_refused(self):
        relevant = [[int(item), 0, 0] for item in REPEAT_HELD]
        for make, data in (
            (sm.Ranks.from_scores, REPEAT_SCORES),
            (sm.Ranks.from_top_k, np.argsort(-REPEAT_SCORES, axis=1)),
        ):
            with pytest.raises(sm.InputError, match=r"row 1.* twice"):
                make(data, relevant)
        relevant = [[int(item)] for item in REPEAT_HELD]
        (result,) = sm.evaluate(REPEAT_SCORES, "hit@10", relevant=relevant)
        assert result.value == np.mean(REPEAT_BETTER < 10)

    def test_seen_items_may_repeat(self):
        seen = [[1 + h % 100, 0, 0] for h in REPEAT_HELD]
        result = sm.rank(REPEAT_SCORES, seen, REPEAT_HELD)
        assert (result.n_candidates == REPEAT_ITEMS - 2).all()

    def test_item_twice_in_a_retrieved_list_is_named(self):
        ids = np.array([[7, 8, 3, 1], [4, 2, 2, 9]])
        with pytest.raises(sm.InputError, match="row 2: item 2 occurs twice"):
            sm.Ranks.from_top_k(ids, [3, 9])
