"""The sampled experiment on one recommender: repetitions, closed forms, exact values (section 6).

All that is kept of a repetition is the histogram of its sampled ranks; an estimate is that
histogram times the estimator's vector.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.numbers import check_number
from sampled_metrics._base.seeds import generator
from sampled_metrics.estimators import (
    DIVISORS,
    ROUNDINGS,
    Estimator,
    estimator_matrix,
)
from sampled_metrics.inference.moments import Moments, estimates, expected_moments
from sampled_metrics.metrics import Measure, values
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import TIES, histograms, sampled_rank_distribution

_CHOICES: dict[str, tuple[object, ...]] = {
    "sampling": tuple(Sampling),
    "ties": TIES,
    "assumed_sampling": tuple(Sampling),
    "rounding": ROUNDINGS,
    "divisor": DIVISORS,
    "shared_samples": (True, False),
    "cls_nonnegative": (True, False),
}


@dataclass(frozen=True)
class ExperimentSettings:
    """What is sampled and how it is corrected; the defaults are the paper's, as far as known.

    Attributes
    ----------
    n_negatives, repetitions, seed
        m, how often, and the study's seed.
    sampling
        How negatives are drawn, a `Sampling`.
    ties
        Place of the held-out item among sampled ties: `random`, `paper` and others, see
        `sampling.sampled_rank_distribution`.
    shared_samples
        Whether all estimators of a repetition see the same samples; else each draws its own.
    n_items
        n of the corrections; None is the mean number of candidates, rounded.
    assumed_sampling
        How the estimators take the negatives to be drawn, a `Sampling`.
    cls_nonnegative, rounding, divisor
        Of the estimators, see `estimators.estimator_matrix`.

    Raises
    ------
    InputError
        A number is out of its range or a name is not known.
    """

    n_negatives: int = 100
    repetitions: int = 100
    seed: int = 0
    sampling: str = "without-replacement"
    ties: str = "paper"
    shared_samples: bool = False
    n_items: int | None = None
    assumed_sampling: str = Sampling.WITH_REPLACEMENT.value
    cls_nonnegative: bool = True
    rounding: str = "floor"
    divisor: str = "m+1"

    def __post_init__(self) -> None:
        for name, least in (("n_negatives", 1), ("repetitions", 2), ("seed", 0), ("n_items", 2)):
            if name != "n_items" or self.n_items is not None:
                check_number(f"experiment: {name}", getattr(self, name), least=least)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"experiment: {name} is {getattr(self, name)!r}; "
                    f"allowed: {', '.join(map(str, allowed))}"
                )

    def corrected_items(self, records: Ranks) -> int:
        """N of the corrections for some records.

        >>> ExperimentSettings().corrected_items(Ranks([10, 13], [0, 0], [0, 0]))
        12
        """
        return records.mean_candidates if self.n_items is None else self.n_items

    def vectors(
        self, records: Ranks, estimators: list[Estimator], measures: list[Measure]
    ) -> Float:
        """Estimators as vectors over sampled ranks, shape (measures, estimators, m + 1)."""
        return estimator_matrix(
            estimators,
            measures,
            self.corrected_items(records),
            self.n_negatives,
            sampling=self.assumed_sampling,
            cls_nonnegative=self.cls_nonnegative,
            rounding=self.rounding,
            divisor=self.divisor,
        )


@dataclass(frozen=True)
class Experiment:
    """Outcome for one recommender, as fractions.

    Attributes
    ----------
    settings, users
        How it was done, and for how many users.
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

    settings: ExperimentSettings
    users: int
    measures: list[Measure]
    estimators: list[Estimator]
    exact: Float
    repeated: Float
    expected: Moments
    source: str

    @property
    def design(self) -> dict[str, Any]:
        """What must agree before two experiments are compared."""
        return {
            "settings": self.settings,
            "users": self.users,
            "measures": [str(measure) for measure in self.measures],
            "estimators": [str(estimator) for estimator in self.estimators],
        }


def run_experiment(
    name: str,
    records: Ranks,
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
    counts = draw(name, records, estimators, settings, range(settings.repetitions))
    return corrected(records, estimators, measures, settings, counts, source)


def draw(
    name: str,
    records: Ranks,
    estimators: list[Estimator],
    settings: ExperimentSettings,
    repetitions: range,
) -> Int:
    """Draw some repetitions of the sampled evaluation.

    They do not depend on those beside them, so an experiment may be drawn in pieces.

    Returns
    -------
    Histograms of sampled ranks; int64, shape (streams, repetitions, m + 1), see `streams`.

    Raises
    ------
    InputError
        As for `run_experiment`.
    """
    if not len(records):
        raise InputError(f"{name}: no rank record; expected at least one")
    _check_candidates(name, records, settings)
    drawn = streams(estimators, settings)
    generators = [
        generator(settings.seed, name, stream, repetition)
        for stream in drawn
        for repetition in repetitions
    ]
    counts = histograms(records, settings.n_negatives, generators, settings.sampling, settings.ties)
    return counts.reshape(len(drawn), len(repetitions), settings.n_negatives + 1)


def _check_candidates(name: str, records: Ranks, settings: ExperimentSettings) -> None:
    most = int(records.n_candidates.min()) - 1
    if settings.sampling == "without-replacement" and settings.n_negatives > most:
        raise InputError(
            f"{name}: experiment: n_negatives is {settings.n_negatives}; allowed: at most {most}, "
            f"for a user has {most + 1} candidates and sampling is without-replacement"
        )


def streams(estimators: list[Estimator], settings: ExperimentSettings) -> list[str]:
    """Name what draws samples of its own: every estimator, or all of them together."""
    return ["shared"] if settings.shared_samples else [str(each) for each in estimators]


def corrected(
    records: Ranks,
    estimators: list[Estimator],
    measures: list[Measure],
    settings: ExperimentSettings,
    counts: Int,
    source: str = "unknown",
) -> Experiment:
    """Correct all repetitions, which `draw` has drawn, and put the closed forms beside them.

    Parameters
    ----------
    records
        At least one.
    counts
        Histograms of sampled ranks; int64, shape (streams, repetitions, m + 1).

    Raises
    ------
    InputError
        As for `run_experiment`.
    """
    distribution = sampled_rank_distribution(
        records, settings.n_negatives, settings.sampling, settings.ties
    )
    vectors = settings.vectors(records, estimators, measures)
    of_each = np.broadcast_to(counts, (len(estimators), *counts.shape[1:]))
    repeated = [estimates(of_each[i], vectors[:, i]) for i in range(len(estimators))]
    return Experiment(
        settings,
        len(records),
        measures,
        estimators,
        exact=np.array([values(measure, records).mean() for measure in measures]),
        repeated=np.stack(repeated, axis=1),
        expected=expected_moments(distribution, vectors),
        source=source,
    )
