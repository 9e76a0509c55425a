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


class Wildcards(Protocol):
    """Wildcards of a job that trains or ranks."""

    recommender: str


class Inputs(Protocol):
    """Inputs of a job before it runs: paths, or lists of them, by name."""

    counts: str

    def get(self, name: str) -> str | list[str] | None:
        """Return an input; None where the rule has none of this name."""
