"""P-values of several tests, adjusted for their number."""

from collections.abc import Sequence

import numpy as np

from sampled_metrics._base.errors import InputError

CORRECTIONS = ("none", "bonferroni", "holm", "bh")


def adjusted(p_values: Sequence[float], correction: str) -> list[float]:
    """Adjust p-values for their number.

    `bonferroni` and `holm` bound the probability of any wrong rejection, `bh` (Benjamini and
    Hochberg) the expected share of wrong ones.

    Examples
    --------
    >>> adjusted([0.01, 0.02, 0.6], "holm")
    [0.03, 0.04, 0.6]
    """
    if correction not in CORRECTIONS:
        raise InputError(f"unknown correction {correction!r}; known: {', '.join(CORRECTIONS)}")
    raw = np.asarray(p_values, dtype=np.float64)
    count, order = raw.size, np.argsort(raw)
    place = np.arange(1, count + 1)  # of each p-value, from the smallest
    result = raw.copy()
    if correction == "bonferroni":
        result = raw * count
    elif correction == "holm":
        result[order] = np.maximum.accumulate(raw[order] * (count + 1 - place))
    elif correction == "bh":
        result[order] = np.minimum.accumulate((raw[order] * (count / place))[::-1])[::-1]
    return np.minimum(result, 1.0).tolist()
