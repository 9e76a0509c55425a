"""Bars of progress are on terminals only, or where they are asked for."""

import sys

import numpy as np
import pytest

import sampled_metrics as sm

VECTORS = np.eye(3)[[0, 1, 2, 0]], np.eye(3)
HELD_OUT = [0, 1, 2, 1]


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("progress", [None, False, True])
def test_where_bars_are(capsys, monkeypatch, is_terminal, progress):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    ranks = sm.rank(VECTORS, None, HELD_OUT, block_size=2, progress=progress)
    assert ranks.n_better.tolist() == [0, 0, 0, 1]
    is_shown = is_terminal if progress is None else progress
    shown = capsys.readouterr()
    assert ("users: 100%" in shown.err) == is_shown
    assert shown.out == ""


def test_bars_that_are_asked_for_need_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(sm.InputError, match=r"sampled-metrics\[progress\]"):
        sm.rank(VECTORS, None, HELD_OUT, progress=True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert len(sm.rank(VECTORS, None, HELD_OUT)) == 4
