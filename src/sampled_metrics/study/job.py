"""What the functions of the rules get from Snakemake."""

from typing import Any, Protocol


class Job(Protocol):
    """A job as Snakemake's `script:` passes it: files by name, and parameters, of its rule."""

    input: Any
    output: Any
    params: Any
    log: Any
    wildcards: Any
    threads: int
