"""Settings: frozen models whose first validation error becomes one line."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sampled_metrics._base.errors import InputError

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # within what compiled libraries can hold
Seed = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]

_PATTERNS: dict[str, str] = {}


def described_pattern(pattern: str, words: str, **options: Any) -> Any:
    """Return a field of texts that match a pattern, which errors put in words."""
    _PATTERNS[pattern] = words
    return Field(pattern=pattern, **options)


class Settings(BaseModel):
    """A group of settings, validated once; unknown names are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=True
    )

    @classmethod
    def of(cls, values: object, place: str) -> Self:
        """Validate settings by name, as read from YAML or JSON from `place`.

        The first problem becomes an InputError of the place, the dotted key, what it must be and
        what it is; of an unknown key, the known ones.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InputError(_problem(cls, error), path=place) from None

    def replaced(self, **changes: object) -> Self:
        """Return a copy with other values, which are trusted."""
        return self.model_copy(update=changes)


def _problem(model: type[Settings], error: ValidationError) -> str:
    """Say what is wrong with the first invalid value, with its dotted key."""
    first = error.errors()[0]
    kind = first["type"]
    place = first["loc"]
    value = first["input"]
    words = first["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        words = _unknown_key(
            str(place[-1]),
            value,
            _keys_at(model, place[:-1]),
        )
    elif kind == "string_pattern_mismatch":
        pattern = first["ctx"]["pattern"]
        words = f"{value!r} must be {_PATTERNS[pattern]}"
    elif kind not in ("missing", "value_error") and not isinstance(value, dict | list):
        words = f"{words}, not {value!r}"
    key = ".".join(map(str, place))
    if not key:
        return words
    return f"{key}: {words}"


def _unknown_key(key: str, value: object, known: list[str]) -> str:
    if not known:
        return f"unknown key, with the value {value!r}; there are no settings here"
    close = get_close_matches(key, known, n=1)
    meant = "".join(f"did you mean {name}? " for name in close)
    listed = ", ".join(known)
    return f"unknown key, with the value {value!r}; {meant}known keys: {listed}"


def _keys_at(model: type[Settings], place: tuple[int | str, ...]) -> list[str]:
    """Return the keys that settings may have at a place of a model."""
    models = [model]
    for step in place:
        below: list[type[Settings]] = []
        for one in models:
            below += _models_below(one, step)
        if not below:  # a place in a list, or the kind of a member of a union
            below = [one for one in models if one.__name__ == step]
        if below:
            models = below
    keys: dict[str, None] = {}
    for one in models:
        for name, field in one.model_fields.items():
            keys[field.alias or name] = None
    return list(keys)


def _models_below(model: type[Settings], key: int | str) -> Iterator[type[Settings]]:
    """Yield the models that the value of a key may have."""
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            yield from _models_in(field.annotation)


def _models_in(annotation: object) -> Iterator[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
