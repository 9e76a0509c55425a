"""The atlas in a real browser: selecting, searching, copying and saving."""

import csv
import re

import pytest

from tests.browser.conftest import DESKTOP, assert_texts_fit, opened_at
from tests.conftest import ROOT

pytestmark = pytest.mark.long

PAGE = ROOT / "docs/atlas.html"
PERMISSIONS = ["clipboard-read", "clipboard-write"]
ROW = "#row=s3rec.yelp-s3-rec.bert4rec"


@pytest.fixture
def opened(browser):
    options = {"viewport": DESKTOP, "permissions": PERMISSIONS}
    with opened_at(browser, PAGE, ROW, **options) as page:
        yield page


def test_address_selects_result(opened):
    page = opened.page
    assert page.inner_text("#name") == "BERT4Rec on Yelp (S3-Rec)"
    headline = page.inner_text("#headline")
    assert all(
        words in headline for words in ("BERT4Rec", "0.7597", "99 random items", "6 numbers")
    )
    assert page.inner_text("#remark") == page.evaluate("chosen.remark")
    assert (opened.requests, opened.complaints) == ([PAGE.as_uri()], [])


def test_headline_says_if_a_measured_value_lies_outside(opened):
    page = opened.page
    standing = page.evaluate("[chosen.measured < chosen.low, chosen.standing]")
    assert standing == [True, "outside"]
    assert "outside" in page.inner_text("#headline")
    page.evaluate("choose(entries.find(({ standing }) => standing === 'inside'))")
    assert "outside" not in page.inner_text("#headline")


def test_atlas_opens_on_the_example_of_readme(browser):
    with opened_at(browser, PAGE, viewport=DESKTOP) as opened:
        printed = opened.page.evaluate("chosen.printed").split()
        assert opened.page.inner_text("h1") == opened.page.title()
    readme = (ROOT / "README.md").read_text("utf-8")
    for name in ("HR@10", "NDCG@10"):
        (value,) = re.findall(rf'"{name}": "([\d.]+)"', readme)
        assert f"{name}={value}" in printed


def test_search_finds_a_result_that_is_not_of_a_paper(opened):
    page = opened.page
    page.fill("#query", "clam-rec text")
    assert page.inner_text("#headline").startswith("Not from a paper")
    page.click("#headline button")  # search all kinds
    assert page.inner_text("#count").startswith("1 of ")
    assert "clam" in page.evaluate("location.hash")


def test_arrow_key_on_the_chart_chooses_another_result(opened):
    before = opened.page.evaluate("location.hash")
    opened.page.focus("#map")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.evaluate("location.hash") != before


def centre_of_chart(page):
    box = page.locator("#map").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_pointing_at_the_chart_shows_a_result_without_choosing_it(opened):
    page = opened.page
    name, address = page.inner_text("#name"), page.evaluate("location.hash")
    page.mouse.move(*centre_of_chart(page))
    assert page.inner_text("#name") != name
    assert page.evaluate("location.hash") == address
    page.hover("#copy")  # elsewhere
    assert page.inner_text("#name") == name


def test_click_on_the_chart_chooses_a_result(opened):
    page = opened.page
    name, address = page.inner_text("#name"), page.evaluate("location.hash")
    page.mouse.click(*centre_of_chart(page))
    page.hover("#copy")  # elsewhere
    assert page.inner_text("#name") != name
    assert page.evaluate("location.hash") != address


def test_search_without_result_shows_none(opened):
    page = opened.page
    page.fill("#query", "zzzz")
    assert page.inner_text("#headline").startswith("Not in the atlas")
    assert page.is_hidden("#card")
    assert page.locator("#map .chosen").count() == 0
    assert page.get_attribute("#headline a", "href") == "#paper"
    page.fill("#query", "bert4rec")
    assert "BERT4Rec" in page.inner_text("#headline")
    assert page.is_visible("#card")


def test_atlas_opens_with_papers(browser):
    kinds = "[...new Set(found.map(({kind}) => kind))]"
    with opened_at(browser, PAGE, viewport=DESKTOP) as opened:
        page = opened.page
        assert page.evaluate(kinds) == ["paper"]
        values = page.evaluate("found.map(({value}) => Number(value))")
        assert values == sorted(values, reverse=True)
        page.select_option("#kind", "")
        assert set(page.evaluate(kinds)) > {"paper", "other"}


def test_data_set_of_selected_result_is_highlighted(opened):
    data = opened.page.evaluate("chosen.data")
    blue = opened.page.evaluate(
        "[...new Set(entries.filter((entry) => entry.marks[0].classList.contains('same'))"
        ".map((entry) => entry.data))]"
    )
    assert blue == [data]


def test_one_metric_is_shown_at_a_time(opened):
    page = opened.page
    name = page.inner_text("#name")
    page.select_option("#metric", "NDCG@10")
    assert page.inner_text("#name") == name
    assert "metric=NDCG" in page.evaluate("location.hash")
    shown = "entries.filter((e) => !e.marks[0].classList.contains('gone')).map((e) => e.metric)"
    assert set(page.evaluate(shown)) == {"NDCG@10"}


def test_table_is_one_tab_stop_with_arrow_keys(opened):
    page = opened.page
    page.focus("#rows button[tabindex='0']")
    assert page.locator("#rows button[tabindex='0']").count() == 1
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") in page.inner_text("#name")
    assert page.locator("#rows button[tabindex='0']").count() == 1


@pytest.mark.parametrize(
    ("tab", "expected"),
    [
        ("command", "sampled-metrics reported HR@1=0.2405 HR@5=0.5976"),
        ("bibtex", "@misc{s3rec,"),
        ("bibtex", "url   = {https://github.com/RUCAIBox/CIKM2020-S3Rec}"),
    ],
)
def test_text_of_a_tab_is_copied(opened, tab, expected):
    opened.page.click(f"#tab-{tab}")
    opened.page.click("#copy")
    assert expected in opened.page.evaluate("navigator.clipboard.readText()")


def test_link_to_the_row_is_copied(opened):
    opened.page.click("#link")
    assert opened.page.evaluate("navigator.clipboard.readText()").endswith(ROW)


def saved_atlas(page, path):
    with page.expect_download() as saved:
        page.click(f"#save{path.suffix.replace('.', '-')}")
    saved.value.save_as(path)
    return path.read_bytes()


@pytest.mark.parametrize(("suffix", "beginning"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_chart_is_saved_as_picture(opened, tmp_path, suffix, beginning):
    assert saved_atlas(opened.page, tmp_path / f"atlas.{suffix}").startswith(beginning)


def test_rows_that_are_found_are_saved_as_table(opened, tmp_path):
    opened.page.fill("#query", "s3rec yelp")
    text = saved_atlas(opened.page, tmp_path / "atlas.csv").decode()
    assert text.startswith("source,")
    assert {row["data"] for row in csv.DictReader(text.splitlines())} == {"Yelp (S3-Rec)"}


@pytest.mark.parametrize(("hr", "ndcg"), [("0.8245", "0.5905"), ("82.45", "59.05 %")])
def test_own_number_in_percent(opened, hr, ndcg):
    typed = {"#hr": hr, "#ndcg": ndcg, "#of": "100", "#n": "3,416", "#users": "6040"}
    for field, text in typed.items():
        opened.page.fill(field, text)
    ours = opened.page.evaluate("element('paper-words').textContent")
    low_high = opened.page.evaluate("reported({hr: '0.8245', ndcg: '0.5905'}, 3416, 100, 6040).hr")
    assert f"between {100 * low_high[0]:.2f} % and {100 * low_high[1]:.1f} %" in ours.replace(
        "\xa0", " "
    )
    assert opened.page.get_attribute("#mine", "visibility") == "visible"


@pytest.mark.parametrize("width", [320, 640, 641, 768, 769, 961, 1280])
def test_chart_texts_are_not_cut(browser, width):
    viewport = {"width": width, "height": 800}
    with opened_at(browser, PAGE, viewport=viewport) as opened:
        chart = opened.page.locator("#map").bounding_box()
        right = chart["x"] + chart["width"]
        assert_texts_fit(opened.page, "#map", chart["x"] - 1, right + 1)


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (1280, "dark")])
def test_atlas_is_accessible_and_fits(browser, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with opened_at(browser, PAGE, **options) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        opened.keep_first_rows()
        violations = axe.run(opened.page).response["violations"]
        assert [violation["id"] for violation in violations] == []
