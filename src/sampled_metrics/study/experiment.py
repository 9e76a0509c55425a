"""The sampled experiment on one recommender: repetitions, closed forms, exact values (section 6).

All that is kept of a repetition is the histogram of its sampled ranks; an estimate is that
histogram times the estimator's vector.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.errors import InputError
from sampled_metrics.estimators import Estimator, estimator_matrix, parse_estimator
from sampled_metrics.files import replacing
from sampled_metrics.measures import Measure, parse_measure
from sampled_metrics.metrics import Float
from sampled_metrics.moments import Moments, estimates, expected_moments
from sampled_metrics.ranks import RankRecords
from sampled_metrics.sampling import histograms, sampled_rank_distribution
from sampled_metrics.seeds import generator
from sampled_metrics.ties import expected_values


@dataclass(frozen=True)
class ExperimentSettings:
    """What is sampled and how it is corrected; the defaults are the paper's, as far as known.

    Attributes
    ----------
    n_negatives, repetitions, seed
        m, how often, and the study's seed.
    sampling
        How negatives are drawn: `without-replacement` or `with-replacement`.
    ties
        Place of the held-out item among sampled ties: `random`, `paper` and others, see
        `sampling.sampled_rank_distribution`.
    shared_samples
        Whether all estimators of a repetition see the same samples; else each draws its own.
    n_items
        n of the corrections; None is the mean number of candidates, rounded.
    noise, cls_nonnegative, rounding, divisor
        Of the estimators, see `estimators.estimator_matrix`.
    """

    n_negatives: int = 100
    repetitions: int = 100
    seed: int = 0
    sampling: str = "without-replacement"
    ties: str = "paper"
    shared_samples: bool = False
    n_items: int | None = None
    noise: str = "binomial"
    cls_nonnegative: bool = True
    rounding: str = "floor"
    divisor: str = "m+1"

    def corrected_items(self, records: RankRecords) -> int:
        """N of the corrections for some records.

        >>> ExperimentSettings().corrected_items(RankRecords([10, 13], [0, 0], [0, 0]))
        12
        """
        return self.n_items or round(records.n_candidates.mean())

    def vectors(
        self, records: RankRecords, estimators: list[Estimator], measures: list[Measure]
    ) -> Float:
        """Estimators as vectors over sampled ranks, shape (measures, estimators, m + 1)."""
        return estimator_matrix(
            estimators,
            measures,
            self.corrected_items(records),
            self.n_negatives,
            noise=self.noise,
            cls_nonnegative=self.cls_nonnegative,
            rounding=self.rounding,
            divisor=self.divisor,
        )


@dataclass(frozen=True)
class Experiment:
    """Outcome for one recommender, as fractions.

    Attributes
    ----------
    measures, estimators
        What was computed; axes of the arrays in this order.
    exact
        Exact metrics, ties in expectation; shape (measures,).
    repeated
        Estimates; shape (measures, estimators, repetitions).
    expected
        Their mean and standard deviation in closed form; shape (measures, estimators).
    source
        Words on where the ranks come from.
    """

    measures: list[Measure]
    estimators: list[Estimator]
    exact: Float
    repeated: Float
    expected: Moments
    source: str


def run_experiment(
    name: str,
    records: RankRecords,
    estimators: list[Estimator],
    measures: list[Measure],
    settings: ExperimentSettings,
    source: str = "unknown",
) -> Experiment:
    """Repeat the sampled evaluation of a recommender and correct it.

    Every repetition has a generator of its own, derived from the seed, the recommender's name,
    the estimator (unless samples are shared) and the repetition.

    Raises
    ------
    InputError
        There is no record, m exceeds a user's other candidates, or an option is not known.
    """
    if not len(records):
        raise InputError(f"{name}: no rank record; expected at least one")
    vectors = settings.vectors(records, estimators, measures)
    distribution = sampled_rank_distribution(
        records, settings.n_negatives, settings.sampling, settings.ties
    )
    counts = _histograms(name, records, estimators, settings)
    repeated = [estimates(counts[i], vectors[:, i]) for i in range(len(estimators))]
    return Experiment(
        measures,
        estimators,
        exact=np.array([expected_values(measure, records).mean() for measure in measures]),
        repeated=np.stack(repeated, axis=1),
        expected=expected_moments(distribution, vectors),
        source=source,
    )


def _histograms(
    name: str, records: RankRecords, estimators: list[Estimator], settings: ExperimentSettings
) -> NDArray[np.int64]:
    """Histograms of sampled ranks, shape (estimators, repetitions, m + 1)."""
    streams = ["shared"] if settings.shared_samples else [str(each) for each in estimators]
    generators = [
        generator(settings.seed, name, stream, repetition)
        for stream in streams
        for repetition in range(settings.repetitions)
    ]
    counts = histograms(records, settings.n_negatives, generators, settings.sampling, settings.ties)
    by_stream = counts.reshape(len(streams), settings.repetitions, settings.n_negatives + 1)
    return np.broadcast_to(by_stream, (len(estimators), *by_stream.shape[1:]))


def save_experiment(path: Path, experiment: Experiment) -> None:
    """Write an experiment as `.npz`."""
    with replacing(path) as temporary:
        np.savez(
            temporary,
            measures=[str(measure) for measure in experiment.measures],
            estimators=[str(estimator) for estimator in experiment.estimators],
            exact=experiment.exact,
            repeated=experiment.repeated,
            expected_mean=experiment.expected.mean,
            expected_sd=experiment.expected.sd,
            source=experiment.source,
        )


def load_experiment(path: Path) -> Experiment:
    """Read an experiment written by `save_experiment`."""
    with np.load(path) as data:
        return Experiment(
            [parse_measure(str(name)) for name in data["measures"]],
            [parse_estimator(str(name)) for name in data["estimators"]],
            data["exact"],
            data["repeated"],
            Moments(data["expected_mean"], data["expected_sd"]),
            str(data["source"]),
        )


def load_experiments(paths: list[Path]) -> dict[str, Experiment]:
    """Read experiments by recommender, the stem of the file.

    Raises
    ------
    InputError
        They do not hold the same measures, estimators and numbers of repetitions.
    """
    found = {path.stem: load_experiment(path) for path in paths}
    check_comparable(found)
    return found


def check_comparable(experiments: Mapping[str, Experiment]) -> None:
    """Raise InputError unless all experiments have the same axes."""
    axes = {
        name: (experiment.measures, experiment.estimators, experiment.repeated.shape[-1])
        for name, experiment in experiments.items()
    }
    (first, expected), *others = axes.items()
    for name, found in others:
        if found != expected:
            raise InputError(
                f"experiments {first} and {name} differ in measures, estimators or repetitions"
            )
