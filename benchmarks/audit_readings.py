"""Readings of the paper's text, by topic: functions of the study that yield what each gives."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.claims.starts import HALF, TOP, in_worst_bucket, means_over_orders, users_by_rank
from benchmarks.paper import Paper
from sampled_metrics._base.arrays import generator
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import values
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.data import rank
from sampled_metrics.study.datasets.split import leave_last_out
from sampled_metrics.study.recommenders.factors import ALS
from sampled_metrics.study.tables import expected_estimates

HALF_UNIT = 0.005  # of the last printed digit, in percent
RECALL, NDCG, AP, AUC = METRICS = [
    parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")
]
STARTS, SCALES, ITERATIONS = 8, (0.001, 0.01, 0.1, 1.0), (2, 3, 4, 6, 8, 15)
ORDERS_OF_TIES = 300
REPETITIONS = 100  # of the published means
WITHOUT, WITH = "without-replacement", "with-replacement"


@dataclass(frozen=True)
class Quantity:
    """A number in percent, or of users; `published` is the print, or a bound such as `< 300`."""

    name: str
    value: float
    published: str
    tolerance: float

    @property
    def is_reproduced(self) -> bool:
        """Whether the published number follows."""
        sign, _, bound = self.published.rpartition(" ")
        if sign == "<":
            return self.value < float(bound)
        if sign == ">":
            return self.value > float(bound)
        return abs(self.value - float(self.published)) <= self.tolerance


@dataclass(frozen=True)
class Reading:
    """A quantity under one reading of a topic."""

    topic: str
    reading: str
    quantity: Quantity


Found = Iterator[tuple[str, Quantity]]


def percent(measure: Measure, ranks: Ranks, ties: str = "expected") -> float:
    """Exact metric in percent."""
    return 100 * float(values(measure, ranks, ties).mean())


def over_ties(paper: Paper, measure: Measure, ranks: Ranks) -> tuple[float, float]:
    """Mean and standard deviation of an exact metric over random orders of the ties."""
    seed = paper.study.experiment.seed
    orders = (generator(seed, "audit", i) for i in range(ORDERS_OF_TIES))
    means = 100 * means_over_orders(measure, ranks, orders)
    return float(means.mean()), float(means.std(ddof=1))


def exact(paper: Paper, name: str, ranks: Ranks) -> Iterator[Quantity]:
    """Exact metrics; the published number is one order of the ties, ours the mean over all."""
    for measure in METRICS:
        spread = 0.0
        if ranks.n_tied.mean() >= 1:
            _, spread = over_ties(paper, measure, ranks)
        yield Quantity(
            name=f"{name}, {measure.label}, exact",
            value=percent(measure, ranks),
            published=paper.cell(name, measure),
            tolerance=3 * spread + HALF_UNIT,
        )


def estimate(
    paper: Paper, ranks: Ranks, name: str, estimator: str, measure: Measure, **settings: object
) -> Quantity:
    """Expectation of a cell of Table 3, with other settings of the experiment."""
    changed = paper.study.experiment.replaced(
        estimators=(estimator,), metrics=(str(measure),), **settings
    )
    moments = expected_estimates(ranks, changed)
    column = parse_estimator(estimator).label
    return Quantity(
        name=f"{name}, {measure.label}, {column}",
        value=100 * moments.mean.item(),
        published=paper.cell(name, measure, column),
        tolerance=300 * moments.sd.item() / REPETITIONS**0.5 + HALF_UNIT,
    )


def ties_of_the_split(paper: Paper) -> Found:
    """Exact metrics of Y by the rule that picks one of several last events."""
    for rule in ("ncf", "first", "last", "random"):
        rng = generator(paper.study.experiment.seed, "audit", "split")
        split = leave_last_out(paper.interactions, rule, rng)
        for quantity in exact(paper, "Y", paper.ranks("Y", split)):
            yield f"tie_break: {rule}", quantity


def candidates(paper: Paper) -> Found:
    """AUC of Y among the user's candidates, and among the catalogue."""
    own = paper.ranks("Y")
    n_items = np.full(len(own), paper.split.item_ids.size)
    whole = Ranks(n_items, own.n_better, own.n_tied)
    readings = {"n = catalogue minus the user's training items": own, "n = whole catalogue": whole}
    for reading, ranks in readings.items():
        value = percent(AUC, ranks)
        yield reading, Quantity("Y, AUC, exact", value, paper.cell("Y", AUC), HALF_UNIT)


def starts_of_x(paper: Paper) -> Found:
    """Exact metrics of X by iterations and scale of the random start, mean of some starts."""
    settings = paper.entry("X").settings
    data = paper.split
    for scale in SCALES:
        found = np.empty((STARTS, len(ITERATIONS), len(METRICS)))
        for seed in range(STARTS):
            model = ALS(settings.replaced(start=scale, seed=seed))
            # One training passes through all numbers of iterations.
            for stage, vectors in enumerate(model.stages(data.train, ITERATIONS)):
                ranks = rank(vectors, data.train, data.held_out)
                found[seed, stage] = [percent(measure, ranks) for measure in METRICS]
        for stage, iterations in enumerate(ITERATIONS):
            reading = f"{iterations} iterations from U[0, {scale:g}), mean of {STARTS} starts"
            for place, measure in enumerate(METRICS):
                of_starts = found[:, stage, place]
                # The published number is one more start, and the mean of ours is uncertain too.
                spread = float(of_starts.std(ddof=1)) * (1 + 1 / STARTS) ** 0.5
                quantity = Quantity(
                    name=f"X, {measure.label}, exact",
                    value=float(of_starts.mean()),
                    published=paper.cell("X", measure),
                    tolerance=2 * spread + HALF_UNIT,
                )
                yield reading, quantity


def trainings(name: str, readings: Mapping[str, Mapping[str, object]]) -> Callable[[Paper], Found]:
    """Return a topic: exact metrics of a recommender with other settings."""

    def measured(paper: Paper) -> Found:
        for reading, settings in readings.items():
            for quantity in exact(paper, name, paper.ranks(name, **settings)):
                yield reading, quantity

    return measured


def ties_of_z(paper: Paper) -> Found:
    """AP and AUC of Z by the order of its ties, exact and sampled."""
    ranks = paper.ranks("Z")
    for measure in (AP, AUC):
        name = f"Z, {measure.label}, exact"
        published = paper.cell("Z", measure)
        for ties in ("expected", "optimistic", "pessimistic"):
            yield ties, Quantity(name, percent(measure, ranks, ties), published, HALF_UNIT)
        mean, spread = over_ties(paper, measure, ranks)
        reading = f"one random order (standard deviation {spread:.3f}, 3 of them allowed)"
        yield reading, Quantity(name, mean, published, 3 * spread + HALF_UNIT)
    for ties, words in (("random", "0 ... T"), ("paper", "0 ... T - 1")):
        reading = f"sampled: place among T sampled ties drawn from {words}"
        yield reading, estimate(paper, ranks, "Z", "sampled", AUC, ties=ties)


def rank_distribution(paper: Paper) -> Found:
    """Numbers of users that the text on Figure 5 names."""
    counts = users_by_rank(paper.ranks("X"))
    reading = "the start of this run"
    yield reading, Quantity(f"X, {TOP}", counts[TOP], "2310", 0.5)
    yield reading, Quantity(f"X, {HALF}", counts[HALF], "< 300", 0.0)
    z = paper.ranks("Z")
    for ties, width in product(("random", "pessimistic"), (100, 120, 370)):
        words = ties.replace("random", "at random")
        users = in_worst_bucket(z, ties, width)
        reading = f"ties {words}, buckets of {width} ranks"
        yield reading, Quantity("Z, worst bucket", users, "> 1600", 0.0)


def items_of_corrections(paper: Paper) -> Found:
    """BV 1 of Y by the n that the corrections use."""
    ranks = paper.ranks("Y")
    sizes = {"the mean number of candidates": ranks.mean_candidates}
    sizes["the catalogue"] = paper.split.item_ids.size
    for words, n in sizes.items():
        found = estimate(paper, ranks, "Y", "bv:1", RECALL, n_items=n)
        yield f"n = {n}, {words}", found
    value = variance = 0.0
    for n in np.unique(ranks.n_candidates):
        own = ranks.take(ranks.n_candidates == n)
        share = len(own) / len(ranks)
        found = estimate(paper, own, "Y", "bv:1", RECALL, n_items=int(n))
        deviation = (found.tolerance - HALF_UNIT) / 3
        value += share * found.value
        variance += (share * deviation) ** 2
    tolerance = 3 * variance**0.5 + HALF_UNIT
    yield "n of each user", Quantity(found.name, value, found.published, tolerance)


def experiments(
    cells: list[tuple[str, Measure]], readings: Mapping[str, Mapping[str, object]]
) -> Callable[[Paper], Found]:
    """Return a topic: expected cells of Y with other settings of the experiment."""

    def measured(paper: Paper) -> Found:
        ranks = paper.ranks("Y")
        for reading, settings in readings.items():
            for estimator, measure in cells:
                yield reading, estimate(paper, ranks, "Y", estimator, measure, **settings)

    return measured


AXES = {"nearest of each row, as printed": "row", "nearest of each column": "column"}
SELVES = {"with the item itself": True, "without the item itself": False}
DIVISORS = {"divided by m, as printed": "m", "divided by m+1": "m+1"}
TOPICS: dict[str, Callable[[Paper], Found]] = {
    "1. Section 6, split: which of several events at a user's last timestamp is held out": (
        ties_of_the_split
    ),
    "2. Section 6.1, candidates: whether training items count in the n of AUC": candidates,
    "3. Section 9, X: iterations and random start are not given": starts_of_x,
    "4. Eq. 30, Y: divided by the row sum, or the numerator alone": trainings(
        "Y",
        {
            "divided, as printed": {"normalise_scores": True},
            "numerator alone": {"normalise_scores": False},
        },
    ),
    "5. Eq. 27-29, Y: whether an item is similar to itself": trainings(
        "Y",
        {
            "s_ii = 1 enters the row norm": {"self_similarity": True},
            "s_ii = 0": {"self_similarity": False},
        },
    ),
    "6. Eq. 28, Z: over which axis k' = 10 keeps the nearest, and the item itself": trainings(
        "Z",
        {
            f"{axis}; {own}": {"neighbour_axis": AXES[axis], "self_similarity": SELVES[own]}
            for axis, own in product(AXES, SELVES)
        },
    ),
    "7. Ties of Z (its held-out item often scores 0, like thousands of others)": ties_of_z,
    "8. Section 6.1, text on Figure 5: numbers of users by rank": rank_distribution,
    "9. Section 6: whether the m = 100 negatives are drawn with replacement": experiments(
        [("sampled", measure) for measure in (RECALL, NDCG, AP)],
        {WITHOUT: {"sampling": WITHOUT}, WITH: {"sampling": WITH}},
    ),
    "10. Section 5: which n the corrections use": items_of_corrections,
    "11. Section 5: noise model of the corrections (samples are drawn without replacement)": (
        experiments(
            [("bv:1", RECALL), ("bv:0.1", RECALL)],
            {
                "binomial": {"assumed_sampling": WITH},
                "hypergeometric": {"assumed_sampling": WITHOUT},
            },
        )
    ),
    "12. Section 5.2: whether constrained least squares is also non-negative": experiments(
        [("cls", RECALL)],
        {
            "non-increasing and at least 0": {"cls_nonnegative": True},
            "non-increasing": {"cls_nonnegative": False},
        },
    ),
    "13. Eq. 20: divisor and rounding of the rank estimate": experiments(
        [("rank-estimate", measure) for measure in (RECALL, AP, AUC)],
        {
            f"{words}; {rounding}": {"divisor": DIVISORS[words], "rounding": rounding}
            for words, rounding in product(DIVISORS, ("floor", "linear"))
        },
    ),
}
