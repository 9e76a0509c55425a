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
    among: dict[str, object] = {}
    full: dict[str, object] = {}
    for name, value in data.items():
        given = None
        # Files of arrays are large, so they are read one after the other.
        if kind_of(value) is not Kind.FILE_OF_ARRAYS:
            with reading(name):
                given = recognise(value, FULL)
        of_its_kind = among if _is_sampled(given, drawn) else full
        of_its_kind[name] = given or value
    if among and full:
        raise InputError(
            f"{next(iter(full))} is ranked in full, {next(iter(among))} among samples; "
            "compare like with like"
        )
    if full and drawn.sampling is not None:
        raise InputError("sampling (--sampling) is for sampled rankings, these are full")
    samples = {}
    rankings = {}
    for name, found in among.items():
        with reading(name):
            ranked.check("sampled ranks")
            samples[name] = as_sampled(found, drawn)
    for name, found in full.items():
        with reading(name):
            rankings[name] = as_ranks(found, ranked)
    return samples, rankings


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
