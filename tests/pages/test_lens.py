"""The lens, computed again rank by rank from made-up users."""

from itertools import combinations
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import hypergeom

from sampled_metrics.estimators import parse_estimators
from sampled_metrics.evaluation.results import UNDECIDED
from sampled_metrics.metrics import parse_measure, parse_measures
from sampled_metrics.pages.lens import WIDTH, Chart, build_lens, lens_sizes, order_pairs
from sampled_metrics.ranks import Ranks

N, M = 1000, 20  # candidates of each of four users, and negatives
METRICS = "recall@10, ndcg@10, ap, auc"
SAMPLED = parse_estimators(["sampled"])
BETTER = {"A": [0, 4, 30, 700], "B": [2, 2, 60, 60], "C": [9, 9, 9, 990]}
TIED = {"A": [0, 3, 0, 0], "B": [1, 0, 20, 0], "C": [0, 4, 0, 0]}


def ranks_of(names):
    return {name: Ranks([N] * 4, BETTER[name], TIED[name]) for name in names}


def places_of(name):
    """Return, for each user, the ranks of the held-out item in all orders of ties."""
    users = zip(BETTER[name], TIED[name], strict=True)
    return [np.arange(better + 1, better + tied + 2) for better, tied in users]


@pytest.fixture(scope="module")
def shown():
    return build_lens(ranks_of("ABC"), parse_measures(METRICS), SAMPLED, M)


def test_undecided_pairs_are_in_order_of_names():
    compared = [
        SimpleNamespace(metric="recall@10", a=a, b=b, order=UNDECIDED)
        for a, b in ("CB", "CA", "BA")
    ]
    lens = build_lens(ranks_of("ABC"), parse_measures(METRICS), SAMPLED, M, compared=compared)
    assert lens["undecided"] == [["A", "B"], ["A", "C"], ["B", "C"]]


# The chart


def test_lines_are_recall_relative_to_the_mean_of_all():
    chart = Chart.up_to(N, parse_measures(METRICS))
    recall = np.array(
        [
            [np.mean([np.mean(places <= k) for places in places_of(name)]) for k in chart.ks]
            for name in "ABC"
        ]
    )
    relative = recall / recall.mean(axis=0) - 1
    assert chart.relative_recall(ranks_of("ABC")) == pytest.approx(relative)


def test_line_of_a_single_recommender_is_its_recall():
    """The ranks of B are 3 or 4, 3, 61 to 81 and 61."""
    chart = Chart(np.array([2, 3, 61, 100]), np.linspace(0, WIDTH, 4))
    (recall,) = chart.relative_recall(ranks_of("B"))
    assert recall == pytest.approx([0, (1 / 2 + 1) / 4, (1 + 1 + 1 / 21 + 1) / 4, 1])


def test_drawn_lines_are_scaled_to_the_largest_lead(shown):
    """From y = 20 for the largest lead to y = 160 for none."""
    chart = Chart.up_to(N, parse_measures(METRICS))
    relative = chart.relative_recall(ranks_of("ABC"))
    most = np.abs(relative).max()
    assert shown["lines"]["most"] == round(100 * most)
    for line, leads in zip(shown["lines"]["lines"], relative, strict=True):
        drawn = [float(point.split()[1]) for point in line["d"][1:].split("L")]
        assert drawn == pytest.approx(160 - 140 * leads / most, abs=0.501)


def test_lines_that_part_at_the_right_edge_have_no_names():
    """A name at the right edge would leave the chart."""
    late = {name: Ranks([N] * 2, [0, last], [0, 0]) for name, last in (("A", 800), ("B", 999))}
    lens = build_lens(late, parse_measures("recall@10"), SAMPLED, M)
    assert [line["name"] for line in lens["lines"]["lines"]] == ["", ""]


def test_equal_lines_have_no_names():
    (ranks,) = ranks_of("A").values()
    lens = build_lens({"A": ranks, "B": ranks}, parse_measures("ap"), SAMPLED, M)
    assert [line["name"] for line in lens["lines"]["lines"]] == ["", ""]


def test_axis_is_logarithmic(shown):
    assert shown["ticks"] == [("1", 0.0), ("10", 33.3), ("100", 66.7), ("1,000", 100.0)]


def test_cut_off_is_where_the_credit_ends(shown):
    """All credit of recall@10 ends after rank 10, and most of that of ap after rank 1."""
    at = {metric: asked["at"] for metric, asked in shown["asked"].items()}
    assert (at["recall@10"], at["ap"]) == (33.3, 0.0)
    assert shown["asked"]["recall@10"]["up"] == ""  # the rest of the credit, above the cut-off
    assert shown["asked"]["ap"]["up"] != ""


@pytest.mark.parametrize("metric", ["recall@10", "ndcg", "ap", "auc"])
def test_window_sums_to_the_credit_of_rank_1(metric):
    """The falls of a credit from each rank to the next add up to the whole."""
    measure = parse_measure(metric)
    chart = Chart.up_to(1000, [measure])
    widths = np.diff(chart.xs, append=2 * chart.xs[-1] - chart.xs[-2])
    fallen = chart.density(measure.value_at(chart.ks, 1000)) @ widths
    assert fallen == pytest.approx(measure.value_at(1, 1000))


def test_density_of_a_window_by_hand():
    """Half of the credit ends after rank 10, the other half after rank 100."""
    chart = Chart(np.array([1, 10, 100, 1000]), np.array([0.0, 333, 667, 1000]))
    density = chart.density(np.array([1.0, 1.0, 0.5, 0.0]))
    assert density == pytest.approx([0, 0.5 / 334, 0.5 / 333, 0])


# Orders of pairs


CREDIT = {  # of rank r among n
    "recall@10": lambda r, _: (r <= 10) * 1.0,
    "ap": lambda r, _: 1 / r,
    "auc": lambda r, n: (n - r) / (n - 1),
}


@pytest.mark.parametrize("metric", CREDIT)
def test_probability_of_an_order_matches_sums_over_sampled_ranks(shown, metric):
    """A mean of four users is nearly normal; their errors are independent."""
    sampled_ranks = np.arange(1, M + 2)
    credit = CREDIT[metric](sampled_ranks, M + 1)
    exact, mean, sd = {}, {}, {}
    for name in "ABC":
        laws = [
            hypergeom.pmf(sampled_ranks - 1, N - 1, places[:, None] - 1, M).mean(axis=0)
            for places in places_of(name)
        ]
        of_users = np.array([law @ credit for law in laws])
        squares = np.array([law @ credit**2 for law in laws])
        mean[name] = of_users.mean()
        sd[name] = np.sqrt(np.maximum(squares - of_users**2, 0).sum()) / 4
        exact[name] = np.mean([CREDIT[metric](places, N).mean() for places in places_of(name)])
    expected = []
    for a, b in combinations("ABC", 2):
        if abs(exact[b] - exact[a]) > 1e-12:
            lead = (mean[b] - mean[a]) * np.sign(exact[b] - exact[a])
            expected.append(NormalDist().cdf(lead / np.hypot(sd[a], sd[b])))
    view = shown["views"][f"{metric} sampled {M}"]
    assert [chance for *_, chance in view["right"]] == pytest.approx(expected, abs=1e-6)
    assert ["ABC"[place] for place, _ in view["read"]] == sorted("ABC", key=lambda x: -mean[x])
    assert ["ABC"[place] for place, _ in shown["truth"][metric]] == sorted(
        "ABC", key=lambda x: -round(exact[x], 9)
    )
    noisiest = max("ABC", key=sd.get)
    assert view["noise"] == [noisiest, f"{100 * sd[noisiest]:.2f}"]


def test_headline_has_the_rank_of_half_credit(shown):
    """1 / rank is halved at rank 2; the sampled metric is summed over sampled ranks."""
    sampled_ranks = np.arange(1, M + 2)
    law = hypergeom.pmf(sampled_ranks - 1, N - 1, np.arange(N)[:, None], M)
    expected = law @ (1 / sampled_ranks)
    half = 1 + int(np.argmax(expected <= expected[0] / 2))
    *_, measured = shown["views"][f"ap sampled {M}"]["head"]
    assert measured.endswith(f"{half}, not 2")


def test_headline_has_the_rank_of_half_credit_of_ndcg():
    """1 / log2(1 + rank) is 1/2 at rank 3."""
    lens = build_lens({}, parse_measures("ndcg"), SAMPLED, M, candidates=np.array([N]))
    *_, measured = lens["views"][f"ndcg sampled {M}"]["head"]
    assert measured.endswith("not 3")


@pytest.mark.parametrize(
    ("exact", "mean", "sd", "expected"),
    [
        ((0.1, 0.3), (0.2, 0.5), (0.3, 0.4), (1, NormalDist().cdf(0.3 / 0.5))),
        ((0.3, 0.1), (0.2, 0.5), (0.3, 0.4), (-1, NormalDist().cdf(-0.3 / 0.5))),
        ((0.1, 0.3), (0.5, 0.5), (0.3, 0.4), (0, 0.5)),
        ((0.1, 0.3), (0.2, 0.5), (0.0, 0.0), (1, 1.0)),
        ((0.3, 0.1), (0.2, 0.5), (0.0, 0.0), (-1, 0.0)),
        ((0.1, 0.3), (0.3, 0.1 + 0.2), (0.3, 0.4), (0, 0.5)),  # equal up to rounding
    ],
)
def test_order_of_a_pair_by_hand(exact, mean, sd, expected):
    """0.5 is the root of 0.3^2 + 0.4^2."""
    orders = order_pairs(np.array(exact), np.array(mean), np.array(sd))
    assert orders == {(0, 1): pytest.approx(expected)}


def test_order_of_equal_estimates_without_error_has_no_probability():
    equal, none = np.array([0.5, 0.5]), np.zeros(2)
    assert order_pairs(np.array([0.1, 0.3]), equal, none) == {(0, 1): (0, None)}


def test_equal_exact_values_have_no_order():
    equal = np.array([0.3, 0.1 + 0.2])
    assert order_pairs(equal, np.array([0.2, 0.5]), np.array([0.3, 0.4])) == {}


def test_undecided_pairs_have_a_sign_of_their_own(shown):
    undecided = [SimpleNamespace(metric="recall@10", a="C", b="A", order=UNDECIDED)]
    lens = build_lens(ranks_of("ABC"), parse_measures("recall@10"), SAMPLED, M, compared=undecided)
    view, usual = (one["views"][f"recall@10 sampled {M}"] for one in (lens, shown))
    assert [sign for sign, *_ in view["pairs"]].count("~") == 1
    assert view["right"] == usual["right"]
    others = [pair for pair in view["pairs"] if pair[0] != "~"]
    assert all(pair in usual["pairs"] for pair in others)


# Numbers of negatives


@pytest.mark.parametrize(
    ("metric", "m", "words"),
    [
        ("recall@10", 9, "nothing"),  # all 10 items are among the best 10
        ("recall@10", 10, "about Recall@"),
        ("ap", 9, "half at rank"),
        ("auc", 9, "AUC"),
    ],
)
def test_few_negatives_measure_nothing(metric, m, words):
    lens = build_lens(ranks_of("AB"), parse_measures(metric), SAMPLED, m)
    *_, measured = lens["views"][f"{metric} sampled {m}"]["head"]
    assert words in measured


def test_sizes_are_round_for_many_candidates():
    lens = build_lens(
        {}, parse_measures("recall@10"), SAMPLED, 30, extra_sizes=[], candidates=np.array([10**5])
    )
    assert lens["sizes"] == [1, 2, 5, 10, 20, 30, 50, 100, 200, 500, 1000, 2000]


def test_lens_sizes_are_round_extra_and_largest():
    assert lens_sizes(30, []) == [1, 2, 5, 10, 20, 30]
    assert lens_sizes(101, [0, 17, 101, 102]) == [1, 2, 5, 10, 17, 20, 50, 100, 101]
    assert lens_sizes(1, [20]) == [1]
