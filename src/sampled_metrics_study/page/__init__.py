"""The page of a study, and the atlas of printed numbers; neither loads another file."""

from collections.abc import Mapping, Sequence
from typing import Any

from sampled_metrics import pages

PACKAGES = ("sampled_metrics_study.page", *pages.PACKAGES)
SCRIPTS = ("base", "leaderboard", "lens", "chance", "paper", "picture", "page")


def render(
    content: Mapping[str, Any],
    template: str = "study.html",
    scripts: Sequence[str] = SCRIPTS,
    styles: Sequence[str] = ("page", "leaderboard"),
) -> str:
    """Return the HTML page of the content of `contents.collect`, in the layout of the library."""
    return pages.render(content, template, scripts, styles, PACKAGES)
