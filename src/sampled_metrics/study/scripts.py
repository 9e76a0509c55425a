"""Common parts of the workflow's scripts: messages, errors and checksums of results."""

import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError, InputWarning
from sampled_metrics._base.files import checksum, write_text

_log = logging.getLogger("sampled_metrics")


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
    except (InputError, OSError, MemoryError) as error:
        _log.error("ERROR: %s", error)
        sys.exit(2)


def refuse_edited(paths: Iterable[str], folder: Path) -> None:
    """Raise InputError for a file that is not as a step of the workflow left it.

    `folder` holds a file of checksums for each step, as `sha256sum` writes them.
    """
    kept: dict[str, str] = {}
    for file in sorted(folder.glob("*.sha256"), key=lambda file: file.stat().st_mtime):
        for line in file.read_text("utf-8").splitlines():
            digest, path = line.split("  ", 1)
            kept[path] = digest
    for path in paths:
        if path in kept and checksum(path) != kept[path]:
            problem = "edited since the workflow made it; remove it, and it is made again"
            raise InputError(problem, path=path)
