"""Settings of a study's computations: ranking, exact metrics, experiments and the scorecard."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from sampled_metrics import InputError
from sampled_metrics._base import defaults
from sampled_metrics.estimators import Estimator, parse_estimator
from sampled_metrics.metrics import Measure, parse_measure
from sampled_metrics.ranks import Sampling as SamplingEnum
from sampled_metrics_study.data.settings import FileName
from sampled_metrics_study.validation import Count, Seed, Settings

N_ITEMS = 10_000  # of the toy recommenders, section 3.2


def _metric(name: str) -> str:
    """Return the canonical spelling of a metric, which files use."""
    measure = parse_measure(name)
    return measure.format_name(measure.kind)


def _estimator(name: str) -> str:
    """Return the canonical spelling of an estimator."""
    return str(parse_estimator(name))


def _no_duplicates(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries of a list; raise InputError if one is repeated."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate entry {name}")
    return names


_LIST_FIELD = (Field(strict=False, min_length=1), AfterValidator(_no_duplicates))
Metrics = Annotated[tuple[Annotated[str, AfterValidator(_metric)], ...], *_LIST_FIELD]
Estimators = Annotated[tuple[Annotated[str, AfterValidator(_estimator)], ...], *_LIST_FIELD]
TiePolicies = Annotated[
    tuple[Literal["expected", "optimistic", "pessimistic", "random"], ...], *_LIST_FIELD
]


def _sampling(name: str) -> SamplingEnum:
    """Return a sampling scheme by name; from Python 3.12 on, pydantic cannot call the class."""
    return SamplingEnum(name)


Sampling = Annotated[SamplingEnum, BeforeValidator(_sampling)]


class RankingSettings(Settings):
    """Full ranking of all candidates; none of this changes a result."""

    block_size: Count = 512
    """Users scored at a time."""
    pieces: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of jobs that share the users of a recommender."""


class ExactSettings(Settings):
    """The exact metrics of results/tables/exact.csv."""

    metrics: Metrics = defaults.DEFAULT_METRICS
    """Metrics."""
    ties: TiePolicies = ("expected",)
    """Tie policies; each has its own rows."""
    seed: Seed = 0
    """Seed of tie policy random, and of the samples of results/ranges.csv."""


class ToySettings(Settings):
    """The toy recommenders of Tables 1 and 2 (sections 3.2 and 4.2)."""

    n_negatives: Annotated[int, Field(ge=1, lt=N_ITEMS)] = 99
    """Negatives sampled for each instance, m."""
    repetitions: Annotated[int, Field(ge=2, le=1_000_000)] = 1000
    """How often the sampled evaluation is repeated."""
    sampling: Sampling = SamplingEnum.WITHOUT_REPLACEMENT
    """How negatives are drawn; distinct drops duplicates after drawing with replacement."""
    seed: Seed = 0
    """Seed of the draws."""


class ExperimentSettings(Settings):
    """Sampled and corrected metrics of the recommenders: Tables 3 and 4, Figures 5 and 6."""

    metrics: Metrics = defaults.DEFAULT_METRICS
    """Metrics."""
    estimators: Estimators = (
        "sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001",
    )  # fmt: skip
    """Estimators; gamma of eq. 25 follows the colon."""
    n_negatives: Count = 100
    """Negatives sampled for each user, m."""
    repetitions: Annotated[int, Field(ge=2, le=1_000_000)] = 100
    """How often the sampled evaluation is repeated."""
    sampling: Sampling = SamplingEnum.WITHOUT_REPLACEMENT
    """How negatives are drawn; distinct drops duplicates after drawing with replacement."""
    assumed_sampling: Sampling | None = None
    """How the corrections assume that negatives are drawn; null is as they are drawn. The paper's
    study: with-replacement."""
    ties: Literal["paper", "random", "optimistic", "pessimistic"] = "random"
    """Place of the held-out item among the T sampled items that tie with it: equally likely from 0
    to T (random) or to T - 1 (paper), 0 (optimistic) or T (pessimistic). The paper's study:
    paper, which overestimates metrics if items tie."""
    shared_samples: bool = True
    """Whether all estimators of a repetition use the same samples; otherwise each draws its own."""
    shared_ties: bool = False
    """Whether estimators that share samples also share the order of tied items; otherwise each
    draws its own."""
    n_items: Annotated[int, Field(ge=2, le=1_000_000_000)] | None = None
    """Number of items n in the corrections; null is the mean number of candidates, rounded."""
    cls_nonnegative: bool = True
    """Whether the estimates of constrained least squares (cls) must be at least 0."""
    rounding: Literal["floor", "linear"] = "floor"
    """How the metric is taken at an estimated rank between two ranks, eq. 20."""
    divisor: Literal["m", "m+1"] = "m"
    """Divisor of the estimated rank, eq. 20. The paper's study: m+1."""
    seed: Seed = 0
    """Seed of the draws."""

    @property
    def correction_sampling(self) -> SamplingEnum:
        """How the corrections assume that negatives are drawn."""
        return self.assumed_sampling or self.sampling

    @property
    def measures(self) -> list[Measure]:
        """The metrics, parsed."""
        return [parse_measure(name) for name in self.metrics]

    @property
    def corrections(self) -> list[Estimator]:
        """The estimators, parsed."""
        return [parse_estimator(name) for name in self.estimators]


class ScorecardSettings(Settings):
    """Comparison with the published tables."""

    published: FileName = "config/paper/tables.csv"
    """The published cells, CSV."""
    spread: FileName = "results/reference/spread.csv"
    """Standard deviation of each cell over choices that the paper does not specify, CSV."""
    band: FileName = "results/reference/band.csv"
    """Lowest and highest curves of Figure 6 over random starts, CSV."""
