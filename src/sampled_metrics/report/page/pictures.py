"""Figures and the graph of the rules as inline SVG, and files as downloads inside the page."""

import base64
import gzip
import re
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError

CAPTIONS: dict[int | str, str] = {
    1: "Every metric against the rank of the relevant item among 10,000.",
    2: "Expected sampled metrics of the toy recommenders A, B and C against the number m of "
    "negatives. Rings: the order of the recommenders changes; letters above: their order, best "
    "first.",
    3: "Expected sampled metrics against the true rank, for m = 1, 10, 100 and 1,000 of 10,000. "
    "With few negatives every metric looks like AUC.",
    4: "Corrected average precision: the estimate at every sampled rank, and its expectation at "
    "every true rank; m = 100 of 10,000. The axes are linear below 0.1 and logarithmic above.",
    5: "Users by the true rank of their held-out item, for all ranks and for the top, with ties in "
    "random order. Dotted: ties ranked last.",
    6: "Expected Recall@10 against the number of negatives, uncorrected and corrected. Rings: the "
    "smallest m that orders a pair correctly on average. Dotted: exact Recall@10.",
    "z": "Ours minus published in standard errors, for each random cell: above beside the standard "
    "normal distribution, which chance alone would give, and below by row.",
}
_RULE = re.compile(r'\b(id="rule_(\w+)" class="node)"')


def picture(key: int | str, folder: Path) -> dict[str, Any]:
    """Read a figure: `id`, `name`, `caption`, `svg` and the downloads `csv` and `pdf`."""
    stem = folder / f"figure{key}" if isinstance(key, int) else folder / key
    return {
        "id": stem.name,
        "name": f"Figure {key}" if isinstance(key, int) else f"{key} scores",
        "caption": CAPTIONS[key],
        "svg": inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{stem.name}-"),
        "csv": download(stem.with_suffix(".csv")),
        "pdf": download(stem.with_suffix(".pdf")),
    }


def graph(path: Path, ran: set[str]) -> str:
    """Read the graph of the rules; the rules that ran get the class `ran`."""
    text = inline_svg(path.read_text("utf-8"), "")
    return _RULE.sub(lambda rule: f'{rule[1]}{" ran" if rule[2] in ran else ""}"', text)


def download(path: Path) -> dict[str, str]:
    """Return the `name` of a file that the page carries, and its content `packed`: gzip, base64."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    return {"name": path.name, "packed": base64.b64encode(content).decode()}


def inline_svg(text: str, prefix: str) -> str:
    """Make an SVG file part of a page: without prolog, comments and size, with a prefix to its ids.

    Examples
    --------
    >>> inline_svg('<?xml?><svg width="1pt"><!-- a --><g id="b"/><use href="#b"/></svg>', "f1-")
    '<svg aria-hidden="true"><g id="f1-b"/><use href="#f1-b"/></svg>'
    """
    start = text.find("<svg")
    if start < 0:
        raise InputError("a figure is not SVG: it has no <svg>")
    body = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[start:], flags=re.DOTALL)
    head, bracket, rest = body.partition(">")
    head = re.sub(r'\s(width|height)="[^"]*"', "", head).replace("<svg", '<svg aria-hidden="true"')
    rest = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", rest)
    return (head + bracket + rest).strip()
