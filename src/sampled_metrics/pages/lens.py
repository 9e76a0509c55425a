"""The metric that sampling measures, as a window over Recall@k: numbers and lines of both pages.

With w(k) the mean estimate of a user whose item has true rank k, an estimate is the sum over k of
(w(k) - w(k + 1)) Recall@k, by summation by parts. So every metric and every estimator is a window
over one fixed curve, here averaged over the users' numbers of candidates. The scripts of the page
only show the results.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.evaluation.acts_like import acts_like_rank
from sampled_metrics.evaluation.compare import Compared
from sampled_metrics.evaluation.results import UNDECIDED
from sampled_metrics.intervals.population import Population
from sampled_metrics.metrics import Measure, values
from sampled_metrics.pages.words import Orders, Setting, headline, in_words, standings, verdict
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import pmf_at

ESTIMATORS = ("sampled", "rank-estimate", "bv:0.1")
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MOST_CORRECTED = 500  # negatives, beyond which least squares take seconds
LARGEST = 2000  # negatives of the lens
SINGLE = 100  # ranks up to which users are not grouped
NEAR = 0.03  # relative difference of ranks in a group
NEAR_SIZES = 0.06  # relative difference of numbers of candidates in a group
WIDTH = 1000  # units of a drawing
HEIGHT = 400
MIDDLE = 160  # height of no lead
ROOM = 15  # distance to other lines that the name of a line needs
BASE = 350  # height of the axis of windows
UP = 120  # tallest part of a window above the axis
DOWN = 45  # and below
EQUAL = 1e-9  # relative difference of values that are equal up to rounding


def grouped(ranks: Ranks) -> Population:
    """Describe users by the means of groups with nearly the same ranks.

    Ranks up to 100 are kept, later ones differ within a group by at most 3 %, and the numbers of
    candidates by 6 %. The error of an expected metric is of second order, below 1e-4.
    """
    ends = np.column_stack([ranks.best_rank, ranks.worst_rank])
    near = np.where(ends <= SINGLE, ends, SINGLE + np.rint(np.log(ends) / NEAR))
    keys = np.column_stack([near, ranks.n_tied > 0, _near_size(ranks.n_candidates)])
    means, share = _means(keys, ranks.n_candidates, ranks.n_better, ranks.n_tied)
    n, n_better, n_tied = means
    n_better = np.minimum(n_better, n - 1)  # rounded halves may exceed it
    n_tied = np.minimum(n_tied, n - 1 - n_better)
    return Population(Ranks(n, n_better, n_tied, is_checked=True), share)


def _near_size(n_candidates: Int) -> Float:
    """Number sizes of catalogues; the sizes of a group get the same number."""
    return np.rint(np.log(n_candidates) / NEAR_SIZES)


def _means(keys: Float, *columns: Int) -> tuple[list[Int], Float]:
    """Group rows with equal keys: rounded means of columns, and the share of rows in each group."""
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    sums = [np.bincount(group.ravel(), values) for values in columns]
    return [np.rint(of_column / count).astype(int) for of_column in sums], count / len(keys)


def sizes_up_to(largest: int, wanted: Iterable[int]) -> list[int]:
    """Numbers of negatives: the wanted ones, round ones, and the largest."""
    return sorted({m for m in (*wanted, *SIZES, largest) if 1 <= m <= largest})


def settings(
    records: Mapping[str, Ranks],
    candidates: Int,
    ks: Int,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    sizes: Iterable[int],
    vectors_of: Callable[..., Float],
    sampling: Sampling | str,
) -> Iterator[Setting]:
    """Yield the average result of metrics by estimators, with ties broken at random.

    Estimates at each rank of `ks` are averaged over the `candidates` of users. Estimators with a
    parameter are left out beyond 500 negatives.
    """
    populations = [grouped(ranks) for ranks in records.values()]
    counts = np.array([len(ranks) for ranks in records.values()])
    n = round(float(candidates.mean()))
    (of_groups,), shares = _means(_near_size(candidates), candidates)
    group, rank = np.nonzero(ks <= of_groups[:, np.newaxis])
    for m in sizes:
        kept = [e for e in estimators if m <= MOST_CORRECTED or e.parameter is None]
        vectors = vectors_of(kept, measures, n, m).reshape(-1, m + 1)
        moments = [population.moments(vectors, sampling) for population in populations]
        given = pmf_at(ks[rank], of_groups[group], m, sampling) @ vectors.T
        by_rank = np.zeros((ks.size, len(vectors)))
        np.add.at(by_rank, rank, given * shares[group, np.newaxis])
        falls = np.ptp(by_rank[ks <= of_groups.min()], axis=0) > EQUAL
        for place, (measure, estimator) in enumerate(product(measures, kept)):
            acts_like = None
            if falls[place] and not measure.metric.needs_candidates:
                acts_like = acts_like_rank(vectors[place], n, sampling)
            variance = np.array([moment.within[place] for moment in moments])
            yield Setting(
                measure=measure,
                estimator=estimator,
                m=m,
                n=n,
                mean=np.array([moment.mean[place] for moment in moments]),
                sd=np.sqrt(variance / counts),
                by_rank=by_rank[:, place],
                acts_like=acts_like,
            )


def right_order(exact: Float, mean: Float, sd: Float) -> Orders:
    """Compare the order of each pair with the exact one.

    Returns, for pairs that do not tie over all items, 1 if the means are in the right order, -1 if
    not, 0 for a tie; and the probability that one run is right, None if all runs tie.
    """
    found: Orders = {}
    for a, b in combinations(range(exact.size), 2):
        true = _difference(exact[a], exact[b])
        if true == 0.0:
            continue
        seen = _difference(mean[a], mean[b])
        sign = int(np.sign(true * seen))
        spread = float(np.hypot(sd[a], sd[b]))
        chance: float | None = None
        if spread > EQUAL:
            chance = float(ndtr(sign * abs(seen) / spread))
        elif sign != 0:
            chance = float(sign > 0)
        found[a, b] = sign, chance
    return found


def _difference(a: float, b: float) -> float:
    """Return b - a, or 0 for values that are equal up to rounding."""
    if np.isclose(a, b, EQUAL, 1e-20):
        return 0.0
    return b - a


class Chart(NamedTuple):
    """The chart's axis of k: ranks, and their places on a logarithmic axis."""

    ks: Int
    xs: Float

    @classmethod
    def up_to(cls, most: int, measures: Sequence[Measure]) -> "Chart":
        """Choose ranks 1 ... most, the cut-offs of metrics among them."""
        even = np.geomspace(1, most, 120).round()
        cutoffs = [measure.cutoff for measure in measures if (measure.cutoff or most) < most]
        ks = np.unique(np.concatenate([even, cutoffs, [most]]).astype(int))
        return cls(ks, WIDTH * np.log(ks) / np.log(most))

    def percent_of(self, place: int) -> float:
        """Return how far along the axis one of its ranks is, in percent."""
        return round(float(self.xs[place]) / 10, 1)

    def window(self, by_rank: Float) -> dict[str, Any]:
        """Draw the steps of a credit as areas over the axis: `up`, `down`, and the peak's `at`."""
        after_last = 2 * self.xs[-1] - self.xs[-2]
        widths = np.diff(self.xs, append=after_last)
        density = -np.diff(by_rank, append=0.0) / widths
        density /= max(density.max() / UP, -density.min() / DOWN, 1e-12)
        return {
            "up": self._steps(density.clip(0)),
            "down": self._steps(density.clip(None, 0)),
            "at": self.percent_of(int(np.argmax(density))),
        }

    def cut_off(self, measure: Measure) -> dict[str, Any]:
        """Draw the window of a metric; only its place where all of the credit ends at once."""
        window = self.window(measure.value_at(self.ks, int(self.ks[-1])))
        if measure.cutoff and window["up"].count("v") < 3:
            place = np.searchsorted(self.ks, min(measure.cutoff, self.ks[-1]))
            window["up"] = ""
            window["at"] = self.percent_of(int(place))
        return window

    def _steps(self, heights: Float) -> str:
        """Draw the outline of bars from the axis, in steps from one place to the next."""
        rounded = np.rint(heights).astype(int)
        rises = np.diff(rounded, prepend=0)
        changes = np.flatnonzero(rises)
        if not changes.size:
            return ""
        across = np.diff(np.rint(self.xs[changes]).astype(int), prepend=0)
        lines = [f"h{x}v{-y}" for x, y in zip(across, rises[changes], strict=True)]
        return f"M0 {BASE}{''.join(lines)}H{WIDTH}V{BASE}Z"

    def leads(self, records: Mapping[str, Ranks]) -> dict[str, Any]:
        """Draw Recall@k of each recommender less the mean of all, by that; of one only Recall@k.

        Ties are broken at random. Returns `lines`, each with the place of its name, where it is
        furthest from all lines, and the largest lead, `most`, in percent.
        """
        recall = np.empty((len(records), self.ks.size))
        for row, ranks in enumerate(records.values()):
            for column, k in enumerate(self.ks):
                share = (k - ranks.n_better) / (ranks.n_tied + 1)
                recall[row, column] = np.clip(share, 0, 1).mean()
        if len(recall) > 1:
            recall = recall / np.maximum(recall.mean(axis=0), 1e-12) - 1.0
        most = float(np.abs(recall).max()) or 1.0
        ys = MIDDLE - (MIDDLE - 20) * recall / most
        between = np.abs(ys[:, np.newaxis] - ys)
        between[np.diag_indices(len(ys))] = np.inf
        room = np.where(self.xs < 0.95 * WIDTH, between.min(axis=1), 0.0)
        lines = []
        for row, name in enumerate(records):
            place = int(np.argmax(room[row]))
            height = ys[row, place]
            points = [f"{x:.0f} {y:.0f}" for x, y in zip(self.xs, ys[row], strict=True)]
            line = {
                "d": f"M{'L'.join(points)}",
                "name": "",
                "above": bool(height <= MIDDLE),
                "x": self.percent_of(place),
                "y": round(100 * height / HEIGHT),
            }
            if room[row, place] > ROOM:
                line["name"] = name
            lines.append(line)
        return {"lines": lines, "most": round(100 * most)}

    def ticks(self) -> list[tuple[str, float]]:
        """Return the powers of ten and their places, in percent."""
        last = self.ks[-1]
        powers = [10**power for power in range(len(str(last)))]
        return [(f"{k:,}", round(100 * np.log(k) / np.log(last), 1)) for k in powers]


def lens(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    m: int,
    wanted: Iterable[int] | None = (),
    candidates: Int | None = None,
    vectors_of: Callable[..., Float] | None = None,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    compared: Iterable[Compared] = (),
) -> dict[str, Any]:
    """Compute the lens, which begins with the first metric and estimator, from m negatives.

    `wanted` are further numbers of negatives, None for no other than m. Without records,
    `candidates` of the users give windows alone. `vectors_of` gives estimators' vectors, by default
    as in `correct`. The order of a pair may be undecided by full rankings, as `compared`. Returns
    all contents of the page; `views` change with metric, estimator and m.
    """
    if candidates is None:
        candidates = np.concatenate([ranks.n_candidates for ranks in records.values()])
    if vectors_of is None:
        vectors_of = partial(estimator_matrix, sampling=sampling)
    fewest = int(candidates.min())
    sizes = [m]
    if wanted is not None:
        sizes = sizes_up_to(min(fewest - 1, LARGEST), [m, *wanted])
    chart = Chart.up_to(int(candidates.max()), measures)
    names = list(records)
    exact = {}
    for measure in measures:
        means = [values(measure, ranks).mean() for ranks in records.values()]
        exact[str(measure)] = np.array(means)
    undecided = {
        (pair.metric, frozenset({pair.a, pair.b})) for pair in compared if pair.order == UNDECIDED
    }
    views = {}
    shown = {}
    for setting in settings(
        records, candidates, chart.ks, measures, estimators, sizes, vectors_of, sampling
    ):
        metric = str(setting.measure)
        view = {**chart.window(setting.by_rank), "head": headline(setting)}
        if names:
            view.update(_orders(setting, names, exact[metric], undecided))
        views[f"{metric} {setting.estimator} {setting.m}"] = view
        shown[str(setting.estimator)] = setting.estimator.label
    return {
        "views": views,
        "asked": {str(x): {"label": x.label, **chart.cut_off(x)} for x in measures},
        "estimators": shown,
        "truth": {metric: standings(values) for metric, values in exact.items()},
        "exact": {metric: values.round(6).tolist() for metric, values in exact.items()},
        "sizes": sizes,
        "start": {"metric": str(measures[0]), "estimator": str(estimators[0]), "m": m},
        "lines": chart.leads(records) if names else {"lines": []},
        "ticks": chart.ticks(),
        "last": int(chart.ks[-1]),
        "names": names,
        "undecided": [
            pair
            for pair in map(list, combinations(names, 2))
            if (str(measures[0]), frozenset(pair)) in undecided
        ],
        "fewest": fewest,
        "n": f"{round(float(candidates.mean())):,}",
    }


def _orders(
    setting: Setting,
    names: Sequence[str],
    exact: Float,
    undecided: set[tuple[str, frozenset[str]]],
) -> dict[str, Any]:
    """Collect the results of recommenders by one metric and estimator from m negatives."""
    orders = right_order(exact, setting.mean, setting.sd)
    metric = str(setting.measure)
    open_ = {pair for pair in orders if (metric, frozenset(names[i] for i in pair)) in undecided}
    decided = {pair: order for pair, order in orders.items() if pair not in open_}
    noisiest = int(np.argmax(setting.sd))
    return {
        "read": standings(setting.mean),
        "verdict": verdict(decided, len(open_)),
        "pairs": in_words(names, exact, orders, open_),
        "right": [[*pair, None if p is None else round(p, 6)] for pair, (_, p) in orders.items()],
        "noise": [names[noisiest], f"{100 * setting.sd[noisiest]:.2f}"],
    }
