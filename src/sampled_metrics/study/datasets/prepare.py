"""From the files of a dataset to its split, and the record of events left out."""

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.arrays import generator
from sampled_metrics.study.datasets.archives import read_dataset
from sampled_metrics.study.datasets.events import apply_filters
from sampled_metrics.study.datasets.settings import DatasetSettings, FilterSettings, SplitSettings
from sampled_metrics.study.datasets.split import Split, given_split, hold_out, sample_users

_log = logging.getLogger(__name__)


def split_of(
    paths: Sequence[Path],
    dataset: DatasetSettings,
    filters: FilterSettings,
    settings: SplitSettings,
) -> tuple[Split, dict[str, Any]]:
    """Read the events of an archive, or of one or two tables; filter and split them.

    Returns the split and the content of `split.json`.
    """
    removed = Counter[str]()
    parts = []
    for path in paths:
        whole = read_dataset(path, dataset)
        kept, dropped = apply_filters(whole, filters, settings.least_events)
        parts.append(kept)
        removed.update(dropped)
    rng = generator(settings.seed, "split")
    if settings.method == "given":
        split = given_split(parts[0], parts[1], settings.tie_break, rng)
    else:
        split = hold_out(parts[0], settings, rng)
    if settings.users is not None:
        split = sample_users(split, settings.users, generator(settings.seed, "users"))
    counts = split.counts()
    expected = None
    as_expected = None
    if dataset.published:
        expected = dataset.published.counts
        if not filters.on:
            as_expected = expected.items() <= counts.items()
    record = {
        "method": settings.method,
        "tie_break": None if settings.method == "random" else settings.tie_break,
        **counts,
        "filters": {name: {"value": v, "removed": removed[name]} for name, v in filters.on.items()},
        "expected": expected,
        "as_expected": as_expected,
    }
    _log.info("split: %s", ", ".join(f"{count} {name}" for name, count in counts.items()))
    return split, record
