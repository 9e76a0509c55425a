"""What functions do with data of unusual types: they take it, or refuse it in a short line."""

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError, format_value
from tests.conftest import ROOT
from tests.helpers.results import values

RNG = np.random.default_rng(0)
SCORES = RNG.random((40, 30))
HELD_OUT = RNG.integers(0, 30, 40)
SAMPLED = RNG.integers(1, 11, 40)
DRAWN = {"n_items": 30, "n_negatives": 9}
MILLION = 10**6
USERS = range(5)
RUN = pd.DataFrame(
    {
        "user_id": np.repeat(USERS, 4),
        "item_id": [*range(4)] * 5,
        "score": RNG.random(20),
    }
)
PAIRS = RUN.assign(label=(RUN["item_id"] == 0).astype(int))


@pytest.fixture(autouse=True)
def no_questions():
    with warnings.catch_warnings(action="ignore", category=sm.InputWarning):
        yield


class Column:
    """A column as other libraries of data frames have them, which lend it to Arrow."""

    def __init__(self, values):
        self.values = pa.chunked_array([values])
        self.dtype = self.values.type
        self.shape = (len(values),)

    def __len__(self):
        return len(self.values)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.values.__arrow_c_stream__(requested_schema)


def chunked(values):
    half = len(values) // 2
    return pa.chunked_array([values[:half], values[half:]])


@pytest.mark.parametrize("column", [pa.array, chunked, Column])
class TestColumnsOfArrow:
    def test_relevant(self, column):
        expected = sm.evaluate(SCORES, "hit@5", relevant=HELD_OUT)
        found = sm.evaluate(SCORES, "hit@5", relevant=column(HELD_OUT))
        assert values(found) == values(expected)

    def test_lists_of_relevant_items(self, column):
        lists = [[int(item)] for item in HELD_OUT]
        expected = sm.evaluate(SCORES, "hit@5", relevant=lists)
        found = sm.evaluate(SCORES, "hit@5", relevant=column(pa.array(lists)))
        assert values(found) == values(expected)

    def test_seen(self, column):
        seen = [[int(item + 1) % 30] for item in HELD_OUT]
        expected = sm.evaluate(SCORES, "hit@5", relevant=HELD_OUT, seen=seen)
        given = column(pa.array(seen))
        found = sm.evaluate(SCORES, "hit@5", relevant=HELD_OUT, seen=given)
        assert values(found) == values(expected)

    def test_ranks(self, column):
        expected = sm.evaluate(HELD_OUT + 1, "hit@5", n_items=30)
        found = sm.evaluate(column(HELD_OUT + 1), "hit@5", n_items=30)
        assert values(found) == values(expected)
        ranks = sm.Ranks.from_ranks(column(HELD_OUT + 1), 30)
        assert ranks.n_better.tolist() == HELD_OUT.tolist()

    def test_sampled_ranks(self, column):
        expected = sm.correct(SAMPLED, "hit@5", **DRAWN)
        assert list(sm.correct(column(SAMPLED), "hit@5", **DRAWN)) == list(expected)

    def test_functions(self, column):
        expected = sm.evaluate(SCORES, "hit@5", relevant=HELD_OUT)
        given = column(HELD_OUT)
        found = sm.evaluate(lambda users: SCORES[users], "hit@5", relevant=given)
        assert values(found) == values(expected)

    def test_positive(self, column):
        expected = sm.correct(SCORES, "hit@5", n_items=90, positive=HELD_OUT)
        found = sm.correct(SCORES, "hit@5", n_items=90, positive=column(HELD_OUT))
        assert list(found) == list(expected)


def test_ranks_of_a_table():
    plain = sm.Ranks.from_ranks([3, 1], 30)
    for table in (pd.DataFrame({"rank": [3, 1]}), pa.table({"rank": [3, 1]})):
        assert sm.Ranks.from_ranks(table, 30).n_better.tolist() == [2, 0]
    with_ids = pd.DataFrame({"user_id": ["b", "a"], "rank": [3, 1]})
    assert sm.Ranks.from_ranks(with_ids, 30).users.tolist() == ["b", "a"]
    assert plain.n_better.tolist() == [2, 0]
    with pytest.raises(InputError, match="user_id"):
        sm.Ranks.from_ranks(with_ids, 30, users=["b", "a"])


def test_generators_within_dictionaries():
    lists = {user: [1, 2, 3] for user in USERS}
    relevant = {user: [2] for user in USERS}
    seen = {user: [9] for user in USERS}
    expected = sm.evaluate(lists, "hit@2", relevant=relevant, seen=seen)
    found = sm.evaluate(
        {user: iter(items) for user, items in lists.items()},
        "hit@2",
        relevant={user: (item for item in items) for user, items in relevant.items()},
        seen={user: map(int, items) for user, items in seen.items()},
    )
    assert values(found) == values(expected) == [1.0]


class Model:
    user_factors = RNG.random((40, 4))
    item_factors = RNG.random((30, 4))


class Neural:
    def predict(self, users):
        raise NotImplementedError


REFUSED = {
    "relevant without items": (
        lambda: sm.correct(RUN, "hit@2", relevant=[], missing="last", **DRAWN),
        "relevant",
    ),
    "several values of complete": (
        lambda: sm.evaluate(
            RUN, "hit@2", relevant={0: [2]}, complete=np.array([True, False])
        ),
        "complete",
    ),
    "text for a number, pairs": (
        lambda: sm.SampledRanks.from_pairs(
            PAIRS, candidates={0: [0, 1]}, n_items=30, n_negatives="2"
        ),
        "n_negatives",
    ),
    "text for a number, scores": (
        lambda: sm.SampledRanks.from_scores(
            SCORES, n_items=30, n_negatives="2", sampling="distinct"
        ),
        "n_negatives",
    ),
    "too many negatives": (
        lambda: sm.RankMeter(n_items=30, n_negatives=2**64).update(ranks=[1]),
        "n_negatives",
    ),
    "module": (lambda: sm.evaluate(np), "module"),
    "module, correct": (lambda: sm.correct(np, **DRAWN), "module"),
    "name that is no text": (
        lambda: sm.compare({"a": SCORES, np.nan: SCORES}, relevant=HELD_OUT),
        "name",
    ),
    "name twice": (
        lambda: sm.compare({"1": SCORES, 1: SCORES}, relevant=HELD_OUT),
        "name",
    ),
    "ragged": (lambda: sm.Ranks([[1, 2], [3]], [1, 2], [0, 0]), "differ in length"),
    "model": (
        lambda: sm.evaluate(Model()),
        "(model.user_factors, model.item_factors)",
    ),
    "model of pairs": (
        lambda: sm.evaluate_on_budget(
            Model(), "hit@5", relevant=HELD_OUT, seen=np.zeros((40, 30))
        ),
        "(model.user_factors, model.item_factors)",
    ),
    "model without factors": (lambda: sm.evaluate(Neural()), "function"),
    "float32 ids": (
        lambda: sm.evaluate(
            RUN.assign(user_id=np.float32(33_554_500)), relevant={0: [2]}
        ),
        "float32",
    ),
    "mixed ids": (
        lambda: sm.evaluate(
            RUN.assign(user_id=[1, "b"] * 10), "hit@2", relevant={0: [2]}
        ),
        "column user_id: found 'b' among others",
    ),
    "mixed scores": (
        lambda: sm.evaluate(
            RUN.assign(score=[1.0, "b"] * 10), "hit@2", relevant={0: [2]}
        ),
        "column score: found 'b' among others",
    ),
}


@pytest.mark.parametrize(("call", "words"), REFUSED.values(), ids=REFUSED)
def test_refused_in_a_line(call, words):
    with pytest.raises(InputError, match=re.escape(words)) as refused:
        call()
    message = str(refused.value)
    assert len(message) < 200
    assert not re.search(r"docs/|\.md\b|^:", message)


LONG = {
    "list": lambda: sm.evaluate(HELD_OUT + 1, n_items=list(range(MILLION))),
    "seed": lambda: sm.correct(SAMPLED, seed=list(range(MILLION)), **DRAWN),
    "metric": lambda: sm.evaluate(HELD_OUT + 1, "x" * MILLION, n_items=30),
    "estimator": lambda: sm.correct(SAMPLED, "hit@5", "x" * MILLION, **DRAWN),
    "ties": lambda: sm.evaluate(HELD_OUT + 1, n_items=30, ties="x" * MILLION),
    "sampling": lambda: sm.correct(SAMPLED, sampling="x" * MILLION, **DRAWN),
    "shape": lambda: sm.correct(SAMPLED, shape="x" * MILLION, **DRAWN),
    "file": lambda: sm.evaluate("x" * MILLION),
    "digits": lambda: sm.correct(SAMPLED, seed=-(10**5000), **DRAWN),
    "confidence": lambda: sm.correct(SAMPLED, confidence=10**5000, **DRAWN),
    "printed": lambda: sm.reported({"hit@1": "x" * MILLION}, **DRAWN),
    "columns": lambda: sm.Ranks.from_table(
        pd.DataFrame({f"user {i}": ["a"] for i in range(10_000)})
    ),
}


@pytest.mark.parametrize("call", LONG.values(), ids=LONG)
def test_messages_are_bounded(call):
    with pytest.raises(InputError) as refused:
        call()
    assert 10 < len(str(refused.value)) <= 2000


@pytest.mark.parametrize(
    ("value", "expected"),
    [("HR@10", "'HR@10'"), (2.5, "2.5"), (None, "None"), ([1, 2], "[1, 2]")],
)
def test_short_values_are_shown_as_they_are(value, expected):
    assert format_value(value) == expected


def test_an_unnamed_recommender_is_not_named():
    def wrong(users, _items):
        return np.zeros((len(users), 1))

    given = {"relevant": HELD_OUT, "seen": np.zeros((40, 30)), "budget": 29}
    with pytest.raises(InputError, match=r"^result of recommender has shape"):
        sm.evaluate_on_budget(wrong, "hit@5", **given)
    with pytest.raises(InputError, match=r"^b: result of recommender has shape"):
        sm.evaluate_on_budget({"a": SCORES, "b": wrong}, "hit@5", **given)


def test_numbers_are_names_of_recommenders():
    (result,) = sm.compare({1: SCORES, 2: -SCORES}, "hit@5", relevant=HELD_OUT)
    assert (result.a, result.b) == ("1", "2")


@pytest.mark.parametrize(
    "path", sorted(Path(ROOT, "src/sampled_metrics").rglob("*.py")), ids=str
)
def test_no_message_names_a_file_that_is_not_installed(path):
    """Comments and docstrings may."""
    lines = path.read_text("utf-8").splitlines()
    named = [
        line for line in lines if re.search(r"""["'].*docs/.*\.md.*["']""", line)
    ]
    assert not [line for line in named if '"""' not in line]
