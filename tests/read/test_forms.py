"""Data in every form gives the right number by hand, or is refused in one line.

Data and values that are named here are those of tests/helpers/world.py.
"""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sampled_metrics as sm
from tests.helpers.cases import Call, call_of, correct, evaluate, meter, ranks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.forms import (
    Forms,
    array_forms,
    column_forms,
    list_forms,
    mark_forms,
    table_forms,
    user_item_forms,
)
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
RATED, PREDICTED = [5, 3, 4], np.array([4.0, 5.0, 4.0])  # errors of 1, 2 and 0
WITH_DETAILS = ROWS.set_axis(["uid", "iid", "est"], axis=1).assign(r_ui=3.0, details=[{}] * 6)


class Row(NamedTuple):
    """The forms of data, a call with each, its value, and the forms that are refused."""

    name: str
    forms: Callable[[Path], Forms]
    call: Callable[[Any], Callable[[], Any]]
    right: float
    refused: str = ""


def arrays(values: Any) -> Callable[[Path], Forms]:
    return lambda folder: array_forms(np.array(values), folder)


def columns(values: Any) -> Callable[[Path], Forms]:
    return lambda _: column_forms(pa.array(values))


def tables(frame: pd.DataFrame) -> Callable[[Path], Forms]:
    return lambda folder: table_forms(frame, folder)


def marks(matrix: Any) -> Callable[[Path], Forms]:
    return lambda folder: mark_forms(matrix, folder)


def lists(frame: pd.DataFrame) -> Callable[[Path], Forms]:
    return lambda folder: list_forms(frame, folder)


def pairs(frame: pd.DataFrame) -> Callable[[Path], Forms]:
    return lambda folder: user_item_forms(frame, folder)


def these(**forms: Any) -> Callable[[Path], Forms]:
    return lambda _: forms


def by_name(frame: pd.DataFrame, column: str, *names: str) -> Callable[[Path], Forms]:
    return lambda _: {name: frame.rename(columns={column: name}) for name in names}


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
TABLE = [
    # scores
    Row("scores", arrays(SCORES), lambda data: evaluate(data, relevant=HELD), RR, NO_NUMBERS),
    Row("sparse scores", marks(SCORES), lambda data: evaluate(data, relevant=HELD), RR, "npz"),
    Row("scores and seen items", arrays(SCORES),
        lambda data: evaluate(data, relevant=HELD, seen=SEEN), NEW_RR, NO_NUMBERS),
    Row("scores, a user without an item", arrays(SCORES),
        lambda data: evaluate(data, relevant=[None, 0]), SECOND_RR, NO_NUMBERS),
    Row("from_scores", arrays(SCORES), lambda data: ranks(sm.Ranks.from_scores, data, HELD), RR,
        NO_NUMBERS),
    Row("vectors", arrays(SCORES.T), lambda items: evaluate((np.eye(2), items), relevant=HELD), RR,
        f"{NO_NUMBERS}, dlpack, npy, npz, lent"),
    Row("functions and vectors", these(function=score_users, vectors=VECTORS),
        lambda data: evaluate(data, relevant=HELD, seen=SEEN), NEW_RR),
    Row("functions and vectors, a user without an item",
        these(function=score_users, vectors=VECTORS, wide=WIDE.reset_index(drop=True)),
        lambda data: evaluate(data, relevant=[-1, 0]), SECOND_RR),
    Row("meter", arrays(SCORES), lambda data: meter({"scores": data, "positive": HELD}), RR,
        f"{NO_NUMBERS}, npy, npz, lent"),
    # relevant items beside scores
    Row("columns", arrays(HELD), with_relevant, RR, NO_INTEGERS),
    Row("columns beside a function", arrays(HELD), lambda data: evaluate(score_users,
        relevant=data), RR, f"{NO_INTEGERS}, dlpack, npy"),
    Row("columns of a meter", arrays(HELD), lambda data: meter(
        {"scores": SCORES, "positive": data}), RR, f"{NO_INTEGERS}, object, npy"),
    Row("-1", arrays([-1, 0]), with_relevant, SECOND_RR, f"{NO_INTEGERS}, uint64"),
    Row("lists of columns", columns([[2], [0]]), with_relevant, RR),
    Row("marks", marks(MARKS), with_relevant, RR),
    Row("marks of other types", arrays(MARKS), with_relevant, RR, NO_MARKS),
    Row("marks of true and false", these(array=MARKS > 0, list=(MARKS > 0).tolist()),
        with_relevant, RR),
    Row("marks of a meter", these(list=MARKS.tolist(), bool=MARKS > 0, float=MARKS.astype("f4"),
            uint=MARKS.astype(np.uint8)),
        lambda data: meter({"scores": SCORES, "positive": data}), RR),
    Row("several marks of a meter", these(list=[[0, 1, 1], [1, 0, 0]]), lambda data: meter(
        {"scores": SCORES, "positive": data}, metrics="recall@1"), (1 / 2 + 0) / 2),
    Row("pairs", pairs(TEST_PAIRS), lambda data: evaluate(WIDE, relevant=data), RR),
    Row("pairs by position", these(frame=TEST_PAIRS.assign(user_id=[0, 1], item_id=HELD),
        series=pd.Series(HELD), dictionary=dict(enumerate(HELD))), with_relevant, RR),
    # relevant items beside lists
    Row("pairs beside lists", pairs(TEST_PAIRS), lambda data: evaluate(LISTS, "rr@3",
        relevant=data), RR),
    Row("other forms beside lists",
        these(item={"a": "z", "b": "x"}, grades={"a": {"z": 1, "y": 0}, "b": {"x": 2}},
            iterators={"a": iter("z"), "b": map(str, "x")}, arrays={"a": np.array(["z"]), "b": "x"},
            series=pd.Series(["z", "x"], ["a", "b"])),
        lambda data: evaluate(LISTS, "rr@3", relevant=data), RR),
    Row("by position beside lists", these(columns=HELD, lists=[[2], [0]], marks=MARKS > 0),
        lambda data: evaluate(NUMBERED, "rr@3", relevant=data), RR),
    Row("labels beside lists", these(whole=LABELLED_TWO, signs=LABELLED_TWO.assign(
            label=2 * LABELLED_TWO["label"] - 1), **{kind: LABELLED_TWO.astype({"label": kind})
            for kind in ("bool", "boolean", "str", "category", "float16")}),
        lambda data: evaluate(LISTS, "rr@3", relevant=data), RR),
    Row("names of labels", by_name(LABELLED_TWO, "label", "clicked", "target", "is_relevant",
            "label:float", "relevance"), lambda data: evaluate(LISTS, "rr@3", relevant=data), RR),
    # seen items
    Row("seen lists", columns([[1], []]), with_seen, NEW_RR),
    Row("seen marks", marks(SEEN), with_seen, NEW_RR),
    Row("seen marks of other types", arrays(SEEN), with_seen, NEW_RR, NO_MARKS),
    Row("seen pairs", pairs(SEEN_PAIRS), lambda data: evaluate(WIDE, relevant=TEST, seen=data),
        NEW_RR),
    Row("seen pairs beside lists", pairs(SEEN_PAIRS), lambda data: evaluate(LISTS, "rr",
        relevant=TEST, seen=data, complete=True), NEW_RR),
    Row("seen marks beside lists", these(lists=[[1], []], marks=SEEN > 0, grades={0: {1: 2.5}}),
        lambda data: evaluate(NUMBERED, relevant=HELD, seen=data, complete=True), NEW_RR),
    Row("negatives: relevant", tables(TEST_PAIRS), lambda data: count_negatives(relevant=data), 2),
    Row("negatives: seen", tables(SEEN_PAIRS), lambda data: count_negatives(seen=data), 2),
    # lists
    Row("lists with scores", lists(ROWS), lambda data: evaluate(data, "rr@3", relevant=TEST), RR),
    Row("lists best first", lists(BEST_FIRST), lambda data: evaluate(data, "rr@3", relevant=TEST),
        RR),
    Row("lists with ranks", tables(PLACED.sample(frac=1, random_state=0)),
        lambda data: evaluate(data, "rr@3", relevant=TEST), RR),
    Row("from_lists", lists(ROWS), lambda data: ranks(sm.Ranks.from_lists, data, TEST,
        complete=True), RR),
    Row("names of scores", by_name(ROWS, "score", "prediction", "est", "pred", "logit", "rating"),
        lambda data: evaluate(data, "rr@3", relevant=TEST), RR),
    Row("names of ids", these(frame=ROWS.rename(columns={"user_id": "user", "item_id": "item"}),
        surprise=WITH_DETAILS, times=BEST_FIRST.assign(timestamp=7),
        ratings=ROWS.rename(columns={"score": "prediction"}).assign(rating=1.0)),
        lambda data: evaluate(data, "rr@3", relevant=TEST), RR),
    Row("iterators", these(lists={user: iter(items) for user, items in LISTS.items()}),
        lambda data: evaluate(data, "rr@3", relevant=TEST), RR),
    Row("names of ranks", by_name(PLACED.sample(frac=1, random_state=0), "rank", "Rank", "RANK"),
        lambda data: evaluate(data, "rr@3", relevant=TEST), RR),
    Row("no list of user b", these(empty={"a": ["y", "z"], "b": []}, none={"a": ["y", "z"],
            "b": None}, absent={"a": ["y", "z"]}, series=pd.Series({"a": ["y", "z"], "b": []}),
            arrays={"a": np.array(["y", "z"]), "b": np.array([], str)}),
        lambda data: evaluate(data, "rr@2", relevant=TEST, missing="last"), (1 / 2 + 0) / 2),
    Row("lists of different lengths", these(filled=[[5, 7, -1], [7, 5, 6], [-1, -1, -1]],
            none=[[5, 7, None], [7, 5, 6], [None] * 3], uneven=[[5, 7], [7, 5, 6], []]),
        lambda data: ranks(sm.Ranks.from_top_k, data, [[7]] * 3, missing="last", metrics="rr@3"),
        (1 / 2 + 1 + 0) / 3),
    Row("decimals as ids", these(frame=pd.DataFrame({"user_id": [1.0] * 2, "item_id": [5.0, 6]})),
        lambda data: evaluate(data, "rr@2", relevant={1: [6]}), 1 / 2),
    Row("scores of ids", arrays([[10, 20]]), lambda data: ranks(sm.Ranks.from_top_k, [[5, 7]],
        [[7]], scores=data, metrics="rr@2"), 1,
        "object, str, npy, npz, lent, with ids, with a title"),
    Row("two arrays", these(arrays=(IDS, IN_ORDER)), lambda data: evaluate(data, "rr@3",
        relevant=HELD), RR),
    Row("ids", arrays(IDS), lambda data: ranks(sm.Ranks.from_top_k, data, HELD, metrics="rr@3"),
        RR, "float16, float32, float64, npy, npz, lent, with ids, with a title"),
    Row("relevant ids", columns([[2], [0]]), lambda data: ranks(sm.Ranks.from_top_k, IDS, data,
        metrics="rr@3"), RR),
    Row("labelled pairs", tables(LABELLED), lambda data: evaluate(data, complete=True), RR),
    Row("labels of true and false", tables(LABELLED.astype({"label": bool})),
        lambda data: evaluate(data, complete=True), RR),
    # ranks
    Row("ranks", arrays([2, 3]), lambda data: evaluate(data, n_items=3), RR, "object, str, dlpack"),
    Row("table of ranks", tables(RANKS), lambda data: evaluate(data, n_items=3), RR),
    Row("counts", tables(COUNTS), evaluate, RR),
    Row("Ranks", these(ranks=sm.Ranks([3, 3], [1, 2], [0, 0])), evaluate, RR),
    Row("from_ranks", arrays([2, 3]), lambda data: ranks(sm.Ranks.from_ranks, data, 3), RR,
        "swapped bytes, npy"),
    # samples
    Row("scores of a sample", arrays(SAMPLE), lambda data: correct(data, positive=0), HIT_2,
        NO_NUMBERS),
    Row("SampledRanks.from_scores", arrays(SAMPLE), lambda data: call_of(
        sm.SampledRanks.from_scores, data, n_items=90)._replace(
            value=lambda made: np.mean(made.sampled_ranks <= 2)), HIT_2, NO_NUMBERS),
    Row("columns of held-out items", arrays(POSITIVE), lambda data: correct(AT_POSITIVE,
        positive=data), HIT_2, f"{NO_INTEGERS}, object, npy"),
    Row("sampled ranks", arrays([2, 3]), lambda data: correct(data, n_negatives=2), HIT_2,
        "object, str, dlpack"),
    Row("table of sampled ranks", tables(SAMPLED_RANKS), lambda data: correct(data, n_negatives=2),
        HIT_2),
    Row("labelled pairs of a sample", tables(LABELLED), correct, HIT_2),
    Row("labels of true and false of a sample", tables(LABELLED.astype({"label": bool})), correct,
        HIT_2),
    Row("lists of a sample", lists(FRAME), lambda data: correct(data, relevant=TEST), HIT_2),
    Row("relevant items of a sample", pairs(TEST_PAIRS), lambda data: correct(LISTS,
        relevant=data), HIT_2),
    # ratings
    Row("ratings", arrays(RATED), lambda data: lambda: sm.rmse(data, PREDICTED),
        np.sqrt((1 + 4 + 0) / 3), "object, str, npy, lent"),
    Row("predictions", arrays(PREDICTED), lambda data: lambda: sm.mae(RATED, data),
        (1 + 2 + 0) / 3, "object, npy, lent"),
]  # fmt: skip
OF_OTHER_LIBRARIES = ("polars", "torch", "gradients")


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_every_form_gives_the_value_by_hand(row: Row, tmp_path: Path) -> None:
    ends: dict[str, Any] = {}
    for form, data in row.forms(tmp_path).items():
        try:
            ends[form] = row.call(data)()
        except sm.InputError:
            ends[form] = "refused"
    refused = row.refused.split(", ")
    for form, end in ends.items():
        is_free_to_refuse = form in OF_OTHER_LIBRARIES and end == "refused"
        if not is_free_to_refuse:
            assert end == ("refused" if form in refused else pytest.approx(row.right)), form


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
