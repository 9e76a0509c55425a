"""How often `check` flags planted errors, and sound tables; `make measure PAGE=check`.

Writes the table of docs/reported.md.
"""

from pathlib import Path

import numpy as np

from benchmarks.markdown import write_table
from sampled_metrics import check
from tests.helpers import printed_tables

PAGE = Path(__file__).parents[2] / "docs/reported.md"
SOUND, WRONG = 200, 52


def flagged(tables: list[list[dict[str, str]]]) -> int:
    """Count the tables of which a row has a flag."""
    return sum(any(row.flags for row in check(table)) for table in tables)


def main() -> None:
    """Write the table."""
    rows = []
    rng = np.random.default_rng(1)
    sound = flagged([printed_tables.correct_table(rng) for _ in range(SOUND)])
    bare = flagged([printed_tables.correct_table(rng, exact=False) for _ in range(SOUND)])
    rows.append(line("none", SOUND, sound, bare))
    each = WRONG // len(printed_tables.ERRORS)
    for error in printed_tables.ERRORS:
        both = flagged([printed_tables.table_with_error(error, rng) for _ in range(each)])
        bare = flagged(
            [printed_tables.table_with_error(error, rng, exact=False) for _ in range(each)]
        )
        rows.append(line(error, each, both, bare))
    write_table(PAGE, rows)


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
