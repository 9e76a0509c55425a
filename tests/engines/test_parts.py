"""What each task of an engine computes, by hand."""

import pyarrow as pa
import pytest

import sampled_metrics as sm
from sampled_metrics.engines.parts import rank_part

# scores of the user (1, 2): 1, 2, 3 and 3; of the user (0, 1): 0, 1, 1 and 0
ITEMS = [[1.0, 0], [0, 1], [1, 1], [3, 0]]
USERS = pa.table({"user_id": ["anna", "ben"], "vector": [[1.0, 2], [0, 1]]})


def rank(relevant, seen=None, **options):
    table = USERS.append_column("relevant", pa.array(relevant))
    if seen is not None:
        table = table.append_column("seen", pa.array(seen))
    return rank_part(table, ITEMS, **options).to_pylist()


def test_items_by_hand():
    assert rank([0, 3]) == [
        {"user_id": "anna", "n_candidates": 4, "n_better": 3, "n_tied": 0, "depth": 4},
        {"user_id": "ben", "n_candidates": 4, "n_better": 2, "n_tied": 1, "depth": 4},
    ]


def test_lists_seen_items_and_padding_by_hand():
    rows = rank([[0, 2], [3, -1]], [[1], None])
    assert [row["user_id"] for row in rows] == ["anna", "anna", "ben"]
    assert [row["n_candidates"] for row in rows] == [3, 3, 4]
    assert [row["n_better"] for row in rows] == [0, 2, 2]


def test_ranks_end_at_the_depth():
    rows = rank([0, 1], up_to=2)
    assert [(row["n_better"], row["depth"]) for row in rows] == [(2, 2), (0, 4)]


def test_users_without_relevant_items_have_no_rows():
    assert rank([[], []]) == []


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (USERS, "relevant"),
        (pa.table({"user_id": [1, 2], "vector": [[1.0], [1, 2]], "relevant": [0, 0]}), "vector"),
    ],
)
def test_wrong_tables_are_refused(table, message):
    with pytest.raises(sm.InputError, match=message):
        rank_part(table, ITEMS)
