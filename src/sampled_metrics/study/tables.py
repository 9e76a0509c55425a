"""Tables 1 to 4: toy recommenders, the repeated experiment, counts of right orders.

A repetition of the experiment (section 6) is kept as the histogram of its sampled ranks; an
estimate is this histogram times the estimator's vector.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float, Int, generator, one_thread
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, likely_estimates
from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import histograms, sampled_rank_distribution, shared_histograms
from sampled_metrics.study.cells import EXACT, Row
from sampled_metrics.study.moments import Moments, estimates, expected_moments, probability_less
from sampled_metrics.study.settings import N_ITEMS, ExactSettings, ExperimentSettings, ToySettings

PERCENT = 100.0

PREDICTED_RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
METRICS = tuple(parse_measure(name) for name in ("auc", "ap", "ndcg", "recall@10"))


# The experiment.


class Experiment(NamedTuple):
    """Outcome of repeated sampling for one recommender, as fractions; `exact` expects ties.

    `likely` is estimated from the samples of the first estimator.
    """

    settings: ExperimentSettings
    exact: Float  # shape (measures,)
    repeated: Float  # shape (measures, estimators, repetitions)
    expected: Moments  # over repetitions, in closed form
    uniform: Moments  # the same if all orders of tied samples were equally likely
    likely: Float  # shape (measures, repetitions)
    source: str


def corrected_items(ranks: Ranks, settings: ExperimentSettings) -> int:
    """Return n of the corrections."""
    if settings.n_items is None:
        return ranks.mean_candidates
    return settings.n_items


def matrix_of(settings: ExperimentSettings) -> Callable[..., Float]:
    """Return `estimator_matrix` with the options of an experiment."""
    return partial(
        estimator_matrix,
        sampling=settings.correction_sampling,
        cls_nonnegative=settings.cls_nonnegative,
        rounding=settings.rounding,
        divisor=settings.divisor,
    )


@lru_cache(maxsize=4)
def estimator_vectors(n_items: int, settings: ExperimentSettings) -> Float:
    """Return estimators as vectors over sampled ranks, shape (measures, estimators, m + 1)."""
    matrix = matrix_of(settings)
    vectors = matrix(settings.corrections, settings.measures, n_items, settings.n_negatives)
    vectors.flags.writeable = False
    return vectors


def expected_estimates(
    ranks: Ranks, settings: ExperimentSettings, ties: str | None = None
) -> Moments:
    """Mean and standard deviation of every estimate, in closed form; `ties` as set by default."""
    distribution = sampled_rank_distribution(
        ranks, settings.n_negatives, settings.sampling, ties or settings.ties
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
    if settings.shared_samples and streams is None:
        drawn = _shared_histograms(name, ranks, settings)
    else:
        drawn = _independent_histograms(name, ranks, settings, streams or settings.estimators)
    counts = np.broadcast_to(drawn, (len(settings.estimators), *drawn.shape[1:]))
    n = corrected_items(ranks, settings)
    vectors = estimator_vectors(n, settings)
    repeated = np.stack([estimates(c, vectors[:, i]) for i, c in enumerate(counts)], axis=1)
    exact = np.array([values(measure, ranks).mean() for measure in settings.measures])
    expected = expected_estimates(ranks, settings)
    uniform = expected
    if settings.ties != "random" and ranks.n_tied.any():
        uniform = expected_estimates(ranks, settings, "random")
    design = (settings.measures, n, settings.n_negatives, settings.correction_sampling)
    likely = likely_estimates(drawn[0], *design)
    return Experiment(settings, exact, repeated, expected, uniform, likely, ranks.source)


def _generators(name: str, stream: str, settings: ExperimentSettings) -> list[np.random.Generator]:
    """Return one generator for each repetition."""
    return [generator(settings.seed, name, stream, i) for i in range(settings.repetitions)]


def _shared_histograms(name: str, ranks: Ranks, settings: ExperimentSettings) -> Int:
    """Draw histograms of estimators that share their samples and, if so set, the order of ties."""
    orders = settings.estimators
    if settings.shared_ties:
        orders = ("ties",)
    return shared_histograms(
        ranks,
        settings.n_negatives,
        samples=_generators(name, "shared", settings),
        places=[_generators(name, order, settings) for order in orders],
        sampling=settings.sampling,
        ties=settings.ties,
    )


def _independent_histograms(
    name: str, ranks: Ranks, settings: ExperimentSettings, streams: Sequence[str]
) -> Int:
    """Draw histograms of sampled ranks, shape (streams, repetitions, m + 1)."""
    # All at once, because the distribution of sampled ranks is the same for every stream.
    return histograms(
        ranks,
        settings.n_negatives,
        generators=[x for stream in streams for x in _generators(name, stream, settings)],
        sampling=settings.sampling,
        ties=settings.ties,
    ).reshape(len(streams), settings.repetitions, -1)


# The tables.


@one_thread()
def exact_table(records: Mapping[str, Ranks], settings: ExactSettings) -> pd.DataFrame:
    """Mean over users of exact metrics in percent, by recommender, metric and tie policy.

    The policy `random` takes one order of the ties per recommender for all measures.
    """
    rows = []
    for name, ranks in records.items():
        for metric, policy in product(settings.metrics, settings.ties):
            rng = generator(settings.seed, "ties", name)
            mean = values(parse_measure(metric), ranks, policy, rng).mean()
            rows.append((name, metric, policy, PERCENT * mean))
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
        rows += _rows(2, name, run_experiment("toy", toy_ranks(name), experiment, [name]))
    cells = pd.DataFrame(rows)
    is_exact = cells["column"] == EXACT
    exact = cells[is_exact].assign(table=1)
    return {1: exact.reset_index(drop=True), 2: cells[~is_exact].reset_index(drop=True)}


def table3(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Exact, sampled and corrected metrics in percent, over all repetitions."""
    rows: list[Row] = []
    for name, experiment in experiments.items():
        rows += _rows(3, name, experiment, PERCENT)
    labels = [measure.label for measure in experiment.settings.measures]
    rows.sort(key=lambda row: labels.index(row.metric))
    return pd.DataFrame(rows, columns=Row._fields)


def _rows(table: int, name: str, experiment: Experiment, unit: float = 1.0) -> Iterator[Row]:
    """Yield the exact value of each metric, then the estimates by estimator, times `unit`."""
    settings = experiment.settings
    for i, measure in enumerate(settings.measures):
        cell = (table, name, measure.label)
        exact = unit * float(experiment.exact[i])
        yield Row(*cell, EXACT, exact, None, exact, None, exact, 0, experiment.source)
        for j, estimator in enumerate(settings.corrections):
            drawn = unit * experiment.repeated[i, j]
            simulated = (float(drawn.mean()), float(drawn.std(ddof=1)))
            mean, sd = (unit * float(moment[i, j]) for moment in experiment.expected)
            expected = (mean, sd, unit * float(experiment.uniform.mean[i, j]))
            label = estimator.label
            yield Row(*cell, label, *simulated, *expected, drawn.size, experiment.source)


def table4(experiments: Mapping[str, Experiment]) -> pd.DataFrame:
    """Count the repetitions that order a pair as the exact metric does, and the expected number.

    Equal estimates count as incorrect, and as half in expectation.
    """
    rows = []
    for (name_a, a), (name_b, b) in combinations(experiments.items(), 2):
        source = "; ".join(sorted({a.source, b.source}))
        sign = np.where(a.exact < b.exact, 1.0, -1.0)[:, np.newaxis]
        counts = np.sum(sign[..., np.newaxis] * (b.repeated - a.repeated) > 0.0, axis=-1)
        repetitions = a.repeated.shape[-1]
        chances = _right(sign, a.expected, b.expected)
        expected = repetitions * chances
        spread = np.sqrt(expected * (1.0 - chances))
        uniform = repetitions * _right(sign, a.uniform, b.uniform)
        for i, measure in enumerate(a.settings.measures):
            for j, estimator in enumerate(a.settings.corrections):
                cell = (4, f"{name_a} vs {name_b}", measure.label, estimator.label)
                moments = (expected[i, j], spread[i, j], uniform[i, j])
                rows.append(Row(*cell, float(counts[i, j]), None, *moments, repetitions, source))
    return pd.DataFrame(rows, columns=Row._fields)


def _right(sign: Float, a: Moments, b: Moments) -> Float:
    """Probability that the estimate of B is above that of A, or below it where `sign` is -1."""
    return probability_less(Moments(sign * a.mean, a.sd), Moments(sign * b.mean, b.sd))
