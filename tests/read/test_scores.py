"""Matrices of scores, vectors and functions, with ids or numbers of rows and columns."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csr_array, save_npz

import sampled_metrics as sm
from sampled_metrics.read.options import as_ranks
from tests.helpers.caught_warnings import messages_with, warns_about
from tests.helpers.files import join_rows, rank_counts, write_file
from tests.helpers.results import refusal_message, values

# User 0 has seen item 0 and likes item 2, which ties with 3 and 4 and is below 1.
# User 1 has seen 1 and 3 and likes item 4, which is below 0; item 2 is masked.
SCORES = np.array([[9, 7, 5, 5, 5], [3, 8, -np.inf, 2, 2]])
SEEN = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 1, 0]], dtype=bool)
SCORE_COUNTS = {
    "n_found": [1, 1], "n_relevant": [1, 1], "n_candidates": [4, 2], "depth": [4, 2],
    "n_better": [1, 1], "n_tied": [2, 0],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("scores", ["c.npy", "f.npy", "s.npz"])
@pytest.mark.parametrize(
    ("seen", "held_out"),
    [("seen.npz", "held.npy"), ("seen.npy", "held.csv"), ("seen.csv", "held.qrels")],
)
def test_score_matrix_is_read(tmp_path, dtype, scores, seen, held_out):
    np.save(tmp_path / "c.npy", SCORES.astype(dtype))
    np.save(tmp_path / "f.npy", np.asarray(SCORES, dtype=dtype, order="F"))
    np.savez(tmp_path / "s.npz", scores=SCORES.astype(dtype))
    save_npz(tmp_path / "seen.npz", csr_array(SEEN))
    np.save(tmp_path / "seen.npy", SEEN)
    write_file(tmp_path, "seen.csv", "user_id,item_id\n0,0\n1,1\n1,3\n1,1\n")
    np.save(tmp_path / "held.npy", np.array([2, 4], dtype=np.int32))
    write_file(tmp_path, "held.csv", "user_id,item_id,relevance\n1,4,1\n0,2,1\n0,3,0\n")
    write_file(tmp_path, "held.qrels", "0 0 2 1\n1 0 4 1\n")
    files = {"relevant": tmp_path / held_out, "seen": tmp_path / seen}
    ranks = as_ranks(tmp_path / scores, n_items=5, **files)
    assert rank_counts(ranks) == SCORE_COUNTS
    assert ranks.users.tolist() == [0, 1]


@pytest.fixture
def matrix_of_ids(tmp_path):
    """Scores of users u and v, and of items 10, 20 and 30, in a file."""
    path = tmp_path / "s.npz"
    scores = [[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]]
    np.savez(path, scores=scores, user_ids=["u", "v"], item_ids=[10, 20, 30])
    return path


def test_ids_of_a_matrix_are_those_of_relevant_items(matrix_of_ids, tmp_path):
    """Item 20 of v is below 30, and item 10 of u below 20."""
    held_out = write_file(tmp_path, "held.csv", "user_id,item_id\nv,20\nu,10\n")
    ranks = as_ranks(matrix_of_ids, relevant=held_out)
    assert dict(zip(ranks.users, ranks.best_rank, strict=True)) == {"u": 2, "v": 2}


def test_ids_of_a_matrix_are_those_of_seen_items(matrix_of_ids, tmp_path):
    """Without item 20, which u has seen, item 10 is first of two."""
    held_out = write_file(tmp_path, "held.csv", "user_id,item_id\nv,20\nu,10\n")
    seen = write_file(tmp_path, "seen.csv", "user_id,item_id\nu,20\nu,20\n")
    ranks = as_ranks(matrix_of_ids, relevant=held_out, seen=seen)
    assert ranks.users.tolist() == ["u", "v"]
    assert (ranks.best_rank.tolist(), ranks.n_candidates.tolist()) == ([1, 2], [2, 3])


def test_grades_in_a_sparse_file_are_read_by_position(matrix_of_ids, tmp_path):
    """Items 20 and 30 of u are first and third, and item 10 of v is third."""
    save_npz(tmp_path / "held.npz", csr_array([[0, 5, 1], [2, 0, 0]]))
    ranks = as_ranks(matrix_of_ids, relevant=tmp_path / "held.npz")
    assert ranks.best_rank.tolist() == [1, 3, 3]


def test_scores_match_comparing_one_by_one(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, (20, 15)).astype(float)
    places = rng.permutation(list(np.ndindex(scores.shape)))
    rows = [(u, i, scores[u, i]) for u, i in places]
    table = write_file(tmp_path, "s.csv", "user_id,item_id,score\n" + join_rows(rows))
    np.save(tmp_path / "s.npy", scores)
    pairs = np.argwhere(rng.random(scores.shape) < 0.15)
    text = "user_id,item_id\n" + join_rows(pairs)
    relevant, expected = write_file(tmp_path, "t.csv", text), []
    for user, item in sorted(map(tuple, pairs), key=lambda p: (p[0], -scores[*p])):
        score = scores[user, item]
        n_tied = (scores[user] == score).sum() - 1
        expected.append(((scores[user] > score).sum(), n_tied))
    for data, options in ((tmp_path / "s.npy", {}), (table, {"n_items": 15})):
        ranks = as_ranks(data, relevant=relevant, **options)
        assert ranks.users.tolist() == sorted(set(pairs[:, 0]))
        assert list(zip(ranks.n_better, ranks.n_tied, strict=True)) == expected


# Columns and ids

# Three users and four items in another order than that of their ids: user 8 has seen item 3, which
# is first, and likes item 1, which is then first of three; user 7 likes item 2, at rank 3 of 4;
# user 9 likes item 4, which is first.
BY_POSITION = np.array([[0.7, 0.1, 0.9, 0.2], [0.8, 0.5, 0.9, 0.1], [0.2, 0.3, 0.4, 0.9]])
USER_IDS, ITEM_IDS = [8, 7, 9], [1, 2, 3, 4]
LIKED, SEEN_BY_8 = {7: [2], 8: [1], 9: [4]}, {8: [3]}
RANK_BY_ID = {7: 3, 8: 1, 9: 1}


def pairs_of(items):
    """Return a table of the items of users."""
    return pd.DataFrame(
        [(user, item) for user, of_user in items.items() for item in of_user],
        columns=["user_id", "item_id"],
    )


def as_text(items, prefix="u"):
    """Return ids as texts, also those of a dictionary of items by user."""
    if isinstance(items, dict):
        return {f"u{user}": as_text(of_user, "i") for user, of_user in items.items()}
    return [f"{prefix}{item}" for item in items]


VECTORS = np.eye(3), BY_POSITION.T.copy()  # whose products are the scores
CONSTRUCTORS = {
    "from_scores": partial(sm.Ranks.from_scores, BY_POSITION),
    "from_factors": partial(sm.Ranks.from_factors, *VECTORS),
    "from_function": partial(sm.Ranks.from_function, lambda rows: BY_POSITION[rows]),
    "rank of scores": lambda relevant, seen, **ids: sm.rank(BY_POSITION, seen, relevant, **ids),
    "rank of vectors": lambda relevant, seen, **ids: sm.rank(VECTORS, seen, relevant, **ids),
    "rank of a function": lambda relevant, seen, **ids: sm.rank(
        lambda rows: BY_POSITION[rows], seen, relevant, **ids
    ),
}


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
@pytest.mark.parametrize("form", [dict, pairs_of], ids=["dictionary", "table"])
def test_rows_and_columns_have_the_given_ids(constructor, form):
    make = CONSTRUCTORS[constructor]
    ranks = make(form(LIKED), seen=form(SEEN_BY_8), users=USER_IDS, items=ITEM_IDS)
    assert dict(zip(ranks.users, ranks.best_rank, strict=True)) == RANK_BY_ID


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_rows_and_columns_have_the_given_texts(constructor):
    ids = {"users": as_text(USER_IDS), "items": as_text(ITEM_IDS, "i")}
    ranks = CONSTRUCTORS[constructor](as_text(LIKED), seen=as_text(SEEN_BY_8), **ids)
    assert dict(zip(ranks.users, ranks.best_rank, strict=True)) == {"u7": 3, "u8": 1, "u9": 1}


@pytest.mark.parametrize("form", [dict, pairs_of], ids=["dictionary", "table"])
def test_ids_of_frames_are_read(form):
    users, items = pd.DataFrame(VECTORS[0], USER_IDS), pd.DataFrame(VECTORS[1], ITEM_IDS)
    ranks = sm.Ranks.from_factors(users, items, form(LIKED), seen=form(SEEN_BY_8))
    assert dict(zip(ranks.users, ranks.best_rank, strict=True)) == RANK_BY_ID
    for data in ((users, items), pd.DataFrame(BY_POSITION, USER_IDS, ITEM_IDS)):
        results = sm.evaluate(data, "rr", relevant=form(LIKED), seen=form(SEEN_BY_8))
        assert values(results) == pytest.approx([(1 / 3 + 1 + 1) / 3])


ROWS_A_B = pd.DataFrame([[1, 0], [0, 1]], index=["a", "b"], columns=["x", "y"])


def test_ids_beside_an_index_may_repeat_it():
    """Item x is first of a, and second of b."""
    ranks = sm.Ranks.from_scores(ROWS_A_B, {"a": ["x"], "b": ["x"]}, users=["a", "b"])
    assert ranks.best_rank.tolist() == [1, 2]


def test_ids_that_contradict_an_index_are_refused():
    with pytest.raises(sm.InputError, match="users differ"):
        sm.Ranks.from_scores(ROWS_A_B, {"a": ["x"], "b": ["x"]}, users=["b", "a"])


def test_ids_of_an_array_without_an_index_are_those_given():
    """Column 0 is first of b, the first row, and second of a."""
    ranks = sm.Ranks.from_scores(np.eye(2), {"b": [0], "a": [0]}, users=["b", "a"])
    assert dict(zip(ranks.users, ranks.best_rank, strict=True)) == {"b": 1, "a": 2}


WITH_ID_COLUMN = pd.DataFrame({"user_id": [7, 8], "x": [1.0, 0.0], "y": [0.0, 1.0]})
ITEM_VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def test_column_of_ids_among_those_of_a_vector_is_refused():
    with pytest.raises(sm.InputError, match="user_id"):
        sm.Ranks.from_factors(WITH_ID_COLUMN, ITEM_VECTORS, {7: [0], 8: [1]})


def test_column_of_ids_beside_vectors_is_read():
    users = WITH_ID_COLUMN["user_id"]
    vectors = WITH_ID_COLUMN[["x", "y"]]
    ranks = sm.Ranks.from_factors(vectors, ITEM_VECTORS, {7: [0], 8: [1]}, users=users)
    assert dict(zip(ranks.users, ranks.best_rank, strict=True)) == {7: 1, 8: 1}


# Users 1 to 11 each like the item of their own number, as their vectors tell; 12 likes nothing.
UNIT_VECTORS = np.eye(12), np.eye(13, 12)
OWN_NUMBER = pd.DataFrame({"user_id": range(1, 12), "item_id": range(1, 12)})


@pytest.mark.filterwarnings("ignore:seen")
def test_ids_from_1_beside_rows_from_0_warn():
    with warns_about("from 1"):
        sm.evaluate(UNIT_VECTORS, "hit@1", relevant=OWN_NUMBER)


def test_ids_from_1_are_right_if_given():
    ids = {"users": range(1, 13), "items": range(1, 14)}
    ranks = sm.Ranks.from_factors(*UNIT_VECTORS, OWN_NUMBER, **ids)
    assert ranks.best_rank.tolist() == [1] * 11


# Row 0 has the scores 1, .2 and .5 of items, and row 1 the scores .1, 1 and .5.
TWO_ROWS = np.array([[1.0, 0], [0, 1]]), np.array([[1, 0.1], [0.2, 1], [0.5, 0.5]])


def test_few_numbers_that_may_be_ids_from_1_are_noted():
    """User 1 and item 2 are read as the second row and the third column, at rank 2."""
    relevant = pd.DataFrame({"user_id": [1], "item_id": [2]})
    results = sm.evaluate(TWO_ROWS, "rr", relevant=relevant)
    assert values(results) == [1 / 2]
    (note,) = [note for note in results.notes if note.startswith("relevant: read as")]
    assert note in " ".join(str(results).split())


def test_few_ids_from_1_are_right_if_given():
    """User 1 and item 2 are the first row and the second column, at rank 3."""
    relevant = pd.DataFrame({"user_id": [1], "item_id": [2]})
    ranks = sm.Ranks.from_factors(*TWO_ROWS, relevant, users=[1, 2], items=[1, 2, 3])
    assert ranks.best_rank.tolist() == [3]


@pytest.mark.parametrize(("user", "item"), [(0, 2), (1, 0)])
def test_number_0_shows_that_numbers_are_rows(user, item):
    relevant = pd.DataFrame({"user_id": [user], "item_id": [item]})
    assert sm.evaluate(TWO_ROWS, "hit@1", relevant=relevant).notes == []


# Scores of few items

SPARSE_RNG = np.random.default_rng(36)
SPARSE_USERS, SPARSE_ITEMS = 80, 300
COLUMNS = np.array([SPARSE_RNG.choice(SPARSE_ITEMS, 3, replace=False) for _ in range(SPARSE_USERS)])
ROW, COLUMN = np.repeat(np.arange(SPARSE_USERS), 3), COLUMNS.ravel()
FALLING = 1 / np.arange(1, 201)
FALLING /= FALLING.sum()
PLACES = np.array([np.sort(SPARSE_RNG.choice(200, 3, False, FALLING)) for _ in range(SPARSE_USERS)])


def sparse_matrix(values):
    shape = (SPARSE_USERS, SPARSE_ITEMS)
    return sparse.csr_array((values, (ROW, COLUMN)), shape=shape)


TEST_MATRIX = sparse_matrix(np.ones(ROW.size))
PREDICTED_MATRIX = sparse_matrix(3 + SPARSE_RNG.random(ROW.size))
# ranks from 0, as predict_rank of LightFM returns them
RANK_MATRIX = sparse_matrix(PLACES.ravel().astype(float))


class TestSparseScores:
    @pytest.mark.parametrize(
        ("scores", "relevant"),
        [
            (PREDICTED_MATRIX, TEST_MATRIX),
            (RANK_MATRIX, COLUMNS.tolist()),
            (PREDICTED_MATRIX.tocoo(), COLUMNS.tolist()),
            (RANK_MATRIX.tocsc(), TEST_MATRIX),
            (  # one held-out item of each user
                sparse.csr_array(
                    (np.ones(SPARSE_USERS), (np.arange(SPARSE_USERS), COLUMNS[:, 0])),
                    TEST_MATRIX.shape,
                ),
                COLUMNS[:, 0],
            ),
        ],
    )
    def test_scores_of_relevant_items_only_are_refused(self, scores, relevant):
        with pytest.raises(sm.InputError, match=r"relevant items.*Ranks\.from_ranks"):
            sm.evaluate(scores, "recall@10", relevant=relevant)

    def test_remedy_is_right(self):
        users = RANK_MATRIX.tocoo().row
        ranks = sm.Ranks.from_ranks(RANK_MATRIX.data + 1, 210, users=users)
        (result,) = sm.evaluate(ranks, "recall@10")
        assert result.value == pytest.approx((PLACES < 10).mean(axis=1).mean())

    @pytest.mark.filterwarnings("ignore:seen")
    def test_scores_of_other_items_too_are_read(self):
        scores = PREDICTED_MATRIX.tolil()
        scores[:, 0] = 5.0
        (result,) = sm.evaluate(scores.tocsr(), "hit@1", relevant=TEST_MATRIX)
        assert result.value == pytest.approx((COLUMNS == 0).any(axis=1).mean())

    def test_users_without_scores_rank_last(self):
        """Item 1 is first of 3 for 12 of 13 users; user z has no scores, so no hit."""
        scores = sparse.csr_array(np.tile([1.0, 3.0, 2.0], (12, 1)))
        users = [*"abcdefghijkl", "z"]
        (result,) = sm.evaluate(
            sm.Ranks.from_scores(
                scores,
                pd.DataFrame({"user_id": users, "item_id": ["y"] * 13}),
                users=users[:12],
                items=["x", "y", "w"],
                missing="last",
            ),
            "hit@1",
        )
        assert result.value == pytest.approx(12 / 13)


OTHER_COLUMN = np.setdiff1d(np.arange(9), COLUMNS[0])[0]  # irrelevant for user 0
TIED_SCORES = {**dict.fromkeys(COLUMNS[0], 7.0), OTHER_COLUMN: 7.0}
WORST_COLUMN = PREDICTED_MATRIX.toarray()[0].argsort()[-3]  # of the relevant ones


@pytest.mark.parametrize(
    ("scores", "changed", "warning", "n_warnings"),
    [
        (PREDICTED_MATRIX, {}, "240 held-out items are above all", 1),
        # below an irrelevant item, and not the first of its user
        (PREDICTED_MATRIX, {WORST_COLUMN: -1.0}, "above all", 0),
        # tied with an irrelevant item
        (PREDICTED_MATRIX, TIED_SCORES, "above all", 0),
        # tied with relevant items
        (TEST_MATRIX, {}, "above all", 1),
        # in a dense matrix of ranks from 0, rank 0 ties with all other items
        (RANK_MATRIX, {}, "scored alone", 1),
        (RANK_MATRIX, {OTHER_COLUMN: 999}, "scored alone", 0),
    ],
    ids=["perfect", "one below", "tie with another", "ties", "ranks from 0", "other above"],
)  # fmt: skip
def test_perfect_order_of_several_items_warns(scores, changed, warning, n_warnings, recwarn):
    scores = scores.toarray()
    for column, score in changed.items():
        scores[0, column] = score
    sm.evaluate(scores, "recall@10", relevant=TEST_MATRIX)
    assert len(messages_with(recwarn, warning)) == n_warnings


def test_dense_matrix_of_ranks_has_some_at_0():
    assert (RANK_MATRIX.data == 0).any()


# The held-out items are in column 0, at the ranks: no score, 1 of 3, and 2 of 4.
WITHOUT_SCORE = np.array([[-np.inf, 0.5, 0.2, 0.1], [0.9, -np.inf, 0.3, 0.2], [0.4, 0.5, 0.1, 0.2]])


def ranks_of_meter(scores, **options):
    meter = sm.RankMeter("auc", **options)
    meter.update(scores)
    return meter.ranks()


def ranks_of_correct(scores, **options):
    return sm.SampledRanks.from_scores(scores, 0, **options)


@pytest.mark.parametrize("read", [ranks_of_meter, ranks_of_correct])
def test_sampled_held_out_item_without_score_is_last_of_four(read):
    sample = read(WITHOUT_SCORE, n_items=90, missing="last")
    assert sample.sampled_ranks.tolist() == [4, 1, 2]
    assert sample.n_missing == 1


@pytest.mark.parametrize("read", [ranks_of_meter, ranks_of_correct])
def test_sampled_held_out_item_without_score_is_refused(read):
    assert "missing='last'" in refusal_message(read, WITHOUT_SCORE, n_items=90)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_held_out_item_without_score_is_last_of_all_with_a_score():
    """Other items with -inf are no candidates."""
    ranks = ranks_of_meter(WITHOUT_SCORE, missing="last")
    assert ranks.n_candidates.tolist() == [4, 3, 4]
    assert ranks.n_better.tolist() == [3, 0, 1]


def test_ids_beside_vectors_are_numbers_of_rows():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(4, 2)), rng.normal(size=(5, 2))
    relevant = pd.DataFrame({"user_id": [1, 2, 3, 4], "item_id": [0, 1, 2, 3]})
    message = refusal_message(sm.evaluate, vectors, "hr@1", relevant=relevant)
    assert "scores" in message


def test_empty_batch_adds_nothing():
    meter = sm.RankMeter("hit@5", n_items=40)
    meter.update(np.zeros((0, 40)), positive=np.zeros(0, int))
    assert len(meter) == 0
    meter.update(ranks=[3, 9])
    meter.update(ranks=[])
    assert meter.compute()[0].value == 0.5


# Users with only relevant candidates

AUC_SCORES = np.array([[0.1, 0.2, 0.3, 0.0], [0.3, 0.2, 0.1, 0.5], [0.2, 0.3, 0.1, 0.4]])
GRADES = np.array([[1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 0, 0]])
OTHER_SCORES = np.array([[0.3, 0.2, 0.1, 0.0], [0.3, 0.2, 0.1, 0.5], [0.2, 0.1, 0.3, 0.4]])


# User 0: neither 0.1 nor 0.0 is above 0.2 or 0.3. User 2: 0.3 is above two of three.
def auc_by_hand(scores, relevant):
    relevant_scores, others = scores[relevant > 0], scores[relevant == 0]
    return np.mean(relevant_scores[:, None] > others)


@pytest.mark.filterwarnings("ignore:seen")
def test_users_with_only_relevant_items_are_left_out_of_auc():
    with warns_about("auc skips 1 of 3 users"):
        results = sm.evaluate(AUC_SCORES, "auc, recall@1, ap", relevant=GRADES)
    assert results[0].value == pytest.approx(np.mean([0.0, 2 / 3]))
    assert results[1].value == pytest.approx(np.mean([0, 1 / 4, 0]))
    assert [result.n_users for result in results] == [2, 3, 3]
    assert "skips" in results.notes[0]
    (alone,) = sm.evaluate(AUC_SCORES[[0, 2]], "auc", relevant=GRADES[[0, 2]])
    assert results[0].std_error == pytest.approx(alone.std_error)
    assert results[0].effective_users == pytest.approx(alone.effective_users)
    with warns_about("skips"):
        by_user = sm.values_by_user(AUC_SCORES, "auc", relevant=GRADES)["auc"]
    assert by_user.tolist() == pytest.approx([0.0, np.nan, 2 / 3], nan_ok=True)


@pytest.mark.filterwarnings("ignore:seen")
def test_auc_of_many_queries_matches_a_loop(recwarn):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(1000, 8))
    relevant = (rng.random(scores.shape) < 0.3).astype(int)
    scores += relevant
    relevant[:, 0] = 1
    relevant[7] = 1
    results = sm.evaluate(scores, relevant=relevant)
    others = [user for user in range(1000) if not relevant[user].all()]
    expected = np.mean([auc_by_hand(scores[user], relevant[user]) for user in others])
    by_metric = {result.metric: result.value for result in results}
    assert by_metric["auc"] == pytest.approx(expected)
    assert messages_with(recwarn, f"{1000 - len(others)} of 1,000 users")


@pytest.mark.filterwarnings("ignore:seen")
def test_comparison_of_auc_leaves_out_pairs():
    data = {"A": AUC_SCORES, "B": OTHER_SCORES}
    with warns_about("skips"):
        (result,) = sm.compare(data, "auc", relevant=GRADES)
    others = [0, 2]
    a, b = (
        np.mean([auc_by_hand(scores[user], GRADES[user]) for user in others])
        for scores in (AUC_SCORES, OTHER_SCORES)
    )
    assert (result.value_a, result.value_b) == pytest.approx((a, b))
    assert result.difference == pytest.approx(b - a)
    assert result.n_users == 2


@pytest.mark.filterwarnings("ignore:seen")
def test_auc_without_irrelevant_items_is_refused():
    with pytest.raises(sm.InputError, match=r"auc is not defined.*drop auc"):
        sm.evaluate(AUC_SCORES[1:2], "auc, ap", relevant=GRADES[1:2])
    (result,) = sm.evaluate(AUC_SCORES[1:2], "ap", relevant=GRADES[1:2])
    assert result.value == 1.0


# Relevant items and users without scores

SCORES_BY_ID = pd.DataFrame(
    [[0.9, 0.5, 0.1], [0.2, 0.8, 0.6]], index=["ann", "bob"], columns=["x", "y", "z"]
)
# Ann has scores of x and z only, bob of z, and eve has no row of scores.
HELD_BY_ID = pd.DataFrame(
    {
        "user_id": ["ann", "ann", "ann", "bob", "bob", "eve"],
        "item_id": ["x", "z", "new", "z", "newer", "y"],
    }
)
COLD_USERS = {"ann": ["new"], "bob": ["new", "newer"], "eve": ["y"]}


def without_scores(kind):
    """Return the ranks of `HELD_BY_ID` by scores of a kind."""
    matrix = SCORES_BY_ID.to_numpy()
    ids = {"users": SCORES_BY_ID.index, "items": SCORES_BY_ID.columns}
    by_kind = {
        "frame": (SCORES_BY_ID, {}),
        "array": (matrix, ids),
        "sparse": (sparse.csr_array(matrix), ids),
        "function": (lambda rows: matrix[rows], ids),
        "vectors": ((np.eye(2), matrix.T.copy()), ids),
        "pairs": (lambda users, items: matrix[users, items], {**ids, "n_items": 3}),
    }
    scores, options = by_kind[kind]
    return partial(sm.rank, scores, **options)


@pytest.mark.parametrize("kind", ["frame", "array", "sparse", "function", "vectors", "pairs"])
def test_missing_items_and_users_are_below_all_candidates(kind):
    """Ann: x, y, z, new at ranks 1 to 4. Bob: y, z, x, newer. Eve: x and z are above y."""
    rank = without_scores(kind)
    ranks = rank(None, HELD_BY_ID, missing="last")
    assert ranks.users.tolist() == ["ann", "bob", "eve"]
    assert ranks.n_candidates.tolist() == [4, 4, 3]
    assert ranks.best_rank.tolist() == [1, 3, 4, 2, 4, 3]
    assert ranks.worst_rank.tolist() == ranks.best_rank.tolist()
    results = sm.evaluate(ranks, "recall@2, rr, auc")
    recall = (1 / 3 + 1 / 2 + 0) / 3
    auc = (1 / 3 + 1 / 4 + 0) / 3  # of pairs with y; with y and x; with x and z
    assert values(results) == pytest.approx([recall, (1 + 1 / 2 + 1 / 3) / 3, auc])
    assert "3 users" in str(results)


@pytest.mark.parametrize("kind", ["frame", "array", "sparse", "function", "vectors", "pairs"])
def test_users_without_any_score_of_a_relevant_item(kind):
    """Ann: new is below x, y, z. Bob: new and newer are tied below x, y, z."""
    ranks = without_scores(kind)(None, COLD_USERS, missing="last")
    assert ranks.n_candidates.tolist() == [4, 5, 3]
    assert ranks.best_rank.tolist() == [4, 4, 4, 3]
    assert ranks.worst_rank.tolist() == [4, 5, 5, 3]
    assert ranks.n_missing == 3


@pytest.mark.parametrize("kind", ["frame", "vectors"])
def test_missing_items_with_seen_ones_and_grades(kind):
    """Without seen y, ann ranks x, z, new; eve, who has seen x, ranks z above y."""
    relevant = HELD_BY_ID.assign(relevance=[1, 3, 2, 1, 1, 2])
    seen = pd.DataFrame({"user_id": ["ann", "eve", "zoe"], "item_id": ["y", "x", "other"]})
    ranks = without_scores(kind)(seen, relevant, missing="last")
    assert ranks.n_candidates.tolist() == [3, 4, 2]
    assert ranks.best_rank.tolist() == [1, 2, 3, 2, 4, 2]
    assert ranks.relevance.tolist() == [1, 3, 2, 1, 1, 2]
    with pytest.raises(sm.InputError, match="drop rows of such users"):
        sm.rank(SCORES_BY_ID, seen, {"ann": ["x"]})


def test_missing_item_of_one_user_beside_two_items_of_another():
    """The scores of each user decide, also where there are as many scored items as users."""
    scores = pd.DataFrame([[5.0, 4, 3], [1, 2, 3]], index=["anna", "ben"], columns=["a", "b", "c"])
    ranks = sm.Ranks.from_scores(scores, {"anna": ["z"], "ben": ["a", "b"]}, missing="last")
    assert ranks.n_candidates.tolist() == [3 + 1, 3]  # z is a candidate of anna
    assert ranks.n_better.tolist() == [3, 1, 2]  # z below a, b and c; c above b; b and c above a


def test_missing_items_of_cut_rankings():
    ranks = sm.Ranks.from_scores(SCORES_BY_ID, HELD_BY_ID, missing="last", up_to=2)
    assert ranks.n_found.tolist() == [1, 1, 0]
    assert ranks.n_relevant.tolist() == [3, 2, 1]
    assert values(sm.evaluate(ranks, "recall@2")) == pytest.approx([(1 / 3 + 1 / 2) / 3])


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_missing_items_are_found_alike_where_rankings_may_end_early():
    """Of 400 users, every fourth has an item without a vector; hits by brute force."""
    rng = np.random.default_rng(3)
    users, items = rng.normal(size=(400, 4)), rng.normal(size=(300, 4))
    held = rng.integers(0, 300, 400)
    scores = users @ items.T
    above = (scores > scores[np.arange(400), [held]].T).sum(axis=1)
    has_score = np.arange(400) % 4 > 0
    relevant = {user: [int(item)] for user, item in enumerate(held)}
    relevant |= {user: [1000 + user] for user in range(0, 400, 4)}
    ids = {"users": range(400), "items": range(300)}
    ranks = sm.Ranks.from_factors(users, items, relevant, missing="last", **ids)
    assert ranks.n_candidates.tolist() == np.where(has_score, 300, 301).tolist()
    right = np.mean(has_score & (above < 10))
    assert values(sm.evaluate(ranks, "hit@10")) == pytest.approx([right])
    by_text = {f"u{user}": [f"i{item}" for item in held] for user, held in relevant.items()}
    vectors = (
        pd.DataFrame(users, index=[f"u{user}" for user in range(400)]),
        pd.DataFrame(items, index=[f"i{item}" for item in range(300)]),
    )
    results = sm.evaluate(vectors, "hit@10", relevant=by_text, missing="last")
    assert values(results) == pytest.approx([right])


def test_column_of_minus_infinity_is_missing():
    """The column `new` of the matrix is the same as none."""
    padded = SCORES_BY_ID.assign(new=-np.inf)
    relevant = HELD_BY_ID[:4]
    with pytest.raises(sm.InputError, match=r"new of user ann.*1 pair of 1 user.*missing='last'"):
        sm.evaluate(padded, "recall@2", relevant=relevant)
    ranks = sm.Ranks.from_scores(padded, relevant, missing="last")
    assert ranks.best_rank.tolist() == [1, 3, 4, 2]
    assert ranks.n_candidates.tolist() == [4, 3]
    # a row of -inf is no row, rather than one of equal scores
    padded.loc["bob"] = -np.inf
    ranks = sm.Ranks.from_scores(padded, {"bob": ["z"]}, missing="last")
    assert (ranks.n_candidates.tolist(), ranks.best_rank.tolist()) == ([4], [4])


def test_ids_without_any_in_common_are_refused():
    for relevant in ({"ann": ["a", "b"]}, {"zoe": ["x"]}):
        for missing in ("refuse", "last"):
            with pytest.raises(sm.InputError, match="of the scores") as caught:
                sm.evaluate(SCORES_BY_ID, "recall@2", relevant=relevant, missing=missing)
            assert "missing" not in str(caught.value)


def test_visits_without_scores_are_missing():
    """Visit 2 of ann has no row; item `new` of visit 1 no column."""
    ids = {"users": ["ann", "ann"], "visits": [1, 3], "items": ["x", "y", "z"]}
    relevant = pd.DataFrame(
        {"user_id": "ann", "visit_id": [1, 1, 2, 3], "item_id": ["x", "new", "x", "z"]}
    )
    scores = SCORES_BY_ID.to_numpy()
    with pytest.raises(sm.InputError, match="missing='last'"):
        sm.Ranks.from_scores(scores, relevant, **ids)
    ranks = sm.Ranks.from_scores(scores, relevant, missing="last", **ids)
    assert ranks.visits.tolist() == [1, 3, 2]
    assert ranks.best_rank.tolist() == [1, 4, 2, 3]
