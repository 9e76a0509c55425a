"""The table of tests that are to notice mutants is complete, and samples are of all rooms."""

import ast

import pytest

from tests.conftest import ROOT
from tests.mutants.__main__ import PACKAGE, request_for, room_of, table, table_of_tests

SOURCE = ROOT / PACKAGE
TESTS = table_of_tests()
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def modules_with_functions():
    """Modules below the rooms that define a function; what only imports has nothing to change."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        if module != "__init__.py" and any(isinstance(x, FUNCTIONS) for x in ast.walk(tree)):
            yield module


def test_every_module_with_functions_has_a_row():
    assert sorted(TESTS) == sorted(modules_with_functions()), "tests/mutants/tests.tsv"
    assert len(table("tests.tsv")) == len(TESTS)


@pytest.mark.parametrize("module", TESTS)
def test_the_tests_of_a_module_exist(module):
    assert TESTS[module]
    assert [name for name in TESTS[module] if not (ROOT / "tests" / name).is_file()] == []


@pytest.mark.parametrize("row", table("equivalent.tsv"), ids=lambda row: row["module"])
def test_what_is_known_to_change_nothing_is_still_there(row):
    """A row whose lines have gone is to be removed."""
    lines = (SOURCE / row["module"]).read_text("utf-8").split("\n")
    joined = " ".join(line.strip() for line in lines)
    assert row["before"] in joined
    assert row["after"] not in ("", row["before"])
    assert row["reason"]


def test_a_sample_is_spread_over_the_rooms():
    rooms = request_for(list(TESTS), 160)["rooms"]
    counts = [asked["count"] for asked in rooms.values()]
    assert sum(counts) == 160
    assert max(counts) - min(counts) <= 1
    drawn_from = [module for asked in rooms.values() for module in asked["modules"]]
    assert sorted(drawn_from) == sorted(TESTS)
    assert room_of("tables.py") == "tables"
    assert room_of("study/datasets/split.py") == "study"
