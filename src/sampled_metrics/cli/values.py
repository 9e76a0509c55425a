"""Values of options that need no conversion by pydantic, whose import takes a tenth of a second.

typer has every value of a command converted by pydantic. Here those that are what they should be,
or plainly written, are taken as they are; all others are left to typer, with its messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter
    from typer.models import ParameterInfo

_OTHER = object()  # stands for a value that typer must convert, or refuse
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_DECIMAL = re.compile(r"\d{0,15}\.\d{1,15}", re.ASCII)


def take_plain_values(parameter: Parameter) -> None:
    """Make a parameter of a command convert plain values without typer."""
    by_typer = parameter.process_value

    def process_value(ctx: Context, value: Any) -> Any:
        described = getattr(parameter, "type_descriptor", None)
        if described is None:  # in another version of typer
            return by_typer(ctx, value)
        plain = _plain(described.annotation, described.parameter_info, value)
        if plain is _OTHER or (parameter.required and not plain):
            return by_typer(ctx, value)
        if parameter.callback is not None:
            return parameter.callback(ctx, parameter, plain)
        return plain

    parameter.process_value = process_value  # type: ignore[method-assign]


def _plain(kind: object, about: ParameterInfo, value: object) -> Any:
    """Convert a value, or a list or tuple of values, that is plainly of a type."""
    origin = get_origin(kind)
    if value is None:  # the option is not given
        return () if origin is list else None
    if origin not in (list, tuple):
        return _plain_item(kind, about, value)
    if not isinstance(value, list | tuple):
        return _OTHER
    kinds = get_args(kind)
    if origin is list:
        kinds *= len(value)
    items = _plain_items(kinds, about, value)
    return _OTHER if items is None else origin(items)


def _plain_items(
    kinds: Sequence[object], about: ParameterInfo, values: Sequence[object]
) -> list[Any] | None:
    """Convert values that are plainly of these types, one each; None if any is not."""
    if len(kinds) != len(values):
        return None
    items = [_plain_item(kind, about, value) for kind, value in zip(kinds, values, strict=True)]
    return None if _OTHER in items else items


def _plain_item(kind: object, about: ParameterInfo, value: object) -> Any:
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else _OTHER
    found: Any = _OTHER
    if not isinstance(kind, type) or about.parser not in (None, kind):
        return found
    if isinstance(value, kind):  # text, or a default
        found = value
    elif isinstance(value, str):
        found = _of_text(kind, about, value)
    return found


def _of_text(kind: type, about: ParameterInfo, text: str) -> Any:
    found: Any = _OTHER
    if issubclass(kind, Enum):
        found = _member_of(kind, text)
    elif kind is Path:
        if _may_be_read(text):
            found = Path(text)
    elif kind is int and _WHOLE.fullmatch(text):
        found = _within(int(text), about)
    elif kind is float and _DECIMAL.fullmatch(text):
        found = _within(float(text), about)
    return found


def _member_of(kind: type[Enum], text: str) -> Any:
    return kind(text) if text in [member.value for member in kind] else _OTHER


def _may_be_read(name: str) -> bool:
    """Return whether a file has no such name, or may be read."""
    return "\0" not in name and (os.access(name, os.R_OK) or not os.access(name, os.F_OK))


def _within(number: float, about: ParameterInfo) -> Any:
    too_small = about.min is not None and number < about.min
    too_large = about.max is not None and number > about.max
    return _OTHER if too_small or too_large else number
