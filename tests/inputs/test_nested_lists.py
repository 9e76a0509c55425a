"""Lists of items of users: a matrix if they have its shape, and else columns of items."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.inputs.items import items_by_position

SCORES = np.array([[3.0, 2.0], [1.0, 2.0]])
WIDE = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
LISTS = [[1, 0], [0, 1]]  # as a matrix item 0 of user 0 and item 1 of user 1
VECTORS = (np.eye(2), SCORES.T)
UNSEEN = np.zeros((2, 2), bool)


def asked(scores):
    """A function of users that says for whom it was asked."""
    calls = []

    def score(users):
        calls.append(users.tolist())
        return scores[users]

    return score, calls


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (SCORES, {}),
        (SCORES.tolist(), {}),
        (csr_array(SCORES), {}),
        (VECTORS, {}),
        (lambda users: SCORES[users], {}),
        (lambda users: SCORES[users], {"items": ["a", "b"]}),
        (lambda users: SCORES[users], {"seen": UNSEEN}),
        (lambda users: SCORES[users], {"seen": csr_array(UNSEEN)}),
    ],
)
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_lists_of_the_shape_of_the_scores_are_a_matrix(score, options):
    ranks = sm.rank(score, options.get("seen"), LISTS, items=options.get("items"))
    assert ranks.n_better.tolist() == [0, 0]
    assert ranks.is_single


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (WIDE, {}),
        ((np.eye(2), WIDE.T), {}),
        (lambda users: WIDE[users], {}),
        (lambda users: WIDE[users], {"items": ["a", "b", "c"]}),
    ],
)
def test_other_lists_are_columns(score, options):
    ranks = sm.rank(score, None, LISTS, **options)
    assert ranks.n_better.tolist() == [0, 1, 1, 2]
    assert ranks.n_found.tolist() == [2, 2]


def test_a_function_is_asked_for_users_with_an_item():
    scores = np.array([[1.0, 2.0, 3.0]] * 4)
    for none in ([], None):
        score, calls = asked(scores)
        ranks = sm.rank(score, None, [none, none, [2], [0, 1]])
        assert calls[1:] == [[2, 3]]
        assert ranks.users.tolist() == [2, 3]
        assert ranks.n_better.tolist() == [0, 1, 2]


@pytest.mark.parametrize("relevant", [[[], [2], [0, 1]], [None, 2, [0, 1]], [(), [2], (1, 0)],
                                      [np.array([], int), {2}, np.array([0, 1])]])  # fmt: skip
def test_items_of_a_user_may_be_none_one_or_several(relevant):
    scores = np.tile([1.0, 2.0, 3.0], (3, 1))
    ranks = sm.rank(scores, None, relevant)
    assert ranks.users.tolist() == [1, 2]
    assert ranks.n_better.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("lists", "row"), [([[0], [1], [2]], None), ([[0], [3]], 2), ([[-1], [1]], 1)]
)
def test_lists_that_do_not_fit(lists, row):
    with pytest.raises(sm.InputError) as caught:
        items_by_position(lists, "relevant", (2, 3))
    assert "relevant" in str(caught.value)
    assert caught.value.row == row


@pytest.mark.parametrize("columns", [[0], [0, 1, 0], [0, 1, -1]])
def test_there_is_one_column_for_each_user(columns):
    for given in (columns, np.array(columns)):
        with pytest.raises(sm.InputError, match="relevant"):
            items_by_position(given, "relevant", (2, 3))


def test_columns_of_users_say_how_many_items_there_are():
    found = items_by_position([[0, 4], [2]], "relevant")
    assert (found.n_users, found.n_items) == (2, 5)
    assert found.item.tolist() == [0, 4, 2]
    found = items_by_position([[2], [2, 2]], "seen", (2, 3))
    assert (found.n_users, found.n_items, found.item.tolist()) == (2, 3, [2, 2])
    found = items_by_position([1, -1, 0], "relevant", (3, 2))
    assert (found.user.tolist(), found.item.tolist()) == ([0, 2], [1, 0])
    assert items_by_position([1, None, 0], "relevant", (3, 2)).user.tolist() == [
        0,
        2,
    ]


@pytest.mark.parametrize(
    ("marked", "pairs", "grades"),
    [
        (np.array([[0, 1], [1, 1]]), [(0, 1), (1, 0), (1, 1)], None),
        (np.array([[0, 2], [1, -1]]), [(0, 1), (1, 0)], [2, 1]),
        (np.array([[0.0, 0.5], [0.0, 3.0]]), [(0, 1), (1, 1)], [0.5, 3]),
        (np.array([[False, True], [True, False]]), [(0, 1), (1, 0)], None),
    ],
)
def test_nonzeros_of_a_matrix(marked, pairs, grades):
    for given in (marked, csr_array(marked)):
        found = items_by_position(given, "relevant", (2, 2))
        assert (
            list(zip(found.user.tolist(), found.item.tolist(), strict=True)) == pairs
        )
        assert (found.relevance is None) == (grades is None)
        if grades:
            assert found.relevance.tolist() == grades
        seen = items_by_position(given, "seen", (2, 2))
        assert seen.item.size == np.count_nonzero(marked)
        assert seen.relevance is None
        with pytest.raises(sm.InputError, match=r"shape \(2, 2\)"):
            items_by_position(given, "relevant", (2, 3))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_matrix_with_a_number_that_is_none_is_refused(number):
    marked = np.array([[0.0, 1.0], [number, 0.0]])
    for given in (marked, csr_array(marked)):
        with pytest.raises(sm.InputError, match=r"seen has .* not finite"):
            items_by_position(given, "seen", (2, 2))


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
def test_rows_of_ids_are_no_matrix(rows, fields, values, is_refused):
    """Many rows of few fields with more values than there are grades."""
    given = np.resize(np.arange(values), (rows, fields))
    if is_refused:
        with pytest.raises(sm.InputError, match=f"relevant: .* rows of {fields}"):
            items_by_position(given, "relevant")
    else:
        found = items_by_position(given, "relevant")
        assert found.item.size == np.count_nonzero(given)
    assert items_by_position(given, "relevant", (rows, fields)).n_items == fields


def test_no_user_and_no_item_are_among_no_pairs():
    own = items_by_position([[0, 2], [1]], "seen", (2, 3))
    user = np.array([0, 0, 1, -1, 0, 1, 1])
    item = np.array([0, 1, 1, 1, -1, -1, 2])
    assert own.has(user, item).tolist() == [
        True,
        False,
        True,
        False,
        False,
        False,
        False,
    ]
