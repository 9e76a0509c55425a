"""The help of each command fits a terminal, shows no Python types, and has an example."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

from sampled_metrics import Ranks
from sampled_metrics.cli import app
from sampled_metrics.sampling import draw_sampled_ranks

COMMANDS = {
    command.name or command.callback.__name__: command
    for group in app.registered_groups
    for command in group.typer_instance.registered_commands
}
N_USERS, N_ITEMS = 150, 400


def write_pairs(path, items, **columns):
    """Write a table of some items of each user."""
    users = np.repeat(np.arange(N_USERS), items.shape[1])
    table = pd.DataFrame({"user_id": users, "item_id": items.ravel(), **columns})
    table.to_csv(path, index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write the files that the examples use."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    items = rng.permuted(np.tile(np.arange(N_ITEMS), (N_USERS, 1)), axis=1)
    top = rng.permuted(items[:, :60], axis=1)[:, :20]
    write_pairs(tmp_path / "test.csv", items[:, :1])
    write_pairs(tmp_path / "train.csv", items[:, 1:20])
    write_pairs(tmp_path / "negatives.csv", items[:, 20:120])
    write_pairs(tmp_path / "lists.csv", top, rank=np.tile(np.arange(1, 21), N_USERS))
    np.save(tmp_path / "scores.npy", rng.random((N_USERS, 101)))
    for name, power in (("A", 4.0), ("B", 2.0), ("ranks", 2.0)):
        better = (N_ITEMS * rng.random(N_USERS) ** power).astype(int)
        ranks = Ranks([N_ITEMS] * N_USERS, better, [0] * N_USERS, users=np.arange(N_USERS))
        ranks.write(tmp_path / f"{name}.parquet")
        (sampled,) = draw_sampled_ranks(ranks, 100, [rng])
        table = pd.DataFrame({"user_id": np.arange(N_USERS), "sampled_rank": sampled})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "table.csv").write_text(
        "model,n_items,n_negatives,n_users,HR@10\nA,3416,100,6040,0.66\nB,3416,100,6040,0.56\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_starts_with_summary(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(name, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"<\w+", text)
    assert "Arguments" not in text  # arguments are in the description
    assert "Example: sampled-metrics " in text
    summary = COMMANDS[name].callback.__doc__.strip().split("\n")[0]
    _, _, description = text.partition("\n\n")
    assert description.lstrip().startswith(summary[:40])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_example_runs_and_explain_adds_lines(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    # Plans simulate less, because their numbers are not the subject.
    monkeypatch.setattr("sampled_metrics.evaluation.plan_simulation.COMPARISONS", 4)
    _, command = COMMANDS[name].epilog.split(": ", 1)
    program, *arguments = shlex.split(command)
    assert (program, arguments[0]) == ("sampled-metrics", name)
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    short = done.stdout
    assert short
    if "--explain" not in run(name, "--help").stdout:
        assert name in ("sample", "negatives", "report"), "these print no table"
        return
    assert max(map(len, short.splitlines())) <= 80
    assert len(short.partition("\n\n")[2].splitlines()) <= 16  # with warnings
    facts, rest = short.split("To interpret this table, add --explain.\n")
    whole = run(*arguments, "--explain").stdout
    assert whole.startswith(facts)
    assert whole.endswith(rest)
    assert len(whole) > len(short)


def test_order_is_bold_on_terminal_and_plain_in_file(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, last in (("A", 40), ("B", 90)):
        better = list(range(last - 30, last))
        Ranks([100] * 30, better, [0] * 30).write(f"{name}.parquet")
    line = ["compare", "A.parquet", "B.parquet", "--metric", "ap"]
    plain = run(*line).stdout
    assert "\x1b" not in plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = run(*line).stdout
    assert "\x1b[1mA above B\x1b[0m" in shown
    assert re.sub(r"\x1b\[\dm", "", shown) == plain
    run(*line, "--output", "o.txt")
    assert (tmp_path / "o.txt").read_text() == plain


def test_list_of_commands_is_complete(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run("--help").stdout
    assert "..." not in text.partition("Commands:")[2]
    assert text.index("You have") < text.index("Options:")


@pytest.mark.parametrize("name", COMMANDS)
def test_missing_option_shows_example(run, name):
    """Run the example of each command without each of its options."""
    example = COMMANDS[name].epilog.removeprefix("Example: sampled-metrics ")
    arguments = shlex.split(example)
    options = [each for each in arguments if each.startswith("--")]
    for option in options:
        at = arguments.index(option)
        done = run(*arguments[:at], *arguments[at + 2 :])
        if "Missing option" in done.stderr:
            assert f", e.g. {option} {arguments[at + 1]}" in done.stderr
    done = run(name)
    if "Missing argument" in done.stderr:
        assert example in done.stderr


def test_required_option_is_described(run):
    done = run("reported", "HR@10=0.5", "--n-negatives", "100")
    assert done.returncode == 2
    assert "candidates" in done.stderr
    assert "e.g. --n-items 3253" in done.stderr
