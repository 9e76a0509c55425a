"""The smallest size, against looking at every size."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics.inference.search import geometric_sizes, smallest_from


@given(st.integers(1, 200), st.integers(2, 200))
def test_one_change_of_sign_is_found_exactly(threshold, largest):
    sizes = sorted({1, 2, 5, largest // 3 + 1, largest // 2 + 1, largest})
    found = smallest_from(lambda m: m - threshold + 0.5, sizes)
    assert found == (threshold if threshold <= largest else None)


@given(st.sets(st.integers(2, 60), max_size=30), st.floats(0.01, 100))
def test_the_last_change_between_sizes_that_show_it(wrong, height):
    """With every size given to look at, nothing is interpolated."""
    sizes = list(range(1, 62))
    found = smallest_from(lambda m: -height if m in wrong else 1.0, sizes)
    assert found == max(wrong, default=0) + 1


def test_where_it_holds_from_the_first_or_never():
    assert smallest_from(lambda _: 1.0, [3, 10]) == 3
    assert smallest_from(lambda _: -1.0, [3, 10]) is None
    assert smallest_from(lambda _: 0.0, [3, 10]) is None
    assert smallest_from(lambda m: 1.0 if m == 3 else -1.0, [3, 10]) is None
    assert smallest_from(lambda _: 1.0, [7]) == 7


@pytest.mark.parametrize("low", [-1e-9, -1.0, -math.inf])
@pytest.mark.parametrize("high", [1e-9, 1.0, math.inf])
def test_any_steepness(low, high):
    for threshold in (2, 3, 500, 999, 1000):
        calls = []

        def lead(m, threshold=threshold, calls=calls):
            calls.append(m)
            return high if m >= threshold else low

        assert smallest_from(lead, [1, 1000]) == threshold
        assert len(calls) < 300


@given(st.integers(1, 500), st.integers(0, 5000), st.integers(2, 30))
def test_geometric_sizes(smallest, more, number):
    sizes = geometric_sizes(smallest, smallest + more, number)
    assert (sizes[0], sizes[-1]) == (smallest, smallest + more)
    assert all(type(size) is int for size in sizes)
    assert len(sizes) <= number
    assert sizes == sorted(set(sizes))


def test_tolerance():
    found = smallest_from(lambda m: m - 7777, [1, 100, 10_000], tolerance=0.02)
    assert 7777 < found <= 7777 * 1.02 + 1
