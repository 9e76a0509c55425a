"""Memory and time that a rule asks of a scheduler, from the size of its input; what had too little.

The factors in the rules are one and a half times the memory, and five times the processor time,
that tests/benchmarks/stages.py measured on MovieLens 1M and on generated data of 24,000 users,
8,000 items and 2,528,868 events, with what Snakemake takes beside the job.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import NO_MEMORY
from sampled_metrics.recommenders.itemknn import MOST_KEPT
from sampled_metrics.study.config import Study
from sampled_metrics.study.entries import Entry

Resource = Callable[..., int]

_ALL_PAIRS = 1.4e-5  # MB for each pair of items: 8 bytes, 1.1 times at the peak, and the margin


def scaled(base: float, **per_mb: float) -> Resource:
    """Return a resource function: `base` and a factor times the MB of inputs, times the attempt.

    Inputs are named as in the rule; one that does not exist yet leaves the resource undecided.
    """

    def resource(wildcards: Any, input: Any, attempt: int) -> int:  # noqa: A002, ARG001
        grown = sum(factor * _megabytes(input.get(name)) for name, factor in per_mb.items())
        return attempt * math.ceil(base + grown)

    return resource


def _megabytes(paths: Any) -> float:
    paths = [paths] if isinstance(paths, str) else paths or []
    return sum(Path(path).stat().st_size for path in paths) / 1e6


def training_memory(study: Study, base: float, **per_mb: float) -> Resource:
    """As `scaled`, with the similarity of all pairs of items where itemknn keeps all neighbours."""
    without_pairs = scaled(base, **per_mb)

    def resource(wildcards: Any, input: Any, attempt: int) -> int:  # noqa: A002
        pairs = all_pairs_mb(study.recommender(wildcards.recommender), Path(input.counts))
        return without_pairs(wildcards, input, attempt) + attempt * pairs

    return resource


def all_pairs_mb(entry: Entry, counts: Path) -> int:
    """Memory for all pairs of items, 0 for recommenders that do not hold them."""
    if entry.kind != "itemknn" or {entry.settings.k, entry.settings.k_prime} != {None}:
        return 0
    items = json.loads(counts.read_text(encoding="utf-8"))["items"]
    return math.ceil(_ALL_PAIRS * items**2) if items <= MOST_KEPT else 0


def out_of_memory(jobs: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each step that ran out of memory, of jobs that failed in their last attempt.

    A step writes to its log why it fails, unless it is killed, which is what a lack of memory does.
    """
    for job in jobs:
        for step in job.jobs if job.is_group() else [job]:
            logs = [Path(path).read_text(encoding="utf-8") for path in filter(_exists, step.log)]
            reasons = re.findall("^ERROR: (.*)", "".join(logs), re.MULTILINE)
            was_at_work = not all(map(_exists, step.output)) and (logs or not job.is_group())
            if was_at_work and all(reason.startswith(NO_MEMORY) for reason in reasons):
                yield _with_remedy(step)


def _exists(path: str) -> bool:
    return Path(path).exists()


def _with_remedy(step: Any) -> str:
    rule, asked = step.rule.name, step.resources.mem_mb
    of = "".join(f" {value}" for value in step.wildcards)
    remedy = (
        "run one step at a time: --cores 1"
        if step.is_local
        else f"ask for more: --set-resources '{rule}:mem_mb=attempt * {2 * asked // step.attempt}'"
    )
    return f"{rule}{of} probably ran out of memory (it asked for {asked} MB); {remedy}"
