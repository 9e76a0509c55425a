"""Signs of a mistake in full rankings, whatever they were read from."""

from __future__ import annotations

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import ceil_divide, run_starts
from sampled_metrics.checks import Signs
from sampled_metrics.checks.scores import SAMPLE_REMEDY, SAMPLE_SIZES
from sampled_metrics.ranks import Ranks

# Share of the other candidates below the held-out item, on average. A lower one may be a random
# order, which has 0.5.
LEAST_SHARE_BELOW = 0.55
ROWS_OF_MEAN = 50  # fewer rows do not distinguish a random order from a poor one
_ROWS_OF_PATTERN = 10  # fewer rows may agree by chance
_LEAST_LAST_RANK = 8  # a smaller largest rank shows no cut-off: ranks near 1 are frequent anyway
_LEAST_CANDIDATES = 8  # scores of fewer candidates may all be equal by chance
_MANY_BEYOND_LAST = 12  # fewer rows expected beyond the largest rank may be missing by chance
FAR_FROM_END = 5  # if n is this many times the largest rank, ranks in between may be missing
# If n is far from the largest rank, fewer expected rows are a sign, and so is a short tail: one
# that ends where Pareto tails do with at most this probability. In simulations of 600 users, at
# most 1.5 % of strong recommenders (Pareto and lognormal ranks, inner products) have one, and of
# ranks among 100 negatives of 400 users or more, 50 to 100 % do.
_SOME_BEYOND_LAST = 5
_SHORT_TAIL = 0.01
_TAIL_START = 5  # ranks up to it are too coarse
_EQUAL_SCORES = 0.01  # share of rows with equal scores that changes a metric noticeably


def signs_in_ranks(ranks: Ranks) -> Signs:
    """Look for full rankings in perfect or random order, or that end early.

    Items of grades below `min_relevance` count as irrelevant.
    """
    if not ranks.is_complete or not len(ranks):
        return
    ranks = ranks.binary
    n_others = np.repeat(ranks.n_candidates, ranks.n_found) - 1
    yield from signs_of_equal_scores(ranks.n_tied, n_others, n_others.size)
    above, tied, n_irrelevant = irrelevant_counts(ranks)
    if not n_irrelevant.size:
        yield from _signs_of_relevant_pool(len(ranks))
        return
    shares_below = share_below(above, tied, n_irrelevant)
    yield from signs_in_order(shares_below, n_irrelevant, "relevant", "other candidates")
    not_below = above + tied
    yield from signs_of_perfection(not_below, "other candidates")
    yield from _signs_of_scored_items(above, tied, n_irrelevant)
    yield from signs_in_last_rank(
        not_below + 1, int(n_irrelevant.min()) + 1, "data", are_full_rankings=True
    )


def irrelevant_counts(ranks: Ranks) -> tuple[Int, Int, Int]:
    """Count irrelevant candidates for each relevant item of users who have some.

    They are the candidates that `n_better` and `n_tied` count, less the relevant items among them.

    Returns
    -------
    above, tied, n_irrelevant
        The irrelevant candidates above the item, those tied with it, and all of the user; shape
        (relevant items of users with irrelevant candidates,).
    """
    user = np.repeat(np.arange(len(ranks)), ranks.n_found)  # of each item, best first
    # A level is a run of relevant items of one user that are tied with each other.
    is_new_level = np.ones(user.size, bool)
    is_new_level[1:] = (np.diff(user) > 0) | (np.diff(ranks.n_better) > 0)
    level_starts = np.flatnonzero(is_new_level)
    level_sizes = np.diff(level_starts, append=user.size)
    level_start = np.repeat(level_starts, level_sizes)  # of each item: position of the first one
    level_size = np.repeat(level_sizes, level_sizes)  # of each item
    first_of_user = run_starts(ranks.n_found)[user]
    n_relevant_above = level_start - first_of_user
    n_relevant_tied = level_size - 1
    above = ranks.n_better - n_relevant_above
    tied = ranks.n_tied - n_relevant_tied
    n_irrelevant = (ranks.n_candidates - ranks.n_relevant)[user]
    has_irrelevant = n_irrelevant > 0
    return above[has_irrelevant], tied[has_irrelevant], n_irrelevant[has_irrelevant]


def share_below(above: Int, tied: Int, n: Int) -> Float:
    """Return the share of n items that are below another; ties count half."""
    return 1.0 - (above + 0.5 * tied) / n


def signs_of_sampled_candidates(ranks: Ranks) -> Signs:
    """Look for a number of candidates that is usual for samples, the same for all users.

    Candidates that are all columns of a matrix of scores are no sign, nor are those of users with
    several relevant items.
    """
    n_users = len(ranks)
    largest = int(ranks.n_candidates.max())
    is_same = ranks.n_candidates.min() == largest
    is_usual = largest in SAMPLE_SIZES and largest != ranks.n_columns
    has_one_item = bool((ranks.binary.n_relevant == 1).all())
    if n_users >= _ROWS_OF_PATTERN and is_same and is_usual and has_one_item:
        yield (
            "data",
            f"all {n_users:,} users have {largest} candidates: these look like sampled candidates, "
            f"{SAMPLE_REMEDY}",
        )


def signs_of_equal_scores(tied: Int, n_others: Int, n_rows: int) -> Signs:
    """Look for rows in which all scores are equal, such as those that pad a batch.

    Parameters
    ----------
    tied
        Other candidates with the score of the relevant item, for each row with a relevant item that
        was found; shape (rows,).
    n_others
        All candidates of these rows but the relevant item, whatever their scores. All scores of a
        row are equal if this is the number tied.
    n_rows
        Number of all rows, also of those whose relevant item was not found.
    """
    n_equal = np.count_nonzero((tied == n_others) & (n_others >= _LEAST_CANDIDATES))
    if n_rows >= ROWS_OF_MEAN and n_equal >= _EQUAL_SCORES * n_rows:
        yield (
            "data",
            f"all scores of {n_equal:,} of {n_rows:,} rows are equal: are these scores, or rows "
            "that pad a batch? Drop those",
        )


def signs_in_order(shares_below: Float, n_others: Int, argument: str, noun: str) -> Signs:
    """Look for items that rank no better than in a random order.

    Parameters
    ----------
    shares_below
        Share of the other candidates below each held-out item, see `share_below`.
    n_others
        Number of the other candidates, which messages call `noun`.
    argument
        Argument that the warning names.
    """
    mean_below = shares_below.mean()
    if shares_below.size < ROWS_OF_MEAN or mean_below >= LEAST_SHARE_BELOW:
        return
    # A good order of hard candidates also has a low mean, but more items in the top tenth.
    top_share = (shares_below >= 0.9).mean()
    # In a random order, each number of others above, 0 to n_others, is equally probable; in the top
    # tenth it is at most n_others // 10.
    random_top_share = ((n_others // 10 + 1) / (n_others + 1)).mean()
    if top_share <= 2.0 * random_top_share:
        yield (
            argument,
            f"held-out items are above {100.0 * mean_below:.1f} % of their {noun}, 50 % "
            "in a random order; check that higher scores are better, that rows are users and "
            "columns are items, and that negatives are uniform",
        )


def _signs_of_relevant_pool(n_users: int) -> Signs:
    """Say that no user has an irrelevant candidate, so that there is nothing to tell apart."""
    if n_users >= _ROWS_OF_PATTERN:
        yield (
            "relevant",
            f"all candidates of all {n_users:,} users are relevant, so metrics without grades are "
            "the same for every ranking; rank unrated items too, or pass min_relevance "
            "(--min-relevance) if low grades are not relevant",
        )


def signs_of_perfection(better: Int, noun: str) -> Signs:
    """Look whether each held-out item is above all of its negatives."""
    if better.size >= ROWS_OF_MEAN and not better.any():
        yield (
            "data",
            f"all {better.size:,} held-out items are above all of their {noun}: were rows sorted "
            "before the held-out item was taken from them, or does it leak into training?",
        )


def _signs_of_scored_items(above: Int, tied: Int, n_irrelevant: Int) -> Signs:
    """Look whether each relevant item is above all irrelevant ones, or tied with all of them.

    This is so if only relevant items were scored, and users without a score rank all items alike.
    If half of the items or more are tied, another warning says so.

    Parameters
    ----------
    above, tied, n_irrelevant
        Irrelevant candidates above each relevant item, those tied with it, and all of its user; see
        `irrelevant_counts`.
    """
    ties_all = (tied == n_irrelevant) & (n_irrelevant >= _LEAST_CANDIDATES)
    beats_or_ties_all = (above == 0) & (ties_all | (tied == 0))
    some_tie = 0 < 2 * np.count_nonzero(ties_all) < above.size  # but fewer than half
    if above.size >= ROWS_OF_MEAN and beats_or_ties_all.all() and some_tie:
        yield (
            "data",
            f"all {above.size:,} relevant items are above all of their other candidates, or tied "
            "with all of them: were relevant items scored alone?",
        )


def signs_in_last_rank(
    ranks: Int, n: int, argument: str, *, are_full_rankings: bool = False
) -> Signs:
    """Look for ranks, of 1 to n, that end where more would be expected.

    If full rankings are far from their end, fewer expected ranks are a sign, and so is a short
    tail. `argument` is the argument that the warning names.
    """
    largest = int(ranks.max())
    tenth = ceil_divide(largest, 10)
    is_near_end = largest + tenth > n
    if ranks.size < _ROWS_OF_PATTERN or largest < _LEAST_LAST_RANK or is_near_end:
        return
    # The number of rows changes by some factor from the tenth of the ranks before the last one to
    # the last; in the tenth beyond the largest rank it is expected to change by this factor again.
    n_last = int(np.count_nonzero(ranks > largest - tenth))
    n_before = int(np.count_nonzero(ranks > largest - 2 * tenth)) - n_last
    factor = min(1.0, n_last / max(n_before, 1))
    n_expected = n_last * factor
    is_far_from_end = FAR_FROM_END * largest <= n
    if are_full_rankings and is_far_from_end and ranks.size >= ROWS_OF_MEAN:
        ends_early = n_expected >= _SOME_BEYOND_LAST or _has_short_tail(ranks)
    else:
        ends_early = n_expected >= _MANY_BEYOND_LAST
    if ends_early:
        yield (
            argument,
            f"the largest rank is {largest} of {n:,}, and {n_last:,} of {ranks.size:,} rows are "
            f"near it: are these ranks among {largest - 1} sampled items, or cut off?",
        )


def _has_short_tail(ranks: Int) -> bool:
    """Return whether the largest rank is too small beside the other ranks of the tail.

    Exact ranks have heavy tails, about those of a Pareto distribution, for which log(rank / start)
    is exponential. The largest of n such logarithms is at most so many times their mean with
    probability (1 - exp(-largest / mean))^n.
    """
    start = _TAIL_START + 0.5  # between the last rank before the tail and its first
    log_ranks = np.log(ranks[ranks > _TAIL_START] / start)
    if not log_ranks.size:
        return False
    largest_by_mean = log_ranks.max() / log_ranks.mean()
    probability = (1.0 - np.exp(-largest_by_mean)) ** log_ranks.size
    return bool(probability <= _SHORT_TAIL)


def signs_of_other_processes(n_rows: int, n_processes: int) -> Signs:
    """Say that a meter has the rows of one process only, of several of torch.distributed."""
    yield (
        "update",
        f"this result covers the {n_rows:,} rows of this process, one of {n_processes} of "
        "torch.distributed; to include the others, call compute(sync=True) in each process",
    )
