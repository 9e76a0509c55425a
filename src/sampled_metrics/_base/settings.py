"""Settings: frozen models whose first validation error becomes one line."""

import ast
import inspect
from collections.abc import Mapping
from contextlib import suppress
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sampled_metrics._base.errors import InputError

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # within what compiled libraries can hold


def _describe(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Describe each property by the text below its field.

    Pydantic has an option for this, which reads the sources whenever a model is imported.
    """
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        with suppress(OSError, TypeError):  # no source: built in, or made by `create_model`
            texts |= _texts_below(inspect.getsource(base))
    for name, field in model.model_fields.items():
        if name in texts:
            schema["properties"][field.alias or name].setdefault("description", texts[name])


def _texts_below(source: str) -> dict[str, str]:
    r"""Return the strings below the fields of a class.

    Examples
    --------
    >>> _texts_below("class A:\n    x: int\n    'Width.'")
    {'x': 'Width.'}
    """
    texts = {}
    for field, below in pairwise(ast.parse(dedent(source)).body[0].body):  # type: ignore[attr-defined]
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                texts[name] = inspect.cleandoc(text)
    return texts


class Settings(BaseModel):
    """A group of settings, validated once.

    The text below a field is its description in the schema and in `config/README.md`.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
        json_schema_extra=_describe,
    )
    RENAMED: ClassVar[Mapping[str, str]] = {}  # keys of earlier versions

    @classmethod
    def of(cls, values: object, place: str) -> Self:
        """Validate settings by name, as read from YAML or JSON from `place`.

        The first problem becomes an InputError, which begins with the place and the dotted key.

        Examples
        --------
        >>> from pydantic import Field
        >>> class Machine(Settings):
        ...     cores: int = Field(ge=1)
        >>> Machine.of({"cores": 0}, "config")
        Traceback (most recent call last):
        sampled_metrics.InputError: config: cores must be at least 1, not 0
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InputError(_line(error.errors()[0], values), path=place) from None

    def as_json(self) -> str:
        """All settings on one line of JSON, by the names of the configuration."""
        return self.model_dump_json(by_alias=True)

    def replaced(self, **changes: object) -> Self:
        """Return a copy with other values, which are trusted."""
        return self.model_copy(update=changes)

    @classmethod
    def setting_names(cls) -> list[str]:
        """Names of the settings, as the configuration spells them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            for name in values:
                if name in cls.RENAMED:
                    raise ValueError(f"key {name!r} is now {cls.RENAMED[name]}")
                if name not in {*cls.setting_names(), *cls.model_fields}:
                    known = ", ".join(cls.setting_names()) or "none"
                    raise ValueError(f"unknown key {name!r}; known: {known}")
        return values


_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
}
_LIMITS = {
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "too_short": "a list of at least {min_length}",
    "string_too_short": "text of at least {min_length} character",
    "string_too_long": "text of at most {max_length} character",
    "string_pattern_mismatch": "text like {pattern}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "union_tag_invalid": "{expected_tags}",
}


def _line(error: Any, values: object) -> str:
    """Say what is wrong with which setting."""
    kind = error["type"]
    context = {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in error.get("ctx", {}).items()
    }
    place = _place(error["loc"], values, missing=kind == "missing")
    if kind == "value_error":
        return f"{place}: {context['error']}" if place else str(context["error"])
    if kind in ("missing", "union_tag_not_found"):
        key = context.get("discriminator", "").strip("'")
        return ".".join(filter(None, [place, key])) + " is missing"
    value = error["input"]
    if kind == "union_tag_invalid":
        key = context["discriminator"].strip("'")
        place, value = f"{place}.{key}", context["tag"]
    wanted = _KINDS.get(kind) or _LIMITS.get(kind, "").format(**context).replace("'", "")
    said = f"must be {wanted}" if wanted else f"is invalid ({error['msg']})"
    return f"{place or 'the whole'} {said}, not {value!r}"


def _place(steps: tuple[str | int, ...], values: Any, *, missing: bool) -> str:
    """Dotted key of an error, without the members of unions that pydantic names between keys."""
    place = ""
    for number, step in enumerate(steps):
        inside = isinstance(values, list) if isinstance(step, int) else step in _keys(values)
        if inside:
            values = values[step]
        elif not (missing and number == len(steps) - 1):
            continue
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    return place.removeprefix(".")


def _keys(values: object) -> list[object]:
    return list(values) if isinstance(values, Mapping) else []
