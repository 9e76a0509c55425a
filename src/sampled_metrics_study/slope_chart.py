"""What the slope chart says and where its lines end, for pictures and for the page.

This module does not import matplotlib, so that the page is made faster.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from sampled_metrics.evaluation.compare import Compared


def describe_decisions(pairs: Iterable[Compared]) -> str:
    """Return a sentence: which orders full rankings decide, and which they do not."""
    decided = []
    undecided = []
    for pair in pairs:
        if pair.order == "a":
            decided.append(f"{pair.a} above {pair.b}")
        elif pair.order == "b":
            decided.append(f"{pair.b} above {pair.a}")
        else:
            undecided.append(f"{pair.a} against {pair.b}")
    parts = [f"decide {' and '.join(decided)}" if decided else "decide no order"]
    if undecided:
        parts.append(f"{' and '.join(undecided)} is undecided")
    return f"Full rankings (95 %, Holm) {'; '.join(parts)}."


def headline(by_sampled: Sequence[str], by_exact: Sequence[str], m: int) -> str:
    """Return the sentence above the chart, about the recommender that looks best.

    `by_sampled` and `by_exact` are the names of the recommenders, best first, by the metric against
    m random items and over all items.

    Examples
    --------
    >>> headline("XYZ", "ZYX", 100)
    'Against 100 random items X looks best of three. Over all items it is the worst.'
    """
    best = by_sampled[0]
    place = 1 + by_exact.index(best)
    places = {1: "it is the best", len(by_exact): "it is the worst"}
    number = {2: "two", 3: "three"}.get(len(by_exact), str(len(by_exact)))
    over_all = places.get(place, f"it is in place {place}")
    return f"Against {m:,} random items {best} looks best of {number}. Over all items {over_all}."


def shares_of_range(column: pd.Series) -> Any:
    """Scale values linearly, so that the lowest is 0 and the highest is 1.

    Examples
    --------
    >>> shares_of_range(pd.Series([7.0, 8.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return (column - column.min()) / (column.max() - column.min())
