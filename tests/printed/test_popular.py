"""Printed metrics among negatives by popularity: the exact metric is in the range."""

from itertools import permutations

import numpy as np
import pytest

import sampled_metrics as sm

N, M = 400, 40
COUNTS = 500 / np.arange(1, N + 1) ** 0.9


def better_items(taste, noise, rng):
    """Return for each of 3,000 users which items are above the held-out one."""
    users = np.arange(3000)
    scores = taste * np.log(COUNTS) + noise * rng.normal(size=(users.size, N))
    held_out = rng.choice(N, users.size, p=COUNTS / COUNTS.sum())
    scores[users, held_out] += 2.0
    better = scores > scores[users, held_out][:, None]
    return better, held_out


def printed_hit_rates(better, held_out, power, rng):
    """Draw M negatives of each user without replacement, and return HR@1, HR@5 and HR@10."""
    keys = power * np.log(COUNTS) + rng.gumbel(size=better.shape)
    keys[np.arange(len(better)), held_out] = -np.inf
    drawn = np.argpartition(-keys, M, axis=1)[:, :M]
    n_better = np.take_along_axis(better, drawn, axis=1).sum(axis=1)
    return {f"HR@{k}": f"{(n_better < k).mean():.4f}" for k in (1, 5, 10)}


@pytest.mark.parametrize("power", [1.0, 0.75])
@pytest.mark.parametrize(("taste", "noise"), [(1.0, 1.0), (2.0, 1.0), (0.5, 2.0)])
def test_range_contains_the_exact_metric(taste, noise, power):
    rng = np.random.default_rng(2)
    better, held_out = better_items(taste, noise, rng)
    printed = printed_hit_rates(better, held_out, power, rng)
    about = {"n_items": N, "n_negatives": M, "n_users": len(better)}
    counts = dict(enumerate(COUNTS))
    results = sm.reported(printed, "HR@10,MRR", counts=counts, power=power, **about)
    rank = 1 + better.sum(axis=1)
    for result, exact in zip(results, [(rank <= 10).mean(), (1 / rank).mean()], strict=True):
        assert result.range_low < exact < result.range_high
        assert result.likely is None
        assert result.power == power


def draws_in_order(counts, m):
    """Return each ordered draw of m items in proportion to counts, with its probability."""
    for order in permutations(range(len(counts)), m):
        probability, left = 1.0, sum(counts)
        for item in order:
            probability *= counts[item] / left
            left -= counts[item]
        yield order, probability


@pytest.mark.parametrize("m", [1, 2, 3])
def test_likeliest_items_give_most_better_negatives(m):
    """Of all sets of 2 of 5 items, the two with the highest counts are drawn most, by any limit."""
    counts = [6, 4, 3, 2, 1]
    tails = {}
    for first in range(5):
        for second in range(first):
            found = np.zeros(3)
            for order, probability in draws_in_order(counts, m):
                found[len({first, second} & {*order})] += probability
            tails[second, first] = np.cumsum(found[::-1])[::-1]
    assert all((tails[0, 1] >= tail - 1e-12).all() for tail in tails.values())


ABOUT = {"n_items": 2000, "n_negatives": 100, "n_users": 5000}


def range_of(**options):
    (result,) = sm.reported({"HR@10": "0.52"}, **ABOUT, **options)
    return result.range_low, result.range_high


def test_equal_counts_allow_what_uniform_negatives_do():
    equal = range_of(counts=dict.fromkeys(range(1999), 3))
    assert equal == pytest.approx(range_of(), rel=0.03)


def test_counts_to_the_power_of_0_are_equal():
    power_0 = range_of(counts=dict(enumerate(range(1, 2000))), power=0)
    assert power_0 == pytest.approx(range_of(counts=dict.fromkeys(range(1999), 3)))


def test_rows_by_popularity_have_a_range_and_no_order():
    about = {"n_items": N, "n_negatives": M, "n_users": 3000, "sampling": "popularity"}
    table = [
        {"model": "A", "HR@1": "0.50", "HR@10": "0.90", **about},
        {"model": "B", "HR@1": "0.01", "HR@10": "0.10", **about},
    ]
    without = sm.check(table, "HR@10")
    assert [row.range_low for row in without] == [None, None]
    checks = sm.check(table, "HR@10", counts=dict(enumerate(COUNTS)))
    assert checks[0].range_low > checks[1].range_high
    assert [row.likely for row in checks] == [None, None]
    assert checks.orders[0].decided == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"power": 0.5}, "counts"),
        ({"counts": {0: 1.0}}, "fewer"),
        ({"counts": dict(enumerate(COUNTS)), "power": -1}, "power"),
        ({"counts": dict(enumerate(COUNTS)), "shape": 2}, "shape"),
        ({"counts": dict.fromkeys(range(N), 1.0), "sampling": "popularity"}, "sampling"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(sm.InputError, match=words):
        sm.reported("HR@10=0.5", n_items=N, n_negatives=M, **options)
