"""Sampled ranks that are refused or warned about."""

import warnings

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sampled_metrics import InputError, InputWarning, correct
from sampled_metrics.intervals.misfit import count_users_by_sampled_rank, misfit, rising_p_value
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.sampling.probability import pmf_at
from tests.helpers.caught_warnings import full_messages, warns_about
from tests.helpers.rank_draws import M, N, draw_ranks, each_sampling, each_shape, power_ranks

BROKEN = {  # what `correct` does: (it refuses the ranks, it warns)
    "every negative twice": (True, False),
    "ten negatives given as a hundred": (True, True),
    "two negatives given as a hundred": (True, False),
    "counted from two": (True, False),
    "popular negatives": (False, True),  # a poor recommender could have such ranks
    "ten of a hundred negatives hard": (True, False),
    "half of the negatives hard": (True, False),
    "held-out items that are not scored": (False, True),  # they are at the end, which is valid
}


class TestMisfit:
    @pytest.mark.long
    @each_shape
    @pytest.mark.parametrize("exponent", [0.1, 0.3, 1.0])
    def test_valid_data_rarely_refused(self, exponent, shape):
        rng = np.random.default_rng(10)
        refused = 0
        for m, users in [(5, 500), (20, 200), (100, 1000)] * 20:
            ranks = draw_ranks(power_ranks(users, exponent, rng), m, rng)
            refused += misfit(SampledRanks(ranks, N, m), shape).p_value < 0.01
        assert refused <= 3  # of 60

    def broken(self, case):
        rng = np.random.default_rng(11)
        true = power_ranks(4000, 0.25, rng)
        match case:
            case "every negative twice":
                sampled_ranks = 2 * draw_ranks(true, 50, rng) - 1
            case "ten negatives given as a hundred":
                sampled_ranks = draw_ranks(true, 10, rng)
            case "two negatives given as a hundred":
                sampled_ranks = draw_ranks(true, 2, rng)
            case "counted from two":
                sampled_ranks = np.minimum(draw_ranks(true, M, rng) + 1, M + 1)
            case "popular negatives":  # the share of them above the item is near 1
                sampled_ranks = 1 + rng.binomial(M, 1 - (true - 1) / N)
            case (
                "ten of a hundred negatives hard"
            ):  # half of them are better than the held-out item
                sampled_ranks = draw_ranks(true, 90, rng) + rng.binomial(10, 0.5, true.size)
            case "half of the negatives hard":
                sampled_ranks = draw_ranks(true, 50, rng) + rng.binomial(50, 0.5, true.size)
            case _:
                assert case == "held-out items that are not scored"
                unscored = true.size * 2 // 5
                true[:unscored] = rng.integers(N - 600, N, unscored)
                sampled_ranks = draw_ranks(true, M, rng)
        return sampled_ranks

    @pytest.mark.parametrize("case", BROKEN)
    def test_broken_data_refused_or_warned(self, case, recwarn):
        """No mistake passes `correct` without an error or a warning."""
        refused = False
        try:
            correct(self.broken(case), "recall@10", "cls", n_items=N, n_negatives=M)
        except InputError:
            refused = True
        warned = any(issubclass(each.category, InputWarning) for each in recwarn)
        assert (refused, warned) == BROKEN[case]

    @pytest.mark.parametrize("users", [300, 6000])
    def test_some_poor_ranks_do_not_warn(self, users, recwarn):
        """A good recommender has 4 % of its users in the last four tenths."""
        rng = np.random.default_rng(12)
        true = power_ranks(users, 0.25, rng)
        true[: users // 25] = rng.integers(N * 6 // 10, N, users // 25)
        correct(draw_ranks(true, M, rng), "recall@10", "cls", n_items=N, n_negatives=M)
        assert not recwarn.list

    def test_avoided_top_needs_wider_shape(self):
        """Ranks below the top are likelier: valid data, but not non-increasing."""
        rng = np.random.default_rng(14)
        rank = np.arange(1, N + 1)
        weights = np.where(rank <= 60, 1.0, 2.5 * np.minimum(1.0, 177 / rank) ** 2)
        true = rng.choice(rank, 100_000, p=weights / weights.sum())
        sampled_ranks = SampledRanks(draw_ranks(true, M, rng), N, M)
        with pytest.raises(InputError, match="shape=3"):
            correct(sampled_ranks, "recall@10", "sampled")
        with warns_about("negatives"):
            correct(sampled_ranks, "recall@10", "sampled", shape=3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            correct(sampled_ranks, "recall@10", "sampled", shape="none")

    @pytest.mark.filterwarnings("ignore:.*in a random order")
    @pytest.mark.parametrize(("step", "warns"), [(8, True), (6, False), (-8, False)])
    def test_rare_first_ranks_warn(self, step, warns):
        """With 20 ranks and about 100 users at each, the mean of the first 6 ranks is tested."""
        counts = np.full(20, 100)
        counts[:6] += step * np.arange(-5, 6, 2) // 2
        rank = np.arange(1, 7)
        z = (rank @ counts[:6] / 600 - 3.5) / np.sqrt(35 / 12 / 600)
        assert (norm.sf(z) < 0.0025) == warns
        sampled_ranks = SampledRanks(np.repeat(np.arange(1, 21), counts), 1000, 19)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            correct(sampled_ranks, "recall@10", "sampled")
        assert any("likelier" in text for text in full_messages(caught)) == warns

    def test_one_row_per_user(self):
        rng = np.random.default_rng(13)
        ranks = np.repeat(draw_ranks(power_ranks(300, 0.3, rng), M, rng), 20)
        users = np.repeat(np.arange(300), 20)
        assert misfit(SampledRanks(ranks, N, M, users=users)).p_value > 0.01
        assert misfit(SampledRanks(ranks, N, M)).p_value < 0.01  # as if there were 6,000 users

    def test_p_value(self):
        actual = misfit(SampledRanks([1] * 30 + [2] * 70, N, 1), "non-increasing")
        # With m = 1, rank 1 has a probability of at least 1/2.
        expected = 2 * (30 * np.log(30 / 50) + 70 * np.log(70 / 50))
        assert actual.statistic == pytest.approx(expected, rel=0.01)
        assert actual.p_value == pytest.approx(chi2.sf(actual.statistic, actual.degrees))
        # True rank 2 is closest: 3 cells less 1 point plus 1 are 3 degrees of freedom.
        sample = SampledRanks([1] * 10 + [2] * 80 + [3] * 10, 3, 2, "with-replacement")
        expected = 2 * (20 * np.log(10 / 25) + 80 * np.log(80 / 50))
        assert misfit(sample, "none")[:2] == (pytest.approx(expected), 3)


def test_perfect_ranks_fit():
    """Among few negatives the closest mixture expects no user in a cell beside the first."""
    sample = SampledRanks([1] * 3000, n_items=3541, n_negatives=5)
    assert misfit(sample).statistic == pytest.approx(0.0, abs=1e-6)
    with pytest.warns(InputWarning, match="leak"):
        (sampled,) = correct(sample, "hr@10", "sampled")
    assert (sampled.value, sampled.range_high) == (1.0, 1.0)


def test_one_cell_one_degree_of_freedom():
    for ranks in ([1, 2, 3], [1, 5, 11, 2, 3, 4, 1, 1]):
        assert tuple(misfit(SampledRanks(ranks, 50, 10), "none")) == pytest.approx((0, 1, 1))


def rise_of(ranks, m):
    return rising_p_value(count_users_by_sampled_rank(SampledRanks(ranks, N, m)))


class TestRise:
    @each_sampling
    @pytest.mark.parametrize(("n", "m"), [(9, 8), (60, 7), (60, 20), (400, 100)])
    def test_low_ranks_of_class_have_bounded_mean(self, n, m, sampling):
        """Checked under each extreme point of the class: equally likely true ranks 1 ... k."""
        single = pmf_at(np.arange(1, n + 1), n, m, sampling)
        of_points = np.cumsum(single, axis=0) / np.arange(1, n + 1)[:, None]
        for length in (6, 12, 24):
            if length == 6 or length <= (m + 1) // 4:
                head = of_points[:, :length]
                means = head @ np.arange(1, length + 1) / head.sum(axis=1)
                assert means.max() <= (length + 1) / 2 + 1e-12

    def test_p_value_by_hand(self):
        """With 100 negatives the means of ranks up to 6, 12 and 24 are tested."""
        ranks = [1] * 2 + [5] * 20 + [9] * 4 + [20] * 30 + [80] * 40
        actual = []
        for length, head in ((6, [1] * 2 + [5] * 20), (12, ranks[:26]), (24, ranks[:56])):
            deviation = np.std(np.arange(1, length + 1)) / np.sqrt(len(head))
            actual.append(norm.sf((np.mean(head) - (length + 1) / 2) / deviation))
        assert rise_of(ranks, M) == pytest.approx(3 * min(actual))
        few = SampledRanks([1] * 2 + [5] * 17 + [80] * 40, N, M)
        assert (
            rising_p_value(count_users_by_sampled_rank(few)) == 1.0
        )  # the mean of 19 users is not normal enough

    @pytest.mark.parametrize(("m", "longest"), [(1, 6), (10, 6), (46, 6), (47, 12), (95, 24)])
    def test_rise_tests_a_quarter_of_ranks(self, m, longest):
        """Only ranks up to the longest tested length are noticed."""
        last = min(longest, m + 1)
        assert rise_of([last] * 200, m) < 0.01 or last < 4
        assert rise_of([min(longest + 1, m + 1)] * 200, m) == 1.0 or m + 1 <= longest

    @pytest.mark.parametrize("m", [10, 50, 500])
    def test_rise_level_for_equal_ranks(self, m):
        """p is below 0.0025, where warnings begin, in at most 0.6 % of samples."""
        rng = np.random.default_rng(15)
        actual = [rise_of(rng.integers(1, m + 2, 500), m) for _ in range(2000)]
        assert np.mean(np.array(actual) < 0.0025) < 0.006

    def test_popular_negatives_warn(self, recwarn):
        """The share of negatives above the item is the square root of that of the candidates."""
        rng = np.random.default_rng(16)
        rank = np.arange(1, N + 1)
        weights = 1.0 / (rank + 20)
        true = rng.choice(rank, 2000, p=weights / weights.sum())
        sampled_ranks = SampledRanks(1 + rng.binomial(M, np.sqrt((true - 1) / N)), N, M)
        correct(sampled_ranks, "recall@10", "sampled")
        assert [each.category for each in recwarn.list] == [InputWarning]
