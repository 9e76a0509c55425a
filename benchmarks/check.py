"""How often `check` flags planted errors, and sound tables; `make check-coverage`.

Writes the table of docs/check.md.
"""

import re
from pathlib import Path

import numpy as np

from sampled_metrics import check
from sampled_metrics._base.text import table_of
from tests.unit import planted

PAGE = Path(__file__).parents[1] / "docs/check.md"
SOUND, WRONG = 200, 52
TABLE = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)


def flagged(tables: list[list[dict[str, str]]]) -> int:
    """Count the tables of which a row has a flag."""
    return sum(any(row.flags for row in check(table)) for table in tables)


def main() -> None:
    """Write the table."""
    rows = []
    rng = np.random.default_rng(1)
    sound = flagged([planted.sound_table(rng) for _ in range(SOUND)])
    bare = flagged([planted.sound_table(rng, exact=False) for _ in range(SOUND)])
    rows.append(line("none", SOUND, sound, bare))
    each = WRONG // len(planted.ERRORS)
    for error in planted.ERRORS:
        both = flagged([planted.wrong_table(error, rng) for _ in range(each)])
        bare = flagged([planted.wrong_table(error, rng, exact=False) for _ in range(each)])
        rows.append(line(error, each, both, bare))
    text = PAGE.read_text(encoding="utf-8")
    table = table_of(rows, "github")
    PAGE.write_text(TABLE.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    print(table)


def line(error: str, tables: int, both: int, bare: int) -> dict[str, str]:
    """One row of the table."""
    return {
        "error": error,
        "tables": str(tables),
        "flagged": str(both),
        "flagged without metrics over all items": str(bare),
    }


if __name__ == "__main__":
    main()
