"""How messages name arguments: as Python has them, and as options on the command line."""

import re

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.errors import command_line, for_caller


@pytest.mark.parametrize(
    ("text", "in_python", "on_the_command_line"),
    [
        ("give n_items (--n-items)", "give n_items", "give --n-items"),
        ("or shape=2 (--shape 2)", "or shape=2", "or --shape 2"),
        ("missing='last' (--missing last)", "missing='last'", "--missing last"),
        (
            "columns={'user': A} (--column user=A)",
            "columns={'user': A}",
            "--column user=A",
        ),
        ("n (number of items)", "n (number of items)", "n (number of items)"),
    ],
)
def test_for_caller_names_one_of_both(text, in_python, on_the_command_line):
    assert for_caller(text) == in_python
    with command_line():
        assert for_caller(text) == on_the_command_line
    assert for_caller(text) == in_python


def test_messages_of_python_name_no_options():
    scores = np.random.default_rng(0).normal(size=(200, 100))
    with pytest.warns(sm.InputWarning) as caught:
        results = sm.evaluate(scores, "hr@10", relevant=np.zeros(200, int))
    with pytest.raises(sm.InputError) as refused:
        sm.evaluate(scores, "hr@10")
    texts = [str(results), results.explain(), *results.notes, str(refused.value)]
    assert "seen" in " ".join(results.notes)
    assert not any(re.search("--[a-z]", text) for text in texts)
    assert not any("--" in str(each.message) for each in caught)


def test_messages_of_the_command_name_options(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("sampled_rank\n1\n2\n")
    done = run("correct", "s.csv")
    assert done.returncode == 2
    assert "--n-negatives" in done.stderr
    assert "n_negatives" not in done.stderr


def test_explain_has_what_the_table_leaves_out():
    results = sm.correct(
        [1, 1, 5, 40, 90], "recall@10", n_items=3541, n_negatives=100
    )
    assert "explain()" in str(results)
    assert "likely: " in results.explain()
    assert "likely: " not in str(results)
    assert "likely: " in results._repr_html_()
