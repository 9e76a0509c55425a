"""Arrays that are neither ranks nor scores are refused with what was found and is expected."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics.inputs.scores import count_in_rows, scores_from_vectors
from sampled_metrics.ranks.data import as_sampled

NUMBERS = "; expected numbers, a DataFrame or a file"


@pytest.mark.parametrize(
    "kind", ["?", "i1", "i8", "u2", "f2", "f4", "f8", ">f4", ">i8"]
)
@pytest.mark.parametrize("shape", [(3,), (1,), (2, 3), (1, 1)])
def test_numbers_of_one_or_two_dimensions_are_taken(kind, shape):
    given = np.ones(shape, kind)
    found = numeric_array(given)
    assert found.dtype.isnative
    assert (found.dtype.kind, found.shape) == (given.dtype.kind, shape)
    assert found.tolist() == given.tolist()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (np.array(["a", "b"]), " of <U1, shape (2,)"),
        (np.array([["a"], ["b"]]), " of <U1, shape (2, 1)"),
        (np.array([1j]), " of complex128, shape (1,)"),
        (np.zeros((2, 2, 2)), " of float64, shape (2, 2, 2)"),
        (np.zeros((2, 1, 2), int), " of int64, shape (2, 1, 2)"),
        (np.zeros((2, 0)), " of float64, shape (2, 0)"),
        (np.zeros(0), " of float64, shape (0,)"),
        (np.array(3), ""),
        (np.array("a"), ""),
    ],
)
def test_what_is_no_table_of_numbers(data, found):
    with pytest.raises(sm.InputError) as caught:
        numeric_array(data, "given")
    assert str(caught.value).startswith(f"given: found ndarray{found}{NUMBERS}")
    with pytest.raises(sm.InputError) as caught:
        sm.evaluate(data, "auc", relevant=[0, 1])
    assert f"found ndarray{found}; expected numbers" in str(caught.value)
    with pytest.raises(sm.InputError):
        sm.correct(data, "auc", "sampled", n_items=9, n_negatives=5)


@pytest.mark.parametrize(
    ("scores", "positive", "words"),
    [
        (
            [[1.0], [2.0]],
            0,
            "scores are float64 of shape (2, 1); expected numbers, shape (users, ",
        ),
        ([[1.0, 2.0]], 2, "positive is 2; expected one of the columns 0 to 1"),
        ([[1.0, 2.0]], -3, "positive is -3; expected one of the columns 0 to 1"),
        ([[1.0, 2.0]], 0.0, "positive is 0.0"),
        (
            [[1.0, 2.0]],
            [0, 1],
            "positive is int64 of shape (2,); expected one of the columns",
        ),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            [0, 2],
            "positive is int64 of shape (2,); expected one of the",
        ),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            [-3, 0],
            "positive is int64 of shape (2,); expected one of the",
        ),
        ([[1.0, 2.0], [3.0, np.inf]], 0, "row 2: the score in column 1 is inf"),
        ([[1.0, -np.inf], [3.0, 4.0]], 0, "row 1: the score in column 1 is -inf"),
    ],
)
def test_scores_among_negatives(scores, positive, words):
    with pytest.raises(sm.InputError) as caught:
        count_in_rows(np.array(scores), np.array(positive))
    assert words in str(caught.value)
    with pytest.raises(sm.InputError) as caught:
        sm.correct(
            np.array(scores), "auc", "sampled", n_items=9, positive=np.array(positive)
        )
    assert words in str(caught.value)


@pytest.mark.parametrize("positive", [0, -2, [0, 0, 0], [-2, 0, -2]])
def test_two_columns_are_a_held_out_item_and_a_negative(positive):
    scores = np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    found = count_in_rows(scores, np.array(positive))
    assert [part.tolist() for part in found[:3]] == [[2, 2, 2], [0, 0, 1], [0, 1, 0]]


def test_gaps_are_no_candidates_but_of_the_held_out_item():
    scores = np.array([[2.0, -np.inf, 3.0], [1.0, 1.0, -np.inf]])
    found = count_in_rows(scores, 0, is_full=True)
    assert [part.tolist() for part in found[:3]] == [[2, 2], [1, 0], [0, 1]]
    for wrong in ([[-np.inf, 1.0]], [[1.0, np.nan]], [[1.0, np.inf]]):
        with pytest.raises(sm.InputError):
            count_in_rows(np.array(wrong), 0, is_full=True)


def test_users_of_sampled_ranks_are_those_of_the_file(tmp_path):
    """An index of a DataFrame may be any; `user_ids` in a file are of users."""
    scores = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    drawn = {"n_items": 9, "positive": 0}
    frame = pd.DataFrame(scores, index=["a", "b"], columns=["x", "y", "z"])
    assert as_sampled(frame, **drawn).users is None
    named = as_sampled(frame, n_items=9, positive="y")
    assert named.sampled_ranks.tolist() == [2, 1]
    np.savez(tmp_path / "s.npz", scores=scores, user_ids=["a", "b"])
    found = as_sampled(tmp_path / "s.npz", **drawn)
    assert found.users.tolist() == ["a", "b"]
    assert not found.several_items
    np.savez(tmp_path / "s.npz", scores=scores, user_ids=["a", "a"])
    assert as_sampled(tmp_path / "s.npz", **drawn).several_items
    np.savez(tmp_path / "s.npz", scores=scores, positive=[1, 0])
    with pytest.raises(sm.InputError, match="positive"):
        as_sampled(tmp_path / "s.npz", **drawn)


@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        ([0, 1], {}),
        ([1, 12], {}),
        ([1.5, 2.0], {}),
        ([1, 2], {"n_items": 10}),
        ([1, 2], {"n_items": [50]}),
        ([1, 2], {"n_items": [50, 10]}),
    ],
)
def test_sampled_ranks_that_cannot_be(ranks, options):
    """Among 10 negatives, from 1 to 11, of 11 candidates or more."""
    drawn = {"n_items": 50, "n_negatives": 10}
    assert as_sampled(np.array([1, 11]), **drawn).sampled_ranks.tolist() == [1, 11]
    for data in (ranks, np.array(ranks)):
        with pytest.raises(sm.InputError):
            as_sampled(data, **(drawn | options))


VECTORS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("users", "items", "words"),
    [
        (
            np.full((3, 2), np.nan),
            VECTORS,
            "users are float64 of shape (3, 2); expected finite numbers, of",
        ),
        (
            VECTORS,
            [[0.0, np.inf]],
            "items are float64 of shape (1, 2); expected finite numbers, of shape (1, d)",
        ),
        (
            VECTORS > 1,
            VECTORS,
            "users are bool of shape (3, 2); expected finite numbers, of shape (3, d)",
        ),
        (VECTORS * 1j, VECTORS, "users: found ndarray of complex128, shape (3, 2)"),
        (
            VECTORS,
            [["a", "b"]],
            "items: found list of <U1, shape (1, 2)",
        ),
        (
            VECTORS,
            np.ones((4, 3)),
            "items are float64 of shape (4, 3); expected finite numbers, of shape (4, d)",
        ),
        (
            VECTORS,
            np.ones((2, 2, 2)),
            "items: found ndarray of float64, shape (2, 2, 2)",
        ),
        (VECTORS[:2], VECTORS, "users x items, (2, 3)"),
    ],
)
def test_vectors_that_have_no_inner_products(users, items, words):
    with pytest.raises(sm.InputError) as caught:
        sm.Ranks.from_factors(users, items, [0, 0, 0])
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", ["i1", "u4", "i8", "f2", "f4", "f8"])
def test_vectors_of_any_numbers_have_inner_products(kind):
    users, items = VECTORS.astype(kind), np.array([[1, 0], [2, 3]], kind)
    rows = np.array([0, 2])
    scores = scores_from_vectors(users, items).rows(rows)
    assert scores.tolist() == (VECTORS[rows] @ [[1.0, 2.0], [0.0, 3.0]]).tolist()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_the_held_out_item_of_a_row_has_a_score(number):
    scores = np.array([[1.0, 2.0, -np.inf, 3.0], [1.0, 2.0, 4.0, 3.0]])
    scores[1, 2] = number
    with pytest.raises(sm.InputError, match=r"row 2: .*column 2"):
        sm.RankMeter("auc").update(scores, positive=[0, 2])


def of_wrong_width(users):
    return np.zeros((users.size, 2 + users.size))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: sm.Ranks.from_lists(5, {"u": [1]}), "int"),
        (lambda: sm.Ranks.from_top_k([[0.5, 1.5]], [1]), "float64"),
        (lambda: sm.Ranks.from_top_k([1, 2], [1]), r"\(2,\)"),
        (lambda: sm.Ranks.from_top_k([[1, 2]], [1], scores=[[3, 2, 1]]), r"\(1, 3\)"),
        (lambda: sm.Ranks.from_top_k([[1, 2]], [1], scores=[[3, np.nan]]), "scores"),
        (lambda: sm.Ranks.from_top_k([[1, 1]], [1]), "twice"),
        (lambda: sm.Ranks.from_top_k([[1]], [1], users=np.array([b"a"])), "users"),
        (lambda: sm.Ranks.from_top_k([[1]], [1], users=[0.5]), "users"),
        (lambda: sm.Ranks.from_top_k([[1]], [1], users=[1, 2]), r"\(2,\)"),
        (lambda: sm.Ranks.from_top_k([[-1, 1]], [1]), "row 1"),
        (lambda: sm.Ranks.from_function(of_wrong_width, [0, 1, 0]), r"\(3, 5\)"),
        (lambda: sm.SampledRanks.from_pairs(5, n_items=9), "int"),
        (
            lambda: sm.negatives({"u": [1]}, None, 1, items=np.ones((2, 2), int)),
            r"\(2, 2\)",
        ),
        (
            lambda: sm.evaluate({"user_id": [1], "sampled_rank": [1]}, "auc"),
            "correct",
        ),
    ],
)
def test_what_a_door_does_not_take(call, word):
    with pytest.raises(sm.InputError, match=word):
        call()
