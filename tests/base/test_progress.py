"""Progress bars are shown on terminals, or where they are requested."""

import sys

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.read import large_files

VECTORS = np.eye(3)[[0, 1, 2, 0]], np.eye(3)
HELD_OUT = [0, 1, 2, 1]
PRINTED = [{"HR@5": "0.41", "HR@10": "0.52", "n_items": 3000, "n_negatives": 99}]
SCORES = np.random.default_rng(0).random((40, 30))
LONG_CALLS = {
    "rank": lambda **o: len(sm.rank(VECTORS, None, HELD_OUT, **o)) == 4,
    "evaluate": lambda **o: sm.evaluate(SCORES, "hr@5", relevant=[3] * 40, **o)[0].n_users == 40,
    "check": lambda **o: len(sm.check(PRINTED, **o)) == 1,
    "evaluate_on_budget": lambda **o: (
        sm.evaluate_on_budget(SCORES, "hr@5", relevant=[3] * 40, seen=SCORES < 0, budget=20, **o)
        is not None
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


@pytest.mark.parametrize(
    ("is_terminal", "progress", "is_shown"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
@pytest.mark.parametrize("name", LONG_CALLS)
def test_progress_bar_on_terminal_or_on_request(
    capsys, monkeypatch, name, is_terminal, progress, is_shown
):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    assert LONG_CALLS[name](progress=progress)
    shown = capsys.readouterr()
    assert ("it/s]" in shown.err) == is_shown
    assert shown.out == ""


def test_progress_bar_of_large_file(tmp_path, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(large_files, "LARGE_FILE_ROWS", 100)
    monkeypatch.setattr(large_files, "ROWS_AT_A_TIME", 70)
    path = tmp_path / "ranks.parquet"
    pd.DataFrame({"rank": np.arange(200) % 90 + 1}).to_parquet(path)
    sm.evaluate(path, "hr@5", n_items=1000, progress=True)
    assert "200/200" in capsys.readouterr().err


def test_progress_bar_on_request_needs_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(sm.InputError, match="pip install tqdm"):
        sm.rank(VECTORS, None, HELD_OUT, progress=True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert len(sm.rank(VECTORS, None, HELD_OUT)) == 4
