"""One number beside a range: the estimator `likely`, the tilt of printed means, ends in order."""

import math
import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import sampled_metrics as sm
from sampled_metrics._base.errors import InputWarning
from sampled_metrics.estimators import (
    estimator_matrix,
    likely_log_errors,
    parse_estimator,
    registry,
)
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics import parse_measure
from sampled_metrics.printed import tilt
from sampled_metrics.printed.statement import About, state
from sampled_metrics.sampling.probability import sampled_rank_distribution

WITHOUT = "without-replacement"
GOLDEN = [  # recall@3
    ([3, 1, 0, 2, 1, 0, 0], 40, 0.1853871126514018),
    ([900, 400, 210, 90, 0, 0, 0], 40, 0.4311002301260106),
    ([120, 60, 40, 30, 20, 20, 10, 0, 0, 0, 0], 1000, 0.04196217466118975),
]
CREDITS = {
    "recall@3": lambda r, _: float(r <= 3),
    "ndcg@3": lambda r, _: (r <= 3) / math.log2(r + 1),
    "ap": lambda r, _: 1 / r,
}


def chances(n, m):
    """Probability of sampled rank i + 1 given the true rank: of C(n - 1, m) sets of negatives."""
    return [
        [
            math.comb(r - 1, i) * math.comb(n - r, m - i) / math.comb(n - 1, m)
            for i in range(m + 1)
        ]
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


@pytest.mark.parametrize(
    "counts", [[3, 1, 0, 2, 1], [90, 40, 20, 9, 7], [1600, 0, 0, 0, 0]]
)
def test_smooth_density_that_another_program_finds(counts):
    """Of 12 candidates each rank is a cell; of the penalised likelihood all sums are loops."""
    n, m, users = 12, len(counts) - 1, sum(counts)
    given = np.array(chances(n, m))
    x = [math.log(r) for r in range(1, n + 1)]

    def lost(g):
        p = np.exp(g - np.max(g))
        q = p / p.sum() @ given
        slopes = [(g[r + 1] - g[r]) / (x[r + 1] - x[r]) for r in range(n - 1)]
        penalty = sum(
            (s + 0.3) ** 2 * (x[r + 1] - x[r]) for r, s in enumerate(slopes)
        )
        for r in range(n - 2):
            penalty += (slopes[r + 1] - slopes[r]) ** 2 / ((x[r + 2] - x[r]) / 2)
        return (
            2 * penalty
            - np.array(counts) @ np.log(np.maximum(q, 1e-300))
            + (g[0]) ** 2 / 2
        )

    start = -0.3 * np.array(x)
    for method in ("BFGS", "Nelder-Mead", "BFGS"):
        start = minimize(lost, start, method=method, tol=1e-12).x
    g = start
    p = np.exp(g) / np.exp(g).sum()
    found = likely(counts, CREDITS, n) @ counts / users
    for value, credit in zip(found, CREDITS.values(), strict=True):
        by_rank = [credit(r, n) for r in range(1, n + 1)]
        assert value == pytest.approx(p @ by_rank, rel=1e-4)


@pytest.mark.parametrize(("exponent", "least"), [(0.7, 0.9), (0.5, 0.8), (0.3, 0.75)])
def test_power_laws_are_followed_to_the_first_ranks(exponent, least):
    """Nearly the usual one, a share k^0.7 of the users at ranks up to k, and others in part."""
    n, m, users = 20_000, 100, 6040
    last = np.unique(np.geomspace(1, n, 2000).round().astype(int))
    share = np.diff((last / n) ** exponent, prepend=0)
    width = np.diff(last, prepend=0)
    tied = sm.Ranks(np.full(last.size, n), last - width, width - 1)
    counts = users * share @ sampled_rank_distribution(tied, m, WITHOUT)
    value = likely(counts, ["recall@10"], n)[0] @ counts / users
    assert least < value / (10 / n) ** exponent < 1.1


def test_auc_is_unbiased():
    counts = [40, 9, 5, 2]
    assert likely(counts, ["auc"], 500)[0] == pytest.approx([1, 2 / 3, 1 / 3, 0])


@pytest.mark.parametrize("sampling", [WITHOUT, "with-replacement", "distinct"])
def test_cells_stand_for_all_ranks(sampling, monkeypatch):
    """Of 3,000 ranks 100 cells are made; with four times as many the estimate is the same."""
    counts = np.round(600 / (1 + np.arange(31.0)))
    about = (counts, ["recall@10", "ap"], 3000, sampling)
    values = likely(*about) @ counts / counts.sum()
    monkeypatch.setattr(registry, "_CELLS", 400)
    registry._rank_cells.cache_clear()
    finer = likely(*about) @ counts / counts.sum()
    registry._rank_cells.cache_clear()
    assert values == pytest.approx(finer, rel=2e-3)


def test_is_inside_the_range_and_close_to_the_exact_metric():
    rng = np.random.default_rng(3)
    n, m, users = 2000, 100, 4000
    better = (n * rng.random(users) ** 2.5).astype(int)
    exact = sm.evaluate(sm.Ranks([n] * users, better, [0] * users), "recall@10, ap")
    sampled = rng.hypergeometric(better, n - 1 - better, m) + 1
    for one, true in zip(
        sm.correct(sampled, "recall@10, ap", "likely", n_items=n, n_negatives=m),
        exact,
        strict=True,
    ):
        assert one.range_low <= one.value <= one.range_high
        assert one.value == pytest.approx(true.value, rel=0.3)


@pytest.mark.parametrize("confidence", [1e-12, 0.05, 0.5, 0.95])
@pytest.mark.parametrize(
    ("n", "ranks"), [(2, [1] * 6 + [2] * 5), (40, [1, 2] * 9 + [2] * 3)]
)
def test_ends_are_in_order_at_any_confidence(n, ranks, confidence):
    about = {"n_items": n, "n_negatives": 1, "confidence": confidence}
    warnings.simplefilter("ignore", InputWarning)  # two candidates are few
    for shape in ("non-increasing", 2):
        for one in sm.correct(ranks, "hit@1, ap", "sampled", shape=shape, **about):
            assert one.range_low <= one.range_high
    widths = [
        one.range_high - one.range_low
        for level in (0.5, 0.8, 0.95)
        for one in sm.correct(
            ranks, "hit@1", "sampled", **about | {"confidence": level}
        )
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
        return (
            weights @ np.log(weights * n)
            + users / 2 * (error**2 / values / (1 - values)).sum()
        )

    weights = np.exp(minimize(lost, np.zeros(n), tol=1e-12).x)
    weights /= weights.sum()
    measure = parse_measure("HR@3")
    problem = state(printed, About(n, m, n_users=users))
    found = tilt.likely(problem, measure, Range(0.05, 1.0))
    last = np.arange(1, n + 1)
    assert found == pytest.approx(weights @ (np.minimum(last, 3) / last), abs=1e-4)
    assert tilt.likely(problem, measure, Range(0.05, 0.1)) == 0.1
    assert tilt.likely(problem, measure, Range(0.01, 0.301)) is None


@pytest.mark.parametrize(("printed", "shape"), [
    ({"HR@10": "0.82"}, "non-increasing"),
    ({"HR@10": "0.82", "NDCG@10": "0.59"}, "none"),
    ({"HR@10": "0.099", "NDCG@10": "0.045"}, "non-increasing"),  # those of a random order
])  # fmt: skip
def test_numbers_that_say_too_little(printed, shape):
    about = {"n_items": 3416, "n_negatives": 100, "n_users": 6040, "shape": shape}
    found = sm.reported(printed, "HR@10", **about)
    assert found[0].likely is None
    rows, *words = found.parts()
    assert rows[0]["likely"] is None
    assert "likely: -" in str(words)
    of_two = sm.reported({"HR@10": 0.6, "HR@5": 0.4}, n_items=3000, n_negatives=100)
    rows, *words = of_two.parts()
    assert rows[0]["likely"] is not None
    assert "likely: -" not in str(words)


def sample(rng, size, exponent, n=3541, m=100, **options):
    """Sampled and exact ranks of users, of whom a share (k/n)^exponent is at ranks up to k."""
    better = (n * rng.random(size) ** (1 / exponent)).astype(int)
    sampled = rng.hypergeometric(better, n - 1 - better, m) + 1
    return sm.SampledRanks(sampled, n, m, **options), sm.Ranks(
        [n] * size, better, [0] * size
    )


def test_no_number_is_quoted_beside_a_wide_range():
    few, _ = sample(np.random.default_rng(0), 20, 0.6)
    many, _ = sample(np.random.default_rng(0), 2000, 0.6)
    for ranks, is_quoted in ((few, False), (many, True)):
        first, other = sm.correct(ranks, "recall@10", "likely, cls")
        assert (first.range_high <= 30 * first.range_low) is is_quoted
        assert math.isnan(first.value) is math.isnan(first.std_error) is not is_quoted
        assert other.value > 0
        assert f"{first.value:.3g}".replace("nan", "-") in str(
            sm.correct(ranks, "recall@10")
        )


@pytest.mark.long
def test_is_in_the_range_in_nearly_all_draws():
    """Without being put there, in at least 99 % of draws from a population of the class."""
    rng = np.random.default_rng(4)
    inside = []
    for exponent in (0.35, 0.5, 0.7):
        for _ in range(12):
            ranks, _ = sample(rng, 1500, exponent)
            counts = np.bincount(ranks.sampled_ranks - 1, minlength=101)
            values = likely(counts, ["recall@10", "ap"], 3541) @ counts / counts.sum()
            for value, one in zip(
                values, sm.correct(ranks, "recall@10, ap", "cls"), strict=True
            ):
                inside.append(one.range_low <= value <= one.range_high)
    assert np.mean(inside) >= 0.99


@pytest.mark.parametrize(("users", "most"), [(800, 1.35), (5000, 1.12)])
@pytest.mark.parametrize("metric", ["recall@10", "ndcg@10", "ap"])
def test_random_order_is_at_most_a_little_too_high(metric, users, most):
    """It is at the edge of the class, which no mixture is beyond; users bring it closer."""
    rng = np.random.default_rng(5)
    n, m = 400, 50
    exact = parse_measure(metric).at(np.arange(1, n + 1), n).mean()
    values = []
    for _ in range(20):
        counts = np.bincount(rng.integers(0, m + 1, users), minlength=m + 1)
        values.append(likely(counts, [metric], n)[0] @ counts / users)
    assert exact < np.mean(values) < most * exact


@pytest.mark.long
def test_standard_error_is_the_spread_of_draws():
    rng = np.random.default_rng(6)
    values = []
    errors = []
    for _ in range(60):
        ranks, _ = sample(rng, 1000, 0.4)
        (one,) = sm.correct(ranks, "recall@10", "likely")
        values.append(one.value)
        errors.append(one.std_error)
    assert np.mean(errors) == pytest.approx(np.std(values, ddof=1), rel=0.25)


@pytest.mark.parametrize(("counts", "n", "value"), GOLDEN)
def test_golden_numbers(counts, n, value):
    found = likely(counts, ["recall@3"], n)[0] @ counts / sum(counts)
    assert found == pytest.approx(value, rel=1e-7)


def test_mean_of_the_vector_is_the_estimate():
    counts = np.array([90.0, 40, 20, 9, 7, 0, 3])
    vector = likely(counts, ["ap"], 40)[0]
    cells = registry._rank_cells((parse_measure("ap"),), 40, 6, WITHOUT)
    share = registry._fit(cells, counts / counts.sum(), counts.sum()).share
    assert vector @ counts / counts.sum() == pytest.approx(share @ cells.values[:, 0])


@pytest.mark.parametrize("m", [20, 100])
def test_log_errors_are_those_about_the_exact_metric(m):
    """Exponents scatter about the usual one as slopes do; intervals hold about 95 % of them."""
    rng = np.random.default_rng(10)
    measures = [parse_measure("recall@10"), parse_measure("ap")]
    held = []
    for _ in range(60):
        exponent = max(rng.normal(0.7, 0.2), 0.2)
        ranks, _ = sample(rng, 2000, exponent, n=10_000, m=m)
        counts = np.bincount(ranks.sampled_ranks - 1, minlength=m + 1)
        values = likely(counts, ["recall@10", "ap"], 10_000) @ counts / 2000
        errors = likely_log_errors(counts, measures, 10_000, m, WITHOUT)
        exact = [measure.at(np.arange(1, 10_001), 10_000) for measure in measures]
        share = np.diff((np.arange(10_001) / 10_000) ** exponent)
        held.append(np.abs(np.log(values / (exact @ share))) < 1.96 * errors)
    assert 0.85 < np.mean(held) <= 1.0


def test_difference_is_kept_in_its_range():
    rng = np.random.default_rng(7)
    better, _ = sample(rng, 1500, 0.45, users=np.arange(1500))
    worse, _ = sample(rng, 1500, 0.65, users=np.arange(1500))
    few, _ = sample(rng, 15, 0.65, users=np.arange(15))
    for one in sm.compare({"a": better, "b": worse}, "recall@10, ap", "likely"):
        assert one.range_low <= one.difference <= one.range_high
        assert one.difference < 0 < one.value_b < one.value_a
    for one in sm.compare({"a": better, "b": few}, "recall@10", "likely"):
        assert math.isnan(one.difference)
        assert math.isnan(one.value_b)


def pairs(rng, users, first, n_items=2000, m=20, shared=False):
    """Scores of a held-out item and negatives of each user, which all users share or not."""
    rows = []
    drawn = rng.choice(np.arange(1, n_items), m, replace=False)
    for user in range(users):
        if not shared:
            drawn = rng.choice(np.arange(1, n_items), m, replace=False)
        rows.append((user, 0, rng.normal(first), 1))
        rows += [(user, item, rng.normal(), 0) for item in drawn]
    columns = ["user_id", "item_id", "score", "label"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("shared", [True, False])
def test_shared_negatives_decide_no_order(shared):
    rng = np.random.default_rng(8)
    data = {
        name: pairs(rng, 400, first, shared=shared)
        for name, first in (("a", 3), ("b", 0.2))
    }
    warnings.simplefilter("ignore", InputWarning)
    found = sm.compare(data, "auc", "sampled", n_items=2000)
    assert found[0].order == ("undecided" if shared else "a")
    assert any("shared" in note for note in found.notes) is shared


def test_says_of_which_rankings_and_whether_pairs_were_checked():
    rng = np.random.default_rng(9)
    ranks, _ = sample(rng, 300, 0.5)
    text = " ".join(str(sm.correct(ranks, "auc")).split())
    assert "that users have seen" in text
    assert "not checked" in text
    warnings.simplefilter("ignore", InputWarning)
    text = " ".join(str(sm.correct(pairs(rng, 300, 1), "auc", n_items=2000)).split())
    assert "were checked" in text
    own = sm.SampledRanks(ranks.sampled_ranks, rng.integers(500, 9000, 300), 100)
    assert "user's" in " ".join(str(sm.correct(own, "auc")).split())


def test_estimate_of_a_million_candidates_is_cheap():
    """Of 50 MB at most; n x (m + 1) probabilities are 800 MB."""
    counts = np.zeros(101)
    counts[:20] = 50
    tracemalloc.start()
    value = likely(counts, ["recall@10"], 10**6)[0] @ counts / counts.sum()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < value < 0.1
    assert peak < 50e6
