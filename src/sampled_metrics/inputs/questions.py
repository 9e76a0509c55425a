"""Questions about ranks that are valid, but look like those of data taken for something else."""

import inspect
import warnings
from types import FrameType

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputWarning
from sampled_metrics.ranks import Ranks

_MANY = 50  # rows, of which the mean rank tells a random order from a poor one
_LEAST = 8  # largest sampled rank that may be an end: ranks near 1 are frequent anyway
_ENOUGH = 8  # rows near the largest rank that make an end suspicious
_USUAL, _SUSPICIOUS = {10, 20, 50, 99, 100}, 3  # usual numbers of negatives need fewer rows
_SEVERAL = 10  # users and items, of which fewer are complete by chance
_EXPECTED = 5.0  # rows with two ties, from which on their absence tells something


def ask(problem: str) -> None:
    """Warn the caller of the public function that reads the data."""
    frame, level = inspect.currentframe(), 1
    while frame and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(problem, InputWarning, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")  # code that is executed may have none
    return name.startswith(("sampled_metrics", "contextlib"))


def ask_of_seen_items(users: int, items: int) -> None:
    """Ask whether seen items are candidates, if every user has a score for every item."""
    if min(users, items) >= _SEVERAL:
        ask(
            f"all {users:,} users have scores of all {items:,} items: items seen in training "
            "count as candidates; if they are none, name them with --seen (seen=)"
        )


def ask_of_grades(grades: Float | None) -> None:
    """Warn that grades are not used, if there are any."""
    if grades is not None:
        ask(
            "relevance has grades, which are not used here: items with any above 0 are relevant "
            "alike, also for ndcg; from full rankings `evaluate` takes grades as gains"
        )


def ask_of_cut_lists(length: Int, n_items: int) -> None:
    """Ask whether lists that hold every relevant item are cut off at all."""
    if length.size >= _SEVERAL and length.max() < n_items:
        ask(
            f"the lists hold every relevant item, but end at {length.min()} to {length.max()} of "
            f"{n_items} candidates; if nothing is cut off, give --complete and not --n-items"
        )


def ask_of_first_places(better: Int) -> None:
    """Ask whether candidates without scores are in order, if every held-out item is the first."""
    if better.size >= _SEVERAL and not better.any():
        ask(
            f"the held-out item is the first of the candidates of all {better.size:,} users, which "
            "have no scores: are they in order, best first?"
        )


def question_ranks(ranks: Ranks) -> Ranks:
    """Ask about full rankings without order, or in random or reversed order; return them."""
    if ranks.is_complete:
        others = np.repeat(ranks.n_candidates, ranks.n_found) - 1
        question_ties(ranks.n_tied, others, full=True)
        below = 1.0 - (ranks.n_better + 0.5 * ranks.n_tied) / others
        _ask_of_order(below, "other candidates: are relevant those of these rows and columns")
    return ranks


def question_ties(tied: Int, others: Int, *, full: bool = False) -> None:
    """Ask about equal scores, and held-out items that seem to be among their own negatives."""
    n_rows, n_equal = tied.size, int((tied == others).sum())
    if n_rows >= _MANY and 2 * n_equal >= n_rows:
        ask(f"all scores of {n_equal:,} of {n_rows:,} rows are equal: are these scores?")
    n_tied = np.count_nonzero(tied)
    share, m = n_tied / max(n_rows, 1), others.sum() / max(n_rows, 1)
    if share < 0.1 or full:
        return
    each = 1.0 - (1.0 - share) ** (1.0 / m)  # probability of a tie if all are independent
    twice = share - m * each * (1.0 - each) ** (m - 1.0)
    if n_rows * twice >= _EXPECTED and (tied > 1).mean() < twice / 2.0:
        ask(
            f"{n_tied:,} of {n_rows:,} held-out items have the score of one of their "
            "negatives: is it the held-out item itself? Leave it out of them, and count one "
            "negative fewer (`check-negatives`)"
        )


def question_samples(
    ranks: Int, n_items: Int, m: int, users: object, *, distinct: bool = False
) -> None:
    """Ask about sampled ranks in random order, of all candidates, or of `users` found again.

    Also about many rows near a largest rank below m + 1, but not if only the `distinct` ones of m
    negatives were ranked.
    """
    _ask_of_order(1.0 - (ranks - 1) / m, "negatives: is positive (--positive) their column")
    if (n_items == m + 1).all():
        ask(
            f"n_items (--n-items) is {m + 1}, the held-out item and its {m} negatives: is it the "
            "number of candidates of a full ranking?"
        )
    largest = int(ranks.max())
    width = min(-(-largest // 10), m + 1 - largest)
    near = int(np.count_nonzero(ranks > largest - width))
    enough = _SUSPICIOUS if largest - 1 in _USUAL and 2 * largest <= m else _ENOUGH
    if width > 0 and largest >= _LEAST and near >= enough and not distinct:
        ask(
            f"the largest sampled rank is {largest}, and {near:,} of {ranks.size:,} rows are near "
            f"it, but with {m} negatives ranks go up to {m + 1}: were {largest - 1} drawn?"
        )
    rows = np.ones(1) if users is None else np.unique(np.asarray(users), return_counts=True)[1]
    if rows.max() > 1:
        ask(
            f"{(rows > 1).sum():,} of {rows.size:,} users have several rows, which are averaged as "
            "repeated draws are: are they duplicates? If not, number them in a column repetition, "
            "or in item_id if they are of several held-out items"
        )


def _ask_of_order(below: Float, words: str) -> None:
    if below.size >= _MANY and below.mean() < 0.55:
        ask(
            f"held-out items are above {below.mean():.1%} of their {words}, are higher scores "
            "better, and are rows users? In a random order it is 50 %"
        )
