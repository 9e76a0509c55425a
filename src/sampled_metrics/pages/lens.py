"""What sampling measures, as a window over Recall@k: the numbers and lines of both pages.

With w(k) the mean estimate of a user whose item has true rank k, an estimate is the sum over k of
(w(k) - w(k + 1)) Recall@k, by summation by parts. So every metric and every estimator is a window
over one fixed curve, here averaged over the users' numbers of candidates. The scripts of the page
only show what is computed here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.inference.correct import behaves_like
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure
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
WIDTH = 1000  # of the chart
HEIGHT = 400
MIDDLE = 160  # height of no lead
ROOM = 15  # distance to other lines that the name of a line needs
BASE = 350  # height of the axis of windows
UP = 120  # tallest part of a window above the axis
DOWN = 45  # and below
EQUAL = 1e-9  # relative difference of values that are equal up to rounding


def grouped(ranks: Ranks) -> Population:
    """Describe users by the means of those with nearly the same ranks.

    Ranks up to 100 are kept, later ones differ within a group by at most 3 %, and the numbers of
    candidates by 6 %. The error of an expected metric is of second order, below 1e-4.
    """
    keys = np.column_stack(
        [
            _nearly(ranks.best_rank),
            _nearly(ranks.worst_rank),
            ranks.n_tied > 0,
            _near_size(ranks.n_candidates),
        ]
    )
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    n = _means(group.ravel(), ranks.n_candidates, count)
    n_better = _means(group.ravel(), ranks.n_better, count)
    n_better = np.minimum(n_better, n - 1)  # rounded halves may exceed it
    n_tied = _means(group.ravel(), ranks.n_tied, count)
    n_tied = np.minimum(n_tied, n - 1 - n_better)
    return Population(Ranks.trusted(n, n_better, n_tied), count / len(ranks))


def _nearly(rank: Int) -> Float:
    """Number ranks so that those of a group are equal."""
    return np.where(rank <= SINGLE, rank, SINGLE + np.rint(np.log(rank) / NEAR))


def _near_size(n_candidates: Int) -> Float:
    """Number numbers of candidates so that those of a group are equal."""
    return np.rint(np.log(n_candidates) / NEAR_SIZES)


def _means(group: Int, values: Int, count: Int) -> Int:
    """Return the mean of each group, rounded."""
    means = np.bincount(group, values) / count
    return np.rint(means).astype(int)


def sizes_up_to(largest: int, wanted: Iterable[int]) -> list[int]:
    """Numbers of negatives: the wanted ones, and round ones that are not close to them."""
    sizes = {m for m in wanted if 1 <= m <= largest}
    sizes.add(largest)
    exact = np.array(sorted(sizes))
    for m in SIZES:
        is_far = np.abs(np.log(m / exact)).min() > 0.2
        if m < largest and is_far:
            sizes.add(m)
    return sorted(sizes)


class Users(NamedTuple):
    """Users of several recommenders: how well they are ranked, and among how many."""

    populations: Sequence[Population]  # of each recommender
    counts: Int  # users of each recommender, shape (recommenders, 1)
    n: int  # mean number of candidates
    sizes: Int  # numbers of candidates of groups of users
    shares: Float  # of users in these groups

    @classmethod
    def of(cls, records: Mapping[str, Ranks], candidates: Int) -> "Users":
        """Group the users of recommenders, with the candidates of all."""
        _, group, count = np.unique(_near_size(candidates), return_inverse=True, return_counts=True)
        return cls(
            populations=[grouped(ranks) for ranks in records.values()],
            counts=np.array([len(ranks) for ranks in records.values()])[:, np.newaxis],
            n=round(float(candidates.mean())),
            sizes=_means(group, candidates, count),
            shares=count / count.sum(),
        )

    def moments(self, vectors: Float, sampling: Sampling | str) -> tuple[Float, Float]:
        """Return the mean of estimates and the sd of one run, shape (recommenders, estimates)."""
        shape = len(self.populations), len(vectors)
        mean = np.zeros(shape)
        variance = np.zeros(shape)
        for row, population in enumerate(self.populations):
            moments = population.moments(vectors, sampling)
            mean[row] = moments.mean
            variance[row] = moments.within
        return mean, np.sqrt(variance / self.counts)

    def by_rank(self, vectors: Float, ks: Int, sampling: Sampling | str) -> Float:
        """Return the mean estimate of a user at each rank, shape (ranks, estimates)."""
        size, rank = np.nonzero(ks <= self.sizes[:, np.newaxis])
        m = vectors.shape[1] - 1
        given = pmf_at(ks[rank], self.sizes[size], m, sampling) @ vectors.T
        means = np.zeros((ks.size, len(vectors)))
        np.add.at(means, rank, given * self.shares[size, np.newaxis])
        return means


def settings(
    records: Mapping[str, Ranks],
    candidates: Int,
    ks: Int,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    sizes: Iterable[int],
    vectors_of: Callable[..., Float],
    sampling: Sampling | str,
) -> list[Setting]:
    """Compute what metrics by estimators give on average, with ties broken at random.

    Estimates at each rank of `ks` are averaged over the `candidates` of users. Estimators with a
    parameter are left out beyond 500 negatives.
    """
    users = Users.of(records, candidates)
    found = []
    for m in sizes:
        kept = [e for e in estimators if m <= MOST_CORRECTED or e.parameter is None]
        vectors = vectors_of(kept, measures, users.n, m).reshape(-1, m + 1)
        mean, sd = users.moments(vectors, sampling)
        by_rank = users.by_rank(vectors, ks, sampling)
        falls = np.ptp(by_rank[ks <= users.sizes.min()], axis=0) > EQUAL
        place = 0
        for measure in measures:
            for estimator in kept:
                half = None
                if falls[place] and not measure.metric.needs_candidates:
                    half = behaves_like(vectors[place], users.n, sampling)
                found.append(
                    Setting(
                        measure=measure,
                        estimator=estimator,
                        m=m,
                        n=users.n,
                        mean=mean[:, place],
                        sd=sd[:, place],
                        by_rank=by_rank[:, place],
                        half=half,
                    )
                )
                place += 1
    return found


def right_order(exact: Float, mean: Float, sd: Float) -> Orders:
    """Compare the order of each pair with the exact one.

    Returns, by pair that does not tie among all items, 1 if the means are in the right order, -1 if
    not, 0 for a tie; and the probability that one run is right, None if all runs tie.
    """
    found: dict[tuple[int, int], tuple[int, float | None]] = {}
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
        window = self.window(measure.at(self.ks, int(self.ks[-1])))
        if measure.cutoff and window["up"].count("V") < 4:
            place = np.searchsorted(self.ks, min(measure.cutoff, self.ks[-1]))
            window["up"] = ""
            window["at"] = self.percent_of(int(place))
        return window

    def _steps(self, heights: Float) -> str:
        """Draw the outline of bars from the axis."""
        rounded = np.rint(heights).astype(int)
        changes = np.flatnonzero(np.diff(rounded, prepend=0))
        if not changes.size:
            return ""
        lines = [f"H{self.xs[i]:.0f}V{BASE - rounded[i]}" for i in changes]
        return f"M0 {BASE}{''.join(lines)}H{WIDTH}V{BASE}Z"

    def leads(self, records: Mapping[str, Ranks]) -> dict[str, Any]:
        """Draw Recall@k of each recommender less the mean of all, by that; of one only Recall@k.

        Returns `lines`, each with the place of its name, where it is furthest from the others, and
        the `most` that a lead is, in percent.
        """
        recall = self._recall(records)
        if len(recall) > 1:
            recall = recall / np.maximum(recall.mean(axis=0), 1e-12) - 1.0
        most = float(np.abs(recall).max()) or 1.0
        ys = MIDDLE - (MIDDLE - 20) * recall / most
        between = np.abs(ys[:, np.newaxis] - ys)
        between[np.diag_indices(len(ys))] = np.inf
        nearest = between.min(axis=1)
        lines = [self._line(name, ys[i], nearest[i]) for i, name in enumerate(records)]
        return {"lines": lines, "most": round(100 * most)}

    def _recall(self, records: Mapping[str, Ranks]) -> Float:
        """Return Recall@k of each recommender with ties broken at random, in a row."""
        recall = np.empty((len(records), self.ks.size))
        for row, ranks in enumerate(records.values()):
            for column, k in enumerate(self.ks):
                share = (k - ranks.n_better) / (ranks.n_tied + 1)
                recall[row, column] = np.clip(share, 0, 1).mean()
        return recall

    def _line(self, name: str, ys: Float, nearest: Float) -> dict[str, Any]:
        """Draw one line, with its name where no other is near."""
        place = int(np.argmax(np.where(self.xs < 0.95 * WIDTH, nearest, 0.0)))
        points = [f"{x:.0f} {y:.0f}" for x, y in zip(self.xs, ys, strict=True)]
        has_room = nearest[place] > ROOM
        return {
            "d": f"M{'L'.join(points)}",
            "name": name if has_room else "",
            "above": bool(ys[place] <= MIDDLE),
            "x": self.percent_of(place),
            "y": round(100 * ys[place] / HEIGHT),
        }

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
    undecided: Iterable[tuple[str, str, str]] = (),
) -> dict[str, Any]:
    """Compute the lens, which begins with the first metric and estimator, from m negatives.

    `wanted` are further numbers of negatives, None for no other than m. Without records,
    `candidates` of the users give windows alone. `vectors_of` are by default those of `correct`.
    `undecided` are metrics with the names of two recommenders whose order full rankings leave open.
    Returns all that the page shows: as `views` what changes with metric, estimator and m.
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
        means = [metrics.values(measure, ranks).mean() for ranks in records.values()]
        exact[measure] = np.array(means)
    by_metric: dict[str, set[tuple[int, int]]] = {str(measure): set() for measure in measures}
    for metric, *pair in undecided:
        first, second = sorted(names.index(name) for name in pair)
        by_metric[metric].add((first, second))
    views = {}
    shown = set()
    for setting in settings(
        records, candidates, chart.ks, measures, estimators, sizes, vectors_of, sampling
    ):
        key = f"{setting.measure} {setting.estimator} {setting.m}"
        of_metric = by_metric[str(setting.measure)]
        views[key] = _view(chart, setting, names, exact[setting.measure], of_metric)
        shown.add(setting.estimator)
    asked = {}
    for measure in measures:
        asked[str(measure)] = {"label": measure.label, **chart.cut_off(measure)}
    return {
        "views": views,
        "asked": asked,
        "estimators": {str(e): e.label for e in estimators if e in shown},
        "truth": {str(measure): standings(values) for measure, values in exact.items()},
        "exact": {str(measure): values.round(6).tolist() for measure, values in exact.items()},
        "sizes": sizes,
        "start": {"metric": str(measures[0]), "estimator": str(estimators[0]), "m": m},
        "lines": chart.leads(records) if names else {"lines": []},
        "ticks": chart.ticks(),
        "last": int(chart.ks[-1]),
        "names": names,
        "fewest": fewest,
        "n": f"{round(float(candidates.mean())):,}",
    }


def _view(
    chart: Chart,
    setting: Setting,
    names: Sequence[str],
    exact: Float,
    undecided: set[tuple[int, int]],
) -> dict[str, Any]:
    """Collect what the page shows of one metric by one estimator from m negatives."""
    view = {**chart.window(setting.by_rank), "head": headline(setting)}
    if not names:
        return view
    orders = right_order(exact, setting.mean, setting.sd)
    noisiest = int(np.argmax(setting.sd))
    view["read"] = standings(setting.mean)
    decided = {pair: order for pair, order in orders.items() if pair not in undecided}
    view["verdict"] = verdict(decided, len(orders) - len(decided))
    view["pairs"] = in_words(names, exact, orders, undecided)
    view["right"] = [[*pair, chance] for pair, (_, chance) in orders.items()]
    view["noise"] = [names[noisiest], f"{100 * setting.sd[noisiest]:.2f}"]
    return view
