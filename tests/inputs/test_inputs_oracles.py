"""Tables of lists, of pairs with labels and of sampled ranks, against loops over their rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sampled_metrics as sm
from sampled_metrics._base.arrays import count_by_score
from sampled_metrics.ranks.data import as_ranks, as_sampled

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)
)
def test_better_and_tied_rows_of_the_same_user(rows):
    users, scores = np.array(rows).T
    users = np.unique(users, return_inverse=True)[1]
    better, tied = count_by_score(users, scores.astype(float))
    for place, (user, score) in enumerate(zip(users, scores, strict=True)):
        own = [s for u, s in zip(users, scores, strict=True) if u == user]
        assert better[place] == sum(s > score for s in own)
        assert tied[place] == own.count(score) - 1


def pairs(seed, several, column="score"):
    """Candidates of users with labels, of as many negatives for each user, in random order."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in "dcab":
        held = rng.integers(1, 4) if several else 1
        scores = (
            rng.permutation(held + 9) + 1
            if column == "rank"
            else rng.integers(0, 6, held + 9)
        )
        for item, score in enumerate(scores):
            rows.append((user, item, score, int(item < held)))
    table = pd.DataFrame(rows, columns=["user_id", "item_id", column, "label"])
    return table.sample(frac=1, random_state=seed)


@pytest.mark.parametrize("column", ["score", "rank"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_held_out_items_among_their_negatives(seed, several, column):
    table = pairs(seed, several, column)
    expected = {"optimistic": [], "pessimistic": []}
    users = []
    for row in table[table["label"] == 1].itertuples():
        negatives = table[(table["user_id"] == row.user_id) & (table["label"] == 0)]
        sign = 1 if column == "score" else -1
        gaps = sign * (negatives[column] - getattr(row, column))
        users.append(row.user_id)
        expected["optimistic"].append(1 + (gaps > 0).sum())
        expected["pessimistic"].append(1 + (gaps >= 0).sum())
    relevant = table.loc[table["label"] == 1, ["user_id", "item_id"]]
    unlabelled = table.drop(columns="label")
    for data, options in ((table, {}), (unlabelled, {"relevant": relevant})):
        for ties, ranks in expected.items():
            found = as_sampled(data, n_items=50, ties=ties, **options)
            assert found.sampled_ranks.tolist() == ranks
            assert found.users.tolist() == users
            assert (found.n_negatives, found.several_items) == (
                9,
                len(set(users)) < len(users),
            )
        drawn = [as_sampled(data, n_items=50, seed=seed, **options).sampled_ranks
                 for seed in range(12)]  # fmt: skip
        assert (np.min(drawn, axis=0) >= expected["optimistic"]).all()
        assert (np.max(drawn, axis=0) <= expected["pessimistic"]).all()
        assert column == "rank" or np.ptp(drawn, axis=0).max() > 0


def test_too_many_negatives_of_some_rows_are_thinned_uniformly():
    """Rank 1 + b among 100 keeps b * 95 / 100 better ones on average, of 95 that are kept."""
    better = np.array([0, 10, 50, 100])
    m = np.array([95, 100, 100, 100])
    table = pd.DataFrame({"sampled_rank": better + 1, "n_negatives": m})
    drawn = []
    for seed in range(300):
        found = as_sampled(table, n_items=500, seed=seed)
        assert found.n_negatives == 95
        drawn.append(found.sampled_ranks - 1)
    assert {row[0] for row in drawn} == {0}
    assert {row[3] for row in drawn} == {95}
    mean = np.mean(drawn, axis=0)
    assert mean == pytest.approx(better * [1, 0.95, 0.95, 0.95], abs=0.25)
    assert np.min(drawn, axis=0)[1] >= 5
    assert np.max(drawn, axis=0)[1] <= 10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["cut", "complete", "n_items"])
@pytest.mark.parametrize("by_rank", [False, True])
def test_lists_and_what_is_relevant_in_them(seed, mode, by_rank):
    rng = np.random.default_rng(seed)
    rows, relevant, seen = [], [], []
    for user in range(12):
        items = rng.choice(30, rng.integers(14, 20), replace=False)
        score = (
            rng.permutation(items.size) if by_rank else rng.integers(0, 9, items.size)
        )
        rows += [
            (f"u{user}", f"i{item}", s) for item, s in zip(items, score, strict=True)
        ]
        outside = np.setdiff1d(np.arange(30), items)
        wanted = list(items[: rng.integers(1, 4)])
        if mode != "complete":
            wanted += list(outside[: rng.integers(0, 3)])
        relevant += [(f"u{user}", f"i{item}") for item in rng.permutation(wanted)]
        seen += [
            (f"u{user}", f"i{item}") for item in items[4 : 4 + rng.integers(0, 4)]
        ]
    table = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
    relevant = pd.DataFrame(relevant, columns=["user_id", "item_id"])
    seen = pd.DataFrame(seen, columns=["user_id", "item_id"])
    lists = table.sample(frac=1, random_state=seed)
    if by_rank:
        rank = lists.groupby("user_id")["score"].rank(ascending=False).astype(int)
        lists = lists.drop(columns="score").assign(rank=rank)
    options = {"complete": {"complete": True}, "n_items": {"n_items": 40}}.get(
        mode, {}
    )
    ranks = as_ranks(lists, relevant=relevant, seen=seen, **options)
    is_seen = set(map(tuple, seen.to_numpy()))
    better, tied, found, depth, sizes = [], [], [], [], []
    users = list(dict.fromkeys(relevant["user_id"]))
    for user in users:
        own = [
            (item, score)
            for u, item, score in rows
            if u == user and (u, item) not in is_seen
        ]
        wanted = relevant.loc[relevant["user_id"] == user, "item_id"].tolist()
        counts = []
        for item, score in own:
            if item in wanted:
                above = sum(s > score for _, s in own)
                counts.append((above, sum(s == score for _, s in own) - 1))
        counts.sort()
        better += [count[0] for count in counts]
        tied += [count[1] for count in counts]
        found.append(len(counts))
        depth.append(len(own))
        sizes.append(len(wanted))
    assert ranks.users.tolist() == users
    assert ranks.n_found.tolist() == found
    assert ranks.n_relevant.tolist() == sizes
    assert ranks.depth.tolist() == depth
    assert ranks.n_better.tolist() == better
    assert ranks.n_tied.tolist() == tied
    n = {"cut": [0] * 12, "complete": depth, "n_items": [40] * 12}[mode]
    assert ranks.n_candidates.tolist() == n


@pytest.mark.parametrize(
    ("columns", "row", "column"),
    [
        ({"sampled_rank": [1, 12], "n_negatives": 10}, 2, "sampled_rank"),
        ({"sampled_rank": [11, 12], "n_negatives": [10, 10]}, 2, "sampled_rank"),
        ({"sampled_rank": [1, 1], "n_negatives": [10, 0]}, 2, "n_negatives"),
        ({"sampled_rank": [1, 1], "n_negatives": 10, "n_candidates": [11, 10]}, 2, "n_candidates"),
        ({"sampled_rank": [1, 1], "n_negatives": 10, "sampling": ["distinct", "with-replacement"]},
         2, "sampling"),
        ({"sampled_rank": [1, 2, 1], "n_negatives": 10, "user_id": ["a", "b", "a"],
          "repetition": [0, 0, 0]}, 3, None),
        ({"sampled_rank": [1, 2, 1], "n_negatives": 10, "user_id": list("aba"),
          "item_id": [1, 1, 1], "repetition": [0, 0, 0]}, 3, None),
        ({"sampled_rank": [1, 2], "n_negatives": 10, "user_id": list("ab"),
          "repetition": [0, -1]}, 2, "repetition"),
    ],
)  # fmt: skip
def test_columns_of_sampled_ranks_that_do_not_fit(columns, row, column):
    with pytest.raises(sm.InputError) as caught:
        as_sampled(pd.DataFrame(columns), n_items=50)
    assert (caught.value.row, caught.value.column) == (row, column)


def test_columns_of_sampled_ranks_at_their_bounds():
    columns = {
        "sampled_rank": [1, 11, 11],
        "n_negatives": 10,
        "n_candidates": [11, 12, 50],
    }
    columns |= {
        "sampling": "distinct",
        "user_id": list("aba"),
        "repetition": [0, 0, 1],
    }
    found = as_sampled(
        pd.DataFrame(columns),
    )
    assert (found.n_negatives, str(found.sampling), found.several_items) == (
        10,
        "distinct",
        False,
    )
    assert found.n_items.tolist() == [11, 12, 50]
    assert found.users.tolist() == list("aba")
    found = as_sampled(
        pd.DataFrame(columns | {"item_id": [1, 1, 2]}),
    )
    assert found.several_items
    with warnings.catch_warnings():
        warnings.simplefilter("error", sm.InputWarning)
        as_sampled(
            pd.DataFrame(columns),
        )  # repetitions are numbered
        with pytest.raises(sm.InputWarning, match="1 of 2"):
            as_sampled(pd.DataFrame(columns).drop(columns="repetition"))


@pytest.mark.parametrize(
    ("n_negatives", "m"), [(10, 10), (9, 9), (8, None), (None, None)]
)
def test_draws_of_which_duplicates_were_dropped(n_negatives, m):
    """Of 10 draws 7 to 9 remain; fewer than were drawn are so many, and no more."""
    rows = [("a", 9, 1), ("b", 7, 2), ("c", 8, 4)]
    table = pd.DataFrame(
        [(user, place == 0, -abs(place - rank + 0.5) if place else 0.0)
         for user, count, rank in rows for place in range(count + 1)],
        columns=["user_id", "label", "score"],
    )  # fmt: skip
    drawn = {"n_items": 50, "sampling": "distinct", "n_negatives": n_negatives}
    if m is None:
        with pytest.raises(sm.InputError):
            as_sampled(table, **drawn)
    else:
        assert as_sampled(table, **drawn).n_negatives == m


def test_ranks_among_two_candidates_and_beyond_the_least():
    table = pd.DataFrame({"rank": [1, 2, 3], "n_candidates": [2, 2, 3]})
    ranks = as_ranks(
        table,
    )
    assert ranks.n_candidates.tolist() == [2, 2, 3]
    assert ranks.n_better.tolist() == [0, 1, 2]
    with pytest.raises(sm.InputError) as caught:
        as_ranks(
            table.assign(n_candidates=[2, 2, 1]),
        )
    assert (caught.value.row, caught.value.column) == (3, "n_candidates")


@pytest.mark.parametrize(
    "data", [np.array(3), np.float64(0.5), np.zeros((2, 2, 2)), 7, None]
)
def test_what_is_no_ranking(data):
    with pytest.raises(sm.InputError):
        as_ranks(data, n_items=9)
    with pytest.raises(sm.InputError):
        as_sampled(data, n_items=50, n_negatives=9)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, list])
def test_ranks_as_numbers(kind):
    given = [1, 3, 10]
    ranks = as_ranks(given if kind is list else np.array(given, kind), n_items=10)
    assert ranks.n_better.tolist() == [0, 2, 9]
    assert ranks.n_tied.tolist() == [0, 0, 0]
    assert ranks.n_candidates.tolist() == [10] * 3
    for wrong, row in (([1, 0], 2), ([1, 2, 11], 3), ([1.5, 2.0], 1)):
        with pytest.raises(sm.InputError) as caught:
            as_ranks(np.array(wrong), n_items=10)
        assert (caught.value.row, caught.value.column) == (row, "rank")
    for wrong in (np.array([True, False]), np.array([[1, 2]])):
        with pytest.raises(sm.InputError):
            as_ranks(wrong, n_items=10)
    with pytest.raises(sm.InputError, match="n_items"):
        as_ranks(
            np.array([1, 2]),
        )
