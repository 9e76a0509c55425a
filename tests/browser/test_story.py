"""The story of the page in a real browser: first screen, one item, experiments, ranges, sharing."""

import csv
import io
import re

import numpy as np
import pytest
from PIL import Image

from sampled_metrics.sampling.probability import pmf
from tests.browser.conftest import CUT, Opened
from tests.unit.test_page import REFERENCE

NBSP = "\u00a0"
ON_SCREEN = ["color-contrast", "scrollable-region-focusable", "target-size"]  # rules of a screen


def downloaded(page, selector):
    with page.expect_download() as found:
        page.locator(selector).click()
    return found.value


def rows_of(page, panel):
    return list(csv.reader(io.StringIO(page.evaluate(f"SM.csv('{panel}')"))))


def test_first_screen_rewrites_its_headline(fresh):
    page = fresh.page
    head = "Rank the held-out item against 100 random items instead of all 3,540, and"
    assert page.inner_text("h1") == f"{head} the order turns upside down."
    assert page.inner_text("#hero-pair").startswith("X looks better than Y; Y is. Chance")
    page.check("#hero-correct")
    fresh.settle()
    assert page.inner_text("h1").endswith(
        "correct Recall@10 by BV 0.1, and the order is right on average."
    )
    fresh.set(estimator="sampled", m=1)
    assert page.inner_text("h1").endswith("and nobody can be told apart.")
    assert "a tie: no order. Y is better." in page.inner_text("#hero-pair")
    assert "tie: no order" in page.inner_text("#reading-d")
    values = [(name, float(exact)) for name, exact, _ in rows_of(page, "hero-chart")[1:]]
    assert [name for name, _ in values] == ["X", "Y", "Z"]
    assert [round(100 * exact, 2) for _, exact in values] == [7.75, 8.84, 9.42]


def test_controls_stay_in_sight(fresh):
    fresh.page.locator("#panel-d").scroll_into_view_if_needed()
    assert fresh.page.evaluate("scrollY") > 0
    assert fresh.page.locator("#controls").bounding_box()["y"] == pytest.approx(0, abs=1)
    fresh.page.evaluate("scrollTo(0, 0)")


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


def test_guided_minute_sets_the_controls(fresh):
    page, said = fresh.page, set()
    buttons = page.locator("#tour button")
    assert buttons.first.get_attribute("aria-pressed") == "true"
    for place in range(5):
        buttons.nth(place).click()
        fresh.settle()
        assert buttons.nth(place).get_attribute("aria-pressed") == "true"
        said.add(page.inner_text("#tour-words"))
    assert len(said) == 5
    assert page.evaluate("[SM.positions.m, SM.positions.estimator, SM.positions.gamma]") == [
        100,
        "bv",
        1e-4,
    ]
    (sentence,) = [each for each in said if "points" in each]
    sd = 100 * page.evaluate("SM.state.ordering.sd")
    assert f"± {2 * sd:.2f} points" in sentence


def test_one_item_is_drawn_against_random_ones(fresh):
    page = fresh.page
    words = page.inner_text("#item-words")
    share = float(
        (pmf(np.array([200]), 3541, 100, "without-replacement") @ (np.arange(101) < 10))[0]
    )
    assert f"counts {100 * share:.1f}{NBSP}% on average" in words
    assert f"Recall@10 counts 0.00{NBSP}%." in words
    page.click("#draw-one")
    fresh.settle()
    ranks = [int(row[0]) for row in rows_of(page, "item-strip")[1:]]
    assert len(set(ranks)) == 100
    assert 200 not in ranks
    assert min(ranks) >= 1
    assert max(ranks) <= 3541
    sampled = 1 + sum(rank < 200 for rank in ranks)
    assert f"Rank {sampled} of 101 in this draw" in page.inner_text("#item-drawn")
    page.click("#draw-many")
    fresh.settle()
    assert "51 draws so far" in page.inner_text("#item-drawn")
    page.locator("#item-strip").scroll_into_view_if_needed()
    box = page.locator("#item-strip").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    fresh.settle()
    assert abs(page.evaluate("SM.positions.r") - 1771) < 20


@pytest.mark.parametrize(("m", "gamma"), [(60, 0.1), (100, 0.01)])
def test_experiments_agree_with_the_closed_form(fresh, m, gamma):
    page = fresh.page
    fresh.show(1280, 900, reduced_motion="reduce")
    fresh.set(estimator="bv", gamma=gamma, m=m)
    expected = fresh.state()["ordering"]
    found = []
    for _ in range(3):
        page.click("#run")
        fresh.settle()
        found += [float(row[0]) for row in rows_of(page, "panel-e")[1:]]
    assert len(found) == 300
    error = expected["sd"] / 300**0.5
    assert np.mean(found) == pytest.approx(expected["difference"], abs=4 * error)
    assert np.std(found) == pytest.approx(expected["sd"], rel=0.2)
    right = page.locator("#panel-e .right").count()
    assert right + page.locator("#panel-e .wrong").count() == 100
    assert f"{right} of 100 experiments have the right order" in page.inner_text("#reading-e")


def test_ranges_are_those_of_the_run(fresh):
    page = fresh.page
    table = list(csv.DictReader(io.StringIO((REFERENCE / "ranges.csv").read_text())))
    for m in (100, 1000):
        fresh.set(m=m)
        rows = rows_of(page, "panel-f")[1:]
        wanted = [
            (row["a"], round(float(row["low"]), 5), round(float(row["high"]), 5))
            for row in table
            if (row["metric"], row["n_negatives"], row["b"]) == ("recall@10", str(m), "")
        ]
        assert [(name, float(low), float(high)) for name, low, high, *_ in rows] == wanted
        assert page.locator("#panel-f .range").count() == 3
    fresh.set(metric="recall", k=7)
    assert "Recall@10" in page.inner_text("#ranges-none")
    assert page.locator("#panel-f").is_hidden()


def test_methods_by_their_price_are_those_of_the_run(fresh):
    page = fresh.page
    table = list(csv.DictReader(io.StringIO((REFERENCE / "beyond/orders.csv").read_text())))
    for pair, places in (("X vs Y", "0,1"), ("Y vs Z", "1,2")):
        fresh.set(pair=places)
        rows = {(name, price): share for name, price, share in rows_of(page, "panel-g")[1:]}
        wanted = [
            row
            for row in table
            if (row["method"], row["proxy"], row["metric"]) == ("budget", "als", "recall@10")
            and row["pair"] == pair
            and int(row["runs"]) >= 10
        ]
        assert wanted
        for row in wanted:
            price = f"{round(float(row['scores_per_user']), 1):g}"
            share = int(row["right"]) / int(row["runs"])
            assert float(rows["Budget, ALS-8", price]) == pytest.approx(share)
        assert pair.replace(" vs ", " and ") in page.inner_text("#reading-g")
    fresh.set(group=1)
    for panel in ("panel-f", "panel-g"):  # of the recommenders of the run
        assert page.locator(f"#{panel}").is_hidden()


def test_toy_group_goes_to_its_last_crossing(fresh):
    fresh.set(group=1, metric="recall", m=9999)
    state = fresh.state()
    assert state["sizes"][-1] == 9999
    assert fresh.page.input_value("#n") == "10000"
    assert max(change["size"] for change in state["changes"]) > 2000
    assert [values[-1] for values in state["values"]] == pytest.approx(
        state["exactMeans"], abs=1e-9
    )


def test_exact_values_are_labelled_levels_and_a_is_of_dots(fresh):
    fresh.set(estimator="bv", gamma=0.1, m=100)
    text = fresh.page.locator("#panel-c").text_content()
    assert f"X exact, 7.75{NBSP}%" in text
    assert fresh.page.locator("#panel-a path[stroke-linejoin]").count() == 0
    assert fresh.page.locator("#panel-a circle").count() > 200


def test_m_can_be_dragged_in_the_curves(fresh):
    page = fresh.page
    page.locator("#panel-c").scroll_into_view_if_needed()
    box = page.locator("#panel-c").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 100, steps=3)
    page.mouse.up()
    fresh.settle()
    assert 1 < page.evaluate("SM.positions.m") < 100


def test_address_holds_the_setting(report, fresh):
    fresh.set(metric="ndcg", k=5, m=40, estimator="bv", gamma=0.02)
    address = fresh.page.evaluate("location.hash")
    assert address == "#metric=ndcg&k=5&m=40&est=bv&g=0.02"
    again = Opened(fresh.page.context, report, address)
    assert again.state()["vector"] == fresh.state()["vector"]
    assert again.page.input_value("#k") == "5"
    again.page.goto("about:blank")
    again.page.goto(f"{report.as_uri()}#metric=nothing&k=-3&m=999999&est=%3Cb%3E&pair=7,9&group=5")
    again.settle()
    assert again.complaints == []
    assert again.page.evaluate("[SM.positions.metric, SM.positions.k]") == ["recall", 10]
    again.page.close()


def test_panels_are_saved_as_picture_and_numbers(fresh, tmp_path):
    page = fresh.page
    fresh.set(estimator="bv", gamma=0.1)
    saves = '[data-panel="panel-b"] .saves button'
    picture = downloaded(page, f"{saves} >> nth=0")
    picture.save_as(tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as image:
        colours = image.convert("RGB").getcolors(1_000_000)
        assert image.width > 600
        assert len(colours) > 50
    numbers = downloaded(page, f"{saves} >> nth=1")
    rows = list(csv.reader(io.StringIO(numbers.path().read_text(encoding="utf-8"))))
    assert rows[0] == ["series", "true rank", "Recall@10"]
    state = fresh.state()
    found = [float(y) for name, _, y in rows[1:] if name == "BV 0.1"]
    np.testing.assert_allclose(found, state["expected"])
    packed = downloaded(page, "#figure6 .download >> nth=0")
    assert packed.path().read_bytes() == (REFERENCE / "figures/figure6.csv").read_bytes()


def test_bibtex_is_copied(fresh):
    from playwright.sync_api import expect  # installed, or `fresh` would have skipped the test

    fresh.page.click("#copy")
    expect(fresh.page.locator("#copied")).to_have_text(re.compile("Copied|Selected"))
    assert "10.1145/3394486.3403226" in fresh.page.inner_text("#bibtex")


def test_verdicts_are_signs_and_in_the_names_of_cells(fresh):
    page = fresh.page
    for verdict, sign in (("exact", "="), ("within noise", "≈"), ("explained", "∼")):
        cell = page.locator(f'button[data-verdict="{verdict}"]').first
        assert cell.locator(".sign").text_content() == sign
        assert verdict in cell.text_content()


def test_tables_keep_their_columns_in_print_and_panels_their_settings(fresh):
    page = fresh.page
    fresh.show(703, 1000, media="print")  # A4 without margins of 12 mm
    for table in page.locator("table.cells").all():
        box = table.bounding_box()
        assert box["x"] + box["width"] <= 703
    for selector in ("#controls", "#tour", ".hero-controls", ".saves >> nth=0"):
        assert page.locator(selector).is_hidden()
    for panel, words in (*((each, "m = 100") for each in "abcdef"), ("g", "X and Y")):
        assert re.match(rf"Recall@10, .*{words}", page.inner_text(f"#setting-{panel}"))


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
    options = {"resultTypes": ["violations"]}
    whole = {"exclude": [[".drawing svg"], [".graph svg"]]}  # which are hidden
    top = {"include": [["#hero"], ["#explorer"], ["#tables"]], **whole}
    for width, scheme, part, more in (
        (1280, "light", whole, {}),
        (390, "dark", top, {"runOnly": ON_SCREEN}),
    ):
        fresh.show(width, 800, color_scheme=scheme)
        found = axe.run(fresh.page, part, options | more).response["violations"]
        assert [each["id"] for each in found] == []
