"""Several recommenders, all ranked in full or all among samples."""

from collections.abc import Mapping

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.kinds import Kind, kind_of
from sampled_metrics.inputs.full import as_ranks
from sampled_metrics.inputs.options import Drawn, Ranked
from sampled_metrics.inputs.recognise import (
    FULL,
    LabelledPairs,
    Lists,
    Recognised,
    SampledColumns,
    recognise,
)
from sampled_metrics.inputs.sampled import as_sampled
from sampled_metrics.ranks import Ranks, SampledRanks


def all_alike(
    data: Mapping[str, object], drawn: Drawn, ranked: Ranked
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Return the sampled ranks of all recommenders, or their ranks in full rankings.

    The other of the two dictionaries is empty. Data of both kinds is an error.
    """
    found = {name: _recognised(name, value) for name, value in data.items()}
    is_full = _are_full(found, drawn)
    if is_full and drawn.sampling is not None:
        raise InputError("sampling (--sampling) is for sampled rankings, these are full")
    samples = {}
    rankings = {}
    for name, value in data.items():
        with reading(name):
            given = found[name] or value
            if is_full:
                rankings[name] = as_ranks(given, ranked)
            else:
                ranked.check("sampled ranks")
                samples[name] = as_sampled(given, drawn)
    return samples, rankings


def _recognised(name: str, value: object) -> Recognised | None:
    """Recognise data; None for files of arrays, which are large, so they are read one by one."""
    if kind_of(value) is Kind.FILE_OF_ARRAYS:
        return None
    with reading(name):
        return recognise(value, FULL)


def _are_full(found: Mapping[str, Recognised | None], drawn: Drawn) -> bool:
    """Return whether recommenders are ranked in full; if only some are, that is an error."""
    among = [name for name, given in found.items() if _is_sampled(given, drawn)]
    full = [name for name in found if name not in among]
    if among and full:
        raise InputError(
            f"{full[0]} is ranked in full, {among[0]} among samples; compare like with like"
        )
    return bool(full)


def _is_sampled(given: Recognised | None, drawn: Drawn) -> bool:
    """Return whether data, which may be a file not read yet, is of sampled rankings."""
    match given:
        case Recognised(Ranks()):
            return False
        case Recognised(SampledRanks() | SampledColumns() | LabelledPairs()):
            return True
        case Recognised(Lists(table)) if "label" in table.columns:
            return True
    return drawn.positive is not None or drawn.n_negatives is not None
