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


@pytest.fixture
def seven():
    """A census of users a to g, whose items 0 to 299 have the ids 1000 to 1299.

    Item 9 has no count, so that it is half as popular as an item with a count of 1.
    """
    world, users = World(), "abcdefg"
    seen = {user: (1000 + np.flatnonzero(world.seen[row])).tolist()
            for row, user in enumerate(users)}  # fmt: skip
    relevant = {user: [1000 + int(world.held[row])] for row, user in enumerate(users)}
    counts = {1000 + item: count for item, count in enumerate(world.popularity) if item != 9}
    frame = pd.DataFrame(world.a[:7], index=list(users), columns=range(1000, 1000 + ITEMS))
    world.popularity[9] = 0.5
    return world, read_census(frame, relevant, seen, read_item_counts(counts))


def test_census_matches_loops(seven):
    world, census = seven
    stratum = strata_of_items(world.popularity)
    candidates, better = np.zeros((2, 7, stratum.max() + 1), int)
    for user in range(7):
        for item in range(ITEMS):
            if item != world.held[user] and not world.seen[user, item]:
                candidates[user, stratum[item]] += 1
                is_above = world.a[user, item] > world.a[user, world.held[user]]
                better[user, stratum[item]] += is_above
    assert (census.counts.candidates == candidates).all()
    assert (census.counts.better == better).all()


def test_census_draws_all_candidates(seven):
    _, census = seven
    assert (census.counts.drawn == census.counts.candidates).all()


def test_census_excludes_seen_and_held_out_items(seven):
    world, census = seven
    for user in range(7):
        excluded = census.excluded.toarray()[user].nonzero()[0]
        assert {*excluded} == {*np.flatnonzero(world.seen[user]), world.held[user]}


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


@pytest.fixture
def plans(monkeypatch):
    """Plans without and with the popularity of items, which simulate little."""
    monkeypatch.setattr("sampled_metrics.evaluation.plan_designs._FEW_COMPARISONS", 2)
    monkeypatch.setattr("sampled_metrics.evaluation.plan_designs._COMPARISONS", 2)
    monkeypatch.setattr("sampled_metrics.evaluation.plan_simulation.COMPARISONS", 4)
    world = World(0.1)
    options = {"relevant": world.held, "seen": world.seen, "sizes": [5, 10, 150]}
    counts = dict(enumerate(world.popularity))
    return (
        sm.plan(world.a, world.b, "recall@5", **options),
        sm.plan(world.a, world.b, "recall@5", **options, counts=counts),
    )


def test_plan_has_a_row_for_each_size_and_design(plans):
    """Half and half needs ten negatives or more."""
    _, planned = plans
    assert [(row.design, row.n_negatives) for row in planned] == [
        ("uniform", 5), ("uniform", 10), ("uniform", 150), ("half", 10), ("half", 150),
        ("uniform", None),
    ]  # fmt: skip
    assert "half" in str(planned).lower()


def test_plan_without_counts_has_no_designs(plans):
    without, _ = plans
    assert [row.design for row in without] == [None] * 4
    assert "half and half" not in str(without)


def test_counts_do_not_change_the_plan_of_uniform_negatives(plans):
    without, planned = plans
    uniform = [row.probability for row in planned if row.design == "uniform"]
    assert uniform == [row.probability for row in without]


def test_more_negatives_half_and_half_decide_smaller_differences(plans):
    _, planned = plans
    half = {row.n_negatives: row.decides_above for row in planned if row.design == "half"}
    assert half[10] > half[150] > 0.0


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


def test_counts_beside_ranks_are_refused():
    with pytest.raises(sm.InputError, match="scores"):
        sm.plan([1, 2, 3], [3, 2, 1], n_items=9, counts={0: 1})


def test_counts_of_other_ids_are_refused():
    scores = np.outer(np.ones(3), np.arange(4.0))
    with pytest.raises(sm.InputError, match="same ids"):
        sm.plan(scores, -scores, "hit@1", relevant=[0, 1, 2], counts={"x": 1}, sizes=[])


def test_counts_go_with_rankings_only():
    about = {"effect": 0.05, "value": 0.2, "n_items": 400, "n_users": 900}
    with pytest.raises(sm.InputError, match="counts"):
        sm.plan(metrics="hit@10", counts={0: 1}, **about)
