"""The leaderboard: places of recommenders against m random items, and over all items."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.text import listed
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.results import UNDECIDED, count
from sampled_metrics.intervals.population import Population
from sampled_metrics.metrics import Measure
from sampled_metrics.pages.words import percent
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import top_of_samples

ROUND = (20, 50, 100, 200, 500, 1000)  # sizes that are always shown
NEAR = 0.05  # relative difference to one of them, at which other sizes are left out
FEWEST = 15
STEPS = 20  # sizes from the fewest to the most
MOST_CUTOFF = 100
EQUAL = 1e-9  # values that are equal up to rounding


def board_of(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    confidence: float = CONFIDENCE,
) -> dict[str, Any] | None:
    """Compute the board by the first two metrics with a small cut-off, see `leaderboard`.

    Returns None for a single recommender, for different candidates, and for other metrics.
    """
    chosen = [measure for measure in measures if (measure.cutoff or np.inf) <= MOST_CUTOFF][:2]
    first, *others = (np.sort(ranks.n_candidates) for ranks in records.values())
    if not chosen or not others or any(not np.array_equal(first, other) for other in others):
        return None
    return leaderboard(records, chosen, sampling, confidence)


def leaderboard(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """Compute the board of recommenders that ranked items for the same users.

    Returns `names`, `n_users`, the mean `n_items`, the `sizes` of samples and, by the label of
    each metric, its board: expected `values` and `places` of each recommender at each size and last
    over all items, how many pairs full rankings have `decided` (in percent, at a `level`), how many
    of these are in the `wrong` order at each size, the worst of them, `shown`, the places that are
    `together`, see `brackets`, and what there is to say: `headline`, `pair`
    and `leaders`.
    """
    names = list(records)
    first = records[names[0]]
    fewest = int(first.n_candidates.min())
    sizes = sizes_of_board(fewest - 1)
    values = expected(records, measures, sizes, sampling)
    known = decided(records, measures, confidence)
    boards = {}
    for measure, of_metric in zip(measures, values, strict=True):
        orders = known[str(measure)]
        label = measure.label
        boards[label] = board(label, names, sizes, of_metric, orders)
    return {
        "names": names,
        "n_users": len(first),
        "n_items": round(float(first.n_candidates.mean())),
        "level": f"{100 * confidence:g}",
        "sizes": sizes,
        "metrics": boards,
    }


def sizes_of_board(most: int) -> list[int]:
    """Choose numbers of random items, up to the most that every user has."""
    sizes = {m for m in ROUND if m <= most}
    sizes.add(most)
    rounded = np.array(ROUND)
    for m in np.geomspace(min(FEWEST, most), most, STEPS).round():
        distance = np.abs(np.log(m / rounded)).min()
        if distance > NEAR:
            sizes.add(int(m))
    return sorted(sizes)


def expected(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sizes: Sequence[int],
    sampling: Sampling | str,
) -> Float:
    """Expected metrics over draws of random items, ties in random order.

    Returns fractions of shape (metrics, recommenders, sizes + 1), the last of each over all items.
    """
    last = 0
    for measure in measures:
        cutoff = measure.cutoff
        if cutoff is None or cutoff > MOST_CUTOFF:
            raise InputError(f"{measure} has no cut-off of at most {MOST_CUTOFF}, as boards need")
        last = max(last, cutoff)
    values = np.empty((len(measures), len(records), len(sizes) + 1))
    for row, ranks in enumerate(records.values()):
        users = Population.of_users(ranks)
        for column, m in enumerate(sizes):
            chances = users.share @ top_of_samples(users.ranks, m, last, sampling)
            ranks_in_sample = np.arange(1, chances.size + 1)
            credit = [measure.at(ranks_in_sample, m + 1) for measure in measures]
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
            better = place[pair.a]
            worse = place[pair.b]
            if pair.order == "b":
                better, worse = worse, better
            found[pair.metric].append((better, worse))
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
    label: str,
    names: Sequence[str],
    sizes: Sequence[int],
    values: Float,
    orders: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Lay out one metric, see `leaderboard`; `orders` are pairs (better, worse)."""
    found: dict[str, list[Any]] = {
        name: [] for name in ("wrong", "shown", "headline", "pair", "leaders")
    }
    for column, m in enumerate([*sizes, None]):
        here = values[:, column]
        n_wrong = 0
        most = EQUAL
        worst: list[int] = []
        for better, worse in orders:
            lead = here[worse] - here[better]
            if lead > EQUAL:
                n_wrong += 1
            if lead > most:
                most = lead
                worst = [better, worse]
        found["wrong"].append(n_wrong)
        found["shown"].append(worst)
        found["headline"].append(headline(m, n_wrong, len(orders)))
        found["pair"].append(of_pair(names, here, values[:, -1], worst))
        found["leaders"].append(of_leaders(label, names, here, values[:, -1], orders, m))
    return {
        "values": values.round(6).tolist(),
        "places": places(values).tolist(),
        "decided": len(orders),
        "together": brackets(together(np.argsort(places(values)[:, -1]).tolist(), orders)),
        **found,
    }


def against(m: int | None) -> str:
    """Name what an item is ranked among."""
    if m is None:
        return "Over all items"
    return f"Against {count(m, 'random item')}"


def headline(m: int | None, n_wrong: int, n_decided: int) -> str:
    """Say how many of the pairs that full rankings decide are in the wrong order."""
    if n_decided == 0:
        return "Full rankings decide the order of no pair of recommenders."
    if m is None:
        return f"Over all items, the orders of {count(n_decided, 'pair')} are decided."
    if n_wrong == 0:
        return f"{against(m)}, no decided pair of recommenders is in the wrong order."
    pairs = f"{n_wrong} of {n_decided} pairs that full rankings decide"
    return f"{against(m)}, {pairs} are in the wrong order."


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


def of_leaders(
    label: str,
    names: Sequence[str],
    here: Float,
    exact: Float,
    orders: Sequence[tuple[int, int]],
    m: int | None,
) -> str:
    """Name who leads here and over all items, and whether full rankings tell the two apart."""
    leader = int(places(here[:, np.newaxis])[:, 0].argmin())
    best = int(places(exact[:, np.newaxis])[:, 0].argmin())
    text = f"{against(m)}, {names[leader]} leads with {label} = {percent(here[leader])}"
    beside = [name for i, name in enumerate(names) if i != best and (best, i) not in orders]
    untold = "."
    if beside:
        untold = f"; full rankings do not tell it from {listed(beside)}."
    if m is None:
        return f"{text}{untold}"
    if leader == best:
        return f"{text}, as over all items with {percent(exact[best])}{untold}"
    told = "full rankings leave undecided which of the two is better"
    if (best, leader) in orders:
        told = "full rankings decide this order"
    return (
        f"{text} (over all items {percent(exact[leader])}); over all items {names[best]} leads "
        f"with {percent(exact[best])}: {told}."
    )
