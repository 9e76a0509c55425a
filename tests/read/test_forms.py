"""Data in every form gives the right number, or is refused in one line."""

import io
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, coo_matrix, csr_array, csr_matrix

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about
from tests.helpers.forms import ArrowFrame
from tests.helpers.results import refusal_message, values

ignore_complete_scores = pytest.mark.filterwarnings("ignore:.*all 30 users have scores")

RNG = np.random.default_rng(3)
LEFT, RIGHT = RNG.normal(size=(20, 3)), RNG.normal(size=(30, 3))
SCORES = LEFT @ RIGHT.T  # 20 users, 30 items
HELD = RNG.integers(30, size=20)
SEEN = (RNG.random(SCORES.shape) < 0.2) & (np.arange(30) != HELD[:, None])
U, I = [f"u{k}" for k in range(20)], [100 + k for k in range(30)]  # noqa: E741
USER, ITEM = np.indices(SCORES.shape).reshape(2, -1)
LONG = pd.DataFrame({"user_id": USER, "item_id": ITEM, "score": SCORES.ravel()})
ORDER = np.argsort(np.where(SEEN, np.inf, -SCORES), axis=1, kind="stable")[:, :20]
LISTS = pd.DataFrame({"user_id": np.arange(20).repeat(20), "item_id": ORDER.ravel()})
MARKED = np.zeros(SCORES.shape, bool)
MARKED[np.arange(20), HELD] = True
PAIRS = pd.DataFrame({"user_id": range(20), "item_id": HELD})
NAMED = pd.DataFrame({"user_id": U, "item_id": np.array(I)[HELD]})
NAMED_SEEN = pd.DataFrame({"user_id": np.array(U)[SEEN.nonzero()[0]],
                           "item_id": np.array(I)[SEEN.nonzero()[1]]})  # fmt: skip
SEEN_LISTS = [np.flatnonzero(row).tolist() for row in SEEN]
FRAME = pd.DataFrame(SCORES, index=U, columns=I)
TOP = {u: row[~SEEN[u, row]] for u, row in enumerate(ORDER)}
BY = {"relevant": HELD, "seen": SEEN}


class DlpackArray:
    """A tensor that only supports the DLPack protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (SCORES, {}),
        (SCORES.tolist(), {"relevant": HELD.tolist(), "seen": SEEN_LISTS}),
        (csr_array(SCORES), {"relevant": csr_matrix(MARKED), "seen": coo_matrix(SEEN)}),
        (DlpackArray(SCORES),
         {"relevant": DlpackArray(HELD), "seen": DlpackArray(SEEN.astype(int))}),
        ((LEFT, RIGHT), {"relevant": MARKED.astype(int)}),
        (lambda users: SCORES[users], {"relevant": [[item] for item in HELD]}),
        (pd.DataFrame(SCORES), {"relevant": PAIRS, "seen": dict(enumerate(SEEN_LISTS))}),
        (FRAME, {"relevant": NAMED, "seen": NAMED_SEEN}),
        (FRAME, {"relevant": dict(NAMED.to_numpy()), "seen": NAMED_SEEN}),
        (FRAME, {"relevant": NAMED.set_index("user_id")["item_id"]}),
        (FRAME, {"relevant": pd.Series(HELD)}),
        (LONG, {"relevant": PAIRS, "seen": SEEN_LISTS}),
        (LONG.sample(frac=1, random_state=0), {}),
        (LISTS, {}),
        (LISTS.rename(columns={"user_id": "user", "item_id": "item"}), {}),
        (LISTS.assign(rank=LISTS.groupby("user_id").cumcount() + 1), {}),
        (TOP, {"relevant": list(HELD)}),
        ((ORDER, np.take_along_axis(SCORES, ORDER, 1)), {}),
    ],
)  # fmt: skip
def test_every_form_gives_the_metric_of_the_matrix(data, options):
    expected = (1 + ((SCORES[MARKED][:, None] < SCORES) & ~SEEN).sum(axis=1) <= 5).mean()
    (result,) = sm.evaluate(data, "hr@5", **(BY | options))
    assert result.value == expected


@pytest.mark.parametrize("missing", [-1, None])
def test_user_without_held_out_item_is_left_out(missing):
    (expected,) = sm.evaluate(SCORES[1:], "auc", relevant=HELD[1:], seen=SEEN[1:])
    held_out = [missing, *HELD[1:].tolist()]
    for data in (SCORES, lambda users: SCORES[users], (LEFT, RIGHT)):
        (result,) = sm.evaluate(data, "auc", relevant=held_out, seen=SEEN)
        assert (result.value, result.n_users) == (pytest.approx(expected.value), 19)
    forms = [SCORES, csr_array(SCORES), FRAME, DlpackArray(SCORES), (LEFT, RIGHT)]
    for score in [*forms, lambda users: SCORES[users]]:
        assert len(sm.rank(score, SEEN, held_out)) == 19


def test_held_out_items_among_negatives_in_any_form():
    lists = {user: row[:9] for user, row in enumerate(np.argsort(-SCORES))}
    held_out = [int(lists[user][user % 4]) for user in TOP]
    by_user = dict(enumerate(held_out))
    for relevant in (held_out, by_user, {user: [i] for user, i in by_user.items()}):
        (result,) = sm.correct(lists, "mrr", "sampled", relevant=relevant, n_items=30, shape="none")
        assert result.value == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


@pytest.mark.parametrize(
    ("data", "relevant", "message"),
    [
        (lambda users: SCORES[users], PAIRS, "a function of users needs relevant"),
        (SCORES, [[99]] * 20, "found 99"),
        (object(), HELD, "expected numbers, a DataFrame or a file"),
    ],
)
def test_refusal_names_what_is_expected(data, relevant, message):
    with pytest.raises(sm.InputError, match=message):
        sm.evaluate(data, "auc", relevant=relevant)


# The held-out items of two users are at ranks 2 and 1 of 3.
TWO_USERS = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])
TWO_LISTS = pd.DataFrame(
    {"user_id": ["u", "u", "v", "v"], "item_id": [1, 0, 2, 1], "rank": [1, 2] * 2}
)
TWO_HELD_OUT = pd.DataFrame({"user_id": ["u", "v"], "item_id": [0, 2]})


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (TWO_USERS, {"relevant": [0, 2]}),
        (pd.DataFrame(TWO_USERS), {"relevant": pd.Series([0, 2])}),
        (TWO_USERS, {"relevant": csr_array([[1, 0, 0], [0, 0, 1]])}),
        ([2, 1], {"n_items": 3}),
        (pd.DataFrame({"rank": [2, 1]}), {"n_items": 3}),
        (pd.DataFrame({"n_candidates": [3, 3], "n_better": [1, 0], "n_tied": [0, 0]}), {}),
        (sm.Ranks([3, 3], [1, 0], [0, 0]), {}),
        (TWO_LISTS, {"relevant": TWO_HELD_OUT}),
        ({"u": [1, 0], "v": [2, 1]}, {"relevant": {"u": [0], "v": [2]}}),
    ],
)  # fmt: skip
def test_full_rankings_of_two_users_by_hand(data, options):
    results = sm.evaluate(data, "hr@1, MRR@2", **options)
    assert [result.metric for result in results] == ["hr@1", "MRR@2"]
    assert values(results) == [0.5, 0.75]


# Other forms of scores, lists and ids

USERS, ITEMS = 30, 23
LONG_RNG = np.random.default_rng(0)
LONG_SCORES = LONG_RNG.normal(size=(USERS, ITEMS))
LONG_HELD = LONG_RNG.integers(ITEMS, size=USERS)
LONG_SCORES[np.arange(USERS), LONG_HELD] += 1.5
LONG_SEEN = (LONG_RNG.random(LONG_SCORES.shape) < 0.1) & (np.arange(ITEMS) != LONG_HELD[:, None])
SCORE_TABLE = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(USERS), ITEMS),
        "item_id": np.tile(np.arange(ITEMS), USERS),
        "score": LONG_SCORES.ravel(),
    }
).sample(frac=1, random_state=0)
RELEVANT = {user: [int(item)] for user, item in enumerate(LONG_HELD)}
BEST_FIRST = {user: np.argsort(-row).tolist() for user, row in enumerate(LONG_SCORES)}


def metric_value(data, metric="hr@3", **options):
    (result,) = sm.evaluate(data, metric, **({"relevant": RELEVANT} | options))
    return result.value


BETTER = (LONG_SCORES[np.arange(USERS), LONG_HELD][:, None] < LONG_SCORES).sum(axis=1)
LONG_HIT_RATE = (BETTER < 3).mean()


@ignore_complete_scores
@pytest.mark.parametrize("name", ["prediction", "est", "pred", "logit", "rating"])
def test_usual_names_of_scores_are_known(name, tmp_path):
    frame = SCORE_TABLE.rename(columns={"score": name})
    assert metric_value(frame) == LONG_HIT_RATE
    frame.to_csv(tmp_path / "s.csv", index=False)
    assert metric_value(tmp_path / "s.csv") == LONG_HIT_RATE
    beside_ratings = frame.assign(rating=1.0, prediction=frame[name])
    assert metric_value(beside_ratings) == LONG_HIT_RATE


@ignore_complete_scores
def test_predictions_of_surprise_are_read():
    names = ["uid", "iid", "r_ui", "est", "details"]
    rows = [(int(u), int(i), 3.0, s, {"impossible": False}) for u, i, s in SCORE_TABLE.to_numpy()]
    assert metric_value(pd.DataFrame(rows, columns=names)) == LONG_HIT_RATE


def test_numbers_of_unknown_name_are_refused(tmp_path):
    frame = SCORE_TABLE.rename(columns={"score": "weight"})
    frame.to_csv(tmp_path / "s.csv", index=False)
    frame.to_parquet(tmp_path / "s.parquet")
    for data in (frame, pa.table(frame), tmp_path / "s.csv", tmp_path / "s.parquet"):
        assert "weight" in refusal_message(sm.evaluate, data, relevant=RELEVANT)
    ordered = SCORE_TABLE.sort_values(["user_id", "score"], ascending=[True, False])
    ordered = ordered.drop(columns="score").assign(timestamp=7)
    ordered.to_csv(tmp_path / "best_first.csv", index=False)
    for data in (ordered, tmp_path / "best_first.csv"):
        assert metric_value(data) == LONG_HIT_RATE


@ignore_complete_scores
@pytest.mark.filterwarnings("ignore:.*negatives fail the check")  # in all forms
def test_dictionary_of_dictionaries_is_read():
    run = {u: dict(enumerate(row.tolist())) for u, row in enumerate(LONG_SCORES)}
    assert metric_value(run) == LONG_HIT_RATE
    qrels = {user: {int(item): 1, int(item + 1) % ITEMS: 0} for user, item in enumerate(LONG_HELD)}
    assert metric_value(run, relevant=qrels) == LONG_HIT_RATE
    seen = {user: dict.fromkeys(np.flatnonzero(row), 1.0) for user, row in enumerate(LONG_SEEN)}
    expected = metric_value(LONG_SCORES, relevant=LONG_HELD, seen=LONG_SEEN)
    assert metric_value(run, seen=seen) == expected
    (result,) = sm.correct(run, "hr@3", "sampled", relevant=RELEVANT, n_items=500, shape="none")
    assert result.value == LONG_HIT_RATE


def test_sets_have_no_order():
    sets = {user: set(items) for user, items in BEST_FIRST.items()}
    assert "set" in refusal_message(sm.evaluate, sets, relevant=RELEVANT)
    relevant = {user: set(items) for user, items in RELEVANT.items()}
    assert metric_value(BEST_FIRST, relevant=relevant) == LONG_HIT_RATE


def test_dictionary_of_series_is_refused():
    """A Series may contain scores by item, or items."""
    scores = {1: {10: 0.3, 20: 0.1, 30: 0.2}, 2: {10: 3.0, 30: 5.5, 20: -1.0}}
    relevant = {1: [30], 2: [10]}
    assert metric_value(scores, "ap", relevant=relevant) == 0.5
    series = {user: pd.Series(user_scores) for user, user_scores in scores.items()}
    assert "item_id" in refusal_message(sm.evaluate, series, relevant=relevant)
    by_item = {user: user_scores.to_dict() for user, user_scores in series.items()}
    assert metric_value(by_item, "ap", relevant=relevant) == 0.5


@ignore_complete_scores
def test_dictionary_of_columns_is_read():
    assert metric_value(SCORE_TABLE.to_dict("list")) == LONG_HIT_RATE
    held_out = {"user_id": list(range(USERS)), "item_id": LONG_HELD.tolist()}
    assert metric_value(BEST_FIRST, relevant=held_out) == LONG_HIT_RATE
    users, items = [*range(USERS)] * 2, [*LONG_HELD, *(LONG_HELD + 1) % ITEMS]
    pairs = pd.DataFrame({"user_id": users, "item_id": items})
    expected = metric_value(BEST_FIRST, "recall@3", relevant=pairs)
    series = pd.Series(items, index=users)
    assert metric_value(BEST_FIRST, "recall@3", relevant=series) == expected


@ignore_complete_scores
def test_arrow_tables_are_read():
    scores = pd.DataFrame(LONG_SCORES, columns=[f"c{i}" for i in range(ITEMS)])
    held_out = pd.DataFrame({"user_id": range(USERS), "item_id": LONG_HELD})
    named = held_out.assign(user_id=held_out.user_id.map("u{}".format))
    lists = SCORE_TABLE.assign(user_id=SCORE_TABLE.user_id.map("u{}".format))
    for kind in (pa.table, ArrowFrame):
        by_number = metric_value(kind(SCORE_TABLE), relevant=kind(held_out))
        assert by_number == LONG_HIT_RATE
        assert metric_value(kind(lists), relevant=kind(named)) == LONG_HIT_RATE
        assert metric_value(kind(scores), relevant=LONG_HELD) == LONG_HIT_RATE
        seen = pd.DataFrame({"user_id": [0], "item_id": [(LONG_HELD[0] + 1) % ITEMS]})
        assert len(sm.negatives(kind(held_out), kind(seen), 3)) == 3 * USERS


def series_of_anna(*lists):
    return pd.Series(lists, index=["anna"] * len(lists))


@pytest.mark.parametrize(
    ("data", "relevant", "named"),
    [
        (lambda _: 0.5, LONG_HELD, "shape ()"),
        ({"user_id": [1], "item_id": [1, 2]}, RELEVANT, "length"),
        (series_of_anna([1, 2], [3, 1]), {"anna": [1]}, "row 4"),
        (series_of_anna([1, 2], [3, 4]), {"anna": [1]}, "column rank"),
    ],
    ids=["one number", "columns of two lengths", "item twice", "user twice"],
)
def test_refusal_names_the_place(data, relevant, named):
    assert named in refusal_message(sm.evaluate, data, relevant=relevant)


def test_user_given_twice_is_refused():
    users = [5, 5, *range(10, 38)]
    message = refusal_message(sm.rank, LONG_SCORES, None, LONG_HELD, users=users)
    assert "row 2" in message


@ignore_complete_scores
def test_byte_order_and_half_precision_are_read():
    ranks = (1 + BETTER).astype(">i4")
    assert metric_value(ranks, relevant=None, n_items=ITEMS) == LONG_HIT_RATE
    scores, held_out = LONG_SCORES.astype(">f8"), LONG_HELD.astype(">i8")
    assert metric_value(scores, relevant=held_out) == LONG_HIT_RATE
    by = {"relevant": LONG_HELD}
    expected = metric_value(LONG_SCORES, seen=LONG_SEEN, **by)
    for kind in ("f2", ">f4"):
        assert metric_value(LONG_SCORES, seen=LONG_SEEN.astype(kind), **by) == expected


def test_damaged_sparse_scores_are_refused():
    for sparse, name in (
        (csr_array(LONG_SCORES), "indices"),
        (csr_array(LONG_SCORES), "indptr"),
        (coo_array(LONG_SCORES), "col"),
    ):
        bad = getattr(sparse, name).copy()
        bad[3] = 10**8
        setattr(sparse, name, bad)
        for call in (sm.evaluate, lambda x, relevant: sm.rank(x, None, relevant)):
            assert "damaged" in refusal_message(call, sparse, relevant=LONG_HELD)


@pytest.mark.parametrize("number", [np.nan, -np.inf])
def test_nan_is_neither_relevant_nor_seen(number):
    marked = np.full(LONG_SCORES.shape, number)
    marked[np.arange(USERS), LONG_HELD] = 1.0
    for form in (marked, csr_array(marked)):
        for call, options, named in (
            (sm.evaluate, {"relevant": form}, "relevant has"),
            (sm.evaluate, {"relevant": LONG_HELD, "seen": form}, "seen has"),
            (sm.rank, {"relevant": LONG_HELD, "seen": form}, "seen has"),
        ):
            assert named in refusal_message(call, LONG_SCORES, **options)


def test_ids_without_overlap_are_refused_or_warn():
    other = {user: [f"i{items[0]}"] for user, items in RELEVANT.items()}
    refusal_text = refusal_message(sm.evaluate, BEST_FIRST, relevant=other)
    assert "relevant" in refusal_text
    assert f"'i{LONG_HELD[0]}'" in refusal_text
    seen = {user: np.flatnonzero(row) for user, row in enumerate(LONG_SEEN)}
    half = {float(user) + 0.5: items for user, items in seen.items()}
    message = refusal_message(sm.evaluate, BEST_FIRST, relevant=RELEVANT, seen=half)
    assert "found 0.5" in message
    assert "found 0.5" in refusal_message(sm.negatives, RELEVANT, half, 3)
    # a split may have new users or items, so this only warns
    other_users = {f"u{user}": items for user, items in seen.items()}
    other_items = {user: [f"i{i}" for i in items] for user, items in seen.items()}
    for form, message in (
        (other_users, "of the users of seen"),
        (other_items, "of the items of seen"),
    ):
        with warns_about(message):
            sm.evaluate(BEST_FIRST, "hr@3", relevant=RELEVANT, seen=form)
        with warns_about(message):
            sm.negatives(RELEVANT, form, 3)


def test_ratings_of_movielens_are_not_qrels(tmp_path):
    rows = [f"{user} {item} {3 + user % 2} 88125{user:04}" for user, item in enumerate(LONG_HELD)]
    (tmp_path / "u.data").write_text("\n".join(rows))
    message = refusal_message(sm.evaluate, BEST_FIRST, relevant=tmp_path / "u.data")
    assert "user_id" in message


@ignore_complete_scores
def test_archive_of_arrays_is_read_or_refused(tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, scores=LONG_SCORES, user_ids=np.arange(len(LONG_SCORES)))
    assert metric_value(path) == LONG_HIT_RATE
    for other in (LONG_HELD, np.array([{}], dtype=object)):
        np.savez(path, scores=LONG_SCORES, seen=other)
        assert "seen" in refusal_message(sm.evaluate, path, relevant=LONG_HELD)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", b"hello")
    assert "scores" in refusal_message(sm.evaluate, path, relevant=LONG_HELD)
    big = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        big, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**7)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("scores.npy", big.getvalue())
    assert "s.npz" in refusal_message(sm.evaluate, path, relevant=LONG_HELD)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "a\0b.npy", "x" * 300 + ".parquet", "\ud800"])
def test_impossible_file_name_is_refused(name):
    assert "\n" not in refusal_message(sm.evaluate, name, n_items=9)
    assert "relevant" in refusal_message(sm.evaluate, BEST_FIRST, relevant=name)


@pytest.mark.filterwarnings("ignore:.*negatives fail the check")  # in all forms
def test_labels_of_true_and_false_are_read(tmp_path):
    pairs = SCORE_TABLE.assign(
        label=SCORE_TABLE.item_id.to_numpy() == LONG_HELD[SCORE_TABLE.user_id]
    )
    expected = sm.correct(pairs.assign(label=pairs.label.astype(int)), "auc", n_items=500)
    pairs.to_csv(tmp_path / "p.csv", index=False)
    for data in (pairs, tmp_path / "p.csv"):
        assert sm.correct(data, "auc", n_items=500)[0] == expected[0]


def test_series_of_lists_is_read_like_a_list():
    scores = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.4, 0.1], [0.5, 0.1, 0.2, 0.3]])
    for seen in ([[0], [1], [0]], [[0, 3], [1], []], [[0, 3], [1, 3], [0, 1]]):
        expected = sm.evaluate(scores, "rr", relevant=[1, 2, 2], seen=seen)
        for form in (pd.Series(seen), pd.Series(seen).to_numpy()):
            results = sm.evaluate(scores, "rr", relevant=[1, 2, 2], seen=form)
            assert results[0] == expected[0]
    mapped = pd.Series([[1], [2], [2]])
    assert sm.rank(scores, None, mapped).n_better.tolist() == [1, 1, 2]


# Columns of Arrow

COLUMN_RNG = np.random.default_rng(0)
COLUMN_SCORES = COLUMN_RNG.random((40, 30))
COLUMN_HELD = COLUMN_RNG.integers(0, 30, 40)
COLUMN_RANKS = COLUMN_RNG.integers(1, 11, 40)
NINE_NEGATIVES = {"n_items": 30, "n_negatives": 9}
FIVE_USERS = range(5)


class ArrowColumn:
    """A stand-in for a column of another library, which others read by the Arrow protocol."""

    def __init__(self, values):
        self.values = pa.chunked_array([values])
        self.dtype = self.values.type
        self.shape = (len(values),)

    def __len__(self):
        return len(self.values)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.values.__arrow_c_stream__(requested_schema)


def chunked_array(values):
    half = len(values) // 2
    return pa.chunked_array([values[:half], values[half:]])


def hits(**options):
    return list(sm.evaluate(COLUMN_SCORES, "hit@5", **options))


COLUMN_LISTS = pa.array([[int(item)] for item in COLUMN_HELD])
COLUMN_SEEN = pa.array([[int(item + 1) % 30] for item in COLUMN_HELD])
CALLS_WITH_A_COLUMN = {  # the column as an array of Arrow or numpy, and the call
    "relevant items": (COLUMN_HELD, lambda items: hits(relevant=items)),
    "lists of relevant items": (COLUMN_LISTS, lambda items: hits(relevant=items)),
    "seen items": (COLUMN_SEEN, lambda items: hits(relevant=COLUMN_HELD, seen=items)),
    "ranks": (
        COLUMN_HELD + 1, lambda ranks: list(sm.evaluate(ranks, "hit@5", n_items=30))),
    "counts": (
        COLUMN_HELD + 1, lambda ranks: sm.Ranks.from_ranks(ranks, 30).n_better.tolist()),
    "sampled ranks": (
        COLUMN_RANKS, lambda ranks: list(sm.correct(ranks, "hit@5", **NINE_NEGATIVES))),
    "a function of users": (
        COLUMN_HELD,
        lambda items: list(
            sm.evaluate(lambda users: COLUMN_SCORES[users], "hit@5", relevant=items))),
    "positive columns": (
        COLUMN_HELD,
        lambda columns: list(
            sm.correct(COLUMN_SCORES, "hit@5", n_items=90, positive=columns))),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("name", CALLS_WITH_A_COLUMN)
def test_column_of_arrow_is_read_like_a_list(name):
    column, call = CALLS_WITH_A_COLUMN[name]
    expected = call(column.tolist())
    for form in (pa.array, chunked_array, ArrowColumn):
        assert call(form(column)) == expected, form


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_generators_in_dictionaries_are_read():
    lists = {user: [1, 2, 3] for user in FIVE_USERS}
    relevant = {user: [2] for user in FIVE_USERS}
    seen = {user: [9] for user in FIVE_USERS}
    expected = sm.evaluate(lists, "hit@2", relevant=relevant, seen=seen)
    results = sm.evaluate(
        {user: iter(items) for user, items in lists.items()},
        "hit@2",
        relevant={user: (item for item in items) for user, items in relevant.items()},
        seen={user: map(int, items) for user, items in seen.items()},
    )
    assert values(results) == values(expected) == [1.0]


PRINTED = {"n_items": 3416, "n_negatives": 100, "HR@10": "0.8245"}


@pytest.mark.parametrize("form", ["table", "batch"])
def test_arrow_table_is_checked_like_its_rows(form: str) -> None:
    rows = [PRINTED, {**PRINTED, "HR@10": None, "HR@5": "0.6913"}]
    table = pa.Table.from_pylist([{"HR@5": None, **row} for row in rows])
    data = table if form == "table" else table.to_batches()[0]
    results, expected = (
        [(check.printed, check.range_low, check.range_high) for check in sm.check(form)]
        for form in (data, rows)
    )
    assert results == expected


def test_values_by_user_are_indexed_by_id():
    ranks = sm.Ranks([5, 5], [1, 0], [0, 0], users=["u", "v"])
    table = sm.values_by_user(ranks, "hr@1,MRR")
    assert table.to_dict() == {"hr@1": {"u": 0, "v": 1}, "MRR": {"u": 0.5, "v": 1}}


def test_percent_is_read_like_a_share():
    about = {"n_items": 3416, "n_negatives": 100}
    as_share = sm.reported({"HR@10": "0.8245"}, "HR@10", **about)[0]
    result = sm.reported({"HR@10": "82.45 %"}, "HR@10", **about)[0]
    assert result.range_low == as_share.range_low
    assert result.range_high == as_share.range_high
    assert result.reported == 0.8245


# Text of other types

AS_BYTES = np.array([b"a", b"b"])
AS_TEXT = [AS_BYTES]
if hasattr(np.dtypes, "StringDType"):  # from NumPy 2 on
    AS_TEXT.append(np.array(["a", "b"], dtype=np.dtypes.StringDType()))


@pytest.mark.parametrize("text", AS_TEXT)
def test_text_of_other_types_is_text(text):
    """Item b is at rank 2 of the lists, and of the scores."""
    table = pd.DataFrame({"user_id": ["u", "u"], "item_id": text.tolist(), "score": [0.9, 0.1]})
    columns = {"user_id": ["u", "u"], "item_id": text, "score": [0.9, 0.1]}
    relevant = {"u": ["b"]}
    for ranks in (
        sm.Ranks.from_top_k(text[None], text[1:]),
        sm.Ranks.from_lists(table, relevant),
        sm.Ranks.from_lists(columns, relevant),
        sm.Ranks.from_lists({"u": text}, relevant),
        sm.Ranks.from_scores([[0.9, 0.1]], relevant, users=["u"], items=text),
    ):
        assert ranks.best_rank.tolist() == [2]


def test_string_views_of_pandas_are_text():
    table = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "b"], "score": [0.9, 0.1]})
    views = table.astype({"item_id": pd.ArrowDtype(pa.string_view())})
    assert sm.Ranks.from_lists(views, {"u": ["b"]}).best_rank.tolist() == [2]


def test_bytes_that_are_no_text_are_refused():
    table = pd.DataFrame({"user_id": [1], "item_id": [b"\xff"], "score": [0.9]})
    with pytest.raises(sm.InputError, match="bytes"):
        sm.Ranks.from_lists(table, {1: ["b"]})
