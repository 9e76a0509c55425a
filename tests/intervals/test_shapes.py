"""Shapes of the distribution of true ranks: names and factors."""

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
    ("shape", "factor", "name"),
    [
        ("non-increasing", 1.0, "non-increasing"),
        (1, 1.0, "non-increasing"),
        (1.5, 1.5, "1.5"),
        ("2", 2.0, "2"),
        (2.0, 2.0, "2"),
        ("3.10", 3.1, "3.1"),
        ("none", np.inf, "none"),
        ("inf", np.inf, "none"),
    ],
)
def test_shape_has_a_factor_and_a_name(shape, factor, name):
    assert (shape_factor(shape), shape_name(shape)) == (factor, name)


def test_description_of_a_shape_has_its_factor():
    assert "1.5 times" in describe_shape(1.5)
    assert "times" not in describe_shape("non-increasing")
    assert "whatever" in describe_shape("none")


@pytest.mark.parametrize(
    ("shape", "wider"),
    [("non-increasing", "shape 2"), (1.9, "shape 2"), (2, "shape none"), ("none", "")],
)
def test_caveat_names_the_next_wider_shape(shape, wider):
    caveat = describe_caveat(shape)
    assert wider in caveat
    assert bool(caveat) == bool(wider)


@pytest.mark.parametrize("shape", ["0.99", 0.9, True, "x", None, "nan", np.nan, -2])
def test_unknown_shape_is_refused(shape):
    with pytest.raises(InputError, match=r"unknown shape .*number"):
        shape_factor(shape)
