"""Calls of public functions with one wrong argument work or raise an InputError that names it."""

import datetime
import inspect
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, dok_array

import sampled_metrics as sm
from sampled_metrics.ranks.data import as_ranks, as_sampled

warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix
SCORES, HELD, SEEN = (
    np.random.default_rng(0).random((6, 9)),
    list(range(6)),
    np.eye(6, 9, 2, bool),
)
FULL = sm.Ranks([9] * 6, [0, 2, 5, 1, 0, 3], [0] * 6)
SAMPLED = sm.SampledRanks([1, 2, 3, 1, 1, 2], 9, 4)
RESULTS, USERS = sm.correct(SAMPLED, "hr@1", "sampled"), np.arange(6)
WRONG = [
    None,
    -1,
    0,
    1.5,
    10**30,
    -(10**30),
    True,
    1j,
    "x",
    "",
    "0x10",
    b"x",
    np.nan,
    np.inf,
]
WRONG += [
    [],
    {},
    (),
    {1},
    [None],
    ["a"],
    [1, 2],
    [[1], [1, 2]],
    [[[1.0]]],
    [10**30],
    {"a": 1},
]
WRONG += [
    object(),
    int,
    lambda *_: 0,
    (x for x in "ab"),
    datetime.date(2020, 1, 1),
    Path("no.csv"),
]
WRONG += [
    np.zeros(0),
    np.zeros((0, 9)),
    np.zeros((6, 0)),
    np.array(["a"] * 6),
    np.array(3),
]
WRONG += [
    np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    np.matrix([[1, 2, 1, 1, 2, 2]]),
    np.ones((2, 2)),
]
WRONG += [
    np.array([None, 1, "a", 2.5, (), {}], object),
    np.array(["2020-01-01"], "datetime64[D]"),
]
WRONG += [
    np.full((6, 9), np.nan),
    np.full(6, 1j),
    np.zeros(6, [("a", "i8"), ("b", "f8")]),
    Path(),
]
WRONG += [
    np.ma.masked_array(np.ones(6), [1, 0, 0, 0, 0, 0]),
    np.full(6, 1 << 63, np.uint64),
]
WRONG += [
    csr_array(np.ones((2, 2))),
    pd.DataFrame({"a": [1, 2]}),
    pd.DataFrame(),
    pd.Series([1, 2]),
]

ALL: dict[str, Any] = {"n_items": None, "relevant": HELD, "seen": SEEN}
ALL |= {"min_relevance": 0, "complete": False, "ties": "random", "seed": 1}
DRAWN: dict[str, Any] = {
    "n_items": 9,
    "n_negatives": 4,
    "sampling": "distinct",
    "positive": None,
}
DRAWN |= {"shape": "none", "confidence": 0.9}
PAIRS = {"relevant": {"a": [1], "b": [2]}, "seen": {"a": [3], "b": [3]}}
HR, USED = {"metrics": "hr@1"}, {"estimators": "sampled"}
READ = {
    "sampling": None,
    "relevant": None,
    "positive": None,
    "ties": "random",
    "seed": 0,
}
# Functions, and arguments with which they work; each argument is replaced in turn.
CALLS: list[tuple[Any, dict[str, Any]]] = [
    (sm.Ranks, {"n_candidates": [9, 9], "n_better": [0, 1], "n_tied": [0, 0], "n_found": [1, 1]}
     | {"n_relevant": [1, 1], "depth": [9, 9], "relevance": [1, 2]}
     | {"users": ["a", "b"], "source": "x"}),
    (as_ranks, {"data": "ranks.csv", "n_items": 9}),
    (FULL.take, {"rows": [0, 1]}),
    (FULL.at_least, {"min_relevance": 1}),
    (FULL.replace, {"source": "x", "users": USERS}),
    (FULL.write, {"path": "written.parquet", "items": None}),
    (sm.SampledRanks, {"sampled_ranks": [1, 2], "n_items": 9, "n_negatives": 4, "users": [3, 4]}
     | {"sampling": "distinct", "several_items": False}),
    (as_sampled, {"data": "s.csv", "n_negatives": 4, "n_items": 9, **READ}),
    (SAMPLED.take, {"rows": [0, 1]}),
    (SAMPLED.write, {"path": "written.parquet"}),
    (sm.rank, {"score": lambda users: SCORES[users], "seen": SEEN, "relevant": HELD, "users": USERS}
     | {"items": range(9), "min_relevance": 0, "block_size": 5}),
    (sm.rank, {"score": (SCORES, np.eye(9)), "seen": None, "relevant": SEEN}),
    (sm.evaluate, {"data": SCORES, "confidence": 0.9, **HR, **ALL}),
    (sm.values_by_user, {"data": SCORES, **HR, **ALL}),
    (sm.correct, {"data": [1, 2, 3, 1], **HR, **USED, **DRAWN}),
    (sm.correct, {"data": SCORES, **HR, **USED, **READ, "positive": 0, "n_items": 20}),
    (sm.compare, {"data": {"A": SCORES, "B": -SCORES}, "estimators": None, **HR, **ALL}
     | {"correction": "none", "confidence": 0.9}),
    (sm.compare, {"data": {"A": [1, 2, 3], "B": [1, 1, 2]}, **HR, **USED, **DRAWN}),
    (sm.plan, {"a": [1, 2, 3], "b": [2, 5, 9], "n_items": 9, "n_users": 5, "sizes": [2, 4], **HR}
     | {"sampling": "with-replacement", "shape": "none", "confidence": 0.9}),
    (sm.draw_sampled_ranks, {"ranks": FULL, "m": 3, "seed": np.random.default_rng(0)}
     | {"sampling": "distinct", "ties": "random"}),
    (sm.reported, {"printed": {"HR@1": 0.5}, "n_items": 20, "n_negatives": 9, "n_users": 30, **HR}
     | {"sampling": "distinct", "shape": "none", "confidence": 0.9}),
    (sm.negatives, {"n_negatives": 1, "items": None, "seed": 1, **PAIRS}),
    (sm.check_negatives, {"negatives": {"a": [2], "b": [1]}, "items": None, **PAIRS}),
    (sm.report, {"data": {"A": [1, 2, 3]}, "path": "page.html", "n_items": 9, "shape": "none"}),
    (RESULTS.parts, {"intervals": True}),
    (RESULTS.plot, {"exact": {"hit@1": 0.5}, "axes": None}),
]  # fmt: skip
# `take` selects as numpy does and raises its errors; those of a user's function are the user's.
RAW = {
    ("take", "rows"),
    ("rank", "score"),
    ("evaluate", "data"),
    ("values_by_user", "data"),
}
WORDS = {
    "metrics": "measure",
    "path": "expected",
    "data": "expected",
}  # for an argument, in errors


def raised(function: Any, given: dict[str, Any]) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**given)
        except Exception as error:
            return error
        return None


@pytest.mark.long
def test_errors_name_the_argument(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ranks.csv").write_text("n_candidates,n_better,n_tied\n9,1,0\n")
    Path("s.csv").write_text("user_id,sampled_rank\n1,1\n2,3\n")
    mpl.use("agg")
    n_calls, raw, unnamed = 0, [], []
    for function, valid in CALLS:
        assert raised(function, valid) is None
        for argument in valid:
            for value in WRONG:
                error, n_calls = (
                    raised(function, valid | {argument: value}),
                    n_calls + 1,
                )
                place = function.__name__, argument
                if error is not None and not isinstance(error, sm.InputError):
                    raw.append(place)
                words = (argument.split("_")[0].rstrip("s"), WORDS.get(argument, "!"))
                if error is not None and not any(
                    word in str(error) for word in words
                ):
                    unnamed.append(place)
    print(  # noqa: T201
        f"{len(raw)} of {n_calls} calls end in raw errors, {len(unnamed)} name no argument"
    )
    assert not set(raw) - RAW
    assert len(raw) <= 0.02 * n_calls
    assert len(unnamed) <= 0.03 * n_calls


PRINTED = {"HR@1": 0.5}
PAPER = {"n_items": 20, "n_negatives": 9}
NOBODY = np.full(6, -1)
HOLES = pa.table({"0": [0.5] * 6, "1": [0.3] * 5 + [None]})
BUDGET = {"metrics": "hr@1", "relevant": HELD, "seen": SEEN, "budget": 5.0}


class Model:
    """A class where an object of it, or a method, was meant."""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sm.evaluate(SCORES, relevant=NOBODY), "no user has a relevant item"),
        (lambda: sm.evaluate(sm.Ranks([], [], [])), "no user has a relevant item"),
        (
            lambda: sm.compare({"A": SCORES, "B": SCORES}, relevant=NOBODY),
            "A: no user has",
        ),
        (
            lambda: sm.report({"A": SCORES}, "/dev/null", relevant=NOBODY),
            "A: no user has",
        ),
        (lambda: sm.plan(FULL.take([]), FULL, "auc"), "a: no user has"),
        (lambda: sm.reported({1: 0.5}, **PAPER), "1 is no name of a metric"),
        (lambda: sm.reported({None: 0.5}, **PAPER), "None is no name of a metric"),
        (lambda: sm.reported({("a", "b"): 0.5}, **PAPER), "is no name of a metric"),
        (
            lambda: sm.reported({"HR@1": [0.5, [1]]}, **PAPER),
            "expected a number such as",
        ),
        (lambda: sm.reported(PRINTED, [["HR@1"]], **PAPER), "entry of type list"),
        (lambda: sm.reported(PRINTED, unscored=[0.1], **PAPER), "unscored is"),
        (lambda: sm.reported(PRINTED, unscored={}, **PAPER), "unscored is"),
        (
            lambda: sm.report({"A": SCORES}, "a\0b.html", relevant=HELD),
            "not a valid file name",
        ),
        (
            lambda: sm.report({"A": SCORES}, "x" * 5000, relevant=HELD),
            "File name too long",
        ),
        (lambda: sm.reported(dok_array((2, 2)), **PAPER), "no printed numbers"),
        (
            lambda: sm.evaluate({0: [2]}, relevant=[-(10**12)]),
            "found -1000000000000",
        ),
        (
            lambda: sm.negatives([10**12], [[1]], 1),
            "relevant has an item 1000000000000",
        ),
        (
            lambda: sm.evaluate({1: [2]}, relevant={1: [3]}, seen={1: [2]}),
            "have seen all items",
        ),
        (lambda: sm.evaluate(HOLES, relevant=[0] * 6), "nan"),
        (lambda: sm.evaluate(Model, relevant=HELD), "found type"),
        (lambda: sm.rank(Model, None, [[1]] * 6), "found type"),
        (
            lambda: sm.evaluate_on_budget(Model, **BUDGET),
            "recommender: scores: found type",
        ),
        (
            lambda: sm.evaluate_on_budget(SCORES, proxy=Model, **BUDGET),
            "proxy: scores: found type",
        ),
    ],
)
def test_odd_values_are_named(call, words):
    with pytest.raises(sm.InputError, match=words):
        call()


def test_half_precision_on_a_budget():
    """Scipy has no sparse matrices of it."""
    seen = SEEN.astype(np.float16)
    found = sm.evaluate_on_budget(SCORES, **(BUDGET | {"seen": seen, "budget": 9.0}))
    (value,) = found.to_frame()["value"]
    assert value == sm.evaluate(SCORES, "hr@1", relevant=HELD, seen=SEEN)[0].value


def test_signatures_and_reprs_are_short():
    for public, _ in CALLS[:-2]:  # options of a table's parts depend on the table
        parameters = inspect.signature(public).parameters.values()
        assert all(
            parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters
        )
        assert all(
            parameter.default == 0
            for parameter in parameters
            if parameter.name == "seed"
        )
        assert len(str(inspect.signature(public))) <= 600
    ones, ids = np.ones(6000, int), np.arange(6000).astype(str)
    assert len(repr(sm.SampledRanks(ones, 9, 2, users=ids))) < 300
    assert len(repr(sm.Ranks(8 + ones, ones, 0 * ones))) < 300


class TestCommands:
    @pytest.fixture(autouse=True)
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("e\x1b[31m.csv").write_text("user_id,rank\n1,1\n2,3\n")
        Path("h.csv").write_text("user_id,rank\n1,x1\n2,3\n")
        for name, pairs in (
            ("held", "a,1\nb,2\n"),
            ("seen", "a,3\nb,3\n"),
            ("drawn", "a,2\nb,2\n"),
        ):
            Path(f"{name}.csv").write_text(f"user_id,item_id\n{pairs}")

    def test_negatives_in_python_and_as_commands(self, run):
        held, seen = {"a": [1], "b": [2]}, {"a": [3], "b": [3]}
        checks = sm.check_negatives({"a": [2], "b": [2]}, held, seen)
        done = run(
            "check-negatives",
            "drawn.csv",
            "--relevant",
            "held.csv",
            "--seen",
            "seen.csv",
            "--explain",
        )
        assert (done.returncode, done.stdout) == (1, f"{checks}\n")
        done = run(
            "negatives", "--relevant=held.csv", "--seen=seen.csv", "--n-negatives=1"
        )
        assert done.stdout == sm.negatives(held, seen, 1).to_csv(index=False)

    def test_page_of_a_small_catalogue(self, run):
        assert (
            run(
                "report", "e\x1b[31m.csv", "--n-items=3", "--output=a.html"
            ).returncode
            == 0
        )
        sm.report({"e\x1b[31m": [1, 3]}, "b.html", n_items=3)
        assert Path("a.html").read_text() == Path("b.html").read_text()

    @pytest.mark.parametrize(
        "arguments",
        [
            ("evaluate", "held.csv", "--output=x.xlsx"),
            ("report", "held.csv", "--output=x.csv"),
            ("evaluate", "h.csv", "--n-items=9"),
            (
                "evaluate",
                "e\x1b[31m.csv",
                "--n-items=9",
                "--output=/proc/no/folder/x.csv",
            ),
            ("sample", "h.csv", "--n-negatives=1", "--repetitions=100000000"),
            (
                "sample",
                "e\x1b[31m.csv",
                "--n-items=999999999",
                "--n-negatives=99999999",
            ),
        ],
    )
    def test_refused(self, refused, arguments):
        assert "\x1b" not in refused(*arguments)
        assert not list(Path().glob("x.*"))

    def test_tables_show_no_escapes(self, run):
        shown = run("evaluate", "e\x1b[31m.csv", "--n-items=9").stdout
        assert "e\\x1b[31m.csv" in shown
        assert "\x1b" not in shown
