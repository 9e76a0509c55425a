"""Draws that depend on popularity alone, by chance and by design."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2

import sampled_metrics as sm
from sampled_metrics._base.units import Units
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.read.item_counts import ItemCounts, read_item_counts
from sampled_metrics.sampling.evenness import Draws, measure_evenness
from sampled_metrics.sampling.negatives import Check, check_evenness, draw_negatives

USERS, ITEMS, M = 1500, 800, 40


class World:
    """Events and held-out items of users, popular ones with any number."""

    def __init__(self, seed: int = 0, users: int = USERS, items: int = ITEMS) -> None:
        rng = np.random.default_rng(seed)
        chance = rng.permutation(1.0 / np.arange(1, items + 1) ** 0.8)
        taste = np.log(chance) + rng.gumbel(size=(users, items))
        order = np.argsort(-taste, axis=1)
        self.held = order[:, 0]
        n_seen = rng.integers(5, 60, size=users)  # active users have seen more popular items
        rows = np.repeat(np.arange(users), n_seen)
        seen = np.concatenate([order[user, 1 : n + 1] for user, n in enumerate(n_seen)])
        self.events = pd.DataFrame({"user_id": rows, "item_id": seen})
        self.seen = csr_array((np.ones(rows.size), (rows, seen)), shape=(users, items))
        held = csr_array((np.ones(users), (np.arange(users), self.held)), shape=(users, items))
        self.excluded = csr_array(self.seen + held)
        n_events = np.bincount(seen, minlength=items)
        self.popularity = np.where(n_events > 0, n_events, 0.5)

    def draw(self, weight: np.ndarray | None = None, design: str = "popularity", seed: int = 0):
        if weight is None:
            weight = self.popularity
        return draw_negatives(self.excluded, M, popularity=weight, design=design, seed=seed)

    def pairs(self, negatives: np.ndarray) -> ScoredPairs:
        """Return the held-out item of each user and its negatives; -1 is none."""
        items = np.column_stack([self.held, negatives])
        users = np.repeat(np.arange(len(items)), items.shape[1])
        held_out = np.tile(np.arange(items.shape[1]) == 0, len(items))
        kept = items.ravel() >= 0
        return ScoredPairs(users[kept], items.ravel()[kept], held_out[kept], np.arange(ITEMS))

    def check(self, negatives: np.ndarray, with_events: bool = True) -> Check:
        counts = ItemCounts(np.arange(ITEMS), self.popularity)
        if with_events:
            counts = counts._replace(events=read_item_counts(self.events).events)
            counts = counts._replace(events=counts.events.restrict_to(
                Units(np.arange(USERS)), np.arange(ITEMS)))  # fmt: skip
        return check_evenness(self.pairs(negatives), counts, Units(np.arange(USERS)))


def log_uniform(popularity):
    place = np.empty(popularity.size)
    place[np.argsort(-popularity, kind="stable")] = np.arange(popularity.size)
    return np.log1p(1.0 / (place + 1.0))


SOUND = {
    "uniform": (lambda world, seed: world.draw(design="uniform", seed=seed), "uniformly"),
    "popularity": (lambda world, seed: world.draw(seed=seed), "by popularity"),
    "power": (
        lambda world, seed: world.draw(world.popularity**0.5, seed=seed),
        "by popularity to the power 0.5",
    ),
    "log-uniform": (
        lambda world, seed: world.draw(log_uniform(world.popularity), seed=seed),
        "by popularity",
    ),
    "half": (lambda world, seed: world.draw(design="half", seed=seed), "half by popularity"),
    "counts of test too": (
        lambda world, seed: world.draw(
            world.popularity + np.bincount(world.held, minlength=ITEMS), seed=seed
        ),
        "by popularity",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_designs_pass_and_are_recognised(name):
    draw, words = SOUND[name]
    world = World()
    check = world.check(draw(world, 1))
    assert check.passed
    assert check.remark.startswith(words)
    assert world.check(draw(world, 1), with_events=False).passed


@pytest.mark.long
@pytest.mark.parametrize("name", SOUND)
def test_sound_designs_seldom_fail(name):
    """With a level of .001, 40 data sets fail twice with a probability below .001."""
    draw, _ = SOUND[name]
    worlds = [World(seed) for seed in range(4)]
    p_values = [world.check(draw(world, seed)).p_value for world in worlds for seed in range(10)]
    assert sum(p < 0.001 for p in p_values) <= 1
    assert sum(p < 0.05 for p in p_values) <= 8  # 2 expected; 8 with a probability of .001


def hard_negatives(world, n_hard, seed=0):
    """Negatives of which the first ones are the favourites of a recommender."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(USERS, 6)) @ rng.normal(size=(6, ITEMS))
    scores += 2.0 * np.log(world.popularity)
    scores[world.excluded.nonzero()] = -np.inf
    hard = np.argsort(-scores, axis=1)[:, :n_hard]
    marked = csr_array(
        (np.ones(hard.size), (np.repeat(np.arange(USERS), n_hard), hard.ravel())),
        shape=(USERS, ITEMS),
    )
    others = draw_negatives(csr_array(world.excluded + marked), M - n_hard, seed=seed)
    return np.column_stack([hard, others])


UNSOUND = {
    "half of them hard": lambda world: hard_negatives(world, M // 2),
    "a tenth of them hard": lambda world: hard_negatives(world, M // 10),
    "first of sorted ids": lambda world: np.sort(
        draw_negatives(world.excluded, 2 * M), axis=1)[:, :M],
    "favourites alone": lambda world: hard_negatives(world, M - 1),
}  # fmt: skip


@pytest.mark.parametrize("with_events", [True, False])
@pytest.mark.parametrize("name", UNSOUND)
def test_draws_by_something_else_fail(name, with_events):
    world = World()
    check = world.check(UNSOUND[name](world), with_events)
    assert not check.passed
    assert "popularity" in check.remark


def in_batches(world, size, seed=0):
    """Negatives of each user: the held-out items of the others of a batch, without seen ones."""
    order = np.random.default_rng(seed).permutation(USERS).reshape(-1, size)
    negatives = np.full((USERS, size), -1)
    is_excluded = world.excluded.toarray() > 0
    for batch in order:
        for user in batch:
            items = np.unique(world.held[batch])
            items = items[~is_excluded[user, items]]
            negatives[user, : items.size] = items
    return negatives


def test_shared_negatives_are_recognised_rather_than_tested():
    world = World()
    assert "batch" in world.check(in_batches(world, 50)).remark
    items = np.random.default_rng(0).choice(ITEMS, 60, replace=False)
    is_excluded = world.excluded.toarray()[:, items] > 0
    one_set = np.where(is_excluded, -1, items)
    assert "one set" in world.check(one_set).remark


def test_clusters_draw_once():
    """Sets of 40 of 30 users each are 50 draws, not 1,500."""
    world = World()
    sets = draw_negatives(
        csr_array((50, ITEMS)), M, popularity=world.popularity, design="popularity"
    )
    pairs = world.pairs(np.repeat(sets, 30, axis=0))
    counts = ItemCounts(np.arange(ITEMS), world.popularity)
    assert not check_evenness(pairs, counts).passed
    check = check_evenness(pairs, counts, clusters=np.repeat(np.arange(50), 30))
    assert check.passed


def evenness_by_loops(row, item, unavailable, popularity):
    """Chi-square within groups of equal counts, without pools and slopes, by loops."""
    chi_square, freedom = 0.0, 0
    for count in np.unique(popularity):
        group = np.flatnonzero(popularity == count)
        expected, variance, drawn = np.zeros((3, group.size))
        for each in range(len(unavailable)):
            candidates = [i for i in group if not unavailable[each, i]]
            mine = [i for r, i in zip(row, item, strict=True) if r == each and i in group]
            p = len(mine) / max(len(candidates), 1)
            spread = p * (1 - p) * len(candidates) / max(len(candidates) - 1, 1)
            for i in candidates:
                expected[group == i] += p
                variance[group == i] += spread
            for i in mine:
                drawn[group == i] += 1
        # Ties at the ranks a to b - 1 may be ordered, which deviates alike in one item.
        a = 1 + (popularity > count).sum()
        b = a + group.size
        order = min((b - a) ** 2 / (a * b * np.log(b / a) ** 2) - 1, 0.25)
        variance += 2.0 * order * expected**2
        chi_square += ((drawn - expected) ** 2 / variance).sum()
        freedom += group.size - 1
    return chi_square, freedom


def test_chi_square_matches_loops():
    rng = np.random.default_rng(0)
    popularity = np.repeat([1.0, 3.0, 9.0], [5, 4, 3])
    users = 60
    unavailable = rng.random((users, 12)) < 0.2
    drawn = [rng.choice(np.flatnonzero(~mine), 5, replace=False) for mine in unavailable]
    row, item = np.repeat(np.arange(users), 5), np.concatenate(drawn)
    none = np.zeros(12, int)
    evenness = measure_evenness(Draws(row, item, csr_array(unavailable), popularity, none))
    chi_square, freedom = evenness_by_loops(row, item, unavailable, popularity)
    assert evenness.chi_square == pytest.approx(chi_square)
    assert evenness.freedom == freedom
    assert evenness.p_value == pytest.approx(chi2.sf(chi_square, freedom))


def test_slope_within_a_group_costs_a_degree_of_freedom():
    """Draws that are linear in the log of the count within a group fit exactly."""
    popularity = 88.0 * 1.05 ** np.arange(4)  # up to 101.9; a group is from 86.7 to 108.4
    item = np.repeat(np.arange(4), [70, 90, 110, 130])
    row = np.arange(400)
    evenness = measure_evenness(Draws(row, item, csr_array((400, 4)), popularity, np.zeros(4, int)))
    assert evenness.freedom == 2
    assert evenness.chi_square == pytest.approx(0.0, abs=0.5)


def frames(world, design):
    """Return tables of held-out items, negatives and seen events."""
    held = pd.DataFrame({"user_id": np.arange(USERS), "item_id": world.held})
    drawn = sm.negatives(held, world.events, M, items=ITEMS, design=design)
    return held, drawn


def test_negatives_by_popularity_are_sound_with_counts():
    world = World()
    held, drawn = frames(world, "popularity")
    about = (drawn, held, world.events)
    without = {check.name: check for check in sm.check_negatives(*about, items=ITEMS)}
    assert not without["uniformity"].passed
    assert "counts=" in without["uniformity"].remark
    checks = {
        check.name: check for check in sm.check_negatives(*about, items=ITEMS, counts=world.events)
    }
    assert [name for name, check in checks.items() if not check.passed] == ["uniformity"]
    assert checks["evenness"].remark == "by popularity"
    assert "counts=" in checks["uniformity"].remark


def test_command_accepts_negatives_by_popularity_with_counts(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = World()
    held, drawn = frames(world, "half")
    for name, table in (("held", held), ("drawn", drawn), ("seen", world.events)):
        table.to_csv(f"{name}.csv", index=False)
    pd.DataFrame({"item_id": range(ITEMS)}).to_csv("items.csv", index=False)
    line = ("check-negatives", "drawn.csv", "--relevant", "held.csv", "--seen", "seen.csv",
        "--items", "items.csv")  # fmt: skip
    refused = run(*line)
    assert (refused.returncode, "--counts" in refused.stdout) == (1, True)
    accepted = run(*line, "--counts", "seen.csv")
    assert (accepted.returncode, "half" in accepted.stdout) == (0, True)
    rows = json.loads(run(*line, "--counts", "seen.csv", "--format", "json").stdout)
    assert [row["passed"] for row in rows if row["name"] == "evenness"] == [True]
    hard = hard_negatives(world, M // 2)
    drawn["item_id"] = hard.ravel()
    drawn.to_csv("drawn.csv", index=False)
    assert run(*line, "--counts", "seen.csv").returncode == 1
