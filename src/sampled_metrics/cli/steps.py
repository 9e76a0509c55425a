"""Options that steps of the study have in common, and reading their settings."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    from sampled_metrics._base.settings import Settings

    Model = TypeVar("Model", bound=Settings)

Input = Annotated[Path, typer.Argument(help="File to read.")]
Inputs = Annotated[list[Path], typer.Argument(help="Files to read.")]
Output = Annotated[Path, typer.Option(help="File to write.")]
Folder = Annotated[Path, typer.Option(help="Folder.")]
File = Annotated[Path, typer.Option(help="File to read.")]
Json = Annotated[str, typer.Option(help="Settings as in the configuration, as JSON.")]
Threads = Annotated[int, typer.Option(min=1, help="Threads to train with.")]


def parsed(text: str, option: str) -> Any:
    """Read JSON from an option."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option} is not JSON ({error}): {text!r}") from error


def settings_of(model: "type[Model]", text: str, option: str) -> "Model":
    """Read settings from an option that holds them as JSON."""
    return model.of(parsed(text, option), option)
