"""Tables 1 to 4: cells, toy recommenders, the repeated experiment, how often pairs are right.

A repetition of the experiment (section 6) is kept as the histogram of its sampled ranks; an
estimate is this histogram times the estimator's vector.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float, Int, generator, one_thread
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table, replacing
from sampled_metrics.estimators import estimator_matrix
from sampled_metrics.metrics import values
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import histograms, sampled_rank_distribution, shared_histograms
from sampled_metrics.study.moments import Moments, estimates, expected_moments, probability_less
from sampled_metrics.study.settings import N_ITEMS, ExactSettings, ExperimentSettings, ToySettings

KEY = ["table", "row", "metric", "column"]
COLUMNS = (*KEY, "value", "std")
SPREAD_COLUMNS = (*KEY, "spread", "cause")
TEXTS = ("row", "metric", "column", "ranks", "cause")
EXACT = "Exact"
SAMPLED = "Sampled"
COUNTS = 4  # the table of counts
DECIMALS = {1: 3, 2: 3, 3: 2, COUNTS: 0}
REPETITIONS = {2: 1000, 3: 100, COUNTS: 100}  # of the paper
PERCENT = 100.0

PREDICTED_RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
METRICS = tuple(parse_measure(name) for name in ("auc", "ap", "ndcg", "recall@10"))


class Row(NamedTuple):
    """One cell: a fraction in Tables 1 and 2, percent in Table 3, a count in Table 4.

    `value` and `std` are mean and standard deviation over `repetitions`, 0 for an exact value;
    `expected` and `expected_std` the same in closed form. `ranks` says where the ranks come from.
    """

    table: int
    row: str
    metric: str
    column: str
    value: float
    std: float | None
    expected: float
    expected_std: float | None
    repetitions: int
    ranks: str


def read_cells(paths: Sequence[Path]) -> pd.DataFrame:
    """Read our cells from the files of several tables; columns of `Row`."""
    return pd.concat([read_table(path, Row._fields, TEXTS) for path in paths], ignore_index=True)


def read_published(path: Path) -> pd.DataFrame:
    """Read published cells as text, exactly as printed; `table` is an integer."""
    return read_table(path, COLUMNS, dtype=str, keep_default_na=False).astype({"table": int})


def scale_of_counts(table: "pd.Series[int]", repetitions: "pd.Series[int] | int") -> Float:
    """Return the factors that turn counts of Table 4 into counts of a hundred; 1 elsewhere."""
    return np.where(table == COUNTS, REPETITIONS[COUNTS] / np.maximum(repetitions, 1), 1.0)


def as_printed(table: pd.DataFrame, value: str = "value", std: str = "std") -> pd.DataFrame:
    """Round cells to the decimals of their table; text, in the columns of the published file."""
    printed = table[KEY].copy()
    for name, column in (("value", value), ("std", std)):
        printed[name] = [
            "" if pd.isna(number) else f"{number:.{DECIMALS[of_table]}f}"
            for number, of_table in zip(table[column], table["table"], strict=True)
        ]
    return printed


# The experiment.


class Experiment(NamedTuple):
    """Outcome of repeated sampling for one recommender, as fractions; `exact` expects ties."""

    settings: ExperimentSettings
    users: int
    exact: Float  # shape (measures,)
    repeated: Float  # shape (measures, estimators, repetitions)
    expected: Moments  # of `repeated`, in closed form
    source: str


def corrected_items(ranks: Ranks, settings: ExperimentSettings) -> int:
    """Return n of the corrections."""
    if settings.n_items is None:
        return ranks.mean_candidates
    return settings.n_items


@lru_cache(maxsize=4)
def estimator_vectors(n_items: int, settings: ExperimentSettings) -> Float:
    """Return estimators as vectors over sampled ranks, shape (measures, estimators, m + 1)."""
    vectors = estimator_matrix(
        *(settings.corrections, settings.measures, n_items, settings.n_negatives),
        sampling=settings.correction_sampling,
        cls_nonnegative=settings.cls_nonnegative,
        rounding=settings.rounding,
        divisor=settings.divisor,
    )
    vectors.flags.writeable = False
    return vectors


def expected_estimates(ranks: Ranks, settings: ExperimentSettings) -> Moments:
    """Mean and standard deviation of every estimate, in closed form."""
    distribution = sampled_rank_distribution(
        ranks, settings.n_negatives, settings.sampling, settings.ties
    )
    vectors = estimator_vectors(corrected_items(ranks, settings), settings)
    return expected_moments(distribution, vectors)


@one_thread()
def run_experiment(
    name: str, ranks: Ranks, settings: ExperimentSettings, streams: Sequence[str] | None = None
) -> Experiment:
    """Repeat the sampled evaluation of a recommender and correct it.

    Generators derive from the seed, the recommender's name, a stream and the repetition. `streams`
    names one stream for all estimators or one for each; by default the settings decide.
    """
    if not len(ranks):
        raise InputError(f"{name}: no rank records")
    most = int(ranks.n_candidates.min()) - 1
    if settings.sampling == Sampling.WITHOUT_REPLACEMENT and settings.n_negatives > most:
        problem = f"experiment.n_negatives must be at most {most}, not {settings.n_negatives}"
        reason = f"a user has {most + 1} candidates and sampling is without-replacement"
        raise InputError(f"{name}: {problem}, because {reason}")
    drawn = _draw_histograms(name, ranks, settings, streams)
    counts = np.broadcast_to(drawn, (len(settings.estimators), *drawn.shape[1:]))
    vectors = estimator_vectors(corrected_items(ranks, settings), settings)
    repeated = np.stack([estimates(c, vectors[:, i]) for i, c in enumerate(counts)], axis=1)
    exact = np.array([values(measure, ranks).mean() for measure in settings.measures])
    expected = expected_estimates(ranks, settings)
    return Experiment(settings, len(ranks), exact, repeated, expected, ranks.source)


def _draw_histograms(
    name: str, ranks: Ranks, settings: ExperimentSettings, streams: Sequence[str] | None
) -> Int:
    """Draw histograms of sampled ranks, shape (streams, repetitions, m + 1)."""

    def generators(stream: str) -> list[np.random.Generator]:
        repetitions = range(settings.repetitions)
        return [generator(settings.seed, name, stream, number) for number in repetitions]

    m = settings.n_negatives
    design = (settings.sampling, settings.ties)
    if settings.shared_samples and streams is None:
        orders: Sequence[str] = settings.estimators
        if settings.shared_ties:
            orders = ["ties"]
        places = [generators(order) for order in orders]
        return shared_histograms(ranks, m, generators("shared"), places, *design)
    chosen = streams or settings.estimators
    # All at once, because the distribution of sampled ranks is the same for every stream.
    every = [rng for stream in chosen for rng in generators(stream)]
    return histograms(ranks, m, every, *design).reshape(len(chosen), settings.repetitions, m + 1)


def save_experiment(path: Path, experiment: Experiment) -> None:
    """Write an experiment as `.npz`."""
    content = experiment._asdict()
    mean, sd = content.pop("expected")
    content["settings"] = experiment.settings.model_dump_json(by_alias=True)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **content, expected_mean=mean, expected_sd=sd)


# The tables.


@one_thread()
def exact_table(records: Mapping[str, Ranks], settings: ExactSettings) -> pd.DataFrame:
    """Mean over users of exact metrics in percent, by recommender, metric and tie policy.

    The policy `random` takes one order of the ties per recommender for all measures.
    """
    rows = []
    for name, ranks in records.items():
        for measure in map(parse_measure, settings.metrics):
            for policy in settings.ties:
                rng = generator(settings.seed, "ties", name)
                mean = values(measure, ranks, policy, rng).mean()
                rows.append((name, str(measure), policy, PERCENT * mean))
    return pd.DataFrame(rows, columns=["recommender", "metric", "ties", "value"])


def toy_ranks(recommender: str) -> Ranks:
    """Return the ranks of a toy recommender of sections 3.2 and 4.2, which has no ties."""
    ranks = np.array(PREDICTED_RANKS[recommender])
    source = "toy recommenders of section 3.2"
    return Ranks(np.full(ranks.size, N_ITEMS), ranks - 1, np.zeros_like(ranks), source=source)


def toy_tables(settings: ToySettings) -> dict[int, pd.DataFrame]:
    """Compute exact metrics (Table 1) and sampled ones (Table 2), as fractions, by table."""
    metrics = tuple(map(str, METRICS))
    experiment = ExperimentSettings(
        **settings.model_dump(), metrics=metrics, estimators=("sampled",)
    )
    rows: list[Row] = []
    for name in PREDICTED_RANKS:
        outcome = run_experiment("toy", toy_ranks(name), experiment, [name])
        for i in range(len(METRICS)):
            rows += _metric_rows(2, name, outcome, i)
    cells = pd.DataFrame(rows, columns=Row._fields)
    is_exact = cells["column"] == EXACT
    exact = cells[is_exact].assign(table=1)
    sampled = cells[~is_exact]
    return {1: exact.reset_index(drop=True), 2: sampled.reset_index(drop=True)}


def table3(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Exact, sampled and corrected metrics in percent, over all repetitions."""
    first = next(iter(experiments.values()))
    rows = [
        row
        for i in range(len(first.settings.metrics))
        for name, experiment in experiments.items()
        for row in _metric_rows(3, name, experiment, i, PERCENT)
    ]
    return pd.DataFrame(rows, columns=Row._fields)


def _metric_rows(
    table: int, name: str, experiment: Experiment, i: int, unit: float = 1.0
) -> Iterator[Row]:
    """Yield the exact value of the i-th metric, then the estimates by estimator, times `unit`."""
    label = experiment.settings.measures[i].label
    source = experiment.source
    exact = unit * float(experiment.exact[i])
    yield Row(table, name, label, EXACT, exact, None, exact, None, 0, source)
    drawn = unit * experiment.repeated[i]
    expected = (unit * moment[i] for moment in experiment.expected)
    moments = (drawn.mean(axis=-1), drawn.std(axis=-1, ddof=1), *expected)
    numbers = np.stack(moments, axis=1).tolist()
    estimators = zip(experiment.settings.corrections, numbers, strict=True)
    for estimator, (value, std, mean, sd) in estimators:
        cell = (table, name, label, estimator.label)
        yield Row(*cell, value, std, mean, sd, experiment.repeated.shape[-1], source)


def table4(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Count the repetitions that order a pair as the exact metric does, and the expected number.

    Equal estimates count as incorrect, and as half in expectation.
    """
    rows: list[Row] = []
    for (name_a, a), (name_b, b) in combinations(experiments.items(), 2):
        source = "; ".join(sorted({a.source, b.source}))
        for i, measure in enumerate(a.settings.measures):
            worse = b
            better = a
            if a.exact[i] < b.exact[i]:
                worse = a
                better = b
            counts = (worse.repeated[i] < better.repeated[i]).sum(axis=-1)
            repetitions = worse.repeated.shape[-1]
            chances = probability_less(
                *(Moments(e.expected.mean[i], e.expected.sd[i]) for e in (worse, better))
            )
            spread = np.sqrt(repetitions * chances * (1.0 - chances))
            for j, estimator in enumerate(a.settings.corrections):
                cell = (4, f"{name_a} vs {name_b}", measure.label, estimator.label)
                value, expected, sd = map(float, (counts[j], repetitions * chances[j], spread[j]))
                rows.append(Row(*cell, value, None, expected, sd, repetitions, source))
    return pd.DataFrame(rows, columns=Row._fields)
