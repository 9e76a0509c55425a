"""An HTML page about the user's own ranks, which loads no other file."""

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import jinja2

from sampled_metrics import __version__
from sampled_metrics._base.palette import slots, stylesheet
from sampled_metrics._base.text import escape_html
from sampled_metrics.pages.bars import axis_ticks

PACKAGES = ("sampled_metrics.pages",)
SCRIPTS = ("base", "leaderboard", "lens", "chance", "item", "picture", "page")


def render(
    content: Mapping[str, Any],
    template: str = "report.html",
    scripts: Sequence[str] = SCRIPTS,
    styles: Sequence[str] = ("page", "leaderboard"),
    packages: Sequence[str] = PACKAGES,
) -> str:
    """Return the HTML of a page; scripts, styles, numbers and downloads are embedded.

    Parameters
    ----------
    content
        Variables of the template, see `sampled_content`. All texts are escaped. The scripts get
        `numbers` as JSON.
    template, scripts, styles
        Names of files in the folders `templates` and `static` of the packages.
    packages
        Where these files are searched, first match first.
    """
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(list(map(jinja2.PackageLoader, packages))),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["coded"] = escape_html
    environment.globals["axis_ticks"] = axis_ticks
    environment.globals["slots"] = slots
    # Scripts must not end their element or open a comment; JSON must not contain HTML.
    script = "\n".join(_static(f"{name}.js", packages) for name in scripts)
    data = json.dumps(content["numbers"], separators=(",", ":"))
    return environment.get_template(template).render(
        **{"version": __version__, **content},
        style="\n".join([stylesheet(), *(_static(f"{name}.css", packages) for name in styles)]),
        scripts=script.replace("</script", "<\\/script").replace("<!--", "<\\!--"),
        data=data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    )


def _static(name: str, packages: Sequence[str]) -> str:
    """Read a file of the first package that has it, without indentation and lines of comments."""
    paths = (files(package).joinpath("static", name) for package in packages)
    text = next(path for path in paths if path.is_file()).read_text("utf-8")
    return re.sub(r"^[ \t]*(//.*\n)?", "", text, flags=re.MULTILINE)
