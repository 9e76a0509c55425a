"""Data in every form gives the right number by hand, or is refused in one line.

Data and values that are named here are those of tests/helpers/world.py.
"""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sampled_metrics as sm
from tests.helpers.cases import (
    Call,
    Case,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
    meter,
    ranks,
)
from tests.helpers.caught_warnings import warns_about
from tests.helpers.forms import arrays, by_name, columns, lists, marks, pairs, tables, these
from tests.helpers.results import refusal_message, values
from tests.helpers.world import (
    FRAME,
    HELD,
    HIT_2,
    IDS,
    LABELLED,
    LISTS,
    RANKS,
    RR,
    SAMPLE,
    SAMPLED_RANKS,
    SCORES,
    TEST,
    TEST_PAIRS,
    WIDE,
    score_users,
)

NEW_RR = (1 / 1 + 1 / 3) / 2  # if user a has seen item y, in column 1
SECOND_RR = 1 / 3  # of user b alone
MARKS = np.array([[0, 0, 1], [1, 0, 0]])  # of the held-out items
SEEN = np.array([[0, 1, 0], [0, 0, 0]])
SEEN_PAIRS = pd.DataFrame({"user_id": ["a"], "item_id": ["y"]})
ROWS = FRAME.sample(frac=1, random_state=0)  # not best first
BEST_FIRST = FRAME.drop(columns="score")
NUMBERED = ROWS.replace({"user_id": {"a": 0, "b": 1}, "item_id": {"x": 0, "y": 1, "z": 2}})
PLACED = BEST_FIRST.assign(rank=[1, 2, 3] * 2)
LABELLED_TWO = LABELLED[LABELLED["label"] | (LABELLED["item_id"] == "y")]
COUNTS = pd.DataFrame({"n_candidates": [3, 3], "n_better": [1, 2], "n_tied": [0, 0]})
IN_ORDER = np.take_along_axis(SCORES, IDS, axis=1)
VECTORS = np.eye(2), SCORES.T  # of which the products are the scores
POSITIVE, AT_POSITIVE = np.array([0, 1]), np.array([[0.5, 0.1, 0.9], [0.8, 0.2, 0.6]])
LAST = SAMPLE[:, [1, 2, 0]]
RATED, PREDICTED = [5, 3, 4], np.array([4.0, 5.0, 4.0])  # errors of 1, 2 and 0
WITH_DETAILS = ROWS.set_axis(["uid", "iid", "est"], axis=1).assign(r_ui=3.0, details=[{}] * 6)


def rating(error: Any, *arguments: Any) -> Call:
    return call_of(error, *arguments)._replace(value=float)


def with_relevant(relevant: Any) -> Call:
    return evaluate(SCORES, relevant=relevant)


def with_seen(seen: Any) -> Call:
    return evaluate(SCORES, relevant=HELD, seen=seen)


def count_negatives(**tables: Any) -> Call:
    """Return a draw of one of the items x, y and z for each of the users a and b."""
    given = {"relevant": TEST_PAIRS, "seen": SEEN_PAIRS, **tables}
    return call_of(sm.negatives, n_negatives=1, **given)._replace(value=len)


NO_NUMBERS = "object, with ids, with a title"
NO_INTEGERS = "float16, float32, float64, str, shuffled index"
NO_MARKS = "str, wide, npz, arrow, lent, polars, with ids, with a title"
CASES = [
    # scores
    Case("scores", evaluate(arrays(SCORES, NO_NUMBERS), relevant=HELD), RR),
    Case("sparse scores", evaluate(marks(SCORES, "npz"), relevant=HELD), RR),
    Case("scores and seen items", evaluate(arrays(SCORES, NO_NUMBERS), relevant=HELD, seen=SEEN),
         NEW_RR),
    Case("scores, a user without an item", evaluate(arrays(SCORES, NO_NUMBERS), relevant=[None, 0]),
         SECOND_RR),
    Case("from_scores", ranks(sm.Ranks.from_scores, arrays(SCORES, NO_NUMBERS), HELD), RR),
    Case("vectors",
         evaluate((np.eye(2), arrays(SCORES.T, f"{NO_NUMBERS}, dlpack, npy, npz, lent")),
         relevant=HELD), RR),
    Case("functions and vectors",
         evaluate(these(function=score_users, vectors=VECTORS), relevant=HELD, seen=SEEN), NEW_RR),
    Case("functions and vectors, a user without an item",
         evaluate(these(function=score_users, vectors=VECTORS, wide=WIDE.reset_index(drop=True)),
         relevant=[-1, 0]), SECOND_RR),
    Case("meter",
         meter({"scores": arrays(SCORES, f"{NO_NUMBERS}, npy, npz, lent"), "positive": HELD}), RR),
    # relevant items beside scores
    Case("columns", with_relevant(arrays(HELD, NO_INTEGERS)), RR),
    Case("columns beside a function",
         evaluate(score_users, relevant=arrays(HELD, f"{NO_INTEGERS}, dlpack, npy")), RR),
    Case("columns of a meter",
         meter({"scores": SCORES, "positive": arrays(HELD, f"{NO_INTEGERS}, object, npy")}), RR),
    Case("one column of an array", with_relevant(np.array(HELD)[:, None]), RR),
    Case("one column of an array beside vectors and functions",
         evaluate(these(vectors=VECTORS, function=score_users), relevant=np.array(HELD)[:, None]),
         RR),
    Case("-1", with_relevant(arrays([-1, 0], f"{NO_INTEGERS}, uint64")), SECOND_RR),
    Case("lists of columns", with_relevant(columns([[2], [0]])), RR),
    Case("marks", with_relevant(marks(MARKS)), RR),
    Case("marks of other types", with_relevant(arrays(MARKS, NO_MARKS)), RR),
    Case("marks of true and false",
         with_relevant(these(array=MARKS > 0, list=(MARKS > 0).tolist())), RR),
    Case("marks of a meter",
         meter({"scores": SCORES,
         "positive": these(list=MARKS.tolist(), bool=MARKS > 0, float=MARKS.astype("f4"),
         uint=MARKS.astype(np.uint8))}), RR),
    Case("several marks of a meter",
         meter({"scores": SCORES, "positive": these(list=[[0, 1, 1], [1, 0, 0]])},
         metrics="recall@1"), (1 / 2 + 0) / 2),
    Case("pairs", evaluate(WIDE, relevant=pairs(TEST_PAIRS)), RR),
    Case("pairs by position",
         with_relevant(these(frame=TEST_PAIRS.assign(user_id=[0, 1], item_id=HELD),
         series=pd.Series(HELD), dictionary=dict(enumerate(HELD)))), RR),
    # relevant items beside lists
    Case("pairs beside lists", evaluate(LISTS, "rr@3", relevant=pairs(TEST_PAIRS)), RR),
    Case("other forms beside lists",
         evaluate(LISTS, "rr@3",
         relevant=these(item={"a": "z", "b": "x"}, grades={"a": {"z": 1, "y": 0}, "b": {"x": 2}},
         iterators={"a": iter("z"), "b": map(str, "x")}, arrays={"a": np.array(["z"]), "b": "x"},
         series=pd.Series(["z", "x"], ["a", "b"]))), RR),
    Case("by position beside lists",
         evaluate(NUMBERED, "rr@3",
         relevant=these(columns=HELD, lists=[[2], [0]], marks=MARKS > 0)), RR),
    Case("labels beside lists",
         evaluate(LISTS, "rr@3",
         relevant=these(whole=LABELLED_TWO,
         signs=LABELLED_TWO.assign(label=2 * LABELLED_TWO["label"] - 1),
         **{kind: LABELLED_TWO.astype({"label": kind}) for kind in ("bool", "boolean", "str",
         "category", "float16")})), RR),
    Case("names of labels",
         evaluate(LISTS, "rr@3",
         relevant=by_name(LABELLED_TWO, "label", "clicked", "target", "is_relevant", "label:float",
         "relevance")), RR),
    # seen items
    Case("seen lists", with_seen(columns([[1], []])), NEW_RR),
    Case("seen marks", with_seen(marks(SEEN)), NEW_RR),
    Case("seen marks of other types", with_seen(arrays(SEEN, NO_MARKS)), NEW_RR),
    Case("seen pairs", evaluate(WIDE, relevant=TEST, seen=pairs(SEEN_PAIRS)), NEW_RR),
    Case("seen pairs beside lists",
         evaluate(LISTS, "rr", relevant=TEST, seen=pairs(SEEN_PAIRS), complete=True), NEW_RR),
    Case("seen marks beside lists",
         evaluate(NUMBERED, relevant=HELD,
         seen=these(lists=[[1], []], marks=SEEN > 0, grades={0: {1: 2.5}}), complete=True), NEW_RR),
    Case("negatives: relevant", count_negatives(relevant=tables(TEST_PAIRS)), 2),
    Case("negatives: seen", count_negatives(seen=tables(SEEN_PAIRS)), 2),
    # lists
    Case("lists with scores", evaluate(lists(ROWS), "rr@3", relevant=TEST), RR),
    Case("lists best first", evaluate(lists(BEST_FIRST), "rr@3", relevant=TEST), RR),
    Case("lists with ranks",
         evaluate(tables(PLACED.sample(frac=1, random_state=0)), "rr@3", relevant=TEST), RR),
    Case("from_lists", ranks(sm.Ranks.from_lists, lists(ROWS), TEST, complete=True), RR),
    Case("names of scores",
         evaluate(by_name(ROWS, "score", "prediction", "est", "pred", "logit", "rating"), "rr@3",
         relevant=TEST), RR),
    Case("names of ids",
         evaluate(these(frame=ROWS.rename(columns={"user_id": "user", "item_id": "item"}),
         surprise=WITH_DETAILS, times=BEST_FIRST.assign(timestamp=7),
         ratings=ROWS.rename(columns={"score": "prediction"}).assign(rating=1.0)), "rr@3",
         relevant=TEST), RR),
    Case("iterators",
         evaluate(these(lists={user: iter(items) for user, items in LISTS.items()}), "rr@3",
         relevant=TEST), RR),
    Case("names of ranks",
         evaluate(by_name(PLACED.sample(frac=1, random_state=0), "rank", "Rank", "RANK"), "rr@3",
         relevant=TEST), RR),
    Case("no list of user b",
         evaluate(these(empty={"a": ["y", "z"], "b": []}, none={"a": ["y", "z"], "b": None},
         absent={"a": ["y", "z"]}, series=pd.Series({"a": ["y", "z"], "b": []}),
         arrays={"a": np.array(["y", "z"]), "b": np.array([], str)}), "rr@2", relevant=TEST,
         missing="last"), (1 / 2 + 0) / 2),
    Case("lists of different lengths",
         ranks(sm.Ranks.from_top_k,
         these(filled=[[5, 7, -1], [7, 5, 6], [-1, -1, -1]],
         none=[[5, 7, None], [7, 5, 6], [None] * 3], uneven=[[5, 7], [7, 5, 6], []]), [[7]] * 3,
         missing="last", metrics="rr@3"), (1 / 2 + 1 + 0) / 3),
    Case("decimals as ids",
         evaluate(these(frame=pd.DataFrame({"user_id": [1.0] * 2, "item_id": [5.0, 6]})), "rr@2",
         relevant={1: [6]}), 1 / 2),
    Case("scores of ids",
         ranks(sm.Ranks.from_top_k, [[5, 7]], [[7]],
         scores=arrays([[10, 20]], "object, str, npy, npz, lent, with ids, with a title"),
         metrics="rr@2"), 1),
    Case("two arrays", evaluate(these(arrays=(IDS, IN_ORDER)), "rr@3", relevant=HELD), RR),
    Case("ids",
         ranks(sm.Ranks.from_top_k,
         arrays(IDS, "float16, float32, float64, npy, npz, lent, with ids, with a title"), HELD,
         metrics="rr@3"), RR),
    Case("relevant ids", ranks(sm.Ranks.from_top_k, IDS, columns([[2], [0]]), metrics="rr@3"), RR),
    Case("labelled pairs", evaluate(tables(LABELLED), complete=True), RR),
    Case("labels of true and false",
         evaluate(tables(LABELLED.astype({"label": bool})), complete=True), RR),
    # ranks
    Case("ranks", evaluate(arrays([2, 3], "object, str, dlpack"), n_items=3), RR),
    Case("table of ranks", evaluate(tables(RANKS), n_items=3), RR),
    Case("counts", evaluate(tables(COUNTS)), RR),
    Case("Ranks", evaluate(these(ranks=sm.Ranks([3, 3], [1, 2], [0, 0]))), RR),
    Case("from_ranks", ranks(sm.Ranks.from_ranks, arrays([2, 3], "npy"), 3), RR),
    # samples
    Case("scores of a sample", correct(arrays(SAMPLE, NO_NUMBERS), positive=0), HIT_2),
    Case("SampledRanks.from_scores",
         call_of(sm.SampledRanks.from_scores, arrays(SAMPLE, NO_NUMBERS),
         n_items=90)._replace(value=lambda made: np.mean(made.sampled_ranks <= 2)), HIT_2),
    Case("columns of held-out items",
         correct(AT_POSITIVE, positive=arrays(POSITIVE, f"{NO_INTEGERS}, object, npy")), HIT_2),
    Case("held-out item last", correct(arrays(LAST, NO_NUMBERS), positive=-1), HIT_2),
    Case("column of held-out items by name",
         correct(pd.DataFrame(LAST, columns=["i", "j", "held"]), positive="held"), HIT_2),
    Case("sampled ranks", correct(arrays([2, 3], "object, str, dlpack"), n_negatives=2), HIT_2),
    Case("table of sampled ranks", correct(tables(SAMPLED_RANKS), n_negatives=2), HIT_2),
    Case("labelled pairs of a sample", correct(tables(LABELLED)), HIT_2),
    Case("labels of true and false of a sample", correct(tables(LABELLED.astype({"label": bool}))),
         HIT_2),
    Case("lists of a sample", correct(lists(FRAME), relevant=TEST), HIT_2),
    Case("relevant items of a sample", correct(LISTS, relevant=pairs(TEST_PAIRS)), HIT_2),
    # ratings
    Case("ratings", rating(sm.rmse, arrays(RATED, "object, str, npy, lent"), PREDICTED),
         np.sqrt((1 + 4 + 0) / 3)),
    Case("predictions", rating(sm.mae, RATED, arrays(PREDICTED, "object, npy, lent")),
         (1 + 2 + 0) / 3),
]  # fmt: skip


@each_case(CASES)
def test_every_form_gives_the_value_by_hand(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


def test_metrics_are_named_as_they_are_asked_for():
    results = sm.evaluate([2, 3], "hr@2, MRR@2", n_items=3)
    assert [result.metric for result in results] == ["hr@2", "MRR@2"]
    assert values(results) == [1 / 2, (1 / 2 + 0) / 2]


def test_ids_without_overlap_are_refused_or_warn():
    numbered, relevant = {0: [1, 2, 0], 1: [1, 2, 0]}, {0: [2], 1: [0]}
    text = refusal_message(sm.evaluate, numbered, "rr@3", relevant={0: ["i1"], 1: ["i2"]})
    assert "relevant and the lists are in both, such as 'i1' and 1" in text
    for call, arguments in (
        (sm.evaluate, {"data": numbered, "metrics": "rr@3"}),
        (sm.negatives, {"n_negatives": 1}),
    ):
        half = {0.5: [1], 1.5: [2]}
        assert "found 0.5" in refusal_message(call, relevant=relevant, seen=half, **arguments)
        # a split may have new users or items, so this only warns
        for seen, message in (
            ({f"u{user}": [1] for user in range(9)}, "of the users of seen"),
            ({0: ["i1"], 1: ["i2"]}, "of the items of seen"),
        ):
            with warns_about(message):
                call(relevant=relevant, seen=seen, **arguments)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_archive_of_arrays_is_read_or_refused(tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, scores=SCORES, user_ids=np.arange(2))
    assert evaluate(path, relevant=HELD)() == RR
    for other in (HELD, np.array([{}], dtype=object)):
        np.savez(path, scores=SCORES, seen=other)
        assert "seen" in refusal_message(sm.evaluate, path, relevant=HELD)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", b"hello")
    assert "scores" in refusal_message(sm.evaluate, path, relevant=HELD)
    big = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        big, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**7)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", big.getvalue())
    assert "s.npz" in refusal_message(sm.evaluate, path, relevant=HELD)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "a\0b.npy", "x" * 300 + ".parquet", "\ud800"])
def test_impossible_file_name_is_refused(name):
    assert "\n" not in refusal_message(sm.evaluate, name, n_items=9)
    assert "relevant" in refusal_message(sm.evaluate, LISTS, relevant=name)


PRINTED = {"n_items": 3416, "n_negatives": 100, "HR@10": "0.8245"}


@pytest.mark.parametrize("form", ["table", "batch"])
def test_arrow_table_is_checked_like_its_rows(form: str) -> None:
    rows = [PRINTED, {**PRINTED, "HR@10": None, "HR@5": "0.6913"}]
    table = pa.Table.from_pylist([{"HR@5": None, **row} for row in rows])
    data = table if form == "table" else table.to_batches()[0]
    results, expected = (
        [(check.printed, check.range_low, check.range_high) for check in sm.check(form)]
        for form in (data, rows)
    )
    assert results == expected


def test_values_by_user_are_indexed_by_id():
    ranks = sm.Ranks([5, 5], [1, 0], [0, 0], users=["u", "v"])
    table = sm.values_by_user(ranks, "hr@1,MRR")
    assert table.to_dict() == {"hr@1": {"u": 0, "v": 1}, "MRR": {"u": 0.5, "v": 1}}


def test_percent_is_read_like_a_share():
    about = {"n_items": 3416, "n_negatives": 100}
    as_share = sm.reported({"HR@10": "0.8245"}, "HR@10", **about)[0]
    result = sm.reported({"HR@10": "82.45 %"}, "HR@10", **about)[0]
    assert result.range_low == as_share.range_low
    assert result.range_high == as_share.range_high
    assert result.reported == 0.8245


# Text of other types

AS_BYTES = np.array([b"a", b"b"])
AS_TEXT = [AS_BYTES]
if hasattr(np.dtypes, "StringDType"):  # from NumPy 2 on
    AS_TEXT.append(np.array(["a", "b"], dtype=np.dtypes.StringDType()))


@pytest.mark.parametrize("text", AS_TEXT)
def test_text_of_other_types_is_text(text):
    """Item b is at rank 2 of the lists, and of the scores."""
    table = pd.DataFrame({"user_id": ["u", "u"], "item_id": text.tolist(), "score": [0.9, 0.1]})
    columns = {"user_id": ["u", "u"], "item_id": text, "score": [0.9, 0.1]}
    relevant = {"u": ["b"]}
    for made in (
        sm.Ranks.from_top_k(text[None], text[1:]),
        sm.Ranks.from_lists(table, relevant),
        sm.Ranks.from_lists(columns, relevant),
        sm.Ranks.from_lists({"u": text}, relevant),
        sm.Ranks.from_scores([[0.9, 0.1]], relevant, users=["u"], items=text),
    ):
        assert made.best_rank.tolist() == [2]


def test_string_views_of_pandas_are_text():
    table = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"], "score": [0.9, 0.1]})
    views = table.astype({"item_id": pd.ArrowDtype(pa.string_view())})
    assert sm.Ranks.from_lists(views, {"u": ["b"]}).best_rank.tolist() == [2]


def test_bytes_that_are_no_text_are_refused():
    table = pd.DataFrame({"user_id": [1], "item_id": [b"\xff"], "score": [0.9]})
    with pytest.raises(sm.InputError, match="bytes"):
        sm.Ranks.from_lists(table, {1: ["b"]})
