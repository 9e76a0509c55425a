"""Exit status and output of commands."""

import errno
from pathlib import Path

import pandas as pd
import pytest

from sampled_metrics.cli import output

HELD_OUT = {"user_id": range(60), "item_id": [user % 30 for user in range(60)]}
SEEN = {"user_id": range(60), "item_id": [30 + user % 9 for user in range(60)]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run commands in a folder with held-out and seen items, of 100 items in all."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(HELD_OUT).to_csv("held.csv", index=False)
    pd.DataFrame(SEEN).to_csv("seen.csv", index=False)
    pd.DataFrame({"item_id": range(100)}).to_csv("items.csv", index=False)


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_unsound_negatives_exit_1(run, form):
    tables = ("--relevant", "held.csv", "--seen", "seen.csv", "--items", "items.csv")
    drawn = run("negatives", *tables, "--n-negatives", 20, "--output", "drawn.csv")
    assert drawn.returncode == 0
    sound = run("check-negatives", "drawn.csv", *tables, "--format", form)
    assert sound.returncode == 0
    negatives = pd.read_csv("drawn.csv")
    negatives.loc[0, ["user_id", "item_id"]] = (0, SEEN["item_id"][0])
    negatives.to_csv("wrong.csv", index=False)
    wrong = run("check-negatives", "wrong.csv", *tables, "--format", form)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert "seen" in wrong.stdout
    assert wrong.stdout != sound.stdout


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (
            BrokenPipeError(errno.EPIPE, "Broken pipe"),
            1,
            "",
        ),  # the reader has closed the pipe
        (
            OSError(errno.EIO, "broken"),
            2,
            "standard output: cannot be written (broken)\n",
        ),
    ],
)
def test_broken_output_sets_status(run, monkeypatch, error, status, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(output.typer, "echo", fail)
    done = run("metrics")
    assert (done.returncode, done.stderr) == (status, message)


@pytest.mark.parametrize(
    ("pairs", "words"), [(1, "1 negative"), (20, "1,200 negatives")]
)
def test_written_rows_are_counted(run, pairs, words):
    held = "held.csv"
    if pairs == 1:
        held = "one.csv"
        pd.DataFrame(HELD_OUT).head(1).to_csv(held, index=False)
    line = (
        "--relevant",
        held,
        "--seen",
        "seen.csv",
        "--items",
        "items.csv",
        "--n-negatives",
    )
    done = run("negatives", *line, pairs, "--output", "n.csv")
    assert done.stdout == f"Wrote n.csv ({words}).\n"
    assert len(pd.read_csv("n.csv")) == len(pd.read_csv(held)) * pairs


@pytest.mark.parametrize("suffix", [".csv", ".json", ".txt", ""])
def test_format_overrides_suffix(run, suffix):
    for form in ("table", "json", "csv"):
        printed = run("metrics", "--format", form).stdout
        for options in (
            ("--format", form, "--output", f"m{suffix}"),
            ("--output", f"m{suffix}", "--format", form),
        ):
            assert run("metrics", *options).returncode == 0
            assert Path(f"m{suffix}").read_text() == printed
