"""How to read a text file that names no columns, from its first lines."""

import re
from itertools import islice
from pathlib import Path

import pyarrow as pa

_START_BYTES = 65_536  # bytes that are looked at
_MAX_LINES = 100
_COLUMN_NAMES = ("user_id", "item_id", "rating", "timestamp")
_SEPARATORS = ("\t", ",", ";", None)  # None: blanks
_WHOLE_NUMBER = re.compile(r"[+-]?\d+")


def suggest_reading(path: Path, third: str = _COLUMN_NAMES[2]) -> str:
    """Return Python code that reads a file of columns, or one of a user and items in each line.

    `third` is the name of a third column. The text begins with a semicolon, or is empty.
    """
    try:
        with pa.input_stream(str(path)) as stream:
            text = stream.read(_START_BYTES).decode()
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        return ""
    lines = [*islice(filter(str.strip, text.splitlines()[:-1] or [text]), _MAX_LINES)]
    for separator in _SEPARATORS:
        fields = [line.split(separator) for line in lines]
        if lines and len(fields[0]) > 1:
            return _suggest_code(path, third, separator, fields)
    return ""


def _suggest_code(path: Path, third: str, separator: str | None, fields: list[list[str]]) -> str:
    widths = {len(row) for row in fields}
    are_numbers = all(_WHOLE_NUMBER.fullmatch(field) for row in fields for field in row)
    found = ""
    if len(widths) == 1 and max(widths) <= len(_COLUMN_NAMES):
        names = [*_COLUMN_NAMES[:2], third, _COLUMN_NAMES[3]][: max(widths)]
        sign = r"\s+" if separator is None else separator
        found += (
            f"; if columns are {', '.join(names)}, give "
            f"pandas.read_csv({str(path)!r}, sep={sign!r}, names={names})"
        )
    if separator is None and are_numbers and max(widths) > 2:
        found += (
            "; if a line holds a user and items, give {user: items for user, *items in "
            f"map(str.split, pathlib.Path({str(path)!r}).read_text().splitlines())}}"
        )
    return found
