"""The registry of estimators: names such as `cls` or `bv:0.1`, and their vectors."""

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
from sampled_metrics.metrics.measures import Measure, parse_list, suggest_names
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at, require_ranks

Vectors = TypeVar("Vectors", bound=Callable[..., Float])
_PARAMETER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class EstimatorInputs:
    """What an estimator computes its vectors from: the arguments of `estimator_matrix`.

    Attributes
    ----------
    measures
        Metrics to be estimated.
    n, m
        Candidates of a full ranking, the held-out item included, and negatives.
    sampling
        How negatives are drawn; `sampled` and `rank-estimate` do not depend on it.
    histogram
        Number of users at each sampled rank, shape (m + 1,); only for fitted estimators.
    prior
        p(r) of eq. 21 and 25 for `cls` and `bv`, shape (n,); uniform if None.
    cls_nonnegative
        Whether values of `cls` must be at least 0; they may be negative in Table 3 of the paper.
    rounding, divisor
        How `rank-estimate` computes a true rank: `floor` rounds it down and `linear` interpolates
        between whole ranks; `m` is eq. 20 as printed, `m+1` divides by one more.
    """

    measures: Sequence[Measure]
    n: int
    m: int
    sampling: Sampling | str
    histogram: ArrayLike | None = None
    prior: ArrayLike | None = None
    cls_nonnegative: bool = True
    rounding: str = "floor"
    divisor: str = "m+1"

    @cached_property
    def system(self) -> ReducedSystem:
        """The least-squares problem of eq. 21, which several estimators solve."""
        return reduce_system(self.measures, self.n, self.m, self.sampling, self.prior)

    @cached_property
    def n_users(self) -> float:
        """Number of users in the histogram; a fraction if rows of one user count in part."""
        return float(np.asarray(self.histogram, dtype=np.float64).sum())

    @cached_property
    def shares(self) -> Float:
        """Share of the users at each sampled rank; shape (m + 1,)."""
        counts = np.asarray(self.histogram, dtype=np.float64)
        if counts.shape != (self.m + 1,) or self.n_users <= 0.0:
            raise InputError(
                f"histogram has shape {counts.shape}, sum {self.n_users:g}; expected "
                f"{self.m + 1} counts"
            )
        return counts / self.n_users


@dataclass(frozen=True)
class Declaration:
    """An estimator without the value of its parameter, made by `register`."""

    label: str  # name in tables
    vectors: Callable[..., Float]  # from `EstimatorInputs` to shape (measures, m + 1)
    parameter: str | None = None  # name of the second argument of `vectors`
    values: str = ""  # description of the allowed values of the parameter
    allows: Callable[[float], bool] = bool  # whether a value of the parameter is allowed
    fitted: bool = False  # whether the vectors depend on `EstimatorInputs.histogram`


REGISTERED_ESTIMATORS: dict[str, Declaration] = {}


def register(name: str, label: str, **options: Any) -> Callable[[Vectors], Vectors]:
    """Register the decorated function as an estimator.

    Parameters
    ----------
    name, label
        Its name, and its name in tables.
    options
        Further attributes of `Declaration`.
    """

    def decorate(vectors: Vectors) -> Vectors:
        if name in REGISTERED_ESTIMATORS:
            raise InputError(f"estimator {name!r} is already registered")
        REGISTERED_ESTIMATORS[name] = Declaration(label, vectors, **options)
        return vectors

    return decorate


@dataclass(frozen=True)
class Estimator:
    """A registered estimator with the value of its parameter; its text is a name such as bv:0.1."""

    name: str
    parameter: float | None = None

    def __post_init__(self) -> None:
        declaration = REGISTERED_ESTIMATORS.get(self.name)
        if declaration is None or (declaration.parameter is None) != (self.parameter is None):
            raise _unknown_estimator(str(self))
        if self.parameter is not None and not declaration.allows(self.parameter):
            raise _unknown_estimator(str(self))

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
    """Return the estimator with a name; InputError lists the known names.

    Examples
    --------
    >>> [str(parse_estimator(name)) for name in ("cls", "bv:1.0", "bv:1e-3")]
    ['cls', 'bv:1', 'bv:0.001']
    """
    name, colon, parameter = text.strip().lower().replace("_", "-").partition(":")
    if not colon:
        return Estimator(name)
    if not _PARAMETER.fullmatch(parameter):
        raise _unknown_estimator(text)
    return Estimator(name, float(parameter))


def parse_estimators(names: str | Sequence[str | Estimator]) -> list[Estimator]:
    """Return the estimators named in a text, separated by commas, or in a sequence."""
    return parse_list(names, "estimators", parse_estimator, Estimator)


def _unknown_estimator(text: str) -> InputError:
    """Return the error for a name, or a parameter, that is not known; it lists those that are."""
    names = []
    values = []
    for name, declaration in REGISTERED_ESTIMATORS.items():
        if declaration.parameter:
            parameter = declaration.parameter.upper()
            names.append(f"{name}:{parameter}")
            values.append(f"{parameter} {declaration.values}")
        else:
            names.append(name)
    suggestion = suggest_names(text, list(REGISTERED_ESTIMATORS))
    return InputError(
        f"unknown estimator {format_value(text)};{suggestion} known: {', '.join(names)} "
        f"({', '.join(values)})"
    )


def estimator_matrix(
    estimators: Sequence[Estimator], measures: Sequence[Measure], n: int, m: int, **options: Any
) -> Float:
    """Return each estimator of each metric as a vector over sampled ranks.

    An estimate is the mean of a vector over the sampled ranks of the users: histogram @ vector /
    n_users.

    Parameters
    ----------
    estimators, measures
        What to compute.
    n, m
        Candidates of a full ranking, and negatives.
    options
        Further attributes of `EstimatorInputs`; `sampling` is required.

    Returns
    -------
    float64, shape (measures, estimators, m + 1); entry i of the last axis is sampled rank i + 1.

    Examples
    --------
    >>> estimators = [parse_estimator(name) for name in ("sampled", "rank-estimate", "cls")]
    >>> measures = [Measure("recall", 10)]
    >>> vectors = estimator_matrix(estimators, measures, 3541, 100, sampling="with-replacement")
    >>> vectors[0, :, 0]
    array([1.        , 1.        , 0.48763849])
    """
    inputs = EstimatorInputs(measures, n, m, **options)
    require_ranks(1, n, m, inputs.sampling)
    vectors = np.empty((len(measures), len(estimators), m + 1))
    with one_thread():
        for column, estimator in enumerate(estimators):
            if measures:
                vectors[:, column] = _compute_vectors(estimator, inputs)
    return vectors


def _compute_vectors(estimator: Estimator, inputs: EstimatorInputs) -> Float:
    """Return an estimator of each metric as vectors, shape (measures, m + 1)."""
    declaration = REGISTERED_ESTIMATORS[estimator.name]
    if declaration.fitted and inputs.histogram is None:
        raise InputError(f"{estimator} has no fixed vector, which is needed here; drop it")
    if estimator.parameter is None:
        return declaration.vectors(inputs)
    return declaration.vectors(inputs, estimator.parameter)


register("sampled", label="Sampled")(  # the metric of a ranking of m + 1 items
    lambda inputs: np.array([measure.sampled_values(inputs.m) for measure in inputs.measures])
)


@register("rank-estimate", label="Rank Estimate")
def _rank_estimate(inputs: EstimatorInputs) -> Float:
    """Metric M at an estimate of the true rank, eq. 20: M(1 + (n - 1)(sampled rank - 1) / divisor).

    The estimate is rounded down, or M is interpolated between the whole ranks beside it.
    """
    divisors = {"m": inputs.m, "m+1": inputs.m + 1}
    if inputs.rounding not in ("floor", "linear") or inputs.divisor not in divisors:
        raise InputError(
            f"rounding {inputs.rounding!r}, divisor {inputs.divisor!r}; "
            "known: floor, linear; m, m+1"
        )
    divisor = divisors[inputs.divisor]
    better_negatives = np.arange(inputs.m + 1)
    # Whole numbers, because quotients of floats may fall below the whole number that they are.
    better_items, remainder = np.divmod((inputs.n - 1) * better_negatives, divisor)
    values = _metrics_at_ranks(inputs, 1 + better_items)
    if inputs.rounding == "floor":
        return values
    next_values = _metrics_at_ranks(inputs, 2 + better_items)  # at n + 1 they have weight 0
    return values + remainder / divisor * (next_values - values)


def _metrics_at_ranks(inputs: EstimatorInputs, ranks: Int) -> Float:
    """Return the metrics at true ranks, shape (measures, ranks)."""
    return np.array([measure.value_at(ranks, inputs.n) for measure in inputs.measures])


register("cls", label="CLS")(
    lambda inputs: solve_monotone(inputs.system, nonnegative=inputs.cls_nonnegative)
)
register(
    "bv",
    label="BV",
    parameter="gamma",
    values="a number from 0 to 1",
    allows=lambda gamma: 0.0 <= gamma <= 1.0,
)(lambda inputs, gamma: solve_bias_variance(inputs.system, gamma))


def em_step(probabilities: Float, weights: Float, shares: Float) -> Float:
    """Take one step of expectation maximisation for the distribution of true ranks.

    The step takes p(r) to p(r) sum_i f_i P(i | r) / c_i with c_i = sum_r p(r) P(i | r) (Jin, Li,
    Mudrak, Gao, Liu, "On Estimating Recommendation Evaluation Metrics under Sampling", AAAI 2021).

    Parameters
    ----------
    probabilities
        P(i | r), of sampled rank i given true rank r, shape (ranks, m + 1).
    weights
        p(r), of each true rank before the step, shape (ranks,).
    shares
        f_i, of the users at each sampled rank, shape (m + 1,).
    """
    expected = probabilities.T @ weights
    expected[expected <= 0.0] = np.inf  # an impossible sampled rank then counts for nothing
    return weights * (probabilities @ (shares / expected))


@register(
    "em",
    label="EM",
    parameter="iterations",
    values="a whole number from 1 to 1000",
    allows=lambda iterations: iterations in range(1, 1001),
    fitted=True,
)
def _em(inputs: EstimatorInputs, iterations: float) -> Float:
    """Mean metric under the distribution of true ranks after some steps from a uniform one.

    Like those of all estimators, the result is a vector over the sampled ranks for each metric,
    shape (measures, m + 1). Its mean over users is the mean metric, see `_vectors_after_em`.
    """
    n = inputs.n
    # Sums over the ranks 1 ... n are taken at nodes, each of which stands for `counts` ranks. Under
    # the uniform distribution a rank has probability 1 / n, so a node has counts / n.
    ranks, counts = rank_rule(inputs.measures, n, inputs.m)
    return _vectors_after_em(
        int(iterations),
        start=counts / n,
        probabilities=pmf_at(ranks, n, inputs.m, inputs.sampling),
        values=np.column_stack([measure.value_at(ranks, n) for measure in inputs.measures]),
        shares=inputs.shares,
    )


@register("likely", label="Likely", fitted=True)
def _likely(inputs: EstimatorInputs) -> Float:
    """Mean metric under the likeliest smooth distribution of true ranks, see `smooth`."""
    return likely_vectors(
        inputs.shares,
        inputs.n_users,
        measures=inputs.measures,
        n=inputs.n,
        m=inputs.m,
        sampling=inputs.sampling,
    )


def _vectors_after_em(
    steps: int, *, start: Float, probabilities: Float, values: Float, shares: Float
) -> Float:
    """Return mean metrics after some steps of expectation maximisation as vectors.

    A vector is the derivative of the estimate by the shares f of users at the sampled ranks. The
    estimate is homogeneous of degree 1 in f, so that f @ vector is the estimate, and the spread of
    the vector over users is its standard error to first order. Derivatives are accumulated from the
    last step to the first, see `_through_em_step`.

    Parameters
    ----------
    steps
        Number of steps.
    start
        Weights of the true ranks before the first step, shape (ranks,).
    probabilities
        Of sampled ranks given true ranks, shape (ranks, m + 1).
    values
        Metrics at the true ranks, shape (ranks, measures).
    shares
        f, shape (m + 1,).

    Returns
    -------
    shape (measures, m + 1)
    """
    weights_before_step = [start]
    for _ in range(steps - 1):
        weights_before_step.append(em_step(probabilities, weights_before_step[-1], shares))
    by_weights = values  # derivatives of the estimates by the weights after the last step
    by_shares = np.zeros((shares.size, values.shape[1]))
    for weights in reversed(weights_before_step):
        by_shares_of_step, by_weights = _through_em_step(by_weights, weights, probabilities, shares)
        by_shares += by_shares_of_step
    return by_shares.T


def _through_em_step(
    by_result: Float, weights: Float, probabilities: Float, shares: Float
) -> tuple[Float, Float]:
    """Turn derivatives by the result of `em_step` into those by its shares and its weights.

    The step takes p to p'_r = p_r sum_i f_i P(i | r) / c_i with c_i = sum_r p_r P(i | r). So with
    the derivatives v_r of an estimate by p'_r, those by f and by p are

        by f_i:  a_i = sum_r v_r p_r P(i | r) / c_i,
        by p_r:  v_r sum_i P(i | r) f_i / c_i - sum_i P(i | r) (f_i / c_i) a_i.

    Parameters
    ----------
    by_result
        v, shape (ranks, measures).
    weights, probabilities, shares
        p, P and f, as for `em_step`.

    Returns
    -------
    by_shares, by_weights
        Of shape (m + 1, measures) and (ranks, measures).
    """
    expected = (probabilities.T @ weights)[:, None]  # c
    expected[expected <= 0.0] = np.inf  # as in `em_step`
    by_shares = probabilities.T @ (by_result * weights[:, None]) / expected
    ratio = shares[:, None] / expected
    with_expected_fixed = by_result * (probabilities @ ratio)
    through_expected = probabilities @ (ratio * by_shares)
    return by_shares, with_expected_fixed - through_expected
