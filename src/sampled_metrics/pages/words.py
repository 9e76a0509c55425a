"""Sentences of both pages about estimates and ranges, and the bars of ranges."""

from collections.abc import Collection, Sequence
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Float
from sampled_metrics.estimators import Estimator
from sampled_metrics.evaluation.acts_like import ActsLike
from sampled_metrics.evaluation.results import quantity
from sampled_metrics.metrics import Measure

MOST_PAIRS = 3  # in words
MOST_NAMED = 4
MARKS = 20  # each is 5 % of draws
HARDLY = 0.005  # a probability that would be written as 0 %
UNDECIDED = "~"  # sign of a pair
_LOOKS = {  # by sign
    1: "{better} looks better than {other}, and is.",
    0: "{better} and {other} look the same; {better} is better.",
    -1: "{other} looks better, but {better} is.",
}
_IF_OPEN = {  # by sign
    1: "{better} looks better than {other}; full rankings leave this pair undecided.",
    0: "{other} looks the same as {better}; full rankings leave this pair undecided.",
    -1: "{other} looks better than {better}; full rankings leave this pair undecided.",
}
Orders = dict[tuple[int, int], tuple[int, float | None]]  # sign and probability by pair


class Setting(NamedTuple):
    """A metric by an estimator from m negatives: its average result."""

    measure: Measure
    estimator: Estimator
    m: int
    n: int  # mean number of candidates
    mean: Float  # shape (recommenders,)
    sd: Float
    by_rank: Float  # mean estimate at ranks of the chart
    acts_like: int | None  # rank with half the credit of rank 1; None for AUC and equal credits


def percent(value: float) -> str:
    """Write a share in percent, with two decimals below 10 %."""
    decimals = 2 if abs(value) < 0.09995 else 1
    return f"{100 * value:.{decimals}f}\xa0%"


def standings(values: Float) -> list[tuple[int, str]]:
    """List the places of values in decreasing order, each with its value in percent."""
    order = np.argsort(-np.round(values, 9), kind="stable").tolist()
    return [(i, percent(float(values[i]))) for i in order]


def headline(setting: Setting) -> list[str]:
    """Name the metric asked for, the opponents, and the metric measured."""
    against = quantity(setting.m, "random item")
    if setting.estimator.name != "sampled":
        against += f", by {setting.estimator.label},"
    return [setting.measure.label, against, _measured(setting)]


def _measured(setting: Setting) -> str:
    """Name the metric that an estimate acts like."""
    measure = setting.measure
    if measure.metric.needs_candidates:
        if setting.estimator.name == "sampled":
            return measure.label
        return f"about {measure.label}"
    acts_like = ActsLike.from_rank(str(measure), setting.acts_like, setting.n)
    if acts_like.rank is None:
        if setting.m < (measure.cutoff or 0):
            return f"nothing: all {setting.m + 1} are among the best {measure.cutoff}"
        return "nothing"
    if acts_like.exact_rank is None:
        kind, _, _ = measure.label.partition("@")
        return f"about {kind}@{acts_like.rank:,}"
    return f"a metric that counts half at rank {acts_like.rank:,}, not {acts_like.exact_rank:,}"


def verdict(orders: Orders, n_undecided: int = 0) -> str:
    """Describe the order on average, for the pairs that full rankings decide."""
    signs = [sign for sign, _ in orders.values()]
    n_right = f"{signs.count(1)} of {len(signs)}"
    if n_undecided:
        pairs = f"{n_undecided} pair{'s' * (n_undecided > 1)}"
        return f"{n_right} decided orders are right; full rankings leave {pairs} undecided."
    if signs == [-1]:
        return "The order is reversed."
    of_all = {
        (): "There is no order to get wrong.",
        (-1,): "The order turns upside down.",
        (0,): "Nobody can be told apart.",
        (1,): "The order is right on average.",
    }
    return of_all.get(tuple(set(signs)), f"{n_right} pairs are in the right order.")


def in_words(
    names: Sequence[str],
    exact: Float,
    orders: Orders,
    undecided: Collection[tuple[int, int]] = (),
) -> list[tuple[Any, ...]]:
    """List the pairs that come out worst: sign, who looks better and who is, share of draws.

    The sign of pairs that full rankings leave undecided is `~`.
    """
    found: list[tuple[Any, ...]] = []
    worst = sorted(orders, key=lambda pair: (pair in undecided, orders[pair][1] or 0.0))
    for pair in sorted(worst[:MOST_PAIRS]):
        sign, chance = orders[pair]
        other, better = (names[i] for i in sorted(pair, key=lambda i: exact[i]))
        if pair in undecided:
            found.append((UNDECIDED, _IF_OPEN[sign].format(better=better, other=other), None))
            continue
        words = _LOOKS[sign].format(better=better, other=other)
        marks = None
        if chance is not None:
            marks = round(MARKS * chance)
            if chance < HARDLY:
                words += " Right in less than 0.5\xa0% of draws."
            else:
                words += f" Right in {100 * chance:.0f}\xa0% of draws."
        found.append((sign, words, marks))
    return found


def range_bars(ranges: Sequence[Sequence[float]], marks: Sequence[float], m: int) -> dict[str, Any]:
    """Describe the ranges of one metric from m negatives, each with a mark, or nan for none."""
    shown = [None if isnan(mark) else mark for mark in marks]
    numbers = [*(mark for mark in shown if mark is not None), *(high for _, high in ranges)]
    highest = max(0.0, *numbers)  # which nan, the end of an interval of one user, is not
    return {
        "m": quantity(m, "random item"),
        "bars": [(*ends, mark) for ends, mark in zip(ranges, shown, strict=True)],
        "most": min(1.01 * highest, 1.0) or 1.0,  # a little more, so that the last mark is seen
    }


def axis(most: float) -> list[tuple[str, float]]:
    """Return the ticks of an axis of shares from 0: texts, and places in percent of its length.

    Examples
    --------
    >>> axis(0.16)
    [('0 %', 0.0), ('5 %', 31.2), ('10 %', 62.5), ('15 %', 93.8)]
    """
    steps = 10.0 ** np.floor(np.log10(20 * most)) * np.array([1, 2, 5, 10])
    step = steps[np.argmax(steps >= 20 * most)]
    ticks = np.arange(0, 100.001 * most, step)
    return [(f"{tick:g} %", round(float(tick / most), 1)) for tick in ticks]
