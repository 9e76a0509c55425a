"""Mistakes in well-formed data are refused, warned about, or give the right number.

Each mistake is made in every form that its data can have. What no program can see is not among
them: lists of two models that were joined without duplicates, and a softmax over users in the
place of items.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.mistakes import (
    CUT,
    ITEMS,
    METRIC,
    NEGATIVES,
    SEEN,
    USERS,
    Attempts,
    World,
    make_world,
    pairs_table,
    silent_forms,
)

MISTAKES: dict[str, Callable[[World], Attempts]] = {}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("mistakes"))


def mistake(make: Callable[[World], Attempts]) -> Callable[[World], Attempts]:
    MISTAKES[make.__name__] = make
    return make


def evaluation(data: Any, **options: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate(data, METRIC, **options)


def correction(data: Any, **arguments: Any) -> Callable[[], Any]:
    options = {"n_items": ITEMS - SEEN} | arguments
    return lambda: sm.correct(data, METRIC, "cls", **options)


def budget_evaluation(score: Any, w: World, **arguments: Any) -> Callable[[], Any]:
    options = {
        "relevant": w.held_out,
        "seen": w.seen_matrix,
        "budget": 60,
    } | arguments
    return lambda: sm.evaluate_on_budget(score, METRIC, **options)


# Scores of all items


@mistake
def seen_forgotten(w: World) -> Attempts:
    for form, data in w.matrix_forms(w.scores).items():
        yield form, evaluation(data, relevant=w.held_out), w.truth
    yield (
        "factors",
        evaluation((w.scores, np.eye(ITEMS)), relevant=w.held_out),
        w.truth,
    )
    yield (
        "function",
        evaluation(lambda users: w.scores[users], relevant=w.held_out),
        w.truth,
    )


@mistake
def distances_as_scores(w: World) -> Attempts:
    far = 100 - w.scores
    for form, data in w.matrix_forms(far).items():
        options = {"relevant": w.held_out, "seen": w.seen_matrix}
        yield form, evaluation(data, **options), w.truth
    options = {"relevant": w.held_out, "seen": w.seen_matrix}
    yield "function", evaluation(lambda users: far[users], **options), w.truth


@mistake
def scores_transposed(w: World) -> Attempts:
    for form, data in w.matrix_forms(w.scores.T.copy()).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def square_scores_transposed(w: World) -> Attempts:
    square = w.scores[:, :USERS].copy()
    held_out = np.where(w.held_out < USERS, w.held_out, -1)
    for form, data in w.matrix_forms(square.T.copy()).items():
        yield form, evaluation(data, relevant=held_out), np.nan


@mistake
def columns_from_1(w: World) -> Attempts:
    held_out = np.minimum(w.held_out + 1, ITEMS - 1)
    for form, data in w.matrix_forms(w.scores).items():
        yield form, evaluation(data, relevant=held_out, seen=w.seen_matrix), w.truth


@mistake
def held_out_among_seen(w: World) -> Attempts:
    both = pd.concat([w.seen_table, w.test_table])
    for form, data in w.forms(both).items():
        yield form, evaluation(w.scores, relevant=w.test_table, seen=data), w.truth
    mask = w.mask.copy()
    mask[np.arange(USERS), w.held_out] = True
    yield (
        "matrix",
        evaluation(w.scores, relevant=w.held_out, seen=csr_array(mask)),
        w.truth,
    )


@mistake
def held_out_masked_as_seen(w: World) -> Attempts:
    masked = w.masked.copy()
    masked[np.arange(USERS), w.held_out] = -np.inf
    for form, data in w.matrix_forms(masked).items():
        yield form, evaluation(data, relevant=w.held_out), w.truth


@mistake
def not_a_number_among_scores(w: World) -> Attempts:
    scores = w.scores.copy()
    scores[np.random.default_rng(1).random(scores.shape) < 0.1] = np.nan
    for form, data in w.matrix_forms(scores).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def probabilities_in_half_precision(w: World) -> Attempts:
    soft = np.exp(8 * (w.scores - w.scores.max(axis=1, keepdims=True)))
    for form, data in w.matrix_forms(soft.astype(np.float16)).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def rounded_ratings(w: World) -> Attempts:
    ratings = np.clip(np.round(w.scores / 3 + 4), 1, 5)
    for form, data in w.matrix_forms(ratings).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def saturated_sigmoid(w: World) -> Attempts:
    sigmoid = (1 / (1 + np.exp(-10 * (w.scores + 8)))).astype(np.float32)
    for form, data in w.matrix_forms(sigmoid).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def argsort_as_scores(w: World) -> Attempts:
    for form, data in w.matrix_forms(np.argsort(-w.scores, axis=1)).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def ranks_of_items_as_scores(w: World) -> Attempts:
    ranks = np.argsort(np.argsort(-w.scores, axis=1), axis=1) + 1
    for form, data in w.matrix_forms(ranks).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def top_items_as_scores(w: World) -> Attempts:
    for form, data in w.matrix_forms(w.top(20)).items():
        yield form, evaluation(data, relevant=w.held_out), w.truth


@mistake
def factors_in_the_wrong_order(w: World) -> Attempts:
    u, s, v = np.linalg.svd(w.scores, full_matrices=False)
    options = {"relevant": w.held_out, "seen": w.seen_matrix}
    yield "arrays", evaluation(((v.T * s), u), **options), w.truth
    yield "lists", evaluation(((v.T * s).tolist(), u.tolist()), **options), w.truth


@mistake
def index_is_not_the_users(w: World) -> Attempts:
    names = np.array([f"u{k}" for k in range(USERS)])
    test = w.test_table.assign(user_id=names)
    wide = pd.DataFrame(w.scores)
    for form, data in w.forms(test).items():
        yield form, evaluation(wide, relevant=data), w.truth


@mistake
def seen_with_other_ids(w: World) -> Attempts:
    seen = w.seen_table
    other = seen.assign(item_id=[f"item-{k}" for k in seen["item_id"]])
    wide = pd.DataFrame(w.scores)
    for form, data in w.forms(other).items():
        yield form, evaluation(wide, relevant=w.test_table, seen=data), w.truth


# Lists


@mistake
def worst_first_scores(w: World) -> Attempts:
    lists = w.lists(20)
    lists["score"] = 10 - lists["score"]
    lists["rank"] = np.tile(np.arange(1, 21), USERS)
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def scores_by_another_name(w: World) -> Attempts:
    lists = (
        w.lists(20)
        .sample(frac=1, random_state=0)
        .rename(columns={"score": "affinity"})
    )
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def places_from_0(w: World) -> Attempts:
    lists = w.lists(20).drop(columns="score")
    lists["rank"] = np.tile(np.arange(20), USERS)
    for form, data in w.forms(lists.sample(frac=1, random_state=0)).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def duplicates_in_lists(w: World) -> Attempts:
    lists = w.lists(20).drop(columns="score")
    lists = lists.loc[lists.index.repeat(2)]
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def numbers_as_text(w: World) -> Attempts:
    lists = w.lists(20)
    lists["item_id"] = [f"{k:05}" for k in lists["item_id"]]
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def ids_as_decimals(w: World) -> Attempts:
    test = w.test_table.astype({"item_id": float})
    for form, data in w.forms(test).items():
        yield form, evaluation(w.lists(20), relevant=data), w.truth


@mistake
def dictionaries_of_sets(w: World) -> Attempts:
    lists = {k: set(items) for k, items in enumerate(w.top(20).tolist())}
    relevant = {k: [int(item)] for k, item in enumerate(w.held_out)}
    yield "dictionary", evaluation(lists, relevant=relevant), w.truth


@mistake
def grades_of_0_are_relevant(w: World) -> Attempts:
    items = np.column_stack([w.held_out, w.negatives()[:, :5]])
    qrels = pairs_table(np.repeat(np.arange(USERS), 6), items.ravel())
    qrels["relevance"] = np.tile([1, 0, 0, 0, 0, 0], USERS)
    for form, data in w.forms(qrels).items():
        yield form, evaluation(w.lists(20), relevant=data), w.truth
    by_user = {
        user: dict(zip(rows["item_id"], rows["relevance"], strict=True))
        for user, rows in qrels.groupby("user_id")
    }
    yield "dictionary", evaluation(w.lists(20), relevant=by_user), w.truth


@mistake
def run_and_qrels_swapped(w: World) -> Attempts:
    run, qrels = w.path("a.run"), w.path("b.qrels")
    lists = w.lists(20)
    place = np.tile(np.arange(1, 21), USERS)
    rows = zip(lists["user_id"], lists["item_id"], place, lists["score"], strict=True)
    run.write_text("".join(f"{u} Q0 {i} {r} {s} me\n" for u, i, r, s in rows))
    qrels.write_text("".join(f"{u} 0 {i} 1\n" for u, i in enumerate(w.held_out)))
    yield "files", evaluation(qrels, relevant=run), w.truth
    yield "right way round", evaluation(run, relevant=qrels), w.truth


@mistake
def ids_and_scores_swapped(w: World) -> Attempts:
    items = w.top(20)
    scores = np.take_along_axis(w.scores, items, axis=1)
    yield "arrays", evaluation((scores, items), relevant=w.held_out), w.truth


@mistake
def lists_of_other_users(w: World) -> Attempts:
    lists = w.lists(20)
    lists["user_id"] += 100_000
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


# Exact ranks


@mistake
def exact_ranks_from_0(w: World) -> Attempts:
    n_items = ITEMS - SEEN
    for form, data in w.forms(pd.DataFrame({"rank": w.ranks - 1})).items():
        yield form, evaluation(data, n_items=n_items), w.truth
    yield "array", evaluation(w.ranks - 1, n_items=n_items), w.truth


@mistake
def not_found_is_0(w: World) -> Attempts:
    ranks = np.where(w.ranks <= 20, w.ranks, 0)
    for form, data in w.forms(pd.DataFrame({"rank": ranks})).items():
        yield form, evaluation(data, n_items=ITEMS - SEEN), w.truth
    yield "array", evaluation(ranks, n_items=ITEMS - SEEN), w.truth


@mistake
def not_found_is_one_more(w: World) -> Attempts:
    ranks = np.minimum(w.ranks, 101)
    for form, data in w.forms(pd.DataFrame({"rank": ranks})).items():
        yield (
            form,
            lambda data=data: sm.evaluate(data, "auc", n_items=ITEMS - SEEN),
            np.nan,
        )
    yield "array", lambda: sm.evaluate(ranks, "auc", n_items=ITEMS - SEEN), np.nan


@mistake
def sampled_ranks_as_exact(w: World) -> Attempts:
    for form, data in w.forms(pd.DataFrame({"rank": w.sampled()})).items():
        yield form, evaluation(data, n_items=ITEMS - SEEN), w.truth
    yield "array", evaluation(w.sampled(), n_items=ITEMS - SEEN), w.truth


@mistake
def percentiles_as_ranks(w: World) -> Attempts:
    share = w.ranks / (ITEMS - SEEN)
    for form, data in w.forms(pd.DataFrame({"rank": share})).items():
        yield form, evaluation(data, n_items=ITEMS - SEEN), w.truth
    yield "array", evaluation(share, n_items=ITEMS - SEEN), w.truth


# Sampled


@mistake
def positive_at_the_other_end(w: World) -> Attempts:
    rows = w.among(w.negatives())
    for form, data in w.matrix_forms(rows).items():
        yield form, correction(data, positive=-1), w.truth


@mistake
def sorted_before_the_cut(w: World) -> Attempts:
    rows = -np.sort(-w.among(w.negatives()), axis=1)
    for form, data in w.matrix_forms(rows).items():
        yield form, correction(data, positive=0), w.truth
    ones = np.ones(USERS, dtype=int)
    yield "ranks", correction(ones, n_negatives=NEGATIVES), w.truth
    frame = pd.DataFrame({"sampled_rank": ones})
    for form, data in w.forms(frame).items():
        yield form, correction(data, n_negatives=NEGATIVES), w.truth


@mistake
def candidates_are_the_sample(w: World) -> Attempts:
    rows = w.among(w.negatives())
    for form, data in w.matrix_forms(rows).items():
        yield form, correction(data, positive=0, n_items=NEGATIVES + 1), w.truth
    for form, data in w.forms(w.pairs(w.negatives())).items():
        yield f"pairs, {form}", correction(data, n_items=NEGATIVES + 1), w.truth


@mistake
def labels_inverted(w: World) -> Attempts:
    pairs = w.pairs(w.negatives())
    pairs["label"] = 1 - pairs["label"]
    for form, data in w.forms(pairs).items():
        yield form, correction(data), w.truth


@mistake
def sampled_ranks_from_0(w: World) -> Attempts:
    ranks = w.sampled() - 1
    yield "array", correction(ranks, n_negatives=NEGATIVES), w.truth
    for form, data in w.forms(pd.DataFrame({"sampled_rank": ranks})).items():
        yield form, correction(data, n_negatives=NEGATIVES), w.truth


@mistake
def popular_negatives(w: World) -> Attempts:
    for form, data in w.forms(w.pairs(w.negatives(w.popularity))).items():
        yield form, correction(data), w.truth


@mistake
def top_of_a_retriever(w: World) -> Attempts:
    utility = np.exp(4 * (w.scores - w.scores.mean(axis=0)))
    for form, data in w.forms(w.pairs(w.negatives(utility))).items():
        yield form, correction(data), w.truth


@mistake
def negatives_shared_by_all(w: World) -> Attempts:
    one = np.random.default_rng(5).choice(ITEMS, NEGATIVES, replace=False)
    pairs = w.pairs(np.tile(one, (USERS, 1)))
    for form, data in w.forms(pairs).items():
        yield form, correction(data), np.nan


@mistake
def held_out_among_its_negatives(w: World) -> Attempts:
    negatives = w.negatives()
    negatives[:, 0] = w.held_out
    for form, data in w.matrix_forms(w.among(negatives)).items():
        yield form, correction(data, positive=0), np.nan
    for form, data in w.forms(w.pairs(negatives)).items():
        yield f"pairs, {form}", correction(data), np.nan


@mistake
def rows_padded_with_0(w: World) -> Attempts:
    rows = w.among(w.negatives()) + 15
    short = np.random.default_rng(2).integers(
        NEGATIVES // 2, NEGATIVES + 1, size=USERS
    )
    rows[np.arange(NEGATIVES + 1) > short[:, None]] = 0
    for form, data in w.matrix_forms(rows).items():
        yield form, correction(data, positive=0), w.truth


@mistake
def sampled_scores_are_distances(w: World) -> Attempts:
    rows = 100 - w.among(w.negatives())
    for form, data in w.matrix_forms(rows).items():
        yield form, correction(data, positive=0), w.truth
    pairs = w.pairs(w.negatives())
    for form, data in w.forms(pairs.assign(score=100 - pairs["score"])).items():
        yield f"pairs, {form}", correction(data), w.truth


# Two recommenders, printed numbers, and budgets


@mistake
def full_against_sampled(w: World) -> Attempts:
    full = pd.DataFrame({"rank": w.ranks})
    sampled = pd.DataFrame({"sampled_rank": w.sampled()})
    for form, data in w.forms(sampled).items():
        two = {"A": full, "B": data}
        n_items = ITEMS - SEEN
        yield (
            form,
            lambda two=two, n=n_items: sm.compare(two, METRIC, n_items=n),
            np.nan,
        )


@mistake
def printed_in_percent(w: World) -> Attempts:
    sampled = w.sampled()
    hit = np.mean(sampled <= CUT)
    ndcg = np.mean((sampled <= CUT) / np.log2(1 + sampled))
    options = {"n_items": ITEMS - SEEN, "n_negatives": NEGATIVES}
    percent = {METRIC: round(100 * hit, 2), f"ndcg@{CUT}": round(100 * ndcg, 2)}
    yield "both", lambda: sm.reported(percent, METRIC, **options), w.truth
    mixed = {METRIC: round(100 * hit, 2), f"ndcg@{CUT}": round(ndcg, 4)}
    yield "one", lambda: sm.reported(mixed, METRIC, **options), w.truth
    swapped = {METRIC: round(ndcg, 4), f"ndcg@{CUT}": round(hit, 4)}
    yield "swapped", lambda: sm.reported(swapped, METRIC, **options), w.truth


@mistake
def budget_of_a_constant(w: World) -> Attempts:
    yield (
        "function",
        budget_evaluation(lambda users, _: np.zeros(len(users)), w),
        w.truth,
    )
    yield "matrix", budget_evaluation(np.zeros((USERS, ITEMS)), w), w.truth


@mistake
def budget_of_distances(w: World) -> Attempts:
    yield (
        "function",
        budget_evaluation(lambda users, items: -w.scores[users, items], w),
        w.truth,
    )
    yield "matrix", budget_evaluation(-w.scores, w), w.truth


@mistake
def budget_with_swapped_arguments(w: World) -> Attempts:
    def swapped(items: np.ndarray, users: np.ndarray) -> np.ndarray:
        return w.scores[users % USERS, items]

    yield "function", budget_evaluation(swapped, w), w.truth


@mistake
def budget_of_infinite_scores(w: World) -> Attempts:
    scores = w.scores.copy()
    scores[:, ::7] = np.inf
    yield (
        "function",
        budget_evaluation(lambda users, items: scores[users, items], w),
        w.truth,
    )
    yield "matrix", budget_evaluation(scores, w), w.truth


@mistake
def budget_of_scores_that_depend_on_the_call(w: World) -> Attempts:
    """Rerankers normalise the scores of a call; a merge sorts its rows."""

    def softmax(users: np.ndarray, items: np.ndarray) -> np.ndarray:
        odds = np.exp(w.scores[users, items])
        return odds / odds.sum()

    def ordered(users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return w.scores[users, items][np.lexsort((items, users))]

    yield "softmax", budget_evaluation(softmax, w), w.truth
    yield "sorted", budget_evaluation(ordered, w), w.truth


# LensKit, RecBole, PyTorch, implicit and rerankers


class UserKey(NamedTuple):
    """A key of the collections of LensKit."""

    user_id: int


def lists_by_user(items: np.ndarray) -> dict[int, list[int]]:
    return {user: [int(item) for item in row] for user, row in enumerate(items)}


@mistake
def lenskit_two_models_in_one_frame(w: World) -> Attempts:
    noise = np.random.default_rng(1).normal(size=w.masked.shape)
    other = np.argsort(-w.masked - noise, axis=1)[:, :20]
    second = pairs_table(np.repeat(np.arange(USERS), 20), other.ravel())
    both = pd.concat(
        [w.lists(20), second.assign(score=np.tile(np.arange(20.0, 0, -1), USERS))]
    )
    for form, data in w.forms(both).items():
        yield form, evaluation(data, relevant=w.test_table), np.nan


@mistake
def lenskit_keys_are_tuples(w: World) -> Attempts:
    lists = {UserKey(user): items for user, items in lists_by_user(w.top(20)).items()}
    relevant = lists_by_user(w.held_out[:, np.newaxis])
    named = {UserKey(user): items for user, items in relevant.items()}
    yield "lists", evaluation(lists, relevant=relevant), w.truth
    yield "both", evaluation(lists, relevant=named), w.truth


@mistake
def lenskit_joined_with_the_test(w: World) -> Attempts:
    hits = w.lists(20).merge(w.test_table, on=["user_id", "item_id"])
    for form, data in w.forms(hits).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def only_users_with_a_hit(w: World) -> Attempts:
    lists = w.lists(20)
    users = lists.merge(w.test_table, on=["user_id", "item_id"])["user_id"]
    relevant = w.test_table[w.test_table["user_id"].isin(users)]
    for form, data in w.forms(lists[lists["user_id"].isin(users)]).items():
        yield form, evaluation(data, relevant=relevant), w.truth


@mistake
def recbole_sampled_candidates_in_a_matrix(w: World) -> Attempts:
    items = np.column_stack([w.held_out, w.negatives()])
    scores = np.full(w.scores.shape, -np.inf)
    np.put_along_axis(
        scores, items, np.take_along_axis(w.scores, items, axis=1), axis=1
    )
    for form, data in w.matrix_forms(scores).items():
        yield form, evaluation(data, relevant=w.held_out), w.truth
        yield (
            f"{form}, seen",
            evaluation(data, relevant=w.held_out, seen=w.seen_matrix),
            w.truth,
        )


@mistake
def recbole_hits_as_scores(w: World) -> Attempts:
    hits = np.column_stack(
        [w.top(20) == w.held_out[:, np.newaxis], np.ones(USERS)]
    ).astype(int)
    for form, data in w.matrix_forms(hits).items():
        yield form, evaluation(data, relevant=np.zeros(USERS, int)), w.truth
        yield f"{form}, sampled", correction(data, positive=-1), w.truth


@mistake
def pytorch_rows_of_nan_filled_with_0(w: World) -> Attempts:
    full, rows = w.scores.copy(), w.among(w.negatives())
    full[::3] = 0.0
    rows[::3] = 0.0
    for form, data in w.matrix_forms(full).items():
        yield form, evaluation(data, relevant=w.held_out, seen=w.seen_matrix), w.truth
    for form, data in w.matrix_forms(rows).items():
        yield f"{form}, sampled", correction(data, positive=0), w.truth


@mistake
def pytorch_positive_at_varying_places(w: World) -> Attempts:
    rows = np.random.default_rng(2).permuted(w.among(w.negatives()), axis=1)
    for form, data in w.matrix_forms(rows).items():
        yield form, correction(data, positive=0), w.truth


@mistake
def implicit_lists_filled_up_with_minus_1(w: World) -> Attempts:
    items = w.top(20)
    scores = np.take_along_axis(w.scores, items, axis=1)
    length = np.random.default_rng(3).integers(5, 21, USERS)
    is_filled = np.arange(20) >= length[:, np.newaxis]
    items[is_filled] = -1
    scores[is_filled] = np.finfo(np.float32).min
    lists = pairs_table(np.repeat(np.arange(USERS), 20), items.ravel()).assign(
        score=scores.ravel()
    )
    yield "both", evaluation((items, scores), relevant=w.held_out), np.nan
    yield "items", evaluation(items, relevant=w.held_out), np.nan
    yield (
        "dictionary",
        evaluation(lists_by_user(items), relevant=w.test_table),
        np.nan,
    )
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), np.nan


@mistake
def implicit_seen_items_masked_by_a_number(w: World) -> Attempts:
    for number in (0.0, float(np.finfo(np.float32).min)):
        scores = np.where(w.mask, number, w.scores - 12)
        for form, data in w.matrix_forms(scores).items():
            call = lambda data=data: sm.evaluate(data, "auc", relevant=w.held_out)  # noqa: E731
            yield f"{form}, {number}", call, np.nan


@mistake
def implicit_numbers_of_items_in_the_place_of_ids(w: World) -> Attempts:
    numbers = np.random.default_rng(4).permutation(ITEMS)[w.top(20)]
    lists = pairs_table(np.repeat(np.arange(USERS), 20), numbers.ravel())
    yield (
        "dictionary",
        evaluation(lists_by_user(numbers), relevant=w.test_table),
        w.truth,
    )
    for form, data in w.forms(lists).items():
        yield form, evaluation(data, relevant=w.test_table), w.truth


@mistake
def reranker_order_as_scores(w: World) -> Attempts:
    order = np.argsort(-w.among(w.negatives()), axis=1)
    for form, data in w.matrix_forms(order).items():
        yield form, correction(data, positive=0), w.truth


@mistake
def reranker_marks_from_1_to_5(w: World) -> Attempts:
    marks = np.clip(np.round(w.among(w.negatives()) / 2 + 5), 1, 5)
    for form, data in w.matrix_forms(marks).items():
        yield form, correction(data, positive=0), w.truth
    pairs = w.pairs(w.negatives()).assign(score=marks.ravel())
    for form, data in w.forms(pairs).items():
        yield f"{form}, pairs", correction(data), w.truth


@mistake
def reranker_candidates_as_a_full_ranking(w: World) -> Attempts:
    pairs = (
        w.pairs(w.negatives()).drop(columns="label").sample(frac=1, random_state=1)
    )
    ordered = pairs.sort_values(["user_id", "score"], ascending=[True, False])
    for complete in (False, True):
        options = {"relevant": w.test_table, "complete": complete}
        for form, data in w.forms(pairs).items():
            yield f"{form}, {complete}", evaluation(data, **options), w.truth
        for form, data in w.forms(ordered[["user_id", "item_id"]]).items():
            yield f"{form} in order, {complete}", evaluation(data, **options), w.truth


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_not_silent(name: str, world: World) -> None:
    assert not silent_forms(MISTAKES[name](world))


def test_mistakes_are_at_least_65() -> None:
    assert len(MISTAKES) >= 65
