"""The leaderboard in a real browser: pointing, selecting, playing and the address."""

import re
from itertools import combinations

import pytest

from tests.browser.conftest import DESKTOP, assert_texts_fit, opened_at

pytestmark = pytest.mark.long


@pytest.fixture
def page(browser, report):
    address = "#items=200&by=NDCG%4010"
    with opened_at(browser, report, address, viewport=DESKTOP) as opened:
        yield opened.page
        assert (len(opened.requests), opened.complaints) == (1, [])


def test_address_sets_items_and_metric(page):
    assert "200" in page.inner_text("#board-head")
    assert page.input_value("#board-metric") == "NDCG@10"


def test_end_of_the_slider_is_all_items(page):
    page.focus("#board-m")
    page.keyboard.press("End")
    assert page.inner_text("#board-m-value") == "all"
    assert "items=all" in page.evaluate("location.hash")


def test_usual_metric_is_not_in_the_address(page):
    page.select_option("#board-metric", "Recall@10")
    assert "by=" not in page.evaluate("location.hash")
    assert page.locator("#board-rows tr").count() == 10  # recommenders


def test_lens_follows_the_board(page):
    page.locator("#board-m").fill("10")
    assert page.inner_text("#m-value") == page.inner_text("#board-m-value")


def test_board_follows_the_lens(page):
    page.select_option("#metric", "recall@10")
    assert page.input_value("#board-metric") == "Recall@10"
    page.locator("#m").fill("4")
    assert page.inner_text("#board-m-value") == page.inner_text("#m-value")


def middle_of_board(page):
    page.locator("#board").scroll_into_view_if_needed()
    box = page.locator("#board").bounding_box()
    return box["x"] + 60, box["y"] + 150


def test_pointing_at_the_board_previews_other_items(page):
    before = page.inner_text("#board-head")
    page.mouse.move(*middle_of_board(page))
    assert page.inner_text("#board-head") != before
    assert "items=200" in page.evaluate("location.hash")
    page.hover("#board-head")  # elsewhere
    assert page.inner_text("#board-head") == before


def test_click_on_the_board_selects_other_items(page):
    before = page.inner_text("#board-head")
    page.mouse.click(*middle_of_board(page))
    page.hover("#board-head")  # elsewhere
    assert page.inner_text("#board-head") != before


def test_play_runs_to_all_items(page):
    page.click("#board-play")
    assert page.inner_text("#board-play") == "❚❚ Stop"
    page.locator("#board-m-value", has_text="all").wait_for()
    page.locator("#board-play", has_text="Play").wait_for()
    assert "items=all" in page.evaluate("location.hash")


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
def test_board_texts_are_not_cut(browser, report, width):
    viewport = {"width": width, "height": 800}
    with opened_at(browser, report, viewport=viewport) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert_texts_fit(opened.page, "#board", 0, width)


@pytest.mark.parametrize("by", ["Recall@10", "NDCG@10"])
def test_brackets_and_caption_show_every_undecided_pair(page, by):
    """As many pairs are joined or named as the sentence below the board leaves undecided."""
    page.select_option("#board-metric", by)
    decided = int(page.inner_text("#board-pairs"))
    page.get_by_text("The places as a table").click()
    names = page.locator("#board-rows th").all_inner_texts()
    row = 34  # pixels from one place to the next
    pairs = set()
    for path in page.locator("#board .bracket").all():
        top, height = re.fullmatch(
            r"M[\d.]+ ([\d.]+)h3V([\d.]+)h-3", path.get_attribute("d")
        ).groups()
        first, last = (round((float(y) - 30) / row + 0.5) for y in (top, height))
        pairs |= set(combinations(names[first - 1 : last], 2))
    caption = page.inner_text("#board-apart")
    named = {pair for pair in combinations(names, 2) if " and ".join(pair) in caption}
    assert not named & pairs
    assert decided + len(pairs | named) == len(names) * (len(names) - 1) // 2
    if decided < 45:
        assert page.inner_text("#board-head").count(f" of {decided} pairs") == 1


def test_pointing_moves_the_slider(page):
    page.locator("#board").scroll_into_view_if_needed()
    box = page.locator("#board").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 150)
    assert page.input_value("#board-m") == "0"
    page.hover("#board-head")
    assert page.input_value("#board-m") != "0"
