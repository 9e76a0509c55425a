"""The hook of the documentation: links in notebooks, and dead links of the built site."""

import runpy
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT

PAGES = {
    "index.html": '<h1 id="top-of-all"></h1><a href="a/">1</a><a href="https://x.org/b/">2</a>',
    "a/index.html": '<a href="../#top-of-all">3</a><img src="../p%20q.png"><a href="#here">4</a>'
    '<p id="here"></p><a href="/a/index.html#">5</a><a href="../#row=one">7</a>',
    "p q.png": "",
}


@pytest.fixture(scope="module")
def hook():
    return runpy.run_path(str(ROOT / "docs/hooks/links.py"))


def write(folder, pages):
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_site_without_dead_links_passes(hook, tmp_path):
    assert hook["dead_links"](write(tmp_path, PAGES)) == []
    hook["on_post_build"]({"site_dir": str(tmp_path)})


@pytest.mark.parametrize(
    "link", ["../inputs.md", "b/", "/b/", "#there", "../#here", "../p.png"]
)
def test_dead_link_stops_build(hook, tmp_path, link):
    site = write(
        tmp_path, PAGES | {"a/index.html": f'<p id="here"></p><a href="{link}">6</a>'}
    )
    assert hook["dead_links"](site) == [f"a/index.html: {link}"]
    with pytest.raises(Exception, match="dead links") as failure:
        hook["on_post_build"]({"site_dir": str(site)})
    # which MkDocs prints as one error
    assert type(failure.value).__name__ == "PluginError"


def test_notebook_links_lead_to_pages(hook):
    def url(place):
        return SimpleNamespace(
            url_relative_to=lambda page: f"{place} from {page.src_uri}"
        )

    files = {"inputs.md": url("inputs/"), "notebooks/gallery.py": url("gallery/")}
    page = SimpleNamespace(file=SimpleNamespace(src_uri="cases/full.py"))
    html = (
        '<a href="../inputs.md#ids"></a><a href="../notebooks/gallery.py"></a>'
        '<a href="full.py"></a><a href="https://x.org/a.md"></a>'
    )
    build = {
        "page": page,
        "files": SimpleNamespace(get_file_from_path=files.get),
        "config": {},
    }
    assert hook["on_page_content"](html, **build) == (
        '<a href="inputs/ from cases/full.py#ids"></a><a href="gallery/ from cases/full.py"></a>'
        '<a href="full.py"></a><a href="https://x.org/a.md"></a>'
    )
