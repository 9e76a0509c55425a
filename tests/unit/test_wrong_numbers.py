"""Inputs that look right and give a wrong number, which is questioned, and the right number.

The right one is counted here, item by item.
"""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.sampling import draw_sampled_ranks
from sampled_metrics.sampling.soundness import Drawn, check_negatives
from tests.conftest import ROOT

USERS, ITEMS, SEEN, M = 400, 1100, 20, 100
N = ITEMS - SEEN
CUT = 10


class Study:
    """Users who like popular items; scores of all items, those seen in training being high."""

    def __init__(self):
        rng = np.random.default_rng(0)
        rows = np.arange(USERS)
        popularity = np.log(1.0 / np.arange(1, ITEMS + 1) ** 0.8)
        order = np.argsort(-popularity - rng.gumbel(size=(USERS, ITEMS)), axis=1)
        self.held_out, self.seen = order[:, 0], order[:, 1 : SEEN + 1]
        self.scores = popularity + rng.normal(size=(USERS, ITEMS))
        self.scores[rows, self.held_out] += 0.7
        np.put_along_axis(self.scores, self.seen, 5.0, axis=1)
        self.rank = np.array([self.rank_of(user, self.held_out[user]) for user in rows])
        self.recall = np.mean(self.rank <= CUT)
        excluded = np.zeros((USERS, ITEMS))
        np.put_along_axis(excluded, order[:, : SEEN + 1], -np.inf, axis=1)
        self.uniform, self.popular = (
            np.argsort(-excluded - weight - rng.gumbel(size=(USERS, ITEMS)), axis=1)[:, :M]
            for weight in (0.0, popularity)
        )

    def rank_of(self, user, item):
        better = self.scores[user] > self.scores[user, item]
        return 1 + better.sum() - better[self.seen[user]].sum()

    def among(self, negatives):
        columns = np.column_stack([self.held_out, negatives])
        return np.take_along_axis(self.scores, columns, axis=1)

    def pairs(self, items):
        users = np.repeat(np.arange(USERS), items.shape[1])
        return pd.DataFrame({"user_id": users, "item_id": items.ravel()})


@pytest.fixture(scope="module")
def study():
    return Study()


def value(results):
    (result,) = results
    return result.value


def test_metrics_among_negatives_are_not_exact(study, tmp_path, run):
    among = study.among(study.uniform)
    with pytest.warns(sm.InputWarning, match="look like sampled candidates"):
        wrong = value(sm.evaluate(among, "recall@10", relevant=np.zeros(USERS, int)))
    (right,) = sm.correct(among, "recall@10", "cls", positive=0, n_items=N)
    assert wrong > 2 * study.recall
    assert right.range_low < study.recall < right.range_high
    assert right.value == pytest.approx(study.recall, rel=0.2)
    np.save(tmp_path / "scores.npy", among)
    done = run("evaluate", tmp_path / "scores.npy")
    assert (done.returncode, "--positive" in done.stderr) == (2, True)


def test_the_candidates_of_a_file_are_not_those_of_an_option(tmp_path, run):
    path = tmp_path / "ranks.csv"
    path.write_text("user_id,n_candidates,n_better,n_tied\n" + "1,101,7,0\n2,101,30,0\n")
    done = run("evaluate", path, "--n-items", N)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"found n_candidates 101, but n_items (--n-items) is {N}" in done.stderr


def test_ten_negatives_are_not_a_hundred():
    full = sm.Ranks.read(ROOT / "results/reference/ranks/X.parquet")
    right = np.mean(np.clip((CUT - full.n_better) / (full.n_tied + 1), 0, 1))
    ranks = draw_sampled_ranks(full, 10, np.random.default_rng(0))
    words = r"largest sampled rank is 11.* were 10 drawn"
    with pytest.warns(sm.InputWarning, match=words), pytest.raises(sm.InputError, match="is wrong"):
        sm.correct(ranks, "recall@10", "cls", n_items=3541, n_negatives=100)
    with pytest.warns(sm.InputWarning, match=words):  # few users do not tell one from the other
        wrong = sm.correct(ranks[:500], "recall@10", "cls", n_items=3541, n_negatives=100)
    assert value(wrong) == pytest.approx(0.27, abs=0.01)
    assert right < 0.08
    (result,) = sm.correct(ranks, "recall@10", "cls", n_items=3541, n_negatives=10)
    assert result.range_low < right < result.range_high


def test_popular_negatives_cannot_be_corrected(study, tmp_path, run):
    uniform, popular = (
        sm.correct(study.among(negatives), "recall@10", "cls", positive=0, n_items=N)[0]
        for negatives in (study.uniform, study.popular)
    )
    assert uniform.range_low < study.recall < uniform.range_high
    assert popular.range_high < study.recall
    assert popular.value < 0.7 * study.recall
    np.save(tmp_path / "scores.npy", study.among(study.popular))
    options = ("--positive", 0, "--n-items", N, "--sampling", "popularity")
    done = run("correct", tmp_path / "scores.npy", *options)
    assert (done.returncode, done.stdout) == (2, "")
    for words in ("uniform", "sampled-metrics negatives", "evaluate", "budget"):
        assert words in done.stderr
    with pytest.raises(sm.InputError, match="drawn by popularity"):
        sm.correct([1, 2], n_items=9, n_negatives=3, sampling="popularity")


def test_items_seen_in_training_are_no_candidates(study):
    table = study.pairs(np.tile(np.arange(ITEMS), (USERS, 1))).assign(score=study.scores.ravel())
    relevant, seen = study.pairs(study.held_out[:, None]), study.pairs(study.seen)
    with pytest.warns(sm.InputWarning, match="name them with --seen"):
        wrong = value(sm.evaluate(table, "recall@10", relevant=relevant))
    assert wrong == 0.0  # ten items of the training set are above all others
    assert value(sm.evaluate(table, "recall@10", relevant=relevant, seen=seen)) == study.recall


def test_a_filtered_list_says_how_many_candidates_there_are(study):
    unseen = np.array([np.delete(np.arange(ITEMS), row) for row in study.seen])
    scores = np.take_along_axis(study.scores, unseen, axis=1)
    table, relevant = study.pairs(unseen), study.pairs(study.held_out[:, None])
    table["score"] = scores.ravel()
    with pytest.warns(sm.InputWarning, match="give --complete"):
        wrong = value(sm.evaluate(table, "auc", relevant=relevant, n_items=ITEMS))
    right = np.mean((N - study.rank) / (N - 1))
    assert value(sm.evaluate(table, "auc", relevant=relevant, complete=True)) == pytest.approx(
        right
    )
    assert wrong > right + 0.001


def test_hits_of_items_are_not_those_of_users(study, tmp_path, run):
    rng = np.random.default_rng(1)
    others = np.array(
        [rng.choice(np.delete(np.arange(ITEMS), row), 4, False) for row in study.seen]
    )
    items = np.column_stack([study.held_out, others])
    users = np.flatnonzero([len(set(row)) == 5 for row in items])
    items = items[users]
    both = zip(users, items, strict=True)
    ranks = np.array([[study.rank_of(user, item) for item in row] for user, row in both])
    path, sampled = tmp_path / "ranks.csv", tmp_path / "sampled.csv"
    table = pd.DataFrame({"user_id": np.repeat(users, 5), "rank": ranks.ravel()})
    table.to_csv(path, index=False)
    done = run("evaluate", path, "--n-items", N, "--metric", "hit@10", "--format", "json")
    assert json.loads(done.stdout)[0]["value"] == np.mean((ranks <= CUT).any(axis=1))
    assert (
        run("sample", path, "--n-items", N, "--n-negatives", M, "--output", sampled).returncode == 0
    )
    done = run("correct", sampled, "--metric", "hit@10")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hit@10 needs them together" in done.stderr
    done = run("correct", sampled, "--metric", "recall@10", "--format", "json")
    found = json.loads(done.stdout)[0]
    assert found["range_low"] < np.mean(ranks <= CUT) < found["range_high"]


def test_the_first_of_sorted_draws_are_from_the_lower_half():
    """Of 3,706 items and 100 negatives, 95.7 %; the lower half of 194.7 distinct draws is 97.3."""
    users, items, m = 400, 3706, 100
    draws = np.random.default_rng(0).integers(items, size=(users, 2 * m))
    first = np.array([np.unique(row)[:m] for row in draws])
    assert np.mean(first < items / 2) == pytest.approx(0.957, abs=0.006)
    nothing = csr_array((users, items))
    last = csr_array((np.ones(users), (np.arange(users), np.full(users, items - 1))), nothing.shape)
    checks = check_negatives(Drawn(np.repeat(np.arange(users), m), first.ravel(), nothing, last))
    (of_ids,) = (check for check in checks if check.name == "ids")
    assert not of_ids.passed
    assert f"{np.mean(first < items / 2):.1%}" in of_ids.remark.replace(" %", "%")
