"""Ways that lists of many users are joined by are those of few users, and refuse the same."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampled_metrics as sm
from sampled_metrics.inputs import tables

pytestmark = pytest.mark.filterwarnings("ignore")
USERS, K, ITEMS = 60, 5, 40
METRICS = "hr@3, ndcg@5, precision@4"


@settings(deadline=None)
@given(st.lists(st.integers(-3, 30), min_size=1, max_size=60), st.integers(1, 3))
def test_encoded_numbers(ids, run):
    column = np.repeat(ids, run)
    distinct = list(dict.fromkeys(column.tolist()))
    expected = [distinct.index(number) for number in column]
    chunks = pa.chunked_array([column[:1], column[1:]])
    for values in (column, column.astype(np.int16), chunks):
        codes, names = tables.encode(values)
        assert codes.dtype == np.int32
        assert codes.tolist() == expected
        assert names.to_pylist() == distinct


def lists_and_relevant(rng, several):
    listed = np.array([rng.permutation(ITEMS)[:K] for _ in range(USERS)])
    frame = pd.DataFrame(
        {
            "user_id": np.repeat(rng.permutation(USERS) + 7, K),
            "item_id": listed.ravel(),
            "rank": np.tile(np.arange(1, K + 1), USERS),
        }
    )
    n = 3 if several else 1
    own = np.array([rng.permutation(ITEMS)[:n] for _ in range(USERS)])
    relevant = pd.DataFrame(
        {"user_id": np.repeat(np.arange(USERS) + 7, n), "item_id": own.ravel()}
    )
    return frame, relevant


def by_hand(frame, relevant):
    """Hits in the first three places of each user."""
    first = frame[frame["rank"] <= 3]
    pairs = set(zip(relevant.user_id, relevant.item_id, strict=True))
    hits = {user for user, item in zip(first.user_id, first.item_id, strict=True)
            if (user, item) in pairs}  # fmt: skip
    return len(hits) / USERS


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_order_of_rows_and_kind_of_places_do_not_matter(seed, several):
    rng = np.random.default_rng(seed)
    frame, relevant = lists_and_relevant(rng, several)
    expected = list(sm.evaluate(frame, METRICS, relevant=relevant))
    assert expected[0].value == by_hand(frame, relevant)
    scores = frame.assign(score=-1.5 * frame["rank"]).drop(columns="rank")
    for other in (frame, scores):
        for table in (other, other.sample(frac=1.0, random_state=seed)):
            assert list(sm.evaluate(table, METRICS, relevant=relevant)) == expected
    text = frame.assign(user_id="u" + frame.user_id.astype(str))
    of_text = relevant.assign(user_id="u" + relevant.user_id.astype(str))
    assert list(sm.evaluate(text, METRICS, relevant=of_text)) == expected


def test_wrong_lists_are_refused_alike():
    frame, relevant = lists_and_relevant(np.random.default_rng(1), False)
    again = frame.copy()
    again.loc[23, "item_id"] = again.loc[21, "item_id"]
    gap = frame.copy()
    gap.loc[24, "rank"] = 7
    twice = frame.copy()
    twice.loc[24, "rank"] = 1
    for wrong, words in (
        (again, "row 24: duplicate of row 22"),
        (gap, "row 25, column rank: found 7; expected 1, 2, 3 and so on"),
        (twice, "column rank: found .*; expected 1, 2, 3 and so on"),
    ):
        with pytest.raises(sm.InputError, match=words):
            sm.evaluate(wrong, METRICS, relevant=relevant)
    with pytest.raises(sm.InputError, match="row 3"):
        sm.evaluate(frame, METRICS, relevant=pd.concat([relevant, relevant[2:3]]))
    with pytest.raises(sm.InputError, match="list"):
        sm.evaluate(frame[K:], METRICS, relevant=relevant)


def test_rows_of_users_may_lie_between_those_of_others():
    """Scores fall from row to row, and rows of three users take turns."""
    table = pd.DataFrame(
        {
            "user_id": [5, 3, 4, 3, 5, 4, 5, 3, 4],
            "item_id": [1, 2, 3, 4, 5, 6, 7, 8, 9],
            "score": np.arange(9.0, 0.0, -1.0),
        }
    )
    found = sm.Ranks.from_lists(table, {3: [4], 4: [3], 5: [7]}, complete=True)
    by_user = dict(zip(found.users, found.best_rank, strict=True))
    assert by_user == {3: 2, 4: 1, 5: 3}


def test_lists_hold_all_candidates_only_if_that_is_said():
    lists = {"a": [1, 2, 3], "b": [4, 5, 6]}
    relevant = {"a": [2], "b": [4]}
    whole = sm.Ranks.from_lists(lists, relevant, complete=True)
    assert whole.n_candidates.tolist() == [3, 3]
    assert sm.evaluate(whole, "auc")[0].value == 0.75
    with pytest.raises(sm.InputError, match="auc"):
        sm.evaluate(sm.Ranks.from_lists(lists, relevant), "auc")
