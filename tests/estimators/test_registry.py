"""Names of estimators, and vectors: by hand, loops, numerical derivatives, identities."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import em_step, estimator_matrix, parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from tests.helpers.estimation import (
    ESTIMATOR_NAMES,
    MEASURES,
    SAMPLINGS,
    WITH,
    WITHOUT,
    estimator_vectors,
    exact_values,
    sampled_rank_pmf,
)


class TestNames:
    def test_parse_estimator_round_trip(self):
        assert [str(parse_estimator(name)) for name in ESTIMATOR_NAMES] == list(ESTIMATOR_NAMES)
        assert len({parse_estimator(f"bv:{g}") for g in ("0.1", ".1", "0.10", "1e-1")}) == 1
        assert parse_estimator("BV:0.1 ") == parse_estimator("bv:0.1")
        assert parse_estimator("Rank_Estimate") == parse_estimator("rank-estimate")

    @pytest.mark.parametrize(
        "name",
        [
            *("", "bv", "bv:", "bv:x", "bv:1.1", "bv:-0.1", "bv:nan", "bv:inf", "bv: 0.1"),
            *("bv:1_0", "bv:0.1:2", "cls:0.1", "bv:\u0660", "sampled:", "rank-estimates"),
            *("em", "em:0", "em:2.5", "em:1001"),
        ],
    )
    def test_parse_estimator_unknown_name_lists_known(self, name):
        with pytest.raises(InputError) as caught:
            parse_estimator(name)
        assert str(caught.value).startswith(f"unknown estimator {name!r};")
        assert "rank-estimate" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clss", "did you mean cls"),
        ("bv:2", "GAMMA a number from 0 to 1, ITERATIONS a whole number from 1 to 1000"),
    ],
)
def test_parse_estimator_suggests_names(name, message):
    with pytest.raises(InputError, match=message):
        parse_estimator(name)


def test_parse_estimator_without_number_is_not_suggested():
    with pytest.raises(InputError, match=r"unknown estimator 'em'(?!.*did you mean em).*em:ITER"):
        parse_estimator("em")


@pytest.mark.parametrize(
    ("name", "label", "printed"),
    [
        ("bv:1", "BV 1", "bv:1"),
        ("bv:0", "BV 0", "bv:0"),
        ("bv:0.001", "BV 0.001", "bv:0.001"),
        ("em:1000", "EM 1000", "em:1000"),
        ("em:1", "EM 1", "em:1"),
        ("rank-estimate", "Rank Estimate", "rank-estimate"),
    ],
)
def test_estimator_at_bounds_label_and_name(name, label, printed):
    estimator = parse_estimator(name)
    assert (estimator.label, str(estimator)) == (label, printed)


class TestSampledAndRankEstimate:
    def test_sampled_metrics_of_ranks_1_to_4_among_3_negatives(self):
        ap, auc = MEASURES[2:]
        of_ap, of_auc = estimator_vectors(["sampled"], [ap, auc], 8, 3)[:, 0]
        np.testing.assert_allclose(of_ap, [1, 1 / 2, 1 / 3, 1 / 4])
        np.testing.assert_allclose(of_auc, [1, 2 / 3, 1 / 3, 0])

    @pytest.mark.parametrize(
        ("divisor", "rounding", "expected"),
        [
            # ranks 1, 1 + 7/2 and 1 + 7 of 8
            ("m", "floor", [1, 1 / 4, 1 / 8]),
            ("m", "linear", [1, (1 / 4 + 1 / 5) / 2, 1 / 8]),
            # ranks 1, 1 + 7/3 and 1 + 14/3
            ("m+1", "floor", [1, 1 / 3, 1 / 5]),
            ("m+1", "linear", [1, (2 / 3) / 3 + (1 / 3) / 4, (1 / 3) / 5 + (2 / 3) / 6]),
        ],
    )
    def test_rank_estimate_of_ap_by_hand(self, divisor, rounding, expected):
        """Credit of the rank below, or between those on both sides."""
        ap, options = MEASURES[2], {"rounding": rounding, "divisor": divisor}
        vectors = estimator_vectors(["rank-estimate"], [ap], 8, 2, **options)
        np.testing.assert_allclose(vectors[0, 0], expected)

    @settings(derandomize=True, deadline=None)
    @given(st.integers(2, 10**6), st.integers(1, 200), st.sampled_from(["m", "m+1"]))
    def test_rank_estimate_floor_is_exact(self, n, m, divisor):
        bottom = m if divisor == "m" else m + 1
        ranks = np.array([1 + floor(Fraction((n - 1) * i, bottom)) for i in range(m + 1)])
        ours = estimator_vectors(["rank-estimate"], MEASURES[2:3], n, m, divisor=divisor)[0, 0]
        assert np.array_equal(ours, 1.0 / ranks)

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_rank_estimate_of_auc_is_unbiased(self, sampling):
        options = {"rounding": "linear", "divisor": "m"}
        vector = estimator_vectors(["rank-estimate"], MEASURES[3:], 40, 7, **options)[0, 0]
        means = sampled_rank_pmf(40, 7, sampling) @ vector
        np.testing.assert_allclose(means, exact_values(MEASURES[3:], 40)[:, 0], atol=1e-13)


class TestFitted:
    N, M, HISTOGRAM = 12, 4, np.array([30.0, 12, 9, 5, 4])
    MEASURES = (*map(parse_measure, ("recall@2", "ndcg@3", "ap", "auc", "recall@12")),)

    def vectors(self, name, histogram=HISTOGRAM, sampling=WITHOUT):
        options = {"sampling": sampling, "histogram": histogram}
        return estimator_vectors([name], self.MEASURES, self.N, self.M, **options)[:, 0]

    def value(self, name, histogram=HISTOGRAM, sampling=WITHOUT):
        return self.vectors(name, histogram, sampling) @ histogram / np.sum(histogram)

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @pytest.mark.parametrize("iterations", [1, 7, 50])
    def test_em_matches_loops(self, sampling, iterations):
        pmf, shares = (
            sampled_rank_pmf(self.N, self.M, sampling),
            self.HISTOGRAM / self.HISTOGRAM.sum(),
        )
        p = [1 / self.N] * self.N
        for _ in range(iterations):
            marginal = [sum(map(float.__mul__, p, column)) for column in pmf.T.tolist()]
            p = [
                sum(f * q * g / c for f, g, c in zip(shares, row, marginal, strict=True))
                for q, row in zip(p, pmf.tolist(), strict=True)
            ]
        values = self.value(f"em:{iterations}", sampling=sampling)
        np.testing.assert_allclose(
            values, p @ exact_values(self.MEASURES, self.N), rtol=0, atol=1e-12
        )
        assert values[-1] == pytest.approx(1, abs=1e-10)  # recall at n

    @pytest.mark.parametrize("sampling", SAMPLINGS)
    @pytest.mark.parametrize("name", ["em:1", "em:30", "likely"])
    def test_vectors_are_derivatives(self, name, sampling):
        """x_i - g is the derivative of the estimate g towards all users at sampled rank i."""
        ours = self.vectors(name, sampling=sampling)
        ours -= self.value(name, sampling=sampling)[:, None]
        for i, all_there in enumerate(self.HISTOGRAM.sum() * np.eye(self.M + 1)):
            ends = [
                self.value(name, (1 - step) * self.HISTOGRAM + step * all_there, sampling)
                for step in (1e-4, -1e-4)
            ]
            numerical = (ends[0] - ends[1]) / 2e-4
            np.testing.assert_allclose(ours[:, i], numerical, rtol=1e-4, atol=1e-5)

    def test_em_ignores_impossible_sampled_ranks(self):
        """Four draws from two items: one distinct item with probability 1/8, otherwise two.

        Given sampled rank 1, true rank 1 is 16 times as probable as 2; given 2, rank 2 is 15/2
        times as probable as 3. The AUC of true ranks 1, 2, 3 is 1, 1/2, 0.
        """
        vectors = estimator_vectors(
            ["em:1"], MEASURES[3:], 3, 4, sampling="distinct", histogram=[1] * 5
        )
        assert vectors[0, 0] == pytest.approx([(16 + 1 / 2) / 17, 7.5 / 2 / 8.5, 0, 0, 0])

    def test_em_many_candidates_matches_all_ranks(self):
        """Beyond 16,384 candidates, each node stands for several ranks."""
        n, m, measures = (20_000, 20, [parse_measure("recall@100"), parse_measure("auc")])
        histogram = np.array([50.0, *np.linspace(12, 1, m)])
        p = np.full(n, 1 / n)
        for _ in range(30):
            p = em_step(sampled_rank_pmf(n, m, WITH), p, histogram / histogram.sum())
        ours = estimator_vectors(["em:30"], measures, n, m, histogram=histogram)[:, 0] @ histogram
        np.testing.assert_allclose(ours / histogram.sum(), p @ exact_values(measures, n), rtol=1e-9)


@pytest.mark.parametrize("histogram", [np.ones(4), np.ones(6), np.zeros(5)])
def test_histogram_of_wrong_length_is_refused(histogram):
    with pytest.raises(InputError, match=r"histogram has .*expected 5 counts"):
        estimator_matrix(
            [parse_estimator("em:5")],
            [parse_measure("recall@1")],
            n=9,
            m=4,
            sampling="without-replacement",
            histogram=histogram,
        )


class TestMatrix:
    def test_matrix_axes_and_options(self):
        together = estimator_vectors(ESTIMATOR_NAMES, MEASURES, 500, 40)
        assert together.shape == (4, 7, 41)
        for i, measure in enumerate(MEASURES):
            for j, name in enumerate(ESTIMATOR_NAMES):
                alone = estimator_vectors([name], [measure], 500, 40)[0, 0]
                np.testing.assert_allclose(together[i, j], alone, atol=1e-9)
        for options, expected in (
            ({"sampling": WITHOUT}, {2, 3, 4, 5, 6}),
            ({"cls_nonnegative": False}, {2}),
            ({"rounding": "linear"}, {1}),
            ({"divisor": "m"}, {1}),
        ):
            other = estimator_vectors(ESTIMATOR_NAMES, MEASURES, 500, 40, **options)
            differing = np.abs(other - together).max(axis=(0, 2)) > 1e-6
            assert set(np.flatnonzero(differing)) == expected
        assert np.array_equal(together, estimator_vectors(ESTIMATOR_NAMES, MEASURES, 500, 40))
        assert estimator_vectors([], MEASURES, 50, 4).shape == (4, 0, 5)
        assert estimator_vectors(ESTIMATOR_NAMES, [], 50, 4).shape == (0, 7, 5)

    @pytest.mark.parametrize(
        ("options", "word"),
        [
            ({"n": 2, "m": 4, "sampling": "distinct"}, "sampled rank 3 of 5"),
            ({"n": 2, "sampling": WITHOUT}, "n is 2"),
            ({"m": 0}, "m is 0"),
            ({"n": 10**6, "m": 20_000}, "10,000 negatives"),
            ({"rounding": "up"}, "up"),
            ({"names": ["em:5"]}, "em:5"),
            ({"names": ["em:5"], "histogram": np.zeros(3)}, "sum 0"),
        ],
    )
    def test_matrix_wrong_options_are_refused(self, options, word):
        with pytest.raises(InputError, match=word):
            estimator_vectors(
                **({"names": ESTIMATOR_NAMES, "measures": MEASURES, "n": 5, "m": 2} | options)
            )
