"""Where messages go."""

import logging
from pathlib import Path


def configure(log: Path | None = None) -> None:
    """Send the messages of the package to standard error, and to a file if one is named."""
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log, mode="w", encoding="utf-8"))
    logging.basicConfig(format="%(message)s", handlers=handlers, force=True)
    logging.getLogger("sampled_metrics").setLevel(logging.INFO)
