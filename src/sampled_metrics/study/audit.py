"""The audit: every reading of the paper where its text and its numbers disagree, measured.

A reading is one way to understand the text, or to fill in what it leaves open. Expectations over
sampling are computed in closed form; only random orders of ties are simulated.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from sampled_metrics._base.seeds import generator
from sampled_metrics.datasets.settings import TieBreak
from sampled_metrics.datasets.split import leave_last_out
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.metrics.ties import random_rank
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.study.experiment import expected_estimates
from sampled_metrics.study.readings import METRICS, Material, Reading
from sampled_metrics.study.spread import means_over_orders

HALF_UNIT = 0.005
STARTS = 10


def run_audit(material: Material) -> list[Reading]:
    """Measure all readings, in the order of the paper's sections."""
    parts = (_ties_of_the_split, _candidates, _recommender_x, _recommender_y, _recommender_z,
             _ties_of_z, _rank_distribution, _sampling, _catalogue_size, _noise, _cls,
             _rank_estimate)  # fmt: skip
    return [reading for part in parts for reading in part(material)]


def _exact(records: Ranks, ties: str = "expected") -> list[float]:
    return [100.0 * float(values(m, records, ties).mean()) for m in METRICS]


def _exact_readings(
    material: Material, topic: str, reading: str, name: str, records: Ranks
) -> Iterator[Reading]:
    for place, value in enumerate(_exact(records)):
        quantity = f"{name}, {METRICS[place].label}, exact"
        printed = material.printed(name, place)
        # the published number is one order of the ties, ours the expectation over all
        tolerance = 3.0 * _over_ties(material, records, place)[1] + HALF_UNIT
        yield Reading(topic, reading, quantity, value, printed, tolerance)


def _over_ties(material: Material, records: Ranks, place: int) -> tuple[float, float]:
    """Mean and standard deviation of an exact metric, in percent, over random orders of ties."""
    if records.n_tied.mean() < 1:
        return _exact(records)[place], 0.0
    orders = (generator(material.experiment.seed, "audit", i) for i in range(300))
    means = 100.0 * means_over_orders(METRICS[place], records, orders)
    return float(means.mean()), float(means.std(ddof=1))


def _ties_of_the_split(material: Material) -> Iterator[Reading]:
    topic = "1. Section 6, split: which of several events at a user's last timestamp is held out"
    for rule in get_args(TieBreak):
        rng = generator(material.experiment.seed, "audit", "split")
        split = leave_last_out(material.interactions, rule, rng)
        records = material.trained("Y", split)
        yield from _exact_readings(material, topic, f"tie_break: {rule}", "Y", records)


def _candidates(material: Material) -> Iterator[Reading]:
    topic = "2. Section 6.1, candidates: whether training items count in the n of AUC"
    records = material.ranks["Y"]
    everything = replace(records, n_candidates=np.full(len(records), material.split.item_ids.size))
    auc = parse_measure("auc")
    for reading, each in (
        ("n = catalogue minus the user's training items", records),
        ("n = whole catalogue", everything),
    ):
        value = 100.0 * float(values(auc, each).mean())
        printed = material.printed("Y", 3)
        yield Reading(topic, reading, "Y, AUC, exact", value, printed, HALF_UNIT)


def _recommender_x(material: Material) -> Iterator[Reading]:
    topic = "3. Section 9, X: iterations and random start are not given"
    for iterations in (3, 4, 5, 6, 8, 15, 30):
        starts = np.array(
            [
                _exact(material.trained("X", iterations=iterations, seed=seed))
                for seed in range(STARTS)
            ]
        )
        # the published number is one more start, and the mean of ours is uncertain too
        spread = starts.std(axis=0, ddof=1) * np.sqrt(1.0 + 1.0 / STARTS)
        for place, measure in enumerate(METRICS):
            yield Reading(
                topic,
                f"{iterations} iterations, mean of {STARTS} starts",
                f"X, {measure.label}, exact (± {2.0 * spread[place]:.3f} allowed)",
                float(starts.mean(axis=0)[place]),
                material.printed("X", place),
                2.0 * float(spread[place]) + HALF_UNIT,
            )


def _recommender_y(material: Material) -> Iterator[Reading]:
    topic = "4. Eq. 30, Y: divided by the row sum, or the numerator alone"
    for divided in (True, False):
        reading = "divided, as printed" if divided else "numerator alone"
        records = material.trained("Y", normalise_scores=divided)
        yield from _exact_readings(material, topic, reading, "Y", records)
    topic = "5. Eq. 27-29, Y: whether an item is similar to itself"
    for own in (True, False):
        reading = "s_ii = 1 enters the row norm" if own else "s_ii = 0"
        yield from _exact_readings(
            material, topic, reading, "Y", material.trained("Y", self_similarity=own)
        )


def _recommender_z(material: Material) -> Iterator[Reading]:
    topic = "6. Eq. 28, Z: over which axis k' = 10 keeps the nearest, and the item itself"
    for axis in ("row", "column"):
        for own in (True, False):
            records = material.trained("Z", neighbour_axis=axis, self_similarity=own)
            kept = "of each row, as printed" if axis == "row" else "of each column"
            reading = f"nearest {kept}; {'with' if own else 'without'} the item itself"
            yield from _exact_readings(material, topic, reading, "Z", records)


def _ties_of_z(material: Material) -> Iterator[Reading]:
    topic = "7. Ties of Z (its held-out item often scores 0, like thousands of others)"
    records = material.ranks["Z"]
    for place in (2, 3):
        label = METRICS[place].label
        quantity, printed = f"Z, {label}, exact", material.printed("Z", place)
        for ties in ("expected", "optimistic", "pessimistic"):
            value = _exact(records, ties)[place]
            yield Reading(topic, ties, quantity, value, printed, HALF_UNIT)
        mean, spread = _over_ties(material, records, place)
        reading = f"one random order (standard deviation {spread:.3f}, 3 of them allowed)"
        yield Reading(topic, reading, quantity, mean, printed, 3 * spread + HALF_UNIT)
    for ties, words in (("random", "0 ... T"), ("paper", "0 ... T - 1")):
        moments = _expected(material, "Z", "sampled", 3, ties=ties)
        reading = f"sampled: place among T sampled ties drawn from {words}"
        printed = material.printed("Z", 3, "Sampled")
        tolerance = _noise_of(moments[1])
        yield Reading(topic, reading, "Z, AUC, Sampled", moments[0], printed, tolerance)


def _rank_distribution(material: Material) -> Iterator[Reading]:
    topic = "8. Section 6.1, text on Figure 5: numbers of users by rank"
    x, z = material.ranks["X"], material.ranks["Z"]
    top, half = np.sum(x.best_rank <= 100), np.sum(2 * x.best_rank > x.n_candidates)
    yield Reading(topic, "the start of this run", "X, top 100", float(top), "2310", 0.5)
    yield Reading(topic, "the start of this run", "X, bottom half", float(half), "< 300", 0.0)
    last = int(z.n_candidates.max())
    random = random_rank(z, generator(material.experiment.seed, "audit", "ties"))
    for ties, ranks in (("at random", random), ("pessimistic", z.worst_rank)):
        for width in (100, 120, 370):
            users = float(np.sum(ranks > last - width))
            reading = f"ties {ties}, buckets of {width} ranks"
            yield Reading(topic, reading, "Z, worst bucket", users, "> 1600", 0.0)


def _expected(
    material: Material, name: str, estimator: str, place: int, **settings: Any
) -> tuple[float, float]:
    """Expectation and standard deviation of one cell of Table 3, in percent."""
    one = {"estimators": (estimator,), "metrics": (str(METRICS[place]),)}
    moments = expected_estimates(
        material.ranks[name], material.experiment.replaced(**one, **settings)
    )
    return 100.0 * float(moments.mean[0, 0]), 100.0 * float(moments.sd[0, 0])


def _noise_of(deviation: float, repetitions: int = 100) -> float:
    """3 standard errors of a published mean, plus half a unit."""
    return 3.0 * deviation / repetitions**0.5 + HALF_UNIT


def _sampling(material: Material) -> Iterator[Reading]:
    topic = "9. Section 6: whether the m = 100 negatives are drawn with replacement"
    for sampling in (Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT):
        for place in (0, 1, 2):
            printed = material.printed("Y", place, "Sampled")
            mean, deviation = _expected(material, "Y", "sampled", place, sampling=sampling)
            quantity = f"Y, {METRICS[place].label}, Sampled"
            yield Reading(topic, sampling, quantity, mean, printed, _noise_of(deviation))


def _catalogue_size(material: Material) -> Iterator[Reading]:
    topic = "10. Section 5: which n the corrections use"
    records = material.ranks["Y"]
    mean = records.mean_candidates
    quantity, printed = "Y, Recall@10, BV 1", material.printed("Y", 0, "BV 1")
    for reading, n in (
        (f"n = {mean}, the mean number of candidates", mean),
        (f"n = {material.split.item_ids.size}, the catalogue", material.split.item_ids.size),
    ):
        value, deviation = _expected(material, "Y", "bv:1", 0, n_items=n)
        tolerance = _noise_of(deviation)
        yield Reading(topic, reading, quantity, value, printed, tolerance)
    value, deviation = _with_n_of_each_user(material, records)
    yield Reading(topic, "n of each user", quantity, value, printed, _noise_of(deviation))


def _with_n_of_each_user(material: Material, records: Ranks) -> tuple[float, float]:
    """Expectation and deviation, in percent, of BV 1 of Recall@10 with each user's own n."""
    one = material.experiment.replaced(estimators=("bv:1",), metrics=(str(METRICS[0]),))
    mean = variance = 0.0
    for n in np.unique(records.n_candidates):
        own = records.take(records.n_candidates == n)
        moments = expected_estimates(own, one.replaced(n_items=int(n)))
        mean += len(own) * float(moments.mean[0, 0])
        variance += (len(own) * float(moments.sd[0, 0])) ** 2
    return 100.0 * mean / len(records), 100.0 * variance**0.5 / len(records)


def _noise(material: Material) -> Iterator[Reading]:
    topic = "11. Section 5: noise model of the corrections (samples are drawn without replacement)"
    for noise, sampling in (
        ("binomial", Sampling.WITH_REPLACEMENT),
        ("hypergeometric", Sampling.WITHOUT_REPLACEMENT),
    ):
        for estimator in ("bv:1", "bv:0.1"):
            value, deviation = _expected(material, "Y", estimator, 0, assumed_sampling=sampling)
            column = parse_estimator(estimator).label
            quantity, printed = f"Y, Recall@10, {column}", material.printed("Y", 0, column)
            yield Reading(topic, noise, quantity, value, printed, _noise_of(deviation))


def _cls(material: Material) -> Iterator[Reading]:
    topic = "12. Section 5.2: whether constrained least squares is also non-negative"
    for nonnegative in (True, False):
        reading = "non-increasing and at least 0" if nonnegative else "non-increasing"
        value, deviation = _expected(material, "Y", "cls", 0, cls_nonnegative=nonnegative)
        printed = material.printed("Y", 0, "CLS")
        tolerance = _noise_of(deviation)
        yield Reading(topic, reading, "Y, Recall@10, CLS", value, printed, tolerance)


def _rank_estimate(material: Material) -> Iterator[Reading]:
    topic = "13. Eq. 20: divisor and rounding of the rank estimate"
    for divisor in ("m", "m+1"):
        for rounding in ("floor", "linear"):
            reading = f"divided by {divisor}{', as printed' if divisor == 'm' else ''}; {rounding}"
            for place in (0, 2, 3):
                printed = material.printed("Y", place, "Rank Estimate")
                options = {"divisor": divisor, "rounding": rounding}
                value, deviation = _expected(material, "Y", "rank-estimate", place, **options)
                quantity = f"Y, {METRICS[place].label}, Rank Estimate"
                yield Reading(topic, reading, quantity, value, printed, _noise_of(deviation))
