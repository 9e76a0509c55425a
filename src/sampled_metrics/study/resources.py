"""Memory and run time that each rule requests from a scheduler, by the size of its inputs.

`benchmarks/large.py` measures steps of the workflow on larger data.
"""

import json
import math
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sampled_metrics.study.config import Study
from sampled_metrics.study.job import Inputs, Wildcards
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


# MB of memory for each MB of events in files that are not plain text, by the end of their names.
COMPRESSED = {".zip": 15.0, ".gz": 20.0, ".bz2": 25.0, ".parquet": 75.0, ".pq": 75.0}
# The same of scores made elsewhere; an `.npz` counts by the size of its arrays.
SCORES = {".npz": 1.5, ".csv": 8.0, ".tsv": 8.0, ".gz": 30.0, ".parquet": 100.0}
MINUTES_OF_SCORES = 0.05  # for each MB
REQUESTS = {
    "split": Request(("events",), 600, 10, 10, 0.1),
    "train": Request(("split",), 700, 15, 10, 1.5),
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

    def mem_mb(wildcards: Wildcards, input: Inputs, attempt: int) -> int:  # noqa: A002 - as Snakemake calls it
        return attempt * math.ceil(_needed(rule, study, wildcards, input).memory)

    return mem_mb


def minutes_of(rule: str, study: Study | None = None) -> Resource:
    """Return the function of Snakemake for the run time of a rule, as `memory_of`, in minutes."""

    def runtime(wildcards: Wildcards, input: Inputs, attempt: int) -> int:  # noqa: A002 - as Snakemake calls it
        return attempt * math.ceil(_needed(rule, study, wildcards, input).minutes)

    return runtime


class _Needed(NamedTuple):
    """Memory in MB and time in minutes."""

    memory: float
    minutes: float


def _needed(rule: str, study: Study | None, wildcards: Wildcards, inputs: Inputs) -> _Needed:
    """Return what a rule needs for its inputs; the users of a ranking are divided into pieces."""
    request = REQUESTS[rule]
    memory: float = request.memory
    minutes: float = request.minutes
    for_users = 0.0
    for counted in _counted(rule, study, wildcards, inputs):
        memory += counted.memory_per_mb * counted.megabytes
        for_users += counted.minutes_per_mb * counted.megabytes
    if study is not None and has_all_pairs(study, wildcards.recommender):
        counts = _counts(inputs)
        items = counts["items"]
        memory += _MB_OF_PAIR * items**2 if items <= MOST_KEPT else _MB_OF_ITEM * items
        minutes += 2 * _MINUTES_OF_PAIR * items**2
        for_users += _MINUTES_OF_SUM * items * counts["training_events"]
    if rule == "rank" and study is not None and not _has_scores(study, wildcards):
        for_users /= study.ranking.pieces
    return _Needed(memory, minutes + for_users)


class _Counted(NamedTuple):
    """Size of a file, with the memory and time that are requested for each MB of it."""

    megabytes: float
    memory_per_mb: float
    minutes_per_mb: float


def _counted(
    rule: str, study: Study | None, wildcards: Wildcards, inputs: Inputs
) -> Iterator[_Counted]:
    """Yield the files of the inputs that count."""
    request = REQUESTS[rule]
    for name in request.counted:
        paths = inputs.get(name) or []
        if isinstance(paths, str):
            paths = [paths]
        for path in map(Path, paths):
            size = _megabytes(path)
            memory = request.memory_per_mb
            minutes = request.minutes_per_mb
            if rule == "split":
                memory = COMPRESSED.get(path.suffix.lower(), memory)
            elif name == "source" and study is not None and _has_scores(study, wildcards):
                memory = SCORES.get(path.suffix, memory)
                minutes = MINUTES_OF_SCORES
                if path.suffix == ".npz":
                    size = _unpacked(path)
            yield _Counted(size, memory, minutes)


def _megabytes(path: Path) -> float:
    """Return the size of a file; by FileNotFoundError, Snakemake decides later."""
    return path.stat().st_size / 1e6


def _unpacked(path: Path) -> float:
    """Return the size of the arrays of an `.npz`; that of the file if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist()) / 1e6
    except zipfile.BadZipFile:  # of which the job tells
        return _megabytes(path)


def _has_scores(study: Study, wildcards: Wildcards) -> bool:
    entry = study.recommender(wildcards.recommender)
    return entry.kind == "external" and entry.settings.format == "scores"


def has_all_pairs(study: Study, recommender: str) -> bool:
    """Tell whether a recommender adds weights of all pairs of items, which takes longest."""
    entry = study.recommender(recommender)
    if entry.kind != "itemknn":
        return False
    return entry.settings.k is None and entry.settings.k_prime is None


def _counts(inputs: Inputs) -> dict[str, int]:
    return json.loads(Path(inputs.counts).read_text("utf-8"))
