"""Texts of files of the repository."""

from tests.conftest import ROOT


def text_of(name: str) -> str:
    """Return the text of a file."""
    return (ROOT / name).read_text(encoding="utf-8")
