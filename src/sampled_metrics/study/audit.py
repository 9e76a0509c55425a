"""Every place where the paper's text and its numbers part, each reading measured.

A reading is one way to understand the text (or what it leaves open); its value stands beside the
published one. Expectations over sampling are closed forms, so nothing here is simulated but the
random orders of ties.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.movielens import parse_ratings, read_archive
from sampled_metrics.datasets.split import TIE_BREAKS, Split, leave_last_out, load_split
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.measures import parse_measure
from sampled_metrics.moments import expected_moments
from sampled_metrics.ranking import rank_held_out
from sampled_metrics.ranks import RankRecords, read_ranks
from sampled_metrics.recommenders import create
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics.seeds import generator
from sampled_metrics.study.experiment import ExperimentSettings
from sampled_metrics.study.labels import measure_label
from sampled_metrics.ties import exact_values, random_rank

METRICS = tuple(parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc"))
PRINTED = {
    "X": (7.60, 3.76, 3.75, 89.13),
    "Y": (8.84, 4.59, 4.32, 85.33),
    "Z": (9.42, 4.79, 4.44, 74.73),
}
HALF_UNIT = 0.005


class Reading(NamedTuple):
    """One reading, one quantity.

    Attributes
    ----------
    topic
        Which place in the paper.
    reading
        How it is understood.
    quantity
        What is compared, in percent unless it says otherwise.
    value, published
        Ours under this reading, and the paper's.
    tolerance
        Largest difference that counts as reproducing the published number.
    """

    topic: str
    reading: str
    quantity: str
    value: float
    published: float
    tolerance: float

    @property
    def reproduces(self) -> bool:
        """Whether the published number follows from this reading."""
        return abs(self.value - self.published) <= self.tolerance


@dataclass
class Material:
    """What the readings are measured on: data, recommenders X, Y and Z, and their ranks."""

    interactions: Interactions
    split: Split
    ranks: Mapping[str, RankRecords]
    settings: Mapping[str, dict[str, Any]]
    experiment: ExperimentSettings
    threads: int = 1
    kinds: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(
        cls,
        archive: Path,
        split: Path,
        ranks: Sequence[Path],
        recommenders: Sequence[Mapping[str, Any]],
        experiment: ExperimentSettings,
        threads: int,
    ) -> "Material":
        """Read archive, split and ranks; `recommenders` as in the config."""
        return cls(
            parse_ratings(read_archive(archive)),
            load_split(split),
            {path.stem: read_ranks(path)[0] for path in ranks},
            {each["name"]: each["settings"] for each in recommenders},
            experiment,
            threads,
            {each["name"]: each["kind"] for each in recommenders},
        )

    def trained(self, name: str, split: Split | None = None, **settings: Any) -> RankRecords:
        """Ranks of a recommender trained anew with other settings."""
        data = self.split if split is None else split
        model = create(self.kinds[name], {**self.settings[name], **settings})
        return rank_held_out(model.fit(data.train, self.threads), data)


def run_audit(material: Material) -> list[Reading]:
    """Measure all readings, in the order of the paper's sections."""
    parts = (_ties_of_the_split, _candidates, _recommender_x, _recommender_y, _recommender_z,
             _ties_of_z, _rank_distribution, _sampling, _catalogue_size, _noise, _cls,
             _rank_estimate)  # fmt: skip
    return [reading for part in parts for reading in part(material)]


def _exact(records: RankRecords, ties: str = "expected") -> list[float]:
    return [100.0 * float(exact_values(m, records, ties).mean()) for m in METRICS]


def _exact_readings(
    topic: str, reading: str, name: str, records: RankRecords, tolerance: float = HALF_UNIT
) -> Iterator[Reading]:
    for measure, value, printed in zip(METRICS, _exact(records), PRINTED[name], strict=True):
        quantity = f"{name}, {measure_label(measure)}, exact"
        yield Reading(topic, reading, quantity, value, printed, tolerance)


def _ties_of_the_split(material: Material) -> Iterator[Reading]:
    topic = "1. Section 6, split: which of several events at a user's last timestamp is held out"
    for rule in TIE_BREAKS:
        rng = generator(material.experiment.seed, "audit", "split")
        split = leave_last_out(material.interactions, rule, rng)
        records = material.trained("Y", split)
        yield from _exact_readings(topic, f"tie_break: {rule}", "Y", records)


def _candidates(material: Material) -> Iterator[Reading]:
    topic = "2. Section 6.1, candidates: whether training items count in the n of AUC"
    records = material.ranks["Y"]
    everything = replace(records, n_candidates=np.full(len(records), material.split.item_ids.size))
    auc = parse_measure("auc")
    for reading, each in (
        ("n = catalogue minus the user's training items", records),
        ("n = whole catalogue", everything),
    ):
        value = 100.0 * float(exact_values(auc, each).mean())
        yield Reading(topic, reading, "Y, AUC, exact", value, PRINTED["Y"][3], HALF_UNIT)


def _recommender_x(material: Material) -> Iterator[Reading]:
    topic = "3. Section 9, X: iterations and random start are not given"
    for iterations in (3, 4, 5, 6, 8, 15, 30):
        starts = [
            _exact(material.trained("X", iterations=iterations, seed=seed)) for seed in range(5)
        ]
        deviations = np.std(starts, axis=0, ddof=1)
        for place, measure in enumerate(METRICS):
            deviation = float(deviations[place])
            yield Reading(
                topic,
                f"{iterations} iterations, mean of 5 starts (2 standard deviations allowed)",
                f"X, {measure_label(measure)}, exact (standard deviation {deviation:.3f})",
                float(np.mean(starts, axis=0)[place]),
                PRINTED["X"][place],
                2.0 * deviation + HALF_UNIT,
            )


def _recommender_y(material: Material) -> Iterator[Reading]:
    topic = "4. Eq. 30, Y: divided by the row sum, or the numerator alone"
    for divided in (True, False):
        reading = "divided, as printed" if divided else "numerator alone"
        records = material.trained("Y", normalise_scores=divided)
        yield from _exact_readings(topic, reading, "Y", records)
    topic = "5. Eq. 27-29, Y: whether an item is similar to itself"
    for own in (True, False):
        reading = "s_ii = 1 enters the row norm" if own else "s_ii = 0"
        yield from _exact_readings(topic, reading, "Y", material.trained("Y", self_similarity=own))


def _recommender_z(material: Material) -> Iterator[Reading]:
    topic = "6. Eq. 28, Z: over which axis k' = 10 keeps the nearest, and the item itself"
    for axis in ("row", "column"):
        for own in (True, False):
            records = material.trained("Z", neighbour_axis=axis, self_similarity=own)
            kept = "of each row, as printed" if axis == "row" else "of each column"
            reading = f"nearest {kept}; {'with' if own else 'without'} the item itself"
            yield from _exact_readings(topic, reading, "Z", records)


def _ties_of_z(material: Material) -> Iterator[Reading]:
    topic = "7. Ties of Z (its held-out item often scores 0, like thousands of others)"
    records = material.ranks["Z"]
    for place in (2, 3):
        label = measure_label(METRICS[place])
        quantity, printed = f"Z, {label}, exact", PRINTED["Z"][place]
        for ties in ("expected", "optimistic", "pessimistic"):
            value = _exact(records, ties)[place]
            yield Reading(topic, ties, quantity, value, printed, HALF_UNIT)
        draws = [
            100.0 * float(METRICS[place].at(random_rank(records, rng), records.n_candidates).mean())
            for rng in (generator(0, "audit", "ties", i) for i in range(1000))
        ]
        spread = float(np.std(draws, ddof=1))
        reading = f"one random order (standard deviation {spread:.3f}, 3 of them allowed)"
        tolerance = 3 * spread + HALF_UNIT
        yield Reading(topic, reading, quantity, float(np.mean(draws)), printed, tolerance)
    for ties, words in (("random", "0 ... T"), ("paper", "0 ... T - 1")):
        moments = _expected(material, "Z", "sampled", 3, ties=ties)
        # five columns of Table 3 agree on 75.02 to 75.04
        reading = f"sampled: place among T sampled ties drawn from {words}"
        yield Reading(topic, reading, "Z, AUC, Sampled", moments[0], 75.04, _noise_of(moments[1]))


def _rank_distribution(material: Material) -> Iterator[Reading]:
    topic = "8. Section 6.1, text on Figure 5: users by rank (counts of users)"
    x, z = material.ranks["X"], material.ranks["Z"]
    half = int(np.sum(2 * x.best_rank > x.n_candidates))
    top = "X, in the top 100"
    yield Reading(topic, "this run's start", top, int(np.sum(x.best_rank <= 100)), 2310, 0.5)
    yield Reading(topic, "this run's start", "X, bottom half (below 300)", half, 300, 299.5)
    last = int(z.n_candidates.max())
    random = random_rank(z, generator(0, "audit", "ties"))
    for reading, ranks in (("ties at random", random), ("ties pessimistic", z.worst_rank)):
        for width in (100, 120, 370):
            quantity = f"Z, worst bucket of {width} ranks (over 1600)"
            users = int(np.sum(ranks > last - width))
            yield Reading(topic, reading, quantity, users, 1650, 50.0)


def _expected(
    material: Material, name: str, estimator: str, place: int, **settings: Any
) -> tuple[float, float]:
    """Expectation and standard deviation of one cell of Table 3, in percent."""
    chosen = replace(material.experiment, **settings)
    records = material.ranks[name]
    vectors = chosen.vectors(records, [parse_estimator(estimator)], [METRICS[place]])
    distribution = sampled_rank_distribution(
        records, chosen.n_negatives, chosen.sampling, chosen.ties
    )
    moments = expected_moments(distribution, vectors)
    return 100.0 * float(moments.mean[0, 0]), 100.0 * float(moments.sd[0, 0])


def _noise_of(deviation: float, repetitions: int = 100) -> float:
    """3 standard errors of a published mean, plus half a unit."""
    return 3.0 * deviation / repetitions**0.5 + HALF_UNIT


def _sampling(material: Material) -> Iterator[Reading]:
    topic = "9. Section 6: whether the m = 100 negatives are drawn with replacement"
    for sampling in ("without-replacement", "with-replacement"):
        for place, printed in ((0, 56.51), (1, 34.82), (2, 30.01)):
            mean, deviation = _expected(material, "Y", "sampled", place, sampling=sampling)
            quantity = f"Y, {measure_label(METRICS[place])}, Sampled"
            yield Reading(topic, sampling, quantity, mean, printed, _noise_of(deviation))


def _catalogue_size(material: Material) -> Iterator[Reading]:
    topic = "10. Section 5: which n the corrections use"
    records = material.ranks["Y"]
    mean = round(records.n_candidates.mean())
    for reading, n in (
        (f"n = {mean}, the mean number of candidates", mean),
        (f"n = {material.split.item_ids.size}, the catalogue", material.split.item_ids.size),
    ):
        value, deviation = _expected(material, "Y", "bv:1", 0, n_items=n)
        tolerance = _noise_of(deviation)
        yield Reading(topic, reading, "Y, Recall@10, BV 1", value, 4.60, tolerance)
    value = _with_n_of_each_user(material, records)
    yield Reading(topic, "n of each user", "Y, Recall@10, BV 1", value, 4.60, tolerance)


def _with_n_of_each_user(material: Material, records: RankRecords) -> float:
    """Expected BV 1 of Recall@10 in percent, corrected with the user's own n."""
    m = material.experiment.n_negatives
    distribution = sampled_rank_distribution(records, m, ties=material.experiment.ties)
    estimator, total = [parse_estimator("bv:1")], 0.0
    for n in np.unique(records.n_candidates):
        vector = estimator_matrix(estimator, METRICS[:1], int(n), m)[0, 0]
        total += float((distribution[records.n_candidates == n] @ vector).sum())
    return 100.0 * total / len(records)


def _noise(material: Material) -> Iterator[Reading]:
    topic = "11. Section 5: noise model of the corrections (samples are drawn without replacement)"
    for noise in ("binomial", "hypergeometric"):
        for estimator, printed in (("bv:1", 4.60), ("bv:0.1", 6.95)):
            value, deviation = _expected(material, "Y", estimator, 0, noise=noise)
            quantity = f"Y, Recall@10, BV {estimator.removeprefix('bv:')}"
            yield Reading(topic, noise, quantity, value, printed, _noise_of(deviation))


def _cls(material: Material) -> Iterator[Reading]:
    topic = "12. Section 5.2: whether constrained least squares is also non-negative"
    for nonnegative in (True, False):
        reading = "non-increasing and at least 0" if nonnegative else "non-increasing"
        value, deviation = _expected(material, "Y", "cls", 0, cls_nonnegative=nonnegative)
        yield Reading(topic, reading, "Y, Recall@10, CLS", value, 8.42, _noise_of(deviation))


def _rank_estimate(material: Material) -> Iterator[Reading]:
    topic = "13. Eq. 20: divisor and rounding of the rank estimate"
    for divisor in ("m", "m+1"):
        for rounding in ("floor", "linear"):
            reading = f"divided by {divisor}{', as printed' if divisor == 'm' else ''}; {rounding}"
            for place, printed in ((0, 17.26), (2, 17.81), (3, 85.48)):
                options = {"divisor": divisor, "rounding": rounding}
                value, deviation = _expected(material, "Y", "rank-estimate", place, **options)
                quantity = f"Y, {measure_label(METRICS[place])}, Rank Estimate"
                yield Reading(topic, reading, quantity, value, printed, _noise_of(deviation))
