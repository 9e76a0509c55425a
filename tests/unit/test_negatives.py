"""Negatives that are drawn, and tests of negatives that somebody else drew."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare, norm

from sampled_metrics import InputError
from sampled_metrics.sampling.negatives import check_negatives, draw_negatives

USERS, ITEMS, M = 300, 200, 12


def interactions(seed: int = 3) -> tuple[csr_array, csr_array]:
    """Seen and held-out items: popular ones have low numbers."""
    rng = np.random.default_rng(seed)
    seen = rng.random((USERS, ITEMS)) < 0.3 / (1 + 0.05 * np.arange(ITEMS))
    held_out = np.zeros((USERS, ITEMS), dtype=bool)
    for user in range(USERS):
        held_out[user, rng.choice(np.flatnonzero(~seen[user]))] = True
    return csr_array(seen), csr_array(held_out)


def checked(items: np.ndarray, seed: int = 3) -> dict[str, tuple[bool, float, float]]:
    seen, held_out = interactions(seed)
    user = np.repeat(np.arange(USERS), items.shape[1])
    checks = check_negatives(user, items.ravel(), seen, held_out)
    return {check.name: (check.passed, check.found, check.p_value) for check in checks}


def failed(items: np.ndarray) -> set[str]:
    return {name for name, (passed, *_) in checked(items).items() if not passed}


def uniform(seed: int = 0, m: int = M) -> np.ndarray:
    seen, held_out = interactions()
    return draw_negatives(seen + held_out, m, seed=seed)


def test_every_set_of_candidates_is_drawn_as_often():
    # Items 0 and 5 are excluded; of 1, 2, 3, 4 three are drawn.
    excluded = np.array([[1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]])
    drawn = [draw_negatives(csr_array(excluded), 3, seed=seed)[1] for seed in range(800)]
    sets = Counter(tuple(sorted(items)) for items in drawn)
    assert set(sets) == set(combinations([1, 2, 3, 4], 3))
    assert chisquare(list(sets.values())).pvalue > 1e-3


def test_negatives_of_a_user_depend_on_no_other_user():
    seen, held_out = interactions()
    excluded = csr_array(seen + held_out)
    first = draw_negatives(excluded[:10], M, seed=5)
    assert (draw_negatives(excluded, M, seed=5)[:10] == first).all()
    assert (draw_negatives(excluded, M, seed=6)[:10] != first).any()


def test_too_few_candidates_are_refused():
    with pytest.raises(InputError, match="user 1 has 1 candidates"):
        draw_negatives(csr_array(np.array([[1, 0, 0], [1, 0, 1]])), 2)


def test_uniform_negatives_pass_and_their_p_values_are_uniform():
    """At a level of 10 %, 16 data sets fail 0 to 6 times with a probability of 99.9 %."""
    found = [checked(uniform(seed)) for seed in range(16)]
    assert all(passed for checks in found[:4] for passed, *_ in checks.values())
    for name in ("uniformity", "ids", "popularity"):
        assert sum(each[name][2] < 0.1 for each in found) <= 6, name
    least = [min(each[name][2] for name in ("uniformity", "ids", "popularity")) for each in found]
    assert np.median(least) > 0.2


def test_unsound_negatives_fail():
    rng = np.random.default_rng(0)
    items = rng.integers(ITEMS, size=(USERS, M))
    assert failed(items) == {"held-out item", "seen items", "duplicates"}
    first = np.stack([np.unique(row)[:M] for row in rng.integers(ITEMS, size=(USERS, 2 * M))])
    assert {"uniformity", "ids"} <= failed(first)
    weight = interactions()[0].sum(axis=0) + 1.0
    popular = rng.choice(ITEMS, size=(USERS, M), p=weight / weight.sum())
    assert {"uniformity", "popularity"} <= failed(popular)
    assert "shared" in failed(np.tile(np.arange(M), (USERS, 1)))


def test_one_held_out_item_and_one_missing_negative_are_counted():
    _, held_out = interactions()
    items = uniform()
    items[7, 3] = held_out.indices[7]
    assert checked(items)["held-out item"][:2] == (False, 1)
    seen, held_out = interactions()
    user = np.repeat(np.arange(USERS), M)[1:]
    checks = check_negatives(user, uniform().ravel()[1:], seen, held_out)
    assert {check.name: check.found for check in checks}["number"] == 1


def test_chi_square_is_pearsons_where_nothing_is_excluded():
    """Draws with replacement of users who have seen nothing: scipy's chi-square of the counts."""
    nothing = csr_array((USERS, ITEMS))
    items = np.random.default_rng(1).integers(ITEMS, size=(USERS, M))
    user = np.repeat(np.arange(USERS), M)
    checks = check_negatives(user, items.ravel(), nothing, nothing)
    found = {check.name: check.found for check in checks}["uniformity"]
    assert found == pytest.approx(chisquare(np.bincount(items.ravel(), minlength=ITEMS)).statistic)


def test_p_value_of_a_mean_place_by_hand():
    """Two of places 1 ... 5, at 1 and 2: variance 2/2 (5 - 2)/(5 - 1) of their mean, 3/2 below 3.

    Item 5 is held out. Holm's method takes the least of three p-values three times.
    """
    held_out = csr_array(np.eye(1, 6, k=5))
    checks = check_negatives(np.array([0, 0]), np.array([0, 1]), csr_array((1, 6)), held_out)
    found = {check.name: check for check in checks}
    assert found["ids"].p_value == pytest.approx(3 * 2 * norm.sf(1.5 / np.sqrt(3 / 4)))
    assert (found["ids"].found, found["ids"].expected) == pytest.approx((1 / 6, 2.5 / 6))
    assert {found[name].expected for name in ("seen items", "duplicates", "number")} == {0.0}


def test_all_candidates_as_negatives_pass():
    nothing = csr_array((4, 6))
    user, item = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    assert all(check.passed for check in check_negatives(user, item, nothing, nothing))


def test_remarks_and_unknown_ids(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, marked in zip(("seen", "held"), interactions(), strict=True):
        user, item = marked.nonzero()
        table = pd.DataFrame({"user_id": user, "item_id": [f"i{number:03}" for number in item]})
        table.sample(frac=1.0, random_state=0).to_csv(f"{name}.csv", index=False)
    command = ("check-negatives", "--seen", "seen.csv", "--relevant", "held.csv")
    assert "300 users have their held-out item" in run(*command, "held.csv").stdout
    pd.DataFrame({"user_id": [3, 999], "item_id": ["i001", "i002"]}).to_csv("drawn.csv")
    refused = run(*command, "drawn.csv").stderr
    assert "drawn.csv, row 2 (line 3), column user_id: found 999" in refused
    pd.concat([pd.read_csv("seen.csv"), pd.read_csv("held.csv")[:1]]).to_csv("seen.csv")
    refused = run(*command, "drawn.csv").stderr
    user, item = pd.read_csv("held.csv").iloc[0]
    assert f"seen.csv: user {user}, item {item} is both seen and held out, 1 in all" in refused
