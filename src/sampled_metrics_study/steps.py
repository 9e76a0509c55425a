"""Steps of the workflow: a digest of the code of each stage, and what all scripts do."""

import hashlib
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sampled_metrics import InputError, InputWarning
from sampled_metrics._base.errors import format_os_error
from sampled_metrics._base.files import write_text
from sampled_metrics_study.files import checksum

_log = logging.getLogger("sampled_metrics")

# Folders and files of the two packages that the scripts of a stage import; a test compares the
# lists with the imports. Any change makes the page again, because the page says which code ran.
_DATA = (
    "sampled_metrics/__init__.py",
    "sampled_metrics/_base",
    "sampled_metrics/checks",
    "sampled_metrics/read",
    "sampled_metrics_study/__init__.py",
    "sampled_metrics_study/steps.py",
    "sampled_metrics_study/files.py",
    "sampled_metrics_study/validation.py",
    "sampled_metrics_study/data",
)
_RANKING = (
    *_DATA,
    "sampled_metrics/ranks",
    "sampled_metrics/evaluation/__init__.py",
    "sampled_metrics/evaluation/rank.py",
    "sampled_metrics_study/recommenders",
)
_EXPERIMENT = (
    *_DATA,
    "sampled_metrics/ranks",
    "sampled_metrics/metrics",
    "sampled_metrics/sampling",
    "sampled_metrics/estimators",
    "sampled_metrics_study/settings.py",
    "sampled_metrics_study/experiment.py",
    "sampled_metrics_study/tables.py",
)
STAGES = {
    "data": _DATA,
    "ranking": _RANKING,
    "tables": (*_EXPERIMENT, "sampled_metrics/intervals", "sampled_metrics_study/exact.py"),
    "figures": (
        *_EXPERIMENT,
        "sampled_metrics/evaluation/__init__.py",
        "sampled_metrics/evaluation/plots.mplstyle",
        "sampled_metrics_study/figures",
        "sampled_metrics_study/scorecard.py",
        "sampled_metrics_study/verdicts.py",
    ),
    "page": ("sampled_metrics", "sampled_metrics_study"),
}


@cache
def code_digest(stage: str) -> str:
    """Return a hash of the code that the scripts of a stage run: contents and names of its files.

    The rules have it as a parameter, so that a change of code makes the results of its stage again.
    """
    packages = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in STAGES[stage]:
        path_of_name = packages / name
        files = sorted(path_of_name.rglob("*.*")) if path_of_name.is_dir() else [path_of_name]
        for path in files:
            if path.suffix != ".pyc" and path.is_file():
                digest.update(path.relative_to(packages).as_posix().encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def step(job: Any) -> Iterator[logging.Logger]:
    """Run the body of a script; `job` is its object `snakemake`.

    Messages go to the log of the rule and to standard error; on a terminal only warnings and errors
    do. Expected errors are one line. The checksums of the outputs are written beside the log.
    Warnings of the library are silent here: the step that makes ranks checks them once and logs
    what it finds.
    """
    log = Path(job.log[0])
    file = logging.FileHandler(log, "w", encoding="utf-8")
    stream = logging.StreamHandler()
    if sys.stderr.isatty():  # where Snakemake draws bars, which other lines would tear apart
        stream.setLevel(logging.WARNING)
    handlers: list[logging.Handler] = [stream, file]
    logging.basicConfig(format="%(message)s", handlers=handlers, level=logging.INFO, force=True)
    try:
        with warnings.catch_warnings(action="ignore", category=InputWarning):
            yield _log
        lines = [f"{checksum(path)}  {path}\n" for path in job.output]
        write_text(log.with_suffix(".sha256"), "".join(lines))
    except OSError as error:
        _log.error("ERROR: %s", format_os_error(error))
        sys.exit(2)
    except (InputError, MemoryError) as error:
        _log.error("ERROR: %s", error)
        sys.exit(2)


def refuse_edited(paths: Iterable[str], folder: Path) -> None:
    """Raise InputError if a file was changed after the step of the workflow that wrote it.

    `folder` has a file of checksums for each step, in the format of `sha256sum`.
    """
    stored: dict[str, str] = {}
    for file in sorted(folder.glob("*.sha256"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text("utf-8").splitlines():
            digest, path = line.split("  ", 1)
            stored[path] = digest
    for path in paths:
        if path in stored and checksum(path) != stored[path]:
            raise InputError(
                "edited since the workflow made it; remove it to make it again", path=path
            )
