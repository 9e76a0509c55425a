"""How often `check` flags planted errors, and correct tables; `make measure PAGE=check`.

Writes the table of docs/reported.md.
"""

from pathlib import Path

import numpy as np

from benchmarks.markdown import write_table
from sampled_metrics import check
from tests.helpers import printed_tables

PAGE = Path(__file__).parents[2] / "docs/reported.md"
SOUND, WRONG = 200, 52


def count_flagged(tables: list[list[dict[str, str]]]) -> int:
    """Count the tables that have a row with a flag."""
    return sum(any(row.flags for row in check(table)) for table in tables)


def main() -> None:
    """Write the table."""
    rows = []
    rng = np.random.default_rng(1)
    sound = count_flagged([printed_tables.correct_table(rng) for _ in range(SOUND)])
    without_exact = count_flagged(
        [printed_tables.correct_table(rng, exact=False) for _ in range(SOUND)]
    )
    rows.append(table_row("none", SOUND, sound, without_exact))
    n_tables = WRONG // len(printed_tables.ERRORS)
    for error in printed_tables.ERRORS:
        with_exact = count_flagged(
            [printed_tables.table_with_error(error, rng) for _ in range(n_tables)]
        )
        without_exact = count_flagged(
            [printed_tables.table_with_error(error, rng, exact=False) for _ in range(n_tables)]
        )
        rows.append(table_row(error, n_tables, with_exact, without_exact))
    write_table(PAGE, rows)


def table_row(error: str, tables: int, with_exact: int, without_exact: int) -> dict[str, str]:
    """Return a row of the table."""
    return {
        "error": error,
        "tables": str(tables),
        "flagged": str(with_exact),
        "flagged without metrics over all items": str(without_exact),
    }


if __name__ == "__main__":
    main()
