"""What sampling measures, as a window over Recall@k: the numbers and lines of both pages.

With w(k) the mean estimate of a user whose item has true rank k, an estimate is the sum over k of
(w(k) - w(k + 1)) Recall@k, by summation by parts. So every metric and every estimator is a window
over one fixed curve, here averaged over the users' numbers of candidates. The scripts of the page
only show what is computed here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations, product
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
MOST_CORRECTED, LARGEST = 500, 2000  # negatives; beyond 500, least squares take seconds
SINGLE, NEAR, NEAR_SIZES = 100, 0.03, 0.06  # see `grouped`
WIDTH, HEIGHT, MIDDLE, ROOM = 1000, 400, 160, 15  # of the chart, of no lead, for a line's name
BASE, UP, DOWN = 350, 90, 45  # of windows: the axis, and the tallest parts above and below
EQUAL = 1e-9  # relative difference of values that are equal up to rounding


def grouped(ranks: Ranks) -> Population:
    """Describe users by the means of those with nearly the same ranks.

    Ranks up to 100 are kept, later ones differ within a group by at most 3 %, and the numbers of
    candidates by 6 %. The error of an expected metric is of second order, below 1e-4.
    """
    n, best, tied = ranks.n_candidates, ranks.best_rank, ranks.n_tied
    places = (
        np.where(rank <= SINGLE, rank, SINGLE + np.rint(np.log(rank) / NEAR))
        for rank in (best, ranks.worst_rank)
    )
    keys = np.column_stack([*places, tied > 0, np.rint(np.log(n) / NEAR_SIZES)])
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    sums = (np.bincount(group.ravel(), values) for values in (n, best - 1, tied))
    n, above, tied = (np.rint(total / count).astype(int) for total in sums)
    return Population(Ranks.trusted(n, above, np.minimum(tied, n - 1 - above)), count / len(ranks))


def sizes_up_to(largest: int, wanted: Iterable[int]) -> list[int]:
    """Numbers of negatives: the wanted ones, and round ones that are not close to them."""
    exactly = [*(m for m in wanted if 1 <= m <= largest), largest]
    far = (m for m in SIZES if m < largest and np.abs(np.log(m / np.array(exactly))).min() > 0.2)
    return sorted({*exactly, *far})


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
    populations = [grouped(ranks) for ranks in records.values()]
    users = np.array([len(ranks) for ranks in records.values()])[:, None]
    groups = np.rint(np.log(candidates) / NEAR_SIZES)
    _, group, count = np.unique(groups, return_inverse=True, return_counts=True)
    nodes = np.rint(np.bincount(group, candidates) / count).astype(int)
    node, at = np.nonzero(ks <= nodes[:, None])
    n, found = round(float(candidates.mean())), []
    for m in sizes:
        kept = [e for e in estimators if m <= MOST_CORRECTED or e.parameter is None]
        vectors = vectors_of(kept, measures, n, m).reshape(-1, m + 1)
        moments = [population.moments(vectors, sampling) for population in populations]
        shape = len(records), len(vectors)
        mean = np.reshape([moment.mean for moment in moments], shape)
        sd = np.sqrt(np.reshape([moment.within for moment in moments], shape) / users)
        given = pmf_at(ks[at], nodes[node], m, sampling) @ vectors.T
        by_rank = np.zeros((ks.size, len(vectors)))
        np.add.at(by_rank, at, given * (count / count.sum())[node, None])
        falls = np.ptp(by_rank[ks <= nodes.min()], axis=0) > EQUAL
        for i, (measure, estimator) in enumerate(product(measures, kept)):
            halves = falls[i] and not measure.metric.needs_candidates
            half = behaves_like(vectors[i], n, sampling) if halves else None
            of_all = (mean[:, i], sd[:, i], by_rank[:, i], half)
            found.append(Setting(measure, estimator, m, n, *of_all))
    return found


def right_order(exact: Float, mean: Float, sd: Float) -> Orders:
    """Compare the order of each pair with the exact one.

    Returns, by pair that does not tie among all items, 1 if the means are in the right order, -1 if
    not, 0 for a tie; and the probability that one run is right, None if all runs tie.
    """
    found: dict[tuple[int, int], tuple[int, float | None]] = {}
    for a, b in combinations(range(exact.size), 2):
        true, seen = (
            0.0 if np.isclose(values[a], values[b], EQUAL, 1e-20) else values[b] - values[a]
            for values in (exact, mean)
        )
        sign, spread = int(np.sign(true * seen)), float(np.hypot(sd[a], sd[b]))
        if true and spread > EQUAL:
            found[a, b] = sign, float(ndtr(sign * abs(seen) / spread))
        elif true:
            found[a, b] = sign, (sign + 1) / 2 if sign else None
    return found


class Chart(NamedTuple):
    """The chart's axis of k: ranks, and their places on a logarithmic axis."""

    ks: Int
    xs: Float

    @classmethod
    def up_to(cls, most: int, measures: Sequence[Measure]) -> "Chart":
        """Choose ranks 1 ... most, the cut-offs of metrics among them."""
        cutoffs = [measure.cutoff for measure in measures if (measure.cutoff or most) < most]
        ks = np.unique(np.r_[np.geomspace(1, most, 120).round(), cutoffs, most].astype(int))
        return cls(ks, WIDTH * np.log(ks) / np.log(most))

    def window(self, by_rank: Float) -> dict[str, Any]:
        """Draw the steps of a credit as areas over the axis: `up`, `down`, and the peak's `at`."""
        widths = np.diff(self.xs, append=2 * self.xs[-1] - self.xs[-2])
        density = -np.diff(by_rank, append=0.0) / widths
        density /= max(density.max() / UP, -density.min() / DOWN, 1e-12)
        up, down = (self._steps(part) for part in (density.clip(0), density.clip(None, 0)))
        return {"up": up, "down": down, "at": round(float(self.xs[np.argmax(density)]) / 10, 1)}

    def _steps(self, heights: Float) -> str:
        rounded = np.rint(heights).astype(int)
        changes = np.flatnonzero(np.diff(rounded, prepend=0))
        lines = "".join(f"H{self.xs[i]:.0f}V{BASE - rounded[i]}" for i in changes)
        return f"M0 {BASE}{lines}H{WIDTH}V{BASE}Z" if lines else ""

    def leads(self, records: Mapping[str, Ranks]) -> dict[str, Any]:
        """Draw Recall@k of each recommender less the mean of all, by that; of one only Recall@k.

        Returns `lines`, each with the place of its name, where it is furthest from the others, and
        the `most` that a lead is, in percent.
        """
        recall = np.empty((len(records), self.ks.size))
        for row, ranks in zip(recall, records.values(), strict=True):
            above, tied = ranks.n_better, ranks.n_tied
            row[:] = [np.clip((k - above) / (tied + 1), 0, 1).mean() for k in self.ks]
        if len(recall) > 1:
            recall = recall / np.maximum(recall.mean(axis=0), 1e-12) - 1.0
        most = float(np.abs(recall).max()) or 1.0
        ys = MIDDLE - (MIDDLE - 20) * recall / most
        between = np.abs(ys[:, None] - ys)
        between[np.diag_indices(len(ys))] = np.inf
        lines = []
        for name, y, alone in zip(records, ys, between.min(axis=1), strict=True):
            i = int(np.argmax(np.where(self.xs < 0.95 * WIDTH, alone, 0.0)))
            d = "L".join(f"{a:.0f} {b:.0f}" for a, b in zip(self.xs, y, strict=True))
            label = {"name": name if alone[i] > ROOM else "", "above": bool(y[i] <= MIDDLE)}
            place = {"x": round(float(self.xs[i]) / 10, 1), "y": round(100 * y[i] / HEIGHT)}
            lines.append({"d": f"M{d}", **label, **place})
        return {"lines": lines, "most": round(100 * most)}


def lens(
    records: Mapping[str, Ranks],
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    m: int,
    wanted: Iterable[int] | None = (),
    candidates: Int | None = None,
    vectors_of: Callable[..., Float] | None = None,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
) -> dict[str, Any]:
    """Compute the lens, which begins with the first metric and estimator, from m negatives.

    `wanted` are further numbers of negatives, None for no other than m. Without records,
    `candidates` of the users give windows alone. `vectors_of` are by default those of `correct`.
    Returns all that the page shows: as `views` what changes with metric, estimator and m.
    """
    if candidates is None:
        candidates = np.concatenate([ranks.n_candidates for ranks in records.values()])
    chart, names = Chart.up_to(int(candidates.max()), measures), list(records)
    fewest = int(candidates.min())
    sizes = [m] if wanted is None else sizes_up_to(min(fewest - 1, LARGEST), [m, *wanted])
    vectors_of = vectors_of or partial(estimator_matrix, sampling=sampling)
    exact = {
        measure: np.array([metrics.values(measure, ranks).mean() for ranks in records.values()])
        for measure in measures
    }
    views = {}
    of_all = (measures, estimators, sizes, vectors_of, sampling)
    for setting in settings(records, candidates, chart.ks, *of_all):
        view = chart.window(setting.by_rank) | {"head": headline(setting)}
        if names:
            truth = exact[setting.measure]
            orders = right_order(truth, setting.mean, setting.sd)
            i = int(np.argmax(setting.sd))
            view |= {
                "read": standings(setting.mean),
                "verdict": verdict(orders),
                "pairs": in_words(names, truth, orders),
                "right": [[*pair, chance] for pair, (_, chance) in orders.items()],
                "noise": [names[i], f"{100 * setting.sd[i]:.2f}"],
            }
        views[f"{setting.measure} {setting.estimator} {setting.m}"] = view
    asked = {}
    for measure in measures:
        window = chart.window(measure.at(chart.ks, int(chart.ks[-1])))
        if measure.cutoff and window["up"].count("V") < 4:  # all of the credit ends at once
            place = np.searchsorted(chart.ks, min(measure.cutoff, chart.ks[-1]))
            window |= {"up": "", "at": round(float(chart.xs[place]) / 10, 1)}
        asked[str(measure)] = {"label": measure.label, **window}
    ticks = [10**power for power in range(len(str(chart.ks[-1])))]
    return {
        "views": views,
        "asked": asked,
        "estimators": {
            str(e): e.label for e in estimators if any(f" {e} " in key for key in views)
        },
        "truth": {str(measure): standings(values) for measure, values in exact.items()},
        "exact": {str(measure): values.round(6).tolist() for measure, values in exact.items()},
        "sizes": sizes,
        "start": {"metric": str(measures[0]), "estimator": str(estimators[0]), "m": m},
        "lines": chart.leads(records) if names else {"lines": []},
        "ticks": [(f"{k:,}", round(100 * np.log(k) / np.log(chart.ks[-1]), 1)) for k in ticks],
        "names": names,
        "fewest": fewest,
        "n": f"{round(float(candidates.mean())):,}",
    }
