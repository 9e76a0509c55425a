"""What a refusal says to give instead is right: the same data, as the message has it, by hand."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.results import value_of

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


class Remedy(NamedTuple):
    """A call that is refused, what the message says, the call that it names, and its value."""

    refused: Callable[[], Any]
    words: str
    followed: Callable[[], Any]
    right: float


def evaluate(data: Any, metrics: str = "rr", **options: Any) -> Callable[[], float]:
    return lambda: value_of(sm.evaluate(data, metrics, **options))


def ranked(make: Callable[[], Any], metrics: str = "rr") -> Callable[[], float]:
    return lambda: value_of(sm.evaluate(make(), metrics))


def correct(data: Any, **options: Any) -> Callable[[], float]:
    given = {"n_items": 90, **options}
    return lambda: value_of(sm.correct(data, "hr@1", "sampled", **given))


def metered(
    *batches: Any, metrics: str = "rr", **options: Any
) -> Callable[[], float]:
    def run() -> float:
        meter = sm.RankMeter(metrics, **options)
        for batch in batches:
            meter.update(**batch)
        return value_of(meter.compute())

    return run


# User 0 has item 2 at rank 2, user 1 item 0 at rank 3.
SCORES = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.6]])
HELD = [2, 0]
WIDER = np.append(SCORES, [[0.0], [0.0]], axis=1)
RR = (1 / 2 + 1 / 3) / 2
IDS = np.array([[1, 2, 0], [1, 2, 0]])
PAIRS = [(5, 0.9), (6, 0.3)]
LISTS = {"a": ["x", "y", "z"], "b": ["y", "x", "z"]}
TEST = {"a": ["y"], "b": ["z"]}
FRAME = pd.DataFrame(
    {"user_id": list("aaabbb"), "item_id": list("xyzyxz"), "score": [3.0, 2, 1] * 2}
)
PREDICTIONS = np.array([0.2, 0.3, 0.1])
TARGET = np.array([1, 0, 1])
AMONG = np.array([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]])  # sampled ranks 1 and 2
LABELLED = pd.DataFrame(
    {"user_id": [1, 1, 1, 2, 2, 2], "score": AMONG.ravel(), "label": [1, 0, 0] * 2}
)
RANKS = pd.DataFrame({"user_id": ["a", "b"], "rank": [2, 4]})
GAPS = np.array([[1, 2, np.nan], [1, 2, 0]])
SEEN = [[2], []]
RATED = pd.DataFrame({"user_id": [1, 1], "item_id": [5, 6], "rating": [5.0, 3.0]})
SAMPLED = pd.DataFrame({"user_id": [1, 2], "sampled_rank": [1, 2]})
PREDICT_RANK = sparse.csr_array(
    np.eye(12, 15) * np.arange(12)[:, None] + np.eye(12, 15)
)


def padded(end: float) -> np.ndarray:
    """Scores of a held-out item and 12 negatives, 11 in the first row."""
    scores = np.append(AMONG[:, :1], np.tile(AMONG[:, 1:], 6), axis=1)
    scores[0, -1] = end
    return scores


def without(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame.drop(columns=[*columns])


REMEDIES = {
    "scores of one query": Remedy(
        evaluate(PREDICTIONS, "precision@2", relevant=TARGET),
        r"data\[None\] and relevant\[None\]",
        evaluate(PREDICTIONS[None], "precision@2", relevant=TARGET[None]),
        1 / 2,
    ),
    "f1 without a cut-off": Remedy(
        evaluate(PREDICTIONS[None], "f1", relevant=TARGET[None]),
        "f1@10",
        evaluate(PREDICTIONS[None], "f1@2", relevant=TARGET[None]),
        1 / 2,
    ),
    "pairs of item and score": Remedy(
        evaluate({1: PAIRS}, "rr@2", relevant={1: [6]}),
        r"dict\(pairs\)",
        evaluate({1: dict(PAIRS)}, "rr@2", relevant={1: [6]}),
        1 / 2,
    ),
    "codes of an item": Remedy(
        evaluate({1: [(5, 1, 2), (5, 1, 3)]}, "rr@2", relevant={1: ["5-1-3"]}),
        "one text",
        evaluate({1: ["5-1-2", "5-1-3"]}, "rr@2", relevant={1: ["5-1-3"]}),
        1 / 2,
    ),
    "lists in cells": Remedy(
        evaluate(
            FRAME.groupby("user_id", as_index=False)["item_id"].agg(list),
            relevant=TEST,
        ),
        r"DataFrame.explode\('item_id'\)",
        evaluate(
            FRAME.groupby("user_id", as_index=False)["item_id"]
            .agg(list)
            .explode("item_id"),
            "rr@3",
            relevant=TEST,
        ),
        RR,
    ),
    "grades in a meter": Remedy(
        metered({"scores": SCORES[:1], "positive": [[2, 0, 1]]}, metrics="ndcg@3"),
        "from_scores.*concatenate",
        ranked(
            lambda: sm.Ranks.concatenate(
                [sm.Ranks.from_scores(SCORES[:1], np.array([[2, 0, 1]]))]
            ),
            "ndcg@3",
        ),
        (1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3)),
    ),
    "a third axis": Remedy(
        evaluate(SCORES[:, None], relevant=HELD),
        r"scores.reshape\(-1, scores.shape\[-1\]\)",
        evaluate(SCORES[:, None].reshape(-1, 3), relevant=HELD),
        RR,
    ),
    "ranks with gaps": Remedy(
        evaluate(
            pd.DataFrame({"user_id": 1, "item_id": [5, 6], "rank": [1, 3]}),
            "rr@3",
            relevant={1: [6]},
        ),
        "add a row",
        evaluate(
            pd.DataFrame({"user_id": 1, "item_id": [5, 6, -7], "rank": [1, 3, 2]}),
            "rr@3",
            relevant={1: [6]},
        ),
        1 / 3,
    ),
    "relevance in lists": Remedy(
        evaluate(FRAME.rename(columns={"score": "relevance"}), "rr@3", relevant=TEST),
        "call the scores score",
        evaluate(FRAME, "rr@3", relevant=TEST),
        RR,
    ),
    "unknown name of scores": Remedy(
        evaluate(
            FRAME.rename(columns={"score": "strength"})[::-1], "rr@3", relevant=TEST
        ),
        "name it score",
        evaluate(FRAME[::-1], "rr@3", relevant=TEST),
        RR,
    ),
    "relevant item without a score": Remedy(
        evaluate(np.where(SCORES == 0.5, -np.inf, SCORES), relevant=HELD),
        "leave it out of relevant",
        evaluate(np.where(SCORES == 0.5, -np.inf, SCORES), relevant=[-1, 0]),
        1 / 3,
    ),
    "relevant item that is seen, of repeats": Remedy(
        evaluate(SCORES, relevant=HELD, seen=SEEN),
        "leave these pairs out of seen",
        evaluate(SCORES, relevant=HELD, seen=[[], []]),
        RR,
    ),
    "relevant item that is seen, of new items": Remedy(
        evaluate(SCORES, relevant=HELD, seen=SEEN),
        "or out of relevant",
        evaluate(SCORES, relevant=[-1, 0], seen=SEEN),
        1 / 3,
    ),
    "relevant item that is seen, of lists": Remedy(
        evaluate(LISTS, "rr@2", relevant=TEST, seen={"a": ["y"]}),
        "or out of relevant",
        evaluate(LISTS, "rr@3", relevant={"b": ["z"]}, seen={"a": ["y"]}),
        1 / 3,
    ),
    "user without a list": Remedy(
        evaluate(LISTS, "rr@3", relevant={**TEST, "c": ["x"]}),
        "missing='last'",
        evaluate(LISTS, "rr@3", relevant={**TEST, "c": ["x"]}, missing="last"),
        2 / 3 * RR,
    ),
    "whole metric of lists": Remedy(
        evaluate(LISTS, "auc", relevant=TEST),
        "complete=True",
        evaluate(LISTS, "auc", relevant=TEST, complete=True),
        (1 / 2 + 0) / 2,
    ),
    "cut-off below the end of a list": Remedy(
        evaluate({"a": ["x"], "b": ["z"]}, "rr@3", relevant=TEST),
        "missing='last'",
        evaluate({"a": ["x"], "b": ["z"]}, "rr@3", relevant=TEST, missing="last"),
        1 / 2,
    ),
    "lists without relevant items": Remedy(
        evaluate(LISTS), "give relevant", evaluate(LISTS, "rr@3", relevant=TEST), RR
    ),
    "scores without relevant items": Remedy(
        evaluate(SCORES), "give relevant", evaluate(SCORES, relevant=HELD), RR
    ),
    "scores of a sample": Remedy(
        evaluate(AMONG), "`correct` with positive", correct(AMONG, positive=0), 1 / 2
    ),
    "ranks without a size": Remedy(
        evaluate([2, 3]), "give n_items", evaluate([2, 3], n_items=3), RR
    ),
    "ranks in a table without a size": Remedy(
        evaluate(RANKS),
        "column n_candidates",
        evaluate(RANKS.assign(n_candidates=9)),
        3 / 8,
    ),
    "complete beside ranks": Remedy(
        evaluate(RANKS, n_items=9, complete=True),
        "leave it out",
        evaluate(RANKS, n_items=9),
        3 / 8,
    ),
    "relevant beside records": Remedy(
        evaluate(RANKS, n_items=9, relevant=TEST),
        "leave it out",
        evaluate(RANKS, n_items=9),
        3 / 8,
    ),
    "sizes of complete lists": Remedy(
        evaluate(LISTS, relevant=TEST, complete=True, n_items=3),
        "leave --n-items out",
        evaluate(LISTS, relevant=TEST, complete=True),
        RR,
    ),
    "labelled pairs of all candidates": Remedy(
        evaluate(LABELLED), "complete=True", evaluate(LABELLED, complete=True), 3 / 4
    ),
    "labelled pairs by their constructor": Remedy(
        evaluate(LABELLED),
        "Ranks.from_pairs",
        ranked(lambda: sm.Ranks.from_pairs(LABELLED)),
        3 / 4,
    ),
    "labelled pairs of a sample": Remedy(
        evaluate(LABELLED), "`correct`", correct(LABELLED), 1 / 2
    ),
    "sampled ranks": Remedy(
        evaluate(SAMPLED), "correct", correct(SAMPLED, n_negatives=2), 1 / 2
    ),
    "full rankings": Remedy(
        correct(sm.Ranks([3, 3], [1, 2], [0, 0])),
        "`evaluate`",
        evaluate(sm.Ranks([3, 3], [1, 2], [0, 0])),
        RR,
    ),
    "lists with labels": Remedy(
        evaluate(
            FRAME.assign(label=[0, 1, 0, 0, 0, 1]).assign(rank=[1, 2, 3] * 2)[
                ["user_id", "item_id", "rank", "label"]
            ]
        ),
        "give relevant",
        evaluate(
            FRAME.assign(rank=[1, 2, 3] * 2),
            "rr@3",
            relevant=FRAME.assign(label=[0, 1, 0, 0, 0, 1]).drop(columns="score"),
        ),
        RR,
    ),
    "ids as scores": Remedy(
        evaluate(IDS, relevant=HELD),
        r"Ranks.from_top_k\(ids, relevant\)",
        ranked(lambda: sm.Ranks.from_top_k(IDS, HELD), "rr@3"),
        RR,
    ),
    "text ids as scores": Remedy(
        evaluate([["x", "y"], ["y", "x"]], relevant=[["y"], ["x"]]),
        r"Ranks.from_top_k\(ids, relevant\)",
        ranked(
            lambda: sm.Ranks.from_top_k([["x", "y"], ["y", "x"]], [["y"], ["x"]]),
            "rr@2",
        ),
        1 / 2,
    ),
    "two arrays of whole numbers": Remedy(
        evaluate((IDS, IDS[:, ::-1]), relevant=HELD),
        "from_top_k",
        ranked(
            lambda: sm.Ranks.from_top_k(IDS, HELD, scores=[[3, 2, 1]] * 2), "rr@3"
        ),
        RR,
    ),
    "rows without ids beside lists of users": Remedy(
        evaluate(LISTS, "rr@3", relevant=[["y"], ["z"]]),
        "dictionary of lists by user",
        evaluate(LISTS, "rr@3", relevant=TEST),
        RR,
    ),
    "item twice in a list": Remedy(
        ranked(lambda: sm.Ranks.from_top_k([[1, 1, 2]], [2]), "rr@3"),
        "all but its first place",
        ranked(lambda: sm.Ranks.from_top_k([[1, 2]], [2]), "rr@2"),
        1 / 2,
    ),
    "relevant filled with an item": Remedy(
        evaluate(WIDER, "recall@2", relevant=[[2, 0, 0], [1, 0, 0]]),
        "each item once",
        evaluate(WIDER, "recall@2", relevant=[[2, 0], [1, 0]]),
        1 / 2,
    ),
    "columns or grades, as columns": Remedy(
        evaluate([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 2, -1]]),
        "leave -1 out",
        evaluate([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 2]]),
        1.0,
    ),
    "columns or grades, as a dictionary": Remedy(
        evaluate([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 1, 2]]),
        "dictionary of lists by row",
        evaluate([[3.0, 1.0, 2.0]], "ap", relevant={0: [0, 1, 2]}),
        1.0,
    ),
    "columns or grades, as grades": Remedy(
        evaluate([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 1, 2]]),
        "as grades give an array",
        evaluate([[3.0, 1.0, 2.0]], "ap", relevant=np.array([[0, 1, 2]])),
        (1 / 2 + 2 / 3) / 2,
    ),
    "several columns in an array": Remedy(
        evaluate(SCORES, "recall@2", relevant=np.array([[2, 0], [1, -1]])),
        r"\[row\[row >= 0\].tolist\(\)",
        evaluate(
            SCORES,
            "recall@2",
            relevant=[row[row >= 0].tolist() for row in np.array([[2, 0], [1, -1]])],
        ),
        3 / 4,
    ),
    "marks beside lists": Remedy(
        ranked(lambda: sm.Ranks.from_top_k(IDS, np.array([[0, 0, 1], [1, 0, 0]]))),
        "scipy.sparse.csr_array",
        ranked(
            lambda: sm.Ranks.from_top_k(
                IDS, sparse.csr_array(np.array([[0, 0, 1], [1, 0, 0]]))
            ),
            "rr@3",
        ),
        RR,
    ),
    "ids with gaps": Remedy(
        ranked(lambda: sm.Ranks.from_top_k(GAPS, [2, 0])),
        r"np.nan_to_num\(ids, nan=-1\)",
        ranked(
            lambda: sm.Ranks.from_top_k(
                np.nan_to_num(GAPS, nan=-1).astype(int), [2, 0]
            ),
            "rr@2",
        ),
        (1 / 2 + 0) / 2,
    ),
    "relevant ids with gaps": Remedy(
        ranked(lambda: sm.Ranks.from_top_k(IDS, np.array([[2, np.nan], [1, 0]]))),
        r"np.nan_to_num\(ids, nan=-1\)",
        ranked(
            lambda: sm.Ranks.from_top_k(IDS, np.array([[2, -1], [1, 0]])), "recall@2"
        ),
        (1 + 1 / 2) / 2,
    ),
    "relevant columns with gaps": Remedy(
        evaluate(SCORES, relevant=np.array([2, np.nan])),
        r"np.nan_to_num\(ids, nan=-1\)",
        evaluate(
            SCORES, relevant=np.nan_to_num(np.array([2, np.nan]), nan=-1).astype(int)
        ),
        1 / 2,
    ),
    "negatives with gaps": Remedy(
        correct(padded(np.nan), positive=0),
        "-inf at their end",
        correct(padded(-np.inf), positive=0),
        1 / 2,
    ),
    "candidate without a score": Remedy(
        evaluate(np.where(SCORES == 0.1, np.nan, SCORES), relevant=HELD),
        "-inf for no candidate",
        evaluate(np.where(SCORES == 0.1, -np.inf, SCORES), relevant=HELD),
        RR,
    ),
    "item that an answer leaves out": Remedy(
        correct(np.where(AMONG == 0.2, -np.inf, AMONG), positive=0),
        "missing='last'",
        correct(np.where(AMONG == 0.9, -np.inf, AMONG), positive=0, missing="last"),
        0.0,
    ),
    "scores without a held-out column": Remedy(
        correct(AMONG), "give positive", correct(AMONG, positive=0), 1 / 2
    ),
    "held-out column beside ranks": Remedy(
        correct(AMONG.ravel(), positive=0),
        r"scores.reshape\(-1, 1 \+ n_negatives\)",
        correct(AMONG.ravel().reshape(-1, 1 + 2), positive=0),
        1 / 2,
    ),
    "candidates and their scores": Remedy(
        correct((IDS, SCORES), relevant=[1, 2]),
        r"positive, such as 0, or \(ids == held_out\[:, None\]\).argmax\(axis=1\)",
        correct(SCORES, positive=(np.array([1, 2])[:, None] == IDS).argmax(axis=1)),
        1 / 2,
    ),
    "held-out items beside a matrix": Remedy(
        correct(AMONG, relevant=[0, 0]),
        "columns of held-out items by positive",
        correct(AMONG, positive=[0, 0]),
        1 / 2,
    ),
    "sampled ranks without negatives": Remedy(
        correct([1, 2]), "give n_negatives", correct([1, 2], n_negatives=2), 1 / 2
    ),
    "sampled ranks without a size": Remedy(
        correct([1, 2], n_negatives=2, n_items=None),
        "give n_items",
        correct([1, 2], n_negatives=2),
        1 / 2,
    ),
    "candidates without labels": Remedy(
        correct(without(LABELLED, "label")), "column label", correct(LABELLED), 1 / 2
    ),
    "ranks among negatives called rank": Remedy(
        correct(SAMPLED.rename(columns={"sampled_rank": "rank"}), n_negatives=2),
        "call ranks among negatives sampled_rank",
        correct(SAMPLED, n_negatives=2),
        1 / 2,
    ),
    "index of scores in a column": Remedy(
        ranked(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES).assign(user_id=["a", "b"]), {"a": [2], "b": [0]}
            )
        ),
        r"set_index\('user_id'\)",
        ranked(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES).assign(user_id=["a", "b"]).set_index("user_id"),
                {"a": [2], "b": [0]},
            )
        ),
        RR,
    ),
    "index of scores by an option": Remedy(
        ranked(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES).assign(user_id=["a", "b"]), {"a": [2], "b": [0]}
            )
        ),
        "users=",
        ranked(
            lambda: sm.Ranks.from_scores(
                SCORES, {"a": [2], "b": [0]}, users=["a", "b"]
            )
        ),
        RR,
    ),
    "other ids than those of the index": Remedy(
        ranked(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES, index=["a", "b"]),
                {"a": [2], "b": [0]},
                users=["b", "a"],
            )
        ),
        "leave users out",
        ranked(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES, index=["a", "b"]), {"a": [2], "b": [0]}
            )
        ),
        RR,
    ),
    "scores of relevant items alone": Remedy(
        evaluate(PREDICT_RANK, relevant=np.arange(12)),
        r"Ranks.from_ranks\(ranks.data \+ 1",
        ranked(
            lambda: sm.Ranks.from_ranks(
                (PREDICT_RANK.data - 1).astype(int) + 1,
                15,
                users=PREDICT_RANK.tocoo().row,
            )
        ),
        float(np.mean(1 / np.arange(1, 13))),
    ),
    "function of pairs without a size": Remedy(
        ranked(lambda: sm.Ranks.from_function(lambda u, i: SCORES[u, i], HELD)),
        "needs n_items",
        ranked(
            lambda: sm.Ranks.from_function(lambda u, i: SCORES[u, i], HELD, n_items=3)
        ),
        RR,
    ),
    "function without users": Remedy(
        ranked(lambda: sm.Ranks.from_function(lambda u: SCORES[u], {0: [2], 1: [0]})),
        "users, their ids",
        ranked(
            lambda: sm.Ranks.from_function(
                lambda u: SCORES[u], {0: [2], 1: [0]}, users=[0, 1]
            )
        ),
        RR,
    ),
    "users beside a table of ranks": Remedy(
        ranked(
            lambda: sm.Ranks.from_ranks(
                without(RANKS, "user_id"), 9, users=["a", "b"]
            )
        ),
        "columns user_id",
        ranked(lambda: sm.Ranks.from_ranks(RANKS, 9)),
        3 / 8,
    ),
    "least grade without grades": Remedy(
        evaluate(SCORES, relevant=HELD, min_relevance=2),
        "matrix with grades",
        evaluate(SCORES, relevant=np.array([[1, 0, 3], [4, 0, 0]]), min_relevance=2),
        RR,
    ),
    "masked scores": Remedy(
        evaluate(np.ma.masked_equal(SCORES, 0.9), relevant=HELD),
        "scores.data and seen=scores.mask",
        evaluate(SCORES, relevant=HELD, seen=SCORES == 0.9),
        (1 + 1 / 3) / 2,
    ),
    "meter without scores": Remedy(
        metered({}), "scores or ranks", metered({"ranks": [2, 3]}, n_items=3), RR
    ),
    "ranks in a meter without a size": Remedy(
        metered({"ranks": [2, 3]}),
        "n_items",
        metered({"ranks": [2, 3]}, n_items=3),
        RR,
    ),
    "rows without an item in a meter": Remedy(
        metered({"scores": SCORES, "positive": [[0, 0, 1], [0, 0, 0]]}),
        "leave out rows",
        metered({"scores": SCORES[:1], "positive": [[0, 0, 1]]}),
        1 / 2,
    ),
    "ratings without ids": Remedy(
        lambda: sm.rmse(
            RATED.assign(prediction=4.0), RATED.assign(est=4.0, prediction=4.0)
        ),
        "expected one",
        lambda: sm.rmse(RATED["rating"], RATED.assign(est=4.0)["est"]),
        1.0,
    ),
    "metric of ratings": Remedy(
        evaluate(SCORES, "rmse", relevant=HELD),
        r"sampled_metrics.rmse\(true, predicted\)",
        lambda: sm.rmse([5.0, 3.0], [4.0, 4.0]),
        1.0,
    ),
    "pooled metric by user": Remedy(
        lambda: (
            sm.values_by_user(SCORES, "recall-micro@2", relevant=HELD).mean().item()
        ),
        "take recall@2",
        lambda: sm.values_by_user(SCORES, "recall@2", relevant=HELD).mean().item(),
        1 / 2,
    ),
}


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_gives_the_right_number(name: str) -> None:
    remedy = REMEDIES[name]
    with pytest.raises(sm.InputError) as caught:
        remedy.refused()
    assert re.search(remedy.words, str(caught.value)), str(caught.value)
    assert remedy.followed() == pytest.approx(remedy.right)


def test_a_run_in_a_file_of_json(tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    run = {"q1": {"d1": 0.9, "d2": 0.3}}
    for indent in (None, 1):
        path.write_text(json.dumps(run, indent=indent))
        with pytest.raises(sm.InputError, match=r"run.json: found JSON.*json.load"):
            sm.evaluate(path, "rr@2", relevant={"q1": ["d2"]})
    assert (
        evaluate(json.loads(path.read_text()), "rr@2", relevant={"q1": ["d2"]})()
        == 1 / 2
    )
