"""One HTML page of one's own ranks, which loads no other file."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2

from sampled_metrics import __version__
from sampled_metrics._base.text import escape_html
from sampled_metrics.pages.words import axis

PACKAGES = ("sampled_metrics.pages",)
SCRIPTS = ("base", "leaderboard", "lens", "chance", "item", "page")


def render(
    content: Mapping[str, Any],
    template: str = "own.html",
    scripts: Sequence[str] = SCRIPTS,
    styles: Sequence[str] = ("page", "leaderboard"),
    packages: Sequence[str] = PACKAGES,
) -> str:
    """Return the page of the content that `own_sampled` and others collect.

    Templates, scripts and styles are in the folders `templates` and `static` of the first of the
    `packages` that has them. All texts in `content` are escaped; scripts, styles, numbers and
    downloads are embedded.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(list(map(jinja2.PackageLoader, packages))),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["coded"] = escape_html
    environment.globals["axis"] = axis
    # A script must not end its element or open a comment, and JSON must not hold HTML's signs.
    script = "\n".join(_static(f"{name}.js", packages) for name in scripts)
    data = json.dumps(content["numbers"], separators=(",", ":"))
    return environment.get_template(template).render(
        **{"version": __version__, **content},
        style="\n".join(_static(f"{name}.css", packages) for name in styles),
        scripts=script.replace("</script", "<\\/script").replace("<!--", "<\\!--"),
        data=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    )


def _static(name: str, packages: Sequence[str]) -> str:
    places = (files(package).joinpath("static", name) for package in packages)
    return next(place for place in places if place.is_file()).read_text("utf-8")
