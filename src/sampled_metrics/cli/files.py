"""Commands that refuse to write over a file that they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from sampled_metrics._base.errors import InputError
from sampled_metrics.cli.values import take_plain_values

if TYPE_CHECKING:
    from typer._click.core import Context

_OF_EVALUATIONS = ("evaluation.json", "problem.npz", "state.npz")  # in the folder of a budget


class Command(TyperCommand):
    """A command that compares the names of its files before it runs."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse words of the command line; values that are plain without typer's conversion."""
        for parameter in self.get_params(ctx):
            take_plain_values(parameter)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Context) -> list[Any]:
        """Return the parameters, whose help names no types of Python."""
        params = super().get_params(ctx)
        for param in params:
            if isinstance(param, TyperArgument):  # for which typer has no setting
                param.display_type_rich = _no_type  # type: ignore[assignment,method-assign]
        return params

    def get_help_option(self, ctx: Context) -> TyperOption | None:
        """Return the option --help, which takes no value."""
        return _without_value(super().get_help_option(ctx))

    def invoke(self, ctx: Context) -> Any:
        """Run the command, unless it would overwrite a file that it reads."""
        require_different_files(ctx.params)
        return super().invoke(ctx)


class Group(TyperGroup):
    """The commands, whose own options are taken without typer's conversion too."""

    def get_help_option(self, ctx: Context) -> TyperOption | None:
        """Return the option --help, which takes no value."""
        return _without_value(super().get_help_option(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse words of the command line up to the name of a command."""
        for parameter in self.get_params(ctx):
            take_plain_values(parameter)
        return super().parse_args(ctx, args)


def _no_type(**_: Context) -> str:
    return ""


def _without_value(option: TyperOption | None) -> TyperOption | None:
    if option is not None:
        option.metavar = ""
    return option


def guard(app: typer.Typer) -> None:
    """Make every command of an application one that compares the names of its files."""
    for command in app.registered_commands:
        command.cls = Command


def require_different_files(parameters: Mapping[str, Any]) -> None:
    """Raise InputError if the output of a command is also one of its inputs."""
    output = parameters.get("output")
    if output is None:
        return
    inputs = [value for name, value in parameters.items() if name != "output"]
    for path in _paths(inputs):
        if _is_same(path, Path(output)):
            raise InputError("both read and written; give another --output", path=output)


def _paths(values: Iterable[Any]) -> Iterator[Path]:
    """Yield the files that values of parameters name, and those of folders of evaluations."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _paths(value)
        elif isinstance(value, str | Path) and "\0" not in str(value):
            yield Path(value)
            for name in _OF_EVALUATIONS:
                yield Path(value, name)


def _is_same(a: Path, b: Path) -> bool:
    """Return whether two names are those of one file, also by links."""
    try:
        return a.is_file() and a.samefile(b)
    except OSError:  # at least one does not exist, or cannot be a name
        return False
