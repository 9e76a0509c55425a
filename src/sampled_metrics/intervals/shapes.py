"""Shapes: what a range assumes about the distribution of true ranks.

Sampled ranks leave the distribution p of true ranks partly open, so a range needs an assumption. A
shape is a class of distributions given by a factor G >= 1. The class contains p if there is a
non-increasing q such that, near the top,

    q(r) <= p(r) <= G q(r)   for every rank r,

that is, if no rank is more than G times as likely as any better one. `non-increasing` has G = 1,
`none` has G = infinity, and a number is the factor itself. G is the parameter of a sensitivity
analysis, like Rosenbaum's in observational studies: how badly may the assumption fail before the
conclusion changes?
"""

import math
from contextlib import suppress
from numbers import Real

from sampled_metrics._base.errors import InputError, format_value

NON_INCREASING, NONE = SHAPES = ("non-increasing", "none")
EXPECTED = "non-increasing, none, or a number of at least 1"
MOST_FACTOR = 16.0  # the search for the factor up to which an order holds ends here
BEFORE_LAST = "before the last "
_NEAR_TOP = "near the top "
_FAILS = "It fails, for example, where rules fill the top places"


def shape_factor(shape: str | float) -> float:
    """Return the factor of a shape: 1 for `non-increasing`, infinity for `none`.

    Examples
    --------
    >>> shape_factor("non-increasing"), shape_factor(2), shape_factor("2.5"), shape_factor("none")
    (1.0, 2.0, 2.5, inf)
    """
    if shape == NON_INCREASING:
        return 1.0
    if shape == NONE:
        return math.inf
    factor = math.nan
    if isinstance(shape, str | Real) and not isinstance(shape, bool):
        with suppress(ValueError):
            factor = float(shape)
    if not factor >= 1.0:
        raise InputError(f"unknown shape {format_value(shape)}; expected {EXPECTED}")
    return factor


def shape_name(shape: str | float) -> str:
    """Return a shape as results show it: a name, or the factor as text.

    Examples
    --------
    >>> shape_name(1), shape_name(2.50), shape_name("inf")
    ('non-increasing', '2.5', 'none')
    """
    factor = shape_factor(shape)
    if factor == 1.0:
        return NON_INCREASING
    if factor == math.inf:
        return NONE
    return f"{factor:g}"


def describe_shape(shape: str | float, where: str = _NEAR_TOP) -> str:
    """Describe the assumption in words that can follow a comma."""
    factor = shape_factor(shape)
    if factor == math.inf:
        return "whatever the true ranks are"
    if factor == 1.0:
        return f"assuming that {where}no rank is likelier than a better one"
    return f"assuming that {where}no rank is more than {factor:g} times as likely as a better one"


def describe_caveat(shape: str | float) -> str:
    """Say that the assumption cannot be checked; empty where nothing is assumed."""
    factor = shape_factor(shape)
    if factor == math.inf:
        return ""
    weaker = "2" if factor < 2.0 else NONE
    return f"assumption: sampled ranks cannot confirm it. {_FAILS}; shape {weaker} assumes less."
