"""Memory and run time that each rule requests from a scheduler, by the size of its inputs.

`benchmarks/large.py` measures steps of the workflow on larger data.
"""

import json
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from sampled_metrics.study.config import Study
from sampled_metrics.study.recommenders.neighbours import MOST_KEPT

Resource = Callable[..., int]

_MB_OF_PAIR = 1.2e-5  # of weights that are kept: 8 bytes for a pair of items, and the margin
_MB_OF_ITEM = 0.03  # of weights that are not: some columns at a time
_MINUTES_OF_PAIR = 5e-10  # to compute a weight
_MINUTES_OF_SUM = 1e-10  # to add a weight to a score, for each event and each item


class Request(NamedTuple):
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


class Wildcards(Protocol):
    """Wildcards of a job that trains or ranks."""

    recommender: str


class Inputs(Protocol):
    """Inputs of a job before it runs: paths, or lists of them, by name."""

    counts: str

    def get(self, name: str) -> str | list[str] | None:
        """Return an input; None where the rule has none of this name."""


def memory_of(rule: str, study: Study | None = None) -> Resource:
    """Return the function of Snakemake for the memory of a rule, in MB, times the attempt.

    `study` is for rules that train or rank by a recommender, which may hold all pairs of items.
    """
    return _resource(rule, study, 0)


def minutes_of(rule: str, study: Study | None = None) -> Resource:
    """Return the function of Snakemake for the run time of a rule, as `memory_of`, in minutes."""
    return _resource(rule, study, 1)


def _resource(rule: str, study: Study | None, place: int) -> Resource:
    def requested(wildcards: Wildcards, input: Inputs, attempt: int) -> int:  # noqa: A002 - as Snakemake calls it
        return attempt * math.ceil(_needed(rule, study, wildcards, input)[place])

    return requested


def _needed(
    rule: str, study: Study | None, wildcards: Wildcards, inputs: Inputs
) -> tuple[float, float]:
    """Return memory and minutes of a rule; the users of a ranking are divided into pieces."""
    request = REQUESTS[rule]
    memory: float = request.memory
    minutes: float = request.minutes
    has_scores = study is not None and _has_scores(study, wildcards.recommender)
    for_users = 0.0
    for name, path in _counted(request, inputs):
        of_file = _of_file(rule, path, name == "source" and has_scores)
        memory += of_file[0]
        for_users += of_file[1]
    if study is not None and has_all_pairs(study, wildcards.recommender):
        counts = json.loads(Path(inputs.counts).read_text("utf-8"))
        items = counts["items"]
        memory += _MB_OF_PAIR * items**2 if items <= MOST_KEPT else _MB_OF_ITEM * items
        minutes += 2 * _MINUTES_OF_PAIR * items**2
        for_users += _MINUTES_OF_SUM * items * counts["training_events"]
    if rule == "rank" and study is not None and not has_scores:
        for_users /= study.ranking.pieces
    return memory, minutes + for_users


def _counted(request: Request, inputs: Inputs) -> Iterator[tuple[str, Path]]:
    """Yield the files of the inputs that count, after the names of the inputs."""
    for name in request.counted:
        paths = inputs.get(name) or []
        if isinstance(paths, str):
            paths = [paths]
        for path in paths:
            yield name, Path(path)


def _of_file(rule: str, path: Path, has_scores: bool) -> tuple[float, float]:
    """Return memory and minutes for an input; by FileNotFoundError, Snakemake decides later."""
    request = REQUESTS[rule]
    megabytes = path.stat().st_size / 1e6
    memory = request.memory_per_mb
    minutes = request.minutes_per_mb
    if rule == "split":
        memory = COMPRESSED.get(path.suffix.lower(), memory)
    elif has_scores:
        memory = SCORES.get(path.suffix, memory)
        minutes = MINUTES_OF_SCORES
        if path.suffix == ".npz":
            with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:  # the job tells
                megabytes = sum(member.file_size for member in archive.infolist()) / 1e6
    return memory * megabytes, minutes * megabytes


def _has_scores(study: Study, recommender: str) -> bool:
    entry = study.recommender(recommender)
    return entry.kind == "external" and entry.settings.format == "scores"


def has_all_pairs(study: Study, recommender: str) -> bool:
    """Tell whether a recommender adds weights of all pairs of items, which takes longest."""
    entry = study.recommender(recommender)
    if entry.kind != "itemknn":
        return False
    return entry.settings.k is None and entry.settings.k_prime is None
