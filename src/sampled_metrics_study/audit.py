"""Compare readings of the paper's text with its printed numbers.

    MOVIELENS_ARCHIVE=ml-1m.zip python -m sampled_metrics_study.audit

Where the text of Krichene and Rendle leaves a choice, or contradicts its numbers, each reading is
computed by the functions of the study and compared with the published cell. Writes
results/reference/audit.csv and audit.md.

With the argument `future` it writes docs/measured/future.md instead. Leave-last-out trains on
events that are later than the held-out events of other users; this counts the training events after
each held-out event, and averages over users.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics import rank
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.text import format_table
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import Measure, parse_measure, values
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.claims.starts import (
    BOTTOM_HALF,
    TOP_100,
    count_in_worst_bucket,
    count_users_by_rank,
    means_over_orders,
)
from sampled_metrics_study.data.settings import TieBreak
from sampled_metrics_study.data.split import leave_last_out
from sampled_metrics_study.experiment import expected_estimates
from sampled_metrics_study.paper import REFERENCE, ROOT, Paper, read_paper
from sampled_metrics_study.program import program
from sampled_metrics_study.recommenders.factors import ALS

HALF_UNIT = 0.005  # of the last printed digit, in percent
RECALL, NDCG, AP, AUC = METRICS = [
    parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")
]
# The number of starts balances time against the error of their mean. Scales are ten times apart
# around 0.01, the default of `implicit`. Iterations go up to its default, 15.
N_STARTS, SCALES, ITERATIONS = 8, (0.001, 0.01, 0.1, 1.0), (2, 3, 4, 6, 8, 15)
ORDERS_OF_TIES = 300  # a standard deviation within 4 %
REPETITIONS = 100  # of the published means
WITHOUT, WITH = "without-replacement", "with-replacement"


@dataclass(frozen=True)
class Quantity:
    """A number: a percentage or a count of users.

    `published` is the printed number, or a bound such as `< 300`.
    """

    name: str
    value: float
    published: str
    tolerance: float

    @property
    def is_reproduced(self) -> bool:
        """Whether the value agrees with the published number."""
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


Readings = Iterator[tuple[str, Quantity]]


def percent_exact(measure: Measure, ranks: Ranks, ties: str = "expected") -> float:
    """Compute an exact metric in percent."""
    return 100 * float(values(measure, ranks, ties).mean())


def mean_over_ties(paper: Paper, measure: Measure, ranks: Ranks) -> tuple[float, float]:
    """Compute mean and standard deviation of an exact metric over random orders of the ties."""
    seed = paper.study.experiment.seed
    orders = (generator(seed, "audit", i) for i in range(ORDERS_OF_TIES))
    means = 100 * means_over_orders(measure, ranks, orders)
    return float(means.mean()), float(means.std(ddof=1))


def exact_quantities(paper: Paper, name: str, ranks: Ranks) -> Iterator[Quantity]:
    """Yield exact metrics.

    Ours is the mean over all orders of the ties; the published number is that of one order.
    """
    for measure in METRICS:
        spread = 0.0
        if ranks.n_tied.mean() >= 1:
            _, spread = mean_over_ties(paper, measure, ranks)
        yield Quantity(
            name=f"{name}, {measure.label}, exact",
            value=percent_exact(measure, ranks),
            published=paper.cell(name, measure),
            tolerance=3 * spread + HALF_UNIT,
        )


def expected_quantity(
    paper: Paper, ranks: Ranks, name: str, estimator: str, measure: Measure, **settings: object
) -> Quantity:
    """Compute the expectation of a cell of Table 3 with other settings of the experiment.

    `settings` replace those of the paper's experiment. The published cell is a mean over
    `REPETITIONS`, so the tolerance is three standard errors of it plus half a unit, in percent.
    """
    changed = paper.study.experiment.replaced(
        estimators=(estimator,), metrics=(str(measure),), **settings
    )
    moments = expected_estimates(ranks, changed)
    column = parse_estimator(estimator).label
    three_errors_of_mean = 300 * moments.sd.item() / REPETITIONS**0.5  # in percent
    return Quantity(
        name=f"{name}, {measure.label}, {column}",
        value=100 * moments.mean.item(),
        published=paper.cell(name, measure, column),
        tolerance=three_errors_of_mean + HALF_UNIT,
    )


def ties_of_the_split(paper: Paper) -> Readings:
    """Yield exact metrics of Y for each rule that picks one of several last events."""
    words: dict[TieBreak, str] = {
        "ncf": "the one that the authors of NCF hold out",
        "first": "the first in the file",
        "last": "the last in the file",
        "random": "a random one",
    }
    for rule, reading in words.items():
        rng = generator(paper.study.experiment.seed, "audit", "split")
        split = leave_last_out(paper.interactions, rule, rng)
        for quantity in exact_quantities(paper, "Y", paper.ranks("Y", split)):
            yield f"{reading} (tie_break: {rule})", quantity


def candidates_of_auc(paper: Paper) -> Readings:
    """Yield AUC of Y among the user's candidates, and among all items."""
    among_candidates = paper.ranks("Y")
    n_items = np.full(len(among_candidates), paper.split.item_ids.size)
    among_all = Ranks(n_items, among_candidates.n_better, among_candidates.n_tied)
    readings = {
        "n = catalogue minus the user's training items": among_candidates,
        "n = whole catalogue": among_all,
    }
    for reading, ranks in readings.items():
        value = percent_exact(AUC, ranks)
        yield reading, Quantity("Y, AUC, exact", value, paper.cell("Y", AUC), HALF_UNIT)


def starts_of_x(paper: Paper) -> Readings:
    """Yield exact metrics of X by iterations and scale of the start, averaged over starts."""
    for scale in SCALES:
        percents = _percents_of_starts(paper, scale)
        for stage, iterations in enumerate(ITERATIONS):
            reading = f"{iterations} iterations from U[0, {scale:g}), mean of {N_STARTS} starts"
            for index, measure in enumerate(METRICS):
                values_of_starts = percents[:, stage, index]
                # The published number has a start of its own, and the mean of ours is uncertain.
                spread = float(values_of_starts.std(ddof=1)) * (1 + 1 / N_STARTS) ** 0.5
                quantity = Quantity(
                    name=f"X, {measure.label}, exact",
                    value=float(values_of_starts.mean()),
                    published=paper.cell("X", measure),
                    tolerance=2 * spread + HALF_UNIT,
                )
                yield reading, quantity


def _percents_of_starts(paper: Paper, scale: float) -> Float:
    """Train X from several starts, and return its exact metrics in percent.

    Shape (starts, numbers of iterations, metrics), in the order of `ITERATIONS` and `METRICS`.
    """
    settings = paper.entry("X").settings
    data = paper.split
    percents = np.empty((N_STARTS, len(ITERATIONS), len(METRICS)))
    for seed in range(N_STARTS):
        model = ALS(settings.replaced(start=scale, seed=seed))
        # One training yields the vectors at all numbers of iterations.
        for stage, vectors in enumerate(model.stages(data.train, ITERATIONS)):
            ranks = rank(vectors, data.train, data.held_out)
            percents[seed, stage] = [percent_exact(measure, ranks) for measure in METRICS]
    return percents


def retrained(name: str, readings: Mapping[str, Mapping[str, Any]]) -> Callable[[Paper], Readings]:
    """Return a topic that trains a recommender with other settings; it yields exact metrics."""

    def measure_topic(paper: Paper) -> Readings:
        for reading, settings in readings.items():
            for quantity in exact_quantities(paper, name, paper.ranks(name, **settings)):
                yield reading, quantity

    return measure_topic


def ties_of_z(paper: Paper) -> Readings:
    """Yield AP and AUC of Z for several orders of its ties, exact and sampled."""
    ranks = paper.ranks("Z")
    for measure in (AP, AUC):
        name = f"Z, {measure.label}, exact"
        published = paper.cell("Z", measure)
        for ties in ("expected", "optimistic", "pessimistic"):
            yield ties, Quantity(name, percent_exact(measure, ranks, ties), published, HALF_UNIT)
        mean, spread = mean_over_ties(paper, measure, ranks)
        reading = "one random order, within 3 standard deviations"
        yield reading, Quantity(name, mean, published, 3 * spread + HALF_UNIT)
    for ties, range_text in (("random", "0 ... T"), ("paper", "0 ... T - 1")):
        reading = f"sampled: place among T sampled ties drawn from {range_text}"
        yield reading, expected_quantity(paper, ranks, "Z", "sampled", AUC, ties=ties)


def rank_distribution(paper: Paper) -> Readings:
    """Yield the numbers of users that the text states about Figure 5."""
    counts = count_users_by_rank(paper.ranks("X"))
    reading = "the start of this run"
    yield reading, Quantity(f"X, {TOP_100}", counts[TOP_100], "2310", 0.5)
    yield reading, Quantity(f"X, {BOTTOM_HALF}", counts[BOTTOM_HALF], "< 300", 0.0)
    z = paper.ranks("Z")
    for ties, width in product(("random", "pessimistic"), (100, 120, 370)):
        policy = ties.replace("random", "at random")
        users = count_in_worst_bucket(z, ties, width)
        reading = f"ties {policy}, buckets of {width} ranks"
        yield reading, Quantity("Z, worst bucket", users, "> 1600", 0.0)


def n_of_corrections(paper: Paper) -> Readings:
    """Yield BV 1 of Y for each n that the corrections may use."""
    ranks = paper.ranks("Y")
    sizes = {
        "the mean number of candidates": ranks.mean_candidates,
        "the catalogue": paper.split.item_ids.size,
    }
    for name, n in sizes.items():
        yield f"n = {n}, {name}", expected_quantity(paper, ranks, "Y", "bv:1", RECALL, n_items=n)
    yield "n of each user", _bv_with_n_of_each_user(paper, ranks)


def _bv_with_n_of_each_user(paper: Paper, ranks: Ranks) -> Quantity:
    """Compute BV 1 of Y, corrected with each user's own number of candidates.

    Users with the same number are corrected together; the groups are independent, so their means
    and variances add up with weights share and share^2.
    """
    value = variance = 0.0
    for n in np.unique(ranks.n_candidates):
        ranks_of_group = ranks.take(ranks.n_candidates == n)
        share = len(ranks_of_group) / len(ranks)
        of_group = expected_quantity(paper, ranks_of_group, "Y", "bv:1", RECALL, n_items=int(n))
        std_error = (of_group.tolerance - HALF_UNIT) / 3
        value += share * of_group.value
        variance += (share * std_error) ** 2
    tolerance = 3 * variance**0.5 + HALF_UNIT
    return Quantity(of_group.name, value, of_group.published, tolerance)


def rerun(
    cells: list[tuple[str, Measure]], readings: Mapping[str, Mapping[str, Any]]
) -> Callable[[Paper], Readings]:
    """Return a topic that changes settings of the experiment; it yields expected cells of Y."""

    def measure_topic(paper: Paper) -> Readings:
        ranks = paper.ranks("Y")
        for reading, settings in readings.items():
            for estimator, measure in cells:
                yield reading, expected_quantity(paper, ranks, "Y", estimator, measure, **settings)

    return measure_topic


AXES = {"nearest of each row, as printed": "row", "nearest of each column": "column"}
SELF_SIMILARITY = {"with the item itself": True, "without the item itself": False}
DIVISORS = {"divided by m, as printed": "m", "divided by m+1": "m+1"}
TOPICS: dict[str, Callable[[Paper], Readings]] = {
    "1. Section 6, split: which of several events at a user's last timestamp is held out": (
        ties_of_the_split
    ),
    "2. Section 6.1, candidates: whether training items count in the n of AUC": candidates_of_auc,
    "3. Section 9, X: iterations and random start are not given": starts_of_x,
    "4. Eq. 30, Y: divided by the row sum, or the numerator alone": retrained(
        "Y",
        {
            "divided, as printed": {"normalise_scores": True},
            "numerator alone": {"normalise_scores": False},
        },
    ),
    "5. Eq. 27-29, Y: whether an item is similar to itself": retrained(
        "Y",
        {
            "s_ii = 1 enters the row norm": {"self_similarity": True},
            "s_ii = 0": {"self_similarity": False},
        },
    ),
    "6. Eq. 28, Z: over which axis k' = 10 keeps the nearest, and the item itself": retrained(
        "Z",
        {
            f"{axis}; {similarity}": {
                "neighbour_axis": AXES[axis],
                "self_similarity": SELF_SIMILARITY[similarity],
            }
            for axis, similarity in product(AXES, SELF_SIMILARITY)
        },
    ),
    "7. Ties of Z (its held-out item often scores 0, like thousands of others)": ties_of_z,
    "8. Section 6.1, text on Figure 5: numbers of users by rank": rank_distribution,
    "9. Section 6: whether the m = 100 negatives are drawn with replacement": rerun(
        [("sampled", measure) for measure in (RECALL, NDCG, AP)],
        {WITHOUT: {"sampling": WITHOUT}, WITH: {"sampling": WITH}},
    ),
    "10. Section 5: which n the corrections use": n_of_corrections,
    "11. Section 5: noise model of the corrections (samples are drawn without replacement)": (
        rerun(
            [("bv:1", RECALL), ("bv:0.1", RECALL)],
            {
                "binomial": {"assumed_sampling": WITH},
                "hypergeometric": {"assumed_sampling": WITHOUT},
            },
        )
    ),
    "12. Section 5.2: whether constrained least squares is also non-negative": rerun(
        [("cls", RECALL)],
        {
            "non-increasing and at least 0": {"cls_nonnegative": True},
            "non-increasing": {"cls_nonnegative": False},
        },
    ),
    "13. Eq. 20: divisor and rounding of the rank estimate": rerun(
        [("rank-estimate", measure) for measure in (RECALL, AP, AUC)],
        {
            f"{divisor_name}; {rounding}": {"divisor": DIVISORS[divisor_name], "rounding": rounding}
            for divisor_name, rounding in product(DIVISORS, ("floor", "linear"))
        },
    ),
}
LONGEST_FIRST = sorted(TOPICS, key=lambda topic: "iterations" not in topic)
INTRODUCTION = """\
# Where the paper's text and its numbers part

Krichene and Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020, leaves some choices
open, and in a few places its text says something else than its numbers show. Each way to read such
a place is measured below on MovieLens 1M, beside the published number. `yes` marks a reading from
which the published number follows: to the printed digits where it is deterministic, within three
standard errors of the published mean of 100 repetitions, plus half a unit of the last digit, where
it is sampled (ours is then the closed-form expectation). For X, within two standard deviations of
the difference between its start and the mean of ours; where ties move an exact metric (Z), within
three standard deviations over random orders of the ties. Metrics are in percent.

Where the paper says nothing, a choice was made: 4 iterations of X because its AUC says so; the
paper gives no number (topic 3).

`make measure PAGE=audit` writes this page."""


def page_lines(table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of the page, with a table for each topic."""
    yield INTRODUCTION
    for topic, rows in table.groupby("topic", sort=False):
        reproducing = [
            str(reading)
            for reading, cells in rows.groupby("reading", sort=False)
            if (cells["reproduces"] == "yes").all()
        ]
        yield f"\n## {topic}\n"
        yield f"Reproduced in all rows by: {'; '.join(reproducing) or 'no reading'}.\n"
        is_repeated = rows["reading"] == rows["reading"].shift()
        shown = pd.DataFrame(
            {
                "reading": rows["reading"].mask(is_repeated, ""),
                "quantity": rows["quantity"],
                "ours": [f"{value:.3f}".removesuffix(".000") for value in rows["value"]],
                "published": rows["published"],
                "reproduces it": rows["reproduces"],
            }
        )
        lines: list[Any] = shown.to_dict("records")
        yield format_table(lines, "pipe")


@one_thread()
def readings_of(topic: str) -> list[Reading]:
    """Measure all readings of a topic."""
    paper = read_paper()
    began = time.process_time()
    readings = [Reading(topic, reading, quantity) for reading, quantity in TOPICS[topic](paper)]
    print(f"{topic}: {len(readings)} rows, {time.process_time() - began:.0f} s CPU", flush=True)
    return readings


def main() -> None:
    """Measure all readings, write both files in the order of the paper's sections."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = {topic: pool.submit(readings_of, topic) for topic in LONGEST_FIRST}
        readings = [reading for topic in TOPICS for reading in jobs[topic].result()]
    table = pd.DataFrame(
        {
            "topic": [reading.topic for reading in readings],
            "reading": [reading.reading for reading in readings],
            "quantity": [reading.quantity.name for reading in readings],
            "value": [reading.quantity.value for reading in readings],
            "published": [reading.quantity.published for reading in readings],
            "tolerance": [f"{reading.quantity.tolerance:.4f}" for reading in readings],
            "reproduces": [
                "yes" if reading.quantity.is_reproduced else "no" for reading in readings
            ],
        }
    )
    rounded = table.assign(value=table["value"].map("{:.4f}".format))
    rounded.to_csv(REFERENCE / "audit.csv", index=False)
    (REFERENCE / "audit.md").write_text("\n".join(page_lines(table)) + "\n", encoding="utf-8")


PAGE = """\
# Training events from the future

Of the {events:,} training events of the paper's split of MovieLens 1M, {share:.1f} % on average are
later than the held-out event of a user: of its {users:,} users, half have more than {median:.1f} %.

`make measure PAGE=future` writes this page.
"""


def share_later(training: Int, held_out: Int) -> Float:
    """Return the share of training times that are later than each held-out time."""
    ordered = np.sort(training)
    not_later = np.searchsorted(ordered, held_out, side="right")
    return 1 - not_later / ordered.size


def future() -> None:
    """Compute the shares of later training events, and write the page."""
    paper = read_paper()
    data, split = paper.interactions, paper.split
    times = data.times("leave-last-out")  # of each event
    held_out_items = split.item_ids[split.held_out]
    held_out_item_of = dict(zip(split.user_ids.tolist(), held_out_items, strict=True))
    events = zip(data.user.tolist(), data.item.tolist(), strict=True)
    is_held_out = np.array([held_out_item_of[user] == item for user, item in events])
    if is_held_out.sum() != split.held_out.size:
        raise SystemExit("the split does not match the events of the archive")
    percents_later = 100 * share_later(times[~is_held_out], times[is_held_out])
    page = PAGE.format(
        events=split.train.nnz,
        users=percents_later.size,
        share=percents_later.mean(),
        median=np.median(percents_later),
    )
    (ROOT / "docs/measured/future.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    with program():
        if sys.argv[1:] == ["future"]:
            future()
        else:
            main()
