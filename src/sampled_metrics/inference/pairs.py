"""Questions about the negatives of pairs whose items are known, without what users have seen."""

from sampled_metrics._base.asking import ask
from sampled_metrics.ranks import SampledRanks, Sampling


def question_negatives(ranks: SampledRanks) -> None:
    """Ask about each property of negatives that corrections assume and these pairs do not have."""
    if ranks.pairs is None:
        return
    # scipy.stats takes long to import.
    from sampled_metrics.sampling.negatives import check_pairs

    with_replacement = ranks.sampling is Sampling.WITH_REPLACEMENT
    for check in check_pairs(ranks.pairs, int(ranks.n_items.min())):
        if check.passed or (check.name == "duplicates" and with_replacement):
            continue
        ask("data", f"negatives fail the check {check.name!r}: {check.remark}")
