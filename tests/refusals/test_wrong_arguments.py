"""Refusals show long values in a short line, and name what their caller has named.

Data and values that are named here and not defined are those of tests/helpers/world.py.
tests/robustness tries wrong values for all arguments.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.cases import (
    Call,
    Case,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
)
from tests.helpers.results import refusal_message
from tests.helpers.world import HELD, RR, SCORES

LONG_TEXT, LONG_LIST = "x" * 10**6, list(range(10**6))
MANY_COLUMNS = pd.DataFrame({f"user {number}": ["a"] for number in range(1_000)})
SEEN = np.zeros((2, 3))


def sampled_ranks(**options: Any) -> Call:
    return correct([2, 3], n_negatives=2, **options)


def on_budget(recommender: Any, seen: Any = SEEN) -> Call:
    """Return the value of a budget that pays for all scores."""
    options = {"relevant": HELD, "seen": seen, "budget": 3}
    call = call_of(sm.evaluate_on_budget, recommender, "rr", **options)
    return call._replace(value=lambda result: result.estimates[0][0].value)


def one_column(users: Any, _items: Any) -> np.ndarray:
    return np.zeros((len(users), 1))


CASES = [
    Case("long list", evaluate([2, 3], n_items=LONG_LIST), "n_items", {"n_items": 3}, RR),
    Case("long seed", sampled_ranks(seed=LONG_LIST), "seed"),
    Case("long metric", evaluate([2, 3], LONG_TEXT, n_items=3), "measure", {"metrics": "rr"}, RR),
    Case("long estimator", sampled_ranks(estimators=LONG_TEXT), "unknown estimator"),
    Case("long ties", evaluate([2, 3], n_items=3, ties=LONG_TEXT), "tie policy"),
    Case("long sampling", sampled_ranks(sampling=LONG_TEXT), "sampling"),
    Case("long shape", sampled_ranks(shape=LONG_TEXT), "shape"),
    Case("many digits", sampled_ranks(seed=-(10**5000)), "seed"),
    Case("many digits of a float", sampled_ranks(confidence=10**5000), "confidence"),
    Case("long printed number", call_of(sm.reported, {"hit@1": LONG_TEXT}, n_items=30,
         n_negatives=9), "hit@1"),
    Case("short text", sampled_ranks(estimators="X"), "'x'"),
    Case("short list", sampled_ranks(seed=[1, 2]), r"\[1, 2\]"),
    # names
    Case("the only recommender", on_budget(one_column), "^result of recommender .*shape",
         {"recommender": SCORES}, RR),
    Case("the second recommender", on_budget({"a": SCORES, "b": one_column}),
         "^b: result of recommender .*shape", {"recommender": {"a": SCORES}}, RR),
    Case("number as a name", call_of(sm.compare, {1: SCORES, 2: -SCORES}, "rr", relevant=HELD)
             ._replace(value=lambda results: [int(results[0].a), int(results[0].b)]), [1, 2]),
    # SciPy has no sparse matrices of half precision
    Case("seen items in half precision", on_budget(SCORES, np.array([[0, 1, 0]] * 2, "f2")),
         (1 / 1 + 1 / 2) / 2),
]  # fmt: skip


@each_case(CASES)
def test_wrong_argument_is_refused_in_a_short_line_that_names_it(case: Case) -> None:
    assert_ends_as_expected(case)


@pytest.mark.parametrize(
    "call",
    [
        call_of(sm.report, {"A": SCORES}, "x" * 5000, relevant=HELD),
        evaluate(LONG_TEXT),
        call_of(sm.Ranks.from_table, MANY_COLUMNS),
    ],
    ids=["page", "file", "columns"],
)
def test_long_name_is_cut_in_the_message(call: Call) -> None:
    assert len(refusal_message(call)) <= 2000


ONES, IDS = np.ones(6000, int), np.arange(6000).astype(str)


@pytest.mark.parametrize(
    "records",
    [sm.SampledRanks(ONES, 9, 2, users=IDS), sm.Ranks(9 * ONES, ONES, 0 * ONES)],
    ids=["sampled", "full"],
)
def test_ranks_of_6000_users_are_printed_in_300_characters(records: Any) -> None:
    assert len(repr(records)) < 300


RANKS_TEXT = "rank\n3\n1\n"


@pytest.mark.parametrize("name", ["r.csv", "model.py", "s.npy"])
def test_page_with_the_suffix_of_other_files_is_refused(tmp_path: Path, name: str) -> None:
    ranks = tmp_path / "r.csv"
    ranks.write_text(RANKS_TEXT)
    assert "suffix" in refusal_message(sm.report, {"A": ranks}, tmp_path / name, n_items=90)
    assert ranks.read_text() == RANKS_TEXT


def test_page_never_overwrites_the_data_that_it_shows(tmp_path: Path) -> None:
    ranks = tmp_path / "r.html"
    ranks.write_text(RANKS_TEXT)
    assert "written" in refusal_message(sm.report, {"A": ranks}, ranks, n_items=90)
    assert ranks.read_text() == RANKS_TEXT


# Commands


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("e\x1b[31m.csv").write_text("user_id,rank\n1,1\n2,3\n")
    Path("h.csv").write_text("user_id,rank\n1,x1\n2,3\n")
    Path("held.csv").write_text("user_id,item_id\na,1\nb,2\n")
    Path("seen.csv").write_text("user_id,item_id\na,3\nb,3\n")
    Path("negatives.csv").write_text("user_id,item_id\na,2\nb,2\n")


HELD_OUT_AND_SEEN = {"a": [1], "b": [2]}, {"a": [3], "b": [3]}
NEGATIVE_FILES = ("--relevant=held.csv", "--seen=seen.csv")


@pytest.mark.usefixtures("files")
def test_check_negatives_prints_what_the_function_returns(run):
    checks = sm.check_negatives({"a": [2], "b": [2]}, *HELD_OUT_AND_SEEN)
    done = run("check-negatives", "negatives.csv", *NEGATIVE_FILES, "--explain")
    table, _, _ = str(checks).rpartition("\n\n")
    assert done.stdout == f"{table}\n\n{checks.explain()}\n"
    assert done.returncode == 1


@pytest.mark.usefixtures("files")
def test_negatives_prints_what_the_function_returns(run):
    done = run("negatives", *NEGATIVE_FILES, "--n-negatives=1")
    assert done.stdout == sm.negatives(*HELD_OUT_AND_SEEN, 1).to_csv(index=False)


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
