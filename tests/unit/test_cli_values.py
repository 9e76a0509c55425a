"""Values that commands take without typer's conversion are those that typer would make of them."""

import inspect
from types import SimpleNamespace

import pytest
import typer
from typer.main import get_command

import sampled_metrics as sm
from sampled_metrics.cli import app
from sampled_metrics.cli.values import _OTHER, _plain_item, take_plain_values

TEXTS = (
    *("7", "0", "-1", "1", "1.0", ".25", "1e-3", "٣", "nan", "", "x", " 7", "9" * 30, "1_0"),
    *("json", "JSON", "none", "random", "without-replacement", "/", "/missing/file", "a\0b", "t"),
)
CONTEXT = typer.Context(get_command(app))


def parameters(command, path=()):
    for name, child in getattr(command, "commands", {}).items():
        yield from parameters(child, (*path, name))
    for parameter in command.params:
        yield pytest.param(parameter, id=" ".join((*path, parameter.name)))


def settled(process, parameter, value):
    """The value, with its type, or the message of the error."""
    callback, parameter.callback = parameter.callback, None
    try:
        made = process(CONTEXT, value)
    except Exception as error:
        return type(error), str(error)
    finally:
        parameter.callback = callback
    return type(made), repr(made)


@pytest.mark.parametrize("parameter", list(parameters(get_command(app))))
def test_plain_values_are_those_of_typer(parameter):
    by_typer = parameter.process_value
    take_plain_values(parameter)
    plainly = parameter.process_value
    assert plainly != by_typer
    values = [None, parameter.default, *TEXTS]
    if parameter.nargs != 1 or parameter.multiple:
        values += [(), *((text,) for text in TEXTS), *((text, "x") for text in TEXTS), ("7", "8")]
    for value in values:
        assert settled(plainly, parameter, value) == settled(by_typer, parameter, value), value


PLAIN = {"n_negatives": "100", "seed": "7", "confidence": ".95", "n_items": "3541", "form": "json"}
PLAIN |= {"output": "missing.csv", "shape": "none", "repetitions": "2", "sampling": "distinct"}


@pytest.mark.parametrize("parameter", list(parameters(get_command(app))))
def test_plain_values_are_not_left_to_typer(parameter):
    def never(_context, value):
        raise AssertionError(value)

    about = getattr(getattr(parameter, "type_descriptor", None), "parameter_info", None)
    values = []
    if parameter.nargs == 1 and not parameter.multiple:
        values = [PLAIN[parameter.name]] if parameter.name in PLAIN else []
        for bound in (getattr(about, "min", None), getattr(about, "max", None)):
            if isinstance(bound, int) and bound >= 0:
                values.append(str(bound))
        if not parameter.required:
            values.append(parameter.default)
    parameter.process_value, parameter.callback = never, None
    take_plain_values(parameter)
    for value in values:
        found = parameter.process_value(CONTEXT, value)
        assert found == value or str(found) in (value, f"0{value}"), value


@pytest.mark.parametrize("parameter", list(parameters(get_command(app))))
def test_flags_are_off_by_default(parameter):
    if getattr(parameter, "is_flag", False):
        assert parameter.default in (False, None)


@pytest.mark.parametrize(
    "name", ["evaluate", "correct", "compare", "plan", "reported", "check", "report"]
)
def test_options_have_the_defaults_of_python(name):
    function = inspect.signature(getattr(sm, name)).parameters
    compared = 0
    for parameter in get_command(app).commands[name].params:
        same = function.get(parameter.name)
        if same is None or same.default in (inspect.Parameter.empty, None):
            continue
        if parameter.default is None:  # metrics and estimators, by a name for several
            assert parameter.multiple or parameter.name in ("metric", "ties")
            continue
        assert str(parameter.default) == str(same.default), parameter.name
        compared += 1
    assert compared >= 2


def test_values_with_a_parser_of_their_own_are_left_to_it():
    about = SimpleNamespace(parser=str.upper)
    assert _plain_item(str, about, "a") is _OTHER
    assert _plain_item(str, SimpleNamespace(parser=None), "a") == "a"
    assert _plain_item(str, SimpleNamespace(parser=str), "a") == "a"
