"""What people hold is taken for what it is, or refused in one sentence; each was misread once."""

import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about
from tests.helpers.results import refusal_message

USERS, ITEMS = 30, 23
RNG = np.random.default_rng(0)
S = RNG.normal(size=(USERS, ITEMS))
HELD = RNG.integers(ITEMS, size=USERS)
S[np.arange(USERS), HELD] += 1.5
SEEN = (RNG.random(S.shape) < 0.1) & (np.arange(ITEMS) != HELD[:, None])
FRAME = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(USERS), ITEMS),
        "item_id": np.tile(np.arange(ITEMS), USERS),
        "score": S.ravel(),
    }
).sample(frac=1, random_state=0)
RELEVANT = {user: [int(item)] for user, item in enumerate(HELD)}
LISTS = {user: np.argsort(-row).tolist() for user, row in enumerate(S)}
pytestmark = pytest.mark.filterwarnings("ignore:.*all 30 users have scores")


def value(data, metric="hr@3", **options):
    (found,) = sm.evaluate(data, metric, **({"relevant": RELEVANT} | options))
    return found.value


BETTER = (S[np.arange(USERS), HELD][:, None] < S).sum(axis=1)
EXPECTED = (BETTER < 3).mean()


@pytest.mark.parametrize("name", ["prediction", "est", "pred", "logit", "rating"])
def test_names_of_scores(name, tmp_path):
    frame = FRAME.rename(columns={"score": name})
    assert value(frame) == EXPECTED
    frame.to_csv(tmp_path / "s.csv", index=False)
    assert value(tmp_path / "s.csv") == EXPECTED
    assert value(frame.assign(rating=1.0, prediction=frame[name])) == EXPECTED


def test_predictions_of_surprise():
    names = ["uid", "iid", "r_ui", "est", "details"]
    rows = [
        (int(u), int(i), 3.0, s, {"impossible": False})
        for u, i, s in FRAME.to_numpy()
    ]
    assert value(pd.DataFrame(rows, columns=names)) == EXPECTED


def test_numbers_of_another_name_are_refused_by_it(tmp_path):
    frame = FRAME.rename(columns={"score": "weight"})
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_parquet(tmp_path / "s.parquet")
    for data in (frame, pa.table(frame), tmp_path / "s.csv", tmp_path / "s.parquet"):
        assert "weight" in refusal_message(sm.evaluate, data, relevant=RELEVANT)
    ordered = FRAME.sort_values(["user_id", "score"], ascending=[True, False])
    ordered = ordered.drop(columns="score").assign(timestamp=7)
    ordered.to_csv(tmp_path / "best_first.csv", index=False)
    assert value(ordered) == value(tmp_path / "best_first.csv") == EXPECTED


@pytest.mark.filterwarnings("ignore:.*negatives fail the check")  # the same for all
def test_dictionaries_of_dictionaries():
    run = {user: dict(enumerate(row.tolist())) for user, row in enumerate(S)}
    assert value(run) == EXPECTED
    qrels = {
        user: {int(item): 1, int(item + 1) % ITEMS: 0}
        for user, item in enumerate(HELD)
    }
    assert value(run, relevant=qrels) == EXPECTED
    seen = {
        user: dict.fromkeys(np.flatnonzero(row), 1.0) for user, row in enumerate(SEEN)
    }
    expected = value(S, relevant=HELD, seen=SEEN)
    assert value(run, seen=seen) == expected
    (found,) = sm.correct(
        run, "hr@3", "sampled", relevant=RELEVANT, n_items=500, shape="none"
    )
    assert found.value == EXPECTED


def test_sets_have_no_order():
    sets = {user: set(items) for user, items in LISTS.items()}
    assert "set" in refusal_message(sm.evaluate, sets, relevant=RELEVANT)
    relevant = {user: set(items) for user, items in RELEVANT.items()}
    assert value(LISTS, relevant=relevant) == EXPECTED


def test_dictionaries_of_series():
    """Whether a Series holds scores by item, or items, is not guessed."""
    scores = {1: {10: 0.3, 20: 0.1, 30: 0.2}, 2: {10: 3.0, 30: 5.5, 20: -1.0}}
    relevant = {1: [30], 2: [10]}
    assert value(scores, "ap", relevant=relevant) == 0.5
    series = {user: pd.Series(of_user) for user, of_user in scores.items()}
    assert "item_id" in refusal_message(sm.evaluate, series)
    by_item = {user: of_user.to_dict() for user, of_user in series.items()}
    assert value(by_item, "ap", relevant=relevant) == 0.5


def test_dictionaries_of_columns_and_series_with_several_items():
    assert value(FRAME.to_dict("list")) == EXPECTED
    held = {"user_id": list(range(USERS)), "item_id": HELD.tolist()}
    assert value(LISTS, relevant=held) == EXPECTED
    both = pd.Series(
        [*HELD, *(HELD + 1) % ITEMS], index=[*range(USERS), *range(USERS)]
    )
    pairs = pd.DataFrame({"user_id": both.index, "item_id": both.to_numpy()})
    assert value(LISTS, "recall@3", relevant=both) == value(
        LISTS, "recall@3", relevant=pairs
    )
    problem = refusal_message(
        sm.evaluate, {"user_id": [1], "item_id": [1, 2]}, relevant=RELEVANT
    )
    assert "length" in problem


class Polars:
    """As much of a DataFrame of polars as it lends to others."""

    def __init__(self, frame):
        self.table = pa.table(frame)
        self.columns = self.table.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


Polars.__name__ = "DataFrame"


def test_tables_of_other_libraries():
    scores = pd.DataFrame(S, columns=[f"c{i}" for i in range(ITEMS)])
    held = pd.DataFrame({"user_id": range(USERS), "item_id": HELD})
    named = held.assign(user_id=held.user_id.map("u{}".format))
    lists = FRAME.assign(user_id=FRAME.user_id.map("u{}".format))
    for kind in (pa.table, Polars):
        assert value(kind(FRAME), relevant=kind(held)) == EXPECTED
        assert value(kind(lists), relevant=kind(named)) == EXPECTED
        assert value(kind(scores), relevant=HELD) == EXPECTED
        seen = pd.DataFrame({"user_id": [0], "item_id": [(HELD[0] + 1) % ITEMS]})
        assert len(sm.negatives(kind(held), kind(seen), 3)) == 3 * USERS


def test_a_function_that_returns_a_number():
    assert "shape ()" in refusal_message(sm.evaluate, lambda _: 0.5, relevant=HELD)


def test_byte_order_and_half_precision():
    assert value((1 + BETTER).astype(">i4"), relevant=None, n_items=ITEMS) == EXPECTED
    assert value(S.astype(">f8"), relevant=HELD.astype(">i8")) == EXPECTED
    for kind in ("f2", ">f4"):
        expected = value(S, relevant=HELD, seen=SEEN)
        assert value(S, relevant=HELD, seen=SEEN.astype(kind)) == expected


def test_damaged_sparse_scores():
    for sparse, name in (
        (csr_array(S), "indices"),
        (csr_array(S), "indptr"),
        (coo_array(S), "col"),
    ):
        bad = getattr(sparse, name).copy()
        bad[3] = 10**8
        setattr(sparse, name, bad)
        for call in (sm.evaluate, lambda x, relevant: sm.rank(x, None, relevant)):
            assert "damaged" in refusal_message(call, sparse, relevant=HELD)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_nan_is_neither_relevant_nor_seen(number):
    marked = np.full(S.shape, number)
    marked[np.arange(USERS), HELD] = 1.0
    for given in (marked, csr_array(marked)):
        assert "relevant has" in refusal_message(sm.evaluate, S, relevant=given)
        assert "seen has" in refusal_message(
            sm.evaluate, S, relevant=HELD, seen=given
        )
        assert "seen has" in refusal_message(sm.rank, S, given, HELD)


def test_ids_with_nothing_in_common():
    other = {user: [f"i{items[0]}"] for user, items in RELEVANT.items()}
    problem = refusal_message(sm.evaluate, LISTS, relevant=other)
    assert "relevant" in problem
    assert f"'i{HELD[0]}'" in problem
    seen = {user: np.flatnonzero(row) for user, row in enumerate(SEEN)}
    half = {float(user) + 0.5: items for user, items in seen.items()}
    assert "found 0.5" in refusal_message(
        sm.evaluate, LISTS, relevant=RELEVANT, seen=half
    )
    assert "found 0.5" in refusal_message(sm.negatives, RELEVANT, half, 3)
    for given, words in (  # items or users of a split may be new, so it is a question
        ({f"u{user}": items for user, items in seen.items()}, "of the users of seen"),
        (
            {user: [f"i{i}" for i in items] for user, items in seen.items()},
            "of the items of seen",
        ),
    ):
        with warns_about(words):
            sm.evaluate(LISTS, "hr@3", relevant=RELEVANT, seen=given)
        with warns_about(words):
            sm.negatives(RELEVANT, given, 3)


def test_ratings_of_movielens_are_no_qrels(tmp_path):
    rows = [
        f"{user} {item} {3 + user % 2} 88125{user:04}"
        for user, item in enumerate(HELD)
    ]
    (tmp_path / "u.data").write_text("\n".join(rows))
    problem = refusal_message(sm.evaluate, LISTS, relevant=tmp_path / "u.data")
    assert "user_id" in problem


def test_users_of_rank_are_different():
    problem = refusal_message(sm.rank, S, None, HELD, users=[5, 5, *range(10, 38)])
    assert "row 2" in problem


def test_archives_of_arrays(tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, scores=S, user_ids=np.arange(len(S)))
    assert value(path) == EXPECTED
    for other in (HELD, np.array([{}], dtype=object)):
        np.savez(path, scores=S, seen=other)
        assert "seen" in refusal_message(sm.evaluate, path, relevant=HELD)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", b"hello")
    assert "scores" in refusal_message(sm.evaluate, path, relevant=HELD)
    big = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        big, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**7)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", big.getvalue())
    assert "s.npz" in refusal_message(sm.evaluate, path, relevant=HELD)


@pytest.mark.parametrize(
    "name", ["x" * 5000, "a\0b", "a\0b.npy", "x" * 300 + ".parquet", "\ud800"]
)
def test_names_that_no_file_can_have(name):
    assert "\n" not in refusal_message(sm.evaluate, name, n_items=9)
    assert "relevant" in refusal_message(sm.evaluate, LISTS, relevant=name)


@pytest.mark.filterwarnings("ignore:.*negatives fail the check")  # the same for all
def test_labels_of_true_and_false(tmp_path):
    pairs = FRAME.assign(label=FRAME.item_id.to_numpy() == HELD[FRAME.user_id])
    expected = sm.correct(
        pairs.assign(label=pairs.label.astype(int)), "auc", n_items=500
    )
    pairs.to_csv(tmp_path / "p.csv", index=False)
    for data in (pairs, tmp_path / "p.csv"):
        assert sm.correct(data, "auc", n_items=500)[0] == expected[0]


def test_lists_in_a_series_by_row_are_those_of_a_list():
    scores = np.array(
        [[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.4, 0.1], [0.5, 0.1, 0.2, 0.3]]
    )
    for seen in ([[0], [1], [0]], [[0, 3], [1], []], [[0, 3], [1, 3], [0, 1]]):
        expected = sm.evaluate(scores, "rr", relevant=[1, 2, 2], seen=seen)
        for given in (pd.Series(seen), pd.Series(seen).to_numpy()):
            assert (
                sm.evaluate(scores, "rr", relevant=[1, 2, 2], seen=given)[0]
                == expected[0]
            )
    mapped = pd.Series([[1], [2], [2]])
    assert sm.rank(scores, None, mapped).n_better.tolist() == [1, 1, 2]


def test_a_user_twice_in_a_series_is_refused():
    lists = pd.Series([[1, 2], [3, 1]], index=["anna", "anna"])
    assert "row 4" in refusal_message(sm.evaluate, lists, relevant={"anna": [1]})
    lists = pd.Series([[1, 2], [3, 4]], index=["anna", "anna"])
    assert "column rank" in refusal_message(
        sm.evaluate, lists, relevant={"anna": [1]}
    )
