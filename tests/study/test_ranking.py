"""Files of scores and ranks, compared with hand counts; ranks of pieces and of all users."""

import re
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sampled_metrics._base.calls import place_of
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.data.split import Split, leave_last_out, save_split
from sampled_metrics_study.experiment import join_sources, read_ranks_by_name
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.recommenders.ranking import (
    gather_ranks,
    rank_piece,
    read_ranks,
    read_scores,
    users_of_piece,
)
from tests.conftest import ROOT
from tests.helpers.interactions import synthetic_interactions

RNG = np.random.default_rng(4)
SHAPE = N_USERS, N_ITEMS = 9, 14
HELD_OUT = RNG.integers(0, N_ITEMS, N_USERS)  # an item of each user
SEEN = (RNG.random(SHAPE) < 0.3) & (np.arange(N_ITEMS) != HELD_OUT[:, None])
USERS, ITEMS = (RNG.permutation(100)[:n] + 5 for n in SHAPE)
SCORES = RNG.integers(0, 6, SHAPE).astype(float)


def counts(user):
    """Candidates of a user, those with a higher score than the held-out item, and others tied."""
    own = SCORES[user, HELD_OUT[user]]
    unseen = SCORES[user, ~SEEN[user]]
    return [unseen.size, (unseen > own).sum(), (unseen == own).sum() - 1]


COUNTED = [counts(user) for user in range(N_USERS)]
IDS = {
    "integers": lambda ids: ids.astype(np.int32),
    "wide": lambda ids: ids + 2**40,
    "text": lambda ids: np.char.add("u", ids.astype(str)),
    "digits": lambda ids: ids.astype(str),
    "padded": lambda ids: np.char.zfill(ids.astype(str), 6),
}


def split_of(ids):
    return Split(csr_array(SEEN.astype(float)), HELD_OUT, IDS[ids](USERS), IDS[ids](ITEMS), 0)


def rows_of(records):
    return np.stack([records.n_candidates, records.n_better, records.n_tied], 1).tolist()


def rank_file(path, split):
    with place_of(path):
        return rows_of(rank_piece(read_scores(path, split), split))


def test_ranking_draws_no_bar(capsys, monkeypatch):
    """A bar would tear those of Snakemake apart."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rank_piece(lambda users: SCORES[users], split_of("integers"))
    assert capsys.readouterr().err == ""


def write(path, users, items, scores):
    """Write a score for every pair, or a matrix, in random order."""
    rng = np.random.default_rng(5)
    if path.suffix == ".npz":
        users_at, items_at = rng.permutation(len(users)), rng.permutation(len(items))
        moved = {"user_ids": users[users_at], "item_ids": items[items_at]}
        np.savez(path, scores=scores[users_at][:, items_at], **moved)
        return path
    user, item = rng.permutation(np.argwhere(scores > -np.inf)).T
    names = ["user_id:token", "item_id:token", "score:float", "title"]
    columns = users[user], items[item], scores[user, item], ["a, b"] * len(user)
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return path


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", ["s.npz", "s.csv", "s.parquet", "s.tsv.gz"])
def test_read_scores_ranks_match_counts(tmp_path, ids, name):
    """Any form and order, with further rows, with or without scores of seen items."""
    for more, scored in ((0, np.where(SEEN, -np.inf, SCORES)), (2, SCORES)):
        scores = np.pad(scored, (0, more), constant_values=3)
        others = np.arange(1000, 1000 + more)
        users, items = (IDS[ids](np.append(first_ids, others)) for first_ids in (USERS, ITEMS))
        path = write(tmp_path / name, users, items, scores)
        assert rank_file(path, split_of(ids)) == COUNTED, f"{more} further rows"


@pytest.mark.parametrize("name", ["s.npz", "s.parquet"])
def test_read_scores_text_ids_match_integers(tmp_path, name):
    for ours, theirs in (("integers", "digits"), ("digits", "integers")):
        path = write(tmp_path / name, IDS[theirs](USERS), IDS[theirs](ITEMS), SCORES)
        assert rank_file(path, split_of(ours)) == COUNTED


@pytest.mark.parametrize("kind", [">f8", ">f4", "<f4"])
def test_read_scores_floats_of_any_kind(tmp_path, kind):
    path = write(tmp_path / "s.npz", USERS, ITEMS, SCORES.astype(kind))
    assert rank_file(path, split_of("integers")) == COUNTED


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_read_scores_large_integers_do_not_tie(tmp_path, name):
    path = write(tmp_path / name, USERS, ITEMS, SCORES.astype(np.int64) + 2**62)
    assert rank_file(path, split_of("integers")) == COUNTED


@pytest.mark.parametrize("ids", IDS)
def test_read_aligned_table_of_counts(tmp_path, ids):
    split = split_of(ids)
    frame = pd.DataFrame(COUNTED, columns=["n_candidates", "n_better", "n_tied"])
    frame.insert(0, "user_id", split.user_ids)
    with_items = frame.assign(item_id=split.held_out_ids)
    for table in (frame, with_items):
        table.sample(frac=1, random_state=3).to_csv(tmp_path / "r.csv", index=False)
        assert rows_of(read_ranks(tmp_path / "r.csv", split)) == COUNTED, [*table]


# Small enough to check by hand: anna has seen x, and bert y; y and z are held out.
PAIR, XYZ = np.array(["anna", "bert"]), np.array([*"xyz"])
SMALL = Split(csr_array([[1.0, 0, 0], [0, 1, 0]]), np.array([1, 2]), PAIR, XYZ, 0)
HEAD = "user_id,item_id,score\n"
GOOD = HEAD + "anna,y,1\nanna,z,2\nbert,x,1\nbert,z,2\n"
RANKS = "user_id,item_id,n_candidates,n_better,n_tied\n"


@pytest.mark.parametrize("others", [True, False])
def test_read_scores_needs_evaluated_users_only(tmp_path, others):
    # bert is evaluated and comes first; anna is only in the training data
    split = Split(csr_array([[0, 1.0, 0], [1, 0, 0]]), np.array([2]), PAIR[::-1], XYZ, 0)
    (tmp_path / "r.csv").write_text(RANKS + "anna,y,2,1,0\n" * others + "bert,z,2,1,0\n")
    assert rows_of(read_ranks(tmp_path / "r.csv", split)) == [[2, 1, 0]]
    (tmp_path / "s.csv").write_text(HEAD + "anna,y,1\nanna,z,2\n" * others + "bert,x,3\nbert,z,2\n")
    assert rank_file(tmp_path / "s.csv", split) == [[2, 1, 0]]


@pytest.mark.parametrize(
    ("read", "text", "row", "column", "problem"),
    [
        (rank_file, HEAD + "anna,y,1\nanna,z,2\nbert,x,1\n", None, None, "no score of item z"),
        (rank_file, HEAD + "carl,x,1\n", None, None, "no score of item y"),
        (rank_file, GOOD + "bert,x,1\n", None, None, "duplicate score of item x for user bert"),
        (rank_file, GOOD + "bert,y,1\nbert,y,2\n", None, None,
         "duplicate score of item y for user bert"),
        (rank_file, GOOD + "bert,y,nan\n", 5, "score", "found nan"),
        (rank_file, "user_id,item_id,rank\nanna,y,1\n", None, None, "lacks column score"),
        (read_ranks, RANKS + "anna,y,2,1,0\n", None, None, "user bert is missing"),
        (read_ranks, RANKS + "anna,y,2,1,0\nanna,y,2,1,0\n", 2, None, "duplicate user_id anna"),
        (read_ranks, RANKS + "anna,y,2,1,0\ncarl,z,2,0,0\n", 2, "user_id", "found carl"),
        (read_ranks, RANKS + "anna,y,2,1,0\nbert,z,3,1,0\n", 2, "n_candidates", "found 3; exp"),
        (read_ranks, RANKS + "bert,z,2,1,0\nanna,z,2,1,0\n", 2, "item_id", "found z; expected y"),
        (read_ranks, RANKS + "anna,y,2,2,0\nbert,z,2,1,0\n", 1, "n_better", "found 2"),
        (read_ranks, RANKS + "anna,y,2,1,1\nbert,z,2,1,0\n", 1, "n_tied", "found 1"),
        (read_ranks, "user_id,n_candidates,n_better\na,2,1\n", None, None, "lacks column n_tied"),
    ],
)  # fmt: skip
def test_wrong_tables_are_refused(tmp_path, read, text, row, column, problem):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "t.csv", SMALL)
    assert (caught.value.path, caught.value.row) == (tmp_path / "t.csv", row)
    assert caught.value.column == column
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize("first_line", ["", "who,what,points\n", "user,movie,points\n"])
def test_scores_with_other_names_are_read_once_the_first_line_is_as_refused(tmp_path, first_line):
    path = tmp_path / "s.csv"
    rows = GOOD.removeprefix(HEAD)
    path.write_text(first_line + rows)
    with pytest.raises(InputError, match="first line"):
        rank_file(path, SMALL)
    path.write_text("user_id,item_id,score\n" + rows)
    assert rank_file(path, SMALL) == [[2, 1, 0], [2, 0, 0]]  # y of anna is below z, z of bert first


MATRIX = {"scores": np.ones((2, 3)), "user_ids": PAIR, "item_ids": XYZ}
ONE = np.arange(6).reshape(2, 3) == 3


@pytest.mark.parametrize(
    ("name", "array", "problem"),
    [
        ("scores", np.ones((3, 2)), "(3, 2)"),
        ("scores", np.ones((2, 3), np.float16), "float16"),
        ("scores", np.where(ONE, np.nan, 1.0), "item x for user bert is nan"),
        ("scores", np.where(ONE, np.inf, 1.0), "item x for user bert is inf"),
        ("scores", np.where(ONE, -np.inf, 1.0), "no score of item x for user bert"),
        ("user_ids", ["anna", "carl"], "user bert is missing"),
        ("item_ids", ["y", "z", "w"], "item x is missing"),
        ("user_ids", ["bert", "bert"], "duplicate user_ids bert"),
        ("item_ids", [[1, 2, 3]], "item_ids has shape (1, 3)"),
        ("user_ids", [0.5, 1], "user_ids has dtype float64"),
        ("scores", None, "not scores"),
    ],
)
def test_wrong_matrices_are_refused(tmp_path, name, array, problem):
    arrays = {key: value for key, value in (MATRIX | {name: array}).items() if value is not None}
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(InputError) as caught:
        rank_file(tmp_path / "s.npz", SMALL)
    assert str(caught.value.path) == str(tmp_path / "s.npz")
    assert problem in caught.value.problem


def test_guide_snippet_writes_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_split(tmp_path / "results/shop/split/split.npz", split_of("text"))
    text = (ROOT / "docs/other-data.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?score_all.*?)```", text, re.DOTALL)
    exec(snippet, {"score_all": lambda _: SCORES})  # noqa: S102 - as a reader would
    assert rank_file(tmp_path / "scores.npz", split_of("text")) == COUNTED


SPLIT = leave_last_out(synthetic_interactions(users=23, items=31), "last")


@given(st.integers(0, 50), st.integers(1, 60))
def test_users_of_piece_are_all_and_nearly_equal(size, count):
    pieces = [users_of_piece(f"{number}-of-{count}", size) for number in range(1, count + 1)]
    assert [user for piece in pieces for user in piece] == list(range(size))
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("als", 2),
        ("itemknn", 23),
        ("popularity", 1),
        ("popularity", 30),  # more pieces than users
    ],
)
def test_gather_ranks_of_pieces_match_whole(tmp_path, kind, count):
    model = create(kind, {}).fit(SPLIT.train)
    whole, paths = rank_piece(model.score, SPLIT), []
    for number in range(1, count + 1):
        paths.append(tmp_path / f"{number}.parquet")
        records = rank_piece(model.score, SPLIT, f"{number}-of-{count}", block_size=4)
        users = list(users_of_piece(f"{number}-of-{count}", 23))
        records.replace(source="test").write(paths[-1], items=SPLIT.held_out_ids[users])
    gathered = gather_ranks(paths, SPLIT)
    assert gathered.source == "test"
    for column in ("n_candidates", "n_better", "n_tied"):
        np.testing.assert_array_equal(getattr(gathered, column), getattr(whole, column))


@pytest.mark.parametrize("pieces", [[], [[7, 8]], [[9], [7, 8]], [[7], [7, 8]], [[7], [9, 8]]])
def test_gather_ranks_wrong_pieces_are_refused(tmp_path, pieces):
    """Pieces with other users than the split, or in another order."""
    train = csr_array(np.tile([1.0, 0, 0], (3, 1)))
    split = Split(train, np.ones(3, int), np.array([7, 8, 9]), np.arange(3), 0)
    paths = [tmp_path / f"{number}.parquet" for number in range(len(pieces))]
    for place, users in zip(paths, pieces, strict=True):
        ones = np.ones(len(users), int)
        Ranks(2 * ones, 0 * ones, 0 * ones, users=users).write(place)
    with pytest.raises(InputError):
        gather_ranks(paths, split)


def test_read_by_name_and_sources(tmp_path):
    Ranks([5], [1], [0]).write(tmp_path / "A.parquet")
    table = pq.read_table(tmp_path / "A.parquet")
    table = table.replace_schema_metadata({b"source": b"a\nb \xff\x1b[2J"})
    pq.write_table(table, tmp_path / "B.parquet")
    ranks = read_ranks_by_name([tmp_path / "A.parquet", tmp_path / "B.parquet"])
    assert [r.source for r in ranks.values()] == ["unknown", "a b \ufffd\\x1b[2J"]
    assert list(ranks) == ["A", "B"]
    assert read_ranks_by_name([]) == {}
    with pytest.raises(InputError, match="recommender"):
        read_ranks_by_name([tmp_path / "A.parquet"] * 2)
    Ranks([5, 5], [1, 1], [0, 0]).write(tmp_path / "B.parquet")
    with pytest.raises(InputError, match=r"A\.parquet"):
        read_ranks_by_name([tmp_path / "A.parquet", tmp_path / "B.parquet"])
    assert join_sources(["trained here", "scores; trained here"]) == "scores; trained here"
