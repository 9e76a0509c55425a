"""Sentences of both pages about estimates and ranges, and the bars of ranges."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics.estimators import Estimator
from sampled_metrics.inference.results import FLAT
from sampled_metrics.metrics.measures import Measure, parse_measure

MOST_PAIRS, MOST_NAMED, RUNS = 3, 4, 20  # in words; RUNS are drawn as marks
Orders = Mapping[tuple[int, int], tuple[int, float | None]]  # sign and probability by pair


class Setting(NamedTuple):
    """A metric by an estimator from m negatives: what it gives on average."""

    measure: Measure
    estimator: Estimator
    m: int
    n: int  # mean number of candidates
    mean: Float  # shape (recommenders,)
    sd: Float
    by_rank: Float  # mean estimate at ranks of the chart
    half: int | None  # rank at which credit has halved; None for AUC, and if all get the same


def percent(value: float) -> str:
    """Write a share in percent, with two decimals below 10 %."""
    return f"{100 * value:.{2 if abs(value) < 0.09995 else 1}f}\xa0%"


def items(m: int) -> str:
    """Write a number of random items."""
    return f"{m:,} random item{'s' * (m != 1)}"


def listed(names: Sequence[str]) -> str:
    """Write names as a list, such as X, Y and Z."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def standings(values: Float) -> list[tuple[int, str]]:
    """List the places of values in decreasing order, each with its value in percent."""
    order = np.argsort(-np.round(values, 9), kind="stable").tolist()
    return [(i, percent(float(values[i]))) for i in order]


def headline(setting: Setting) -> list[str]:
    """Name what was asked, against what, and what was measured."""
    measure, m, half = setting.measure, setting.m, setting.half
    corrected = "" if setting.estimator.name == "sampled" else f", by {setting.estimator.label},"
    if measure.metric.needs_candidates:
        measured = f"{'about ' * bool(corrected)}{measure.label}"
    elif half is None:
        all_in = f": all {m + 1} are among the best {measure.cutoff}"
        measured = "nothing" + all_in * (m < (measure.cutoff or 0))
    elif measure.kind in FLAT:
        measured = f"about {measure.label.partition('@')[0]}@{half:,}"
    else:
        credit = measure.at(np.arange(1, setting.n + 1), setting.n)
        asked = int(np.argmax(credit <= credit[0] / 2)) + 1
        measured = f"a metric that counts half at rank {half:,}, not {asked:,}"
    return [measure.label, items(m) + corrected, measured]


def verdict(orders: Orders) -> str:
    """Say what becomes of the order on average."""
    signs = [sign for sign, _ in orders.values()]
    wrong, tied, all_pairs = signs.count(-1), signs.count(0), len(signs)
    if not signs:
        return "There is no order to get wrong."
    if tied == all_pairs:
        return "Nobody can be told apart."
    if wrong == all_pairs:
        return "The order turns upside down." if wrong > 1 else "The order is reversed."
    if wrong or tied:
        return f"Of {all_pairs} pairs, {all_pairs - wrong - tied} come out in the right order."
    return "The order is right on average."


def in_words(names: Sequence[str], exact: Float, orders: Orders) -> list[tuple[Any, ...]]:
    """Signs of the pairs that come out worst, who looks better and who is, and runs that say so."""
    found, worst = [], sorted(orders, key=lambda pair: orders[pair][1] or 0.0)
    for a, b in sorted(worst[:MOST_PAIRS]):
        sign, chance = orders[a, b]
        better, other = (names[i] for i in ((a, b) if exact[a] > exact[b] else (b, a)))
        said = f"{better} looks better than {other}, and is."
        if sign < 0:
            said = f"{other} looks better than {better}; {better} is."
        elif chance is None:
            said = f"{better} and {other} look the same; {better} is better."
        share = "" if chance is None else f" Right in {100 * chance:.0f}\xa0% of runs."
        found.append((sign, said + share, None if chance is None else round(RUNS * chance)))
    return found


def range_panel(rows: Iterable[Any], names: Sequence[str]) -> dict[str, Any]:
    """Arrange ranges, tuples of metric, m, a, b, low and high.

    Returns `sizes`, the numbers of negatives; `labels` of the metrics; and `metrics`, by name:
    `ranges` by size and recommender, `differences` by size and pair.
    """
    ends = {tuple(key): [round(low, 5), round(high, 5)] for *key, low, high in rows}
    measures = list(dict.fromkeys(metric for metric, *_ in ends))
    sizes, pairs = sorted({m for _, m, *_ in ends}), list(combinations(names, 2))
    return {
        "sizes": sizes,
        "labels": [parse_measure(metric).label for metric in measures],
        "metrics": {
            metric: {
                "ranges": [[ends[metric, m, a, ""] for a in names] for m in sizes],
                "differences": [[ends[metric, m, a, b] for a, b in pairs] for m in sizes],
            }
            for metric in measures
        },
    }


def range_bars(
    panel: Mapping[str, Any], names: Sequence[str], metric: str, m: int, marks: Iterable[float]
) -> dict[str, Any]:
    """Describe the ranges of one metric and m, each with a mark, and which orders they decide."""
    ends, place = panel["metrics"][metric], panel["sizes"].index(m)
    pairs = zip(combinations(names, 2), ends["differences"][place], strict=True)
    decided = [
        f"{a} above {b}" if high < 0.0 else f"{b} above {a}"
        for (a, b), (low, high) in pairs
        if low > 0.0 or high < 0.0
    ]
    bars = [(*of_one, mark) for of_one, mark in zip(ends["ranges"][place], marks, strict=True)]
    highest = max(max(high, mark) for _, high, mark in bars)
    most = min(1.01 * highest, 1.0)  # a little more, so that the last mark is seen
    open_ones = len(ends["differences"][place]) - len(decided)
    return {"m": items(m), "bars": bars, "most": most, "decided": decided, "open": open_ones}
