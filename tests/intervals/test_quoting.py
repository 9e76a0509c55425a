"""The number to quote, its interval, and those of differences, by hand and on real ranks."""

import math

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.estimators import estimator_matrix, likely_log_errors, parse_estimator
from sampled_metrics.intervals.quoting import Quoted, quote, quote_difference
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics import parse_measure
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"
GROUPS = {
    "MovieLens 1M": ["ranks", "ml-1m/ranks"],
    "MovieLens 100K": ["ml-100k/ranks"],
    "by time": ["global-time/ranks"],
    "NCF": ["ncf"],
}
NORMAL = 1.959963984540054  # quantile of 95 % intervals


def test_quote_interval_is_a_factor():
    number = quote(0.1, math.log(1.5) / NORMAL, Range(0.01, 0.9), 0.95)
    assert number == pytest.approx((0.1, 0.1 / 1.5, 0.15))


@pytest.mark.parametrize(("estimate", "expected"), [
    (0.1, (0.1, 0.08, 0.15)),  # cut at the low end
    (0.5, (0.2, 0.2 / 1.5, 0.2)),  # the nearest value in the range, which is an end of its interval
    (0.01, (0.08, 0.08, 0.12)),
])  # fmt: skip
def test_quote_stays_in_range(estimate, expected):
    number = quote(estimate, math.log(1.5) / NORMAL, Range(0.08, 0.2), 0.95)
    assert number == pytest.approx(expected)


@pytest.mark.parametrize(("log_error", "high", "is_quoted"), [
    (math.log(3.99) / NORMAL, 1.0, True),  # 3.99^2 < 16
    (math.log(4.01) / NORMAL, 1.0, False),
    (math.log(4.01) / NORMAL, 0.03, True),  # the range is narrower
    (math.nan, 0.015, True),  # unbiased: the range is the interval
    (math.nan, 0.017, False),
])  # fmt: skip
def test_quote_wide_interval_is_none(log_error, high, is_quoted):
    number = quote(0.01, log_error, Range(0.001, high), 0.95)
    assert number.is_quoted is is_quoted
    assert np.isnan(number).all() == (not is_quoted)


def test_quote_less_confidence_is_narrower():
    half, most = (quote(0.1, 0.3, Range(0.001, 0.9), level) for level in (0.5, 0.99))
    assert most.low < half.low < 0.1 < half.high < most.high


def test_quote_difference_by_hand():
    a, b = Quoted(0.10, 0.07, 0.14), Quoted(0.20, 0.16, 0.23)
    number = quote_difference(0.1, a, b, Range(-0.5, 0.14))
    assert number == pytest.approx((0.1, 0.1 - math.hypot(0.04, 0.04), 0.14))
    nothing = Quoted(math.nan, math.nan, math.nan)
    assert not quote_difference(0.1, nothing, b, Range(-0.5, 0.5)).is_quoted


def test_users_with_several_rows_count_once():
    """Three rows of one user weigh as much as one row of another."""
    rng = np.random.default_rng(0)
    ranks = 1 + (100 * rng.random(600) ** 3).astype(int)
    users = np.concatenate([np.arange(450), np.repeat(np.arange(450, 500), 3)])
    weights = np.concatenate([np.ones(450), np.full(150, 1 / 3)])
    counts = np.bincount(ranks - 1, weights, minlength=101)
    sampled = sm.SampledRanks(ranks, 3000, 100, users=users)
    (one,) = sm.correct(sampled, "recall@10", "likely")
    measure = parse_measure("recall@10")
    (error,) = likely_log_errors(counts, [measure], 3000, 100, "without-replacement")
    setting = {"sampling": "without-replacement", "histogram": counts}
    likely = [parse_estimator("likely")]
    vector = estimator_matrix(likely, [measure], 3000, 100, **setting)[0, 0]
    assert one.value == pytest.approx(vector @ counts / 500)
    assert one.likely_low == pytest.approx(one.value / np.exp(NORMAL * error))
    assert one.likely_high == pytest.approx(one.value * np.exp(NORMAL * error))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_equal_visits_keep_interval():
    ranks = 1 + (100 * np.random.default_rng(2).random(300) ** 3).astype(int)
    users = np.arange(300)
    single = sm.SampledRanks(ranks, 3000, 100, users=users)
    four = sm.SampledRanks(
        np.repeat(ranks, 4), 3000, 100, users=np.repeat(users, 4), visits=np.arange(1200)
    )
    (one,), (several,) = (sm.correct(of, "recall@10", "likely") for of in (single, four))
    factors = [x.likely_high / x.likely_low for x in (one, several)]
    assert factors[1] == pytest.approx(factors[0], rel=1e-3)


def test_plots_draw_the_interval():
    ranks = 1 + (100 * np.random.default_rng(1).random(500) ** 3).astype(int)
    results = sm.correct(ranks, "recall@10", "likely, cls", n_items=3000, n_negatives=100)
    axes = results.plot()
    ends = [list(line.get_xdata()) for line in axes.lines]
    assert [results[0].likely_low, results[0].likely_high] in ends


def rankings(folders):
    for folder in folders:
        for path in sorted((REFERENCE / folder).glob("*.parquet")):
            if path.stem != "Random" and not path.stem.endswith(".sampled"):
                yield pd.read_parquet(path)


def holds(table, rng, m, users):
    """Whether intervals from a sample of users hold the exact metrics of all users."""
    table = table[table["n_candidates"] > m]
    columns = ("n_candidates", "n_better", "n_tied")
    n_candidates, n_better, n_tied = (table[name].to_numpy() for name in columns)
    n = round(float(n_candidates.mean()))
    names = ("recall@10", "ndcg@10", "ap")
    ranks = sm.Ranks(n_candidates, n_better, n_tied)
    exact = [one.value for one in sm.evaluate(ranks, ",".join(names))]
    chosen = rng.integers(len(table), size=users)
    before = n_better[chosen] + rng.integers(0, n_tied[chosen] + 1)
    sampled = rng.hypergeometric(before, n_candidates[chosen] - 1 - before, m)
    counts = np.bincount(sampled, minlength=m + 1)
    measures = [parse_measure(name) for name in names]
    setting = {"sampling": "without-replacement", "histogram": counts}
    likely = [parse_estimator("likely")]
    values = estimator_matrix(likely, measures, n, m, **setting)[:, 0] @ counts / users
    errors = likely_log_errors(counts, measures, n, m, "without-replacement")
    return np.abs(np.log(values / exact)) < 1.96 * errors


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("group", GROUPS)
def test_intervals_hold_exact_metrics(group):
    """At least 85 % are held, also on data on which the constants were not chosen."""
    rng = np.random.default_rng(11)
    tables = list(rankings(GROUPS[group]))
    held = {m: [] for m in (20, 100, 500)}
    for table in tables:
        for m, of_size in held.items():
            for users in (300, 1000, 3000):
                for _ in range(4):
                    of_size.append(holds(table, rng, m, users))
    assert len(tables) > 1
    assert min(np.mean(of_size) for of_size in held.values()) >= 0.85


def results(ranks, m, n):
    return sm.correct(ranks, "hr@1, hr@10, ndcg@10, ap", "likely", n_items=n, n_negatives=m)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("seed", [12, 21, 43])
def test_value_that_its_range_moves_out_of_its_interval_has_no_interval(seed):
    """Ranks are mostly bad, so that the range allows little at the top.

    In the samples of these seeds it moves a value out of its interval.
    """
    rng = np.random.default_rng(seed)
    m, users = int(rng.integers(10, 60)), int(rng.integers(100, 300))
    sampled_ranks = 1 + (m * rng.random(users) ** 0.6).astype(int)
    actual = results(sampled_ranks, m, 4000)
    for one in actual:
        is_inside = one.ci_low <= one.value <= one.ci_high
        assert is_inside or np.isnan([one.ci_low, one.ci_high]).all()
        assert np.isnan(one.value) or one.range_low <= one.value <= one.range_high
    assert any(np.isnan(one.ci_low) and not np.isnan(one.value) for one in actual)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_value_inside_interval_keeps_it():
    ranks = 1 + (100 * np.random.default_rng(1).random(500) ** 3).astype(int)
    (result,) = sm.correct(ranks, "auc", "likely", n_items=3000, n_negatives=100)
    assert result.ci_low < result.value < result.ci_high


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_difference_stays_in_interval():
    rng = np.random.default_rng(4)
    for _ in range(30):
        m = int(rng.integers(20, 60))
        data = {name: 1 + (m * rng.random(150) ** rng.uniform(0.5, 4)).astype(int) for name in "AB"}
        actual = sm.compare(data, "hr@10, ap", "likely", n_items=3000, n_negatives=m)
        for one in actual:
            assert np.isnan(one.ci_low) or one.ci_low <= one.difference <= one.ci_high
