"""What `evaluate`, `correct` and meters refuse, and that their suggestions give the right value.

Each case is a call, a pattern of the message, the change of the call that the message suggests,
and the value with it. Data and values that are named here are those of tests/helpers/world.py.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import sampled_metrics as sm
from tests.helpers.cases import (
    OMIT,
    Case,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
    meter,
    ranks,
    sample_meter,
)
from tests.helpers.world import (
    AUC,
    FRAME,
    HELD,
    HIT_2,
    IDS,
    ITEMS,
    LABELLED,
    LISTS,
    RANKS,
    RR,
    SAMPLE,
    SAMPLED_RANKS,
    SCORES,
    TEST,
    TEST_PAIRS,
    USERS,
    WIDE,
    score_pairs,
    score_users,
)

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
Ranks, SampledRanks = sm.Ranks, sm.SampledRanks
NAN, INF = np.nan, np.inf


def without_score(row: int, column: int, number: float, scores: Any = SCORES) -> np.ndarray:
    """Return scores of which one is a number that stands for none."""
    changed = np.array(scores)
    changed[row, column] = number
    return changed


# Scores

NO_SCORE_HELD = without_score(0, 2, -INF)
HOLE = without_score(0, 0, NAN)
GRADES = np.array([[1, 0, 3], [4, 0, 0]])
COLUMNS = np.array([[2, 0], [1, -1]])
TARGET = np.array([0, 0, 1])
WIDER = np.append(SCORES, [[0.0], [0.0]], axis=1)
ONE_ROW = [[3.0, 1.0, 2.0]]
DAMAGED = sparse.csr_array(SCORES)
DAMAGED.indices = DAMAGED.indices + 99
DAMAGED_ROWS, DAMAGED_COO = sparse.csr_array(SCORES), sparse.coo_array(SCORES)
DAMAGED_ROWS.indptr = DAMAGED_ROWS.indptr * 99
DAMAGED_COO.col = DAMAGED_COO.col + 99
MARKS = np.array([[0, 0, 1], [1, 0, 0]])
# a matrix of ranks of LightFM, which has the held-out items only: 0 is the best
PREDICT_RANK = sparse.csr_array(np.eye(12, 15) * np.arange(12)[:, None] + np.eye(12, 15))
MASKED = np.ma.masked_equal(SCORES, 0.9)
NOBODY = [-1, -1]


def scores(metrics: str = "rr", **options: Any) -> Any:
    """Return the evaluation of the scores of the two users, whose RR is (1 / 2 + 1 / 3) / 2."""
    return evaluate(SCORES, metrics, **{"relevant": HELD, **options})


SCORE_CASES = [
    Case("no relevant items", scores(relevant=OMIT).but(), "pass relevant", {"relevant": HELD}, RR),
    Case("no score of a relevant item, dropped", evaluate(NO_SCORE_HELD, relevant=HELD),
         "drop it from relevant", {"relevant": [-1, 0]}, 1 / 3),
    Case("no score of a relevant item, last", evaluate(NO_SCORE_HELD, relevant=HELD),
         "missing='last'", {"missing": "last"}, (1 / 3 + 1 / 3) / 2),
    Case("nan", evaluate(HOLE, relevant=HELD), "-inf for no candidate",
         {"data": without_score(0, 0, -INF)}, RR),
    Case("masked scores", evaluate(MASKED, relevant=HELD), "scores.data and seen=scores.mask",
         {"data": SCORES, "seen": SCORES == 0.9}, (1 + 1 / 3) / 2),
    Case("third axis", evaluate(SCORES[:, None], relevant=HELD),
         r"scores.reshape\(-1, scores.shape\[-1\]\)", {"data": SCORES}, RR),
    Case("one query", evaluate(SCORES[0], "precision@2", relevant=TARGET),
         r"data\[None\] and relevant\[None\]",
         {"data": SCORES[:1], "relevant": TARGET[None]}, 1 / 2),
    Case("scores of a sample", evaluate(SAMPLE), "`correct` with positive",
         correct(SAMPLE, positive=0), HIT_2),
    Case("ids", evaluate(IDS, relevant=HELD), r"Ranks.from_top_k\(ids, relevant\)",
         ranks(Ranks.from_top_k, IDS, HELD, metrics="rr@3"), RR),
    Case("ids of text", evaluate([["y", "z"], ["y", "z"]], relevant=[["z"], ["x"]]),
         r"Ranks.from_top_k\(ids, relevant\)",
         ranks(Ranks.from_top_k, [["y", "z"]] * 2, [["z"], ["x"]], metrics="rr@2"),
         (1 / 2 + 0) / 2),
    Case("two arrays of whole numbers", evaluate((IDS, IDS[:, ::-1]), relevant=HELD), "from_top_k",
         ranks(Ranks.from_top_k, IDS, HELD, scores=[[3, 2, 1]] * 2, metrics="rr@3"), RR),
    Case("ranks of relevant items alone", evaluate(PREDICT_RANK, relevant=np.arange(12)),
         r"Ranks.from_ranks\(ranks.data \+ 1",
         ranks(Ranks.from_ranks, np.arange(12) + 1, 15, users=np.arange(12)),
         np.mean(1 / np.arange(1, 13))),
    # relevant and seen items
    Case("seen and relevant, repeats", scores(seen=[[2], []]), "drop these pairs from seen",
         {"seen": [[], []]}, RR),
    Case("seen and relevant, new items", scores(seen=[[2], []]), "or from relevant",
         {"relevant": [-1, 0]}, 1 / 3),
    Case("least grade without grades", scores(min_relevance=2), "matrix with grades",
         {"relevant": GRADES}, RR),
    Case("rows filled with an item", evaluate(WIDER, "recall@2", relevant=[[2, 0, 0], [1, 0, 0]]),
         "occurs twice", {"relevant": [[2, 0], [1, 0]]}, (1 / 2 + 1 / 2) / 2),
    Case("columns or grades: columns", evaluate(ONE_ROW, "ap", relevant=[[0, 2, -1]]),
         "drop -1", {"relevant": [[0, 2]]}, 1),
    Case("columns or grades: a dictionary", evaluate(ONE_ROW, "ap", relevant=[[0, 1, 2]]),
         "dictionary of lists by row", {"relevant": {0: [0, 1, 2]}}, 1),
    Case("columns or grades: grades", evaluate(ONE_ROW, "ap", relevant=[[0, 1, 2]]),
         "as grades pass an array", {"relevant": np.array([[0, 1, 2]])}, (1 / 2 + 2 / 3) / 2),
    Case("several columns in an array", scores("recall@2", relevant=COLUMNS),
         r"\[row\[row >= 0\].tolist\(\)",
         {"relevant": [row[row >= 0].tolist() for row in COLUMNS]}, (1 / 2 + 1) / 2),
    Case("several columns in an array without -1",
         scores("recall@2", relevant=np.array([[2, 0], [1, 0]])), "lists of columns",
         {"relevant": [[2, 0], [1, 0]]}, (1 / 2 + 1 / 2) / 2),
    Case("rows filled with an item, vectors", evaluate((np.eye(2), WIDER.T), "recall@2",
         relevant=[[2, 0, 0], [1, 0, 0]]), "twice", {"relevant": [[2, 0], [1, 0]]},
         (1 / 2 + 1 / 2) / 2),
    Case("columns with gaps", scores(relevant=np.array([2, NAN])), r"np.nan_to_num\(ids, nan=-1\)",
         {"relevant": np.nan_to_num(np.array([2, NAN]), nan=-1).astype(int)}, 1 / 2),
    Case("nobody has a relevant item", scores(relevant=NOBODY), "no user has a relevant item"),
    Case("one row too few", scores(relevant=[0]), r"relevant items are int64 of shape \(1,\)"),
    Case("seen items of fewer columns", scores(seen=sparse.csr_array((2, 2))),
         "seen items are float64"),
    Case("seen items of one axis", evaluate({1: [2]}, relevant={1: [2]}, seen=np.array([1, 3])),
         "grades, users x items"),
    Case("all seen", evaluate({1: [2]}, relevant={1: [3]}, seen={1: [2]}), "unseen item"),
    Case("item of a huge number", evaluate({0: [2]}, relevant=[-(10**12)]), "found -1000000000000"),
    # what is no scores at all
    Case("none", evaluate(None, relevant=HELD), "found NoneType"),
    Case("a module", evaluate(np), "module"),
    Case("a class in place of its object", evaluate(SimpleNamespace, relevant=HELD), "found type"),
    Case("text", evaluate(USERS), "found list of <U1"),
    Case("sparse without relevant items", evaluate(sparse.csr_array(SCORES)), "pass relevant"),
    Case("a column with nothing", evaluate(pa.table({"0": [0.5, 0.1], "1": [0.3, None]}),
         relevant=[0, 0]), "nan"),
    Case("an object", evaluate(object(), relevant=HELD), "numbers, a DataFrame or a file"),
    Case("item of a column beyond the last", scores(relevant=[[99], [0]]), "found 99"),
    Case("relevant marks of nan", scores(relevant=np.where(MARKS, 1, NAN)), "relevant has"),
    Case("seen marks of -inf", scores(seen=np.where(MARKS, 1, -INF)), "seen has"),
    Case("sparse seen marks of nan", scores(seen=sparse.csr_array(np.where(MARKS, 1, NAN))),
         "seen has"),
    Case("damaged rows", evaluate(DAMAGED_ROWS, relevant=HELD), "scores: damaged"),
    Case("damaged coordinates", evaluate(DAMAGED_COO, relevant=HELD), "scores: damaged"),
    Case("a class to rank by", call_of(sm.rank, SimpleNamespace, None, [[1]] * 6), "found type"),
    Case("model with factors", evaluate(SimpleNamespace(user_factors=SCORES, item_factors=SCORES)),
         r"\(model.user_factors, model.item_factors\)"),
    Case("model that predicts", evaluate(SimpleNamespace(predict=score_users)), "function"),
    Case("damaged scores", evaluate(DAMAGED, relevant=HELD), "scores: damaged"),
    Case("damaged seen items", scores(seen=DAMAGED), "seen: damaged"),
    Case("damaged relevant items", scores(relevant=DAMAGED), "relevant: damaged"),
    Case("masked scores from a function", call_of(sm.rank, lambda rows: MASKED[rows], None, HELD),
         "mask"),
    Case("user twice", call_of(sm.rank, SCORES, None, HELD, users=[5, 5]),
         "row 2: duplicate users 5"),
    # by id
    Case("index in a column", ranks(Ranks.from_scores, WIDE.assign(user_id=USERS), TEST),
         r"set_index\('user_id'\)", {"scores": WIDE.assign(user_id=USERS).set_index("user_id")},
         RR),
    Case("index in a column of numbers",
         ranks(Ranks.from_scores, pd.DataFrame(SCORES).assign(user_id=[2, 1]), {2: [2], 1: [0]}),
         r"set_index\('user_id'\)", {"scores": pd.DataFrame(SCORES, [2, 1])}, RR),
    Case("index in a column of numbers from 1",
         ranks(Ranks.from_scores, pd.DataFrame(SCORES).assign(user_id=[1, 2]), {1: [2], 2: [0]}),
         r"set_index\('user_id'\)", {"scores": pd.DataFrame(SCORES, [1, 2])}, RR),
    Case("index by an option",
         ranks(Ranks.from_scores, pd.DataFrame(SCORES).assign(user_id=USERS), {"a": [2], "b": [0]}),
         "users=", {"scores": SCORES, "users": USERS}, RR),
    Case("other ids than those of the index",
         ranks(Ranks.from_scores, WIDE, TEST, users=["b", "a"]), "drop users",
         {"users": OMIT}, RR),
    Case("a column for each item", evaluate(WIDE.reset_index(names="user_id"), relevant=TEST),
         r"data.set_index\('user_id'\)",
         {"data": WIDE.reset_index(names="user_id").set_index("user_id")}, RR),
    Case("relevant item without a column, dropped",
         evaluate(WIDE, relevant={**TEST, "a": ["z", "n"]}), "drop rows of such items",
         {"relevant": TEST}, RR),
    Case("relevant item without a column, last",
         evaluate(WIDE, "recall@2", relevant={**TEST, "a": ["z", "n"]}), "missing='last'",
         {"missing": "last"}, (1 / 2 + 0) / 2),
    Case("user without a row", evaluate(WIDE, relevant={**TEST, "c": ["y"]}), "missing='last'",
         {"missing": "last"}, (1 / 2 + 1 / 3 + 1 / 3) / 3),
    Case("seen item without a column",
         evaluate(WIDE, relevant={"a": ["z"]}, seen={"a": ["y", "n"]}), "drop rows of such items",
         {"seen": {"a": ["y"]}}, 1),
    # vectors and functions
    Case("function of one number", evaluate(lambda _: 0.5, relevant=HELD), r"shape \(\)"),
    Case("function beside pairs", evaluate(score_users, relevant=TEST_PAIRS),
         "a function of users needs relevant"),
    Case("pairs without a size", ranks(Ranks.from_function, score_pairs, HELD), "needs n_items",
         {"n_items": 3}, RR),
    Case("function without users", ranks(Ranks.from_function, score_users, {0: [2], 1: [0]}),
         "users=", {"users": [0, 1]}, RR),
    Case("function of another width",
         ranks(Ranks.from_function, lambda users: np.zeros((users.size, 2 + users.size)), [0] * 3),
         r"\(3, 5\)"),
    Case("vectors of nan", ranks(Ranks.from_factors, SCORES * NAN, SCORES, [0, 0]),
         r"users .*float64 .*\(2, 3\); .*finite"),
    Case("vectors of inf", ranks(Ranks.from_factors, SCORES, [[0, INF, 0]], [0, 0]),
         r"items .*float64 .*\(1, 3\); .*finite.*\(1, d\)"),
    Case("vectors of bool", ranks(Ranks.from_factors, SCORES > 1, SCORES, [0, 0]), r"users .*bool"),
    Case("vectors of complex numbers", ranks(Ranks.from_factors, SCORES * 1j, SCORES, [0, 0]),
         "users: .*complex128"),
    Case("vectors of text", ranks(Ranks.from_factors, SCORES, [["a", "b"]], [0, 0]),
         r"items: .*list of <U1.*\(1, 2\)"),
    Case("vectors of another length", ranks(Ranks.from_factors, SCORES, np.ones((4, 2)), [0, 0]),
         r"items .*float64 .*\(4, 2\); .*finite.*\(4, d\)"),
    Case("vectors of three axes", ranks(Ranks.from_factors, SCORES, np.ones((2, 2, 2)), [0, 0]),
         r"items: .*float64.*\(2, 2, 2\)"),
    Case("vectors of fewer users", ranks(Ranks.from_factors, SCORES[:1], SCORES, [0, 0]),
         r"users x items, \(1, 2\)"),
]  # fmt: skip


@each_case(SCORE_CASES)
def test_wrong_scores_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# Lists of items, and tables of pairs

PAIRS = [("y", 0.9), ("z", 0.3)]
REPEATED = pd.DataFrame({"user": "a", "item": ["z", "y", "y"], "score": [1.0, 3.0, 2.0]})
REPEATED_RANKS = REPEATED.drop(columns="score").assign(rank=[3, 1, 2])
IN_CELLS = FRAME.groupby("user_id", as_index=False)["item_id"].agg(list)
RECS_IN_CELLS = IN_CELLS.rename(columns={"item_id": "recs"})
RECORDS_IN_CELLS = pd.DataFrame(
    {"user": ["a"], "recs": [[{"item": "z", "rating": 1.0}, {"item": "y", "rating": 2.0}]]}
)
PAIRS_IN_CELLS = pd.DataFrame({"user": ["a"], "recs": [[("z", 1.0), ("y", 2.0)]]})
PLACES = pd.DataFrame(
    {"user": USERS, "item_01": ["y", "y"], "item_02": ["z", "z"], "item_03": ["x", "x"]}
)
GAPS = np.array([[1, 2, NAN], [1, 2, 0]])
STARS = pd.DataFrame(  # four stars are at rank 2
    {"user_id": 1, "item_id": [5, 6, 7], "rating": [3, 4, 1], "score": [0.9, 0.5, 0.1]}
)
DAYS = pd.DataFrame(  # at ranks 1 and 2
    {"user_id": 1, "item_id": [5, 6] * 2, "score": [2, 1] * 2, "label": [1, 0, 0, 1],
     "day": ["mo", "mo", "tu", "tu"]}
)  # fmt: skip
MISSING = FRAME.assign(score=[0.9, 0.5, None] * 2)
NO_LABELS = LABELLED.replace({"label": {0: None}})
YES = LABELLED.assign(label=np.where(LABELLED["label"], "Yes", "No"))
NOT_FOUND_B = {"a": ["y", "z"], "b": ["y"]}
PLACED = FRAME.assign(rank=[1, 2, 3] * 2).drop(columns="score")
SKIPPING = FRAME.assign(rank=[1, 3, 4] * 2).drop(columns="score")
FILLED_PLACES = pd.DataFrame({"user_id": USERS, "item_id": "-7", "rank": 2})
UNNAMED = pd.DataFrame([[1, 6]])
OF_A = {"relevant": {"a": ["z"]}}


def lists(metrics: str = "rr@3", **options: Any) -> Any:
    """Return the evaluation of the lists, whose RR is (1 / 2 + 1 / 3) / 2."""
    return evaluate(LISTS, metrics, **{"relevant": TEST, **options})


LIST_CASES = [
    Case("lists without relevant items", lists().but(relevant=OMIT, metrics="rr"), "needs relevant",
         {"metrics": "rr@3", "relevant": TEST}, RR),
    Case("pairs of item and score", evaluate({"a": PAIRS}, "rr@2", **OF_A), r"dict\(pairs\)",
         {"data": {"a": dict(PAIRS)}}, 1 / 2),
    Case("codes of an item", evaluate({1: [(5, 1, 2), (5, 1, 3)]}, "rr@2", relevant={1: ["5-1-3"]}),
         "one text", {"data": {1: ["5-1-2", "5-1-3"]}}, 1 / 2),
    Case("no item, dropped", evaluate({"a": ["y", None, "z"]}, "rr@2", **OF_A), "drop such entries",
         {"data": {"a": ["y", "z"]}}, 1 / 2),
    Case("no item, with its place", evaluate({"a": ["y", None, "z"]}, "rr@3", **OF_A),
         "to keep its place", {"data": {"a": ["y", "none-2", "z"]}}, 1 / 3),
    Case("item twice", evaluate({"a": ["y", "y", "z"]}, "rr@2", **OF_A),
         r"list\(dict.fromkeys\(items\)\)",
         {"data": {"a": list(dict.fromkeys(["y", "y", "z"]))}}, 1 / 2),
    Case("item twice in a row", ranks(Ranks.from_top_k, [[1, 1, 2]], [2], metrics="rr@2"),
         "first occurrence", {"ids": [[1, 2]]}, 1 / 2),
    Case("item twice, with scores", evaluate(REPEATED, "rr@2", **OF_A),
         r"data.sort_values\('score', ascending=False\).drop_duplicates\(\['user', 'item'\]\)",
         {"data": REPEATED.sort_values("score", ascending=False).drop_duplicates(["user", "item"])},
         1 / 2),
    Case("item twice, with ranks", evaluate(REPEATED_RANKS, "rr@2", **OF_A),
         r"data.sort_values\('rank'\).drop_duplicates\(.*\).drop\(columns='rank'\)",
         {"data": REPEATED_RANKS.sort_values("rank").drop_duplicates(["user", "item"])
             .drop(columns="rank")}, 1 / 2),
    Case("relevant item twice", lists(relevant=pd.concat([TEST_PAIRS, TEST_PAIRS])),
         r"drop_duplicates\(\['user_id', 'item_id'\]\)",
         {"relevant": pd.concat([TEST_PAIRS, TEST_PAIRS]).drop_duplicates(["user_id", "item_id"])},
         RR),
    Case("lists without order", evaluate({u: set(items) for u, items in LISTS.items()}, "rr@3",
         relevant=TEST), "set", {"data": LISTS}, RR),
    Case("Series of scores", evaluate({"a": pd.Series({"y": 0.9, "z": 0.5})}, "rr@2", **OF_A),
         "item_id", {"data": {"a": {"y": 0.9, "z": 0.5}}}, 1 / 2),
    Case("columns of two lengths", evaluate({"user_id": [1], "item_id": [1, 2]}, relevant={1: [1]}),
         "length"),
    Case("item twice in a Series", evaluate(pd.Series([[1, 2], [3, 1]], ["a", "a"]),
         relevant={"a": [1]}), "row 4"),
    Case("user twice in a Series", evaluate(pd.Series([[1, 2], [3, 4]], ["a", "a"]),
         relevant={"a": [1]}), "column rank"),
    Case("no items", evaluate({"u": []}, relevant={"u": [1]}), "no items"),
    Case("seen and relevant, lists", lists(seen={"a": ["z"]}), "or from relevant",
         {"relevant": {"b": ["x"]}}, 1 / 3),
    Case("user without a list", lists(relevant={**TEST, "c": ["x"]}), "missing='last'",
         {"missing": "last"}, (1 / 2 + 1 / 3 + 0) / 3),
    Case("relevant items without ids", lists(relevant=[["z"], ["x"]]),
         "dictionary of lists by user", {"relevant": TEST}, RR),
    # lists that end
    Case("whole metric", lists("auc"), "complete=True", {"complete": True}, AUC),
    Case("whole metric of Ranks", ranks(Ranks.from_lists, LISTS, TEST, metrics="auc"),
         "complete=True", {"complete": True}, AUC),
    Case("cut-off below the end", evaluate(NOT_FOUND_B, "rr@3", relevant=TEST), "missing='last'",
         {"missing": "last"}, (1 / 2 + 0) / 2),
    Case("sizes of complete lists", lists("rr", complete=True, n_items=3), "drop n_items",
         {"n_items": OMIT}, RR),
    Case("complete of an array", lists(complete=np.array([True, False])), "complete"),
    # by position
    Case("marks beside ids", ranks(Ranks.from_top_k, IDS, MARKS, metrics="rr@3"),
         "scipy.sparse.csr_array", {"relevant": sparse.csr_array(MARKS)}, RR),
    Case("ids with gaps", ranks(Ranks.from_top_k, GAPS, [2, 0], metrics="rr@2"),
         r"np.nan_to_num\(ids, nan=-1\)", {"ids": np.nan_to_num(GAPS, nan=-1).astype(int)},
         (1 / 2 + 0) / 2),
    Case("relevant ids with gaps",
         ranks(Ranks.from_top_k, IDS, np.array([[2, NAN], [1, 0]]), metrics="recall@2"),
         r"np.nan_to_num\(ids, nan=-1\)", {"relevant": np.array([[2, -1], [1, 0]])},
         (1 + 1 / 2) / 2),
    Case("ids of float64", ranks(Ranks.from_top_k, [[0.5, 1.5]], [1]), "float64"),
    Case("ids of one axis", ranks(Ranks.from_top_k, [1, 2], [1]), r"\(2,\)"),
    Case("scores of another width", ranks(Ranks.from_top_k, [[1, 2]], [1], scores=[[3, 2, 1]]),
         r"\(1, 3\)"),
    Case("scores of nan", ranks(Ranks.from_top_k, [[1, 2]], [1], scores=[[3, NAN]]), "scores"),
    Case("users of bytes", ranks(Ranks.from_top_k, [[1]], [1], users=np.array([b"\xff"])),
         "users: found bytes, not UTF-8"),
    Case("users of decimals", ranks(Ranks.from_top_k, [[1]], [1], users=[0.5]), "users"),
    Case("more users than lists", ranks(Ranks.from_top_k, [[1]], [1], users=[1, 2]), r"\(2,\)"),
    Case("-1 before an item", ranks(Ranks.from_top_k, [[-1, 1]], [1]), "row 1"),
    Case("number as lists", ranks(Ranks.from_lists, 5, {"u": [1]}), "int"),
    # tables
    Case("lists in cells", evaluate(IN_CELLS, "rr@3", relevant=TEST),
         r"DataFrame.explode\('item_id'\)", {"data": IN_CELLS.explode("item_id")}, RR),
    Case("lists in cells of an unknown name", evaluate(RECS_IN_CELLS, "rr@3", relevant=TEST),
         r"data.explode\('recs', ignore_index=True\).rename\(columns=\{'recs': 'item_id'\}\)",
         {"data": RECS_IN_CELLS.explode("recs", ignore_index=True)
             .rename(columns={"recs": "item_id"})}, RR),
    Case("records in cells", evaluate(RECORDS_IN_CELLS, "rr@2", **OF_A),
         r"rows = data.explode\('recs', ignore_index=True\).*rows.join\(pandas.json_normalize\("
         r"rows.pop\('recs'\)\)\)",
         {"data": RECORDS_IN_CELLS.explode("recs", ignore_index=True)
             .pipe(lambda rows: rows.join(pd.json_normalize(rows.pop("recs"))))}, 1 / 2),
    Case("pairs in cells", evaluate(PAIRS_IN_CELLS, "rr@2", **OF_A),
         r"dict\(map\(tuple, pairs\)\) for user, pairs in zip\(data\['user'\], data\['recs'\]\)",
         {"data": {user: dict(map(tuple, pairs)) for user, pairs in
             zip(PAIRS_IN_CELLS["user"], PAIRS_IN_CELLS["recs"], strict=True)}}, 1 / 2),
    Case("a column for each place", evaluate(PLACES, "rr@3", relevant=TEST),
         r"Ranks.from_top_k\(data.drop\(columns='user'\).to_numpy\(\), relevant, "
         r"users=data\['user'\]\)",
         ranks(Ranks.from_top_k, PLACES.drop(columns="user").to_numpy(), TEST, users=PLACES["user"],
             metrics="rr@3"), RR),
    Case("columns without names", evaluate(FRAME.set_axis(range(3), axis=1), "rr@3", relevant=TEST),
         "name the columns", {"data": FRAME}, RR),
    Case("relevant without names of columns", evaluate({1: [5, 6]}, "rr@2", relevant=UNNAMED),
         r"columns=\{'user': NAME, 'item': NAME\}", {"columns": {"user": "0", "item": "1"}},
         1 / 2),
    Case("places with gaps", evaluate(SKIPPING, "rr@3", relevant=TEST), "add a row",
         {"data": pd.concat([SKIPPING, FILLED_PLACES])},
         (1 / 3 + 0) / 2),
    Case("missing scores", evaluate(MISSING, "rr@2", relevant=TEST),
         r"dropna\(subset=\['score'\]\)", {"data": MISSING.dropna(subset=["score"])},
         (1 / 2 + 0) / 2),
    Case("relevance in lists", evaluate(FRAME.rename(columns={"score": "relevance"}), "rr@3",
             relevant=TEST), "name the scores score", {"data": FRAME}, RR),
    Case("unknown name of scores", evaluate(FRAME[::-1].rename(columns={"score": "strength"}),
             "rr@3", relevant=TEST), "name it score", {"data": FRAME[::-1]}, RR),
    Case("ids of float32", evaluate(FRAME.assign(user_id=np.float32(33_554_500)), relevant=TEST),
         "float32"),
    Case("users of two types", evaluate(FRAME.assign(user_id=[1, "b"] * 3), relevant={1: ["z"]}),
         "column user_id: found 'b' among others"),
    Case("scores of two types", evaluate(FRAME.assign(score=[1.0, "b"] * 3), relevant=TEST),
         "column score: found 'b' among others"),
    # labels
    Case("labels of lists", evaluate(PLACED.assign(label=LABELLED["label"]), "rr@3"),
         "pass relevant",
         {"data": PLACED, "relevant": LABELLED[["user_id", "item_id", "label"]]}, RR),
    Case("labels of all candidates", evaluate(LABELLED), "complete=True", {"complete": True}, RR),
    Case("labels, by their constructor", evaluate(LABELLED), "Ranks.from_pairs",
         ranks(Ranks.from_pairs, LABELLED), RR),
    Case("labels of a sample", evaluate(LABELLED), "`correct`", correct(LABELLED), HIT_2),
    Case("missing labels", evaluate(NO_LABELS, complete=True), r"fillna\(\{'label': 0\}\)",
         {"data": NO_LABELS.fillna({"label": 0})}, RR),
    Case("labels in words", evaluate(YES, complete=True), "label == 'Yes'",
         {"data": YES.assign(label=YES["label"] == "Yes")}, RR),
    Case("ratings of all candidates", evaluate(STARS, complete=True, min_relevance=4),
         r"relevant.*columns=\{'label': 'rating'\}", {"columns": {"label": "rating"}}, 1 / 2),
    Case("ratings as relevant", evaluate(STARS, complete=True, min_relevance=4), "pass relevant",
         {"relevant": STARS[["user_id", "item_id", "rating"]]}, 1 / 2),
    Case("pairs of several days", evaluate(DAYS, complete=True), r"columns=\{'visit': NAME\}",
         {"columns": {"visit": "day"}}, (1 + 1 / 2) / 2),
]  # fmt: skip


@each_case(LIST_CASES)
def test_wrong_lists_and_pairs_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# Ranks

CUT = Ranks.from_scores(SCORES, HELD, up_to=2)
WHOLE = Ranks.from_scores(SCORES, HELD)
BOTH_RELEVANT = {"relevant": np.ones((2, 2))}

RANK_CASES = [
    Case("ranks without a size", evaluate([2, 3]), "pass n_items", {"n_items": 3}, RR),
    Case("table without a size", evaluate(RANKS), "column n_candidates",
         {"data": RANKS.assign(n_candidates=9)}, RR),
    Case("complete beside ranks", evaluate(RANKS, n_items=9, complete=True), "drop it",
         {"complete": OMIT}, RR),
    Case("relevant beside ranks", evaluate(RANKS, n_items=9, relevant=TEST), "drop it",
         {"relevant": OMIT}, RR),
    Case("ranks with ids of items",
         evaluate(RANKS.assign(item_id=ITEMS[:2]), n_items=9, relevant=TEST),
         "drop item_id and relevant", {"data": RANKS, "relevant": OMIT}, RR),
    Case("users beside a table", ranks(Ranks.from_ranks, RANKS[["rank"]], 9, users=USERS),
         "columns user_id", {"ranks": RANKS, "users": OMIT}, RR),
    Case("sampled ranks", evaluate(SAMPLED_RANKS), "correct",
         correct(SAMPLED_RANKS, n_negatives=2), HIT_2),
    Case("sampled ranks by name", evaluate({"user_id": [1], "sampled_rank": [1]}), "correct"),
    Case("SampledRanks", evaluate(SampledRanks([1], 9, 2)), "use `correct`"),
    Case("size beside Ranks", evaluate(WHOLE, n_items=10), "cannot be used with Ranks"),
    Case("rank beyond the size", evaluate([2, 4], n_items=3),
         "row 2, column rank: found 4; .*1 to 3"),
    Case("rank of 2.5", evaluate([2.5, 1], n_items=3), "found 2.5; expected whole numbers"),
    Case("rank of text", evaluate(pd.DataFrame({"rank": ["x"]}), n_items=3), "row 1, column rank"),
    Case("no rows", evaluate(Ranks([], [], [])), "no user has a relevant item"),
    Case("parts of other lengths", call_of(Ranks, [[1, 2], [3]], [1, 2], [0, 0]),
         "differ in length"),
    Case("grades in a meter",
         meter({"scores": SCORES[:1], "positive": [[2, 0, 1]]}, metrics="ndcg@3"),
         "from_scores.*concatenate",
         ranks(Ranks.concatenate, [Ranks.from_scores(SCORES[:1], np.array([[2, 0, 1]]))],
             metrics="ndcg@3"),
         (1 / np.log2(3) + 2 / 2) / (2 + 1 / np.log2(3))),
    # metrics
    Case("f1 without a cut-off", scores("f1"), "f1@10", {"metrics": "f1@2"}, (2 / 3 + 0) / 2),
    Case("cut-off alone", scores("2"), "as in hr@2", {"metrics": "hr@2"}, HIT_2),
    Case("no cut-off", scores("hr"), "as in hit@10", {"metrics": "hit@2"}, HIT_2),
    Case("cut-off of a whole metric", scores("auc@2"), "has no cut-off", {"metrics": "auc"}, AUC),
    Case("cut-off of 0", scores("hr@0"), "at least 1", {"metrics": "hr@1"}, 0),
    Case("misspelt name", scores("mpa@2"), "did you mean map@2", {"metrics": "map@2"},
         (1 / 2 + 0) / 2),
    Case("metric of ratings", scores("rmse"), r"sampled_metrics.rmse\(true, predicted\)",
         lambda: sm.rmse([5.0, 3.0], [4.0, 4.0]), 1),
    Case("pooled metric by user",
         call_of(sm.values_by_user, SCORES, "recall-micro@2", relevant=HELD)
             ._replace(value=np.mean), "use recall@2", {"metrics": "recall@2"}, HIT_2),
    Case("rank below the end", evaluate(CUT), "use rr@2", {"metrics": "rr@2"}, (1 / 2 + 0) / 2),
    Case("rank below the end, uncut", evaluate(CUT), "without up_to", {"data": WHOLE}, RR),
    Case("cut-off below the end", evaluate(CUT, "rr@3"), "up_to=3",
         {"data": Ranks.from_scores(SCORES, HELD, up_to=3)}, RR),
    Case("whole metric of cut ranks", evaluate(CUT, "auc"), "without up_to", {"data": WHOLE}, AUC),
    Case("all candidates are relevant", evaluate(SCORES[:, :2], "rr, auc", **BOTH_RELEVANT),
         "drop auc", {"metrics": "rr"}, 1),
    Case("no other candidates", evaluate(SCORES[:, :2], "auc", **BOTH_RELEVANT),
         "other candidates", {"data": SCORES, "relevant": np.array([[1, 1, 0]] * 2)},
         (1 / 2 + 1 / 2) / 2),
]  # fmt: skip


@each_case(RANK_CASES)
def test_wrong_ranks_and_metrics_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# Samples


def padded(end: float) -> np.ndarray:
    """Return scores of a held-out item and 12 negatives; the first row ends with a given number."""
    return without_score(0, -1, end, np.append(SAMPLE[:, :1], np.tile(SAMPLE[:, 1:], 6), axis=1))


SAMPLE_OPTIONS = {"positive": 0, "n_items": 3541}
NINE_NEGATIVES = {"n_items": 30, "n_negatives": 9}

SAMPLE_CASES = [
    Case("no column of held-out items", correct(SAMPLE), "pass positive", {"positive": 0}, HIT_2),
    Case("relevant beside a sample", correct(SAMPLE, relevant=[0, 0]),
         "columns of held-out items by positive", {"relevant": OMIT, "positive": [0, 0]}, HIT_2),
    Case("flat scores", correct(SAMPLE.ravel(), positive=0),
         r"scores.reshape\(-1, 1 \+ n_negatives\)", {"data": SAMPLE.ravel().reshape(-1, 1 + 2)},
         HIT_2),
    Case("candidates and their scores", correct((IDS, SAMPLE), relevant=[1, 2]),
         r"positive, such as 0, or \(ids == held_out\[:, None\]\).argmax\(axis=1\)",
         {"data": SAMPLE, "relevant": OMIT,
             "positive": (np.array([1, 2])[:, None] == IDS).argmax(axis=1)}, (1 + 1) / 2),
    Case("negatives with gaps", correct(padded(NAN), positive=0, metrics="hr@7"),
         "-inf at their end", {"data": padded(-INF)}, (1 + 0) / 2),
    Case("no score of the held-out item", correct(without_score(1, 0, -INF, SAMPLE), positive=0),
         "missing='last'", {"missing": "last"}, (1 + 0) / 2),
    Case("no negatives", correct([2, 3]), "pass n_negatives", {"n_negatives": 2}, HIT_2),
    Case("no size", correct([2, 3], n_negatives=2).but(n_items=OMIT), "pass n_items",
         {"n_items": 90}, HIT_2),
    Case("no labels", correct(LABELLED.drop(columns="label")), "column label", {"data": LABELLED},
         HIT_2),
    Case("another name of the scores", correct(LABELLED.rename(columns={"score": "weight"})),
         "column score; .*user_id, item_id, weight, label"),
    Case("ranks called rank", correct(SAMPLED_RANKS.rename(columns={"sampled_rank": "rank"}),
             n_negatives=2), "name ranks among negatives sampled_rank", {"data": SAMPLED_RANKS},
         HIT_2),
    Case("full rankings", correct(WHOLE).but(n_items=OMIT), "`evaluate`", evaluate(WHOLE), RR),
    Case("sample of nan", correct(without_score(1, 1, NAN, SAMPLE), positive=0),
         "^row 2: .*column 1 is nan"),
    Case("rows of other lengths", correct([[0.1, 0.2], [0.1]], positive=0),
         "rows of the list differ in length"),
    Case("another number of negatives", correct(SAMPLE, positive=0, n_negatives=5),
         "found n_negatives 2, but"),
    Case("size of text", correct(SAMPLE, positive=0, n_items="50"), "n_items has dtype <U2"),
    Case("sample of nothing", correct(None, positive=0), "found NoneType; expected numbers"),
    Case("positive beside ranks", correct([1, 2], positive=0), "positive"),
    Case("positive beside a table", correct(SAMPLED_RANKS, n_negatives=2, positive=0), "positive"),
    Case("relevant beside sampled ranks",
         correct(SAMPLED_RANKS, n_negatives=2, relevant=TEST_PAIRS), "relevant"),
    Case("relevant beside positive", correct(SAMPLE, positive=0, relevant=TEST_PAIRS), "relevant"),
    Case("masked sample", correct(np.ma.masked_equal(SAMPLE, 0.9), positive=0), "mask"),
    Case("masked sampled ranks", call_of(SampledRanks, np.ma.array([1, 2], mask=[0, 1]), 9, 2),
         "mask"),
    Case("sample of a module", correct(np), "module"),
    Case("number as pairs", call_of(SampledRanks.from_pairs, 5, n_items=9), "int"),
    Case("no relevant items of a run", correct(FRAME, relevant=[], missing="last", n_negatives=2),
         "relevant"),
    Case("negatives of text, pairs",
         call_of(SampledRanks.from_pairs, LABELLED, candidates={"a": ["x"]}, n_items=30,
             n_negatives="2"), "n_negatives"),
    Case("negatives of text, scores", call_of(SampledRanks.from_scores, SAMPLE, n_items=30,
         n_negatives="2", sampling="distinct"), "n_negatives"),
    Case("cut-offs beyond what can be computed",
         call_of(sm.correct, SampledRanks([1, 2, 3], 10**9, 9), "ap", "sampled"), "10,000,000"),
]  # fmt: skip


@each_case(SAMPLE_CASES)
def test_wrong_samples_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# Meters

# Held-out items at rank 7 of 13 and of 12.
LONG_ROW = np.append(0.5, np.linspace(0.0, 1.0, 12))
SHORT_ROW = LONG_ROW[:-1]
PADDED_ROW = np.append(SHORT_ROW, -INF)
UNEVEN_ROWS = np.array([LONG_ROW, np.append(LONG_ROW[:-3], [-INF] * 3)])
BATCH = {"scores": SCORES, "positive": HELD}
OF_A_ROW = {"scores": SCORES[:1], "positive": [2], "users": ["a"]}
OF_B_ROW = {"scores": SCORES[1:], "positive": [0]}
ROW_A = {"scores": SCORES[:1], "positive": [2]}


def merged(options_a: dict[str, Any], options_b: dict[str, Any]) -> Any:
    """Return the value of two meters of one row each."""
    meters = [sm.RankMeter("rr", **options) for options in (options_a, options_b)]
    for each, batch in zip(meters, (ROW_A, OF_B_ROW), strict=True):
        each.update(**batch)
    return meters[0].merge(meters[1]).compute()


METER_CASES = [
    Case("nothing", meter({}), "scores or ranks", {"batches": [BATCH]}, RR),
    Case("no batch", meter(), "call update", {"batches": [BATCH]}, RR),
    Case("scores and ranks", meter({**BATCH, "ranks": [2, 3]}), "either scores or ranks",
         {"batches": [BATCH]}, RR),
    Case("ranks without a size", meter({"ranks": [2, 3]}), "n_items", {"n_items": 3}, RR),
    Case("negatives without a size", sample_meter({"ranks": [2, 3]}, n_negatives=2),
         "needs n_items", {"n_items": 90}, HIT_2),
    Case("ranks among negatives without sizes", sample_meter({"ranks": [2, 3]}), "n_negatives if",
         {"n_items": 90, "n_negatives": 2}, HIT_2),
    Case("another number of negatives", sample_meter({"scores": SAMPLE}, n_items=90, n_negatives=3),
         "1 . n_negatives", {"n_negatives": 2}, HIT_2),
    Case("more scores than items", meter(BATCH, n_items=2), "drop n_items", {"n_items": OMIT},
         RR),
    Case("different sizes", call_of(merged, {}, {"n_items": 3}), "differ in n_items",
         {"options_a": {"n_items": 3}}, RR),
    Case("fewer negatives",
         sample_meter({"scores": LONG_ROW[None]}, {"scores": SHORT_ROW[None]}, metrics="hr@7",
             n_items=90), "pad rows.* with -inf",
         {"batches": [{"scores": LONG_ROW[None]}, {"scores": PADDED_ROW[None]}]}, 1),
    Case("far fewer negatives", sample_meter({"scores": UNEVEN_ROWS}, metrics="hr@7", n_items=90),
         "sampling='distinct' with n_negatives", {"sampling": "distinct", "n_negatives": 12}, 1),
    Case("users of one batch, in all", meter(OF_A_ROW, OF_B_ROW), "with all",
         {"batches": [OF_A_ROW, {**OF_B_ROW, "users": ["b"]}]}, RR),
    Case("users of one batch, in none", meter(OF_A_ROW, OF_B_ROW), "or none",
         {"batches": [ROW_A, OF_B_ROW]}, RR),
    Case("ids of two types", meter(OF_A_ROW, {**OF_B_ROW, "users": [2]}), "ids of one type",
         {"batches": [OF_A_ROW, {**OF_B_ROW, "users": ["2"]}]}, RR),
    Case("user twice", meter({**BATCH, "users": ["a", "a"]}), "visits=",
         {"batches": [{**BATCH, "users": ["a", "a"], "visits": [1, 2]}]}, RR),
    Case("visits without users", meter({**BATCH, "visits": [1, 2]}), "need users",
         {"batches": [{**BATCH, "users": USERS, "visits": [1, 2]}]}, RR),
    Case("rows without an item", meter({"scores": SCORES, "positive": [[0, 0, 1], [0, 0, 0]]}),
         "drop rows", {"batches": [{"scores": SCORES[:1], "positive": [[0, 0, 1]]}]}, 1 / 2),
    Case("no score", meter({**BATCH, "scores": NO_SCORE_HELD}), "missing='last'",
         {"missing": "last"}, (1 / 3 + 1 / 3) / 2),  # the last of three
    Case("score of nan", meter({**BATCH, "scores": without_score(0, 2, NAN)}),
         r"row 1: .*column 2"),
    Case("score of inf", meter({**BATCH, "scores": without_score(1, 0, INF)}),
         r"row 2: .*column 0"),
    Case("sizes of an array", call_of(sm.RankMeter, "hit@3", n_items=np.arange(6)), "n_items"),
    Case("negatives of text", call_of(sm.RankMeter, "hit@3", n_items=9, n_negatives="5"),
         "n_negatives"),
    Case("negatives beyond 64 bits", sample_meter({"ranks": [1]}, n_items=30, n_negatives=2**64),
         "n_negatives"),
    Case("unknown treatment of missing items", call_of(sm.RankMeter, "hit@3", missing="first"),
         "missing"),
]  # fmt: skip


@each_case(METER_CASES)
def test_wrong_batches_of_meters_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)
