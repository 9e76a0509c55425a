"""The experiment of section 6: sampled evaluations of recommenders, repeated and corrected.

A repetition is stored as the histogram of its sampled ranks. An estimator is a vector of values,
one for each sampled rank, and an estimate is the mean over users of the value at their sampled
rank: histogram times vector, divided by the number of users. Users are sampled independently, so
the expectation and the variance of an estimate follow from the distributions of sampled ranks
without simulation. The repetitions check these closed forms.
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
from sampled_metrics._base.calls import place_of
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import estimator_matrix, likely_estimates
from sampled_metrics.metrics import values
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.read.options import as_ranks
from sampled_metrics.sampling import histograms, sampled_rank_distribution, shared_histograms
from sampled_metrics_study.settings import ExperimentSettings

# A spread, or a difference of means, below this fraction of the values is taken for 0: some hundred
# units in the last place of float64, more than the sums here can lose.
ROUNDING_ERROR = 1e-13


class MeanAndSd(NamedTuple):
    """Mean and standard deviation of estimates over repeated sampling, as fractions."""

    mean: Float
    sd: Float


class Experiment(NamedTuple):
    """Outcome of repeated sampling for one recommender; all metrics are fractions.

    `exact` is the expectation over orders of the ties. `likely` is estimated from the samples of
    the first estimator.
    """

    settings: ExperimentSettings
    exact: Float  # shape (measures,)
    repeated: Float  # shape (measures, estimators, repetitions)
    expected: MeanAndSd  # over repetitions, in closed form
    uniform: MeanAndSd  # as `expected`, if all orders of tied samples were equally likely
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

    Random generators derive from the seed, the recommender's name, a stream and the repetition.

    Parameters
    ----------
    name
        Name of the recommender.
    ranks
        Full ranks of the held-out items, one per user.
    settings
        Estimators, metrics, number of negatives and repetitions.
    streams
        One name of a random stream for all estimators, or one for each. By default the settings
        decide which estimators share their samples.
    with_likely
        Whether to estimate `likely` too, which takes most of the time. Without it, `likely` has no
        repetitions.
    """
    _require_enough_candidates(name, ranks, settings)
    if settings.shared_samples and streams is None:
        sampled_histograms = _shared_histograms(name, ranks, settings)
    else:
        streams = streams or settings.estimators
        sampled_histograms = _independent_histograms(name, ranks, settings, streams)
    # A single stream serves all estimators.
    shape = (len(settings.estimators), *sampled_histograms.shape[1:])
    histograms_by_estimator = np.broadcast_to(sampled_histograms, shape)
    n = n_items_of_corrections(ranks, settings)
    vectors = estimator_vectors(n, settings)  # shape (measures, estimators, m + 1)
    repeated = np.stack(
        [
            repeated_estimates(of_estimator, vectors[:, estimator])
            for estimator, of_estimator in enumerate(histograms_by_estimator)
        ],
        axis=1,
    )
    exact = np.array([values(measure, ranks).mean() for measure in settings.measures])
    expected = expected_estimates(ranks, settings)
    uniform = expected
    if settings.ties != "random" and ranks.n_tied.any():
        uniform = expected_estimates(ranks, settings, "random")
    likely = np.empty((len(exact), 0))
    if with_likely:
        design = (settings.measures, n, settings.n_negatives, settings.correction_sampling)
        likely = likely_estimates(sampled_histograms[0], *design)
    return Experiment(
        settings=settings,
        exact=exact,
        repeated=repeated,
        expected=expected,
        uniform=uniform,
        likely=likely,
        source=ranks.source,
    )


def _require_enough_candidates(name: str, ranks: Ranks, settings: ExperimentSettings) -> None:
    """Raise InputError without users, or if a user has fewer candidates than negatives."""
    if not len(ranks):
        raise InputError(f"{name}: no rank records")
    most = int(ranks.n_candidates.min()) - 1
    if settings.sampling == Sampling.WITHOUT_REPLACEMENT and settings.n_negatives > most:
        raise InputError(
            f"{name}: experiment.n_negatives must be at most {most}, not {settings.n_negatives}, "
            f"because a user has {most + 1} candidates and sampling is without-replacement"
        )


def _generators(name: str, stream: str, settings: ExperimentSettings) -> list[np.random.Generator]:
    """Return a generator for each repetition."""
    return [generator(settings.seed, name, stream, i) for i in range(settings.repetitions)]


def _shared_histograms(name: str, ranks: Ranks, settings: ExperimentSettings) -> Int:
    """Draw histograms for estimators that share their samples.

    The settings decide whether they share the order of tied items too. Shape (1 or estimators,
    repetitions, m + 1).
    """
    streams_of_ties = ("ties",) if settings.shared_ties else settings.estimators
    return shared_histograms(
        ranks,
        settings.n_negatives,
        samples=_generators(name, "shared", settings),
        tie_generators=[_generators(name, stream, settings) for stream in streams_of_ties],
        sampling=settings.sampling,
        ties=settings.ties,
    )


def _independent_histograms(
    name: str, ranks: Ranks, settings: ExperimentSettings, streams: Sequence[str]
) -> Int:
    """Draw histograms of sampled ranks, shape (streams, repetitions, m + 1)."""
    # In one call, because all streams have the same distribution of sampled ranks.
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
    """Compute mean and standard deviation of every estimate in closed form.

    `ties` replaces the tie policy of the settings.
    """
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
    """Return the function `estimator_matrix` with the options of an experiment."""
    return partial(
        estimator_matrix,
        sampling=settings.correction_sampling,
        cls_nonnegative=settings.cls_nonnegative,
        rounding=settings.rounding,
        divisor=settings.divisor,
    )


def n_items_of_corrections(ranks: Ranks, settings: ExperimentSettings) -> int:
    """Return n, the number of items that the corrections assume."""
    if settings.n_items is None:
        return ranks.mean_candidates
    return settings.n_items


def expected_moments(distribution: Float, vectors: Float) -> MeanAndSd:
    """Calculate mean and standard deviation of estimates, without simulation.

    For U users and the value v of an estimator,

        mean = sum over u of E[v | u] / U,    sd^2 = sum over u of Var[v | u] / U^2.

    Parameters
    ----------
    distribution
        Probability of every sampled rank of every user, shape (users, m + 1).
    vectors
        Values of estimators at every sampled rank, shape (..., m + 1).

    Returns
    -------
    MeanAndSd
        Arrays of shape (...). A standard deviation below 1e-13 of the largest entry of its vector
        is rounding error and returned as 0.
    """
    shape = np.shape(vectors)[:-1]
    mean = np.empty(shape)
    sd = np.empty(shape)
    n_users = len(distribution)
    for index in np.ndindex(shape):
        vector = vectors[index]
        mean_by_user = distribution @ vector  # E[v | u]
        mean[index] = mean_by_user.mean()
        sum_of_variances = _sum_of_variances(distribution, vector, mean_by_user)
        sd[index] = np.sqrt(sum_of_variances) / n_users
    return MeanAndSd(mean, sd)


def _sum_of_variances(distribution: Float, vector: Float, mean_by_user: Float) -> float:
    """Sum Var[v | u] over users; 0 if the sum is only rounding error.

    Var[v | u] = sum over sampled ranks s of P(s | u) (v(s) - E[v | u])^2, because E[v^2] - E[v]^2
    would cancel. Values are divided by the largest one, so that rounding errors have a known size.
    """
    scale = np.abs(vector).max() or 1.0
    total = 0.0
    for rows in blocks(len(distribution), vector.size, CACHE_ENTRIES):
        deviation = (vector - mean_by_user[rows, None]) / scale
        total += float(np.vdot(distribution[rows], np.square(deviation)))
    if total <= ROUNDING_ERROR**2 * len(distribution):
        return 0.0
    return total * scale**2


def repeated_estimates(histograms: ArrayLike, vectors: Float) -> Float:
    """Calculate the estimates of repeated experiments: histogram @ vector / users.

    `histograms` counts users at every sampled rank, shape (repetitions, m + 1); all rows have the
    same positive sum. For vectors of shape (..., m + 1) the estimates have shape (...,
    repetitions).
    """
    counts = np.asarray(histograms, dtype=np.float64)
    return vectors @ counts.T / counts.sum(axis=1)


def probability_less(a: MeanAndSd, b: MeanAndSd) -> Float:
    """Approximate the probability that the estimate of A is below that of B.

    The estimates are taken as independent and normal: Phi((mean_b - mean_a) / sqrt(sd_a^2 +
    sd_b^2)). Means that are equal, up to rounding error, give a probability of one half.
    """
    raw_difference = b.mean - a.mean
    larger_mean = np.maximum(np.abs(a.mean), np.abs(b.mean))
    is_rounding_error = np.abs(raw_difference) <= ROUNDING_ERROR * larger_mean
    difference = np.where(is_rounding_error, 0.0, raw_difference)
    return ndtr(divide_by_sd(difference, np.hypot(a.sd, b.sd)))


def divide_by_sd(difference: ArrayLike, sd: ArrayLike) -> Float:
    """Divide differences by their standard deviations; 0 / 0 is 0."""
    difference, sd = np.broadcast_arrays(np.asarray(difference, float), np.asarray(sd, float))
    differs = difference != 0.0
    certain = np.where(differs, np.copysign(np.inf, difference), 0.0)
    return np.divide(difference, sd, out=certain, where=differs & (sd != 0.0))


def read_ranks_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read ranks of one held-out item per user from several files; names are the files' stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    ranks_by_name = {path.stem: read_single_item_ranks(path) for path in paths}
    for path in paths:
        n_users_of_first = len(ranks_by_name[names[0]])
        n_users = len(ranks_by_name[path.stem])
        if n_users != n_users_of_first:
            raise InputError(
                f"{n_users} users, but {paths[0].name} has {n_users_of_first}", path=path
            )
    return ranks_by_name


def read_single_item_ranks(path: Path) -> Ranks:
    """Read full ranks of one held-out item per user; anything else raises InputError."""
    ranks = as_ranks(path)
    with place_of(path):
        return ranks.single()


def fewest_candidates(records: Mapping[str, Ranks]) -> int:
    """Return the smallest number of candidates that any user of any recommender has."""
    return min(int(ranks.n_candidates.min()) for ranks in records.values())


def join_sources(texts: Iterable[str]) -> str:
    """Join the sources of several ranks with semicolons, without repeating any."""
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))
