"""docs/inputs.md shows the table of kinds of data."""

from sampled_metrics.read.kinds import KINDS
from tests.conftest import ROOT


def test_page_shows_the_kinds_in_their_order():
    page = (ROOT / "docs/inputs.md").read_text("utf-8")
    lines = page.partition("\n## Kinds of data\n")[2].partition("\n## ")[0].splitlines()
    shown = [line for line in lines if line.startswith("| ")]
    rows = [f"| {row.kind.value} | `{row.example}` | {row.meaning} |" for row in KINDS]
    assert shown == ["| kind | example | data |", "| :-- | :-- | :-- |", *rows]
