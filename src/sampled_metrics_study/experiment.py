"""The experiment of section 6: sampled evaluations of recommenders, repeated and corrected.

A repetition is kept as the histogram of its sampled ranks; an estimate is this histogram times the
estimator's vector, the mean over users of its value at each user's sampled rank. Users are sampled
independently, so expectation and variance follow from the users' distributions of sampled ranks
without simulation; repeated experiments give the same quantities as a check.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks
from sampled_metrics._base.errors import reading
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import estimator_matrix, likely_estimates
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.ranks.data import as_ranks
from sampled_metrics.sampling import histograms, sampled_rank_distribution, shared_histograms
from sampled_metrics_study.settings import ExperimentSettings

ROUNDING_ERROR = 1e-13  # a spread or difference of means below this fraction of the values is noise


class MeanAndSd(NamedTuple):
    """Mean and standard deviation of estimates over repeated sampling, as fractions."""

    mean: Float
    sd: Float


class Experiment(NamedTuple):
    """Outcome of repeated sampling for one recommender, as fractions; `exact` expects ties.

    `likely` is estimated from the samples of the first estimator.
    """

    settings: ExperimentSettings
    exact: Float  # shape (measures,)
    repeated: Float  # shape (measures, estimators, repetitions)
    expected: MeanAndSd  # over repetitions, in closed form
    uniform: MeanAndSd  # the same if all orders of tied samples were equally likely
    likely: Float  # shape (measures, repetitions)
    source: str


@one_thread()
def run_experiment(
    name: str,
    ranks: Ranks,
    settings: ExperimentSettings,
    streams: Sequence[str] | None = None,
    *,
    with_likely: bool = True,
) -> Experiment:
    """Repeat the sampled evaluation of a recommender and correct it.

    Generators derive from the seed, the recommender's name, a stream and the repetition. `streams`
    names one stream for all estimators or one for each; by default the settings decide. `likely`
    takes most of the time, and where it is not wanted it has no repetitions.
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
    n = n_items_of_corrections(ranks, settings)
    vectors = estimator_vectors(n, settings)
    repeated = np.stack(
        [repeated_estimates(c, vectors[:, i]) for i, c in enumerate(counts)], axis=1
    )
    exact = np.array([values(measure, ranks).mean() for measure in settings.measures])
    expected = expected_estimates(ranks, settings)
    uniform = expected
    if settings.ties != "random" and ranks.n_tied.any():
        uniform = expected_estimates(ranks, settings, "random")
    likely = np.empty((len(exact), 0))
    if with_likely:
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


def expected_estimates(
    ranks: Ranks, settings: ExperimentSettings, ties: str | None = None
) -> MeanAndSd:
    """Mean and standard deviation of every estimate, in closed form; `ties` as set by default."""
    distribution = sampled_rank_distribution(
        ranks, settings.n_negatives, settings.sampling, ties or settings.ties
    )
    vectors = estimator_vectors(n_items_of_corrections(ranks, settings), settings)
    return expected_moments(distribution, vectors)


@lru_cache(maxsize=4)
def estimator_vectors(n_items: int, settings: ExperimentSettings) -> Float:
    """Return estimators as vectors over sampled ranks, shape (measures, estimators, m + 1)."""
    matrix = estimator_matrix_for(settings)
    vectors = matrix(settings.corrections, settings.measures, n_items, settings.n_negatives)
    vectors.flags.writeable = False
    return vectors


def estimator_matrix_for(settings: ExperimentSettings) -> Callable[..., Float]:
    """Return `estimator_matrix` with the options of an experiment."""
    return partial(
        estimator_matrix,
        sampling=settings.correction_sampling,
        cls_nonnegative=settings.cls_nonnegative,
        rounding=settings.rounding,
        divisor=settings.divisor,
    )


def n_items_of_corrections(ranks: Ranks, settings: ExperimentSettings) -> int:
    """Return n of the corrections."""
    if settings.n_items is None:
        return ranks.mean_candidates
    return settings.n_items


def expected_moments(distribution: Float, vectors: Float) -> MeanAndSd:
    """Calculate mean and standard deviation of estimates, without simulation.

    mean = sum over u of E[v | u] / U, sd^2 = sum over u of Var[v | u] / U^2 for U users.
    `distribution` has the probability of every sampled rank of every user, shape (users, m + 1),
    and `vectors` the shape (..., m + 1). An sd below 1e-13 of the largest entry of its vector is
    rounding and returned as 0.
    """
    shape = np.shape(vectors)[:-1]
    mean = np.empty(shape)
    sd = np.empty(shape)
    for place in np.ndindex(shape):
        vector = vectors[place]
        by_user = distribution @ vector
        mean[place] = by_user.mean()
        variance = _variance(distribution, vector, by_user)
        sd[place] = np.sqrt(variance) / len(distribution)
    return MeanAndSd(mean, sd)


def _variance(distribution: Float, vector: Float, by_user: Float) -> float:
    """Sum over users of Var[v | u], from deviations, or 0 if that is rounding."""
    scale = np.abs(vector).max() or 1.0
    total = 0.0
    for rows in blocks(len(distribution), vector.size, CACHE_ENTRIES):
        deviation = (vector - by_user[rows, None]) / scale
        total += float(np.vdot(distribution[rows], np.square(deviation)))
    if total <= ROUNDING_ERROR**2 * len(distribution):
        return 0.0
    return total * scale**2


def repeated_estimates(histograms: ArrayLike, vectors: Float) -> Float:
    """Calculate the estimates of repeated experiments: histogram @ vector / users.

    `histograms` counts users at every sampled rank, shape (repetitions, m + 1), each row with the
    same positive sum. Returns shape (..., repetitions) for vectors of shape (..., m + 1).
    """
    counts = np.asarray(histograms, dtype=np.float64)
    return vectors @ counts.T / counts.sum(axis=1)


def probability_less(a: MeanAndSd, b: MeanAndSd) -> Float:
    """Approximate the probability that A's estimate comes out below an independent B's.

    Uses the normal distribution. Equal outcomes, also by rounding, count half.
    """
    difference = b.mean - a.mean
    scale = np.maximum(np.abs(a.mean), np.abs(b.mean))
    is_rounding = np.abs(difference) <= ROUNDING_ERROR * scale
    difference = np.where(is_rounding, 0.0, difference)
    return ndtr(divide_by_sd(difference, np.hypot(a.sd, b.sd)))


def divide_by_sd(difference: ArrayLike, sd: ArrayLike) -> Float:
    """Divide differences by their standard deviations; 0 / 0 is 0."""
    difference, sd = np.broadcast_arrays(np.asarray(difference, float), np.asarray(sd, float))
    differs = difference != 0.0
    certain = np.where(differs, np.copysign(np.inf, difference), 0.0)
    return np.divide(difference, sd, out=certain, where=differs & (sd != 0.0))


def read_ranks_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read one relevant item per user from several files, named by their stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    found = {path.stem: read_single_item_ranks(path) for path in paths}
    for path in paths:
        first = len(found[names[0]])
        here = len(found[path.stem])
        if here != first:
            raise InputError(f"{here} users, but {paths[0].name} has {first}", path=path)
    return found


def read_single_item_ranks(path: Path) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = as_ranks(path)
    with reading(path):
        return ranks.single()


def fewest_candidates(records: Mapping[str, Ranks]) -> int:
    """Return the least number of candidates that a user of any recommender has."""
    return min(int(ranks.n_candidates.min()) for ranks in records.values())


def join_sources(texts: Iterable[str]) -> str:
    """Join the sources of several ranks, each once, with semicolons."""
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))
