"""Sentences and bars of both pages, from all small cases: signs, chances, numbers of pairs."""

import re
from itertools import product

import numpy as np
import pytest

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages.bars import axis_ticks, range_bars
from sampled_metrics.pages.lens_text import (
    Setting,
    describe_orders,
    describe_pairs,
    lens_headline,
    standings,
)

NAMES = ["A", "B", "C", "D"]


def numbers_of(text):
    return [int(number) for number in re.findall(r"\d+", text)]


@pytest.mark.parametrize("signs", list(product((-1, 0, 1), repeat=2)))
@pytest.mark.parametrize("undecided", [0, 1, 2, 3])
def test_verdicts_count_right_pairs_of_those_decided(signs, undecided):
    orders = {(0, place): (sign, None) for place, sign in enumerate(signs, start=1)}
    text = describe_orders(orders, undecided)
    if undecided:
        assert numbers_of(text) == [signs.count(1), 2, undecided]
        assert ("1 pair undecided" in text) == (undecided == 1)
        assert (f"{undecided} pairs undecided" in text) == (undecided > 1)
    else:
        assert numbers_of(text) in ([], [signs.count(1), 2])


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ((), "no order"),
        ((1,), "right on average"),
        ((1, 1), "right on average"),
        ((0,), "told apart"),
        ((0, 0, 0), "told apart"),
        ((-1,), "reversed"),
        ((-1, -1), "upside down"),
        ((-1, 1), "1 of 2 pairs"),
        ((0, 1), "1 of 2 pairs"),
        ((0, -1), "0 of 2 pairs"),
    ],
)
def test_verdicts_of_equal_signs_have_words_of_their_own(signs, words):
    assert words in describe_orders(
        {(0, place): (sign, None) for place, sign in enumerate(signs)}
    )


EXACT = np.array([0.1, 0.3, 0.2, 0.4])  # of A to D, so D is the best


def names_of(text):
    return re.findall(r"\b[ABCD]\b", text)


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (2, 3), (0, 3), (1, 0)])
@pytest.mark.parametrize(
    ("sign", "chance", "percent", "marks"),
    [
        (1, 0.7449, [74], 15),
        (1, 1.0, [100], 20),
        (0, 0.5, [50], 10),
        (0, None, [], None),
        (-1, 0.22, [22], 4),
        (-1, 0.005, [0], 0),
        (-1, 0.0049, [0, 5], 0),
    ],
)
def test_pairs_in_words(pair, sign, chance, percent, marks):
    a, b = pair
    better, other = (
        (NAMES[a], NAMES[b]) if EXACT[a] > EXACT[b] else (NAMES[b], NAMES[a])
    )
    ((found, text, drawn),) = describe_pairs(NAMES, EXACT, {pair: (sign, chance)})
    assert (found, drawn, numbers_of(text)) == (sign, marks, percent)
    who = {1: [better, other], 0: [better, other, better], -1: [other, better]}
    assert (
        names_of(text) == who[sign]
    )  # who looks better, or that they look alike, and who is
    assert ("less than 0.5" in text) == (chance == 0.0049)


@pytest.mark.parametrize(("sign", "who"), [(1, "BA"), (-1, "AB")])
def test_undecided_pairs_in_words(sign, who):
    """Of A and B, B has the better exact metric; with sign 1 it looks better as well."""
    orders = {(0, 1): (sign, 0.4), (0, 2): (1, 0.9)}
    (mark, text, drawn), decided = describe_pairs(NAMES, EXACT, orders, {(0, 1)})
    assert (mark, names_of(text), drawn) == ("~", list(who), None)
    assert decided[0] == 1
    (_, equal, _), _ = describe_pairs(
        NAMES, EXACT, {**orders, (0, 1): (0, 0.5)}, {(0, 1)}
    )
    assert ("better" in text, "better" in equal) == (True, False)


def test_the_three_pairs_with_the_least_chance_are_shown_in_their_order_and_undecided_ones_last():
    chances = {
        (0, 1): 0.9,
        (0, 2): 0.2,
        (0, 3): None,
        (1, 2): 0.6,
        (1, 3): 0.1,
        (2, 3): 0.7,
    }
    orders = {pair: (1, chance) for pair, chance in chances.items()}

    def shown(undecided=()):
        texts = [
            text
            for _, text, _ in describe_pairs(NAMES, EXACT, orders, set(undecided))
        ]
        assert len(texts) == 3
        return ["".join(sorted(names_of(text)[:2])) for text in texts]

    assert shown() == ["AC", "AD", "BD"]
    assert shown([(0, 3)]) == ["AC", "BC", "BD"]
    assert shown(pair for pair in chances if pair != (2, 3)) == ["AD", "BD", "CD"]


def setting_of(metric, estimator="sampled", m=20, acts_like=None, n=1000):
    measure, estimator = parse_measure(metric), parse_estimator(estimator)
    rest = {"mean": np.zeros(1), "sd": np.zeros(1), "by_rank": np.zeros(1)}
    return Setting(
        measure=measure, estimator=estimator, m=m, n=n, acts_like=acts_like, **rest
    )


@pytest.mark.parametrize(
    ("setting", "against", "measured"),
    [
        (("auc",), "20 random items", "AUC"),
        (("auc", "bv:0.1", 1), "1 random item, by BV 0.1,", "about AUC"),
        (("recall@10", "sampled", 1000, 2345), "1,000 random items", "about Recall@2,345"),
        (("recall@10", "cls", 20, 7), "20 random items, by CLS,", "about Recall@7"),
        (("recall@10", "sampled", 9), "9 random items", "nothing: all 10 are among the best 10"),
        (("recall@10", "sampled", 10), "10 random items", "nothing"),
        (("ap", "sampled", 1), "1 random item", "nothing"),
        (("rr", "sampled", 20, 1500), "20 random items",
         "a metric that counts half at rank 1,500, not 2"),
        (("ndcg@10", "sampled", 20, 44), "20 random items",
         "a metric that counts half at rank 44, not 3"),
        # of two candidates: half of the credit at the last rank
        (("ap", "sampled", 1, 7, 2), "1 random item", "a metric that counts half at rank 7, not 2"),
        (("ndcg@2", "sampled", 20, 44), "20 random items",
         "a metric that counts half at rank 44, not 3"),
    ],
)  # fmt: skip
def test_headlines(setting, against, measured):
    setting = setting_of(*setting)
    assert lens_headline(setting) == [setting.measure.label, against, measured]


def test_standings_tell_values_apart_that_differ_in_nine_decimals():
    for difference, order in ((3e-9, [1, 0]), (3e-10, [0, 1])):
        found = standings(np.array([0.1, 0.1 + difference]))
        assert [place for place, _ in found] == order


@pytest.mark.parametrize(
    ("high", "mark", "most"),
    [(0.4, 0.2, 0.404), (0.4, 0.5, 0.505), (0.995, 0.1, 1.0)],
)
def test_the_axis_of_ranges_ends_1_percent_beyond_the_last_mark_or_at_1(
    high, mark, most
):
    assert range_bars([(0.1, high), (0.1, 0.11)], [mark, 0.0], 1)[
        "most"
    ] == pytest.approx(most)


@pytest.mark.parametrize("most", [1.0, 0.51, 0.5, 0.26, 0.1, 0.052, 0.0099, 0.0004])
def test_ticks_are_round_and_at_least_a_fifth_of_the_axis_apart(most):
    steps = [digit * 10.0**power for power in range(-4, 3) for digit in (1, 2, 5)]
    step = min(step for step in steps if step >= 20 * most * (1 - 1e-12))
    ticks = axis_ticks(most)
    shown = [float(text.removesuffix(" %")) for text, _ in ticks]
    assert shown == pytest.approx(step * np.arange(len(ticks)))
    assert shown[-1] <= 100 * most * (1 + 1e-9) < shown[-1] + step
    assert [place for _, place in ticks] == pytest.approx(
        [tick / most for tick in shown], abs=0.051
    )
