"""Sentences of both pages about estimates and ranges, and the bars of ranges."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics.estimators import Estimator
from sampled_metrics.inference.results import FLAT
from sampled_metrics.metrics.measures import Measure, parse_measure

MOST_PAIRS = 3  # in words
MOST_NAMED = 4
MARKS = 20  # of which each is 5 % of draws
HARDLY = 0.005  # a probability that is written as 0 %
UNDECIDED = "~"  # sign of a pair
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
    decimals = 2 if abs(value) < 0.09995 else 1
    return f"{100 * value:.{decimals}f}\xa0%"


def items(m: int) -> str:
    """Write a number of random items."""
    if m == 1:
        return "1 random item"
    return f"{m:,} random items"


def listed(names: Sequence[str]) -> str:
    """Write names as a list, such as X, Y and Z."""
    *others, last = names
    if not others:
        return last
    return f"{', '.join(others)} and {last}"


def standings(values: Float) -> list[tuple[int, str]]:
    """List the places of values in decreasing order, each with its value in percent."""
    order = np.argsort(-np.round(values, 9), kind="stable").tolist()
    return [(i, percent(float(values[i]))) for i in order]


def headline(setting: Setting) -> list[str]:
    """Name what was asked, against what, and what was measured."""
    against = items(setting.m)
    if setting.estimator.name != "sampled":
        against += f", by {setting.estimator.label},"
    return [setting.measure.label, against, _measured(setting)]


def _measured(setting: Setting) -> str:
    """Name the metric that an estimate behaves like."""
    measure = setting.measure
    if measure.metric.needs_candidates:
        if setting.estimator.name == "sampled":
            return measure.label
        return f"about {measure.label}"
    if setting.half is None:
        if setting.m < (measure.cutoff or 0):
            return f"nothing: all {setting.m + 1} are among the best {measure.cutoff}"
        return "nothing"
    if measure.kind in FLAT:
        kind, _, _ = measure.label.partition("@")
        return f"about {kind}@{setting.half:,}"
    credit = measure.at(np.arange(1, setting.n + 1), setting.n)
    asked = int(np.argmax(credit <= credit[0] / 2)) + 1
    return f"a metric that counts half at rank {setting.half:,}, not {asked:,}"


def verdict(orders: Orders, n_undecided: int = 0) -> str:
    """Say what becomes of the order on average, of the pairs that full rankings decide."""
    signs = [sign for sign, _ in orders.values()]
    n_pairs = len(signs)
    n_wrong = signs.count(-1)
    n_tied = signs.count(0)
    if n_undecided:
        pairs = "1 pair" if n_undecided == 1 else f"{n_undecided} pairs"
        right = f"{signs.count(1)} of {n_pairs} decided orders are right"
        return f"{right}; full rankings leave {pairs} undecided."
    n_right = n_pairs - n_wrong - n_tied
    words = f"{n_right} of {n_pairs} pairs are in the right order."
    if n_pairs == 0:
        words = "There is no order to get wrong."
    elif n_tied == n_pairs:
        words = "Nobody can be told apart."
    elif n_wrong == n_pairs == 1:
        words = "The order is reversed."
    elif n_wrong == n_pairs:
        words = "The order turns upside down."
    elif n_right == n_pairs:
        words = "The order is right on average."
    return words


def in_words(
    names: Sequence[str],
    exact: Float,
    orders: Orders,
    undecided: Collection[tuple[int, int]] = (),
) -> list[tuple[Any, ...]]:
    """Signs of the pairs that come out worst, who looks better and who is, and draws that say so.

    The sign of pairs that full rankings leave undecided is `~`.
    """
    found: list[tuple[Any, ...]] = []
    worst = sorted(orders, key=lambda pair: (pair in undecided, orders[pair][1] or 0.0))
    for pair in sorted(worst[:MOST_PAIRS]):
        sign, chance = orders[pair]
        other, better = sorted(pair, key=lambda i: exact[i])
        if pair in undecided:
            first, second = (better, other) if sign > 0 else (other, better)
            verb = "looks better than" if sign else "looks the same as"
            open_ = "full rankings leave this pair undecided."
            found.append((UNDECIDED, f"{names[first]} {verb} {names[second]}; {open_}", None))
            continue
        said = _looks(names[better], names[other], sign)
        if chance is None:
            found.append((sign, said, None))
        elif chance < HARDLY:
            found.append((sign, f"{said} No draw of random items gets it right.", 0))
        else:
            share = f"Right in {100 * chance:.0f}\xa0% of draws."
            found.append((sign, f"{said} {share}", round(MARKS * chance)))
    return found


def _looks(better: str, other: str, sign: int) -> str:
    """Say who looks better, and who is."""
    if sign < 0:
        return f"{other} looks better, but {better} is."
    if sign == 0:
        return f"{better} and {other} look the same; {better} is better."
    return f"{better} looks better than {other}, and is."


def range_panel(rows: Iterable[Any], names: Sequence[str]) -> dict[str, Any]:
    """Arrange ranges, tuples of metric, m, a, b, low and high.

    Returns `sizes`, the numbers of negatives; `labels` of the metrics; and `metrics`, by name:
    `ranges` by size and recommender, `differences` by size and pair.
    """
    ends = {}
    for metric, m, a, b, low, high in rows:
        ends[metric, m, a, b] = [round(low, 5), round(high, 5)]
    measures = list(dict.fromkeys(metric for metric, *_ in ends))
    sizes = sorted({m for _, m, *_ in ends})
    pairs = list(combinations(names, 2))
    found = {}
    for metric in measures:
        found[metric] = {
            "ranges": [[ends[metric, m, a, ""] for a in names] for m in sizes],
            "differences": [[ends[metric, m, a, b] for a, b in pairs] for m in sizes],
        }
    labels = [parse_measure(metric).label for metric in measures]
    return {"sizes": sizes, "labels": labels, "metrics": found}


def range_bars(
    panel: Mapping[str, Any], metric: str, m: int, marks: Iterable[float]
) -> dict[str, Any]:
    """Describe the ranges of one metric and m, each with a mark."""
    place = panel["sizes"].index(m)
    bars = []
    for (low, high), mark in zip(panel["metrics"][metric]["ranges"][place], marks, strict=True):
        bars.append((low, high, mark))
    highest = max(max(high, mark) for _, high, mark in bars)
    return {
        "m": items(m),
        "bars": bars,
        "most": min(1.01 * highest, 1.0),  # a little more, so that the last mark is seen
    }


def orders_by_ranges(
    panel: Mapping[str, Any], names: Sequence[str], metric: str, m: int
) -> dict[str, Any]:
    """List the orders that the ranges of differences decide, each for itself; count the others."""
    differences = panel["metrics"][metric]["differences"][panel["sizes"].index(m)]
    decided = []
    for (a, b), (low, high) in zip(combinations(names, 2), differences, strict=True):
        if high < 0.0:
            decided.append(f"{a} above {b}")
        elif low > 0.0:
            decided.append(f"{b} above {a}")
    return {"decided": decided, "open": len(differences) - len(decided)}
