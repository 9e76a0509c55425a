"""Score matrices with ids, sparse relevant items, and values of each user."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

import sampled_metrics as sm

SCORES = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    np.savez("ids.npz", scores=SCORES, user_ids=["u", "v"], item_ids=[10, 20, 30])
    return tmp_path


class TestIds:
    def test_tables_name_users_and_items(self, folder):
        (folder / "held.csv").write_text("user_id,item_id\nv,20\nu,10\n")
        (folder / "seen.csv").write_text("user_id,item_id\nu,20\nu,20\n")
        ranks = sm.Ranks.read("ids.npz", relevant=folder / "held.csv")
        assert (ranks.users.tolist(), ranks.best_rank.tolist()) == (["u", "v"], [2, 2])
        ranks = sm.Ranks.read("ids.npz", relevant=folder / "held.csv", seen=folder / "seen.csv")
        assert (ranks.best_rank.tolist(), ranks.n_candidates.tolist()) == ([1, 2], [2, 3])

    def test_unknown_ids_are_refused(self, folder):
        (folder / "held.csv").write_text("user_id,item_id\nv,20\nu,40\n")
        with pytest.raises(sm.InputError, match="found 40; expected an id of the scores") as caught:
            sm.Ranks.read("ids.npz", relevant=folder / "held.csv")
        assert (caught.value.row, caught.value.column) == (2, "item_id")

    def test_ids_fit_the_scores(self, folder):
        np.savez("ids.npz", scores=SCORES, user_ids=["u"])
        with pytest.raises(sm.InputError, match=r"user_ids has shape \(1,\)"):
            sm.Ranks.read("ids.npz", relevant=folder / "held.csv")
        np.savez("ids.npz", scores=SCORES, item_ids=[1, 2, 1])
        with pytest.raises(sm.InputError, match="duplicate item_ids 1"):
            sm.Ranks.read("ids.npz", relevant=folder / "held.csv")


class TestSparseRelevantItems:
    def test_nonzeros_are_relevant_or_grades(self, folder):
        save_npz("held.npz", csr_array([[0, 5, 1], [2, 0, 0]]))
        ranks = sm.Ranks.read("scores.npy", relevant=folder / "held.npz")
        assert (ranks.n_relevant.tolist(), ranks.best_rank.tolist()) == ([2, 1], [1, 3, 3])
        assert ranks.grades is None
        ranks = sm.Ranks.read("scores.npy", relevant=folder / "held.npz", min_grade=2)
        assert ranks.grades.tolist() == [5, 1, 2]
        assert [each.value for each in sm.evaluate(ranks, "recall@1")] == [0.5]

    def test_shape_must_fit(self, folder):
        save_npz("held.npz", csr_array([[0, 5], [2, 0]]))
        with pytest.raises(sm.InputError, match=r"relevant items have shape \(2, 2\), the scores"):
            sm.Ranks.read("scores.npy", relevant=folder / "held.npz")


class TestValuesByUser:
    RANKS = sm.Ranks([5, 5], [1, 0], [0, 0], users=["u", "v"])

    def test_series_by_user(self):
        table = sm.values_by_user(self.RANKS, "hr@1,MRR")
        assert table["hit@1"].to_dict() == {"u": 0, "v": 1}
        assert table["rr"].to_dict() == {"u": 0.5, "v": 1}
        assert sm.values_by_user(SCORES, "rr", relevant=[0, 2])["rr"].tolist() == [0.5, 1]
        with pytest.raises(sm.InputError, match="recall-micro@1 is of all users together"):
            sm.values_by_user(self.RANKS, "recall-micro@1")

    def test_command(self, folder, run):
        (folder / "a.csv").write_text("user_id,rank\nu,2\nv,1\n")
        (folder / "b.csv").write_text("user_id,rank\nu,1\n")
        command = ("evaluate", "a.csv", "b.csv", "--n-items", 40, "--metric", "mrr")
        for suffix in ("csv", "json", "parquet"):
            done = run(*command, "--per-user-output", f"users.{suffix}")
            assert done.returncode == 0, done.stderr
        expected = [["a.csv", "u", 0.5], ["a.csv", "v", 1], ["b.csv", "u", 1]]
        for table in (
            pd.read_csv("users.csv"),
            pd.DataFrame(json.loads((folder / "users.json").read_text())),
            pd.read_parquet("users.parquet"),
        ):
            assert list(table.columns) == ["file", "user_id", "rr"]
            assert table.to_numpy().tolist() == expected
        assert "a.csv" in done.stdout
        done = run(*command, "--per-user-output", "a.csv")
        assert (done.returncode, "another --per-user-output" in done.stderr) == (2, True)
