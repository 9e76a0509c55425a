"""Ranges from printed numbers, against dense programmes over all ranks and random distributions."""

import json
import math
from functools import cache
from itertools import pairwise

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

from sampled_metrics import InputError, correct, reported
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.printed.expectations import exact_metric, extreme_ranks, sampled_moments
from sampled_metrics.printed.statement import parse_number
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf

CREDIT = {
    "HR@1": lambda r, _: r <= 1,
    "HR@5": lambda r, _: r <= 5,
    "HR@10": lambda r, _: r <= 10,
    "NDCG@10": lambda r, _: (r <= 10) / np.log2(r + 1),
    "MRR": lambda r, _: 1 / r,
    "AUC": lambda r, n: (n - r) / (n - 1),
}

pytestmark = pytest.mark.filterwarnings("ignore:n_users")  # numbers are made up


@cache
def chances(n, m, replacement=False):
    """Distribution of the sampled rank at every true rank, by counting; shape (n, m + 1)."""
    table = np.empty((n, m + 1))
    for r in range(1, n + 1):
        for i in range(m + 1):
            if replacement:
                p = (r - 1) / (n - 1)
                table[r - 1, i] = math.comb(m, i) * p**i * (1 - p) ** (m - i)
            else:
                ways = math.comb(r - 1, i) * math.comb(n - r, m - i)
                table[r - 1, i] = ways / math.comb(n - 1, m)
    return table


def sampled(name, n, m, **options):
    return chances(n, m, **options) @ CREDIT[name](np.arange(1, m + 2), m + 1)


def dense(low, high, exact, shape, n, m, **options):
    """Both ends of the exact metric, by linear programmes with a column for each rank."""
    ranks = np.arange(1, n + 1)
    mixed = (lambda v: np.cumsum(v) / ranks) if shape == "non-increasing" else (lambda v: v)
    rows = np.array([mixed(sampled(name, n, m, **options)) for name in low])
    goal, bounds = (
        mixed(CREDIT[exact](ranks, n)),
        np.r_[list(high.values()), -np.array(list(low.values()))],
    )
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return [
        sign * linprog(sign * goal, np.vstack([rows, -rows]), bounds, np.ones((1, n)), [1.0],
                       options=tight).fun
        for sign in (1, -1)
    ]  # fmt: skip


@pytest.mark.parametrize("shape", ["non-increasing", "none"])
@pytest.mark.parametrize(
    ("names", "n", "m", "replacement"),
    [
        (["HR@10"], 60, 20, False),
        (["HR@10", "NDCG@10"], 400, 50, False),
        (["HR@1", "HR@5", "MRR"], 300, 30, True),
        (["AUC", "HR@5"], 2000, 20, False),
    ],
)
def test_ends_match_dense_programme(shape, names, n, m, replacement):
    weights = 1 / (np.arange(1, n + 1) + 3.0)  # decreasing
    weights /= weights.sum()
    means = {name: weights @ sampled(name, n, m, replacement=replacement) for name in names}
    printed = {name: f"{mean:.3f}" for name, mean in means.items()}
    low = {name: max(float(text) - 0.0005, 0) for name, text in printed.items()}
    high = {name: min(float(text) + 0.0005, 1) for name, text in printed.items()}
    sampling = "with-replacement" if replacement else "without-replacement"
    setting = {"n_items": n, "n_negatives": m, "sampling": sampling, "shape": shape}
    for exact in ("HR@10", "MRR"):
        (actual,) = reported(printed, exact, **setting, unscored=0.0)
        ends = dense(low, high, exact, shape, n, m, replacement=replacement)
        assert [actual.range_low, actual.range_high] == pytest.approx(ends, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(5, 300), st.data())
def test_range_holds_any_distribution_of_class(n, data):
    m = data.draw(st.integers(1, n - 1))
    shape = data.draw(st.sampled_from(["non-increasing", "none"]))
    numbers = data.draw(
        st.lists(st.tuples(st.integers(1, n), st.floats(0.01, 1)), min_size=1, max_size=5)
    )
    weights = np.zeros(n)
    for rank, weight in numbers:
        weights[(rank - 1) * (shape == "none") : rank] += weight / rank
    weights /= weights.sum()
    names = data.draw(st.lists(st.sampled_from(list(CREDIT)), min_size=1, max_size=3, unique=True))
    printed = {name: f"{weights @ sampled(name, n, m):.4f}" for name in names}
    for exact in ("HR@10", "NDCG@10", "AUC"):
        actual = reported(printed, exact, n_items=n, n_negatives=m, shape=shape)[0]
        true = weights @ CREDIT[exact](np.arange(1, n + 1), n)
        assert actual.range_low - 1e-9 <= true <= actual.range_high + 1e-9


def test_one_number_widens_like_wilson():
    # For one number the bounds are the p with |v - p| = z sqrt(p (1 - p) / D).
    v, d, z = 0.3, 500, 1.959963984540054
    low, high = ((v + z * z / 2 / d + s * z * math.sqrt(v * (1 - v) / d + z * z / 4 / d / d))
                 / (1 + z * z / d) for s in (-1, 1))  # fmt: skip
    setting = {"n_items": 200, "n_negatives": 30, "unscored": 0.0}
    actual = reported({"HR@5": f"{v:.12f}"}, "HR@5", n_users=d, **setting)[0]
    ends = dense({"HR@5": low}, {"HR@5": high}, "HR@5", "non-increasing", 200, 30)
    assert [actual.range_low, actual.range_high] == pytest.approx(ends, abs=1e-9)
    assert actual.likely is None


@pytest.mark.long
def test_ranges_cover_as_stated():
    """Of 60 ranges with a confidence of 80 %, 48 or more contain the exact metric."""
    n, m, n_users, n_tables = 80, 20, 200, 60
    names = ["HR@1", "HR@5", "NDCG@10"]
    share_of_rank = 1 / (np.arange(1, n + 1) + 2)
    share_of_rank /= share_of_rank.sum()
    share_of_sampled_rank = share_of_rank @ chances(n, m)
    credit = np.array([CREDIT[name](np.arange(1, m + 2), m + 1) for name in names])
    rng, n_inside = np.random.default_rng(0), 0
    for _ in range(n_tables):
        means = credit @ rng.multinomial(n_users, share_of_sampled_rank) / n_users
        printed = {name: f"{mean:.6f}" for name, mean in zip(names, means, strict=True)}
        sizes = {"n_items": n, "n_negatives": m, "n_users": n_users}
        (result,) = reported(printed, "HR@10", **sizes, confidence=0.8)
        n_inside += result.range_low <= share_of_rank[:10].sum() <= result.range_high
    assert n_inside >= 0.8 * n_tables


@pytest.mark.parametrize("runs", [1, 4])
def test_runs_reduce_covariance(runs):
    """At one true rank, the variance of a mean over R runs is R times smaller."""
    n, m, names = 30, 10, ("HR@5", "MRR")
    credit = [CREDIT[name](np.arange(1, m + 2), m + 1) for name in names]
    means, products = sampled_moments(
        tuple(map(parse_measure, names)),
        n,
        m,
        sampling=Sampling.WITHOUT_REPLACEMENT,
        single_ranks=True,
        runs=runs,
    )
    for i, j in ((0, 0), (0, 1), (1, 1)):
        covariance = chances(n, m) @ (credit[i] * credit[j]) - means[i] * means[j]
        assert products[i, j] - means[i] * means[j] == pytest.approx(covariance / runs)


def test_ranges_of_more_runs_are_narrower():
    paper = {"HR@1": "0.3675", "HR@5": "0.7235", "HR@10": "0.8245"}
    setting = {"n_items": 3416, "n_negatives": 100, "n_users": 1000}
    results = [reported(paper, "HR@10", runs=runs, **setting)[0] for runs in (1, 3, 30)]
    widths = [result.range_high - result.range_low for result in results]
    assert widths == sorted(widths, reverse=True)


def test_no_runs_are_refused():
    with pytest.raises(InputError, match="runs"):
        reported({"HR@10": "0.8"}, n_items=3416, n_negatives=100, n_users=1000, runs=0)


def sampled_means(measures, n, m, shape):
    return sampled_moments(
        tuple(measures), n, m, sampling=Sampling.WITHOUT_REPLACEMENT, single_ranks=shape == "none"
    )[0]


def test_many_items_interpolated():
    """Compared with the hypergeometric distribution of negatives above, by whole numbers."""
    n, m, names = 60_000, 300, ("HR@10", "MRR", "AUC")
    actual = sampled_means([parse_measure(name) for name in names], n, m, "none")
    sets = math.comb(n - 1, m)
    for rank in (1, 100, 513, 700, 2345, 12_345, 30_000, 59_400, 59_999):
        chance = np.array(
            [math.comb(rank - 1, i) * math.comb(n - rank, m - i) / sets for i in range(m + 1)]
        )
        wanted = [chance @ CREDIT[name](np.arange(1, m + 2), m + 1) for name in names]
        assert actual[:, rank - 1] == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("n", [7, 8, 99_999, 200_000, 200_001, 450_000, 1_234_567])
def test_extreme_ranks_steps(n):
    """50,000 ranks at either end are single; further steps are a 50,000th of the distance."""
    ranks = extreme_ranks(n)
    assert ranks.tolist() == (n + 1 - ranks[::-1]).tolist()
    near = min(n // 2, 50_000)
    assert ranks[:near].tolist() == list(range(1, near + 1))
    distance = np.minimum(ranks[:-1], n - ranks[:-1])
    assert (np.diff(ranks) <= np.ceil(distance / 50_000) + 1).all()
    assert ranks.size <= 2 * near * (1 + math.log(max(n / 2 / near, 1))) + 2


@pytest.mark.parametrize("shape", [pytest.param("none", marks=pytest.mark.long), "non-increasing"])
def test_many_items_sums_match_single_ranks(shape):
    n, m = 30_000, 60
    measures = [parse_measure(name) for name in ("hr@10", "ndcg", "ap", "auc", "recall@700")]
    ranks = np.arange(1, n + 1)
    credit = np.array([measure.value_at(np.arange(1, m + 2), m + 1) for measure in measures])
    probabilities = pmf(ranks, n, m, Sampling.WITHOUT_REPLACEMENT)
    wanted = [probabilities @ values for values in credit]
    exact = [measure.value_at(ranks, n) for measure in measures]
    if shape == "non-increasing":  # uniform on the first k
        wanted = [np.cumsum(values) / ranks for values in wanted]
        exact = [np.cumsum(values) / ranks for values in exact]
    actual = sampled_means(measures, n, m, shape)
    assert actual == pytest.approx(np.array(wanted), abs=1e-13)
    for measure, values in zip(measures, exact, strict=True):
        assert exact_metric(measure, n, shape == "none") == pytest.approx(values, abs=1e-13)


def test_published_numbers():
    # Exact HR@10 of NCF's published GMF and MLP: .0671 and .0793 among 3,541 candidates.
    setting = {"n_items": 3541, "n_negatives": 99, "n_users": 6040}
    for printed, exact in (((0.6368, 0.3691), 0.0671), ((0.6710, 0.3963), 0.0793)):
        paper = dict(zip(("HR@10", "NDCG@10"), printed, strict=True))
        actual = reported(paper, "hit@10", **setting)[0]
        assert actual.range_low < exact < actual.range_high
        assert actual.reported == printed[0]


def test_more_numbers_never_widen():
    setting = {"n_items": 3416, "n_negatives": 100}
    paper = {"HR@10": "0.8245", "HR@1": "0.3675", "NDCG@10": "0.5905", "HR@5": "0.7235"}
    for n_users in (40, 6040, None):
        for shape in (1, 1.5, "none"):
            ends = []
            for count in range(1, len(paper) + 1):
                numbers = dict(list(paper.items())[:count])
                actual = reported(numbers, "HR@10", n_users=n_users, shape=shape, **setting)[0]
                ends.append((actual.range_low, actual.range_high))
            for (low, high), (next_low, next_high) in pairwise(ends):
                assert low - 1e-7 <= next_low <= next_high <= high + 1e-7


@pytest.mark.parametrize("factor", [1.4, 5.0])
@pytest.mark.parametrize("names", [["HR@10"], ["HR@1", "HR@5", "MRR"]])
def test_factor_ends_match_dense_programme(factor, names):
    n, m = 200, 20
    falling = 1 / (np.arange(1, n + 1) + 3.0)
    falling /= falling.sum()
    rows = np.array([sampled(name, n, m) for name in names])
    printed = {name: f"{value:.3f}" for name, value in zip(names, rows @ falling, strict=True)}
    values = np.array(list(map(float, printed.values())))
    # q is non-increasing, q <= p <= factor q; the unknowns are p and q
    eye, zero = np.eye(n), np.zeros((n, n))
    above = [np.hstack([zero[1:], eye[1:] - eye[:-1]]), np.hstack([-eye, eye])]
    above += [np.hstack([eye, -factor * eye])]
    means = np.hstack([rows, np.zeros(rows.shape)])
    shape = np.vstack(above)
    below = np.r_[np.zeros(len(shape)), values + 0.0005, 0.0005 - values]
    exact = CREDIT["MRR"](np.arange(1, n + 1), n)
    setting = {"n_items": n, "n_negatives": m, "shape": factor, "unscored": 0.0}
    actual = reported(printed, "MRR", **setting)[0]
    ends = []
    for sign in (1.0, -1.0):
        cost = np.r_[sign * exact, np.zeros(n)]
        total = np.r_[np.ones(n), np.zeros(n)][None]
        least = linprog(cost, np.vstack([shape, means, -means]), below, total, [1.0])
        ends.append(sign * least.fun)
    assert [actual.range_low, actual.range_high] == pytest.approx(ends, abs=1e-7)
    assert actual.shape == f"{factor:g}"


def test_hit_rates_interval_is_pearson():
    # With negatives for all other items the sampled rank is the true one, and HR@1 of the exact
    # ranks is the first cell of a table whose chi-square is at most z^2.
    n, users, z = 30, 50, 1.959963984540054
    printed = {"HR@1": "0.100000000000", "HR@5": "0.300000000000", "HR@10": "0.360000000000"}
    seen = np.array([0.1, 0.2, 0.06, 0.64])
    actual = reported(printed, "HR@1", n_items=n, n_negatives=n - 1, n_users=users, shape="none")[0]
    ends = []
    for sign in (1.0, -1.0):
        best = minimize(
            lambda p, sign=sign: sign * p[0],
            seen,
            bounds=[(1e-6, 1.0)] * 4,
            constraints=[
                {"type": "eq", "fun": lambda p: p.sum() - 1.0},
                {"type": "ineq", "fun": lambda p: z**2 / users - ((seen - p) ** 2 / p).sum()},
            ],
            options={"ftol": 1e-12},
        )
        ends.append(best.x[0])
    assert [actual.range_low, actual.range_high] == pytest.approx(ends, abs=1e-5)


@pytest.mark.parametrize(
    ("hr_5", "hr_10", "contains_random_order"),
    [
        ("0.0598", "0.1195", True),  # chi-square is 4.75, and at most 5.99 is allowed
        ("0.0698", "0.1395", False),
    ],
)
def test_numbers_far_above_a_random_order_exclude_it(hr_5, hr_10, contains_random_order):
    """A random order has an HR@10 of 10 / 3416, and sampled ones of 5 / 101 and 10 / 101."""
    setting = {"n_items": 3416, "n_negatives": 100, "n_users": 1000}
    (result,) = reported({"HR@5": hr_5, "HR@10": hr_10}, "HR@10", **setting)
    in_random_order = 10 / 3416
    if contains_random_order:
        assert result.range_low == pytest.approx(in_random_order, rel=1e-9)
    else:
        assert result.range_low > 1.01 * in_random_order


# Three tenths of the users have their held-out item at the end, the others in the first half.
UNSCORED = np.r_[np.full(200, 0.7 / 200), np.zeros(199), 0.3]
OF_UNSCORED = {
    name: f"{UNSCORED @ sampled(name, UNSCORED.size, 30):.5f}" for name in ("HR@1", "HR@5", "AUC")
}


@pytest.mark.parametrize("options", [{}, {"unscored": 0.3}, {"unscored": 0.4}])
def test_range_holds_the_metric_if_items_are_unscored(options):
    (result,) = reported(OF_UNSCORED, "HR@10", **options, n_items=400, n_negatives=30)
    assert result.range_low <= UNSCORED[:10].sum() <= result.range_high


def test_numbers_of_unscored_items_are_refused_if_all_are_scored():
    with pytest.raises(InputError, match="held-out"):
        reported(OF_UNSCORED, "HR@10", unscored=0.0, n_items=400, n_negatives=30)


@pytest.mark.parametrize("share", [1.0, -0.1, "much", True])
def test_wrong_share_of_unscored_items_is_refused(share):
    with pytest.raises(InputError, match="unscored"):
        reported(OF_UNSCORED, "HR@10", unscored=share, n_items=400, n_negatives=30)


@pytest.mark.parametrize(
    "printed",
    [
        {"HR@1": "0.700", "HR@5": "0.698"},
        {"HR@10": "0.500", "NDCG@10": "0.502"},
        {"HR@10": "0.500", "NDCG@10": "0.140"},  # each hit has at least 1/log2 11
        {"HR@1": "0.400", "HR@10": "0.500", "MRR": "0.380"},
    ],
)
def test_contradicting_numbers_refused(printed):
    for n_users in (None, 20):  # whatever the sampling error
        with pytest.raises(InputError, match="sampled"):
            reported(printed, "HR@10", n_users=n_users, shape="none", **ABOUT)


HR, ABOUT = {"HR@10": 0.8245}, {"n_items": 3416, "n_negatives": 100}


@pytest.mark.parametrize(
    ("printed", "named"),
    [
        ({"HR@10": 82.45}, "0.8245"),
        ({"HR@10": 345}, "HR@10"),
        ({"HR@10": -0.1}, "HR@10"),
        ({"HR@10": "nan"}, "HR@10"),
        ({"HR@10": "many"}, "HR@10"),
        ({}, "printed"),
        (0.8245, "printed"),
        # HR@5 cannot be below HR@1
        ({"HR@1": "0.300", "HR@5": "0.200", "MRR": "0.500"}, "HR@5=0.200"),
    ],
)
def test_wrong_numbers_refused(printed, named):
    with pytest.raises(InputError, match=named):
        reported(printed, **ABOUT)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ({"n_items": 100}, "n_negatives"),
        ({"n_items": 10**9}, "n_items"),
        ({"n_users": 0}, "n_users"),
        ({"shape": "round"}, "round"),
        ({"shape": 0.5}, "0.5"),
        ({"confidence": 1.0}, "confidence"),
        ({"sampling": "popularity"}, "uniform"),
    ],
    ids=str,
)
def test_wrong_option_refused(option, named):
    with pytest.raises(InputError, match=named):
        reported(HR, **ABOUT | option)


def test_number_below_a_random_order_refused_if_all_items_are_scored():
    """A random order has an HR@10 of 10 / 101 = .099 among 100 negatives."""
    with pytest.raises(InputError, match=r"HR@10=0\.050"):
        reported({"HR@10": "0.050"}, unscored=0.0, **ABOUT)


@pytest.mark.parametrize("number", [0.8245, {"HR@10": 0.8245}])
def test_sampled_ranks_refused(number):
    with pytest.raises(InputError):
        correct(number, **ABOUT)


def test_frame_and_plot():
    matplotlib.use("agg")
    actual = reported(HR | {"NDCG@10": 0.5905}, "HR@10, MRR", **ABOUT)
    assert actual.to_frame()["range_low"].tolist() == [row.range_low for row in actual]
    axes, _ = actual.plot(exact={"hit@10": 0.2})
    lines = {line.get_label(): line.get_xdata().tolist() for line in axes.get_lines()[:3]}
    assert lines == {"range": [actual[0].range_low, actual[0].range_high],
                     "printed": [actual[0].reported],
                     "likely": [actual[0].likely]}  # fmt: skip
    matplotlib.pyplot.close("all")


COMMAND = ["reported", "HR@10=0.8245", "NDCG@10=0.5905", "--metric=HR@10"]
COMMAND += ["--n-items=3416", "--n-negatives=100", "--n-users=6040"]


@pytest.mark.parametrize("shape", ["non-increasing", "2"])
def test_command_prints_the_range_of_the_function(run, shape):
    (row,) = json.loads(run(*COMMAND, "--shape", shape, "--format", "json").stdout)
    printed = {"HR@10": "0.8245", "NDCG@10": "0.5905"}
    (result,) = reported(printed, "HR@10", **ABOUT, n_users=6040, shape=shape)
    assert (row["range_low"], row["range_high"]) == (result.range_low, result.range_high)
    assert row["shape"] == shape


def test_unknown_shape_of_the_command_is_refused(refusal_line):
    assert "'round'" in refusal_line(*COMMAND, "--shape", "round")


@pytest.mark.parametrize(("percent", "fraction"), [("1.01", "0.0101"), ("100", "1")])
def test_percent_refused_with_the_fraction(percent, fraction):
    with pytest.raises(InputError, match=f"HR@10 is {percent}.*write {fraction}"):
        reported({"HR@10": percent}, n_items=100, n_negatives=10)


@pytest.mark.parametrize("number", ["100.1", "-0.1"])
def test_number_that_is_no_percentage_refused_without_a_fraction(number):
    with pytest.raises(InputError, match=f"HR@10 is {number}") as caught:
        reported({"HR@10": number}, n_items=100, n_negatives=10)
    assert "write" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "HR@10=0.8240 NDCG@10=0.5905",
        " HR@10 = 0.8240,\n NDCG@10=0.5905",
        ["HR@10=0.8240", "NDCG@10=0.5905"],
    ],
)
def test_numbers_may_be_text(text):
    setting = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}
    expected = reported({"HR@10": "0.8240", "NDCG@10": "0.5905"}, **setting)
    assert list(reported(text, **setting)) == list(expected)


def test_result_has_the_numbers_as_printed():
    (result,) = reported("HR@10=0.47", n_items=12093, n_negatives=99)
    assert result.printed == "HR@10=0.47"


@pytest.mark.parametrize("text", ["HR@10", "", "HR@10=0.4 HR@10=0.5", "HR@10=x"])
def test_text_without_a_number_for_each_metric_is_refused(text):
    with pytest.raises(InputError):
        reported(text, n_items=3416, n_negatives=100)


def test_metrics_are_the_printed_ones_by_default():
    results = reported("HR@5=0.52 NDCG@10=0.41", n_items=300, n_negatives=20)
    assert [(one.metric, one.reported) for one in results] == [("HR@5", 0.52), ("NDCG@10", 0.41)]


@pytest.mark.parametrize("shape", ["non-increasing", 1.5])
def test_likely_is_in_its_interval_and_that_in_the_range(shape):
    printed = "HR@5=0.52 NDCG@10=0.41"
    for one in reported(printed, "HR@5, MRR", n_items=300, n_negatives=20, shape=shape):
        assert one.range_low <= one.likely_low < one.likely < one.likely_high <= one.range_high


def test_no_number_is_likely_if_any_ranks_are_assumed():
    (result,) = reported("HR@5=0.52", "MRR", n_items=300, n_negatives=20, shape="none")
    assert result.likely is None


def test_rounded_number_allows_both_ends():
    """Without an error of sampling, a printed 0.5 is any number from 0.45 to 0.55."""
    about = {"n_items": 300, "n_negatives": 20, "n_users": 10**9}
    (low,), (rounded,), (high,) = (
        reported({"HR@5": number}, **about) for number in ("0.450000", "0.5", "0.550000")
    )
    ends = (low.range_low, high.range_high)
    assert (rounded.range_low, rounded.range_high) == pytest.approx(ends, abs=1e-4)


def test_unknown_users_have_no_error_of_sampling():
    about = {"n_items": 300, "n_negatives": 20}
    (unknown,) = reported({"HR@5": "0.5"}, **about)
    (many,) = reported({"HR@5": "0.5"}, **about, n_users=10**9)
    ends = (many.range_low, many.range_high)
    assert (unknown.range_low, unknown.range_high) == pytest.approx(ends, abs=1e-3)


# A random order of 101 items has an NDCG@10 of (1/log2(2) + ... + 1/log2(11)) / 101 = 0.0450.
@pytest.mark.parametrize(
    ("number", "options", "advises"),
    [
        ("0.044", {"unscored": 0.0}, True),
        ("0.046", {"unscored": 0.0}, False),
        ("0.044", {}, False),
        ("0.044", {"unscored": 0.2}, False),
        ("0.044", {"shape": "none"}, False),
    ],
)
def test_number_below_random_order_advises_unscored_items(number, options, advises):
    """Held-out items without a score lower printed numbers, and so the range."""
    about = {"n_items": 2000, "n_negatives": 100, "n_users": 2000}
    assert ("unscored" in str(reported({"NDCG@10": number}, **about, **options))) == advises


@pytest.mark.parametrize(
    "text", ["**.82**", ".82*", ".82±.003", ".82 +/- .003", r"\textbf{.82}", "82%", "82.0±.3%"]
)
def test_marks_of_printed_numbers_do_not_count(text):
    value, decimals = parse_number("HR@10", text)
    assert value == 0.82
    assert decimals == (3 if "82.0" in text else 2)


@pytest.mark.parametrize("text", [".82.", "0.8 2", "*", "8.2±.1", "±.1"])
def test_other_texts_are_no_numbers(text):
    with pytest.raises(InputError, match=r"HR@10 is"):
        parse_number("HR@10", text)
