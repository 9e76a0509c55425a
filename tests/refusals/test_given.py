"""What people have: scores of a positive and its negatives, arrays, DataFrames, lists, files."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.ranks.data import as_sampled
from tests.helpers.caught_warnings import warns_about

POLICIES = ("random", "optimistic", "pessimistic")
N, M, USERS = 1571, 100, 400


@pytest.fixture(scope="module")
def study():
    """Scores of all items; those of the held-out items and of 100 negatives each; exact recall."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(USERS, N))
    held_out = rng.integers(N, size=USERS)
    scores[np.arange(USERS), held_out] += 2.0 * rng.random(USERS)
    others = np.array(
        [rng.choice(np.delete(np.arange(N), item), M, False) for item in held_out]
    )
    columns = np.column_stack([held_out, others])
    among = np.take_along_axis(scores, columns, axis=1)
    rank = 1 + (scores > scores[np.arange(USERS), held_out][:, None]).sum(axis=1)
    return {
        "all": scores,
        "held_out": held_out,
        "among": among,
        "recall": (rank <= 10).mean(),
    }


def sampled_ranks(among):
    return [1 + sum(negative > row[0] for negative in row[1:]) for row in among]


class TestScoresOfAPositiveAndItsNegatives:
    def test_range_holds_the_exact_metric(self, study):
        results = sm.correct(study["among"], "HR@10", positive=0, n_items=N)
        assert {result.metric for result in results} == {"HR@10"}
        (result,) = (each for each in results if each.estimator == "sampled")
        assert result.value == np.mean(np.array(sampled_ranks(study["among"])) <= 10)
        assert result.value > 3 * study["recall"]
        assert result.range_low < study["recall"] < result.range_high
        assert (result.n_items, result.n_negatives) == (N, M)

    def pairs(self, among):
        """A row per user and candidate, in random order."""
        frame = pd.DataFrame(
            {
                "user_id": np.repeat(np.arange(len(among)), M + 1),
                "item_id": np.tile(np.arange(M + 1), len(among)),
                "score": among.ravel(),
                "label": np.tile([1] + [0] * M, len(among)),
            }
        )
        return frame.sample(frac=1, random_state=0)

    def require_same(self, study, data, **options):
        found = sm.correct(data, ["auc", "ndcg@10"], "sampled", n_items=N, **options)
        ranks = np.array(sampled_ranks(study["among"][:20]))
        assert found[0].value == pytest.approx(
            np.mean((M + 1 - ranks) / M), rel=1e-14
        )
        expected = np.mean(np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0))
        assert found[1].value == pytest.approx(expected, rel=1e-14)

    def test_arrays(self, study):
        among = study["among"][:20]
        self.require_same(study, among, positive=0)
        self.require_same(study, among.tolist(), positive=0)
        self.require_same(study, np.roll(among, -1, axis=1), positive=-1)
        frame = pd.DataFrame(
            among, columns=["held-out", *(f"negative {i}" for i in range(M))]
        )
        self.require_same(study, frame, positive=0)
        self.require_same(study, frame[frame.columns[::-1]], positive="held-out")
        self.require_same(study, pd.DataFrame(among), positive=0)
        places = np.arange(20)
        rolled = [np.roll(row, by) for row, by in zip(among, places, strict=True)]
        self.require_same(study, np.array(rolled), positive=places)

    @pytest.mark.filterwarnings(
        "ignore:.*negatives fail the check"
    )  # the same for all
    def test_tables(self, study, tmp_path):
        pairs = self.pairs(study["among"][:20])
        self.require_same(study, pairs)
        held_out = pd.DataFrame({"user_id": range(20), "item_id": 0})
        self.require_same(study, pairs.drop(columns="label"), relevant=held_out)
        pairs.to_csv(tmp_path / "pairs.csv", index=False)
        self.require_same(study, tmp_path / "pairs.csv")

    @pytest.mark.filterwarnings(
        "ignore:.*negatives fail the check"
    )  # the same for all
    def test_files(self, study, tmp_path):
        among = study["among"][:20]
        np.save(tmp_path / "scores.npy", among)
        self.require_same(study, tmp_path / "scores.npy", positive=0)
        np.savez(tmp_path / "scores.npz", scores=among, user_ids=np.arange(20))
        self.require_same(study, tmp_path / "scores.npz", positive=0)
        rows = self.pairs(among).itertuples()
        lines = [
            f"{row.user_id} Q0 {row.item_id} 1 {row.score!r} t\n" for row in rows
        ]
        (tmp_path / "a.run").write_text("".join(lines))
        (tmp_path / "a.qrels").write_text(
            "".join(f"{user} 0 0 1\n" for user in range(20))
        )
        self.require_same(study, tmp_path / "a.run", relevant=tmp_path / "a.qrels")

    @pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
    def test_ties_by_policy(self):
        scores = [[0.5, 0.5, 0.5, 0.1]] * 300
        drawn = {"n_items": 50, "positive": 0}
        ranks = {
            ties: as_sampled(scores, ties=ties, **drawn).sampled_ranks
            for ties in POLICIES
        }
        assert set(ranks["optimistic"]) == {1}
        assert set(ranks["pessimistic"]) == {3}
        error = math.sqrt(2 / 3 / 300)  # of the mean of 1, 2 and 3
        assert ranks["random"].mean() == pytest.approx(2, abs=4 * error)
        options = {
            "positive": 0,
            "n_items": 50,
            "shape": "none",
            "ties": "optimistic",
        }
        assert sm.correct(scores, "auc", "sampled", **options)[0].value == 1
        with pytest.raises(sm.InputError, match="'expected'"):
            as_sampled(scores, ties="expected", **drawn)

    def test_several_positives_are_no_negatives_of_each_other(self, tmp_path):
        # u: positives 9 and 5 among 7 and 1; ranks 1 and 2. v: 3 and 2 among 4 and 1.
        path = tmp_path / "pairs.csv"
        path.write_text(
            "user_id,score,label\nu,9,1\nu,5,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\nv,2,1\nv,1,0\n"
        )
        ranks = as_sampled(path, n_items=50)
        assert ranks.sampled_ranks.tolist() == [1, 2, 2, 2]
        assert ranks.several_items
        recall = sm.correct(ranks, "recall@1", "sampled", shape="none")[0]
        assert (recall.value, recall.n_users) == ((1 / 2 + 0) / 2, 2)
        with pytest.raises(sm.InputError, match="hit@1"):
            sm.correct(ranks, "hit@1")

    def test_users_with_other_numbers_of_negatives(self, tmp_path):
        path = tmp_path / "pairs.csv"
        path.write_text("user_id,score,label\nu,9,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\n")
        with pytest.raises(sm.InputError, match="1 to 2"):
            as_sampled(path, n_items=50)
        ranks = as_sampled(path, n_negatives=2, n_items=50, sampling="distinct")
        assert (ranks.sampled_ranks.tolist(), ranks.n_negatives) == ([1, 2], 2)


def test_what_was_written_agrees_with_the_options(tmp_path):
    sm.SampledRanks([1, 5], [40, 50], 9, "with-replacement", ["a", "b"]).write(
        tmp_path / "s.pq"
    )
    again = as_sampled(tmp_path / "s.pq", n_negatives=9, sampling="with-replacement")
    assert (again.n_negatives, again.sampling, len(again)) == (
        9,
        "with-replacement",
        2,
    )
    for options in ({"n_negatives": 10}, {"sampling": "distinct"}, {"n_items": 60}):
        for data in (tmp_path / "s.pq", again):
            with pytest.raises(
                sm.InputError, match=r"found .*, but .* is (10|distinct|60)"
            ):
                sm.correct(data, "auc", **options)


@pytest.mark.filterwarnings(
    "ignore:.*held-out items of other users"
)  # all have item 0
def test_sampled_ranks_that_look_like_others_are_questioned(study):
    with warns_about(r"all 400 users have 101 candidates: .* sampled"):
        sm.evaluate(
            study["among"],
            "recall@10",
            relevant=np.zeros(USERS, int),
            seen=study["among"] < -9,
        )
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(10, rng.random(120))
    with warns_about("largest rank is 11 of 101.* 10 sampled items"):
        as_sampled(ranks, n_items=N, n_negatives=100)
    as_sampled(1 + rng.binomial(10, 0.4 * rng.random(120)), n_items=N, n_negatives=10)
    for m in (20, 100, 1000):  # those of a good recommender are not
        as_sampled(
            1 + rng.binomial(m, rng.beta(0.3, 6, 6000)), n_items=5000, n_negatives=m
        )


# Two users: held-out items at ranks 2 and 1 of 3.
SCORES = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])
LISTS = pd.DataFrame(
    {"user_id": ["u", "u", "v", "v"], "item_id": [1, 0, 2, 1], "rank": [1, 2] * 2}
)
HELD_OUT = pd.DataFrame({"user_id": ["u", "v"], "item_id": [0, 2]})


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (SCORES, {"relevant": [0, 2]}),
        (pd.DataFrame(SCORES), {"relevant": pd.Series([0, 2])}),
        (SCORES, {"relevant": csr_array([[1, 0, 0], [0, 0, 1]])}),
        ([2, 1], {"n_items": 3}),
        (pd.DataFrame({"rank": [2, 1]}), {"n_items": 3}),
        (
            pd.DataFrame(
                {"n_candidates": [3, 3], "n_better": [1, 0], "n_tied": [0, 0]}
            ),
            {},
        ),
        (sm.Ranks([3, 3], [1, 0], [0, 0]), {}),
        (LISTS, {"relevant": HELD_OUT}),
        ({"u": [1, 0], "v": [2, 1]}, {"relevant": {"u": [0], "v": [2]}}),
    ],
)
def test_every_form_of_full_rankings(data, options):
    results = sm.evaluate(data, "hr@1, MRR@2", **options)
    assert [(each.metric, each.value) for each in results] == [
        ("hr@1", 0.5),
        ("MRR@2", 0.75),
    ]


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ([[0.1, 0.2]], {}, "give positive"),
        ([[0.1, 0.2]], {"positive": 2}, "expected one of the columns 0 to 1"),
        (
            [[0.1, 0.2], [0.1, np.nan]],
            {"positive": 0},
            "^row 2: the score in column 1 is nan",
        ),
        (
            [[0.1, 0.2], [0.1]],
            {"positive": 0},
            "rows of the list differ in length",
        ),
        (
            [[0.1, 0.2]],
            {"positive": 0, "n_negatives": 5},
            "found n_negatives 1, but",
        ),
        ([[0.1, 0.2]], {"positive": 0, "n_items": "50"}, "n_items has dtype <U2"),
        (None, {"positive": 0}, "found NoneType; expected numbers"),
        (sm.Ranks([9], [0], [0]), {}, "found full rankings"),
        ([1, 2], {"positive": 0}, "positive"),
    ],
)
def test_refused_in_one_line(data, options, words):
    with pytest.raises(sm.InputError, match=words) as caught:
        sm.correct(data, "auc", **({"n_items": 50} | options))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (
            SCORES,
            {"relevant": [0]},
            r"relevant items are int64 of shape \(1,\); expected",
        ),
        (
            SCORES,
            {"relevant": [0, 2], "seen": csr_array((2, 2))},
            "seen items are float64 of",
        ),
        (
            [2, 4],
            {"n_items": 3},
            "row 2, column rank: found 4; expected whole numbers, 1 to 3",
        ),
        ([2.5, 1], {"n_items": 3}, "found 2.5; expected whole numbers"),
        (["u", "v"], {}, "found list of <U1"),
        (csr_array(SCORES), {}, "give relevant"),
        ({"u": []}, {"relevant": {"u": [1]}}, "no items"),
        (sm.SampledRanks([1], 9, 2), {}, "`correct` takes them"),
        (sm.Ranks([9], [0], [0]), {"n_items": 10}, "does not go with Ranks"),
        (pd.DataFrame({"rank": ["x"]}), {"n_items": 3}, "row 1, column rank"),
    ],
)
def test_full_rankings_refused_in_one_line(data, options, words):
    with pytest.raises(sm.InputError, match=words) as caught:
        sm.evaluate(data, "mrr", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
@pytest.mark.filterwarnings("ignore:.*held-out items are above")  # b is random
def test_comparison_of_every_kind(study, tmp_path):
    noise = np.random.default_rng(1).normal(size=study["all"].shape)
    (found,) = sm.compare(
        {"a": study["all"], "b": noise},
        "hr@10",
        relevant=study["held_out"],
        seen=noise < -9,
    )
    assert (found.order, found.estimator, found.paired) == ("a", "exact", True)
    assert found.value_a == study["recall"]
    np.save(tmp_path / "s.npy", study["among"])
    data = {"a": tmp_path / "s.npy", "b": study["among"]}
    (found,) = sm.compare(data, "recall@10", "cls", positive=0, n_items=N)
    assert (found.order, found.difference, found.n_negatives) == ("undecided", 0, M)
    full, sampled = sm.Ranks([9], [0], [0]), sm.SampledRanks([1], 9, 2)
    for data, words in (
        ({"A": full, "B": sampled}, "A is ranked in full, B among samples"),
        ({"A": full, "B": [[1.0, 2.0]]}, r"^B: found scores; give relevant"),
        ([1, 2], "data is of type list; expected a dictionary"),
    ):
        with pytest.raises(sm.InputError, match=words):
            sm.compare(data)
