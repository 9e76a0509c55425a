"""Ranges from printed numbers, against dense programmes over all ranks and random distributions."""

import json
import math

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sampled_metrics import InputError, correct, reported
from sampled_metrics.inference.reported import (
    advice,
    exact_metric,
    expected_sampled,
    order_of,
    state,
)
from sampled_metrics.metrics.measures import parse_measure
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


def chances(n, m, replacement=False):
    """Distribution of the sampled rank for all true ranks, by counting; shape (n, m + 1)."""
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


def sampled(name, n, m, **drawn):
    return chances(n, m, **drawn) @ CREDIT[name](np.arange(1, m + 2), m + 1)


def dense(low, high, exact, shape, n, m, **drawn):
    """Both ends of the exact metric by programmes with a column for each rank."""
    ranks = np.arange(1, n + 1)
    mixed = (lambda v: np.cumsum(v) / ranks) if shape == "non-increasing" else (lambda v: v)
    rows = np.array([mixed(sampled(name, n, m, **drawn)) for name in low])
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
def test_ends_are_those_of_all_columns(shape, names, n, m, replacement):
    weights = 1 / (np.arange(1, n + 1) + 3.0)  # decreasing
    weights /= weights.sum()
    printed = {
        name: round(weights @ sampled(name, n, m, replacement=replacement), 3) for name in names
    }
    low = {name: max(value - 0.0005, 0) for name, value in printed.items()}
    high = {name: min(value + 0.0005, 1) for name, value in printed.items()}
    sampling = "with-replacement" if replacement else "without-replacement"
    about = {"n_items": n, "n_negatives": m, "sampling": sampling, "shape": shape, "digits": 3}
    for exact in ("HR@10", "MRR"):
        found = reported(printed, exact, **about)[0]
        ends = dense(low, high, exact, shape, n, m, replacement=replacement)
        assert [found.range_low, found.range_high] == pytest.approx(ends, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(5, 300), st.data())
def test_range_holds_the_metric_of_any_distribution_of_the_class(n, data):
    m = data.draw(st.integers(1, n - 1))
    shape = data.draw(st.sampled_from(["non-increasing", "none"]))
    some = data.draw(
        st.lists(st.tuples(st.integers(1, n), st.floats(0.01, 1)), min_size=1, max_size=5)
    )
    weights = np.zeros(n)
    for rank, weight in some:
        weights[(rank - 1) * (shape == "none") : rank] += weight / rank
    weights /= weights.sum()
    names = data.draw(st.lists(st.sampled_from(list(CREDIT)), min_size=1, max_size=3, unique=True))
    printed = {name: f"{weights @ sampled(name, n, m):.4f}" for name in names}
    for exact in ("HR@10", "NDCG@10", "AUC"):
        found = reported(printed, exact, n_items=n, n_negatives=m, shape=shape)[0]
        true = weights @ CREDIT[exact](np.arange(1, n + 1), n)
        assert found.range_low - 1e-9 <= true <= found.range_high + 1e-9


def test_sampling_error_widens_by_wilsons_interval():
    # One number: the expectation p with |v - p| = z sqrt(p (1 - p) / D) bounds it on either side.
    v, d, z = 0.3, 500, 1.959963984540054
    low, high = ((v + z * z / 2 / d + s * z * math.sqrt(v * (1 - v) / d + z * z / 4 / d / d))
                 / (1 + z * z / d) for s in (-1, 1))  # fmt: skip
    about = {"n_items": 200, "n_negatives": 30}
    found = reported({"HR@5": v}, "HR@5", n_users=d, digits=12, **about)[0]
    ends = dense({"HR@5": low}, {"HR@5": high}, "HR@5", "non-increasing", 200, 30)
    assert [found.range_low, found.range_high] == pytest.approx(ends, abs=1e-9)
    assert found.range_middle == pytest.approx(math.sqrt(ends[0] * ends[1]))


def test_several_numbers_share_the_risk():
    """Wilson's intervals at 1 - 0.05 / 2 each for two numbers: the normal quantile at 0.9875."""
    values, d, z = {"HR@5": 0.3, "AUC": 0.7}, 500, 2.241402727604947
    low, high = (
        {
            name: (v + z * z / 2 / d + s * z * math.sqrt(v * (1 - v) / d + z * z / 4 / d / d))
            / (1 + z * z / d)
            for name, v in values.items()
        }
        for s in (-1, 1)
    )
    about = {"n_items": 200, "n_negatives": 30}
    found = reported(values, "HR@5", n_users=d, digits=12, **about)[0]
    ends = dense(low, high, "HR@5", "non-increasing", 200, 30)
    assert [found.range_low, found.range_high] == pytest.approx(ends, abs=1e-9)


def test_all_expectations_lie_in_their_intervals_as_often_as_promised():
    rng = np.random.default_rng(0)
    names, n, m, users, runs = ["HR@1", "HR@5", "HR@10", "AUC"], 80, 20, 200, 300
    true = 1 / np.arange(1, n + 1)
    shares = true / true.sum() @ chances(n, m)
    credit = np.array([CREDIT[name](np.arange(1, m + 2), m + 1) for name in names])
    expected = credit @ shares
    inside = 0
    for _ in range(runs):
        means = credit @ rng.multinomial(users, shares) / users
        printed = dict(zip(names, means.tolist(), strict=True))
        found = state(printed, n, m, users, 12, "without-replacement", "none", 0.8)
        inside += bool(((found.low <= expected) & (expected <= found.high)).all())
    assert inside / runs >= 0.8


def test_many_items_are_interpolated():
    n, m, measures = 60_000, 300, [parse_measure(name) for name in ("HR@10", "MRR", "AUC")]
    found = expected_sampled(measures, n, m, Sampling.WITHOUT_REPLACEMENT, "none")
    for r in (1, 100, 513, 700, 2345, 12_345, 30_000, 59_400, 59_999):
        i = np.arange(m + 1)
        ways = [math.comb(r - 1, int(k)) * math.comb(n - r, m - int(k)) for k in i]
        whole = math.comb(n - 1, m)
        chance = np.array([way / whole for way in ways])
        wanted = [chance @ CREDIT[name](i + 1, m + 1) for name in ("HR@10", "MRR", "AUC")]
        assert found[:, r - 1] == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("shape", ["none", "non-increasing"])
def test_sums_over_many_items_are_those_of_single_ranks(shape):
    n, m = 30_000, 60
    measures = [parse_measure(name) for name in ("hr@10", "ndcg", "ap", "auc", "recall@700")]
    ranks = np.arange(1, n + 1)
    credit = np.array([measure.at(np.arange(1, m + 2), m + 1) for measure in measures])
    wanted = [pmf(ranks, n, m, Sampling.WITHOUT_REPLACEMENT) @ values for values in credit]
    exact = [measure.at(ranks, n) for measure in measures]
    if shape == "non-increasing":  # uniform on the first k
        wanted = [np.cumsum(values) / ranks for values in wanted]
        exact = [np.cumsum(values) / ranks for values in exact]
    found = expected_sampled(measures, n, m, Sampling.WITHOUT_REPLACEMENT, shape)
    assert found == pytest.approx(np.array(wanted), abs=1e-13)
    for measure, values in zip(measures, exact, strict=True):
        assert exact_metric(measure, n, shape) == pytest.approx(values, abs=1e-13)


def test_published_numbers():
    # Exact HR@10 of NCF's published GMF and MLP: .0671 and .0793 among 3,541 candidates.
    about = {"n_items": 3541, "n_negatives": 99, "n_users": 6040}
    for printed, exact in (((0.6368, 0.3691), 0.0671), ((0.6710, 0.3963), 0.0793)):
        paper = dict(zip(("HR@10", "NDCG@10"), printed, strict=True))
        found = reported(paper, "hit@10", **about)[0]
        assert found.range_low < exact < found.range_high
        assert found.reported == printed[0]


def test_more_numbers_say_more_and_orders_are_open_or_right():
    about = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}
    widths = {row.printed.count("=") + row.n_negatives: row.range_high - row.range_low
              for row in advice({"HR@10": 0.8245}, "HR@10", **about)}  # fmt: skip
    assert widths[100 + 3] < widths[100 + 2] < widths[100 + 1] + widths[100 + 2]
    assert widths[1000 + 6] < widths[100 + 6]
    near, far = ({"HR@1": a, "HR@10": b} for a, b in ((0.30, 0.79), (0.02, 0.20)))
    orders = [order_of({"HR@1": 0.35, "HR@10": 0.82}, other, "HR@10", confidence=0.95, **about)[0]
              for other in (near, far)]  # fmt: skip
    assert [row["order"] for row in orders] == ["undecided", "a"]
    assert orders[1]["range_high"] == orders[1]["b_high"] - orders[1]["a_low"] < 0


HR, ABOUT = {"HR@10": 0.8245}, {"n_items": 3416, "n_negatives": 100}


@pytest.mark.parametrize(
    ("printed", "changed", "named"),
    [
        ({"HR@10": 82.45}, {}, "0.8245"),
        ({"HR@10": 345}, {}, "HR@10"),
        ({"HR@10": -0.1}, {}, "HR@10"),
        ({"HR@10": "nan"}, {}, "HR@10"),
        ({"HR@10": "many"}, {}, "HR@10"),
        ({}, {}, "printed"),
        (0.8245, {}, "printed"),
        (HR, {"n_items": 100}, "n_negatives"),
        (HR, {"n_items": 10**9}, "n_items"),
        (HR, {"n_users": 0}, "n_users"),
        (HR, {"shape": "round"}, "round"),
        (HR, {"confidence": 1.0}, "confidence"),
        (HR, {"sampling": "popularity"}, "uniform"),
        # HR@5 cannot be below HR@1, and a random order has an HR@10 of 10/101.
        ({"HR@1": "0.300", "HR@5": "0.200", "MRR": "0.500"}, {}, "check HR@5=0.200,"),
        ({"HR@10": "0.050"}, {}, "HR@10=0.050"),
    ],
)
def test_wrong_numbers(printed, changed, named):
    with pytest.raises(InputError) as caught:
        reported(printed, **ABOUT | changed)
    assert named in str(caught.value)


@pytest.mark.parametrize("number", [0.8245, {"HR@10": 0.8245}])
def test_correct_says_who_takes_printed_numbers(number):
    with pytest.raises(InputError, match="`reported` takes them"):
        correct(number, **ABOUT)


def test_frame_and_plot():
    matplotlib.use("agg")
    found = reported(HR, "HR@10, MRR", **ABOUT)
    assert found.to_frame()["range_low"].tolist() == [row.range_low for row in found]
    axes, _ = found.plot(exact={"hit@10": 0.2})
    lines = {line.get_label(): line.get_xdata().tolist() for line in axes.get_lines()[:2]}
    assert lines == {"range": [found[0].range_low, found[0].range_high],
                     "middle": [found[0].range_middle]}  # fmt: skip
    matplotlib.pyplot.close("all")


def test_command(run):
    about = ("--n-items", 3416, "--n-negatives", 100, "--n-users", 6040, "--metric", "HR@10")
    paper = ("reported", "HR@10=0.8245", "NDCG@10=0.5905")
    rows = json.loads(run(*paper, *about, "--format", "json").stdout)
    found = reported(HR | {"NDCG@10": 0.5905}, "HR@10", **ABOUT, n_users=6040)[0]
    assert (rows[0]["range_low"], rows[0]["range_high"]) == (found.range_low, found.range_high)
    other = ("--against", "HR@10=0.7886", "NDCG@10=0.5538", "--format", "json")
    assert json.loads(run(*paper, *about, *other).stdout)[0]["order"] == "undecided"
    advised = run(*paper, *about, "--advice").stdout.splitlines()
    assert "HR@10 NDCG@10 (yours)" in advised[2]
    assert all(len(line) <= 80 for line in advised)
    assert "=" not in "".join(advised[2:15])  # no number that nobody printed
