"""Tables of names and numbers are those of tabulate, which is imported for others only."""

import math
import random

import pytest
from tabulate import tabulate

from sampled_metrics._base.text import table_of

WORDS = (
    *("x", "a b ", "", "-", "0.12", "recall@10", " lead", "12", "1,000", "nan", "A" * 12),
    *("Ü", "漢字"),
)
VALUES = {
    str: WORDS,
    int: (0, 1, -22, 6040, 10**9),
    float: (0.0, -1e-9, 0.123456789, 12.5, 1e10, math.nan, math.inf, -3.25),
    bool: (True, False),
}


def by_tabulate(rows):
    keys = list(rows[0])
    texts = {key for row in rows for key, value in row.items() if isinstance(value, str)}
    counts = ["," if key.startswith("n_") else "" for key in keys]
    names = [i for i, key in enumerate(keys) if key in texts and not counts[i]]
    cells = []
    for row in rows:
        stripped = {k: v.strip() if isinstance(v, str) else v for k, v in row.items()}
        absent = [k for k, v in row.items() if isinstance(v, float) and math.isnan(v)]
        cells.append(stripped | dict.fromkeys(absent))
    laid_out = tabulate(
        *(cells, "keys", "simple", ".5f", counts), missingval="-", disable_numparse=names
    )
    return laid_out + "\n"


@pytest.mark.parametrize("seed", range(300))
def test_tables_are_those_of_tabulate(seed):
    rng = random.Random(seed)  # noqa: S311
    kinds = rng.choices(list(VALUES), [3, 3, 3, 1], k=rng.randint(1, 5))
    names = [rng.choice(["", "metric", "n_users", "n_", "b - a (95 %)"]) + str(i) * (i > 0)
             for i in range(len(kinds))]  # fmt: skip
    rows = [
        {
            name: None if rng.random() < 0.2 else rng.choice(VALUES[kind])
            for name, kind in zip(names, kinds, strict=True)
        }
        for _ in range(rng.randint(1, 5))
    ]
    assert table_of(rows) == by_tabulate(rows)
