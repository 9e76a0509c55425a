"""Corrections compared with full matrices, normal equations and optimality conditions.

The oracle does not use the package: probabilities follow one draw after the other, metrics their
formulas, estimators eq. 20, 21 and 25.
"""

import math
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, optimize

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import least_squares, reduce_system, solve_bias_variance
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import SampledRanks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.ranges import metric_ranges

SAMPLING = ("without-replacement", "with-replacement", "distinct")
SETTINGS_OF_SEED = 24


def rank_probabilities(n, m, sampling):
    """Calculate P(sampled rank = column + 1 | true rank = row + 1), one draw after the other."""
    better, i = np.arange(n)[:, None], np.arange(m + 1)
    # Of the better items, i are drawn so far; the next draw may add one of the others.
    others = better if sampling == "with-replacement" else np.maximum(better - i, 0)
    probability = np.zeros((n, m + 1))
    probability[:, 0] = 1.0
    for before in range(m):
        left = n - 1 - before if sampling == "without-replacement" else n - 1
        arriving = probability * np.minimum(others / left, 1.0)
        probability -= arriving
        probability[:, 1:] += arriving[:, :-1]
    return probability


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


def bv_oracle(probabilities, values, gamma):
    """Eq. 25, ((1 - g) A'A + g diag(c)) x = A'b, its columns and rows divided by sqrt(c)."""
    n, size = probabilities.shape
    root = np.sqrt(probabilities.sum(axis=0) / n)
    scaled = probabilities / root
    left = (1 - gamma) * scaled.T @ scaled / n + gamma * np.eye(size)
    return linalg.solve(left, scaled.T @ values / n, assume_a="pos") / root


def cls_oracle(probabilities, values):
    """Solve eq. 21 for x as a sum of steps d >= 0, each of which lifts the first few entries."""
    size = probabilities.shape[1]
    steps, _ = optimize.nnls(np.cumsum(probabilities, axis=1), values, maxiter=200 * size)
    return np.cumsum(steps[::-1])[::-1]


def random_setting(rng, sampling):
    n = round(math.exp(rng.uniform(math.log(20), math.log(600))))
    m = int(rng.integers(1, min(n - 1, 120) + 1))
    cutoff = int(rng.integers(1, n + 1)) if rng.random() < 0.5 else int(rng.integers(1, 21))
    kind = rng.choice(["recall@", "precision@", "ndcg@", "ap@", "ndcg", "ap", "auc"])
    gamma = float(np.round(10.0 ** rng.uniform(-3, 0), 6))
    return (n, m, f"{kind}{cutoff}" if kind.endswith("@") else str(kind), gamma, sampling)


def observed(rng, probabilities, rows=40):
    """Draw sampled ranks of users whose true ranks are mostly small."""
    true = (
        np.minimum(rng.geometric(min(1.0, 30 / len(probabilities)), rows), len(probabilities)) - 1
    )
    uniform = rng.random((rows, 1))
    return 1 + (np.cumsum(probabilities[true], axis=1)[:, :-1] < uniform).sum(axis=1)


# Few of 40 rows may well be near the largest rank.
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_estimators_match_oracles(seed):
    """Two times 24 settings of n, m, gamma, metric and sampling, with four estimators each."""
    rng = np.random.default_rng(seed)
    for number in range(SETTINGS_OF_SEED):
        n, m, name, gamma, sampling = setting = random_setting(rng, SAMPLING[number % 3])
        probabilities = rank_probabilities(n, m, sampling)
        values = metric(name, np.arange(1, n + 1), n)
        ranks = observed(rng, probabilities)
        evaluation = SampledRanks(ranks, n, m, sampling)
        estimators = ["sampled", "rank-estimate", f"bv:{gamma}", "cls"]
        expected = [
            sampled_oracle(name, n, m),
            rank_estimate_oracle(name, n, m),
            bv_oracle(probabilities, values, gamma),
        ]
        if name != "auc" and n * m > 50_000:
            estimators.pop()
        elif name != "auc":
            expected.append(cls_oracle(probabilities, values))
        elif sampling != "distinct":
            # The unbiased estimator is the best: the sampled rank stands for its share of n.
            expected.append(1 - np.arange(m + 1) / m)
        # Under `distinct`, many vectors fit AUC equally well; see the test of optimality below.
        results = correct(evaluation, [name], estimators)
        for result, vector in zip(results, expected, strict=False):
            ours, theirs = result.value, vector[ranks - 1].mean()
            # If m is close to n, vectors near that of AUC are as good up to 1e-15.
            error = 1e-6 if (name, result.estimator) == ("auc", "cls") else 1e-8
            assert ours == pytest.approx(theirs, rel=0, abs=error), (setting, result.estimator)


@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize(("n", "m"), [(16_385, 40), (40_000, 5)])
def test_quadrature_equals_sum_over_ranks(n, m, sampling):
    cutoffs = [k for k in (10, 600, 20_000) if k < n]
    names = ["auc", "ap", "ndcg", *(f"recall@{k}" for k in cutoffs), "ndcg@600"]
    measures = [parse_measure(name) for name in names]
    few = reduce_system(measures, n, m, sampling)
    with mock.patch.object(least_squares, "ONE_BY_ONE", n):
        all_ranks = reduce_system(measures, n, m, sampling)
    np.testing.assert_allclose(few.marginal, all_ranks.marginal, rtol=1e-10, atol=1e-16)
    for gamma in (1.0, 0.1, 0.001):
        ours, theirs = (solve_bias_variance(few, gamma), solve_bias_variance(all_ranks, gamma))
        assert np.abs(ours - theirs).max() < 1e-10 * np.abs(theirs).max()


class TestUsers:
    def test_rows_are_averaged_by_user(self):
        ranks, users = [1, 2, 4, 5, 10], ["b", "a", "b", "a", "c"]
        evaluation = SampledRanks(ranks, 500, 10, users=np.array(users))
        (result,) = correct(evaluation, ["ap"], ["sampled"])
        by_user = np.array([(1 / 2 + 1 / 5) / 2, (1 + 1 / 4) / 2, 1 / 10])
        error = by_user.std(ddof=1) / math.sqrt(3)
        assert (result.value, result.std_error) == pytest.approx((by_user.mean(), error))
        assert (result.n_users, result.n_items, result.n_negatives) == (3, 500, 10)

    def test_fitted_estimators_weight_users_equally(self):
        once, twice = (
            SampledRanks([1, 3, *[2] * rows], 20, 4, users=["a", "a", *["b"] * rows])
            for rows in (1, 2)
        )
        expected = correct(once, ["ap"], ["em:3"])[0].value
        assert correct(twice, ["ap"], ["em:3"])[0].value == pytest.approx(expected)

    @settings(deadline=None, max_examples=15)
    @given(st.data())
    def test_different_n_items_are_averaged(self, data):
        rows, m = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
        ranks = data.draw(st.lists(st.integers(1, m + 1), min_size=rows, max_size=rows))
        items = data.draw(st.lists(st.sampled_from([10, 20, 30]), min_size=rows, max_size=rows))
        n = round(np.mean(items))  # a half is rounded to even
        vector = bv_oracle(
            rank_probabilities(n, m, SAMPLING[0]), metric("ap", np.arange(1, n + 1), n), 0.1
        )
        values = vector[np.array(ranks) - 1]
        for users in (None, np.arange(rows)):
            (result,) = correct(SampledRanks(ranks, items, m, users=users), ["ap"], ["bv:0.1"])
            assert (result.n_items, result.n_users) == (n, rows)
            assert result.value == pytest.approx(values.mean(), abs=1e-9)
            if rows > 1:
                error = values.std(ddof=1) / math.sqrt(rows)
                assert result.std_error == pytest.approx(error, abs=1e-9)


@pytest.mark.parametrize(
    ("option", "word"),
    [({"estimators": ["bv:2"]}, "estimator"), ({"sampling": "popularity"}, "by popularity")],
)
def test_wrong_options_are_refused(option, word):
    with pytest.raises(InputError, match=word):
        correct([1, 2], **{"n_items": 9, "n_negatives": 2} | option)


@pytest.fixture
def many_good_ranks():
    """Sampled ranks of 500 users among 100 negatives of 3,541 items."""
    above = np.random.default_rng(1).random(500) ** 4
    return SampledRanks(1 + np.random.default_rng(0).binomial(100, above), 3541, 100)


def test_range_and_acts_like(many_good_ranks):
    """An estimate acts like recall at the true rank at which its mean falls to half."""
    probabilities = rank_probabilities(3541, 100, "without-replacement")
    recall = metric("recall@10", np.arange(1, 3542), 3541)
    credit = {
        "bv:0.1": bv_oracle(probabilities, recall, 0.1),
        "sampled": sampled_oracle("recall@10", 3541, 100),
    }
    for result in correct(many_good_ranks, ["recall@10"], list(credit)):
        of_true_ranks = probabilities @ credit[result.estimator]
        is_half = of_true_ranks <= credit[result.estimator][0] / 2
        assert result.acts_like == 1 + is_half.argmax()


def test_every_estimator_has_the_same_range(many_good_ranks):
    (expected,) = metric_ranges([parse_measure("recall@10")], many_good_ranks)
    for result in correct(many_good_ranks, ["recall@10"], ["bv:0.1", "cls", "sampled"]):
        assert (result.range_low, result.range_high) == (expected.low, expected.high)
        assert result.shape == "non-increasing"


def test_auc_acts_like_itself(many_good_ranks):
    (auc,) = correct(many_good_ranks, ["auc"], ["sampled"])
    assert auc.acts_like is None
    assert auc.range_low < auc.value < auc.range_high


MANY_NEGATIVES = SampledRanks([1, 3, 200, 900, 1501], n_items=1700, n_negatives=1501)


def test_many_negatives_skip_slow_estimators():
    with warns_about("cls"):
        results = correct(MANY_NEGATIVES, "recall@10")
    assert [result.estimator for result in results] == ["likely", "sampled"]


def test_estimator_of_many_negatives_has_the_same_range():
    (result,) = correct(MANY_NEGATIVES, "recall@10", ["rank-estimate"])
    (likely,) = correct(MANY_NEGATIVES, "recall@10", ["likely"])
    assert result.estimator == "rank-estimate"
    assert (result.range_low, result.range_high) == (likely.range_low, likely.range_high)
