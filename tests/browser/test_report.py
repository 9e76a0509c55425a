"""The explorer in a real browser against the library, and what a reader relies on."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtr

from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.report.page.collect import collect
from sampled_metrics.report.page.own import own_full, own_sampled
from sampled_metrics.report.page.render import render
from sampled_metrics.sampling import draw_sampled_ranks, sampled_rank_distribution
from sampled_metrics.sampling.probability import pmf
from sampled_metrics.study.toy import toy_ranks
from tests.browser.conftest import CUT, Opened
from tests.conftest import ROOT
from tests.unit.test_page import REFERENCE, hostile_sources

CLOSE = 1e-3
NAMES = {"ap-all": "ap", "ndcg-all": "ndcg", "auc": "auc"}


def vectors_of(pair, measure, estimator, m):
    return estimator_matrix([estimator], [measure], pair.n_items, m, sampling=pair.sampling)


def measure_of(metric, k):
    return parse_measure(NAMES.get(metric, f"{metric}@{k}"))


def named(estimator):
    kind, _, gamma = estimator.partition(":")
    return kind, float(gamma or 0)


def estimator_of(name):
    kind, _, gamma = name.partition(":")
    return {"estimator": kind} | ({"gamma": gamma} if gamma else {})


# Metrics by estimators, while k, n and m go round on cycles of other lengths.
METRICS = ("recall", "ndcg", "ap", "precision", "ap-all", "ndcg-all", "auc")
ESTIMATORS = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001", "bv:0.02")
SIZES = ((3541, 100), (10_000, 99), (500, 20), (60, 59), (1_000_000, 150), (20_000, 200))
SETTINGS = [
    (metric, estimator, k, *size)
    for (metric, estimator), k, size in zip(
        itertools.product(METRICS, ESTIMATORS),
        itertools.cycle((10, 1, 5, 20, 50)),
        itertools.cycle(SIZES),
        strict=False,
    )
]
LARGE = [
    ("recall", "bv:0.0001", 10, 1_000_000, 1000),
    ("ap-all", "bv:0.0001", 10, 1_000_000, 150),
    ("ndcg-all", "bv:0.01", 10, 3541, 1000),
]


SOLVE = """(settings) => settings.map(([kind, k, name, gamma, n, m, ranks]) => {
  const measure = SM.measure(kind, k), vector = SM.vector({ name, gamma }, measure, n, m);
  const exact = ranks.map((rank) => measure.at(rank, n));
  return { vector: [...vector], expected: SM.expectedAt(ranks, n, vector), exact };
})"""


def test_vectors_and_expectations_are_those_of_the_library(opened):
    settings = [*SETTINGS, *LARGE]
    ranks = [np.unique(np.geomspace(1, n, 40).round().astype(int)) for *_, n, _ in settings]
    asked = [
        (metric, k, *named(estimator), n, m, at.tolist())
        for (metric, estimator, k, n, m), at in zip(settings, ranks, strict=True)
    ]
    answers = opened.page.evaluate(SOLVE, asked)
    assert len(answers) >= 50
    for setting, at, answer in zip(settings, ranks, answers, strict=True):
        metric, estimator, k, n, m = setting
        measure = measure_of(metric, k)
        vector = estimator_matrix(
            [parse_estimator(estimator)], [measure], n, m, sampling="without-replacement"
        )[0, 0]
        where = f"{metric}, {estimator}, k = {k}, n = {n}, m = {m}"
        np.testing.assert_allclose(answer["vector"], vector, atol=CLOSE, err_msg=where)
        expected = pmf(at, n, m, "without-replacement") @ vector
        np.testing.assert_allclose(answer["expected"], expected, atol=CLOSE, err_msg=where)
        np.testing.assert_allclose(answer["exact"], measure.at(at, n), atol=1e-12, err_msg=where)


@pytest.mark.parametrize("setting", SETTINGS[1::9], ids=str)
def test_panels_show_what_the_controls_say(opened, setting):
    metric, estimator, k, n, m = setting
    opened.set(group=0)
    opened.set(metric=metric, k=k, **estimator_of(estimator), n=n, m=m)
    state = opened.state()
    name, gamma = named(estimator)
    (answer,) = opened.page.evaluate(SOLVE, [(metric, k, name, gamma, n, m, state["ranks"])])
    assert (state["ranks"][0], state["ranks"][-1]) == (1, n)
    assert [state["vector"], state["expected"], state["exact"]] == [
        answer[each] for each in ("vector", "expected", "exact")
    ]


@pytest.fixture(scope="module")
def populations():
    paths = {name: ROOT / f"results/reference/ranks/{name}.parquet" for name in "XYZ"}
    return {name: Population.of_users(Ranks.read(path)) for name, path in paths.items()}


CURVES = [
    ("recall", "sampled", 10),
    ("recall", "bv:0.1", 10),
    ("ndcg-all", "bv:0.01", 10),
    ("ap-all", "rank-estimate", 10),
    ("recall", "cls", 20),
]


@pytest.mark.parametrize(("metric", "estimator", "k"), CURVES)
def test_curves_and_their_changes_of_order(opened, populations, metric, estimator, k):
    opened.set(metric=metric, k=k, **estimator_of(estimator), n=3541, m=50, group=0)
    state, measure = opened.state(), measure_of(metric, k)
    names = list(populations)
    pair = Pair(populations["X"], populations["Y"], 6040)
    for m in (state["sizes"][3], state["sizes"][-6]):
        vector = vectors_of(pair, measure, parse_estimator(estimator), m)[0, 0]
        place = state["sizes"].index(m)
        for curve, population in zip(state["values"], populations.values(), strict=True):
            share = population.share @ sampled_rank_distribution(population.ranks, m)
            assert curve[place] == pytest.approx(share @ vector, abs=CLOSE)
    exact = [population.exact([measure])[0] for population in populations.values()]
    np.testing.assert_allclose(state["exactMeans"], exact, atol=1e-9)
    flips = [
        {names[i], names[j]}
        for i, j in itertools.combinations(range(3), 2)
        for before, after in itertools.pairwise(np.subtract(state["values"][i], state["values"][j]))
        if min(abs(before), abs(after)) > 1e-12 and before * after < 0
    ]
    marked = [{change["a"], change["b"]} for change in state["changes"]]
    assert sorted(map(sorted, marked)) == sorted(map(sorted, flips))


def test_order_of_x_and_y_changes_where_figure_6_says(opened):
    opened.set(metric="recall", k=10, estimator="bv", gamma=0.1, group=0)
    (change,) = [c for c in opened.state()["changes"] if (c["a"], c["b"]) == ("X", "Y")]
    assert 50 < change["size"] < 56
    assert f"X and Y at m ≈ {change['size']:.0f}" in opened.page.inner_text("#reading-c")


def test_curves_of_the_toy_recommenders(opened):
    opened.set(metric="ap-all", estimator="sampled", n=10_000, m=99, group=1)
    state = opened.state()
    place = len(state["sizes"]) // 2
    m = state["sizes"][place]
    vector = parse_measure("ap").at(np.arange(1, m + 2), m + 1)
    for curve, name in zip(state["values"], "ABC", strict=True):
        share = sampled_rank_distribution(toy_ranks(name), m).mean(axis=0)
        assert curve[place] == pytest.approx(share @ vector, abs=1e-9)
    opened.set(group=0)


PROBABILITIES = [
    ("recall", "bv:0.1", 10, 100, "XY"),
    ("recall", "bv:0.1", 10, 30, "XZ"),
    ("recall", "sampled", 10, 100, "YZ"),
    ("ndcg-all", "bv:0.01", 10, 60, "XY"),
    ("ap-all", "cls", 10, 40, "XY"),
    ("ap-all", "rank-estimate", 10, 100, "XZ"),
    ("ndcg", "bv:0.001", 5, 200, "XY"),
    ("auc", "sampled", 10, 1, "YZ"),
]


@pytest.mark.parametrize(("metric", "estimator", "k", "m", "names"), PROBABILITIES)
def test_probability_of_the_right_order(opened, populations, metric, estimator, k, m, names):
    chosen = ",".join(str("XYZ".index(name)) for name in names)
    opened.set(metric=metric, k=k, **estimator_of(estimator), m=m, group=0, pair=chosen)
    state, measure = opened.state(), measure_of(metric, k)
    pair = Pair(*(populations[name] for name in names), n_users=6040)
    vectors = vectors_of(pair, measure, parse_estimator(estimator), m)
    mean, sd = (float(each[0, 0]) for each in pair.difference(vectors))
    exact_a, exact_b = (populations[name].exact([measure])[0] for name in names)
    probability = ndtr(np.sign(exact_b - exact_a) * mean / sd)
    assert state["ordering"]["difference"] == pytest.approx(mean, abs=1e-6)
    assert state["ordering"]["sd"] == pytest.approx(sd, rel=1e-3)
    assert state["ordering"]["probability"] == pytest.approx(probability, abs=CLOSE)
    # The chosen m is one of the sizes of the curve, so that its dot is on the line.
    assert state["probabilities"][state["sizes"].index(m)] == state["ordering"]["probability"]
    words = opened.page.inner_text("#reading-d")
    better = names[int(exact_b > exact_a)]
    if 0.0005 < probability < 0.9995:
        assert f"gets this right: {100 * probability:.1f}\u00a0%" in words
    assert f"{better} is." in words or f"{better} looks better than" in words


def test_curve_of_the_probability_agrees_with_all_users(opened, populations):
    opened.set(metric="ndcg-all", estimator="bv", gamma=0.1, group=0, pair="0,1")
    state, pair = opened.state(), Pair(populations["X"], populations["Y"], 6040)
    measure, estimator = parse_measure("ndcg"), parse_estimator("bv:0.1")
    exact = [populations[name].exact([measure])[0] for name in "XY"]
    for m, found in list(zip(state["sizes"], state["probabilities"], strict=True))[5::4]:
        mean, sd = pair.difference(vectors_of(pair, measure, estimator, m))
        right = np.sign(exact[1] - exact[0]) * mean[0, 0] / sd[0, 0]
        assert found == pytest.approx(ndtr(right), abs=2e-3)


def test_what_is_not_computed_is_refused_with_a_reason(opened):
    opened.set(metric="recall", k=10, estimator="cls", n=3541, m=201)
    assert "CLS is solved here for m up to 200" in opened.page.inner_text("#reason")
    assert opened.state()["vector"] is None
    opened.set(estimator="bv", n=50, m=100)
    assert "needs more than 100 candidates" in opened.page.inner_text("#reason")
    assert opened.page.inner_text("#reading-a").startswith("Not computed")
    opened.set(n=3541)
    assert opened.page.inner_text("#reason") == ""


@pytest.mark.parametrize(
    ("name", "wrong", "right", "words"),
    [
        ("gamma", 7, 0.1, "γ must be a number from 0.0001 to 1; the charts show 0.1."),
        ("gamma", 0, 0.1, "γ must be a number from 0.0001 to 1; the charts show 0.1."),
        ("m", 0, 100, "m must be a whole number from 1 to"),
        ("k", 2.5, 10, "k must be a whole number from 1 to 1,000; the charts show 10."),
    ],
)
def test_an_invalid_number_is_refused_in_words(opened, name, wrong, right, words):
    opened.set(metric="recall", estimator="bv", n=3541, m=100, gamma=0.1, k=10)
    opened.set(**{name: wrong})
    assert opened.page.get_attribute(f"#{name}", "aria-invalid") == "true"
    assert words in opened.page.inner_text("#reason")
    assert opened.page.evaluate(f"SM.positions.{name}") == right
    assert opened.page.evaluate("document.getElementById('m-range').ariaValueText")[:3] == "100"
    opened.set(**{name: right})
    assert opened.page.inner_text("#reason") == ""


# ---- what a reader relies on


def test_cells_tell_what_stands_behind_them(opened):
    page = opened.page
    cell = page.locator('td.explained button[data-run*="±"]').first
    cell.hover()
    for words in ("this run", "tolerance", "initialisation of X"):
        assert words in page.inner_text("#detail")
    page.locator("table.cells button[tabindex='0']").first.focus()
    before = page.inner_text("#detail")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#detail") != before
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden()


def test_every_control_has_a_name_and_is_reached_by_tab(opened):
    page = opened.page
    opened.set(metric="recall", estimator="bv")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button")].filter((each) =>
        !(each.labels?.length || each.ariaLabel || each.textContent.trim())).map((e) => e.id)"""
    )
    assert nameless == []
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.locator(".skip").focus()
    controls = page.evaluate(
        '[...document.querySelectorAll("input, select")].map((each) => each.id)'
    )
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
        if set(controls) <= reached:
            break
    assert set(controls) <= reached


def test_each_press_of_an_arrow_changes_m_and_tells_it(opened):
    opened.set(metric="recall", estimator="bv", gamma=0.1, group=0, m=1)
    slider = opened.page.locator("#m-range")
    slider.focus()
    for m in (2, 3, 4):
        opened.page.keyboard.press("ArrowRight")
        opened.settle()
        assert opened.page.input_value("#m") == str(m)
        assert opened.page.evaluate("SM.positions.m") == m
        assert slider.get_attribute("aria-valuetext") == f"{m} random items"
    opened.set(m=137)  # between two steps of the slider
    assert slider.get_attribute("aria-valuetext") == "137 random items"


def test_markup_in_names_is_text_and_one_recommender_makes_no_pair(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(collect(**hostile_sources(tmp_path))), encoding="utf-8")
    context = browser.new_context()
    found = Opened(context, path)
    assert found.page.inner_text("#reading-d") == "One recommender makes no pair."
    assert found.page.locator("#pair").is_disabled()
    assert "<script>" in found.page.locator("#hero-chart").text_content()
    found.set(group=1)
    assert "With m = 100" in found.page.inner_text("#reading-d")
    assert found.page.locator("main img").count() == 0
    assert found.complaints == []
    context.close()


def test_many_recommenders_with_long_names(browser, tmp_path):
    x, y = (
        Ranks.read(path).take(slice(None, None, 4))
        for path in (REFERENCE / f"ranks/{name}.parquet" for name in "XY")
    )
    mixed = {}
    for part in range(8):
        of_x = np.arange(len(x)) % 7 < part
        mixed[f"Mixture of X and Y, {part} of 7 parts"] = Ranks.concat(
            [x.take(of_x), y.take(~of_x)]
        )
    path = tmp_path / "report.html"
    path.write_text(render(own_full(mixed, ["recall@10"]), "own.html"), encoding="utf-8")
    found = Opened(browser.new_context(), path)
    changes = len(found.state()["changes"])
    assert changes > 6
    words = found.page.inner_text("#reading-c")
    assert words.count(" at m ≈ ") == 3
    assert words.endswith(f"; {changes - 3} more.")
    drawn = """[...document.querySelectorAll("#panel-c path[fill=none][stroke-linejoin]")].map(
        (curve) => curve.getAttribute("stroke") + curve.getAttribute("stroke-dasharray"))"""
    looks = found.page.evaluate(drawn)
    assert len(looks) == len(set(looks)) == len(mixed)
    for width in (1280, 390, 320):
        found.show(width, 800)
        assert found.page.evaluate("document.documentElement.scrollWidth") <= width
        assert found.page.evaluate(CUT) == []
    assert found.complaints == []
    found.page.context.close()


def test_page_of_ones_own_sampled_ranks(browser, tmp_path):
    samples = {}
    for name in "XYZ":
        ranks = Ranks.read(REFERENCE / f"ranks/{name}.parquet").take(slice(None, None, 8))
        drawn = draw_sampled_ranks(ranks, 100, np.random.default_rng(0))
        samples[name] = SampledRanks(drawn, ranks.n_candidates, 100)
    content = own_sampled(samples, ["recall@10"], ["sampled", "bv:0.1"])
    path = tmp_path / "report.html"
    path.write_text(render(content, "own.html"), encoding="utf-8")
    found = Opened(browser.new_context(viewport={"width": 320, "height": 640}), path)
    assert found.page.locator("#panel-f .range").count() == 3
    found.set(estimator="bv", gamma=0.1)
    values = {row[0]: row[3] for row in content["tables"][0]["lines"][:3]}
    estimates = found.page.evaluate("SM.state.got")
    assert [f"{100 * value:.2f} %" for value in estimates] == list(values.values())
    found.set(metric="ndcg")
    assert found.page.locator("#panel-f").is_hidden()
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert found.page.evaluate(CUT) == []
    assert found.complaints == []
    found.page.context.close()


def test_nothing_was_asked_of_the_network_and_nothing_went_wrong(opened, report):
    # The last test of the module: after everything that the others did.
    assert opened.complaints == []
    assert set(opened.requests) <= {report.as_uri()} | {
        url for url in opened.requests if url.startswith(("data:", "blob:"))
    }
