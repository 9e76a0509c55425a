"""Commands that refuse to write over a file that they read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import typer

from sampled_metrics._base.errors import InputError


def guard(app: typer.Typer) -> None:
    """Make every command of an application compare the names of its files before it runs."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _guarded(command.callback)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def run(**parameters: Any) -> None:
        require_different_files(parameters)
        command(**parameters)

    return run


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
    """Yield the files that values of parameters name."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _paths(value)
        elif isinstance(value, str | Path) and "\0" not in str(value):
            yield Path(value)


def _is_same(a: Path, b: Path) -> bool:
    """Return whether two names belong to one file, also by links."""
    try:
        return a.is_file() and a.samefile(b)
    except OSError:  # at least one does not exist, or cannot be a name
        return False
