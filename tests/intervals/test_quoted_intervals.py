"""Numbers that are quoted lie in their interval, or have none; ties are asked about on a budget."""

import numpy as np
import pytest

import sampled_metrics as sm

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


def results(ranks, m, n):
    return sm.correct(
        ranks, "hr@1, hr@10, ndcg@10, ap", "likely", n_items=n, n_negatives=m
    )


@pytest.mark.parametrize("seed", [12, 21, 43])
def test_likely_that_is_moved_beside_its_interval_has_none(seed):
    """Ranks that rise towards the last, where a range at the top hardly allows anything."""
    rng = np.random.default_rng(seed)
    m, users = int(rng.integers(10, 60)), int(rng.integers(100, 300))
    found = results(1 + (m * rng.random(users) ** 0.6).astype(int), m, 4000)
    for one in found:
        is_inside = one.ci_low <= one.value <= one.ci_high
        assert is_inside or np.isnan([one.ci_low, one.ci_high]).all()
        assert np.isnan(one.value) or one.range_low <= one.value <= one.range_high
    assert any(np.isnan(one.ci_low) and not np.isnan(one.value) for one in found)


def test_a_value_within_its_interval_keeps_it():
    ranks = 1 + (100 * np.random.default_rng(1).random(500) ** 3).astype(int)
    (result,) = sm.correct(ranks, "auc", "likely", n_items=3000, n_negatives=100)
    assert result.ci_low < result.value < result.ci_high


def test_differences_are_never_outside_their_interval():
    rng = np.random.default_rng(4)
    for _ in range(30):
        m = int(rng.integers(20, 60))
        data = {
            name: 1 + (m * rng.random(150) ** rng.uniform(0.5, 4)).astype(int)
            for name in "AB"
        }
        found = sm.compare(data, "hr@10, ap", "likely", n_items=3000, n_negatives=m)
        for one in found:
            assert np.isnan(one.ci_low) or one.ci_low <= one.difference <= one.ci_high


class TestBudget:
    RNG = np.random.default_rng(1)
    SCORES = RNG.normal(size=(200, 8)) @ RNG.normal(size=(8, 300)) + RNG.normal(
        size=300
    )
    HELD = (SCORES + 2 * RNG.gumbel(size=SCORES.shape)).argmax(axis=1)
    SEEN = np.zeros(SCORES.shape, bool)

    def asked(self, scores):
        notes = sm.evaluate_on_budget(
            scores, "hr@10", relevant=self.HELD, seen=self.SEEN, budget=60
        ).notes
        return [note for note in notes if "order of those" in note]

    def test_ratings_that_were_rounded_are_asked_about(self):
        rounded = np.clip(np.round(self.SCORES / 2 + 3), 1, 5)
        low, high = (
            sm.evaluate(rounded, "hr@10", relevant=self.HELD, ties=ties)[0].value
            for ties in ("pessimistic", "optimistic")
        )
        assert high - low > 0.3
        (found,) = self.asked(rounded)
        assert "hr@10" in found
        assert "rounded" in found

    @pytest.mark.parametrize("decimals", [1, 8])
    def test_few_ties_are_not(self, decimals):
        assert not self.asked(self.SCORES.round(decimals))
