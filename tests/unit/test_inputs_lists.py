"""Lists and tables of scores as libraries write them: seen items, filtered lists, cut lists."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.ranks.relevant_items import read_relevant

USERS, ITEMS = 30, 60


@pytest.fixture(scope="module")
def made():
    """Scores, held-out items and seen items, which score high; a file would hold them thus."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(USERS, ITEMS))
    held_out = rng.integers(ITEMS, size=USERS)
    scores[np.arange(USERS), held_out] += 1.5
    seen = np.zeros((USERS, ITEMS), bool)
    for user, item in enumerate(held_out):
        count = rng.integers(5, 15)
        seen[user, rng.choice(np.delete(np.arange(ITEMS), item), count, replace=False)] = True
    scores[seen] += 2.0
    table = pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(USERS), ITEMS),
            "item_id": np.tile(np.arange(ITEMS), USERS),
            "score": scores.ravel(),
        }
    )
    user, item = np.nonzero(seen)
    filtered = table[~seen.ravel()].sort_values(["user_id", "score"], ascending=[True, False])
    return {
        "scores": table.sample(frac=1, random_state=0),
        "filtered": filtered.assign(rank=filtered.groupby("user_id").cumcount() + 1).drop(
            columns="score"
        ),
        "held_out": pd.DataFrame({"user_id": range(USERS), "item_id": held_out}),
        # an event may be there twice, and users without a held-out item too
        "seen": pd.DataFrame(
            {"user_id": [*user, *user[:9], 999], "item_id": [*item, *item[:9], 7]}
        ),
        "exact": by_hand(scores, seen, held_out),
    }


def by_hand(scores, seen, held_out):
    """Recall@10 and AUC among the items not seen, user by user."""
    recall, auc = [], []
    for row, known, item in zip(scores, seen, held_out, strict=True):
        others = [score for place, score in enumerate(row) if not known[place] and place != item]
        better = sum(score > row[item] for score in others)
        recall.append(better < 10)
        auc.append(1 - better / len(others))
    return {"recall@10": np.mean(recall), "auc": np.mean(auc)}


def found(data, metrics="recall@10,auc", **options):
    return {each.metric: each.value for each in sm.evaluate(data, metrics, **options)}


class TestSeenItems:
    def test_are_no_candidates_of_a_table_of_scores(self, made):
        options = {"relevant": made["held_out"], "seen": made["seen"]}
        values = found(made["scores"], complete=True, **options)
        assert values == pytest.approx(made["exact"], rel=1e-14)
        assert found(made["scores"], "recall@10", **options) == {
            "recall@10": pytest.approx(made["exact"]["recall@10"])
        }

    def test_without_them_the_table_is_questioned(self, made):
        with pytest.warns(sm.InputWarning, match="all 30 users have scores of all 60 items"):
            values = found(made["scores"], "recall@10", relevant=made["held_out"])
        assert values["recall@10"] < made["exact"]["recall@10"] - 0.05

    def test_lists_by_rank_close_the_gaps(self):
        data = pd.DataFrame({"user_id": ["u"] * 3, "item_id": [1, 2, 3], "rank": [1, 2, 3]})
        held, seen = ({"user_id": ["u"], "item_id": [item]} for item in (3, 1))
        options = {"relevant": pd.DataFrame(held), "seen": pd.DataFrame(seen)}
        assert found(data, "rr", complete=True, **options) == {"rr": 1 / 2}
        assert found(data, "rr", complete=True, relevant=options["relevant"]) == {"rr": 1 / 3}

    def test_relevant_items_are_not_seen(self, made):
        with pytest.raises(sm.InputError, match="user 0 is both relevant and seen"):
            found(made["filtered"], relevant=made["held_out"], seen=made["held_out"])


class TestCompleteLists:
    def test_say_how_many_candidates_there_are(self, made):
        values = found(made["filtered"], relevant=made["held_out"], complete=True)
        assert values == pytest.approx(made["exact"], rel=1e-14)

    def test_taken_for_cut_ones_they_are_questioned(self, made):
        with pytest.warns(sm.InputWarning, match="hold every relevant item, but end at 4"):
            values = found(made["filtered"], relevant=made["held_out"], n_items=ITEMS)
        assert values["auc"] > made["exact"]["auc"] + 0.005

    def test_hold_every_relevant_item(self, made):
        top = made["filtered"][made["filtered"]["rank"] <= 10]
        with pytest.raises(sm.InputError, match="so the lists are not --complete"):
            found(top, relevant=made["held_out"], complete=True)

    @pytest.mark.parametrize(
        ("data", "options", "words"),
        [
            (pd.DataFrame({"rank": [1]}), {"n_items": 9}, "--complete needs lists"),
            ([[1.0, 2.0]], {"relevant": [0]}, "complete is for lists"),
            ({"u": [1]}, {"relevant": {"u": [1]}, "n_items": 9}, "leave --n-items out"),
        ],
    )
    def test_are_lists(self, data, options, words):
        with pytest.raises(sm.InputError, match=words):
            sm.evaluate(data, "mrr", complete=True, **options)


class TestCutLists:
    def test_give_the_metrics_that_they_know(self, made):
        top = made["filtered"][made["filtered"]["rank"] <= 10]
        with pytest.warns(sm.InputWarning) as caught:
            values = found(top, "recall@10,ap,ndcg@5,auc", relevant=made["held_out"])
        assert list(values) == ["recall@10", "ndcg@5"]
        assert values["recall@10"] == made["exact"]["recall@10"]
        messages = [str(each.message) for each in caught]
        assert [text.split()[:3] for text in messages] == [
            ["left", "out:", "ap"],
            ["left", "out:", "auc"],
        ]
        assert "use ap@10" in messages[0]

    def test_comparisons_too(self, made):
        top = made["filtered"][made["filtered"]["rank"] <= 10]
        with pytest.warns(sm.InputWarning, match="left out: auc"):
            results = sm.compare({"a": top, "b": top}, "hr@10,auc", relevant=made["held_out"])
        assert [each.metric for each in results] == ["hit@10"]

    def test_that_know_none_are_refused(self, made):
        top = made["filtered"][made["filtered"]["rank"] <= 10]
        with pytest.raises(sm.InputError, match="auc needs n_candidates"):
            found(top, "auc", relevant=made["held_out"])


class TestColumns:
    @pytest.mark.parametrize(
        "header",
        ["user,item", "userId,movieId", "UserID,ItemID", "uid,iid", "user_id:token,item_id"],
    )
    def test_names_of_other_libraries(self, header, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text(f"{header},rating\n7,3,5\n8,4,1\n")
        pairs = read_relevant(path)
        assert (pairs.user_ids.to_pylist(), pairs.item_ids.to_pylist()) == ([7, 8], [3, 4])
        frame = pd.read_csv(path)
        assert read_relevant(frame).item_ids.to_pylist() == [3, 4]
        frame.to_parquet(tmp_path / "t.parquet")
        assert read_relevant(tmp_path / "t.parquet").user_ids.to_pylist() == [7, 8]

    def test_own_names_come_first(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("user,user_id,item_id\n1,2,3\n")
        assert read_relevant(path).user_ids.to_pylist() == [2]
        path.write_text("user,uid,item_id\n1,2,3\n")
        with pytest.raises(sm.InputError, match="duplicate column user_id"):
            read_relevant(path)

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            ("t.csv", b"user_id;item_id\nsecret;3\n", "separated by semicolons"),
            ("t.csv", b"17,secret\n18,secret\n", "no header"),
            ("t.json", b'{"secret": 1}', "found JSON"),
            ("t.json", b'\n [{"secret": 1}]', "found JSON"),
            ("t.xlsx", b"PK\x03\x04secret", "found a spreadsheet"),
            ("t.xls", b"\xd0\xcf\x11\xe0secret", "found a spreadsheet"),
            ("t.csv", b"PAR1secret", "found parquet"),
        ],
    )
    def test_other_files_are_named_without_their_content(self, name, content, words, tmp_path):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(sm.InputError, match=words) as caught:
            read_relevant(path)
        assert "secret" not in str(caught.value).replace(str(path), "")
        assert "\n" not in str(caught.value)


class TestOutput:
    def test_suffix_gives_the_format(self, tmp_path, run, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "r.csv").write_text("user_id,rank\na,1\nb,3\n")
        command = ("evaluate", "r.csv", "--n-items", 40, "--metric", "hr@1")
        for suffix in ("csv", "json"):
            assert run(*command, "--output", f"o.{suffix}").returncode == 0
            assert (tmp_path / f"o.{suffix}").read_text() == run(
                *command, "--format", suffix
            ).stdout
        run(*command, "--output", "o.csv", "--format", "table")
        assert (tmp_path / "o.csv").read_text() == run(*command).stdout
