"""Tables and lines as text and HTML."""

import math
import re

import pytest

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


def test_format_table_aligns_numbers_and_ranges():
    names, users, values = ("12", "abcdef", ""), (6040, 1, -22), (0.20748, None, 12.5)
    ranges = [RightAligned(text) for text in ("0.1 to 0.25", "", "-0.001 to 1")]
    rows = [
        dict(zip(("name", "n_users", "value", "range"), row, strict=True))
        for row in zip(names, users, values, ranges, strict=True)
    ]
    assert format_table(rows).splitlines() == [
        "name      n_users    value        range",
        "------  ---------  -------  -----------",
        "12          6,040    0.207  0.1 to 0.25",
        "abcdef          1    -",
        "              -22   12.5    -0.001 to 1",
    ]


def test_format_table_aligns_wide_letters():
    pytest.importorskip("wcwidth")
    rows = [{"name": "漢", "n": 1}, {"name": "a", "n": 2}]
    _, _, wide, narrow = format_table(rows).splitlines()
    assert wide.index("1") == narrow.index("2") - 1


def test_format_table_keeps_names_that_look_like_numbers():
    names = ["1", "1e5", "007", "nan", "1.50"]
    rows = [{"a": name, "value": 0.5, "n_users": "6,040"} for name in names]
    lines = [line.split() for line in format_table(rows).splitlines()[2:]]
    assert lines == [[name, "0.500", "6,040"] for name in names]


def test_format_table_is_bold_only_where_asked():
    rows = [{"order": Bold("A above B"), "p": "x"}, {"order": "undecided", "p": "y"}]
    assert "\x1b" not in format_table(rows) + format_text([rows])
    bold = format_table(rows, bold=True)
    assert bold.count("\x1b[1mA above B\x1b[0m") == 1
    assert re.sub(r"\x1b\[\dm", "", bold) == format_table(rows)


def test_format_table_without_rows():
    assert format_table([]) == "\n"


def test_format_table_cells_have_one_line():
    rows = [{"a": "x\n  y", "b": 1}, {"a": "\x1b[2J", "b": 22}]
    lines = format_table(rows).splitlines()
    assert [line.split() for line in lines[2:]] == [["x", "y", "1"], ["\\x1b[2J", "22"]]


def test_nan_to_none_keeps_other_values():
    rows = [{"a": math.nan, "b": math.inf, "c": "nan", "d": 1.5}]
    assert nan_to_none(rows) == [{"a": None, "b": math.inf, "c": "nan", "d": 1.5}]


@pytest.mark.parametrize("exponent", range(-7, 9))
def test_format_number_has_three_significant_digits(exponent):
    for leading in (1.0, 1.005, 4.44, 9.994, 9.996, -1.0, -4.44, -9.996):
        value = leading * 10.0**exponent
        shown = format_number(value)
        assert float(shown) == pytest.approx(value, rel=0.00501)
        if abs(value) < 1000:
            digits = shown.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
            assert 3 <= len(digits) <= 4, shown


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
def test_format_range_ends_have_equal_decimals(low, high, text):
    assert format_range(low, high) == text


def test_format_text_replaces_explanations():
    parts = [[{"a": 1}], "fact", Explanation("how to read it")]
    assert "how to read it" in format_text(parts)
    short = format_text(parts, instead="To interpret this table, add --explain.")
    assert "how to read it" not in short
    assert short.endswith("fact\n\nTo interpret this table, add --explain.\n")
    assert format_text(parts[:2], instead="x") == format_text(parts[:2])


@pytest.mark.parametrize(("columns", "width"), [(10, 40), (40, 40), (41, 41), (60, 60)])
def test_format_text_wraps_lines_to_terminal(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", str(columns))
    fits = "x" * 30 + " " + "y" * (width - 31)
    assert format_text([fits]) == f"{fits}\n"
    assert format_text([f"{fits}y"]) == "x" * 30 + "\n  " + "y" * (width - 30) + "\n"
    # a word is never cut, 95 % stays together, and lines of their own stay so
    assert format_text(["z" * 70]) == "z" * 70 + "\n"
    assert format_text(["w" * (width - 3) + " 95 % b"]) == "w" * (width - 3) + "\n  95 % b\n"
    rows = [{"a": 1}]
    assert format_text(["p\nq", rows, "r"]) == f"p\nq\n\n{format_table(rows)}\nr\n"


def test_format_html():
    html = format_html(["a < b\n  and c\nd", [{"x": "<b>"}]])
    assert html.startswith("<p>a &lt; b and c<br>d</p><table>")
    assert "&lt;b&gt;" in html
    assert format_html(["run `a <b>`"]) == "<p>run <code>a &lt;b&gt;</code></p>"
