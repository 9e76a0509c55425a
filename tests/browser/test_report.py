"""The page in a real browser: numbers against the library, and what a reader relies on."""

import csv
import io
import itertools
import re

import numpy as np
import pytest
from scipy.special import ndtr

from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.plan import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages import render
from sampled_metrics.pages.own import own_sampled
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks, sampled_rank_distribution
from sampled_metrics.sampling.probability import pmf
from tests.browser.conftest import CUT, Opened
from tests.unit.test_page import REFERENCE

CLOSE, NBSP = 1e-3, "\u00a0"
NAMES = {"ap-all": "ap", "ndcg-all": "ndcg", "auc": "auc"}
ON_SCREEN = ["color-contrast", "scrollable-region-focusable", "target-size"]  # rules of a screen


def rows_of(page, panel):
    return list(csv.reader(io.StringIO(page.evaluate(f"SM.csv('{panel}')"))))[1:]


def measure_of(metric, k):
    return parse_measure(NAMES.get(metric, f"{metric}@{k}"))


def vector_of(estimator, measure, n, m):
    options = {"sampling": "without-replacement"}
    return estimator_matrix([parse_estimator(estimator)], [measure], n, m, **options)[0, 0]


def named(estimator):
    kind, _, gamma = estimator.partition(":")
    return kind, float(gamma or 0)


# Metrics by estimators, while k, n and m go round on cycles of other lengths.
METRICS = ("recall", "ndcg", "ap", "precision", "ap-all", "ndcg-all", "auc")
ESTIMATORS = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001", "bv:0.02")
SIZES = ((3541, 100), (10_000, 99), (500, 20), (60, 59), (1_000_000, 150), (20_000, 200))
PAIRS = itertools.product(METRICS, ESTIMATORS)
CYCLES = zip(PAIRS, itertools.cycle((10, 1, 5, 20, 50)), itertools.cycle(SIZES), strict=False)
SETTINGS = [(*pair, k, *size) for pair, k, size in CYCLES]
SETTINGS += [("recall", "bv:0.0001", 10, 1_000_000, 1000), ("ndcg-all", "bv:0.01", 10, 3541, 1000)]
SOLVE = """(settings) => settings.map(([kind, k, name, gamma, n, m, ranks]) => {
  const measure = SM.measure(kind, k), vector = SM.vector({ name, gamma }, measure, n, m);
  const exact = ranks.map((rank) => measure.at(rank, n));
  return { vector: [...vector], expected: SM.expectedAt(ranks, n, vector), exact };
})"""


def test_vectors_and_expectations_are_those_of_the_library(opened):
    ranks = [np.unique(np.geomspace(1, n, 40).round().astype(int)) for *_, n, _ in SETTINGS]
    asked = [
        (metric, k, *named(estimator), n, m, at.tolist())
        for (metric, estimator, k, n, m), at in zip(SETTINGS, ranks, strict=True)
    ]
    answers = opened.page.evaluate(SOLVE, asked)
    for setting, at, answer in zip(SETTINGS, ranks, answers, strict=True):
        metric, estimator, k, n, m = setting
        measure = measure_of(metric, k)
        vector = vector_of(estimator, measure, n, m)
        np.testing.assert_allclose(answer["vector"], vector, atol=CLOSE, err_msg=str(setting))
        expected = pmf(at, n, m, "without-replacement") @ vector
        np.testing.assert_allclose(answer["expected"], expected, atol=CLOSE, err_msg=str(setting))
        np.testing.assert_allclose(answer["exact"], measure.at(at, n), atol=1e-12)


@pytest.fixture(scope="module")
def populations():
    paths = {name: REFERENCE / f"ranks/{name}.parquet" for name in "XYZ"}
    return {name: Population.of_users(Ranks.read(path)) for name, path in paths.items()}


@pytest.mark.parametrize(
    ("metric", "estimator", "k", "m", "names"),
    [
        ("recall", "bv:0.1", 10, 100, "XY"),
        ("recall", "sampled", 10, 100, "YZ"),
        ("ap-all", "cls", 10, 40, "XY"),
        ("ndcg", "bv:0.001", 5, 200, "XY"),
    ],
)
def test_curves_and_probability_of_the_right_order(
    fresh, populations, metric, estimator, k, m, names
):
    chosen, (kind, gamma) = ",".join(str("XYZ".index(name)) for name in names), named(estimator)
    fresh.set(metric=metric, k=k, estimator=kind, gamma=gamma or 0.1, m=m, pair=chosen)
    state, measure, users = fresh.state(), measure_of(metric, k), populations.values()
    for place in (3, -6):
        size = state["sizes"][place]
        for curve, population in zip(state["values"], users, strict=True):
            share = population.share @ sampled_rank_distribution(population.ranks, size)
            expected = share @ vector_of(estimator, measure, 3541, size)
            assert curve[place] == pytest.approx(expected, abs=CLOSE)
    exact = [population.exact([measure])[0] for population in users]
    np.testing.assert_allclose(state["exactMeans"], exact, atol=1e-9)
    flips = [
        sorted(("XYZ"[i], "XYZ"[j]))
        for i, j in itertools.combinations(range(3), 2)
        for before, after in itertools.pairwise(np.subtract(state["values"][i], state["values"][j]))
        if min(abs(before), abs(after)) > 1e-12 and before * after < 0
    ]
    assert sorted(sorted((c["a"], c["b"])) for c in state["changes"]) == sorted(flips)
    if estimator == "bv:0.1":  # of X and Y, as Figure 6 says
        (change,) = [c for c in state["changes"] if (c["a"], c["b"]) == ("X", "Y")]
        assert 50 < change["size"] < 56
        assert f"X and Y at m ≈ {change['size']:.0f}" in fresh.page.inner_text("#reading-c")
    pair = Pair(*(populations[name] for name in names), n_users=6040)
    vector = vector_of(estimator, measure, pair.n_items, m)
    mean, sd, _ = pair.difference(pair.a.moments(vector), pair.b.moments(vector))
    exact_a, exact_b = (exact["XYZ".index(name)] for name in names)
    probability = ndtr(np.sign(exact_b - exact_a) * mean / sd)
    assert state["ordering"]["difference"] == pytest.approx(mean, abs=1e-6)
    assert state["ordering"]["sd"] == pytest.approx(sd, rel=1e-3)
    assert state["ordering"]["probability"] == pytest.approx(probability, abs=CLOSE)
    better = names[int(exact_b > exact_a)]
    words = fresh.page.inner_text("#reading-d")
    assert f"{better} is." in words or f"{better} looks better than" in words


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
    values = [row[5] for row in content["tables"][0]["lines"] if row[4] == "bv:0.1"]
    estimates = found.page.evaluate("SM.state.got")
    assert [f"{value:.4f}" for value in estimates] == values
    found.set(metric="ndcg")
    assert found.page.locator("#panel-f").is_hidden()
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert found.page.evaluate(CUT) == []
    assert found.complaints == []
    found.page.context.close()


def test_first_screen_rewrites_its_headline(fresh):
    page = fresh.page
    head = "Rank the held-out item against 100 random items instead of all 3,540, and"
    assert page.inner_text("h1") == f"{head} the order turns upside down."
    page.check("#hero-correct")
    fresh.settle()
    assert page.inner_text("h1").endswith("by BV 0.1, and the order is right on average.")
    fresh.set(estimator="sampled", m=1)
    assert page.inner_text("h1").endswith("and nobody can be told apart.")
    assert "tie: no order" in page.inner_text("#reading-d")
    exact = {name: round(100 * float(value), 2) for name, value, _ in rows_of(page, "hero-chart")}
    assert exact == {"X": 7.75, "Y": 8.84, "Z": 9.42}


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "dark"), (390, "light"), (390, "dark"), (320, "light")]
)
def test_page_fits_the_screen_in_light_and_dark(fresh, width, scheme):
    page = fresh.page
    fresh.show(width, 640, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.querySelector('#panel-b text')).fill")
    ground, ink = (sum(map(int, re.findall(r"\d+", colour))) > 384 for colour in (ground, ink))
    assert (ground, ink) == ((True, False) if scheme == "light" else (False, True))
    # A phone has the chart of the first screen and its controls in one view.
    for selector in ("#hero-chart", "#hero-m", "#hero-correct"):
        box = page.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert width == 1280 or box["y"] + box["height"] <= 640


def test_without_javascript_text_tables_and_figures_stand(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.inner_text("h1").endswith("and the order turns upside down.")
    assert page.locator("table.cells").count() == 4
    assert page.locator(".drawing svg").count() == 7
    assert page.locator("#explorer .control").first.is_hidden()
    assert page.locator(".saves, .download:visible").count() == 0
    context.close()


def test_nothing_is_wrong_for_assistive_technology(fresh):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    hidden = {"exclude": [[".drawing svg"], [".graph svg"]]}
    found = axe.run(fresh.page, hidden, {"resultTypes": ["violations"]})
    assert [each["id"] for each in found.response["violations"]] == []
    fresh.show(390, 800, color_scheme="dark")
    found = axe.run(fresh.page, {"include": [["#explorer"]]}, {"runOnly": ON_SCREEN})
    assert [each["id"] for each in found.response["violations"]] == []


def test_nothing_was_asked_of_the_network_and_nothing_went_wrong(opened, report):
    # The last test of the module: after everything that the others did.
    assert opened.complaints == []
    assert set(opened.requests) <= {report.as_uri()} | {
        url for url in opened.requests if url.startswith(("data:", "blob:"))
    }
