"""The sampled experiment on one recommender: repetitions, closed forms, exact values (section 6).

A repetition is kept as the histogram of its sampled ranks; an estimate is this histogram times the
estimator's vector.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics._base.seeds import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import estimator_matrix
from sampled_metrics.inference.moments import Moments, estimates, expected_moments
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import histograms, sampled_rank_distribution, shared_histograms
from sampled_metrics.study.settings import ExperimentSettings


def corrected_items(ranks: Ranks, settings: ExperimentSettings) -> int:
    """Return n of the corrections.

    Examples
    --------
    >>> corrected_items(Ranks([10, 13], [0, 0], [0, 0]), ExperimentSettings())
    12
    """
    return ranks.mean_candidates if settings.n_items is None else settings.n_items


@lru_cache(maxsize=4)
def estimator_vectors(n_items: int, settings: ExperimentSettings) -> Float:
    """Return estimators as vectors over sampled ranks, shape (measures, estimators, m + 1)."""
    vectors = estimator_matrix(
        settings.corrections,
        settings.measures,
        n_items,
        settings.n_negatives,
        sampling=settings.assumed_sampling,
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
    return expected_moments(
        distribution, estimator_vectors(corrected_items(ranks, settings), settings)
    )


@dataclass(frozen=True)
class Experiment:
    """Outcome for one recommender, as fractions."""

    settings: ExperimentSettings
    users: int
    """Settings, and the number of users."""
    exact: Float
    """Exact metrics, ties in expectation; shape (measures,)."""
    repeated: Float
    """Estimates; shape (measures, estimators, repetitions)."""
    expected: Moments
    """Their mean and standard deviation in closed form; shape (measures, estimators)."""
    source: str
    """Where the ranks come from, in words."""


@one_thread()
def run_experiment(
    name: str, ranks: Ranks, settings: ExperimentSettings, streams: Sequence[str] | None = None
) -> Experiment:
    """Repeat the sampled evaluation of a recommender and correct it.

    Every repetition has generators of its own, derived from the seed, the recommender's name, a
    stream and the repetition. `streams` names one stream for all estimators or one for each; by
    default the settings say what estimators share.
    """
    if not len(ranks):
        raise InputError(f"{name}: no rank records")
    _check_candidates(name, ranks, settings)
    drawn = _drawn(name, ranks, settings, streams)
    counts = np.broadcast_to(drawn, (len(settings.estimators), *drawn.shape[1:]))
    vectors = estimator_vectors(corrected_items(ranks, settings), settings)
    repeated = [estimates(counts[i], vectors[:, i]) for i in range(len(counts))]
    return Experiment(
        settings,
        len(ranks),
        exact=np.array([values(measure, ranks).mean() for measure in settings.measures]),
        repeated=np.stack(repeated, axis=1),
        expected=expected_estimates(ranks, settings),
        source=ranks.source,
    )


def _drawn(
    name: str, ranks: Ranks, settings: ExperimentSettings, streams: Sequence[str] | None
) -> Int:
    """Draw histograms of sampled ranks, shape (streams, repetitions, m + 1)."""

    def generators(stream: str) -> list[np.random.Generator]:
        return [
            generator(settings.seed, name, stream, repetition)
            for repetition in range(settings.repetitions)
        ]

    m, design = settings.n_negatives, (settings.sampling, settings.ties)
    if settings.shared_samples and streams is None:
        orders = ["ties"] if settings.shared_ties else settings.estimators
        places = [generators(order) for order in orders]
        return shared_histograms(ranks, m, generators("shared"), places, *design)
    drawn = [
        histograms(ranks, m, generators(stream), *design)
        for stream in streams or settings.estimators
    ]
    return np.stack(drawn)


def _check_candidates(name: str, ranks: Ranks, settings: ExperimentSettings) -> None:
    most = int(ranks.n_candidates.min()) - 1
    if settings.sampling == Sampling.WITHOUT_REPLACEMENT and settings.n_negatives > most:
        raise InputError(
            f"{name}: experiment.n_negatives must be at most {most}, not {settings.n_negatives}, "
            f"because a user has {most + 1} candidates and sampling is without-replacement"
        )


def save_experiment(path: Path, experiment: Experiment) -> None:
    """Write an experiment as `.npz`."""
    with replacing(path) as temporary:
        np.savez(
            temporary,
            settings=experiment.settings.as_json(),
            users=experiment.users,
            exact=experiment.exact,
            repeated=experiment.repeated,
            expected_mean=experiment.expected.mean,
            expected_sd=experiment.expected.sd,
            source=experiment.source,
        )


def load_experiment(path: Path) -> Experiment:
    """Read an experiment written by `save_experiment`."""
    names = ("settings", "users", "exact", "repeated", "expected_mean", "expected_sd", "source")
    data = read_arrays(path, "a sampled experiment", names)
    try:
        written, users = json.loads(str(data["settings"])), int(data["users"])
    except (TypeError, ValueError) as error:
        raise InputError(f"not a sampled experiment ({error})", path=path) from error
    settings = ExperimentSettings.of(written, str(path))
    cells = (len(settings.metrics), len(settings.estimators))
    shapes = [cells[:1], (*cells, settings.repetitions), cells, cells]
    if [data[name].shape for name in names[2:6]] != shapes:
        raise InputError("not a sampled experiment (its arrays do not fit together)", path=path)
    return Experiment(
        settings,
        users,
        data["exact"],
        data["repeated"],
        Moments(data["expected_mean"], data["expected_sd"]),
        str(data["source"]),
    )


def load_experiments(paths: list[Path]) -> dict[str, Experiment]:
    """Read experiments by recommender, the stem of the file.

    All must have been done in the same way, and for as many users.
    """
    experiments = {path.stem: load_experiment(path) for path in paths}
    if len(experiments) != len(paths):
        raise InputError(f"two of {', '.join(map(str, paths))} have the same name")
    (first, expected), *others = (
        (name, {"users": experiment.users, **experiment.settings.model_dump()})
        for name, experiment in experiments.items()
    )
    for name, design in others:
        for key, value in design.items():
            if value != expected[key]:
                raise InputError(
                    f"experiments {first} and {name} cannot be compared: {key} is "
                    f"{expected[key]} for {first} and {value} for {name}"
                )
    return experiments
