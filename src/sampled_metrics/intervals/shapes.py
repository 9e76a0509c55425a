"""Shapes: classes of distributions of the true rank that a range may assume.

In the class of a factor, no rank near the top is more than `factor` times as likely as any before
it: the distribution lies between a non-increasing q and `factor` q. The shape `non-increasing`
has factor 1, `none` an infinite one. It is the parameter of a sensitivity analysis, as Rosenbaum's
is of observational studies: how far may an assumption fail before a conclusion does?
"""

import math
from contextlib import suppress
from numbers import Real

from sampled_metrics._base.errors import InputError, format_value

NON_INCREASING, NONE = SHAPES = ("non-increasing", "none")
EXPECTED = "non-increasing, none, or a number of at least 1"
MOST_FACTOR = 16.0  # that is tried out
_NEAR_TOP = "near the top "
BEFORE_LAST = "before the last "
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
    """Write a shape as results have it."""
    factor = shape_factor(shape)
    if factor == 1.0:
        return NON_INCREASING
    if factor == math.inf:
        return NONE
    return f"{factor:g}"


def describe_shape(shape: str | float, where: str = _NEAR_TOP) -> str:
    """Put an assumption in words, to follow a comma."""
    factor = shape_factor(shape)
    if factor == math.inf:
        return "whatever the true ranks are"
    if factor == 1.0:
        return f"assuming that {where}no rank is likelier than a better one"
    return f"assuming that {where}no rank is more than {factor:g} times as likely as a better one"


def describe_caveat(shape: str | float) -> str:
    """Return a sentence on how far an assumption can be checked; empty without an assumption."""
    factor = shape_factor(shape)
    if factor == math.inf:
        return ""
    weaker = "2" if factor < 2.0 else NONE
    return f"assumption: sampled ranks cannot confirm it. {_FAILS}; shape {weaker} assumes less."
