"""The declarations of all estimators, and one spelling for each: `sampled`, `cls`, `bv:0.1`.

An estimator is declared by decorating the function that makes its vectors with `register`. The
vectors of a fitted estimator, such as `em:50`, depend on the sampled ranks it is applied to.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.names import parse_list, plain, similar
from sampled_metrics.estimators.system import Normal, Reduced, normal_equations, reduced
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling

_MOST_ITERATIONS = 1000
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.ASCII | re.IGNORECASE)


class Parameter(NamedTuple):
    """Which values a parameter may have, in words and as a test."""

    values: str
    allows: Callable[[float], bool]


PARAMETERS = {
    "gamma": Parameter("a number from 0 to 1", lambda value: 0.0 <= value <= 1.0),
    "iterations": Parameter(
        f"a whole number from 1 to {_MOST_ITERATIONS}",
        lambda value: 1.0 <= value <= _MOST_ITERATIONS and value == int(value),
    ),
}


@dataclass(frozen=True)
class Problem:
    """What vectors are made for; the attributes are those of `estimator_matrix`."""

    measures: Sequence[Measure]
    n: int
    m: int
    sampling: Sampling | str
    prior: ArrayLike | None = None
    cls_nonnegative: bool = True
    rounding: str = "floor"
    divisor: str = "m+1"
    histogram: ArrayLike | None = None
    linearised: bool = True

    @cached_property
    def system(self) -> Reduced:
        """Least-squares problem of eq. 21, shared by all estimators that solve it."""
        return reduced(self.measures, self.n, self.m, self.sampling, self.prior)

    @cached_property
    def normal(self) -> Normal:
        """Normal equations of the same problem."""
        return normal_equations(self.measures, self.n, self.m, self.sampling, self.prior)


@dataclass(frozen=True)
class Declaration:
    """An estimator as `register` knows it.

    Attributes
    ----------
    label
        Its name in tables.
    vectors
        Makes the vectors of all measures of a `Problem`, shape (measures, m + 1), indexed by
        sampled rank - 1. Takes the parameter as its second argument if there is one.
    parameter
        Name of its parameter, one of `PARAMETERS`, or None.
    fitted
        Whether the vectors depend on `Problem.histogram`.
    """

    label: str
    vectors: Callable[..., Float]
    parameter: str | None
    fitted: bool


DECLARED: dict[str, Declaration] = {}


def register(
    name: str, label: str, parameter: str | None = None, fitted: bool = False
) -> Callable[[Callable[..., Float]], Callable[..., Float]]:
    """Declare an estimator; decorates the function that makes its vectors.

    Parameters
    ----------
    name
        How it is spelled in commands and settings, before the colon of the parameter.
    label, parameter, fitted
        See `Declaration`.

    Examples
    --------
    >>> import numpy as np
    >>> @register("blind", label="Blind")
    ... def blind(problem):
    ...     return np.full((len(problem.measures), problem.m + 1), 0.5)
    >>> parse_estimator("blind").label
    'Blind'
    >>> _ = DECLARED.pop("blind")
    """

    def declare(vectors: Callable[..., Float]) -> Callable[..., Float]:
        if name in DECLARED:
            raise InputError(f"estimator {name!r} is already registered")
        DECLARED[name] = Declaration(label, vectors, parameter, fitted)
        return vectors

    return declare


@dataclass(frozen=True)
class Estimator:
    """A declared estimator with the value of its parameter, printed and parsed as one name.

    Attributes
    ----------
    name
        `sampled`, `rank-estimate`, `cls`, `bv` or another declared one.
    parameter
        Its parameter, such as gamma of eq. 24 and 25; None if it has none.
    """

    name: str
    parameter: float | None = None

    def __post_init__(self) -> None:
        declared = DECLARED.get(self.name)
        if declared is None or (declared.parameter is None) != (self.parameter is None):
            raise _unknown(str(self))
        kind = declared.parameter
        if kind and self.parameter is not None and not PARAMETERS[kind].allows(self.parameter):
            raise _unknown(str(self))

    def __str__(self) -> str:
        if self.parameter is None:
            return self.name
        return f"{self.name}:{repr(float(self.parameter)).removesuffix('.0')}"

    @property
    def label(self) -> str:
        """Name in tables.

        Examples
        --------
        >>> [parse_estimator(name).label for name in ("rank-estimate", "bv:0.1")]
        ['Rank Estimate', 'BV 0.1']
        """
        label = DECLARED[self.name].label
        return label if self.parameter is None else f"{label} {self.parameter:g}"

    @property
    def fitted(self) -> bool:
        """Whether its vectors depend on the sampled ranks that it is applied to."""
        return DECLARED[self.name].fitted

    def vectors(self, problem: Problem) -> Float:
        """Make the vectors of all measures, shape (measures, m + 1)."""
        if self.fitted and problem.histogram is None:
            raise InputError(
                f"{self} is fitted to sampled ranks and has no fixed vector, which is needed here; "
                "leave it out"
            )
        parameters = () if self.parameter is None else (self.parameter,)
        return DECLARED[self.name].vectors(problem, *parameters)


def parse_estimator(text: str) -> Estimator:
    """Read an estimator from its name; an error lists the names that are known.

    Examples
    --------
    >>> parse_estimator("bv:0.1")
    Estimator(name='bv', parameter=0.1)
    >>> [str(parse_estimator(name)) for name in ("cls", "bv:1.0", "bv:1e-3")]
    ['cls', 'bv:1', 'bv:0.001']
    """
    name, colon, parameter = plain(text).partition(":")
    if not colon:
        return Estimator(name)
    if not _NUMBER.fullmatch(parameter):
        raise _unknown(text)
    return Estimator(name, float(parameter))


def parse_estimators(names: str | Sequence[str | Estimator]) -> list[Estimator]:
    """Return the estimators of one name, of several separated by commas, or of a sequence."""
    return parse_list(names, "estimators", parse_estimator)


def _unknown(text: str) -> InputError:
    parameters = {name: declared.parameter for name, declared in DECLARED.items()}
    known = (f"{name}:{each.upper()}" if each else name for name, each in parameters.items())
    values = (
        f"{name.upper()} {PARAMETERS[name].values}"
        for name in dict.fromkeys(filter(None, parameters.values()))
    )
    meant = similar(text, list(DECLARED))
    return InputError(
        f"unknown estimator {text!r};{meant} known: {', '.join(known)} ({', '.join(values)})"
    )
