"""Sentences of the lens: which metric a sampled metric measures, and how it orders recommenders."""

from collections.abc import Callable, Collection, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.array_types import Float
from sampled_metrics.estimators import Estimator
from sampled_metrics.evaluation.acts_like import ActsLike
from sampled_metrics.evaluation.results import quantity
from sampled_metrics.metrics import Measure

MOST_PAIRS = 3  # described in words: those whose order is least likely right
MARKS = 20  # marks for all draws; each stands for 5 %
HARDLY = 0.005  # a smaller probability would be written as 0 %
ROUNDING = 1e-9  # smaller differences of values are rounding errors
OPEN_SIGN = "~"  # marks a pair that full rankings leave undecided
_DECIDED_PAIRS = {  # by the sign of the order
    1: "{better} looks better than {other}, and is.",
    0: "{better} and {other} look the same; {better} is better.",
    -1: "{other} looks better, but {better} is.",
}
_OPEN_PAIRS = {
    1: "{better} looks better than {other}; full rankings leave this pair undecided.",
    0: "{other} looks the same as {better}; full rankings leave this pair undecided.",
    -1: "{other} looks better than {better}; full rankings leave this pair undecided.",
}
# Sign and probability of the order of each pair of recommenders, see `lens.order_pairs`.
PairOrders: TypeAlias = dict[tuple[int, int], tuple[int, float | None]]
DescribedPair: TypeAlias = tuple[int | str, str, int | None]  # sign, sentence, marks


class LensSetting(NamedTuple):
    """The average result of a metric by an estimator from m negatives."""

    measure: Measure
    estimator: Estimator
    m: int
    n: int  # mean number of candidates
    mean: Float  # shape (recommenders,)
    sd: Float  # of one draw of negatives; shape (recommenders,)
    by_rank: Float  # mean estimate at the ranks of the chart
    acts_like: int | None  # rank with half the credit of rank 1; None for AUC and equal credits


def percent(value: float) -> str:
    """Write a fraction in percent, with two decimals below 10 %."""
    decimals = 2 if abs(value) < 0.09995 else 1
    return f"{100 * value:.{decimals}f}\xa0%"


def standings(values: Float) -> list[tuple[int, str]]:
    """List recommenders by decreasing value: their numbers, and the values in percent."""
    order = np.argsort(-np.round(values, 9), kind="stable").tolist()
    return [(i, percent(float(values[i]))) for i in order]


def decided_groups(
    best_first: Sequence[str], is_decided: Callable[[str, str], bool]
) -> list[list[str]]:
    """Cut an order of names wherever every pair across the cut is decided.

    `is_decided` gets two names, the one that comes first in the order first.

    Examples
    --------
    >>> decided_groups("ZYX", lambda above, below: below == "X")
    [['Z', 'Y'], ['X']]
    """
    groups: list[list[str]] = []
    for position, name in enumerate(best_first):
        pairs_across = product(best_first[:position], best_first[position:])
        if all(is_decided(above, below) for above, below in pairs_across):
            groups.append([])
        groups[-1].append(name)
    return groups


def lens_headline(setting: LensSetting) -> list[str]:
    """Name the metric that was requested, what it was sampled against, and what it measures."""
    against = quantity(setting.m, "random item")
    if setting.estimator.name != "sampled":
        against += f", by {setting.estimator.label},"
    return [setting.measure.label, against, _measured(setting)]


def _measured(setting: LensSetting) -> str:
    """Name the metric that an estimate acts like, such as about Recall@342."""
    measure = setting.measure
    if measure.metric.needs_candidates:
        if setting.estimator.name == "sampled":
            return measure.label
        return f"about {measure.label}"
    acts_like = ActsLike.from_rank(str(measure), setting.acts_like, setting.n)
    if acts_like.rank is None:
        are_all_within_cutoff = setting.m < (measure.cutoff or 0)
        if are_all_within_cutoff:
            return f"nothing: all {setting.m + 1} are among the best {measure.cutoff}"
        return "nothing"
    if acts_like.exact_rank is None:
        kind, _, _ = measure.label.partition("@")
        return f"about {kind}@{acts_like.rank:,}"
    return f"a metric that counts half at rank {acts_like.rank:,}, not {acts_like.exact_rank:,}"


def describe_orders(orders: PairOrders, n_undecided: int = 0) -> str:
    """Say how many pairs are in the right order on average.

    The average is over draws of negatives. `orders` contains the pairs that full rankings decide:
    the sign of a pair is 1 if its order is right on average, -1 if it is reversed, and 0 if the
    means are equal. `n_undecided` is the number of pairs that full rankings leave undecided.
    """
    signs = [sign for sign, _ in orders.values()]
    n_right = f"{signs.count(1)} of {len(signs)}"
    if n_undecided:
        pairs = quantity(n_undecided, "pair")
        return f"{n_right} decided orders are right; full rankings leave {pairs} undecided."
    if not signs:
        return "There is no order to get wrong."
    if len(set(signs)) > 1:
        return f"{n_right} pairs are in the right order."
    sentence_by_sign = {
        -1: "The order is reversed.",
        0: "No pair can be told apart.",
        1: "The order is right on average.",
    }
    return sentence_by_sign[signs[0]]


def describe_pairs(
    names: Sequence[str],
    exact: Float,
    orders: PairOrders,
    undecided: Collection[tuple[int, int]] = (),
) -> list[DescribedPair]:
    """Describe the pairs whose order is least likely right.

    Parameters
    ----------
    names, exact
        Names of the recommenders, and their exact values.
    orders
        Sign and probability of the order of each pair.
    undecided
        Pairs that full rankings leave undecided, which come last; their sign is `~`.

    Returns
    -------
    list of (sign, sentence, marks)
        `marks` is how many of 20 draws are right; None if full rankings leave the pair undecided,
        and if every draw gives a tie.
    """

    def decided_and_unlikely_first(pair: tuple[int, int]) -> tuple[bool, float]:
        _, probability = orders[pair]
        return pair in undecided, probability or 0.0

    chosen = sorted(orders, key=decided_and_unlikely_first)[:MOST_PAIRS]
    described: list[DescribedPair] = []
    for pair in sorted(chosen):
        sign, probability = orders[pair]
        other, better = (names[i] for i in sorted(pair, key=lambda i: exact[i]))
        if pair in undecided:
            sentence = _OPEN_PAIRS[sign].format(better=better, other=other)
            described.append((OPEN_SIGN, sentence, None))
        else:
            sentence = _DECIDED_PAIRS[sign].format(better=better, other=other)
            marks = None if probability is None else round(MARKS * probability)
            described.append((sign, sentence + _describe_chance(probability), marks))
    return described


def _describe_chance(chance: float | None) -> str:
    """Say in how many draws an order is right; nothing if every draw gives a tie."""
    if chance is None:
        return ""
    if chance < HARDLY:
        return " Right in less than 0.5\xa0% of draws."
    return f" Right in {100 * chance:.0f}\xa0% of draws."
