"""Bars of ranges on the pages, and their axes."""

from collections.abc import Sequence
from math import isnan
from typing import Any

import numpy as np

from sampled_metrics.evaluation.results import quantity


def range_bars(ranges: Sequence[Sequence[float]], marks: Sequence[float], m: int) -> dict[str, Any]:
    """Describe bars of the ranges of one metric.

    Parameters
    ----------
    ranges
        Low and high end of each bar, as fractions.
    marks
        A value to mark on each bar; nan for none.
    m
        Number of negatives.

    Returns
    -------
    dict
        `m`, the negatives in words; `bars`, a triple (low, high, mark) each, None without a mark;
        and `most`, the end of the axis.
    """
    marks_or_none = [None if isnan(mark) else mark for mark in marks]
    shown_marks = [mark for mark in marks_or_none if mark is not None]
    high_ends = [high for _, high in ranges]
    highest = max(0.0, *shown_marks, *high_ends)  # ignores nan, the end of an interval of one user
    bars = [(low, high, mark) for (low, high), mark in zip(ranges, marks_or_none, strict=True)]
    return {
        "m": quantity(m, "random item"),
        "bars": bars,
        "most": min(1.01 * highest, 1.0) or 1.0,  # a little more, so that the last mark is visible
    }


def axis_ticks(most: float) -> list[tuple[str, float]]:
    """Return the ticks of an axis from 0 to `most`: labels, and positions in percent of its length.

    The step is the smallest of 1, 2, 5 and 10 times a power of ten, in percent, that is at least a
    fifth of the axis.

    Examples
    --------
    >>> axis_ticks(0.16)
    [('0 %', 0.0), ('5 %', 31.2), ('10 %', 62.5), ('15 %', 93.8)]
    """
    least_step = 20 * most  # in percent
    power_of_ten = 10.0 ** np.floor(np.log10(least_step))
    round_steps = power_of_ten * np.array([1, 2, 5, 10])
    step = round_steps[round_steps >= least_step][0]
    ticks = np.arange(0, 100.001 * most, step)  # a tick at the end counts in spite of rounding
    return [(f"{tick:g} %", round(float(tick / most), 1)) for tick in ticks]
