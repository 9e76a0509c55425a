"""Figures and downloads that the page of a study carries in itself."""

import base64
import gzip
import re
from pathlib import Path
from typing import Any


def picture(stem: Path) -> dict[str, Any]:
    """Read a figure: `id`, `svg` and the download `csv`."""
    return {
        "id": stem.name,
        "svg": inline_svg(stem.with_suffix(".svg").read_text("utf-8"), f"{stem.name}-"),
        "csv": download(stem.with_suffix(".csv")),
    }


def download(path: Path) -> dict[str, str]:
    """Return the `name` of a file that the page carries, and its content `packed`: gzip, base64."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    return {"name": path.name, "packed": base64.b64encode(content).decode()}


def inline_svg(text: str, prefix: str) -> str:
    """Make an SVG file part of a page: no prolog, comments and size, and a prefix to its ids.

    The font that all its texts have is stated once.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(width|height)="[^"]*"', "", text, count=2)  # for the whole picture
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}", text)
    text = re.sub(r"font-family:'DejaVu Sans'[^;\"]*;?", "", text)
    font = 'font-family="DejaVu Sans, Verdana, sans-serif"'
    return text.replace("<svg", f'<svg aria-hidden="true" {font}', 1).strip()
