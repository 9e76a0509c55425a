"""What the scripts of the workflow have in common."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sampled_metrics._base.errors import InputError

_log = logging.getLogger("sampled_metrics")


@contextmanager
def logged(log: str) -> Iterator[logging.Logger]:
    """Write messages to the log of a rule and to the terminal, and expected errors in one line."""
    file = logging.FileHandler(log, "w", encoding="utf-8")
    handlers: list[logging.Handler] = [logging.StreamHandler(), file]
    logging.basicConfig(format="%(message)s", handlers=handlers, level=logging.INFO, force=True)
    try:
        yield _log
    except (InputError, OSError, MemoryError) as error:
        _log.error("ERROR: %s", error)
        sys.exit(2)
