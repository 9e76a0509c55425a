"""One number beside a range: the estimator `likely`, the tilt of printed means, ends in order."""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

import sampled_metrics as sm
from sampled_metrics._base.errors import InputWarning
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference import tilt
from sampled_metrics.inference.ranges import Range
from sampled_metrics.inference.statement import About, state
from sampled_metrics.metrics import parse_measure

WITHOUT = "without-replacement"
CREDITS = {
    "recall@3": lambda r, _: float(r <= 3),
    "ndcg@3": lambda r, _: (r <= 3) / math.log2(r + 1),
    "ap": lambda r, _: 1 / r,
}


def chances(n, m):
    """Probability of sampled rank i + 1 given the true rank: of C(n - 1, m) sets of negatives."""
    return [
        [math.comb(r - 1, i) * math.comb(n - r, m - i) / math.comb(n - 1, m) for i in range(m + 1)]
        for r in range(1, n + 1)
    ]


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def likely(counts, names, n, sampling=WITHOUT):
    vectors = estimator_matrix(
        *([parse_estimator("likely")], [parse_measure(name) for name in names]),
        *(n, len(counts) - 1),
        sampling=sampling,
        histogram=counts,
    )
    return vectors[:, 0]


@pytest.mark.parametrize(("counts", "steps"), [
    ([3, 1, 0, 2, 1, 0, 0], 1), ([90, 40, 20, 9, 7, 0, 3], 3), ([900, 400, 210, 90, 0, 0, 0], 10),
])  # fmt: skip
def test_mixture_that_loops_find(counts, steps):
    """Steps are sqrt(D)/4 of 7, 169 and 1,600 users: 0.7, 3.25 and 10."""
    n, m, users = 40, len(counts) - 1, sum(counts)
    given = chances(n, m)
    uniform = [mean(given[:k]) for k in range(1, n + 1)]
    weights = [1 / n] * n
    for _ in range(steps):
        total = [sum(w * q[i] for w, q in zip(weights, uniform, strict=True)) for i in range(m + 1)]
        weights = [
            w * sum(f / users * q[i] / total[i] for i, f in enumerate(counts))
            for w, q in zip(weights, uniform, strict=True)
        ]
    found = likely(counts, CREDITS, n) @ counts / users
    for value, credit in zip(found, CREDITS.values(), strict=True):
        of_points = [sum(credit(r, n) for r in range(1, k + 1)) / k for k in range(1, n + 1)]
        assert value == pytest.approx(
            sum(w * v for w, v in zip(weights, of_points, strict=True)), rel=1e-10
        )


def test_auc_is_unbiased():
    counts = [40, 9, 5, 2]
    assert likely(counts, ["auc"], 500)[0] == pytest.approx([1, 2 / 3, 1 / 3, 0])


@pytest.mark.parametrize("sampling", [WITHOUT, "with-replacement", "distinct"])
def test_few_points_stand_for_all(sampling):
    """Of 3,000 candidates 300 k are taken; with all of them the estimate is the same to 1 %."""
    n, m = 3000, 30
    counts = np.round(600 / (1 + np.arange(m + 1.0)))
    given = np.cumsum(chances(n, m), axis=0) / np.arange(1, n + 1)[:, None]
    weights = np.full(n, 1 / n)
    for _ in range(round(math.sqrt(counts.sum()) / 4)):
        weights = weights * (given @ (counts / counts.sum() / (weights @ given)))
    expected = weights @ (np.minimum(np.arange(1, n + 1), 10) / np.arange(1, n + 1))
    found = likely(counts, ["recall@10"], n, sampling)[0] @ counts / counts.sum()
    assert found == pytest.approx(expected, rel=0.01 if sampling == WITHOUT else 0.1)


def test_is_inside_the_range_and_close_to_the_exact_metric():
    rng = np.random.default_rng(3)
    n, m, users = 2000, 100, 4000
    better = (n * rng.random(users) ** 2.5).astype(int)
    exact = sm.evaluate(sm.Ranks([n] * users, better, [0] * users), "recall@10, ap")
    sampled = rng.hypergeometric(better, n - 1 - better, m) + 1
    for one, true in zip(
        sm.correct(sampled, "recall@10, ap", "likely", n_items=n, n_negatives=m), exact, strict=True
    ):
        assert one.range_low <= one.value <= one.range_high
        assert one.value == pytest.approx(true.value, rel=0.3)


@pytest.mark.parametrize("confidence", [1e-12, 0.05, 0.5, 0.95])
@pytest.mark.parametrize(("n", "ranks"), [(2, [1] * 6 + [2] * 5), (40, [1, 2] * 9 + [2] * 3)])
def test_ends_are_in_order_at_any_confidence(n, ranks, confidence):
    about = {"n_items": n, "n_negatives": 1, "confidence": confidence}
    warnings.simplefilter("ignore", InputWarning)  # two candidates are few
    for shape in ("non-increasing", 2):
        for one in sm.correct(ranks, "hit@1, ap", "sampled", shape=shape, **about):
            assert one.range_low <= one.range_high
    widths = [
        one.range_high - one.range_low
        for level in (0.5, 0.8, 0.95)
        for one in sm.correct(ranks, "hit@1", "sampled", **about | {"confidence": level})
    ]
    assert all(less <= more + 1e-9 for less, more in pairwise(widths)) or n == 2


def test_tilt_is_the_mixture_of_greatest_entropy():
    """Entropy less D/2 times the squared errors of the numbers, maximised over all weights."""
    n, m, users = 12, 4, 50
    printed = {"HR@1": "0.60", "HR@2": "0.78"}
    uniform = np.array([mean(chances(n, m)[:k]) for k in range(1, n + 1)])
    expected = np.column_stack([uniform[:, 0], uniform[:, :2].sum(axis=1)])
    values = np.array([0.60, 0.78])

    def lost(logits):
        weights = np.exp(logits - logits.max())
        weights /= weights.sum()
        error = weights @ expected - values
        return weights @ np.log(weights * n) + users / 2 * (error**2 / values / (1 - values)).sum()

    weights = np.exp(minimize(lost, np.zeros(n), tol=1e-12).x)
    weights /= weights.sum()
    measure = parse_measure("HR@3")
    problem = state(printed, About(n, m, n_users=users))
    found = tilt.likely(problem, measure, Range(0.0, 1.0))
    last = np.arange(1, n + 1)
    assert found == pytest.approx(weights @ (np.minimum(last, 3) / last), abs=1e-4)
    assert tilt.likely(problem, measure, Range(0.0, 0.1)) == 0.1


@pytest.mark.parametrize(("printed", "shape"), [
    ({"HR@10": "0.82"}, "non-increasing"),
    ({"HR@10": "0.82", "NDCG@10": "0.59"}, "none"),
    ({"HR@10": "0.099", "NDCG@10": "0.045"}, "non-increasing"),  # those of a random order
])  # fmt: skip
def test_numbers_that_say_too_little(printed, shape):
    about = {"n_items": 3416, "n_negatives": 100, "n_users": 6040, "shape": shape}
    found = sm.reported(printed, "HR@10", **about)
    assert found[0].likely is None
    assert found.parts()[0][0]["likely"] is None
