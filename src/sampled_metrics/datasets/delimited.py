"""Tables of interactions as text: rows of fields with a separator, maybe compressed."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from sampled_metrics._base.errors import InputError

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_UNREADABLE = (OSError, EOFError, pa.ArrowException, csv.Error)


@dataclass(frozen=True)
class Delimited:
    """A text file of fields, which can name the line of a row.

    Attributes
    ----------
    path
        The file; pyarrow decompresses it by its ending.
    separator
        One character.
    header
        Whether the first line names the columns.
    """

    path: Path
    separator: str
    header: bool

    def __str__(self) -> str:
        return str(self.path)

    def head(self) -> tuple[int, list[str]]:
        """Number of the first line that is not empty, and names of the columns.

        Names are numbers from 0 where there is no header.

        Raises
        ------
        InputError
            The file is missing, empty or not text.
        """
        try:
            first = next(self._lines(), None)
        except _UNREADABLE as error:
            raise self._unreadable(error) from error
        if first is None:
            raise InputError(f"{self.path}: empty; expected a table of interactions")
        line, fields = first
        if not all(map(_is_text, fields)):
            raise InputError(f"{self.path}, line {line}: found no text; expected UTF-8")
        return line, fields if self.header else [str(place) for place in range(len(fields))]

    def read(
        self, line: int, names: Sequence[str], types: dict[str, pa.DataType]
    ) -> pa.Table | None:
        """Read the columns in `types`, given the head; None where a row does not conform."""
        try:
            return pyarrow.csv.read_csv(
                str(self.path),
                pyarrow.csv.ReadOptions(
                    column_names=list(names), skip_rows=line if self.header else 0
                ),
                pyarrow.csv.ParseOptions(delimiter=self.separator),
                pyarrow.csv.ConvertOptions(
                    include_columns=list(types), column_types=types, null_values=[""]
                ),
            )
        except pa.ArrowInvalid:
            return None
        except _UNREADABLE as error:
            raise self._unreadable(error) from error

    def bad_row(self, names: Sequence[str], rating: str | None) -> InputError:
        """Find the first row of another length, not text of one line, or whose rating is none."""
        place = None if rating is None else names.index(rating)
        try:
            for line, fields in islice(self._lines(), int(self.header), None):
                fault = self._fault(fields, len(names), place)
                if fault:
                    return InputError(f"{self.path}, line {line}: {fault}")
        except _UNREADABLE as error:
            return self._unreadable(error)
        return InputError(f"{self.path}: cannot be read as a table separated by {self.separator!r}")

    def _fault(self, fields: list[str], width: int, rating: int | None) -> str | None:
        if len(fields) != width:
            by = f"by the separator {self.separator!r}"
            return f"found {len(fields)} columns {by}; expected {width}"
        if not all(map(_is_text, fields)):
            return "found no text; expected UTF-8"
        broken = [field for field in fields if "\n" in field or "\r" in field]
        if broken:
            return f"found a line break in {broken[0][:60]!r}; expected a row a line"
        if rating is not None and fields[rating] and not _NUMBER.fullmatch(fields[rating]):
            return f"found rating {fields[rating]!r}; expected a finite number"
        return None

    def place(self, row: int) -> str:
        """File and line of a row, counted here from 0."""
        return f"{self.path}, line {self._row(row)[0]}"

    def text(self, row: int) -> str:
        """Return a row as it stands there, quoted."""
        return repr(self.separator.join(self._row(row)[1]))

    def _row(self, row: int) -> tuple[int, list[str]]:
        return next(islice(self._lines(), row + int(self.header), None))

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not empty with the numbers of their lines; slow, for messages alone."""
        with closing(pa.input_stream(str(self.path))) as stream:
            text = io.TextIOWrapper(
                io.BufferedReader(stream), "utf-8-sig", errors="surrogateescape", newline=""
            )
            reader = csv.reader(text, delimiter=self.separator)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields

    def _unreadable(self, error: Exception) -> InputError:
        if isinstance(error, FileNotFoundError):
            return InputError(f"{self.path}: no such file; expected a table of interactions")
        reason = " ".join(str(error).split())
        return InputError(
            f"{self.path}: cannot be read ({reason}); expected a table of interactions"
        )


def _is_text(field: str) -> bool:
    return not any("\udc80" <= letter <= "\udcff" or letter == "\0" for letter in field)
