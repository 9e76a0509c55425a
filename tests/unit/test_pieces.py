"""Ranking and sampling in pieces: what is gathered is what one step makes, byte for byte."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.holding_out import leave_last_out
from sampled_metrics.datasets.split import Split, save_split
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.pieces import Piece, gather_ranks, parse_piece, rank_piece
from sampled_metrics.recommenders import KINDS, create, save_recommender
from tests.conftest import synthetic_interactions

COLUMNS = ("n_candidates", "n_better", "n_tied")


@given(st.integers(0, 50), st.integers(1, 60))
def test_pieces_are_all_in_order_and_nearly_equal(size, count):
    pieces = [Piece(number, count).of(size) for number in range(1, count + 1)]
    assert [each for piece in pieces for each in piece] == list(range(size))
    lengths = [len(piece) for piece in pieces]
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("text", ["", "2", "0-of-3", "2-of-0", "2 of 3", "-1-of-3", "2-of-3-of-4"])
def test_text_that_is_no_piece(text):
    with pytest.raises(InputError, match=f"piece '{text}' is not written like 2-of-3"):
        parse_piece(text)


def test_piece_beyond_the_last():
    with pytest.raises(InputError, match="piece 4-of-3 does not exist; the last is 3-of-3"):
        parse_piece("4-of-3")


@pytest.fixture(scope="module")
def split():
    return leave_last_out(synthetic_interactions(users=23, items=31), "last")


SETTINGS = {
    "als": {"d": 3, "lambda": 0.1, "alpha": 0.1, "iterations": 2, "seed": 3},
    "itemknn": {"k_prime": 3},
    "random": {"seed": 1},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, split):
    return create(request.param, SETTINGS.get(request.param, {})).fit(split.train)


def write_pieces(folder, model, split, count, source="test"):
    paths = [folder / f"{number}-of-{count}.parquet" for number in range(1, count + 1)]
    for number, path in enumerate(paths, 1):
        piece = Piece(number, count)
        users = list(piece.of(split.held_out.size))
        records = rank_piece(model.score, split, piece, block_size=4)
        assert len(records) == len(users)
        held_out = split.item_ids[split.held_out[users]]
        records.replace(source=source).write(path, items=held_out)
    return paths


def test_ranks_of_any_number_of_pieces_are_those_of_one(tmp_path, model, split):
    whole = rank_piece(model.score, split, Piece())
    for count in (1, 2, 23, 30):
        gathered = gather_ranks(write_pieces(tmp_path, model, split, count), split)
        assert gathered.source == "test"
        for column in COLUMNS:
            np.testing.assert_array_equal(getattr(gathered, column), getattr(whole, column))


def test_a_piece_asks_for_its_users_by_their_numbers_in_the_whole(split):
    asked = []

    def score(users):
        asked.extend(users.tolist())
        return np.zeros((users.size, split.item_ids.size))

    rank_piece(score, split, Piece(2, 3), block_size=3)
    assert asked == list(range(23 // 3, 2 * 23 // 3))


def test_faults_of_a_piece_name_users_as_the_whole_does(split):
    user = split.user_ids[22]
    scores = np.zeros((23, split.item_ids.size))
    scores[22, 0] = np.nan
    with pytest.raises(InputError, match=f"for user {user} is nan"):
        rank_piece(lambda users: scores[users], split, Piece(2, 2))
    with pytest.raises(IndexError, match="out of bounds"):
        rank_piece(lambda users: scores[:20][users], split, Piece(2, 2))


def of_users(user_ids):
    """A split of these users, who have seen the first of three items and hold out the second."""
    users = len(user_ids)
    train = csr_array(np.tile([1.0, 0, 0], (users, 1)))
    return Split(train, np.ones(users, int), np.array(user_ids), np.arange(3), 0)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([], "no pieces of ranks to gather"),
        ([[7, 8]], "0.parquet: users are not number 1 to 3 of the split, in order"),
        ([[9], [7, 8]], "0.parquet: users are not number 1 to 1 of the split"),
        ([[7], [7, 8]], "1.parquet: users are not number 2 to 3 of the split"),
        ([[7], [9, 5]], "1.parquet: users are not number 2 to 3 of the split"),
    ],
)
def test_pieces_that_are_not_the_users_of_the_split(tmp_path, pieces, message):
    paths = [tmp_path / f"{number}.parquet" for number in range(len(pieces))]
    for path, users in zip(paths, pieces, strict=True):
        ones = np.ones(len(users), int)
        records = Ranks(2 * ones, 0 * ones, 0 * ones)
        records.replace(users=np.array(users), source="test").write(path)
    with pytest.raises(InputError, match=message):
        gather_ranks(paths, of_users([7, 8, 9]))


def test_pieces_from_two_places(tmp_path):
    paths = [tmp_path / f"{number}.parquet" for number in range(2)]
    for number, path in enumerate(paths):
        Ranks([2], [0], [0], users=[7 + number], source=f"run {number}").write(path)
    with pytest.raises(InputError, match="pieces of ranks differ in source: 'run 0' and 'run 1'"):
        gather_ranks(paths, of_users([7, 8]))


ESTIMATORS = [parse_estimator(name) for name in ("sampled", "bv:0.1")]
MEASURES = [parse_measure(name) for name in ("recall@10", "auc")]


def records_of(users, seed=0):
    rng = np.random.default_rng(seed)
    n = rng.integers(50, 90, users)
    better = rng.integers(0, 40, users)
    return Ranks(n, better, rng.integers(0, 9, users))


@pytest.fixture
def finished(run, tmp_path, monkeypatch, split):
    """A folder with a split, a model and what one step each makes of them."""
    monkeypatch.chdir(tmp_path)
    save_split(tmp_path / "split.npz", split)
    save_recommender(tmp_path / "model.npz", create("itemknn", {}).fit(split.train))
    assert run("study", *RANK, "--output", "one/X.parquet").returncode == 0
    return tmp_path


RANK = ("rank", "split.npz", "model.npz")


def test_commands_gather_the_same_file(run, finished):
    ranks = [f"{number}-of-3.parquet" for number in (1, 2, 3)]
    for output in ranks:
        piece = output.removesuffix(".parquet")
        assert run("study", *RANK, "--piece", piece, "--output", output).returncode == 0
    gathering = ("gather-ranks", "split.npz", *ranks, "--output", "gathered/X.parquet")
    assert "gather-ranks: 23 users from 3 pieces" in run("study", *gathering).stderr
    one, gathered = finished / "one/X.parquet", finished / "gathered/X.parquet"
    assert one.read_bytes() == gathered.read_bytes()


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize(
    ("step", "message"),
    [
        ((*RANK, "--piece", "half"), "piece 'half'"),
        (("gather-ranks", "split.npz", "one/X.parquet", "one/X.parquet"), "one/X.parquet"),
    ],
)
def test_commands_refuse_in_one_line_and_write_nothing(refused, step, message):
    assert refused("study", *step, "--output", "out").startswith(message)
    assert not Path("out").exists()
