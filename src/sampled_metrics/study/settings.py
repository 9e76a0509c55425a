"""Settings of what the study computes from ranks."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from sampled_metrics._base import defaults
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.settings import Count, Settings
from sampled_metrics.datasets.settings import FileName
from sampled_metrics.estimators import Estimator, parse_estimator
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling as SamplingEnum

N_ITEMS = 10_000  # of the toy recommenders
REFERENCE = Path("results/reference")
_IN_USE = ("config", "docs", "resources", "src", "tests", "workflow")


def _canonical(parse: Callable[[str], object]) -> Callable[[str], str]:
    """Refuse a second spelling, which would name the same thing differently in files."""

    def check(name: str) -> str:
        if (canonical := str(parse(name))) != name:
            raise InputError(f"write {name!r} as {canonical}")
        return name

    return check


def _no_duplicates(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate entry {name}")
    return names


def _folder(path: str) -> str:
    """Spell a folder as Snakemake does, without a slash at its end; refuse one that is in use."""
    folder = Path(os.path.normpath(path))
    if folder.is_absolute() or folder.parts[:1] in {(), ("..",)}:
        raise InputError(f"{folder} is not a folder below this one; name one, such as results/own")
    # Upper and lower case are the same to some file systems.
    names = [name.lower() for name in folder.parts]
    if names[:2] == list(REFERENCE.parts):
        raise InputError(f"{folder} keeps the reference run; name another folder")
    if names[0].startswith(".") or names[0] in _IN_USE:
        raise InputError(f"{folder} is not for results; name another folder, such as results/own")
    return str(folder)


ResultsFolder = Annotated[
    str, Field(pattern="^[A-Za-z0-9._/][A-Za-z0-9._/-]*$"), AfterValidator(_folder)
]
_LIST = (Field(strict=False, min_length=1), AfterValidator(_no_duplicates))
Metrics = Annotated[tuple[Annotated[str, AfterValidator(_canonical(parse_measure))], ...], *_LIST]
Estimators = Annotated[
    tuple[Annotated[str, AfterValidator(_canonical(parse_estimator))], ...], *_LIST
]
TiePolicies = Annotated[
    tuple[Literal["expected", "optimistic", "pessimistic", "random"], ...], *_LIST
]
Sampling = Annotated[SamplingEnum, BeforeValidator(SamplingEnum)]
Seed = Annotated[int, Field(ge=0)]


class RankingSettings(Settings):
    """Full ranking of all candidates; none of this changes a result."""

    block_size: Count = 512
    """Users scored at a time."""
    pieces: Annotated[int, Field(ge=1, le=1000)] = 1
    """Jobs that share the users of a recommender."""


class ExactSettings(Settings):
    """The exact metrics of results/tables/exact.csv."""

    metrics: Metrics = defaults.METRICS
    """Metrics."""
    ties: TiePolicies = ("expected",)
    """Tie policies, each of which gives rows of its own."""
    seed: Seed = 0
    """Seed of tie policy random."""


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


class EstimateSettings(Settings):
    """Metrics, and the estimators of each."""

    metrics: Metrics
    estimators: Estimators

    @property
    def measures(self) -> list[Measure]:
        """The metrics, parsed."""
        return [parse_measure(name) for name in self.metrics]

    @property
    def corrections(self) -> list[Estimator]:
        """The estimators, parsed."""
        return [parse_estimator(name) for name in self.estimators]


class ExperimentSettings(EstimateSettings):
    """Sampled and corrected metrics of the recommenders: Tables 3 and 4, Figures 5 and 6."""

    RENAMED: ClassVar = {"noise": "assumed_sampling, with the values of sampling"}

    metrics: Metrics = defaults.METRICS
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
    assumed_sampling: Sampling = SamplingEnum.WITH_REPLACEMENT
    """How the corrections assume that negatives are drawn."""
    ties: Literal["paper", "random", "optimistic", "pessimistic"] = "paper"
    """Place of the held-out item among the T sampled items that tie with it: equally likely from 0
    to T (random) or to T - 1 (paper), 0 (optimistic) or T (pessimistic)."""
    shared_samples: bool = True
    """Whether all estimators of a repetition use the same samples, or each draws its own."""
    shared_ties: bool = False
    """Whether estimators that share samples also share the order of tied items, or each draws its
    own."""
    n_items: Annotated[int, Field(ge=2, le=1_000_000_000)] | None = None
    """n of the corrections; null is the mean number of candidates, rounded."""
    cls_nonnegative: bool = True
    """Whether the estimates of constrained least squares (cls) must be at least 0."""
    rounding: Literal["floor", "linear"] = "floor"
    """How the metric is taken at an estimated rank between two ranks, eq. 20."""
    divisor: Literal["m", "m+1"] = "m+1"
    """Divisor of the estimated rank, eq. 20, which is printed with m."""
    seed: Seed = 0
    """Seed of the draws."""


class ScorecardSettings(Settings):
    """Comparison with the published tables."""

    published: FileName = "config/paper/tables.csv"
    """The published cells, CSV."""
    spread: FileName = "results/reference/spread.csv"
    """How far each cell moves with what the paper leaves open, CSV."""
    by_start: FileName = "results/reference/starts.csv"
    """Tables of every start, CSV."""
    band: FileName = "results/reference/band.csv"
    """Lowest and highest curve of Figure 6 over the starts, CSV."""
    starts: Annotated[int, Field(ge=2, le=10_000)] = 20
    """Initialisations of the first als recommender that the spread is measured over."""
