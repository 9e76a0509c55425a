"""Adapt the links of notebooks, and check all links of the site.

`mkdocs build` calls the functions that start with `on_`. MkDocs
converts links between Markdown files, but not links in notebooks, and
it does not check the built site.
"""

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.exceptions import PluginError

TO_SOURCE = re.compile(r'(?<=href=")([^":#]+\.(?:md|py))(?=[#"])')


def on_page_content(html: str, **build: Any) -> str:
    """Return the page with links to pages instead of source files."""
    page, files = build["page"].file, build["files"]
    folder = posixpath.dirname(page.src_uri)

    def to_page(link: re.Match[str]) -> str:
        source = posixpath.normpath(posixpath.join(folder, link[1]))
        target = files.get_file_from_path(source)
        if target is None:
            return link[1]
        return target.url_relative_to(page)

    return TO_SOURCE.sub(to_page, html)


def on_post_build(config: Any) -> None:
    """Raise an error that lists the dead links of the built site."""
    dead = dead_links(Path(config["site_dir"]))
    if dead:
        raise PluginError("dead links:\n" + "\n".join(dead))


class _Page(HTMLParser):
    """The anchors of a page, and what it links to or shows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors = {"", "top"}
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            if name in ("href", "src"):
                self.links.append(value)


def dead_links(site: Path) -> list[str]:
    """Return a line for each link that leads nowhere in the site."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = _Page(path.read_text(encoding="utf-8"))
    dead = []
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = _target(site, path, unquote(parts.path))
            is_alive = target.is_file()
            if is_alive and target in pages:
                anchor = unquote(parts.fragment)
                # such as #row=KEY, read by a script of the page
                is_for_script = "=" in anchor
                is_alive = (
                    is_for_script or anchor in pages[target].anchors
                )
            if not is_alive:
                dead.append(f"{name}: {link}")
    return dead


def _target(site: Path, page: Path, link: str) -> Path:
    """Return the target file of a link; for a folder, its index."""
    if not link:
        return page
    start = site if link.startswith("/") else page.parent
    path = posixpath.join(start.as_posix(), link.lstrip("/"))
    target = Path(posixpath.normpath(path))
    if target.is_dir():
        return target / "index.html"
    return target
