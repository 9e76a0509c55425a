"""Base class of settings: frozen models that report the first invalid value in one line."""

from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sampled_metrics import InputError

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # fits the integers of compiled libraries
Seed = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]

_PATTERNS: dict[str, str] = {}


def described_pattern(pattern: str, description: str, **options: Any) -> Any:
    """Return a field for texts that match a pattern; error messages use `description` for it."""
    _PATTERNS[pattern] = description
    return Field(pattern=pattern, **options)


class Settings(BaseModel):
    """A group of settings, validated when it is created; unknown names are refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",  # until `_refuse_unknown_keys`
        json_schema_extra={"additionalProperties": False},
        strict=True,
        allow_inf_nan=False,
        populate_by_name=True,
    )

    @classmethod
    def of(cls, values: object, place: str) -> Self:
        """Validate settings by name, as read from YAML or JSON from `place`.

        The first invalid value raises an InputError with the place, the dotted key and what was
        expected, or the known keys.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InputError(_describe_error(error), path=place) from None

    def replaced(self, **changes: object) -> Self:
        """Return a copy with other values, which are not validated."""
        return self.model_copy(update=changes)

    @model_validator(mode="after")
    def _refuse_unknown_keys(self) -> Self:
        """Raise InputError for a key that is no setting, with the closest known key."""
        for key, value in (self.model_extra or {}).items():
            known_keys = [field.alias or name for name, field in type(self).model_fields.items()]
            message = f"unknown key, with the value {value!r}; "
            for close in get_close_matches(key, known_keys, n=1):
                message += f"did you mean {close}? "
            listed = ", ".join(known_keys)
            listed = f"known keys: {listed}" if known_keys else "there are no settings here"
            raise InputError(message + listed, column=key)
        return self


def _describe_error(error: ValidationError) -> str:
    """Describe the first invalid value, with its dotted key."""
    first = error.errors()[0]
    kind = first["type"]
    place = [str(step) for step in first["loc"]]
    value = first["input"]
    message = first["msg"].removeprefix("Value error, ")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError) and cause.column is not None:  # an unknown key
        place.append(cause.column)
        message = cause.problem
    elif kind == "string_pattern_mismatch":
        message = f"{value!r} must be {_PATTERNS[first['ctx']['pattern']]}"
    elif kind == "string_type" and isinstance(value, int | float):
        message = (
            f"found the number {value}; expected text: quote it in a file, or choose a name "
            "that is no number for --config"
        )
    elif kind not in ("missing", "value_error") and not isinstance(value, dict | list):
        message = f"{message}, not {value!r}"
    return ": ".join(filter(None, [".".join(place), message]))
