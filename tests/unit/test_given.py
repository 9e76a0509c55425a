"""What people have: scores of a positive and its negatives, arrays, DataFrames, lists, files."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.inference.plausible import warn_of_low_ranks
from sampled_metrics.ranks.candidates import TIES, of_matrix

N, M, USERS = 1571, 100, 400


@pytest.fixture(scope="module")
def study():
    """Scores of all items; those of the held-out items and of 100 negatives each; exact recall."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(USERS, N))
    held_out = rng.integers(N, size=USERS)
    scores[np.arange(USERS), held_out] += 2.0 * rng.random(USERS)
    others = np.array([rng.choice(np.delete(np.arange(N), item), M, False) for item in held_out])
    columns = np.column_stack([held_out, others])
    among = np.take_along_axis(scores, columns, axis=1)
    rank = 1 + (scores > scores[np.arange(USERS), held_out][:, None]).sum(axis=1)
    return {"all": scores, "held_out": held_out, "among": among, "recall": (rank <= 10).mean()}


def sampled_ranks(among):
    return [1 + sum(negative > row[0] for negative in row[1:]) for row in among]


class TestScoresOfAPositiveAndItsNegatives:
    def test_range_holds_the_exact_metric(self, study):
        results = sm.correct(study["among"], "HR@10", positive=0, n_items=N)
        assert {result.metric for result in results} == {"hit@10"}
        result = results[0]
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
        assert found[0].value == pytest.approx(np.mean((M + 1 - ranks) / M), rel=1e-14)
        expected = np.mean(np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0))
        assert found[1].value == pytest.approx(expected, rel=1e-14)

    def test_arrays(self, study):
        among = study["among"][:20]
        self.require_same(study, among, positive=0)
        self.require_same(study, among.tolist(), positive=0)
        self.require_same(study, np.roll(among, -1, axis=1), positive=-1)
        frame = pd.DataFrame(among, columns=["held-out", *(f"negative {i}" for i in range(M))])
        self.require_same(study, frame, positive=0)
        self.require_same(study, frame[frame.columns[::-1]], positive="held-out")
        self.require_same(study, pd.DataFrame(among), positive=0)
        places = np.arange(20)
        rolled = [np.roll(row, by) for row, by in zip(among, places, strict=True)]
        self.require_same(study, np.array(rolled), positive=places)

    def test_tables(self, study, tmp_path):
        pairs = self.pairs(study["among"][:20])
        self.require_same(study, pairs)
        held_out = pd.DataFrame({"user_id": range(20), "item_id": 0})
        self.require_same(study, pairs.drop(columns="label"), relevant=held_out)
        pairs.to_csv(tmp_path / "pairs.csv", index=False)
        self.require_same(study, tmp_path / "pairs.csv")

    def test_files(self, study, tmp_path):
        among = study["among"][:20]
        np.save(tmp_path / "scores.npy", among)
        self.require_same(study, tmp_path / "scores.npy", positive=0)
        np.savez(tmp_path / "scores.npz", scores=among, positive=0, user_ids=np.arange(20))
        self.require_same(study, tmp_path / "scores.npz")
        rows = self.pairs(among).itertuples()
        lines = [f"{row.user_id} Q0 {row.item_id} 1 {row.score!r} t\n" for row in rows]
        (tmp_path / "a.run").write_text("".join(lines))
        (tmp_path / "a.qrels").write_text("".join(f"{user} 0 0 1\n" for user in range(20)))
        self.require_same(study, tmp_path / "a.run", relevant=tmp_path / "a.qrels")

    def test_ties_by_policy(self):
        scores = [[0.5, 0.5, 0.5, 0.1]] * 300
        ranks = {ties: of_matrix(scores, 0, ties, 0)[0] for ties in TIES}
        assert set(ranks["optimistic"]) == {1}
        assert set(ranks["pessimistic"]) == {3}
        error = math.sqrt(2 / 3 / 300)  # of the mean of 1, 2 and 3
        assert ranks["random"].mean() == pytest.approx(2, abs=4 * error)
        options = {"positive": 0, "n_items": 50, "shape": "none", "ties": "optimistic"}
        assert sm.correct(scores, "auc", "sampled", **options)[0].value == 1
        with pytest.raises(sm.InputError, match="unknown tie policy 'expected'"):
            of_matrix(scores, 0, "expected", 0)

    def test_several_positives_are_no_negatives_of_each_other(self, tmp_path):
        # u: positives 9 and 5 among 7 and 1; ranks 1 and 2. v: 3 and 2 among 4 and 1.
        path = tmp_path / "pairs.csv"
        path.write_text(
            "user_id,score,label\nu,9,1\nu,5,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\nv,2,1\nv,1,0\n"
        )
        ranks = sm.SampledRanks.read(path, n_items=50)
        assert ranks.sampled_ranks.tolist() == [1, 2, 2, 2]
        assert ranks.several_items
        recall = sm.correct(ranks, "recall@1", "sampled", shape="none")[0]
        assert (recall.value, recall.n_users) == ((1 / 2 + 0) / 2, 2)
        with pytest.raises(sm.InputError, match="users have several held-out items; hit@1 needs"):
            sm.correct(ranks, "hit@1")

    @pytest.mark.parametrize(
        ("data", "options", "words"),
        [
            ([[0.1, 0.2]], {}, "give positive"),
            ([[0.1, 0.2]], {"positive": 2}, "positive is not one of the columns 0 to 1"),
            ([[0.1, 0.2]], {"positive": 0.5}, "positive is float64"),
            ([[0.1, np.nan]], {"positive": 0}, "the score in column 1 is nan"),
            ([[0.1, 0.2], [0.1]], {"positive": 0}, "rows of the list differ in length"),
            ([[0.1, 0.2]], {"positive": 0, "n_negatives": 5}, "found n_negatives 1, but"),
            ([[0.1, 0.2]], {"positive": 0, "n_items": None}, "give the number of candidates"),
            ([[0.1, 0.2]], {"positiv": 0}, "unknown option positiv; known: n_items"),
            ([[0.1, 0.2]], {"positive": 0, "n_items": "50"}, "n_items has dtype <U2"),
            ("gone.npy", {"positive": 0}, "no such file"),
            (None, {"positive": 0}, "found NoneType; expected numbers"),
            (sm.Ranks([9], [0], [0]), {}, "found full rankings"),
            ([1, 2], {"positive": 0}, "found ranks, not scores"),
        ],
    )
    def test_refused_in_one_line(self, data, options, words):
        with pytest.raises(sm.InputError, match=words) as caught:
            sm.correct(data, "auc", **({"n_items": 50} | options))
        assert "\n" not in str(caught.value)

    def test_users_with_other_numbers_of_negatives(self, tmp_path):
        path = tmp_path / "pairs.csv"
        path.write_text("user_id,score,label\nu,9,1\nu,7,0\nu,1,0\nv,3,1\nv,4,0\n")
        with pytest.raises(sm.InputError, match="found 1 to 2 negatives per user"):
            sm.SampledRanks.read(path, n_items=50)
        ranks = sm.SampledRanks.read(path, 2, 50, "distinct")
        assert (ranks.sampled_ranks.tolist(), ranks.n_negatives) == ([1, 2], 2)

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ("u,9,0\n", "no held-out item among the candidates of user u"),
            ("u,9,1\n", "no negatives for user u"),
            ("u,9,2\nu,1,0\n", "found 2; expected 0 to 1"),
        ],
    )
    def test_pairs_that_are_no_evaluation(self, rows, words, tmp_path):
        path = tmp_path / "pairs.csv"
        path.write_text("user_id,score,label\n" + rows)
        with pytest.raises(sm.InputError, match=words):
            sm.SampledRanks.read(path, n_items=50)


class TestQuestioned:
    def test_matrix_of_a_positive_and_its_negatives_is_not_exact(self, study):
        with pytest.warns(sm.InputWarning, match=r"all 400 users have 101 candidates: .* sampled"):
            sm.evaluate(study["among"], "recall@10", relevant=np.zeros(USERS, int))

    def test_full_rankings_are_not_questioned(self, study):
        (found,) = sm.evaluate(study["all"], "recall@10", relevant=study["held_out"])
        assert found.value == study["recall"]

    def test_ten_negatives_taken_for_a_hundred(self):
        rng = np.random.default_rng(0)
        ranks = 1 + rng.binomial(10, rng.random(120))
        with pytest.warns(sm.InputWarning, match="largest sampled rank is 11.* were 10 drawn"):
            warn_of_low_ranks(sm.SampledRanks(ranks, N, 100))
        warn_of_low_ranks(sm.SampledRanks(ranks, N, 10))

    def test_a_good_recommender_is_not_questioned(self):
        rng = np.random.default_rng(0)
        for m in (20, 100, 1000):
            ranks = 1 + rng.binomial(m, rng.beta(0.3, 6, 6000))
            warn_of_low_ranks(sm.SampledRanks(ranks, 5000, m))


class TestContradictions:
    def test_what_sample_wrote_is_read(self, tmp_path):
        drawn = sm.SampledRanks([1, 5], [40, 50], 9, "with-replacement", ["a", "b"])
        drawn.write(tmp_path / "s.parquet")
        again = sm.SampledRanks.read(tmp_path / "s.parquet")
        assert (again.n_negatives, again.sampling) == (9, "with-replacement")
        for options in ({"n_negatives": 10}, {"sampling": "distinct"}, {"n_items": 60}):
            with pytest.raises(
                sm.InputError, match=f"found .*, but .* is {next(iter(options.values()))}"
            ):
                sm.SampledRanks.read(tmp_path / "s.parquet", **options)
            with pytest.raises(sm.InputError, match="found "):
                sm.correct(again, "auc", **options)
        same = {"n_negatives": 9, "sampling": "with-replacement"}
        assert len(sm.SampledRanks.read(tmp_path / "s.parquet", **same)) == 2

    def test_ranks_know_their_candidates(self):
        with pytest.raises(sm.InputError, match="n_items and min_grade are for others"):
            sm.evaluate(sm.Ranks([9], [0], [0]), "auc", n_items=10)


class TestEvaluate:
    """Two users: held-out items at ranks 2 and 1 of 3."""

    SCORES = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])
    LISTS = pd.DataFrame({"user_id": ["u"] * 2 + ["v"] * 2, "item_id": [1, 0, 2, 1]})

    @pytest.mark.parametrize(
        ("data", "options"),
        [
            (SCORES, {"relevant": [0, 2]}),
            (SCORES.tolist(), {"relevant": np.array([0, 2])}),
            (pd.DataFrame(SCORES), {"relevant": pd.Series([0, 2])}),
            (SCORES, {"relevant": csr_array([[1, 0, 0], [0, 0, 1]])}),
            ([2, 1], {"n_items": 3}),
            (np.array([2, 1]), {"n_items": 3}),
            (pd.DataFrame({"rank": [2, 1]}), {"n_items": 3}),
            (pd.DataFrame({"n_candidates": [3, 3], "n_better": [1, 0], "n_tied": [0, 0]}), {}),
            (sm.Ranks([3, 3], [1, 0], [0, 0]), {}),
            (
                LISTS.assign(rank=[1, 2, 1, 2]),
                {"relevant": pd.DataFrame({"user_id": ["u", "v"], "item_id": [0, 2]})},
            ),
            ({"u": [1, 0], "v": [2, 1]}, {"relevant": {"u": [0], "v": [2]}}),
        ],
    )
    def test_every_form(self, data, options):
        results = sm.evaluate(data, "hr@1, MRR@2", **options)
        assert [(each.metric, each.value) for each in results] == [("hit@1", 0.5), ("rr@2", 0.75)]

    def test_seen_items(self):
        (found,) = sm.evaluate(self.SCORES, "mrr", relevant=[0, 2], seen=[[0, 1, 0], [0, 0, 0]])
        assert found.value == 1

    @pytest.mark.parametrize(
        ("data", "options", "words"),
        [
            (SCORES, {}, "give relevant"),
            (SCORES, {"relevant": [0, 2], "n_items": 4}, "found scores of 3 items"),
            (SCORES, {"relevant": [0]}, r"relevant has shape \(1,\), the scores \(2, 3\)"),
            (SCORES, {"relevant": [0, 2], "seen": [[0, 0]] * 2}, r"seen has shape \(2, 2\), the"),
            ([2, 1], {}, "give n_items"),
            ([2, 4], {"n_items": 3}, "row 2, column rank: 4, expected 1 to 3"),
            ([2.5, 1], {"n_items": 3}, "ranks are float64"),
            (["u", "v"], {}, "found list of <U1"),
            (csr_array(SCORES), {}, "found csr_array"),
            ({"u": []}, {"relevant": {"u": [1]}}, "no items in the lists"),
            (sm.SampledRanks([1], 9, 2), {}, "`correct` takes them"),
            (pd.DataFrame({"a": [1]}), {}, "DataFrame: found columns a"),
            (pd.DataFrame({"rank": ["x"]}), {"n_items": 3}, "DataFrame, row 1, column rank"),
        ],
    )
    def test_refused_in_one_line(self, data, options, words):
        with pytest.raises(sm.InputError, match=words) as caught:
            sm.evaluate(data, "mrr", **options)
        assert "\n" not in str(caught.value)


class TestCompare:
    def test_scores_of_all_items(self, study):
        noise = np.random.default_rng(1).normal(size=study["all"].shape)
        data = {"good": study["all"], "bad": noise}
        (found,) = sm.compare(data, "recall@10", relevant=study["held_out"])
        assert (found.order, found.estimator, found.paired) == ("a", "exact", True)
        assert found.value_a == study["recall"]

    def test_scores_among_negatives(self, study):
        data = {"good": study["among"], "same": study["among"]}
        options = {"positive": 0, "n_items": N}
        (found,) = sm.compare(data, "recall@10", "cls", **options)
        assert (found.order, found.difference, found.paired) == ("undecided", 0, True)
        assert (found.n_negatives, found.sampling) == (M, "without-replacement")

    def test_kinds_are_not_mixed(self):
        data = {"A": sm.Ranks([9], [0], [0]), "B": sm.SampledRanks([1], 9, 2)}
        with pytest.raises(sm.InputError, match="A is ranked in full, B among samples"):
            sm.compare(data)
        with pytest.raises(sm.InputError, match="found list; expected a dictionary"):
            sm.compare([1, 2])
        with pytest.raises(sm.InputError, match=r"^B: found scores; give relevant"):
            sm.compare({"A": sm.Ranks([9], [0], [0]), "B": [[1.0, 2.0]]})


class TestCommands:
    def test_correct_takes_scores(self, study, tmp_path, run):
        np.save(tmp_path / "scores.npy", study["among"])
        scores = tmp_path / "scores.npy"
        done = run("correct", scores, "--positive", 0, "--n-items", N, "--metric", "recall@10")
        assert done.returncode == 0, done.stderr
        assert "400 users, 100 negatives drawn uniformly without replacement" in done.stdout
        done = run("correct", scores, "--n-items", N)
        assert (done.returncode, done.stdout) == (2, "")
        assert "give positive (--positive)" in done.stderr

    def test_evaluate_questions_scores_among_negatives(self, study, tmp_path, run):
        np.savez(tmp_path / "s.npz", scores=study["among"], held_out=np.zeros(USERS, int))
        done = run("evaluate", tmp_path / "s.npz", "--metric", "recall@10")
        assert done.returncode == 0
        assert "all 400 users have 101 candidates: these look like sampled" in done.stderr

    def test_sample_says_how_it_drew(self, tmp_path, run):
        path, sampled = tmp_path / "r.csv", tmp_path / "s.csv"
        path.write_text("user_id,rank\n" + "".join(f"{u},{1 + u % 40}\n" for u in range(60)))
        how = ("--n-negatives", 9, "--sampling", "with-replacement")
        run("sample", path, *how, "--n-items", 150, "--output", sampled)
        done = run("correct", sampled, "--metric", "recall@3")
        assert "60 users, 9 negatives drawn uniformly with replacement from 149" in done.stdout
        for option, value in (
            ("--n-negatives", 10),
            ("--n-items", 151),
            ("--sampling", "distinct"),
        ):
            done = run("correct", sampled, "--metric", "recall@3", option, value)
            assert done.returncode == 2
            assert f"is {value}; leave" in done.stderr
        both = run("compare", sampled, sampled.with_name("t.csv"))
        assert both.returncode == 2
        sampled.with_name("t.csv").write_text(sampled.read_text())
        both = run("compare", sampled, sampled.with_name("t.csv"), "--metric", "recall@3")
        assert (both.returncode, both.stderr) == (0, "")
        assert "9 uniform negatives leave recall@3" in both.stdout

    def test_sample_of_several_held_out_items(self, tmp_path, run):
        path, sampled = tmp_path / "r.csv", tmp_path / "s.csv"
        rows = "".join(f"{u},{u + 1}\n{u},{u + 30}\n" for u in range(25))
        path.write_text("user_id,rank\n" + rows)
        run("sample", path, "--n-negatives", 19, "--n-items", 150, "--output", sampled)
        table = pd.read_csv(sampled)
        assert table["item_id"].tolist() == [0, 1] * 25
        done = run("correct", sampled, "--metric", "recall@3")
        assert "25 users, 19 negatives" in done.stdout
        done = run("correct", sampled, "--metric", "hit@3")
        assert done.returncode == 2
        assert "users have several held-out items; hit@3 needs them together" in done.stderr
