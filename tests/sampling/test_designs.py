"""Negatives by popularity, and half and half."""

import hashlib
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare

import sampled_metrics as sm
from sampled_metrics.sampling.negatives import draw_negatives


def popular_sets(weight, candidates, m):
    """Probability of each set of successive draws, by enumeration of all orders."""
    probability = Counter()
    for order in permutations(candidates, m):
        left, product = sum(weight[item] for item in candidates), 1.0
        for item in order:
            product *= weight[item] / left
            left -= weight[item]
        probability[frozenset(order)] += product
    return probability


def half_sets(weight, candidates, m):
    """Probability of each set of m // 2 popular items, and others with equal probability."""
    probability = Counter()
    for popular, chance in popular_sets(weight, candidates, m // 2).items():
        others = [set(rest) for rest in combinations(set(candidates) - popular, m - m // 2)]
        for rest in others:
            probability[popular | rest] += chance / len(others)
    return probability


@pytest.mark.parametrize(("design", "sets"), [("popularity", popular_sets), ("half", half_sets)])
@pytest.mark.parametrize("excluded_weight", [2.0, 1e9], ids=["drawn at once", "by the race"])
def test_sets_are_drawn_with_their_probabilities(design, sets, excluded_weight):
    """With nearly all of the popularity in excluded items, a race draws the others."""
    weight = np.array([excluded_weight, 8.0, 4.0, 1.0, 1.0, excluded_weight, 2.0])
    excluded = csr_array(np.tile([1, 0, 0, 0, 0, 1, 0], (3000, 1)))
    drawn = draw_negatives(excluded, 3, popularity=weight, design=design)
    observed = Counter(map(frozenset, drawn.tolist()))
    expected = sets(weight, [1, 2, 3, 4, 6], 3)
    assert set(observed) <= set(expected)
    counts = [observed[each] for each in expected]
    assert chisquare(counts, 3000 * np.array(list(expected.values()))).pvalue > 1e-3


def test_each_place_of_a_row_has_the_same_law():
    """Rows are in random order, so that their first columns are no more popular ones."""
    weight = np.array([9.0, 1, 1, 1])
    drawn = draw_negatives(csr_array((2000, 4)), 2, popularity=weight, design="half")
    # Item 0 is the popular one of 2 with 9/12, else the other one with 1/3: 5/6 of all rows.
    shares = (drawn == 0).mean(axis=0)
    assert shares == pytest.approx([5 / 12, 5 / 12], abs=0.04)


@pytest.mark.parametrize("design", ["popularity", "half"])
def test_draws_do_not_depend_on_other_users(design):
    rng = np.random.default_rng(0)
    excluded = csr_array(rng.random((40, 300)) < 0.2)
    options = {"popularity": rng.pareto(1.0, 300) + 0.1, "design": design}
    drawn = draw_negatives(excluded, 100, seed=5, **options)
    assert (draw_negatives(excluded[:10], 100, seed=5, **options) == drawn[:10]).all()
    assert (draw_negatives(excluded, 100, seed=6, **options) != drawn).any()
    assert all(np.unique(row).size == 100 for row in drawn)
    assert not excluded.toarray()[np.arange(40)[:, None], drawn].any()


def test_all_candidates_are_drawn():
    weight = np.array([5.0, 1, 1, 3])
    drawn = draw_negatives(csr_array((2, 4)), 4, popularity=weight, design="popularity")
    assert np.sort(drawn).tolist() == [[0, 1, 2, 3]] * 2


def test_uniform_negatives_are_those_of_earlier_versions():
    excluded = csr_array(np.random.default_rng(0).random((50, 200)) < 0.3)
    drawn = draw_negatives(excluded, 20, seed=3).astype("<i8")
    digest = hashlib.sha256(drawn.tobytes()).hexdigest()
    assert digest == "c307735b91e3f14885b16fd9da6bff799d3c7674a1a0f278a16d70a52bb19e62"


TRAIN = {user: [user % 3, 3 + user % 2, 3] for user in range(40)}
TEST = {user: [5 + user % 4] for user in range(40)}


def share_of_items(drawn):
    return drawn["item_id"].value_counts(normalize=True)


def test_counts_are_events_of_seen_by_default():
    """Items 3 and 4 are seen in 60 and 20 events, 0 to 2 in 13 or 14, the others in none."""
    events = pd.DataFrame(
        [(user, item) for user, items in TRAIN.items() for item in items],
        columns=["user_id", "item_id"],
    )
    default = sm.negatives(TEST, events, 2, items=12, design="popularity")
    counted = sm.negatives(TEST, events, 2, items=12, design="popularity", counts=events)
    pd.testing.assert_frame_equal(default, counted)
    shares = share_of_items(default)
    assert shares[[0, 1, 2, 4]].sum() > 0.7
    with_numbers = {3: 60, 4: 20, 0: 14, 1: 13, 2: 13} | dict.fromkeys(range(5, 12), 0.5)
    numbers = sm.negatives(TEST, events, 2, items=12, design="popularity", counts=with_numbers)
    pd.testing.assert_frame_equal(default, numbers)


def test_items_with_a_count_are_candidates():
    """Item 99 is in no other table."""
    drawn = sm.negatives(TEST, TRAIN, 1, design="popularity", counts={**dict.fromkeys(range(9), 1),
        99: 10**6})  # fmt: skip
    assert (drawn["item_id"] == 99).all()


def test_unknown_designs_and_missing_counts_are_refused():
    with pytest.raises(sm.InputError, match="design"):
        sm.negatives(TEST, TRAIN, 1, design="in-batch")
    with pytest.raises(sm.InputError, match="design"):
        sm.negatives(TEST, TRAIN, 1, design=np.array(["half", "uniform"]))
    with pytest.raises(sm.InputError, match="counts"):
        sm.negatives(TEST, "none", 1, design="half")
    with pytest.raises(sm.InputError, match="counts"):
        sm.negatives(TEST, TRAIN, 1, counts={1: 2})
    with pytest.raises(sm.InputError, match="same ids"):
        sm.negatives(TEST, TRAIN, 1, counts={"a": 2, "b": 1}, design="half")


def test_command_draws_as_python(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, items in (("seen", TRAIN), ("held", TEST)):
        pairs = [(user, item) for user, row in items.items() for item in row]
        pd.DataFrame(pairs, columns=["user_id", "item_id"]).to_csv(f"{name}.csv", index=False)
    pd.DataFrame({"item_id": range(9), "count": range(1, 10)}).to_csv("counts.csv", index=False)
    line = ("negatives", "--relevant", "held.csv", "--seen", "seen.csv", "--n-negatives", 2)
    for options, arguments in (
        (("--design", "half"), {"design": "half"}),
        (
            ("--design", "popularity", "--counts", "counts.csv"),
            {"design": "popularity", "counts": "counts.csv"},
        ),
    ):
        run(*line, *options, "--output", "drawn.csv")
        expected = sm.negatives("held.csv", "seen.csv", 2, **arguments)
        pd.testing.assert_frame_equal(pd.read_csv("drawn.csv"), expected)
