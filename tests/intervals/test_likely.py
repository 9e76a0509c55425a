"""One number beside a range: `likely` of sampled ranks and of printed means, ends in order."""

import math
import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import sampled_metrics as sm
from sampled_metrics._base.calls import InputWarning
from sampled_metrics.estimators import estimator_matrix, likely_log_errors, parse_estimator, smooth
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics import parse_measure
from sampled_metrics.printed.likely import quote_likely
from sampled_metrics.printed.statement import EvaluationSetting, state_means
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
    """Probability of sampled rank i + 1 given the true rank, by counting sets of negatives."""
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


def roughness(g):
    """Twice the integral of (g' + 0.3)^2 + g''^2 over the log of the rank, as a sum."""
    x = [math.log(r) for r in range(1, len(g) + 1)]
    steps = [after - before for before, after in pairwise(x)]
    slopes = [
        (after - before) / step for (before, after), step in zip(pairwise(g), steps, strict=True)
    ]
    penalty = sum((slope + 0.3) ** 2 * step for slope, step in zip(slopes, steps, strict=True))
    for r in range(len(g) - 2):
        between = (steps[r] + steps[r + 1]) / 2
        penalty += ((slopes[r + 1] - slopes[r]) / between) ** 2 * between
    return 2 * penalty


@pytest.mark.parametrize("counts", [[3, 1, 0, 2, 1], [90, 40, 20, 9, 7], [1600, 0, 0, 0, 0]])
def test_density_matches_direct_optimisation(counts):
    """With 12 candidates each rank is a cell; the penalised likelihood is computed in loops."""
    n, m, users = 12, len(counts) - 1, sum(counts)
    probabilities = np.array(chances(n, m))

    def lost(g):
        p = np.exp(g - np.max(g))
        q = p / p.sum() @ probabilities
        fit = np.array(counts) @ np.log(np.maximum(q, 1e-300))
        return roughness(g) - fit + g[0] ** 2 / 2

    start = -0.3 * np.log(np.arange(1, n + 1))
    for method in ("BFGS", "Nelder-Mead", "BFGS"):
        start = minimize(lost, start, method=method, tol=1e-12).x
    g = start
    p = np.exp(g) / np.exp(g).sum()
    actual = likely(counts, CREDITS, n) @ counts / users
    for value, credit in zip(actual, CREDITS.values(), strict=True):
        by_rank = [credit(r, n) for r in range(1, n + 1)]
        assert value == pytest.approx(p @ by_rank, rel=1e-4)


@pytest.mark.parametrize(("exponent", "least"), [(0.7, 0.9), (0.5, 0.8), (0.3, 0.75)])
def test_power_law_is_followed(exponent, least):
    """Power laws near the usual one, k^0.7, are estimated well, others in part."""
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
def test_more_cells_same_estimate(sampling, monkeypatch):
    """3,000 ranks make 100 cells; with four times as many the estimate is the same."""
    counts = np.round(600 / (1 + np.arange(31.0)))
    setting = (counts, ["recall@10", "ap"], 3000, sampling)
    values = likely(*setting) @ counts / counts.sum()
    monkeypatch.setattr(smooth, "CELLS", 400)
    smooth.rank_cells.cache_clear()
    finer = likely(*setting) @ counts / counts.sum()
    smooth.rank_cells.cache_clear()
    assert values == pytest.approx(finer, rel=2e-3)


def test_value_in_range_and_near_exact():
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
def test_range_ends_ordered_at_any_confidence(n, ranks, confidence):
    setting = {"n_items": n, "n_negatives": 1, "confidence": confidence}
    warnings.simplefilter("ignore", InputWarning)  # two candidates are few
    for shape in ("non-increasing", 2):
        for one in sm.correct(ranks, "hit@1, ap", "sampled", shape=shape, **setting):
            assert one.range_low <= one.range_high
    widths = [
        one.range_high - one.range_low
        for level in (0.5, 0.8, 0.95)
        for one in sm.correct(ranks, "hit@1", "sampled", **setting | {"confidence": level})
    ]
    assert all(less <= more + 1e-9 for less, more in pairwise(widths)) or n == 2


@pytest.mark.parametrize("users", [pytest.param(50, marks=pytest.mark.long), None])
def test_printed_density_matches_direct_optimisation(users):
    """With 12 candidates each rank is a cell; the covariance is that under the fitted density.

    The error of what is said about an evaluation is that of 3,000 users.
    """
    n, m = 12, 4
    printed = {"HR@1": "0.60", "HR@2": "0.78"}
    of_ranks = chances(n, m)
    expected = [(row[0], row[0] + row[1]) for row in of_ranks]
    values = np.array([0.60, 0.78])
    variance = 1 / 3000 + (1 / users if users else 0)

    def lost(g, precision):
        p = np.exp(g - np.max(g))
        error = p / p.sum() @ np.array(expected) - values
        return roughness(g) + error @ precision @ error / 2 + g[0] ** 2 / 2

    g = -0.3 * np.log(np.arange(1, n + 1))
    for _ in range(3):
        p = np.exp(g) / np.exp(g).sum()
        first, second = p @ np.array(expected)
        both = np.array([[first, first], [first, second]])  # HR@1 implies HR@2
        covariance = (both - np.outer([first, second], [first, second])) * variance
        precision = np.linalg.inv(covariance + np.eye(2) * 0.005**2 / 3)
        for method in ("BFGS", "Nelder-Mead", "BFGS"):
            g = minimize(lost, g, args=(precision,), method=method, tol=1e-12).x
    p = np.exp(g) / np.exp(g).sum()
    measure = parse_measure("HR@3")
    means = state_means(printed, EvaluationSetting(n, m, n_users=users))
    number = quote_likely(means, measure, Range(0.05, 1.0))
    assert number.value == pytest.approx(p[:3].sum(), rel=2e-4)
    assert number.low < number.value < number.high
    assert quote_likely(means, measure, Range(0.05, 0.1)).value == 0.1


@pytest.mark.parametrize(("printed", "shape"), [
    ({"HR@10": "0.82"}, "non-increasing"),
    ({"HR@10": "0.82", "NDCG@10": "0.59"}, "none"),
    ({"HR@10": "0.099", "NDCG@10": "0.045"}, "non-increasing"),  # the values of a random order
])  # fmt: skip
def test_too_few_numbers_not_quoted(printed, shape):
    setting = {"n_items": 3416, "n_negatives": 100, "n_users": 6040, "shape": shape}
    actual = sm.reported(printed, "HR@10", **setting)
    assert actual[0].likely is None
    rows, *texts = actual.parts()
    assert rows[0]["likely"] is None
    assert "likely: -" in str(texts)
    of_two = sm.reported({"HR@10": 0.6, "HR@5": 0.4}, n_items=3000, n_negatives=100)
    rows, *texts = of_two.parts()
    assert rows[0]["likely"] is not None
    assert "likely: -" not in str(texts)


def sample(rng, size, exponent, n=3541, m=100, **options):
    """Sampled and exact ranks of users; a share (k/n)^exponent of them is at ranks up to k."""
    better = (n * rng.random(size) ** (1 / exponent)).astype(int)
    sampled = rng.hypergeometric(better, n - 1 - better, m) + 1
    return sm.SampledRanks(sampled, n, m, **options), sm.Ranks([n] * size, better, [0] * size)


def test_wide_interval_not_quoted():
    few, _ = sample(np.random.default_rng(0), 5, 0.6, n=20_000, m=20)
    many, _ = sample(np.random.default_rng(0), 2000, 0.6)
    for ranks, is_quoted in ((few, False), (many, True)):
        first, other = sm.correct(ranks, "recall@10", "likely, cls")
        numbers = [first.value, first.std_error, first.likely_low, first.likely_high]
        assert np.isnan(numbers).tolist() == [not is_quoted] * 4
        assert (first.likely_high <= 16 * first.likely_low) is is_quoted
        assert other.value > 0
        assert np.isnan(other.likely_low)
        assert f"{first.value:.3g}".replace("nan", "-") in str(sm.correct(ranks, "recall@10"))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))]
)
def test_number_in_interval_in_range(seed):
    """Also for a random order, for ranks that are mostly bad, and at any confidence."""
    rng = np.random.default_rng(seed)
    m, users = int(rng.integers(10, 200)), int(rng.integers(30, 3000))
    ranks = 1 + (m * rng.random(users) ** rng.uniform(0.7, 4)).astype(int)
    n_quoted = 0
    for confidence in (0.6, 0.95, 0.999):
        for one in sm.correct(
            ranks,
            "hr@1, hr@10, ndcg@10, ap, auc",
            "likely",
            n_items=4000,
            n_negatives=m,
            confidence=confidence,
            shape=2,
        ):
            if not np.isnan(one.value):
                n_quoted += 1
                ends = (one.range_low, one.likely_low, one.value)
                assert ends == tuple(sorted(ends))
                assert one.value <= one.likely_high <= one.range_high
    assert n_quoted


def test_interval_of_auc_is_its_range():
    ranks, _ = sample(np.random.default_rng(0), 500, 0.5)
    (one,) = sm.correct(ranks, "auc", "likely")
    assert (one.likely_low, one.likely_high) == (one.range_low, one.range_high)


@pytest.mark.long
def test_value_in_range_in_most_draws():
    """In at least 99 % of draws from a population of the class, without being moved there."""
    rng = np.random.default_rng(4)
    inside = []
    for exponent in (0.35, 0.5, 0.7):
        for _ in range(12):
            ranks, _ = sample(rng, 1500, exponent)
            counts = np.bincount(ranks.sampled_ranks - 1, minlength=101)
            values = likely(counts, ["recall@10", "ap"], 3541) @ counts / counts.sum()
            for value, one in zip(values, sm.correct(ranks, "recall@10, ap", "cls"), strict=True):
                inside.append(one.range_low <= value <= one.range_high)
    assert np.mean(inside) >= 0.99


@pytest.mark.parametrize(("users", "most"), [(800, 1.35), (5000, 1.12)])
@pytest.mark.parametrize("metric", ["recall@10", "ndcg@10", "ap"])
def test_random_order_slightly_too_high(metric, users, most):
    """A random order is at the edge of the class, so estimates err to one side."""
    rng = np.random.default_rng(5)
    n, m = 400, 50
    exact = parse_measure(metric).value_at(np.arange(1, n + 1), n).mean()
    values = []
    for _ in range(20):
        counts = np.bincount(rng.integers(0, m + 1, users), minlength=m + 1)
        values.append(likely(counts, [metric], n)[0] @ counts / users)
    assert exact < np.mean(values) < most * exact


@pytest.mark.long
def test_standard_error_matches_draws():
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
    actual = likely(counts, ["recall@3"], n)[0] @ counts / sum(counts)
    assert actual == pytest.approx(value, rel=1e-7)


def test_vector_mean_is_estimate():
    counts = np.array([90.0, 40, 20, 9, 7, 0, 3])
    vector = likely(counts, ["ap"], 40)[0]
    cells = smooth.rank_cells((parse_measure("ap"),), 40, 6, WITHOUT)
    share = fitted(cells, counts).share
    assert vector @ counts / counts.sum() == pytest.approx(share @ cells.values[:, 0])


def fitted(cells, counts):
    counts = np.asarray(counts, float)
    users = counts.sum()
    return smooth.maximise(
        cells, smooth.SampledRankLikelihood(cells.probabilities, counts / users, users)
    )


def extreme_counts(m, users):
    """Counts with all users at one or two sampled ranks, equal ones, and rising ones."""
    counts = {
        name: np.zeros(m + 1) for name in ("first", "second", "middle", "last", "ends", "two")
    }
    counts["first"][0] = counts["second"][min(1, m)] = users
    counts["middle"][m // 2] = counts["last"][m] = users
    counts["ends"][[0, m]] += users / 2
    counts["two"][[m // 3, 2 * m // 3]] += users / 2
    counts["flat"] = np.full(m + 1, users / (m + 1))
    cubes = np.arange(m + 1.0) ** 3
    counts["rising"] = users * cubes / cubes.sum()
    return counts


@pytest.mark.parametrize("m", [1, 5, 20, 100, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("n", [1500, 20_000, 1_000_000])
def test_extreme_counts_reach_maximum(n, m):
    """At the maximum the slope of the penalised likelihood is 0 and its curvature positive."""
    cells = smooth.rank_cells((parse_measure("ap"),), n, m, WITHOUT)
    for users in (1, 30, 10_000, 100_000):
        for name, counts in extreme_counts(m, users).items():
            fit = fitted(cells, counts)
            of_ranks = smooth.SampledRankLikelihood(cells.probabilities, counts / users, users)
            gradient, curvature, _ = of_ranks.derivatives(fit.share)
            density = np.log(np.maximum(fit.share, 1e-300) / cells.widths)
            density += cells.usual_log_density[0] - density[0]  # the level is free
            slope = gradient - cells.stiffness @ (density - cells.usual_log_density)
            assert np.abs(slope).max() < 1e-5 * max(users, 1), name
            least = np.linalg.eigvalsh(curvature + cells.stiffness)[0]
            assert least > 0, name
            assert np.isfinite(fit.log_errors(cells.values)).all(), name


@pytest.mark.parametrize("sampling", [WITHOUT, "with-replacement", "distinct"])
def test_many_candidates_and_negatives(sampling):
    """Counts need not be whole numbers: ties and users with several rows give fractions."""
    counts = 500 / (1 + np.arange(2001.0))
    setting = ([parse_measure("recall@10")], 1_000_000, 2000, sampling)
    value = likely(counts, ["recall@10"], 1_000_000, sampling)[0] @ counts
    (error,) = likely_log_errors(counts, *setting)
    assert 0 < value / counts.sum() < 1
    assert 0.01 < error < 1


@pytest.mark.parametrize("n", [2, 3, 5, 101])
def test_all_candidates_drawn(n):
    counts = np.arange(n, 0, -1.0)
    value = likely(counts, ["recall@1"], n)[0] @ counts / counts.sum()
    assert value == pytest.approx(counts[0] / counts.sum(), rel=0.5)


@pytest.mark.parametrize("m", [20, 100])
def test_log_errors_cover_exact_metric(m):
    """If exponents scatter as the prior says, intervals hold about 95 % of exact metrics."""
    rng = np.random.default_rng(10)
    measures = [parse_measure("recall@10"), parse_measure("ap")]
    held = []
    for _ in range(60):
        exponent = max(rng.normal(0.7, 0.2), 0.2)
        ranks, _ = sample(rng, 2000, exponent, n=10_000, m=m)
        counts = np.bincount(ranks.sampled_ranks - 1, minlength=m + 1)
        values = likely(counts, ["recall@10", "ap"], 10_000) @ counts / 2000
        errors = likely_log_errors(counts, measures, 10_000, m, WITHOUT)
        exact = [measure.value_at(np.arange(1, 10_001), 10_000) for measure in measures]
        share = np.diff((np.arange(10_001) / 10_000) ** exponent)
        held.append(np.abs(np.log(values / (exact @ share))) < 1.96 * errors)
    assert 0.85 < np.mean(held) <= 1.0


def test_difference_stays_in_range():
    rng = np.random.default_rng(7)
    better, _ = sample(rng, 1500, 0.45, users=np.arange(1500))
    worse, _ = sample(rng, 1500, 0.65, users=np.arange(1500))
    few, _ = sample(rng, 15, 0.65, users=np.arange(15))
    for one in sm.compare({"a": better, "b": worse}, "recall@10, ap", "likely"):
        assert one.range_low <= one.difference <= one.range_high
        assert one.difference < 0 < one.value_b < one.value_a
        assert one.range_low <= one.likely_low < one.difference
        assert one.difference < one.likely_high <= one.range_high
    for one in sm.compare({"a": better, "b": few}, "recall@10", "likely"):
        assert math.isnan(one.difference)
        assert math.isnan(one.likely_low)
        assert math.isnan(one.value_b)


def pairs(rng, users, first, n_items=2000, m=20, shared=False):
    """Scores of a held-out item and negatives per user; `shared` negatives are the same for all."""
    rows = []
    negatives = rng.choice(np.arange(1, n_items), m, replace=False)
    for user in range(users):
        if not shared:
            negatives = rng.choice(np.arange(1, n_items), m, replace=False)
        rows.append((user, 0, rng.normal(first), 1))
        rows += [(user, item, rng.normal(), 0) for item in negatives]
    columns = ["user_id", "item_id", "score", "label"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("shared", [True, False])
def test_shared_negatives_undecided(shared):
    rng = np.random.default_rng(8)
    data = {name: pairs(rng, 400, first, shared=shared) for name, first in (("a", 3), ("b", 0.2))}
    warnings.simplefilter("ignore", InputWarning)
    actual = sm.compare(data, "auc", "sampled", n_items=2000)
    assert actual[0].order == ("undecided" if shared else "a")
    assert any("shared" in note for note in actual.notes) is shared


def test_notes_name_rankings_and_checks():
    rng = np.random.default_rng(9)
    ranks, _ = sample(rng, 300, 0.5)

    def explanation(data, **options):
        return " ".join(str(sm.correct(data, "auc", **options).explain()).split())

    text = explanation(ranks)
    assert "seen items" in text
    assert "not checked" in text
    warnings.simplefilter("ignore", InputWarning)
    assert "were checked" in explanation(pairs(rng, 300, 1), n_items=2000)
    differing = sm.SampledRanks(ranks.sampled_ranks, rng.integers(500, 9000, 300), 100)
    assert "user's" in explanation(differing)


def test_million_candidates_little_memory():
    """At most 50 MB are used; a table of n x (m + 1) probabilities would take 800 MB."""
    counts = np.zeros(101)
    counts[:20] = 50
    tracemalloc.start()
    value = likely(counts, ["recall@10"], 10**6)[0] @ counts / counts.sum()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < value < 0.1
    assert peak < 50e6
