"""Data read as its owner means it, by values worked out by hand or by brute force."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm


def values(results):
    return [result.value for result in results]


def labelled_ranks(n_users=60, n=30, seed=1):
    """Rank 1 to n for each user, one item of which is relevant; and the ranks of those."""
    rng = np.random.default_rng(seed)
    held = np.ceil(n * rng.random(n_users) ** 3).astype(int)
    rank = np.tile(np.arange(1, n + 1), n_users)
    user = np.repeat(np.arange(n_users), n)
    return pd.DataFrame(
        {"user_id": user, "rank": rank, "label": (rank == held[user]) * 1}
    ), held


def test_rows_of_label_0_are_no_relevant_ranks():
    table = pd.DataFrame(
        {
            "user_id": list("aaabbb"),
            "rank": [1, 2, 3] * 2,
            "label": [0, 1, 0, 0, 0, 1],
        }
    )
    # (1/2 + 1/3) / 2, and nobody at rank 1
    right = pytest.approx([5 / 12, 0.0])
    assert values(sm.evaluate(table, "rr, hit@1", n_items=4)) == right
    for name in ("target", "is_relevant", "clicked"):
        other = table.rename(columns={"label": name})
        assert values(sm.evaluate(other, "rr, hit@1", n_items=4)) == right
    sizes = table.assign(n_candidates=4)
    assert values(sm.evaluate(sizes, "rr, hit@1")) == right
    assert values(sm.evaluate(sm.Ranks.from_ranks(table, 4), "rr, hit@1")) == right
    counts = sizes.assign(n_better=table["rank"] - 1, n_tied=0).drop(columns="rank")
    assert values(sm.evaluate(counts, "rr, hit@1")) == right
    assert (
        values(sm.evaluate(counts.sample(frac=1, random_state=0), "rr, hit@1"))
        == right
    )


def test_many_users_with_labelled_ranks(tmp_path):
    table, held = labelled_ranks()
    right = pytest.approx([np.mean(1 / held), np.mean(held <= 5)])
    assert values(sm.evaluate(table, "rr, hit@5", n_items=30)) == right
    table.to_csv(tmp_path / "ranks.csv", index=False)
    assert (
        values(sm.evaluate(tmp_path / "ranks.csv", "rr, hit@5", n_items=30)) == right
    )


def test_labels_of_ranks_may_be_grades():
    table = pd.DataFrame({"user_id": 1, "rank": [1, 2, 3], "label": [1, 0, 3]})
    # gains 1 at rank 1 and 3 at rank 3; best 3 at rank 1 and 1 at rank 2
    right = (1 + 3 / 2) / (3 + 1 / np.log2(3))
    assert values(sm.evaluate(table, "ndcg@3", n_items=3)) == pytest.approx([right])


def test_users_without_a_label_above_0_are_told():
    table = pd.DataFrame(
        {"user_id": [1, 1, 2, 2], "rank": [1, 2] * 2, "label": [0, 1, 0, 0]}
    )
    with pytest.warns(sm.InputWarning, match="1 of 2 users"):
        assert values(sm.evaluate(table, "rr", n_items=9)) == [0.5]
    with pytest.raises(sm.InputError, match="label"):
        sm.evaluate(table.assign(label=0), "rr", n_items=9)


def test_lists_with_ranks_and_labels_are_their_own_relevant_items():
    table, held = labelled_ranks()
    table["item_id"] = table["rank"] * 37 % 101
    with pytest.raises(sm.InputError, match="label"):
        sm.evaluate(table, "rr")
    found = sm.evaluate(table, "rr", relevant=table)
    assert values(found) == pytest.approx([np.mean(1 / held)])


def test_rows_of_label_0_are_no_sampled_ranks():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"user_id": np.arange(40), "sampled_rank": rng.integers(1, 12, 40)}
    )
    options = {
        "metrics": "recall@5",
        "estimators": "sampled",
        "n_items": 99,
        "n_negatives": 10,
    }
    right = np.mean(table["sampled_rank"] <= 5)
    others = table.assign(label=0, sampled_rank=1)
    both = pd.concat([table.assign(label=1), others]).sample(frac=1, random_state=1)
    assert values(sm.correct(both, **options)) == pytest.approx([right])
