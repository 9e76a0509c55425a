"""The index of a Series or a DataFrame is ids, unless it only numbers the rows from 0."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.results import refusal_message, value_of

# The items of three users, best first, by their ids 11, 12 and 13.
BEST_FIRST = [[11, 12, 13], [12, 13, 11], [13, 11, 12]]
SCORES = np.array([[0.9, 0.2, 0.1], [0.1, 0.9, 0.2], [0.3, 0.1, 0.8]])
ITEMS = [11, 12, 13]
HELD_OUT = [11, 12, 12]  # at ranks 1, 1 and 3
RR = (1 + 1 + 1 / 3) / 3

INDEXES = {
    "from 1": pd.RangeIndex(1, 4),
    "reversed": pd.RangeIndex(2, -1, -1),
    "steps": pd.RangeIndex(10, 16, 2),
    "slice": pd.Series(range(9)).iloc[5:8].index,
    "named": pd.RangeIndex(3, name="user_id"),
    "read from a file": pd.read_csv(
        io.StringIO("user_id,age\n1,30\n2,40\n3,50\n"), index_col="user_id"
    ).index,
    "without a range": pd.Index([3, 1, 2]),
}


def by_user(values: list[Any], users: pd.Index) -> pd.Series:
    """Return a Series by user whose rows are in the opposite order."""
    return pd.Series(values, index=users, name="item_id").rename_axis("user_id").iloc[::-1]


def frame_of_scores(users: pd.Index) -> pd.DataFrame:
    return pd.DataFrame(SCORES, index=users, columns=pd.RangeIndex(11, 14))


FORMS: dict[str, Callable[[pd.Index, pd.Series], Any]] = {
    "scores": lambda users, held: sm.rank(frame_of_scores(users), None, held),
    "users= and items=": lambda users, held: sm.Ranks.from_scores(
        SCORES, held, users=users, items=ITEMS
    ),
    "vectors": lambda users, held: sm.Ranks.from_factors(
        pd.DataFrame(SCORES, index=users), pd.DataFrame(np.eye(3), index=ITEMS), held
    ),
    "function of users": lambda users, held: sm.Ranks.from_function(
        lambda rows: SCORES[rows], held, users=users, items=ITEMS
    ),
    "top K of users=": lambda users, held: sm.Ranks.from_top_k(BEST_FIRST, held, users=users),
    "top K with an index": lambda users, held: sm.Ranks.from_top_k(
        pd.DataFrame(BEST_FIRST, index=users), held
    ),
    "series of lists": lambda users, held: sm.Ranks.from_lists(by_user(BEST_FIRST, users), held),
    "dictionary of lists": lambda users, held: sm.Ranks.from_lists(
        dict(zip(users, BEST_FIRST, strict=True)), held
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("index", INDEXES)
def test_series_of_relevant_items_is_by_user(form: str, index: str) -> None:
    users = INDEXES[index]
    ranks = FORMS[form](users, by_user(HELD_OUT, users))
    assert value_of(sm.evaluate(ranks, "rr")) == pytest.approx(RR)


@pytest.mark.parametrize("index", INDEXES)
def test_series_of_seen_items_is_by_user(index: str) -> None:
    users = INDEXES[index]
    seen = by_user([[12], [11], [13]], users)  # item 13 is above the held-out item of user 2
    ranks = sm.rank(frame_of_scores(users), seen, by_user(HELD_OUT, users))
    assert value_of(sm.evaluate(ranks, "rr")) == pytest.approx((1 + 1 + 1 / 2) / 3)


@pytest.mark.parametrize("index", INDEXES)
def test_frames_in_another_order_are_paired_by_user(index: str) -> None:
    users = INDEXES[index]
    scores = frame_of_scores(users)
    held = by_user(HELD_OUT, users)
    same = sm.compare({"a": scores, "b": scores}, "rr", relevant=held)
    assert sm.compare({"a": scores, "b": scores.iloc[::-1]}, "rr", relevant=held) == same


@pytest.mark.parametrize("step", [1, -1], ids=["in order", "reversed"])
def test_candidates_on_a_budget_are_by_user(step: int) -> None:
    """Without item 13, which is above it, the held-out item of the last user is at rank 2."""
    users = pd.RangeIndex(1, 4)
    held = by_user(HELD_OUT, users)
    seen = by_user([[12], [11], [13]], users)
    frame = frame_of_scores(users)[::step]
    result = sm.evaluate_on_budget(frame, "rr", relevant=held, seen=seen, budget=2)
    assert result.estimates[0][0].value == pytest.approx((1 + 1 + 1 / 2) / 3)


SOME_INDEXES = pytest.mark.parametrize("index", ["from 1", "steps", "slice", "without a range"])


def ranks_by_user(index: str) -> pd.Series:
    return pd.Series([1, 4, 2], index=INDEXES[index])


@SOME_INDEXES
def test_users_of_a_series_of_ranks_are_its_index(index: str) -> None:
    ranks = sm.Ranks.from_ranks(ranks_by_user(index), 9)
    assert ranks.users is not None
    assert ranks.users.tolist() == INDEXES[index].tolist()


@SOME_INDEXES
def test_series_of_exact_and_of_sampled_ranks_is_read(index: str) -> None:
    ranks = ranks_by_user(index)
    exact = sm.evaluate(ranks, "rr", n_items=9)
    assert value_of(exact) == pytest.approx((1 + 1 / 4 + 1 / 2) / 3)
    sampled = sm.correct(ranks, "hit@1", "sampled", n_items=9, n_negatives=3, shape="none")
    assert value_of(sampled) == pytest.approx(1 / 3)


@SOME_INDEXES
def test_series_of_ranks_in_another_order_is_paired_by_user(index: str) -> None:
    ranks = ranks_by_user(index)
    same = sm.compare({"a": ranks, "b": ranks}, "rr", n_items=9)
    assert sm.compare({"a": ranks, "b": ranks.iloc[::-1]}, "rr", n_items=9) == same


READERS: dict[str, Callable[[Any], Any]] = {
    "evaluate": lambda ranks: sm.evaluate(ranks, "rr", n_items=9),
    "from_ranks": lambda ranks: sm.evaluate(sm.Ranks.from_ranks(ranks, 9), "rr"),
}
TWICE = pd.concat([pd.Series([1, 4]), pd.Series([2, 2])])  # of two files, numbered 0, 1, 0, 1
OF_VISITS = TWICE.set_axis(pd.MultiIndex.from_product([[1, 2], [1, 2]]))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("ranks", [TWICE, OF_VISITS], ids=["twice", "visits"])
def test_series_of_ranks_with_a_user_twice_is_refused(reader: str, ranks: pd.Series) -> None:
    assert "to_numpy()" in refusal_message(READERS[reader], ranks)


@pytest.mark.parametrize("reader", READERS)
def test_ranks_without_an_index_are_of_different_users(reader: str) -> None:
    results = READERS[reader](TWICE.to_numpy())
    assert value_of(results) == pytest.approx((1 + 1 / 4 + 1 / 2 + 1 / 2) / 4)


@pytest.mark.parametrize("index", INDEXES)
def test_series_of_columns_is_by_row(index: str) -> None:
    users = INDEXES[index]
    scores = pd.DataFrame(SCORES, index=users)
    columns = by_user([0, 1, 1], users)  # the held-out items are at ranks 1, 1 and 3

    def meter(positive: Any) -> Any:
        meter = sm.RankMeter("hit@1")
        meter.update(scores, positive=positive)
        return meter.compute()

    def sample(positive: Any) -> Any:
        return sm.correct(scores, "hit@1", "sampled", positive=positive, n_items=9, shape="none")

    for call in (meter, sample):
        for positive in (columns, columns.iloc[::-1], [0, 1, 1]):
            assert value_of(call(positive)) == pytest.approx(2 / 3)
    with pytest.raises(sm.InputError, match=r"positive.*to_numpy\(\)"):
        meter(pd.Series([0, 1, 1], index=[7, 8, 99]))


SHUFFLED = pd.DataFrame(SCORES, index=[2, 1, 0])
NUMBERED = pd.Series([1, 1, 0])  # columns by user, 0 to 2, or by row
BY_NUMBER: dict[str, Callable[[Any], Any]] = {
    "scores": lambda held: sm.evaluate(SHUFFLED, "hit@1", relevant=held),
    "sample": lambda held: sm.correct(
        SHUFFLED, "hit@1", "sampled", positive=held, n_items=9, shape="none"
    ),
    "lists": lambda held: sm.evaluate(
        sm.Ranks.from_top_k([[0, 1, 2], [1, 2, 0], [2, 0, 1]], held, users=[2, 1, 0]), "hit@1"
    ),
}


@pytest.mark.parametrize("form", BY_NUMBER)
def test_numbered_series_beside_shuffled_numbers_is_refused(form: str) -> None:
    assert "rename_axis('user_id')" in refusal_message(BY_NUMBER[form], NUMBERED)


@pytest.mark.parametrize("form", BY_NUMBER)
def test_named_numbers_are_users(form: str) -> None:
    """Of users 2, 1 and 0, columns 0 and 1 are first, and column 1 is not."""
    assert value_of(BY_NUMBER[form](NUMBERED.rename_axis("user_id"))) == pytest.approx(2 / 3)


@pytest.mark.parametrize("form", BY_NUMBER)
def test_numbers_without_an_index_are_of_rows(form: str) -> None:
    """Only column 1 of the second row is first."""
    assert value_of(BY_NUMBER[form](NUMBERED.to_numpy())) == pytest.approx(1 / 3)


def test_numbered_rows_are_not_ids() -> None:
    results = sm.evaluate(pd.DataFrame(SCORES), "rr", relevant=pd.Series([0, 1, 1]))
    assert value_of(results) == pytest.approx(RR)


def test_slice_of_numbered_rows_is_refused_with_its_remedy() -> None:
    scores = pd.DataFrame(SCORES)
    sliced = pd.Series([9, 9, 0, 1, 1]).iloc[2:]  # rows 2 to 4 of a table
    assert "to_numpy()" in refusal_message(sm.evaluate, scores, "rr", relevant=sliced)
    followed = sm.evaluate(scores, "rr", relevant=sliced.to_numpy())
    assert value_of(followed) == pytest.approx(RR)
