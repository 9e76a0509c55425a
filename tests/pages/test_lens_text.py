"""Sentences of the lens, from all small cases: signs, probabilities, numbers of pairs."""

import re
from itertools import product

import numpy as np
import pytest

from sampled_metrics._base.text import join_names
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.pages.lens_text import (
    LensSetting,
    describe_orders,
    describe_pairs,
    lens_headline,
    percent,
    standings,
)

NAMES = ["A", "B", "C", "D"]


def numbers_of(text):
    return [int(number) for number in re.findall(r"\d+", text)]


@pytest.mark.parametrize("signs", list(product((-1, 0, 1), repeat=2)))
@pytest.mark.parametrize("undecided", [0, 1, 2, 3])
def test_describe_orders_counts_right_pairs(signs, undecided):
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
        ((-1, -1), "reversed"),
        ((-1, 1), "1 of 2 pairs"),
        ((0, 1), "1 of 2 pairs"),
        ((0, -1), "0 of 2 pairs"),
    ],
)
def test_describe_orders_equal_signs(signs, words):
    assert words in describe_orders({(0, place): (sign, None) for place, sign in enumerate(signs)})


EXACT = np.array([0.1, 0.3, 0.2, 0.4])  # exact values of A to D; D is the best


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
def test_describe_pairs_decided(pair, sign, chance, percent, marks):
    a, b = pair
    better, other = (NAMES[a], NAMES[b]) if EXACT[a] > EXACT[b] else (NAMES[b], NAMES[a])
    ((shown_sign, text, drawn),) = describe_pairs(NAMES, EXACT, {pair: (sign, chance)})
    assert (shown_sign, drawn, numbers_of(text)) == (sign, marks, percent)
    who = {1: [better, other], 0: [better, other, better], -1: [other, better]}
    assert names_of(text) == who[sign]  # who looks better, and who is better
    assert ("less than 0.5" in text) == (chance == 0.0049)


@pytest.mark.parametrize(("sign", "who"), [(1, "BA"), (-1, "AB")])
def test_describe_pairs_undecided(sign, who):
    """B has the better exact metric; with sign 1 it also looks better."""
    orders = {(0, 1): (sign, 0.4), (0, 2): (1, 0.9)}
    (mark, text, drawn), decided = describe_pairs(NAMES, EXACT, orders, {(0, 1)})
    assert (mark, names_of(text), drawn) == ("~", list(who), None)
    assert decided[0] == 1
    (_, equal, _), _ = describe_pairs(NAMES, EXACT, {**orders, (0, 1): (0, 0.5)}, {(0, 1)})
    assert ("better" in text, "better" in equal) == (True, False)


def test_least_likely_pairs_first_undecided_last():
    chances = {(0, 1): 0.9, (0, 2): 0.2, (0, 3): None, (1, 2): 0.6, (1, 3): 0.1, (2, 3): 0.7}
    orders = {pair: (1, chance) for pair, chance in chances.items()}

    def shown(undecided=()):
        texts = [text for _, text, _ in describe_pairs(NAMES, EXACT, orders, set(undecided))]
        assert len(texts) == 3
        return ["".join(sorted(names_of(text)[:2])) for text in texts]

    assert shown() == ["AC", "AD", "BD"]
    assert shown([(0, 3)]) == ["AC", "BC", "BD"]
    assert shown(pair for pair in chances if pair != (2, 3)) == ["AD", "BD", "CD"]


@pytest.mark.parametrize(
    ("metric", "estimator", "m", "acts_like", "against", "measured"),
    [
        ("auc", "sampled", 20, None, "20 random items", "AUC"),
        ("auc", "bv:0.1", 1, None, "1 random item, by BV 0.1,", "about AUC"),
        ("recall@10", "sampled", 1000, 2345, "1,000 random items", "about Recall@2,345"),
        ("recall@10", "cls", 20, 7, "20 random items, by CLS,", "about Recall@7"),
        ("recall@10", "sampled", 9, None, "9 random items", "nothing"),
        ("ap", "sampled", 1, None, "1 random item", "nothing"),
        ("rr", "sampled", 20, 1500, "20 random items", "half at rank 1,500, not 2"),
        ("ndcg@10", "sampled", 20, 44, "20 random items", "half at rank 44, not 3"),
        ("ndcg@2", "sampled", 20, 44, "20 random items", "half at rank 44, not 3"),
    ],
)
def test_headline_has_negatives_and_the_rank_of_half_credit(
    metric, estimator, m, acts_like, against, measured
):
    setting = LensSetting(
        measure=parse_measure(metric), estimator=parse_estimator(estimator), m=m, n=1000,
        acts_like=acts_like, mean=np.zeros(1), sd=np.zeros(1), by_rank=np.zeros(1),
    )  # fmt: skip
    label, negatives, words = lens_headline(setting)
    assert (label, negatives) == (setting.measure.label, against)
    assert measured in words


def test_standings_compare_nine_decimals():
    for difference, order in ((3e-9, [1, 0]), (3e-10, [0, 1])):
        places = standings(np.array([0.1, 0.1 + difference]))
        assert [place for place, _ in places] == order


def test_order_sentences_tell_outcomes_apart():
    texts, pairs = {}, [(0, 1), (0, 2), (1, 2)]
    for signs in product((-1, 0, 1), repeat=3):
        text = describe_orders(
            {pair: (sign, None) for pair, sign in zip(pairs, signs, strict=True)}
        )
        outcome = signs if len(set(signs)) == 1 else signs.count(1)
        assert texts.setdefault(text, outcome) == outcome
        if outcome == signs.count(1):
            assert [int(x) for x in re.findall(r"\d+", text)] == [outcome, 3]
    assert len(texts) == len(set(texts.values()))
    single = [describe_orders({(0, 1): (sign, None)}) for sign in (-1, 0, 1)]
    assert len({describe_orders({}), *single}) == 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0999, "9.99"), (0.09994, "9.99"), (0.09996, "10.0"), (0.1, "10.0"), (1.0, "100.0"),
        (0.0, "0.00"), (-0.05, "-5.00"), (-0.2, "-20.0"),
    ],
)  # fmt: skip
def test_percent_has_three_digits(value, text):
    assert percent(value) == f"{text}\xa0%"


def test_join_names():
    assert list(map(join_names, ("X", "XY", "XYZ"))) == ["X", "X and Y", "X, Y and Z"]


def test_standings_keep_the_order_of_equal_values():
    places = standings(np.array([0.1, 0.5, 0.1 + 1e-12]))
    assert places == [(1, "50.0\xa0%"), (0, "10.0\xa0%"), (2, "10.0\xa0%")]
