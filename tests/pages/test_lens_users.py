"""The lens of users with few candidates that differ in number, computed again user by user."""

import re
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from sampled_metrics.estimators import estimator_matrix, parse_estimators
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages.lens import Chart, build_lens, group_near_users
from sampled_metrics.pages.lens_text import percent
from sampled_metrics.ranks import Ranks

N = np.array([12, 30, 80, 30])  # they differ by more than 6 %, so that none are averaged
BETTER = {"A": [0, 7, 50, 29], "B": [3, 1, 33, 1]}
TIED = {"A": [0, 3, 0, 0], "B": [4, 0, 20, 2]}
METRICS = ["recall@3", "ndcg", "auc"]
ESTIMATORS = ["sampled", "bv:0.1"]
M = 6


def records():
    return {name: Ranks(N, BETTER[name], TIED[name]) for name in "AB"}


def rank_probabilities(sampling, m, n, ranks):
    """Return the probabilities of the sampled ranks 1 to m + 1, a row for each true rank."""
    above = np.arange(m + 1)
    share = np.asarray(ranks)[:, None] - 1
    if sampling == "with-replacement":
        return binom.pmf(above, m, share / (n - 1))
    return hypergeom.pmf(above, n - 1, share, m)


@pytest.fixture(scope="module", params=["without-replacement", "with-replacement"])
def sampling_and_lens(request):
    measures = [parse_measure(name) for name in METRICS]
    parsed = parse_estimators(ESTIMATORS)
    return request.param, build_lens(
        records(), measures, parsed, M, extra_sizes=[2], sampling=request.param
    )


def test_estimates_and_windows_average_users(sampling_and_lens):
    sampling, shown = sampling_and_lens
    n = round(N.mean())  # 38, the n of the estimators
    measures = [parse_measure(name) for name in METRICS]
    chart = Chart.up_to(N.max(), measures)
    ks = chart.ks
    parsed = parse_estimators(ESTIMATORS)
    for m in (2, M):
        vectors = estimator_matrix(parsed, measures, n, m, sampling=sampling)
        for (i, metric), (j, estimator) in product(enumerate(METRICS), enumerate(ESTIMATORS)):
            vector = vectors[i, j]
            view = shown["views"][f"{metric} {estimator} {m}"]
            by_rank = np.zeros(ks.size)
            for of_user in N:
                own = ks <= of_user
                by_rank[own] += rank_probabilities(sampling, m, of_user, ks[own]) @ vector / N.size
            window = chart.window(by_rank)
            assert (view["up"], view["down"]) == (window["up"], window["down"])
            mean, variance = {}, {}
            for name in "AB":
                users = []
                for of_user, b, e in zip(N, BETTER[name], TIED[name], strict=True):
                    probabilities = rank_probabilities(
                        sampling, m, of_user, np.arange(b + 1, b + e + 2)
                    ).mean(axis=0)
                    first = probabilities @ vector
                    users.append((first, probabilities @ vector**2 - first**2))
                mean[name], variance[name] = np.mean(users, axis=0)
            if sampling == "with-replacement":
                continue  # ties are drawn from a continuum
            order = sorted("AB", key=mean.get, reverse=True)
            assert [("AB"[i], text) for i, text in view["read"]] == [
                (name, percent(mean[name])) for name in order
            ]
            noisiest = max("AB", key=variance.get)
            noise = f"{100 * np.sqrt(variance[noisiest] / N.size):.2f}"
            if variance[noisiest] > 1e-12:
                assert view["noise"] == [noisiest, noise]


VALUE = {
    "recall@3": lambda ranks, _: ranks <= 3,
    "ndcg": lambda ranks, _: 1 / np.log2(ranks + 1),
    "auc": lambda ranks, n: (n - ranks) / (n - 1),
}


@pytest.mark.parametrize("metric", METRICS)
def test_exact_values_are_means_over_users_and_ties(sampling_and_lens, metric):
    _, shown = sampling_and_lens
    exact = []
    for name in "AB":
        of_users = [
            VALUE[metric](np.arange(better + 1, better + tied + 2), n).mean()
            for n, better, tied in zip(N, BETTER[name], TIED[name], strict=True)
        ]
        exact.append(np.mean(of_users))
    assert shown["exact"][metric] == pytest.approx(exact, abs=5.1e-7)  # six decimals
    best, other = sorted((0, 1), key=lambda place: -exact[place])
    assert shown["truth"][metric] == [(best, percent(exact[best])), (other, percent(exact[other]))]


def test_lens_offers_metrics_and_estimators_by_label(sampling_and_lens):
    _, shown = sampling_and_lens
    labels = {name: asked["label"] for name, asked in shown["asked"].items()}
    assert labels == {"recall@3": "Recall@3", "ndcg": "NDCG", "auc": "AUC"}
    assert shown["estimators"] == {"sampled": "Sampled", "bv:0.1": "BV 0.1"}
    assert shown["start"] == {"metric": "recall@3", "estimator": "sampled", "m": M}


def test_lens_has_sizes_below_the_fewest_candidates(sampling_and_lens):
    """Users have 12, 30, 80 and 30 candidates, so at most 11 negatives; 38 on average."""
    _, shown = sampling_and_lens
    assert shown["sizes"] == [1, 2, 5, 6, 10, 11]
    assert (shown["last"], shown["fewest"], shown["n"]) == (80, 12, "38")
    assert shown["ticks"] == [("1", 0.0), ("10", round(100 * np.log(10) / np.log(80), 1))]


def test_slow_estimators_are_skipped_beyond_500_negatives():
    messages = [parse_measure("recall@1")], parse_estimators(["sampled", "bv:0.1"])
    for m, n_views in ((500, 2), (501, 1)):
        shown = build_lens({}, *messages, m, extra_sizes=None, candidates=np.array([1000]))
        assert (len(shown["views"]), shown["lines"]) == (n_views, {"lines": []})
        assert len(shown["estimators"]) == n_views


@pytest.mark.parametrize(
    ("m", "candidates", "last"), [(3, 5000, 2000), (3, 2001, 2000), (3, 2000, 1999), (7, 8, 7)]
)
def test_sizes_end_at_candidates_or_2000(m, candidates, last):
    messages = [parse_measure("rr")], parse_estimators(["sampled"])
    shown = build_lens({}, *messages, m, extra_sizes=[], candidates=np.array([candidates]))
    assert shown["sizes"][-1] == last


@pytest.mark.parametrize("step", [1, 7])
def test_groups_hold_near_ranks(step):
    """Every rank among 900 and 3,000 candidates, some tied, is grouped as documented."""
    n = np.repeat([900, 3000], [900 // step, 3000 // step])
    better = np.concatenate([np.arange(x) * step for x in (900 // step, 3000 // step)])
    tied = np.minimum((better % 3 == 0) * 4, n - 1 - better)
    groups = {}
    for user in zip(n, better, tied, strict=True):
        ends = [user[1] + 1, user[1] + user[2] + 1]
        key = [r if r <= 100 else 100 + round(np.log(r) / 0.03) for r in ends]
        groups.setdefault((*key, user[2] > 0, round(np.log(user[0]) / 0.06)), []).append(user)
    expected = []
    for users in groups.values():
        candidates, above, beside = (round(x) for x in np.mean(users, axis=0))
        above = min(above, candidates - 1)
        share = len(users) / n.size
        expected.append((candidates, above, min(beside, candidates - 1 - above), share))
    population = group_near_users(Ranks(n, better, tied))
    kinds = population.ranks
    rows = zip(kinds.n_candidates, kinds.n_better, kinds.n_tied, population.share, strict=True)
    np.testing.assert_allclose(sorted(rows), sorted(expected), rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "better", "tied", "kind"),
    [
        ([102, 103], [101, 102], [0, 0], (102, 101, 0)),  # 102.5 and 101.5: rounded to even
        ([102, 103], [100, 100], [1, 2], (102, 100, 1)),  # 1.5 would be 2
        ([300, 300], [120, 121], [3, 4], (300, 120, 4)),  # 120.5 and 3.5
    ],
)
def test_group_means_are_valid_ranks(n, better, tied, kind):
    (ranks, share, _) = vars(group_near_users(Ranks(n, better, tied))).values()
    groups = list(zip(ranks.n_candidates, ranks.n_better, ranks.n_tied, share, strict=True))
    assert groups == [(*kind, 1.0)]


def test_names_need_distance_and_avoid_right_edge():
    """With ranks 1 and 1,000, Recall@k of a and b is 1 and 0 up to k = 999."""
    chart = Chart.up_to(1000, [])
    ranks = {name: Ranks([1000], [better], [0]) for name, better in (("a", 0), ("b", 999))}
    lines = chart.leads(ranks)["lines"]
    assert [(line["name"], line["above"], line["x"]) for line in lines] == [
        ("a", True, 0.0),
        ("b", False, 0.0),
    ]
    assert [line["y"] for line in lines] == [5, 75]  # 20 and 300 of 400
    assert chart.leads(ranks)["most"] == 100
    # Lines of equal users have no names, however small the scale.
    near = {name: Ranks([1000] * 2, [better, 0], [0, 0]) for name, better in (("a", 1), ("b", 1))}
    assert [line["name"] for line in chart.leads(near)["lines"]] == ["", ""]


def corners(path):
    """Yield the corners of an SVG path, across (H) and down (V), in absolute coordinates."""
    place = {"H": 0, "V": 350}
    for step, number in re.findall(r"([hvHV])(-?\d+)", path):
        axis = step.upper()
        place[axis] = int(number) + (place[axis] if step.islower() else 0)
        yield axis, place[axis]


def test_window_by_hand():
    """With k = 1, 2, 4, 8, the positions are 0, 1/3, 2/3 and 1 of 1,000; bars are equally wide."""
    chart = Chart(np.array([1, 2, 4, 8]), 1000 * np.arange(4) / 3)
    window = chart.window(np.array([0.9, 0.6, 0.7, 0.3]))
    # falls of .3, -.1, .4 and .3 on equal widths: 90, -30, 120, 90 of 120 above, 45 below
    up = list(corners(window["up"]))
    assert [y for axis, y in up if axis == "V"] == [350 - 90, 350, 350 - 120, 350 - 90, 350]
    assert [x for axis, x in up if axis == "H"] == [0, 333, 667, 1000, 1000]
    down = [("H", 333), ("V", 380), ("H", 667), ("V", 350), ("H", 1000), ("V", 350)]
    assert list(corners(window["down"])) == down
    assert window["at"] == 66.7
    steep = chart.window(np.array([0.1, 0.5, 0.4, 0.4]))
    # falls of -.4, .1, 0 and .4: -.4 may be 45 below, so that 1 is 112.5
    assert dict(reversed(list(corners(steep["up"]))))["V"] == 350 - 11
    assert dict(reversed(list(corners(steep["down"]))))["V"] == 350 + 45


@pytest.mark.parametrize(
    ("metric", "at", "has_area"),
    [("recall@10", 33.3, False), ("recall@1", 0.0, False), ("recall@5000", 100.0, False),
     ("ndcg@10", 33.3, True), ("precision@10", 33.3, False), ("auc", None, True)],
)  # fmt: skip
def test_cutoff_metrics_have_position_only(metric, at, has_area):
    measure = parse_measure(metric)
    drawn = Chart.up_to(1000, [measure]).cut_off(measure)
    assert bool(drawn["up"]) == has_area
    if at is not None and not has_area:
        assert drawn["at"] == at


def test_auc_window_is_of_linear_credit():
    chart = Chart.up_to(100, [])
    window = chart.window((100 - chart.ks) / 99)
    assert chart.cut_off(parse_measure("auc")) == window


def test_lines_start_at_mean_without_hits():
    """Recall@k is 0 for both below k = 5; then a has all hits, and b none until k = 50."""
    chart = Chart.up_to(100, [parse_measure("recall@5")])
    ranks = {name: Ranks([100], [better], [0]) for name, better in (("a", 4), ("b", 49))}
    for line, lead in zip(chart.leads(ranks)["lines"], (1.0, -1.0), strict=True):
        ys = [float(point.split()[1]) for point in line["d"][1:].split("L")]
        height = dict(zip(chart.ks.tolist(), ys, strict=True))
        assert (height[5], height[100]) == (160 - 140 * lead, 160)
        assert np.isfinite(ys).all()
