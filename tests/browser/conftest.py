"""Fixtures that open the page of the reference run in Chromium."""

import os
import shutil
from contextlib import contextmanager

import pytest

DESKTOP = {"width": 1280, "height": 900}


def executable():
    """Path of Chromium, from the variable CHROMIUM or on the path."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window; skips the test if it or playwright is missing."""
    if not executable():
        pytest.skip("no chromium on the path (apt-get install chromium)")
    library = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with library.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    # Imported here, because each run of pytest reads this file before it starts its workers.
    from sampled_metrics_study.page import render
    from sampled_metrics_study.page.contents import collect
    from tests.study.test_page import sources

    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(collect(**sources())), encoding="utf-8")
    return path


class Opened:
    """A page with its requests and its warnings and errors."""

    def __init__(self, context, path, address=""):
        self.page = context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._log)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri() + address)

    def _log(self, message):
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def choose(self, **values):
        """Change the settings of the lens as its controls do."""
        self.page.evaluate("(values) => choose(values)", values)

    def open_details(self):
        """Open everything that a reader can open."""
        self.page.evaluate(
            "document.querySelectorAll('details').forEach((each) => each.open = true)"
        )

    def keep_first_rows(self):
        """Remove the rows of long tables that are like the rows before them."""
        self.page.evaluate(
            "document.querySelectorAll('tbody tr:nth-child(n + 6)').forEach((row) => row.remove())"
        )

    def show(self, width, height, **media):
        """Change the size of the screen, and wait until the charts fit it."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(**media)
        self.page.evaluate(
            "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))"
        )


@contextmanager
def opened_at(browser, path, address="", **options):
    """A page in a browser with these options, closed at the end."""
    context = browser.new_context(**options)
    try:
        yield Opened(context, path, address)
    finally:
        context.close()


def assert_texts_fit(page, chart, left, right):
    """All texts of a chart lie between two positions and are large enough to read."""
    texts = page.locator(f"{chart} text").all()
    assert texts
    for text in texts:
        box = text.bounding_box()
        assert left <= box["x"], text.text_content()
        assert box["x"] + box["width"] <= right, text.text_content()
        assert box["height"] >= 10, text.text_content()


@pytest.fixture(scope="module")
def opened(browser, report):
    options = {"viewport": DESKTOP, "permissions": ["clipboard-write"]}
    with opened_at(browser, report, **options) as page:
        yield page


@pytest.fixture
def fresh(opened):
    """The page of the module, with the initial screen size and controls."""
    opened.show(color_scheme="light", media="screen", reduced_motion="no-preference", **DESKTOP)
    opened.choose(metric="recall@10", estimator="sampled", m=100)
    return opened
