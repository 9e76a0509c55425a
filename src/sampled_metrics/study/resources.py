"""Memory and run time that each rule requests from a scheduler, by the size of its inputs.

`benchmarks/large.py` measures steps of the workflow on larger data.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampled_metrics.study.config import Study
from sampled_metrics.study.recommenders.neighbours import MOST_KEPT

Resource = Callable[..., int]

_MB_OF_PAIR = 1.2e-5  # of weights that are kept: 8 bytes for a pair of items, and the margin
_MB_OF_ITEM = 0.03  # of weights that are not: some columns at a time
_MINUTES_OF_PAIR = 5e-10  # to compute a weight
_MINUTES_OF_SUM = 1e-10  # to add a weight to a score, for each event and each item


@dataclass(frozen=True)
class Request:
    """A base, and a factor for each MB of the inputs `counted`: memory in MB, time in minutes."""

    counted: tuple[str, ...]  # inputs as the rule names them
    memory: int
    memory_per_mb: float
    minutes: int
    minutes_per_mb: float


REQUESTS = {
    "split": Request(("events",), 600, 45, 10, 0.1),
    "train": Request(("split",), 700, 25, 10, 1.5),
    "rank": Request(("split", "source"), 700, 25, 10, 1.5),
    "gather": Request(("split", "pieces"), 600, 15, 10, 0.1),
    "ranges": Request(("ranks",), 700, 400, 10, 10),
    "exact": Request(("ranks",), 700, 40, 10, 1),
    "tables": Request(("ranks",), 1500, 400, 15, 10),
    "theory": Request((), 1500, 0, 10, 0),
    "scorecard": Request(("ranks",), 1500, 40, 10, 1),
    "spread": Request(("split", "ranks"), 900, 50, 20, 3),
    "page": Request(("ranks",), 1500, 40, 10, 1),
}


def memory_of(rule: str, study: Study | None = None) -> Resource:
    """Return the function of Snakemake for the memory of a rule, in MB, times the attempt.

    `study` is for rules that train or rank by a recommender, which may hold all pairs of items.
    """
    request = REQUESTS[rule]

    def mem_mb(wildcards: Any, input: Any, attempt: int) -> int:  # noqa: A002 - as Snakemake calls it
        needed = request.memory + request.memory_per_mb * _megabytes(request, input)
        if study is not None and _has_all_pairs(study, wildcards.recommender):
            items = _counts(input)["items"]
            needed += _MB_OF_PAIR * items**2 if items <= MOST_KEPT else _MB_OF_ITEM * items
        return attempt * math.ceil(needed)

    return mem_mb


def minutes_of(rule: str, study: Study | None = None) -> Resource:
    """Return the function of Snakemake for the run time of a rule, as `memory_of`, in minutes."""
    request = REQUESTS[rule]

    def runtime(wildcards: Any, input: Any, attempt: int) -> int:  # noqa: A002 - as Snakemake calls it
        needed = request.minutes + request.minutes_per_mb * _megabytes(request, input)
        if study is not None and _has_all_pairs(study, wildcards.recommender):
            counts = _counts(input)
            needed += 2 * _MINUTES_OF_PAIR * counts["items"] ** 2
            needed += _MINUTES_OF_SUM * counts["items"] * counts["training_events"]
        return attempt * math.ceil(needed)

    return runtime


def _megabytes(request: Request, inputs: Any) -> float:
    """Size of the inputs that count; by FileNotFoundError, Snakemake decides later."""
    total = 0
    for name in request.counted:
        paths = inputs.get(name) or []
        if isinstance(paths, str):
            paths = [paths]
        total += sum(Path(path).stat().st_size for path in paths)
    return total / 1e6


def _has_all_pairs(study: Study, recommender: str) -> bool:
    entry = study.recommender(recommender)
    if entry.kind != "itemknn":
        return False
    return entry.settings.k is None and entry.settings.k_prime is None


def _counts(inputs: Any) -> dict[str, int]:
    return json.loads(Path(inputs.counts).read_text("utf-8"))
