"""Arrays that are neither ranks nor scores are refused with what was found and what is expected."""

import re

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics.read.options import as_ranks, as_sampled_ranks
from sampled_metrics.read.row_counts import count_in_rows
from sampled_metrics.read.scores import scores_from_vectors
from tests.helpers.results import refusal_message


@pytest.mark.parametrize("kind", ["?", "i1", "i8", "u2", "f2", "f4", "f8", ">f4", ">i8"])
@pytest.mark.parametrize("shape", [(3,), (1,), (2, 3), (1, 1)])
def test_array_of_one_or_two_dimensions_is_read(kind, shape):
    array = np.ones(shape, kind)
    result = numeric_array(array)
    assert result.dtype.isnative
    assert (result.dtype.kind, result.shape) == (array.dtype.kind, shape)
    assert result.tolist() == array.tolist()


@pytest.mark.parametrize(
    ("data", "description"),
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
def test_array_without_numbers_is_refused(data, description):
    shown = f"found ndarray{description}; expected numbers"
    assert refusal_message(numeric_array, data, "given").startswith(f"given: {shown}")
    assert shown in refusal_message(sm.evaluate, data, "auc", relevant=[0, 1])
    with pytest.raises(sm.InputError):
        sm.correct(data, "auc", "sampled", n_items=9, n_negatives=5)


@pytest.mark.parametrize("data", [np.float64(0.5), 7, None])
def test_data_that_is_not_an_array_is_refused(data):
    with pytest.raises(sm.InputError):
        as_ranks(data, n_items=9)
    with pytest.raises(sm.InputError):
        as_sampled_ranks(data, n_items=50, n_negatives=9)


@pytest.mark.parametrize(
    ("scores", "positive", "pattern"),
    [
        ([[1.0], [2.0]], 0, r"scores .*float64 .*\(2, 1\); expected numbers"),
        ([[1.0, 2.0]], 2, "positive is 2; .*0 to 1"),
        ([[1.0, 2.0]], -3, "positive is -3; .*0 to 1"),
        ([[1.0, 2.0]], 0.0, r"positive is 0\.0"),
        ([[1.0, 2.0]], [0, 1], r"positive .*int64 .*\(2,\); .*columns"),
        ([[1.0, 2.0], [3.0, 4.0]], [0, 2], r"positive .*int64 .*\(2,\); .*columns"),
        ([[1.0, 2.0], [3.0, 4.0]], [-3, 0], r"positive .*int64 .*\(2,\); .*columns"),
        ([[1.0, 2.0], [3.0, np.inf]], 0, "row 2: .*column 1 is inf"),
        ([[1.0, -np.inf], [3.0, 4.0]], 0, "row 1: .*column 1 is -inf"),
    ],
)
def test_wrong_positive_column_is_refused(scores, positive, pattern):
    scores, positive = np.array(scores), np.array(positive)
    assert re.search(pattern, refusal_message(count_in_rows, scores, positive))
    message = refusal_message(sm.correct, scores, "auc", n_items=9, positive=positive)
    assert re.search(pattern, message)


@pytest.mark.parametrize("positive", [0, -2, [0, 0, 0], [[0], [0], [0]]])
def test_two_columns_count_one_negative(positive):
    """The held-out item is above it, tied with it, and below it."""
    scores = np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    n_candidates, n_better, n_tied, *_ = count_in_rows(scores, np.array(positive))
    assert n_candidates.tolist() == [2, 2, 2]
    assert n_better.tolist() == [0, 0, 1]
    assert n_tied.tolist() == [0, 1, 0]


def test_minus_infinity_is_not_a_candidate():
    """Of two others with a score each, item 2 is above in row 0, and item 1 is tied in row 1."""
    scores = np.array([[2.0, -np.inf, 3.0], [1.0, 1.0, -np.inf]])
    n_candidates, n_better, n_tied, *_ = count_in_rows(scores, 0, is_full=True)
    assert n_candidates.tolist() == [2, 2]
    assert n_better.tolist() == [1, 0]
    assert n_tied.tolist() == [0, 1]


@pytest.mark.parametrize("row", [[-np.inf, 1.0], [1.0, np.nan], [1.0, np.inf]])
def test_held_out_item_without_score_or_score_of_nan_or_inf_is_refused(row):
    with pytest.raises(sm.InputError):
        count_in_rows(np.array([row]), 0, is_full=True)


# Ranks among 10 negatives are 1 to 11, and there are at least 11 candidates.
SIZES = {"n_items": 50, "n_negatives": 10}


def test_first_and_last_sampled_rank_are_read():
    assert as_sampled_ranks(np.array([1, 11]), **SIZES).sampled_ranks.tolist() == [1, 11]


@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("ranks", [[0, 1], [1, 12], [1.5, 2.0]])
def test_sampled_rank_out_of_range_is_refused(ranks, kind):
    with pytest.raises(sm.InputError):
        as_sampled_ranks(kind(ranks), **SIZES)


@pytest.mark.parametrize("n_items", [10, [50], [50, 10]])
def test_too_few_candidates_or_sizes_of_sampled_ranks_are_refused(n_items):
    with pytest.raises(sm.InputError):
        as_sampled_ranks([1, 2], n_items=n_items, n_negatives=10)


VECTORS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("kind", ["i1", "u4", "i8", "f2", "f4", "f8"])
def test_vectors_of_any_number_type_are_multiplied(kind):
    users, items = VECTORS.astype(kind), np.array([[1, 0], [2, 3]], kind)
    rows = np.array([0, 2])
    scores = scores_from_vectors(users, items).rows(rows)
    assert scores.tolist() == (VECTORS[rows] @ [[1.0, 2.0], [0.0, 3.0]]).tolist()


FULL_SCORES = np.random.default_rng(0).normal(size=(30, 60))
HELD = np.arange(30)


SEEN = np.zeros(FULL_SCORES.shape, bool)


@pytest.mark.parametrize(
    "call",
    [
        lambda broken: sm.rank(broken, None, HELD),
        lambda broken: sm.rank(broken, SEEN, HELD),
        lambda broken: sm.evaluate(broken, "hr@10", relevant=HELD),
        lambda broken: sm.compare({"a": broken, "b": FULL_SCORES}, "hr@10", relevant=HELD),
        lambda broken: sm.report({"a": broken}, "/dev/null", "hr@10", relevant=HELD),
        lambda broken: sm.evaluate_on_budget(broken, "hr@10", relevant=HELD, seen=SEEN),
        lambda broken: sm.evaluate_on_budget(
            FULL_SCORES, "hr@10", relevant=HELD, seen=SEEN, proxy=broken
        ),
    ],
    ids=["rank", "rank unseen", "evaluate", "compare", "report", "budget", "proxy"],
)
def test_error_inside_a_scoring_function_is_raised(call):
    """The error tells what is wrong in the function; no message about data may hide it."""
    error = IndexError("index 99 is out of bounds for axis 0 with size 60")

    def broken(*_):
        raise error

    with pytest.raises(IndexError) as caught:
        call(broken)
    assert caught.value is error
    assert caught.traceback[-1].name == "broken"
