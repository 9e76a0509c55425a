"""Code that reads a text file without a header, suggested from its first lines."""

import re
from itertools import islice
from pathlib import Path

import pyarrow as pa

_READ_BYTES = 65_536
_MAX_LINES = 100
_COLUMN_NAMES = ("user_id", "item_id", "rating", "timestamp")
_SEPARATORS = ("\t", ",", ";", None)  # None for blanks
_WHOLE_NUMBER = re.compile(r"[+-]?\d+")


def suggest_reading(path: Path, third: str = _COLUMN_NAMES[2]) -> str:
    """Return the end of an error message: Python code that reads a file without a header.

    The file may have columns, or a user and some items in each line. `third` names a third column.
    The text begins with a semicolon; it is empty if there is nothing to suggest.
    """
    try:
        with pa.input_stream(str(path)) as stream:
            text = stream.read(_READ_BYTES).decode()
    except (OSError, UnicodeDecodeError, pa.ArrowException):
        return ""
    whole_lines = text.splitlines()[:-1] or [text]
    lines = [*islice(filter(str.strip, whole_lines), _MAX_LINES)]
    for separator in _SEPARATORS:
        rows = [line.split(separator) for line in lines]
        if rows and len(rows[0]) > 1:
            return _suggest_code(path, third, separator, rows)
    return ""


def _suggest_code(path: Path, third: str, separator: str | None, rows: list[list[str]]) -> str:
    widths = {len(row) for row in rows}
    are_numbers = all(_WHOLE_NUMBER.fullmatch(field) for row in rows for field in row)
    suggestion = ""
    if len(widths) == 1 and max(widths) <= len(_COLUMN_NAMES):
        names = [*_COLUMN_NAMES[:2], third, _COLUMN_NAMES[3]][: max(widths)]
        sep = r"\s+" if separator is None else separator
        suggestion += (
            f"; if columns are {', '.join(names)}, give "
            f"pandas.read_csv({str(path)!r}, sep={sep!r}, names={names})"
        )
    if separator is None and are_numbers and max(widths) > 2:
        suggestion += (
            "; if a line holds a user and items, give {user: items for user, *items in "
            f"map(str.split, pathlib.Path({str(path)!r}).read_text().splitlines())}}"
        )
    return suggestion
