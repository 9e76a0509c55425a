"""Plans of half and half negatives: all candidates by loops, and plans by real comparisons."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.estimators.tastes import fit_tastes, mean_credit
from sampled_metrics.evaluation.plan_designs import exact_metric, plan_design
from sampled_metrics.intervals.taste_ranges import fit_mixture, profile_ranges
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks.sampling import Design
from sampled_metrics.ranks.strata import StratumCounts, strata_of_items, sums_by_stratum
from sampled_metrics.read.census import read_census
from sampled_metrics.read.item_counts import ItemCounts, read_item_counts
from sampled_metrics.sampling.negatives import draw_negatives

USERS, ITEMS = 500, 300
HR = parse_measure("recall@5")


class World:
    """Two recommenders, of which the second one knows the users better."""

    def __init__(self, difference: float = 0.7) -> None:
        rng = np.random.default_rng(0)
        self.popularity = np.round(300.0 / np.arange(1, ITEMS + 1)) + 1
        taste = rng.normal(size=(USERS, ITEMS))
        utility = np.log(self.popularity) + taste
        self.held = (utility + rng.gumbel(size=utility.shape)).argmax(axis=1)
        noise = rng.normal(size=(USERS, ITEMS))
        self.a = np.log(self.popularity) + noise
        self.b = np.log(self.popularity) + difference * taste + (1 - difference) * noise
        self.seen = rng.random((USERS, ITEMS)) < 0.1
        self.seen[np.arange(USERS), self.held] = False

    def censuses(self):
        counts = ItemCounts(np.arange(ITEMS), self.popularity)
        return tuple(read_census(each, self.held, self.seen, counts) for each in (self.a, self.b))


def test_census_matches_loops():
    world = World()
    frame = pd.DataFrame(world.a[:7], index=list("abcdefg"), columns=range(1000, 1000 + ITEMS))
    seen = {user: (1000 + np.flatnonzero(world.seen[row])).tolist()
        for row, user in enumerate("abcdefg")}  # fmt: skip
    relevant = {user: [1000 + int(world.held[row])] for row, user in enumerate("abcdefg")}
    counted = {1000 + item: count for item, count in enumerate(world.popularity) if item != 9}
    census = read_census(frame, relevant, seen, read_item_counts(counted))
    popularity = world.popularity.copy()
    popularity[9] = 0.5  # an item without a count
    stratum = strata_of_items(popularity)
    candidates, better = np.zeros((2, 7, stratum.max() + 1), int)
    for user in range(7):
        for item in range(ITEMS):
            if item != world.held[user] and not world.seen[user, item]:
                candidates[user, stratum[item]] += 1
                is_above = world.a[user, item] > world.a[user, world.held[user]]
                better[user, stratum[item]] += is_above
    assert (census.counts.candidates == candidates).all()
    assert (census.counts.better == better).all()
    assert (census.counts.drawn == candidates).all()
    assert census.excluded.toarray()[3].nonzero()[0].tolist() == sorted(
        [*np.flatnonzero(world.seen[3]), world.held[3]]
    )


def test_ties_of_a_census_are_random():
    """With equal scores, each of three candidates is above with a probability of 1/2."""
    counts = ItemCounts(np.arange(4), np.array([4.0, 4, 4, 4]))
    census = read_census(np.zeros((2000, 4)), np.zeros(2000, int), "none", counts)
    better = np.bincount(census.counts.better[:, 0])
    assert better == pytest.approx([500, 500, 500, 500], abs=80)  # each rank alike


def test_exact_metric_of_a_census():
    world = World()
    above = world.a > world.a[np.arange(USERS), world.held][:, None]
    rank = 1 + (above & ~world.seen).sum(axis=1)
    assert exact_metric(world.censuses()[0].counts, HR) == pytest.approx((rank <= 5).mean())


def test_plan_has_a_row_for_each_size_and_design(monkeypatch):
    monkeypatch.setattr("sampled_metrics.evaluation.plan_designs._FEW_COMPARISONS", 2)
    monkeypatch.setattr("sampled_metrics.evaluation.plan_designs._COMPARISONS", 2)
    monkeypatch.setattr("sampled_metrics.evaluation.plan_simulation.COMPARISONS", 4)
    world = World(0.1)
    options = {"relevant": world.held, "seen": world.seen, "sizes": [5, 10, 150]}
    without = sm.plan(world.a, world.b, "recall@5", **options)
    planned = sm.plan(
        world.a, world.b, "recall@5", **options, counts=dict(enumerate(world.popularity))
    )
    rows = [(row.design, row.n_negatives) for row in planned]
    assert rows == [
        ("uniform", 5), ("uniform", 10), ("uniform", 150), ("half", 10), ("half", 150),
        ("uniform", None),
    ]  # fmt: skip
    uniform = [row for row in planned if row.design == "uniform"]
    assert [row.probability for row in uniform] == [row.probability for row in without]
    assert [row.design for row in without] == [None] * 4
    half = {row.n_negatives: row for row in planned if row.design == "half"}
    assert half[10].decides_above > half[150].decides_above > 0.0
    assert "half and half" not in str(without)
    assert "half" in str(planned).lower()


def range_of_pair(world, negatives, scores):
    """Return the range with half of the drop, from scores of negatives, by item."""
    stratum = strata_of_items(world.popularity)
    row = np.repeat(np.arange(USERS), negatives.shape[1])
    limit = scores[np.arange(USERS), world.held][:, None]
    above = (np.take_along_axis(scores, negatives, axis=1) > limit).ravel()
    drawn = sums_by_stratum(row, negatives.ravel(), stratum, USERS)
    better = sums_by_stratum(row[above], negatives.ravel()[above], stratum, USERS)
    unavailable = world.seen.copy()
    unavailable[np.arange(USERS), world.held] = True
    user, item = unavailable.nonzero()
    candidates = np.bincount(stratum) - sums_by_stratum(user, item, stratum, USERS)
    log_popularity = np.bincount(stratum, np.log(world.popularity)) / np.bincount(stratum)
    fit = fit_tastes(StratumCounts(better, drawn, candidates, log_popularity))
    n = round(candidates.sum(axis=1).mean()) + 1
    credit = (np.arange(1, n + 1) <= 5).astype(float)
    of_cell = mean_credit(credit, np.zeros(1, int), fit.level_of_cell[None])
    mixture = fit_mixture(fit, max(5 * n // negatives.shape[1], 15))
    (found,) = profile_ranges(mixture, of_cell, 0.95, share_of_drop=0.5)
    return found


@pytest.mark.long
def test_probability_matches_real_comparisons():
    """Negatives are drawn as items, the same for both recommenders."""
    world, m = World(0.5), 40
    censuses = world.censuses()
    (decision,) = plan_design(censuses, HR, [m], design=Design.HALF, n_users=None, confidence=0.95)
    lows = []
    for seed in range(1, 21):
        negatives = draw_negatives(
            censuses[0].excluded, m, popularity=world.popularity, design="half", seed=seed
        )
        a, b = (range_of_pair(world, negatives, scores) for scores in (world.a, world.b))
        lows.append(b.low - a.high)
    difference = exact_metric(censuses[1].counts, HR) - exact_metric(censuses[0].counts, HR)
    assert difference - np.mean(lows) == pytest.approx(decision.half_width, rel=0.2)
    assert np.mean(np.array(lows) > 0) == pytest.approx(decision.probability, abs=0.25)


def test_certain_decisions_are_not_simulated_again(monkeypatch):
    calls = []

    def certain(*_, **__):
        calls.append(1)
        return [0.1, 0.1, 0.1]

    monkeypatch.setattr("sampled_metrics.evaluation.plan_designs._simulate_lower_ends", certain)
    decisions = plan_design(
        World().censuses(), HR, [20, 50, 100], design=Design.HALF, n_users=None, confidence=0.95
    )
    assert [decision.probability for decision in decisions] == [1.0, 1.0, 1.0]
    assert len(calls) == 1


def test_counts_need_scores():
    with pytest.raises(sm.InputError, match="scores of all items"):
        sm.plan([1, 2, 3], [3, 2, 1], n_items=9, counts={0: 1})
    scores = np.outer(np.ones(3), np.arange(4.0))
    with pytest.raises(sm.InputError, match="same ids"):
        sm.plan(scores, -scores, "hit@1", relevant=[0, 1, 2], counts={"x": 1}, sizes=[])


def test_counts_go_with_rankings_only():
    about = {"effect": 0.05, "value": 0.2, "n_items": 400, "n_users": 900}
    with pytest.raises(sm.InputError, match="counts"):
        sm.plan(metrics="hit@10", counts={0: 1}, **about)
