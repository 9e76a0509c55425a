"""Several recommenders, all ranked in full or all among samples."""

from collections.abc import Mapping
from typing import Any

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.kinds import Kind, kind_of
from sampled_metrics.inputs.full import as_ranks
from sampled_metrics.inputs.options import Drawn, Ranked
from sampled_metrics.inputs.recognise import (
    FULL,
    Given,
    LabelledPairs,
    Lists,
    SampledColumns,
    recognise,
)
from sampled_metrics.inputs.sampled import as_sampled
from sampled_metrics.ranks import Ranks, SampledRanks


def all_alike(
    data: Mapping[str, Any], drawn: Drawn, ranked: Ranked
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Return the sampled ranks of all recommenders, or their ranks in full rankings.

    The other of the two dictionaries is empty. Data of both kinds is an error.
    """
    among: dict[str, Any] = {}
    full: dict[str, Any] = {}
    for name, value in data.items():
        given = value
        content = None
        # Files of arrays are large, so they are read one after the other.
        if kind_of(value) is not Kind.FILE_OF_ARRAYS:
            with reading(name):
                given = recognise(value, FULL)
            content = given.content
        if _is_sampled(content, drawn):
            among[name] = given
        else:
            full[name] = given
    if among and full:
        raise InputError(
            f"{next(iter(full))} is ranked in full, {next(iter(among))} among samples; "
            "compare like with like"
        )
    if full and drawn.sampling is not None:
        raise InputError("sampling (--sampling) is for sampled rankings, these are full")
    samples: dict[str, SampledRanks] = {}
    rankings: dict[str, Ranks] = {}
    for name, given in among.items():
        with reading(name):
            ranked.check("sampled ranks")
            samples[name] = as_sampled(given, drawn)
    for name, given in full.items():
        with reading(name):
            rankings[name] = as_ranks(given, ranked)
    return samples, rankings


def _is_sampled(given: Given | None, drawn: Drawn) -> bool:
    if isinstance(given, Ranks):
        return False
    if isinstance(given, SampledRanks | SampledColumns | LabelledPairs):
        return True
    if drawn.positive is not None or drawn.n_negatives is not None:
        return True
    return isinstance(given, Lists) and "label" in given.table.columns
