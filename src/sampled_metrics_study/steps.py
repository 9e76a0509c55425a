"""Steps of the workflow: the code that each stage runs, and what its scripts have in common."""

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

# What the scripts of a stage import, folders and files of the two packages. A test holds the lists
# against the imports. The page is made again by any change, because it says which code ran.
_DATA = (
    "sampled_metrics/__init__.py",
    "sampled_metrics/_base",
    "sampled_metrics/inputs",
    "sampled_metrics_study/__init__.py",
    "sampled_metrics_study/steps.py",
    "sampled_metrics_study/files.py",
    "sampled_metrics_study/validation.py",
    "sampled_metrics_study/data",
)
_RANKING = (*_DATA, "sampled_metrics/ranks", "sampled_metrics_study/recommenders")
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
    """Return the hash of the files that the scripts of a stage run, with their names.

    It is a parameter of the rules, so that changed code makes its results again, and no others.
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

    Messages go to the log of the rule and to the terminal, expected errors in one line. The
    checksums of outputs are kept beside the log. Questions about ranks are asked by the step that
    makes them.
    """
    log = Path(job.log[0])
    file = logging.FileHandler(log, "w", encoding="utf-8")
    handlers: list[logging.Handler] = [logging.StreamHandler(), file]
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
    """Raise InputError for a file that is not as a step of the workflow left it.

    `folder` holds a file of checksums for each step, as `sha256sum` writes them.
    """
    stored: dict[str, str] = {}
    for file in sorted(folder.glob("*.sha256"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text("utf-8").splitlines():
            digest, path = line.split("  ", 1)
            stored[path] = digest
    for path in paths:
        if path in stored and checksum(path) != stored[path]:
            problem = "edited since the workflow made it; remove it, and it is made again"
            raise InputError(problem, path=path)
