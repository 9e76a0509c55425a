"""Sizes to look at, and the smallest one from which on something holds."""

import math
from collections.abc import Callable, Sequence

import numpy as np


def geometric_sizes(smallest: int, largest: int, number: int) -> list[int]:
    """Space whole numbers evenly on a logarithmic scale, at most `number` of them.

    Examples
    --------
    >>> geometric_sizes(1, 100, 5)
    [1, 3, 10, 32, 100]
    """
    return sorted({round(size) for size in np.geomspace(smallest, largest, number).tolist()})


def smallest_from(
    lead: Callable[[int], float], sizes: Sequence[int], tolerance: float = 0.0
) -> int | None:
    """Find the smallest size from which on `lead` is positive, up to the largest of `sizes`.

    `lead` may change its sign several times. Between the last of `sizes` at which it is not
    positive and the next one, the change is located by interpolation, until the two sides are
    neighbours or closer than `tolerance` times the size.

    Parameters
    ----------
    lead
        Positive where the condition holds; may be infinite.
    sizes
        Increasing sizes to look at first.

    Returns
    -------
    The size, or None if `lead` is not positive at the largest.

    Examples
    --------
    >>> smallest_from(lambda m: m * m - 1000.0, [1, 10, 100])
    32
    """
    last = next((i for i in reversed(range(len(sizes))) if lead(sizes[i]) <= 0.0), None)
    if last is None:
        return sizes[0]
    if last == len(sizes) - 1:
        return None
    low, high = sizes[last], sizes[last + 1]
    while high - low > max(1.0, tolerance * high):
        middle = min(
            max(round(low + _share(lead(low), lead(high)) * (high - low)), low + 1), high - 1
        )
        low, high = (middle, high) if lead(middle) <= 0.0 else (low, middle)
    return high


def _share(low: float, high: float) -> float:
    """Return where a line from `low` to `high` crosses zero, away from both ends."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.5
    return min(max(low / (low - high), 0.1), 0.9)
