"""Draws of negatives, and checks of negatives of others."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2, chisquare

from sampled_metrics import InputError
from sampled_metrics.evaluation.negatives import check_parts
from sampled_metrics.sampling.negatives import (
    Check,
    ScoredPairs,
    check_drawn_negatives,
    check_pairs,
    draw_negatives,
)

USERS, ITEMS, M = 300, 200, 12


def interactions() -> tuple[csr_array, csr_array]:
    """Return seen and held-out items; popular items have low numbers."""
    rng = np.random.default_rng(3)
    seen = rng.random((USERS, ITEMS)) < 0.3 / (1 + 0.05 * np.arange(ITEMS))
    held_out = np.zeros((USERS, ITEMS), dtype=bool)
    for user in range(USERS):
        held_out[user, rng.choice(np.flatnonzero(~seen[user]))] = True
    return csr_array(seen), csr_array(held_out)


def checks_of(items: np.ndarray) -> dict[str, Check]:
    seen, held_out = interactions()
    user = np.repeat(np.arange(USERS), items.shape[1])
    checks = check_drawn_negatives(user, items.ravel(), seen, held_out)
    return {check.name: check for check in checks}


def failed_checks(items: np.ndarray) -> set[str]:
    return {name for name, check in checks_of(items).items() if not check.passed}


def uniform(seed: int = 0) -> np.ndarray:
    seen, held_out = interactions()
    return draw_negatives(seen + held_out, M, seed=seed)


def test_draws_of_all_sets_are_equally_likely():
    # Items 0 and 5 are excluded; three of 1, 2, 3, 4 are drawn.
    excluded = np.array([[1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]])
    drawn = [draw_negatives(csr_array(excluded), 3, seed=seed)[1] for seed in range(800)]
    sets = Counter(tuple(sorted(items)) for items in drawn)
    assert set(sets) == set(combinations([1, 2, 3, 4], 3))
    assert chisquare(list(sets.values())).pvalue > 1e-3


def test_draws_do_not_depend_on_other_users():
    seen, held_out = interactions()
    excluded = csr_array(seen + held_out)
    first = draw_negatives(excluded[:10], M, seed=5)
    assert (draw_negatives(excluded, M, seed=5)[:10] == first).all()
    assert (draw_negatives(excluded, M, seed=6)[:10] != first).any()


def test_draws_from_too_few_candidates_are_refused():
    with pytest.raises(InputError, match="user 1"):
        draw_negatives(csr_array(np.array([[1, 0, 0], [1, 0, 1]])), 2)


@pytest.mark.long
def test_uniform_negatives_pass():
    """At a level of 10 %, 16 data sets fail 0 to 6 times with a probability of 99.9 %."""
    checks_by_seed = [checks_of(uniform(seed)) for seed in range(16)]
    for checks in checks_by_seed[:4]:
        assert all(check.passed for check in checks.values())
    p_values = [checks["uniformity"].p_value for checks in checks_by_seed]
    assert sum(p < 0.1 for p in p_values) <= 6
    assert 0.2 < np.median(p_values) < 0.8


def test_unsound_negatives_fail():
    rng = np.random.default_rng(0)
    items = rng.integers(ITEMS, size=(USERS, M))
    assert failed_checks(items) == {"held-out item", "seen items", "duplicates"}
    more = rng.integers(ITEMS, size=(USERS, 2 * M))
    first = np.stack([np.unique(row)[:M] for row in more])
    assert "uniformity" in failed_checks(first)
    weight = interactions()[0].sum(axis=0) + 1.0
    popular = rng.choice(ITEMS, size=(USERS, M), p=weight / weight.sum())
    assert "uniformity" in failed_checks(popular)
    assert "uniformity" in failed_checks(np.tile(np.arange(M), (USERS, 1)))


def test_held_out_item_is_counted():
    _, held_out = interactions()
    items = uniform()
    items[7, 3] = held_out.indices[7]
    check = checks_of(items)["held-out item"]
    assert (check.passed, check.found) == (False, 1)


def test_chi_square_matches_scipy():
    """Draws with replacement from all items, against the chi-square test of scipy."""
    nothing = csr_array((USERS, ITEMS))
    items = np.random.default_rng(1).integers(ITEMS, size=(USERS, M))
    user = np.repeat(np.arange(USERS), M)
    checks = check_drawn_negatives(user, items.ravel(), nothing, nothing)
    statistic = {check.name: check.found for check in checks}["uniformity"]
    counts = np.bincount(items.ravel(), minlength=ITEMS)
    assert statistic == pytest.approx(chisquare(counts).statistic)


def test_all_candidates_as_negatives_pass():
    nothing = csr_array((4, 6))
    user, item = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    checks = check_drawn_negatives(user, item, nothing, nothing)
    assert all(check.passed for check in checks)


def chi_square_test(n_items, drawn, candidates, share):
    """Pearson's sum over items, pooled until enough draws are expected; freedom and p-value."""
    expected, variance, counts = np.zeros((3, n_items))
    for negatives, allowed, part in zip(drawn, candidates, share, strict=True):
        for item in allowed:
            expected[item] += len(negatives) / len(allowed)
            variance[item] += part * len(negatives) / len(allowed)
        for item in negatives:
            counts[item] += 1
    groups = {}
    for item, cumulated in enumerate(np.cumsum(expected)):
        groups.setdefault(int(cumulated // 5), []).append(item)
    terms = [
        (counts[items] - expected[items]).sum() ** 2 / variance[items].sum()
        for items in groups.values()
        if variance[items].sum() > 0
    ]
    return sum(terms), len(terms) - 1, chi2.sf(sum(terms), len(terms) - 1)


def checks_by_loops(drawn, seen, held_out):
    """Found and expected numbers of `check_drawn_negatives`, by loops over users and items."""
    n_items = seen.shape[1]
    pairs = [(user, item) for user, negatives in enumerate(drawn) for item in negatives]
    n_seen = sum(seen[pair] and not held_out[pair] for pair in pairs)
    n_held = sum(any(held_out[user, negatives]) for user, negatives in enumerate(drawn))
    drawn = [
        [item for item in negatives if not held_out[user, item]]
        for user, negatives in enumerate(drawn)
    ]
    candidates = [
        [
            item
            for item in range(n_items)
            if not held_out[user, item] and (n_seen or not seen[user, item])
        ]
        for user in range(len(drawn))
    ]
    n_repeated = sum(len(negatives) - len(set(negatives)) for negatives in drawn)
    share = [1.0] * len(drawn)
    if not n_repeated:
        share = [
            1 - (len(negatives) - 1) / (max(len(allowed), 2) - 1)
            for negatives, allowed in zip(drawn, candidates, strict=True)
        ]
    expected_seen = sum(len(negatives) * seen[user].sum() for user, negatives in enumerate(drawn))
    checks = {
        "held-out item": (n_held, 0.0),
        "seen items": (n_seen, 0.0),
        "duplicates": (n_repeated, 0.0),
        "uniformity": chi_square_test(n_items, drawn, candidates, share),
    }
    return checks, expected_seen / n_items


N_USERS, N_ITEMS = 14, 24
WITHOUT_CANDIDATES = 3  # a user who has seen all items but the held-out one


def seen_and_held_out(rng):
    """Items that users have seen, the first ones more often, and one held-out item of each."""
    seen = rng.random((N_USERS, N_ITEMS)) < np.linspace(0.5, 0.1, N_ITEMS)
    held_out = np.zeros(seen.shape, dtype=bool)
    held_out[np.arange(N_USERS), rng.integers(N_ITEMS, size=N_USERS)] = True
    seen[WITHOUT_CANDIDATES] = True
    return seen & ~held_out, held_out


def draw_up_to_6(allowed, rng, repeated=False):
    """Three to six negatives of each user, as far as there are so many."""
    drawn = []
    for items in map(np.flatnonzero, allowed):
        n_negatives = min(items.size, rng.integers(3, 7))
        negatives = rng.choice(items, n_negatives, replace=repeated) if items.size else items
        drawn.append(negatives.tolist())
    return drawn


@pytest.mark.parametrize("case", ["sound", "repeated", "seen too", "held out too"])
@pytest.mark.parametrize("seed", range(4))
def test_checks_match_loops(seed, case):
    rng = np.random.default_rng(seed)
    seen, held_out = seen_and_held_out(rng)
    allowed = {"seen too": ~held_out, "held out too": ~seen}.get(case, ~seen & ~held_out)
    drawn = draw_up_to_6(allowed, rng, repeated=case == "repeated")
    if case == "held out too":  # the held-out item alone is no sample
        drawn[WITHOUT_CANDIDATES] = []
    user = np.repeat(np.arange(N_USERS), [len(negatives) for negatives in drawn])
    item = np.concatenate(drawn).astype(np.int64)
    order = rng.permutation(user.size)
    checks = check_drawn_negatives(user[order], item[order], csr_array(seen), csr_array(held_out))
    expected, expected_seen = checks_by_loops(drawn, seen, held_out)
    for check in checks:
        numbers = (check.found, check.expected, check.p_value)
        assert numbers[: len(expected[check.name])] == pytest.approx(expected[check.name])
        is_passed = check.p_value >= 0.001 if check.name == "uniformity" else check.found == 0
        assert check.passed == is_passed
        assert (check.remark == "") == check.passed
    remark = {check.name: check.remark for check in checks}["seen items"]
    assert (f"training, {expected_seen:,.0f} expected" in remark) == (case == "seen too")


@pytest.mark.parametrize("repeated", [0, 2, 16])
def test_duplicates_are_compared_with_replacement(repeated):
    """100 users with 8 of 199 items: 28 pairs of draws each, 14.07 repeats in all."""
    rng = np.random.default_rng(0)
    items = np.array([rng.choice(199, 8, replace=False) for _ in range(100)])
    items[:repeated, 1] = items[:repeated, 0]
    user = np.repeat(np.arange(100), 8)
    nothing = csr_array((100, 199))
    checks = check_drawn_negatives(user, items.ravel(), nothing, nothing)
    (check,) = (check for check in checks if check.name == "duplicates")
    assert check.found == repeated
    if repeated:
        mean = 100 * (8 - 199 * (1 - (1 - 1 / 199) ** 8))
        assert f"{mean:,.0f} expected with" in check.remark


def test_uniformity_by_hand():
    """12 draws of one item and 4 of another, 8 expected of each: 4^2/8 + 4^2/8 = 4."""
    nothing = csr_array((16, 2))
    checks = check_drawn_negatives(np.arange(16), np.repeat([0, 1], [12, 4]), nothing, nothing)
    uniformity = {check.name: check for check in checks}["uniformity"]
    assert (uniformity.found, uniformity.expected) == (4.0, 1.0)
    assert uniformity.p_value == pytest.approx(chi2.sf(4.0, 1))
    nothing = csr_array((3, 1))
    checks = check_drawn_negatives(np.arange(3), np.zeros(3, int), nothing, nothing)
    assert {check.name: check.p_value for check in checks}["uniformity"] == 1.0


def test_draws_of_all_candidates_or_without_users():
    drawn = draw_negatives(csr_array(np.array([[1, 0, 0, 1], [0, 0, 0, 1]])), 2)
    assert sorted(drawn[0]) == [1, 2]
    assert draw_negatives(csr_array((0, 4)), 2).shape == (0, 2)
    with pytest.raises(InputError, match="n_negatives"):
        draw_negatives(csr_array((1, 4)), 0)


def test_command_remarks_and_unknown_ids(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, marked in zip(("seen", "held"), interactions(), strict=True):
        user, item = marked.nonzero()
        item_ids = [f"i{number:03}" for number in item]
        table = pd.DataFrame({"user_id": user, "item_id": item_ids})
        table.sample(frac=1.0, random_state=0).to_csv(f"{name}.csv", index=False)
    command = ("check-negatives", "--seen", "seen.csv", "--relevant", "held.csv")
    assert "300 users have their held-out item" in run(*command, "held.csv").stdout
    pd.DataFrame({"user_id": [3, 999], "item_id": ["i001", "i002"]}).to_csv("drawn.csv")
    refused = run(*command, "drawn.csv").stderr
    assert "drawn.csv, row 2, column user_id" in refused
    held_out = pd.read_csv("held.csv")[:1]
    pd.concat([pd.read_csv("seen.csv"), held_out]).to_csv("seen.csv")
    refused = run(*command, "drawn.csv").stderr
    user, item = held_out.iloc[0]
    assert f"seen.csv: user {user}, item {item} is both seen and held out" in refused
    assert "(1 pair of 1 user)" in refused


def test_check_pairs_p_value_is_at_most_1():
    """Ten users draw one of 20 items each: 20 times the tail probability is above 1."""
    items = np.column_stack([np.full(10, 20), np.arange(10)]).ravel()
    users, held_out = np.repeat(np.arange(10), 2), np.tile([True, False], 10)
    pairs = ScoredPairs(users, items, held_out, np.arange(21))
    uniformity = {check.name: check for check in check_pairs(pairs, 21)}["uniformity"]
    assert (uniformity.found, uniformity.expected) == (1, 0.5)
    assert uniformity.p_value == 1.0


@pytest.mark.parametrize(
    ("sharing", "n_items", "n_shared"),
    [(1, 100, None), (3, 100, None), (4, 100, 3), (6, 100, 5), (6, 6, 5), (6, 5, None)],
)
def test_check_pairs_shared_sets_by_hand(sharing, n_items, n_shared):
    """`sharing` of six users have the negatives 10 and 11; each other user has two of its own.

    With four candidates, sets of two may agree by chance.
    """
    others = np.arange(12, 12 + 2 * (6 - sharing)).reshape(-1, 2)
    drawn = np.concatenate([np.tile([10, 11], (sharing, 1)), others])
    item = np.column_stack([np.arange(6), drawn]).ravel()
    held_out = np.arange(18) % 3 == 0
    pairs = ScoredPairs(np.repeat(np.arange(6), 3), item, held_out, np.arange(100))
    checks = {check.name: check.found for check in check_pairs(pairs, n_items)}
    assert checks.get("shared") == n_shared


def test_printed_checks_show_failures():
    checks = [
        Check("duplicates", True, 0, 0.0, float("nan"), ""),
        Check("seen items", True, 9, 8.0, 0.5, ""),
        Check("uniformity", False, 9, 1.0, 1e-6, "some are drawn too often"),
    ]
    rows, *_ = check_parts(checks)
    assert [row["passed"].lower() for row in rows] == ["yes", "yes", "no"]
    assert ["9" in row["found"] for row in rows] == [False, False, True]
    assert "drawn" in str(check_parts(checks)[1:])
