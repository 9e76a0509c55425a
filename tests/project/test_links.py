"""Links and pictures of README, CONTRIBUTING and the guides lead to tracked files."""

import posixpath
import re
import runpy
import subprocess
from functools import cache
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.helpers.documents import text_of

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md"))),
]
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
        *(
            re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-")
            for line in headings
        ),
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
        target = (
            posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if path
            else name
        )
        is_page = target.endswith(".md") and target in tracked
        if target not in tracked or (
            is_page and anchor and anchor not in anchors_of(target)
        ):
            dead.append(link)
    return dead


@pytest.mark.parametrize("name", PAGES)
def test_relative_links_lead_to_tracked_files(name, tracked):
    assert dead_links(name, text_of(name), tracked) == []


def test_dead_links_and_anchors_are_detected(tracked):
    text = "[a](index.md) ![b](no.svg) [c](study.md#nowhere) `[d](code.md)`"
    text += ' <img src="../no.png"> [e](https://example.org/) [f](study.md#what-comes-out)'
    assert dead_links("docs/x.md", text, tracked) == [
        "no.svg",
        "study.md#nowhere",
        "../no.png",
    ]


def test_link_pattern_matches_links():
    counts = {name: len(links_of(text_of(name))) for name in PAGES}
    assert sum(counts.values()) > 100
    assert counts["README.md"] > 10


@pytest.fixture
def hook():
    """The hook that shows pictures of the repository in the site."""
    pytest.importorskip(
        "mkdocs", reason="the documentation's packages are not installed"
    )
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
        assert guides["svg_of"](draw).decode() == text_of(f"docs/pictures/{name}"), (
            command
        )


def test_pictures_have_descriptions():
    for name in PAGES:
        for words, source in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text_of(name)):
            assert len(words) > 20, (name, source)
        for tag in re.findall(r"<img [^>]*>", text_of(name)):
            assert re.search('alt="[^"]{20,}"', tag), name
