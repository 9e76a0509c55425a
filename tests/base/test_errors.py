"""Errors and warnings: their place, one line each, and arguments as the caller names them."""

import re

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError, cli_option, one_line


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
def test_input_error_begins_with_place(place, expected):
    assert str(InputError("wrong", **place)) == expected


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
def test_one_line_escapes_what_cannot_be_printed(text, line):
    assert one_line(text) == line


def test_cli_option():
    assert cli_option("n_items") == "--n-items"


def test_messages_in_python_name_no_options():
    scores = np.random.default_rng(0).normal(size=(200, 100))
    with pytest.warns(sm.InputWarning) as caught:
        results = sm.evaluate(scores, "hr@10", relevant=np.zeros(200, int))
    with pytest.raises(sm.InputError) as refused:
        sm.evaluate(scores, "hr@10")
    texts = [str(results), results.explain(), *results.notes, str(refused.value)]
    assert "seen" in " ".join(results.notes)
    assert not any(re.search("--[a-z]", text) for text in texts)
    assert not any("--" in str(each.message) for each in caught)


def test_messages_of_command_name_options(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("sampled_rank\n1\n2\n")
    done = run("correct", "s.csv")
    assert done.returncode == 2
    assert "--n-negatives" in done.stderr
    assert "n_negatives" not in done.stderr


def test_explain_has_what_table_leaves_out():
    results = sm.correct([1, 1, 5, 40, 90], "recall@10", n_items=3541, n_negatives=100)
    assert "explain()" in str(results)
    assert "likely: " in results.explain()
    assert "likely: " not in str(results)
    assert "likely: " in results._repr_html_()
