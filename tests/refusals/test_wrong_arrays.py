"""Arrays that are neither ranks nor scores are refused with what was found and what is expected."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics.read.options import as_ranks, as_sampled_ranks
from sampled_metrics.read.row_counts import count_in_rows
from sampled_metrics.read.scores import scores_from_vectors
from tests.helpers.results import refusal_message


@pytest.mark.parametrize("kind", ["?", "i1", "i8", "u2", "f2", "f4", "f8", ">f4", ">i8"])
def test_array_of_one_or_two_dimensions_is_read(kind):
    for shape in ((3,), (1,), (2, 3), (1, 1)):
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
    expected = f"found ndarray{description}; expected numbers"
    message = refusal_message(numeric_array, data, "given")
    assert message.startswith(f"given: {expected}")
    assert expected in refusal_message(sm.evaluate, data, "auc", relevant=[0, 1])
    refusal_message(sm.correct, data, "auc", "sampled", n_items=9, n_negatives=5)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("data", [np.float64(0.5), 7, None])
def test_data_that_is_not_an_array_is_refused(data):
    refusal_message(as_ranks, data, n_items=9)
    refusal_message(as_sampled_ranks, data, n_items=50, n_negatives=9)


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
    call = correction(scores, n_items=9, positive=positive)
    assert re.search(pattern, refusal_message(call))


@pytest.mark.parametrize("positive", [0, -2, [0, 0, 0], [[0], [0], [0]]])
def test_two_columns_count_one_negative(positive):
    scores = np.array([[2.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    result = count_in_rows(scores, np.array(positive))
    assert [part.tolist() for part in result[:3]] == [[2, 2, 2], [0, 0, 1], [0, 1, 0]]


def test_minus_infinity_is_not_a_candidate():
    scores = np.array([[2.0, -np.inf, 3.0], [1.0, 1.0, -np.inf]])
    result = count_in_rows(scores, 0, is_full=True)
    assert [part.tolist() for part in result[:3]] == [[2, 2], [1, 0], [0, 1]]
    for wrong in ([[-np.inf, 1.0]], [[1.0, np.nan]], [[1.0, np.inf]]):
        with pytest.raises(sm.InputError):
            count_in_rows(np.array(wrong), 0, is_full=True)


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
def test_sampled_rank_out_of_range_is_refused(ranks, options):
    """Ranks among 10 negatives are 1 to 11, and there are at least 11 candidates."""
    sample_options = {"n_items": 50, "n_negatives": 10}
    assert as_sampled_ranks(np.array([1, 11]), **sample_options).sampled_ranks.tolist() == [1, 11]
    for data in (ranks, np.array(ranks)):
        with pytest.raises(sm.InputError):
            as_sampled_ranks(data, **(sample_options | options))


VECTORS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("users", "items", "pattern"),
    [
        (np.full((3, 2), np.nan), VECTORS, r"users .*float64 .*\(3, 2\); .*finite"),
        (VECTORS, [[0.0, np.inf]], r"items .*float64 .*\(1, 2\); .*finite.*\(1, d\)"),
        (VECTORS > 1, VECTORS, r"users .*bool .*\(3, 2\); .*finite.*\(3, d\)"),
        (VECTORS * 1j, VECTORS, r"users: .*complex128.*\(3, 2\)"),
        (VECTORS, [["a", "b"]], r"items: .*list of <U1.*\(1, 2\)"),
        (VECTORS, np.ones((4, 3)), r"items .*float64 .*\(4, 3\); .*finite.*\(4, d\)"),
        (VECTORS, np.ones((2, 2, 2)), r"items: .*float64.*\(2, 2, 2\)"),
        (VECTORS[:2], VECTORS, r"users x items, \(2, 3\)"),
    ],
)
def test_wrong_vectors_are_refused(users, items, pattern):
    with pytest.raises(sm.InputError, match=pattern):
        sm.Ranks.from_factors(users, items, [0, 0, 0])


@pytest.mark.parametrize("kind", ["i1", "u4", "i8", "f2", "f4", "f8"])
def test_vectors_of_any_number_type_are_multiplied(kind):
    users, items = VECTORS.astype(kind), np.array([[1, 0], [2, 3]], kind)
    rows = np.array([0, 2])
    scores = scores_from_vectors(users, items).rows(rows)
    assert scores.tolist() == (VECTORS[rows] @ [[1.0, 2.0], [0.0, 3.0]]).tolist()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_held_out_item_without_score_is_refused(number):
    scores = np.array([[1.0, 2.0, -np.inf, 3.0], [1.0, 2.0, 4.0, 3.0]])
    scores[1, 2] = number
    with pytest.raises(sm.InputError, match=r"row 2: .*column 2"):
        sm.RankMeter("auc").update(scores, positive=[0, 2])


def scores_of_wrong_width(users):
    return np.zeros((users.size, 2 + users.size))


# Values of other shapes and kinds in place of each argument

# The held-out items of two users are at ranks 2 and 1 of 3.
TWO_USERS = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])
RNG = np.random.default_rng(0)
SAMPLE_SCORES = RNG.normal(size=(30, 11))  # of a held-out item and 10 negatives
SAMPLE_OPTIONS = {"n_items": 3541, "positive": 0}
SAMPLE_TABLE = pd.DataFrame({"sampled_rank": [1, 3, 2], "n_negatives": 10})
MASKED_SCORES = np.ma.array(SAMPLE_SCORES, mask=SAMPLE_SCORES > 2)
FULL_SCORES = RNG.normal(size=(30, 60))
HELD = RNG.integers(0, 60, 30)
FULL_OPTIONS = {"relevant": HELD, "seen": FULL_SCORES < -9}
PAIRS = pd.DataFrame({"user_id": [1, 3], "item_id": [2, 4]})
SCORES_OF_TWO = dict.fromkeys("ab", SAMPLE_SCORES)


def correction(data, **options):
    return lambda: sm.correct(data, "auc", **({"n_items": 50} | options))


def evaluation(data, **options):
    return lambda: sm.evaluate(data, "mrr", **options)


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (lambda: sm.Ranks.from_lists(5, {"u": [1]}), "int"),
        (lambda: sm.Ranks.from_top_k([[0.5, 1.5]], [1]), "float64"),
        (lambda: sm.Ranks.from_top_k([1, 2], [1]), r"\(2,\)"),
        (lambda: sm.Ranks.from_top_k([[1, 2]], [1], scores=[[3, 2, 1]]), r"\(1, 3\)"),
        (lambda: sm.Ranks.from_top_k([[1, 2]], [1], scores=[[3, np.nan]]), "scores"),
        (lambda: sm.Ranks.from_top_k([[1, 1]], [1]), "twice"),
        (lambda: sm.Ranks.from_top_k([[1]], [1], users=np.array([b"\xff"])), "users"),
        (lambda: sm.Ranks.from_top_k([[1]], [1], users=[0.5]), "users"),
        (lambda: sm.Ranks.from_top_k([[1]], [1], users=[1, 2]), r"\(2,\)"),
        (lambda: sm.Ranks.from_top_k([[-1, 1]], [1]), "row 1"),
        (lambda: sm.Ranks.from_function(scores_of_wrong_width, [0, 1, 0]), r"\(3, 5\)"),
        (lambda: sm.SampledRanks.from_pairs(5, n_items=9), "int"),
        (lambda: sm.negatives({"u": [1]}, None, 1, items=np.ones((2, 2), int)), r"\(2, 2\)"),
        (correction([[0.1, 0.2], [0.1, np.nan]], positive=0), "^row 2: .*column 1 is nan"),
        (correction([[0.1, 0.2], [0.1]], positive=0), "rows of the list differ in length"),
        (correction([[0.1, 0.2]], positive=0, n_negatives=5), "found n_negatives 1, but"),
        (correction([[0.1, 0.2]], positive=0, n_items="50"), "n_items has dtype <U2"),
        (correction(None, positive=0), "found NoneType; expected numbers"),
        (correction([1, 2], positive=0), "positive"),
        (evaluation({"user_id": [1], "sampled_rank": [1]}), "correct"),
        (evaluation(TWO_USERS, relevant=[0]), r"relevant items are int64 of shape \(1,\)"),
        (evaluation(TWO_USERS, relevant=[0, 2], seen=csr_array((2, 2))), "seen items are float64"),
        (evaluation([2, 4], n_items=3), "row 2, column rank: found 4; .*1 to 3"),
        (evaluation([2.5, 1], n_items=3), "found 2.5; expected whole numbers"),
        (evaluation(["u", "v"]), "found list of <U1"),
        (evaluation(csr_array(TWO_USERS)), "give relevant"),
        (evaluation({"u": []}, relevant={"u": [1]}), "no items"),
        (evaluation(sm.SampledRanks([1], 9, 2)), "`correct` takes them"),
        (evaluation(sm.Ranks([9], [0], [0]), n_items=10), "does not go with Ranks"),
        (evaluation(pd.DataFrame({"rank": ["x"]}), n_items=3), "row 1, column rank"),
        (correction(MASKED_SCORES, **SAMPLE_OPTIONS), "mask"),
        (evaluation(MASKED_SCORES, relevant=HELD % 11), "mask"),
        (lambda: sm.rank(lambda rows: MASKED_SCORES[rows], None, HELD % 11), "mask"),
        (lambda: sm.SampledRanks(np.ma.array([1, 2], mask=[0, 1]), 9, 2), "mask"),
        (correction(SAMPLE_SCORES, relevant=PAIRS, **SAMPLE_OPTIONS), "relevant"),
        (correction(SAMPLE_TABLE, **SAMPLE_OPTIONS), "positive"),
        (correction(SAMPLE_TABLE, relevant=PAIRS), "relevant"),
        (lambda: sm.compare(SCORES_OF_TWO, seen=PAIRS, **SAMPLE_OPTIONS), "seen"),
        (lambda: sm.compare(dict.fromkeys("ab", FULL_SCORES), sampling="distinct", **FULL_OPTIONS),
         "sampling"),
    ],
)  # fmt: skip
def test_wrong_array_or_option_is_named(call, pattern):
    assert re.search(pattern, refusal_message(call))


def test_error_inside_a_scoring_function_is_raised():
    """The error tells what is wrong in the function; no message about data may hide it."""
    error = IndexError("index 99 is out of bounds for axis 0 with size 60")

    def broken(*_):
        raise error

    seen = np.zeros(FULL_SCORES.shape, bool)
    calls = (
        lambda: sm.rank(broken, None, HELD),
        lambda: sm.rank(broken, seen, HELD),
        lambda: sm.evaluate(broken, "hr@10", relevant=HELD),
        lambda: sm.compare({"a": broken, "b": FULL_SCORES}, "hr@10", relevant=HELD),
        lambda: sm.report({"a": broken}, "/dev/null", "hr@10", relevant=HELD),
        lambda: sm.evaluate_on_budget(broken, "hr@10", relevant=HELD, seen=seen),
        lambda: sm.evaluate_on_budget(FULL_SCORES, "hr@10", relevant=HELD, seen=seen, proxy=broken),
    )
    for call in calls:
        with pytest.raises(IndexError) as caught:
            call()
        assert caught.value is error
        assert caught.traceback[-1].name == "broken"
