"""Files and parameters of rules of the workflow, as they write them."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics.study.config import Study

__all__ = [
    "figure_files",
    "folder_of",
    "followed",
    "one_of",
    "option",
    "options",
    "setting",
    "source_of_scores",
    "table_files",
]

Parameter = Callable[..., Any]


def one_of(names: Iterable[str]) -> str:
    r"""Return a pattern for a wildcard that is one of these names.

    Examples
    --------
    >>> one_of(["X", "1.5"]), one_of([])
    ('X|1\\.5', '(?!)')
    """
    return "|".join(map(re.escape, names)) or "(?!)"


def table_files(*numbers: int) -> list[str]:
    """Return the files of tables, in all their forms."""
    return [f"<results>/tables/table{n}.{form}" for n in numbers for form in ("csv", "md", "tex")]


def figure_files(*numbers: int) -> list[str]:
    """Return the files of figures, in all their forms."""
    forms = ("csv", "svg", "pdf", "png")
    return [f"<results>/figures/figure{n}.{form}" for n in numbers for form in forms]


def followed(path: str) -> list[str]:
    """Return a file as an input, so that a newer one is read again.

    Nothing if it is missing, which the rule says, or if its name has the signs of a wildcard.
    """
    return [path] if Path(path).is_file() and not set(path) & set("{}<>") else []


def source_of_scores(study: Study) -> Parameter:
    """Return an input: the trained recommender, or the scores made elsewhere."""

    def source(wildcards: Any) -> str:
        entry = study.recommender(wildcards.recommender)
        is_external = entry.kind == "external"
        return entry.settings.path if is_external else f"<results>/models/{entry.name}.npz"

    return source


def folder_of(kind: str) -> Parameter:
    """Return a parameter: the folder of a rule's outputs of that name."""
    return lambda wildcards, output: str(Path(getattr(output, kind)[0]).parent)  # noqa: ARG005


def setting(value: object) -> Parameter:
    """Return a parameter: a value of the configuration, in which braces name no wildcard."""
    return lambda wildcards: value  # noqa: ARG005


def option(name: str, files: Sequence[str]) -> list[str]:
    """Return an option of a command, or nothing where there is no such file."""
    return [name, files[0]] if files else []


def options(name: str, files: Iterable[str]) -> list[str]:
    """Return an option of a command once for each file.

    Examples
    --------
    >>> options("--ranks", ["X.parquet", "Y.parquet"])
    ['--ranks', 'X.parquet', '--ranks', 'Y.parquet']
    """
    return [part for file in files for part in (name, file)]
