"""Matrices of scores, vectors and functions, with ids or numbers of rows and columns."""

import warnings
from collections import deque
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
def test_score_matrix_is_read(tmp_path, dtype):
    np.save(tmp_path / "c.npy", SCORES.astype(dtype))
    np.save(tmp_path / "f.npy", np.asarray(SCORES, dtype=dtype, order="F"))
    np.savez(tmp_path / "s.npz", scores=SCORES.astype(dtype))
    save_npz(tmp_path / "seen.npz", csr_array(SEEN))
    np.save(tmp_path / "seen.npy", SEEN)
    write_file(tmp_path, "seen.csv", "user_id,item_id\n0,0\n1,1\n1,3\n1,1\n")
    np.save(tmp_path / "held.npy", np.array([2, 4], dtype=np.int32))
    write_file(tmp_path, "held.csv", "user_id,item_id,relevance\n1,4,1\n0,2,1\n0,3,0\n")
    write_file(tmp_path, "held.qrels", "0 0 2 1\n1 0 4 1\n")
    # each pair of forms once
    seen_names = ("seen.npz", "seen.npy", "seen.csv")
    held_out_names = deque(("held.npy", "held.csv", "held.qrels"))
    for scores in ("c.npy", "f.npy", "s.npz"):
        for seen, held_out in zip(seen_names, held_out_names, strict=True):
            files = {"relevant": tmp_path / held_out, "seen": tmp_path / seen}
            ranks = as_ranks(tmp_path / scores, n_items=5, **files)
            assert rank_counts(ranks) == SCORE_COUNTS, (scores, seen, held_out)
            assert ranks.users.tolist() == [0, 1]
        held_out_names.rotate()


def test_ids_of_a_matrix_are_read(tmp_path):
    scores = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])
    np.savez(tmp_path / "s.npz", scores=scores, user_ids=["u", "v"], item_ids=[10, 20, 30])
    held_out = write_file(tmp_path, "held.csv", "user_id,item_id\nv,20\nu,10\n")
    seen = write_file(tmp_path, "seen.csv", "user_id,item_id\nu,20\nu,20\n")
    ranks = as_ranks(tmp_path / "s.npz", relevant=held_out)
    assert (ranks.users.tolist(), ranks.best_rank.tolist()) == (["u", "v"], [2, 2])
    ranks = as_ranks(tmp_path / "s.npz", relevant=held_out, seen=seen)
    assert (ranks.best_rank.tolist(), ranks.n_candidates.tolist()) == ([1, 2], [2, 3])
    save_npz(tmp_path / "held.npz", csr_array([[0, 5, 1], [2, 0, 0]]))
    ranks = as_ranks(tmp_path / "s.npz", relevant=tmp_path / "held.npz")
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


def scores_and_held(n_users=40, n_items=12, n_held=3, seed=3):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items))
    held_out = np.array([rng.choice(n_items, n_held, replace=False) for _ in range(n_users)])
    np.put_along_axis(scores, held_out, np.take_along_axis(scores, held_out, 1) + 1, 1)
    return scores, held_out


def permuted_data(kind, seed=4):
    """Return scores, shuffled ids of rows and columns, held-out and seen items by id, and hit@3."""
    scores, held_out = scores_and_held(n_held=1, seed=seed)
    # popularity would hide a wrong order
    scores += np.linspace(4, 0, scores.shape[1])
    rng = np.random.default_rng(seed)
    users, items = (rng.permutation(n) for n in scores.shape)
    seen = (held_out[:, 0] + 5) % scores.shape[1]
    if kind == "text":
        users, items = ([f"{name}{n}" for n in ids] for name, ids in (("u", users), ("i", items)))
    users, items = np.array(users), np.array(items)
    tables = [
        pd.DataFrame({"user_id": users, "item_id": items[column]}).sample(frac=1, random_state=0)
        for column in (held_out[:, 0], seen)
    ]
    allowed = scores.copy()
    allowed[np.arange(len(scores)), seen] = -np.inf
    held_out_score = np.take_along_axis(allowed, held_out, 1)
    right = np.mean((allowed > held_out_score).sum(1) < 3)
    return scores, users, items, *tables, right


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_users_and_items_give_the_ids_of_tables(kind):
    scores, users, items, held_out, seen, right = permuted_data(kind)
    ids = {"users": users, "items": items}
    vectors = (np.eye(len(scores)), scores.T.copy())
    dictionaries = [
        {row.user_id: [row.item_id] for row in table.itertuples()} for table in (held_out, seen)
    ]
    frames = tuple(
        pd.DataFrame(rows, index=names) for rows, names in zip(vectors, (users, items), strict=True)
    )
    by_rows = lambda rows: scores[rows]  # noqa: E731
    for relevant, taken in ((held_out, seen), dictionaries):
        ranks = [
            sm.Ranks.from_scores(scores, relevant, seen=taken, **ids),
            sm.Ranks.from_factors(*vectors, relevant, seen=taken, **ids),
            sm.Ranks.from_factors(*frames, relevant, seen=taken),
            sm.Ranks.from_function(by_rows, relevant, seen=taken, **ids),
            sm.rank(scores, taken, relevant, **ids),
            sm.rank(vectors, taken, relevant, **ids),
            sm.rank(by_rows, taken, relevant, **ids),
        ]
        for ranking in ranks:
            assert values(sm.evaluate(ranking, "hit@3")) == pytest.approx([right])
            assert set(ranking.users) == set(users)
        for data in (frames, pd.DataFrame(scores, index=users, columns=items)):
            results = sm.evaluate(data, "hit@3", relevant=relevant, seen=taken)
            assert values(results) == pytest.approx([right])


def test_ids_given_twice_must_agree():
    frame = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["x", "y"])
    relevant = {"a": ["x"], "b": ["x"]}
    same = sm.Ranks.from_scores(frame, relevant, users=["a", "b"])
    assert same.best_rank.tolist() == [1, 2]
    with pytest.raises(sm.InputError, match="users differ"):
        sm.Ranks.from_scores(frame, relevant, users=["b", "a"])
    relevant = {"b": [0], "a": [0]}
    ranks = sm.Ranks.from_scores(frame.to_numpy(), relevant, users=["b", "a"])
    assert ranks.best_rank.tolist() == [1, 2]


def test_column_of_ids_is_not_part_of_a_vector():
    users = pd.DataFrame({"user_id": [7, 8], "x": [1.0, 0.0], "y": [0.0, 1.0]})
    items = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(sm.InputError, match="user_id"):
        sm.Ranks.from_factors(users, items, {7: [0], 8: [1]})
    vectors = users[["x", "y"]]
    ids = users["user_id"]
    ranks = sm.Ranks.from_factors(vectors, items, {7: [0], 8: [1]}, users=ids)
    assert ranks.best_rank.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore:seen")
def test_ids_from_1_beside_rows_from_0_warn():
    """Users 1 to 12 each like the item of their own number; user 12 has no relevant item."""
    vectors = np.eye(12), np.eye(13, 12)
    ids = np.arange(1, 12)
    relevant = pd.DataFrame({"user_id": ids, "item_id": ids})
    with warns_about("from 1"):
        sm.evaluate(vectors, "hit@1", relevant=relevant)
    users, items = np.arange(1, 13), np.arange(1, 14)
    ranks = sm.Ranks.from_factors(*vectors, relevant, users=users, items=items)
    assert ranks.best_rank.tolist() == [1] * 11


def test_numbers_read_as_rows_are_noted():
    """Few rows do not show whether numbers are ids from 1 or rows from 0, so a note tells."""
    vectors = np.array([[1.0, 0], [0, 1]]), np.array([[1, 0.1], [0.2, 1], [0.5, 0.5]])
    relevant = pd.DataFrame({"user_id": [1], "item_id": [2]})
    results = sm.evaluate(vectors, "hit@1", relevant=relevant)
    assert values(results) == [0.0]  # row 1 has scores .1, 1, .5
    assert any("row and column numbers" in note for note in results.notes)
    assert "relevant: read as row and column numbers" in str(results)
    ranks = sm.Ranks.from_factors(*vectors, relevant, users=[1, 2], items=[1, 2, 3])
    assert ranks.best_rank.tolist() == [3]  # the first row has scores 1, .2, .5
    for first in ({"user_id": [0]}, {"item_id": [0]}):
        results = sm.evaluate(vectors, "hit@1", relevant=relevant.assign(**first))
        assert results.notes == []


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


RNG = np.random.default_rng(0)


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


@pytest.mark.parametrize("entry", ["meter", "correct"])
def test_held_out_item_without_score_is_missing(entry):
    scores = np.array([[-np.inf, 0.5, 0.2, 0.1], [0.9, -np.inf, 0.3, 0.2], [0.4, 0.5, 0.1, 0.2]])
    arguments = {"n_items": 90, "missing": "last"}

    def ranks(**options):
        if entry == "correct":
            return sm.SampledRanks.from_scores(scores, 0, **options)
        meter = sm.RankMeter("auc", **options)
        meter.update(scores)
        return meter.ranks()

    assert ranks(**arguments).sampled_ranks.tolist() == [4, 1, 2]
    assert ranks(**arguments).n_missing == 1
    assert "missing='last'" in refusal_message(ranks, n_items=90)
    if entry == "meter":
        with warnings.catch_warnings(action="ignore"):
            full = ranks(missing="last")
        # other items with -inf are no candidates
        assert full.n_candidates.tolist() == [4, 3, 4]
        assert full.n_better.tolist() == [3, 0, 1]


def test_ids_beside_vectors_are_numbers_of_rows():
    vectors = RNG.normal(size=(4, 2)), RNG.normal(size=(5, 2))
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
