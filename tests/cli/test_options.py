"""Each option of a command reaches the function that the command calls."""

import inspect
import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer import Context
from typer.main import get_command

from sampled_metrics.cli import app
from sampled_metrics.ranks import Sampling

COMMANDS = get_command(app).commands
# Arguments of each command in all tests, and the function that it calls.
CALLS = {
    "evaluate": ("r.csv", "evaluation.evaluate.evaluate"),
    "correct": ("s.csv", "evaluation.correct.correct"),
    "compare": ("a.csv b.csv", "evaluation.compare.compare"),
    "plan": ("", "evaluation.plan.plan"),
    "reported": (
        "HR@10=0.5 --n-items 50 --n-negatives 9",
        "printed.reported.reported",
    ),
    "check": ("t.csv", "printed.check.check"),
    "report": ("a.csv --output p.html", "pages.report.report"),
    "sample": ("r.csv --n-negatives 9", "ranks.data.as_ranks"),
    "negatives": (
        "--relevant h.csv --seen s.csv --n-negatives 9",
        "evaluation.negatives.negatives",
    ),
    "check-negatives": (
        "n.csv --relevant h.csv --seen s.csv",
        "evaluation.negatives.check_negatives",
    ),
}
# By option: how it is written on the command line, and what the function gets.
VALUES = {
    "files": ("other.csv", Path("other.csv")),
    "printed": ("NDCG@10=0.3", ["HR@10=0.5", "NDCG@10=0.3"]),
    "metric": ("--metric ap", ["ap"]),
    "estimator": ("--estimator bv:0.1", ["bv:0.1"]),
    "ties": ("--ties optimistic", "optimistic"),
    "n_items": ("--n-items 77", 77),
    "n_negatives": ("--n-negatives 8", 8),
    "n_users": ("--n-users 66", 66),
    "positive": ("--positive 3", 3),
    "relevant": ("--relevant rel.csv", Path("rel.csv")),
    "seen": ("--seen seen.csv", Path("seen.csv")),
    "items": ("--items items.csv", Path("items.csv")),
    "candidates": ("--candidates c.csv", Path("c.csv")),
    "min_relevance": ("--min-relevance 2.5", 2.5),
    "complete": ("--complete", True),
    "missing": ("--missing last", "last"),
    "sampling": ("--sampling distinct", Sampling.DISTINCT),
    "confidence": ("--confidence 0.8", 0.8),
    "seed": ("--seed 5", 5),
    "shape": ("--shape none", "none"),
    "correction": ("--correction none", "none"),
    "ranks": ("--ranks a.csv b.csv", Path("b.csv")),
    "effect": ("--effect 0.03", 0.03),
    "value": ("--value 0.4", 0.4),
    "unscored": ("--unscored 0.125", 0.125),
    "runs": ("--runs 7", 7),
    "column": ("--column item=docno", "docno"),
    "name": ("--name one --name two", ["one", "two"]),
}
FIRST = {"file", "folder"}  # the first argument, which is always present
# Options of how results are printed, or that are used after the functions above.
PRINTED = {"form", "output", "intervals", "explain"}
AFTERWARDS = {"sample": {"seed", "sampling", "ties", "repetitions", "n_negatives"}}
OTHERWISE = {("check", "metric"): ("--metric ap", "ap")}


WITHOUT = {}  # what the functions of a command get without options


class ReachedError(Exception):
    """Raised when the last function is called."""


def parts(place, value):
    """Yield values with their positions, those of dictionaries with their keys."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from parts((*place, key), part)
    elif not isinstance(value, Mock):
        yield place, value


def arguments_of_calls(names, words, monkeypatch):
    """Arguments that the functions of a command get, by function and name or position."""
    functions = [Mock() for _ in names]
    functions[-1].side_effect = ReachedError
    for name, function in zip(names, functions, strict=True):
        monkeypatch.setattr(f"sampled_metrics.{name}", function)
    with pytest.raises(ReachedError):
        app(words.split(), standalone_mode=False)
    arguments = {}
    for name, function in zip(names, functions, strict=True):
        call = function.call_args
        arguments |= parts((name,), dict(enumerate(call.args)) | call.kwargs)
    return arguments


def chosen(command):
    name, _, below = command.partition(" ")
    return COMMANDS[name].commands[below] if below else COMMANDS[name]


def names_of(command):
    """Return the names of all options and arguments of a command."""
    return [parameter.name for parameter in chosen(command).params]


def all_options():
    return [(command, option) for command in CALLS for option in names_of(command)]


def passed_on():
    pairs = []
    for command, option in all_options():
        if option not in PRINTED | AFTERWARDS.get(command, set()):
            pairs.append((command, option))
    return pairs


@pytest.mark.parametrize(("command", "option"), passed_on())
def test_option_reaches_function(command, option, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    usual, *names = CALLS[command]
    if command not in WITHOUT:
        WITHOUT[command] = arguments_of_calls(
            names, f"{command} {usual}", monkeypatch
        )
    without = WITHOUT[command]
    if option in FIRST or (command, option) == ("evaluate", "files"):
        assert Path(usual.split()[0]) in without.values()
        return
    text, value = OTHERWISE.get((command, option), VALUES.get(option))
    changed = arguments_of_calls(names, f"{command} {usual} {text}", monkeypatch)
    different = [
        passed for place, passed in changed.items() if without.get(place) != passed
    ]
    assert value in different
    assert [type(passed) for passed in different if passed == value] == [type(value)]
    assert len(different) == 1 + (option == "ranks")  # there are two


LIMITS = {  # by option: the least value, and the largest
    "n_items": (2, None),
    "n_negatives": (1, None),
    "n_users": (1, None),
    "runs": (1, None),
    "seed": (0, None),
    "repetitions": (1, 10**5),
    "min_relevance": (0, None),
}


def limited():
    return [
        (command, parameter)
        for command, parameter in all_options()
        if parameter in LIMITS
    ]


@pytest.mark.parametrize(("command", "option"), limited())
def test_options_at_limits(command, option, monkeypatch, tmp_path, refusal_line):
    monkeypatch.chdir(tmp_path)
    usual, *names = CALLS[command]
    text = f"--{option.replace('_', '-')}"
    least, most = LIMITS[option]
    for bound, step in ((least, -1), (most, 1)):
        if bound is not None:
            arguments_of_calls(
                names, f"{command} {usual} {text} {bound}", monkeypatch
            )
            message = refusal_line(
                *f"{command} {usual} {text} {bound + step}".split()
            )
            assert f"'{text}'" in message


@pytest.mark.parametrize(("command", "option"), all_options())
def test_help_states_default_once(command, option):
    context = Context(chosen(command))
    (parameter,) = [one for one in context.command.params if one.name == option]
    _, text = parameter.get_help_record(context) or ("", parameter.help)
    assert not ("[default:" in text and re.search(r"\(default\)|by default", text)), (
        text
    )


@pytest.mark.parametrize("command", CALLS)
def test_help_paragraphs_are_wrapped(command):
    function = chosen(command)
    paragraphs = function.help.split("\n\n")
    wide = Context(function, terminal_width=2000, max_content_width=2000)
    lines = {line.strip() for line in function.get_help(wide).splitlines()}
    assert lines >= {" ".join(paragraph.split()) for paragraph in paragraphs}
    text = inspect.unwrap(function.callback).__doc__.split()
    of_argument = [
        one for one in function.params if one.param_type_name == "argument"
    ]
    for argument in of_argument:
        paragraphs.remove(f"{argument.metavar}: {argument.help}")
    assert " ".join(paragraphs).split() == text


def test_program_has_version_option_only():
    assert [parameter.opts for parameter in get_command(app).params] == [
        ["--version"]
    ]
    named = {command.partition(" ")[0] for command in CALLS}
    assert set(COMMANDS) == named | {"metrics", "columns"}
