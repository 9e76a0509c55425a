"""Mistakes in well-formed data are refused, warned about, or give the right number.

Each mistake is made in a fifth of the forms that its data can have, and by the long tests in all;
tests/read compares all forms. What no program can see is not among the mistakes: lists of two
models that were joined without duplicates, and a softmax over users in the place of items.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.forms import Forms, matrix_forms, table_forms
from tests.helpers.mistakes import Mistake, one_form, pairs_table, silent_forms

USERS, ITEMS, SEEN, N_NEGATIVES, CUTOFF = 300, 400, 12, 50, 10
N_CANDIDATES = ITEMS - SEEN
METRIC = f"hit@{CUTOFF}"
ALL_USERS = np.arange(USERS)

# Users with seen and held-out items, and scores by which seen items are too high
RNG = np.random.default_rng(11)
POPULARITY = 1 / np.arange(10, ITEMS + 10)
TASTE = RNG.normal(size=(USERS, 8)) @ RNG.normal(size=(8, ITEMS)) / 2
ITEM_ORDER = RNG.permutation(ITEMS)
TASTE = (TASTE + np.log(POPULARITY))[:, ITEM_ORDER]
POPULARITY = POPULARITY[ITEM_ORDER]
LIKED = np.argsort(-TASTE - RNG.gumbel(size=TASTE.shape), axis=1)[:, : SEEN + 1]
HELD_OUT_PLACE = RNG.integers(SEEN + 1, size=USERS)
HELD_OUT = LIKED[ALL_USERS, HELD_OUT_PLACE]
IS_SEEN_PLACE = np.arange(SEEN + 1) != HELD_OUT_PLACE[:, None]
SEEN_ITEMS = LIKED[IS_SEEN_PLACE].reshape(USERS, SEEN)
IS_SEEN = np.zeros((USERS, ITEMS), bool)
np.put_along_axis(IS_SEEN, SEEN_ITEMS, True, axis=1)
SCORES = TASTE + RNG.normal(size=TASTE.shape) / 2 + 2 * IS_SEEN
MASKED = np.where(IS_SEEN, -np.inf, SCORES)
RANKS = 1 + (MASKED[ALL_USERS, HELD_OUT][:, None] < MASKED).sum(axis=1)
HIT_RATE = float(np.mean(RANKS <= CUTOFF))

SEEN_MATRIX = csr_array(IS_SEEN.astype(float))
SEEN_TABLE = pairs_table(np.repeat(ALL_USERS, SEEN), SEEN_ITEMS.ravel())
TEST_TABLE = pairs_table(ALL_USERS, HELD_OUT)
LISTED_USERS = np.repeat(ALL_USERS, 20)
TOP_ITEMS = np.argsort(-MASKED, axis=1, kind="stable")[:, :20]
TOP_SCORES = np.take_along_axis(MASKED, TOP_ITEMS, axis=1)
UNSCORED_LISTS = pairs_table(LISTED_USERS, TOP_ITEMS.ravel())
LISTS = UNSCORED_LISTS.assign(score=TOP_SCORES.ravel())


def draw_negatives(weights: Any = 1.0) -> np.ndarray:
    """Draw items without replacement by weights, which are neither seen nor held out."""
    keys = np.log(weights) + np.random.default_rng(7).gumbel(size=(USERS, ITEMS))
    keys[IS_SEEN] = -np.inf
    keys[ALL_USERS, HELD_OUT] = -np.inf
    return np.argsort(-keys, axis=1)[:, :N_NEGATIVES]


def sample_items(negatives: np.ndarray) -> np.ndarray:
    return np.column_stack([HELD_OUT, negatives])


def sample_scores(negatives: np.ndarray) -> np.ndarray:
    """Return scores of the held-out item and then of the negatives."""
    return np.take_along_axis(SCORES, sample_items(negatives), axis=1)


def labelled_pairs(negatives: np.ndarray) -> pd.DataFrame:
    items = sample_items(negatives)
    labels = np.tile(np.arange(items.shape[1]) == 0, USERS).astype(int)
    frame = pairs_table(np.repeat(ALL_USERS, items.shape[1]), items.ravel())
    return frame.assign(score=sample_scores(negatives).ravel(), label=labels)


NEGATIVES = draw_negatives()
SAMPLE = sample_scores(NEGATIVES)
SAMPLED_RANKS = 1 + (SAMPLE[:, 1:] > SAMPLE[:, :1]).sum(axis=1)
PAIRS = labelled_pairs(NEGATIVES)
SHUFFLED_PAIRS = PAIRS.drop(columns="label").sample(frac=1, random_state=1)
SHARED_NEGATIVES = np.random.default_rng(5).choice(ITEMS, N_NEGATIVES, replace=False)
WITH_HELD_OUT = NEGATIVES.copy()
WITH_HELD_OUT[:, 0] = HELD_OUT


# Calls with data, and forms of the data


def evaluation(metric: str = METRIC, **options: Any) -> Callable[[Any], Any]:
    return lambda data: sm.evaluate(data, metric, **options)


def correction(**options: Any) -> Callable[[Any], Any]:
    arguments = {"n_items": N_CANDIDATES} | options
    return lambda data: sm.correct(data, METRIC, "cls", **arguments)


def evaluate_lists_with_relevant(relevant: Any) -> Any:
    return sm.evaluate(LISTS, METRIC, relevant=relevant)


def evaluate_scores_with_seen(seen: Any) -> Any:
    return sm.evaluate(SCORES, METRIC, relevant=TEST_TABLE, seen=seen)


def evaluate_on_budget(recommender: Any) -> Any:
    options = {"relevant": HELD_OUT, "seen": SEEN_MATRIX, "budget": 60}
    return sm.evaluate_on_budget(recommender, METRIC, **options)


def compare_with_full_ranks(data: Any) -> Any:
    rankings = {"A": pd.DataFrame({"rank": RANKS}), "B": data}
    return sm.compare(rankings, METRIC, n_items=N_CANDIDATES)


def report_printed(printed: Any) -> Any:
    return sm.reported(printed, METRIC, n_items=N_CANDIDATES, n_negatives=N_NEGATIVES)


def rank_forms(ranks: np.ndarray, folder: Path) -> Forms:
    return {"array": ranks} | table_forms(pd.DataFrame({"rank": ranks}), folder)


def sampled_rank_forms(ranks: np.ndarray, folder: Path) -> Forms:
    frame = pd.DataFrame({"sampled_rank": ranks})
    return {"array": ranks} | table_forms(frame, folder)


def in_matrices(call: Any, data: Any, right: float = HIT_RATE) -> Mistake:
    return Mistake(matrix_forms, call, data, right)


def in_tables(call: Any, data: Any, right: float = HIT_RATE) -> Mistake:
    return Mistake(table_forms, call, data, right)


def in_one_form(call: Any, data: Any, right: float = HIT_RATE) -> Mistake:
    return Mistake(one_form, call, data, right)


with_seen = evaluation(relevant=HELD_OUT, seen=SEEN_MATRIX)
without_seen = evaluation(relevant=HELD_OUT)
of_lists = evaluation(relevant=TEST_TABLE)
of_ranks = evaluation(n_items=N_CANDIDATES)
of_sample = correction(positive=0)
of_sampled_ranks = correction(n_negatives=N_NEGATIVES)

# Scores of all items

WITH_NAN = SCORES.copy()
WITH_NAN[np.random.default_rng(1).random(SCORES.shape) < 0.1] = np.nan
WITHOUT_HELD_OUT = MASKED.copy()
WITHOUT_HELD_OUT[ALL_USERS, HELD_OUT] = -np.inf
SEEN_WITH_HELD_OUT = IS_SEEN.copy()
SEEN_WITH_HELD_OUT[ALL_USERS, HELD_OUT] = True
SOFTMAX = np.exp(8 * (SCORES - SCORES.max(axis=1, keepdims=True)))
SIGMOID = 1 / (1 + np.exp(-10 * (SCORES + 8)))
RATINGS = np.clip(np.round(SCORES / 3 + 4), 1, 5)
ORDER = np.argsort(-SCORES, axis=1)
LEFT, SINGULAR_VALUES, RIGHT = np.linalg.svd(SCORES, full_matrices=False)
ITEM_FACTORS = RIGHT.T * SINGULAR_VALUES
OF_FIRST_ITEMS = np.where(HELD_OUT < USERS, HELD_OUT, -1)
USER_NAMES = np.array([f"u{user}" for user in ALL_USERS])

SCORE_MISTAKES = {
    "seen items forgotten": in_matrices(without_seen, SCORES)._replace(noted="seen"),
    "seen items forgotten, factors": in_one_form(
        without_seen, (SCORES, np.eye(ITEMS)))._replace(noted="seen"),
    "seen items forgotten, function": in_one_form(
        without_seen, lambda users: SCORES[users])._replace(noted="seen"),
    "distances as scores": in_matrices(with_seen, 100 - SCORES),
    "distances from a function": in_one_form(with_seen, lambda users: 100 - SCORES[users]),
    "scores transposed": in_matrices(with_seen, SCORES.T.copy()),
    "square scores transposed": in_matrices(
        evaluation(relevant=OF_FIRST_ITEMS), SCORES[:, :USERS].T.copy(), np.nan),
    "columns from 1": in_matrices(
        evaluation(relevant=np.minimum(HELD_OUT + 1, ITEMS - 1), seen=SEEN_MATRIX), SCORES),
    "held-out items among seen ones": in_tables(
        evaluate_scores_with_seen, pd.concat([SEEN_TABLE, TEST_TABLE])),
    "held-out items among seen ones, matrix": in_one_form(
        evaluation(relevant=HELD_OUT, seen=csr_array(SEEN_WITH_HELD_OUT)), SCORES),
    "held-out items masked as seen": in_matrices(without_seen, WITHOUT_HELD_OUT),
    "not a number among scores": in_matrices(with_seen, WITH_NAN),
    "probabilities in half precision": in_matrices(with_seen, SOFTMAX.astype(np.float16)),
    "rounded ratings": in_matrices(with_seen, RATINGS),
    "saturated sigmoid": in_matrices(with_seen, SIGMOID.astype(np.float32)),
    "argsort as scores": in_matrices(with_seen, ORDER),
    "ranks of items as scores": in_matrices(with_seen, np.argsort(ORDER, axis=1) + 1),
    "top items as scores": in_matrices(without_seen, TOP_ITEMS),
    "factors in the wrong order": in_one_form(with_seen, (ITEM_FACTORS, LEFT)),
    "lists of factors in the wrong order": in_one_form(
        with_seen, (ITEM_FACTORS.tolist(), LEFT.tolist())),
    "index is not the users": in_tables(
        lambda relevant: sm.evaluate(pd.DataFrame(SCORES), METRIC, relevant=relevant),
        TEST_TABLE.assign(user_id=USER_NAMES)),
}  # fmt: skip

# Lists

PLACES_FROM_1 = np.tile(np.arange(1, 21), USERS)
PLACES_FROM_0 = UNSCORED_LISTS.assign(rank=PLACES_FROM_1 - 1)
HELD_OUT_LISTS = {user: [int(item)] for user, item in enumerate(HELD_OUT)}

LIST_MISTAKES = {
    "worst first by scores": in_tables(
        of_lists, LISTS.assign(score=10 - LISTS["score"], rank=PLACES_FROM_1)),
    "places from 0": in_tables(of_lists, PLACES_FROM_0.sample(frac=1, random_state=0)),
    "duplicates in lists": in_tables(
        of_lists, UNSCORED_LISTS.loc[UNSCORED_LISTS.index.repeat(2)]),
    "ids as decimals": in_tables(
        evaluate_lists_with_relevant, TEST_TABLE.astype({"item_id": float})),
    "ids and scores swapped": in_one_form(without_seen, (TOP_SCORES, TOP_ITEMS)),
}  # fmt: skip

# Exact ranks

RANK_MISTAKES = {
    "exact ranks from 0": Mistake(rank_forms, of_ranks, RANKS - 1, HIT_RATE),
    "not found is 0": Mistake(rank_forms, of_ranks, np.where(RANKS <= 20, RANKS, 0), HIT_RATE),
    "not found is one more": Mistake(
        rank_forms, evaluation("auc", n_items=N_CANDIDATES), np.minimum(RANKS, 101), np.nan),
    "sampled ranks as exact ones": Mistake(rank_forms, of_ranks, SAMPLED_RANKS, HIT_RATE),
    "percentiles as ranks": Mistake(rank_forms, of_ranks, RANKS / N_CANDIDATES, HIT_RATE),
}  # fmt: skip

# Samples

ONES = np.ones(USERS, int)
RETRIEVER_WEIGHTS = np.exp(4 * (SCORES - SCORES.mean(axis=0)))
ROW_LENGTHS = np.random.default_rng(2).integers(N_NEGATIVES // 2, N_NEGATIVES + 1, size=USERS)
IS_PADDING = np.arange(N_NEGATIVES + 1) > ROW_LENGTHS[:, None]
ALL_IN_SAMPLE = {"n_items": N_NEGATIVES + 1}

SAMPLE_MISTAKES = {
    "positive at the other end": in_matrices(correction(positive=-1), SAMPLE),
    "sorted before the cut": in_matrices(of_sample, -np.sort(-SAMPLE, axis=1)),
    "sorted before the cut, ranks": Mistake(sampled_rank_forms, of_sampled_ranks, ONES, HIT_RATE),
    "candidates are the sample": in_matrices(correction(positive=0, **ALL_IN_SAMPLE), SAMPLE),
    "candidates are the sample, pairs": in_tables(correction(**ALL_IN_SAMPLE), PAIRS),
    "labels inverted": in_tables(correction(), PAIRS.assign(label=1 - PAIRS["label"])),
    "sampled ranks from 0": Mistake(
        sampled_rank_forms, of_sampled_ranks, SAMPLED_RANKS - 1, HIT_RATE),
    "popular negatives": in_tables(correction(), labelled_pairs(draw_negatives(POPULARITY))),
    "top of a retriever": in_tables(
        correction(), labelled_pairs(draw_negatives(RETRIEVER_WEIGHTS))),
    "negatives shared by all": in_tables(
        correction(), labelled_pairs(np.tile(SHARED_NEGATIVES, (USERS, 1))), np.nan),
    "held-out item among its negatives": in_matrices(
        of_sample, sample_scores(WITH_HELD_OUT), np.nan),
    "held-out item among its negatives, pairs": in_tables(
        correction(), labelled_pairs(WITH_HELD_OUT), np.nan),
    "rows padded with 0": in_matrices(of_sample, np.where(IS_PADDING, 0, SAMPLE + 15)),
    "distances of a sample": in_matrices(of_sample, 100 - SAMPLE),
    "distances of a sample, pairs": in_tables(
        correction(), PAIRS.assign(score=100 - PAIRS["score"])),
}  # fmt: skip

# Two recommenders, printed numbers, and budgets

HR = np.mean(SAMPLED_RANKS <= CUTOFF)
NDCG = np.mean((SAMPLED_RANKS <= CUTOFF) / np.log2(1 + SAMPLED_RANKS))
WITH_INFINITY = SCORES.copy()
WITH_INFINITY[:, ::7] = np.inf


def normalised_in_a_call(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return scores as rerankers that normalise the scores of a call."""
    odds = np.exp(SCORES[users, items])
    return odds / odds.sum()


def sorted_in_a_call(users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return scores in the order of a merge, which sorts its rows."""
    return SCORES[users, items][np.lexsort((items, users))]


OTHER_MISTAKES = {
    "full ranks against sampled ones": in_tables(
        compare_with_full_ranks, pd.DataFrame({"sampled_rank": SAMPLED_RANKS}), np.nan),
    "printed in percent": in_one_form(
        report_printed, {METRIC: round(100 * HR, 2), f"ndcg@{CUTOFF}": round(100 * NDCG, 2)}),
    "one printed in percent": in_one_form(
        report_printed, {METRIC: round(100 * HR, 2), f"ndcg@{CUTOFF}": round(NDCG, 4)}),
    "printed numbers swapped": in_one_form(
        report_printed, {METRIC: round(NDCG, 4), f"ndcg@{CUTOFF}": round(HR, 4)}),
    "budget, constant": in_one_form(evaluate_on_budget, np.zeros((USERS, ITEMS))),
    "budget, constant function": in_one_form(
        evaluate_on_budget, lambda users, _: np.zeros(len(users))),
    "budget, distances": in_one_form(evaluate_on_budget, -SCORES),
    "budget, function of distances": in_one_form(
        evaluate_on_budget, lambda users, items: -SCORES[users, items]),
    "budget, arguments swapped": in_one_form(
        evaluate_on_budget, lambda items, users: SCORES[users % USERS, items]),
    "budget, infinite scores": in_one_form(evaluate_on_budget, WITH_INFINITY),
    "budget, function of infinite scores": in_one_form(
        evaluate_on_budget, lambda users, items: WITH_INFINITY[users, items]),
    "budget, scores of a call are normalised": in_one_form(
        evaluate_on_budget, normalised_in_a_call),
    "budget, scores of a call are sorted": in_one_form(evaluate_on_budget, sorted_in_a_call),
}  # fmt: skip

# LensKit, RecBole, PyTorch, implicit and rerankers


class UserKey(NamedTuple):
    """A key of the collections of LensKit."""

    user_id: int


def lists_by_user(items: np.ndarray) -> dict[int, list[int]]:
    return {user: [int(item) for item in row] for user, row in enumerate(items)}


def by_key(lists: dict[int, list[int]]) -> dict[UserKey, list[int]]:
    return {UserKey(user): items for user, items in lists.items()}


NOISE = np.random.default_rng(1).normal(size=MASKED.shape)
OTHER_TOP = np.argsort(-MASKED - NOISE, axis=1)[:, :20]
TWO_MODELS = pd.concat(
    [
        LISTS,
        pairs_table(
            LISTED_USERS,
            OTHER_TOP.ravel(),
            score=np.tile(np.arange(20.0, 0, -1), USERS),
        ),
    ]
)
HITS = LISTS.merge(TEST_TABLE, on=["user_id", "item_id"])
SAMPLE_IN_MATRIX = np.full(SCORES.shape, -np.inf)
np.put_along_axis(SAMPLE_IN_MATRIX, sample_items(NEGATIVES), SAMPLE, axis=1)
HIT_MARKS = np.column_stack([HELD_OUT[:, None] == TOP_ITEMS, ONES]).astype(int)
THIRD_OF_ROWS_0 = np.where(ALL_USERS[:, None] % 3 == 0, 0.0, SCORES)
THIRD_OF_SAMPLES_0 = np.where(ALL_USERS[:, None] % 3 == 0, 0.0, SAMPLE)
LIST_LENGTHS = np.random.default_rng(3).integers(5, 21, USERS)
IS_FILLED = np.arange(20) >= LIST_LENGTHS[:, None]
FILLED_ITEMS = np.where(IS_FILLED, -1, TOP_ITEMS)
FILLED_SCORES = np.where(IS_FILLED, np.finfo(np.float32).min, TOP_SCORES)
FILLED_LISTS = pairs_table(LISTED_USERS, FILLED_ITEMS.ravel(), score=FILLED_SCORES.ravel())
ITEM_NUMBERS = np.random.default_rng(4).permutation(ITEMS)[TOP_ITEMS]
MARKS_1_TO_5 = np.clip(np.round(SAMPLE / 2 + 5), 1, 5)
ORDERED_PAIRS = SHUFFLED_PAIRS.sort_values(["user_id", "score"], ascending=[True, False])
whole_lists = evaluation(relevant=TEST_TABLE, complete=True)

LIBRARY_MISTAKES = {
    "lenskit, two models in one frame": in_tables(of_lists, TWO_MODELS, np.nan),
    "lenskit, keys of lists are tuples": in_one_form(
        evaluation(relevant=HELD_OUT_LISTS), by_key(lists_by_user(TOP_ITEMS))),
    "lenskit, all keys are tuples": in_one_form(
        evaluation(relevant=by_key(HELD_OUT_LISTS)), by_key(lists_by_user(TOP_ITEMS))),
    "lenskit, joined with the test": in_tables(of_lists, HITS),
    "lenskit, only users with a hit": in_tables(
        evaluation(relevant=TEST_TABLE[TEST_TABLE["user_id"].isin(HITS["user_id"])]),
        LISTS[LISTS["user_id"].isin(HITS["user_id"])]),
    "recbole, sample in a matrix": in_matrices(without_seen, SAMPLE_IN_MATRIX),
    "recbole, sample in a matrix beside seen items": in_matrices(with_seen, SAMPLE_IN_MATRIX),
    "recbole, hits as scores": in_matrices(evaluation(relevant=np.zeros(USERS, int)), HIT_MARKS),
    "recbole, hits as scores of a sample": in_matrices(correction(positive=-1), HIT_MARKS),
    "pytorch, rows of nan filled with 0": in_matrices(with_seen, THIRD_OF_ROWS_0),
    "pytorch, rows of nan filled with 0 in a sample": in_matrices(of_sample, THIRD_OF_SAMPLES_0),
    "pytorch, positive at varying places": in_matrices(
        of_sample, np.random.default_rng(2).permuted(SAMPLE, axis=1)),
    "implicit, lists filled up with -1": in_tables(of_lists, FILLED_LISTS, np.nan),
    "implicit, arrays filled up with -1": in_one_form(
        without_seen, (FILLED_ITEMS, FILLED_SCORES), np.nan),
    "implicit, items filled up with -1": in_one_form(without_seen, FILLED_ITEMS, np.nan),
    "implicit, dictionary filled up with -1": in_one_form(
        of_lists, lists_by_user(FILLED_ITEMS), np.nan),
    "implicit, seen items masked by 0": in_matrices(
        evaluation("auc", relevant=HELD_OUT),
        np.where(IS_SEEN, 0.0, SCORES - 12), np.nan)._replace(noted="seen"),
    "implicit, seen items masked by the least number": in_matrices(
        evaluation("auc", relevant=HELD_OUT),
        np.where(IS_SEEN, float(np.finfo(np.float32).min), SCORES - 12),
        np.nan)._replace(noted="seen"),
    "implicit, numbers of items as ids": in_tables(
        of_lists, pairs_table(LISTED_USERS, ITEM_NUMBERS.ravel())),
    "implicit, numbers of items as ids, dictionary": in_one_form(
        of_lists, lists_by_user(ITEM_NUMBERS)),
    "reranker, order as scores": in_matrices(of_sample, np.argsort(-SAMPLE, axis=1)),
    "reranker, marks from 1 to 5": in_matrices(of_sample, MARKS_1_TO_5),
    "reranker, marks from 1 to 5, pairs": in_tables(
        correction(), PAIRS.assign(score=MARKS_1_TO_5.ravel())),
    "reranker, candidates as a full ranking": in_tables(of_lists, SHUFFLED_PAIRS),
    "reranker, candidates as a complete ranking": in_tables(whole_lists, SHUFFLED_PAIRS),
    "reranker, candidates in order as a full ranking": in_tables(
        of_lists, ORDERED_PAIRS[["user_id", "item_id"]]),
    "reranker, candidates in order as a complete ranking": in_tables(
        whole_lists, ORDERED_PAIRS[["user_id", "item_id"]]),
}  # fmt: skip

MISTAKES = [
    *SCORE_MISTAKES.items(),
    *LIST_MISTAKES.items(),
    *RANK_MISTAKES.items(),
    *SAMPLE_MISTAKES.items(),
    *OTHER_MISTAKES.items(),
    *LIBRARY_MISTAKES.items(),
]


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[n for n, _ in MISTAKES])
def test_mistake_is_not_silent(number: int, step: int, tmp_path: Path) -> None:
    _, mistake = MISTAKES[number]
    assert not silent_forms(mistake, tmp_path, number, step)


def test_run_and_qrels_swapped_are_not_silent(tmp_path: Path) -> None:
    run, qrels = tmp_path / "a.run", tmp_path / "b.qrels"
    rows = zip(LISTED_USERS, LISTS["item_id"], LISTS["score"], strict=True)
    run.write_text("".join(f"{user} Q0 {item} 1 {s} me\n" for user, item, s in rows))
    qrels.write_text("".join(f"{u} 0 {item} 1\n" for u, item in enumerate(HELD_OUT)))
    for data, relevant in ((run, qrels), (qrels, run)):
        mistake = in_one_form(evaluation(relevant=relevant), data)
        assert not silent_forms(mistake, tmp_path, 0, step=1)
