"""Evaluation on a budget from end to end, on catalogues small enough to rank fully."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget import evaluate_on_budget, evaluation

CONTROLS = 20  # pairs that are scored again
NAMES = ("recall@5", "ndcg@5", "ap")
K = 5


def exact_metrics(scores: Any, seen: Any, lists: list[Any]) -> Any:
    """Recall, NDCG and average precision by sorting, averaged over 100 random orders of ties."""
    tied = np.unique(scores).size < scores.size
    rng, values = np.random.default_rng(1), []
    for _ in range(100 if tied else 1):
        for user, relevant in enumerate(lists):
            order = np.lexsort((rng.random(scores.shape[1]), -scores[user]))
            order = order[~seen[user, order]]
            places = np.flatnonzero(np.isin(order, relevant)) + 1
            discounts = 1 / np.log2(np.arange(2, K + 2))
            ideal = discounts[: min(K, len(relevant))].sum()
            recall = (places <= K).mean()
            ndcg = (1 / np.log2(places[places <= K] + 1)).sum() / ideal
            values.append([recall, ndcg, (np.arange(1, places.size + 1) / places).mean()])
    return np.mean(values, axis=0)


class World:
    """Users and items with vectors; the recommender's scores are their products plus noise."""

    def __init__(self, users: int = 150, items: int = 300, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.truth = rng.normal(size=(users, 4)) @ rng.normal(size=(4, items))
        self.scores = self.truth + 0.3 * rng.normal(size=(users, items))
        self.other = self.truth + 0.9 * rng.normal(size=(users, items))
        noisy = self.truth + 2.0 * rng.normal(size=(users, items))
        ranked = np.argsort(-noisy, axis=1)
        self.held = ranked[np.arange(users), rng.integers(0, 12, users)]
        seen = np.zeros((users, items))
        for user in range(users):
            rest = np.setdiff1d(ranked[user, :30], [self.held[user]])
            seen[user, rng.choice(rest, 10, replace=False)] = 1.0
        self.seen = csr_array(seen)

    def exact(self, scores: Any, lists: Any = None) -> Any:
        lists = [[item] for item in self.held] if lists is None else lists
        return exact_metrics(scores, self.seen.toarray() > 0, lists)


class Recorder:
    """A score function that records its pairs."""

    def __init__(self, scores: Any) -> None:
        self.scores = scores
        self.pairs: list[tuple[int, int]] = []
        self.calls = 0

    def __call__(self, users: Any, items: Any) -> Any:
        self.pairs += zip(users.tolist(), items.tolist(), strict=True)
        self.calls += 1
        return self.scores[users, items]


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def evaluate(world: World, score: Any, held: Any = None, **options: Any) -> Any:
    settings = {"budget": 40, "proxy": world.truth, "metrics": NAMES, **options}
    scorer = Recorder(score) if isinstance(score, np.ndarray) else score
    data = {"relevant": world.held if held is None else held, "seen": world.seen}
    return evaluate_on_budget(scorer, **{**data, **settings})


def covered(result: Any, exact: Any) -> Any:
    row = zip(result.estimates[0], exact, strict=True)
    return np.array([x.low - 1e-9 <= value <= x.high + 1e-9 for x, value in row])


@pytest.mark.parametrize("budget", [12.5, 40, 120])
@pytest.mark.parametrize("proxy", ["truth", "popularity"])
class TestPrice:
    """Scores that are asked for: of candidates, of held-out items, and of pairs once again."""

    @pytest.fixture
    def asked(self, world: World, budget: float, proxy: str) -> tuple[Recorder, Any]:
        record = Recorder(world.scores)
        scores = world.truth if proxy == "truth" else proxy
        return record, evaluate(world, record, budget=budget, proxy=scores)

    def test_costs_within_budget(self, asked: tuple[Recorder, Any], budget: float) -> None:
        _, result = asked
        n_asked = result.n_asked[0] + CONTROLS
        assert 0.8 * budget * result.n_users < n_asked <= budget * result.n_users

    def test_counted_scores_are_those_asked_for(self, asked: tuple[Recorder, Any]) -> None:
        record, result = asked
        assert len(record.pairs) == result.n_asked[0] + result.n_held_out + CONTROLS
        assert len(set(record.pairs)) == len(record.pairs) - CONTROLS

    def test_few_calls_are_made(self, asked: tuple[Recorder, Any]) -> None:
        record, _ = asked
        assert record.calls <= 60

    def test_seen_items_are_not_asked_for(self, asked: tuple[Recorder, Any], world: World) -> None:
        record, _ = asked
        users, items = np.array(record.pairs).T
        assert not world.seen[users, items].any()


def test_batches_do_not_change_the_result(world: World) -> None:
    record = Recorder(world.scores)
    in_batches = evaluate(world, record, batch_size=1000)
    assert record.calls > len(record.pairs) / 1000
    assert in_batches.rows() == evaluate(world, world.scores).rows()


def test_seed_changes_the_result(world: World) -> None:
    one, other = (evaluate(world, world.scores, seed=seed).rows() for seed in (0, 1))
    assert one != other


def rows_of(world: World, score: Any, **options: Any) -> Any:
    """Return rows without the names of metrics."""
    rows = evaluate(world, score, metrics=["hit@5", "AP"], **options).rows()
    return [{name: cell for name, cell in row.items() if name != "metric"} for row in rows]


def test_metrics_have_the_names_of_the_caller(world: World) -> None:
    rows = evaluate(world, world.scores, metrics="HR@5, map").rows()
    assert [row["metric"] for row in rows] == ["HR@5", "map"]


def test_most_scores_are_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """40 scores of each of 150 users."""
    caplog.set_level("INFO", "sampled_metrics")
    evaluate(world, world.scores, budget=40)
    assert "at most 6,000 scores" in caplog.text


def test_relevant_items_may_be_a_sparse_matrix(world: World) -> None:
    users = np.arange(world.held.size)
    marks = csr_array((np.ones(users.size), (users, world.held)), world.scores.shape)
    assert rows_of(world, world.scores, held=marks) == rows_of(world, world.scores)


def test_scores_and_proxy_may_be_sparse_matrices(world: World) -> None:
    sparse = rows_of(world, csr_array(world.scores), proxy=csr_array(world.truth))
    assert sparse == rows_of(world, world.scores)


class TestIds:
    """User 7 is row 0, and item 3 j is column j."""

    @pytest.fixture
    def by_id(self, world: World) -> dict[str, Any]:
        rows, columns = 7 + np.arange(len(world.scores)), 3 * np.arange(world.scores.shape[1])
        held, seen = (
            pd.DataFrame({"user_id": 7 + user, "item_id": 3 * item})
            for user, item in ((np.arange(world.held.size), world.held), world.seen.nonzero())
        )
        return {
            "scores": pd.DataFrame(world.scores, rows, columns),
            "proxy": pd.DataFrame(world.truth, rows, columns),
            "held": held,
            "seen": seen,
        }

    def test_scores_in_a_frame_are_those_of_ids(self, world: World, by_id: dict[str, Any]) -> None:
        reversed_scores = by_id.pop("scores").iloc[::-1, ::-1]
        assert rows_of(world, reversed_scores, **by_id) == rows_of(world, world.scores)

    def test_function_is_called_with_ids(self, world: World, by_id: dict[str, Any]) -> None:
        items = pd.DataFrame({"item_id": by_id.pop("scores").columns})
        held = dict(by_id.pop("held").to_numpy().tolist())
        score = lambda users, items: world.scores[users - 7, items // 3]  # noqa: E731
        rows = rows_of(world, score, held=held, items=items, **by_id)
        assert rows == rows_of(world, world.scores)

    def test_user_without_a_row_is_named(self, world: World, by_id: dict[str, Any]) -> None:
        with pytest.raises(InputError, match="user 7"):
            evaluate(world, by_id.pop("scores")[1:], **by_id | {"proxy": "popularity"})


CASES: dict[str, Callable[[World], Any]] = {
    "proxy": lambda world: world.truth,
    "random": lambda world: np.random.default_rng(5).random(world.truth.shape),
    "reversed": lambda world: -world.truth,
    "noisy": lambda world: world.other,
    "tied": lambda world: np.round(world.scores),
    "constant": lambda world: np.zeros_like(world.truth),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # of random or constant scores
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_all_recommenders(world: World, case: str) -> None:
    scores = CASES[case](world)
    exact, inside = world.exact(scores), np.zeros(3)
    for seed in range(8):
        result = evaluate(world, scores, seed=seed, budget=60)
        inside += covered(result, exact)
    assert np.all(inside >= 6)
    if case == "constant":
        assert [x.value for x in result.estimates[0]] == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("sign", [1, -1], ids=["in order", "reversed"])
def test_good_proxy_helps_in_either_order(world: World, sign: int) -> None:
    assert evaluate(world, world.scores, proxy=sign * world.truth).proxy_helps == (True,)


@pytest.fixture(scope="module")
def with_random_proxy(world: World) -> list[Any]:
    noise = np.random.default_rng(6).random(world.truth.shape)
    return [evaluate(world, world.scores, proxy=noise, seed=x, budget=60) for x in range(6)]


@pytest.mark.long
def test_useless_proxy_detected(world: World, with_random_proxy: list[Any]) -> None:
    for result in with_random_proxy:
        assert result.proxy_helps == (False,)
        assert "relation" in str(result)
        assert result.n_asked[0] <= 60 * world.held.size


@pytest.mark.long
def test_useless_proxy_that_is_used_widens_intervals(
    world: World, with_random_proxy: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def mean_widths(results: list[Any]) -> Any:
        return np.mean([[x.high - x.low for x in each.estimates[0]] for each in results], axis=0)

    monkeypatch.setattr(evaluation, "does_proxy_help", lambda _: True)
    noise = np.random.default_rng(6).random(world.truth.shape)
    used = [evaluate(world, world.scores, proxy=noise, seed=x, budget=60) for x in range(6)]
    assert np.all(mean_widths(with_random_proxy) < mean_widths(used))


def lists_of(world: World, most: int) -> list[Any]:
    """Return the held-out item of each user, and up to `most` - 1 others."""
    rng, seen = np.random.default_rng(4), world.seen.toarray() > 0
    lists = []
    for user, item in enumerate(world.held):
        rest = np.setdiff1d(np.flatnonzero(~seen[user]), [item])
        lists.append(np.append(item, rng.choice(rest, size=rng.integers(0, most), replace=False)))
    return lists


@pytest.mark.parametrize("most", [1, 3])
def test_intervals_of_one_or_several_held_out_items_contain_exact_metrics(
    world: World, most: int
) -> None:
    lists = lists_of(world, most)
    exact, n_inside = world.exact(world.scores, lists), np.zeros(3)
    for seed in range(6):
        result = evaluate(world, world.scores, lists, seed=seed, budget=60)
        assert result.n_held_out == sum(map(len, lists))
        assert result.n_asked[0] <= 60 * result.n_users
        n_inside += covered(result, exact)
    assert np.all(n_inside >= 5)


@pytest.mark.parametrize("most", [1, 3])
def test_budget_for_all_candidates_is_exact(world: World, most: int) -> None:
    lists = lists_of(world, most)
    result = evaluate(world, world.scores, lists, budget=300)
    n_users, n_items = world.scores.shape
    n_candidates = n_users * n_items - world.seen.sum() - sum(map(len, lists))
    assert (result.n_asked[0], result.n_candidates) == (n_candidates, n_candidates)
    exact = world.exact(world.scores, lists)
    for limits in ("value", "low", "high"):
        actual = [getattr(x, limits) for x in result.estimates[0]]
        assert actual == pytest.approx(exact, abs=1e-12)


WRONG = {  # values by argument, and how messages call it
    "budget": (0, -1, np.nan, np.inf, "9", None, [9], True),
    "confidence": (0, 1, np.nan, "9", None),
    "seed": (-1, 0.5, "1", None),
    "batch_size": (0, -1, 1.5, "1", []),
    "proxy": (None, 5, [], np.ones(3), lambda *_: "x", [["a"]]),
    "seen": (None, 5, [], np.ones(3), [["a"]], [[np.nan]]),
    "relevant": (5, [], np.full(150, np.nan), "ab"),
}
NO_RECOMMENDERS = (
    None, "x", {}, {1: len}, len, lambda users: users, [],
    lambda users, _: np.ma.masked_less(users, 1), lambda _, items: np.zeros(3 + 0 * items[0]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_wrong_value_is_refused_with_its_argument(world: World, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"{name}\b"):
        evaluate(world, world.scores, **{name: value})


@pytest.mark.parametrize("score", NO_RECOMMENDERS)
def test_what_gives_no_scores_is_refused(world: World, score: Any) -> None:
    with pytest.raises(InputError, match=r"recommender\b"):
        evaluate(world, score)


def test_score_that_is_not_a_number_is_refused(world: World) -> None:
    with pytest.raises(InputError, match="score of item"):
        evaluate(world, lambda users, _: np.full(users.size, np.nan))


@pytest.mark.parametrize("metrics", ["auc", [], None, 5, [None], "recall"])
def test_other_metrics_are_refused(world: World, metrics: Any) -> None:
    with pytest.raises(InputError, match=r"metric|measure|expected"):
        evaluate(world, world.scores, metrics=metrics)


def test_metric_of_single_items_is_refused_for_several(world: World) -> None:
    several, nothing = [[0, 1], [1, 0]] * 75, csr_array((150, 300))
    with pytest.raises(InputError, match="metrics: mrr"):
        evaluate(world, world.scores, held=several, seen=nothing, metrics="mrr")


def test_budget_below_one_score_per_stratum_is_refused(world: World) -> None:
    with pytest.raises(InputError, match="first round needs 9"):
        evaluate(world, world.scores, budget=3)


@pytest.mark.filterwarnings("ignore:recommender.*ties are broken")  # of two different scores
def test_large_integer_scores_refused(world: World) -> None:
    for sign in (1, -1):
        scores = (world.scores > 0) + (2**53 - 1 if sign > 0 else -(2**53))
        evaluate(world, scores, budget=12)
        with pytest.raises(InputError, match="recommender"):
            evaluate(world, scores + sign, budget=12)


@pytest.mark.parametrize(
    ("proxy", "word"),
    [
        (lambda users: np.zeros((users.size, 3)), "shape"),
        (pd.DataFrame(np.ones((2, 3)), ["a", "b"], [1, 2, 2]), "duplicate"),
        (pd.DataFrame(np.ones((2, 3)), ["a", "a"], [1, 2, 3]), "duplicate"),
        (np.ones((2, 3)), "ids"),
    ],
)
def test_proxy_of_other_shape_refused(world: World, proxy: Any, word: str) -> None:
    arguments = {"relevant": {"a": [1], "b": [2]}, "seen": {"a": [2, 3], "b": [3, 1]}}
    if callable(proxy):
        arguments = {"relevant": world.held, "seen": world.seen}
    with pytest.raises(InputError, match=f"proxy has .*{word}"):
        evaluate_on_budget(world.scores.item, **arguments, proxy=proxy)


@pytest.mark.parametrize(("budget", "lists", "warns"), [(12, 3, True), (64, 16, False)])
def test_expected_interval_logged(
    budget: float, lists: float, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """100 users have 100 candidates each; a quarter of the budget pays for lists of 100 scores."""
    scores = np.random.default_rng(0).random((100, 101))
    caplog.set_level("INFO", "sampled_metrics")
    held_out, nothing = scores.argmax(1), np.zeros(scores.shape)
    evaluate_on_budget(scores, "hr@5", relevant=held_out, seen=nothing, budget=budget)
    record = caplog.records[0]
    assert (record.levelname == "WARNING") == warns
    text = record.getMessage()
    assert f"{100 * budget:,} scores" in text
    assert f"{lists} users" in text
    with_good_proxy, without = 20 / lists**0.5, 150 / lists**0.5
    assert f"±{with_good_proxy:.0f} %" in text
    assert f"±{without:.0f} %" in text


@pytest.mark.parametrize(("budget", "warns"), [(2000, True), (279, False)])
def test_budget_above_candidates_warns(
    world: World, caplog: pytest.LogCaptureFixture, budget: float, warns: bool
) -> None:
    """Such a budget may have been meant for all users together."""
    result = evaluate(world, world.scores, budget=budget)
    said = [record for record in caplog.records if "all 4" in record.getMessage()]
    assert bool(said) == warns
    if warns:
        assert f"{result.n_candidates:,}" in said[0].getMessage()
    assert f"{result.n_asked[0]:,} in all" in " ".join(str(result).split())


def in_calls(change: Any) -> Any:
    """A recommender whose scores depend on the other pairs of the call."""

    def made(world: World) -> Any:
        return lambda users, items: change(world.scores[users, items], users, items)

    return made


def _by_user(scores: Any, users: Any, _: Any) -> Any:
    odds = np.exp(scores)
    return odds / np.bincount(users, odds)[users]


def _sorted_by(scores: Any, *keys: Any) -> Any:
    return scores[np.lexsort(keys)]


def _dropout(world: World) -> Any:
    rng = np.random.default_rng(0)
    return in_calls(lambda x, *_: x * (rng.random(x.size) < 0.9))(world)


DISTURBED = {
    "softmax": in_calls(lambda x, *_: np.exp(x) / np.exp(x).sum()),
    "softmax of each user": in_calls(_by_user),
    "z-scores": in_calls(lambda x, *_: (x - x.mean()) / x.std()),
    "min-max": in_calls(lambda x, *_: (x - x.min()) / (x.max() - x.min())),
    "places": in_calls(lambda x, *_: x.argsort().argsort()),
    "sorted by user and item": in_calls(lambda x, u, i: _sorted_by(x, i, u)),
    "sorted by item and user": in_calls(lambda x, u, i: _sorted_by(x, u, i)),
    "dropout": _dropout,
}


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("batch_size", [None, 1000])
@pytest.mark.parametrize("kind", DISTURBED)
def test_batch_dependent_scores_warn(world: World, kind: str, batch_size: int | None) -> None:
    result = evaluate(world, DISTURBED[kind](world), batch_size=batch_size)
    assert any("score" in note for note in result.notes)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_low_precision_scores_do_not_warn(world: World, kind: Any) -> None:
    """Last bits may differ, because batches of another shape are computed differently."""
    noise = np.random.default_rng(1)

    def score(users: Any, items: Any) -> Any:
        wide = 1 + np.finfo(kind).eps * noise.uniform(-1, 1, users.size)
        return (world.scores[users, items] * wide).astype(kind)

    assert evaluate(world, score).notes == ()


def test_cutoff_beyond_candidates(world: World) -> None:
    (actual,) = evaluate(world, world.scores, metrics="hr@1000000").estimates[0]
    assert (actual.value, actual.low, actual.high) == (1.0, 1.0, 1.0)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
class TestTies:
    RNG = np.random.default_rng(1)
    SCORES = RNG.normal(size=(200, 8)) @ RNG.normal(size=(8, 300)) + RNG.normal(size=300)
    HELD = (SCORES + 2 * RNG.gumbel(size=SCORES.shape)).argmax(axis=1)
    SEEN = np.zeros(SCORES.shape, bool)

    def tie_warnings(self, scores):
        notes = sm.evaluate_on_budget(
            scores, "hr@10", relevant=self.HELD, seen=self.SEEN, budget=60
        ).notes
        return [note for note in notes if "ties are broken" in note]

    def test_rounded_scores_warn(self):
        rounded = np.clip(np.round(self.SCORES / 2 + 3), 1, 5)
        low, high = (
            sm.evaluate(rounded, "hr@10", relevant=self.HELD, ties=ties)[0].value
            for ties in ("pessimistic", "optimistic")
        )
        assert high - low > 0.3
        (actual,) = self.tie_warnings(rounded)
        assert "hr@10" in actual
        assert "rounded" in actual

    @pytest.mark.parametrize("decimals", [1, 8])
    def test_few_ties_do_not_warn(self, decimals):
        assert not self.tie_warnings(self.SCORES.round(decimals))
