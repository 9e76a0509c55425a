"""Checking a study's configuration against its schema, one line a breach."""

from collections.abc import Mapping
from typing import Any

from sampled_metrics._base.errors import InputError

Schema = Mapping[str, Any]


def check_config(config: Mapping[str, Any], schema: Schema) -> None:
    """Check a configuration against a JSON schema (draft 2020-12).

    Raises
    ------
    InputError
        One line with the key, the value found and what is allowed there.

    >>> schema = {"properties": {"cores": {"type": "integer", "minimum": 1}}}
    >>> check_config({"cores": 0}, schema)
    Traceback (most recent call last):
    sampled_metrics.InputError: config: cores is 0; allowed: a whole number of at least 1
    """
    from jsonschema import Draft202012Validator

    _check_format(config)
    errors = sorted(
        Draft202012Validator(schema).iter_errors(config), key=lambda error: list(error.path)
    )
    if errors:
        raise InputError(f"config: {_message(errors[0])}")
    _check_names(config)


def _check_format(config: Mapping[str, Any]) -> None:
    """Say so first where a table is described but the format is another: names follow from it."""
    dataset = config.get("dataset")
    if not isinstance(dataset, Mapping) or dataset.get("format") != "movielens":
        return
    for key in ("path", "columns", "separator"):
        if dataset.get(key) is not None:
            raise InputError(
                f"config: dataset.{key} is {dataset[key]!r} but dataset.format is 'movielens'; "
                "allowed: with dataset.format table alone"
            )


def _check_names(config: Mapping[str, Any]) -> None:
    names = [recommender["name"] for recommender in config.get("recommenders", ())]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InputError(f"config: recommenders holds {repeated[0]!r} twice; allowed: each once")


def _message(error: Any) -> str:
    key = _key(error.absolute_path)
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        unknown = next(name for name in error.instance if name not in known)
        value, listed = error.instance[unknown], ", ".join(known) or "none"
        return f"{_join(key, unknown)} is {value!r}; no such key, allowed: {listed}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{_join(key, missing)} is missing; allowed: {_allowed_at(error.schema, missing)}"
    if error.validator == "uniqueItems":
        return f"{key} is {error.instance!r}; allowed: no entry twice"
    if error.validator == "not":
        return f"{key} is {error.instance!r}; allowed: any but {allowed(error.validator_value)}"
    return f"{key or 'the whole'} is {error.instance!r}; allowed: {allowed(error.schema)}"


def _key(path: Any) -> str:
    key = ""
    for step in path:
        key = f"{key}[{step}]" if isinstance(step, int) else _join(key, step)
    return key


def _join(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _allowed_at(schema: Schema, name: str) -> str:
    properties = schema.get("properties", {})
    return allowed(properties[name]) if name in properties else "a value"


_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a mapping",
    "string": "a text",
}


def allowed(schema: Schema) -> str:
    """Say in words which values a schema allows.

    >>> allowed({"enum": ["ncf", "first"]})
    'ncf, first'
    >>> allowed({"type": ["integer", "null"], "minimum": 1})
    'a whole number of at least 1, or null'
    """
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        return ", ".join(str(value) for value in schema["enum"])
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else list(types)
    words = [_TYPES[name] + _range(schema, name) for name in types]
    return ", or ".join(words) or "another value"


# Keywords of a schema in words, by the types that they say something of.
_NUMBERS, _TEXTS, _LISTS = ("integer", "number"), ("string",), ("array",)
_RANGES = (
    ("minimum", " of at least", _NUMBERS),
    ("exclusiveMinimum", " above", _NUMBERS),
    ("maximum", " and at most", _NUMBERS),
    ("minItems", " with entries, at least", _LISTS),
    ("minLength", " of length at least", _TEXTS),
    ("maxLength", " and at most", _TEXTS),
)


def _range(schema: Schema, kind: str) -> str:
    words = ""
    if "pattern" in schema and kind == "string":
        words += f" like {schema['examples'][0]} ({schema['pattern']})"
    for keyword, phrase, kinds in _RANGES:
        if keyword in schema and kind in kinds:
            words += f"{phrase} {schema[keyword]}"
    return words
