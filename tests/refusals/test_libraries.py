"""Mistakes of users of LensKit, RecBole, PyTorch, implicit and rerankers, in each form of the data.

What no program can see is not among them: lists of two models that were joined without duplicates,
and a softmax over users in the place of items.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.refusals import test_mistakes as mistakes
from tests.refusals.test_mistakes import (
    ITEMS,
    USERS,
    World,
    corrected,
    evaluated,
    outcome,
    table,
)

world = mistakes.world  # a fixture
Attempts = Iterator[tuple[str, Callable[[], Any], float]]
MISTAKES: dict[str, Callable[[World], Attempts]] = {}


class UserKey(NamedTuple):
    """What LensKit has as keys of its collections."""

    user_id: int


def mistake(make: Callable[[World], Attempts]) -> Callable[[World], Attempts]:
    MISTAKES[make.__name__] = make
    return make


def by_user(items: np.ndarray) -> dict[int, list[int]]:
    return {user: [int(item) for item in row] for user, row in enumerate(items)}


@mistake
def lenskit_two_models_in_one_frame(w: World) -> Attempts:
    noise = np.random.default_rng(1).normal(size=w.masked.shape)
    other = np.argsort(-w.masked - noise, axis=1)[:, :20]
    second = table(np.repeat(np.arange(USERS), 20), other.ravel())
    both = pd.concat(
        [w.lists(20), second.assign(score=np.tile(np.arange(20.0, 0, -1), USERS))]
    )
    for form, data in w.forms(both).items():
        yield form, evaluated(data, relevant=w.test_table), np.nan


@mistake
def lenskit_keys_are_tuples(w: World) -> Attempts:
    lists = {UserKey(user): items for user, items in by_user(w.top(20)).items()}
    relevant = by_user(w.held_out[:, np.newaxis])
    named = {UserKey(user): items for user, items in relevant.items()}
    yield "lists", evaluated(lists, relevant=relevant), w.truth
    yield "both", evaluated(lists, relevant=named), w.truth


@mistake
def lenskit_joined_with_the_test(w: World) -> Attempts:
    hits = w.lists(20).merge(w.test_table, on=["user_id", "item_id"])
    for form, data in w.forms(hits).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def only_users_with_a_hit(w: World) -> Attempts:
    lists = w.lists(20)
    users = lists.merge(w.test_table, on=["user_id", "item_id"])["user_id"]
    relevant = w.test_table[w.test_table["user_id"].isin(users)]
    for form, data in w.forms(lists[lists["user_id"].isin(users)]).items():
        yield form, evaluated(data, relevant=relevant), w.truth


@mistake
def recbole_sampled_candidates_in_a_matrix(w: World) -> Attempts:
    items = np.column_stack([w.held_out, w.negatives()])
    scores = np.full(w.scores.shape, -np.inf)
    np.put_along_axis(
        scores, items, np.take_along_axis(w.scores, items, axis=1), axis=1
    )
    for form, data in w.matrix_forms(scores).items():
        yield form, evaluated(data, relevant=w.held_out), w.truth
        yield (
            f"{form}, seen",
            evaluated(data, relevant=w.held_out, seen=w.seen_matrix),
            w.truth,
        )


@mistake
def recbole_hits_as_scores(w: World) -> Attempts:
    hits = np.column_stack(
        [w.top(20) == w.held_out[:, np.newaxis], np.ones(USERS)]
    ).astype(int)
    for form, data in w.matrix_forms(hits).items():
        yield form, evaluated(data, relevant=np.zeros(USERS, int)), w.truth
        yield f"{form}, sampled", corrected(data, positive=-1), w.truth


@mistake
def pytorch_rows_of_nan_filled_with_0(w: World) -> Attempts:
    full, rows = w.scores.copy(), w.among(w.negatives())
    full[::3] = 0.0
    rows[::3] = 0.0
    for form, data in w.matrix_forms(full).items():
        yield form, evaluated(data, relevant=w.held_out, seen=w.seen_matrix), w.truth
    for form, data in w.matrix_forms(rows).items():
        yield f"{form}, sampled", corrected(data, positive=0), w.truth


@mistake
def pytorch_positive_at_varying_places(w: World) -> Attempts:
    rows = np.random.default_rng(2).permuted(w.among(w.negatives()), axis=1)
    for form, data in w.matrix_forms(rows).items():
        yield form, corrected(data, positive=0), w.truth


@mistake
def implicit_lists_filled_up_with_minus_1(w: World) -> Attempts:
    items = w.top(20)
    scores = np.take_along_axis(w.scores, items, axis=1)
    length = np.random.default_rng(3).integers(5, 21, USERS)
    is_filled = np.arange(20) >= length[:, np.newaxis]
    items[is_filled] = -1
    scores[is_filled] = np.finfo(np.float32).min
    lists = table(np.repeat(np.arange(USERS), 20), items.ravel()).assign(
        score=scores.ravel()
    )
    yield "both", evaluated((items, scores), relevant=w.held_out), np.nan
    yield "items", evaluated(items, relevant=w.held_out), np.nan
    yield "dictionary", evaluated(by_user(items), relevant=w.test_table), np.nan
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), np.nan


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
    lists = table(np.repeat(np.arange(USERS), 20), numbers.ravel())
    yield "dictionary", evaluated(by_user(numbers), relevant=w.test_table), w.truth
    for form, data in w.forms(lists).items():
        yield form, evaluated(data, relevant=w.test_table), w.truth


@mistake
def reranker_order_as_scores(w: World) -> Attempts:
    order = np.argsort(-w.among(w.negatives()), axis=1)
    for form, data in w.matrix_forms(order).items():
        yield form, corrected(data, positive=0), w.truth


@mistake
def reranker_marks_from_1_to_5(w: World) -> Attempts:
    marks = np.clip(np.round(w.among(w.negatives()) / 2 + 5), 1, 5)
    for form, data in w.matrix_forms(marks).items():
        yield form, corrected(data, positive=0), w.truth
    pairs = w.pairs(w.negatives()).assign(score=marks.ravel())
    for form, data in w.forms(pairs).items():
        yield f"{form}, pairs", corrected(data), w.truth


@mistake
def reranker_candidates_as_a_full_ranking(w: World) -> Attempts:
    pairs = (
        w.pairs(w.negatives()).drop(columns="label").sample(frac=1, random_state=1)
    )
    ordered = pairs.sort_values(["user_id", "score"], ascending=[True, False])
    for complete in (False, True):
        given = {"relevant": w.test_table, "complete": complete}
        for form, data in w.forms(pairs).items():
            yield f"{form}, {complete}", evaluated(data, **given), w.truth
        for form, data in w.forms(ordered[["user_id", "item_id"]]).items():
            yield f"{form} in order, {complete}", evaluated(data, **given), w.truth


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_not_silent(name: str, world: World) -> None:
    found = {
        form: outcome(call, truth) for form, call, truth in MISTAKES[name](world)
    }
    assert not {
        form: end
        for form, end in found.items()
        if end in ("silent", "not in the notes")
    }
