"""The leaderboard: places of recommenders against m random items, and over all items."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import geometric_sizes
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.compare_text import better_first
from sampled_metrics.evaluation.results import UNDECIDED, quantity
from sampled_metrics.intervals.population import Population
from sampled_metrics.metrics import Measure
from sampled_metrics.pages.words import percent
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import top_rank_probabilities

ROUND = (20, 50, 100, 200, 500, 1000)  # sizes that are always shown
FEWEST = 15
STEPS = 20  # sizes from the fewest to the most
MOST_CUTOFF = 100
EQUAL = 1e-9  # values that are equal up to rounding


def board_of(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    confidence: float = DEFAULT_CONFIDENCE,
) -> dict[str, Any] | None:
    """Compute the board of recommenders by the first two metrics with a small cut-off.

    Returns `names`, `n_users`, the mean `n_items`, the `sizes` of samples and, by the label of
    each metric, its board: expected `values` and `places` of each recommender at each size and last
    over all items, how many pairs full rankings have `decided` (in percent, at a `level`), how many
    of these are in the `wrong` order at each size, the worst of them, `shown`, the places that are
    `together`, see `brackets`, and sentences about both: `headline` and `pair`. None for a single
    recommender, for different candidates, and for other metrics.
    """
    chosen = [measure for measure in measures if (measure.cutoff or np.inf) <= MOST_CUTOFF][:2]
    first, *others = (np.sort(ranks.n_candidates) for ranks in records.values())
    if not chosen or not others or any(not np.array_equal(first, other) for other in others):
        return None
    names = list(records)
    sizes = sizes_of_board(int(first[0]) - 1)
    values = expected(records, chosen, sizes, sampling)
    known = decided(records, chosen, confidence)
    boards = {}
    for measure, of_metric in zip(chosen, values, strict=True):
        boards[measure.label] = board(names, sizes, of_metric, known[str(measure)])
    return {
        "names": names,
        "n_users": first.size,
        "n_items": round(float(first.mean())),
        "level": f"{100 * confidence:g}",
        "sizes": sizes,
        "metrics": boards,
    }


def sizes_of_board(most: int) -> list[int]:
    """Choose numbers of random items, up to the most that every user has."""
    even = geometric_sizes(min(FEWEST, most), most, STEPS)
    return sorted({*even, *(m for m in ROUND if m <= most)})


def expected(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sizes: Sequence[int],
    sampling: Sampling | str,
) -> Float:
    """Expected metrics over draws of random items, ties in random order.

    Returns fractions of shape (metrics, recommenders, sizes + 1), the last of each over all items.
    """
    last = max(measure.cutoff or 0 for measure in measures)
    values = np.empty((len(measures), len(records), len(sizes) + 1))
    for row, ranks in enumerate(records.values()):
        users = Population.from_ranks(ranks)
        for column, m in enumerate(sizes):
            chances = users.share @ top_rank_probabilities(users.ranks, m, last, sampling)
            ranks_in_sample = np.arange(1, chances.size + 1)
            credit = [measure.value_at(ranks_in_sample, m + 1) for measure in measures]
            values[:, row, column] = credit @ chances
        values[:, row, -1] = [users.exact(measure) for measure in measures]
    return values


def decided(
    records: Mapping[str, Ranks], measures: Sequence[Measure], confidence: float
) -> dict[str, list[tuple[int, int]]]:
    """Pairs (better, worse) whose order full rankings decide (Holm), by metric."""
    place = {name: i for i, name in enumerate(records)}
    found: dict[str, list[tuple[int, int]]] = {str(measure): [] for measure in measures}
    for pair in compare(records, list(found), confidence=confidence):
        if pair.order != UNDECIDED:
            better, worse = better_first(pair, pair.order)
            found[pair.metric].append((place[better], place[worse]))
    return found


def places(values: Float) -> Int:
    """Places of recommenders at each size, from 1; of equal values the first named is above."""
    order = np.argsort(-values.round(9), axis=0, kind="stable")
    return np.argsort(order, axis=0) + 1


def together(best_first: Sequence[int], orders: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Longest runs of places, first and last, of which no pair of recommenders is decided."""
    told = {frozenset(pair) for pair in orders}
    runs: list[list[int]] = []
    last = 0
    for first in range(len(best_first)):
        before = last
        while last + 1 < len(best_first):
            beside = best_first[last + 1]
            if any({above, beside} in told for above in best_first[first : last + 1]):
                break
            last += 1
        if last > before:
            runs.append([first + 1, last + 1])
        last = max(last, first + 1)
    return runs


def brackets(runs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Place runs of `together` beside each other: first and last place, and the lane of each."""
    ends: list[int] = []
    placed = []
    for first, last in runs:
        free = [lane for lane, end in enumerate(ends) if end < first]
        lane = min(free, default=len(ends))
        ends[lane : lane + 1] = [last]
        placed.append([first, last, lane])
    return placed


def board(
    names: Sequence[str],
    sizes: Sequence[int],
    values: Float,
    orders: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Lay out one metric, see `board_of`; `orders` are pairs (better, worse)."""
    found: dict[str, list[Any]] = {name: [] for name in ("wrong", "shown", "headline", "pair")}
    for column, m in enumerate([*sizes, None]):
        here = values[:, column]
        leads = {pair: here[pair[1]] - here[pair[0]] for pair in orders}
        wrong = [pair for pair, lead in leads.items() if lead > EQUAL]
        worst = max(wrong, key=leads.__getitem__, default=())
        found["wrong"].append(len(wrong))
        found["shown"].append(worst)
        found["headline"].append(headline(m, len(wrong), len(orders)))
        found["pair"].append(of_pair(names, here, values[:, -1], worst))
    return {
        "values": values.round(6).tolist(),
        "places": places(values).tolist(),
        "decided": len(orders),
        "together": brackets(together(np.argsort(places(values)[:, -1]).tolist(), orders)),
        **found,
    }


def headline(m: int | None, n_wrong: int, n_decided: int) -> str:
    """Say how many of the pairs that full rankings decide are in the wrong order."""
    if n_decided == 0:
        return "Full rankings decide the order of no pair of recommenders."
    if m is None:
        return f"Over all items, the orders of {quantity(n_decided, 'pair')} are decided."
    against = f"Against {quantity(m, 'random item')}"
    if n_wrong == 0:
        return f"{against}, no decided pair of recommenders is in the wrong order."
    pairs = f"{n_wrong} of {n_decided} pairs that full rankings decide"
    return f"{against}, {pairs} are in the wrong order."


def of_pair(names: Sequence[str], here: Float, exact: Float, pair: Sequence[int]) -> str:
    """Say how a pair (better, worse) looks, and how it is; nothing without a pair."""
    if not pair:
        return ""
    better, worse = pair
    return (
        f"{names[worse]} looks better than {names[better]} ({percent(here[worse])} against "
        f"{percent(here[better])}). Over all items it is worse ({percent(exact[worse])} against "
        f"{percent(exact[better])})."
    )
