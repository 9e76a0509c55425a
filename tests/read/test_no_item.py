"""-1 and -100 are no item, no target and, -100 alone, no label, in every form of data."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.cases import Call, Case, assert_ends_as_expected, each_case, evaluate, meter
from tests.helpers.results import refusal_message, value_of

# Columns 0, 2 and 1 are at ranks 1, 2 and 3; the other rows have no target.
SCORES = np.array(
    [
        [0.9, 0.2, 0.1, 0.3],
        [0.1, 0.9, 0.2, 0.9],
        [0.3, 0.9, 0.8, 0.1],
        [0.4, 0.2, 0.3, 0.1],
        [np.nan] * 4,
    ]
)
HELD_OUT = np.array([0, -1, 2, 1, -100])
RR = (1 + 1 / 2 + 1 / 3) / 3


def meter_results(scores: Any, positive: Any) -> Any:
    meter = sm.RankMeter("rr")
    meter.update(scores, positive=positive)
    return meter.compute()


def sample_results(scores: Any, positive: Any) -> Any:
    return sm.correct(scores, "rr", "sampled", positive=positive, n_items=9, shape="none")


def targets(values: np.ndarray) -> list[Any]:
    """Return columns of held-out items in all forms of an array."""
    forms = [values, values.tolist(), values[:, None], values.astype(np.int16), pd.Series(values)]
    return [*forms, pd.array(values.tolist(), dtype="int32")]


READ = {
    "meter": meter_results,
    "sample": sample_results,
    "scores": lambda scores, held_out: sm.evaluate(np.nan_to_num(scores), "rr", relevant=held_out),
}


@pytest.mark.parametrize("form", range(6))
@pytest.mark.parametrize("reader", READ)
def test_row_without_target_is_dropped_and_noted(form: int, reader: str) -> None:
    results = READ[reader](SCORES, targets(HELD_OUT)[form])
    assert value_of(results) == pytest.approx(RR)
    assert results[0].n_users == 3
    assert any("-1 or -100 of 2" in note for note in results.notes)


def test_meter_of_samples_drops_rows_without_target() -> None:
    meter = sm.RankMeter("rr", n_items=9)
    meter.update(SCORES, positive=HELD_OUT)
    ranks = meter.ranks()
    assert isinstance(ranks, sm.SampledRanks)
    assert ranks.sampled_ranks.tolist() == [1, 2, 3]


def test_users_of_dropped_rows_of_a_sample_are_dropped() -> None:
    sampled = sm.SampledRanks.from_scores(SCORES, HELD_OUT, n_items=9, users=[*"abcde"])
    assert sampled.users is not None
    assert dict(zip(sampled.users, sampled.sampled_ranks, strict=True)) == {"a": 1, "c": 2, "d": 3}


def test_users_of_dropped_rows_of_a_meter_are_dropped() -> None:
    meter = sm.RankMeter("rr")
    meter.update(SCORES, positive=HELD_OUT, users=[*"abcde"])
    users = meter.ranks().users
    assert users is not None
    assert users.tolist() == ["a", "c", "d"]


def test_batches_of_padding_are_dropped() -> None:
    meters = [sm.RankMeter("rr"), sm.RankMeter("rr")]
    for rows in ([4], [0, 1], [1, 4], [2, 3]):
        meters[0].update(SCORES[rows], positive=HELD_OUT[rows])
    meters[1].update(SCORES[[1]], positive=[-1])
    results = meters[0].merge(meters[1]).compute()
    assert value_of(results) == pytest.approx(RR)
    assert any("of 5 rows" in note for note in results.notes)


@pytest.mark.parametrize("read", [meter_results, sample_results])
def test_single_negative_column_counts_from_the_end(read: Any) -> None:
    """The held-out items are in the last column, at ranks 1 and 4."""
    scores = np.array([[0.2, 0.1, 0.3, 0.9], [0.9, 0.2, 0.9, 0.1]])
    assert value_of(read(scores, -1)) == pytest.approx((1 + 1 / 4) / 2)
    assert value_of(read(scores, np.array(-1))) == pytest.approx((1 + 1 / 4) / 2)


def test_data_without_any_target_is_refused() -> None:
    assert "positive" in refusal_message(sample_results, SCORES, np.full(5, -100))
    assert "no ranks" in refusal_message(meter_results, SCORES, np.full(5, -100))


# Lists of four users: the item of ann is at rank 2; bert has none of two; cora has one of two, at
# rank 1; the item of dan is unknown.
LISTS = {"ann": [7, 9, -1], "bert": [8, 5, -100], "cora": [4, 6, 3], "dan": [2, 3, -1]}
RELEVANT = {"ann": [9], "bert": [3, 4], "cora": [4, 9], "dan": [-1]}
PADDED = {"ann": [9, -1], "bert": [3, 4], "cora": [-100, 4, 9], "dan": [-100, -1]}
RECALL = (1 + 0 + 1 / 2) / 3


def as_table(lists: dict[str, list[int]]) -> pd.DataFrame:
    return pd.DataFrame(
        [(user, item) for user, items in lists.items() for item in items],
        columns=["user_id", "item_id"],
    )


def write_csv(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False)
    return path


def item_forms(lists: dict[str, list[int]], folder: Path) -> dict[str, Any]:
    """Return items by user in all forms with ids."""
    frame = as_table(lists)
    return {
        "dictionary": lists,
        "tensors": {user: np.array(items) for user, items in lists.items()},
        "series": pd.Series(lists),
        "table": frame,
        "text": frame.astype({"item_id": str}),
        "ranks": frame.assign(rank=frame.groupby("user_id").cumcount() + 1),
        "scores": frame.assign(score=-frame.groupby("user_id").cumcount()),
        "file": write_csv(frame, folder / f"{len([*folder.iterdir()])}.csv"),
        "dictionaries": {
            user: {item: 1 / place for place, item in enumerate(items, start=1)}
            for user, items in lists.items()
        },
    }


FORMS = ["dictionary", "tensors", "series", "table", "text", "file"]


@pytest.mark.parametrize("relevant", [RELEVANT, PADDED], ids=["relevant", "padded"])
@pytest.mark.parametrize("form", [*FORMS, "ranks", "scores", "dictionaries"])
@pytest.mark.parametrize("form_of_relevant", FORMS)
def test_padding_is_no_item_of_lists(
    form: str, relevant: Any, form_of_relevant: str, tmp_path: Path
) -> None:
    lists = item_forms(LISTS, tmp_path)[form]
    items = item_forms(relevant, tmp_path)[form_of_relevant]
    results = sm.evaluate(lists, "recall@3", relevant=items, missing="last")
    assert (value_of(results), results[0].n_users) == (pytest.approx(RECALL), 3)
    assert any("-1 or -100 of 1 user" in note for note in results.notes)


HELD_OUT_ROWS = [[9, -1], [3, 4], [4, 9], [-100, -1]]


@pytest.mark.parametrize(
    "relevant", [HELD_OUT_ROWS, np.array(HELD_OUT_ROWS), dict(enumerate(HELD_OUT_ROWS))],
    ids=["lists", "array", "dictionary"],
)  # fmt: skip
def test_padding_is_no_item_of_arrays(relevant: Any) -> None:
    ranks = sm.Ranks.from_top_k(np.array([*LISTS.values()]), relevant, missing="last")
    assert value_of(sm.evaluate(ranks, "recall@3")) == pytest.approx(RECALL)
    assert len(ranks) == 3


def test_padded_ids_are_not_scores() -> None:
    ids = np.array([[7, 9, -100, -100], [8, 5, 4, -100]])
    assert "from_top_k" in refusal_message(sm.evaluate, ids, "rr@1", relevant=[0, 1])


PADDED_SEEN = {0: [-1], 1: [-100], 2: [2, -1]}
PADDED_HELD_OUT = [[0, -1], [2, -100], [1]]


@pytest.mark.parametrize(
    "seen", [[[-1], [], [2, -1]], {0: [-1], 1: -100, 2: [2, -1]}, as_table(PADDED_SEEN)],
    ids=["lists", "dictionary", "table"],
)  # fmt: skip
@pytest.mark.parametrize(
    "relevant", [PADDED_HELD_OUT, dict(enumerate(PADDED_HELD_OUT))], ids=["lists", "dictionary"]
)
def test_padding_of_seen_items_and_columns_is_dropped(relevant: Any, seen: Any) -> None:
    """Columns 0, 2 and 1 are at ranks 1, 2 and 3, but the last at 2 without seen column 2."""
    results = sm.evaluate(SCORES[[0, 2, 3]], "rr", relevant=relevant, seen=seen)
    assert value_of(results) == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)


PADDED_BEFORE_9 = as_table({"ann": [7, -1, 9]})


@pytest.mark.parametrize(
    "lists",
    [
        {"ann": [7, -1, 9]},
        PADDED_BEFORE_9,
        PADDED_BEFORE_9.assign(score=[3.0, 2.0, 1.0]),
        PADDED_BEFORE_9.assign(rank=[1, 2, 3]),
    ],
    ids=["dictionary", "table", "scores", "ranks"],
)
def test_item_below_padding_is_refused(lists: Any) -> None:
    message = refusal_message(sm.evaluate, lists, "rr@2", relevant={"ann": [9]})
    assert "row 3" in message or "row 2" in message


def test_unknown_item_with_an_id_of_its_own_keeps_its_place() -> None:
    lists = {"ann": ["7", "unknown", "9"]}
    assert value_of(sm.evaluate(lists, "rr@3", relevant={"ann": ["9"]})) == pytest.approx(1 / 3)


def test_other_negative_numbers_are_ids() -> None:
    lists = {"ann": [-7, -9, 5], "bert": [-8, 3, -9]}
    results = sm.evaluate(lists, "rr@3", relevant={"ann": [-9], "bert": [-8]})
    assert value_of(results) == (1 / 2 + 1) / 2


def test_text_of_minus_1_among_texts_is_an_id() -> None:
    lists = {"ann": ["a", "-1", "b"]}
    assert value_of(sm.evaluate(lists, "rr@3", relevant={"ann": ["-1", "b"]})) == 1 / 2


def test_data_without_any_item_is_refused() -> None:
    lists = {"ann": [7, 9]}
    assert "relevant" in refusal_message(sm.evaluate, lists, "rr", relevant={"ann": [-1, -100]})
    assert "items" in refusal_message(sm.evaluate, {"ann": [-1]}, "rr", relevant={"ann": [7]})


def test_column_without_an_item_is_refused() -> None:
    pivot = pd.DataFrame([[0.9, 0.5, 0.1], [0.2, 0.4, 0.3]], ["a", "b"], [-1, 4, 5])
    relevant = {"a": [4], "b": [5]}  # at ranks 1 and 2 without column -1
    assert "drop it" in refusal_message(sm.evaluate, pivot, "rr", relevant=relevant)
    followed = sm.evaluate(pivot.drop(columns=-1), "rr", relevant=relevant)
    assert value_of(followed) == pytest.approx((1 + 1 / 2) / 2)


def test_padding_is_never_drawn_nor_a_negative() -> None:
    relevant, seen = {"ann": [3], "bert": [-1]}, {"ann": [1, -1]}
    drawn = sm.negatives(relevant, seen, 2, items=[1, 2, 3, 4, -1])
    assert sorted(drawn["item_id"]) == [2, 4]
    assert set(drawn["user_id"]) == {"ann"}
    checks = sm.check_negatives({"ann": [2, 4, -1, -1]}, relevant, seen, items=[1, 2, 3, 4])
    assert all(check.passed for check in checks)


def test_padding_is_no_held_out_item_on_a_budget() -> None:
    scores = pd.DataFrame([[0.9, 0.5, 0.1], [0.2, 0.4, 0.3]], ["a", "b"], [1, 2, 3])
    relevant = {"a": [2, -1], "b": [-1]}  # item 2 is at rank 2, after item 1
    result = sm.evaluate_on_budget(scores, "rr", relevant=relevant, seen={"a": [3, -1]}, budget=2)
    assert result.estimates[0][0].value == 1 / 2


# The items of label 1 are at ranks 1 and 2 among the rows of label 0 and 1.
LABEL_MISSING = pd.DataFrame(
    {
        "user_id": [1] * 4 + [2] * 4,
        "item_id": range(8),
        "score": [0.9, 0.8, 0.7, 0.6] * 2,
        "label": [-100, 1, 0, -100, 0, -100, 1, 0],
    }
)
ITEM_MISSING = LABEL_MISSING.assign(
    item_id=[-1, 1, 2, -1, 4, -1, 6, 7], label=[1, 1, 0, 0, 0, 1, 1, 0]
)


@pytest.mark.parametrize(
    "pairs",
    [
        LABEL_MISSING,
        ITEM_MISSING,
        LABEL_MISSING.astype({"label": str}),
        ITEM_MISSING.astype({"item_id": str}),
    ],
    ids=["no label", "no item", "no label, text", "no item, text"],
)
@pytest.mark.parametrize("is_sample", [False, True])
def test_rows_without_label_or_item_are_no_candidates(pairs: Any, is_sample: bool) -> None:
    if is_sample:  # of one negative for each user
        results = sm.correct(pairs[:7], "rr", "sampled", n_items=9, shape="none")
    else:
        results = sm.evaluate(pairs, "rr", complete=True)
    assert value_of(results) == pytest.approx((1 + 1 / 2) / 2)
    assert any("3 rows" in note for note in results.notes)


def test_rows_are_numbered_with_those_that_are_dropped() -> None:
    wrong = LABEL_MISSING.assign(score=[0.9, 0.8, 0.7, 0.6, 0.9, 0.8, np.nan, 0.6])
    assert "row 7" in refusal_message(sm.evaluate, wrong, "rr", complete=True)


OTHER = np.where(HELD_OUT < 0, -7, HELD_OUT)
LABELS = np.array([[1, 0, -100], [0, -100, 1]])
LABELLED_SCORES = np.array([[0.5, 0.3, 0.9], [0.9, 0.95, 0.3]])  # at ranks 1 and 2 of candidates
LABELLED_RR = (1 + 1 / 2) / 2
LABELLED_PAIRS = pd.DataFrame(
    {
        "user_id": np.repeat([0, 1], 3),
        "item_id": np.tile([0, 1, 2], 2),
        "score": LABELLED_SCORES.ravel(),
        "label": LABELS.ravel(),
    }
)
RANKED = pd.DataFrame({"user_id": [0, 0, 1, 1], "rank": [2, 1, 3, 1], "label": [1, -100, 1, -100]})
LABELLED_RELEVANT = LABELLED_PAIRS.drop(columns="score")
NOT_LABELLED = {"relevant": np.maximum(LABELS, 0), "seen": LABELS == -100}
MASKED = np.where(LABELS == -100, -np.inf, LABELLED_SCORES)
TARGETS = [[0, 0], [2, 1]]


def sample(scores: Any, positive: Any) -> Call:
    return Call(sample_results, {"scores": scores, "positive": positive})


def of_pairs() -> float:
    return value_of(sm.correct(LABELLED_PAIRS, "rr", "sampled", n_items=9, shape="none"))


CASES = [
    Case("-7 in a meter", meter({"scores": SCORES, "positive": OTHER}), r"scores\[positive >= 0\]",
         {"batches": [{"scores": SCORES[OTHER >= 0], "positive": OTHER[OTHER >= 0]}]}, RR),
    Case("-7 of a sample", sample(SCORES, OTHER), r"scores\[positive >= 0\]",
         {"scores": SCORES[OTHER >= 0], "positive": OTHER[OTHER >= 0]}, RR),
    Case("targets of two axes", meter({"scores": SCORES[:4], "positive": TARGETS}),
         r"positive.reshape\(-1\)",
         {"batches": [{"scores": SCORES[:4], "positive": np.reshape(TARGETS, -1)}]},
         (1 + 1 / 4 + 1 / 2 + 1 / 3) / 4),
    Case("labels in a meter", meter({"scores": LABELLED_SCORES, "positive": LABELS}),
         "scores of -inf", {"batches": [{"scores": MASKED, "positive": LABELS == 1}]}, LABELLED_RR),
    Case("labels of a sample", sample(LABELLED_SCORES, LABELS), "pairs of user_id, score and label",
         of_pairs, LABELLED_RR),
    Case("grades", evaluate(LABELLED_SCORES, relevant=LABELS), "grades == -100 as seen",
         NOT_LABELLED, LABELLED_RR),
    Case("sparse grades", evaluate(LABELLED_SCORES, relevant=csr_array(LABELS)),
         "grades == -100 as seen", NOT_LABELLED, LABELLED_RR),
    Case("labels in a table", evaluate(LABELLED_SCORES, relevant=LABELLED_RELEVANT),
         "users and items as seen",
         {"relevant": LABELLED_RELEVANT.query("label != -100"),
             "seen": LABELLED_RELEVANT.query("label == -100")[["user_id", "item_id"]]},
         LABELLED_RR),
    Case("labels beside ranks", evaluate(RANKED, n_items=3), "drop them",
         {"data": RANKED.query("label != -100").assign(rank=[1, 2]), "n_items": 2}, LABELLED_RR),
]  # fmt: skip


@each_case(CASES)
def test_refusal_names_what_is_read(case: Case) -> None:
    assert_ends_as_expected(case)
