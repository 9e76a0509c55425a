"""The page in a real browser: its computations, controls, layout and accessibility."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import sampled_metrics
from sampled_metrics import InputError
from sampled_metrics._base.palette import RECOMMENDERS
from sampled_metrics.pages import render
from sampled_metrics.pages.report import sampled_content
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks
from sampled_metrics_study.tables import PREDICTED_RANKS
from tests.browser.conftest import DESKTOP, opened_at
from tests.study.conftest import REFERENCE

pytestmark = pytest.mark.long

# Rules of axe that only apply to screens.
ON_SCREEN = ["color-contrast", "scrollable-region-focusable", "target-size"]
REPORTED = "([printed, n, m, users]) => reported(printed, n, m, users)"
PRINTED = [
    ({"hr": "0.8245", "ndcg": "0.5905"}, 3416, 100, 6040),
    ({"hr": "0.8245"}, 3416, 100, None),
    ({"hr": "0.4854", "ndcg": "0.3219"}, 57_289, 100, None),
    ({"ndcg": "0.3691"}, 3541, 99, 6040),
    ({"hr": "0.1", "ndcg": "0.09"}, 500, 400, 1000),
    ({"hr": "0.3", "ndcg": "0.15"}, 60, 59, 50),
    ({"hr": "0.01"}, 3416, 100, None),  # at most 95 % of users rank last
]


@pytest.mark.parametrize(("printed", "n", "m", "users"), PRINTED)
def test_printed_range_contains_that_of_library(opened, printed, n, m, users):
    """The page uses each number alone with its largest variance; a lone hit rate agrees."""
    ranges = opened.page.evaluate(REPORTED, [printed, n, m, users])
    names = {"hr": "HR@10", "ndcg": "NDCG@10"}
    values = {names[name]: value for name, value in printed.items()}
    results = sampled_metrics.reported(values, n_items=n, n_negatives=m, n_users=users)
    for ends, result in zip(ranges.values(), results, strict=True):
        assert ends[0] <= result.range_low + 1e-6
        assert ends[1] >= result.range_high - 1e-6
        if users is None or printed.keys() == {"hr"}:
            assert ends == pytest.approx([result.range_low, result.range_high], abs=1e-6)


def test_contradicting_printed_numbers_have_no_range(opened):
    with pytest.raises(InputError):
        sampled_metrics.reported(
            {"HR@10": "0.500", "NDCG@10": "0.600"}, n_items=3416, n_negatives=100
        )
    printed = {"hr": "0.500", "ndcg": "0.600"}
    assert opened.page.evaluate(REPORTED, [printed, 3416, 100, None]) is None
    for mistake in ("182", "1.2"):
        opened.page.fill("#hr", mistake)
        assert "fraction" in opened.page.inner_text("#paper-words")
    assert opened.page.locator("#paper-bars .range").count() == 0


def test_printed_readings_are_not_cut(browser, report):
    paper = {"width": 703, "height": 1032}  # A4 less the margins, in pixels
    with opened_at(browser, report, viewport=paper) as opened:
        opened.page.emulate_media(media="print")
        box = opened.page.locator(".readings").bounding_box()
        assert box["x"] + box["width"] <= paper["width"]


def test_two_numbers_show_command(fresh):
    page = fresh.page
    page.locator(".examples button").first.click()
    arguments = page.inner_text("#paper-command code").split()
    assert arguments[:4] == ["sampled-metrics", "reported", "HR@10=0.8240", "NDCG@10=0.6389"]
    assert arguments[4:] == ["--n-items", "3252", "--n-negatives", "100", "--n-users", "6040"]
    box = page.evaluate(REPORTED, [{"hr": "0.8240", "ndcg": "0.6389"}, 3252, 100, 6040])["hr"]
    printed = dict(word.split("=") for word in arguments[2:4])
    about = {"n_items": 3252, "n_negatives": 100, "n_users": 6040}
    (joint,) = sampled_metrics.reported(printed, "HR@10", **about)
    assert box[0] < joint.range_low < joint.range_high < box[1]
    page.fill("#ndcg", "")
    assert page.is_hidden("#paper-command")


def bar_of(page):
    """Return the ends of the first bar, in percent of its track."""
    bar = page.locator("#paper-bars .range i").first
    left, width = (
        float(bar.evaluate(f"(bar) => bar.style.{side}").rstrip("%")) for side in ("left", "width")
    )
    return left, left + width


def test_each_bar_uses_both_numbers(fresh):
    """Without NDCG@10, the range of HR@10 is wider, so the bar is not by HR@10 alone."""
    page = fresh.page
    page.locator(".examples button").first.click()
    low, high = bar_of(page)
    page.fill("#ndcg", "")
    low_alone, high_alone = bar_of(page)
    assert low_alone < low < high < high_alone


def test_measured_value_belongs_to_all_numbers_of_an_example(fresh):
    page = fresh.page
    page.locator(".examples button").first.click()
    assert page.locator("#paper-bars .track u:not(.printed)").count() == 1
    page.fill("#ndcg", "0.60")
    assert page.locator("#paper-bars .track u:not(.printed)").count() == 0


def test_link_restores_every_field(browser, report, fresh):
    page = fresh.page
    page.locator(".examples button").first.click()
    fields = {"hr": "0.47", "ndcg": "", "of": "100", "n": "12000", "users": ""}
    for field, value in fields.items():
        page.fill(f"#{field}", value)
    words = page.inner_text("#paper-words")
    with opened_at(browser, report, page.evaluate("location.hash")) as again:
        assert {field: again.page.input_value(f"#{field}") for field in fields} == fields
        assert again.page.inner_text("#paper-words") == words


def test_controls_update_headline(fresh):
    """It has what the sampled metric measures; the number of right orders is below."""
    page = fresh.page
    assert "about Recall@3" in page.inner_text("#headline")
    page.select_option("#estimator", "bv:0.1")
    assert "by BV 0.1" in page.inner_text("#headline")
    assert "about Recall@1" in page.inner_text("#headline")
    assert page.inner_text("#verdict").startswith("2 of 2 ")
    assert page.get_attribute("#down", "d")


def test_fewest_negatives_measure_nothing(fresh):
    page = fresh.page
    page.select_option("#estimator", "sampled")
    page.focus("#m")
    page.keyboard.press("Home")
    assert "nothing" in page.inner_text("#headline")
    assert page.inner_text("#verdict").startswith("0 of 2 ")


def test_address_keeps_what_is_chosen(fresh):
    page = fresh.page
    page.select_option("#metric", "ndcg@10")
    assert page.inner_text("#truth").endswith("X 3.73\u00a0%")
    page.focus("#m")
    page.keyboard.press("End")
    assert {"m=1392", "metric=ndcg%4010"} < set(page.evaluate("location.hash.slice(1)").split("&"))
    headline = page.inner_text("#headline")
    page.reload()
    assert page.inner_text("#headline") == headline


@pytest.mark.parametrize("width", [1280, 390])
def test_controls_do_not_move(fresh, width):
    fresh.show(width, 844)
    places = set()
    for metric in ("recall@10", "ndcg@10", "auc"):
        for estimator in ("sampled", "rank-estimate", "bv:0.1"):
            fresh.choose(metric=metric, estimator=estimator)
            box = fresh.page.locator("#m").bounding_box()
            scrolled = fresh.page.evaluate("scrollY")
            places.add((box["x"], round(box["y"] + scrolled), box["width"]))
    assert len(places) == 1


def test_number_of_negatives_stays_where_an_estimator_has_fewer(fresh):
    page = fresh.page
    fresh.choose(metric="recall@10", estimator="sampled", m=1392)
    knob = page.input_value("#m")
    fresh.choose(estimator="bv:0.1")
    assert page.input_value("#m") == knob
    assert page.inner_text("#m-note").startswith("BV 0.1")  # its largest number
    fresh.choose(estimator="sampled")
    assert (page.inner_text("#m-value"), page.inner_text("#m-note")) == ("1,392", "")


@pytest.mark.parametrize("metric", ["auc", "ndcg@10", "ap", "recall@10"])
def test_label_is_at_peak_of_weights(fresh, metric):
    """The label is centred on the peak, except that it stays inside the chart."""
    fresh.choose(metric=metric)
    at = fresh.page.evaluate(f"asked['{metric}'].at") / 100
    chart = fresh.page.locator(".chart").bounding_box()
    label = fresh.page.locator("#asked-at").bounding_box()
    expected = chart["x"] + at * (chart["width"] - label["width"])
    assert label["x"] == pytest.approx(expected, abs=1.5)


def test_pointer_shows_values_of_lines(fresh):
    fresh.page.locator(".chart").scroll_into_view_if_needed()
    box = fresh.page.locator(".chart").bounding_box()
    fresh.page.mouse.move(box["x"] + 1, box["y"] + 50)
    text = fresh.page.inner_text("#at-k")
    assert re.fullmatch(r"k = 1: X [-+\d.]+ %, Y [-+\d.]+ %, Z [-+\d.]+ %", text)
    leads = [float(x) for x in re.findall(r"([-+][\d.]+) %", text)]
    assert sum(leads) == pytest.approx(0.0, abs=1.0)  # from the mean of the three


@pytest.mark.parametrize("width", [320, 375, 1280])
def test_open_tables_fit_screen(browser, report, width):
    viewport = {"width": width, "height": 700}
    wider = "(all) => all.filter((x) => x.scrollWidth > x.clientWidth).length"
    with opened_at(browser, report, viewport=viewport) as opened:
        opened.open_details()
        assert opened.page.locator(".cells td button").evaluate_all(wider) == 0
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("kind", "head"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_figures_can_be_saved(browser, report, tmp_path, kind, head):
    with opened_at(browser, report, accept_downloads=True) as opened:
        opened.open_details()
        with opened.page.expect_download() as started:
            opened.page.locator(f"#figure6 [data-kind={kind}]").click()
        started.value.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes().startswith(head)


@pytest.fixture(scope="module")
def own_page(tmp_path_factory):
    """The page of sampled ranks of X, Y and Z."""
    samples = {}
    for name in "XYZ":
        ranks = Ranks.read(REFERENCE / f"ranks/{name}.parquet").take(slice(None, None, 8))
        sampled_ranks = draw_sampled_ranks(ranks, 100, np.random.default_rng(0))
        samples[name] = SampledRanks(sampled_ranks, ranks.n_candidates, 100)
    content = sampled_content(samples, ["recall@10"], ["sampled", "bv:0.1"])
    path = tmp_path_factory.mktemp("own") / "report.html"
    path.write_text(render(content, "report.html"), encoding="utf-8")
    return path


@pytest.mark.parametrize("part", ["lens", "leaders"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lens_and_board_can_be_saved(browser, report, tmp_path, part, scheme):
    """The saved picture has the headline, the names and the colours of the page."""
    with opened_at(browser, report, accept_downloads=True, color_scheme=scheme) as opened:
        saved = {}
        for kind in ("svg", "png"):
            with opened.page.expect_download() as started:
                opened.page.locator(f"#{part} .picture[data-kind={kind}]").click()
            saved[kind] = tmp_path / f"saved.{kind}"
            started.value.save_as(saved[kind])
        head = opened.page.inner_text("#headline" if part == "lens" else "#board-head")
        assert opened.complaints == []
    assert saved["png"].read_bytes().startswith(b"\x89PNG")
    texts = [" ".join(node.itertext()) for node in ElementTree.parse(saved["svg"]).iter()  # noqa: S314
             if node.tag.endswith("}text")]  # fmt: skip
    assert texts[0].split() == head.split()
    assert sum(name in text for text in texts for name in ("X", "Y", "Z")) >= 3
    red, green, blue = (int(RECOMMENDERS["X"]._asdict()[scheme][i : i + 2], 16) for i in (1, 3, 5))
    svg = saved["svg"].read_text("utf-8")
    assert part == "leaders" or f"rgb({red}, {green}, {blue})" in svg
    assert "var(" not in re.sub(r"--\w+: var\([^)]*\)", "", svg)


def test_own_page_of_sampled_ranks(browser, own_page):
    viewport = {"width": 320, "height": 640}
    with opened_at(browser, own_page, viewport=viewport) as opened:
        assert "It suggests X > Y > Z." in opened.page.inner_text("h1")
        opened.page.select_option("#estimator", "bv:0.1")
        assert ", by BV 0.1, you measured" in opened.page.inner_text("#headline")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320
        assert opened.complaints == []


def test_item_opens_at_the_rank_of_its_heading(browser, own_page):
    with opened_at(browser, own_page) as opened:
        sampled, m, rank, _ = map(
            int, re.findall(r"\d+", opened.page.inner_text("#item-head").replace(",", ""))
        )
        assert (sampled, m, rank) == (7, 101, 200)
        assert opened.page.input_value("#r") == str(rank)
        mean = re.search(r"its rank is ([\d.]+)", opened.page.inner_text("#item-words"))[1]
        assert round(float(mean)) == sampled


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "dark"), (390, "light"), (390, "dark"), (320, "light")]
)
def test_page_fits_screen_light_and_dark(fresh, width, scheme):
    page = fresh.page
    fresh.show(width, 844, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("getComputedStyle(document.querySelector('#verdict')).color")
    bright = [sum(map(int, re.findall(r"\d+", colour))) > 384 for colour in (ground, ink)]
    assert bright == [scheme == "light", scheme == "dark"]
    # The chart, its controls and its sentences fit one view, and labels are inside the chart.
    top, last = (page.locator(name).bounding_box() for name in ("#headline", "#pairs"))
    assert last["y"] + last["height"] - top["y"] <= 844
    for label in page.locator(".chart span").all():
        box = label.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_page_has_at_most_five_text_sizes(fresh, width):
    fresh.show(width=width, height=900)
    sizes = fresh.page.evaluate("""() => {
      const found = new Set();
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const { parentElement } = texts.currentNode;
        if (!texts.currentNode.textContent.trim()) continue;
        if (parentElement.closest(".drawing, script, style")) continue;
        found.add(getComputedStyle(parentElement).fontSize);
      }
      return [...found];
    }""")
    assert len(sizes) <= 5


def test_metric_names_stay_on_one_line(fresh):
    fresh.show(390, 844)
    fresh.page.locator(".examples button").first.click()
    names = fresh.page.locator("#paper-bars b").all()
    assert [name.inner_text() for name in names] == ["HR@10", "NDCG@10"]
    lines = "(name) => { const of = document.createRange(); of.selectNodeContents(name);"
    lines += " return of.getClientRects().length; }"
    assert [name.evaluate(lines) for name in names] == [1, 1]
    assert fresh.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_no_layout_shift_and_few_tab_stops(browser, report):
    shifts = """() => new Promise((done) => new PerformanceObserver((list) =>
      done(list.getEntries().map(({ value }) => value)))
      .observe({ type: "layout-shift", buffered: true }) ?? setTimeout(() => done([]), 300))"""
    reached = "document.activeElement.closest('#tables') !== null"
    with opened_at(browser, report, viewport=DESKTOP) as opened:
        page = opened.page
        assert sum(page.evaluate(shifts)) < 0.001
        stops = [page.keyboard.press("Tab") or page.evaluate(reached) for _ in range(20)]
        assert any(stops)
        pages = page.pdf(prefer_css_page_size=True).count(b"/Type /Page\n")
        assert 2 < pages <= 11


def test_page_without_javascript(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert "300 published numbers" in page.inner_text("#result")
    assert "Recall@10" in page.inner_text("#headline")
    assert page.inner_text("#verdict").startswith("0 of 2 ")
    assert page.locator(".slope path").count() == page.locator(".chart .line").count() == 3
    assert page.locator("table.cells").count() == 4
    assert page.locator(".drawing svg").count() == 8
    assert page.locator(".controls:visible, .download:visible").count() == 0
    context.close()


@pytest.mark.parametrize(
    ("verdict", "sign"), [("exact", "="), ("within-noise", "≈"), ("explained", "∼")]
)
def test_cells_show_sign_of_verdict(opened, verdict, sign):
    """The computed style, whichever rules apply."""
    cell = opened.page.locator(f".cells td.{verdict} button").first
    shown = "(button) => getComputedStyle(button, '::before').content"
    assert sign in cell.evaluate(shown)
    size = "(node) => parseFloat(getComputedStyle(node).fontSize)"
    assert cell.evaluate(size) > cell.locator("small").evaluate(size)


def test_page_opens_with_result(fresh):
    fresh.show(1280, 800)
    sections = fresh.page.locator("main > section")
    assert sections.first.get_attribute("id") == "result"
    for name in ("#result-head", ".lead", ".slope"):
        box = fresh.page.locator(name).bounding_box()
        assert box["y"] + box["height"] <= 800
    closed = fresh.page.locator("#tables details, #figures details")
    assert closed.count() == 0


def test_page_is_accessible(fresh):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    hidden = {"exclude": [[".drawing svg"]]}
    fresh.open_details()
    fresh.keep_first_rows()
    result = axe.run(fresh.page, hidden, {"resultTypes": ["violations"]})
    assert [each["id"] for each in result.response["violations"]] == []
    fresh.show(390, 800, color_scheme="dark")
    result = axe.run(fresh.page, hidden, {"runOnly": ON_SCREEN})
    assert [each["id"] for each in result.response["violations"]] == []


def test_page_made_no_requests_or_errors(opened, report):
    # This is the last test of the module, so it covers what all others did.
    assert opened.complaints == []
    addresses = {url.partition("#")[0] for url in opened.requests}
    assert addresses - {report.as_uri()} <= {
        url for url in addresses if url.startswith(("data:", "blob:"))
    }


def lines_of_first_picture(page):
    """Recommenders, best sampled first, and the heights of the points of their lines."""
    first_side = page.locator(".slope ol").first
    names = [text[0] for text in first_side.locator("li").all_inner_texts()]
    heights = [
        [float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", path.get_attribute("d"))]
        for path in page.locator(".slope path").all()
    ]
    return names, heights


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_labels_of_first_picture_are_at_the_ends_of_lines(fresh, width):
    fresh.show(width, 900)
    box = fresh.page.locator(".slope svg").bounding_box()
    names, heights = lines_of_first_picture(fresh.page)
    for side, end in zip(fresh.page.locator(".slope ol").all(), (0, -1), strict=True):
        labels = {item.inner_text()[0]: item.bounding_box() for item in side.locator("li").all()}
        assert sorted(labels) == sorted(names)
        for name, of_line in zip(names, heights, strict=True):
            middle = labels[name]["y"] + labels[name]["height"] / 2
            assert middle == pytest.approx(box["y"] + box["height"] * of_line[end] / 100, abs=1.5)


def test_ends_of_lines_of_first_picture_are_to_scale(fresh):
    """On each side, all of the height is for the values from the lowest to the highest."""
    names, heights = lines_of_first_picture(fresh.page)
    for side, end in zip(fresh.page.locator(".slope ol").all(), (1, 2), strict=True):
        texts = side.locator("li").all_inner_texts()
        value_of = {text[0]: float(text.split()[1]) for text in texts}
        values, tops = [value_of[name] for name in names], [of_line[end] for of_line in heights]
        slope, _ = np.polyfit(values, tops, 1)
        assert slope == pytest.approx(-np.ptp(tops) / np.ptp(values), rel=0.02)


def test_squares_lead_to_their_cells(fresh):
    """There is a square for each value and each standard deviation of a cell."""
    squares = fresh.page.locator(".squares a").evaluate_all(
        "(all) => all.map((a) => [a.firstElementChild.className,"
        " document.querySelector(a.hash).className])"
    )
    card = pd.read_csv(REFERENCE / "scorecard.csv", keep_default_na=False)
    expected = []
    for value, std in card[["verdict", "std verdict"]].to_numpy():
        expected += [[value, value], [std, value]] if std else [[value, value]]
    assert [[name.replace("-", " ") for name in pair] for pair in squares] == expected


@pytest.mark.parametrize("verdict", ["exact", "within-noise", "explained"])
def test_count_of_a_verdict_leads_to_its_first_cell(fresh, verdict):
    link = fresh.page.locator(f"a.tally.{verdict}")
    assert link.evaluate("(a) => document.querySelector(a.hash).className") == verdict


def test_count_of_explained_cells_opens_the_first_one(fresh):
    fresh.page.locator("a.tally.explained").click()
    detail = fresh.page.inner_text("#detail")
    assert detail.split(";")[:2] == ["Table 3, Recall@10, X, Exact", " explained"]


def test_verdict_without_cells_has_count_0(fresh):
    assert fresh.page.locator(".tally.none").inner_text().split()[0] == "0"


def test_tables_are_laid_out_as_in_the_paper(fresh):
    """Predicted ranks define A, B and C, and the best of each column is bold."""
    given = fresh.page.locator("[aria-label='Table 1'] .given").all_inner_texts()
    assert given == [", ".join(f"{r:,}" for r in ranks) for ranks in PREDICTED_RANKS.values()]
    table = fresh.page.locator("[aria-label='Table 3'] tbody").first
    rows = [row for row in table.locator("tr").all() if row.locator("td").count()]
    numbers = [row.locator("td button > span").all_inner_texts() for row in rows]
    values = np.array([[float(text.split()[0]) for text in row] for row in numbers])
    weight = "(all) => all.map((node) => Number(getComputedStyle(node).fontWeight) > 600)"
    bold = [row.locator("td button > span").evaluate_all(weight) for row in rows]
    assert np.array_equal(bold, values == values.max(axis=0))
    assert bold[0][1]
    assert bold[2][0]


def test_signs_have_their_own_column_and_names_stay(fresh):
    fresh.show(390, 844)
    button = fresh.page.locator("[aria-label='Table 3'] td button").first
    assert button.evaluate("(node) => parseFloat(getComputedStyle(node).columnGap)") >= 8
    region = fresh.page.locator("[aria-label='Table 3']")
    region.evaluate("(node) => { node.scrollLeft = 300; }")
    name = region.locator("tbody th[scope=row]").first.bounding_box()
    assert name["x"] == pytest.approx(region.bounding_box()["x"], abs=1)
    region.evaluate("(node) => { node.scrollLeft = 0; }")
    fresh.show(1280, 800)
    assert region.evaluate("(node) => node.scrollWidth <= node.clientWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_focus_ring_is_not_red(fresh, scheme):
    fresh.show(1280, 800, color_scheme=scheme)
    fresh.page.focus("#hr")
    ring = fresh.page.locator("#hr").evaluate("(node) => getComputedStyle(node).outlineColor")
    red, _, blue = map(int, re.findall(r"\d+", ring)[:3])
    assert red < blue


def test_print_ends_no_line_in_nothing(fresh):
    fresh.show(703, 1032, media="print")
    ends = fresh.page.locator("#tables p, #evidence p, #figures p").evaluate_all(
        "(all) => all.filter((p) => p.offsetHeight).map((p) => p.innerText.trim().slice(-1))"
    )
    assert ":" not in ends
    fresh.page.emulate_media(media="screen")


def test_lens_has_heading_and_cursor(fresh):
    head = fresh.page.locator("#lens h2")
    assert head.count() == 1
    assert head.bounding_box()["y"] < fresh.page.locator("#metric").bounding_box()["y"]
    fresh.page.locator(".chart").scroll_into_view_if_needed()
    box = fresh.page.locator(".chart").bounding_box()
    fresh.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    cursor = re.match(r"M([\d.]+) ", fresh.page.get_attribute("#cursor", "d"))
    assert float(cursor[1]) == pytest.approx(500, abs=2)
