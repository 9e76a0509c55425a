"""The same data with more columns, in other orders, types and forms gives the same number.

Or it is refused, or a warning says what may be wrong. Columns that are not read are noted. The
data is that of tests/helpers/world.py seven times: users 0, 2, 4 ... have the scores of user a,
and users 1, 3, 5 ... those of user b; items x, y and z are 0, 1 and 2.
"""

import json
import random
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics._base.calls import IN_RESULT, open_call
from sampled_metrics.cli import app
from sampled_metrics.read.roles import ROLES
from tests.helpers import world
from tests.helpers.caught_warnings import full_messages
from tests.helpers.forms import new_path, table_form_makers
from tests.helpers.results import value_of
from tests.helpers.world import HIT_2, RR

NEW_RR = (1 / 1 + 1 / 2) / 2  # all users have seen item y, the first of both lists
USERS = np.arange(14)
SCORES = np.tile(world.SCORES, (7, 1))


def table(users: Any = USERS, **columns: Any) -> pd.DataFrame:
    """Return a table of users, where columns of both users are repeated for all."""
    repeated = {
        name: np.resize(values, len(users)) if np.ndim(values) else values
        for name, values in columns.items()
    }
    return pd.DataFrame({"user_id": users, **repeated})


OF_THREE = np.repeat(USERS, 3)
TEST, TRAIN = table(item_id=world.HELD), table(item_id=1)
LISTS = table(OF_THREE, item_id=world.IDS.ravel(), score=world.FRAME["score"])
RANKED = table(OF_THREE, item_id=world.IDS.ravel(), rank=[1, 2, 3])
PAIRS = LISTS.assign(label=np.resize(world.LABELLED["label"], len(LISTS)))
ANSWERS = table(OF_THREE, item_id=300, score=world.SAMPLE.ravel(), label=[1, 0, 0])
ANSWERS["item_id"] += np.arange(len(ANSWERS))  # each user has its own candidates
RANKS, SAMPLES = table(rank=[2, 3]), table(sampled_rank=[2, 3])
COUNTS = table(n_candidates=3, n_better=[1, 2], n_tied=0)
NEGATIVES = table(np.append(USERS, [0, 1]), item_id=[*[0, 2] * 7, 1, 2])  # a seen one, and twice

# The roles of columns that are read

ID = {"user_id", "item_id", "visit_id"}
ITEM, LIST, PAIR = (
    ID | {"label", "relevance", "score"},
    ID | {"score", "rank"},
    ID | {"score", "label"},
)
OF_RANKS = {
    "user_id",
    "visit_id",
    "rank",
    "label",
    "relevance",
    "n_candidates",
    "n_better",
    "n_tied",
}
OF_SAMPLES = {"user_id", "visit_id", "item_id", "sampled_rank", "n_candidates", "n_negatives",
              "sampling", "repetition", "label"}  # fmt: skip


class Row(NamedTuple):
    """A call with tables by name, its value, and the roles of columns that it reads."""

    name: str
    call: Callable[..., Any]
    right: float
    tables: dict[str, pd.DataFrame]
    reads: dict[str, set[str]]


def rr(data: Any, **options: Any) -> float:
    return value_of(sm.evaluate(data, "rr", **options))


def rr_of(constructor: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[..., Any]:
    return lambda **tables: rr(constructor(*arguments, **options, **tables))


def hit(data: Any, **options: Any) -> float:
    return value_of(sm.correct(data, "hr@2", "sampled", shape="none", **options))


def hit_of(constructor: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda data: hit(constructor(data, n_items=300, **options))


def compared(data: Any, relevant: Any) -> float:
    others = {"a": data, "b": {user: [0, 1, 2] for user in USERS.tolist()}}
    return float(sm.compare(others, "rr@3", relevant=relevant)[0].value_a)


def shown_on_page(data: Any, folder: Path) -> float:
    """Return the value if the page shows it, else nan."""
    page = new_path(folder, "page.html")
    sm.report({"a": data}, page, "rr", n_items=3)
    return RR if f"{RR:.6f}" in page.read_text(encoding="utf-8") else np.nan


def count_failing_negatives(data: Any, relevant: Any, seen: Any) -> int:
    """Return how many negatives are held out, seen, or drawn twice."""
    return sum(check.found for check in sm.check_negatives(data, relevant, seen)[:3])


def command(line: str) -> Callable[..., Any]:
    """Return a function that runs a command on files and returns its first value."""
    name, *words = line.split()

    def run(data: Any, **files: Any) -> Any:
        output = new_path(Path(data).parent, "out.json")
        options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
        arguments = [name, str(data), *words, *options, "--output", str(output)]
        app(arguments, standalone_mode=False)
        result = json.loads(output.read_text())[0]
        run.notes = result.get("notes", [])  # type: ignore[attr-defined]
        return result["value"]

    return run


def score_users(users: Any) -> np.ndarray:
    return SCORES[users]


BOTH, READ_BOTH = {"relevant": TEST, "seen": TRAIN}, {"relevant": ITEM, "seen": ITEM}
LISTED, READ_LISTED = {"data": LISTS, "relevant": TEST}, {"data": LIST, "relevant": ITEM}
SAMPLED_LISTS = {"data": ANSWERS.drop(columns="label"), "relevant": ANSWERS[ANSWERS["label"] == 1]}
READ_RANKS = {"data": OF_RANKS | {"item_id", "score"}}
SAMPLE, READ_SAMPLE = {"data": ANSWERS}, {"data": PAIR | {"rank"}}
TABLE = [
    # evaluate
    Row("evaluate, lists", rr, RR, LISTED, READ_LISTED),
    Row("evaluate, lists with ranks, seen", partial(rr, complete=True), NEW_RR,
        {"data": RANKED, **BOTH}, {"data": LIST, **READ_BOTH}),
    Row("evaluate, scores", partial(rr, SCORES), NEW_RR, BOTH, READ_BOTH),
    Row("evaluate, ranks", partial(rr, n_items=3), RR, {"data": RANKS}, READ_RANKS),
    Row("evaluate, counts", rr, RR, {"data": COUNTS}, {"data": OF_RANKS}),
    Row("evaluate, pairs", partial(rr, complete=True), RR, {"data": PAIRS}, {"data": PAIR}),
    # Ranks
    Row("from_lists", rr_of(sm.Ranks.from_lists), RR, {"recommended": LISTS, "relevant": TEST},
        {"recommended": LIST, "relevant": ITEM}),
    Row("from_pairs", rr_of(sm.Ranks.from_pairs), RR, {"pairs": PAIRS}, {"pairs": PAIR}),
    Row("from_table", rr_of(sm.Ranks.from_table), RR, {"table": COUNTS}, {"table": OF_RANKS}),
    Row("from_ranks", rr_of(sm.Ranks.from_ranks, n_items=3), RR, {"ranks": RANKS},
        {"ranks": OF_RANKS}),
    Row("from_scores", rr_of(sm.Ranks.from_scores, SCORES), NEW_RR, BOTH, READ_BOTH),
    Row("from_factors", rr_of(sm.Ranks.from_factors, np.eye(14), SCORES.T), NEW_RR, BOTH,
        READ_BOTH),
    Row("from_function", rr_of(sm.Ranks.from_function, score_users, users=range(14)), NEW_RR,
        BOTH, READ_BOTH),
    Row("from_top_k", rr_of(sm.Ranks.from_top_k, np.tile(world.IDS, (7, 1)), complete=True),
        NEW_RR, BOTH, READ_BOTH),
    # samples
    Row("correct, pairs", partial(hit, n_items=300), HIT_2, SAMPLE, READ_SAMPLE),
    Row("correct, lists", partial(hit, n_items=300), HIT_2, SAMPLED_LISTS,
        {"data": LIST | {"label"}, "relevant": ITEM}),
    Row("correct, sampled ranks", partial(hit, n_items=300, n_negatives=2), HIT_2,
        {"data": SAMPLES}, {"data": OF_SAMPLES}),
    Row("SampledRanks.from_pairs", hit_of(sm.SampledRanks.from_pairs), HIT_2, SAMPLE, READ_SAMPLE),
    Row("SampledRanks.from_table", hit_of(sm.SampledRanks.from_table, n_negatives=2), HIT_2,
        {"data": SAMPLES}, {"data": OF_SAMPLES}),
    # other functions, and commands
    Row("compare", compared, RR, LISTED, READ_LISTED),
    Row("report", shown_on_page, RR, {"data": RANKS}, READ_RANKS),
    Row("check_negatives", count_failing_negatives, 2, {"data": NEGATIVES, **BOTH},
        {"data": ITEM, **READ_BOTH}),
    Row("command evaluate", command("evaluate --metric rr@3"), RR, LISTED, READ_LISTED),
    Row("command correct", command(
            "correct --metric hr@2 --estimator sampled --shape none --n-items 300"),
        HIT_2, SAMPLE, READ_SAMPLE),
]  # fmt: skip
BY_POSITION = ("evaluate, scores", "from_scores", "from_factors", "from_function", "from_top_k")

# More columns

NAMES = ["title", "x", "Unnamed: 0", "year", "price", "day", "weight", "genre", "n", "ok"]


def extra_column(chooser: random.Random, rows: int, ids: pd.DataFrame) -> Any:
    """Return a column of texts, numbers, truth values or days, or a number by user or item."""
    kind = chooser.choice(["text", "float", "integer", "bool", "date", "of item", "of user", "one"])
    rng = np.random.default_rng(chooser.randrange(10**6))
    if kind in ("of item", "of user"):
        name = f"{kind[3:]}_id"
        if name not in ids:
            return rng.integers(1, 9, rows)
        return ids[name].map({key: int(rng.integers(1, 9)) for key in sorted(set(ids[name]))})
    return {
        "text": rng.choice(["red", "green", "blue"], rows),
        "float": rng.normal(size=rows).round(3),
        "integer": rng.integers(0, 9, rows),
        "bool": rng.random(rows) < 0.5,
        "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, rows), "D"),
        "one": np.full(rows, 7),
    }[kind]


def unread_names(roles: set[str]) -> list[str]:
    """Return the names, in several spellings, of roles that a call does not read."""
    results = []
    for name, role in ROLES.items():
        if name not in roles:
            results += [
                name,
                *role.aliases,
                *(alias.title() for alias in role.aliases),
            ]
    return results


def add_columns(
    chooser: random.Random, given_table: pd.DataFrame, roles: set[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Add up to two columns, and shuffle columns and rows."""
    changed = given_table.copy()
    names = [name for name in unread_names(roles) if name not in given_table]
    names = chooser.sample([*NAMES, *names], chooser.choice([0, 1, 1, 2]))
    for name in names:
        changed[name] = np.asarray(extra_column(chooser, len(changed), given_table))
    changed = changed.sample(frac=1, random_state=chooser.randrange(1000), ignore_index=True)
    return changed[chooser.sample(list(changed), changed.shape[1])], names


# Other types

PLAIN = ["int64", "int32", "uint64", "uint8", "float32", "float64", "Int64", "category"]
ID_TYPES: dict[str, Callable[[pd.Series], Any]] = {
    **{name: lambda ids, name=name: ids.astype(name) for name in PLAIN},
    "text": lambda ids: ids.astype(str),
    "texts with zeros before": lambda ids: ids.map("{:04}".format),
    "texts as objects": lambda ids: ids.map("i{}".format).astype(object),
    "categories of texts": lambda ids: ids.map("i{}".format).astype("category"),
    "string[pyarrow]": lambda ids: ids.map("i{}".format).astype("string[pyarrow]"),
}
NUMBERS = {
    "f": ["float32", "float64", "Float64"],
    "i": ["int8", "int64", "uint16", "Int32", "float32"],
}


def change_types(chooser: random.Random, row: Row) -> dict[str, pd.DataFrame]:
    """Change the types of ids, the same in all tables, and the types of numbers."""
    types = PLAIN if row.name in (*BY_POSITION, "compare") else list(ID_TYPES)
    of_ids = {name: ID_TYPES[chooser.choice(types)] for name in ("user_id", "item_id")}
    changed = {name: frame.copy() for name, frame in row.tables.items()}
    for frame in changed.values():
        for name in frame:
            values = frame[name]
            if name in of_ids and values.max() > 255:
                frame[name] = values.astype(chooser.choice(["int64", "int32", "Int64"]))
            elif name in of_ids:
                frame[name] = of_ids[name](values)
            elif name in ("score", "rank", "label", "sampled_rank"):
                frame[name] = values.astype(chooser.choice(NUMBERS[values.dtype.kind]))
    return changed


def outcome(row: Row, arguments: dict[str, Any], added: list[str]) -> str:
    """Say how a call ends: `refused`, `warned`, `right`, `unnoted` or with another number."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with open_call(see=IN_RESULT) as call:
                value = row.call(**arguments)
        except sm.InputError:
            return "refused"
    messages = [warning for warning in caught if issubclass(warning.category, sm.InputWarning)]
    if not np.isclose(value, row.right, rtol=1e-5):
        return "warned" if messages else f"{value}, not {row.right}"
    texts = [*map(str, call.notes), *getattr(row.call, "notes", []), *full_messages(messages)]
    missing = [name for name in added if name not in " ".join(texts)]
    return f"unnoted {missing}" if missing else "right"


def in_folder(row: Row, arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return arguments with the folder of the page."""
    return arguments | ({"folder": folder} if row.name == "report" else {})


@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_unchanged_table_gives_the_value_by_hand(row: Row, tmp_path: Path) -> None:
    form = "csv" if row.name.startswith("command") else "frame"
    arguments = {
        name: table_form_makers(frame, tmp_path)[form]() for name, frame in row.tables.items()
    }
    assert outcome(row, in_folder(row, arguments, tmp_path), []) == "right"


@pytest.mark.parametrize(
    "seed",
    [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9))],
)
@pytest.mark.parametrize("row", TABLE, ids=[row.name for row in TABLE])
def test_table_in_any_form_gives_the_same_number(row: Row, seed: int, tmp_path: Path) -> None:
    for number in range(3):
        chooser = random.Random(f"{row.name} {seed} {number}")  # noqa: S311 - no secret
        arguments: dict[str, Any] = {}
        added: list[str] = []
        for name, frame in change_types(chooser, row).items():
            changed, names = add_columns(chooser, frame, row.reads[name] | set(frame))
            makers = table_form_makers(changed, tmp_path)
            is_file = row.name.startswith("command")
            form = chooser.choice(["csv", "tsv", "parquet"] if is_file else list(makers))
            arguments[name] = makers[form]()
            added += names
        end = outcome(row, in_folder(row, arguments, tmp_path), added)
        assert end in ("right", "refused", "warned"), (end, arguments)
