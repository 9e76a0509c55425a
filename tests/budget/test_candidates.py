"""Evaluation on a budget among the candidates of each user, against full rankings of them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.budget import evaluate_on_budget

USERS, ITEMS, K = 60, 90, 5
METRICS = ["recall@5", "ndcg@5", "ap"]


class World:
    """Scores, held-out items, seen items, and a third of the others as candidates."""

    def __init__(self) -> None:
        rng = np.random.default_rng(8)
        self.truth = rng.normal(size=(USERS, 3)) @ rng.normal(size=(3, ITEMS))
        self.scores = self.truth + 0.5 * rng.normal(size=(USERS, ITEMS))
        self.held = np.argsort(-self.truth, axis=1)[np.arange(USERS), rng.integers(0, 9, USERS)]
        self.seen = rng.random((USERS, ITEMS)) < 0.2
        self.some = rng.random((USERS, ITEMS)) < 0.4
        self.seen[np.arange(USERS), self.held] = False
        self.is_held_out = np.zeros_like(self.seen)
        self.is_held_out[np.arange(USERS), self.held] = True
        self.asked: set[tuple[int, int]] = set()

    def recommend(self, users: Any, items: Any) -> Any:
        self.asked.update(zip(users.tolist(), items.tolist(), strict=True))
        return self.scores[users, items]

    def recommend_by_id(self, users: Any, items: Any) -> Any:
        return self.recommend(users - 7, items // 3)


@pytest.fixture
def world() -> World:
    return World()


def lists(marks: Any) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in marks]


def by_id(marks: Any) -> dict[int, list[int]]:
    return {7 + user: [3 * item for item in items] for user, items in enumerate(lists(marks))}


def table(marks: Any) -> pd.DataFrame:
    user, item = np.nonzero(marks)
    return pd.DataFrame({"user_id": 7 + user, "item_id": 3 * item})


def evaluate(world: World, **options: Any) -> Any:
    arguments = {"relevant": world.held, "budget": 20, "metrics": METRICS, **options}
    has_ids = isinstance(arguments["relevant"], dict | pd.DataFrame)
    return evaluate_on_budget(world.recommend_by_id if has_ids else world.recommend, **arguments)


FORMS = {
    "bool": lambda marks: {"as": marks},
    "sparse": lambda marks: {"as": csr_array(marks)},
    "lists": lambda marks: {"as": lists(marks), "items": ITEMS},
    "dictionary": lambda marks: {"as": by_id(marks)},
    "table": lambda marks: {"as": table(marks)},
}


BY_POSITION, BY_ID = ("bool", "sparse", "lists"), ("dictionary", "table")


@pytest.mark.parametrize("form", FORMS)
def test_unseen_candidates_are_those_by_default(world: World, form: str) -> None:
    expected = evaluate(world, seen=world.seen).rows()
    pairs = world.asked.copy()
    world.asked.clear()
    seen, others = FORMS[form](world.seen), FORMS[form](~world.seen)
    options = {"seen": seen.pop("as"), "candidates": others.pop("as"), **seen}
    if form in BY_ID:
        options["relevant"] = table(world.is_held_out)
    assert evaluate(world, **options).rows() == expected
    assert world.asked == pairs


@pytest.mark.parametrize("form", BY_POSITION)
def test_seen_items_by_position_have_one_result_in_all_forms(world: World, form: str) -> None:
    options = FORMS[form](world.seen)
    seen = options.pop("as")
    assert evaluate(world, seen=seen, **options).rows() == evaluate(world, seen=world.seen).rows()


@pytest.mark.parametrize("form", BY_ID)
def test_seen_items_by_id_have_the_result_of_positions(world: World, form: str) -> None:
    by_ids = {
        "seen": FORMS[form](world.seen)["as"],
        "relevant": table(world.is_held_out),
        "items": pd.DataFrame({"item_id": 3 * np.arange(ITEMS)}),
    }
    assert evaluate(world, **by_ids).rows() == evaluate(world, seen=world.seen).rows()


@pytest.mark.parametrize("form", BY_POSITION)
def test_candidates_by_position_limit_the_ranking(world: World, form: str) -> None:
    """Others count as if they were seen."""
    others = ~world.some & ~world.is_held_out
    expected = evaluate(world, seen=others | world.seen, proxy=world.truth)
    world.asked.clear()
    options = FORMS[form](world.some)
    options["candidates"] = options.pop("as")
    seen = lists(world.seen) if form == "lists" else world.seen
    limited = evaluate(world, seen=seen, proxy=world.truth, **options)
    assert limited.rows() == expected.rows()
    allowed = (world.some & ~world.seen) | world.is_held_out
    assert [pair for pair in world.asked if not allowed[pair]] == []


@pytest.mark.parametrize("form", BY_ID)
def test_candidates_by_id_limit_the_ranking(world: World, form: str) -> None:
    others = ~world.some & ~world.is_held_out
    expected = evaluate(world, seen=others | world.seen, proxy=world.truth)
    world.asked.clear()
    limited = evaluate(
        world,
        relevant=by_id(world.is_held_out),
        seen=table(world.seen),
        candidates=FORMS[form](world.some)["as"],
        proxy=pd.DataFrame(world.truth, 7 + np.arange(USERS), 3 * np.arange(ITEMS)),
    )
    assert limited.rows() == expected.rows()
    allowed = (world.some & ~world.seen) | world.is_held_out
    assert [pair for pair in world.asked if not allowed[pair]] == []


def exact(world: World, candidates: Any) -> Any:
    """Recall, NDCG and average precision of one held-out item, by sorting its candidates."""
    ranks = []
    for user, item in enumerate(world.held):
        allowed = np.flatnonzero(candidates[user])
        order = allowed[np.argsort(-world.scores[user, allowed])]
        ranks.append(int(np.flatnonzero(order == item)[0]) + 1)
    rank = np.array(ranks)
    hit = rank <= K
    return [hit.mean(), (hit / np.log2(rank + 1)).mean(), (1 / rank).mean()]


@pytest.mark.parametrize("seen", [True, False])
def test_budget_for_all_candidates_exact(world: World, seen: bool) -> None:
    options: dict[str, Any] = {"seen": world.seen if seen else None, "candidates": world.some}
    ranked = world.some & ~world.seen if seen else world.some
    result = evaluate(world, budget=ITEMS, proxy=world.truth, **options)
    expected = exact(world, ranked | world.is_held_out)
    for limit in ("value", "low", "high"):
        actual = [getattr(estimate, limit) for estimate in result.estimates[0]]
        assert actual == pytest.approx(expected, abs=1e-12)
    assert result.n_candidates == (ranked & ~world.is_held_out).sum()


def test_popularity_counts_seen_items(world: World) -> None:
    """The proxy counts users who have seen an item, also those whose candidate it is."""
    events = world.seen.sum(axis=0)
    options = {"seen": world.seen, "candidates": world.some}
    common = evaluate(world, **options, proxy="popularity").rows()
    proxy = np.broadcast_to(events.astype(float), world.seen.shape)
    has_ids = evaluate(world, **options, proxy=np.array(proxy)).rows()
    for row in (*common, *has_ids):
        del row["proxy"]
    assert common == has_ids


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "seen nor candidates"),
        ({"candidates": np.ones((USERS, ITEMS))}, "popularity"),
        ({"candidates": np.zeros((USERS, ITEMS))}, "candidates .* user 0"),
        ({"candidates": [[1, 2]] * USERS}, "items"),
        ({"seen": [[]] * USERS}, "items"),
        ({"seen": [[0, ITEMS]] * USERS, "items": ITEMS}, "column seen"),
        (
            {"candidates": [[0]] * (USERS + 1), "items": ITEMS},
            "candidates: .* 61 users",
        ),
        ({"candidates": {7: [1]}}, "relevant and candidates"),
        ({"candidates": 5}, "items"),
        (
            {"candidates": {8: [3]}, "relevant": {7: [3], 8: [6]}},
            "candidates .* user 7",
        ),
    ],
)
def test_invalid_candidates(world: World, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(world, **options)
