"""All estimators: their names, such as `cls` or `bv:0.1`, and vectors of several at once."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators.least_squares import (
    ReducedSystem,
    rank_rule,
    reduce_system,
    solve_bias_variance,
    solve_monotone,
)
from sampled_metrics.estimators.smooth import likely_vectors
from sampled_metrics.metrics.measures import Measure, parse_list, similar
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import checked, pmf_at

Vectors = TypeVar("Vectors", bound=Callable[..., Float])
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class EstimatorInputs:
    """Arguments of `estimator_matrix`, and the least-squares problem that follows from them."""

    measures: Sequence[Measure]
    n: int  # number of candidates, the held-out item included
    m: int  # number of negatives
    sampling: Sampling | str  # how they are drawn; not for `sampled` and `rank-estimate`
    histogram: ArrayLike | None = None  # users at every sampled rank, for fitted estimators
    prior: ArrayLike | None = None  # p(r) of eq. 21 and 25, for `cls` and `bv`; shape (n,)
    # Options of the paper's Table 3: whether entries of `cls` must be at least 0, and the rank of
    # `rank-estimate`: `linear` interpolates between whole ranks; `m` is as eq. 20 is printed.
    cls_nonnegative: bool = True
    rounding: str = "floor"
    divisor: str = "m+1"

    @cached_property
    def system(self) -> ReducedSystem:
        """Least-squares problem of eq. 21, shared by all estimators that solve it."""
        return reduce_system(self.measures, self.n, self.m, self.sampling, self.prior)

    @cached_property
    def n_users(self) -> float:
        """Users of the histogram; not whole where users have several rows."""
        return float(np.asarray(self.histogram, dtype=np.float64).sum())

    @cached_property
    def shares(self) -> Float:
        """Share of the users at every sampled rank; shape (m + 1,)."""
        counts = np.asarray(self.histogram, dtype=np.float64)
        if counts.shape != (self.m + 1,) or self.n_users <= 0.0:
            raise InputError(
                f"histogram has shape {counts.shape}, sum {self.n_users:g}; expected "
                f"{self.m + 1} counts"
            )
        return counts / self.n_users


@dataclass(frozen=True)
class Declaration:
    """An estimator as `register` knows it."""

    label: str  # its name in tables
    vectors: Callable[..., Float]  # for `EstimatorInputs`, shape (measures, m + 1)
    parameter: str | None = None  # second argument of `vectors`
    values: str = ""  # allowed values of the parameter, in words
    allows: Callable[[float], bool] = bool  # whether a number is one of them
    fitted: bool = False  # whether the vectors depend on `EstimatorInputs.histogram`


REGISTERED_ESTIMATORS: dict[str, Declaration] = {}


def register(name: str, label: str, **options: Any) -> Callable[[Vectors], Vectors]:
    """Declare an estimator; decorates the function that makes its vectors, see `Declaration`."""

    def declare(vectors: Vectors) -> Vectors:
        if name in REGISTERED_ESTIMATORS:
            raise InputError(f"estimator {name!r} is already registered")
        REGISTERED_ESTIMATORS[name] = Declaration(label, vectors, **options)
        return vectors

    return declare


@dataclass(frozen=True)
class Estimator:
    """A declared estimator with the value of its parameter, printed and parsed as one name."""

    name: str
    parameter: float | None = None

    def __post_init__(self) -> None:
        declared = REGISTERED_ESTIMATORS.get(self.name)
        if declared is None or (declared.parameter is None) != (self.parameter is None):
            raise _unknown(str(self))
        if self.parameter is not None and not declared.allows(self.parameter):
            raise _unknown(str(self))

    def __str__(self) -> str:
        if self.parameter is None:
            return self.name
        return f"{self.name}:{float(self.parameter)!r}".removesuffix(".0")

    @property
    def label(self) -> str:
        """Name in tables, such as `Rank Estimate` or `BV 0.1`."""
        label = REGISTERED_ESTIMATORS[self.name].label
        if self.parameter is None:
            return label
        return f"{label} {self.parameter:g}"


def parse_estimator(text: str) -> Estimator:
    """Return the estimator of a name; an unknown one raises InputError with the known names.

    Examples
    --------
    >>> [str(parse_estimator(name)) for name in ("cls", "bv:1.0", "bv:1e-3")]
    ['cls', 'bv:1', 'bv:0.001']
    """
    name, colon, parameter = text.strip().lower().replace("_", "-").partition(":")
    if not colon:
        return Estimator(name)
    if not _NUMBER.fullmatch(parameter):
        raise _unknown(text)
    return Estimator(name, float(parameter))


def parse_estimators(names: str | Sequence[str | Estimator]) -> list[Estimator]:
    """Return the estimators of one name, of several separated by commas, or of a sequence."""
    return parse_list(names, "estimators", parse_estimator, Estimator)


def _unknown(text: str) -> InputError:
    known = []
    values = []
    for name, declared in REGISTERED_ESTIMATORS.items():
        if declared.parameter:
            parameter = declared.parameter.upper()
            known.append(f"{name}:{parameter}")
            values.append(f"{parameter} {declared.values}")
        else:
            known.append(name)
    meant = f"unknown estimator {format_value(text)};{similar(text, list(REGISTERED_ESTIMATORS))}"
    return InputError(f"{meant} known: {', '.join(known)} ({', '.join(values)})")


def estimator_matrix(
    estimators: Sequence[Estimator], measures: Sequence[Measure], n: int, m: int, **options: Any
) -> Float:
    """Every estimator of every metric as a vector over sampled ranks.

    An estimate is the mean of its vector over users' sampled ranks: histogram @ vector / users.
    Returns float64 of shape (measures, estimators, m + 1); the last axis is sampled rank - 1.
    `options` are further attributes of `EstimatorInputs`; `sampling` is required.

    Examples
    --------
    >>> estimators = [parse_estimator(name) for name in ("sampled", "rank-estimate", "cls")]
    >>> measures = [Measure("recall", 10)]
    >>> vectors = estimator_matrix(estimators, measures, 3541, 100, sampling="with-replacement")
    >>> vectors[0, :, 0]
    array([1.        , 1.        , 0.48763849])
    """
    problem = EstimatorInputs(measures, n, m, **options)
    checked(1, n, m, problem.sampling)
    values = np.empty((len(measures), len(estimators), m + 1))
    with one_thread():
        for column, estimator in enumerate(estimators):
            if measures:
                values[:, column] = _vectors_of(estimator, problem)
    return values


def _vectors_of(estimator: Estimator, problem: EstimatorInputs) -> Float:
    declared = REGISTERED_ESTIMATORS[estimator.name]
    if declared.fitted and problem.histogram is None:
        raise InputError(f"{estimator} has no fixed vector, which is needed here; drop it")
    if estimator.parameter is None:
        return declared.vectors(problem)
    return declared.vectors(problem, estimator.parameter)


register("sampled", label="Sampled")(  # the metric of a ranking of m + 1 items
    lambda problem: np.array([measure.sampled_values(problem.m) for measure in problem.measures])
)


@register("rank-estimate", label="Rank Estimate")
def _rank_estimate(problem: EstimatorInputs) -> Float:
    """Metric at an estimate of the true rank, eq. 20: M(1 + (n - 1)(sampled rank - 1)/divisor)."""
    m = problem.m
    divisors = {"m": m, "m+1": m + 1}
    if problem.rounding not in ("floor", "linear") or problem.divisor not in divisors:
        raise InputError(
            f"rounding {problem.rounding!r}, divisor {problem.divisor!r}; "
            "known: floor, linear; m, m+1"
        )
    divisor = divisors[problem.divisor]
    steps, rest = np.divmod((problem.n - 1) * np.arange(m + 1), divisor)  # exact
    values = _at_ranks(problem, 1 + steps)
    if problem.rounding == "floor":
        return values
    following = _at_ranks(problem, 2 + steps)  # beyond n with weight 0
    return values + rest / divisor * (following - values)


def _at_ranks(problem: EstimatorInputs, ranks: Int) -> Float:
    return np.array([measure.value_at(ranks, problem.n) for measure in problem.measures])


register("cls", label="CLS")(
    lambda problem: solve_monotone(problem.system, problem.cls_nonnegative)
)
register(
    "bv",
    label="BV",
    parameter="gamma",
    values="a number from 0 to 1",
    allows=lambda gamma: 0.0 <= gamma <= 1.0,
)(lambda problem, gamma: solve_bias_variance(problem.system, gamma))


def em_step(given: Float, share: Float, shares: Float) -> Float:
    """Take one step of expectation maximisation for the distribution of true ranks.

    It takes p, `share`, to p(r) sum_i f_i P(i | r) / c_i, c_i = sum_r p(r) P(i | r),
    with f, `shares`, of the users at each sampled rank and P(i | r) `given` (Jin, Li, Mudrak, Gao,
    Liu, "On Estimating Recommendation Evaluation Metrics under Sampling", AAAI 2021).
    """
    expected = given.T @ share
    expected[expected <= 0.0] = np.inf  # so that impossible ranks count for nothing
    return share * (given @ (shares / expected))


@register(
    "em",
    label="EM",
    parameter="iterations",
    values="a whole number from 1 to 1000",
    allows=lambda iterations: iterations in range(1, 1001),
    fitted=True,
)
def _em(problem: EstimatorInputs, iterations: float) -> Float:
    """Mean metric under the distribution of true ranks after some steps from a uniform one."""
    n = problem.n
    measures = problem.measures
    ranks, weights = rank_rule(measures, n, problem.m)
    given = pmf_at(ranks, n, problem.m, problem.sampling)
    values = np.column_stack([measure.value_at(ranks, n) for measure in measures])
    return _after_steps(int(iterations), weights / n, given, values, problem.shares)


@register("likely", label="Likely", fitted=True)
def _likely(problem: EstimatorInputs) -> Float:
    """Mean metric under the likeliest smooth distribution of true ranks, see `smooth`."""
    return likely_vectors(
        problem.shares, problem.n_users, problem.measures, problem.n, problem.m, problem.sampling
    )


def _after_steps(steps: int, start: Float, given: Float, values: Float, shares: Float) -> Float:
    """Mean values of a mixture after some steps of expectation maximisation, as vectors.

    `given` are the probabilities of sampled ranks and `values` the metrics by component of the
    mixture. A vector is the derivative of the estimate in the shares f of users. The estimate is
    homogeneous of degree 1 in them, so f @ vector is the estimate, with the spread of the vector to
    first order.
    """
    path = [start]
    for _ in range(steps - 1):
        path.append(em_step(given, path[-1], shares))
    slope = values  # in the weights after a step
    gradient = np.zeros((shares.size, values.shape[1]))
    for weights in reversed(path):
        expected = (given.T @ weights)[:, None]
        expected[expected <= 0.0] = np.inf
        relative = given.T @ (slope * weights[:, None]) / expected
        ratio = shares[:, None] / expected
        gradient += relative
        slope = slope * (given @ ratio) - given @ (ratio * relative)
    return gradient.T
