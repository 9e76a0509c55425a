"""Names that other libraries give to the metrics of this one."""

import csv
from pathlib import Path


def synonyms() -> list[dict[str, str]]:
    """Return what metrics of other libraries are called here: library, theirs, ours and note.

    K is a cut-off; the note says where the two differ, or which option of the library makes them
    agree.
    """
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
