"""Shapes of the distribution of true ranks: names, factors and sentences."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.intervals.shapes import (
    describe_caveat,
    describe_shape,
    shape_factor,
    shape_name,
)


@pytest.mark.parametrize(
    ("shape", "factor", "name", "text"),
    [
        (
            "non-increasing",
            1.0,
            "non-increasing",
            "no rank is likelier than a better one",
        ),
        (1, 1.0, "non-increasing", "no rank is likelier than a better one"),
        ("none", np.inf, "none", "whatever the true ranks are"),
        (1.5, 1.5, "1.5", "no rank is more than 1.5 times as likely as a better one"),
        ("2", 2.0, "2", "no rank is more than 2 times as likely as a better one"),
        (2.0, 2.0, "2", "no rank is more than 2 times as likely as a better one"),
        ("3.10", 3.1, "3.1", "no rank is more than 3.1 times as likely as a better"),
        ("inf", np.inf, "none", "whatever the true ranks are"),
    ],
)
def test_shape_factors_and_names(shape, factor, name, text):
    assert shape_factor(shape) == factor
    assert shape_name(shape) == name
    assert text in describe_shape(shape)
    caveat = describe_caveat(shape)
    if factor == np.inf:
        assert caveat == ""
    else:
        assert caveat.endswith(f"shape {'2' if factor < 2 else 'none'} assumes less.")


@pytest.mark.parametrize("shape", ["0.99", 0.9, True, "x", None, "nan", np.nan, -2])
def test_unknown_shape_is_refused(shape):
    with pytest.raises(InputError, match=r"unknown shape .*number"):
        shape_factor(shape)
