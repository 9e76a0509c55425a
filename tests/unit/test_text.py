"""Tables of names and numbers are those of tabulate, which is imported for others only."""

import math
import random

import pytest
from tabulate import tabulate

from sampled_metrics._base.errors import InputError, flag, one_line, reading
from sampled_metrics._base.text import html_of, plain, table_of, text_of

WORDS = (
    *("x", "a b ", "", "-", "0.12", "recall@10", " lead", "12", "1,000", "nan", "A" * 12),
    *("Ü", "漢字"),
)
VALUES = {
    str: WORDS,
    int: (0, 1, -22, 6040, 10**9),
    float: (0.0, -1e-9, 0.123456789, 12.5, 1e10, math.nan, math.inf, -3.25),
    bool: (True, False),
}


def by_tabulate(rows):
    keys = list(rows[0])
    texts = {key for row in rows for key, value in row.items() if isinstance(value, str)}
    counts = ["," if key.startswith("n_") else "" for key in keys]
    names = [i for i, key in enumerate(keys) if key in texts and not counts[i]]
    cells = []
    for row in rows:
        stripped = {k: v.strip() if isinstance(v, str) else v for k, v in row.items()}
        absent = [k for k, v in row.items() if isinstance(v, float) and math.isnan(v)]
        cells.append(stripped | dict.fromkeys(absent))
    laid_out = tabulate(
        *(cells, "keys", "simple", ".5f", counts), missingval="-", disable_numparse=names
    )
    return laid_out + "\n"


@pytest.mark.parametrize("seed", range(300))
def test_tables_are_those_of_tabulate(seed):
    rng = random.Random(seed)  # noqa: S311
    kinds = rng.choices(list(VALUES), [3, 3, 3, 1], k=rng.randint(1, 5))
    names = [rng.choice(["", "metric", "n_users", "n_", "b - a (95 %)"]) + str(i) * (i > 0)
             for i in range(len(kinds))]  # fmt: skip
    rows = [
        {
            name: None if rng.random() < 0.2 else rng.choice(VALUES[kind])
            for name, kind in zip(names, kinds, strict=True)
        }
        for _ in range(rng.randint(1, 5))
    ]
    assert table_of(rows) == by_tabulate(rows)


def test_letters_that_are_two_places_wide():
    rows = [{"": "漢字漢字"}, {"": "x"}]
    assert table_of(rows) == by_tabulate(rows)
    assert [len(line) for line in table_of([{"": "abcd"}, {"": "x"}]).splitlines()] == [0, 4, 4, 1]


def test_a_table_has_no_rows_and_cells_have_one_line():
    assert table_of([]) == "\n"
    lines = table_of([{"a": "x\n  y", "b": 1}, {"a": "\x1b[2J", "b": 22}]).splitlines()
    assert [line.split() for line in lines[2:]] == [["x", "y", "1"], ["\\x1b[2J", "22"]]
    rows = [{"a": math.nan, "b": math.inf, "c": "nan", "d": 1.5}]
    assert plain(rows) == [{"a": None, "b": math.inf, "c": "nan", "d": 1.5}]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b", "a b"),
        ("a \r\n\t b\rc", "a b c"),
        ("a  b", "a  b"),
        ("\x1b[2J\u200bü漢", "\\x1b[2J\\u200bü漢"),
        ("\t", "\\t"),
    ],
)
def test_lines_that_can_be_printed(text, line):
    assert one_line(text) == line


@pytest.mark.parametrize(("columns", "width"), [(10, 40), (40, 40), (41, 41), (60, 60)])
def test_lines_are_wrapped_at_the_width_of_the_terminal(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", str(columns))
    fits = "x" * 30 + " " + "y" * (width - 31)
    assert text_of([fits]) == f"{fits}\n"
    assert text_of([f"{fits}y"]) == "x" * 30 + "\n  " + "y" * (width - 30) + "\n"
    # a word is never cut, 95 % stays together, and lines of their own stay so
    assert text_of(["z" * 70]) == "z" * 70 + "\n"
    assert text_of(["w" * (width - 3) + " 95 % b"]) == "w" * (width - 3) + "\n  95 % b\n"
    rows = [{"a": 1}]
    assert text_of(["p\nq", rows, "r"]) == f"p\nq\n\n{table_of(rows)}\nr\n"


def test_lines_and_tables_as_html():
    html = html_of(["a < b\n  and c\nd", [{"x": "<b>"}]])
    assert html.startswith("<p>a &lt; b and c<br>d</p><table>")
    assert "&lt;b&gt;" in html
    assert html_of(["run `a <b>`"]) == "<p>run <code>a &lt;b&gt;</code></p>"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, "wrong"),
        ({"path": "X.csv"}, "X.csv: wrong"),
        ({"path": "X", "row": 3, "line": 4, "column": "b"}, "X, row 3 (line 4), column b: wrong"),
        ({"line": 4}, "line 4: wrong"),
        ({"row": 3}, "row 3: wrong"),
        ({"column": "b", "row": 3}, "row 3, column b: wrong"),
        ({"path": "a\nb", "line": 5}, "a b, line 5: wrong"),
    ],
)  # fmt: skip
def test_errors_begin_with_their_place(place, expected):
    assert str(InputError("wrong", **place)) == expected


def test_the_innermost_file_is_named():
    with pytest.raises(InputError) as caught, reading("outer"), reading("inner"):
        raise InputError("wrong")
    assert caught.value.path == "inner"
    with pytest.raises(InputError) as caught, reading("outer"), reading(7):
        raise InputError("wrong")
    assert caught.value.path == "outer"
    assert flag("n_items") == "--n-items"
