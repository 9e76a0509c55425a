"""Sampled ranks from scores, pairs and tables, by hand and against loops."""

import math
import warnings

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


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_tie_policies_order_ranks():
    scores = [[0.5, 0.5, 0.5, 0.1]] * 300
    sample_options = {"n_items": 50, "positive": 0}
    ranks = {
        ties: as_sampled_ranks(scores, ties=ties, **sample_options).sampled_ranks
        for ties in ("random", "optimistic", "pessimistic")
    }
    assert set(ranks["optimistic"]) == {1}
    assert set(ranks["pessimistic"]) == {3}
    error = math.sqrt(2 / 3 / 300)  # standard error of the mean of 1, 2 and 3
    assert ranks["random"].mean() == pytest.approx(2, abs=4 * error)
    options = {"shape": "none", "ties": "optimistic", **sample_options}
    assert sm.correct(scores, "auc", "sampled", **options)[0].value == 1
    with pytest.raises(sm.InputError, match="'expected'"):
        as_sampled_ranks(scores, ties="expected", **sample_options)


def test_several_positives_are_not_negatives_of_each_other(tmp_path):
    # u has positives 9 and 5 among 7 and 1, at ranks 1 and 2; v has 3 and 2 among 4 and 1.
    path = tmp_path / "pairs.csv"
    path.write_text("user_id,score,label\nu,9,1\nu,5,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\nv,2,1\nv,1,0\n")
    ranks = as_sampled_ranks(path, n_items=50)
    assert ranks.sampled_ranks.tolist() == [1, 2, 2, 2]
    assert ranks.several_items
    recall = sm.correct(ranks, "recall@1", "sampled", shape="none")[0]
    assert (recall.value, recall.n_users) == ((1 / 2 + 0) / 2, 2)
    with pytest.raises(sm.InputError, match="hit@1"):
        sm.correct(ranks, "hit@1")


def test_different_numbers_of_negatives_need_n_negatives(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("user_id,score,label\nu,9,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\n")
    with pytest.raises(sm.InputError, match="1 to 2"):
        as_sampled_ranks(path, n_items=50)
    ranks = as_sampled_ranks(path, n_negatives=2, n_items=50, sampling="distinct")
    assert (ranks.sampled_ranks.tolist(), ranks.n_negatives) == ([1, 2], 2)


def test_written_sample_must_agree_with_options(tmp_path):
    path = tmp_path / "s.pq"
    written = sm.SampledRanks([1, 5], [40, 50], 9, "with-replacement", ["a", "b"])
    written.write(path)
    ranks = as_sampled_ranks(path, n_negatives=9, sampling="with-replacement")
    assert (ranks.n_negatives, ranks.sampling) == (9, "with-replacement")
    assert len(ranks) == 2
    for options in ({"n_negatives": 10}, {"sampling": "distinct"}, {"n_items": 60}):
        for data in (path, ranks):
            with pytest.raises(sm.InputError, match=r"found .*, but .* is (10|distinct|60)"):
                sm.correct(data, "auc", **options)


@pytest.mark.filterwarnings("ignore:.*held-out items of other users")  # item 0
def test_sampled_ranks_that_look_like_others_warn(study):
    among, relevant = study["among"], np.zeros(USERS, int)
    with warns_about("the held-out item of all 400 users: .* sampled"):
        sm.evaluate(among, "recall@10", relevant=relevant, seen=among < -9)
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(10, rng.random(120))
    with warns_about("largest rank is 11 of 101.* 10 sampled items"):
        as_sampled_ranks(ranks, n_items=N, n_negatives=100)
    ranks = 1 + rng.binomial(10, 0.4 * rng.random(120))
    as_sampled_ranks(ranks, n_items=N, n_negatives=10)
    for m in (20, 100, 1000):  # a good recommender does not warn
        ranks = 1 + rng.binomial(m, rng.beta(0.3, 6, 6000))
        as_sampled_ranks(ranks, n_items=5000, n_negatives=m)


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
@pytest.mark.filterwarnings("ignore:.*held-out items are above")  # b is random
def test_comparison_of_full_and_sampled_data(study, tmp_path):
    noise = np.random.default_rng(1).normal(size=study["all"].shape)
    data = {"a": study["all"], "b": noise}
    options = {"relevant": study["held_out"], "seen": noise < -9}
    (result,) = sm.compare(data, "hr@10", **options)
    assert (result.order, result.estimator, result.paired) == ("a", "exact", True)
    assert result.value_a == study["recall"]
    np.save(tmp_path / "s.npy", study["among"])
    data = {"a": tmp_path / "s.npy", "b": study["among"]}
    (result,) = sm.compare(data, "recall@10", "cls", positive=0, n_items=N)
    assert (result.order, result.difference) == ("undecided", 0)
    assert result.n_negatives == M
    full, sampled = sm.Ranks([9], [0], [0]), sm.SampledRanks([1], 9, 2)
    for data, message in (
        ({"A": full, "B": sampled}, "A has full rankings and B sampled"),
        ({"A": full, "B": [[1.0, 2.0]]}, r"^B: found scores; pass relevant"),
        ([1, 2], "data is of type list; expected a dictionary"),
    ):
        with pytest.raises(sm.InputError, match=message):
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


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_sample_columns_at_their_bounds_are_read():
    columns = {
        "sampled_rank": [1, 11, 11],
        "n_negatives": 10,
        "n_candidates": [11, 12, 50],
        "sampling": "distinct",
        "user_id": list("aba"),
        "repetition": [0, 0, 1],
    }
    result = as_sampled_ranks(pd.DataFrame(columns))
    assert (result.n_negatives, result.several_items) == (10, False)
    assert str(result.sampling) == "distinct"
    assert result.n_items.tolist() == [11, 12, 50]
    assert result.users.tolist() == list("aba")
    result = as_sampled_ranks(pd.DataFrame(columns | {"item_id": [1, 1, 2]}))
    assert result.several_items
    with warnings.catch_warnings():
        warnings.simplefilter("error", sm.InputWarning)
        as_sampled_ranks(pd.DataFrame(columns))  # with numbered repetitions
        with pytest.raises(sm.InputWarning, match="1 of 2"):
            as_sampled_ranks(pd.DataFrame(columns).drop(columns="repetition"))


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
    """Ranks are those among a random part of the negatives of each row."""
    numbers = np.repeat([90, 100], 4000)
    ranks = np.repeat([37, 41], 4000)  # 40 % of the negatives are above
    ranks[0] = 91  # so that ranks do not end too early
    table = pd.DataFrame({"sampled_rank": ranks, "n_negatives": numbers})
    with warns_about("90 negatives"):
        thinned = as_sampled_ranks(table, n_items=3541)
    assert thinned.n_negatives == 90
    assert set(thinned.sampled_ranks[1:4000]) == {37}
    n_better = thinned.sampled_ranks[4000:] - 1
    spread = np.sqrt(90 * 0.4 * 0.6 * 10 / 99)
    assert (n_better.mean(), n_better.std()) == pytest.approx((36, spread), abs=0.1)
    few = pd.DataFrame({"sampled_rank": [1, 2], "n_negatives": [50, 100]})
    for wrong, sampling in ((table, "distinct"), (few, None)):
        with pytest.raises(sm.InputError, match="negatives"):
            sm.correct(wrong, "auc", "sampled", n_items=3541, sampling=sampling)


def test_users_of_sampled_ranks_come_from_the_file(tmp_path):
    # the index of a DataFrame may be arbitrary
    scores = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    sample_options = {"n_items": 9, "positive": 0}
    frame = pd.DataFrame(scores, index=["a", "b"], columns=["x", "y", "z"])
    assert as_sampled_ranks(frame, **sample_options).users is None
    named = as_sampled_ranks(frame, n_items=9, positive="y")
    assert named.sampled_ranks.tolist() == [2, 1]
    np.savez(tmp_path / "s.npz", scores=scores, user_ids=["a", "b"])
    result = as_sampled_ranks(tmp_path / "s.npz", **sample_options)
    assert result.users.tolist() == ["a", "b"]
    assert not result.several_items
    np.savez(tmp_path / "s.npz", scores=scores, user_ids=["a", "a"])
    assert as_sampled_ranks(tmp_path / "s.npz", **sample_options).several_items
    np.savez(tmp_path / "s.npz", scores=scores, positive=[1, 0])
    with pytest.raises(sm.InputError, match="positive"):
        as_sampled_ranks(tmp_path / "s.npz", **sample_options)


# Rows with fewer negatives

INF = np.inf
# at ranks 2 of 4, 3 of 3 and 1 of 2
SHORT_ROWS = [[0.5, 0.9, 0.1, 0.2], [0.5, 0.6, 0.7], [0.9, 0.1]]
PADDED_ROWS = np.array([[*row, *(4 - len(row)) * [-INF]] for row in SHORT_ROWS])
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
        below = (RANKS - 1).sum() - (result.sampled_ranks - 1).sum()
        expected = ((RANKS - 1) * (1 - 95 / SIZES)).sum()
        assert below == pytest.approx(expected, abs=4 * np.sqrt(expected))

    def test_padding_of_all_rows_is_not_a_negative(self):
        scores = MATRIX[SIZES == 99]
        wide = np.column_stack([scores, np.full((150, 30), -INF)])
        for rows in (scores, wide):
            result = read_rows(rows)
            assert result.n_negatives == 99
            assert (result.sampled_ranks == RANKS[SIZES == 99]).all()

    def test_held_out_item_behind_padding_is_read(self):
        last = np.column_stack([MATRIX[:, 1:], MATRIX[:, 0]])
        with warns_about("95 of them"):
            result = read_rows(last, positive=-1)
        assert result.n_negatives == 95
        assert (result.sampled_ranks[SIZES == 95] == RANKS[SIZES == 95]).all()

    def test_many_fewer_negatives_are_refused(self):
        for rows in (PADDED_ROWS, SHORT_ROWS):
            with pytest.raises(sm.InputError, match="1 to 3 negatives"):
                read_rows(rows)
        result = read_rows(SHORT_ROWS, sampling="distinct", n_negatives=4)
        assert result.sampled_ranks.tolist() == [2, 3, 1]

    def test_meter_agrees(self):
        meter = sm.RankMeter("hr@10", n_items=3000)
        for rows in np.array_split(MATRIX, 3):
            meter.update(rows)
        with warns_about("95 of them"):
            result = meter.compute()[0]
        with warns_about("95 of them"):
            assert result.value == sm.correct(MATRIX, "hr@10", **OPTIONS)[0].value

    def test_remedy_for_batches_of_other_widths_is_right(self):
        meter = sm.RankMeter("hr@10", n_items=3000)
        meter.update(MATRIX[SIZES == 99])
        few = MATRIX[SIZES == 95][:, :96]
        with pytest.raises(sm.InputError, match="pad rows"):
            meter.update(few)
        meter.update(np.column_stack([few, np.full((len(few), 4), -INF)]))
        with warns_about("95 of them"):
            ranks = meter.ranks()
        assert (ranks.sampled_ranks[150:] == RANKS[SIZES == 95]).all()


class TestGapsWithinRows:
    def test_gap_is_refused_with_both_remedies(self):
        scores = MATRIX[SIZES == 99].copy()
        scores[3, 7] = -INF
        with pytest.raises(sm.InputError, match=r"after the last negative.* missing='last'"):
            read_rows(scores)
        assert read_rows(scores, missing="last").n_negatives == 99

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
