"""The leaderboard: places of recommenders against m random items, and over all items."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import geometric_sizes
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics._base.palette import slots
from sampled_metrics.evaluation.compare import compare
from sampled_metrics.evaluation.compare_text import better_first
from sampled_metrics.evaluation.results import UNDECIDED, quantity
from sampled_metrics.intervals.population import Population
from sampled_metrics.metrics import Measure
from sampled_metrics.pages.lens_text import ROUNDING, percent
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import top_rank_probabilities

BOARD_SIZES = (20, 50, 100, 200, 500, 1000)  # numbers of random items that are always shown
FEWEST = 15  # random items
STEPS = 20  # sizes from the fewest to the most random items
MOST_CUTOFF = 100  # metrics with larger cut-offs, or none, have no board


def build_board(
    rankings: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    confidence: float = DEFAULT_CONFIDENCE,
) -> dict[str, Any] | None:
    """Compute the leaderboard for the first two metrics with a small cut-off.

    Returns
    -------
    dict or None
        None for a single recommender, for recommenders with different candidates, and without a
        suitable metric. Otherwise `names`, the `slots` of their looks, `n_users`, the mean
        `n_items`, the `sizes` of samples, the `level` of decisions in percent, and in `metrics` the
        board of each metric, see `lay_out`.
    """
    chosen = [measure for measure in measures if (measure.cutoff or np.inf) <= MOST_CUTOFF][:2]
    candidates, *of_others = (np.sort(ranks.n_candidates) for ranks in rankings.values())
    are_candidates_equal = all(np.array_equal(candidates, each) for each in of_others)
    if not chosen or not of_others or not are_candidates_equal:
        return None
    names = list(rankings)
    sizes = board_sizes(int(candidates[0]) - 1)
    values = expected_metrics(rankings, chosen, sizes, sampling)
    pairs_by_metric = decided_pairs(rankings, chosen, confidence)
    boards = {
        measure.label: lay_out(names, sizes, metric_values, pairs_by_metric[str(measure)])
        for measure, metric_values in zip(chosen, values, strict=True)
    }
    return {
        "names": names,
        "slots": slots(names),
        "n_users": candidates.size,
        "n_items": round(float(candidates.mean())),
        "level": f"{100 * confidence:g}",
        "sizes": sizes,
        "metrics": boards,
    }


def board_sizes(most: int) -> list[int]:
    """Choose numbers of random items, up to the most that every user has."""
    evenly_spaced = geometric_sizes(min(FEWEST, most), most, STEPS)
    return sorted({*evenly_spaced, *(m for m in BOARD_SIZES if m <= most)})


def expected_metrics(
    rankings: Mapping[str, Ranks],
    measures: Sequence[Measure],
    sizes: Sequence[int],
    sampling: Sampling | str,
) -> Float:
    """Calculate expected metrics over draws of random items, with ties in random order.

    With m items, a metric is the sum over sampled ranks s up to the largest cut-off of P(s) times
    the metric at s, where P(s) is the mean probability over users. All metrics have a cut-off.

    Returns
    -------
    ndarray
        Fractions; shape (metrics, recommenders, sizes + 1), the last size being all items.
    """
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    largest_cutoff = max(cutoffs)
    values = np.empty((len(measures), len(rankings), len(sizes) + 1))
    for recommender, ranks in enumerate(rankings.values()):
        users = Population.from_ranks(ranks)
        for size, m in enumerate(sizes):
            by_user = top_rank_probabilities(users.ranks, m, largest_cutoff, sampling)
            probabilities = users.share @ by_user  # shape (sampled ranks,)
            sampled_ranks = np.arange(1, probabilities.size + 1)
            credit = [measure.value_at(sampled_ranks, m + 1) for measure in measures]
            values[:, recommender, size] = credit @ probabilities
        values[:, recommender, -1] = [users.exact(measure) for measure in measures]
    return values


def decided_pairs(
    rankings: Mapping[str, Ranks], measures: Sequence[Measure], confidence: float
) -> dict[str, list[tuple[int, int]]]:
    """Return the pairs (better, worse) that full rankings decide (Holm), by metric.

    Recommenders are positions in `rankings`.
    """
    position = {name: i for i, name in enumerate(rankings)}
    pairs: dict[str, list[tuple[int, int]]] = {str(measure): [] for measure in measures}
    for result in compare(rankings, list(pairs), confidence=confidence):
        if result.order != UNDECIDED:
            better, worse = better_first(result, result.order)
            pairs[result.metric].append((position[better], position[worse]))
    return pairs


def places_by_size(values: Float) -> Int:
    """Return the places of recommenders at each size, from 1; ties are in the given order.

    `values` and the result have the shape (recommenders, sizes).
    """
    best_first = np.argsort(-values.round(9), axis=0, kind="stable")
    return np.argsort(best_first, axis=0) + 1  # the inverse permutation


def undecided_runs(best_first: Sequence[int], orders: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the longest runs of places (first, last) without a decided pair of recommenders.

    Each place starts a run, which extends until a recommender is decided against one in it. A run
    that ends where an earlier one does is part of that one and omitted.

    Parameters
    ----------
    best_first
        Recommenders by place.
    orders
        Decided pairs of recommenders.
    """
    decided = {frozenset(pair) for pair in orders}
    runs: list[list[int]] = []
    last = 0  # index of the last recommender of the run
    for first in range(len(best_first)):
        last = max(last, first)
        end_of_previous_run = last
        for candidate in best_first[last + 1 :]:
            in_run = best_first[first : last + 1]
            if any({above, candidate} in decided for above in in_run):
                break
            last += 1
        if last > end_of_previous_run:
            runs.append([first + 1, last + 1])
    return runs


def place_brackets(runs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Give each run of places the first lane in which it overlaps no other run.

    `runs` are pairs (first, last) in ascending order; brackets are triples (first, last, lane).
    """
    last_of_lane: list[int] = []  # the last place that each lane has so far
    brackets = []
    for first, last in runs:
        free_lanes = [lane for lane, end in enumerate(last_of_lane) if end < first]
        if free_lanes:
            lane = free_lanes[0]
            last_of_lane[lane] = last
        else:
            lane = len(last_of_lane)
            last_of_lane.append(last)
        brackets.append([first, last, lane])
    return brackets


def lay_out(
    names: Sequence[str],
    sizes: Sequence[int],
    values: Float,
    orders: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Lay out the board of one metric.

    Parameters
    ----------
    values
        Expected values, shape (recommenders, sizes + 1), the last over all items.
    orders
        Pairs (better, worse) that full rankings decide.

    Returns
    -------
    dict
        `values` and `places` of each recommender at each size, and the number of `decided` pairs;
        for each size how many of these are in the `wrong` order, the worst of them (`shown`) and
        sentences about both (`headline`, `pair`); brackets around recommenders whose pairs are
        undecided (`together`); and the undecided pairs that no bracket joins (`apart`), with a
        sentence on them (`caption`).
    """
    exact = values[:, -1]
    described_sizes = [
        _describe_size(names, m, values_at_size, exact, orders)
        for m, values_at_size in zip([*sizes, None], values.T, strict=True)
    ]
    lists_by_size = {key: [each[key] for each in described_sizes] for key in described_sizes[0]}
    places = places_by_size(values)
    best_first = np.argsort(places[:, -1]).tolist()
    runs = undecided_runs(best_first, orders)
    apart = undecided_apart(best_first, runs, orders)
    return {
        "values": values.round(6).tolist(),
        "places": places.tolist(),
        "decided": len(orders),
        "together": place_brackets(runs),
        "apart": apart,
        "caption": describe_apart(names, apart),
        **lists_by_size,
    }


def _describe_size(
    names: Sequence[str],
    m: int | None,
    sampled: Float,
    exact: Float,
    orders: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """Return what `lay_out` lists for each size: `wrong`, `shown`, `headline` and `pair`.

    `m` is the number of random items, None for all; `sampled` and `exact` are the values of the
    recommenders against these and over all items.
    """
    # How much the recommender that is worse over all items leads among the random ones.
    lead_of_worse = {(better, worse): sampled[worse] - sampled[better] for better, worse in orders}
    wrong_pairs = [pair for pair, lead in lead_of_worse.items() if lead > ROUNDING]
    worst_pair = max(wrong_pairs, key=lead_of_worse.__getitem__, default=())
    return {
        "wrong": len(wrong_pairs),
        "shown": worst_pair,
        "headline": board_headline(m, len(wrong_pairs), len(orders)),
        "pair": describe_wrong_pair(names, sampled, exact, worst_pair),
    }


def undecided_apart(
    best_first: Sequence[int], runs: Sequence[Sequence[int]], orders: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the undecided pairs that are in no run of places, each with the better one first.

    A decided recommender between them parts them.
    """
    decided = {frozenset(pair) for pair in orders}
    apart = []
    for (place_a, a), (place_b, b) in combinations(enumerate(best_first, 1), 2):
        are_in_one_run = any(first <= place_a and place_b <= last for first, last in runs)
        is_undecided = frozenset({a, b}) not in decided
        if is_undecided and not are_in_one_run:
            apart.append((a, b))
    return apart


def describe_apart(names: Sequence[str], pairs: Sequence[Sequence[int]]) -> str:
    """Name the undecided pairs that no bracket joins; nothing if there are none."""
    if not pairs:
        return ""
    texts = [f"{names[a]} and {names[b]}" for a, b in pairs]
    return f"Without a bracket, also undecided: {'; '.join(texts)}."


def board_headline(m: int | None, n_wrong: int, n_decided: int) -> str:
    """Say how many of the pairs that full rankings decide are in the wrong order."""
    if n_decided == 0:
        return "Full rankings decide the order of no pair of recommenders."
    if m is None:
        return f"Over all items, the orders of {quantity(n_decided, 'pair')} are decided."
    against = f"Against {quantity(m, 'random item')}"
    if n_decided == n_wrong == 1:
        return f"{against}, the only pair that full rankings decide is in the wrong order."
    if n_wrong == 0:
        return f"{against}, no decided pair of recommenders is in the wrong order."
    pairs = f"{n_wrong} of {n_decided} pairs that full rankings decide"
    return f"{against}, {pairs} are in the wrong order."


def describe_wrong_pair(
    names: Sequence[str], sampled: Float, exact: Float, pair: Sequence[int]
) -> str:
    """Say how a pair (better, worse) looks and how it is; nothing without a pair."""
    if not pair:
        return ""
    better, worse = pair
    return (
        f"{names[worse]} looks better than {names[better]} ({percent(sampled[worse])} against "
        f"{percent(sampled[better])}). Over all items it is worse ({percent(exact[worse])} against "
        f"{percent(exact[better])})."
    )
