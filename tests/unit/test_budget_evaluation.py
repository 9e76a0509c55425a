"""Evaluation on a budget from end to end, on catalogues small enough to rank fully."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.evaluate import evaluate_on_budget
from sampled_metrics.inference.budget.evaluation import Settings
from sampled_metrics.inference.budget.session import (
    Session,
    prepare,
    read_answers,
)
from sampled_metrics.inference.budget.values import over_ties, parse_metrics

NAMES = ("recall@5", "ndcg@5", "ap")
METRICS = parse_metrics(NAMES)


class World:
    """Users and items with vectors; a recommender sees them through noise."""

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

    def exact(self, scores: Any) -> Any:
        own = scores[np.arange(self.held.size), self.held, np.newaxis]
        hidden = np.where(self.seen.toarray() > 0, -np.inf, scores)
        better, tied = (hidden > own).sum(1), (hidden == own).sum(1) - 1
        return np.stack([over_ties(metric, better, tied) for metric in METRICS]).mean(1)


class Recorder:
    """A score function that remembers what it was asked."""

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


def evaluate(world: World, score: Any, **options: Any) -> Any:
    settings = {"budget": 40, "proxy": world.truth, "metrics": NAMES, **options}
    return evaluate_on_budget(score, world.seen, world.held, **settings)


@pytest.mark.parametrize("method", ["adaptive", "scan"])
@pytest.mark.parametrize(
    ("proxy", "budget"),
    [
        ("truth", 12.5),
        ("truth", 40),
        ("truth", 120),
        ("popularity", 12.5),
        ("popularity", 120),
        ("both", 120),
    ],
)
def test_costs_stay_within_the_budget(world: World, method: str, budget: float, proxy: str) -> None:
    options = {"truth": world.truth, "popularity": "popularity"}
    named = options.get(proxy, [world.truth, "popularity"])
    record = Recorder(world.scores)
    result = evaluate(world, record, method=method, budget=budget, proxy=named)
    assert len(record.pairs) == result.n_asked[0] + result.n_held_out
    assert result.n_asked[0] <= budget * result.n_users
    assert len(set(record.pairs)) == len(record.pairs)
    assert record.calls <= 60
    asked = np.array(record.pairs)
    assert not world.seen[asked[:, 0], asked[:, 1]].any()


def test_a_budget_for_everything_gives_the_exact_metrics(world: World) -> None:
    result = evaluate(world, lambda u, i: world.scores[u, i], budget=300)
    for one, exact in zip(result.estimates[0], world.exact(world.scores), strict=True):
        assert one.value == pytest.approx(exact, abs=1e-12)
        assert (one.low, one.high) == pytest.approx((exact, exact), abs=1e-12)
    assert result.n_asked == (int(Candidates(world.seen, world.held).n_others.sum()),)


@pytest.mark.parametrize("batch_size", [1000, 7919])
def test_results_do_not_depend_on_the_batches(world: World, batch_size: int) -> None:
    score = Recorder(world.scores)
    whole = evaluate(world, score)
    cut = evaluate(world, lambda u, i: world.scores[u, i], batch_size=batch_size)
    assert cut.estimates == whole.estimates
    assert np.array_equal(cut.posterior_mean, whole.posterior_mean)


def test_results_depend_on_the_seed_alone(world: World) -> None:
    def score(users: Any, items: Any) -> Any:
        return world.scores[users, items]

    assert evaluate(world, score).rows() == evaluate(world, score).rows()
    assert evaluate(world, score).rows() != evaluate(world, score, seed=1).rows()


@pytest.mark.parametrize("proxy", ["one", "several"])
def test_a_resumed_session_is_the_uninterrupted_one(
    world: World, tmp_path: Path, proxy: str
) -> None:
    proxies = world.truth if proxy == "one" else [world.truth, "popularity"]
    prepared = prepare(Candidates(world.seen, world.held), proxies, 3)
    settings = Settings(("A", "B"), METRICS, 120)
    matrices = np.stack([world.scores, world.other])

    def play(session: Session) -> Session:
        batch = session.ask()
        assert batch is not None
        session.tell(matrices[batch.recommender, batch.users, batch.items])
        return session

    whole = Session(prepared, settings)
    assert whole.so_far() == {}
    while whole.result is None:
        play(whole)
    for name, matrix in zip("AB", matrices, strict=True):
        known = [whole.so_far()[name][metric] for metric in NAMES]
        assert known == pytest.approx(world.exact(matrix), abs=0.1)
    paused = Session(prepared, settings)
    while paused.result is None:
        paused.save(tmp_path / "answers.npz")
        if len(paused.answers.scores) % 5 == 4:
            paused = Session(prepared, settings, read_answers(tmp_path / "answers.npz"))
        play(paused)
    assert paused.result.rows() == whole.result.rows()
    assert paused.result.trials == whole.result.trials
    with pytest.raises(InputError, match="complete"):
        paused.tell([])
    other = prepare(Candidates(world.seen, world.held), proxies, 4)
    with pytest.raises(InputError, match="belongs to another evaluation"):
        Session(other, settings, paused.answers)


def test_recommenders_that_agree_do_not_differ(world: World) -> None:
    def score(users: Any, items: Any) -> Any:
        return world.scores[users, items]

    result = evaluate(world, {"A": score, "B": lambda u, i: 2 * score(u, i) + 1})
    for one in result.differences[0, 1]:
        assert (one.value, one.centre) == (0.0, 0.0)
    assert result.estimates[0] == result.estimates[1]


@pytest.mark.parametrize("case", ["proxy", "random", "reversed", "noisy"])
def test_intervals_cover_good_and_bad_recommenders(world: World, case: str) -> None:
    rng = np.random.default_rng(5)
    scores = {
        "proxy": world.truth,
        "random": rng.random(world.truth.shape),
        "reversed": -world.truth,
        "noisy": world.other,
    }[case]
    exact = world.exact(scores)
    inside = np.zeros(3)
    for seed in range(12):
        result = evaluate(world, lambda u, i: scores[u, i], seed=seed, budget=60)
        row = result.estimates[0]
        inside += [one.low <= value <= one.high for one, value in zip(row, exact, strict=True)]
    assert np.all(inside >= 9)


def test_a_recommender_that_ties_everything(world: World) -> None:
    scores = np.zeros_like(world.truth)
    exact = world.exact(scores)
    result = evaluate(world, lambda u, i: scores[u, i], budget=60)
    for one, value in zip(result.estimates[0], exact, strict=True):
        assert one.low <= value <= one.high
        assert one.value == pytest.approx(value, abs=0.01)


def test_ties_are_averaged_over_their_orders(world: World) -> None:
    scores = np.round(world.scores)
    exact = world.exact(scores)
    result = evaluate(world, lambda u, i: scores[u, i], budget=80)
    for one, value in zip(result.estimates[0], exact, strict=True):
        assert one.low <= value <= one.high


def test_fewer_candidates_than_strata() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((30, 12))
    lists = [rng.choice(12, size=rng.integers(1, 12), replace=False) for _ in range(30)]
    held = np.array([one[0] for one in lists])
    result = evaluate_on_budget(
        lambda u, i: scores[u, i],
        lists,
        held,
        budget=12,
        proxy=scores,
        metrics=["recall@1", "ap"],
        n_items=12,
    )
    own = scores[np.arange(30), held]
    better = np.array([(scores[u, one] > own[u]).sum() for u, one in enumerate(lists)])
    assert result.estimates[0][0].value == pytest.approx((better == 0).mean())
    assert result.estimates[0][1].value == pytest.approx((1 / (better + 1)).mean())


def brute_force(scores: Any, seen: Any, lists: list[Any], k: int) -> Any:
    values = []
    for user, relevant in enumerate(lists):
        order = [item for item in np.argsort(-scores[user]) if not seen[user, item]]
        places = np.sort([order.index(item) + 1 for item in relevant])
        discounts = 1 / np.log2(np.arange(2, k + 2))
        ideal = discounts[: min(k, len(relevant))].sum()
        values.append(
            [
                (places <= k).mean(),
                (1 / np.log2(places[places <= k] + 1)).sum() / ideal,
                (np.arange(1, places.size + 1) / places).mean(),
            ]
        )
    return np.mean(values, axis=0)


@pytest.mark.parametrize("budget", [60, 300])
def test_several_held_out_items(world: World, budget: float) -> None:
    rng = np.random.default_rng(4)
    seen = world.seen.toarray() > 0
    lists = []
    for user, item in enumerate(world.held):
        rest = np.setdiff1d(np.flatnonzero(~seen[user]), [item])
        lists.append(np.append(item, rng.choice(rest, size=rng.integers(0, 3), replace=False)))
    exact = brute_force(world.scores, seen, lists, 5)
    covered = np.zeros(3)
    for seed in range(1 if budget == 300 else 6):
        result = evaluate_on_budget(
            lambda u, i: world.scores[u, i],
            world.seen,
            lists,
            budget=budget,
            proxy=world.truth,
            metrics=NAMES,
            seed=seed,
        )
        assert result.n_asked[0] <= budget * result.n_users
        assert result.n_held_out == sum(map(len, lists))
        row = result.estimates[0]
        covered += [
            one.low - 1e-9 <= x <= one.high + 1e-9 for one, x in zip(row, exact, strict=True)
        ]
        if budget == 300:
            assert [one.value for one in row] == pytest.approx(exact, abs=1e-12)
    assert np.all(covered >= (1 if budget == 300 else 5))


def test_the_pilot_takes_the_proxy_that_fits(world: World) -> None:
    reverse = -world.truth
    result = evaluate(world, Recorder(world.scores), budget=120, proxy=[reverse, world.truth])
    depths = [depth for _, depth in result.trials]
    assert depths[1] < depths[0]
    alone = evaluate(world, Recorder(world.scores), budget=120, proxy=world.truth)
    assert result.estimates[0][2].value == pytest.approx(alone.estimates[0][2].value, abs=0.03)


def test_weak_proxies_are_named(world: World) -> None:
    result = evaluate(world, Recorder(world.scores), budget=60)
    assert "proxy: matrix" in str(result)
    assert len(result.rows()) == 3


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"budget": 3}, "budget is 3; the first round needs"),
        ({"metrics": []}, "expected a list"),
        ({"method": "guess"}, "unknown method 'guess'; known: adaptive, scan"),
        ({"proxy": []}, "proxy is an empty list"),
        ({"score": lambda u, _: np.full(u.size, np.nan)}, "row 1: score of item"),
        (
            {"score": lambda _, i: np.zeros(3 + 0 * i[0])},
            r"score returned shape \(3,\) for 150 pairs",
        ),
    ],
)
def test_invalid_arguments(world: World, options: dict[str, Any], problem: str) -> None:
    arguments = {"score": lambda u, i: world.scores[u, i], **options}
    with pytest.raises(InputError, match=problem):
        evaluate(world, arguments.pop("score"), **arguments)


def test_a_large_catalogue_and_few_users() -> None:
    items, users = 1_000_000, 30
    rng = np.random.default_rng(0)
    appeal = -np.arange(items) / 1000.0

    def score(user: Any, item: Any) -> Any:
        return appeal[item] + np.sin(user * 7.0 + item)

    seen = csr_array((np.ones(3000), (rng.integers(0, users, 3000), rng.integers(0, 400, 3000))))
    seen.resize((users, items))
    held = np.full(users, 450)
    held[:10] = 1000 + np.arange(10)
    result = evaluate_on_budget(
        score, seen, held, budget=100, proxy="popularity", metrics=["recall@10"]
    )
    assert result.n_asked[0] <= 100 * users
    one = result.estimates[0][0]
    assert one.high - one.low > 0.3  # too few scores to rank a user fully


@pytest.mark.parametrize("options", [{"until_decided": True}, {"half_width": 0.5}])
def test_evaluations_stop_when_what_was_asked_for_is_reached(
    world: World, options: dict[str, Any]
) -> None:
    good, bad = Recorder(world.scores), Recorder(-world.scores)
    result = evaluate(world, {"good": good, "bad": bad}, budget=160, **options)
    assert result.n_asked[0] <= 0.5 * 160 * result.n_users
    assert result.estimates[0][0].value > result.estimates[1][0].value
    whole = evaluate(world, {"good": good, "bad": bad}, budget=160)
    assert whole.n_asked[0] > result.n_asked[0]


def test_evaluations_of_equals_go_on_to_the_end_of_the_budget(world: World) -> None:
    same = {name: Recorder(world.scores) for name in "AB"}
    result = evaluate(world, same, budget=100, until_decided=True)
    assert result.n_asked[0] > 0.9 * 100 * result.n_users
    assert result.n_asked[0] <= 100 * result.n_users
    assert len(set(same["A"].pairs)) == len(same["A"].pairs)
