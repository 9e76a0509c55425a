"""Errors name the first of several faults, and how many there are."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.inputs.items import items_by_id
from sampled_metrics.sampling.catalogue import read_catalogue

LISTS = {"ann": ["a", "b", "c"], "bob": ["a", "d", "c"], "eve": ["d", "b", "a"]}
SCORES = np.arange(12.0).reshape(3, 4)


def evaluate(data, relevant, **options):
    return lambda: sm.evaluate(data, "recall@2", relevant=relevant, **options)


def pairs(label):
    """Two scores of each of three users."""
    return pd.DataFrame(
        {"user_id": list("aabbcc"), "score": range(6), "label": label}
    )


def known(relevant, seen):
    return lambda: read_catalogue(relevant, seen)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            evaluate(LISTS, {"ann": ["a"], "bob": ["b"], "eve": ["c"]}, complete=True),
            "no relevant item b in the list of user bob: not --complete",
        ),
        (
            evaluate(LISTS, {"ann": ["a"], "joe": ["b"], "zoe": ["c"]}),
            "no list for user joe (2 users have none)",
        ),
        (
            evaluate(LISTS, {"bob": ["d"], "ann": ["c"]}, seen={"ann": ["c"], "bob": ["d"]}),
            "item d of user bob is both relevant and seen",
        ),
        (
            evaluate({"ann": ["a"], "bob": ["b", "c"]}, {"ann": ["a"]}, n_items=1),
            "n_items is 1, expected at least 2",
        ),
        (
            evaluate(
                {"ann": ["a"], "bob": ["b", "c", "d"], "eve": ["d", "a", "c"]},
                {"ann": ["a"]},
                n_items=2,
            ),
            "the list of user bob has 3 items, expected at most 2",
        ),
        (
            known({"ann": ["b", "c"], "bob": ["d"]}, {"bob": ["d"], "ann": ["c", "b", "a"]}),
            "user ann, item c is both seen and held out (3 pairs of 2 users)",
        ),
        (
            evaluate({"ann": {"a": 1.0}, "bob": {"b": 1.0}}, {"x": ["a"], "y": ["b"]}),
            "no list for any relevant user; the first list is of user ann",
        ),
        (evaluate(SCORES, [3, 4, 5]), "row 2, column relevant: found 4"),
        (evaluate(SCORES, [3, -2, -3]), "row 2, column relevant: found -2; expected columns"),
        (
            lambda: sm.correct(pairs([1, 0, 0, 0, 0, 0]), "auc", n_items=9),
            "no held-out item among the candidates of user b (2 users have none)",
        ),
        (
            lambda: sm.correct(pairs([1, 0, 1, 1, 1, 1]), "auc", n_items=9),
            "no negatives for user b (2 users have none)",
        ),
        (
            lambda: sm.correct([[1.0, 2.0], [np.nan, 1.0], [1.0, np.inf]], positive=0, n_items=9),
            "row 2: the score in column 0 is nan; expected finite numbers",
        ),
    ],
)  # fmt: skip
def test_the_first_fault_is_named(call, words):
    with pytest.raises(sm.InputError) as caught:
        call()
    assert words in str(caught.value)


def test_ids_that_have_nothing_in_common_are_shown_by_the_first_of_each():
    items = [f"i{number}" for number in range(12)]
    lists = dict.fromkeys(("u7", "u8"), items)
    relevant = {"u8": [f"film {number}" for number in range(12)]}
    words = "such as 'film 0' and 'i0'"
    with pytest.raises(sm.InputError, match=words):
        evaluate(lists, relevant)()


@pytest.mark.parametrize(
    ("listed", "relevant", "is_refused"),
    [(10, 10, True), (9, 10, False), (10, 9, False), (30, 10, True)],
)
def test_ten_ids_with_nothing_in_common_are_of_other_things(
    listed, relevant, is_refused
):
    """Fewer may be cut off from all lists by chance; none of them is found then."""
    lists = {"ann": [f"i{number}" for number in range(listed)]}
    wanted = {"ann": [f"j{number}" for number in range(relevant)]}
    call = evaluate(lists, wanted, n_items=100)
    if is_refused:
        with pytest.raises(sm.InputError, match="relevant"):
            call()
    else:
        assert call()[0].value == 0.0


def test_items_seen_by_users_without_held_out_items_are_kept_apart():
    held = {"cy": ["b"], "al": ["a"]}
    seen = {"al": ["b", "c"], "bo": ["a"], "cy": ["d"], "di": ["e", "b"]}
    known = read_catalogue(held, seen)
    assert known.user_ids.tolist() == ["al", "cy"]
    assert known.item_ids.tolist() == list("abcde")

    def listed(items):
        pairs = zip(items.user.tolist(), items.item.tolist(), strict=True)
        return sorted((user, known.item_ids[item]) for user, item in pairs)

    assert listed(known.held_out) == [(0, "a"), (1, "b")]
    assert listed(known.seen) == [(0, "b"), (0, "c"), (1, "d")]
    # of bo and di, in the order of the table
    assert listed(known.seen_by_others) == [(0, "a"), (1, "b"), (1, "e")]


@pytest.mark.filterwarnings("ignore:seen. rows of label 0 do not count")
@pytest.mark.parametrize(
    ("relevance", "kept", "grades"),
    [
        ([1, 1, 1, 1], 4, None),
        ([0, 1, -1, 1], 2, None),
        ([0.5, 1, 0, 2], 3, [0.5, 1, 2]),
        ([2, 2, 2, 2], 4, [2, 2, 2, 2]),
    ],
)
def test_rows_above_zero_count(relevance, kept, grades):
    table = {"user_id": [1, 1, 2, 2], "item_id": [3, 4, 3, 5], "relevance": relevance}
    items = items_by_id(table, "relevant")
    assert items.item.size == kept
    assert grades is None or items.relevance.tolist() == grades
    assert (items.relevance is None) == (grades is None)
    assert items_by_id(table, "seen").item.size == kept
    assert items_by_id(table, "seen").relevance is None
