"""The audit: every reading of the paper where its text and its numbers disagree, measured.

A reading is one way to understand the text, or to fill in what it leaves open. Expectations over
sampling are computed in closed form; only random orders of ties are simulated.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import numpy as np

from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.datasets.holding_out import leave_last_out
from sampled_metrics.datasets.settings import TieBreak
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import Measure, values
from sampled_metrics.metrics.levels import random_rank
from sampled_metrics.ranks import Ranks, Sampling, rank
from sampled_metrics.study.experiment import expected_estimates
from sampled_metrics.study.readings import METRICS, Material, Reading
from sampled_metrics.study.sharing import sharing
from sampled_metrics.study.starts import HALF, TOP, means_over_orders, users_by_rank

HALF_UNIT = 0.005
STARTS = 8
ITERATIONS = (2, 3, 4, 6, 8, 15)
SCALES = (0.001, 0.01, 0.1, 1.0)
_RECALL, _NDCG, _AP, _AUC = METRICS
# Of a `Reading`: quantity, value, published number and tolerance.
_Quantities: TypeAlias = Iterable[tuple[str, float, str, float]]
_Readings: TypeAlias = Iterator[tuple[str, _Quantities]]


@one_thread()
def run_audit(material: Material) -> list[Reading]:
    """Measure all readings, in the order of the paper's sections."""
    return [
        Reading(topic, reading, *quantity)
        for topic, measure_readings in _TOPICS.items()
        for reading, quantities in measure_readings(material)
        for quantity in quantities
    ]


def _percent(measure: Measure, ranks: Ranks, ties: str = "expected") -> float:
    return 100.0 * float(values(measure, ranks, ties).mean())


def _exact(material: Material, name: str, ranks: Ranks) -> _Quantities:
    """Exact metrics; the published number is one order of the ties, ours the mean over all."""
    for measure in METRICS:
        tolerance = 3.0 * _over_ties(material, ranks, measure)[1] + HALF_UNIT
        value, published = _percent(measure, ranks), material.printed(name, measure)
        yield f"{name}, {measure.label}, exact", value, published, tolerance


def _over_ties(material: Material, ranks: Ranks, measure: Measure) -> tuple[float, float]:
    """Mean and standard deviation of an exact metric, in percent, over random orders of ties."""
    if ranks.n_tied.mean() < 1:
        return _percent(measure, ranks), 0.0
    orders = (generator(material.experiment.seed, "audit", i) for i in range(300))
    means = 100.0 * means_over_orders(measure, ranks, orders)
    return float(means.mean()), float(means.std(ddof=1))


def _estimates(
    material: Material, name: str, estimator: str, *measures: Measure, **settings: Any
) -> _Quantities:
    """Expected cells of Table 3 with other settings of the experiment."""
    column = parse_estimator(estimator).label
    changed = material.experiment.replaced(
        estimators=(estimator,), metrics=tuple(map(str, measures)), **settings
    )
    moments = expected_estimates(material.ranks[name], changed)
    for measure, mean, sd in zip(measures, moments.mean[:, 0], moments.sd[:, 0], strict=True):
        published = material.printed(name, measure, column)
        quantity = f"{name}, {measure.label}, {column}"
        yield quantity, 100.0 * float(mean), published, _noise_of(100.0 * float(sd))


def _noise_of(deviation: float, repetitions: int = 100) -> float:
    """3 standard errors of a published mean, plus half a unit."""
    return 3.0 * deviation / repetitions**0.5 + HALF_UNIT


def _ties_of_the_split(material: Material) -> _Readings:
    for rule in get_args(TieBreak):
        rng = generator(material.experiment.seed, "audit", "split")
        split = leave_last_out(material.interactions, rule, rng)
        yield f"tie_break: {rule}", _exact(material, "Y", material.trained("Y", split))


def _candidates(material: Material) -> _Readings:
    own = material.ranks["Y"]
    everything = replace(own, n_candidates=np.full(len(own), material.split.item_ids.size))
    for reading, ranks in (
        ("n = catalogue minus the user's training items", own),
        ("n = whole catalogue", everything),
    ):
        value, published = _percent(_AUC, ranks), material.printed("Y", _AUC)
        yield reading, [("Y, AUC, exact", value, published, HALF_UNIT)]


def _recommender_x(material: Material) -> _Readings:
    """Ranks by iterations, scale of the random start and start, from one training per start."""
    ranks: dict[tuple[float, int], list[Ranks]] = {}
    for scale in SCALES:
        for seed in range(STARTS):
            model = material.untrained("X", start=scale, seed=seed)
            for iterations in model.stages(material.split.train, ITERATIONS, material.threads):
                of_stage = rank(model.scorer, material.split.train, material.split.held_out)
                ranks.setdefault((scale, iterations), []).append(of_stage)
    for (scale, iterations), starts in ranks.items():
        reading = f"{iterations} iterations from U[0, {scale:g}), mean of {STARTS} starts"
        yield reading, _over_starts(material, starts)


def _over_starts(material: Material, starts: list[Ranks]) -> _Quantities:
    for measure in METRICS:
        exact = np.array([_percent(measure, ranks) for ranks in starts])
        # the published number is one more start, and the mean of ours is uncertain too
        allowed = 2.0 * float(exact.std(ddof=1) * np.sqrt(1.0 + 1.0 / len(starts)))
        quantity = f"X, {measure.label}, exact"
        published = material.printed("X", measure)
        yield quantity, float(exact.mean()), published, allowed + HALF_UNIT


def _division_of_y(material: Material) -> _Readings:
    for divided, reading in ((True, "divided, as printed"), (False, "numerator alone")):
        yield reading, _exact(material, "Y", material.trained("Y", normalise_scores=divided))


def _similarity_of_y(material: Material) -> _Readings:
    for own, reading in ((True, "s_ii = 1 enters the row norm"), (False, "s_ii = 0")):
        yield reading, _exact(material, "Y", material.trained("Y", self_similarity=own))


def _neighbours_of_z(material: Material) -> _Readings:
    for axis, kept in (("row", "of each row, as printed"), ("column", "of each column")):
        for own, item in ((True, "with the item itself"), (False, "without the item itself")):
            ranks = material.trained("Z", neighbour_axis=axis, self_similarity=own)
            yield f"nearest {kept}; {item}", _exact(material, "Z", ranks)


def _ties_of_z(material: Material) -> _Readings:
    ranks = material.ranks["Z"]
    for measure in (_AP, _AUC):
        quantity, published = f"Z, {measure.label}, exact", material.printed("Z", measure)
        for ties in ("expected", "optimistic", "pessimistic"):
            yield ties, [(quantity, _percent(measure, ranks, ties), published, HALF_UNIT)]
        mean, spread = _over_ties(material, ranks, measure)
        reading = f"one random order (standard deviation {spread:.3f}, 3 of them allowed)"
        yield reading, [(quantity, mean, published, 3 * spread + HALF_UNIT)]
    for ties, words in (("random", "0 ... T"), ("paper", "0 ... T - 1")):
        reading = f"sampled: place among T sampled ties drawn from {words}"
        yield reading, _estimates(material, "Z", "sampled", _AUC, ties=ties)


def _rank_distribution(material: Material) -> _Readings:
    x, z = material.ranks["X"], material.ranks["Z"]
    published = {TOP: ("2310", 0.5), HALF: ("< 300", 0.0)}
    users = users_by_rank(x)
    counts = [(f"X, {which}", float(users[which]), *published[which]) for which in published]
    yield "the start of this run", counts
    last = int(z.n_candidates.max())
    random = random_rank(z, generator(material.experiment.seed, "audit", "ties"))
    for ties, ranks in (("at random", random), ("pessimistic", z.worst_rank)):
        for width in (100, 120, 370):
            worst = float(np.sum(ranks > last - width))
            reading = f"ties {ties}, buckets of {width} ranks"
            yield reading, [("Z, worst bucket", worst, "> 1600", 0.0)]


def _sampling(material: Material) -> _Readings:
    for sampling in (Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT):
        measures = (_RECALL, _NDCG, _AP)
        yield sampling, _estimates(material, "Y", "sampled", *measures, sampling=sampling)


def _catalogue_size(material: Material) -> _Readings:
    mean, catalogue = material.ranks["Y"].mean_candidates, material.split.item_ids.size
    for n, which in ((mean, "the mean number of candidates"), (catalogue, "the catalogue")):
        yield f"n = {n}, {which}", _estimates(material, "Y", "bv:1", _RECALL, n_items=n)
    value, deviation = _with_n_of_each_user(material, material.ranks["Y"])
    published = material.printed("Y", _RECALL, "BV 1")
    yield "n of each user", [("Y, Recall@10, BV 1", value, published, _noise_of(deviation))]


def _with_n_of_each_user(material: Material, ranks: Ranks) -> tuple[float, float]:
    """Expectation and deviation, in percent, of BV 1 of Recall@10 with each user's own n."""
    settings = material.experiment.replaced(estimators=("bv:1",), metrics=(str(_RECALL),))
    mean = variance = 0.0
    for n in np.unique(ranks.n_candidates):
        own = ranks.take(ranks.n_candidates == n)
        moments = expected_estimates(own, settings.replaced(n_items=int(n)))
        mean += len(own) * float(moments.mean[0, 0])
        variance += (len(own) * float(moments.sd[0, 0])) ** 2
    return 100.0 * mean / len(ranks), 100.0 * variance**0.5 / len(ranks)


def _noise(material: Material) -> _Readings:
    ways = {"binomial": Sampling.WITH_REPLACEMENT, "hypergeometric": Sampling.WITHOUT_REPLACEMENT}
    for noise, sampling in ways.items():
        for estimator in ("bv:1", "bv:0.1"):
            yield noise, _estimates(material, "Y", estimator, _RECALL, assumed_sampling=sampling)


def _cls(material: Material) -> _Readings:
    for nonnegative, more in ((True, " and at least 0"), (False, "")):
        reading = f"non-increasing{more}"
        yield reading, _estimates(material, "Y", "cls", _RECALL, cls_nonnegative=nonnegative)


def _rank_estimate(material: Material) -> _Readings:
    measures = (_RECALL, _AP, _AUC)
    for divisor, words in (("m", "m, as printed"), ("m+1", "m+1")):
        for rounding in ("floor", "linear"):
            options = {"divisor": divisor, "rounding": rounding}
            quantities = _estimates(material, "Y", "rank-estimate", *measures, **options)
            yield f"divided by {words}; {rounding}", quantities


def _sharing(material: Material) -> _Readings:
    ranks = {name: material.ranks[name] for name in "XYZ"}
    return sharing(ranks, material.experiment, material.cell)


_TOPICS: dict[str, Callable[[Material], _Readings]] = {
    "1. Section 6, split: which of several events at a user's last timestamp is held out": (
        _ties_of_the_split
    ),
    "2. Section 6.1, candidates: whether training items count in the n of AUC": _candidates,
    "3. Section 9, X: iterations and random start are not given": _recommender_x,
    "4. Eq. 30, Y: divided by the row sum, or the numerator alone": _division_of_y,
    "5. Eq. 27-29, Y: whether an item is similar to itself": _similarity_of_y,
    "6. Eq. 28, Z: over which axis k' = 10 keeps the nearest, and the item itself": (
        _neighbours_of_z
    ),
    "7. Ties of Z (its held-out item often scores 0, like thousands of others)": _ties_of_z,
    "8. Section 6.1, text on Figure 5: numbers of users by rank": _rank_distribution,
    "9. Section 6: whether the m = 100 negatives are drawn with replacement": _sampling,
    "10. Section 5: which n the corrections use": _catalogue_size,
    "11. Section 5: noise model of the corrections (samples are drawn without replacement)": _noise,
    "12. Section 5.2: whether constrained least squares is also non-negative": _cls,
    "13. Eq. 20: divisor and rounding of the rank estimate": _rank_estimate,
    "14. Tables 3 and 4: whether the estimators saw the same samples": _sharing,
}
