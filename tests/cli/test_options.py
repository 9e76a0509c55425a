"""Each option of a command reaches the function that the command calls."""

import importlib
import inspect
import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer import Context
from typer.main import get_command

from sampled_metrics.cli import app
from sampled_metrics.ranks import Design, Sampling
from sampled_metrics.read.options import Reading

PROGRAM = get_command(app)
COMMANDS = PROGRAM.commands
# Arguments of each command in all tests, and the function that it calls.
CALLS = {
    "evaluate": ("r.csv", "evaluation.evaluate.evaluate"),
    "correct": ("s.csv", "evaluation.correct.correct"),
    "compare": ("a.csv b.csv", "evaluation.compare.compare"),
    "plan": ("", "evaluation.plan.plan"),
    "reported": ("HR@10=0.5 --n-items 50 --n-negatives 9", "printed.reported.reported"),
    "check": ("t.csv", "printed.check.check"),
    "report": ("a.csv --output p.html", "pages.report.report"),
    "sample": ("r.csv --n-negatives 9", "read.options.as_ranks"),
    "negatives": (
        "--relevant h.csv --seen s.csv --n-negatives 9", "evaluation.negatives.negatives"),
    "check-negatives": (
        "n.csv --relevant h.csv --seen s.csv", "evaluation.negatives.check_negatives"),
}  # fmt: skip
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
    "design": ("--design half", Design.HALF),
    "counts": ("--counts train.csv", Path("train.csv")),
    "users": ("--users users.npy", Path("users.npy")),
    "cluster": ("--cluster batch", "batch"),
    "power": ("--power 0.75", 0.75),
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
LIMITS = {  # by option: the least value, and the largest
    "n_items": (2, None),
    "n_negatives": (1, None),
    "n_users": (1, None),
    "runs": (1, None),
    "seed": (0, None),
    "repetitions": (1, 10**5),
    "min_relevance": (0, None),
}


class ReachedError(Exception):
    """Raised when the function is called."""


def parts(place, value):
    """Yield values with their positions, those of dictionaries with their keys."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from parts((*place, key), part)
    elif not isinstance(value, Mock):
        yield place, value


def arguments_of_call(command, words, monkeypatch):
    """Return arguments that the function of a command gets, by name or position."""
    usual, name = CALLS[command]
    function = Mock(side_effect=ReachedError)
    monkeypatch.setattr(f"sampled_metrics.{name}", function)
    with pytest.raises(ReachedError):
        PROGRAM.main([command, *f"{usual} {words}".split()], standalone_mode=False)
    call = function.call_args
    return dict(parts((), dict(enumerate(call.args)) | call.kwargs))


PASSED = [
    (command, option.name)
    for command in CALLS
    for option in COMMANDS[command].params
    if option.name not in FIRST | PRINTED | AFTERWARDS.get(command, set())
    and (command, option.name) not in {("evaluate", "files"), ("plan", "ranks")}
]


@pytest.mark.parametrize(("command", "option"), PASSED)
def test_option_changes_one_argument_to_its_value(command, option, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    words, value = OTHERWISE.get((command, option), VALUES[option])
    without = arguments_of_call(command, "", monkeypatch)
    with_option = arguments_of_call(command, words, monkeypatch)
    changed = [passed for place, passed in with_option.items() if without.get(place) != passed]
    assert [(type(passed), passed) for passed in changed] == [(type(value), value)]


def test_ranks_of_a_plan_are_two_named_files(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    without = arguments_of_call("plan", "", monkeypatch)
    with_option = arguments_of_call("plan", "--ranks a.csv b.csv", monkeypatch)
    changed = [passed for place, passed in with_option.items() if without.get(place) != passed]
    assert changed == [Path("a.csv"), Path("b.csv")]


@pytest.mark.parametrize(
    "command", ["evaluate", "correct", "check", "compare", "report", "sample", "check-negatives"]
)
def test_first_file_reaches_function(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    first, *_ = CALLS[command][0].split(" ")
    assert Path(first) in arguments_of_call(command, "", monkeypatch).values()


@pytest.mark.parametrize("command", CALLS)
def test_option_that_is_left_out_has_the_default_of_the_function(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module, _, name = CALLS[command][1].rpartition(".")
    function = getattr(importlib.import_module(f"sampled_metrics.{module}"), name)
    parameters = dict(inspect.signature(function).parameters)
    if "options" in parameters:  # those of `Reading`
        parameters |= inspect.signature(Reading).parameters
    values = arguments_of_call(command, "", monkeypatch)
    places = {place[0]: value for place, value in values.items() if len(place) == 1}
    for place, value in places.items():
        argument = place if isinstance(place, str) else list(parameters)[place]
        default = parameters[argument].default
        assert default is inspect.Parameter.empty or value == default, argument


@pytest.mark.parametrize("option", LIMITS)
def test_option_at_its_limit_is_taken_beyond_is_refused(
    option, monkeypatch, tmp_path, refusal_line
):
    monkeypatch.chdir(tmp_path)
    words = f"--{option.replace('_', '-')}"
    for command, (usual, _) in CALLS.items():
        if option not in {parameter.name for parameter in COMMANDS[command].params}:
            continue
        for bound, step in zip(LIMITS[option], (-1, 1), strict=True):
            if bound is not None:
                arguments_of_call(command, f"{words} {bound}", monkeypatch)
                beyond = f"{command} {usual} {words} {bound + step}"
                assert f"'{words}'" in refusal_line(*beyond.split()), command


@pytest.mark.parametrize("command", CALLS)
def test_help_states_default_once(command):
    context = Context(COMMANDS[command])
    for parameter in context.command.params:
        _, text = parameter.get_help_record(context) or ("", parameter.help)
        is_in_words = re.search(r"\(default\)|by default", text)
        assert not ("[default:" in text and is_in_words), text


@pytest.mark.parametrize("command", CALLS)
def test_help_paragraphs_are_wrapped(command):
    function = COMMANDS[command]
    paragraphs = function.help.split("\n\n")
    wide = Context(function, terminal_width=2000, max_content_width=2000)
    lines = {line.strip() for line in function.get_help(wide).splitlines()}
    assert lines >= {" ".join(paragraph.split()) for paragraph in paragraphs}
    text = inspect.unwrap(function.callback).__doc__.split()
    for argument in function.params:
        if argument.param_type_name == "argument":
            paragraphs.remove(f"{argument.metavar}: {argument.help}")
    assert " ".join(paragraphs).split() == text


def test_program_has_version_option_only():
    assert [parameter.opts for parameter in PROGRAM.params] == [["--version"]]


def test_every_command_that_calls_a_function_is_tested():
    """`metrics` and `columns` print tables of names."""
    assert set(COMMANDS) - {"metrics", "columns"} == set(CALLS)
