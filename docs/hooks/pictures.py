"""Copy pictures of results/reference into the site; insert the lens.

GitHub shows pictures from any folder of the repository. A site has
no file from outside docs/, so it gets copies of the pictures. The
picture of the study's page becomes a link to the page itself.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

REFERENCE = Path(__file__).parents[2] / "results/reference"
PICTURE = re.compile(r"\.\./results/reference/((?:\w+/)?[\w-]+\.svg)")
PAGE = "../results/reference/report.png"
LENS = "<!-- the lens -->"  # GitHub shows no page within a page
FRAME = """\
Why? A sampled metric measures a different cut-off. Try it:

<iframe class="study" src="lens.html" loading="lazy"
title="The lens: what a sampled metric measures"></iframe>
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the pictures that pages show of the reference run."""
    names: set[str] = set()
    for path in Path(config["docs_dir"]).glob("*.md"):
        names.update(PICTURE.findall(path.read_text("utf-8")))
    for name in sorted(names):
        text = (REFERENCE / name).read_text("utf-8")
        file = File.generated(config, in_site(name), content=text)
        files.append(file)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link to the copies and to the study's page; insert the lens."""
    local = PICTURE.sub(lambda path: in_site(path[1]), markdown)
    return local.replace(PAGE, "report.html").replace(LENS, FRAME)


def in_site(name: str) -> str:
    """Return the path of a picture in the site."""
    return f"pictures/{Path(name).name}"
