"""Ranks and scores from elsewhere, against counting by hand."""

import io
import logging
import re
import zipfile

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.datasets.split import Split, save_split
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.rank_tables import read_aligned
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.recommenders.external import External
from tests.conftest import ROOT

N_USERS, N_ITEMS = 9, 14
COLUMNS = ["user_id", "item_id", "score"]


def make_split(ids="integers"):
    rng = np.random.default_rng(4)
    seen = rng.random((N_USERS, N_ITEMS)) < 0.3
    held_out = rng.integers(0, N_ITEMS, N_USERS)
    seen[np.arange(N_USERS), held_out] = False
    users = rng.permutation(100)[:N_USERS] + 5
    items = rng.permutation(100)[:N_ITEMS] + 5
    kinds = {
        "integers": (users.astype(np.int32), items.astype(np.int32)),
        "wide integers": (users + 2**40, items + 2**40),
        "text": (np.char.add("u", users.astype(str)), np.char.add("i", items.astype(str))),
        "digits": (users.astype(str), items.astype(str)),
        "padded": (np.char.zfill(users.astype(str), 6), np.char.zfill(items.astype(str), 6)),
    }
    return Split(csr_array(seen.astype(float)), held_out, *kinds[ids], 0)


def make_scores():
    return np.random.default_rng(8).integers(0, 6, (N_USERS, N_ITEMS)).astype(float)


def counted(split, scores):
    """Candidates, better, tied of each user, one by one."""
    seen = split.train.toarray() > 0
    rows = []
    for user, item in enumerate(split.held_out):
        candidates = [i for i in range(N_ITEMS) if not seen[user, i]]
        others = [scores[user, i] for i in candidates if i != item]
        better = sum(score > scores[user, item] for score in others)
        rows.append((len(candidates), better, sum(score == scores[user, item] for score in others)))
    return rows


def ranked(path, split):
    """Rank the held-out items by scores from a file."""
    score = External.read(path, split).score
    with reading(path):
        ids = {"users": split.evaluated_ids, "items": split.item_ids}
        return rank(score, split.seen, split.held_out, **ids)


def rows_of(records):
    columns = records.n_candidates, records.n_better, records.n_tied
    return list(zip(*(column.tolist() for column in columns), strict=True))


def score_table(split, scores, seen=True):
    """Rows of all users and items, in random order; without those seen where not wanted."""
    user, item = np.indices(scores.shape).reshape(2, -1)
    if not seen:
        wanted = split.train.toarray()[user, item] == 0
        user, item = user[wanted], item[wanted]
    order = np.random.default_rng(0).permutation(user.size)
    user, item = user[order], item[order]
    values = split.user_ids[user], split.item_ids[item], scores[user, item]
    return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))


def write_table(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path


IDS = ("integers", "wide integers", "text", "digits", "padded")


@pytest.fixture(params=IDS)
def split(request):
    return make_split(request.param)


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_integers_that_no_float_holds_do_not_tie(tmp_path, name):
    split, scores = make_split(), make_scores().astype(np.int64) + 2**62
    path = write_table(score_table(split, scores), tmp_path / name)
    assert rows_of(ranked(path, split)) == counted(split, scores)


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_scores_in_a_table(tmp_path, split, name):
    scores = make_scores()
    for seen in (True, False):
        path = write_table(score_table(split, scores, seen), tmp_path / name)
        assert rows_of(ranked(path, split)) == counted(split, scores)


@pytest.mark.parametrize("name", ["s.tsv", "s.csv.gz"])
def test_other_forms_of_text(tmp_path, name):
    split, scores = make_split("text"), make_scores()
    path = write_table(score_table(split, scores), tmp_path / name)
    assert rows_of(ranked(path, split)) == counted(split, scores)


@pytest.mark.parametrize(("dtype", "order"), [(np.float32, "C"), (np.float64, "F"), (">f4", "C")])
def test_scores_in_a_matrix(tmp_path, split, dtype, order):
    scores = make_scores()
    rng = np.random.default_rng(1)
    users, items = rng.permutation(N_USERS), rng.permutation(N_ITEMS)
    moved = scores[users][:, items].astype(dtype, order=order)
    arrays = {"user_ids": split.user_ids[users], "item_ids": split.item_ids[items]}
    np.savez(tmp_path / "s.npz", scores=moved, **arrays)
    assert rows_of(ranked(tmp_path / "s.npz", split)) == counted(split, scores)


def test_seen_items_may_be_masked_in_a_matrix(tmp_path):
    split, scores = make_split(), make_scores()
    masked = np.where(split.train.toarray() > 0, -np.inf, scores)
    path = tmp_path / "s.npz"
    np.savez(path, scores=masked, user_ids=split.user_ids, item_ids=split.item_ids)
    assert rows_of(ranked(path, split)) == counted(split, scores)


@pytest.mark.parametrize(("name", "with_items"), [("r.csv", True), ("r.parquet", False)])
def test_ranks_in_a_table(tmp_path, split, name, with_items):
    expected = counted(split, make_scores())
    frame = pd.DataFrame(expected, columns=["n_candidates", "n_better", "n_tied"])
    frame.insert(0, "user_id", split.user_ids)
    if with_items:
        frame.insert(1, "item_id", split.item_ids[split.held_out])
    path = write_table(frame.sample(frac=1, random_state=3), tmp_path / name)
    assert rows_of(read_aligned(path, split)) == expected


def test_own_rank_records_come_back(tmp_path, split):
    expected = counted(split, make_scores())
    records = Ranks(*map(list, zip(*expected, strict=True)))
    path = tmp_path / "A.parquet"
    held_out = split.item_ids[split.held_out]
    records.replace(users=split.user_ids, source="-").write(path, items=held_out)
    assert rows_of(read_aligned(path, split)) == expected


def test_ids_as_text_fit_a_split_of_integers_and_the_other_way_round(tmp_path):
    scores = make_scores()
    for ours, theirs in (("integers", "digits"), ("digits", "integers")):
        split, other = make_split(ours), make_split(theirs)
        table = write_table(score_table(other, scores), tmp_path / "s.parquet")
        np.savez(
            tmp_path / "s.npz", scores=scores, user_ids=other.user_ids, item_ids=other.item_ids
        )
        for path in (table, tmp_path / "s.npz"):
            assert rows_of(ranked(path, split)) == counted(split, scores)


def test_what_the_split_does_not_have_is_ignored_and_said(tmp_path, caplog):
    split, scores = make_split("text"), make_scores()
    more = np.random.default_rng(0).random((N_USERS + 2, N_ITEMS + 3))
    more[1:-1, 3:] = scores
    users = np.concatenate((["first"], split.user_ids, ["last"]))
    items = np.concatenate((["x", "y", "z"], split.item_ids))
    larger = Split(csr_array(more.shape), split.held_out, users, items, 0)
    table = write_table(score_table(larger, more), tmp_path / "s.csv")
    np.savez(tmp_path / "s.npz", scores=more, user_ids=users, item_ids=items)
    caplog.set_level(logging.INFO)
    for path in (table, tmp_path / "s.npz"):
        assert rows_of(ranked(path, split)) == counted(split, scores)
    # of 11 x 17 rows, 9 x 14 are of the split
    by_table, by_matrix = (record.getMessage() for record in caplog.records)
    assert by_table.endswith("s.csv: ignored 61 of 187 rows, of users or items that the split does "
                             "not have")  # fmt: skip
    assert by_matrix.endswith("s.npz: ignored 2 users and 3 items that the split does not have")


@settings(max_examples=30)
@given(st.data())
def test_table_and_matrix_give_the_same(tmp_path_factory, data):
    split = make_split()
    values = st.lists(st.floats(-1e300, 1e300), min_size=126, max_size=126)
    scores = np.array(data.draw(values)).reshape(N_USERS, N_ITEMS)
    folder = tmp_path_factory.mktemp("external")
    table = write_table(score_table(split, scores), folder / "s.csv")
    np.savez(folder / "s.npz", scores=scores, user_ids=split.user_ids, item_ids=split.item_ids)
    by_table, by_matrix = (ranked(path, split) for path in (
        table, folder / "s.npz"
    ))  # fmt: skip
    assert rows_of(by_table) == rows_of(by_matrix) == counted(split, scores)


def test_typed_headers_and_other_columns(tmp_path):
    """As RecBole writes them; what is not read may hold anything."""
    split, scores = make_split(), make_scores()
    frame = score_table(split, scores).assign(title=[None, "a, b"] * (N_USERS * N_ITEMS // 2))
    frame = frame.rename(columns=dict(zip(COLUMNS, (
        "user_id:token", "item_id:token", "score:float"), strict=True)))  # fmt: skip
    for name in ("s.csv", "s.parquet"):
        path = write_table(frame, tmp_path / name)
        assert rows_of(ranked(path, split)) == counted(split, scores)


# Small enough to say what is wrong by hand: anna has seen x, bert y; held out are y and z.
SMALL = Split(
    csr_array([[1.0, 0, 0], [0, 1, 0]]),
    np.array([1, 2]),
    np.array(["anna", "bert"]),
    np.array(["x", "y", "z"]),
    0,
)
RANKS = "user_id,item_id,n_candidates,n_better,n_tied\n"
SCORES = "user_id,item_id,score\n"
GOOD = SCORES + "anna,y,1\nanna,z,2\nbert,x,1\nbert,z,2\n"


@pytest.mark.parametrize("others", [True, False])
def test_only_evaluated_users_need_ranks_and_scores(tmp_path, others):
    # bert is evaluated and comes first, anna only trains
    train = csr_array([[0, 1.0, 0], [1, 0, 0]])
    split = Split(train, np.array([2]), np.array(["bert", "anna"]), SMALL.item_ids, 0)
    anna = "anna,y,2,1,0\n" if others else ""
    (tmp_path / "r.csv").write_text(f"{RANKS}{anna}bert,z,2,1,0\n")
    assert rows_of(read_aligned(tmp_path / "r.csv", split)) == [(2, 1, 0)]
    anna = "anna,y,1\nanna,z,2\n" if others else ""
    (tmp_path / "s.csv").write_text(f"{SCORES}{anna}bert,x,3\nbert,z,2\n")
    assert rows_of(ranked(tmp_path / "s.csv", split)) == [(2, 1, 0)]


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("user_id,n_candidates,n_better\nanna,2,1\n", None, "lacks column n_tied; found user_id"),
        ("n_candidates,n_better,n_tied\n2,1,0\n", None, "lacks column user_id; found n_candidat"),
        (RANKS, None, "no rows; expected rank records (user_id, n_candidates, n_better, n_tied)"),
        (RANKS + "anna,y,2,1,0\ncarl,z,2,0,0\n", (2, "user_id"), "found carl; expected one of the"),
        (RANKS + "anna,y,2,1,0\nanna,y,2,1,0\n", (2, None), "duplicate user_id anna"),
        (RANKS + "anna,y,2,1,0\n", None, "user bert is missing; every user of the split is needed"),
        (
            RANKS + "anna,y,2,1,0\nbert,z,3,1,0\n",
            (2, "n_candidates"),
            "found 3; expected 2, the items that user bert has not seen in training",
        ),
        (
            RANKS + "bert,z,2,1,0\nanna,z,2,1,0\n",
            (2, "item_id"),
            "found z; expected y, the held-out item of user anna",
        ),
        (RANKS + "bert,z,2,1,0\nanna,w,2,1,0\n", (2, "item_id"), "found w; expected y, the held-"),
        (RANKS + "anna,y,2,2,0\nbert,z,2,1,0\n", (1, "n_better"), "found 2; expected 0 to 1"),
        (RANKS + "anna,y,2,1,1\nbert,z,2,1,0\n", (1, "n_tied"), "found 1; expected 0 to 0"),
        (RANKS + "anna,y,2,one,0\nbert,z,2,1,0\n", (1, "n_better"), "found 'one'; expected whole"),
    ],
)
def test_ranks_that_do_not_fit(tmp_path, text, place, problem):
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_aligned(path, SMALL)
    check(caught.value, path, place, problem)


def check(error, path, place, problem):
    """Compare the fields of an error; place is row and column."""
    assert "\n" not in str(error)
    assert error.path == path
    assert (error.row, error.column) == (place or (None, None))
    assert error.problem.startswith(problem)


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("", None, "empty; expected scores (user_id, item_id, score), or .npz of scores"),
        (SCORES, None, "no rows; expected scores (user_id"),
        ("user_id,item_id,rank\nanna,y,1\n", None, "lacks column score; found user_id, item_id, r"),
        ("score,user_id,item_id,score\n", None, "duplicate column score"),
        (
            SCORES + "anna,y,1\nanna,z,2\nbert,x,1\n",
            None,
            "no score of item z for user bert; every item that a user has not seen in training "
            "needs one (1 of 2 lack it)",
        ),
        (SCORES + "anna,x,1\nanna,z,2\n", None, "no score of item y for user anna; every item"),
        (SCORES + "carl,x,1\n", None, "no score of item y for user anna; every item"),
        (GOOD + "bert,x,1\n", None, "duplicate score of item x for user bert"),
        (GOOD + "bert,y,1\nbert,y,2\n", None, "duplicate score of item y for user bert"),
        (GOOD + "bert,y,nan\n", (5, "score"), "found nan; expected finite numbers"),
        (GOOD + "bert,y,\n", (5, "score"), "found nothing; expected finite numbers"),
        (GOOD + "bert,y,high\n", (5, "score"), "found 'high'; expected finite numbers"),
        (GOOD + ",y,1\n", (5, "user_id"), "found nothing; expected whole numbers or text"),
        (GOOD + "bert,y\n", None, "found 2 columns; expected 3"),
    ],
)
def test_score_tables_that_do_not_fit(tmp_path, text, place, problem):
    path = tmp_path / "s.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        ranked(path, SMALL)
    check(caught.value, path, place, problem)


def test_score_parquets_that_do_not_fit(tmp_path):
    path = tmp_path / "s.parquet"
    good = pd.read_csv(io.StringIO(GOOD), dtype={"score": float})
    for frame, place, problem in (
        (good.assign(score=[1, 2, np.inf, 1]), (3, "score"), "found inf; expected finite"),
        (good.drop(columns="item_id"), None, "lacks column item_id; found user_id, score"),
        (good[:0], None, "no rows; expected scores"),
    ):
        frame.to_parquet(path)
        with pytest.raises(InputError) as caught:
            ranked(path, SMALL)
        check(caught.value, path, place, problem)
    path.write_text(GOOD)
    with pytest.raises(InputError, match=r"s\.parquet: not parquet .*; expected scores"):
        ranked(path, SMALL)


USERS, ITEMS = ["anna", "bert"], ["x", "y", "z"]
MATRIX = {"scores": np.ones((2, 3)), "user_ids": USERS, "item_ids": ITEMS}


def with_score(value):
    scores = np.ones((2, 3))
    scores[1, 0] = value
    return scores


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": np.ones((3, 2))}, "scores are float64 of shape (3, 2); expected float32 or f"),
        ({"scores": np.ones(6)}, "scores are float64 of shape (6,); expected float32 or float64"),
        ({"scores": np.ones((2, 3), int)}, "scores are int64 of shape (2, 3); expected float32 o"),
        ({"scores": np.ones((2, 3), np.float16)}, "scores are float16 of shape (2, 3); expected f"),
        ({"scores": with_score(np.nan)}, "score of item x for user bert is nan; expected a finite"),
        ({"scores": with_score(np.inf)}, "score of item x for user bert is inf; expected a finite"),
        (
            {"scores": with_score(-np.inf)},
            "no score of item x for user bert; every item",
        ),
        ({"user_ids": ["anna", "carl"]}, "user bert is missing; every user of the split is needed"),
        (
            {"item_ids": ["y", "z", "w"]},
            "item x is missing; every item of the split is needed (1 of",
        ),
        ({"user_ids": ["bert", "bert"]}, "duplicate bert in user_ids"),
        ({"item_ids": [[1, 2, 3]]}, "item_ids are int64 of shape (1, 3); expected a list of int"),
        ({"user_ids": [0.5, 1]}, "user_ids are float64 of shape (2,); expected a list of integers"),
        ({"user_ids": None}, "user_ids is not a file in the archive"),
        ({"scores": None}, "There is no item named 'scores.npy' in the archive"),
    ],
)
def test_score_matrices_that_do_not_fit(tmp_path, change, message):
    arrays = {name: array for name, array in {**MATRIX, **change}.items() if array is not None}
    path = tmp_path / "s.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError) as refused:
        ranked(path, SMALL)
    assert str(refused.value).startswith(str(path))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def damaged(path, member, content):
    np.savez(path, **MATRIX)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in {**members, member: content(members[member])}.items():
            archive.writestr(name, held)


def test_damaged_archives(tmp_path):
    path = tmp_path / "s.npz"
    for member, content, problem in (
        ("scores.npy", lambda held: held[:-8], "scores are truncated"),
        ("scores.npy", lambda _: b"text", "not scores ("),
        ("user_ids.npy", lambda held: held[:90], "user_ids cannot be read ("),
    ):
        damaged(path, member, content)
        with pytest.raises(InputError) as caught:
            ranked(path, SMALL)
        check(caught.value, path, None, problem)
    np.savez(path, **{**MATRIX, "user_ids": np.array(USERS, object)})
    with pytest.raises(InputError, match=r"s\.npz: user_ids cannot .*; user_ids\.astype\(str\)"):
        ranked(path, SMALL)
    np.savez_compressed(path, **MATRIX)
    with pytest.raises(InputError, match=r"s\.npz: scores are compressed; write them with numpy"):
        ranked(path, SMALL)
    path.write_text(GOOD)
    with pytest.raises(InputError, match=r"s\.npz: not scores "):
        ranked(path, SMALL)


def test_missing_files(tmp_path):
    for read, name in ((read_aligned, "r.csv"), (ranked, "s.csv"), (ranked, "s.npz")):
        with pytest.raises(InputError, match=f"{name}: no such file; expected "):
            read(tmp_path / name, SMALL)


def test_the_step_of_the_study(run, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_split(tmp_path / "split.npz", SMALL)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.csv").write_text(GOOD)
    step = ["study", "rank-external", "split.npz", "deep/mine.csv", "--format"]
    done = run(*step, "scores", "--output", "ranks/M.parquet")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("rank-external: 2 users, 0 with ties in ")
    records = Ranks.read(tmp_path / "ranks" / "M.parquet")
    # anna's y is below z, bert's z above x
    assert rows_of(records) == [(2, 1, 0), (2, 0, 0)]
    assert records.users.tolist() == USERS
    assert records.source == "scores from mine.csv"
    assert pq.read_table("ranks/M.parquet")["item_id"].to_pylist() == ["y", "z"]
    again = ["study", "rank-external", "split.npz", "ranks/M.parquet", "--format", "ranks"]
    assert run(*again, "--output", "N.parquet").returncode == 0
    records = Ranks.read(tmp_path / "N.parquet")
    assert (rows_of(records), records.source) == ([(2, 1, 0), (2, 0, 0)], "ranks from M.parquet")
    message = refused(*step, "ranks", "--output", "none.parquet")
    assert message == ("deep/mine.csv: lacks column n_candidates; found user_id, item_id, score")
    assert "unknown --format 'lists'" in refused(*step, "lists", "--output", "none.parquet")
    assert not (tmp_path / "none.parquet").exists()


def test_later_steps_take_ids_of_text(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_split(tmp_path / "split.npz", make_split("text"))
    table = score_table(make_split("text"), make_scores())
    write_table(table, tmp_path / "mine.csv")
    steps = [
        ["rank-external", "split.npz", "mine.csv", "--format", "scores", "--output", "A.parquet"],
        ["exact", "A.parquet", "--csv", "e.csv", "--md", "e.md"],
        [
            "sample",
            "A.parquet",
            "--output",
            "a.npz",
            "--settings",
            '{"n_negatives": 3, "repetitions": 5, "estimators": ["sampled", "bv:0.1"]}',
        ],
        ["figures", "A.parquet", "--numbers", "5", "--folder", "figures"],
        ["reference", "A.parquet", "--output", "kept"],
    ]
    for step in steps:
        done = run("study", *step)
        assert done.returncode == 0, done.stderr
    done = run("evaluate", "A.parquet", "--metric", "recall@1")
    assert done.returncode == 0, done.stderr
    assert Ranks.read(tmp_path / "kept" / "A.parquet").users.tolist() == list(range(N_USERS))


def test_snippet_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_split(tmp_path / "results/shop/split/split.npz", make_split("text"))

    def score_all(train):
        return train.toarray() @ (train.T @ train).toarray()

    text = (ROOT / "docs/other-data.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (snippet,) = [each for each in snippets if "score_all" in each]
    left = {"score_all": score_all}
    exec(snippet, left)  # noqa: S102 - as a reader would

    records = ranked(tmp_path / "scores.npz", left["split"])
    assert rows_of(records) == counted(left["split"], left["scores"])


@pytest.mark.parametrize("step", ["rank", "rank-external"])
def test_a_user_who_has_seen_all_items_is_named(step, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_split(
        tmp_path / "split.npz",
        Split(csr_array([[1.0, 0]]), np.array([1]), np.array([7]), np.array([1, 2]), 0),
    )
    options = ("--format", "scores") if step == "rank-external" else ()
    done = run("study", step, "split.npz", "any.npz", *options, "--output", "ranks.parquet")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "split.npz: user 7 has an event with each of the 2 items; "
        "ranking needs an item beside the held-out one"
    ]
    assert not (tmp_path / "ranks.parquet").exists()
