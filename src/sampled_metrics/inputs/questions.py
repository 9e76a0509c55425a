"""Questions about ranks and scores that are valid, but look like those of something else."""

from collections.abc import Sequence
from weakref import WeakSet

import numpy as np

from sampled_metrics._base.arrays import Float, Floats, Ids, Int, Rows
from sampled_metrics._base.errors import ask, collected
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling

_MANY = 50  # rows, of which the mean rank tells a random order from a poor one
_LEAST_BY_CHANCE = 8.0  # relevant items in lists, from which on more than these would be found
_SEVERAL = 10  # users and items, of which fewer are complete by chance
_MOST_FIELDS = 5  # of a row that is no list of items
_LEAST = 8  # largest sampled rank that may be an end: ranks near 1 are frequent anyway
_ENOUGH = 12  # rows near the largest rank that make an end suspicious
_USUAL, _SUSPICIOUS = {10, 20, 50, 99, 100}, 3  # usual numbers of negatives need fewer rows
_FAR = 5  # times the largest rank, from which no ranks further down are strange
_PILED = 10.0  # times as many rows at one rank as at the ranks before it
_EXPECTED = 5.0  # rows with two ties, from which on their absence tells something
_TIED = 0.1  # share of the other candidates that is a large tie
_EQUAL = 0.1  # share of rows without an order
_HARD = 0.4  # of the negatives below, from which on these may be chosen
_POOR = 0.55  # of the others below the held-out item, in the mean; 0.5 in random order
_FOLDS = range(10, 1, -1)
_ALIKE, _SHIFT = 0.8, 3  # correlation of users in several folds, and rows to be another user
_UNSUSPICIOUS: WeakSet[Ranks] = WeakSet()  # full rankings about which there was nothing to ask


def ask_of_seen_items(users: int, items: int) -> None:
    """Ask whether seen items are candidates, if every user has a score for every item."""
    if min(users, items) >= _SEVERAL:
        ask(
            "seen",
            f"all {users:,} users have scores of all {items:,} items: items seen in training "
            "count as candidates; if they are none, name them with --seen (seen=)",
        )


def ask_of_seen_and_relevant(n_seen: int, n_relevant: int, users: int) -> None:
    """Ask whether seen and relevant items are swapped, if most are relevant."""
    if users >= _SEVERAL and users <= n_seen and 3 * n_seen < n_relevant:
        ask(
            "relevant",
            f"users have {n_relevant / users:.3g} relevant items and have seen "
            f"{n_seen / users:.3g}: are seen and relevant swapped?",
        )


def ask_of_few_common(name: str, n_common: int, others_name: str, n_ids: int) -> None:
    """Ask about two sets of ids that have fewer than a tenth of the smaller one in common."""
    if 10 * n_common < n_ids:
        ask(
            name.rpartition(" ")[2],
            f"{n_common:,} of {n_ids:,} ids of {name} and {others_name} are in both: are these ids "
            "of the same things?",
        )


def ask_of_grades(grades: Float | None) -> None:
    """Warn that grades are not used, if there are any."""
    if grades is not None:
        ask(
            "relevant",
            "relevance has grades, which are not used here: items with any above 0 are relevant "
            "alike, also for ndcg; from full rankings `evaluate` takes grades as gains",
        )


def ask_of_rows_of_ids(name: str, items: Int, sizes: Sequence[int]) -> None:
    """Ask whether lists of each user's items are pairs of user and item, by their first numbers."""
    if len(sizes) < _SEVERAL or len(set(sizes)) > 1 or not 1 < sizes[0] <= _MOST_FIELDS:
        return
    if (np.diff(items[:: sizes[0]]) >= 0).all():
        ask(
            name,
            f"the first items of all {len(sizes):,} users are in ascending order: are these rows "
            "of user and item? Give a DataFrame with columns user_id and item_id",
        )


def ask_of_cut_lists(length: Int, n_items: int) -> None:
    """Ask whether lists that hold every relevant item are cut off at all."""
    if length.size >= _SEVERAL and length.max() < n_items:
        ask(
            "complete",
            f"the lists hold every relevant item, but end at {length.min()} to {length.max()} of "
            f"{n_items} candidates; if nothing is cut off, give --complete and not --n-items",
        )


def ask_of_rank_and_score(user: Int, rank: Int, score: Floats) -> None:
    """Ask about lists whose scores are neither in the order of the ranks nor in the reverse."""
    order = np.lexsort((rank, user))
    steps = np.diff(score[order])[np.diff(user[order]) == 0]
    falling = np.count_nonzero(steps <= 0) / max(steps.size, 1)
    if steps.size >= _MANY and 0.1 < falling < 0.9:
        ask(
            "data",
            f"scores fall from a rank to the next in {falling:.0%} of rows: rank and score "
            "contradict each other, and rank is taken; leave one of them out",
        )


def ask_of_first_places(better: Int) -> None:
    """Ask whether candidates without scores are in order, if every held-out item is the first."""
    if better.size >= _SEVERAL and not better.any():
        ask(
            "data",
            f"the held-out item is the first of the candidates of all {better.size:,} users, which "
            "have no scores: are they in order, best first?",
        )


def question_ranks(ranks: Ranks) -> None:
    """Ask about full rankings that no recommender gives, or that are no full rankings.

    These are a perfect, random or reversed order, equal scores, ranks that end before the last
    candidate, and users in several folds. Ranks that gave no reason to ask are not searched again.
    """
    if not ranks.is_complete or not ranks.n_candidates.size or ranks in _UNSUSPICIOUS:
        return
    with collected() as asked:
        _question_complete(ranks)
    if not asked:
        _UNSUSPICIOUS.add(ranks)


def _question_complete(ranks: Ranks) -> None:
    n_candidates = ranks.n_candidates
    if not ranks.is_single:
        n_candidates = np.repeat(n_candidates, ranks.n_found)
    others = n_candidates - 1
    above: Int | Float = ranks.n_better
    worst = ranks.n_better
    untied: Rows = slice(None)
    if ranks.n_tied.any():
        _ask_of_equal_scores(ranks.n_tied, others)
        above = ranks.n_better + 0.5 * ranks.n_tied
        worst = ranks.n_better + ranks.n_tied
        untied = ranks.n_tied == 0
    fewest = int(n_candidates.min())
    if above.mean() > (1.0 - _POOR) * (fewest - 1):  # else below is at least _POOR
        place = "those of these rows and columns"
        _ask_of_order(1.0 - above / others, others, "relevant", "other candidates", place)
    if ranks.is_single:
        _ask_of_perfection(worst, "other candidates")
        _ask_of_pile(ranks.n_better[untied], n_candidates[untied])
        _ask_of_last_rank(worst, fewest)
    if ranks.users is None or ranks.n_rows:
        _ask_of_folds(ranks)


def question_ends(tied: Int, better: Int, others: Int) -> None:
    """Ask about ties that decide where most held-out items are among their negatives."""
    n_rows = tied.size
    n_tied = np.count_nonzero(tied >= np.maximum(_TIED * others, 1.0))
    low = (1.0 / (1.0 + better + tied)).mean()
    high = (1.0 / (1.0 + better)).mean()
    # Many recommenders give no score to most items; ties of those change little near the top.
    if n_rows >= _MANY and 2 * n_tied > n_rows and high - low > _TIED:
        ask(
            "ties",
            f"{n_tied:,} of {n_rows:,} held-out items have the score of a tenth of their negatives "
            f"or more: their mean reciprocal rank among these is {low:.3f} to {high:.3f} by ties "
            "(--ties); were scores rounded, or are they of too few bits?",
        )


def question_ties(tied: Int, others: Int) -> None:
    """Ask about equal scores, and held-out items that seem to be among their own negatives."""
    _ask_of_equal_scores(tied, others)
    n_rows = tied.size
    n_tied = np.count_nonzero(tied)
    if not n_tied or n_tied < 0.1 * n_rows:
        return
    share = n_tied / n_rows
    m = others.mean()
    each = 1.0 - (1.0 - share) ** (1.0 / m)  # probability of a tie if all are independent
    twice = share - m * each * (1.0 - each) ** (m - 1.0)
    if n_rows * twice >= _EXPECTED and (tied > 1).mean() < twice / 2.0:
        ask(
            "data",
            f"{n_tied:,} of {n_rows:,} held-out items have the score of one of their "
            "negatives: is it the held-out item itself? Leave it out of them, and count one "
            "negative fewer (`check-negatives`)",
        )


def question_samples(sampled: SampledRanks, users: Ids | None) -> None:
    """Ask about sampled ranks in random or perfect order, of all candidates, or of `users` again.

    Also about many rows at or near a largest rank below m + 1, but not if only the distinct ones
    of m negatives were ranked.
    """
    ranks = sampled.sampled_ranks
    m = sampled.n_negatives
    below = 1.0 - (ranks - 1) / m
    _ask_of_order(below, np.full(ranks.size, m), "positive", "negatives", "in the column named")
    _ask_of_perfection(ranks - 1, "negatives")
    _ask_of_small_rankings(sampled.n_items, m)
    if sampled.sampling is not Sampling.DISTINCT:
        _ask_of_largest_rank(ranks, m)
    if users is None:
        return
    _, rows_of_users = np.unique(users, return_counts=True)
    if rows_of_users.max() > 1:
        ask(
            "user_id",
            f"{(rows_of_users > 1).sum():,} of {rows_of_users.size:,} users have several rows, "
            "which are averaged as repeated draws are: are they duplicates? If not, number them in "
            "a column repetition, or in item_id if they are of several held-out items",
        )


def _ask_of_small_rankings(n_items: Int, m: int) -> None:
    """Ask whether a held-out item and its m negatives are all candidates of a full ranking."""
    small = n_items == m + 1
    if small.all() or small.sum() >= _SEVERAL:
        rows = "" if small.all() else f" in {small.sum():,} of {small.size:,} rows"
        ask(
            "n_items",
            f"n_items (--n-items) is {m + 1}{rows}, the held-out item and its {m} negatives: is it "
            "the number of candidates of a full ranking?",
        )


def _ask_of_largest_rank(ranks: Int, m: int) -> None:
    """Ask whether fewer than m negatives were drawn, by many ranks at or near the largest."""
    largest = int(ranks.max())
    width = min(-(-largest // 10), m + 1 - largest)
    near = np.count_nonzero(ranks > largest - width)
    enough = _SUSPICIOUS if largest - 1 in _USUAL and 2 * largest <= m else _ENOUGH
    if width > 0 and largest >= _LEAST and near >= enough:
        ask(
            "n_negatives",
            f"the largest sampled rank is {largest}, and {near:,} of {ranks.size:,} rows are near "
            f"it, but with {m} negatives ranks go up to {m + 1}: were {largest - 1} drawn?",
        )


def question_scales(own: Floats, others: Floats) -> None:
    """Ask whether some scores are probabilities and the others are not, `own` of held-out items."""
    if own.size < _MANY or not others.size:
        return
    for inside, outside, words in (
        (others, own, "negatives are from 0 to 1, and of held-out items"),
        (own, others, "held-out items are from 0 to 1, and of negatives"),
    ):
        if not 0.0 <= inside.min() < inside.max() <= 1.0:
            continue
        share = ((outside < 0.0) | (outside > 1.0)).mean()
        if share > 0.1:
            ask(
                "data",
                f"scores of {words} {share:.0%} are not: are the ones probabilities and the "
                "others logits? Give both alike",
            )


def question_padding(scores: Floats) -> None:
    """Ask whether rows of scores of negatives are filled up with one number."""
    users, width = scores.shape
    if users < _SEVERAL or width < 3:
        return
    _ask_of_filler(scores, "end in")
    _ask_of_filler(scores[:, ::-1], "begin with")


def _ask_of_filler(scores: Floats, words: str) -> None:
    """Ask about rows that end in the same score several times."""
    users, width = scores.shape
    tails = scores[scores[:, -1] == scores[:, -2]]
    if 10 * len(tails) <= users:
        return
    steps = np.diff(scores, axis=1)
    if (steps <= 0).all() or (steps >= 0).all():
        return  # rows are in order, so that ties are at an end of theirs
    last = tails[:, -1]
    length = (tails[:, ::-1] == last[:, None]).cumprod(axis=1).sum(axis=1)
    values, counts = np.unique(last[length < width], return_counts=True)
    if not values.size:
        return
    filler = values[counts.argmax()]
    padded = length[last == filler]
    # Rows that end in ties have them elsewhere too.
    elsewhere = np.count_nonzero(scores == filler) - padded.sum()
    shortest = padded.min()
    longest = padded.max()
    found = f"{shortest} to {longest}"
    if shortest == longest:
        found = f"{longest}"
    if _is_filler(padded, elsewhere, users):
        ask(
            "data",
            f"{padded.size:,} of {users:,} rows {words} {found} scores of {filler:g}: are rows "
            "filled up? Leave the filler out, which pairs (user_id, score, label) allow, or score "
            "as many negatives for all",
        )


def _is_filler(padded: Int, elsewhere: int, users: int) -> bool:
    """Return whether runs of a score, of these lengths, fill up rows, by its number elsewhere."""
    is_own = True
    longest = padded.max()
    if padded.min() == longest:
        # The last columns of all rows may be of items without scores.
        is_own = longest > 2 and padded.size < users
    return 10 * padded.size > users and is_own and 10 * elsewhere < padded.sum()


def question_places(own: Float, other: Float) -> None:
    """Ask about scores that put a user's held-out item no higher than those of another user do.

    Both are shares of the items that are below it.
    """
    difference = own - other
    if own.size < _MANY or own.mean() < _POOR:
        return
    spread = difference.std()
    if spread > 0.1 and difference.mean() < 2.0 * spread / np.sqrt(own.size):
        ask(
            "relevant",
            "scores differ between users, but put the held-out items of other users as high as "
            "their own: are the rows of scores and of relevant items in the same order of users?",
        )


def _ask_of_equal_scores(tied: Int, others: Int) -> None:
    n_equal = np.count_nonzero((tied == others) & (others >= _LEAST))
    if tied.size >= _MANY and n_equal >= _EQUAL * tied.size:
        ask(
            "data",
            f"all scores of {n_equal:,} of {tied.size:,} rows are equal: are these scores?",
        )


def _ask_of_order(below: Float, others: Int, argument: str, words: str, place: str) -> None:
    """Ask about items as far down as in random order, and as rarely near the top."""
    if below.size < _MANY or below.mean() >= _POOR:
        return
    by_chance = ((others // 10 + 1) / (others + 1)).mean()
    if (below >= 0.9).mean() <= 2.0 * by_chance:
        hard = ""
        if argument == "positive" and below.mean() < _HARD:
            hard = " Or are negatives the best items of a retriever? Score uniform ones"
        ask(
            argument,
            f"held-out items are above {below.mean():.1%} of their {words}, 50 % in a random "
            f"order: are they {place}, are higher scores better, and are rows users?{hard}",
        )


def _ask_of_perfection(better: Int, words: str) -> None:
    if better.size >= _MANY and not better.any():
        ask(
            "data",
            f"all {better.size:,} held-out items are above all of their {words}: were rows sorted "
            "before the held-out item was taken from them, or does the model know the answer?",
        )


def _ask_of_pile(better: Int, n_candidates: Int) -> None:
    """Ask about many equal ranks after which there are none, though there are candidates."""
    largest = int(better.max(initial=-1)) + 1
    is_largest = better == largest - 1
    if better.size < _MANY or largest < _LEAST or np.count_nonzero(is_largest) < _ENOUGH:
        return
    piled = np.count_nonzero(largest < n_candidates[is_largest])
    width = max(largest // 10, 1)
    before = np.count_nonzero((better >= largest - 1 - width) & ~is_largest) / width
    if piled >= _ENOUGH and piled > _PILED * (before + 1.0):
        ask(
            "data",
            f"{piled:,} of {better.size:,} ranks are {largest}, the largest, of "
            f"{n_candidates.max():,} candidates: does it stand for items that were not found?",
        )


def _ask_of_last_rank(worst: Int, n_items: int) -> None:
    """Ask about ranks that end where more would be expected."""
    if worst.size < _MANY:
        return
    largest = int(worst.max()) + 1
    width = -(-largest // 10)
    if largest < _LEAST or (largest + width > n_items and _FAR * largest > n_items):
        return  # before the ranks are counted
    near = int(np.count_nonzero(worst >= largest - width))
    before = int(np.count_nonzero(worst >= largest - 2 * width)) - near
    expected = near * min(1.0, near / max(before, 1))  # behind it, if their number falls as before
    found = ""
    if largest + width <= n_items and expected >= 2 * _ENOUGH:
        found = (
            f"the largest rank is {largest} of {n_items:,} candidates, and {near:,} of "
            f"{worst.size:,} rows are near it"
        )
    elif _FAR * largest <= n_items:
        found = f"all ranks are among the first {largest} of {n_items:,} candidates"
    if found:
        ask("data", f"{found}: are these ranks among sampled items, or cut off?")


def _ask_of_folds(ranks: Ranks) -> None:
    """Ask whether rows are the same users several times, by their numbers of candidates or ranks.

    Users next to each other are compared as well, because rows may be sorted.
    """
    n = ranks.n_candidates
    n_differ = np.ptp(n) > 0
    for n_folds in _FOLDS:
        lag, rest = divmod(n.size, n_folds)
        if rest or lag < _MANY:
            continue
        alike = 0.0
        if n_differ:
            alike = _correlation(n, lag)
        if _has_repeated_ranks(ranks, lag) or (
            alike > _ALIKE and _correlation(n, lag + _SHIFT) < alike / 2.0
        ):
            ask(
                "data",
                f"rows {lag + 1:,}, {lag + 2:,} and so on look like rows 1, 2 and so on: are these "
                f"{n_folds} folds of the same users? Then intervals are too narrow; give users ids",
            )
            return


def _has_repeated_ranks(ranks: Ranks, lag: int) -> bool:
    """Return whether the ranks of single items, which differ, come again some rows later."""
    better = ranks.n_better
    if ranks.is_single and np.array_equal(better[lag : lag + _MANY], better[:_MANY]):
        return bool(np.ptp(better)) and np.array_equal(better[lag:], better[:-lag])
    return False


def _correlation(numbers: Int, lag: int) -> float:
    """Return the correlation of numbers with those some rows later."""
    first = numbers[:-lag]
    second = numbers[lag:]
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def question_lists(length: Int, n_relevant: Int, n_found: int, n_items: int) -> None:
    """Ask about cut lists that hold every relevant item, or no more of them than by chance.

    There are `n_items` items at least, and a length and relevant items of each user.
    """
    longest = int(length.max(initial=0))
    if length.size < _MANY or 2 * longest >= n_items:
        return
    expected = float((length * n_relevant).sum()) / n_items
    if n_found == n_relevant.sum():
        ask(
            "data",
            f"lists of {longest} or fewer of {n_items:,} items hold every relevant item of "
            f"{length.size:,} users: were users without a hit left out, or are these sampled "
            "candidates? `correct` takes those",
        )
    elif expected >= _LEAST_BY_CHANCE and n_found <= expected + 2.0 * np.sqrt(expected):
        ask(
            "relevant",
            f"lists hold {n_found:,} of {n_relevant.sum():,} relevant items, and {expected:.0f} by "
            "chance: are ids of items the same in both?",
        )


def question_column(scores: Floats, own: Floats, column: int) -> None:
    """Ask whether a column is padding, as it has one score for all users and no other column has.

    `own` are the scores of held-out items.
    """
    if len(scores) < _MANY:
        return
    first = scores[0, column]
    if not np.isfinite(first) or (scores[:, column] != first).any():
        return
    share = (own <= first).mean()
    if share > 0.1 and (scores == scores[0]).all(axis=0).sum() == 1:
        ask(
            "data",
            f"column {column} has the same score for all users, {first:g}, which {share:.0%} of "
            "held-out items are not above: is it padding? Leave it out, or give it as seen",
        )
