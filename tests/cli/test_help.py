"""The help of each command fits a terminal, shows no Python types, and has an example."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

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


@pytest.fixture
def example(run, folder, monkeypatch):
    """Run the example of the help of a command, with further options."""
    del folder
    monkeypatch.setenv("COLUMNS", "80")
    # Plans simulate less, because their numbers are not the subject.
    monkeypatch.setattr("sampled_metrics.evaluation.plan_simulation.COMPARISONS", 4)

    def run_example(name, *options):
        _, line = COMMANDS[name].epilog.split(": ", 1)
        program, *arguments = shlex.split(line)
        assert (program, arguments[0]) == ("sampled-metrics", name)
        done = run(*arguments, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_example


WITHOUT_A_TABLE = {"sample", "negatives", "report"}
WITH_A_TABLE = sorted(COMMANDS.keys() - WITHOUT_A_TABLE)


@pytest.mark.parametrize("name", sorted(WITHOUT_A_TABLE))
def test_example_of_a_command_without_a_table_runs(run, example, name):
    assert example(name)
    assert "--explain" not in run(name, "--help").stdout


@pytest.mark.parametrize("name", WITH_A_TABLE)
def test_table_of_an_example_fits_80_columns(example, name):
    printed = example(name)
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("name", WITH_A_TABLE)
def test_table_of_an_example_has_at_most_16_lines_below_it(example, name):
    """With warnings."""
    _, _, below = example(name).partition("\n\n")
    assert len(below.splitlines()) <= 16


@pytest.mark.parametrize("name", WITH_A_TABLE)
def test_explain_adds_lines_in_the_place_of_its_hint(example, name):
    short, whole = example(name), example(name, "--explain")
    facts, rest = short.split("To interpret this table, add --explain.\n")
    assert whole.startswith(facts)
    assert whole.endswith(rest)
    assert len(whole) > len(short)


@pytest.fixture
def comparison(tmp_path, monkeypatch):
    """A comparison that puts A, with ranks 11 to 40, above B, with ranks 61 to 90."""
    monkeypatch.chdir(tmp_path)
    for name, first in (("A", 10), ("B", 60)):
        Ranks([100] * 30, list(range(first, first + 30)), [0] * 30).write(f"{name}.parquet")
    return ["compare", "A.parquet", "B.parquet", "--metric", "ap"]


def test_order_is_bold_on_terminal(run, comparison, monkeypatch):
    plain = run(*comparison).stdout
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = run(*comparison).stdout
    assert "\x1b[1mA above B\x1b[0m" in shown
    assert re.sub(r"\x1b\[\dm", "", shown) == plain


def test_order_is_plain_in_a_pipe_and_in_a_file(run, comparison, monkeypatch, tmp_path):
    plain = run(*comparison).stdout
    assert "A above B" in plain
    assert "\x1b" not in plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    run(*comparison, "--output", "o.txt")
    assert (tmp_path / "o.txt").read_text() == plain


def test_list_of_commands_is_complete(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run("--help").stdout
    assert "..." not in text.partition("Commands:")[2]
    assert text.index("You have") < text.index("Options:")


REQUIRED = [
    (name, parameter)
    for name, command in get_command(app).commands.items()
    for parameter in command.params
    if parameter.required
]


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, each.opts[0]) for name, each in REQUIRED if each.param_type_name == "option"],
)
def test_missing_option_is_shown_as_in_the_example(run, name, option):
    """Run the example of a command without the option."""
    arguments = shlex.split(COMMANDS[name].epilog.removeprefix("Example: sampled-metrics "))
    at = arguments.index(option)
    done = run(*arguments[:at], *arguments[at + 2 :])
    assert "Missing option" in done.stderr
    assert f", e.g. {option} {arguments[at + 1]}" in done.stderr


@pytest.mark.parametrize(
    "name", [name for name, each in REQUIRED if each.param_type_name == "argument"]
)
def test_missing_argument_shows_the_example(run, name):
    done = run(name)
    assert "Missing argument" in done.stderr
    assert COMMANDS[name].epilog.removeprefix("Example: sampled-metrics ") in done.stderr


def test_required_option_is_described(run):
    done = run("reported", "HR@10=0.5", "--n-negatives", "100")
    assert done.returncode == 2
    assert "candidates" in done.stderr
    assert "e.g. --n-items 3253" in done.stderr
