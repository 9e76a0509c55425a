"""The remedy that a refusal names gives the right number."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.remedies import (
    Remedy,
    assert_remedy_works,
    evaluation,
    meter_evaluation,
)
from tests.helpers.results import value_of


def ranks_evaluation(
    make: Callable[..., Any], *arguments: Any, metrics: str = "rr", **options: Any
) -> Callable[[], float]:
    """Return the evaluation of ranks that a constructor makes."""
    return lambda: value_of(sm.evaluate(make(*arguments, **options), metrics))


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
MARKED = FRAME.assign(rank=[1, 2, 3] * 2, label=[0, 1, 0, 0, 0, 1])
ITEMS_IN_CELLS = FRAME.groupby("user_id", as_index=False)["item_id"].agg(list)
USERS_IN_COLUMN = pd.DataFrame(SCORES).assign(user_id=["a", "b"])
USERS_IN_INDEX = pd.DataFrame(SCORES, index=["a", "b"])
HELD_BY_ID = {"a": [2], "b": [0]}
NUMBERS_IN_COLUMN = pd.DataFrame(SCORES).assign(user_id=[2, 1])  # not in order
HELD_BY_NUMBER = {2: [2], 1: [0]}
PREDICTIONS = np.array([0.2, 0.3, 0.1])
TARGET = np.array([1, 0, 1])
AMONG = np.array([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]])  # sampled ranks 1 and 2
LABELLED = pd.DataFrame(
    {"user_id": [1, 1, 1, 2, 2, 2], "score": AMONG.ravel(), "label": [1, 0, 0] * 2}
)
RANKS = pd.DataFrame({"user_id": ["a", "b"], "rank": [2, 4]})
GAPS = np.array([[1, 2, np.nan], [1, 2, 0]])
TEXT_IDS = [["x", "y"], ["y", "x"]]
SEEN = [[2], []]
SCORES_BY_ID = pd.DataFrame(SCORES, index=["a", "b"], columns=["x", "y", "z"])
WITH_COLD_ITEM = pd.DataFrame({"user_id": ["a", "b", "a"], "item_id": ["z", "x", "cold"]})
WITHOUT_RELEVANT_SCORE = np.where(SCORES == 0.5, -np.inf, SCORES)
# Four stars are at rank 2.
RATED_CANDIDATES = pd.DataFrame(
    {"user_id": 1, "item_id": [5, 6, 7], "rating": [3, 4, 1], "score": [0.9, 0.5, 0.1]}
)
SAMPLED = pd.DataFrame({"user_id": [1, 2], "sampled_rank": [1, 2]})
REPEATED = pd.DataFrame({"user": "a", "item": ["y", "x", "x"], "score": [1.0, 3.0, 2.0]})
TEST_PAIRS = pd.DataFrame({"user_id": ["a", "b"], "item_id": ["y", "z"]})
DAYS = pd.DataFrame(
    {"user_id": 1, "item_id": [5, 6] * 2, "score": [2, 1] * 2, "label": [1, 0, 0, 1],
     "day": ["mo", "mo", "tu", "tu"]}
)  # fmt: skip
PLACES_IN_COLUMNS = pd.DataFrame(
    {"user": ["b", "a"], "item_01": ["y", "x"], "item_02": ["x", "y"], "item_03": ["z", "z"]}
)
SCORES_IN_COLUMNS = SCORES_BY_ID.rename_axis("user_id").reset_index()
HELD_BY_NAME = {"a": ["z"], "b": ["x"]}
RECORDS_IN_CELLS = pd.DataFrame(
    {"user": ["a"], "recs": [[{"item": "y", "rating": 1.0}, {"item": "x", "rating": 2.0}]]}
)
PAIRS_IN_CELLS = pd.DataFrame({"user": ["a"], "recs": [[("y", 1.0), ("x", 2.0)]]})
PREDICT_RANK = sparse.csr_array(np.eye(12, 15) * np.arange(12)[:, None] + np.eye(12, 15))


def score_pairs(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    return SCORES[users, items]


def score_users(users: np.ndarray) -> np.ndarray:
    return SCORES[users]


def padded_scores(end: float) -> np.ndarray:
    """Return scores of a held-out item and 12 negatives; the first row ends with a given number."""
    scores = np.append(AMONG[:, :1], np.tile(AMONG[:, 1:], 6), axis=1)
    scores[0, -1] = end
    return scores


DATA_REMEDIES = {
    "scores of one query": Remedy(
        evaluation(PREDICTIONS, "precision@2", relevant=TARGET),
        r"data\[None\] and relevant\[None\]",
        evaluation(PREDICTIONS[None], "precision@2", relevant=TARGET[None]), 1 / 2),
    "f1 without a cut-off": Remedy(
        evaluation(PREDICTIONS[None], "f1", relevant=TARGET[None]), "f1@10",
        evaluation(PREDICTIONS[None], "f1@2", relevant=TARGET[None]), 1 / 2),
    "pairs of item and score": Remedy(
        evaluation({1: PAIRS}, "rr@2", relevant={1: [6]}), r"dict\(pairs\)",
        evaluation({1: dict(PAIRS)}, "rr@2", relevant={1: [6]}), 1 / 2),
    "codes of an item": Remedy(
        evaluation({1: [(5, 1, 2), (5, 1, 3)]}, "rr@2", relevant={1: ["5-1-3"]}), "one text",
        evaluation({1: ["5-1-2", "5-1-3"]}, "rr@2", relevant={1: ["5-1-3"]}), 1 / 2),
    "lists in cells": Remedy(
        evaluation(ITEMS_IN_CELLS, relevant=TEST), r"DataFrame.explode\('item_id'\)",
        evaluation(ITEMS_IN_CELLS.explode("item_id"), "rr@3", relevant=TEST), RR),
    "grades in a meter": Remedy(
        meter_evaluation({"scores": SCORES[:1], "positive": [[2, 0, 1]]}, metrics="ndcg@3"),
        "from_scores.*concatenate",
        ranks_evaluation(sm.Ranks.concatenate,
            [sm.Ranks.from_scores(SCORES[:1], np.array([[2, 0, 1]]))], metrics="ndcg@3"),
        (1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3))),
    "a third axis": Remedy(
        evaluation(SCORES[:, None], relevant=HELD), r"scores.reshape\(-1, scores.shape\[-1\]\)",
        evaluation(SCORES[:, None].reshape(-1, 3), relevant=HELD), RR),
    "ranks with gaps": Remedy(
        evaluation(pd.DataFrame({"user_id": 1, "item_id": [5, 6], "rank": [1, 3]}), "rr@3",
            relevant={1: [6]}),
        "add a row",
        evaluation(pd.DataFrame({"user_id": 1, "item_id": [5, 6, -7], "rank": [1, 3, 2]}), "rr@3",
            relevant={1: [6]}),
        1 / 3),
    "all candidates, with ratings": Remedy(
        evaluation(RATED_CANDIDATES, complete=True, min_relevance=4),
        r"relevant.*columns=\{'label': 'rating'\}",
        evaluation(
            RATED_CANDIDATES, complete=True, min_relevance=4, columns={"label": "rating"}),
        1 / 2),
    "all candidates, with ratings as relevant": Remedy(
        evaluation(RATED_CANDIDATES, complete=True, min_relevance=4), "pass relevant",
        evaluation(RATED_CANDIDATES, complete=True, min_relevance=4,
            relevant=RATED_CANDIDATES[["user_id", "item_id", "rating"]]),
        1 / 2),
    "no item in a list, dropped": Remedy(
        evaluation({"a": ["x", None, "y"]}, "rr@2", relevant={"a": ["y"]}), "drop such entries",
        evaluation({"a": ["x", "y"]}, "rr@2", relevant={"a": ["y"]}), 1 / 2),
    "no item in a list, with its place": Remedy(
        evaluation({"a": ["x", None, "y"]}, "rr@2", relevant={"a": ["y"]}), "to keep its place",
        evaluation({"a": ["x", "none-2", "y"]}, "rr@3", relevant={"a": ["y"]}), 1 / 3),
    "item again in a dictionary": Remedy(
        evaluation({"a": ["x", "x", "y"]}, "rr@2", relevant={"a": ["y"]}),
        r"list\(dict.fromkeys\(items\)\)",
        evaluation({"a": list(dict.fromkeys(["x", "x", "y"]))}, "rr@2", relevant={"a": ["y"]}),
        1 / 2),
    "item again, with scores": Remedy(
        evaluation(REPEATED, "rr@2", relevant={"a": ["y"]}),
        r"data.sort_values\('score', ascending=False\).drop_duplicates\(\['user', 'item'\]\)",
        evaluation(REPEATED.sort_values("score", ascending=False)
            .drop_duplicates(["user", "item"]), "rr@2", relevant={"a": ["y"]}),
        1 / 2),
    "item again, with ranks": Remedy(
        evaluation(REPEATED.drop(columns="score").assign(rank=[3, 1, 2]), "rr@2",
            relevant={"a": ["y"]}),
        r"data.sort_values\('rank'\).drop_duplicates\(.*\).drop\(columns='rank'\)",
        evaluation(REPEATED.drop(columns="score").assign(rank=[3, 1, 2]).sort_values("rank")
            .drop_duplicates(["user", "item"]).drop(columns="rank"), "rr@2",
            relevant={"a": ["y"]}),
        1 / 2),
    "relevant item again": Remedy(
        evaluation(LISTS, "rr@3", relevant=pd.concat([TEST_PAIRS, TEST_PAIRS])),
        r"drop_duplicates\(\['user_id', 'item_id'\]\)",
        evaluation(LISTS, "rr@3",
            relevant=pd.concat([TEST_PAIRS, TEST_PAIRS]).drop_duplicates(["user_id", "item_id"])),
        RR),
    "pairs of several days": Remedy(
        evaluation(DAYS, complete=True), r"columns=\{'visit': NAME\}",
        evaluation(DAYS, complete=True, columns={"visit": "day"}), (1 / 1 + 1 / 2) / 2),
    "ranks of relevant items with their ids": Remedy(
        evaluation(RANKS.assign(item_id=["x", "y"]), n_items=9, relevant=TEST),
        "drop item_id and relevant",
        evaluation(RANKS.assign(item_id=["x", "y"]).drop(columns="item_id"), n_items=9), 3 / 8),
    "a column for each place": Remedy(
        evaluation(PLACES_IN_COLUMNS, "rr@3", relevant=TEST),
        r"Ranks.from_top_k\(data.drop\(columns='user'\).to_numpy\(\), relevant, "
        r"users=data\['user'\]\)",
        ranks_evaluation(sm.Ranks.from_top_k, PLACES_IN_COLUMNS.drop(columns="user").to_numpy(),
            TEST, users=PLACES_IN_COLUMNS["user"], metrics="rr@3"),
        RR),
    "a column for each item": Remedy(
        evaluation(SCORES_IN_COLUMNS, relevant=HELD_BY_NAME), r"data.set_index\('user_id'\)",
        evaluation(SCORES_IN_COLUMNS.set_index("user_id"), relevant=HELD_BY_NAME), RR),
    "lists in cells of an unknown name": Remedy(
        evaluation(ITEMS_IN_CELLS.rename(columns={"item_id": "recs"}), relevant=TEST),
        r"data.explode\('recs', ignore_index=True\).rename\(columns=\{'recs': 'item_id'\}\)",
        evaluation(ITEMS_IN_CELLS.rename(columns={"item_id": "recs"})
            .explode("recs", ignore_index=True).rename(columns={"recs": "item_id"}), "rr@3",
            relevant=TEST),
        RR),
    "records in cells": Remedy(
        evaluation(RECORDS_IN_CELLS, "rr@2", relevant={"a": ["y"]}),
        r"rows = data.explode\('recs', ignore_index=True\).*rows.join\(pandas.json_normalize\("
        r"rows.pop\('recs'\)\)\)",
        evaluation(RECORDS_IN_CELLS.explode("recs", ignore_index=True)
            .pipe(lambda rows: rows.join(pd.json_normalize(rows.pop("recs")))), "rr@2",
            relevant={"a": ["y"]}),
        1 / 2),
    "pairs in cells": Remedy(
        evaluation(PAIRS_IN_CELLS, "rr@2", relevant={"a": ["y"]}),
        r"dict\(map\(tuple, pairs\)\) for user, pairs in zip\(data\['user'\], data\['recs'\]\)",
        evaluation({user: dict(map(tuple, pairs)) for user, pairs in
            zip(PAIRS_IN_CELLS["user"], PAIRS_IN_CELLS["recs"], strict=True)}, "rr@2",
            relevant={"a": ["y"]}),
        1 / 2),
    "columns without names": Remedy(
        evaluation(FRAME.set_axis(range(3), axis=1), "rr@3", relevant=TEST), "name the columns",
        evaluation(FRAME.set_axis(range(3), axis=1)
            .set_axis(["user_id", "item_id", "score"], axis=1), "rr@3", relevant=TEST),
        RR),
    "relevant without names of columns": Remedy(
        evaluation({1: [5, 6]}, "rr@2", relevant=pd.DataFrame([[1, 6]])),
        r"columns=\{'user': NAME, 'item': NAME\}",
        evaluation({1: [5, 6]}, "rr@2",
            relevant=pd.DataFrame([[1, 6]]), columns={"user": "0", "item": "1"}),
        1 / 2),
    "missing scores": Remedy(
        evaluation(FRAME.assign(score=[3, 2, None] * 2), "rr@2", relevant=TEST),
        r"dropna\(subset=\['score'\]\)",
        evaluation(FRAME.assign(score=[3, 2, None] * 2).dropna(subset=["score"]), "rr@2",
            relevant=TEST),
        (1 / 2 + 0) / 2),
    "missing labels": Remedy(
        evaluation(LABELLED.assign(label=[1, None, None] * 2), complete=True),
        r"fillna\(\{'label': 0\}\)",
        evaluation(LABELLED.assign(label=[1, None, None] * 2).fillna({"label": 0}), complete=True),
        3 / 4),
    "labels in words": Remedy(
        evaluation(LABELLED.assign(label=["Yes", "No", "No"] * 2), complete=True), "label == 'Yes'",
        evaluation(LABELLED.assign(label=np.array(["Yes", "No", "No"] * 2) == "Yes"),
            complete=True),
        3 / 4),
    "relevance in lists": Remedy(
        evaluation(FRAME.rename(columns={"score": "relevance"}), "rr@3", relevant=TEST),
        "call the scores score",
        evaluation(FRAME, "rr@3", relevant=TEST), RR),
    "unknown name of scores": Remedy(
        evaluation(FRAME.rename(columns={"score": "strength"})[::-1], "rr@3", relevant=TEST),
        "name it score",
        evaluation(FRAME[::-1], "rr@3", relevant=TEST), RR),
    "relevant item without a score": Remedy(
        evaluation(WITHOUT_RELEVANT_SCORE, relevant=HELD), "drop it from relevant",
        evaluation(WITHOUT_RELEVANT_SCORE, relevant=[-1, 0]), 1 / 3),
    "relevant item without a score, as not found": Remedy(
        evaluation(WITHOUT_RELEVANT_SCORE, relevant=HELD), "missing='last'",
        evaluation(WITHOUT_RELEVANT_SCORE, relevant=HELD, missing="last"), (1 / 3 + 1 / 3) / 2),
    "relevant item without a column, dropped": Remedy(
        evaluation(SCORES_BY_ID, relevant=WITH_COLD_ITEM), "drop rows of such items",
        evaluation(SCORES_BY_ID, relevant=WITH_COLD_ITEM[:2]), RR),
    "relevant item without a column, as not found": Remedy(
        evaluation(SCORES_BY_ID, "recall@2", relevant=WITH_COLD_ITEM), "missing='last'",
        evaluation(SCORES_BY_ID, "recall@2", relevant=WITH_COLD_ITEM, missing="last"),
        (1 / 2 + 0) / 2),
    "user without a row, as not found": Remedy(
        evaluation(SCORES_BY_ID, relevant={"a": ["z"], "b": ["x"], "c": ["y"]}), "missing='last'",
        evaluation(SCORES_BY_ID, relevant={"a": ["z"], "b": ["x"], "c": ["y"]}, missing="last"),
        (1 / 2 + 1 / 3 + 1 / 3) / 3),
    "seen item without a column": Remedy(
        evaluation(SCORES_BY_ID, relevant={"a": ["z"]}, seen={"a": ["y", "cold"]}),
        "drop rows of such items",
        evaluation(SCORES_BY_ID, relevant={"a": ["z"]}, seen={"a": ["y"]}), 1.0),
    "relevant item that is seen, of repeats": Remedy(
        evaluation(SCORES, relevant=HELD, seen=SEEN), "leave these pairs out of seen",
        evaluation(SCORES, relevant=HELD, seen=[[], []]), RR),
    "relevant item that is seen, of new items": Remedy(
        evaluation(SCORES, relevant=HELD, seen=SEEN), "or out of relevant",
        evaluation(SCORES, relevant=[-1, 0], seen=SEEN), 1 / 3),
    "relevant item that is seen, of lists": Remedy(
        evaluation(LISTS, "rr@2", relevant=TEST, seen={"a": ["y"]}), "or out of relevant",
        evaluation(LISTS, "rr@3", relevant={"b": ["z"]}, seen={"a": ["y"]}), 1 / 3),
    "user without a list": Remedy(
        evaluation(LISTS, "rr@3", relevant={**TEST, "c": ["x"]}), "missing='last'",
        evaluation(LISTS, "rr@3", relevant={**TEST, "c": ["x"]}, missing="last"), 2 / 3 * RR),
    "whole metric of lists": Remedy(
        evaluation(LISTS, "auc", relevant=TEST), "complete=True",
        evaluation(LISTS, "auc", relevant=TEST, complete=True), (1 / 2 + 0) / 2),
    "cut-off below the end of a list": Remedy(
        evaluation({"a": ["x"], "b": ["z"]}, "rr@3", relevant=TEST), "missing='last'",
        evaluation({"a": ["x"], "b": ["z"]}, "rr@3", relevant=TEST, missing="last"), 1 / 2),
    "lists without relevant items": Remedy(
        evaluation(LISTS), "needs relevant", evaluation(LISTS, "rr@3", relevant=TEST), RR),
    "scores without relevant items": Remedy(
        evaluation(SCORES), "give relevant", evaluation(SCORES, relevant=HELD), RR),
    "scores of a sample": Remedy(
        evaluation(AMONG), "`correct` with positive", correction(AMONG, positive=0), 1 / 2),
    "ranks without a size": Remedy(
        evaluation([2, 3]), "give n_items", evaluation([2, 3], n_items=3), RR),
    "ranks in a table without a size": Remedy(
        evaluation(RANKS), "column n_candidates", evaluation(RANKS.assign(n_candidates=9)), 3 / 8),
    "complete beside ranks": Remedy(
        evaluation(RANKS, n_items=9, complete=True), "leave it out",
        evaluation(RANKS, n_items=9), 3 / 8),
    "relevant beside records": Remedy(
        evaluation(RANKS, n_items=9, relevant=TEST), "leave it out",
        evaluation(RANKS, n_items=9), 3 / 8),
    "sizes of complete lists": Remedy(
        evaluation(LISTS, relevant=TEST, complete=True, n_items=3), "leave n_items out",
        evaluation(LISTS, relevant=TEST, complete=True), RR),
    "labelled pairs of all candidates": Remedy(
        evaluation(LABELLED), "complete=True", evaluation(LABELLED, complete=True), 3 / 4),
    "labelled pairs by their constructor": Remedy(
        evaluation(LABELLED), "Ranks.from_pairs",
        ranks_evaluation(sm.Ranks.from_pairs, LABELLED), 3 / 4),
    "labelled pairs of a sample": Remedy(
        evaluation(LABELLED), "`correct`", correction(LABELLED), 1 / 2),
    "sampled ranks": Remedy(
        evaluation(SAMPLED), "correct", correction(SAMPLED, n_negatives=2), 1 / 2),
    "full rankings": Remedy(
        correction(sm.Ranks([3, 3], [1, 2], [0, 0])), "`evaluate`",
        evaluation(sm.Ranks([3, 3], [1, 2], [0, 0])), RR),
    "lists with labels": Remedy(
        evaluation(MARKED.drop(columns="score")), "give relevant",
        evaluation(MARKED.drop(columns="label"), "rr@3",
            relevant=MARKED[["user_id", "item_id", "label"]]),
        RR),
    "ids as scores": Remedy(
        evaluation(IDS, relevant=HELD), r"Ranks.from_top_k\(ids, relevant\)",
        ranks_evaluation(sm.Ranks.from_top_k, IDS, HELD, metrics="rr@3"), RR),
    "text ids as scores": Remedy(
        evaluation(TEXT_IDS, relevant=[["y"], ["x"]]), r"Ranks.from_top_k\(ids, relevant\)",
        ranks_evaluation(sm.Ranks.from_top_k, TEXT_IDS, [["y"], ["x"]], metrics="rr@2"), 1 / 2),
    "two arrays of whole numbers": Remedy(
        evaluation((IDS, IDS[:, ::-1]), relevant=HELD), "from_top_k",
        ranks_evaluation(sm.Ranks.from_top_k, IDS, HELD, scores=[[3, 2, 1]] * 2, metrics="rr@3"),
        RR),
    "rows without ids beside lists of users": Remedy(
        evaluation(LISTS, "rr@3", relevant=[["y"], ["z"]]), "dictionary of lists by user",
        evaluation(LISTS, "rr@3", relevant=TEST), RR),
    "item twice in a list": Remedy(
        ranks_evaluation(sm.Ranks.from_top_k, [[1, 1, 2]], [2], metrics="rr@3"),
        "keep its first place",
        ranks_evaluation(sm.Ranks.from_top_k, [[1, 2]], [2], metrics="rr@2"), 1 / 2),
    "relevant filled with an item": Remedy(
        evaluation(WIDER, "recall@2", relevant=[[2, 0, 0], [1, 0, 0]]), "each item once",
        evaluation(WIDER, "recall@2", relevant=[[2, 0], [1, 0]]), 1 / 2),
    "columns or grades, as columns": Remedy(
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 2, -1]]), "leave -1 out",
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 2]]), 1.0),
    "columns or grades, as a dictionary": Remedy(
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 1, 2]]), "dictionary of lists by row",
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant={0: [0, 1, 2]}), 1.0),
    "columns or grades, as grades": Remedy(
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=[[0, 1, 2]]), "as grades give an array",
        evaluation([[3.0, 1.0, 2.0]], "ap", relevant=np.array([[0, 1, 2]])), (1 / 2 + 2 / 3) / 2),
    "several columns in an array": Remedy(
        evaluation(SCORES, "recall@2", relevant=np.array([[2, 0], [1, -1]])),
        r"\[row\[row >= 0\].tolist\(\)",
        evaluation(SCORES, "recall@2",
            relevant=[row[row >= 0].tolist() for row in np.array([[2, 0], [1, -1]])]),
        3 / 4),
    "marks beside lists": Remedy(
        ranks_evaluation(sm.Ranks.from_top_k, IDS, np.array([[0, 0, 1], [1, 0, 0]])),
        "scipy.sparse.csr_array",
        ranks_evaluation(sm.Ranks.from_top_k, IDS,
            sparse.csr_array(np.array([[0, 0, 1], [1, 0, 0]])), metrics="rr@3"),
        RR),
    "ids with gaps": Remedy(
        ranks_evaluation(sm.Ranks.from_top_k, GAPS, [2, 0]), r"np.nan_to_num\(ids, nan=-1\)",
        ranks_evaluation(sm.Ranks.from_top_k, np.nan_to_num(GAPS, nan=-1).astype(int), [2, 0],
            metrics="rr@2"),
        (1 / 2 + 0) / 2),
    "relevant ids with gaps": Remedy(
        ranks_evaluation(sm.Ranks.from_top_k, IDS, np.array([[2, np.nan], [1, 0]])),
        r"np.nan_to_num\(ids, nan=-1\)",
        ranks_evaluation(sm.Ranks.from_top_k, IDS, np.array([[2, -1], [1, 0]]), metrics="recall@2"),
        (1 + 1 / 2) / 2),
    "relevant columns with gaps": Remedy(
        evaluation(SCORES, relevant=np.array([2, np.nan])), r"np.nan_to_num\(ids, nan=-1\)",
        evaluation(SCORES, relevant=np.nan_to_num(np.array([2, np.nan]), nan=-1).astype(int)),
        1 / 2),
    "negatives with gaps": Remedy(
        correction(padded_scores(np.nan), positive=0), "-inf at their end",
        correction(padded_scores(-np.inf), positive=0), 1 / 2),
    "candidate without a score": Remedy(
        evaluation(np.where(SCORES == 0.1, np.nan, SCORES), relevant=HELD), "-inf for no candidate",
        evaluation(np.where(SCORES == 0.1, -np.inf, SCORES), relevant=HELD), RR),
    "item that an answer leaves out": Remedy(
        correction(np.where(AMONG == 0.2, -np.inf, AMONG), positive=0), "missing='last'",
        correction(np.where(AMONG == 0.9, -np.inf, AMONG), positive=0, missing="last"), 0.0),
    "scores without a held-out column": Remedy(
        correction(AMONG), "give positive", correction(AMONG, positive=0), 1 / 2),
    "held-out column beside ranks": Remedy(
        correction(AMONG.ravel(), positive=0), r"scores.reshape\(-1, 1 \+ n_negatives\)",
        correction(AMONG.ravel().reshape(-1, 1 + 2), positive=0), 1 / 2),
    "candidates and their scores": Remedy(
        correction((IDS, SCORES), relevant=[1, 2]),
        r"positive, such as 0, or \(ids == held_out\[:, None\]\).argmax\(axis=1\)",
        correction(SCORES, positive=(np.array([1, 2])[:, None] == IDS).argmax(axis=1)), 1 / 2),
    "held-out items beside a matrix": Remedy(
        correction(AMONG, relevant=[0, 0]), "columns of held-out items by positive",
        correction(AMONG, positive=[0, 0]), 1 / 2),
    "sampled ranks without negatives": Remedy(
        correction([1, 2]), "give n_negatives", correction([1, 2], n_negatives=2), 1 / 2),
    "sampled ranks without a size": Remedy(
        correction([1, 2], n_negatives=2, n_items=None), "give n_items",
        correction([1, 2], n_negatives=2), 1 / 2),
    "candidates without labels": Remedy(
        correction(LABELLED.drop(columns="label")), "column label", correction(LABELLED), 1 / 2),
    "ranks among negatives called rank": Remedy(
        correction(SAMPLED.rename(columns={"sampled_rank": "rank"}), n_negatives=2),
        "call ranks among negatives sampled_rank",
        correction(SAMPLED, n_negatives=2), 1 / 2),
    "index of scores in a column": Remedy(
        ranks_evaluation(sm.Ranks.from_scores, USERS_IN_COLUMN, HELD_BY_ID),
        r"set_index\('user_id'\)",
        ranks_evaluation(sm.Ranks.from_scores, USERS_IN_COLUMN.set_index("user_id"), HELD_BY_ID),
        RR),
    "index of scores in a column of numbers": Remedy(
        ranks_evaluation(sm.Ranks.from_scores, NUMBERS_IN_COLUMN, HELD_BY_NUMBER),
        r"set_index\('user_id'\)",
        ranks_evaluation(
            sm.Ranks.from_scores, NUMBERS_IN_COLUMN.set_index("user_id"), HELD_BY_NUMBER),
        RR),
    "index of scores in a column of numbers from 1": Remedy(
        ranks_evaluation(
            sm.Ranks.from_scores, NUMBERS_IN_COLUMN.assign(user_id=[1, 2]), {1: [2], 2: [0]}),
        r"set_index\('user_id'\)",
        ranks_evaluation(
            sm.Ranks.from_scores,
            NUMBERS_IN_COLUMN.assign(user_id=[1, 2]).set_index("user_id"), {1: [2], 2: [0]}),
        RR),
    "index of scores by an option": Remedy(
        ranks_evaluation(sm.Ranks.from_scores, USERS_IN_COLUMN, HELD_BY_ID), "users=",
        ranks_evaluation(sm.Ranks.from_scores, SCORES, HELD_BY_ID, users=["a", "b"]), RR),
    "other ids than those of the index": Remedy(
        ranks_evaluation(sm.Ranks.from_scores, USERS_IN_INDEX, HELD_BY_ID, users=["b", "a"]),
        "leave users out",
        ranks_evaluation(sm.Ranks.from_scores, USERS_IN_INDEX, HELD_BY_ID), RR),
    "scores of relevant items alone": Remedy(
        evaluation(PREDICT_RANK, relevant=np.arange(12)), r"Ranks.from_ranks\(ranks.data \+ 1",
        ranks_evaluation(sm.Ranks.from_ranks, (PREDICT_RANK.data - 1).astype(int) + 1, 15,
            users=PREDICT_RANK.tocoo().row),
        float(np.mean(1 / np.arange(1, 13)))),
    "function of pairs without a size": Remedy(
        ranks_evaluation(sm.Ranks.from_function, score_pairs, HELD), "needs n_items",
        ranks_evaluation(sm.Ranks.from_function, score_pairs, HELD, n_items=3), RR),
    "function without users": Remedy(
        ranks_evaluation(sm.Ranks.from_function, score_users, {0: [2], 1: [0]}), "users, their ids",
        ranks_evaluation(sm.Ranks.from_function, score_users, {0: [2], 1: [0]}, users=[0, 1]), RR),
    "users beside a table of ranks": Remedy(
        ranks_evaluation(sm.Ranks.from_ranks, RANKS.drop(columns="user_id"), 9, users=["a", "b"]),
        "columns user_id",
        ranks_evaluation(sm.Ranks.from_ranks, RANKS, 9), 3 / 8),
    "least grade without grades": Remedy(
        evaluation(SCORES, relevant=HELD, min_relevance=2), "matrix with grades",
        evaluation(SCORES, relevant=np.array([[1, 0, 3], [4, 0, 0]]), min_relevance=2), RR),
    "masked scores": Remedy(
        evaluation(np.ma.masked_equal(SCORES, 0.9), relevant=HELD),
        "scores.data and seen=scores.mask",
        evaluation(SCORES, relevant=HELD, seen=SCORES == 0.9), (1 + 1 / 3) / 2),
    "meter without scores": Remedy(
        meter_evaluation({}), "scores or ranks",
        meter_evaluation({"ranks": [2, 3]}, n_items=3), RR),
    "ranks in a meter without a size": Remedy(
        meter_evaluation({"ranks": [2, 3]}), "n_items",
        meter_evaluation({"ranks": [2, 3]}, n_items=3), RR),
    "rows without an item in a meter": Remedy(
        meter_evaluation({"scores": SCORES, "positive": [[0, 0, 1], [0, 0, 0]]}), "leave out rows",
        meter_evaluation({"scores": SCORES[:1], "positive": [[0, 0, 1]]}), 1 / 2),
    "metric of ratings": Remedy(
        evaluation(SCORES, "rmse", relevant=HELD), r"sampled_metrics.rmse\(true, predicted\)",
        lambda: sm.rmse([5.0, 3.0], [4.0, 4.0]), 1.0),
    "pooled metric by user": Remedy(
        lambda: sm.values_by_user(SCORES, "recall-micro@2", relevant=HELD).mean().item(),
        "use recall@2",
        lambda: sm.values_by_user(SCORES, "recall@2", relevant=HELD).mean().item(), 1 / 2),
}  # fmt: skip


# Names of metrics, and lists that end early


CUT_RANKS = sm.Ranks.from_scores(SCORES, HELD, up_to=2)

METRIC_REMEDIES = {
    "cut-off alone": Remedy(
        evaluation(SCORES, "2", relevant=HELD), "as in hr@2",
        evaluation(SCORES, "hr@2", relevant=HELD), 1 / 2),
    "no cut-off": Remedy(
        evaluation(SCORES, "hr", relevant=HELD), "as in hit@10",
        evaluation(SCORES, "hit@2", relevant=HELD), 1 / 2),
    "cut-off of a whole metric": Remedy(
        evaluation(SCORES, "auc@2", relevant=HELD), "has no cut-off",
        evaluation(SCORES, "auc", relevant=HELD), (1 / 2 + 0) / 2),
    "cut-off 0": Remedy(
        evaluation(SCORES, "hr@0", relevant=HELD), "at least 1",
        evaluation(SCORES, "hr@1", relevant=HELD), 0.0),
    "misspelt name": Remedy(
        evaluation(SCORES, "mpa@2", relevant=HELD), "did you mean map@2",
        evaluation(SCORES, "map@2", relevant=HELD), (1 / 2 + 0) / 2),
    "rank below the end, by a cut-off": Remedy(
        evaluation(CUT_RANKS, "rr"), "use rr@2", evaluation(CUT_RANKS, "rr@2"), (1 / 2 + 0) / 2),
    "rank below the end, by full rankings": Remedy(
        evaluation(CUT_RANKS, "rr"), "without up_to",
        evaluation(sm.Ranks.from_scores(SCORES, HELD), "rr"), RR),
    "cut-off below the end, by a later end": Remedy(
        evaluation(CUT_RANKS, "rr@3"), "up_to=3",
        evaluation(sm.Ranks.from_scores(SCORES, HELD, up_to=3), "rr@3"), RR),
    "whole metric of lists that end": Remedy(
        evaluation(CUT_RANKS, "auc"), "without up_to",
        evaluation(sm.Ranks.from_scores(SCORES, HELD), "auc"), (1 / 2 + 0) / 2),
    "lists that may be complete": Remedy(
        evaluation(sm.Ranks.from_lists(LISTS, TEST), "auc"), "complete=True",
        evaluation(sm.Ranks.from_lists(LISTS, TEST, complete=True), "auc"), (1 / 2 + 0) / 2),
    "users with relevant candidates only, without AUC": Remedy(
        evaluation(SCORES[:, :2], "rr, auc", relevant=np.ones((2, 2))), "leave auc out",
        evaluation(SCORES[:, :2], "rr", relevant=np.ones((2, 2))), 1.0),
    "users with relevant candidates only, with others": Remedy(
        evaluation(SCORES[:, :2], "auc", relevant=np.ones((2, 2))), "other candidates",
        evaluation(SCORES, "auc", relevant=np.array([[1, 1, 0], [1, 1, 0]])), 1 / 2),
}  # fmt: skip


# RankMeter


def metered_sample(*batches: Any, metrics: str = "hr@1", **options: Any) -> Callable[[], float]:
    """Return the evaluation of the sampled ranks of a meter."""

    def run() -> float:
        meter = sm.RankMeter(metrics, **options)
        for batch in batches:
            meter.update(**batch)
        return value_of(sm.correct(meter.ranks(), metrics, "sampled"))

    return run


def merged(*options_by_meter: dict[str, Any]) -> Callable[[], float]:
    """Return the merging of meters of one row each."""

    def run() -> float:
        meters = [sm.RankMeter("rr", **options) for options in options_by_meter]
        for meter, scores, item in zip(meters, SCORES, HELD, strict=True):
            meter.update(scores[None], [item])
        return value_of(meters[0].merge(*meters[1:]).compute())

    return run


# Held-out items at rank 7 of 13 and of 12.
LONG_ROW = np.append(0.5, np.linspace(0.0, 1.0, 12))
SHORT_ROW = LONG_ROW[:-1]
PADDED_ROW = np.append(SHORT_ROW, -np.inf)
UNEVEN_ROWS = np.array([LONG_ROW, np.append(LONG_ROW[:-3], [-np.inf] * 3)])
BATCH = {"scores": SCORES, "positive": HELD}
BATCHES = [
    {"scores": SCORES[:1], "positive": [2]},
    {"scores": SCORES[1:], "positive": [0]},
]
WITH_USERS = [{**BATCHES[0], "users": ["a"]}, {**BATCHES[1], "users": ["b"]}]
WITHOUT_SCORE = {**BATCH, "scores": np.where(SCORES == 0.5, -np.inf, SCORES)}
SAMPLED_ROWS = [[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]]  # ranks 1 and 2

METER_REMEDIES = {
    "negatives without a size": Remedy(
        metered_sample({"ranks": [1, 2]}, n_negatives=2), "needs n_items",
        metered_sample({"ranks": [1, 2]}, n_negatives=2, n_items=90), 1 / 2),
    "scores and ranks": Remedy(
        meter_evaluation({**BATCH, "ranks": [2, 3]}), "either scores or ranks",
        meter_evaluation(BATCH), RR),
    "different sizes": Remedy(
        merged({}, {"n_items": 3}), "differ in n_items",
        merged({"n_items": 3}, {"n_items": 3}), RR),
    "rows of fewer negatives": Remedy(
        metered_sample({"scores": LONG_ROW[None]}, {"scores": SHORT_ROW[None]}, metrics="hr@7",
            n_items=90),
        "pad rows.* with -inf",
        metered_sample({"scores": LONG_ROW[None]}, {"scores": PADDED_ROW[None]}, metrics="hr@7",
            n_items=90),
        1.0),
    "rows of far fewer negatives": Remedy(
        metered_sample({"scores": UNEVEN_ROWS}, metrics="hr@7", n_items=90),
        "sampling='distinct' with n_negatives",
        metered_sample({"scores": UNEVEN_ROWS}, metrics="hr@7", n_items=90, sampling="distinct",
            n_negatives=12),
        1.0),
    "users in one batch, in all": Remedy(
        meter_evaluation(WITH_USERS[0], BATCHES[1]), "with all", meter_evaluation(*WITH_USERS), RR),
    "users in one batch, in none": Remedy(
        meter_evaluation(WITH_USERS[0], BATCHES[1]), "or none", meter_evaluation(*BATCHES), RR),
    "ids of two types": Remedy(
        meter_evaluation(WITH_USERS[0], {**BATCHES[1], "users": [2]}), "ids of one type",
        meter_evaluation(WITH_USERS[0], {**BATCHES[1], "users": ["2"]}), RR),
    "no batch": Remedy(meter_evaluation(), "call update", meter_evaluation(BATCH), RR),
    "other number of negatives": Remedy(
        metered_sample({"scores": SAMPLED_ROWS}, n_items=90, n_negatives=3), "1 . n_negatives",
        metered_sample({"scores": SAMPLED_ROWS}, n_items=90, n_negatives=2), 1 / 2),
    "more scores than items": Remedy(
        meter_evaluation(BATCH, n_items=2), "leave n_items out", meter_evaluation(BATCH), RR),
    "user twice": Remedy(
        meter_evaluation({**BATCH, "users": ["a", "a"]}), "visits=",
        meter_evaluation({**BATCH, "users": ["a", "a"], "visits": [1, 2]}), RR),
    "visits without users": Remedy(
        meter_evaluation({**BATCH, "visits": [1, 2]}), "need users",
        meter_evaluation({**BATCH, "users": ["a", "b"], "visits": [1, 2]}), RR),
    "ranks among negatives without sizes": Remedy(
        metered_sample({"ranks": [1, 2]}), "n_negatives if",
        metered_sample({"ranks": [1, 2]}, n_items=90, n_negatives=2), 1 / 2),
    "item without a score": Remedy(
        meter_evaluation(WITHOUT_SCORE), "missing='last'",
        meter_evaluation(WITHOUT_SCORE, missing="last"), (1 / 3 + 1 / 3) / 2),  # the last of three
}  # fmt: skip

REMEDIES = DATA_REMEDIES | METRIC_REMEDIES | METER_REMEDIES


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("name", REMEDIES)
def test_followed_remedy_gives_the_right_number(name: str) -> None:
    assert_remedy_works(REMEDIES[name])


# Data whose remedy is an expression, which is run as the message shows it


@pytest.mark.parametrize("indent", [None, 1])
def test_run_in_json_is_read_as_suggested(indent: int | None, tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"q1": {"d1": 0.9, "d2": 0.3}}, indent=indent))
    with pytest.raises(sm.InputError, match=r"run.json: found JSON.*json.load"):
        sm.evaluate(path, "rr@2", relevant={"q1": ["d2"]})
    run = json.loads(path.read_text())
    assert evaluation(run, "rr@2", relevant={"q1": ["d2"]})() == 1 / 2


RNG = np.random.default_rng(21)
LISTS_BY_USER = {user: RNG.permutation(40)[:10].tolist() for user in range(30)}
HELD_BY_USER = {user: RNG.permutation(40)[:3].tolist() for user in range(30)}
SCORED = pd.DataFrame(
    [(u, i, -k) for u, items in LISTS_BY_USER.items() for k, i in enumerate(items)],
    columns=["user_id", "item_id", "score"],
)
HELD_PAIRS = [(user, item) for user, items in HELD_BY_USER.items() for item in items]


MEAN_RECALL = np.mean(
    [np.isin(HELD_BY_USER[user], items).mean() for user, items in LISTS_BY_USER.items()]
)


@pytest.mark.filterwarnings("ignore:.*rating is not read")
@pytest.mark.parametrize(
    ("lines", "header"),
    [
        ([f"{u},{i}" for u, i in HELD_PAIRS], "user_id,item_id"),
        ([f"{u}\t{i}\t1.0" for u, i in HELD_PAIRS], "user_id\titem_id\trating"),
        ([f"{u}\t{i}\t5.0\t9783" for u, i in HELD_PAIRS], "user_id\titem_id\trating\ttimestamp"),
    ],
)
def test_relevant_items_are_read_once_they_have_a_header(lines, header, tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(sm.InputError, match="header"):
        sm.evaluate(SCORED, "recall@10", relevant=path)
    path.write_text("\n".join([header, *lines]))
    (result,) = sm.evaluate(SCORED, "recall@10", relevant=path)
    assert result.value == pytest.approx(MEAN_RECALL)


def test_lists_are_read_once_they_have_a_header(tmp_path):
    path = tmp_path / "recs.tsv"
    SCORED.to_csv(path, sep="\t", header=False, index=False)
    with pytest.raises(sm.InputError, match="header"):
        sm.evaluate(path, "recall@10", relevant=HELD_BY_USER)
    SCORED.to_csv(path, sep="\t", index=False)
    (result,) = sm.evaluate(path, "recall@10", relevant=HELD_BY_USER)
    assert result.value == pytest.approx(MEAN_RECALL)


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
def test_lines_of_a_user_and_items_are_refused(separator, tmp_path):
    """The first line is never taken as a header, whose user would be lost."""
    path = tmp_path / "wide.txt"
    rows = [[user, *items] for user, items in LISTS_BY_USER.items()]
    path.write_text("\n".join(separator.join(map(str, row)) for row in rows))
    for options in (
        {"data": path, "relevant": HELD_BY_USER},
        {"data": SCORED, "relevant": path},
        {"data": SCORED, "relevant": HELD_BY_USER, "seen": path},
    ):
        with pytest.raises(sm.InputError, match="no header"):
            sm.evaluate(**options, metrics="recall@10")


ROWS = RNG.normal([2.0] + 99 * [0], size=(200, 100))
ROW_LABELS = np.tile([1] + 99 * [0], 200)


@pytest.mark.parametrize(
    ("data", "positive", "expression"),
    [
        (ROWS[..., None], 0, "scores[..., 0]"),
        (ROWS[None], 0, "scores.reshape(-1, scores.shape[-1])"),
        (ROWS.reshape(-1, 1), 0, "scores.reshape(-1, 1 + n_negatives)"),
        (ROWS.ravel(), ROW_LABELS, "scores.reshape(-1, 1 + n_negatives)"),
    ],
)
def test_flat_scores_are_shaped_as_suggested(data, positive, expression):
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.correct(data, "HR@10", "sampled", positive=positive, n_items=3706)
    names = {"n_negatives": 99, "numpy": np, "scores": data}
    rows = eval(expression, names)  # noqa: S307
    marks = 0
    if np.ndim(positive):
        marks = positive.reshape(rows.shape)
    results = sm.correct(rows, "HR@10", "sampled", positive=marks, n_items=3706)
    assert value_of(results) == np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(1) < 10)


def test_flat_table_gets_users_as_suggested():
    table = pd.DataFrame({"score": ROWS.ravel(), "label": ROW_LABELS})
    expression = "numpy.arange(len(table)) // (1 + n_negatives)"
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.correct(table, "HR@10", "sampled", n_items=3706)
    names = {"n_negatives": 99, "numpy": np, "table": table}
    table["user_id"] = eval(expression, names)  # noqa: S307
    results = sm.correct(table, "HR@10", "sampled", n_items=3706)
    assert value_of(results) == np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(1) < 10)


def test_results_of_a_vector_store_are_read_as_suggested():
    """Chroma returns a dictionary of lists of lists."""
    result = {"ids": [["a", "b"], ["c", "d"]], "distances": [[0.1, 0.4], [0.2, 0.3]]}
    expression = "Ranks.from_top_k(data['ids'], relevant)"
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.evaluate(result, "mrr@2", relevant=[["b"], ["x"]])
    names = {"Ranks": sm.Ranks, "data": result, "relevant": [["b"], ["x"]]}
    ranks = eval(expression, names)  # noqa: S307
    assert sm.evaluate(ranks, "mrr@2")[0].value == 0.25
