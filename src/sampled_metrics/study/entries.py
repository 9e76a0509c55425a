"""The recommenders in the configuration of a study."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from sampled_metrics._base.settings import Settings
from sampled_metrics.datasets.settings import FileName
from sampled_metrics.recommenders import KINDS


class ExternalSettings(Settings):
    """A file of ranks or scores made elsewhere."""

    path: FileName
    """The file."""
    format: Literal["ranks", "scores"]
    """Ranks of the held-out items, or scores of every candidate of every user."""
    origin: str | None = None
    """Where the file comes from. If it is set, a run without the file stops at once and says so."""


class Entry(Settings):
    """A recommender of the study."""

    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Name in files, tables and figures."""
    kind: str
    """Kind of recommender."""
    settings: Any
    """Hyper-parameters."""


def _entry(kind: str, settings: type[Settings]) -> type[Entry]:
    required = any(field.is_required() for field in settings.model_fields.values())
    fields: dict[str, Any] = {
        "kind": (Literal[kind], Field(description="Kind of recommender.")),
        "settings": (
            settings,
            Field(default=... if required else settings(), description="Hyper-parameters."),
        ),
    }
    return create_model(kind, __base__=Entry, __doc__=settings.__doc__, **fields)


RECOMMENDERS: dict[str, type[Settings]] = {
    **{kind: recommender.Settings for kind, recommender in sorted(KINDS.items())},
    "external": ExternalSettings,
}
if TYPE_CHECKING:
    Recommender = Entry
else:
    Recommender = Annotated[
        reduce(or_, (_entry(kind, settings) for kind, settings in RECOMMENDERS.items())),
        Field(discriminator="kind"),
    ]
