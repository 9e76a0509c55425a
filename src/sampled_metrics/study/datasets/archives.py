"""Events of a dataset: from an archive of MovieLens, checked line by line, or from a table."""

import re
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from sampled_metrics._base.errors import InputError
from sampled_metrics.study.datasets.catalogue import ML_1M, MovieLens
from sampled_metrics.study.datasets.events import Interactions, read_interactions
from sampled_metrics.study.datasets.settings import DatasetSettings

_TYPES = {"user": pa.int32(), "item": pa.int32(), "rating": pa.float32(), "timestamp": pa.int64()}
_QUOTED = 60  # bytes of a wrong line that its error repeats
_UNREADABLE = (OSError, EOFError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error)


def read_dataset(path: Path, settings: DatasetSettings) -> Interactions:
    """Read the events of an archive or table without any filter."""
    if settings.published is not None:
        return read_ratings(path, settings.published)
    return read_interactions(path, settings.columns, settings.separator)


def read_member(path: Path, dataset: MovieLens) -> bytes:
    """Read the ratings file in an archive; a damaged archive is an InputError.

    So are two files of this name, and one much larger than the published file.
    """
    member = dataset.member
    most = dataset.largest_member
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(member).file_size
            if archive.namelist().count(member) > 1:
                problem = f"{member} is in the archive more than once; expected it once"
                raise InputError(problem, path=path)
            # zipfile reads no byte beyond the size that the archive states.
            if size > most:
                problem = f"{member} has {size:,} bytes; expected at most {most:,}"
                raise InputError(problem, path=path)
            return archive.read(member)
    except _UNREADABLE as error:
        problem = f"not a readable {dataset.title} archive ({error})"
        raise InputError(problem, path=path) from error


def read_ratings(path: Path, dataset: MovieLens = ML_1M) -> Interactions:
    """Read the events of an archive of MovieLens.

    A line that breaks the dataset's layout is an InputError with its number and content.
    """
    content = read_member(path, dataset)
    place = f"{path}:{dataset.member}"
    layout = dataset.layout
    found = re.match(layout.pattern.encode(), content)
    if found is None:
        raise _wrong_line(content, 0, place, f"the header {layout.header}")
    if found.end() < len(content):
        raise _wrong_line(content, found.end(), place, layout.line)
    if found.start(1) == len(content):
        raise InputError(f"no ratings; expected lines of {layout.line}", path=place)
    # pyarrow's separators have one character.
    content = content.replace(layout.separator.encode(), b",")
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        pyarrow.csv.ReadOptions(column_names=list(_TYPES), skip_rows=bool(layout.header)),
        convert_options=pyarrow.csv.ConvertOptions(column_types=_TYPES),
    )
    columns = {name: table[name].to_numpy() for name in _TYPES}
    return Interactions(**columns, path=place)


def _wrong_line(content: bytes, start: int, place: str, expected: str) -> InputError:
    """Make the error for the line that holds a place of the content."""
    start = content.rfind(b"\n", 0, start) + 1  # Python 3.11.2 finds a place within the line
    number = content.count(b"\n", 0, start) + 1
    end = content.find(b"\n", start)
    if end < 0:
        expected += ", and a line feed at the end, so the file is cut off"
        end = len(content)
    quoted = content[start : min(end, start + _QUOTED)].decode("latin-1")
    return InputError(f"found {quoted!r}; expected {expected}", path=place, line=number)
