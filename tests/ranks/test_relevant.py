"""Several relevant items a user: metrics by hand, and how deep a list has to go for them."""

from itertools import combinations
from math import log2

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks
from tests.helpers.relevance import ranks_at_places, ranks_by_user


def value(name, ranks, *args):
    return values(parse_measure(name), ranks, *args)


class TestByHand:
    # The paper's example of section 2, R = {3, 5}, among n = 6 candidates.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            # irrelevant at 1, 2, 4, 6: item 3 is above two of four, item 5 above one of four
            ("auc", (2 + 1) / (2 * 4)),
            (
                "auc",
                (6 - (2 - 1) / 2 - (3 + 5) / 2) / (6 - 2),
            ),  # the second form of eq. 2
            ("precision@4", 1 / 4),
            # P = 1/4, R = 1/2
            ("f1@4", 2 * (1 / 4 * 1 / 2) / (1 / 4 + 1 / 2)),
            ("f0.5@4", 1.25 * (1 / 4 * 1 / 2) / (0.25 * 1 / 4 + 1 / 2)),
            ("hit@3", 1),
            ("rr@3", 1 / 3),
            ("ap", (1 / 3 + 2 / 5) / 2),
            ("ap@4", (1 / 3) / 2),
            ("ndcg", (1 / log2(4) + 1 / log2(6)) / (1 / log2(2) + 1 / log2(3))),
            ("ndcg@4", (1 / log2(4)) / (1 / log2(2) + 1 / log2(3))),
        ],
    )
    def test_ranks_3_and_5_of_6(self, name, expected):
        assert value(name, ranks_at_places(3, 5, n=6)).item() == pytest.approx(
            expected, rel=1e-14
        )

    # Relevant at 1, 3, 4 and 9 of 9; the top 3 hold two of four.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ap@3", (1 / 1 + 2 / 3) / 3),  # min(|R|, k) = 3
            ("ap-by-relevant@3", (1 / 1 + 2 / 3) / 4),
            ("ndcg@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
            (
                "ndcg-by-relevant@3",
                (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5)),
            ),
            ("ndcg-by-k@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
            # k = 6 > |R|: now the ideal lists of eq. 6 and of all |R| items are one
            ("ap@6", (1 / 1 + 2 / 3 + 3 / 4) / 4),
            ("ap-by-relevant@6", (1 / 1 + 2 / 3 + 3 / 4) / 4),
            (
                "ndcg@6",
                (1 + 1 / 2 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5)),
            ),
            (
                "ndcg-by-relevant@6",
                (1 + 1 / 2 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5)),
            ),
            (
                "ndcg-by-k@6",
                (1 + 1 / 2 + 1 / log2(5))
                / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5) + 1 / log2(6) + 1 / log2(7)),
            ),
        ],
    )
    def test_conventions_of_ap_and_ndcg(self, name, expected):
        assert value(name, ranks_at_places(1, 3, 4, 9, n=9)).item() == pytest.approx(
            expected, rel=1e-14
        )

    # One item above; then relevant A and B tied with irrelevant X at places 2-4:
    # AB at 2 3, 2 4 or 3 4, each in one third of the orders.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("recall@3", (2 / 2 + 1 / 2 + 1 / 2) / 3),
            ("ap", ((1 / 2 + 2 / 3) + (1 / 2 + 2 / 4) + (1 / 3 + 2 / 4)) / 2 / 3),
            ("ap@3", ((1 / 2 + 2 / 3) + 1 / 2 + 1 / 3) / 2 / 3),
            ("rr", (1 / 2 + 1 / 2 + 1 / 3) / 3),
            ("hit@2", (1 + 1 + 0) / 3),
            # irrelevant: the one above (0 right) and X (half right)
            ("auc", (0 + 1 / 2) / 2),
        ],
    )
    def test_ties_of_two_relevant_items_and_one_other(self, name, expected):
        ranks = ranks_by_user([0, 0], [1, 1], [2, 2], [2], [4], [4])
        assert value(name, ranks).item() == pytest.approx(expected, rel=1e-14)
        ends = [
            value(name, ranks, ties).item() for ties in ("pessimistic", "optimistic")
        ]
        assert ends[0] <= expected <= ends[1]


def test_example_of_papachristoudis():
    """ "Popular evaluation metrics in recommender systems explained": mean of a batch of three.

    The labels of examples 2 and 3 are ours, and fit the text: label 0 of example 2 at place 2,
    labels 0 and 2 of example 3 at places 1 and 4. TensorFlow divides by min(3, 4) = 3 everywhere,
    eq. 5 by min(|R|, 4) with the labels that each example has.
    """
    user, place = np.array([(0, 1), (0, 3), (0, 4), (1, 2), (2, 1), (2, 4)]).T
    for n_relevant, mean in (([3, 3, 3], "0.4907"), ([3, 1, 2], "0.6852")):
        found = value(
            "ap@4",
            ranks_by_user(user, place - 1, 0 * place, n_relevant, [6] * 3, [4] * 3),
        )
        numerators = (1 / 1 + 2 / 3 + 3 / 4, 1 / 2, 1 / 1 + 2 / 4)
        np.testing.assert_allclose(
            found, np.divide(numerators, n_relevant), rtol=1e-15
        )
        assert f"{found.mean():.4f}" == mean


@pytest.mark.parametrize(
    ("name", "places", "n", "expected"),
    [
        # one or two of two relevant items in a list of the top 10
        ("recall@10", [3], 0, 1 / 2),
        (
            "precision@20",
            [3, 4],
            0,
            2 / 20,
        ),  # nothing below the last relevant item matters
        ("ap", [3, 4], 0, (1 / 3 + 2 / 4) / 2),
        ("auc", [3, 4], 12, (8 + 8) / (2 * 10)),
        ("rr@20", [3], 0, 1 / 3),  # the first settles it
        ("hit@20", [3], 0, 1),
        ("ndcg@10", [], 0, 0),
        ("recall@20", [3], 0, "recall@20 needs ranks down to 20; lists end at 10"),
        ("hit@20", [], 0, "hit@20 needs ranks down to 20"),
        ("ap", [3], 99, "ap needs the ranks of all relevant items.*; use ap@10"),
        ("rr", [], 0, "rr needs the rank of the first relevant item.*; use rr@10"),
        (
            "auc",
            [3],
            99,
            "auc needs the ranks of all relevant items.*; full rankings",
        ),
        ("auc", [3], 0, "auc needs n_candidates"),
    ],
)
def test_lists_that_are_deep_enough_or_not(name, places, n, expected):
    ranks = ranks_at_places(*places, n=n, n_relevant=2, depth=10)
    if not isinstance(expected, str):
        assert value(name, ranks).item() == pytest.approx(expected, rel=1e-15)
        return
    with pytest.raises(InputError, match=expected):
        value(name, ranks)
    with pytest.raises(InputError, match="1 users"):
        value("auc", ranks_at_places(1, 2, n=2))


@pytest.mark.parametrize(
    ("depth", "words"),
    [
        ([9, 30, 7, 8], "lists end at 7 or later .users: 3."),
        ([8, 30, 8, 8], "lists end at 8 or later .users: 3."),
        ([30, 10, 9, 10], "lists end at 9 or later .users: 1."),
    ],
)
def test_where_lists_end_too_early(depth, words):
    ranks = Ranks(
        [0] * 4, [0] * 4, [0] * 4, n_found=[1] * 4, n_relevant=[2] * 4, depth=depth
    )
    with pytest.raises(
        InputError, match=rf"recall@10 needs ranks down to 10; {words}\."
    ):
        value("recall@10", ranks)
    assert value(f"recall@{min(depth)}", ranks).tolist() == [0.5] * 4
    with pytest.raises(InputError, match=f"use ap@{min(depth)}"):
        value("ap", ranks)


@pytest.mark.parametrize("name", ["rr", "rr@4", "hit@3"])
def test_first_of_several_tied_items_of_many_users(name):
    """Levels of 2 to 5 candidates, 1 to all of them relevant, below 0 to 2 others, by all sets."""
    cases = [(above, size, hits) for above in range(3) for size in range(2, 6)
             for hits in range(1, size + 1)]  # fmt: skip
    expected = []
    for above, size, hits in cases:
        first = [
            above + 1 + min(places) for places in combinations(range(size), hits)
        ]
        credit = {
            "rr": [1 / place for place in first],
            "rr@4": [1 / place * (place <= 4) for place in first],
            "hit@3": [float(place <= 3) for place in first],
        }[name]
        expected.append(np.mean(credit))
    above, size, hits = np.array(cases).T
    items = np.repeat(np.arange(len(cases)), hits)
    ranks = Ranks(
        np.full(len(cases), 20), above[items], size[items] - 1, n_found=hits
    )
    assert value(name, ranks) == pytest.approx(expected, rel=1e-12)


def test_no_users_at_all():
    ranks = Ranks([], [], [])
    for name in ("recall@3", "ap", "auc", "ndcg@3", "rr"):
        for ties in ("expected", "optimistic", "random"):
            values = value(name, ranks, ties, np.random.default_rng(0))
            assert (values.shape, values.dtype) == ((0,), np.float64)
