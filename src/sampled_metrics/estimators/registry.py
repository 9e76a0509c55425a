"""All estimators: their names, such as `cls` or `bv:0.1`, and vectors of several at once."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int, one_thread
from sampled_metrics._base.errors import InputError, shown
from sampled_metrics.estimators.least_squares import (
    Reduced,
    bias_variance,
    mean_up_to,
    monotone,
    rank_rule,
    reduced,
)
from sampled_metrics.metrics.measures import Measure, parse_list, similar
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import checked, pmf_at, sampled_rank_distribution

Vectors = TypeVar("Vectors", bound=Callable[..., Float])
# Of `likely`: log of the probability of a rank, by the log of the rank.
_SLOPE = -0.3  # usual slope
_STIFFNESS = 4.0  # of slopes: 1 / (2 * 0.35^2)
_CELLS = 100  # of ranks, in equal proportions
_MOST_STEPS = 200
_MOST_CHANGE = 2.0  # of the log of a probability by a step
_LEAST_CHANGE = 1e-8  # at which it stops
_LEAST_PROBABILITY = 1e-300
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
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
    def system(self) -> Reduced:
        """Least-squares problem of eq. 21, shared by all estimators that solve it."""
        return reduced(self.measures, self.n, self.m, self.sampling, self.prior)

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
    vectors: Callable[..., Float]  # for a `Problem`, shape (measures, m + 1)
    parameter: str | None = None  # second argument of `vectors`
    values: str = ""  # allowed values of the parameter, in words
    allows: Callable[[float], bool] = bool  # whether a number is one of them
    fitted: bool = False  # whether the vectors depend on `Problem.histogram`


DECLARED: dict[str, Declaration] = {}


def register(name: str, label: str, **options: Any) -> Callable[[Vectors], Vectors]:
    """Declare an estimator; decorates the function that makes its vectors, see `Declaration`."""

    def declare(vectors: Vectors) -> Vectors:
        if name in DECLARED:
            raise InputError(f"estimator {name!r} is already registered")
        DECLARED[name] = Declaration(label, vectors, **options)
        return vectors

    return declare


@dataclass(frozen=True)
class Estimator:
    """A declared estimator with the value of its parameter, printed and parsed as one name."""

    name: str
    parameter: float | None = None

    def __post_init__(self) -> None:
        declared = DECLARED.get(self.name)
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
        label = DECLARED[self.name].label
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
    for name, declared in DECLARED.items():
        if declared.parameter:
            parameter = declared.parameter.upper()
            known.append(f"{name}:{parameter}")
            values.append(f"{parameter} {declared.values}")
        else:
            known.append(name)
    meant = f"unknown estimator {shown(text)};{similar(text, list(DECLARED))}"
    return InputError(f"{meant} known: {', '.join(known)} ({', '.join(values)})")


def estimator_matrix(
    estimators: Sequence[Estimator], measures: Sequence[Measure], n: int, m: int, **options: Any
) -> Float:
    """Every estimator of every metric as a vector over sampled ranks.

    An estimate is the mean of its vector over users' sampled ranks: histogram @ vector / users.
    Returns float64 of shape (measures, estimators, m + 1); the last axis is sampled rank - 1.
    `options` are further attributes of `Problem`; `sampling` is required.

    Examples
    --------
    >>> estimators = [parse_estimator(name) for name in ("sampled", "rank-estimate", "cls")]
    >>> measures = [Measure("recall", 10)]
    >>> vectors = estimator_matrix(estimators, measures, 3541, 100, sampling="with-replacement")
    >>> vectors[0, :, 0]
    array([1.        , 1.        , 0.48763849])
    """
    problem = Problem(measures, n, m, **options)
    checked(1, n, m, problem.sampling)
    values = np.empty((len(measures), len(estimators), m + 1))
    with one_thread():
        for column, estimator in enumerate(estimators):
            if measures:
                values[:, column] = _vectors_of(estimator, problem)
    return values


def _vectors_of(estimator: Estimator, problem: Problem) -> Float:
    declared = DECLARED[estimator.name]
    if declared.fitted and problem.histogram is None:
        raise InputError(f"{estimator} has no fixed vector, which is needed here; drop it")
    if estimator.parameter is None:
        return declared.vectors(problem)
    return declared.vectors(problem, estimator.parameter)


register("sampled", label="Sampled")(  # the metric of a ranking of m + 1 items
    lambda problem: np.array([measure.in_sample(problem.m) for measure in problem.measures])
)


@register("rank-estimate", label="Rank Estimate")
def _rank_estimate(problem: Problem) -> Float:
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


def _at_ranks(problem: Problem, ranks: Int) -> Float:
    return np.array([measure.at(ranks, problem.n) for measure in problem.measures])


register("cls", label="CLS")(lambda problem: monotone(problem.system, problem.cls_nonnegative))
register(
    "bv",
    label="BV",
    parameter="gamma",
    values="a number from 0 to 1",
    allows=lambda gamma: 0.0 <= gamma <= 1.0,
)(lambda problem, gamma: bias_variance(problem.system, gamma))


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
def _em(problem: Problem, iterations: float) -> Float:
    """Mean metric under the distribution of true ranks after some steps from a uniform one."""
    n = problem.n
    measures = problem.measures
    ranks, weights = rank_rule(measures, n, problem.m)
    given = pmf_at(ranks, n, problem.m, problem.sampling)
    values = np.column_stack([measure.at(ranks, n) for measure in measures])
    return _after_steps(int(iterations), weights / n, given, values, problem.shares)


@register("likely", label="Likely", fitted=True)
def _likely(problem: Problem) -> Float:
    """Mean metric under a likely distribution of true ranks: a smooth one, of a usual slope.

    Let g be the log of the probability of a rank as a function of x, the log of the rank. Of all g,
    it takes the one with the greatest

        D sum_i f_i log q_i - 2 int (g' + 0.3)^2 + (g'')^2 dx,   q_i = sum_r p(r) P(i | r),

    where f_i is the share of the D users at sampled rank i + 1, and p(r) the probability of rank r.
    The second term is the log density of a Gaussian process: slopes scatter by 0.35 about -0.3, and
    forget what they were over a factor of e in the rank, as those of real recommenders do (see
    `docs/measured/estimators.md`). Far above rank n/m sampled ranks say nothing, and the slope goes
    from what it is there to -0.3: ranks up to k have a share of the users like k^0.7. For AUC the
    estimate is unbiased.
    """
    cells = _rank_cells(tuple(problem.measures), problem.n, problem.m, problem.sampling)
    fit = _fit(cells, problem.shares, problem.n_users)
    value = fit.share @ cells.values
    moved = np.linalg.solve(fit.curvature, fit.lean(cells.values))
    vectors = (problem.n_users * fit.slopes.T @ moved).T  # derivatives in the shares of users
    vectors += (value - vectors @ problem.shares)[:, None]
    for place, measure in enumerate(problem.measures):
        if measure.metric.needs_candidates:
            vectors[place] = measure.in_sample(problem.m)
    return vectors


def likely_estimates(
    histograms: Int, measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str
) -> Float:
    """Estimate by `likely` from each of several samples of the same users, without vectors.

    `histograms` counts users at every sampled rank, shape (samples, m + 1). Returns shape
    (measures, samples).
    """
    users = float(histograms[0].sum())
    shares = histograms / users
    cells = _rank_cells(tuple(measures), n, m, sampling)
    found = np.column_stack([cells.values.T @ _fit(cells, f, users).share for f in shares])
    for place, measure in enumerate(measures):
        if measure.metric.needs_candidates:
            found[place] = shares @ measure.in_sample(m)
    return found


def likely_log_errors(
    histogram: ArrayLike, measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str
) -> Float:
    """Standard deviation of the log of each exact metric about `likely`, shape (measures,).

    It is that of the posterior distribution, to first order: of chance, and of what is usual above
    rank n/m. The exact metric is within a factor of exp(1.96 x) in about 95 % of the cases.
    """
    counts = np.asarray(histogram, dtype=np.float64)
    users = float(counts.sum())
    cells = _rank_cells(tuple(measures), n, m, sampling)
    fit = _fit(cells, counts / users, users)
    lean = fit.lean(cells.values)
    variance = (lean * np.linalg.solve(fit.curvature, lean)).sum(axis=0)
    return np.sqrt(np.maximum(variance, 0.0)) / (fit.share @ cells.values)


class _Cells(NamedTuple):
    """Ranks in cells of about equal width in the log of the rank."""

    widths: Int  # ranks in each cell
    given: Float  # mean probabilities of sampled ranks, shape (cells, m + 1)
    values: Float  # mean metrics, shape (cells, measures)
    usual: Float  # log of the probability of a rank, with the usual slope
    stiffness: Float  # second derivatives of the penalty


class _Fit(NamedTuple):
    """The likeliest smooth distribution of true ranks."""

    share: Float  # of users in each cell
    slopes: Float  # of the log probabilities of sampled ranks, by the log probability in a cell
    curvature: Float  # of the penalised log likelihood, with the other sign

    def lean(self, values: Float) -> Float:
        """Derivatives of mean metrics by the log probability in each cell."""
        return self.share[:, None] * (values - self.share @ values)


@lru_cache(maxsize=4)
def _rank_cells(measures: tuple[Measure, ...], n: int, m: int, sampling: Sampling | str) -> _Cells:
    """Cells of the ranks 1 ... n; not to be changed, because they are cached."""
    last = np.unique(np.geomspace(1, n, _CELLS).round().astype(np.int64))
    widths = np.diff(last, prepend=0)
    tied = Ranks(np.full(last.size, n), last - widths, widths - 1)
    given = sampled_rank_distribution(tied, m, sampling)
    sums = [np.diff(last * mean_up_to(last, measure, n), prepend=0) for measure in measures]
    x = np.log(last - (widths - 1) / 2)
    steps = np.diff(x)
    slope = np.diff(np.eye(x.size), axis=0) / steps[:, None]
    bend = np.diff(slope, axis=0)
    between = (steps[1:] + steps[:-1]) / 2
    stiffness = _STIFFNESS * ((slope.T * steps) @ slope + (bend.T / between) @ bend)
    stiffness[0, 0] += 1.0  # the level is free: probabilities are normalised
    return _Cells(widths, given, np.array(sums).T / widths[:, None], _SLOPE * x, stiffness)


def _fit(cells: _Cells, shares: Float, users: float) -> _Fit:
    """Maximise the penalised likelihood by Fisher scoring, from the usual slope."""
    density = cells.usual  # log of the probability of a rank
    for _ in range(_MOST_STEPS):
        share = cells.widths * np.exp(density - density.max())
        share /= share.sum()
        expected = np.maximum(share @ cells.given, _LEAST_PROBABILITY)
        slopes = share[:, None] * (cells.given / expected - 1.0)
        excess = slopes @ shares
        pull = users * excess - cells.stiffness @ (density - cells.usual)
        information = users * (slopes * expected) @ slopes.T + cells.stiffness
        step = np.linalg.solve(information, pull)
        size = np.ptp(step)
        density = density + step * min(1.0, _MOST_CHANGE / max(size, _LEAST_CHANGE))
        if size < _LEAST_CHANGE:
            break
    bent = np.outer(excess, share)
    curvature = (slopes * shares) @ slopes.T - np.diag(excess) + bent + bent.T
    return _Fit(share, slopes, users * curvature + cells.stiffness)


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
