"""Rows of a held-out item and its negatives, of which some rows have fewer negatives."""

import numpy as np
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about

INF = np.inf
ROWS = [
    [0.5, 0.9, 0.1, 0.2],
    [0.5, 0.6, 0.7],
    [0.9, 0.1],
]  # ranks 2 of 4, 3 of 3, 1 of 2
PADDED = np.array([[*row, *(4 - len(row)) * [-INF]] for row in ROWS])
RNG = np.random.default_rng(3)
SIZES = np.where(np.arange(200) % 4, 99, 95)
LISTS = [RNG.normal([2.0, *m * [0.0]]) for m in SIZES]
MATRIX = np.array([np.append(row, (100 - row.size) * [-INF]) for row in LISTS])
RANKS = np.array([1 + (row[1:] > row[0]).sum() for row in LISTS])
OPTIONS = {"positive": 0, "n_items": 3000}


def sampled(scores, **options):
    return sm.SampledRanks.from_scores(scores, n_items=3000, **options)


class TestSizesOfRows:
    @pytest.mark.parametrize(
        "scores",
        [LISTS, MATRIX, [row.tolist() for row in LISTS]],
        ids=["lists", "matrix", "lists of numbers"],
    )
    @pytest.mark.filterwarnings("ignore:n_negatives")
    def test_are_their_own(self, scores):
        """Of 99 negatives 95 are kept, so that ranks become smaller by chance, and never larger."""
        found = sampled(scores)
        assert found.n_negatives == 95
        assert (found.sampled_ranks[SIZES == 95] == RANKS[SIZES == 95]).all()
        assert (found.sampled_ranks <= RANKS).all()
        below = (RANKS - 1).sum() - (found.sampled_ranks - 1).sum()
        expected = ((RANKS - 1) * (1 - 95 / SIZES)).sum()
        assert below == pytest.approx(expected, abs=4 * np.sqrt(expected))

    def test_rows_without_padding_are_as_before(self):
        scores = MATRIX[SIZES == 99]
        assert (sampled(scores).sampled_ranks == RANKS[SIZES == 99]).all()

    def test_columns_of_padding_for_all_rows_are_no_negatives(self):
        wide = np.column_stack([MATRIX[SIZES == 99], np.full((150, 30), -INF)])
        found = sampled(wide)
        assert found.n_negatives == 99
        assert (found.sampled_ranks == RANKS[SIZES == 99]).all()

    def test_held_out_item_behind_the_padding(self):
        last = np.column_stack([MATRIX[:, 1:], MATRIX[:, 0]])
        with warns_about("95 are kept"):
            found = sampled(last, positive=-1)
        assert found.n_negatives == 95
        assert (found.sampled_ranks[SIZES == 95] == RANKS[SIZES == 95]).all()

    def test_many_fewer_negatives_are_refused(self):
        with pytest.raises(sm.InputError, match="1 to 3 negatives"):
            sampled(PADDED)
        with pytest.raises(sm.InputError, match="1 to 3 negatives"):
            sampled(ROWS)

    def test_the_remedy_of_that_refusal_works(self):
        found = sampled(ROWS, sampling="distinct", n_negatives=4)
        assert found.sampled_ranks.tolist() == [2, 3, 1]

    def test_meters_agree(self):
        meter = sm.RankMeter("hr@10", n_items=3000)
        for rows in np.array_split(MATRIX, 3):
            meter.update(rows)
        with warns_about("95 are kept"):
            result = meter.compute()[0]
        with warns_about("95 are kept"):
            assert result.value == sm.correct(MATRIX, "hr@10", **OPTIONS)[0].value

    def test_batches_of_other_widths_are_refused_and_the_remedy_works(self):
        meter = sm.RankMeter("hr@10", n_items=3000)
        meter.update(MATRIX[SIZES == 99])
        few = MATRIX[SIZES == 95][:, :96]
        with pytest.raises(sm.InputError, match="fill up rows of fewer negatives"):
            meter.update(few)
        meter.update(np.column_stack([few, np.full((len(few), 4), -INF)]))
        with warns_about("95 are kept"):
            ranks = meter.ranks()
        assert (ranks.sampled_ranks[150:] == RANKS[SIZES == 95]).all()


class TestGapsWithinRows:
    def test_are_refused_with_both_remedies(self):
        scores = MATRIX[SIZES == 99].copy()
        scores[3, 7] = -INF
        with pytest.raises(
            sm.InputError, match=r"behind the last negative.* missing='last'"
        ):
            sampled(scores)
        assert sampled(scores, missing="last").n_negatives == 99

    def test_padding_of_nan_is_refused_and_the_remedy_works(self):
        scores = np.where(MATRIX == -INF, np.nan, MATRIX)
        with pytest.raises(sm.InputError, match="-inf at their end"):
            sampled(scores)

    def test_rows_without_negatives_are_refused(self):
        with pytest.raises(sm.InputError, match=r"row 2.*column 1"):
            sampled([[0.1, 0.2], [0.3, -INF]])


class TestMissingLast:
    def test_padding_is_asked_about(self):
        with warns_about(r"50 rows end with -inf.*leave missing"):
            found = sampled(MATRIX, missing="last")
        assert found.n_negatives == 99

    def test_answers_that_leave_out_items_are_not(self, recwarn):
        scores = MATRIX.copy()
        scores[0, :5] = -INF  # a held-out item, and some negatives
        assert sampled(scores, missing="last").n_missing == 1
        assert not recwarn.list

    def test_lists_of_different_lengths_are_refused(self):
        with pytest.raises(sm.InputError, match="rows differ in length"):
            sampled(ROWS, missing="last")
