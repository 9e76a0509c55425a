"""Corrections against matrices written out in full, normal equations and conditions of optimality.

The oracle knows nothing of the package: probabilities come from following one draw after the
other, metrics from their formulas, estimators from eq. 20, 21 and 25.
"""

import json
import math
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize, stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import (
    bias_variance,
    estimator_matrix,
    monotone,
    parse_estimator,
    reduced,
)
from sampled_metrics.inference.correct import correct
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.ranges import metric_ranges
from sampled_metrics.inference.solving import solve
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks

SAMPLING = ("without-replacement", "with-replacement", "distinct")
SEEDS, SETTINGS_OF_SEED = range(4), 24


def given_rank(n, m, sampling):
    """P(sampled rank = column + 1 | true rank = row + 1), from one draw to the next."""
    better, i = np.arange(n)[:, None], np.arange(m + 1)
    # Of the better items, i count so far: those that the next draw may add to them.
    others = better if sampling == "with-replacement" else np.maximum(better - i, 0)
    drawn = np.zeros((n, m + 1))
    drawn[:, 0] = 1.0
    for before in range(m):
        left = n - 1 - before if sampling == "without-replacement" else n - 1
        arriving = drawn * np.minimum(others / left, 1.0)
        drawn -= arriving
        drawn[:, 1:] += arriving[:, :-1]
    return drawn


def metric(name, rank, n):
    """Eq. 7-13 for one relevant item."""
    kind, _, cutoff = name.partition("@")
    rank = np.asarray(rank, dtype=float)
    inside = rank <= int(cutoff) if cutoff else np.ones(rank.shape, bool)
    gain = {
        "auc": (n - rank) / (n - 1),
        "ap": 1 / rank,
        "ndcg": np.log(2) / np.log(rank + 1),
        "recall": np.ones(rank.shape),
        "precision": np.ones(rank.shape) / int(cutoff or 1),
    }[kind]
    return np.where(inside, gain, 0.0)


def sampled_oracle(name, n, m):
    del n
    return metric(name, np.arange(1, m + 2), m + 1)


def rank_estimate_oracle(name, n, m):
    return metric(name, [1 + (n - 1) * i // (m + 1) for i in range(m + 1)], n)


def bv_oracle(given, values, gamma):
    """Eq. 25, ((1 - g) A'A + g diag(c)) x = A'b, its columns and rows divided by sqrt(c)."""
    n, size = given.shape
    root = np.sqrt(given.sum(axis=0) / n)
    scaled = given / root
    left = (1 - gamma) * scaled.T @ scaled / n + gamma * np.eye(size)
    return linalg.solve(left, scaled.T @ values / n, assume_a="pos") / root


def cls_oracle(given, values):
    """Eq. 21 over x = sum of steps d >= 0 that each lift the first few entries."""
    size = given.shape[1]
    steps, _ = optimize.nnls(np.cumsum(given, axis=1), values, maxiter=200 * size)
    return np.cumsum(steps[::-1])[::-1]


def random_setting(rng, sampling):
    n = round(math.exp(rng.uniform(math.log(20), math.log(1500))))
    m = int(rng.integers(1, min(n - 1, 120) + 1))
    cutoff = int(rng.integers(1, n + 1)) if rng.random() < 0.5 else int(rng.integers(1, 21))
    kind = rng.choice(["recall@", "precision@", "ndcg@", "ap@", "ndcg", "ap", "auc"])
    gamma = float(np.round(10.0 ** rng.uniform(-3, 0), 6))
    return n, m, f"{kind}{cutoff}" if kind.endswith("@") else str(kind), gamma, sampling


def observed(rng, given, rows=40):
    """Sampled ranks of users whose true ranks are mostly small."""
    true = np.minimum(rng.geometric(min(1.0, 30 / len(given)), rows), len(given)) - 1
    uniform = rng.random((rows, 1))
    return 1 + (np.cumsum(given[true], axis=1)[:, :-1] < uniform).sum(axis=1)


def test_draw_after_draw_gives_the_known_distributions():
    i, better = np.arange(13), np.arange(40)[:, None]
    for sampling, known in (
        ("without-replacement", stats.hypergeom.pmf(i, 39, better, 12)),
        ("with-replacement", stats.binom.pmf(i, 12, better / 39)),
    ):
        np.testing.assert_allclose(given_rank(40, 12, sampling), known, atol=1e-14)
    # 2 draws from 3 items, one of them better: drawn at least once with 1 - (2/3)^2
    assert given_rank(4, 2, "distinct")[1] == pytest.approx([4 / 9, 5 / 9, 0])


# Of 40 rows, few may well be near the largest.
@pytest.mark.filterwarnings("ignore:the largest sampled rank")
@pytest.mark.parametrize("seed", SEEDS)
def test_values_in_random_settings(seed):
    """4 times 24 settings of n, m, gamma, metric and sampling, four estimators each."""
    rng = np.random.default_rng(seed)
    for number in range(SETTINGS_OF_SEED):
        n, m, name, gamma, sampling = setting = random_setting(rng, SAMPLING[number % 3])
        given = given_rank(n, m, sampling)
        values = metric(name, np.arange(1, n + 1), n)
        ranks = observed(rng, given)
        evaluation = SampledRanks(ranks, n, m, sampling)
        estimators = ["sampled", "rank-estimate", f"bv:{gamma}", "cls"]
        expected = [
            sampled_oracle(name, n, m),
            rank_estimate_oracle(name, n, m),
            bv_oracle(given, values, gamma),
        ]
        if name != "auc" and n * m > 50_000:
            estimators.pop()
        elif name != "auc":
            expected.append(cls_oracle(given, values))
        elif sampling != "distinct":
            # Without bias, so the best of all: the sampled rank stands for its share of n.
            expected.append(1 - np.arange(m + 1) / m)
        # AUC under `distinct` is fitted by many vectors alike, see the test of optimality below.
        found = correct(evaluation, [name], estimators)
        for result, vector in zip(found, expected, strict=False):
            ours, theirs = result.value, vector[ranks - 1].mean()
            # Vectors near that of AUC are as good to 1e-15 where m is close to n.
            error = 1e-6 if (name, result.estimator) == ("auc", "cls") else 1e-8
            assert ours == pytest.approx(theirs, rel=0, abs=error), (setting, result.estimator)


@pytest.mark.parametrize("seed", range(6))
def test_constrained_least_squares_is_optimal(seed):
    """Steps d >= 0 with gradient 0 where they are taken and at least 0 elsewhere."""
    rng = np.random.default_rng([seed, 1])
    for _ in range(3):
        n, m, name, _, sampling = setting = random_setting(rng, SAMPLING[seed % 3])
        name = "auc" if seed >= 3 else name
        given = given_rank(n, m, sampling)
        evaluation = SampledRanks(np.array([1]), n, m, sampling)
        vectors = solve(evaluation, [parse_measure(name)], [parse_estimator("cls")]).vectors
        steps = -np.diff(vectors[0, 0], append=0.0)
        lifted = np.cumsum(given, axis=1)
        gradient = lifted.T @ (lifted @ steps - metric(name, np.arange(1, n + 1), n)) / n
        assert steps.min() >= 0.0, setting
        assert gradient.min() > -1e-10, setting
        assert np.abs(gradient[steps > 1e-9]).max() < 1e-10, setting


@cache
def both_systems(n, m, sampling):
    """The same problem by quadrature and from every rank."""
    cutoffs = [k for k in (10, 600, 20_000) if k < n]
    names = ["auc", "ap", "ndcg", *(f"recall@{k}" for k in cutoffs), f"ndcg@{cutoffs[1]}"]
    measures = [parse_measure(name) for name in names]
    return [reduced(measures, n, m, sampling, prior) for prior in (None, np.full(n, 1.0 / n))]


@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize(
    ("n", "m"),
    [(16_385, 1), (16_385, 40), (40_000, 5)],
)
def test_quadrature_is_the_sum_over_all_ranks(n, m, sampling):
    few, all_ranks = both_systems(n, m, sampling)
    np.testing.assert_allclose(few.marginal, all_ranks.marginal, rtol=1e-10, atol=1e-16)
    for gamma in (1.0, 0.1, 0.001):
        ours, theirs = bias_variance(few, gamma), bias_variance(all_ranks, gamma)
        assert np.abs(ours - theirs).max() < 1e-10 * np.abs(theirs).max()
    places = np.unique(np.geomspace(1, n, 300).astype(int))
    of_rank = {
        "without-replacement": stats.hypergeom.pmf(np.arange(m + 1), n - 1, places[:, None] - 1, m),
        "with-replacement": stats.binom.pmf(np.arange(m + 1), m, (places[:, None] - 1) / (n - 1)),
    }.get(sampling)
    if of_rank is not None:
        fits = [of_rank @ monotone(system).T for system in (few, all_ranks)]
        np.testing.assert_allclose(fits[0], fits[1], rtol=0, atol=1e-8)


def test_a_million_items_against_beta_integrals():
    """With replacement, gamma = 1 and n large: x_i = n/(n - 1) times a share of a beta density.

    x_i = sum M(r) p(i | r) / sum p(i | r). For recall@k it is close to P(Beta(i + 1, m - i + 1)
    <= k/n), the sum over whole ranks differing from the integral by parts in a million.
    """
    n, m, k = 10**6, 100, 20_000
    evaluation = SampledRanks(np.array([1]), n, m, "with-replacement")
    vectors = solve(evaluation, [parse_measure(f"recall@{k}")], [parse_estimator("bv:1")]).vectors
    i = np.arange(m + 1)
    expected = stats.beta.cdf((k - 0.5) / (n - 1), i + 1, m - i + 1)
    np.testing.assert_allclose(vectors[0, 0], expected, atol=1e-4)


class TestUsers:
    def by_hand(self, values):
        values = np.array(values)
        return values.mean(), math.sqrt(values.var(ddof=1) / values.size)

    def test_mean_and_standard_error(self):
        ranks = np.array([1, 2, 2, 5, 11])
        (found,) = correct(SampledRanks(ranks, 500, 10), ["ap"], ["sampled"])
        assert (found.value, found.std_error) == pytest.approx(
            self.by_hand([1, 1 / 2, 1 / 2, 1 / 5, 1 / 11])
        )
        assert (found.n_users, found.n_items, found.n_negatives) == (5, 500, 10)

    def test_rows_of_one_user_are_averaged_first(self):
        evaluation = SampledRanks(
            np.array([1, 2, 4, 5, 10]), 500, 10, users=np.array(["b", "a", "b", "a", "c"])
        )
        (found,) = correct(evaluation, ["ap"], ["sampled"])
        by_user = [(1 / 2 + 1 / 5) / 2, (1 + 1 / 4) / 2, 1 / 10]
        assert (found.value, found.std_error) == pytest.approx(self.by_hand(by_user))
        assert found.n_users == 3
        solved = solve(evaluation, [parse_measure("ap")], [parse_estimator("sampled")])
        assert solved.users.tolist() == ["a", "b", "c"]
        assert solved.user_values(0, 0) == pytest.approx(by_user)

    def test_users_each_once_are_as_no_users(self):
        ranks = np.array([3, 1, 7, 1])
        results = [
            correct(SampledRanks(ranks, 90, 10, users=users), ["recall@5"], ["cls", "bv:0.1"])
            for users in (None, np.array([9, 4, 7, 1]))
        ]
        for one, other in zip(*results, strict=True):
            for key, value in asdict(one).items():
                assert asdict(other)[key] == (
                    pytest.approx(value, abs=1e-13) if isinstance(value, float) else value
                )

    def test_the_mean_of_n_or_each_rows_own(self):
        ranks, items = np.array([1, 2, 1, 3]), np.array([30, 50, 40, 50])
        vectors = {
            n: bv_oracle(
                given_rank(n, 5, SAMPLING[0]), metric("ndcg@7", np.arange(1, n + 1), n), 0.1
            )
            for n in (30, 40, 42, 50)
        }
        (mean,) = correct(SampledRanks(ranks, items, 5), ["ndcg@7"], ["bv:0.1"])
        assert mean.n_items == 42  # 170 / 4 = 42.5, rounded to even
        assert mean.value == pytest.approx(vectors[42][ranks - 1].mean(), abs=1e-12)
        own = SampledRanks(ranks, items, 5)
        (found,) = correct(own, ["ndcg@7"], ["bv:0.1"], per_user=True)
        each = [vectors[n][rank - 1] for n, rank in zip(items, ranks, strict=True)]
        assert (found.value, found.std_error) == pytest.approx(self.by_hand(each))
        assert found.n_items == 42

    def test_own_n_and_repeated_users_together(self):
        ranks, items = np.array([1, 2, 1, 3]), np.array([30, 50, 30, 50])
        vectors = {
            n: bv_oracle(given_rank(n, 5, SAMPLING[1]), metric("ap", np.arange(1, n + 1), n), 0.5)
            for n in (30, 50)
        }
        own = SampledRanks(ranks, items, 5, SAMPLING[1], users=np.array([1, 2, 1, 1]))
        (found,) = correct(own, ["ap"], ["bv:0.5"], per_user=True)
        first = (vectors[30][0] + vectors[30][0] + vectors[50][2]) / 3
        assert found.value == pytest.approx((first + vectors[50][1]) / 2)

    def test_fields_are_plain(self):
        evaluation = SampledRanks(np.array([1, 4]), np.array([30, 40]), 5)
        for each in correct(evaluation, population=Population.uniform(35)):
            types = {key: type(value) for key, value in asdict(each).items()}
            assert {types.pop(key) for key in ("metric", "estimator", "shape", "sampling")} == {str}
            assert {types.pop(key) for key in ("n_users", "n_items", "n_negatives")} == {int}
            assert types.pop("behaves_like") in (int, type(None))
            assert set(types.values()) == {float}
            assert json.loads(json.dumps(asdict(each))) == asdict(each)

    def test_all_negatives_without_replacement_need_no_correction(self):
        ranks = np.array([1, 3, 9, 20])
        found = correct(SampledRanks(ranks, 20, 19), ["ndcg@5", "auc"], ["bv:0.1", "cls"])
        exact = [metric(name, ranks, 20).mean() for name in ("ndcg@5", "auc")]
        assert [each.value for each in found] == pytest.approx(np.repeat(exact, 2), abs=1e-9)


@cache
def estimator_vector(n, m):
    measures, estimators = [parse_measure("ap")], [parse_estimator("bv:0.1")]
    return estimator_matrix(estimators, measures, n, m, sampling=SAMPLING[0])[0, 0]


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_rows_of_different_n(data):
    """With and without ids, the estimate is the mean of the rows' entries."""
    rows, m = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    ranks = data.draw(st.lists(st.integers(1, m + 1), min_size=rows, max_size=rows))
    items = data.draw(st.lists(st.sampled_from([10, 20, 30]), min_size=rows, max_size=rows))
    measures, estimators = [parse_measure("ap")], [parse_estimator("bv:0.1")]
    vectors = {n: estimator_vector(n, m) for n in (10, 20, 30)}
    values = [vectors[n][rank - 1] for n, rank in zip(items, ranks, strict=True)]
    for users in (None, np.arange(rows)):
        evaluation = SampledRanks(ranks, items, m, users=users)
        solved = solve(evaluation, measures, estimators, per_user=True)
        assert (
            solved.vectors[0, 0].tolist()
            == np.ravel([vectors[n] for n in sorted(set(items))]).tolist()
        )
        assert solved.user_values(0, 0).tolist() == values
        (found,) = correct(evaluation, ["ap"], ["bv:0.1"], per_user=True)
        assert (found.value, found.n_users) == (pytest.approx(np.mean(values), abs=1e-12), rows)
        if rows > 1:
            error = np.std(values, ddof=1) / np.sqrt(rows)
            assert found.std_error == pytest.approx(error, abs=1e-12)


class TestBias:
    @pytest.mark.parametrize("sampling", SAMPLING)
    @pytest.mark.parametrize("n", [40, 3000])
    def test_none_under_the_prior_that_gamma_1_assumes(self, n, sampling):
        """Eq. 26 averaged over uniform ranks is the mean of the metric."""
        evaluation = SampledRanks(np.array([1]), n, 30, sampling)
        (found,) = correct(evaluation, ["recall@5"], ["bv:1"], population=Population.uniform(n))
        assert found.bias == pytest.approx(0.0, abs=1e-14 if n < 1000 else 1e-9)

    @pytest.mark.parametrize("sampling", SAMPLING)
    def test_bias_over_all_ranks(self, sampling):
        n, m = 60, 9
        given = given_rank(n, m, sampling)
        records = Ranks(np.full(4, n), np.array([0, 0, 7, 30]), np.array([0, 2, 0, 5]))

        def spread(better, tied):
            """Sampled rank of a user with ties."""
            if sampling != "with-replacement" or not tied:
                return given[better : better + tied + 1].mean(axis=0)
            # Draws of tied items fall before and after by a uniform number: a mean of binomials.
            low, high = better / (n - 1), (better + tied) / (n - 1)
            i = np.arange(m + 1)
            area = np.diff(stats.beta.cdf([[low], [high]], i + 1, m - i + 1), axis=0)[0]
            return area / (m + 1) / (high - low)

        users = [(0, 0), (0, 2), (7, 0), (30, 5)]
        of_users = np.mean([spread(*user) for user in users], axis=0)
        share = sum(
            np.isin(np.arange(n), np.arange(b, b + e + 1)) / (e + 1) / len(users) for b, e in users
        )
        evaluation = SampledRanks(np.array([1, 2, 9]), n, m, sampling)
        names, estimators = ["recall@5", "ap"], ["sampled", "bv:0.01"]
        for population, p, drawn in (
            (Population.of_users(records), share, of_users),
            (Population.uniform(n), np.full(n, 1 / n), given.mean(axis=0)),
        ):
            found = correct(evaluation, names, estimators, population=population)
            for result in found:
                values = metric(result.metric, np.arange(1, n + 1), n)
                vector = {
                    "sampled": sampled_oracle(result.metric, n, m),
                    "bv:0.01": bv_oracle(given, values, 0.01),
                }[result.estimator]
                expected = drawn @ vector - p @ values
                assert result.bias == pytest.approx(expected, rel=0, abs=1e-12)

    def test_bias_of_rows_corrected_for_their_own_n(self):
        """Vectors are weighted as their rows are: two rows with n = 20, one with n = 60."""
        m, items = 5, np.array([20, 60, 20])
        ranks, uniform = SampledRanks(np.array([1, 2, 3]), items, m), Population.uniform(40)
        (found,) = correct(ranks, ["ap"], ["bv:1"], per_user=True, population=uniform)
        vector = sum(
            bv_oracle(given_rank(n, m, SAMPLING[0]), metric("ap", np.arange(1, n + 1), n), 1.0)
            for n in items
        )
        values = metric("ap", np.arange(1, 41), 40)
        expected = (given_rank(40, m, SAMPLING[0]) @ vector / 3 - values).mean()
        assert found.bias == pytest.approx(expected, abs=1e-12)

    def test_none_where_no_population_is_stated(self):
        assert correct(SampledRanks(np.array([1]), 9, 2), ["ap"], ["cls"])[0].bias is None


def test_names_that_are_not_known():
    evaluation = SampledRanks(np.array([1, 2]), 9, 2)
    for arguments, words in (
        ({"metrics": ["recall@0"]}, "unknown measure 'recall@0'"),
        ({"estimators": ["bv:2"]}, "unknown estimator 'bv:2'"),
        ({"confidence": 1.0}, "confidence is 1.0; it must be above 0 and below 1"),
        ({"shape": "flat"}, "unknown shape 'flat'"),
    ):
        with pytest.raises(InputError, match=words):
            correct(evaluation, **arguments)


class TestRangesAndResolution:
    ranks = 1 + np.random.default_rng(0).binomial(100, np.random.default_rng(1).random(500) ** 4)

    def test_of_movielens_1m(self):
        found = correct(
            SampledRanks(self.ranks, 3541, 100), ["recall@10"], ["bv:0.1", "cls", "sampled"]
        )
        assert [each.behaves_like for each in found] == [17, 26, 342]
        (expected,) = metric_ranges(
            [parse_measure("recall@10")], SampledRanks(self.ranks, 3541, 100)
        )
        assert {(each.range_low, each.range_high) for each in found} == {
            (expected.low, expected.high)
        }
        assert {each.shape for each in found} == {"non-increasing"}

    def test_resolution_is_that_of_the_typical_n(self):
        items = np.full(500, 3541)
        items[0] = 200
        sample = SampledRanks(self.ranks, items, 100)
        (found,) = correct(sample, ["recall@10"], ["bv:0.1"], per_user=True)
        assert found.behaves_like == 17

    def test_auc_has_no_resolution(self):
        (found,) = correct(SampledRanks(self.ranks, 3541, 100), ["auc"], ["sampled"])
        assert found.behaves_like is None
        assert found.range_low < found.value < found.range_high
