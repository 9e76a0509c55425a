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


@pytest.mark.parametrize(
    ("lists", "n_users", "n_items"),
    [
        ([[0, 4], [2]], 2, 5),
        ([[1, 3], [], [0]], 3, 4),
        ([[], []], 2, 0),
    ],
)
def test_lists_without_a_shape_end_at_the_last_user_and_item(lists, n_users, n_items):
    result = items_by_position(lists, "seen")
    assert (result.n_users, result.n_items) == (n_users, n_items)
    assert result.item.tolist() == [item for items in lists for item in items]


def test_lists_of_a_shape_may_repeat_and_end_early():
    result = items_by_position([[2], [2, 2]], "seen", (2, 4))
    assert (result.n_users, result.n_items) == (2, 4)
    assert result.item.tolist() == [2, 2]


@pytest.mark.parametrize("nothing", [-1, None])
def test_one_column_for_each_user_or_nothing(nothing):
    result = items_by_position([1, nothing, 0], "relevant", (3, 2))
    assert (result.user.tolist(), result.item.tolist()) == ([0, 2], [1, 0])


@pytest.mark.parametrize(("lists", "n_ids"), [([[], []], 0), ([[0], []], 1), ([[4], [2]], 5)])
def test_lists_by_position_have_the_ids_up_to_the_largest(lists, n_ids):
    assert len(items_by_id(lists, "seen").item_ids) == n_ids


MATRICES = [np.asarray, csr_array]


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize(
    "marked", [[[0, 1], [1, 1]], [[False, True], [True, True]]], ids=["0 and 1", "bool"]
)
def test_marks_of_a_matrix_are_items(marked, form):
    result = items_by_position(form(np.array(marked)), "relevant", (2, 2))
    assert (result.user.tolist(), result.item.tolist()) == ([0, 1, 1], [1, 0, 1])
    assert result.relevance is None


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("grades", [[2, 1], [0.5, 3.0]])
def test_grades_of_a_matrix_are_those_above_0(grades, form):
    first, second = grades
    result = items_by_position(form(np.array([[0, first], [second, -1]])), "relevant", (2, 2))
    assert (result.user.tolist(), result.item.tolist()) == ([0, 1], [1, 0])
    assert result.relevance.tolist() == grades


@pytest.mark.parametrize("form", MATRICES)
def test_seen_items_of_a_matrix_have_no_grades(form):
    seen = items_by_position(form(np.array([[0, 2], [1, -1]])), "seen", (2, 2))
    assert seen.item.size == 3
    assert seen.relevance is None


@pytest.mark.parametrize("form", MATRICES)
def test_matrix_of_another_shape_is_refused(form):
    with pytest.raises(sm.InputError, match=r"shape \(2, 2\)"):
        items_by_position(form(np.eye(2)), "relevant", (2, 3))


@pytest.mark.parametrize("form", MATRICES)
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_matrix_that_is_not_finite_is_refused(number, form):
    with pytest.raises(sm.InputError, match=r"seen .*finite"):
        items_by_position(form(np.array([[0.0, 1.0], [number, 0.0]])), "seen", (2, 2))


@pytest.mark.parametrize("fields", [3, 5])
def test_rows_of_ids_are_not_a_matrix(fields):
    """10 rows or more of up to 5 fields with 11 values or more, which grades do not have."""
    ids = np.resize(np.arange(11), (10, fields))
    with pytest.raises(sm.InputError, match=rf"relevant: .* rows of {fields}"):
        items_by_position(ids, "relevant")
    assert items_by_position(ids, "relevant", (10, fields)).n_items == fields  # as scores


@pytest.mark.parametrize(
    ("rows", "fields", "values"),
    [(9, 5, 11), (10, 6, 11), (10, 5, 10)],
    ids=["few rows", "many fields", "few values"],
)
def test_other_rows_are_grades(rows, fields, values):
    grades = np.resize(np.arange(values), (rows, fields))
    assert items_by_position(grades, "relevant").item.size == np.count_nonzero(grades)


def test_absent_user_or_item_is_in_none_of_the_pairs():
    seen = items_by_position([[0, 2], [1]], "seen", (2, 3))
    user = np.array([0, 0, 1, -1, 0, 1, 1])
    item = np.array([0, 1, 1, 1, -1, -1, 2])
    is_seen = [True, False, True, False, False, False, False]
    assert seen.has(user, item).tolist() == is_seen


# By id


@pytest.fixture
def catalogue():
    """Held-out items of cy and al, and seen items of four users."""
    held_out = {"cy": ["b"], "al": ["a"]}
    seen = {"al": ["b", "c"], "bo": ["a"], "cy": ["d"], "di": ["e", "b"]}
    return read_catalogue(held_out, seen)


def test_catalogue_has_users_of_held_out_items_and_all_items(catalogue):
    assert catalogue.user_ids.tolist() == ["al", "cy"]
    assert catalogue.item_ids.tolist() == list("abcde")


@pytest.mark.parametrize(
    ("part", "pairs"),
    [
        ("held_out", [(0, "a"), (1, "b")]),  # of al and of cy
        ("seen", [(0, "b"), (0, "c"), (1, "d")]),
        ("seen_by_others", [(0, "a"), (1, "b"), (1, "e")]),  # bo and di
    ],
)
def test_items_seen_by_other_users_are_separate(catalogue, part, pairs):
    items = getattr(catalogue, part)
    ids = (catalogue.item_ids[item] for item in items.item)
    assert sorted(zip(items.user.tolist(), ids, strict=True)) == pairs


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
    assert (None if items.relevance is None else items.relevance.tolist()) == grades
    seen = items_by_id(table, "seen")
    assert (seen.item.size, seen.relevance) == (n_relevant, None)


@pytest.mark.parametrize(("items", "n_better"), [(["10", "x"], [0, 1]), (["010", "y"], [2])])
def test_ids_match_across_types(tmp_path, items, n_better):
    """Items of the file are texts, as one is no number; users are whole numbers and floats."""
    path = write_file(tmp_path, "r.csv", "user_id,item_id,rank\n1,10,1\n1,x,2\n1,010,3\n")
    relevant = pd.DataFrame({"user_id": [1.0, 1.0], "item_id": items})
    assert as_ranks(path, relevant=relevant).n_better.tolist() == n_better


@pytest.mark.parametrize(("kind", "large"), [("f2", 2**11), ("f4", 2**24), ("f8", 2**53)])
def test_ids_that_a_float_rounds_are_refused(kind, large):
    """From `large` on, floats skip whole numbers."""
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [large + 2, large + 6]})
    relevant = pd.DataFrame({"user_id": [1], "item_id": np.array([large + 2], kind)})
    assert "item_id" in refusal_message(sm.evaluate, lists, "hit@1", relevant=relevant)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_small_ids_in_floats_are_whole_numbers(kind):
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [6, 8]})
    relevant = pd.DataFrame({"user_id": [1], "item_id": np.array([6], kind)})
    assert sm.evaluate(lists, "hit@1", relevant=relevant)[0].value == 1


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


HELD_OUT_IDS, SEEN_IDS = [[4], [0]], [[3, 2], [1, 3]]  # of two users and five items


@pytest.mark.parametrize(
    ("held_out", "seen"),
    [(np.array(HELD_OUT_IDS), SEEN_IDS), (HELD_OUT_IDS, np.array(SEEN_IDS))],
    ids=["held-out items", "seen items"],
)
def test_array_of_ids_beside_a_catalogue_is_refused(held_out, seen):
    with pytest.raises(sm.InputError, match="csr_array"):
        sm.negatives(held_out, seen, 2)


def test_negatives_are_items_that_are_neither_held_out_nor_seen():
    sample = sm.negatives(HELD_OUT_IDS, SEEN_IDS, 2, items=5)
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


SEEN_AND_RELEVANT = pytest.mark.parametrize(
    ("data", "form"), [*((SCORES, form) for form in FORMS), (LISTS, "table")]
)


@SEEN_AND_RELEVANT
def test_items_both_seen_and_relevant_are_refused(data, form):
    make = FORMS[form]
    with pytest.raises(sm.InputError, match=r"45 pairs of 45 users.*from seen.*from relevant"):
        sm.evaluate(data, "rr", relevant=make(MARKED), seen=make(KNOWN))


@SEEN_AND_RELEVANT
def test_relevant_items_dropped_from_seen_ones_give_the_value_of_all_users(data, form):
    make = FORMS[form]
    results = sm.evaluate(data, "rr", relevant=make(MARKED), seen=make(KNOWN & ~MARKED))
    assert results[0].value == pytest.approx(FILTERED_RR)


@SEEN_AND_RELEVANT
def test_seen_items_dropped_from_relevant_ones_give_the_value_of_15_users(data, form):
    make = FORMS[form]
    results = sm.evaluate(data, "rr", relevant=make(MARKED & ~KNOWN), seen=make(KNOWN))
    assert results[0].value == pytest.approx(NEW_ITEMS_RR)
    assert results[0].n_users == 60 - 45


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
