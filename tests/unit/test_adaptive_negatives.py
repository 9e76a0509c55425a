"""Numbers of negatives that adapt to the user: draws, and the distribution fitted to them."""

import numpy as np
import pytest
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.adaptive import Cells, adaptive_em
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import draw_adaptively


def test_doubles_until_one_is_above_or_all_are_drawn():
    n = 101
    ranks = Ranks([n] * 4000, [0, 100, 1, 7] * 1000, [0] * 4000)
    drawn, above = draw_adaptively(ranks, 5, np.random.default_rng(0))
    first, last, second, eighth = (slice(i, None, 4) for i in range(4))
    assert (drawn[first] == 100).all()
    assert (above[first] == 0).all()
    assert (drawn[last] == 5).all()
    assert (above[last] == 5).all()
    assert (above[second] == 1).all()
    assert set(drawn) <= {5, 10, 20, 40, 80, 100}
    # One better candidate is among the first m of 100 with probability m / 100.
    share = [(drawn[second] <= m).mean() for m in (5, 10, 20, 40, 80)]
    np.testing.assert_allclose(share, [0.05, 0.1, 0.2, 0.4, 0.8], atol=0.06)
    # None of seven better ones among the first 5 with probability C(93, 5) / C(100, 5).
    none = stats.hypergeom.pmf(0, 100, 7, 5)
    assert (drawn[eighth] > 5).mean() == pytest.approx(none, abs=0.06)


def test_is_bounded():
    ranks = Ranks([101] * 10, [0] * 10, [0] * 10)
    drawn, above = draw_adaptively(ranks, 5, np.random.default_rng(0), largest=30)
    assert (drawn == 30).all()
    assert not above.any()
    with pytest.raises(InputError, match="start is 5"):
        draw_adaptively(ranks, 5, np.random.default_rng(0), largest=4)


def test_em_by_loops():
    n, drawn, above = 9, np.array([2, 2, 2, 4, 4, 8, 2]), np.array([0, 1, 2, 1, 3, 0, 1])
    p = [1 / n] * n
    for _ in range(20):
        new = [0.0] * n
        for m, i in zip(drawn, above, strict=True):
            chance = [p[r] * stats.hypergeom.pmf(i, n - 1, r, m) for r in range(n)]
            for r in range(n):
                new[r] += chance[r] / sum(chance) / len(drawn)
        p = new
    np.testing.assert_allclose(adaptive_em(drawn, above, n, 20), p, rtol=0, atol=1e-13)


def test_cells_count_users_and_large_tables_have_all_columns():
    cells = Cells.of(np.array([4, 2, 4]), np.array([1, 0, 1]))
    assert cells.users.tolist() == [1, 2]
    # 60 of 80 above needs more columns than are kept.
    p = adaptive_em(np.array([80, 80]), np.array([60, 3]), 101, 200)
    rank = np.arange(1, 102)
    assert abs(rank[60:] @ p[60:] / p[60:].sum() - 76) < 3


def test_many_users_reveal_their_ranks():
    rng = np.random.default_rng(1)
    better = np.minimum(rng.geometric(0.1, 6000) - 1, 199)
    ranks = Ranks([200] * 6000, better, [0] * 6000)
    p = adaptive_em(*draw_adaptively(ranks, 10, rng), 200, 50)
    assert p.sum() == pytest.approx(1)
    exact = np.cumsum(np.bincount(better, minlength=200)) / 6000
    np.testing.assert_allclose(np.cumsum(p), exact, atol=0.05)
