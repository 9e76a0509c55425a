"""Mistakes about ids, names of columns and kinds of data, in every form that the data can have.

Each call gives the right number, warns and stores the warning in its results, or is refused.
"""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, save_npz

import sampled_metrics as sm
from tests.helpers.forms import (
    list_forms,
    mark_forms,
    matrix_forms,
    new_path,
    table_forms,
    user_item_forms,
)
from tests.helpers.mistakes import Attempts, pairs_table, silent_forms

USERS, ITEMS, SEEN, TOP, M = 120, 90, 6, 20, 30
METRIC = "hit@10"
RNG = np.random.default_rng(5)
TRUE = RNG.normal(size=(USERS, ITEMS))
HELD = np.argsort(-TRUE - RNG.gumbel(size=TRUE.shape), axis=1)[:, 0]
SCORES = TRUE + 0.7 * RNG.normal(size=TRUE.shape)
MARKED = np.zeros(TRUE.shape, bool)
LIKED = np.argsort(-SCORES, axis=1)[:, : SEEN + 1]
for user, items in enumerate(LIKED):
    MARKED[user, [item for item in items if item != HELD[user]][:SEEN]] = True
MASKED = np.where(MARKED, -np.inf, SCORES)
BETTER = (MASKED[np.arange(USERS), HELD][:, np.newaxis] < MASKED).sum(axis=1)
HIT_RATE = float(np.mean(BETTER < 10))
MISTAKES: dict[str, Callable[[Path], Attempts]] = {}


def mistake(make: Callable[[Path], Attempts]) -> Callable[[Path], Attempts]:
    MISTAKES[make.__name__] = make
    return make


def top_lists(scores: np.ndarray, k: int = TOP) -> pd.DataFrame:
    """Return the best items of each user with their scores, in shuffled rows."""
    best = np.argsort(-scores, axis=1)[:, :k]
    user = np.repeat(np.arange(USERS), best.shape[1])
    score = np.take_along_axis(scores, best, axis=1).ravel()
    return pairs_table(user, best.ravel(), score=score).sample(frac=1, random_state=1)


LISTS = top_lists(MASKED)
IN_ORDER = LISTS.sort_values(["user_id", "score"], ascending=[True, False])
TEST = pairs_table(np.arange(USERS), HELD)
TRAIN = pairs_table(*np.nonzero(MARKED))
ID_CHANGES = {
    "text of decimals": lambda ids: ids.astype(float).astype(str),
    "zeros before": lambda ids: ids.map("{:05}".format),
    "prefix": lambda ids: ids.map("i{}".format),
    "other numbers": lambda ids: ids + 1_000_000,
}


def evaluation(data: Any, **arguments: Any) -> Callable[[], Any]:
    options = {"relevant": TEST} | arguments
    return lambda: sm.evaluate(data, METRIC, **options)


def correction(data: Any, **arguments: Any) -> Callable[[], Any]:
    options = {"n_items": ITEMS - SEEN, "shape": "none"} | arguments
    return lambda: sm.correct(data, METRIC, "sampled", **options)


# Names of columns, and the order of rows


@mistake
def scores_by_usual_names(folder: Path) -> Attempts:
    for name in ("prediction", "est", "pred", "logit", "rating"):
        for form, data in table_forms(
            LISTS.rename(columns={"score": name}), folder
        ).items():
            yield f"{name}, {form}", evaluation(data), HIT_RATE


@mistake
def scores_by_an_unknown_name(folder: Path) -> Attempts:
    for name in ("weight", "affinity", "0"):
        for form, data in table_forms(
            LISTS.rename(columns={"score": name}), folder
        ).items():
            yield f"{name}, {form}", evaluation(data), HIT_RATE


@mistake
def best_first_without_scores(folder: Path) -> Attempts:
    for form, data in list_forms(IN_ORDER[["user_id", "item_id"]], folder).items():
        yield form, evaluation(data), HIT_RATE


@mistake
def best_first_with_times(folder: Path) -> Attempts:
    timed = IN_ORDER[["user_id", "item_id"]].assign(timestamp=881250949)
    for form, data in table_forms(timed, folder).items():
        yield form, evaluation(data), HIT_RATE


@mistake
def rank_and_prediction_contradict(folder: Path) -> Attempts:
    place = IN_ORDER.groupby("user_id").cumcount() + 1
    data = IN_ORDER.assign(
        rank=place, score=np.random.default_rng(2).normal(size=len(place))
    )
    for form, value in table_forms(data, folder).items():
        yield form, evaluation(value), np.nan


# Dictionaries


@mistake
def runs_of_users(folder: Path) -> Attempts:
    for form, data in list_forms(LISTS, folder).items():
        yield form, evaluation(data), HIT_RATE


@mistake
def qrels_with_grades_of_0(folder: Path) -> Attempts:
    other = np.stack([HELD, (HELD + 1) % ITEMS, (HELD + 2) % ITEMS], axis=1)
    grades = np.tile([1, 0, 0], USERS)
    qrels = pairs_table(
        np.repeat(np.arange(USERS), 3), other.ravel(), relevance=grades
    )
    forms = table_forms(qrels, folder)
    forms["dictionaries"] = {
        user: dict(zip(rows["item_id"], rows["relevance"], strict=True))
        for user, rows in qrels.groupby("user_id")
    }
    forms["trec"] = new_path(folder, "a.qrels")
    text = qrels.assign(zero=0)[["user_id", "zero", "item_id", "relevance"]]
    text.to_csv(forms["trec"], sep=" ", header=False, index=False)
    matrix = np.zeros(TRUE.shape)
    matrix[np.arange(USERS), HELD] = 1
    for form, data in forms.items():
        yield form, evaluation(LISTS, relevant=data), HIT_RATE
    for form, data in mark_forms(matrix, folder).items():
        options = {"relevant": data, "seen": csr_array(MARKED)}
        yield f"scores, {form}", evaluation(SCORES, **options), HIT_RATE


@mistake
def seen_with_values_of_0(folder: Path) -> Attempts:
    both = np.concatenate([TRAIN.to_numpy(), TEST.to_numpy()])
    value = np.concatenate([np.ones(len(TRAIN), int), np.zeros(len(TEST), int)])
    seen = pairs_table(both[:, 0], both[:, 1], relevance=value)
    forms = table_forms(seen, folder)
    forms["dictionaries"] = {
        user: dict(zip(rows["item_id"], rows["relevance"], strict=True))
        for user, rows in seen.groupby("user_id")
    }
    for form, data in forms.items():
        yield form, evaluation(top_lists(SCORES, ITEMS), seen=data), HIT_RATE


@mistake
def lists_without_order(folder: Path) -> Attempts:
    sets = user_item_forms(LISTS[["user_id", "item_id"]], folder)["sets"]
    for form, data in {
        "sets": sets,
        "frozen": {k: frozenset(v) for k, v in sets.items()},
    }.items():
        yield form, evaluation(data), HIT_RATE
        yield (
            f"series of {form}",
            evaluation(pd.Series(data).set_axis(list("ab") * 60)),
            np.nan,
        )


@mistake
def columns_as_users(folder: Path) -> Attempts:
    options = {"seen": TRAIN.to_dict("list"), "relevant": TEST.to_dict("list")}
    for form, data in list_forms(top_lists(SCORES, ITEMS), folder).items():
        yield form, evaluation(data, **options), HIT_RATE


@mistake
def candidates_as_lists_of_users(folder: Path) -> Attempts:  # noqa: ARG001
    candidates = {user: [int(HELD[user]), *range(M)] for user in range(USERS)}
    yield "dictionary", correction(candidates, relevant=TEST), HIT_RATE


# Ids that match no other table


def forms_with_other_ids(
    pairs: pd.DataFrame, folder: Path
) -> Iterator[tuple[str, Any]]:
    for kind, change in ID_CHANGES.items():
        for column in ("user_id", "item_id"):
            changed = pairs.assign(**{column: change(pairs[column])})
            for form, data in user_item_forms(changed, folder).items():
                yield f"{kind} of {column}, {form}", data


@mistake
def seen_of_others(folder: Path) -> Attempts:
    full = top_lists(SCORES, ITEMS)
    for form, data in forms_with_other_ids(TRAIN, folder):
        yield form, evaluation(full, seen=data), HIT_RATE


@mistake
def seen_of_others_beside_scores(folder: Path) -> Attempts:
    for form, data in forms_with_other_ids(TRAIN, folder):
        yield form, evaluation(SCORES, seen=data), HIT_RATE


@mistake
def relevant_of_others(folder: Path) -> Attempts:
    for form, data in forms_with_other_ids(TEST, folder):
        yield form, evaluation(LISTS, relevant=data), HIT_RATE


@mistake
def relevant_of_others_beside_scores(folder: Path) -> Attempts:
    options = {"seen": csr_array(MARKED)}
    for form, data in forms_with_other_ids(TEST, folder):
        yield form, evaluation(SCORES, relevant=data, **options), HIT_RATE


@mistake
def lists_of_others(folder: Path) -> Attempts:
    for kind, change in ID_CHANGES.items():
        for column in ("user_id", "item_id"):
            changed = LISTS.assign(**{column: change(LISTS[column])})
            for form, data in list_forms(changed, folder).items():
                yield f"{kind} of {column}, {form}", evaluation(data), HIT_RATE


@mistake
def seen_by_position_beside_lists(folder: Path) -> Attempts:
    named = top_lists(SCORES, ITEMS)
    named = named.assign(user_id=named["user_id"].map("u{}".format))
    test = TEST.assign(user_id=TEST["user_id"].map("u{}".format))
    for form, data in mark_forms(MARKED.astype(float), folder).items():
        yield form, evaluation(named, relevant=test, seen=data), HIT_RATE


@mistake
def few_common_ids(folder: Path) -> Attempts:
    few = TRAIN.assign(user_id=TRAIN["user_id"] + USERS - 4)
    for form, data in user_item_forms(few, folder).items():
        yield form, evaluation(top_lists(SCORES, ITEMS), seen=data), HIT_RATE


@mistake
def negatives_checked_against_others(folder: Path) -> Attempts:
    sample = pairs_table(
        np.repeat(np.arange(USERS), SEEN), TRAIN["item_id"].to_numpy()
    )
    for form, data in forms_with_other_ids(TRAIN, folder):
        yield form, lambda data=data: check_for_seen_items(sample, data), 1.0


def check_for_seen_items(sample: pd.DataFrame, seen: Any) -> Any:
    """Return a result whose value is 1 if the check finds seen items among the negatives."""
    checks = sm.check_negatives(sample, TEST, seen)
    (check,) = (check for check in checks if check.name == "seen items")

    class Found:
        notes = checks.notes

        def to_frame(self) -> pd.DataFrame:
            return pd.DataFrame({"value": [float(not check.passed)]})

    return Found()


# Other kinds of data


@mistake
def ratings_of_movielens_as_relevant(folder: Path) -> Attempts:
    rated = TEST.assign(rating=4, timestamp=881250949 + TEST["user_id"])
    for name in ("u.data", "u.tsv", "u.csv", "u.txt", "u.qrels"):
        path = new_path(folder, name)
        separator = "," if name.endswith("csv") else "\t"
        rated.to_csv(path, sep=separator, header=False, index=False)
        yield name, evaluation(LISTS, relevant=path), HIT_RATE
        yield f"seen, {name}", evaluation(LISTS, seen=path), np.nan
    for form, data in table_forms(
        rated.set_axis(list("0123"), axis=1), folder
    ).items():
        yield form, evaluation(LISTS, relevant=data), HIT_RATE
    for width in (2, 3, 4):
        for form, data in matrix_forms(rated.to_numpy()[:, :width], folder).items():
            yield (
                f"{width} columns, {form}",
                evaluation(LISTS, relevant=data),
                HIT_RATE,
            )
            yield (
                f"seen, {width} columns, {form}",
                evaluation(LISTS, seen=data),
                np.nan,
            )


@mistake
def pairs_as_lists_of_items(folder: Path) -> Attempts:  # noqa: ARG001
    for name, pairs in (("relevant", TEST), ("seen", TRAIN)):
        rows = pairs.to_numpy().tolist()
        for form, data in {"lists": rows, "tuples": list(map(tuple, rows))}.items():
            yield f"{name}, {form}", evaluation(LISTS, **{name: data}), np.nan
    yield "scores", evaluation(SCORES, relevant=TEST.to_numpy().tolist()), HIT_RATE


@mistake
def holes_in_marks(folder: Path) -> Attempts:
    for number in (np.nan, -np.inf):
        holes = np.full(TRUE.shape, number)
        holes[np.arange(USERS), HELD] = 1.0
        seen = np.where(MARKED, 1.0, number)
        options = {"seen": csr_array(MARKED)}
        for form, data in (
            mark_forms(holes, folder) | matrix_forms(holes, folder)
        ).items():
            yield (
                f"{number}, {form}",
                evaluation(SCORES, relevant=data, **options),
                HIT_RATE,
            )
        for form, data in (
            mark_forms(seen, folder) | matrix_forms(seen, folder)
        ).items():
            yield (
                f"seen {number}, {form}",
                evaluation(SCORES, relevant=HELD, seen=data),
                np.nan,
            )


@mistake
def missing_ids(folder: Path) -> Attempts:
    item = HELD.astype(float)
    item[::3] = np.nan
    for form, data in table_forms(TEST.assign(item_id=item), folder).items():
        yield form, evaluation(LISTS, relevant=data), np.nan
        yield f"seen, {form}", evaluation(LISTS, seen=data), np.nan


@mistake
def damaged_matrices(folder: Path) -> Attempts:
    for kind, name in (
        (csr_array, "indices"),
        (csr_array, "indptr"),
        (coo_array, "col"),
    ):
        for matrix in (SCORES, MARKED.astype(float)):
            damaged = kind(matrix)
            indices = getattr(damaged, name).copy()
            indices[3] = ITEMS
            setattr(damaged, name, indices)
            path = new_path(folder, "s.npz")
            save_npz(path, damaged)
            for form, data in {
                "memory": damaged,
                "npz": path,
                "csc": damaged,
            }.items():
                if matrix is SCORES:
                    yield f"{form} {name}", evaluation(data, relevant=HELD), np.nan
                else:
                    yield (
                        f"seen {form}",
                        evaluation(SCORES, relevant=HELD, seen=data),
                        np.nan,
                    )
                    yield (
                        f"relevant {form}",
                        evaluation(SCORES, relevant=data),
                        np.nan,
                    )
    column = csc_array(SCORES)
    column.indices = column.indices.copy()
    column.indices[0] = USERS
    yield "csc", evaluation(column, relevant=HELD), np.nan


@mistake
def users_twice(folder: Path) -> Attempts:  # noqa: ARG001
    ids = np.arange(USERS) % (USERS - 1)
    yield "rank", lambda: sm.rank(SCORES, None, HELD, users=ids), np.nan
    yield (
        "Ranks",
        lambda: sm.Ranks(np.full(USERS, 90), BETTER, 0 * BETTER, users=ids),
        np.nan,
    )


@mistake
def archives_with_something_else(folder: Path) -> Attempts:
    path = new_path(folder, "s.npz")
    np.savez(
        path, scores=SCORES, held_out=HELD, seen=MARKED, unused=np.array([{}], object)
    )
    yield "unused", evaluation(path, relevant=HELD), np.nan
    text = new_path(folder, "t.npz")
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("scores.npy", b"hello")
    yield "text", evaluation(text, relevant=HELD), np.nan


@mistake
def numbers_of_other_types(folder: Path) -> Attempts:
    options = {"relevant": HELD, "seen": csr_array(MARKED)}
    for kind in (np.float16, np.float32, np.dtype(">f4"), np.dtype(">f8")):
        for form, data in matrix_forms(SCORES.astype(kind), folder).items():
            yield f"{kind}, {form}", evaluation(data, **options), HIT_RATE
    for kind in (">i4", "i2", "u8", "f8", "f2", "U", "O"):
        yield (
            f"relevant, {kind}",
            evaluation(SCORES, seen=MARKED, relevant=HELD.astype(kind)),
            (HIT_RATE),
        )
    for kind in ("f2", ">f4", "i1", "O", "U"):
        seen = MARKED.astype(int).astype(kind)
        yield (
            f"seen, {kind}",
            evaluation(SCORES, relevant=HELD, seen=seen),
            HIT_RATE,
        )


@mistake
def labels_of_other_types(folder: Path) -> Attempts:
    rng = np.random.default_rng(3)
    keys = rng.random(TRUE.shape)
    keys[MARKED] = 2.0
    keys[np.arange(USERS), HELD] = 3.0
    negatives = np.argsort(keys, axis=1)[:, :M]
    items = np.column_stack([HELD, negatives])
    score = np.take_along_axis(SCORES, items, axis=1)
    pairs = pairs_table(
        np.repeat(np.arange(USERS), M + 1), items.ravel(), score=score.ravel()
    )
    label = np.tile(np.arange(M + 1) == 0, USERS)
    sampled = float(np.mean((score[:, 1:] > score[:, :1]).sum(axis=1) < 10))
    for kind in (bool, int, float, str):
        for form, data in table_forms(
            pairs.assign(label=label.astype(kind)), folder
        ).items():
            yield f"{kind.__name__}, {form}", estimate_alone(data), sampled


def estimate_alone(data: Any) -> Callable[[], Any]:
    """Return the estimate alone, without its range."""

    def call() -> Any:
        results = correction(data)()

        class Found:
            notes = results.notes

            def to_frame(self) -> pd.DataFrame:
                return results.to_frame()[["value"]]

        return Found()

    return call


# Impossible numbers


@mistake
def candidates_of_a_sample_in_some_rows(folder: Path) -> Attempts:
    rank = np.random.default_rng(1).integers(1, M + 2, USERS) // 3 + 1
    n_items = np.where(np.arange(USERS) % 3, 3000, M + 1)
    data = pd.DataFrame(
        {"sampled_rank": rank, "n_candidates": n_items, "n_negatives": M}
    )
    for form, value in table_forms(data, folder).items():
        yield form, correction(value, n_items=None), np.nan
    yield (
        "records",
        correction(sm.SampledRanks(rank, n_items, M), n_items=None),
        np.nan,
    )


@mistake
def negatives_that_repeat(folder: Path) -> Attempts:
    rng = np.random.default_rng(4)
    items = np.column_stack([HELD, rng.integers(0, ITEMS // 3, size=(USERS, M))])
    items[:, 1:][items[:, 1:] == HELD[:, None]] = ITEMS - 1
    score = np.take_along_axis(SCORES, items, axis=1).ravel()
    data = pairs_table(np.repeat(np.arange(USERS), M + 1), items.ravel(), score=score)
    data["label"] = np.tile([1] + [0] * M, USERS)
    for form, value in table_forms(data, folder).items():
        yield form, correction(value), np.nan


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_in_any_form_is_not_silent(name: str, tmp_path: Path) -> None:
    assert not silent_forms(MISTAKES[name](tmp_path / "f"))
