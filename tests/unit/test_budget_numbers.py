"""Random keys, strata, and metrics under a Poisson law."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2, poisson

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.classes import _initial_shares
from sampled_metrics.inference.budget.estimate import Contributions
from sampled_metrics.inference.budget.rounds import posterior
from sampled_metrics.inference.budget.shuffle import hashed, permuted, stream, uniform
from sampled_metrics.inference.budget.strata import batches, edges, sizes
from sampled_metrics.inference.budget.values import (
    Metric,
    Tables,
    _poisson_means,
    over_ties,
    parse_metrics,
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 10, 25, 97, 1000])
def test_permutations_are_bijections(size: int) -> None:
    index = np.arange(size)
    for key in range(5):
        places = permuted(index, np.full(size, size), np.full(size, hashed(key)[0]))
        assert np.array_equal(np.sort(places), index)


@pytest.mark.parametrize("size", [2, 5, 6, 15, 40])
def test_permutations_place_pairs_uniformly(size: int) -> None:
    runs = 20_000
    keys = hashed(stream(3, "test"), np.arange(runs))
    first, second = (
        permuted(np.full(runs, index), np.full(runs, size), keys) for index in (0, size - 1)
    )
    counts = np.bincount(first * size + second, minlength=size * size).reshape(size, size)
    assert np.all(np.diag(counts) == 0)
    expected = runs / (size * (size - 1))
    off = counts[~np.eye(size, dtype=bool)]
    statistic = ((off - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-4, off.size - 1)


def test_uniform_numbers_depend_on_their_keys_alone() -> None:
    many = uniform(7, np.arange(100_000))
    assert uniform(7, 41)[0] == many[41]
    assert many.min() > 0 and many.max() < 1  # noqa: PT018 - one range
    counts = np.histogram(many, bins=100, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < chi2.isf(1e-4, 99)
    assert abs(np.corrcoef(many[:-1], many[1:])[0, 1]) < 0.02
    assert stream(1, "a") != stream(1, "b") != stream(2, "b")


@pytest.mark.parametrize("n", [1, 3, 5, 6, 16, 100, 3706, 30_000, 10**6])
def test_strata_cover_all_candidates(n: int) -> None:
    bounds = edges(n)
    assert bounds[0] == 0
    assert bounds[-1] == n
    assert np.all(np.diff(bounds) > 0)
    assert batches(bounds.size - 1).size == bounds.size - 1
    some = np.array([0, n // 3, n])
    assert np.array_equal(sizes(some, bounds).sum(1), some)


def test_strata_grow_geometrically() -> None:
    assert edges(30_000).tolist()[7:] == [1400, 3360, 8064, 19354, 30_000]
    assert edges(10**6).size == 16


def test_expectations_under_poisson_laws_of_small_and_large_means() -> None:
    means = np.array([2.0, 5000.0, 20_000.0])
    found = _poisson_means(parse_metrics(["ap"]), means, 4)
    support = np.arange(40_000)
    law = poisson.pmf(support, means[:, np.newaxis])
    for power in (1, 2):
        for row in range(4):
            expected = (law / (row + 1.0 + support) ** power).sum(1)
            assert found[power - 1, row] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("n", [40, 3706, 30_000])
def test_first_classes_reach_from_almost_no_better_item_to_half_of_them(n: int) -> None:
    bounds = edges(n)
    better = _initial_shares(bounds, 20) @ np.diff(bounds)
    assert np.all(np.diff(better) > 0)
    assert better[0] < 3
    assert better[-1] > 0.5 * n


def test_metrics_by_hand() -> None:
    assert Metric("recall", 2)([0, 1, 2]).tolist() == [1, 1, 0]
    assert Metric("ndcg", 2)([0, 1, 2]) == pytest.approx([1, 1 / np.log2(3), 0])
    assert Metric("ap", None)([0, 3]).tolist() == [1, 0.25]


def test_ties_are_averaged_over_orders() -> None:
    better, tied = np.array([0, 8, 3]), np.array([2, 4, 0])
    recall = over_ties(Metric("recall", 10), better, tied)
    assert recall == pytest.approx([1, 2 / 5, 1])
    average = over_ties(Metric("ap", None), better, tied)
    assert average == pytest.approx([(1 + 1 / 2 + 1 / 3) / 3, np.mean(1 / np.arange(9, 14)), 1 / 4])


@pytest.mark.parametrize("names", [["recall@10", "ndcg@5", "ap"], ["ap"], ["recall@100"]])
def test_tables_agree_with_sums_over_the_poisson_law(names: list[str]) -> None:
    metrics = parse_metrics(names)
    tables = Tables(metrics, 5000)
    better = np.array([0, 2, 7, 60, 4])
    mean = np.array([[0.002, 3.0], [12.0, 0.7], [150.0, 1.0], [5.0, 900.0], [0.0, 2500.0]])
    share = np.array([[0.3, 0.7], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8], [0.6, 0.4]])
    moments = tables.moments(share, better, mean)
    support = np.arange(6000)
    law = poisson.pmf(support, mean[:, :, np.newaxis])
    for index, metric in enumerate(metrics):
        values = metric(better[:, np.newaxis] + support)[:, np.newaxis]
        first = (share * (law * values).sum(2)).sum(1)
        second = (share * (law * values**2).sum(2)).sum(1)
        assert moments.mean[index] == pytest.approx(first, rel=2e-3, abs=2e-4)
        assert moments.variance[index] == pytest.approx(second - first**2, rel=2e-2, abs=5e-4)


def test_a_posterior_integrates_over_the_order_of_ties() -> None:
    """The mean over places of the ties, and the law of total variance, on a fine grid."""
    tables = Tables(parse_metrics(["recall@10", "ap"]), 5000)
    better = np.array([[1, 2], [0, 4], [3, 0], [1, 0]])
    tied = np.array([[2, 4], [3, 0], [0, 0], [4, 0]])
    mean = np.array([[4.0, 9.0], [1.0, 2.0], [5.0, 6.0], [12.0, 12.0]])  # better ones, unscored
    share = np.array([[0.5, 0.5], [1.0, 0.0], [0.3, 0.7], [0.5, 0.5]])
    fit = SimpleNamespace(posterior=share, share=None)
    classes = SimpleNamespace(fit=fit, unscored=lambda *_: mean)
    frame = SimpleNamespace(owner=np.arange(4))
    counts = SimpleNamespace(better=better, tied=tied, left=np.ones((4, 2)), frame=frame)
    found = posterior(counts, classes, tables, np.zeros(4, np.int64))
    for row, (known, ties) in enumerate(zip(better.sum(1), tied.sum(1), strict=True)):
        part = ties / max(2 * known + ties, 1)  # of the better items, those by the order of ties
        grid = (np.arange(2000) + 0.5) / 2000
        at = known + np.floor(grid * ties + 0.5).astype(np.int64)
        scale = 1 - part + 2 * part * grid
        moments = tables.moments(
            np.tile(share[row], (2000, 1)), at, mean[row] * scale[:, np.newaxis]
        )
        first = moments.mean.mean(1)
        second = (moments.variance + moments.mean**2).mean(1)
        # The order of ties is a quadrature with few nodes.
        assert found.mean[:, row] == pytest.approx(first, rel=0.02, abs=0.04)
        assert found.variance[:, row] == pytest.approx(second - first**2, rel=0.2, abs=0.01)


def test_what_users_add_to_an_audit_by_hand() -> None:
    phase = SimpleNamespace(
        number=0,
        users=np.array([0, 2]),
        change=np.array([[0.1, -0.2]]),
        drawn=np.array([1.0, 0.5]),
        reached=np.array([1.0, 0.5]),
        noise=np.array([0.0, 0.3]),
        variance=np.array([[0.2, 0.4]]),
    )
    view = SimpleNamespace(mean=np.array([[0.3, 0.5, 0.6]]), top=np.array([[1.0, 1.0, 1.0]]))
    audited = SimpleNamespace(view=view, phases=[phase], slack=np.zeros((2, 1)))
    found = Contributions(audited, [0], 1)
    # A user drawn for certain adds no error; the other counts 1 / 0.5 times.
    assert found.expected == pytest.approx([0.4 * (1 - 0.5) / 0.5**2])
    assert found.unseen == pytest.approx([(0 + 0.6**2 * (1 - 0.5) / 0.5**2) / 2])
    assert found.shift == pytest.approx(np.array([[0.1, 0, -0.2 / 0.5]]))
    assert found.noise == pytest.approx(np.array([[0, 0, -0.2 / np.sqrt(0.5) * 0.3]]))


@pytest.mark.parametrize("name", ["recall", "recall@0", "map", "ap@10", "ndcg@-1"])
def test_unknown_metrics(name: str) -> None:
    with pytest.raises(InputError, match="unknown metric"):
        parse_metrics([name])


def test_a_single_name_is_no_list() -> None:
    with pytest.raises(InputError, match="expected a list"):
        parse_metrics("recall@10")
