"""The JSON schema and the table of the configuration, both generated from its models."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sampled_metrics._base.files import write_text
from sampled_metrics._base.settings import Settings
from sampled_metrics.study.config import Study
from sampled_metrics.study.entries import RECOMMENDERS

_INTRODUCTION = """\
# The configuration

`config.yaml` holds the paper's study; another file names only what differs from it:
`snakemake --configfile config/ml-100k.yaml`. This page is generated from the models of
`sampled_metrics.study.config` by `make schema`, as is the
[JSON schema](../workflow/schemas/config.schema.yaml), by which editors complete and check keys.
"""


def write_schema(schema: Path, readme: Path) -> None:
    """Write the JSON schema (as YAML) and the table (as Markdown)."""
    import yaml

    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema()}
    write_text(schema, yaml.safe_dump(content, sort_keys=False, width=100, allow_unicode=True))
    write_text(readme, markdown())


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration (draft 2020-12)."""
    return _without_titles(Study.model_json_schema(by_alias=True))


def _without_titles(part: Any) -> Any:
    """Drop the titles, which repeat the names of the keys; join the lines of descriptions."""
    if isinstance(part, list):
        return [_without_titles(item) for item in part]
    if isinstance(part, dict):
        kept = {key: value for key, value in part.items() if key != "title"}
        return {key: _without_titles(value) for key, value in kept.items()}
    return " ".join(part.split()) if isinstance(part, str) else part


def markdown() -> str:
    """Return a table of all keys: their values, their defaults and what they mean."""
    lines = [_INTRODUCTION]
    lines += _section("Top level", Study)
    for name, field in Study.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            lines += _section(f"`{name}`", field.annotation)
            for part in _nested(field.annotation):
                lines += _section(f"`{name}.{part[0]}`", part[1])
    for kind, model in RECOMMENDERS.items():
        lines += _section(f"`recommenders[].settings` of kind `{kind}`", model)
    return "\n".join(lines) + "\n"


def _nested(model: type[Settings]) -> Iterator[tuple[str, type[Settings]]]:
    for name, field in model.model_fields.items():
        for part in getattr(field.annotation, "__args__", ()):
            if isinstance(part, type) and issubclass(part, Settings):
                yield name, part


def _section(title: str, model: type[Settings]) -> list[str]:
    schema = model.model_json_schema(by_alias=True)
    rows = [
        f"| `{name}` | {_values(part, schema)} | {_default(part)} | {_meaning(part, schema)} |"
        for name, part in schema.get("properties", {}).items()
    ]
    head = ["| key | values | default | |", "| :-- | :-- | :-- | :-- |"] if rows else []
    return [f"## {title}", "", " ".join((model.__doc__ or "").split()), "", *head, *rows, ""]


def _meaning(part: dict[str, Any], schema: dict[str, Any]) -> str:
    description = part.get("description") or _resolved(part, schema).get("description", "")
    return " ".join(description.split()).replace("|", r"\|")


def _resolved(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def _default(part: dict[str, Any]) -> str:
    if "default" not in part or isinstance(part["default"], dict):
        return ""
    return f"`{json.dumps(part['default'])}`"


_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minItems": "of at least {}",
}
_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true, false",
    "null": "null",
    "array": "list",
    "object": "mapping",
}


def _values(part: dict[str, Any], schema: dict[str, Any]) -> str:
    """Say in words which values a schema allows."""
    part = _resolved(part, schema)
    if "anyOf" in part:
        return ", ".join(_values(choice, schema) for choice in part["anyOf"])
    if "enum" in part or "const" in part:
        return ", ".join(map(str, part.get("enum", [part.get("const")])))
    limits = [words.format(part[name]) for name, words in _LIMITS.items() if name in part]
    return " ".join([_TYPES[part["type"]], " and ".join(limits)]).strip()
