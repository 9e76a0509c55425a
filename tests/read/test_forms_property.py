"""The same data with more columns, in other orders, types and forms gives the same number.

Or it is refused, or a warning says what may be wrong. Columns that are not read are noted.
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
from tests.helpers.caught_warnings import full_messages
from tests.helpers.forms import new_path, table_form_makers
from tests.helpers.results import value_of

USERS, ITEMS, M = 14, 17, 9
RNG = np.random.default_rng(8)
SCORES = RNG.normal(size=(USERS, ITEMS)).round(3)
HELD = RNG.integers(ITEMS, size=USERS)
SEEN = np.where(HELD == 4, 5, 4)  # an item of each user
MASKED = SCORES.copy()
MASKED[np.arange(USERS), SEEN] = -np.inf
HELD_SCORES = SCORES[np.arange(USERS), HELD][:, None]
RANK = 1 + (HELD_SCORES < SCORES).sum(axis=1)
NEW_RANK = 1 + (HELD_SCORES < MASKED).sum(axis=1)
AMONG = RNG.normal(size=(USERS, 1 + M)).round(3)
SAMPLED_RANK = 1 + (AMONG[:, 1:] > AMONG[:, :1]).sum(axis=1)
RR, NEW_RR = float(np.mean(1 / RANK)), float(np.mean(1 / NEW_RANK))
HIT_RATE = float(np.mean(SAMPLED_RANK <= 3))
Frames = dict[str, pd.DataFrame]


def make_table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


PLACE = (-SCORES).argsort(axis=1).argsort(axis=1) + 1
ALL = make_table(
    user_id=np.repeat(np.arange(USERS), ITEMS),
    item_id=np.tile(np.arange(ITEMS), USERS),
)
LISTS = ALL.assign(score=SCORES.ravel())
RANKED = ALL.assign(rank=PLACE.ravel())
PAIRS = LISTS.assign(label=(ALL["item_id"] == np.repeat(HELD, ITEMS)).astype(int))
TEST = make_table(user_id=np.arange(USERS), item_id=HELD)
TRAIN = make_table(user_id=np.arange(USERS), item_id=SEEN)
CANDIDATES = make_table(
    user_id=np.repeat(np.arange(USERS), 1 + M),
    item_id=np.tile(np.arange(1 + M), USERS) + 20 * np.repeat(np.arange(USERS), 1 + M),
    score=AMONG.ravel(),
    label=np.tile([1] + M * [0], USERS),
)
RANKS = make_table(user_id=np.arange(USERS), rank=RANK)
COUNTS = make_table(user_id=np.arange(USERS), n_candidates=ITEMS, n_better=RANK - 1, n_tied=0)
SAMPLES = make_table(user_id=np.arange(USERS), sampled_rank=SAMPLED_RANK)
# Two negatives of each user among items 1 to 3; user 0 has a seen item too, user 1 one item twice.
NEW = [[item for item in (1, 2, 3) if item != held][:2] for held in HELD]
NEGATIVES = make_table(
    user_id=np.append(np.repeat(np.arange(USERS), 2), [0, 1]),
    item_id=np.append(np.ravel(NEW), [SEEN[0], NEW[1][0]]),
)


class Kind(NamedTuple):
    """A call with tables by name, its right value, and the roles of columns that it reads."""

    frames: Frames
    call: Callable[..., Any]  # with tables by name
    right: float
    reads: dict[str, set[str]]


ID_ROLES = {"user_id", "item_id", "visit_id"}
ITEM_ROLES = ID_ROLES | {"label", "relevance", "score"}
LIST_ROLES = ID_ROLES | {"score", "rank"}
RANK_ROLES = {"user_id", "visit_id", "rank", "label", "relevance"}
COUNT_ROLES = RANK_ROLES | {"n_candidates", "n_better", "n_tied"}
SAMPLE_ROLES = {
    "user_id",
    "visit_id",
    "item_id",
    "sampled_rank",
    "n_candidates",
    "n_negatives",
}
SAMPLE_ROLES |= {"sampling", "repetition", "label"}
PAIR_ROLES = ID_ROLES | {"score", "label"}
VECTORS = np.eye(USERS), SCORES.T.copy()


def rr_value(data: Any, **options: Any) -> float:
    return value_of(sm.evaluate(data, "rr", **options))


def rr_of_ranks(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that evaluates the ranks made of tables."""
    return lambda **tables: rr_value(make(**tables))


def hit_rate_of_sample(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gives the hit rate of the sampled ranks made of a table."""
    return lambda data: value_of(sm.correct(make(data), "hr@3", "sampled"))


def correct_value(data: Any, **options: Any) -> Any:
    return value_of(sm.correct(data, "hr@3", "sampled", n_items=300, **options))


def compare_value(data: Any, relevant: Any) -> Any:
    other = {user: [*range(ITEMS)] for user in range(USERS)}
    return sm.compare({"a": data, "b": other}, "rr@17", relevant=relevant)[0].value_a


def count_failing_negatives(data: Any, relevant: Any, seen: Any) -> Any:
    """Return how many negatives are held out, seen, or drawn twice."""
    return sum(check.found for check in sm.check_negatives(data, relevant, seen)[:3])


def report_value(data: Any, relevant: Any, folder: Path) -> Any:
    """Return the right value if the page shows it, else nan."""
    page = new_path(folder, "page.html")
    sm.report({"a": data}, page, "rr", relevant=relevant)
    is_shown = f"{RR:.4f}" in page.read_text(encoding="utf-8")
    return RR if is_shown else np.nan


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


LISTED = {"data": LISTS, "relevant": TEST}
BOTH = {"relevant": TEST, "seen": TRAIN}
SAMPLED_LISTS = {
    "data": CANDIDATES.drop(columns="label"),
    "relevant": CANDIDATES[CANDIDATES["label"] == 1],
}
READ_BOTH = {"relevant": ITEM_ROLES, "seen": ITEM_ROLES}
READ_LISTED = {"data": LIST_ROLES, "relevant": ITEM_ROLES}
READ_SAMPLE = {"data": PAIR_ROLES | {"rank"}}
READ_RANKS = {"data": COUNT_ROLES | {"item_id", "score"}}


def score_users(users: Any) -> np.ndarray:
    return SCORES[users]


def from_function(**both: Any) -> sm.Ranks:
    return sm.Ranks.from_function(score_users, users=range(USERS), **both)


def from_top_k(**both: Any) -> sm.Ranks:
    return sm.Ranks.from_top_k(PLACE.argsort(axis=1), complete=True, **both)


KINDS = {
    # evaluate
    "evaluate, lists": Kind(LISTED, rr_value, RR, READ_LISTED),
    "evaluate, lists with ranks, seen": Kind(
        {"data": RANKED, **BOTH}, partial(rr_value, complete=True), NEW_RR,
        {"data": LIST_ROLES, **READ_BOTH}),
    "evaluate, scores": Kind(BOTH, partial(rr_value, SCORES), NEW_RR, READ_BOTH),
    "evaluate, ranks": Kind({"data": RANKS}, partial(rr_value, n_items=ITEMS), RR, READ_RANKS),
    "evaluate, counts": Kind({"data": COUNTS}, rr_value, RR, {"data": COUNT_ROLES}),
    "evaluate, pairs": Kind(
        {"data": PAIRS}, partial(rr_value, complete=True), RR, {"data": PAIR_ROLES}),
    # Ranks
    "from_lists": Kind(
        {"recommended": LISTS, "relevant": TEST}, rr_of_ranks(sm.Ranks.from_lists), RR,
        {"recommended": LIST_ROLES, "relevant": ITEM_ROLES}),
    "from_pairs": Kind({"pairs": PAIRS}, rr_of_ranks(sm.Ranks.from_pairs), RR,
        {"pairs": PAIR_ROLES}),
    "from_table": Kind({"table": COUNTS}, rr_of_ranks(sm.Ranks.from_table), RR,
        {"table": COUNT_ROLES}),
    "from_ranks": Kind({"ranks": RANKS}, rr_of_ranks(partial(sm.Ranks.from_ranks, n_items=ITEMS)),
        RR, {"ranks": COUNT_ROLES}),
    "from_scores": Kind(BOTH, rr_of_ranks(partial(sm.Ranks.from_scores, SCORES)), NEW_RR,
        READ_BOTH),
    "from_factors": Kind(BOTH, rr_of_ranks(partial(sm.Ranks.from_factors, *VECTORS)), NEW_RR,
        READ_BOTH),
    "from_function": Kind(BOTH, rr_of_ranks(from_function), NEW_RR, READ_BOTH),
    "from_top_k": Kind(BOTH, rr_of_ranks(from_top_k), NEW_RR, READ_BOTH),
    # samples
    "correct, pairs": Kind({"data": CANDIDATES}, correct_value, HIT_RATE, READ_SAMPLE),
    "correct, lists": Kind(SAMPLED_LISTS, correct_value, HIT_RATE,
        {"data": LIST_ROLES | {"label"}, "relevant": ITEM_ROLES}),
    "correct, sampled ranks": Kind({"data": SAMPLES}, partial(correct_value, n_negatives=M),
        HIT_RATE, {"data": SAMPLE_ROLES}),
    "SampledRanks.from_pairs": Kind({"data": CANDIDATES},
        hit_rate_of_sample(partial(sm.SampledRanks.from_pairs, n_items=300)), HIT_RATE,
        READ_SAMPLE),
    "SampledRanks.from_table": Kind({"data": SAMPLES},
        hit_rate_of_sample(partial(sm.SampledRanks.from_table, n_items=300, n_negatives=M)),
        HIT_RATE, {"data": SAMPLE_ROLES}),
    # other functions, and commands
    "compare": Kind(LISTED, compare_value, RR, READ_LISTED),
    "report": Kind(LISTED, report_value, RR, READ_LISTED),
    "check_negatives": Kind(
        {"data": NEGATIVES, **BOTH}, count_failing_negatives, 2,
        {"data": ITEM_ROLES, **READ_BOTH}),
    "command evaluate": Kind(LISTED, command("evaluate --metric rr"), RR, READ_LISTED),
    "command correct": Kind(
        {"data": CANDIDATES}, command("correct --metric hr@3 --estimator sampled --n-items 300"),
        HIT_RATE, READ_SAMPLE),
}  # fmt: skip
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
    table = given_table.copy()
    names = [name for name in unread_names(roles) if name not in given_table]
    names = chooser.sample([*NAMES, *names], chooser.choice([0, 1, 1, 2]))
    for name in names:
        table[name] = np.asarray(extra_column(chooser, len(table), given_table))
    table = table.sample(frac=1, random_state=chooser.randrange(1000), ignore_index=True)
    return table[chooser.sample(list(table), table.shape[1])], names


# Other types
ID_TYPES: dict[str, Callable[[pd.Series], Any]] = {
    **{
        name: lambda ids, name=name: ids.astype(name)
        for name in ["int64", "int32", "uint64", "uint8", "float32", "float64", "Int64", "category"]
    },
    "text": lambda ids: ids.astype(str),
    "texts with zeros before": lambda ids: ids.map("{:04}".format),
    "texts as objects": lambda ids: ids.map("i{}".format).astype(object),
    "categories of texts": lambda ids: ids.map("i{}".format).astype("category"),
    "string[pyarrow]": lambda ids: ids.map("i{}".format).astype("string[pyarrow]"),
}
NUMBERS = {
    "float": ["float32", "float64", "Float64"],
    "int": ["int8", "int64", "uint16", "Int32", "float32"],
}
KINDS_BY_NUMBER = (
    "evaluate, scores",
    "from_scores",
    "from_factors",
    "from_function",
    "from_top_k",
)


def change_types(chooser: random.Random, frames: Frames, kind: str) -> Frames:
    """Change the types of ids, the same in all tables, and the types of numbers."""
    plain = list(ID_TYPES)[:8]
    types = {
        name: ID_TYPES[
            chooser.choice(plain if kind in (*KINDS_BY_NUMBER, "compare") else list(ID_TYPES))
        ]
        for name in ("user_id", "item_id")
    }
    changed = {}
    for table, frame in frames.items():
        columns = {}
        for name in frame:
            values = frame[name]
            if name in types:
                is_large = int(values.max()) > 255
                columns[name] = types[name](values)
                if is_large:
                    columns[name] = values.astype(chooser.choice(["int64", "int32", "Int64"]))
            elif name in (
                "score",
                "prediction",
                "rating",
                "rank",
                "label",
                "sampled_rank",
            ):
                number = "float" if values.dtype.kind == "f" else "int"
                columns[name] = values.astype(chooser.choice(NUMBERS[number]))
            else:
                columns[name] = values
        changed[table] = pd.DataFrame(columns)
    return changed


def outcome(kind: Kind, arguments: dict[str, Any], added: dict[str, list[str]]) -> str:
    """Say how a call ends: `refused`, `warned`, `right`, `unnoted` or with another number."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with open_call(see=IN_RESULT) as call:
                value = kind.call(**arguments)
        except sm.InputError:
            return "refused"
    messages = [warning for warning in caught if issubclass(warning.category, sm.InputWarning)]
    if not np.isclose(value, kind.right, rtol=1e-5):
        return "warned" if messages else f"{value}, not {kind.right}"
    texts = [*map(str, call.notes), *getattr(kind.call, "notes", []), *full_messages(messages)]
    notes_text = " ".join(texts)
    missing = [name for names in added.values() for name in names if name not in notes_text]
    return f"unnoted {missing}" if missing else "right"


@pytest.mark.parametrize(
    "seed",
    [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9))],
)
@pytest.mark.parametrize("name", KINDS)
def test_table_in_any_form_gives_the_same_number(name: str, seed: int, tmp_path: Path) -> None:
    kind = KINDS[name]
    for number in range(3):
        chooser = random.Random(f"{name} {seed} {number}")  # noqa: S311 - no secret
        arguments: dict[str, Any] = {}
        added = {}
        typed = change_types(chooser, kind.frames, name)
        for table, frame in typed.items():
            changed, added[table] = add_columns(chooser, frame, kind.reads[table] | set(frame))
            makers = table_form_makers(changed, tmp_path)
            files = ["csv", "tsv", "parquet"]
            form = chooser.choice(files if name.startswith("command") else list(makers))
            arguments[table] = makers[form]()
            added[f"form of {table}"] = []
        if name == "report":
            arguments["folder"] = tmp_path
        end = outcome(kind, arguments, added)
        assert end in ("right", "refused", "warned"), (
            f"{name}, {seed}, {number}: {end}\n"
            + "\n".join(
                f"{table} ({type(arguments[table]).__name__}):\n{arguments[table]}"
                for table in arguments
            )
        )
