"""Links of README and CONTRIBUTING, and pictures of all pages.

The build of the documentation checks the links of its pages, here on a small site.
"""

import posixpath
import re
import runpy
import subprocess
from functools import cache
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.helpers.documents import text_of

ON_GITHUB = ["README.md", "CONTRIBUTING.md"]
PAGES = [*ON_GITHUB, *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md")))]
BLOCK = r"(?ms)^ *```.*?^ *```$"
CODE = BLOCK + r"|`[^`\n]+`|<!--.*?-->"
LINK = r'\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"'
HOOKS = ROOT / "docs/hooks"


def links_of(text):
    """Return the relative links of a page in order, without those in code."""
    links = [a or b for a, b in re.findall(LINK, re.sub(CODE, "", text))]
    return [link for link in links if not re.match(r"[a-z]+:", link)]


@cache
def anchors_of(name):
    """Return the anchors of a page: headings as GitHub names them, and documented names."""
    text = re.sub(BLOCK, "", text_of(name))
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    return {
        *(re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in headings),
        *re.findall(r"(?m)^::: (\S+)$", text),
        *re.findall(r"(?m)^#+ .* \{ #(\S+) \}$", text),
    }


@pytest.fixture(scope="module")
def tracked():
    """Files that git tracks, or all files without git."""
    if not (ROOT / ".git").exists():
        return {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*")}
    words = ["git", "ls-files"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def dead_links(name, text, tracked):
    dead = []
    for link in links_of(text):
        path, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        is_page = target.endswith(".md") and target in tracked
        if target not in tracked or (is_page and anchor and anchor not in anchors_of(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("name", ON_GITHUB)
def test_relative_links_lead_to_tracked_files(name, tracked):
    assert dead_links(name, text_of(name), tracked) == []


def test_dead_links_and_anchors_are_detected(tracked):
    text = "[a](index.md) ![b](no.svg) [c](study.md#nowhere) `[d](code.md)`"
    text += ' <img src="../no.png"> [e](https://example.org/) [f](study.md#what-comes-out)'
    assert dead_links("docs/x.md", text, tracked) == ["no.svg", "study.md#nowhere", "../no.png"]


@pytest.fixture
def hook():
    """The hook that shows pictures of the repository in the site."""
    pytest.importorskip("mkdocs", reason="the documentation's packages are not installed")
    return runpy.run_path(str(HOOKS / "pictures.py"))


def test_site_links_to_picture_copies_and_page(hook):
    text = "![a](../results/reference/figures/figure6.svg) ![b](../results/reference/slope.svg)\n"
    text += "[c](../results/reference/report.png)\n<!-- the lens -->\n"
    shown = hook["on_page_markdown"](text, page=SimpleNamespace())
    assert "(pictures/figure6.svg) ![b](pictures/slope.svg)" in shown
    assert "[c](report.html)" in shown
    assert 'src="lens.html"' in shown


def test_committed_pictures_are_current(monkeypatch):
    monkeypatch.syspath_prepend(str(HOOKS))
    guides = runpy.run_path(str(HOOKS / "guides.py"))
    names = {path.name for path in (ROOT / "docs/pictures").iterdir()}
    assert names == set(guides["GUIDES"])
    for name, draw in guides["GUIDES"].items():
        command = "python docs/hooks/guides.py docs/pictures"
        assert guides["svg_of"](draw).decode() == text_of(f"docs/pictures/{name}"), command


def test_pictures_have_descriptions():
    for name in PAGES:
        for words, source in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text_of(name)):
            assert len(words) > 20, (name, source)
        for tag in re.findall(r"<img [^>]*>", text_of(name)):
            assert re.search('alt="[^"]{20,}"', tag), name


# The hook of the documentation: links in notebooks, and dead links of the built site.


SITE = {
    "index.html": '<h1 id="top-of-all"></h1><a href="a/">1</a><a href="https://x.org/b/">2</a>',
    "a/index.html": '<a href="../#top-of-all">3</a><img src="../p%20q.png"><a href="#here">4</a>'
    '<p id="here"></p><a href="/a/index.html#">5</a><a href="../#row=one">7</a>',
    "p q.png": "",
}


@pytest.fixture(scope="module")
def links_hook():
    return runpy.run_path(str(ROOT / "docs/hooks/links.py"))


def write_site(folder, pages):
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_site_without_dead_links_passes(links_hook, tmp_path):
    assert links_hook["dead_links"](write_site(tmp_path, SITE)) == []
    links_hook["on_post_build"]({"site_dir": str(tmp_path)})


@pytest.mark.parametrize("link", ["../inputs.md", "b/", "/b/", "#there", "../#here", "../p.png"])
def test_dead_link_stops_build(links_hook, tmp_path, link):
    site = write_site(tmp_path, SITE | {"a/index.html": f'<p id="here"></p><a href="{link}">6</a>'})
    assert links_hook["dead_links"](site) == [f"a/index.html: {link}"]
    with pytest.raises(Exception, match="dead links") as failure:
        links_hook["on_post_build"]({"site_dir": str(site)})
    # which MkDocs prints as one error
    assert type(failure.value).__name__ == "PluginError"


def test_notebook_links_lead_to_pages(links_hook):
    def url(place):
        return SimpleNamespace(url_relative_to=lambda page: f"{place} from {page.src_uri}")

    files = {"inputs.md": url("inputs/"), "notebooks/gallery.py": url("gallery/")}
    page = SimpleNamespace(file=SimpleNamespace(src_uri="cases/full.py"))
    html = (
        '<a href="../inputs.md#ids"></a><a href="../notebooks/gallery.py"></a>'
        '<a href="full.py"></a><a href="https://x.org/a.md"></a>'
    )
    build = {"page": page, "files": SimpleNamespace(get_file_from_path=files.get), "config": {}}
    assert links_hook["on_page_content"](html, **build) == (
        '<a href="inputs/ from cases/full.py#ids"></a><a href="gallery/ from cases/full.py"></a>'
        '<a href="full.py"></a><a href="https://x.org/a.md"></a>'
    )
