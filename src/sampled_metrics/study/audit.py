"""The audit: every reading of the paper where its text and its numbers disagree, measured.

A reading is one way to understand the text, or to fill in what it leaves open. Expectations over
sampling are computed in closed form; only random orders of ties are simulated.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd

from sampled_metrics._base import defaults
from sampled_metrics._base.arrays import generator, one_thread
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.metrics import Measure, values
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling, rank
from sampled_metrics.ranks.reading import read_by_name
from sampled_metrics.study.config import Entry, ExperimentSettings
from sampled_metrics.study.curves import in_worst_bucket
from sampled_metrics.study.datasets.events import Interactions, apply_filters, read_ratings
from sampled_metrics.study.datasets.settings import TieBreak
from sampled_metrics.study.datasets.split import Split, leave_last_out, load_split
from sampled_metrics.study.printed import groups, markdown
from sampled_metrics.study.recommenders import create
from sampled_metrics.study.starts import HALF, TOP, means_over_orders, retrained, users_by_rank
from sampled_metrics.study.tables import EXACT, expected_estimates, read_published

METRICS = tuple(map(parse_measure, defaults.METRICS))
_RECALL, _NDCG, _AP, _AUC = METRICS
_WITH, _WITHOUT = Sampling.WITH_REPLACEMENT, Sampling.WITHOUT_REPLACEMENT
HALF_UNIT = 0.005
STARTS = 8
ITERATIONS = (2, 3, 4, 6, 8, 15)
SCALES = (0.001, 0.01, 0.1, 1.0)
# Of a `Reading`: quantity, value, published number and tolerance.
_Quantities: TypeAlias = Iterable[tuple[str, float, str, float]]
_Readings: TypeAlias = Iterator[tuple[str, _Quantities]]


class Reading(NamedTuple):
    """A quantity under one reading of a topic, a place in the paper.

    `value` is ours, in percent unless `quantity` says otherwise; `published` the paper's number or
    bound, `< 300`, as text; `tolerance` the largest difference that counts as reproducing it.
    """

    topic: str
    reading: str
    quantity: str
    value: float
    published: str
    tolerance: float

    @property
    def reproduces(self) -> bool:
        """Whether the published number follows from this reading."""
        sign, _, bound = self.published.rpartition(" ")
        if sign:
            return self.value < float(bound) if sign == "<" else self.value > float(bound)
        return abs(self.value - float(self.published)) <= self.tolerance


@dataclass(frozen=True)
class Material:
    """Data, recommenders X, Y and Z, their ranks and the published numbers."""

    interactions: Interactions
    split: Split
    ranks: Mapping[str, Ranks]
    recommenders: Mapping[str, Entry]
    experiment: ExperimentSettings
    cells: pd.DataFrame
    threads: int = 1

    @classmethod
    def load(
        cls, archive: Path, split: Path, ranks: Sequence[Path], recommenders: Sequence[Entry],
        experiment: ExperimentSettings, published: Path, threads: int,
    ) -> "Material":  # fmt: skip
        """Read archive, split, ranks and published cells."""
        entries = {entry.name: entry for entry in recommenders}
        for name, kind in {"X": "als", "Y": "itemknn", "Z": "itemknn"}.items():
            if name not in entries or entries[name].kind != kind:
                raise InputError(f"the audit needs a recommender {name} of kind {kind}")
        cells = read_published(published).query("table == 3")
        events = apply_filters(read_ratings(archive))[0]
        data, records = load_split(split), read_by_name(ranks)
        return cls(events, data, records, entries, experiment, cells, threads)

    def printed(self, name: str, measure: Measure, column: str = EXACT) -> str:
        """Return the published cell of Table 3 for a recommender, a metric and a column."""
        cell = {"row": name, "metric": measure.label, "column": column}
        return str(self.cells.loc[(self.cells[list(cell)] == cell).all(axis=1), "value"].item())

    def trained(self, name: str, split: Split | None = None, **settings: Any) -> Ranks:
        """Return the ranks of a recommender trained with other settings."""
        data = self.split if split is None else split
        return retrained(self.recommenders[name], data, self.threads, **settings)


_Topic: TypeAlias = Callable[[Material], _Readings]


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
    material: Material, name: str, cells: Sequence[tuple[str, Measure]], **settings: Any
) -> _Quantities:
    """Expected cells, estimator and metric, of Table 3 with other settings of the experiment."""
    for estimator, measure in cells:
        only = {"estimators": (estimator,), "metrics": (str(measure),)}
        changed = material.experiment.replaced(**only, **settings)
        mean, sd = (100.0 * x.item() for x in expected_estimates(material.ranks[name], changed))
        column = parse_estimator(estimator).label
        published = material.printed(name, measure, column)
        yield f"{name}, {measure.label}, {column}", mean, published, _noise_of(sd)


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
            entry = material.recommenders["X"]
            model: Any = create(entry.kind, entry.settings | {"start": scale, "seed": seed})
            for iterations in model.stages(material.split.train, ITERATIONS, material.threads):
                of_stage = rank(model.scorer, material.split.train, material.split.held_out)
                ranks.setdefault((scale, iterations), []).append(of_stage)
    for (scale, iterations), starts in ranks.items():
        reading = f"{iterations} iterations from U[0, {scale:g}), mean of {STARTS} starts"
        quantities = []
        for measure in METRICS:
            exact = np.array([_percent(measure, ranks) for ranks in starts])
            # the published number is one more start, and the mean of ours is uncertain too
            allowed = 2.0 * float(exact.std(ddof=1) * np.sqrt(1.0 + 1.0 / STARTS)) + HALF_UNIT
            about = (f"X, {measure.label}, exact", float(exact.mean()))
            quantities.append((*about, material.printed("X", measure), allowed))
        yield reading, quantities


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
        yield reading, _estimates(material, "Z", [("sampled", _AUC)], ties=ties)


def _rank_distribution(material: Material) -> _Readings:
    x, z = material.ranks["X"], material.ranks["Z"]
    published = {TOP: ("2310", 0.5), HALF: ("< 300", 0.0)}
    users = users_by_rank(x)
    counts = [(f"X, {which}", float(users[which]), *published[which]) for which in published]
    yield "the start of this run", counts
    for ties, width in product(("random", "pessimistic"), (100, 120, 370)):
        words = ties.replace("random", "at random")
        worst = ("Z, worst bucket", float(in_worst_bucket(z, ties, width)), "> 1600", 0.0)
        yield f"ties {words}, buckets of {width} ranks", [worst]


def _catalogue_size(material: Material) -> _Readings:
    ranks, cell = material.ranks["Y"], ("bv:1", _RECALL)
    mean, catalogue = ranks.mean_candidates, material.split.item_ids.size
    for n, which in ((mean, "the mean number of candidates"), (catalogue, "the catalogue")):
        yield f"n = {n}, {which}", _estimates(material, "Y", [cell], n_items=n)
    settings = material.experiment.replaced(estimators=(cell[0],), metrics=(str(_RECALL),))
    value = variance = 0.0
    for n in np.unique(ranks.n_candidates):
        own = ranks.take(ranks.n_candidates == n)
        moments = expected_estimates(own, settings.replaced(n_items=int(n)))
        value += 100.0 * len(own) * moments.mean.item() / len(ranks)
        variance += (100.0 * len(own) * moments.sd.item() / len(ranks)) ** 2
    published = material.printed("Y", _RECALL, "BV 1")
    yield "n of each user", [("Y, Recall@10, BV 1", value, published, _noise_of(variance**0.5))]


def _settings(options: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all combinations of the readings of each setting, in words, and their values."""
    for chosen in product(*(readings.items() for readings in options.values())):
        words, values = zip(*chosen, strict=True)
        yield "; ".join(words), dict(zip(options, values, strict=True))


def _trainings(name: str, **options: Mapping[str, Any]) -> _Topic:
    """Exact metrics of a recommender trained with each combination of settings."""
    return lambda material: (
        (reading, _exact(material, name, material.trained(name, **settings)))
        for reading, settings in _settings(options)
    )


def _experiments(cells: Sequence[tuple[str, Measure]], **options: Mapping[str, Any]) -> _Topic:
    """Expected cells of Y with each combination of settings of the experiment."""
    return lambda material: (
        (reading, _estimates(material, "Y", cells, **settings))
        for reading, settings in _settings(options)
    )


_TOPICS: dict[str, _Topic] = {
    "1. Section 6, split: which of several events at a user's last timestamp is held out": (
        _ties_of_the_split
    ),
    "2. Section 6.1, candidates: whether training items count in the n of AUC": _candidates,
    "3. Section 9, X: iterations and random start are not given": _recommender_x,
    "4. Eq. 30, Y: divided by the row sum, or the numerator alone": _trainings(
        "Y", normalise_scores={"divided, as printed": True, "numerator alone": False}
    ),
    "5. Eq. 27-29, Y: whether an item is similar to itself": _trainings(
        "Y", self_similarity={"s_ii = 1 enters the row norm": True, "s_ii = 0": False}
    ),
    "6. Eq. 28, Z: over which axis k' = 10 keeps the nearest, and the item itself": _trainings(
        "Z",
        neighbour_axis={
            "nearest of each row, as printed": "row",
            "nearest of each column": "column",
        },
        self_similarity={"with the item itself": True, "without the item itself": False},
    ),
    "7. Ties of Z (its held-out item often scores 0, like thousands of others)": _ties_of_z,
    "8. Section 6.1, text on Figure 5: numbers of users by rank": _rank_distribution,
    "9. Section 6: whether the m = 100 negatives are drawn with replacement": _experiments(
        [("sampled", measure) for measure in (_RECALL, _NDCG, _AP)],
        sampling={_WITHOUT: _WITHOUT, _WITH: _WITH},
    ),
    "10. Section 5: which n the corrections use": _catalogue_size,
    "11. Section 5: noise model of the corrections (samples are drawn without replacement)": (
        _experiments(
            [("bv:1", _RECALL), ("bv:0.1", _RECALL)],
            assumed_sampling={"binomial": _WITH, "hypergeometric": _WITHOUT},
        )
    ),
    "12. Section 5.2: whether constrained least squares is also non-negative": _experiments(
        [("cls", _RECALL)],
        cls_nonnegative={"non-increasing and at least 0": True, "non-increasing": False},
    ),
    "13. Eq. 20: divisor and rounding of the rank estimate": _experiments(
        [("rank-estimate", measure) for measure in (_RECALL, _AP, _AUC)],
        divisor={"divided by m, as printed": "m", "divided by m+1": "m+1"},
        rounding={"floor": "floor", "linear": "linear"},
    ),
}


# The report.

_INTRODUCTION = """\
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
"""


def write_audit(readings: Sequence[Reading], csv: Path, md: Path) -> None:
    """Write the readings as CSV, and as Markdown with one table per topic."""
    table = pd.DataFrame(readings, columns=Reading._fields)
    table["reproduces"] = ["yes" if reading.reproduces else "no" for reading in readings]
    write_table(table, csv, "%.4f")
    parts = [_INTRODUCTION]
    for topic, rows in groups(table, "topic"):
        agreeing = [reading for reading, cells in groups(rows, "reading") if agrees(cells)]
        summary = f"Reproduced in all rows by: {'; '.join(agreeing) or 'no reading'}."
        is_named = rows["reading"] == rows["reading"].shift()  # above
        rows = rows.assign(
            reading=rows["reading"].mask(is_named, ""), ours=rows["value"].map(spelled)
        ).rename(columns={"reproduces": "reproduces it"})
        shown = rows[["reading", "quantity", "ours", "published", "reproduces it"]]
        parts.append(f"## {topic}\n\n{summary}\n\n{markdown(shown)}\n")
    write_text(md, "\n".join(parts))


def agrees(rows: pd.DataFrame) -> bool:
    """Whether the published number follows in all rows of a reading."""
    return bool((rows["reproduces"] == "yes").all())


def spelled(value: float) -> str:
    """Spell a measured value: whole numbers without decimals, others with three."""
    return f"{value:.3f}".removesuffix(".000")
