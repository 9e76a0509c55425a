"""Commands that refuse to write over a file that they read, or two results to one file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from sampled_metrics._base.errors import InputError

_WRITTEN = (
    *("output", "per_user_output", "csv", "md", "source", "counts", "unreachable"),
    *("schema", "readme"),
)


class Command(TyperCommand):
    """A command that compares the names of its files before it runs."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless it would overwrite a file that it reads."""
        require_different_files(ctx.params)
        return super().invoke(ctx)


def guard(app: typer.Typer) -> None:
    """Make every command of an application one that compares the names of its files."""
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            guard(group.typer_instance)


def require_different_files(parameters: Mapping[str, Any]) -> None:
    """Raise InputError if an output of a command is also an input or another output."""
    known = [path for name, value in parameters.items() for path in _paths(name, value)]
    for name in _WRITTEN:
        if not isinstance(written := parameters.get(name), str | Path):
            continue
        path = Path(written)  # text in old releases of typer
        if any(_same(path, other) for other in known):
            remedy = f"give another --{name.replace('_', '-')}"
            raise InputError(f"both read and written; {remedy}", path=path)
        known.append(path)


def _paths(name: str, value: object) -> list[Path]:
    """Return the files to read that the value of a parameter may name."""
    parts = value if isinstance(value, list | tuple) else [value]
    named = [part for part in parts if isinstance(part, str | Path) and "\0" not in str(part)]
    return [] if name in _WRITTEN else list(map(Path, named))


def _same(a: Path, b: Path) -> bool:
    if a == b:
        return not a.exists() or a.is_file()
    try:
        return a.is_file() and a.samefile(b)
    except OSError:
        return False
