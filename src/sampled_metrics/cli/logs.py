"""Where messages go."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sampled_metrics._base.errors import InputWarning


def configure(log: Path | None = None) -> None:
    """Send the messages of the package to standard error, and to a file if one is named."""
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = logging.FileHandler(log, mode="w", encoding="utf-8")
        file.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        handlers.append(file)
    logging.basicConfig(format="%(message)s", handlers=handlers, force=True)
    logging.getLogger("sampled_metrics").setLevel(logging.INFO)


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Send warnings to standard error, one line each without a place in the source."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        logging.getLogger("sampled_metrics").warning("%s", message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", InputWarning)
        warnings.showwarning = show
        yield
