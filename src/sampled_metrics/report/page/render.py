"""Render the dictionary of `collect` as the page."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import jinja2

SCRIPTS = (
    *("metrics", "numerics", "spectrum", "monotone", "estimators", "users"),  # the mathematics
    *("svg", "charts", "controls"),
    *("hero", "tour", "item", "panels", "runs", "ranges", "budget"),  # the parts of the page
    *("explorer", "share", "cells"),
)
SECTIONS = {
    "why": "Why",
    "corrections": "Corrections",
    "ranges": "Ranges",
    "budget": "Budget",
    "overview": "Summary",
    "negatives": "Given negatives",
    "tables": "Tables",
    "figures": "Figures",
    "claims": "Claims",
    "audit": "Audit",
    "provenance": "Provenance",
    "values": "Values",
    "comparisons": "Comparisons",
    "cost": "To know more",
    "cite": "Cite",
}


def render(content: Mapping[str, Any], template: str = "page.html") -> str:
    """Return the page: one HTML document that loads no other file.

    All texts in `content` are escaped; scripts, styles, numbers and downloads are embedded.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sampled_metrics.report.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(
        **content,
        names=SECTIONS,
        style=_static("page.css"),
        scripts=_inline("\n".join(_static(f"{name}.js") for name in SCRIPTS)),
        data=_data(content["explorer"]),
    )


def _static(name: str) -> str:
    return files("sampled_metrics.report.page").joinpath("static", name).read_text("utf-8")


def _inline(script: str) -> str:
    """Keep a script from ending its element or opening a comment."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _data(content: object) -> str:
    """JSON for a script element, without characters that are special in HTML."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
