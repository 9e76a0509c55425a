"""Recommended lists of three users, whose metrics are known by hand."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

# Best first. The held-out item of u1 (b) is 2nd, that of u2 (c) 3rd, that of u3 (c) 1st.
LISTS = {"u1": ["a", "b", "c"], "u2": ["b", "a", "c"], "u3": ["c", "b", "a"]}
HELD_OUT = {"u1": "b", "u2": "c", "u3": "c"}
RIGHT = {"recall@1": 1 / 3, "rr@3": (1 / 2 + 1 / 3 + 1) / 3}
# The held-out items as labels, with an irrelevant item for each user.
LABELLED = pd.DataFrame(
    [(u, i, int(i == HELD_OUT[u])) for u, items in LISTS.items() for i in (HELD_OUT[u], items[0])],
    columns=["user_id", "item_id", "label"],
).drop_duplicates()


def means(results: Iterable[Any]) -> dict[str, float]:
    """Return the value of each metric."""
    return {result.metric: result.value for result in results}


def table(**columns: Any) -> pd.DataFrame:
    """Return a table of columns."""
    return pd.DataFrame(columns)
