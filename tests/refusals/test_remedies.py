"""The remedy that a refusal names gives the right number."""

import json
import pathlib
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.remedies import (
    Remedy,
    assert_remedy_works,
    evaluation,
    meter_evaluation,
)
from tests.helpers.results import value_of


def ranks_evaluation(
    make: Callable[[], Any], metrics: str = "rr"
) -> Callable[[], float]:
    return lambda: value_of(sm.evaluate(make(), metrics))


def correction(data: Any, **options: Any) -> Callable[[], float]:
    arguments = {"n_items": 90, **options}
    return lambda: value_of(sm.correct(data, "hr@1", "sampled", **arguments))


# Item 2 of user 0 is at rank 2, item 0 of user 1 at rank 3.
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


def padded_scores(end: float) -> np.ndarray:
    """Return scores of a held-out item and 12 negatives; the first row ends with a given number."""
    scores = np.append(AMONG[:, :1], np.tile(AMONG[:, 1:], 6), axis=1)
    scores[0, -1] = end
    return scores


def drop_columns(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame.drop(columns=[*columns])


REMEDIES = {
    "scores of one query": Remedy(
        evaluation(PREDICTIONS, "precision@2", relevant=TARGET),
        r"data\[None\] and relevant\[None\]",
        evaluation(PREDICTIONS[None], "precision@2", relevant=TARGET[None]),
        1 / 2,
    ),
    "f1 without a cut-off": Remedy(
        evaluation(PREDICTIONS[None], "f1", relevant=TARGET[None]),
        "f1@10",
        evaluation(PREDICTIONS[None], "f1@2", relevant=TARGET[None]),
        1 / 2,
    ),
    "pairs of item and score": Remedy(
        evaluation({1: PAIRS}, "rr@2", relevant={1: [6]}),
        r"dict\(pairs\)",
        evaluation({1: dict(PAIRS)}, "rr@2", relevant={1: [6]}),
        1 / 2,
    ),
    "codes of an item": Remedy(
        evaluation({1: [(5, 1, 2), (5, 1, 3)]}, "rr@2", relevant={1: ["5-1-3"]}),
        "one text",
        evaluation({1: ["5-1-2", "5-1-3"]}, "rr@2", relevant={1: ["5-1-3"]}),
        1 / 2,
    ),
    "lists in cells": Remedy(
        evaluation(
            FRAME.groupby("user_id", as_index=False)["item_id"].agg(list),
            relevant=TEST,
        ),
        r"DataFrame.explode\('item_id'\)",
        evaluation(
            FRAME.groupby("user_id", as_index=False)["item_id"]
            .agg(list)
            .explode("item_id"),
            "rr@3",
            relevant=TEST,
        ),
        RR,
    ),
    "grades in a meter": Remedy(
        meter_evaluation(
            {"scores": SCORES[:1], "positive": [[2, 0, 1]]}, metrics="ndcg@3"
        ),
        "from_scores.*concatenate",
        ranks_evaluation(
            lambda: sm.Ranks.concatenate(
                [sm.Ranks.from_scores(SCORES[:1], np.array([[2, 0, 1]]))]
            ),
            "ndcg@3",
        ),
        (1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3)),
    ),
    "a third axis": Remedy(
        evaluation(SCORES[:, None], relevant=HELD),
        r"scores.reshape\(-1, scores.shape\[-1\]\)",
        evaluation(SCORES[:, None].reshape(-1, 3), relevant=HELD),
        RR,
    ),
    "ranks with gaps": Remedy(
        evaluation(
            pd.DataFrame({"user_id": 1, "item_id": [5, 6], "rank": [1, 3]}),
            "rr@3",
            relevant={1: [6]},
        ),
        "add a row",
        evaluation(
            pd.DataFrame({"user_id": 1, "item_id": [5, 6, -7], "rank": [1, 3, 2]}),
            "rr@3",
            relevant={1: [6]},
        ),
        1 / 3,
    ),
    "relevance in lists": Remedy(
        evaluation(
            FRAME.rename(columns={"score": "relevance"}), "rr@3", relevant=TEST
        ),
        "call the scores score",
        evaluation(FRAME, "rr@3", relevant=TEST),
        RR,
    ),
    "unknown name of scores": Remedy(
        evaluation(
            FRAME.rename(columns={"score": "strength"})[::-1], "rr@3", relevant=TEST
        ),
        "name it score",
        evaluation(FRAME[::-1], "rr@3", relevant=TEST),
        RR,
    ),
    "relevant item without a score": Remedy(
        evaluation(np.where(SCORES == 0.5, -np.inf, SCORES), relevant=HELD),
        "leave it out of relevant",
        evaluation(np.where(SCORES == 0.5, -np.inf, SCORES), relevant=[-1, 0]),
        1 / 3,
    ),
    "relevant item that is seen, of repeats": Remedy(
        evaluation(SCORES, relevant=HELD, seen=SEEN),
        "leave these pairs out of seen",
        evaluation(SCORES, relevant=HELD, seen=[[], []]),
        RR,
    ),
    "relevant item that is seen, of new items": Remedy(
        evaluation(SCORES, relevant=HELD, seen=SEEN),
        "or out of relevant",
        evaluation(SCORES, relevant=[-1, 0], seen=SEEN),
        1 / 3,
    ),
    "relevant item that is seen, of lists": Remedy(
        evaluation(LISTS, "rr@2", relevant=TEST, seen={"a": ["y"]}),
        "or out of relevant",
        evaluation(LISTS, "rr@3", relevant={"b": ["z"]}, seen={"a": ["y"]}),
        1 / 3,
    ),
    "user without a list": Remedy(
        evaluation(LISTS, "rr@3", relevant={**TEST, "c": ["x"]}),
        "missing='last'",
        evaluation(LISTS, "rr@3", relevant={**TEST, "c": ["x"]}, missing="last"),
        2 / 3 * RR,
    ),
    "whole metric of lists": Remedy(
        evaluation(LISTS, "auc", relevant=TEST),
        "complete=True",
        evaluation(LISTS, "auc", relevant=TEST, complete=True),
        (1 / 2 + 0) / 2,
    ),
    "cut-off below the end of a list": Remedy(
        evaluation({"a": ["x"], "b": ["z"]}, "rr@3", relevant=TEST),
        "missing='last'",
        evaluation({"a": ["x"], "b": ["z"]}, "rr@3", relevant=TEST, missing="last"),
        1 / 2,
    ),
    "lists without relevant items": Remedy(
        evaluation(LISTS),
        "give relevant",
        evaluation(LISTS, "rr@3", relevant=TEST),
        RR,
    ),
    "scores without relevant items": Remedy(
        evaluation(SCORES), "give relevant", evaluation(SCORES, relevant=HELD), RR
    ),
    "scores of a sample": Remedy(
        evaluation(AMONG),
        "`correct` with positive",
        correction(AMONG, positive=0),
        1 / 2,
    ),
    "ranks without a size": Remedy(
        evaluation([2, 3]), "give n_items", evaluation([2, 3], n_items=3), RR
    ),
    "ranks in a table without a size": Remedy(
        evaluation(RANKS),
        "column n_candidates",
        evaluation(RANKS.assign(n_candidates=9)),
        3 / 8,
    ),
    "complete beside ranks": Remedy(
        evaluation(RANKS, n_items=9, complete=True),
        "leave it out",
        evaluation(RANKS, n_items=9),
        3 / 8,
    ),
    "relevant beside records": Remedy(
        evaluation(RANKS, n_items=9, relevant=TEST),
        "leave it out",
        evaluation(RANKS, n_items=9),
        3 / 8,
    ),
    "sizes of complete lists": Remedy(
        evaluation(LISTS, relevant=TEST, complete=True, n_items=3),
        "leave n_items out",
        evaluation(LISTS, relevant=TEST, complete=True),
        RR,
    ),
    "labelled pairs of all candidates": Remedy(
        evaluation(LABELLED),
        "complete=True",
        evaluation(LABELLED, complete=True),
        3 / 4,
    ),
    "labelled pairs by their constructor": Remedy(
        evaluation(LABELLED),
        "Ranks.from_pairs",
        ranks_evaluation(lambda: sm.Ranks.from_pairs(LABELLED)),
        3 / 4,
    ),
    "labelled pairs of a sample": Remedy(
        evaluation(LABELLED), "`correct`", correction(LABELLED), 1 / 2
    ),
    "sampled ranks": Remedy(
        evaluation(SAMPLED), "correct", correction(SAMPLED, n_negatives=2), 1 / 2
    ),
    "full rankings": Remedy(
        correction(sm.Ranks([3, 3], [1, 2], [0, 0])),
        "`evaluate`",
        evaluation(sm.Ranks([3, 3], [1, 2], [0, 0])),
        RR,
    ),
    "lists with labels": Remedy(
        evaluation(
            FRAME.assign(label=[0, 1, 0, 0, 0, 1]).assign(rank=[1, 2, 3] * 2)[
                ["user_id", "item_id", "rank", "label"]
            ]
        ),
        "give relevant",
        evaluation(
            FRAME.assign(rank=[1, 2, 3] * 2),
            "rr@3",
            relevant=FRAME.assign(label=[0, 1, 0, 0, 0, 1]).drop(columns="score"),
        ),
        RR,
    ),
    "ids as scores": Remedy(
        evaluation(IDS, relevant=HELD),
        r"Ranks.from_top_k\(ids, relevant\)",
        ranks_evaluation(lambda: sm.Ranks.from_top_k(IDS, HELD), "rr@3"),
        RR,
    ),
    "text ids as scores": Remedy(
        evaluation([["x", "y"], ["y", "x"]], relevant=[["y"], ["x"]]),
        r"Ranks.from_top_k\(ids, relevant\)",
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k([["x", "y"], ["y", "x"]], [["y"], ["x"]]),
            "rr@2",
        ),
        1 / 2,
    ),
    "two arrays of whole numbers": Remedy(
        evaluation((IDS, IDS[:, ::-1]), relevant=HELD),
        "from_top_k",
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k(IDS, HELD, scores=[[3, 2, 1]] * 2), "rr@3"
        ),
        RR,
    ),
    "rows without ids beside lists of users": Remedy(
        evaluation(LISTS, "rr@3", relevant=[["y"], ["z"]]),
        "dictionary of lists by user",
        evaluation(LISTS, "rr@3", relevant=TEST),
        RR,
    ),
    "item twice in a list": Remedy(
        ranks_evaluation(lambda: sm.Ranks.from_top_k([[1, 1, 2]], [2]), "rr@3"),
        "keep its first place",
        ranks_evaluation(lambda: sm.Ranks.from_top_k([[1, 2]], [2]), "rr@2"),
        1 / 2,
    ),
    "relevant filled with an item": Remedy(
        evaluation(WIDER, "recall@2", relevant=[[2, 0, 0], [1, 0, 0]]),
        "each item once",
        evaluation(WIDER, "recall@2", relevant=[[2, 0], [1, 0]]),
        1 / 2,
    ),
    "columns or grades, as columns": Remedy(
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 2, -1]]),
        "leave -1 out",
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 2]]),
        1.0,
    ),
    "columns or grades, as a dictionary": Remedy(
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 1, 2]]),
        "dictionary of lists by row",
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant={0: [0, 1, 2]}),
        1.0,
    ),
    "columns or grades, as grades": Remedy(
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 1, 2]]),
        "as grades give an array",
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=np.array([[0, 1, 2]])),
        (1 / 2 + 2 / 3) / 2,
    ),
    "several columns in an array": Remedy(
        evaluation(SCORES, "recall@2", relevant=np.array([[2, 0], [1, -1]])),
        r"\[row\[row >= 0\].tolist\(\)",
        evaluation(
            SCORES,
            "recall@2",
            relevant=[row[row >= 0].tolist() for row in np.array([[2, 0], [1, -1]])],
        ),
        3 / 4,
    ),
    "marks beside lists": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k(IDS, np.array([[0, 0, 1], [1, 0, 0]]))
        ),
        "scipy.sparse.csr_array",
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k(
                IDS, sparse.csr_array(np.array([[0, 0, 1], [1, 0, 0]]))
            ),
            "rr@3",
        ),
        RR,
    ),
    "ids with gaps": Remedy(
        ranks_evaluation(lambda: sm.Ranks.from_top_k(GAPS, [2, 0])),
        r"np.nan_to_num\(ids, nan=-1\)",
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k(
                np.nan_to_num(GAPS, nan=-1).astype(int), [2, 0]
            ),
            "rr@2",
        ),
        (1 / 2 + 0) / 2,
    ),
    "relevant ids with gaps": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k(IDS, np.array([[2, np.nan], [1, 0]]))
        ),
        r"np.nan_to_num\(ids, nan=-1\)",
        ranks_evaluation(
            lambda: sm.Ranks.from_top_k(IDS, np.array([[2, -1], [1, 0]])), "recall@2"
        ),
        (1 + 1 / 2) / 2,
    ),
    "relevant columns with gaps": Remedy(
        evaluation(SCORES, relevant=np.array([2, np.nan])),
        r"np.nan_to_num\(ids, nan=-1\)",
        evaluation(
            SCORES, relevant=np.nan_to_num(np.array([2, np.nan]), nan=-1).astype(int)
        ),
        1 / 2,
    ),
    "negatives with gaps": Remedy(
        correction(padded_scores(np.nan), positive=0),
        "-inf at their end",
        correction(padded_scores(-np.inf), positive=0),
        1 / 2,
    ),
    "candidate without a score": Remedy(
        evaluation(np.where(SCORES == 0.1, np.nan, SCORES), relevant=HELD),
        "-inf for no candidate",
        evaluation(np.where(SCORES == 0.1, -np.inf, SCORES), relevant=HELD),
        RR,
    ),
    "item that an answer leaves out": Remedy(
        correction(np.where(AMONG == 0.2, -np.inf, AMONG), positive=0),
        "missing='last'",
        correction(
            np.where(AMONG == 0.9, -np.inf, AMONG), positive=0, missing="last"
        ),
        0.0,
    ),
    "scores without a held-out column": Remedy(
        correction(AMONG), "give positive", correction(AMONG, positive=0), 1 / 2
    ),
    "held-out column beside ranks": Remedy(
        correction(AMONG.ravel(), positive=0),
        r"scores.reshape\(-1, 1 \+ n_negatives\)",
        correction(AMONG.ravel().reshape(-1, 1 + 2), positive=0),
        1 / 2,
    ),
    "candidates and their scores": Remedy(
        correction((IDS, SCORES), relevant=[1, 2]),
        r"positive, such as 0, or \(ids == held_out\[:, None\]\).argmax\(axis=1\)",
        correction(
            SCORES, positive=(np.array([1, 2])[:, None] == IDS).argmax(axis=1)
        ),
        1 / 2,
    ),
    "held-out items beside a matrix": Remedy(
        correction(AMONG, relevant=[0, 0]),
        "columns of held-out items by positive",
        correction(AMONG, positive=[0, 0]),
        1 / 2,
    ),
    "sampled ranks without negatives": Remedy(
        correction([1, 2]),
        "give n_negatives",
        correction([1, 2], n_negatives=2),
        1 / 2,
    ),
    "sampled ranks without a size": Remedy(
        correction([1, 2], n_negatives=2, n_items=None),
        "give n_items",
        correction([1, 2], n_negatives=2),
        1 / 2,
    ),
    "candidates without labels": Remedy(
        correction(drop_columns(LABELLED, "label")),
        "column label",
        correction(LABELLED),
        1 / 2,
    ),
    "ranks among negatives called rank": Remedy(
        correction(SAMPLED.rename(columns={"sampled_rank": "rank"}), n_negatives=2),
        "call ranks among negatives sampled_rank",
        correction(SAMPLED, n_negatives=2),
        1 / 2,
    ),
    "index of scores in a column": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES).assign(user_id=["a", "b"]), {"a": [2], "b": [0]}
            )
        ),
        r"set_index\('user_id'\)",
        ranks_evaluation(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES).assign(user_id=["a", "b"]).set_index("user_id"),
                {"a": [2], "b": [0]},
            )
        ),
        RR,
    ),
    "index of scores by an option": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES).assign(user_id=["a", "b"]), {"a": [2], "b": [0]}
            )
        ),
        "users=",
        ranks_evaluation(
            lambda: sm.Ranks.from_scores(
                SCORES, {"a": [2], "b": [0]}, users=["a", "b"]
            )
        ),
        RR,
    ),
    "other ids than those of the index": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES, index=["a", "b"]),
                {"a": [2], "b": [0]},
                users=["b", "a"],
            )
        ),
        "leave users out",
        ranks_evaluation(
            lambda: sm.Ranks.from_scores(
                pd.DataFrame(SCORES, index=["a", "b"]), {"a": [2], "b": [0]}
            )
        ),
        RR,
    ),
    "scores of relevant items alone": Remedy(
        evaluation(PREDICT_RANK, relevant=np.arange(12)),
        r"Ranks.from_ranks\(ranks.data \+ 1",
        ranks_evaluation(
            lambda: sm.Ranks.from_ranks(
                (PREDICT_RANK.data - 1).astype(int) + 1,
                15,
                users=PREDICT_RANK.tocoo().row,
            )
        ),
        float(np.mean(1 / np.arange(1, 13))),
    ),
    "function of pairs without a size": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_function(lambda u, i: SCORES[u, i], HELD)
        ),
        "needs n_items",
        ranks_evaluation(
            lambda: sm.Ranks.from_function(lambda u, i: SCORES[u, i], HELD, n_items=3)
        ),
        RR,
    ),
    "function without users": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_function(lambda u: SCORES[u], {0: [2], 1: [0]})
        ),
        "users, their ids",
        ranks_evaluation(
            lambda: sm.Ranks.from_function(
                lambda u: SCORES[u], {0: [2], 1: [0]}, users=[0, 1]
            )
        ),
        RR,
    ),
    "users beside a table of ranks": Remedy(
        ranks_evaluation(
            lambda: sm.Ranks.from_ranks(
                drop_columns(RANKS, "user_id"), 9, users=["a", "b"]
            )
        ),
        "columns user_id",
        ranks_evaluation(lambda: sm.Ranks.from_ranks(RANKS, 9)),
        3 / 8,
    ),
    "least grade without grades": Remedy(
        evaluation(SCORES, relevant=HELD, min_relevance=2),
        "matrix with grades",
        evaluation(
            SCORES, relevant=np.array([[1, 0, 3], [4, 0, 0]]), min_relevance=2
        ),
        RR,
    ),
    "masked scores": Remedy(
        evaluation(np.ma.masked_equal(SCORES, 0.9), relevant=HELD),
        "scores.data and seen=scores.mask",
        evaluation(SCORES, relevant=HELD, seen=SCORES == 0.9),
        (1 + 1 / 3) / 2,
    ),
    "meter without scores": Remedy(
        meter_evaluation({}),
        "scores or ranks",
        meter_evaluation({"ranks": [2, 3]}, n_items=3),
        RR,
    ),
    "ranks in a meter without a size": Remedy(
        meter_evaluation({"ranks": [2, 3]}),
        "n_items",
        meter_evaluation({"ranks": [2, 3]}, n_items=3),
        RR,
    ),
    "rows without an item in a meter": Remedy(
        meter_evaluation({"scores": SCORES, "positive": [[0, 0, 1], [0, 0, 0]]}),
        "leave out rows",
        meter_evaluation({"scores": SCORES[:1], "positive": [[0, 0, 1]]}),
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
        evaluation(SCORES, "rmse", relevant=HELD),
        r"sampled_metrics.rmse\(true, predicted\)",
        lambda: sm.rmse([5.0, 3.0], [4.0, 4.0]),
        1.0,
    ),
    "pooled metric by user": Remedy(
        lambda: (
            sm.values_by_user(SCORES, "recall-micro@2", relevant=HELD).mean().item()
        ),
        "use recall@2",
        lambda: sm.values_by_user(SCORES, "recall@2", relevant=HELD).mean().item(),
        1 / 2,
    ),
}


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("name", REMEDIES)
def test_remedy_gives_the_right_number(name: str) -> None:
    assert_remedy_works(REMEDIES[name])


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_remedy_for_a_run_in_json_is_right(tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    run = {"q1": {"d1": 0.9, "d2": 0.3}}
    for indent in (None, 1):
        path.write_text(json.dumps(run, indent=indent))
        with pytest.raises(sm.InputError, match=r"run.json: found JSON.*json.load"):
            sm.evaluate(path, "rr@2", relevant={"q1": ["d2"]})
    assert (
        evaluation(json.loads(path.read_text()), "rr@2", relevant={"q1": ["d2"]})()
        == 1 / 2
    )


# Files without a header, and flat scores

ROW_RNG = np.random.default_rng(22)
ROWS = ROW_RNG.normal([2.0] + 99 * [0.0], size=(200, 100))
ROW_HIT_RATE = np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(axis=1) < 10)


def test_remedy_for_flat_scores_with_labels_is_right():
    flat, labels = ROWS.ravel(), np.tile([1] + 99 * [0], 200)
    with pytest.raises(
        sm.InputError, match=r"positive.*reshape\(-1, 1 \+ n_negatives\)"
    ):
        sm.correct(flat, "HR@10", "sampled", positive=labels, n_items=3706)
    rows, marks = flat.reshape(-1, 100), labels.reshape(-1, 100)
    results = sm.correct(rows, "HR@10", "sampled", positive=marks, n_items=3706)
    assert value_of(results) == ROW_HIT_RATE


RNG = np.random.default_rng(21)
LISTS_BY_USER = {user: RNG.permutation(40)[:10].tolist() for user in range(30)}
HELD_BY_USER = {user: RNG.permutation(40)[:3].tolist() for user in range(30)}
RECALL = np.mean(
    [
        np.isin(HELD_BY_USER[user], LISTS_BY_USER[user]).mean()
        for user in LISTS_BY_USER
    ]
)
SCORED = pd.DataFrame(
    [(u, i, -k) for u, items in LISTS_BY_USER.items() for k, i in enumerate(items)],
    columns=["user_id", "item_id", "score"],
)
HELD_PAIRS = [(user, item) for user, items in HELD_BY_USER.items() for item in items]
FILES_WITHOUT_HEADER = {
    "test.tsv": ("".join(f"{u}\t{i}\t1.0\n" for u, i in HELD_PAIRS), "read_csv"),
    "times.tsv": (
        "".join(f"{u}\t{i}\t5.0\t9783\n" for u, i in HELD_PAIRS),
        "read_csv",
    ),
    "pairs.csv": ("".join(f"{u},{i}\n" for u, i in HELD_PAIRS), "read_csv"),
    "sasrec.txt": ("".join(f"{u} {i}\n" for u, i in HELD_PAIRS), "read_csv"),
    "lightgcn.txt": (
        "".join(
            f"{u} {' '.join(map(str, items))}\n" for u, items in HELD_BY_USER.items()
        ),
        "str.split",
    ),
    "lengths.txt": (
        "".join(
            f"{u} {' '.join(map(str, items[: 1 + u % 3]))}\n"
            for u, items in HELD_BY_USER.items()
        ),
        "str.split",
    ),
}


def suggested_data(message):
    """Return the data that a message suggests, by the function that it suggests."""
    result = re.findall(r"give (pandas.read_csv\(.*?\]\)|\{.*?\)\})", str(message))
    return {
        "read_csv" if "read_csv" in text else "str.split": eval(  # noqa: S307
            text, {"pandas": pd, "pathlib": pathlib}
        )
        for text in result
    }


@pytest.mark.filterwarnings("ignore:relevant. rating is not read")
@pytest.mark.parametrize("name", FILES_WITHOUT_HEADER)
def test_remedy_for_relevant_items_without_header_is_right(name, tmp_path):
    text, how = FILES_WITHOUT_HEADER[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(sm.InputError, match=name) as caught:
        sm.evaluate(SCORED, "recall@10", relevant=path)
    relevant = suggested_data(caught.value)[how]
    right = RECALL
    if name == "lengths.txt":
        held_out = {
            user: items[: 1 + user % 3] for user, items in HELD_BY_USER.items()
        }
        right = np.mean(
            [np.isin(held_out[u], LISTS_BY_USER[u]).mean() for u in LISTS_BY_USER]
        )
    (result,) = sm.evaluate(SCORED, "recall@10", relevant=relevant)
    assert result.value == pytest.approx(right)


def test_remedy_for_lists_without_header_is_right(tmp_path):
    path = tmp_path / "recs.tsv"
    SCORED.to_csv(path, sep="\t", header=False, index=False)
    with pytest.raises(sm.InputError, match="no header") as caught:
        sm.evaluate(path, "recall@10", relevant=HELD_BY_USER)
    lists = suggested_data(caught.value)["read_csv"]
    (result,) = sm.evaluate(lists, "recall@10", relevant=HELD_BY_USER)
    assert result.value == pytest.approx(RECALL)


def test_remedy_for_flat_scores_is_right():
    scores = RNG.normal([2.0] + 99 * [0], size=(200, 100))
    label = np.tile([1] + 99 * [0], 200)
    right = np.mean((scores[:, 1:] > scores[:, :1]).sum(1) < 10)

    def hit_rate(data, positive=0):
        options = {"positive": positive, "n_items": 3706}
        return sm.correct(data, "HR@10", "sampled", **options)[0].value

    names = {"n_negatives": 99, "numpy": np}
    for data, positive, expected in (
        (scores[..., None], 0, "scores[..., 0]"),
        (scores[None], 0, "scores.reshape(-1, scores.shape[-1])"),
        (scores.reshape(-1, 1), 0, "scores.reshape(-1, 1 + n_negatives)"),
        (scores.ravel(), label, "scores.reshape(-1, 1 + n_negatives)"),
    ):
        with pytest.raises(sm.InputError, match=re.escape(expected)):
            hit_rate(data, positive)
        assert hit_rate(eval(expected, {**names, "scores": data})) == right  # noqa: S307
    table = pd.DataFrame({"score": scores.ravel(), "label": label})
    expected = "numpy.arange(len(table)) // (1 + n_negatives)"
    with pytest.raises(sm.InputError, match=re.escape(expected)):
        hit_rate(table, None)
    table["user_id"] = eval(expected, {**names, "table": table})  # noqa: S307
    assert hit_rate(table, None) == right


def test_remedy_for_results_of_a_vector_store_is_right():
    """Chroma returns a dictionary of lists of lists."""
    result = {"ids": [["a", "b"], ["c", "d"]], "distances": [[0.1, 0.4], [0.2, 0.3]]}
    expected = "Ranks.from_top_k(data['ids'], relevant)"
    with pytest.raises(sm.InputError, match=re.escape(expected)):
        sm.evaluate(result, "mrr@2", relevant=[["b"], ["x"]])
    names = {"Ranks": sm.Ranks, "data": result, "relevant": [["b"], ["x"]]}
    ranks = eval(expected, names)  # noqa: S307
    assert sm.evaluate(ranks, "mrr@2")[0].value == 0.25


# What a refusal names

RANDOM_SCORES = np.random.default_rng(0).random((6, 9))
FIRST_ITEMS = list(range(6))
UNSEEN = np.zeros(RANDOM_SCORES.shape)
SHORT_LISTS = {"ann": ["a", "b"], "bob": ["b", "c"]}


def damaged_matrix(values: np.ndarray) -> Any:
    matrix = csr_array(values)
    matrix.indices = matrix.indices + 99
    return matrix


def object_with(**attributes: Any) -> Any:
    return SimpleNamespace(shape=(6, 9), **attributes)


def auc_evaluation(data: Any, **options: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate(data, "auc", **{"relevant": FIRST_ITEMS, **options})


def auc_correction(data: Any, **options: Any) -> Callable[[], Any]:
    return lambda: sm.correct(data, "auc", n_items=9, **options)


def budget_evaluation(**options: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate_on_budget(
        RANDOM_SCORES, "hr@1", relevant=FIRST_ITEMS, seen=UNSEEN, **options
    )


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (auc_evaluation(damaged_matrix(RANDOM_SCORES)), "scores: damaged"),
        (
            auc_evaluation(RANDOM_SCORES, seen=damaged_matrix(RANDOM_SCORES)),
            "seen: damaged",
        ),
        (
            auc_evaluation(RANDOM_SCORES, relevant=damaged_matrix(RANDOM_SCORES)),
            "relevant: damaged",
        ),
        (auc_evaluation(SHORT_LISTS, relevant={"1.0": ["a"]}), "no list .*user ann"),
        (
            auc_evaluation(
                SHORT_LISTS,
                relevant={"ann": ["a"], "bob": ["c"]},
                seen=np.array([1, 3]),
            ),
            "grades, users x items",
        ),
        (auc_evaluation(SHORT_LISTS, relevant={"ann": ["a"]}), "give complete=True"),
        (
            auc_correction(
                pd.DataFrame(
                    {"user_id": [1, 1], "weight": [0.3, 0.2], "label": [1, 0]}
                )
            ),
            "column score; .*user_id, weight, label",
        ),
        (auc_correction([1, 2, 3], n_negatives=5, ties="odd"), "tie policy 'odd'"),
        (
            budget_evaluation(items="items.csv"),
            "items is 'items.csv', .*whole number",
        ),
        (budget_evaluation(items=8), "items is 8; expected 9"),
        (lambda: sm.check(object_with(collect=0)), "SimpleNamespace; .*table"),
        (
            lambda: sm.check_negatives(
                object_with(collect=0, lazy=0), {1: [2]}, {1: [3]}
            ),
            "negatives: .*SimpleNamespace",
        ),
    ],
)
def test_refusal_names_argument_and_remedy(
    call: Callable[[], Any], pattern: str
) -> None:
    with pytest.raises(sm.InputError, match=pattern):
        call()
