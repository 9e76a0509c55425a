"""The rankings that a range is about, and whether the negatives of sampled ranks were checked."""

from collections.abc import Collection

from sampled_metrics._base.errors import ask
from sampled_metrics.ranks import SampledRanks, Sampling
from sampled_metrics.sampling.negatives import check_pairs

SHARED = "shared"  # name of the check that users have different negatives


def question_negatives(ranks: SampledRanks) -> bool:
    """Ask about each property of negatives that corrections assume and these pairs do not have.

    Returns whether users share their negatives, as far as pairs are known.
    """
    if ranks.pairs is None:
        return False
    with_replacement = ranks.sampling is Sampling.WITH_REPLACEMENT
    is_shared = False
    for check in check_pairs(ranks.pairs, int(ranks.n_items.min())):
        if check.passed or (check.name == "duplicates" and with_replacement):
            continue
        is_shared = is_shared or check.name == SHARED
        ask("data", f"negatives fail the check {check.name!r}: {check.remark}")
    return is_shared


def rankings_meant(samples: Collection[SampledRanks], *, ordered: bool = False) -> str:
    """Say which rankings the ranges are about, and whether negatives were checked.

    `ordered` adds the effect of shared negatives on orders of recommenders.
    """
    least = min(int(sample.n_items.min()) for sample in samples)
    most = max(int(sample.n_items.max()) for sample in samples)
    n = f"{least:,} items like the negatives"
    own = "give each user's own number if they differ"
    if least < most:
        n = f"{least:,} to {most:,} items like the negatives"
        own = "ranges take each user's own number, estimates the mean"
    words = f"rankings: of {n}, those that users have seen included if they were drawn; {own}."
    if all(sample.pairs is not None for sample in samples):
        return f"{words} Pairs of users and items were checked, but not for seen ones."
    words += " Negatives were not checked, because no pairs of users and items are known"
    if ordered:
        return f"{words}: if users share them, orders may be wrong."
    return f"{words}; users may share them."
