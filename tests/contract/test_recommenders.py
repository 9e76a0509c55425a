"""What every recommender must do."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.recommenders import KINDS, create, load_recommender, save_recommender

SETTINGS = {
    "als": {"d": 2, "lambda": 0.1, "alpha": 0.1, "iterations": 50, "seed": 3},
    "itemknn": {"q": 2, "normalise_scores": False},
    "itemknn, few neighbours": {"k_prime": 3, "neighbour_axis": "row"},
    "bm25": {"k": 12},
    "bm25, all neighbours": {"k": 100, "k1": 2, "b": 0},
    "bpr": {"d": 4, "learning_rate": 0.1, "regularization": 0, "iterations": 200, "seed": 1},
    "lmf": {"d": 4, "iterations": 60, "seed": 1},
    "popularity": {},
    "random": {"seed": 7},
}
IMPERSONAL = ("popularity", "random")
SIZE = 20


def make(case):
    return create(case.split(",")[0], SETTINGS[case])


@pytest.fixture(params=SETTINGS)
def case(request):
    return request.param


def checkerboard():
    """Users like the items of their own colour, and each has one of them withheld."""
    board = np.equal.outer(np.arange(SIZE) % 2, np.arange(SIZE) % 2).astype(float)
    np.fill_diagonal(board, 0.0)
    return csr_array(board)


def scattered():
    train = (np.random.default_rng(5).random((33, 17)) < 0.3).astype(float)
    return csr_array(train)


def test_every_kind_is_here():
    assert {case.split(",")[0] for case in SETTINGS} == set(KINDS)


@pytest.mark.parametrize("case", [case for case in SETTINGS if case not in IMPERSONAL])
def test_withheld_item_of_a_checkerboard_ranks_first(case):
    train = checkerboard()
    scores = make(case).fit(train).score(np.arange(SIZE))
    scores[train.toarray() > 0] = -np.inf
    np.testing.assert_array_equal(scores.argmax(axis=1), np.arange(SIZE))


def test_scores_are_fresh_float64_of_all_items(case):
    model = make(case).fit(scattered())
    scores = model.score(np.array([4, 2, 4]))
    assert scores.shape == (3, 17)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    before = scores.copy()
    scores[:] = -1.0
    np.testing.assert_array_equal(model.score(np.array([4, 2, 4])), before)


def test_any_number_of_threads_gives_the_same_bits(case):
    one, two = (make(case).fit(scattered(), threads).score(np.arange(33)) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_order_of_users_does_not_matter(case):
    model = make(case).fit(scattered())
    users = np.random.default_rng(0).permutation(33)
    np.testing.assert_array_equal(model.score(users), model.score(np.arange(33))[users])


def test_blocks_equal_the_whole(case):
    model = make(case).fit(scattered())
    users = np.arange(33)
    for size in (1, 2, 5, 32):
        blocks = [model.score(users[first : first + size]) for first in range(0, 33, size)]
        np.testing.assert_array_equal(np.concatenate(blocks), model.score(users))


def test_saved_and_loaded_scores_the_same(case, tmp_path):
    model = make(case).fit(scattered())
    path = tmp_path / "model.npz"
    save_recommender(path, model)
    again = load_recommender(path)
    assert again.settings == model.settings
    np.testing.assert_array_equal(again.score(np.arange(33)), model.score(np.arange(33)))
    with np.load(path, allow_pickle=False) as data:
        assert all(data[name].dtype.kind != "O" for name in data.files)


def test_same_seed_same_bits(case, tmp_path):
    files = []
    for name in ("one", "two"):
        save_recommender(tmp_path / name, make(case).fit(scattered()))
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


def test_training_is_silent_and_leaves_its_data_alone(case, capfd):
    train = scattered()
    before = train.toarray()
    make(case).fit(train)
    np.testing.assert_array_equal(train.toarray(), before)
    assert capfd.readouterr() == ("", "")


def test_unknown_kind_and_setting():
    with pytest.raises(InputError, match="unknown recommender kind 'svd'; known: als, bm25"):
        create("svd", {})
    with pytest.raises(InputError, match="als: unknown key 'factors'; known: d, lambda, alpha"):
        create("als", {"factors": 3})
    with pytest.raises(InputError, match="popularity: unknown key 'k'; known: none"):
        create("popularity", {"k": 3})


def test_only_a_seed_makes_what_is_random():
    for kind in ("als", "bpr", "lmf", "random"):
        one, two = (create(kind, {"seed": seed}).fit(scattered()) for seed in (1, 2))
        assert (one.score(np.arange(33)) != two.score(np.arange(33))).any(), kind


def test_an_item_without_events_and_a_user_with_all_of_them_have_scores(case):
    train = scattered().tolil()
    train[:, 3] = 0
    train[5] = 1
    train[5, 3] = 0
    assert np.isfinite(make(case).fit(csr_array(train)).score(np.arange(33))).all()


def test_files_that_hold_no_recommender(tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("nothing")
    other = tmp_path / "other.npz"
    np.savez(other, a=np.zeros(3))
    for path in (text, other, tmp_path / "gone.npz"):
        with pytest.raises(InputError, match=f"{path.name}: .*a saved recommender"):
            load_recommender(path)
