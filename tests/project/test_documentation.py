"""The built site of the documentation: titles, descriptions, cards, links and search.

It is built without the output of notebooks, which takes longer than all tests of this file.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest

from sampled_metrics._base import defaults
from tests.browser.conftest import executable
from tests.conftest import ROOT

pytest.importorskip("mkdocs_jupyter", reason="the documentation's packages are not installed")
pytestmark = pytest.mark.long

IN_REPOSITORY = ("docs_dir: ", "custom_dir: ", "custom_templates: ", "paths: [")
OF_THEIR_OWN = ("404", "atlas", "lens", "report")
ADDRESS = "https://site.example/"


class Head(HTMLParser):
    """Title and meta tags of a page."""

    def __init__(self, text):
        super().__init__()
        self.meta = {}
        self.title = ""
        self.in_title = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.in_title = tag == "title" and not self.title
        if tag == "meta" and "content" in attributes:
            self.meta[attributes.get("name") or attributes.get("property")] = attributes["content"]

    def handle_data(self, data):
        if self.in_title:
            self.title += data.strip()

    def handle_endtag(self, tag):
        self.in_title &= tag != "title"


def build(folder):
    """Build the site, and return its folder."""
    text = (ROOT / "mkdocs.yml").read_text().replace("execute: true", "execute: false")
    for name in IN_REPOSITORY:
        text = text.replace(name, f"{name}{ROOT}/")
    text = text.replace("docs/hooks/", f"{ROOT}/docs/hooks/")
    text = text.replace("site_dir: results/site", f"site_dir: {folder / 'site'}")
    (folder / "mkdocs.yml").write_text(text)
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", folder / "mkdocs.yml"]
    settings = {**os.environ, "SITE_URL": ADDRESS, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(tmp_path_factory.mktemp("documentation"))


@pytest.fixture(scope="module")
def heads(site):
    """Heads of all pages, except those made without the theme."""
    paths = [path for path in site.rglob("*.html") if path.stem not in OF_THEIR_OWN]
    assert len(paths) > 25
    return {str(path.relative_to(site)): Head(path.read_text()) for path in paths}


def test_pages_have_distinct_titles_and_descriptions(heads):
    titles = [head.title for head in heads.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles)
    described = [head.meta["description"] for head in heads.values()]
    assert len(set(described)) == len(described)
    for words in described:
        assert 20 <= len(words) <= 160
        assert not re.search(r"[`*<]|\]\(|::| = [a-z]+\(", words), "no markup or code"


def test_metadata_of_pages_is_read():
    from mkdocs.utils.meta import get_data

    for path in ROOT.glob("docs/**/*.md"):
        text = path.read_text("utf-8")
        if text.startswith("---\n"):
            body, metadata = get_data(text)
            assert metadata, path.name
            assert not body.startswith("---"), path.name


def test_pages_have_a_card(site, heads):
    picture = (site / "card.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert [int.from_bytes(picture[at : at + 4]) for at in (16, 20)] == [1200, 630]
    for head in heads.values():
        assert head.meta["og:title"]
        assert head.meta["og:description"] == head.meta["description"]
        assert head.meta["og:image"] == f"{ADDRESS}card.png"
        assert head.meta["twitter:card"] == "summary_large_image"


def test_signatures_show_default_values(site):
    page = (site / "api/evaluate.html").read_text()
    plain = re.sub(r"<[^>]+>", "", page)
    assert "confidence: float = 0.95" in " ".join(plain.split())
    names = [name for name in vars(defaults) if name.isupper()]
    for path in (site / "api").rglob("*.html"):
        shown = re.findall(r'<span class="n">([A-Z][A-Z_]+)</span>', path.read_text())
        assert not set(shown) & set(names), path


def test_command_line_page_lists_commands_and_options(site):
    text = (site / "cli.html").read_text()
    for name in ("evaluate", "check", "check-negatives"):
        assert f'<h2 id="{name.replace(" ", "-")}"' in text
    assert "<code>--n-negatives</code>" in text


def test_atlas_has_one_name(site, heads):
    menu = (ROOT / "mkdocs.yml").read_text()
    name = re.search(r"(?m)^ +- (.*): measured/literature.md$", menu)[1]
    assert heads["measured/literature.html"].title.startswith(f"{name} ")
    assert Head((site / "atlas.html").read_text()).title == name
    assert f"<h1>{name}</h1>" in (site / "atlas.html").read_text()


def test_pages_without_the_theme_lead_back(site):
    for name in ("atlas", "report"):
        menu = re.search(r"(?s)<nav.*?</nav>", (site / f"{name}.html").read_text())[0]
        assert 'href="index.html"' in menu


def test_argument_types_are_links(site):
    page = (site / "api/correct.html").read_text()
    parameters = page.partition("Parameters:")[2].partition("Returns:")[0]
    for name in ("Data", "Names", "ArrayLike"):
        assert re.search(rf'<a [^>]*href="results.html#[^"]*"[^>]*>{name}</a>', parameters), name


def test_site_has_no_dead_links(site, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs/hooks")
    import links

    assert links.dead_links(site) == []


WORDS = {  # search terms, and a page that must be among the first three results
    "als": "libraries.html",
    "implicit": "libraries.html",
    "pytorch": "libraries.html",
    "my model": "libraries.html",
    "99 negatives": "reported.html",
    "exact": "scale.html",
    "figure 6": "results.html",
    "cutoff": "glossary.html",
    "slurm": "cluster.html",
    "reproduce": "study.html",
    "granularity": "reported.html",
    "significance test": "correct.html",
}
FIRST = {  # search terms, and the page that must be the first result
    "install": "index.html",
    "compare": "correct.html",
    "plan": "plan.html",
}
BROKEN_NAMES = """() => [...document.querySelectorAll("table code")].flatMap((code) => {
  const text = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (text.nextNode()) {
    for (const word of text.currentNode.data.matchAll(/[\\w.@-]+/g)) {
      const range = document.createRange();
      range.setStart(text.currentNode, word.index);
      range.setEnd(text.currentNode, word.index + word[0].length);
      if (range.getClientRects().length > 1) broken.push(word[0]);
    }
  }
  return broken;
})"""
BACKGROUND = "(selector) => getComputedStyle(document.querySelector(selector)).backgroundColor"


def in_chromium(use, **options):
    """Call a function with a page of Chromium, in a thread that has its own event loop."""
    library = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not executable():
        pytest.skip("no chromium on the path (apt-get install chromium)")

    def run():
        with library.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
            use(browser.new_page(**options))
            browser.close()

    with ThreadPoolExecutor(1) as thread:  # also beside other browser tests
        thread.submit(run).result()


@pytest.mark.parametrize("width", [390, 1280])
def test_names_in_tables_are_not_broken(site, width):
    def use(page):
        page.goto((site / "inputs.html").as_uri())
        page.locator("table").first.wait_for()
        assert page.evaluate(BROKEN_NAMES) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        widths = "[...document.querySelectorAll('table')].map((table) => table.offsetWidth)"
        if width == 390:
            assert max(page.evaluate(widths)) <= width

    in_chromium(use, viewport={"width": width, "height": 844})


@pytest.mark.parametrize("width", [390, 1280])
def test_lens_frame_is_as_high_as_its_content(site, width):
    def use(page):
        page.goto((site / "index.html").as_uri())
        frame = page.locator("iframe.study")
        frame.scroll_into_view_if_needed()
        main = page.frame_locator("iframe.study").locator("main")
        main.wait_for()
        page.wait_for_timeout(500)
        height = main.evaluate("(main) => main.getBoundingClientRect().bottom + scrollY")
        assert abs(frame.evaluate("(frame) => frame.clientHeight") - height) < 4

    in_chromium(use, viewport={"width": width, "height": 844})


def test_dark_pages_and_frames_have_one_background(site):
    def use(page):
        page.goto((site / "lens.html").as_uri())
        of_lens = page.evaluate(BACKGROUND, "body")
        page.goto((site / "results.html").as_uri())
        assert page.evaluate(BACKGROUND, "body") == of_lens

    in_chromium(use, color_scheme="dark")
    for path in (site / "pictures").glob("slope*.svg"):
        background = re.search(r'(?s)id="patch_1">.*?style="([^"]*)"', path.read_text())[1]
        assert "fill: none" in background, path


@pytest.fixture(scope="module")
def searched(site):
    """Pages found for each of the search terms, in order, the requests and the errors."""
    found, requests, complaints = {}, [], []

    def search(page):
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for words in {**WORDS, **FIRST}:
            page.goto((site / "api/evaluate.html").as_uri())
            page.keyboard.press("/")
            page.keyboard.type(words)
            results = page.locator("li.md-search-result__item > a")
            results.first.wait_for()
            addresses = [
                results.nth(place).get_attribute("href").partition("?")[0]
                for place in range(min(3, results.count()))
            ]
            found[words] = [address.partition("#")[0].rpartition("/")[2] for address in addresses]

    in_chromium(search)
    return found, requests, complaints


@pytest.mark.parametrize(("words", "page"), WORDS.items())
def test_page_is_among_the_first_three_results(searched, words, page):
    found, _, _ = searched
    assert page in found[words]


@pytest.mark.parametrize(("words", "page"), FIRST.items())
def test_page_is_the_first_result(searched, words, page):
    found, _, _ = searched
    assert found[words][0] == page


def test_search_of_local_files_needs_no_network(searched):
    _, requests, complaints = searched
    assert [address for address in requests if not address.startswith("file:")] == []
    assert complaints == []
