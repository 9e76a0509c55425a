"""Wrong arguments are refused in a short line that names the argument."""

import datetime
import inspect
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics.read.options import as_ranks, as_sampled_ranks
from tests.helpers.results import refusal_message

warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix
SCORES = np.random.default_rng(0).random((6, 9))
HELD = list(range(6))
SEEN = np.eye(6, 9, 2, bool)
FULL = sm.Ranks([9] * 6, [0, 2, 5, 1, 0, 3], [0] * 6)
SAMPLED = sm.SampledRanks([1, 2, 3, 1, 1, 2], 9, 4)
RESULTS, USERS = sm.correct(SAMPLED, "hr@1", "sampled"), np.arange(6)
# Each of these is given in the place of each argument.
WRONG: list[Any] = [
    None, -1, 0, 1.5, 10**30, -(10**30), True, 1j, "x", "", "0x10", b"x", np.nan, np.inf,
    [], {}, (), {1}, [None], ["a"], [1, 2], [[1], [1, 2]], [[[1.0]]], [10**30], {"a": 1},
    object(), int, lambda *_: 0, (x for x in "ab"), datetime.date(2020, 1, 1), Path("no.csv"),
    Path(), np.zeros(0), np.zeros((0, 9)), np.zeros((6, 0)), np.array(["a"] * 6), np.array(3),
    np.matrix([[1.0, 2.0], [3.0, 4.0]]), np.matrix([[1, 2, 1, 1, 2, 2]]), np.ones((2, 2)),
    np.array([None, 1, "a", 2.5, (), {}], object), np.array(["2020-01-01"], "datetime64[D]"),
    np.full((6, 9), np.nan), np.full(6, 1j), np.zeros(6, [("a", "i8"), ("b", "f8")]),
    np.ma.masked_array(np.ones(6), [1, 0, 0, 0, 0, 0]), np.full(6, 1 << 63, np.uint64),
    csr_array(np.ones((2, 2))), pd.DataFrame({"a": [1, 2]}), pd.DataFrame(), pd.Series([1, 2]),
]  # fmt: skip

# Options of full and of sampled data, with which the calls below work.
FULL_DATA: dict[str, Any] = {
    "n_items": None, "relevant": HELD, "seen": SEEN, "min_relevance": 0, "complete": False,
    "ties": "random", "seed": 1,
}  # fmt: skip
SAMPLE_DATA: dict[str, Any] = {
    "n_items": 9, "n_negatives": 4, "sampling": "distinct", "positive": None, "shape": "none",
    "confidence": 0.9,
}  # fmt: skip
UNUSED: dict[str, Any] = {
    "sampling": None, "relevant": None, "positive": None, "ties": "random", "seed": 0,
}  # fmt: skip
PAIRS = {"relevant": {"a": [1], "b": [2]}, "seen": {"a": [3], "b": [3]}}
METRIC, ESTIMATOR = {"metrics": "hr@1"}, {"estimators": "sampled"}
# Functions with valid arguments; a test replaces each argument in turn.
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
    (as_sampled_ranks, {"data": "s.csv", "n_negatives": 4, "n_items": 9, **UNUSED}),
    (SAMPLED.take, {"rows": [0, 1]}),
    (SAMPLED.write, {"path": "written.parquet"}),
    (sm.rank, {"score": lambda users: SCORES[users], "seen": SEEN, "relevant": HELD, "users": USERS}
     | {"items": range(9), "min_relevance": 0, "block_size": 5}),
    (sm.rank, {"score": (SCORES, np.eye(9)), "seen": None, "relevant": SEEN}),
    (sm.evaluate, {"data": SCORES, "confidence": 0.9, **METRIC, **FULL_DATA}),
    (sm.values_by_user, {"data": SCORES, **METRIC, **FULL_DATA}),
    (sm.correct, {"data": [1, 2, 3, 1], **METRIC, **ESTIMATOR, **SAMPLE_DATA}),
    (sm.correct, {"data": SCORES, **METRIC, **ESTIMATOR, **UNUSED, "positive": 0, "n_items": 20}),
    (sm.compare, {"data": {"A": SCORES, "B": -SCORES}, "estimators": None, **METRIC, **FULL_DATA}
     | {"correction": "none", "confidence": 0.9}),
    (sm.compare, {"data": {"A": [1, 2, 3], "B": [1, 1, 2]}, **METRIC, **ESTIMATOR, **SAMPLE_DATA}),
    (sm.plan, {"a": [1, 2, 3], "b": [2, 5, 9], "n_items": 9, "n_users": 5, "sizes": [2, 4]}
     | {**METRIC, "sampling": "with-replacement", "shape": "none", "confidence": 0.9}),
    (sm.draw_sampled_ranks, {"ranks": FULL, "m": 3, "seed": np.random.default_rng(0)}
     | {"sampling": "distinct", "ties": "random"}),
    (sm.reported, {"printed": {"HR@1": 0.5}, "n_items": 20, "n_negatives": 9, "n_users": 30}
     | {**METRIC, "sampling": "distinct", "shape": "none", "confidence": 0.9}),
    (sm.negatives, {"n_negatives": 1, "items": None, "seed": 1, **PAIRS}),
    (sm.check_negatives, {"negatives": {"a": [2], "b": [1]}, "items": None, **PAIRS}),
    (sm.report, {"data": {"A": [1, 2, 3]}, "path": "page.html", "n_items": 9, "shape": "none"}),
    (RESULTS.parts, {"intervals": True}),
    (RESULTS.plot, {"exact": {"hit@1": 0.5}, "axes": None}),
]  # fmt: skip
# `take` raises the errors of numpy, and functions raise the errors of their author.
RAISES_OTHER_ERRORS = {
    ("take", "rows"), ("rank", "score"), ("evaluate", "data"), ("values_by_user", "data"),
}  # fmt: skip
# words that stand for an argument in messages
KEYWORDS = {"metrics": "measure", "path": "expected", "data": "expected"}


def caught_error(function: Any, arguments: dict[str, Any]) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**arguments)
        except Exception as error:
            return error
        return None


@pytest.mark.long
def test_wrong_argument_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ranks.csv").write_text("n_candidates,n_better,n_tied\n9,1,0\n")
    Path("s.csv").write_text("user_id,sampled_rank\n1,1\n2,3\n")
    mpl.use("agg")
    n_calls, raw, unnamed = 0, [], []
    for function, valid in CALLS:
        assert caught_error(function, valid) is None
        for argument in valid:
            words = argument.split("_")[0].rstrip("s"), KEYWORDS.get(argument, "!")
            for value in WRONG:
                n_calls += 1
                error = caught_error(function, valid | {argument: value})
                if error is None:
                    continue
                if not isinstance(error, InputError):
                    raw.append((function.__name__, argument))
                if not any(word in str(error) for word in words):
                    unnamed.append((function.__name__, argument))
    assert not set(raw) - RAISES_OTHER_ERRORS
    assert len(raw) <= 0.02 * n_calls, raw
    assert len(unnamed) <= 0.03 * n_calls, unnamed


# Long values, and names in messages

BUDGET = {"metrics": "hr@1", "relevant": HELD, "seen": SEEN, "budget": 5.0}
RNG = np.random.default_rng(0)
RANDOM_SCORES = RNG.random((40, 30))
RANDOM_ITEMS = RNG.integers(0, 30, 40)
RANDOM_RANKS = RNG.integers(1, 11, 40)
NINE_NEGATIVES = {"n_items": 30, "n_negatives": 9}
LONG_TEXT, LONG_LIST = "x" * 10**6, list(range(10**6))
MANY_COLUMNS = pd.DataFrame({f"user {number}": ["a"] for number in range(1_000)})


def correction(*arguments, **options):
    return lambda: sm.correct(RANDOM_RANKS, *arguments, **NINE_NEGATIVES, **options)


LONG_VALUES = {
    "list": lambda: sm.evaluate(RANDOM_ITEMS + 1, n_items=LONG_LIST),
    "page": lambda: sm.report({"A": SCORES}, "x" * 5000, relevant=HELD),
    "seed": correction(seed=LONG_LIST),
    "metric": lambda: sm.evaluate(RANDOM_ITEMS + 1, LONG_TEXT, n_items=30),
    "estimator": correction("hit@5", LONG_TEXT),
    "ties": lambda: sm.evaluate(RANDOM_ITEMS + 1, n_items=30, ties=LONG_TEXT),
    "sampling": correction(sampling=LONG_TEXT),
    "shape": correction(shape=LONG_TEXT),
    "file": lambda: sm.evaluate(LONG_TEXT),
    "digits": correction(seed=-(10**5000)),
    "confidence": correction(confidence=10**5000),
    "printed": lambda: sm.reported({"hit@1": LONG_TEXT}, **NINE_NEGATIVES),
    "columns": lambda: sm.Ranks.from_table(MANY_COLUMNS),
}


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("call", LONG_VALUES.values(), ids=LONG_VALUES)
def test_long_value_is_cut_in_the_message(call):
    with pytest.raises(InputError) as refused:
        call()
    assert 10 < len(str(refused.value)) <= 2000


@pytest.mark.parametrize(
    ("value", "expected"),
    [("HR@10", "'HR@10'"), (2.5, "2.5"), (None, "None"), ([1, 2], "[1, 2]")],
)
def test_short_value_is_shown_whole(value, expected):
    assert format_value(value) == expected


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_budget_error_names_only_named_recommenders():
    def score_of_wrong_shape(users, _items):
        return np.zeros((len(users), 1))

    options = {"relevant": RANDOM_ITEMS, "seen": np.zeros((40, 30)), "budget": 29}
    with pytest.raises(InputError, match=r"^result of recommender has shape"):
        sm.evaluate_on_budget(score_of_wrong_shape, "hit@5", **options)
    with pytest.raises(InputError, match=r"^b: result of recommender has shape"):
        sm.evaluate_on_budget({"a": RANDOM_SCORES, "b": score_of_wrong_shape}, "hit@5", **options)


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_number_is_a_name_of_a_recommender():
    (result,) = sm.compare({1: RANDOM_SCORES, 2: -RANDOM_SCORES}, "hit@5", relevant=RANDOM_ITEMS)
    assert (result.a, result.b) == ("1", "2")


def test_half_precision_seen_items_on_a_budget_are_exact():
    """SciPy has no sparse matrices of half precision."""
    seen = SEEN.astype(np.float16)
    results = sm.evaluate_on_budget(SCORES, **(BUDGET | {"seen": seen, "budget": 9.0}))
    (value,) = results.to_frame()["value"]
    assert value == sm.evaluate(SCORES, "hr@1", relevant=HELD, seen=SEEN)[0].value


def test_signatures_and_reprs_are_short():
    for public, _ in CALLS[:-2]:  # `parts` takes further options
        if public in (as_ranks, as_sampled_ranks):  # shorthands of `Reading`
            continue
        signature = inspect.signature(public)
        for parameter in signature.parameters.values():
            assert parameter.kind is not parameter.VAR_KEYWORD
            assert parameter.name != "seed" or parameter.default == 0
        assert len(str(signature)) <= 700
    ones, ids = np.ones(6000, int), np.arange(6000).astype(str)
    assert len(repr(sm.SampledRanks(ones, 9, 2, users=ids))) < 300
    assert len(repr(sm.Ranks(8 + ones, ones, 0 * ones))) < 300


def test_report_never_overwrites_data(tmp_path):
    ranks = tmp_path / "r.csv"
    ranks.write_text("rank\n3\n1\n")
    before = ranks.read_text()
    for path in (ranks, tmp_path / "model.py", tmp_path / "s.npy"):
        assert "suffix" in refusal_message(sm.report, {"A": ranks}, path, n_items=90)
    page = tmp_path / "r.html"
    page.write_text(before)
    assert "written" in refusal_message(sm.report, {"A": page}, page, n_items=90)
    assert ranks.read_text() == page.read_text() == before


# Commands


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e\x1b[31m.csv").write_text("user_id,rank\n1,1\n2,3\n")
    Path("h.csv").write_text("user_id,rank\n1,x1\n2,3\n")
    Path("held.csv").write_text("user_id,item_id\na,1\nb,2\n")
    Path("seen.csv").write_text("user_id,item_id\na,3\nb,3\n")
    Path("negatives.csv").write_text("user_id,item_id\na,2\nb,2\n")


@pytest.mark.usefixtures("files")
def test_commands_of_negatives_print_what_functions_return(run):
    held_out, seen = {"a": [1], "b": [2]}, {"a": [3], "b": [3]}
    options = ("--relevant=held.csv", "--seen=seen.csv")
    checks = sm.check_negatives({"a": [2], "b": [2]}, held_out, seen)
    done = run("check-negatives", "negatives.csv", *options, "--explain")
    table, _, _ = str(checks).rpartition("\n\n")
    assert done.returncode == 1
    assert done.stdout == f"{table}\n\n{checks.explain()}\n"
    done = run("negatives", *options, "--n-negatives=1")
    assert done.stdout == sm.negatives(held_out, seen, 1).to_csv(index=False)


@pytest.mark.usefixtures("files")
def test_report_command_writes_what_function_writes(run):
    done = run("report", "e\x1b[31m.csv", "--n-items=3", "--output=a.html")
    assert done.returncode == 0
    sm.report({"e\x1b[31m": [1, 3]}, "b.html", n_items=3)
    assert Path("a.html").read_text() == Path("b.html").read_text()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "held.csv", "--output=x.xlsx"),
        ("report", "held.csv", "--output=x.csv"),
        ("evaluate", "h.csv", "--n-items=9"),
        ("evaluate", "e\x1b[31m.csv", "--n-items=9", "--output=/proc/no/folder/x.csv"),
        ("sample", "h.csv", "--n-negatives=1", "--repetitions=100000000"),
        ("sample", "e\x1b[31m.csv", "--n-items=999999999", "--n-negatives=99999999"),
    ],
)  # fmt: skip
def test_wrong_file_is_refused_without_output(refusal_line, arguments):
    assert "\x1b" not in refusal_line(*arguments)
    assert not list(Path().glob("x.*"))


@pytest.mark.usefixtures("files")
def test_table_escapes_control_characters(run):
    shown = run("evaluate", "e\x1b[31m.csv", "--n-items=9").stdout
    assert "e\\x1b[31m.csv" in shown
    assert "\x1b" not in shown
