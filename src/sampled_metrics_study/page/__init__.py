"""The page of a study, which loads no other file, and that of printed numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from sampled_metrics import pages

PACKAGES = ("sampled_metrics_study.page", *pages.PACKAGES)
SCRIPTS = ("base", "leaderboard", "lens", "chance", "paper", "page")


def render(
    content: Mapping[str, Any],
    template: str = "study.html",
    scripts: Sequence[str] = SCRIPTS,
    styles: Sequence[str] = ("page", "leaderboard"),
) -> str:
    """Return the page of what `contents.collect` reads, with the library's frame and parts."""
    return pages.render(content, template, scripts, styles, PACKAGES)
