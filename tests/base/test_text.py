"""Tables and lines: sides of columns, digits, width, explanations and bold orders."""

import math
import re

import pytest

from sampled_metrics._base.errors import InputError, cli_option, one_line, reading
from sampled_metrics._base.text import (
    Bold,
    Explanation,
    RightAligned,
    format_html,
    format_number,
    format_range,
    format_table,
    format_text,
    nan_to_none,
)


def test_numbers_and_ranges_are_on_the_right_and_points_below_each_other():
    rows = [
        {
            "name": "12",
            "n_users": 6040,
            "value": 0.20748,
            "range": RightAligned("0.1 to 0.25"),
        },
        {"name": "abcdef", "n_users": 1, "value": None, "range": RightAligned()},
        {
            "name": "",
            "n_users": -22,
            "value": 12.5,
            "range": RightAligned("-0.001 to 1"),
        },
    ]
    assert format_table(rows).splitlines() == [
        "name      n_users    value        range",
        "------  ---------  -------  -----------",
        "12          6,040    0.207  0.1 to 0.25",
        "abcdef          1    -",
        "              -22   12.5    -0.001 to 1",
    ]


def test_wide_letters_take_two_columns():
    pytest.importorskip("wcwidth")
    rows = [{"name": "漢", "n": 1}, {"name": "a", "n": 2}]
    _, _, wide, narrow = format_table(rows).splitlines()
    assert wide.index("1") == narrow.index("2") - 1


@pytest.mark.parametrize("exponent", range(-7, 9))
@pytest.mark.parametrize("leading", [1.0, 1.005, 4.44, 9.994, 9.996])
def test_three_significant_digits(exponent, leading):
    value = leading * 10.0**exponent
    for sign in (1, -1):
        shown = format_number(sign * value)
        assert float(shown) == pytest.approx(sign * value, rel=0.00501)
        if value < 1000:
            kept = shown.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
            assert 3 <= len(kept) <= 4, shown


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.1301, 0.37651, "0.130 to 0.377"),
        (0.0, 0.902, "0.000 to 0.902"),
        (0.0868, 0.1016, "0.087 to 0.102"),
        (-0.00043, 0.01203, "-0.0004 to 0.0120"),
        (0.00461, 0.01731, "0.0046 to 0.0173"),
        (0.891301, 0.891699, "0.8913 to 0.8917"),
        (0.5, 0.5, "0.500 to 0.500"),
        (0.0, 0.0, "0.000 to 0.000"),
    ],
)
def test_both_ends_have_the_same_decimals(low, high, text):
    assert format_range(low, high) == text


def test_orders_are_bold_on_a_terminal_only():
    rows = [{"order": Bold("A above B"), "p": "x"}, {"order": "undecided", "p": "y"}]
    assert "\x1b" not in format_table(rows) + format_text([rows])
    bold = format_table(rows, bold=True)
    assert bold.count("\x1b[1mA above B\x1b[0m") == 1
    assert re.sub(r"\x1b\[\dm", "", bold) == format_table(rows)


def test_explanations_are_left_out_and_a_line_says_so():
    parts = [[{"a": 1}], "fact", Explanation("how to read it")]
    assert "how to read it" in format_text(parts)
    short = format_text(parts, instead="--explain says how to read this.")
    assert "how to read it" not in short
    assert short.endswith("fact\n\n--explain says how to read this.\n")
    assert format_text(parts[:2], instead="x") == format_text(parts[:2])


def test_a_table_has_no_rows_and_cells_have_one_line():
    assert format_table([]) == "\n"
    lines = format_table(
        [{"a": "x\n  y", "b": 1}, {"a": "\x1b[2J", "b": 22}]
    ).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["x", "y", "1"],
        ["\\x1b[2J", "22"],
    ]
    rows = [{"a": math.nan, "b": math.inf, "c": "nan", "d": 1.5}]
    assert nan_to_none(rows) == [{"a": None, "b": math.inf, "c": "nan", "d": 1.5}]


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


@pytest.mark.parametrize(
    ("columns", "width"), [(10, 40), (40, 40), (41, 41), (60, 60)]
)
def test_lines_are_wrapped_at_the_width_of_the_terminal(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", str(columns))
    fits = "x" * 30 + " " + "y" * (width - 31)
    assert format_text([fits]) == f"{fits}\n"
    assert format_text([f"{fits}y"]) == "x" * 30 + "\n  " + "y" * (width - 30) + "\n"
    # a word is never cut, 95 % stays together, and lines of their own stay so
    assert format_text(["z" * 70]) == "z" * 70 + "\n"
    assert (
        format_text(["w" * (width - 3) + " 95 % b"])
        == "w" * (width - 3) + "\n  95 % b\n"
    )
    rows = [{"a": 1}]
    assert format_text(["p\nq", rows, "r"]) == f"p\nq\n\n{format_table(rows)}\nr\n"


def test_lines_and_tables_as_html():
    html = format_html(["a < b\n  and c\nd", [{"x": "<b>"}]])
    assert html.startswith("<p>a &lt; b and c<br>d</p><table>")
    assert "&lt;b&gt;" in html
    assert format_html(["run `a <b>`"]) == "<p>run <code>a &lt;b&gt;</code></p>"


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({}, "wrong"),
        ({"path": "X.csv"}, "X.csv: wrong"),
        ({"path": "X", "row": 3, "line": 4, "column": "b"}, "X, row 3, line 4, column b: wrong"),
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
    assert cli_option("n_items") == "--n-items"
