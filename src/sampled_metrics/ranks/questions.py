"""Questions about ranks that are valid, but look like those of something else."""

from weakref import WeakSet

import numpy as np

from sampled_metrics._base.arrays import Bool, Float, Int
from sampled_metrics._base.errors import ask, collected
from sampled_metrics.inputs.scores import ask_of_seen_items
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.sampling import Sampling

_MANY = 50  # rows; their mean rank tells a random order from a poor one
_SEVERAL = 10  # rows; fewer are alike by chance
_LEAST = 8  # largest rank that may be an end: ranks near 1 are frequent anyway
_ENOUGH = 12  # rows near the largest rank that make an end suspicious
_FAR = 5  # times the largest rank, from which no ranks further down are strange
_TIED = 0.1  # share of the other candidates that is a large tie
_POOR = 0.55  # share of the others below the held-out item; 0.5 in random order
_EXPECTED = 5.0  # rows with two ties, from which on their absence tells something
_UNSUSPICIOUS: WeakSet[Ranks] = WeakSet()  # full rankings about which there was nothing to ask


def question_ranks(ranks: Ranks) -> None:
    """Ask about full rankings in perfect or random order, with equal scores, or that end early."""
    if not ranks.is_complete or not len(ranks) or ranks in _UNSUSPICIOUS:
        return
    with collected() as asked:
        n_candidates = np.repeat(ranks.n_candidates, ranks.n_found)
        others = n_candidates - 1
        _ask_of_equal_scores(ranks.n_tied, others)
        above = ranks.n_better + 0.5 * ranks.n_tied
        _ask_of_order(1.0 - above / others, others, "relevant", "other candidates")
        if ranks.is_single:
            worst = ranks.n_better + ranks.n_tied
            _ask_of_perfection(worst, "other candidates")
            _ask_of_last_rank(worst + 1, int(n_candidates.min()), "data")
    if not asked:
        _UNSUSPICIOUS.add(ranks)


def question_seen(ranks: Ranks, n_items: int) -> None:
    """Ask whether seen items are candidates, if all of the items are of all users."""
    if (ranks.n_candidates == n_items).all():
        ask_of_seen_items(len(ranks), n_items)


def question_samples(sampled: SampledRanks) -> None:
    """Ask about sampled ranks in random or perfect order, of all candidates, or decided by ties."""
    ranks = sampled.sampled_ranks
    m = sampled.n_negatives
    others = np.full(ranks.size, m)
    _ask_of_order(1.0 - (ranks - 1) / m, others, "positive", "negatives")
    _ask_of_perfection(ranks - 1, "negatives")
    small = sampled.n_items == m + 1
    if small.all() or small.sum() >= _SEVERAL:
        rows = "" if small.all() else f" in {small.sum():,} of {small.size:,} rows"
        ask(
            "n_items",
            f"n_items (--n-items) is {m + 1}{rows}, the held-out item and its {m} negatives: is it "
            "the number of candidates of a full ranking?",
        )
    if sampled.sampling is not Sampling.DISTINCT:
        _ask_of_last_rank(ranks, m + 1, "n_negatives")
    if sampled.tied is not None:
        _question_ties(sampled.tied, ranks, m)


def _question_ties(tied: Int, ranks: Int, m: int) -> None:
    """Ask about ties that decide, and held-out items among their own negatives."""
    others = np.full(ranks.size, m)
    _ask_of_equal_scores(tied, others)
    n_rows = tied.size
    n_tied = np.count_nonzero(tied)
    large = np.count_nonzero(tied >= max(_TIED * m, 1.0))
    if n_rows >= _MANY and 2 * large > n_rows:
        ask(
            "ties",
            f"{large:,} of {n_rows:,} held-out items have the score of a tenth of their negatives "
            "or more (--ties): were scores rounded, or are they of too few bits?",
        )
    share = n_tied / n_rows
    each = 1.0 - (1.0 - share) ** (1.0 / m)  # probability of a tie if all are independent
    twice = share - m * each * (1.0 - each) ** (m - 1.0)
    if share >= 0.1 and n_rows * twice >= _EXPECTED and (tied > 1).mean() < twice / 2.0:
        ask(
            "data",
            f"{n_tied:,} of {n_rows:,} held-out items have the score of one of their negatives: is "
            "it the held-out item itself? Leave it out of them (`check-negatives`)",
        )


def _ask_of_equal_scores(tied: Int, others: Int) -> None:
    n_equal = np.count_nonzero((tied == others) & (others >= _LEAST))
    if tied.size >= _MANY and 10 * n_equal >= tied.size:
        ask("data", f"all scores of {n_equal:,} of {tied.size:,} rows are equal: are these scores?")


def _ask_of_order(below: Float, others: Int, argument: str, words: str) -> None:
    """Ask about items as far down as in random order, and as rarely near the top."""
    if below.size < _MANY or below.mean() >= _POOR:
        return
    by_chance = ((others // 10 + 1) / (others + 1)).mean()
    if (below >= 0.9).mean() <= 2.0 * by_chance:
        ask(
            argument,
            f"held-out items are above {below.mean():.1%} of their {words}, 50 % in a random "
            "order: are higher scores better, are rows and columns those of the users and items, "
            "and are negatives uniform?",
        )


def _ask_of_perfection(better: Int, words: str) -> None:
    if better.size >= _MANY and not better.any():
        ask(
            "data",
            f"all {better.size:,} held-out items are above all of their {words}: were rows sorted "
            "before the held-out item was taken from them, or does the model know the answer?",
        )


def _ask_of_last_rank(ranks: Int, n: int, argument: str) -> None:
    """Ask about ranks, of 1 to n, that end where more would be expected."""
    largest = int(ranks.max())
    width = -(-largest // 10)
    if ranks.size < _SEVERAL or largest < _LEAST or largest + width > n:
        return
    near: Bool = ranks > largest - width
    n_near = int(np.count_nonzero(near))
    n_before = int(np.count_nonzero(ranks > largest - 2 * width)) - n_near
    expected = n_near * min(1.0, n_near / max(n_before, 1))  # behind it, if they fall as before
    is_far = argument == "data" and ranks.size >= _MANY and _FAR * largest <= n
    if expected >= _ENOUGH or is_far:
        ask(
            argument,
            f"the largest rank is {largest} of {n:,}, and {n_near:,} of {ranks.size:,} rows are "
            f"near it: are these ranks among {largest - 1} sampled items, or cut off?",
        )
