"""Every registered recommender, with SETTINGS or its default settings."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.split import Split
from sampled_metrics_study.recommenders import KINDS, create, load_recommender, save_recommender
from sampled_metrics_study.recommenders.ranking import rank_piece
from tests.helpers.caught_warnings import full_messages

SETTINGS = {
    "als": {"d": 2, "lambda": 0.1, "alpha": 0.1, "iterations": 50, "seed": 3},
    "itemknn": {"q": 2, "normalise_scores": False},
    "itemknn, few neighbours": {"k_prime": 3, "neighbour_axis": "row"},
    "bm25": {"k": 12},
    "bm25, all neighbours": {"k": 100, "k1": 2, "b": 0},
    "bpr": {"d": 4, "learning_rate": 0.1, "regularization": 0, "iterations": 200, "seed": 1},
    "random": {"seed": 7},
}  # fmt: skip
SETTINGS.update({kind: {} for kind in KINDS if kind not in SETTINGS})
SEEDED = [kind for kind in KINDS if "seed" in KINDS[kind].Settings.model_fields]
ALL, SCATTERED = np.arange(33), np.random.default_rng(5).random((33, 17)) < 0.3
# A user with events of all items but one, and an item without events.
EXTREME = SCATTERED.copy()
EXTREME[5], EXTREME[:, 3] = True, False


def make(case, train=SCATTERED, threads=1):
    model = create(case.split(",")[0], SETTINGS[case])
    return model.fit(csr_array(train.astype(float)), threads)


@pytest.fixture(params=SETTINGS)
def case(request):
    return request.param


def test_every_kind_has_settings():
    assert {case.split(",")[0] for case in SETTINGS} == set(KINDS)


@pytest.mark.parametrize("evaluated", [33, 20])
def test_ranks_match_scores(case, evaluated):
    """Also with users who are only in the training data: they come last, without ranks."""
    model, shown = make(case), SCATTERED[:evaluated]
    unseen = np.where(shown, -1, np.random.default_rng(1).random(shown.shape))
    held_out = unseen.argmax(axis=1)
    split = Split(csr_array(SCATTERED.astype(float)), held_out, ALL, np.arange(17), tied_users=0)
    ranks = rank_piece(model.scorer, split)
    np.testing.assert_array_equal(ranks.users, ALL[:evaluated])
    np.testing.assert_array_equal(ranks.n_candidates, (~shown).sum(axis=1))
    scores = np.where(shown, -np.inf, model.score(ALL[:evaluated]))
    held_out_score = scores[np.arange(evaluated), held_out, np.newaxis]
    np.testing.assert_array_equal(ranks.n_better, (scores > held_out_score).sum(axis=1))
    np.testing.assert_array_equal(ranks.n_tied, (scores == held_out_score).sum(axis=1) - 1)


def test_good_data_raises_no_warning(case, recwarn):
    """Users of three tastes and of different activity; only a random order warns."""
    rng = np.random.default_rng(0)
    taste = rng.integers(3, size=300)
    popular = np.log(1.0 / np.arange(3, 93))
    liking = popular + 2.0 * (np.arange(90) % 3 == taste[:, np.newaxis])
    order = np.argsort(-liking - rng.gumbel(size=liking.shape), axis=1)
    held_out = order[:, 0]
    train = np.zeros(liking.shape, bool)
    for user, size in enumerate(rng.integers(5, 20, size=300)):
        train[user, order[user, 1 : 1 + size]] = True
    scores = make(case, train).score(np.arange(300))
    sm.evaluate(scores, "recall@10, ap, auc", relevant=held_out, seen=csr_array(train))
    messages = full_messages(recwarn)
    assert bool(messages) == (case == "random"), messages


@pytest.mark.parametrize("kind", SEEDED)
def test_scores_follow_the_seed(kind):
    train = csr_array(SCATTERED.astype(float))
    first, again, other = (create(kind, {"seed": seed}).fit(train).score(ALL) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    "case", [case for case in SETTINGS if case not in {"popularity", "random"}]
)
def test_withheld_item_of_checkerboard_ranks_first(case):
    """Users like items of their own colour, one of which is withheld from each."""
    colour = np.arange(20) % 2
    board = np.equal.outer(colour, colour) & ~np.eye(20, dtype=bool)
    scores = np.where(board, -np.inf, make(case, board).score(np.arange(20)))
    np.testing.assert_array_equal(scores.argmax(axis=1), np.arange(20))


def test_scores_are_new_float64_arrays(case):
    model, users = make(case, EXTREME), np.array([4, 2, 4])
    scores = model.score(users)
    assert (scores.shape, scores.dtype) == ((3, 17), np.float64)
    before = scores.copy()
    scores[:] = -1.0
    np.testing.assert_array_equal(model.score(users), before)
    assert np.isfinite(model.score(ALL)).all()


def test_threads_do_not_change_scores(case):
    np.testing.assert_array_equal(make(case, threads=2).score(ALL), make(case).score(ALL))


def test_blocks_and_order_do_not_change_scores(case):
    model = make(case)
    users, whole = np.random.default_rng(0).permutation(33), model.score(ALL)
    for size in (1, 2, 5, 32, 33):
        blocks = [model.score(users[first : first + size]) for first in range(0, 33, size)]
        np.testing.assert_array_equal(np.concatenate(blocks), whole[users])


def test_saved_recommender_scores_the_same(case, tmp_path):
    paths, model = [tmp_path / "one.npz", tmp_path / "two.npz"], make(case)
    for path in paths:
        save_recommender(path, make(case))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    again = load_recommender(paths[0])
    assert again.settings == model.settings
    np.testing.assert_array_equal(again.score(ALL), model.score(ALL))


def test_fit_prints_nothing_and_does_not_change_data(case, capfd):
    train = csr_array(SCATTERED.astype(float))
    create(case.split(",")[0], SETTINGS[case]).fit(train)
    np.testing.assert_array_equal(train.toarray(), SCATTERED)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("svd", {}, "'svd'.* als, bm25"),
        ("als", {"factors": 3}, "factors: unknown .* 3; .* d, lambda"),
        ("popularity", {"k": 3}, "k: unknown .* no settings"),
        ("itemknn", {"k": 0}, "k: .* greater than or equal to 1"),
    ],
)
def test_unknown_kind_or_setting_is_refused(kind, settings, message):
    with pytest.raises(InputError, match=message):
        create(kind, settings)


def test_load_other_files_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("nothing")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "about.npz", about='{"kind": "als"}')
    for name in ("text.npz", "other.npz", "about.npz", "gone.npz"):
        with pytest.raises(InputError, match=f"{name}: .*a saved recommender"):
            load_recommender(tmp_path / name)
