"""The lens, computed again rank by rank from made-up users."""

import re
from itertools import combinations
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import hypergeom

from sampled_metrics.estimators import parse_estimators
from sampled_metrics.evaluation.results import UNDECIDED
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages.lens import (
    DOWN,
    MIDDLE,
    NAME_DISTANCE,
    UP,
    WIDTH,
    Chart,
    build_lens,
    lens_sizes,
    order_pairs,
)
from sampled_metrics.ranks import Ranks

N, M = 1000, 20


METRICS = ["recall@10", "ndcg@10", "ap", "auc"]


BETTER = {"A": [0, 4, 30, 700], "B": [2, 2, 60, 60], "C": [9, 9, 9, 990]}


TIED = {"A": [0, 3, 0, 0], "B": [1, 0, 20, 0], "C": [0, 4, 0, 0]}


def shown_of(names):
    records = {x: Ranks([N] * 4, BETTER[x], TIED[x]) for x in names}
    return build_lens(
        records, [parse_measure(x) for x in METRICS], parse_estimators(["sampled"]), M
    )


@pytest.fixture(scope="module")
def shown():
    return shown_of("ABC")


def test_undecided_pairs_are_in_order_of_names():
    compared = [
        SimpleNamespace(metric="recall@10", a=a, b=b, order=UNDECIDED)
        for a, b in ("CB", "CA", "BA")
    ]
    records = {x: Ranks([N] * 4, BETTER[x], TIED[x]) for x in "ABC"}
    measures = [parse_measure(x) for x in METRICS]
    results = build_lens(records, measures, parse_estimators(["sampled"]), M, compared=compared)
    assert results["undecided"] == [["A", "B"], ["A", "C"], ["B", "C"]]


def places_of(name):
    """Yield, for each user, the ranks of the held-out item in all orders of ties."""
    for better, tied in zip(BETTER[name], TIED[name], strict=True):
        yield np.arange(better + 1, better + tied + 2)


def recall(name, k):
    return np.mean([np.mean(places <= k) for places in places_of(name)])


def points(path):
    return np.array([point.split() for point in path[1:].split("L")], float)


def heights(values, most):
    return MIDDLE - (MIDDLE - 20) * np.asarray(values) / most


def test_lines_are_leads_over_mean(shown):
    ks = Chart.up_to(N, [parse_measure(x) for x in METRICS]).ks
    assert {1, 10, N} <= set(ks)
    table = np.array([[recall(name, k) for k in ks] for name in "ABC"])
    leads = table / np.maximum(table.mean(axis=0), 1e-12) - 1
    most = np.abs(leads).max()
    assert shown["lines"]["most"] == round(100 * most)
    all_ys = heights(leads, most)
    for row, (name, line) in enumerate(zip("ABC", shown["lines"]["lines"], strict=True)):
        xs, ys = points(line["d"]).T
        assert np.abs(xs - WIDTH * np.log(ks) / np.log(N)).max() <= 0.5
        assert np.abs(ys - all_ys[row]).max() <= 0.501
        # The name is where the line is furthest from the others.
        room = np.abs(np.delete(all_ys, row, axis=0) - all_ys[row]).min(axis=0)
        room = np.where(xs < 0.95 * WIDTH, room, 0)
        place = int(np.argmax(room))
        assert room[place] > NAME_DISTANCE
        assert line["name"] == name
        assert line["x"] == pytest.approx(xs[place] / WIDTH * 100, abs=0.11)
        assert line["y"] == pytest.approx(all_ys[row, place] / 4, abs=0.51)
        assert line["above"] == (all_ys[row, place] <= MIDDLE)


def test_lines_that_part_at_right_edge_have_no_names():
    """A name at the right edge would leave the chart."""
    records = {x: Ranks([N] * 2, [0, last], [0, 0]) for x, last in (("A", 800), ("B", 999))}
    shown = build_lens(records, [parse_measure("recall@10")], parse_estimators(["sampled"]), M)
    lines = shown["lines"]["lines"]
    furthest = np.abs(points(lines[0]["d"]) - points(lines[1]["d"]))[:, 1].argmax()
    assert points(lines[0]["d"])[furthest, 0] > 0.95 * WIDTH
    assert [line["name"] for line in lines] == ["", ""]


def test_single_line_is_recall():
    (line,) = shown_of("B")["lines"]["lines"]
    xs, ys = points(line["d"]).T
    ks = Chart.up_to(N, [parse_measure("recall@10")]).ks
    expected = heights([recall("B", k) for k in ks], 1)
    assert np.abs(ys - expected).max() <= 0.501
    assert (line["name"], xs[-1]) == ("B", WIDTH)


def test_equal_lines_have_no_names():
    ranks = Ranks([N] * 4, BETTER["A"], TIED["A"])
    twice = build_lens(
        {"A": ranks, "B": ranks},
        [parse_measure("ap")],
        parse_estimators(["sampled"]),
        M,
    )
    assert [line["name"] for line in twice["lines"]["lines"]] == ["", ""]


def test_axis_is_logarithmic(shown):
    assert shown["ticks"] == [
        ("1", 0.0),
        ("10", 33.3),
        ("100", 66.7),
        ("1,000", 100.0),
    ]
    # All credit of recall@10 ends after rank 10, and most of that of ap after rank 1.
    assert (shown["asked"]["recall@10"]["up"], shown["asked"]["recall@10"]["at"]) == (
        "",
        33.3,
    )
    assert shown["asked"]["ap"]["at"] == 0.0
    assert shown["asked"]["ap"]["up"]


def test_probabilities_match_enumeration(shown):
    """Compared with sums over all sampled ranks and all orders of ties."""
    value = {
        "recall@10": lambda r: r <= 10,
        "ap": lambda r: 1 / r,
        "auc": lambda r: (M + 1 - r) / M,
    }
    sampled = np.arange(1, M + 2)
    for metric, credit in value.items():
        view, mean, sd, exact = shown["views"][f"{metric} sampled {M}"], {}, {}, {}
        of_rank = {
            "recall@10": lambda r: r <= 10,
            "ap": lambda r: 1 / r,
            "auc": lambda r: (N - r) / (N - 1),
        }
        for name in "ABC":
            chances = [
                hypergeom.pmf(sampled - 1, N - 1, places[:, None] - 1, M).mean(axis=0)
                for places in places_of(name)
            ]
            means = np.array([p @ credit(sampled) for p in chances])
            squares = np.array([p @ np.square(credit(sampled), dtype=float) for p in chances])
            mean[name] = means.mean()
            sd[name] = np.sqrt(np.maximum(squares - means**2, 0).sum()) / 4
            exact[name] = np.mean([of_rank[metric](places).mean() for places in places_of(name)])
        noisiest = max("ABC", key=sd.get)
        assert view["noise"] == [noisiest, f"{100 * sd[noisiest]:.2f}"]
        standing = sorted(range(3), key=lambda i: -mean["ABC"[i]])
        assert [place for place, _ in view["read"]] == standing
        assert [place for place, _ in shown["truth"][metric]] == sorted(
            range(3), key=lambda i: -round(exact["ABC"[i]], 9)
        )
        expected = []
        for a, b in combinations(range(3), 2):
            x, y = "ABC"[a], "ABC"[b]
            if abs(exact[x] - exact[y]) < 1e-12:
                continue
            lead = (mean[x] - mean[y]) * np.sign(exact[x] - exact[y])
            expected.append((a, b, NormalDist().cdf(lead / np.hypot(sd[x], sd[y]))))
        assert np.allclose(view["right"], expected, atol=1e-6)
        texts = [re.findall(r"Right in (\d+|less)", text)[0] for _, text, _ in view["pairs"]]
        assert texts == [
            f"{100 * chance:.0f}" if chance > 0.005 else "less" for *_, chance in expected
        ]
        assert [marks for *_, marks in view["pairs"]] == [round(20 * c) for *_, c in expected]
        for (sign, text, _), (a, b, chance) in zip(view["pairs"], expected, strict=True):
            x, y = "ABC"[a], "ABC"[b]
            if exact[x] < exact[y]:
                x, y = y, x
            assert sign == (1 if chance > 0.5 else -1)
            first, second = (x, y) if sign > 0 else (y, x)
            assert text.startswith(
                (f"{first} looks better than {second}", f"{first} looks better,")
            )


def test_headline_names_rank_of_half_credit(shown):
    """1 / rank is halved at rank 2; the sampled metric is summed over sampled ranks."""
    sampled = np.arange(1, M + 2)
    expected = hypergeom.pmf(sampled - 1, N - 1, np.arange(N)[:, None], M) @ (1 / sampled)
    half = int(np.argmax(expected <= expected[0] / 2)) + 1
    label, against, measured = shown["views"][f"ap sampled {M}"]["head"]
    assert (label, against) == (parse_measure("ap").label, f"{M} random items")
    numbers = [int(x.replace(",", "")) for x in re.findall(r"\d[\d,]*", measured)]
    assert numbers == [half, 2]
    # 1 / log2(1 + rank) is 1/2 at rank 3
    messages = [parse_measure("ndcg")], parse_estimators(["sampled"])
    windows = build_lens({}, *messages, M, extra_sizes=None, candidates=np.array([N]))
    *_, measured = windows["views"][f"ndcg sampled {M}"]["head"]
    assert measured.endswith("not 3")


@pytest.mark.parametrize(
    ("credit", "sign"),
    [
        (lambda ks: 1 / ks, 1),
        (lambda ks: -1 / ks, -1),
        (lambda ks: np.ones(ks.size), 1),  # all credit ends after the last rank
    ],
)
def test_window_fills_its_side_of_axis(credit, sign):
    chart = Chart.up_to(1000, [])
    window = chart.window(credit(chart.ks))
    filled, empty = ("up", "down") if sign > 0 else ("down", "up")
    assert window[empty] == ""
    steps = np.array(re.findall(r"h(\d+)v(-?\d+)", window[filled]), int)
    across, down = steps.cumsum(axis=0).T
    assert across[-1] <= WIDTH
    if sign > 0:
        assert (down.min(), down.max() <= 0) == (-UP, True)
    else:
        assert (down.min() >= 0, down.max()) == (True, DOWN)


def test_window_area_is_credit():
    # Half of the credit ends after rank 10, the other half after rank 100.
    chart = Chart.up_to(1000, [parse_measure("recall@10"), parse_measure("recall@100")])
    window = chart.window((chart.ks <= 10) / 2 + (chart.ks <= 100) / 2)
    steps = np.array(re.findall(r"h(\d+)v(-?\d+)", window["up"]), int)
    at, below_axis = steps.cumsum(axis=0).T
    heights_of = -below_axis
    assert (at[0], at[2]) == (333, 667)
    places = WIDTH * np.log(chart.ks) / np.log(1000)
    widths = np.diff(places)[np.isin(chart.ks[:-1], [10, 100])]
    assert np.abs([heights_of[0], heights_of[2]] - UP * widths.min() / widths).max() <= 0.5
    assert window["down"] == ""


def test_sizes_are_round_for_many_candidates():
    messages = [parse_measure("recall@10")], parse_estimators(["sampled"])
    sizes = build_lens({}, *messages, 30, extra_sizes=[], candidates=np.array([100_000]))["sizes"]
    assert [m for m in sizes if str(m).rstrip("0") not in ("1", "2", "5")] == [30]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("exact", "mean", "sd", "expected"),
    [
        ((0.1, 0.3), (0.2, 0.5), (0.3, 0.4), (1, NormalDist().cdf(0.3 / 0.5))),
        ((0.3, 0.1), (0.2, 0.5), (0.3, 0.4), (-1, NormalDist().cdf(-0.3 / 0.5))),
        ((0.1, 0.3), (0.5, 0.5), (0.3, 0.4), (0, 0.5)),
        ((0.1, 0.3), (0.2, 0.5), (0.0, 0.0), (1, 1.0)),
        ((0.3, 0.1), (0.2, 0.5), (0.0, 0.0), (-1, 0.0)),
        ((0.1, 0.3), (0.5, 0.5), (0.0, 0.0), (0, None)),
        ((0.3, 0.1 + 0.2), (0.2, 0.5), (0.3, 0.4), None),
        ((0.1, 0.3), (0.3, 0.1 + 0.2), (0.3, 0.4), (0, 0.5)),
    ],
)
def test_order_pairs_by_hand(exact, mean, sd, expected):
    orders = order_pairs(*map(np.array, (exact, mean, sd)))
    if expected is None:
        assert orders == {}
        return
    ((sign, chance),) = orders.values()
    assert sign == expected[0]
    assert chance == (expected[1] if expected[1] is None else pytest.approx(expected[1]))


@pytest.mark.parametrize(
    ("metric", "m", "words"),
    [
        ("recall@10", 9, "nothing: all 10 are among the best 10"),
        ("recall@10", 10, "about Recall@"),
        ("recall@10", 20, "about Recall@"),
        ("ap", 9, "a metric that counts half at rank"),
        ("auc", 9, "AUC"),
    ],
)
def test_few_negatives_measure_nothing(metric, m, words):
    records = {x: Ranks([N] * 4, BETTER[x], TIED[x]) for x in "AB"}
    view = build_lens(records, [parse_measure(metric)], parse_estimators(["sampled"]), m)["views"]
    assert words in str(view[f"{metric} sampled {m}"])


def test_undecided_pairs_have_own_sign(shown):
    records = {x: Ranks([N] * 4, BETTER[x], TIED[x]) for x in "ABC"}
    messages = [parse_measure("recall@10")], parse_estimators(["sampled"])
    undecided = [SimpleNamespace(metric="recall@10", a="C", b="A", order="undecided")]
    view = build_lens(records, *messages, M, compared=undecided)["views"][f"recall@10 sampled {M}"]
    usual = shown["views"][f"recall@10 sampled {M}"]
    signs = [sign for sign, *_ in view["pairs"]]
    assert signs.count("~") == 1
    place = signs.index("~")
    assert "undecided" in view["pairs"][place][1]
    assert view["pairs"][place][2] is None
    assert view["right"] == usual["right"]
    others = [pair for i, pair in enumerate(view["pairs"]) if i != place]
    assert [pair for pair in usual["pairs"] if pair in others] == others
    right = sum(sign == 1 for sign, *_ in others)
    assert [int(x) for x in re.findall(r"\d+", view["verdict"])] == [
        right,
        len(others),
        1,
    ]


def test_lens_sizes_are_round_extra_and_largest():
    assert lens_sizes(30, []) == [1, 2, 5, 10, 20, 30]
    assert lens_sizes(101, [0, 17, 101, 102]) == [1, 2, 5, 10, 17, 20, 50, 100, 101]
    assert lens_sizes(1, [20]) == [1]
