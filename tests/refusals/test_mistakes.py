"""Mistakes in well-formed data are refused, warned about, noted, or give the right number.

Each is made in all forms that its data can have. Data and values that are named here and not
defined are those of tests/helpers/many_users.py. What no program can see is not among the mistakes:
lists of two models that were joined without duplicates, and a softmax over users in the place of
items. docs/measured/warnings.md counts how these cases end.
"""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import coo_array, csc_array, csr_array, save_npz

import sampled_metrics as sm
from tests.helpers import cases
from tests.helpers.cases import (
    Call,
    Case,
    Noted,
    OneOf,
    Warned,
    assert_ends_as_expected,
    call_of,
    each_case,
)
from tests.helpers.forms import (
    Forms,
    InForms,
    list_forms,
    lists,
    mark_forms,
    marks,
    matrices,
    matrix_forms,
    new_path,
    pairs,
    table_forms,
    tables,
    these,
    user_item_forms,
)
from tests.helpers.many_users import (
    HELD_OUT,
    HIT_RATE,
    IS_SEEN,
    LISTED_USERS,
    LISTS,
    MASKED,
    N_CANDIDATES,
    N_ITEMS,
    N_NEGATIVES,
    N_USERS,
    NEGATIVES,
    PAIRS,
    POPULARITY,
    RANKS,
    SAMPLE,
    SAMPLED_RANKS,
    SCORES,
    SEEN,
    TEST,
    TOP,
    TOP_ITEMS,
    TOP_SCORES,
    TRAIN,
    UNSCORED,
    USERS,
    WITH_SEEN,
    correct,
    draw_negatives,
    evaluate,
    labelled_pairs,
    of_ranks,
    of_sampled_ranks,
    sample_scores,
    table,
)

# Scores of all items

RNG = np.random.default_rng(1)
NOISE = RNG.normal(size=SCORES.shape)
IN_ORDER = np.argsort(-SCORES, axis=1)
LEFT, SINGULAR_VALUES, RIGHT = np.linalg.svd(SCORES, full_matrices=False)
ITEM_FACTORS = RIGHT.T * SINGULAR_VALUES
SOFTMAX = np.exp(8 * (SCORES - SCORES.max(axis=1, keepdims=True))).astype(np.float16)
SIGMOID = (1 / (1 + np.exp(-10 * (SCORES + 8)))).astype(np.float32)
LEAST = float(np.finfo(np.float32).min)
IS_HELD_OUT = np.zeros(SCORES.shape, bool)
IS_HELD_OUT[USERS, HELD_OUT] = True
HELD_OUT_SEEN = csr_array((IS_SEEN | IS_HELD_OUT).astype(float))
OF_FIRST_ITEMS = np.where(HELD_OUT < N_USERS, HELD_OUT, -1)
NAMED_TEST = TEST.assign(user_id=TEST["user_id"].map("u{}".format))

SCORE_CASES = [
    Case("seen items forgotten", evaluate(matrices(SCORES)), Noted("seen")),
    Case("seen items forgotten, factors", evaluate((SCORES, np.eye(N_ITEMS))), Noted("seen")),
    Case("seen items forgotten, function", evaluate(lambda users: SCORES[users]), Noted("seen")),
    Case("distances as scores", evaluate(matrices(100 - SCORES), seen=SEEN),
         Warned("random order.*higher scores"), {"data": SCORES}, HIT_RATE),
    Case("distances from a function", evaluate(lambda users: 100 - SCORES[users], seen=SEEN),
         Warned("random order.*higher scores"), {"data": SCORES}, HIT_RATE),
    Case("scores transposed", evaluate(matrices(SCORES.T.copy()), seen=SEEN),
         "relevant items .*shape", {"data": SCORES}, HIT_RATE),
    Case("square scores transposed", evaluate(matrices(SCORES[:, :N_USERS].T.copy()),
         OF_FIRST_ITEMS), Warned("random order.*rows.* users")),
    Case("columns from 1", evaluate(matrices(SCORES), np.minimum(HELD_OUT + 1, N_ITEMS - 1),
         seen=SEEN), "among the seen items"),
    Case("held-out items among seen ones",
         evaluate(SCORES, TEST, seen=tables(pd.concat([TRAIN, TEST]))), "among the seen items",
         {"seen": TRAIN}, HIT_RATE),
    Case("held-out items among seen ones, matrix", evaluate(SCORES, seen=HELD_OUT_SEEN),
         "among the seen items", {"seen": SEEN}, HIT_RATE),
    Case("held-out items masked as seen",
         evaluate(matrices(np.where(IS_HELD_OUT, -np.inf, MASKED))), "score -inf"),
    Case("not a number among scores",
         evaluate(matrices(np.where(np.abs(NOISE) < 0.1, np.nan, SCORES)), seen=SEEN), "is nan"),
    Case("probabilities in half precision", evaluate(matrices(SOFTMAX), seen=SEEN),
         Warned("rows are equal")),
    Case("rounded ratings",
         evaluate(matrices(np.clip(np.round(SCORES / 3 + 4), 1, 5)), seen=SEEN), Warned("rounded")),
    Case("saturated sigmoid", evaluate(matrices(SIGMOID), seen=SEEN), Warned("low precision")),
    Case("seen items masked by 0", cases.evaluate(matrices(np.where(IS_SEEN, 0.0, SCORES - 12)),
         "auc", relevant=HELD_OUT), Noted("seen")),
    Case("seen items masked by the least number",
         cases.evaluate(matrices(np.where(IS_SEEN, LEAST, SCORES - 12)), "auc", relevant=HELD_OUT),
         Noted("seen")),
    Case("argsort as scores", evaluate(matrices(IN_ORDER), seen=SEEN), "from_top_k"),
    Case("ranks of items as scores",
         evaluate(matrices(np.argsort(IN_ORDER, axis=1) + 1), seen=SEEN), "from_top_k"),
    Case("top items as scores", evaluate(matrices(TOP_ITEMS)), "from_top_k"),
    Case("factors in the wrong order", evaluate((ITEM_FACTORS, LEFT), seen=SEEN),
         "relevant items .*shape", {"data": (LEFT, ITEM_FACTORS)}, HIT_RATE),
    Case("lists of factors in the wrong order",
         evaluate((ITEM_FACTORS.tolist(), LEFT.tolist()), seen=SEEN), "relevant items .*shape"),
    Case("index is not the users", evaluate(pd.DataFrame(SCORES), tables(NAMED_TEST)),
         "user_id: found u0"),
]  # fmt: skip


@each_case(SCORE_CASES)
def test_mistake_in_scores_ends_as_expected_in_all_forms(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


# Lists

PLACES = np.tile(np.arange(1, TOP + 1), N_USERS)
SHUFFLED = LISTS.sample(frac=1, random_state=1)
FROM_0 = UNSCORED.assign(rank=PLACES - 1).sample(frac=1, random_state=0)
RECALLED = LISTS.merge(TEST, on=["user_id", "item_id"])
OF_RECALLED = TEST[TEST["user_id"].isin(RECALLED["user_id"])]
OTHER_TOP = np.argsort(-MASKED - NOISE, axis=1)[:, :TOP]
TWO_MODELS = pd.concat([LISTS, table(LISTED_USERS, OTHER_TOP, score=TOP - PLACES)])
IS_FILLED = np.arange(TOP) >= np.random.default_rng(3).integers(5, TOP + 1, N_USERS)[:, None]
FILLED_ITEMS = np.where(IS_FILLED, -1, TOP_ITEMS)
FILLED_SCORES = np.where(IS_FILLED, np.finfo(np.float32).min, TOP_SCORES)
FILLED_LISTS = table(LISTED_USERS, FILLED_ITEMS, score=FILLED_SCORES.ravel())
ITEM_NUMBERS = np.random.default_rng(4).permutation(N_ITEMS)[TOP_ITEMS]


def by_user(items: np.ndarray) -> dict[int, list[int]]:
    return dict(enumerate(np.reshape(items, (N_USERS, -1)).tolist()))


class UserKey(NamedTuple):
    """A key of the collections of LensKit."""

    user_id: int


def by_key(items: np.ndarray) -> dict[UserKey, list[int]]:
    return {UserKey(user): of_user for user, of_user in by_user(items).items()}


def unordered(folder: Path) -> Forms:
    sets = user_item_forms(UNSCORED, folder)["sets"]
    return {"sets": sets, "frozen": {user: frozenset(items) for user, items in sets.items()}}


def unordered_series(folder: Path) -> Forms:
    ids = list("ab") * (N_USERS // 2)
    return {form: pd.Series(data).set_axis(ids) for form, data in unordered(folder).items()}


LIST_CASES = [
    Case("worst first by scores", evaluate(tables(LISTS.assign(score=10 - LISTS["score"],
         rank=PLACES)), TEST), HIT_RATE),
    Case("places from 0", evaluate(tables(FROM_0), TEST), HIT_RATE),
    Case("duplicates in lists", evaluate(tables(UNSCORED.loc[UNSCORED.index.repeat(2)]), TEST),
         "row 2: duplicate of row 1", {"data": UNSCORED}, HIT_RATE),
    Case("ids as decimals", evaluate(LISTS, tables(TEST.astype({"item_id": float}))),
         OneOf([HIT_RATE, "'298.0'.*expected the same ids"])),  # text, in files of text
    Case("ids and scores swapped", evaluate((TOP_SCORES, TOP_ITEMS)), HIT_RATE),
    *(Case(f"scores are called {name}", evaluate(tables(SHUFFLED.rename(columns={"score": name})),
           TEST), HIT_RATE) for name in ("prediction", "est", "pred", "logit", "rating")),
    *(Case(f"scores are called {name}", evaluate(tables(SHUFFLED.rename(columns={"score": name})),
           TEST), f"column {name} .*name it score", {"data": SHUFFLED}, HIT_RATE)
      for name in ("weight", "affinity", "0")),
    Case("best first without scores", evaluate(lists(UNSCORED), TEST), HIT_RATE),
    Case("best first with times", evaluate(tables(UNSCORED.assign(timestamp=881250949)), TEST),
         HIT_RATE),
    Case("rank and prediction contradict", evaluate(tables(UNSCORED.assign(rank=PLACES,
         score=NOISE[:, :TOP].ravel())), TEST), Warned("contradict"),
         {"data": UNSCORED}, HIT_RATE),
    Case("runs of users", evaluate(lists(SHUFFLED), TEST), HIT_RATE),
    Case("lists without order", evaluate(InForms(unordered), TEST), "set has no order"),
    Case("series without order", evaluate(InForms(unordered_series), TEST), "set has no order"),
    Case("columns as users", evaluate(lists(WITH_SEEN), TEST.to_dict("list"),
         seen=TRAIN.to_dict("list")), HIT_RATE),
    Case("two models in one frame", evaluate(tables(TWO_MODELS), TEST), "duplicate of row"),
    Case("keys of lists are tuples", evaluate(by_key(TOP_ITEMS), by_user(HELD_OUT)), "user_id"),
    Case("all keys are tuples", evaluate(by_key(TOP_ITEMS), by_key(HELD_OUT)), "user_id"),
    Case("joined with the test", evaluate(tables(RECALLED), TEST), "missing='last'"),
    Case("joined with the test, others last", evaluate(tables(RECALLED), TEST, missing="last"),
         Warned("joined"), {"data": LISTS}, HIT_RATE),
    Case("only users with a hit", evaluate(tables(LISTS[LISTS["user_id"].isin(
         RECALLED["user_id"])]), OF_RECALLED), Warned("contain every relevant item")),
    Case("lists filled up with -1", evaluate(tables(FILLED_LISTS), TEST), "missing='last'"),
    Case("arrays filled up with -1", evaluate((FILLED_ITEMS, FILLED_SCORES)), "missing='last'"),
    Case("items filled up with -1", evaluate(FILLED_ITEMS), "from_top_k"),
    Case("dictionary filled up with -1", evaluate(by_user(FILLED_ITEMS), TEST), "missing='last'"),
    Case("numbers of items as ids", evaluate(tables(table(LISTED_USERS, ITEM_NUMBERS)), TEST),
         Warned("by chance"), {"data": UNSCORED}, HIT_RATE),
    Case("numbers of items as ids, dictionary", evaluate(by_user(ITEM_NUMBERS), TEST),
         Warned("by chance"), {"data": by_user(TOP_ITEMS)}, HIT_RATE),
]  # fmt: skip


@each_case(LIST_CASES)
def test_mistake_in_lists_ends_as_expected_in_all_forms(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


# Ranks and samples

ROW_LENGTHS = np.random.default_rng(2).integers(N_NEGATIVES // 2, N_NEGATIVES + 1, size=N_USERS)
IS_PADDING = np.arange(N_NEGATIVES + 1) > ROW_LENGTHS[:, None]
RETRIEVER_WEIGHTS = np.exp(4 * (SCORES - SCORES.mean(axis=0)))
SHARED = np.tile(np.random.default_rng(5).choice(N_ITEMS, N_NEGATIVES, replace=False), (N_USERS, 1))
WITH_HELD_OUT = np.column_stack([HELD_OUT, NEGATIVES[:, 1:]])
SAMPLE_IN_MATRIX = np.full(SCORES.shape, -np.inf)
np.put_along_axis(SAMPLE_IN_MATRIX, np.column_stack([HELD_OUT, NEGATIVES]), SAMPLE, axis=1)
HITS_AND_ONE = np.column_stack([HELD_OUT[:, None] == TOP_ITEMS, USERS >= 0]).astype(int)
EACH_THIRD = USERS[:, None] % 3 == 0
MARKS_1_TO_5 = np.clip(np.round(SAMPLE / 2 + 5), 1, 5)
UNLABELLED = PAIRS.drop(columns="label").sample(frac=1, random_state=1)
ANSWERS = UNLABELLED.sort_values(["user_id", "score"], ascending=[True, False])[
    ["user_id", "item_id"]
]
RANKS_TO_11 = np.random.default_rng(1).integers(1, 32, 120) // 3 + 1
SIZES = np.where(np.arange(120) % 3, 3000, 31)  # of some rows, the size of the sample
SOME_SIZES = {"sampled_rank": RANKS_TO_11, "n_candidates": SIZES, "n_negatives": 30}
REPEATED = np.random.default_rng(4).integers(0, N_ITEMS // 3, size=(N_USERS, N_NEGATIVES))
REPEATED[HELD_OUT[:, None] == REPEATED] = N_ITEMS - 1
NOT_UNIFORM = "check 'uniformity'"


def labels_of_types(folder: Path) -> Forms:
    return {
        f"{kind.__name__}, {form}": data
        for kind in (bool, int, float, str)
        for form, data in table_forms(PAIRS.astype({"label": kind}), folder).items()
    }


SAMPLE_CASES = [
    Case("exact ranks from 0", of_ranks(RANKS - 1), "rank: found 0"),
    Case("not found is 0", of_ranks(np.where(RANKS <= 20, RANKS, 0)), "rank: found 0"),
    Case("not found is one more", of_ranks(np.minimum(RANKS, 101), "auc"), Warned("largest rank")),
    Case("sampled ranks as exact ones", of_ranks(SAMPLED_RANKS), Warned("largest rank")),
    Case("percentiles as ranks", of_ranks(RANKS / N_CANDIDATES), "rank: found 0.05"),
    Case("positive at the other end", correct(matrices(SAMPLE), positive=-1),
         Warned("in a random order"), {"positive": 0, "data": SAMPLE}, 1),
    Case("sorted before the cut", correct(matrices(-np.sort(-SAMPLE, axis=1)), positive=0),
         Warned("sorted")),
    Case("sorted before the cut, ranks", of_sampled_ranks(np.ones(N_USERS, int)),
         Warned("sorted")),
    Case("candidates are the sample", correct(matrices(SAMPLE), positive=0,
         n_items=N_NEGATIVES + 1), Warned("n_items is 51")),
    Case("candidates are the sample, pairs", correct(tables(PAIRS), n_items=N_NEGATIVES + 1),
         Warned("n_items is 51")),
    Case("labels inverted", correct(tables(PAIRS.assign(label=1 - PAIRS["label"]))), NOT_UNIFORM,
         {"data": PAIRS}, 1),
    Case("sampled ranks from 0", of_sampled_ranks(SAMPLED_RANKS - 1), "sampled_rank: found 0",
         {"data": SAMPLED_RANKS}, 1),
    Case("popular negatives", correct(tables(labelled_pairs(draw_negatives(POPULARITY)))),
         NOT_UNIFORM),
    Case("top of a retriever", correct(tables(labelled_pairs(draw_negatives(RETRIEVER_WEIGHTS)))),
         NOT_UNIFORM),
    Case("negatives shared by all", correct(tables(labelled_pairs(SHARED))), Warned("shared")),
    Case("held-out item among its negatives",
         correct(matrices(sample_scores(WITH_HELD_OUT)), positive=0), Warned("itself")),
    Case("held-out item among its negatives, pairs", correct(tables(labelled_pairs(WITH_HELD_OUT))),
         Warned("itself")),
    Case("rows padded with 0", correct(matrices(np.where(IS_PADDING, 0, SAMPLE + 15)), positive=0),
         1),
    Case("distances of a sample", correct(matrices(100 - SAMPLE), positive=0),
         Warned("in a random order"), {"data": SAMPLE}, 1),
    Case("distances of a sample, pairs", correct(tables(PAIRS.assign(score=100 - PAIRS["score"]))),
         Warned("in a random order"), {"data": PAIRS}, 1),
    Case("sample in a matrix", evaluate(matrices(SAMPLE_IN_MATRIX)), Warned("51 candidates")),
    Case("sample in a matrix beside seen items", evaluate(matrices(SAMPLE_IN_MATRIX), seen=SEEN),
         Warned("51 candidates")),
    Case("hits as scores", evaluate(matrices(HITS_AND_ONE), np.zeros(N_USERS, int)),
         Warned("sampled candidates")),
    Case("hits as scores of a sample", correct(matrices(HITS_AND_ONE), positive=-1),
         "no plausible distribution"),
    Case("pytorch, rows of nan filled with 0", evaluate(matrices(np.where(EACH_THIRD, 0.0, SCORES)),
         seen=SEEN), Warned("rows are equal")),
    Case("pytorch, rows of nan filled with 0 in a sample",
         correct(matrices(np.where(EACH_THIRD, 0.0, SAMPLE)), positive=0),
         Warned("rows are equal")),
    Case("pytorch, positive at varying places",
         correct(matrices(np.random.default_rng(2).permuted(SAMPLE, axis=1)), positive=0),
         Warned("in a random order")),
    Case("order as scores of a sample", correct(matrices(np.argsort(-SAMPLE, axis=1)), positive=0),
         Warned("in a random order")),
    Case("marks from 1 to 5", correct(matrices(MARKS_1_TO_5), positive=0), Warned("ties decide")),
    Case("marks from 1 to 5, pairs", correct(tables(PAIRS.assign(score=MARKS_1_TO_5.ravel()))),
         Warned("ties decide")),
    Case("candidates as a full ranking", evaluate(tables(UNLABELLED), TEST),
         Warned("contain every relevant item")),
    Case("candidates as a complete ranking", evaluate(tables(UNLABELLED), TEST, complete=True),
         Warned("51 candidates")),
    Case("answers as a full ranking", evaluate(tables(ANSWERS), TEST),
         Warned("contain every relevant item")),
    Case("answers as a complete ranking", evaluate(tables(ANSWERS), TEST, complete=True),
         Warned("51 candidates")),
    Case("candidates as lists of users",
         correct({user: [held, *range(30)] for user, held in enumerate(HELD_OUT.tolist())},
             relevant=TEST), "several held-out items"),
    Case("candidates of a sample in some rows",
         correct(tables(pd.DataFrame(SOME_SIZES)), n_items=None, shape="none"),
         Warned("largest rank")),
    Case("candidates of a sample in some records",
         correct(sm.SampledRanks(RANKS_TO_11, SIZES, 30), n_items=None, shape="none"),
         Warned("largest rank")),
    Case("negatives that repeat", correct(tables(labelled_pairs(REPEATED))), NOT_UNIFORM),
    Case("labels of other types", correct(InForms(labels_of_types)),
         OneOf([1, "label: found True"])),
]  # fmt: skip


@each_case(SAMPLE_CASES)
def test_mistake_in_samples_ends_as_expected_in_all_forms(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


# Two recommenders, printed numbers, and budgets

HR = np.mean(SAMPLED_RANKS <= 10)
NDCG = np.mean((SAMPLED_RANKS <= 10) / np.log2(1 + SAMPLED_RANKS))
WITH_INFINITY = np.where(np.arange(N_ITEMS) % 7 == 0, np.inf, SCORES)


def compare(data: Any) -> Call:
    both = {"A": pd.DataFrame({"rank": RANKS}), "B": data}
    return call_of(sm.compare, both, "hit@10", n_items=N_CANDIDATES)


def reported(hit_rate: float, ndcg: float) -> Call:
    printed = {"hit@10": hit_rate, "ndcg@10": ndcg}
    sizes = {"n_items": N_CANDIDATES, "n_negatives": N_NEGATIVES}
    return call_of(sm.reported, printed, "hit@10", **sizes)


def on_budget(recommender: Any) -> Call:
    options = {"relevant": HELD_OUT, "seen": SEEN, "budget": 60}
    call = call_of(sm.evaluate_on_budget, recommender, "hit@10", **options)
    return call._replace(value=lambda result: result.estimates[0][0].value)


def normalised_in_a_call(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return scores as rerankers that normalise the scores of a call."""
    odds = np.exp(SCORES[users, items])
    return odds / odds.sum()


def sorted_in_a_call(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return scores in the order of a merge, which sorts its rows."""
    return SCORES[users, items][np.lexsort((items, users))]


OTHER_CASES = [
    Case("full ranks against sampled ones",
         compare(tables(pd.DataFrame({"sampled_rank": SAMPLED_RANKS}))), "one kind"),
    Case("printed in percent", reported(round(100 * HR, 2), round(100 * NDCG, 2)), "percent"),
    Case("one printed in percent", reported(round(100 * HR, 2), round(NDCG, 4)), "percent"),
    Case("printed numbers swapped", reported(round(NDCG, 4), round(HR, 4)), "no sampled ranks"),
    Case("budget, constant", on_budget(np.zeros(SCORES.shape)), Warned("scores .*are equal")),
    Case("budget, constant function", on_budget(lambda users, _: np.zeros(len(users))),
         Warned("scores .*are equal")),
    Case("budget, distances", on_budget(-SCORES), Warned("in a random order")),
    Case("budget, function of distances", on_budget(lambda users, items: -SCORES[users, items]),
         Warned("in a random order")),
    Case("budget, arguments swapped",
         on_budget(lambda items, users: SCORES[users % N_USERS, items]),
         Warned("in a random order")),
    Case("budget, infinite scores", on_budget(WITH_INFINITY), "is inf"),
    Case("budget, function of infinite scores",
         on_budget(lambda users, items: WITH_INFINITY[users, items]), "is inf"),
    Case("budget, scores of a call are normalised", on_budget(normalised_in_a_call),
         Warned("normalised")),
    Case("budget, scores of a call are sorted", on_budget(sorted_in_a_call), Warned("sorted")),
]  # fmt: skip


@each_case(OTHER_CASES)
def test_mistake_in_comparisons_and_budgets_ends_as_expected_in_all_forms(
    case: Case, tmp_path: Path
) -> None:
    assert_ends_as_expected(case, tmp_path)


# Ids that match no other table, or by position; pairs with values

ID_CHANGES = {
    "text of decimals": lambda ids: ids.astype(float).astype(str),
    "zeros before": lambda ids: ids.map("{:05}".format),
    "prefix": lambda ids: ids.map("i{}".format),
    "other numbers": lambda ids: ids + 1_000_000,
}
NO_LIST, OTHER_IDS = "no list for any relevant user", "expected the same ids"


def other_ids(frame: pd.DataFrame, make_forms: Any = user_item_forms) -> InForms:
    """Return pairs with other ids, each change in a quarter of the forms."""

    def make(folder: Path) -> Forms:
        changed = {}
        for number, (kind, change) in enumerate(ID_CHANGES.items()):
            for place, column in enumerate(("user_id", "item_id")):
                forms = make_forms(frame.assign(**{column: change(frame[column])}), folder)
                for form, data in [*forms.items()][(2 * number + place) % 4 :: 4]:
                    changed[f"{kind} of {column}, {form}"] = data
        return changed

    return InForms(make)


def graded(frame: pd.DataFrame) -> InForms:
    """Return pairs with a column relevance in everything that holds them."""

    def make(folder: Path) -> Forms:
        qrels = new_path(folder, "a.qrels")
        rows = frame.assign(zero=0)[["user_id", "zero", "item_id", "relevance"]]
        rows.to_csv(qrels, sep=" ", header=False, index=False)
        grades = {
            user: dict(zip(of_user["item_id"], of_user["relevance"], strict=True))
            for user, of_user in frame.groupby("user_id")
        }
        return table_forms(frame, folder) | {"dictionaries": grades, "trec": qrels}

    return InForms(make)


def seen_negatives(seen: Any) -> Call:
    """Return whether the check finds that all negatives are seen items."""

    def found(checks: Any) -> float:
        (check,) = (each for each in checks if each.name == "seen items")
        return float(not check.passed)

    return call_of(sm.check_negatives, TRAIN, TEST, seen)._replace(value=found)


def named(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(user_id=frame["user_id"].map("u{}".format))


THREE_EACH = table(
    np.repeat(USERS, 3), HELD_OUT[:, None] + [0, 1, 2], relevance=[1, 0, 0] * N_USERS
)
ALL_PAIRS = pd.concat([TRAIN.assign(relevance=1), TEST.assign(relevance=0)])
SHIFTED = TRAIN.assign(user_id=TRAIN["user_id"] + N_USERS - 4)

ID_CASES = [
    Case("grades of 0 are not relevant", evaluate(SHUFFLED, graded(THREE_EACH)), HIT_RATE),
    Case("relevant marks beside scores",
         evaluate(SCORES, marks(IS_HELD_OUT.astype(float)), seen=SEEN), HIT_RATE),
    Case("values of 0 are not seen", evaluate(SHUFFLED, TEST, seen=graded(ALL_PAIRS)),
         OneOf([HIT_RATE, Warned("label 0 do not count")])),
    Case("other ids of seen", evaluate(WITH_SEEN, TEST, seen=other_ids(TRAIN)),
         Warned("0 of .*ids of the (users|items) of seen"), {"seen": TRAIN}, HIT_RATE),
    Case("other ids of seen, beside scores", evaluate(SCORES, TEST, seen=other_ids(TRAIN)),
         OneOf([HIT_RATE, "_id: found (i|1000)"])),  # text of numbers is read as numbers
    Case("other ids of relevant", evaluate(SHUFFLED, other_ids(TEST)), OneOf([NO_LIST, OTHER_IDS])),
    Case("other ids of relevant, beside scores", evaluate(SCORES, other_ids(TEST), seen=SEEN),
         OneOf([HIT_RATE, "_id: found (i|1000)"])),
    Case("other ids of lists", evaluate(other_ids(SHUFFLED, list_forms), TEST),
         OneOf([NO_LIST, OTHER_IDS])),
    Case("other ids of negatives", seen_negatives(other_ids(TRAIN)),
         Warned("0 of .*ids of the (users|items) of seen"), {"seen": TRAIN}, 1),
    Case("other ids of seen, by position", evaluate(named(WITH_SEEN), named(TEST),
         seen=marks(IS_SEEN.astype(float))), "^.*seen (items are float|has 300 rows without ids)"),
    Case("other ids of seen, few common ids", evaluate(WITH_SEEN, TEST, seen=pairs(SHIFTED)),
         Warned("4 of .*ids of the users of seen"), {"seen": TRAIN}, HIT_RATE),
]  # fmt: skip


@each_case(ID_CASES)
def test_mistake_in_ids_ends_as_expected_in_all_forms(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


# Other kinds of data

RATED = TEST.assign(rating=4, timestamp=881250949 + TEST["user_id"])
SOME_MISSING = TEST.assign(item_id=np.where(USERS % 3 == 0, np.nan, HELD_OUT))
PAIR_ROWS = TEST.to_numpy().tolist()
FEW_ITEMS = SCORES[:, :200]  # fewer than users
TWICE = USERS % (N_USERS - 1)  # user 0 is the first and the last


def ratings(folder: Path) -> Forms:
    """Return ratings of MovieLens in files and tables without names, and in arrays."""
    forms: Forms = {}
    for name in ("u.data", "u.tsv", "u.csv", "u.txt", "u.qrels"):
        forms[name] = new_path(folder, name)
        separator = "," if name.endswith("csv") else "\t"
        RATED.to_csv(forms[name], sep=separator, header=False, index=False)
    forms |= table_forms(RATED.set_axis(list("0123"), axis=1), folder)
    for width in (2, 3, 4):
        for form, data in matrix_forms(RATED.to_numpy()[:, :width], folder).items():
            forms[f"{width} columns, {form}"] = data
    return forms


def with_holes(matrix: np.ndarray) -> InForms:
    """Return marks with nan or -inf in the place of 0."""
    return InForms(
        lambda folder: {
            f"{number}, {form}": data
            for number in (np.nan, -np.inf)
            for make_forms in (mark_forms, matrix_forms)
            for form, data in make_forms(np.where(matrix, 1.0, number), folder).items()
        }
    )


def damaged(matrix: np.ndarray) -> InForms:
    """Return sparse matrices with an index that is too large."""

    def make(folder: Path) -> Forms:
        forms: Forms = {}
        for kind, name, too_large in (
            (csr_array, "indices", N_ITEMS),
            (csr_array, "indptr", N_ITEMS),
            (coo_array, "col", N_ITEMS),
            (csc_array, "indices", N_USERS),
        ):
            wrong = kind(matrix)
            indices = getattr(wrong, name).copy()
            indices[3] = too_large
            setattr(wrong, name, indices)
            path = new_path(folder, "s.npz")
            save_npz(path, wrong)
            forms |= {f"{kind.__name__} {name}": wrong, f"{kind.__name__} {name}, npz": path}
        return forms

    return InForms(make)


def of_types(array: np.ndarray, *types: str) -> InForms:
    return these(**{kind: array.astype(kind) for kind in types})


def floats(folder: Path) -> Forms:
    return {
        f"{kind}, {form}": data
        for kind in ("f2", "f4", ">f4", ">f8")
        for form, data in matrix_forms(SCORES.astype(kind), folder).items()
    }


def archives(folder: Path) -> Forms:
    """Return archives with an array that is not needed, and with text in place of an array."""
    unused, text = new_path(folder, "s.npz"), new_path(folder, "t.npz")
    np.savez(unused, scores=SCORES, seen=IS_SEEN, unused=np.array([{}], object))
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("scores.npy", b"hello")
    return {"unused": unused, "text": text}


INTEGERS = (">i4", "i2", "u8", "O")
OF_RATINGS = (  # each names what is expected, or the first fault
    "expected (qrels|user_id|relevant items|seen items)|a DataFrame with columns user_id"
    "|not (relevant|seen) items|duplicate of row"
)
KIND_CASES = [
    Case("ratings of MovieLens as relevant", evaluate(SHUFFLED, InForms(ratings)),
         OneOf([HIT_RATE, OF_RATINGS])),
    Case("ratings of MovieLens as seen", evaluate(SHUFFLED, TEST, seen=InForms(ratings)),
         OneOf(["relevant and seen", OF_RATINGS])),
    Case("relevant pairs as lists of items",
         evaluate(SHUFFLED, these(lists=PAIR_ROWS, tuples=[*map(tuple, PAIR_ROWS)])),
         "rows of 2 numbers.*DataFrame", {"relevant": TEST}, HIT_RATE),
    Case("seen pairs as lists of items", evaluate(SHUFFLED, TEST,
         seen=these(lists=PAIR_ROWS, tuples=[*map(tuple, PAIR_ROWS)])),
         "rows of 2 numbers.*DataFrame"),
    Case("relevant pairs as lists of columns",
         evaluate(FEW_ITEMS, these(lists=PAIR_ROWS, tuples=[*map(tuple, PAIR_ROWS)])),
         "column relevant: found .*columns, 0 to 199"),
    Case("holes in relevant marks", evaluate(SCORES, with_holes(IS_HELD_OUT), seen=SEEN),
         "relevant(: found columns| has .*not finite| items in an array)"),
    Case("holes in seen marks", evaluate(SCORES, seen=with_holes(IS_SEEN)),
         "seen(: found columns| has .*not finite| items in an array)"),
    Case("missing ids of relevant items", evaluate(SHUFFLED, tables(SOME_MISSING)),
         "item_id: found (nothing|nan)"),
    Case("missing ids of seen items", evaluate(SHUFFLED, TEST, seen=tables(SOME_MISSING)),
         "item_id: found (nothing|nan)"),
    Case("damaged scores", evaluate(damaged(SCORES)), "damaged|found an array"),
    Case("damaged seen items", evaluate(SCORES, seen=damaged(IS_SEEN * 1.0)), "damaged|exceeds"),
    Case("damaged relevant items", evaluate(SCORES, damaged(IS_SEEN * 1.0)), "damaged|exceeds"),
    Case("archives with something else", evaluate(InForms(archives)),
         r"found an array|scores are \|S5"),
    Case("users twice, rank", call_of(sm.rank, SCORES, None, HELD_OUT, users=TWICE),
         "row 300: duplicate users 0"),
    Case("users twice, Ranks",
         call_of(sm.Ranks, [N_ITEMS] * N_USERS, RANKS - 1, [0] * N_USERS, users=TWICE),
         "row 300: duplicate users 0"),
    Case("scores of other types", evaluate(InForms(floats), seen=SEEN), HIT_RATE),
    Case("relevant items of other types",
         evaluate(SCORES, of_types(HELD_OUT, *INTEGERS), seen=SEEN), HIT_RATE),
    Case("seen items of other types",
         evaluate(SCORES, seen=of_types(IS_SEEN.astype(int), *INTEGERS, "i1", "f8", "f2")),
         HIT_RATE),
]  # fmt: skip


@each_case(KIND_CASES)
def test_data_of_another_kind_ends_as_expected_in_all_forms(case: Case, tmp_path: Path) -> None:
    assert_ends_as_expected(case, tmp_path)


MISTAKES = SCORE_CASES + LIST_CASES + SAMPLE_CASES + OTHER_CASES + ID_CASES + KIND_CASES


def test_run_and_qrels_swapped(tmp_path: Path) -> None:
    run, qrels = tmp_path / "a.run", tmp_path / "b.qrels"
    rows = zip(LISTED_USERS, LISTS["item_id"], LISTS["score"], strict=True)
    run.write_text("".join(f"{user} Q0 {item} 1 {score} me\n" for user, item, score in rows))
    qrels.write_text("".join(f"{user} 0 {item} 1\n" for user, item in enumerate(HELD_OUT)))
    assert_ends_as_expected(Case("right", evaluate(run, qrels), HIT_RATE))
    assert_ends_as_expected(Case("swapped", evaluate(qrels, run), "relevant|lists"))
