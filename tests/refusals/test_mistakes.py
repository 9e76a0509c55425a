"""Fifty mistakes in well-formed input: each is refused, questioned, or gives the right number.

A mistake is made in every form that its input can have. A call is silent if it returns another
number than the right one, raises nothing, and asks nothing.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages
from tests.helpers.forms import Forms, matrix_forms, new_path, table_forms

USERS, ITEMS, SEEN, NEGATIVES, CUT = 300, 400, 12, 50, 10
METRIC = f"hit@{CUT}"
Attempt = tuple[str, Callable[[], Any], float]


@dataclass(frozen=True)
class World:
    """Scores, seen and held-out items of made-up users, and the exact hit@10."""

    scores: np.ndarray
    seen: np.ndarray
    held_out: np.ndarray
    popularity: np.ndarray
    folder: Path

    @property
    def mask(self) -> np.ndarray:
        mask = np.zeros((USERS, ITEMS), dtype=bool)
        np.put_along_axis(mask, self.seen, True, axis=1)
        return mask

    @property
    def masked(self) -> np.ndarray:
        return np.where(self.mask, -np.inf, self.scores)

    @property
    def ranks(self) -> np.ndarray:
        mine = np.take_along_axis(self.masked, self.held_out[:, None], axis=1)
        return 1 + (self.masked > mine).sum(axis=1)

    @property
    def truth(self) -> float:
        return float(np.mean(self.ranks <= CUT))

    @property
    def seen_table(self) -> pd.DataFrame:
        return table(np.repeat(np.arange(USERS), SEEN), self.seen.ravel())

    @property
    def test_table(self) -> pd.DataFrame:
        return table(np.arange(USERS), self.held_out)

    @property
    def seen_matrix(self) -> csr_array:
        return csr_array(self.mask.astype(float))

    def top(self, k: int) -> np.ndarray:
        return np.argsort(-self.masked, axis=1, kind="stable")[:, :k]

    def lists(self, k: int = 20) -> pd.DataFrame:
        items = self.top(k)
        scores = np.take_along_axis(self.masked, items, axis=1)
        frame = table(np.repeat(np.arange(USERS), k), items.ravel())
        return frame.assign(score=scores.ravel())

    def negatives(
        self, weights: np.ndarray | None = None, seed: int = 7
    ) -> np.ndarray:
        """Without replacement by weights, from neither seen nor held-out items."""
        rng = np.random.default_rng(seed)
        keys = np.log(np.ones(ITEMS) if weights is None else weights) + rng.gumbel(
            size=(USERS, ITEMS)
        )
        keys[self.mask] = -np.inf
        keys[np.arange(USERS), self.held_out] = -np.inf
        return np.argsort(-keys, axis=1)[:, :NEGATIVES]

    def among(self, negatives: np.ndarray) -> np.ndarray:
        """Scores of the held-out item and then of the negatives."""
        items = np.column_stack([self.held_out, negatives])
        return np.take_along_axis(self.scores, items, axis=1)

    def pairs(self, negatives: np.ndarray) -> pd.DataFrame:
        items = np.column_stack([self.held_out, negatives])
        width = items.shape[1]
        frame = table(np.repeat(np.arange(USERS), width), items.ravel())
        labels = np.tile([1] + [0] * (width - 1), USERS)
        return frame.assign(score=self.among(negatives).ravel(), label=labels)

    def sampled(self) -> np.ndarray:
        rows = self.among(self.negatives())
        return 1 + (rows[:, 1:] > rows[:, :1]).sum(axis=1)

    def path(self, name: str) -> Path:
        return new_path(self.folder, name)

    def forms(self, frame: pd.DataFrame) -> Forms:
        return table_forms(frame, self.folder)

    def matrix_forms(self, matrix: np.ndarray) -> Forms:
        return matrix_forms(matrix, self.folder)


def table(users: np.ndarray, items: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"user_id": users, "item_id": items})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    rng = np.random.default_rng(11)
    popularity = 1 / np.arange(10, ITEMS + 10)
    taste = rng.normal(size=(USERS, 8)) @ rng.normal(size=(8, ITEMS)) / 2 + np.log(
        popularity
    )
    taste = taste[:, shuffled := rng.permutation(ITEMS)]
    liked = np.argsort(-taste - rng.gumbel(size=taste.shape), axis=1)[:, : SEEN + 1]
    place = rng.integers(SEEN + 1, size=USERS)
    held_out = liked[np.arange(USERS), place]
    keep = np.ones(liked.shape, dtype=bool)
    keep[np.arange(USERS), place] = False
    seen = liked[keep].reshape(USERS, SEEN)
    scores = taste + rng.normal(size=taste.shape) / 2
    np.put_along_axis(scores, seen, np.take_along_axis(scores, seen, 1) + 2, 1)
    folder = tmp_path_factory.mktemp("mistakes")
    return World(scores, seen, held_out, popularity[shuffled], folder)


def is_right(result: Any, truth: float) -> bool:
    frame = result.to_frame()
    for row in frame.to_dict("records"):
        low, high = row.get("range_low", np.nan), row.get("range_high", np.nan)
        if not np.isnan(low):
            if not low - 0.005 <= truth <= high + 0.005:
                return False
        elif abs(row["value"] - truth) > 0.005:
            return False
    return True


def outcome(call: Callable[[], Any], truth: float) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except sm.InputError:
            return "refused"
    asked = full_messages(caught)
    if asked:
        return "questioned" if list(result.notes) == asked else "not in the notes"
    if not np.isnan(truth) and is_right(result, truth):
        return "right"
    return "silent"


MISTAKES: dict[str, Callable[[World], Iterator[Attempt]]] = {}


def mistake(
    make: Callable[[World], Iterator[Attempt]],
) -> Callable[[World], Iterator[Attempt]]:
    MISTAKES[make.__name__] = make
    return make


def evaluated(data: Any, **given: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate(data, METRIC, **given)


def corrected(data: Any, **given: Any) -> Callable[[], Any]:
    options = {"n_items": ITEMS - SEEN} | given
    return lambda: sm.correct(data, METRIC, "cls", **options)


def on_budget(score: Any, w: World, **given: Any) -> Callable[[], Any]:
    options = {"relevant": w.held_out, "seen": w.seen_matrix, "budget": 60} | given
    return lambda: sm.evaluate_on_budget(score, METRIC, **options)


# Scores of all items


@mistake
def seen_forgotten(w: World) -> Iterator[Attempt]:
    for form, data in w.matrix_forms(w.scores).items():
        yield form, evaluated(data, relevant=w.held_out), w.truth
    yield (
        "factors",
        evaluated((w.scores, np.eye(ITEMS)), relevant=w.held_out),
        w.truth,
    )
    yield (
        "function",
        evaluated(lambda users: w.scores[users], relevant=w.held_out),
        w.truth,
    )


@mistake
def distances_as_scores(w: World) -> Iterator[Attempt]:
    far = 100 - w.scores
    for form, data in w.matrix_forms(far).items():
        given = {"relevant": w.held_out, "seen": w.seen_matrix}
        yield form, evaluated(data, **given), w.truth
    given = {"relevant": w.held_out, "seen": w.seen_matrix}
    yield "function", evaluated(lambda users: far[users], **given), w.truth


@mistake
def scores_transposed(w: World) -> Iterator[Attempt]:
    for form, data in w.matrix_forms(w.scores.T.copy()).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def square_scores_transposed(w: World) -> Iterator[Attempt]:
    square = w.scores[:, :USERS].copy()
    held_out = np.where(w.held_out < USERS, w.held_out, -1)
    for form, data in w.matrix_forms(square.T.copy()).items():
        yield form, evaluated(data, relevant=held_out), np.nan


@mistake
def columns_from_1(w: World) -> Iterator[Attempt]:
    held_out = np.minimum(w.held_out + 1, ITEMS - 1)
    for form, data in w.matrix_forms(w.scores).items():
        yield form, evaluated(data, relevant=held_out, seen=w.seen_matrix), w.truth


@mistake
def held_out_among_seen(w: World) -> Iterator[Attempt]:
    both = pd.concat([w.seen_table, w.test_table])
    for form, data in w.forms(both).items():
        yield form, evaluated(w.scores, relevant=w.test_table, seen=data), w.truth
    mask = w.mask.copy()
    mask[np.arange(USERS), w.held_out] = True
    yield (
        "matrix",
        evaluated(w.scores, relevant=w.held_out, seen=csr_array(mask)),
        w.truth,
    )


@mistake
def held_out_masked_as_seen(w: World) -> Iterator[Attempt]:
    masked = w.masked.copy()
    masked[np.arange(USERS), w.held_out] = -np.inf
    for form, data in w.matrix_forms(masked).items():
        yield form, evaluated(data, relevant=w.held_out), w.truth


@mistake
def not_a_number_among_scores(w: World) -> Iterator[Attempt]:
    scores = w.scores.copy()
    scores[np.random.default_rng(1).random(scores.shape) < 0.1] = np.nan
    for form, data in w.matrix_forms(scores).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def probabilities_in_half_precision(w: World) -> Iterator[Attempt]:
    soft = np.exp(8 * (w.scores - w.scores.max(axis=1, keepdims=True)))
    for form, data in w.matrix_forms(soft.astype(np.float16)).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def rounded_ratings(w: World) -> Iterator[Attempt]:
    ratings = np.clip(np.round(w.scores / 3 + 4), 1, 5)
    for form, data in w.matrix_forms(ratings).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def saturated_sigmoid(w: World) -> Iterator[Attempt]:
    sigmoid = (1 / (1 + np.exp(-10 * (w.scores + 8)))).astype(np.float32)
    for form, data in w.matrix_forms(sigmoid).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def argsort_as_scores(w: World) -> Iterator[Attempt]:
    for form, data in w.matrix_forms(np.argsort(-w.scores, axis=1)).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def ranks_of_items_as_scores(w: World) -> Iterator[Attempt]:
    ranks = np.argsort(np.argsort(-w.scores, axis=1), axis=1) + 1
    for form, data in w.matrix_forms(ranks).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth


@mistake
def top_items_as_scores(w: World) -> Iterator[Attempt]:
    for form, data in w.matrix_forms(w.top(20)).items():
        yield form, evaluated(data, relevant=w.held_out), w.truth


@mistake
def factors_in_the_wrong_order(w: World) -> Iterator[Attempt]:
    u, s, v = np.linalg.svd(w.scores, full_matrices=False)
    given = {"relevant": w.held_out, "seen": w.seen_matrix}
    yield "arrays", evaluated(((v.T * s), u), **given), w.truth
    yield "lists", evaluated(((v.T * s).tolist(), u.tolist()), **given), w.truth


@mistake
def index_is_not_the_users(w: World) -> Iterator[Attempt]:
    names = np.array([f"u{k}" for k in range(USERS)])
    test = w.test_table.assign(user_id=names)
    wide = pd.DataFrame(w.scores)
    for form, data in w.forms(test).items():
        yield form, evaluated(wide, relevant=data), w.truth


@mistake
def seen_with_other_ids(w: World) -> Iterator[Attempt]:
    seen = w.seen_table
    other = seen.assign(item_id=[f"item-{k}" for k in seen["item_id"]])
    wide = pd.DataFrame(w.scores)
    for form, data in w.forms(other).items():
        yield form, evaluated(wide, relevant=w.test_table, seen=data), w.truth


# Lists


@mistake
def worst_first_scores(w: World) -> Iterator[Attempt]:
    lists = w.lists(20)
    lists["score"] = 10 - lists["score"]
    lists["rank"] = np.tile(np.arange(1, 21), USERS)
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def scores_by_another_name(w: World) -> Iterator[Attempt]:
    lists = (
        w.lists(20)
        .sample(frac=1, random_state=0)
        .rename(columns={"score": "affinity"})
    )
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def places_from_0(w: World) -> Iterator[Attempt]:
    lists = w.lists(20).drop(columns="score")
    lists["rank"] = np.tile(np.arange(20), USERS)
    for form, data in w.forms(lists.sample(frac=1, random_state=0)).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def duplicates_in_lists(w: World) -> Iterator[Attempt]:
    lists = w.lists(20).drop(columns="score")
    lists = lists.loc[lists.index.repeat(2)]
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def numbers_as_text(w: World) -> Iterator[Attempt]:
    lists = w.lists(20)
    lists["item_id"] = [f"{k:05}" for k in lists["item_id"]]
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def ids_as_decimals(w: World) -> Iterator[Attempt]:
    test = w.test_table.astype({"item_id": float})
    for form, data in w.forms(test).items():
        yield form, evaluated(w.lists(20), relevant=data), w.truth


@mistake
def dictionaries_of_sets(w: World) -> Iterator[Attempt]:
    lists = {k: set(items) for k, items in enumerate(w.top(20).tolist())}
    relevant = {k: [int(item)] for k, item in enumerate(w.held_out)}
    yield "dictionary", evaluated(lists, relevant=relevant), w.truth


@mistake
def grades_of_0_are_relevant(w: World) -> Iterator[Attempt]:
    items = np.column_stack([w.held_out, w.negatives()[:, :5]])
    qrels = table(np.repeat(np.arange(USERS), 6), items.ravel())
    qrels["relevance"] = np.tile([1, 0, 0, 0, 0, 0], USERS)
    for form, data in w.forms(qrels).items():
        yield form, evaluated(w.lists(20), relevant=data), w.truth
    by_user = {
        user: dict(zip(rows["item_id"], rows["relevance"], strict=True))
        for user, rows in qrels.groupby("user_id")
    }
    yield "dictionary", evaluated(w.lists(20), relevant=by_user), w.truth


@mistake
def run_and_qrels_swapped(w: World) -> Iterator[Attempt]:
    run, qrels = w.path("a.run"), w.path("b.qrels")
    lists = w.lists(20)
    place = np.tile(np.arange(1, 21), USERS)
    rows = zip(lists["user_id"], lists["item_id"], place, lists["score"], strict=True)
    run.write_text("".join(f"{u} Q0 {i} {r} {s} me\n" for u, i, r, s in rows))
    qrels.write_text("".join(f"{u} 0 {i} 1\n" for u, i in enumerate(w.held_out)))
    yield "files", evaluated(qrels, relevant=run), w.truth
    yield "right way round", evaluated(run, relevant=qrels), w.truth


@mistake
def ids_and_scores_swapped(w: World) -> Iterator[Attempt]:
    items = w.top(20)
    scores = np.take_along_axis(w.scores, items, axis=1)
    yield "arrays", evaluated((scores, items), relevant=w.held_out), w.truth


@mistake
def lists_of_other_users(w: World) -> Iterator[Attempt]:
    lists = w.lists(20)
    lists["user_id"] += 100_000
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


# Exact ranks


@mistake
def exact_ranks_from_0(w: World) -> Iterator[Attempt]:
    n_items = ITEMS - SEEN
    for form, data in w.forms(pd.DataFrame({"rank": w.ranks - 1})).items():
        yield form, evaluated(data, n_items=n_items), w.truth
    yield "array", evaluated(w.ranks - 1, n_items=n_items), w.truth


@mistake
def not_found_is_0(w: World) -> Iterator[Attempt]:
    ranks = np.where(w.ranks <= 20, w.ranks, 0)
    for form, data in w.forms(pd.DataFrame({"rank": ranks})).items():
        yield form, evaluated(data, n_items=ITEMS - SEEN), w.truth
    yield "array", evaluated(ranks, n_items=ITEMS - SEEN), w.truth


@mistake
def not_found_is_one_more(w: World) -> Iterator[Attempt]:
    ranks = np.minimum(w.ranks, 101)
    for form, data in w.forms(pd.DataFrame({"rank": ranks})).items():
        yield (
            form,
            lambda data=data: sm.evaluate(data, "auc", n_items=ITEMS - SEEN),
            np.nan,
        )
    yield "array", lambda: sm.evaluate(ranks, "auc", n_items=ITEMS - SEEN), np.nan


@mistake
def sampled_ranks_as_exact(w: World) -> Iterator[Attempt]:
    for form, data in w.forms(pd.DataFrame({"rank": w.sampled()})).items():
        yield form, evaluated(data, n_items=ITEMS - SEEN), w.truth
    yield "array", evaluated(w.sampled(), n_items=ITEMS - SEEN), w.truth


@mistake
def percentiles_as_ranks(w: World) -> Iterator[Attempt]:
    share = w.ranks / (ITEMS - SEEN)
    for form, data in w.forms(pd.DataFrame({"rank": share})).items():
        yield form, evaluated(data, n_items=ITEMS - SEEN), w.truth
    yield "array", evaluated(share, n_items=ITEMS - SEEN), w.truth


# Sampled


@mistake
def positive_at_the_other_end(w: World) -> Iterator[Attempt]:
    rows = w.among(w.negatives())
    for form, data in w.matrix_forms(rows).items():
        yield form, corrected(data, positive=-1), w.truth


@mistake
def sorted_before_the_cut(w: World) -> Iterator[Attempt]:
    rows = -np.sort(-w.among(w.negatives()), axis=1)
    for form, data in w.matrix_forms(rows).items():
        yield form, corrected(data, positive=0), w.truth
    ones = np.ones(USERS, dtype=int)
    yield "ranks", corrected(ones, n_negatives=NEGATIVES), w.truth
    frame = pd.DataFrame({"sampled_rank": ones})
    for form, data in w.forms(frame).items():
        yield form, corrected(data, n_negatives=NEGATIVES), w.truth


@mistake
def candidates_are_the_sample(w: World) -> Iterator[Attempt]:
    rows = w.among(w.negatives())
    for form, data in w.matrix_forms(rows).items():
        yield form, corrected(data, positive=0, n_items=NEGATIVES + 1), w.truth
    for form, data in w.forms(w.pairs(w.negatives())).items():
        yield f"pairs, {form}", corrected(data, n_items=NEGATIVES + 1), w.truth


@mistake
def labels_inverted(w: World) -> Iterator[Attempt]:
    pairs = w.pairs(w.negatives())
    pairs["label"] = 1 - pairs["label"]
    for form, data in w.forms(pairs).items():
        yield form, corrected(data), w.truth


@mistake
def sampled_ranks_from_0(w: World) -> Iterator[Attempt]:
    ranks = w.sampled() - 1
    yield "array", corrected(ranks, n_negatives=NEGATIVES), w.truth
    for form, data in w.forms(pd.DataFrame({"sampled_rank": ranks})).items():
        yield form, corrected(data, n_negatives=NEGATIVES), w.truth


@mistake
def popular_negatives(w: World) -> Iterator[Attempt]:
    for form, data in w.forms(w.pairs(w.negatives(w.popularity))).items():
        yield form, corrected(data), w.truth


@mistake
def top_of_a_retriever(w: World) -> Iterator[Attempt]:
    utility = np.exp(4 * (w.scores - w.scores.mean(axis=0)))
    for form, data in w.forms(w.pairs(w.negatives(utility))).items():
        yield form, corrected(data), w.truth


@mistake
def negatives_shared_by_all(w: World) -> Iterator[Attempt]:
    one = np.random.default_rng(5).choice(ITEMS, NEGATIVES, replace=False)
    pairs = w.pairs(np.tile(one, (USERS, 1)))
    for form, data in w.forms(pairs).items():
        yield form, corrected(data), np.nan


@mistake
def held_out_among_its_negatives(w: World) -> Iterator[Attempt]:
    negatives = w.negatives()
    negatives[:, 0] = w.held_out
    for form, data in w.matrix_forms(w.among(negatives)).items():
        yield form, corrected(data, positive=0), np.nan
    for form, data in w.forms(w.pairs(negatives)).items():
        yield f"pairs, {form}", corrected(data), np.nan


@mistake
def rows_padded_with_0(w: World) -> Iterator[Attempt]:
    rows = w.among(w.negatives()) + 15
    short = np.random.default_rng(2).integers(
        NEGATIVES // 2, NEGATIVES + 1, size=USERS
    )
    rows[np.arange(NEGATIVES + 1) > short[:, None]] = 0
    for form, data in w.matrix_forms(rows).items():
        yield form, corrected(data, positive=0), w.truth


@mistake
def sampled_scores_are_distances(w: World) -> Iterator[Attempt]:
    rows = 100 - w.among(w.negatives())
    for form, data in w.matrix_forms(rows).items():
        yield form, corrected(data, positive=0), w.truth
    pairs = w.pairs(w.negatives())
    for form, data in w.forms(pairs.assign(score=100 - pairs["score"])).items():
        yield f"pairs, {form}", corrected(data), w.truth


# Two recommenders, numbers in print, a budget


@mistake
def full_against_sampled(w: World) -> Iterator[Attempt]:
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
def printed_in_percent(w: World) -> Iterator[Attempt]:
    sampled = w.sampled()
    hit, ndcg = (
        np.mean(sampled <= CUT),
        np.mean((sampled <= CUT) / np.log2(1 + sampled)),
    )
    given = {"n_items": ITEMS - SEEN, "n_negatives": NEGATIVES}
    percent = {METRIC: round(100 * hit, 2), f"ndcg@{CUT}": round(100 * ndcg, 2)}
    yield "both", lambda: sm.reported(percent, METRIC, **given), w.truth
    mixed = {METRIC: round(100 * hit, 2), f"ndcg@{CUT}": round(ndcg, 4)}
    yield "one", lambda: sm.reported(mixed, METRIC, **given), w.truth
    swapped = {METRIC: round(ndcg, 4), f"ndcg@{CUT}": round(hit, 4)}
    yield "swapped", lambda: sm.reported(swapped, METRIC, **given), w.truth


@mistake
def budget_of_a_constant(w: World) -> Iterator[Attempt]:
    yield "function", on_budget(lambda users, _: np.zeros(len(users)), w), w.truth
    yield "matrix", on_budget(np.zeros((USERS, ITEMS)), w), w.truth


@mistake
def budget_of_distances(w: World) -> Iterator[Attempt]:
    yield (
        "function",
        on_budget(lambda users, items: -w.scores[users, items], w),
        w.truth,
    )
    yield "matrix", on_budget(-w.scores, w), w.truth


@mistake
def budget_with_swapped_arguments(w: World) -> Iterator[Attempt]:
    def swapped(items: np.ndarray, users: np.ndarray) -> np.ndarray:
        return w.scores[users % USERS, items]

    yield "function", on_budget(swapped, w), w.truth


@mistake
def budget_of_infinite_scores(w: World) -> Iterator[Attempt]:
    scores = w.scores.copy()
    scores[:, ::7] = np.inf
    yield "function", on_budget(lambda users, items: scores[users, items], w), w.truth
    yield "matrix", on_budget(scores, w), w.truth


@mistake
def budget_of_scores_that_depend_on_the_call(w: World) -> Iterator[Attempt]:
    """As rerankers normalise them, and as a merge sorts them."""

    def softmax(users: np.ndarray, items: np.ndarray) -> np.ndarray:
        odds = np.exp(w.scores[users, items])
        return odds / odds.sum()

    def ordered(users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return w.scores[users, items][np.lexsort((items, users))]

    yield "softmax", on_budget(softmax, w), w.truth
    yield "sorted", on_budget(ordered, w), w.truth


SILENT: dict[str, str] = {}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_not_silent(name: str, world: World) -> None:
    attempts = MISTAKES[name](world)
    outcomes = {form: outcome(call, truth) for form, call, truth in attempts}
    assert not {"silent", "not in the notes"} & set(outcomes.values()), outcomes


def test_there_are_fifty() -> None:
    assert len(MISTAKES) >= 50
