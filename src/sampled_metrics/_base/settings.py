"""Settings: frozen models whose first validation error becomes one line."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sampled_metrics._base.errors import InputError

Count = Annotated[int, Field(ge=1, le=1_000_000)]  # within what compiled libraries can hold


class Settings(BaseModel):
    """A group of settings, validated once; unknown names are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=True
    )

    @classmethod
    def of(cls, values: object, place: str) -> Self:
        """Validate settings by name, as read from YAML or JSON from `place`.

        The first problem becomes an InputError of the place, the dotted key and pydantic's message.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            problem = first["msg"].removeprefix("Value error, ")
            raise InputError(f"{key}: {problem}" if key else problem, path=place) from None

    def replaced(self, **changes: object) -> Self:
        """Return a copy with other values, which are trusted."""
        return self.model_copy(update=changes)
