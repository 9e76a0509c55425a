"""Sampled ranks from scores, pairs and tables, by hand and against loops."""

import math

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.read.options import as_sampled_ranks
from tests.helpers.caught_warnings import warns_about

N, M, USERS = 1571, 100, 400


@pytest.fixture(scope="module")
def study():
    """Return scores of all items and of samples, held-out items, and the exact recall."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(USERS, N))
    held_out = rng.integers(N, size=USERS)
    scores[np.arange(USERS), held_out] += 2.0 * rng.random(USERS)
    others = np.array([rng.choice(np.delete(np.arange(N), item), M, False) for item in held_out])
    columns = np.column_stack([held_out, others])
    among = np.take_along_axis(scores, columns, axis=1)
    rank = 1 + (scores > scores[np.arange(USERS), held_out][:, None]).sum(axis=1)
    recall = (rank <= 10).mean()
    return {"all": scores, "held_out": held_out, "among": among, "recall": recall}


def ranks_by_hand(among):
    return [1 + sum(negative > row[0] for negative in row[1:]) for row in among]


def test_range_holds_the_exact_metric(study):
    results = sm.correct(study["among"], "HR@10", positive=0, n_items=N)
    assert {result.metric for result in results} == {"HR@10"}
    (result,) = (row for row in results if row.estimator == "sampled")
    assert result.value == np.mean(np.array(ranks_by_hand(study["among"])) <= 10)
    assert result.value > 3 * study["recall"]
    assert result.range_low < study["recall"] < result.range_high
    assert (result.n_items, result.n_negatives) == (N, M)


# Each of 300 held-out items is tied with two of its three negatives, so that its rank is 1, 2 or 3.
TIED = [[0.5, 0.5, 0.5, 0.1]] * 300
OF_TIED = {"n_items": 50, "positive": 0}


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(("ties", "rank"), [("optimistic", 1), ("pessimistic", 3)])
def test_tied_item_is_first_or_last_of_those_tied(ties, rank):
    assert set(as_sampled_ranks(TIED, ties=ties, **OF_TIED).sampled_ranks) == {rank}


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_tied_item_is_at_any_rank_of_those_tied():
    """The variance of 1, 2 and 3 is 2 / 3; the mean of 300 ranks is within four errors."""
    ranks = as_sampled_ranks(TIED, ties="random", **OF_TIED).sampled_ranks
    assert set(ranks) == {1, 2, 3}
    assert ranks.mean() == pytest.approx(2, abs=4 * math.sqrt(2 / 3 / 300))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_tie_policy_reaches_the_corrected_metric():
    results = sm.correct(TIED, "auc", "sampled", shape="none", ties="optimistic", **OF_TIED)
    assert results[0].value == 1


def test_tie_policy_of_full_rankings_is_refused():
    with pytest.raises(sm.InputError, match="'expected'"):
        as_sampled_ranks(TIED, ties="expected", **OF_TIED)


@pytest.fixture
def two_positives(tmp_path):
    """u has positives 9 and 5 among 7 and 1, at ranks 1 and 2; v has 3 and 2 among 4 and 1."""
    path = tmp_path / "pairs.csv"
    path.write_text("user_id,score,label\nu,9,1\nu,5,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\nv,2,1\nv,1,0\n")
    return as_sampled_ranks(path, n_items=50)


def test_several_positives_are_not_negatives_of_each_other(two_positives):
    assert two_positives.sampled_ranks.tolist() == [1, 2, 2, 2]
    assert two_positives.several_items


def test_recall_of_several_positives_is_a_mean_over_users(two_positives):
    recall = sm.correct(two_positives, "recall@1", "sampled", shape="none")[0]
    assert (recall.value, recall.n_users) == ((1 / 2 + 0) / 2, 2)


def test_hit_of_several_positives_is_refused(two_positives):
    with pytest.raises(sm.InputError, match="hit@1"):
        sm.correct(two_positives, "hit@1")


# u has the rank 1 among two negatives, and v the rank 2 among one.
TWO_AND_ONE = pd.DataFrame(
    {"user_id": list("uuuvv"), "score": [9, 7, 1, 3, 4], "label": [1, 0, 0, 1, 0]}
)


def test_different_numbers_of_negatives_are_refused():
    with pytest.raises(sm.InputError, match="1 to 2"):
        as_sampled_ranks(TWO_AND_ONE, n_items=50)


def test_different_numbers_of_distinct_negatives_are_those_of_two_draws():
    ranks = as_sampled_ranks(TWO_AND_ONE, n_negatives=2, n_items=50, sampling="distinct")
    assert (ranks.sampled_ranks.tolist(), ranks.n_negatives) == ([1, 2], 2)


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "s.pq"
    sm.SampledRanks([1, 5], [40, 50], 9, "with-replacement", ["a", "b"]).write(path)
    return path


def test_options_that_agree_with_a_written_sample_are_taken(written):
    sample = as_sampled_ranks(written, n_negatives=9, sampling="with-replacement")
    assert (sample.n_negatives, sample.sampling) == (9, "with-replacement")
    assert sample.sampled_ranks.tolist() == [1, 5]


@pytest.mark.parametrize(
    ("option", "other"), [("n_negatives", 10), ("sampling", "distinct"), ("n_items", 60)]
)
def test_option_that_contradicts_a_written_sample_is_refused(written, option, other):
    for data in (written, as_sampled_ranks(written)):
        with pytest.raises(sm.InputError, match=f"found .* is {other}"):
            sm.correct(data, "auc", **{option: other})


@pytest.mark.filterwarnings("ignore:.*held-out items of other users")  # item 0
def test_sampled_scores_that_look_like_those_of_all_items_warn(study):
    """The held-out item is in column 0 of all rows."""
    among = study["among"]
    with warns_about("the held-out item of all 400 users: .* sampled"):
        sm.evaluate(among, "recall@10", relevant=np.zeros(USERS, int), seen=among < -9)


def test_ranks_among_fewer_negatives_than_said_warn():
    """The largest rank among 10 negatives is 11."""
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(10, rng.random(120))
    with warns_about("largest rank is 11 of 101"):
        as_sampled_ranks(ranks, n_items=N, n_negatives=100)


@pytest.mark.filterwarnings("error")
def test_ranks_among_as_many_negatives_as_said_do_not_warn():
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(10, 0.4 * rng.random(120))
    as_sampled_ranks(ranks, n_items=N, n_negatives=10)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("m", [20, 100, 1000])
def test_low_ranks_of_a_good_recommender_do_not_warn(m):
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(m, rng.beta(0.3, 6, 6000))
    as_sampled_ranks(ranks, n_items=5000, n_negatives=m)


@pytest.mark.filterwarnings("ignore:.*held-out items are above")  # b is random
def test_scores_of_all_items_are_compared_exactly(study):
    noise = np.random.default_rng(1).normal(size=study["all"].shape)
    options = {"relevant": study["held_out"], "seen": np.zeros(noise.shape, bool)}
    (result,) = sm.compare({"a": study["all"], "b": noise}, "hr@10", **options)
    assert (result.order, result.estimator, result.paired) == ("a", "exact", True)
    assert result.value_a == study["recall"]


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_sampled_scores_in_a_file_equal_those_in_memory(study, tmp_path):
    np.save(tmp_path / "s.npy", study["among"])
    data = {"a": tmp_path / "s.npy", "b": study["among"]}
    (result,) = sm.compare(data, "recall@10", "cls", positive=0, n_items=N)
    assert (result.order, result.difference) == ("undecided", 0)
    assert result.n_negatives == M


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (
            {"A": sm.Ranks([9], [0], [0]), "B": sm.SampledRanks([1], 9, 2)},
            "A has full .* B sampled",
        ),
        ({"A": sm.Ranks([9], [0], [0]), "B": [[1.0, 2.0]]}, "^B: .*relevant"),
        ([1, 2], "data is of type list"),
    ],
    ids=["both kinds", "scores alone", "list"],
)
def test_recommenders_that_cannot_be_compared_are_refused(data, named):
    with pytest.raises(sm.InputError, match=named):
        sm.compare(data)


# Against loops


def random_pairs(seed, several, column="score"):
    """Return labelled candidates with nine negatives for each user, in random order."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in "dcab":
        held_out = rng.integers(1, 4) if several else 1
        scores = (
            rng.permutation(held_out + 9) + 1
            if column == "rank"
            else rng.integers(0, 6, held_out + 9)
        )
        for item, score in enumerate(scores):
            rows.append((user, item, score, int(item < held_out)))
    table = pd.DataFrame(rows, columns=["user_id", "item_id", column, "label"])
    return table.sample(frac=1, random_state=seed)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("column", ["score", "rank"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_labelled_pairs_match_a_loop(seed, several, column):
    table = random_pairs(seed, several, column)
    expected = {"optimistic": [], "pessimistic": []}
    users = []
    for row in table[table["label"] == 1].itertuples():
        negatives = table[(table["user_id"] == row.user_id) & (table["label"] == 0)]
        sign = 1 if column == "score" else -1
        gaps = sign * (negatives[column] - getattr(row, column))
        users.append(row.user_id)
        expected["optimistic"].append(1 + (gaps > 0).sum())
        expected["pessimistic"].append(1 + (gaps >= 0).sum())
    relevant = table.loc[table["label"] == 1, ["user_id", "item_id"]]
    unlabelled = table.drop(columns="label")
    for data, options in ((table, {}), (unlabelled, {"relevant": relevant})):
        for ties, ranks in expected.items():
            result = as_sampled_ranks(data, n_items=50, ties=ties, **options)
            assert result.sampled_ranks.tolist() == ranks
            assert result.users.tolist() == users
            assert result.n_negatives == 9
            assert result.several_items == (len(set(users)) < len(users))
        draws = [as_sampled_ranks(data, n_items=50, seed=seed, **options).sampled_ranks
                 for seed in range(6)]  # fmt: skip
        assert (np.min(draws, axis=0) >= expected["optimistic"]).all()
        assert (np.max(draws, axis=0) <= expected["pessimistic"]).all()
        assert column == "rank" or np.ptp(draws, axis=0).max() > 0


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_surplus_negatives_are_dropped_at_random():
    """If 95 of 100 negatives remain, b better ones become b * 95 / 100 on average."""
    better = np.array([0, 10, 50, 100])
    m = np.array([95, 100, 100, 100])
    table = pd.DataFrame({"sampled_rank": better + 1, "n_negatives": m})
    draws = []
    for seed in range(300):
        result = as_sampled_ranks(table, n_items=500, seed=seed)
        assert result.n_negatives == 95
        draws.append(result.sampled_ranks - 1)
    assert {row[0] for row in draws} == {0}
    assert {row[3] for row in draws} == {95}
    mean = np.mean(draws, axis=0)
    assert mean == pytest.approx(better * [1, 0.95, 0.95, 0.95], abs=0.25)
    assert np.min(draws, axis=0)[1] >= 5
    assert np.max(draws, axis=0)[1] <= 10


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(
    ("columns", "row", "column"),
    [
        ({"sampled_rank": [1, 12], "n_negatives": 10}, 2, "sampled_rank"),
        ({"sampled_rank": [11, 12], "n_negatives": [10, 10]}, 2, "sampled_rank"),
        ({"sampled_rank": [1, 1], "n_negatives": [10, 0]}, 2, "n_negatives"),
        ({"sampled_rank": [1, 1], "n_negatives": 10, "n_candidates": [11, 10]}, 2, "n_candidates"),
        ({"sampled_rank": [1, 1], "n_negatives": 10, "sampling": ["distinct", "with-replacement"]},
         2, "sampling"),
        ({"sampled_rank": [1, 2, 1], "n_negatives": 10, "user_id": ["a", "b", "a"],
          "repetition": [0, 0, 0]}, 3, None),
        ({"sampled_rank": [1, 2, 1], "n_negatives": 10, "user_id": list("aba"),
          "item_id": [1, 1, 1], "repetition": [0, 0, 0]}, 3, None),
        ({"sampled_rank": [1, 2], "n_negatives": 10, "user_id": list("ab"),
          "repetition": [0, -1]}, 2, "repetition"),
    ],
)  # fmt: skip
def test_contradictory_sample_columns_are_refused(columns, row, column):
    with pytest.raises(sm.InputError) as caught:
        as_sampled_ranks(pd.DataFrame(columns), n_items=50)
    assert (caught.value.row, caught.value.column) == (row, column)


AT_BOUNDS = pd.DataFrame(
    {
        "sampled_rank": [1, 11, 11],  # 1 to 11 among 10 negatives
        "n_negatives": 10,
        "n_candidates": [11, 12, 50],  # the held-out item and its negatives, or more
        "sampling": "distinct",
        "user_id": list("aba"),
        "repetition": [0, 0, 1],
    }
)


@pytest.mark.filterwarnings("error")
def test_sample_columns_at_their_bounds_are_read():
    sample = as_sampled_ranks(AT_BOUNDS)
    assert (sample.n_negatives, str(sample.sampling)) == (10, "distinct")
    assert sample.n_items.tolist() == [11, 12, 50]
    assert sample.users.tolist() == list("aba")


def test_repetitions_of_a_user_are_not_several_items():
    assert not as_sampled_ranks(AT_BOUNDS).several_items
    assert as_sampled_ranks(AT_BOUNDS.assign(item_id=[1, 1, 2])).several_items


def test_user_twice_without_repetitions_warns():
    with warns_about("1 of 2 users"):
        as_sampled_ranks(AT_BOUNDS.drop(columns="repetition"))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(("n_negatives", "m"), [(10, 10), (9, 9), (8, None), (None, None)])
def test_dropped_duplicates_need_the_number_drawn(n_negatives, m):
    """Of 10 draws, 7 to 9 remain; n_negatives may not be less than the longest row."""
    rows = [("a", 9, 1), ("b", 7, 2), ("c", 8, 4)]
    table = pd.DataFrame(
        [(user, place == 0, -abs(place - rank + 0.5) if place else 0.0)
         for user, count, rank in rows for place in range(count + 1)],
        columns=["user_id", "label", "score"],
    )  # fmt: skip
    options = {"n_items": 50, "sampling": "distinct", "n_negatives": n_negatives}
    if m is None:
        with pytest.raises(sm.InputError):
            as_sampled_ranks(table, **options)
    else:
        assert as_sampled_ranks(table, **options).n_negatives == m


def test_rows_keep_the_fewest_negatives():
    """40 % of the negatives of each row are above; 90 of 100 are kept at random.

    The number of those above that are kept is hypergeometric: its variance is
    90 * .4 * .6 * (100 - 90) / (100 - 1).
    """
    ranks = np.repeat([1 + 36, 1 + 40], 4000)
    ranks[0] = 91  # so that ranks do not end too early
    table = pd.DataFrame({"sampled_rank": ranks, "n_negatives": np.repeat([90, 100], 4000)})
    with warns_about("90 negatives"):
        thinned = as_sampled_ranks(table, n_items=3541)
    assert thinned.n_negatives == 90
    assert set(thinned.sampled_ranks[1:4000]) == {1 + 36}
    n_better = thinned.sampled_ranks[4000:] - 1
    spread = np.sqrt(90 * 0.4 * 0.6 * (100 - 90) / (100 - 1))
    assert (n_better.mean(), n_better.std()) == pytest.approx((36, spread), abs=0.1)


@pytest.mark.parametrize(("fewest", "sampling"), [(90, "distinct"), (50, None)])
def test_distinct_or_far_fewer_negatives_are_not_thinned(fewest, sampling):
    table = pd.DataFrame({"sampled_rank": [1, 2], "n_negatives": [fewest, 100]})
    with pytest.raises(sm.InputError, match="negatives"):
        sm.correct(table, "auc", "sampled", n_items=3541, sampling=sampling)


# The item of column 0 is first of row a, and second of row b.
TWO_SAMPLES = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])


def test_index_of_a_frame_gives_no_users():
    """It may be arbitrary."""
    frame = pd.DataFrame(TWO_SAMPLES, index=["a", "b"])
    assert as_sampled_ranks(frame, n_items=9, positive=0).users is None


def test_positive_column_is_found_by_its_name():
    frame = pd.DataFrame(TWO_SAMPLES, columns=["x", "y", "z"])
    assert as_sampled_ranks(frame, n_items=9, positive="y").sampled_ranks.tolist() == [2, 1]


@pytest.mark.parametrize(("users", "several"), [(["a", "b"], False), (["a", "a"], True)])
def test_users_of_sampled_scores_come_from_the_file(users, several, tmp_path):
    np.savez(tmp_path / "s.npz", scores=TWO_SAMPLES, user_ids=users)
    sample = as_sampled_ranks(tmp_path / "s.npz", n_items=9, positive=0)
    assert sample.users.tolist() == users
    assert sample.several_items == several


def test_positive_in_a_file_beside_the_argument_is_refused(tmp_path):
    np.savez(tmp_path / "s.npz", scores=TWO_SAMPLES, positive=[1, 0])
    with pytest.raises(sm.InputError, match="positive"):
        as_sampled_ranks(tmp_path / "s.npz", n_items=9, positive=0)


# Rows with fewer negatives

INF = np.inf
# at ranks 2 of 4, 3 of 3 and 1 of 2
SHORT_ROWS = [[0.5, 0.9, 0.1, 0.2], [0.5, 0.6, 0.7], [0.9, 0.1]]
PADDED_ROWS = np.array([[*row, *(4 - len(row)) * [-INF]] for row in SHORT_ROWS])
# 200 rows, in which the held-out item is first, and of which each fourth has 95 of 99 negatives
RNG = np.random.default_rng(3)
SIZES = np.where(np.arange(200) % 4, 99, 95)
ROW_LISTS = [RNG.normal([2.0, *m * [0.0]]) for m in SIZES]
MATRIX = np.array([np.append(row, (100 - row.size) * [-INF]) for row in ROW_LISTS])
RANKS = np.array([1 + (row[1:] > row[0]).sum() for row in ROW_LISTS])
OPTIONS = {"positive": 0, "n_items": 3000}


def read_rows(scores, **options):
    return sm.SampledRanks.from_scores(scores, n_items=3000, **options)


class TestSizesOfRows:
    @pytest.mark.parametrize(
        "scores",
        [ROW_LISTS, MATRIX, [row.tolist() for row in ROW_LISTS]],
        ids=["lists", "matrix", "lists of numbers"],
    )
    @pytest.mark.filterwarnings("ignore:n_negatives")
    def test_longer_rows_are_cut_at_random(self, scores):
        """95 of 99 negatives are kept, so that ranks can become smaller, but not larger."""
        result = read_rows(scores)
        assert result.n_negatives == 95
        assert (result.sampled_ranks[SIZES == 95] == RANKS[SIZES == 95]).all()
        assert (result.sampled_ranks <= RANKS).all()
        lost = (RANKS - result.sampled_ranks).sum()
        expected = ((RANKS - 1) * (1 - 95 / SIZES)).sum()
        assert lost == pytest.approx(expected, abs=4 * np.sqrt(expected))

    @pytest.mark.parametrize("n_more", [0, 30])
    def test_padding_of_all_rows_is_not_a_negative(self, n_more):
        of_99 = SIZES == 99
        padded = np.pad(MATRIX[of_99], ((0, 0), (0, n_more)), constant_values=-INF)
        result = read_rows(padded)
        assert result.n_negatives == 99
        assert (result.sampled_ranks == RANKS[of_99]).all()

    def test_held_out_item_behind_padding_is_read(self):
        last = np.column_stack([MATRIX[:, 1:], MATRIX[:, 0]])
        with warns_about("95 of them"):
            result = read_rows(last, positive=-1)
        assert result.n_negatives == 95
        assert (result.sampled_ranks[SIZES == 95] == RANKS[SIZES == 95]).all()

    @pytest.mark.parametrize("rows", [PADDED_ROWS, SHORT_ROWS], ids=["padded", "short"])
    def test_many_fewer_negatives_are_refused(self, rows):
        with pytest.raises(sm.InputError, match="1 to 3 negatives"):
            read_rows(rows)

    def test_many_fewer_distinct_negatives_are_read(self):
        result = read_rows(SHORT_ROWS, sampling="distinct", n_negatives=4)
        assert result.sampled_ranks.tolist() == [2, 3, 1]

    def test_meter_agrees_with_correct(self):
        meter = sm.RankMeter("hr@10", n_items=3000)
        for rows in np.array_split(MATRIX, 3):
            meter.update(rows)
        with warns_about("95 of them"):
            of_meter = meter.compute()[0].value
        with warns_about("95 of them"):
            of_correct = sm.correct(MATRIX, "hr@10", **OPTIONS)[0].value
        assert of_meter == of_correct

    def test_batch_of_another_width_is_refused(self):
        meter = sm.RankMeter("hr@10", n_items=3000)
        meter.update(MATRIX[SIZES == 99])
        with pytest.raises(sm.InputError, match="pad rows"):
            meter.update(MATRIX[SIZES == 95][:, :96])

    def test_padded_batch_is_read_with_others(self):
        """150 rows of 99 negatives, then 50 rows of 95 that are padded by 4."""
        meter = sm.RankMeter("hr@10", n_items=3000)
        meter.update(MATRIX[SIZES == 99])
        meter.update(MATRIX[SIZES == 95])
        with warns_about("95 of them"):
            ranks = meter.ranks()
        assert (ranks.sampled_ranks[150:] == RANKS[SIZES == 95]).all()


class TestGapsWithinRows:
    @pytest.fixture
    def with_gap(self):
        """Rows of 99 negatives, one of which has no score."""
        scores = MATRIX[SIZES == 99].copy()
        scores[3, 7] = -INF
        return scores

    def test_gap_is_refused_with_both_remedies(self, with_gap):
        with pytest.raises(sm.InputError, match=r"last negative.* missing='last'"):
            read_rows(with_gap)

    def test_gap_is_below_all_if_missing_scores_are_last(self, with_gap):
        assert read_rows(with_gap, missing="last").n_negatives == 99

    @pytest.mark.parametrize(
        ("rows", "options", "named"),
        [
            (np.where(MATRIX == -INF, np.nan, MATRIX), {}, "-inf at their end"),
            ([[0.1, 0.2], [0.3, -INF]], {}, r"row 2.*column 1"),
            (SHORT_ROWS, {"missing": "last"}, "rows differ in length"),
        ],
        ids=["padding of NaN", "row without negatives", "lengths with missing"],
    )
    def test_wrong_padding_is_refused(self, rows, options, named):
        with pytest.raises(sm.InputError, match=named):
            read_rows(rows, **options)

    def test_padding_with_missing_last_warns(self):
        with warns_about(r"50 rows end with -inf.*drop missing"):
            result = read_rows(MATRIX, missing="last")
        assert result.n_negatives == 99

    def test_answers_that_leave_out_items_do_not_warn(self, recwarn):
        scores = MATRIX.copy()
        scores[0, :5] = -INF  # a held-out item, and some negatives
        assert read_rows(scores, missing="last").n_missing == 1
        assert not recwarn.list
