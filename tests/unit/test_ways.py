"""Every documented way to run the project has a row in tests/ways/ways.tsv that says what runs it.

`run by` is a test; `make ways`, for the targets that it lists; or `.ci/run: COMMAND`, for what that
file runs.
"""

import ast
import csv
import re

import pytest

from tests.conftest import ROOT
from tests.ways.documented import TARGET, documented, of_document

with (ROOT / "tests/ways/ways.tsv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_way_has_one_row():
    rows = [(row["place"], row["way"]) for row in ROWS]
    ways = documented()
    assert [way for way in ways if way not in rows] == [], "add what runs these"
    assert [row for row in rows if row not in ways] == [], "no document offers these"
    assert len(rows) == len(set(rows))


def test_ways_that_the_tests_leave_out_are_targets_and_no_target_is_a_file():
    targets = TARGET.findall(MAKEFILE)
    assert set(listed("WAYS \\?= ")) <= set(targets)
    assert set(listed(r"\.PHONY: ")) == set(targets)


def listed(head):
    """Words of a line of the Makefile that begins so."""
    return re.search(rf"(?m)^{head}(.*)$", MAKEFILE)[1].split()


def runs(row):
    """Whether what a row names exists."""
    by, way = row["run by"], row["way"]
    if by == "make ways":
        return way == "ways" or way.removeprefix("make ").split()[0] in listed(
            "WAYS \\?= "
        )
    if by.startswith(".ci/run: "):
        command = re.escape(by.removeprefix(".ci/run: "))
        return (
            re.search(rf"{command}(\s|$)", (ROOT / ".ci/run").read_text("utf-8"))
            is not None
        )
    path, _, name = by.partition("::")
    if not (ROOT / path).is_file():
        return False
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    tests = [
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    return name.startswith("test_") and name in tests


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['place']}: {row['way']}")
def test_what_runs_a_way_exists(row):
    assert runs(row)


@pytest.mark.parametrize(
    ("way", "by"),
    [
        ("make reference", "make ways"),
        ("make test", ".ci/run: make all"),
        ("make test", ".ci/run: make te"),
        ("make test", "tests/unit/test_ways.py::test_that_is_not_there"),
        ("make test", "tests/unit/test_no.py::test_what_runs_a_way_exists"),
        ("make test", "tests/unit/test_ways.py::runs"),
    ],
)
def test_what_runs_nothing_is_noticed(way, by):
    assert not runs({"way": way, "run by": by})


def test_one_of_two_targets_runs_each_test():
    """Continuous integration runs both targets."""
    assert re.findall(r"(?m)^\tpytest\b(.*)$", MAKEFILE) == [
        ' -m "not long"',
        " -m long",
    ]


def test_ways_are_read_from_blocks_and_sentences():
    text = (
        "Say `make all` or `snakemake old` of commit abc, not `other`.\n"
        "```sh\nmake one \\\n  TWO=2  # three\n\n```\n"
        "```console\n$ sampled-metrics \\\n    x | head\nprinted\n$ make b\n```\n"
        "```python\nimport a\nmake = 1\n```\n```text\nmake no\n```\n"
    )
    expected = [
        "make one TWO=2",
        "sampled-metrics x | head",
        "make b",
        "python: import a",
    ]
    assert list(of_document(text)) == [*expected, "make all"]
