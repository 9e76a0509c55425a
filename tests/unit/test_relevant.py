"""Several relevant items a user: metrics by hand, and how deep a list has to go for them."""

from math import log2

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks
from tests.unit.relevance import by_user, untied


def value(name, ranks, *args):
    return values(parse_measure(name), ranks, *args)


class TestByHand:
    # The paper's example of section 2, R = {3, 5}, among n = 6 candidates.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            # irrelevant at 1, 2, 4, 6: item 3 is above two of four, item 5 above one of four
            ("auc", (2 + 1) / (2 * 4)),
            ("auc", (6 - (2 - 1) / 2 - (3 + 5) / 2) / (6 - 2)),  # the second form of eq. 2
            ("recall@4", 1 / 2),
            ("precision@4", 1 / 4),
            # P = 1/4, R = 1/2
            ("f1@4", 2 * (1 / 4 * 1 / 2) / (1 / 4 + 1 / 2)),
            ("f2@4", 5 * (1 / 4 * 1 / 2) / (4 * 1 / 4 + 1 / 2)),
            ("f0.5@4", 1.25 * (1 / 4 * 1 / 2) / (0.25 * 1 / 4 + 1 / 2)),
            ("hit@2", 0),
            ("hit@3", 1),
            ("rr@2", 0),
            ("rr@3", 1 / 3),
            ("rr", 1 / 3),
            ("ap", (1 / 3 + 2 / 5) / 2),
            ("ap@4", (1 / 3) / 2),
            ("ap@1", 0),
            ("ndcg", (1 / log2(4) + 1 / log2(6)) / (1 / log2(2) + 1 / log2(3))),
            ("ndcg@4", (1 / log2(4)) / (1 / log2(2) + 1 / log2(3))),
        ],
    )
    def test_ranks_3_and_5_of_6(self, name, expected):
        assert value(name, untied(3, 5, n=6)).item() == pytest.approx(expected, rel=1e-14)

    # Relevant at 1, 3, 4 and 9 of 9; the top 3 hold two of four.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ap@3", (1 / 1 + 2 / 3) / 3),  # min(|R|, k) = 3
            ("ap-by-relevant@3", (1 / 1 + 2 / 3) / 4),
            ("ap-by-hits@3", (1 / 1 + 2 / 3) / 2),
            ("ndcg@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
            ("ndcg-by-relevant@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5))),
            ("ndcg-by-k@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
            # k = 6 > |R|: now the ideal lists of eq. 6 and of all |R| items are one
            ("ap@6", (1 / 1 + 2 / 3 + 3 / 4) / 4),
            ("ap-by-relevant@6", (1 / 1 + 2 / 3 + 3 / 4) / 4),
            ("ap-by-hits@6", (1 / 1 + 2 / 3 + 3 / 4) / 3),
            ("ndcg@6", (1 + 1 / 2 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5))),
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
        assert value(name, untied(1, 3, 4, 9, n=9)).item() == pytest.approx(expected, rel=1e-14)

    def test_no_hit_is_zero_in_every_convention(self):
        for kind in ("ap", "ap-by-hits", "ap-by-relevant", "ndcg-by-k", "f2", "rr", "hit"):
            assert value(f"{kind}@2", untied(3, 5, n=6)).item() == 0

    # One item above; then relevant A and B tied with irrelevant X at places 2-4:
    # AB at 2 3, 2 4 or 3 4, each in one third of the orders.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("recall@3", (2 / 2 + 1 / 2 + 1 / 2) / 3),
            ("ap", ((1 / 2 + 2 / 3) + (1 / 2 + 2 / 4) + (1 / 3 + 2 / 4)) / 2 / 3),
            ("ap@3", ((1 / 2 + 2 / 3) + 1 / 2 + 1 / 3) / 2 / 3),
            ("ap-by-hits@3", ((1 / 2 + 2 / 3) / 2 + 1 / 2 + 1 / 3) / 3),
            ("rr", (1 / 2 + 1 / 2 + 1 / 3) / 3),
            ("hit@2", (1 + 1 + 0) / 3),
            # irrelevant: the one above (0 right) and X (half right)
            ("auc", (0 + 1 / 2) / 2),
        ],
    )
    def test_ties_of_two_relevant_items_and_one_other(self, name, expected):
        ranks = by_user([0, 0], [1, 1], [2, 2], [2], [4], [4])
        assert value(name, ranks).item() == pytest.approx(expected, rel=1e-14)
        ends = [value(name, ranks, ties).item() for ties in ("pessimistic", "optimistic")]
        assert ends[0] <= expected <= ends[1]

    def test_relevant_and_relevant_ties_do_not_touch_auc(self):
        # both at places 1-2, one irrelevant item below
        assert value("auc", by_user([0, 0], [0, 0], [1, 1], [2], [3], [3])).item() == 1

    def test_ap_by_hits_can_fall_with_one_more_hit(self):
        # hit at 1; another at 3 (optimistic) or at 4, beyond k = 3 (pessimistic)
        ranks = by_user([0, 0], [0, 2], [0, 1], [2], [4], [4])
        assert value("ap-by-hits@3", ranks, "optimistic").item() == (1 + 2 / 3) / 2
        assert value("ap-by-hits@3", ranks, "pessimistic").item() == 1


class TestExplainedByPapachristoudis:
    """The worked examples of "Popular evaluation metrics in recommender systems explained"."""

    def test_recall_and_precision_of_labels_0_and_3(self):
        # predicted 1, 2, 0, 4, 3, 5: labels 0 and 3 stand at 3 and 5
        ranks = untied(3, 5, n=6)
        recall = [value(f"recall@{k}", ranks).item() for k in range(1, 6)]
        precision = [value(f"precision@{k}", ranks).item() for k in range(1, 6)]
        assert recall == [0, 0, 1 / 2, 1 / 2, 2 / 2]
        assert precision == [0, 0, 1 / 3, 1 / 4, 2 / 5]

    def test_three_labels_of_which_six_recommendations_hold_two(self):
        # L = 3, hits at 2 and 6 of k = 6: min(L, k) = 3
        ranks = untied(2, 6, n=0, n_relevant=3, depth=6)
        assert value("ap@6", ranks).item() == pytest.approx((1 / 2 + 2 / 6) / 3, rel=1e-15)

    def test_two_of_five_recommendations_are_true_of_three(self):
        ranks = untied(1, 2, n=0, n_relevant=3, depth=5)
        assert value("recall@5", ranks).item() == 2 / 3
        assert value("precision@5", ranks).item() == 2 / 5

    def test_first_example_of_the_batch(self):
        # relevant [1 0 1 1 0 0], labels 0, 1 and 4
        found = value("ap@4", untied(1, 3, 4, n=6)).item()
        assert found == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3, rel=1e-15)
        assert f"{found:.4f}" == "0.8056"

    # The text does not print the predictions of examples 2 and 3; these are ours, and fit it:
    # label 0 of example 2 at place 2, labels 0 and 2 of example 3 at places 1 and 4.
    PLACES = ((0, 1), (0, 3), (0, 4), (1, 2), (2, 1), (2, 4))
    NUMERATORS = (1 / 1 + 2 / 3 + 3 / 4, 1 / 2, 1 / 1 + 2 / 4)

    def batch(self, n_relevant):
        user, place = np.array(self.PLACES).T
        return by_user(user, place - 1, 0 * place, n_relevant, [6, 6, 6], [4, 4, 4])

    def test_batch_as_tensorflow_divides_it(self):
        # TensorFlow pads the labels to (1, 0, 4), (0, 0, 0), (0, 2, 2) and takes L = 3 for all,
        # so it divides by min(3, 4) = 3 everywhere. Here that is n_relevant = 3 for all.
        found = value("ap@4", self.batch([3, 3, 3]))
        expected = [numerator / 3 for numerator in self.NUMERATORS]
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert f"{found.mean():.4f}" == "0.4907"

    def test_batch_as_equation_5_divides_it(self):
        # by min(|R|, 4) with the labels that each example has: 3, 1 and 2
        found = value("ap@4", self.batch([3, 1, 2]))
        expected = [n / size for n, size in zip(self.NUMERATORS, (3, 1, 2), strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-15)
        assert f"{found.mean():.4f}" == "0.6852"


# One of two relevant items in a list of the top 10
CUT = {"n": 0, "n_relevant": 2, "depth": 10}


class TestDepth:
    def test_list_of_k_places_is_enough(self):
        assert value("recall@10", untied(3, **CUT)).item() == 1 / 2

    def test_list_of_all_candidates_is_enough_for_a_larger_k(self):
        assert value("precision@20", untied(3, n=5)).item() == 1 / 20

    def test_nothing_below_the_last_relevant_item_matters(self):
        ranks = untied(3, 4, **CUT)
        assert value("precision@20", ranks).item() == 2 / 20
        assert value("ap", ranks).item() == pytest.approx((1 / 3 + 2 / 4) / 2, rel=1e-15)
        known = untied(3, 4, n=12, n_relevant=2, depth=10)
        assert value("auc", known).item() == pytest.approx((8 + 8) / (2 * 10), rel=1e-15)

    def test_first_item_settles_hit_and_rr(self):
        ranks = untied(3, **CUT)
        assert value("rr", ranks).item() == 1 / 3
        assert value("rr@20", ranks).item() == 1 / 3
        assert value("hit@20", ranks).item() == 1

    def test_user_whose_list_shows_nothing(self):
        assert value("ndcg@10", untied(**CUT)).item() == 0

    @pytest.mark.parametrize(
        ("name", "places", "n", "message"),
        [
            (
                "recall@20",
                [3],
                0,
                "recall@20 needs ranks down to 20; the list of 1 user ends at 10",
            ),
            ("f2@11", [3], 99, "f2@11 needs ranks down to 11; the list of 1 user ends at 10"),
            ("hit@20", [], 0, "hit@20 needs ranks down to 20; the list of 1 user ends at 10"),
            (
                "ap",
                [3],
                99,
                "ap needs the ranks of all relevant items, but the list of 1 user ends at 10 "
                "before that; use ap@10",
            ),
            (
                "rr",
                [],
                0,
                "rr needs the rank of the first relevant item, but the list of 1 user ends at 10 "
                "before that; use rr@10",
            ),
            (
                "auc",
                [3],
                99,
                "auc needs the ranks of all relevant items, but the list of 1 user ends at 10 "
                "before that; full rankings are needed",
            ),
            (
                "auc",
                [3],
                0,
                "auc needs n_candidates, which is 0 (not known) for 1 users; are lists --complete?",
            ),
        ],
    )
    def test_lists_too_short(self, name, places, n, message):
        with pytest.raises(InputError) as caught:
            value(name, untied(*places, n=n, n_relevant=2, depth=10))
        assert str(caught.value) == message

    def test_message_counts_the_users_it_is_about(self):
        # of four users only the second and third are short of what it takes
        ranks = by_user([0, 3, 3], [0, 1, 2], [0, 0, 0], [2, 1, 2, 2], [0, 9, 9, 9], [20, 0, 5, 5])
        with pytest.raises(InputError) as caught:
            value("ndcg@20", ranks)
        assert str(caught.value) == (
            "ndcg@20 needs ranks down to 20; the lists of 2 users end at 0 to 5"
        )
        with pytest.raises(InputError, match="lists of 3 users end at 0 to 20 before that; full"):
            value("ndcg", ranks)

    def test_auc_without_irrelevant_candidates(self):
        message = "auc is not defined for 1 users all of whose candidates are relevant"
        with pytest.raises(InputError, match=message):
            value("auc", untied(1, 2, n=2))

    def test_policy_and_generator(self):
        ranks = untied(1, n=2)
        known = "expected, optimistic, pessimistic, random"
        with pytest.raises(InputError, match=f"unknown tie policy 'middle'; known: {known}"):
            value("ap", ranks, "middle")
        with pytest.raises(InputError, match="tie policy 'random' needs a random generator"):
            value("ap", ranks, "random")


def test_no_users_at_all():
    ranks = Ranks([], [], [])
    for name in ("recall@3", "ap", "auc", "ndcg@3", "rr", "ap-by-hits@2"):
        for ties in ("expected", "optimistic", "random"):
            values = value(name, ranks, ties, np.random.default_rng(0))
            assert (values.shape, values.dtype) == ((0,), np.float64)
