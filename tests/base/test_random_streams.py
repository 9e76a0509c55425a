"""Named streams of random numbers."""

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator


def test_generator_depends_on_seed_and_keys():
    keys = [
        (0, "a"),
        (1, "a"),
        (0, "b"),
        (0, "a", "b"),
        (0, "ab"),
        (0, 1),
        (0, "1"),
        (0,),
    ]
    first = [int(generator(seed, *names).integers(1 << 62)) for seed, *names in keys]
    assert len(set(first)) == len(keys)
    assert first == [
        int(generator(seed, *names).integers(1 << 62)) for seed, *names in keys
    ]
    with pytest.raises(InputError, match="seed"):
        generator(-1)


def test_generator_does_not_depend_on_order():
    keys = [
        (0, "X"),
        (1, "X"),
        (0, "Y"),
        (0, "X", 0),
        (0, "X", 1),
        (0, "X", "a"),
        (0, "Xa"),
    ]
    keys += [
        (0, 88),
        (0, "abcdefgh"),
        (0, "efgh", "abcd"),
        (0, "abcd", "efgh"),
        (0, ""),
        (0, 0),
    ]
    keys += [(0,), (0, "0"), (0, "X", "0"), (2**32, "X")]
    first = [generator(*key).random(4) for key in keys]
    again = [generator(*key).random(4) for key in reversed(keys)][::-1]
    np.testing.assert_array_equal(first, again)
    assert len({tuple(draws) for draws in first}) == len(keys)


def test_generator_streams_are_uncorrelated():
    draws = np.array(
        [generator(3, "X", "cls", i).standard_normal(200) for i in range(300)]
    )
    correlation = np.corrcoef(draws)[np.triu_indices(300, 1)]
    # 44,850 correlations of 200 normals: the largest is expected near 4.4 / sqrt(200) = 0.31
    assert abs(correlation).max() < 0.36
    assert abs(correlation.mean()) < 4 / np.sqrt(200 * correlation.size)
