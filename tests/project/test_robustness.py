"""Calls and commands of tests/robustness cover all, and wrong values that it has found."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.main import get_command

import sampled_metrics as sm
from sampled_metrics.cli import app
from tests.helpers.results import refusal_message
from tests.robustness.calls import cases, public_names
from tests.robustness.commands import COMMANDS

READ_NO_FILE = {"columns", "metrics", "reported"}


def test_cases_cover_public_names():
    assert {name for name, *_ in cases()} == set(public_names())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", range(len(cases())))
def test_unchanged_case_returns(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, function, arguments = cases()[place]
    function(**arguments)


def test_commands_cover_those_that_read_files():
    names = set(get_command(app).commands)
    assert {words.split()[0] for _, words in COMMANDS} == names - READ_NO_FILE


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: sm.Ranks.concatenate(3), "parts"),
        (lambda: sm.Ranks.from_function(np.zeros((2, 3)), [0, 1]), "function"),
        (lambda: sm.SampledRanks.from_table({"sampled_rank": [1]}, n_items=9, n_negatives="3"),
         "n_negatives"),
        (lambda: sm.Ranks.from_table({"n_candidates": [9], "n_better": [1], "n_tied": [0]},
                                     n_items=pd.DataFrame({"n": [9, 9, 9]})), "n_items"),
        (lambda: sm.Ranks.from_ranks([1, 2], pd.DataFrame({"a": [9, 9], "b": [9, 9]})),
         "one column"),
        (lambda: sm.rank(sparse.coo_array(np.arange(3)), None, [0, 1, 2]), "shape"),
        (lambda: sm.Ranks.from_top_k([[7, 9]], [9], scores=[[True, False]]), "bool"),
        (lambda: sm.Ranks.from_top_k([[7, 9]], [9], scores=[[[1.0], [1.0, 2.0]]]), "rows"),
        (lambda: sm.check(pd.Series([[1, 2], 3])), "Series"),
        (lambda: sm.Ranks.from_ranks([1, 2], [[9], [9, 9]]), "differ in length"),
        (lambda: sm.Ranks.from_ranks(pd.DataFrame({"rank": [1, 2]}), np.array([9, 9])),
         "whole number"),
    ],
)  # fmt: skip
def test_wrong_value_is_refused_in_one_line(call, named):
    assert named in refusal_message(call)


def test_report_one_user_without_a_hit(tmp_path):
    missed = sm.Ranks([40], [30], [0])
    sm.report({"A": missed, "B": missed}, tmp_path / "page.html", "HR@10")
    assert (tmp_path / "page.html").read_text().endswith("</html>")
