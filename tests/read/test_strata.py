"""Negatives by strata of popularity, counted pair by pair, and counts of items in every form."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.ranks.strata import strata_of_items
from sampled_metrics.read.item_counts import ItemCounts, read_item_counts
from sampled_metrics.read.strata import count_by_stratum


def count_one_by_one(frame, popularity, stratum, seen):
    """Return better, drawn and candidate items by stratum for each held-out row of a frame."""
    result = []
    rows = [*frame.itertuples(index=False)]
    for held_out in filter(lambda row: row.label == 1, rows):
        own = [row for row in rows if row.user == held_out.user]
        positives = {row.item for row in own if row.label == 1}
        negatives = [row for row in own if row.item not in positives]
        drawn = {row.item: stratum[row.item] for row in negatives}
        better = {row.item: stratum[row.item] for row in negatives if row.score > held_out.score}
        others = [
            stratum[item]
            for item in range(len(popularity))
            if item not in positives | seen.get(held_out.user, set())
        ]
        n = stratum.max() + 1
        result.append(
            [
                np.bincount([*each], minlength=n)
                for each in (better.values(), drawn.values(), others)
            ]
        )
    return [np.array(each) for each in zip(*result, strict=True)]


@given(st.integers(0, 10_000), st.booleans())
def test_counts_match_a_count_pair_by_pair(seed, has_events):
    rng = np.random.default_rng(seed)
    n_users, n_items = 4, 12
    popularity = rng.integers(1, 40, n_items).astype(float)
    stratum = strata_of_items(popularity)
    seen, rows = {}, []
    for user in range(n_users):
        items = rng.permutation(n_items)
        seen[user] = {*items[:2].tolist()} if has_events else set()
        positives = items[2 : 3 + seed % 2]
        rows += [(user, item, rng.random(), 1) for item in positives]
        for item in rng.choice(items[4:], 3, replace=False):
            score = rng.random()
            rows += [(user, item, score, 0)] * rng.integers(1, 3)  # some are drawn again
    frame = pd.DataFrame(rows, columns=["user", "item", "score", "label"])
    frame = frame.sample(frac=1, random_state=seed)
    counts = ItemCounts(np.arange(n_items), popularity)
    if has_events:
        events = {user: [*items] for user, items in seen.items()}
        with_events = read_item_counts(events)
        places = np.asarray(with_events.item_ids)
        order = np.append(places, np.setdiff1d(np.arange(n_items), places))
        counts = ItemCounts(order, popularity[order], with_events.events)
    pairs = ScoredPairs(
        frame["user"].to_numpy(),
        frame["item"].to_numpy(),
        (frame["label"] == 1).to_numpy(),
        np.arange(n_items),
    )
    _, found, _ = count_by_stratum(
        pairs, frame["score"].to_numpy(), Units(np.arange(n_users)), counts
    )
    better, drawn, candidates = count_one_by_one(frame, popularity, stratum, seen)
    assert np.array_equal(found.better, better)
    assert np.array_equal(found.drawn, drawn)
    assert np.array_equal(found.candidates, candidates)


def test_places_among_equal_scores_are_uniform():
    """Of two tied negatives, 0, 1 or 2 are above the held-out item, each for a third of users."""
    n_users = 3000
    pairs = ScoredPairs(
        np.repeat(np.arange(n_users), 3),
        np.tile([0, 1, 2], n_users),
        np.tile([True, False, False], n_users),
        np.arange(3),
    )
    counts = ItemCounts(np.arange(3), np.ones(3))
    score = np.ones(3 * n_users)
    _, found, _ = count_by_stratum(pairs, score, Units(np.arange(n_users)), counts)
    shares = np.bincount(found.better[:, 0], minlength=3) / n_users
    assert shares == pytest.approx([1 / 3] * 3, abs=4 * np.sqrt(2 / 9 / n_users))


def test_item_without_a_count_is_refused():
    pairs = ScoredPairs(
        np.array([0, 0]), np.array([0, 1]), np.array([True, False]), np.array([7, 8])
    )
    with pytest.raises(InputError, match="without a count"):
        count_by_stratum(pairs, np.zeros(2), Units(np.arange(1)), read_item_counts({7: 1}))


@pytest.mark.parametrize(
    "data",
    [
        {"a": 2, "b": 1},
        pd.Series([2, 1], index=["a", "b"]),
        pd.DataFrame({"item_id": ["a", "b"], "count": [2, 1]}),
        {"item_id": ["a", "b"], "n": [2, 1]},
        pd.DataFrame({"count": [2, 1]}, index=pd.Index(["a", "b"], name="item_id")),
        pd.Series(["a", "b", "a"], name="item_id").value_counts().to_frame(),
        pd.DataFrame({"user_id": [1, 1, 2], "item_id": ["a", "b", "a"]}).set_index(
            ["user_id", "item_id"]
        ),
        {1: ["a", "b"], 2: ["a"]},
        {1: ["a", "b"], 2: "a"},
        pd.DataFrame({"user_id": [1, 1, 2], "item_id": ["a", "b", "a"]}),
    ],
)
def test_every_form_has_the_same_counts(data):
    counts = read_item_counts(data)
    assert dict(zip(counts.item_ids.to_pylist(), counts.counts, strict=True)) == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({1: 0, 2: 3}, "above 0"),
        (pd.DataFrame({"item_id": [1, 1], "count": [4, 5]}), "two counts"),
        (pd.DataFrame({"item_id": [1, 1]}), "user_id"),
        ({7: None}, "item_id"),
        ({7: [1, None]}, "item_id"),
        ({7: 1, 8: None}, "item_id"),
    ],
)
def test_wrong_counts_are_refused(data, words):
    with pytest.raises(InputError, match=words):
        read_item_counts(data)


def test_parts_of_negatives_are_left_out_in_turn():
    """Each of 20 negatives is in one of 10 parts, two in each, so nine tenths remain in all."""
    pairs = ScoredPairs(np.zeros(21, int), np.arange(21), np.arange(21) == 0, np.arange(21))
    counts = ItemCounts(np.arange(21), np.arange(1.0, 22))
    score = np.append(0.0, np.ones(20))
    _, strata, parts = count_by_stratum(pairs, score, None, counts, n_parts=10)
    assert [part.drawn.sum() for part in parts] == [18] * 10
    assert np.array_equal(sum(part.drawn for part in parts), 9 * strata.drawn)
    assert all(np.array_equal(part.better, part.drawn) for part in parts)  # all have score 1


@pytest.mark.parametrize(
    ("n_drawing_a_seen_item", "n_candidates"),
    [
        (0, [20 - 1 - 4] * 10),  # all items but the held-out one and those seen
        (4, [20 - 1 - 3] * 4 + [20 - 1 - 4] * 6),  # a seen item that was drawn is a candidate
        (10, [20 - 1] * 10),  # seen items are candidates
    ],
    ids=["none", "fewer than by chance", "as many as by chance"],
)
def test_seen_items_are_candidates_if_they_are_drawn_as_by_chance(
    n_drawing_a_seen_item, n_candidates
):
    """Ten users have seen 4 of 20 items each; chance draws 10 * 5 * 4 / 20 = 10 of those."""
    users = np.arange(10)
    seen = {user: [0, 1, 2, 3] for user in users}
    all_items = {99: np.arange(20).tolist()}  # of a user without held-out item
    held_out_and_negatives = np.tile([19, 5, 6, 7, 8, 9], (10, 1))
    held_out_and_negatives[:n_drawing_a_seen_item, 1] = 0
    pairs = ScoredPairs(
        np.repeat(users, 6),
        held_out_and_negatives.ravel(),
        np.tile(np.arange(6) == 0, 10),
        np.arange(20),
    )
    events = read_item_counts(seen | all_items)
    _, strata, _ = count_by_stratum(pairs, np.zeros(60), Units(users), events)
    assert strata.candidates.sum(axis=1).tolist() == n_candidates
    assert (strata.drawn <= strata.candidates).all()


def test_matrix_has_events_of_numbered_users_and_items():
    """Items 0 and 1 have 2 and 1 events, by users 0 and 1, and item 2 has none."""
    found = read_item_counts(sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0]])))
    assert found.counts.tolist() == [2.0, 1.0, 0.5]
    assert found.events.has(np.array([0, 1]), np.array([1, 1])).tolist() == [True, False]


def test_sparse_array_of_one_axis_is_refused():
    with pytest.raises(InputError, match="users x items"):
        read_item_counts(sparse.coo_array([2, 1]))


@pytest.mark.parametrize("data", [[2, 1], np.array([2, 1]), pd.Series([2, 1])])
def test_numbers_without_ids_may_be_counts_or_ids(data):
    with pytest.raises(InputError, match="enumerate"):
        read_item_counts(data)
    assert read_item_counts(dict(enumerate(data))).counts.tolist() == [2.0, 1.0]
