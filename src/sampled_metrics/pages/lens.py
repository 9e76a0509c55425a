"""The lens: which true ranks a sampled metric responds to, and how it orders recommenders.

Let w(k) be the mean estimate of a user whose item has true rank k. By summation by parts, the mean
estimate over users is

    sum over k of (w(k) - w(k + 1)) Recall@k,

so that every metric and every estimator is a window w(k) - w(k + 1) over the same curve, Recall@k.
The window is averaged over the users' numbers of candidates. The scripts of the page only show the
results that are computed here.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.palette import slots
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.evaluation.acts_like import acts_like_rank
from sampled_metrics.evaluation.compare import Compared
from sampled_metrics.evaluation.results import UNDECIDED, quantity
from sampled_metrics.intervals.population import Population
from sampled_metrics.metrics import Measure, values
from sampled_metrics.pages.lens_text import (
    ROUNDING,
    LensSetting,
    PairOrders,
    describe_orders,
    describe_pairs,
    lens_headline,
    standings,
)
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import pmf_at

LENS_ESTIMATORS = ("sampled", "rank-estimate", "bv:0.1")
LENS_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # numbers of negatives
LARGEST = 2000  # number of negatives of the lens
MOST_CORRECTED = 500  # negatives; for more, estimators by least squares take seconds
# Users are grouped so that the error of an expected metric stays below 1e-4.
SINGLE = 100  # ranks up to this are not grouped
NEAR_RANKS = 0.03  # relative difference of ranks in a group
NEAR_SIZES = 0.06  # relative difference of numbers of candidates in a group
WIDTH = 1000  # of a drawing, in its units
HEIGHT = 400
MIDDLE = 160  # y of a recommender without a lead
TOP = 20  # y of the largest lead
LAST_NAME = 0.95 * WIDTH  # x from which on a name would be cut off by the right edge
NAME_DISTANCE = 15  # from other lines that the name of a line needs
BASE = 350  # y of the axis of windows
UP = 120  # largest height of a window above the axis
DOWN = 45  # largest depth below it


def group_near_users(ranks: Ranks) -> Population:
    """Replace users with nearly the same ranks by groups with mean ranks.

    In a group, the best and the worst ranks among ties are in the same intervals, all users have
    ties or none has, and numbers of candidates are about the same. Ranks up to 100 are not grouped.
    Larger ranks differ within a group by at most 3 %, and numbers of candidates by 6 %. The error
    of an expected metric is of second order, below 1e-4.
    """
    rank_ends = np.column_stack([ranks.best_rank, ranks.worst_rank])
    log_interval = SINGLE + np.rint(np.log(rank_ends) / NEAR_RANKS)
    rank_intervals = np.where(rank_ends <= SINGLE, rank_ends, log_interval)
    keys = np.column_stack([rank_intervals, ranks.n_tied > 0, _size_group(ranks.n_candidates)])
    means, share = _group_means(keys, ranks.n_candidates, ranks.n_better, ranks.n_tied)
    n, n_better, n_tied = means
    # Rounded means may exceed what n allows.
    n_better = np.minimum(n_better, n - 1)
    n_tied = np.minimum(n_tied, n - 1 - n_better)
    return Population(Ranks(n, n_better, n_tied), share)


def _size_group(n_candidates: Int) -> Float:
    """Return the number of the group that each number of candidates is in."""
    return np.rint(np.log(n_candidates) / NEAR_SIZES)


def _group_means(keys: Float, *columns: Int) -> tuple[list[Int], Float]:
    """Average columns over rows with equal keys, rounded; also return the shares of the groups."""
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    sums = [np.bincount(group.ravel(), column) for column in columns]
    return [np.rint(total / count).astype(int) for total in sums], count / len(keys)


class _CandidateGroups(NamedTuple):
    """Users grouped by nearly equal numbers of candidates."""

    sizes: Int  # mean number of candidates in each group
    share: Float  # of the users in each group

    @classmethod
    def from_candidates(cls, n_candidates: Int) -> "_CandidateGroups":
        """Group users by their numbers of candidates; shape (users,)."""
        (sizes,), share = _group_means(_size_group(n_candidates), n_candidates)
        return cls(sizes, share)

    def mean_by_rank(self, ks: Int, vectors: Float, sampling: Sampling | str) -> Float:
        """Average the expected estimate at each true rank over users; 0 for users without the rank.

        At true rank k among n candidates, the expectation is sum_s P(s | k, n) vector[s] over the
        sampled ranks s.

        Parameters
        ----------
        ks
            True ranks; shape (ranks,).
        vectors
            The estimate at each sampled rank; shape (vectors, m + 1).

        Returns
        -------
        ndarray
            Shape (ranks, vectors).
        """
        m = vectors.shape[1] - 1
        has_rank = ks <= self.sizes[:, np.newaxis]
        group, rank = np.nonzero(has_rank)  # indices of all such pairs
        expected = pmf_at(ks[rank], self.sizes[group], m, sampling) @ vectors.T
        by_rank = np.zeros((ks.size, len(vectors)))
        np.add.at(by_rank, rank, expected * self.share[group, np.newaxis])
        return by_rank


def lens_sizes(largest: int, extra: Iterable[int]) -> list[int]:
    """Return the extra and the round numbers of negatives up to the largest, and the largest."""
    return sorted({m for m in (*extra, *LENS_SIZES, largest) if 1 <= m <= largest})


def compute_settings(
    rankings: Mapping[str, Ranks],
    candidates: Int,
    ks: Int,
    *,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    sizes: Iterable[int],
    estimator_vectors: Callable[..., Float],
    sampling: Sampling | str,
) -> Iterator[LensSetting]:
    """Yield the average result of each metric and estimator, with ties broken at random.

    Parameters
    ----------
    rankings
        Ranks of the recommenders by name; none for windows alone.
    candidates
        Number of candidates of each user.
    ks
        True ranks at which mean estimates are computed, averaged over `candidates`.
    sizes
        Numbers of negatives. For more than 500, estimators with a parameter are skipped.
    estimator_vectors
        Function of estimators, measures, n and m that returns the vectors of the estimators.
    """
    populations = [group_near_users(ranks) for ranks in rankings.values()]
    n_users = np.array([len(ranks) for ranks in rankings.values()])
    n = round(float(candidates.mean()))
    groups = _CandidateGroups.from_candidates(candidates)
    is_rank_of_all_users = ks <= groups.sizes.min()
    for m in sizes:
        fast = [each for each in estimators if m <= MOST_CORRECTED or each.parameter is None]
        # One vector for each pair of a metric and an estimator, as in the product below.
        vectors = estimator_vectors(fast, measures, n, m).reshape(-1, m + 1)
        moments = [population.moments(vectors, sampling) for population in populations]
        by_rank = groups.mean_by_rank(ks, vectors, sampling)
        depends_on_rank = np.ptp(by_rank[is_rank_of_all_users], axis=0) > ROUNDING
        for i, (measure, estimator) in enumerate(product(measures, fast)):
            acts_like = None
            if depends_on_rank[i] and not measure.metric.needs_candidates:
                acts_like = acts_like_rank(vectors[i], n, sampling)
            variance_of_user = np.array([of_one.within[i] for of_one in moments])
            yield LensSetting(
                measure=measure,
                estimator=estimator,
                m=m,
                n=n,
                mean=np.array([of_one.mean[i] for of_one in moments]),
                sd=np.sqrt(variance_of_user / n_users),
                by_rank=by_rank[:, i],
                acts_like=acts_like,
            )


def order_pairs(exact: Float, mean: Float, sd: Float) -> PairOrders:
    """Compare the order of each pair on average with the exact order.

    Estimates of one draw are taken to be normal and independent, so that the difference of a pair
    has the right sign with the probability Phi(sign |mean difference| / sqrt(sd_a^2 + sd_b^2)).

    Parameters
    ----------
    exact, mean, sd
        Exact value of each recommender, and mean and standard deviation of its estimate.

    Returns
    -------
    dict of (sign, probability) by pair
        The sign is 1 if the means are in the right order, -1 if not and 0 if they are equal. The
        probability is that of the right order in one draw, None if every draw gives a tie. Pairs
        with equal exact values are omitted.
    """
    orders: PairOrders = {}
    for a, b in combinations(range(exact.size), 2):
        exact_difference = _rounded_difference(exact[a], exact[b])
        if exact_difference == 0.0:
            continue
        difference = _rounded_difference(mean[a], mean[b])
        sign = int(np.sign(exact_difference * difference))
        sd_of_difference = float(np.hypot(sd[a], sd[b]))
        probability: float | None = None
        if sd_of_difference > ROUNDING:
            probability = float(ndtr(sign * abs(difference) / sd_of_difference))
        elif sign != 0:
            probability = float(sign > 0)
        orders[a, b] = sign, probability
    return orders


def _rounded_difference(a: float, b: float) -> float:
    """Return b - a, or 0 for values that are equal up to rounding."""
    if np.isclose(a, b, ROUNDING, 1e-20):
        return 0.0
    return b - a


class Chart(NamedTuple):
    """The chart of the lens: true ranks k, and their positions on a logarithmic axis."""

    ks: Int
    xs: Float

    @classmethod
    def up_to(cls, most: int, measures: Sequence[Measure]) -> "Chart":
        """Choose about 120 ranks from 1 to `most`, with the cut-offs of the metrics among them."""
        even = np.geomspace(1, most, 120).round()
        cutoffs = [measure.cutoff for measure in measures if (measure.cutoff or most) < most]
        ks = np.unique(np.concatenate([even, cutoffs, [most]]).astype(int))
        return cls(ks, WIDTH * np.log(ks) / np.log(most))

    def percent_along(self, index: int) -> float:
        """Return the position of one of the ranks, in percent of the axis."""
        return round(float(self.xs[index]) / (WIDTH / 100), 1)

    def density(self, by_rank: Float) -> Float:
        """Return by how much a credit falls from each rank to the next, per unit of the axis.

        After the last rank it falls to 0, over as much of the axis as before that rank.
        """
        after_last = 2 * self.xs[-1] - self.xs[-2]
        return -np.diff(by_rank, append=0.0) / np.diff(self.xs, append=after_last)

    def window(self, by_rank: Float) -> dict[str, Any]:
        """Draw the window of a credit as areas above and below the axis.

        Returns
        -------
        dict
            The SVG paths `up` and `down`, and the position of the peak, `at`, in percent.
        """
        density = self.density(by_rank)
        # Per unit of height, so that the window fits; not 0 for windows that are 0 everywhere.
        density_per_unit = max(density.max() / UP, -density.min() / DOWN, 1e-12)
        heights = density / density_per_unit
        return {
            "up": self._steps(heights.clip(0)),
            "down": self._steps(heights.clip(None, 0)),
            "at": self.percent_along(int(np.argmax(heights))),
        }

    def cut_off(self, measure: Measure) -> dict[str, Any]:
        """Draw the window of a metric; only its position if all of the credit ends at one rank."""
        window = self.window(measure.value_at(self.ks, int(self.ks[-1])))
        is_single_bar = window["up"].count("v") <= 2  # it goes up, and down again
        if not (measure.cutoff and is_single_bar):
            return window
        index_of_cutoff = np.searchsorted(self.ks, min(measure.cutoff, self.ks[-1]))
        return {**window, "up": "", "at": self.percent_along(int(index_of_cutoff))}

    def _steps(self, heights: Float) -> str:
        """Draw the outline of bars over the axis as an SVG path, empty if no bar has a height.

        A bar reaches from its rank to the next one. The path moves along (h) to each rank where the
        height changes, and up or down (v) by this change; y of SVG points down.
        """
        rises = np.diff(np.rint(heights).astype(int), prepend=0)
        ranks_of_changes = np.flatnonzero(rises)
        if not ranks_of_changes.size:
            return ""
        widths = np.diff(np.rint(self.xs[ranks_of_changes]).astype(int), prepend=0)
        moves = [
            f"h{width}v{-rise}" for width, rise in zip(widths, rises[ranks_of_changes], strict=True)
        ]
        return f"M0 {BASE}{''.join(moves)}H{WIDTH}V{BASE}Z"

    def relative_recall(self, rankings: Mapping[str, Ranks]) -> Float:
        """Return Recall@k of each recommender relative to the mean of all: r / mean - 1.

        That of a single recommender is Recall@k itself. With ties in random order, an item is among
        the first k with the probability (k - n_better) / (n_tied + 1), within 0 and 1. The shape is
        (recommenders, ranks).
        """
        recall = np.empty((len(rankings), self.ks.size))
        for recommender, ranks in enumerate(rankings.values()):
            for index, k in enumerate(self.ks):
                probability = (k - ranks.n_better) / (ranks.n_tied + 1)
                recall[recommender, index] = np.clip(probability, 0, 1).mean()
        if len(recall) == 1:
            return recall
        return recall / np.maximum(recall.mean(axis=0), 1e-12) - 1.0

    def leads(self, rankings: Mapping[str, Ranks]) -> dict[str, Any]:
        """Draw Recall@k of each recommender relative to the mean of all: r / mean - 1.

        A single recommender is drawn as Recall@k itself. Ties are broken at random.

        Returns `lines`, each with the position of its name, where it is furthest from all other
        lines, and the largest absolute value, `most`, in percent.
        """
        recall = self.relative_recall(rankings)
        most = float(np.abs(recall).max()) or 1.0
        ys = MIDDLE - (MIDDLE - TOP) * recall / most  # y of SVG points down
        has_room_to_the_right = self.xs < LAST_NAME
        clearances = np.where(has_room_to_the_right, _distances_to_others(ys), 0.0)
        lines = list(map(self._line, rankings, ys, clearances))
        return {"lines": lines, "most": round(100 * most)}

    def _line(self, name: str, ys: Float, clearances: Float) -> dict[str, Any]:
        """Draw the line of a recommender; its name is empty where other lines are too near.

        Parameters
        ----------
        ys
            y of the line at each rank; shape (ranks,).
        clearances
            How much room the name has at each rank; shape (ranks,).

        Returns
        -------
        dict
            The SVG path `d`; the `name`, whether it is `above` the middle, and its position `x` and
            `y`, in percent of the drawing.
        """
        place_of_name = int(np.argmax(clearances))
        points = [f"{x:.0f} {y:.0f}" for x, y in zip(self.xs, ys, strict=True)]
        return {
            "d": f"M{'L'.join(points)}",
            "name": name if clearances[place_of_name] > NAME_DISTANCE else "",
            "above": bool(ys[place_of_name] <= MIDDLE),
            "x": self.percent_along(place_of_name),
            "y": round(100 * ys[place_of_name] / HEIGHT),
        }

    def ticks(self) -> list[tuple[str, float]]:
        """Return the powers of ten as labels, and their positions in percent."""
        last = self.ks[-1]
        powers = [10**power for power in range(len(str(last)))]
        return [(f"{k:,}", round(100 * np.log(k) / np.log(last), 1)) for k in powers]


def _undecided_by_metric(compared: Iterable[Compared]) -> defaultdict[str, set[frozenset[str]]]:
    """Return the pairs of names that full rankings leave undecided, by metric."""
    undecided = defaultdict(set)
    for pair in compared:
        if pair.order == UNDECIDED:
            undecided[pair.metric].add(frozenset({pair.a, pair.b}))
    return undecided


def _distances_to_others(ys: Float) -> Float:
    """Return how far each line is from the nearest other one at each rank; shape (lines, ranks).

    The distance of a single line is infinite.
    """
    distances = np.abs(ys[:, np.newaxis] - ys)
    distances[np.diag_indices(len(ys))] = np.inf  # each line from itself
    return distances.min(axis=1)


def build_lens(
    rankings: Mapping[str, Ranks],
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    m: int,
    *,
    extra_sizes: Iterable[int] | None = (),
    candidates: Int | None = None,
    estimator_vectors: Callable[..., Float] | None = None,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    compared: Iterable[Compared] = (),
) -> dict[str, Any]:
    """Compute the contents of the lens.

    Parameters
    ----------
    rankings
        Ranks of the recommenders by name. Without any, `candidates` give windows alone.
    measures, estimators, m
        The lens starts with the first metric, the first estimator and m negatives.
    extra_sizes
        Numbers of negatives besides round ones; None for no number except m.
    candidates
        Number of candidates of each user; by default that of all rankings.
    estimator_vectors
        See `compute_settings`; by default the vectors that `correct` uses.
    sampling
        How negatives are drawn.
    compared
        Comparisons by full rankings, which may leave pairs undecided.

    Returns
    -------
    dict
        `views` has what changes with the metric, the estimator and m, by these three: the window
        and headline, and with recommenders the keys of `_order_view`. `start` is the view that is
        shown first; `asked`, `estimators` and `sizes` are what can be chosen. By metric, `truth`
        lists the recommenders, best first, and `exact` has their values. `names` are those of the
        recommenders, `slots` the numbers of their looks, and `undecided` the pairs that full
        rankings leave undecided by the first metric. `lines`, `ticks` and `last`, the last rank,
        belong to the chart. `fewest` and `n` are the smallest and the mean number of candidates.
    """
    if candidates is None:
        candidates = np.concatenate([ranks.n_candidates for ranks in rankings.values()])
    if estimator_vectors is None:
        estimator_vectors = partial(estimator_matrix, sampling=sampling)
    fewest = int(candidates.min())
    sizes = [m]
    if extra_sizes is not None:
        sizes = lens_sizes(min(fewest - 1, LARGEST), [m, *extra_sizes])
    chart = Chart.up_to(int(candidates.max()), measures)
    names = list(rankings)
    exact = {
        str(measure): np.array([values(measure, ranks).mean() for ranks in rankings.values()])
        for measure in measures
    }
    undecided = _undecided_by_metric(compared)
    settings = list(
        compute_settings(
            rankings,
            candidates,
            chart.ks,
            measures=measures,
            estimators=estimators,
            sizes=sizes,
            estimator_vectors=estimator_vectors,
            sampling=sampling,
        )
    )
    views = {}
    for setting in settings:
        metric = str(setting.measure)
        view = {**chart.window(setting.by_rank), "head": lens_headline(setting)}
        if names:
            view |= _order_view(setting, names, exact[metric], undecided[metric])
        views[f"{metric} {setting.estimator} {setting.m}"] = view
    first_metric = str(measures[0])
    undecided_pairs = [
        [a, b] for a, b in combinations(names, 2) if frozenset({a, b}) in undecided[first_metric]
    ]
    return {
        "views": views,
        "asked": {
            str(measure): {"label": measure.label, **chart.cut_off(measure)} for measure in measures
        },
        "estimators": {str(setting.estimator): setting.estimator.label for setting in settings},
        "truth": {metric: standings(means) for metric, means in exact.items()},
        "exact": {metric: means.round(6).tolist() for metric, means in exact.items()},
        "sizes": sizes,
        "start": {"metric": first_metric, "estimator": str(estimators[0]), "m": m},
        "lines": chart.leads(rankings) if names else {"lines": []},
        "ticks": chart.ticks(),
        "last": int(chart.ks[-1]),
        "names": names,
        "slots": slots(names),
        "undecided": undecided_pairs,
        "fewest": fewest,
        "n": f"{round(float(candidates.mean())):,}",
    }


def _order_view(
    setting: LensSetting,
    names: Sequence[str],
    exact: Float,
    undecided: set[frozenset[str]],
) -> dict[str, Any]:
    """Return values and orders of the recommenders in one setting.

    Parameters
    ----------
    exact
        Exact values of the recommenders; shape (recommenders,).
    undecided
        Pairs of names that full rankings leave undecided by this metric.

    Returns
    -------
    dict
        `read`, the recommenders with their mean estimates, best first; `verdict`, a sentence on
        the number of right orders; `pairs`, sentences on single pairs; `more`, if further decided
        pairs are not in the right order, how many; `right`, two numbers of recommenders and the
        probability of their right order in one draw; and `noise`, the recommender with the largest
        standard deviation, and this deviation in percent.
    """
    orders = order_pairs(exact, setting.mean, setting.sd)
    open_pairs = {(a, b) for a, b in orders if frozenset({names[a], names[b]}) in undecided}
    decided = {pair: order for pair, order in orders.items() if pair not in open_pairs}
    noisiest = int(np.argmax(setting.sd))
    described_pairs = describe_pairs(names, exact, orders, open_pairs)
    n_not_right = sum(sign != 1 for sign, _ in decided.values())
    # Undecided pairs are described with another sign.
    n_described = sum(sign in (-1, 0) for sign, _, _ in described_pairs)
    n_not_described = n_not_right - n_described
    more = {}
    if n_not_described > 0:
        more["more"] = f"Not right either: {quantity(n_not_described, 'more pair')}."
    return {
        **more,
        "read": standings(setting.mean),
        "verdict": describe_orders(decided, len(open_pairs)),
        "pairs": described_pairs,
        "right": [[*pair, None if p is None else round(p, 6)] for pair, (_, p) in orders.items()],
        "noise": [names[noisiest], f"{100 * setting.sd[noisiest]:.2f}"],
    }
