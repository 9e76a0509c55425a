"""Mistakes about ids, names of columns and kinds of data, in the forms that the data can have.

Each call gives the right number, warns and stores the warning in its results, or is refused.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, save_npz

import sampled_metrics as sm
from tests.helpers.forms import (
    Forms,
    list_forms,
    mark_forms,
    matrix_forms,
    new_path,
    table_forms,
    user_item_forms,
)
from tests.helpers.mistakes import (
    Mistake,
    one_form,
    pairs_table,
    silent_forms,
    some_forms,
)

USERS, ITEMS, SEEN, TOP, M = 120, 90, 6, 20, 30
METRIC = "hit@10"
ALL_USERS = np.arange(USERS)
RNG = np.random.default_rng(5)
TASTE = RNG.normal(size=(USERS, ITEMS))
HELD_OUT = np.argsort(-TASTE - RNG.gumbel(size=TASTE.shape), axis=1)[:, 0]
SCORES = TASTE + 0.7 * RNG.normal(size=TASTE.shape)
IS_SEEN = np.zeros(TASTE.shape, bool)
LIKED = np.argsort(-SCORES, axis=1)[:, : SEEN + 1]
for user, items in enumerate(LIKED):
    IS_SEEN[user, [item for item in items if item != HELD_OUT[user]][:SEEN]] = True
SEEN_MATRIX = csr_array(IS_SEEN)
MASKED = np.where(IS_SEEN, -np.inf, SCORES)
N_BETTER = (MASKED[ALL_USERS, HELD_OUT][:, np.newaxis] < MASKED).sum(axis=1)
HIT_RATE = float(np.mean(N_BETTER < 10))


def top_lists(scores: np.ndarray, k: int = TOP) -> pd.DataFrame:
    """Return the best items of each user with their scores, in shuffled rows."""
    best = np.argsort(-scores, axis=1)[:, :k]
    users = np.repeat(ALL_USERS, best.shape[1])
    score = np.take_along_axis(scores, best, axis=1).ravel()
    return pairs_table(users, best.ravel(), score=score).sample(frac=1, random_state=1)


LISTS = top_lists(MASKED)
WHOLE_LISTS = top_lists(SCORES, ITEMS)
BEST_FIRST = LISTS.sort_values(["user_id", "score"], ascending=[True, False])
UNSCORED = BEST_FIRST[["user_id", "item_id"]]
TEST = pairs_table(ALL_USERS, HELD_OUT)
TRAIN = pairs_table(*np.nonzero(IS_SEEN))


def evaluation(**options: Any) -> Callable[[Any], Any]:
    arguments = {"relevant": TEST} | options
    return lambda data: sm.evaluate(data, METRIC, **arguments)


def with_relevant(data: Any = LISTS, **options: Any) -> Callable[[Any], Any]:
    return lambda relevant: sm.evaluate(data, METRIC, relevant=relevant, **options)


def with_seen(data: Any = LISTS, relevant: Any = TEST) -> Callable[[Any], Any]:
    return lambda seen: sm.evaluate(data, METRIC, relevant=relevant, seen=seen)


def correction(**options: Any) -> Callable[[Any], Any]:
    arguments = {"n_items": ITEMS - SEEN, "shape": "none"} | options
    return lambda data: sm.correct(data, METRIC, "sampled", **arguments)


of_lists = evaluation()
relevant_beside_scores = with_relevant(SCORES, seen=SEEN_MATRIX)
seen_beside_scores = with_seen(SCORES, HELD_OUT)

# Names of columns, and the order of rows

PLACES = BEST_FIRST.groupby("user_id").cumcount() + 1
RANDOM_SCORES = np.random.default_rng(2).normal(size=len(PLACES))

COLUMN_MISTAKES = {
    **{
        f"scores are called {name}": Mistake(
            table_forms, of_lists, LISTS.rename(columns={"score": name}), HIT_RATE)
        for name in ("prediction", "est", "pred", "logit", "rating", "weight", "affinity", "0")
    },
    "best first without scores": Mistake(list_forms, of_lists, UNSCORED, HIT_RATE),
    "best first with times": Mistake(
        table_forms, of_lists, UNSCORED.assign(timestamp=881250949), HIT_RATE),
    "rank and prediction contradict": Mistake(
        table_forms, of_lists, BEST_FIRST.assign(rank=PLACES, score=RANDOM_SCORES), np.nan),
}  # fmt: skip

# Dictionaries


def graded_forms(pairs: pd.DataFrame, folder: Path) -> Forms:
    """Pairs with grades in a column relevance, in everything that holds them."""
    forms = table_forms(pairs, folder)
    forms["dictionaries"] = {
        user: dict(zip(rows["item_id"], rows["relevance"], strict=True))
        for user, rows in pairs.groupby("user_id")
    }
    forms["trec"] = new_path(folder, "a.qrels")
    rows = pairs.assign(zero=0)[["user_id", "zero", "item_id", "relevance"]]
    rows.to_csv(forms["trec"], sep=" ", header=False, index=False)
    return forms


def unordered_forms(lists: pd.DataFrame, folder: Path) -> Forms:
    sets = user_item_forms(lists, folder)["sets"]
    frozen = {user: frozenset(items) for user, items in sets.items()}
    return {"sets": sets, "frozen": frozen}


def unordered_series_forms(lists: pd.DataFrame, folder: Path) -> Forms:
    return {
        form: pd.Series(data).set_axis(list("ab") * (USERS // 2))
        for form, data in unordered_forms(lists, folder).items()
    }


GRADED_ITEMS = np.stack([HELD_OUT, (HELD_OUT + 1) % ITEMS, (HELD_OUT + 2) % ITEMS], axis=1)
GRADED = pairs_table(
    np.repeat(ALL_USERS, 3), GRADED_ITEMS.ravel(), relevance=np.tile([1, 0, 0], USERS)
)
HELD_OUT_MARKS = np.zeros(TASTE.shape)
HELD_OUT_MARKS[ALL_USERS, HELD_OUT] = 1
SEEN_AND_HELD_OUT = pd.concat([TRAIN.assign(relevance=1), TEST.assign(relevance=0)])
OF_COLUMNS = {"seen": TRAIN.to_dict("list"), "relevant": TEST.to_dict("list")}
CANDIDATES = {user: [int(HELD_OUT[user]), *range(M)] for user in range(USERS)}

DICTIONARY_MISTAKES = {
    "runs of users": Mistake(list_forms, of_lists, LISTS, HIT_RATE),
    "relevant items with grades of 0": Mistake(graded_forms, with_relevant(), GRADED, HIT_RATE),
    "relevant marks beside scores": Mistake(
        mark_forms, relevant_beside_scores, HELD_OUT_MARKS, HIT_RATE),
    "seen items with values of 0": Mistake(
        graded_forms, with_seen(WHOLE_LISTS), SEEN_AND_HELD_OUT, HIT_RATE),
    "lists without order": Mistake(unordered_forms, of_lists, UNSCORED, HIT_RATE),
    "series without order": Mistake(unordered_series_forms, of_lists, UNSCORED, np.nan),
    "columns as users": Mistake(list_forms, evaluation(**OF_COLUMNS), WHOLE_LISTS, HIT_RATE),
    "candidates as lists of users": Mistake(
        one_form, correction(relevant=TEST), CANDIDATES, HIT_RATE),
}  # fmt: skip

# Ids that match no other table. Of each change of ids, a quarter of the forms are used, beginning
# with another one: each form then has two of the eight changes.

ID_CHANGES = {
    "text of decimals": lambda ids: ids.astype(float).astype(str),
    "zeros before": lambda ids: ids.map("{:05}".format),
    "prefix": lambda ids: ids.map("i{}".format),
    "other numbers": lambda ids: ids + 1_000_000,
}


def change_ids(
    make_forms: Callable[[Any, Path], Forms],
) -> Callable[[Any, Path], Forms]:
    """Return a function that makes forms of pairs with other ids."""

    def forms_with_other_ids(pairs: pd.DataFrame, folder: Path) -> Forms:
        changed = {}
        for number, (kind, change) in enumerate(ID_CHANGES.items()):
            for place, column in enumerate(("user_id", "item_id")):
                frame = pairs.assign(**{column: change(pairs[column])})
                forms = list(make_forms(frame, folder).items())
                for form, data in forms[(2 * number + place) % 4 :: 4]:
                    changed[f"{kind} of {column}, {form}"] = data
        return changed

    return forms_with_other_ids


pairs_with_other_ids = change_ids(user_item_forms)


class Value:
    """A result with one value, without a range, and with notes."""

    def __init__(self, value: float, notes: list[str]):
        self.value = value
        self.notes = notes

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame({"value": [self.value]})


def check_for_seen_items(seen: Any) -> Value:
    """Return 1 if the check finds that all negatives of a sample are seen items."""
    checks = sm.check_negatives(TRAIN, TEST, seen)
    (check,) = (check for check in checks if check.name == "seen items")
    return Value(float(not check.passed), checks.notes)


def names_of_users(pairs: pd.DataFrame) -> pd.DataFrame:
    return pairs.assign(user_id=pairs["user_id"].map("u{}".format))


OTHER_ID_MISTAKES = {
    "other ids of seen": Mistake(pairs_with_other_ids, with_seen(WHOLE_LISTS), TRAIN, HIT_RATE),
    "other ids of seen, beside scores": Mistake(
        pairs_with_other_ids, with_seen(SCORES), TRAIN, HIT_RATE),
    "other ids of relevant": Mistake(pairs_with_other_ids, with_relevant(), TEST, HIT_RATE),
    "other ids of relevant, beside scores": Mistake(
        pairs_with_other_ids, relevant_beside_scores, TEST, HIT_RATE),
    "other ids of lists": Mistake(change_ids(list_forms), of_lists, LISTS, HIT_RATE),
    "other ids of negatives": Mistake(
        pairs_with_other_ids, check_for_seen_items, TRAIN, 1.0),
    "other ids of seen, by position": Mistake(
        mark_forms, with_seen(names_of_users(WHOLE_LISTS), names_of_users(TEST)),
        IS_SEEN.astype(float), HIT_RATE),
    "other ids of seen, few common ids": Mistake(
        user_item_forms, with_seen(WHOLE_LISTS),
        TRAIN.assign(user_id=TRAIN["user_id"] + USERS - 4), HIT_RATE),
}  # fmt: skip

# Other kinds of data


def rating_forms(rated: pd.DataFrame, folder: Path) -> Forms:
    """Ratings of MovieLens in files and tables without names, and in arrays of some columns."""
    forms = {}
    for name in ("u.data", "u.tsv", "u.csv", "u.txt", "u.qrels"):
        path = new_path(folder, name)
        separator = "," if name.endswith("csv") else "\t"
        rated.to_csv(path, sep=separator, header=False, index=False)
        forms[name] = path
    forms |= table_forms(rated.set_axis(list("0123"), axis=1), folder)
    for width in (2, 3, 4):
        for form, data in matrix_forms(rated.to_numpy()[:, :width], folder).items():
            forms[f"{width} columns, {form}"] = data
    return forms


def list_of_pairs_forms(pairs: pd.DataFrame, _folder: Path) -> Forms:
    rows = pairs.to_numpy().tolist()
    return {"lists": rows, "tuples": list(map(tuple, rows))}


def marks_with_holes(marks: np.ndarray, folder: Path) -> Forms:
    return {
        f"{number}, {form}": data
        for number in (np.nan, -np.inf)
        for make_forms in (mark_forms, matrix_forms)
        for form, data in make_forms(np.where(marks, 1.0, number), folder).items()
    }


def damaged_forms(matrix: np.ndarray, folder: Path) -> Forms:
    """Sparse matrices with an index that is too large."""
    forms = {}
    for kind, name, too_large in (
        (csr_array, "indices", ITEMS),
        (csr_array, "indptr", ITEMS),
        (coo_array, "col", ITEMS),
        (csc_array, "indices", USERS),
    ):
        damaged = kind(matrix)
        indices = getattr(damaged, name).copy()
        indices[3] = too_large
        setattr(damaged, name, indices)
        path = new_path(folder, "s.npz")
        save_npz(path, damaged)
        forms |= {f"{kind} {name}": damaged, f"{kind} {name}, npz": path}
    return forms


def array_type_forms(array: np.ndarray, _folder: Path) -> Forms:
    return {kind: array.astype(kind) for kind in (">i4", "i2", "i1", "u8", "f8", "f2", "U", "O")}


def float_forms(scores: np.ndarray, folder: Path) -> Forms:
    return {
        f"{kind}, {form}": data
        for kind in ("f2", "f4", ">f4", ">f8")
        for form, data in matrix_forms(scores.astype(kind), folder).items()
    }


def label_type_forms(pairs: pd.DataFrame, folder: Path) -> Forms:
    """Labels of each type."""
    types = {}
    for number, kind in enumerate((bool, int, float, str)):
        forms = table_forms(pairs.assign(label=pairs["label"].astype(kind)), folder)
        for form, data in some_forms(forms, number, step=3).items():
            types[f"{kind.__name__}, {form}"] = data
    return types


def estimate_without_range(data: Any) -> Value:
    results = correction()(data)
    return Value(results[0].value, results.notes)


def archive_forms(_data: Any, folder: Path) -> Forms:
    """Archives with an array that is not needed, and with text in place of an array."""
    unused = new_path(folder, "s.npz")
    np.savez(
        unused,
        scores=SCORES,
        held_out=HELD_OUT,
        seen=IS_SEEN,
        unused=np.array([{}], object),
    )
    text = new_path(folder, "t.npz")
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("scores.npy", b"hello")
    return {"unused": unused, "text": text}


RATED = TEST.assign(rating=4, timestamp=881250949 + TEST["user_id"])
SOME_ITEMS_MISSING = TEST.assign(item_id=np.where(ALL_USERS % 3 == 0, np.nan, HELD_OUT))
KEYS = np.random.default_rng(3).random(TASTE.shape)
KEYS[IS_SEEN] = 2.0
KEYS[ALL_USERS, HELD_OUT] = 3.0
SAMPLE_ITEMS = np.column_stack([HELD_OUT, np.argsort(KEYS, axis=1)[:, :M]])
SAMPLE = np.take_along_axis(SCORES, SAMPLE_ITEMS, axis=1)
PAIRS = pairs_table(
    np.repeat(ALL_USERS, M + 1),
    SAMPLE_ITEMS.ravel(),
    score=SAMPLE.ravel(),
    label=np.tile(np.arange(M + 1) == 0, USERS),
)
SAMPLED_HIT_RATE = float(np.mean((SAMPLE[:, 1:] > SAMPLE[:, :1]).sum(axis=1) < 10))
with_both = evaluation(relevant=HELD_OUT, seen=SEEN_MATRIX)

KIND_MISTAKES = {
    "ratings of MovieLens as relevant": Mistake(rating_forms, with_relevant(), RATED, HIT_RATE),
    "ratings of MovieLens as seen": Mistake(rating_forms, with_seen(), RATED, np.nan),
    "relevant pairs as lists of items": Mistake(
        list_of_pairs_forms, with_relevant(), TEST, np.nan),
    "seen pairs as lists of items": Mistake(list_of_pairs_forms, with_seen(), TRAIN, np.nan),
    "relevant pairs as lists of columns": Mistake(
        list_of_pairs_forms, with_relevant(SCORES), TEST, HIT_RATE),
    "holes in relevant marks": Mistake(
        marks_with_holes, relevant_beside_scores, HELD_OUT_MARKS, HIT_RATE),
    "holes in seen marks": Mistake(marks_with_holes, seen_beside_scores, IS_SEEN, np.nan),
    "missing ids of relevant items": Mistake(
        table_forms, with_relevant(), SOME_ITEMS_MISSING, np.nan),
    "missing ids of seen items": Mistake(table_forms, with_seen(), SOME_ITEMS_MISSING, np.nan),
    "damaged scores": Mistake(damaged_forms, evaluation(relevant=HELD_OUT), SCORES, np.nan),
    "damaged seen items": Mistake(damaged_forms, seen_beside_scores, IS_SEEN * 1.0, np.nan),
    "damaged relevant items": Mistake(
        damaged_forms, with_relevant(SCORES), IS_SEEN * 1.0, np.nan),
    "archives with something else": Mistake(
        archive_forms, evaluation(relevant=HELD_OUT), None, np.nan),
    "users twice, rank": Mistake(
        one_form, lambda users: sm.rank(SCORES, None, HELD_OUT, users=users),
        ALL_USERS % (USERS - 1), np.nan),
    "users twice, Ranks": Mistake(
        one_form, lambda users: sm.Ranks([ITEMS] * USERS, N_BETTER, [0] * USERS, users=users),
        ALL_USERS % (USERS - 1), np.nan),
    "scores of other types": Mistake(float_forms, with_both, SCORES, HIT_RATE),
    "relevant items of other types": Mistake(
        array_type_forms, relevant_beside_scores, HELD_OUT, HIT_RATE),
    "seen items of other types": Mistake(
        array_type_forms, seen_beside_scores, IS_SEEN.astype(int), HIT_RATE),
    "labels of other types": Mistake(
        label_type_forms, estimate_without_range, PAIRS, SAMPLED_HIT_RATE),
}  # fmt: skip

# Impossible numbers

SOME_RANKS = np.random.default_rng(1).integers(1, M + 2, USERS) // 3 + 1
SIZES_OF_SAMPLES = np.where(ALL_USERS % 3, 3000, M + 1)
IN_SOME_ROWS = pd.DataFrame(
    {"sampled_rank": SOME_RANKS, "n_candidates": SIZES_OF_SAMPLES, "n_negatives": M}
)
REPEATED = np.random.default_rng(4).integers(0, ITEMS // 3, size=(USERS, M))
REPEATED[HELD_OUT[:, None] == REPEATED] = ITEMS - 1
REPEATED_ITEMS = np.column_stack([HELD_OUT, REPEATED])
REPEATED_PAIRS = PAIRS.assign(
    item_id=REPEATED_ITEMS.ravel(),
    score=np.take_along_axis(SCORES, REPEATED_ITEMS, axis=1).ravel(),
    label=PAIRS["label"].astype(int),
)

NUMBER_MISTAKES = {
    "candidates of a sample in some rows": Mistake(
        table_forms, correction(n_items=None), IN_SOME_ROWS, np.nan),
    "candidates of a sample in some records": Mistake(
        one_form, correction(n_items=None), sm.SampledRanks(SOME_RANKS, SIZES_OF_SAMPLES, M),
        np.nan),
    "negatives that repeat": Mistake(table_forms, correction(), REPEATED_PAIRS, np.nan),
}  # fmt: skip

MISTAKES = (
    COLUMN_MISTAKES | NUMBER_MISTAKES | DICTIONARY_MISTAKES | OTHER_ID_MISTAKES | KIND_MISTAKES
)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", MISTAKES)
def test_mistaken_id_is_not_silent(name: str, step: int, tmp_path: Path) -> None:
    assert not silent_forms(MISTAKES[name], tmp_path, len(name), step)
