"""What given negatives say of the recommenders of a study."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split, save_split
from sampled_metrics.study.beyond.outcomes import outcomes, save_outcomes
from sampled_metrics.study.negatives import check_table, read_negatives, sampled_ranks

# User 7 has seen a and holds out b; user 9 has seen b and holds out e; user 4 only trains.
SEEN = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]], float)
SPLIT = Split(csr_array(SEEN), np.array([1, 4]), np.array([7, 9, 4]), np.array(list("abcdef")), 0)
SCORES = np.array([[9, 5, 7, 3, 6, 1], [0, 9, 1, 2, 3, 4]], float)
CODES = outcomes(lambda users: SCORES[users], SPLIT)


def negatives(folder, rows, split=SPLIT):
    path = folder / "negatives.csv"
    path.write_text("user_id,item_id\n" + "".join(f"{user},{item}\n" for user, item in rows))
    return read_negatives(path, split)


def everything_unseen(users, items):
    return Split(csr_array((users, items)), np.zeros(users, int), np.arange(users),
                 np.arange(items), 0)  # fmt: skip


def test_ranks_among_the_negatives(tmp_path):
    # of 7: c (7) and d (3) beside b (5); of 9: f (4) and e, the held-out item itself, beside e (3)
    rows = [(9, "f"), (7, "c"), (9, "e"), (4, "a"), (7, "d")]
    drawn = negatives(tmp_path, rows)
    assert drawn.per_user == 2
    sample = sampled_ranks("mine", CODES, drawn, SPLIT)
    assert sample.sampled_ranks.tolist() == [2, 2]
    assert sample.n_items.tolist() == [5, 5]  # 6 items less the one seen
    checks = check_table(drawn, SPLIT).set_index("name")
    assert checks.loc["held-out item", "found"] == 1
    assert not checks.loc["held-out item", "passed"]


def test_ties_are_broken_at_random(tmp_path):
    split = everything_unseen(4000, 3)
    drawn = negatives(tmp_path, [(user, item) for user in range(4000) for item in (1, 2)], split)
    same = outcomes(lambda users: np.ones((users.size, 3)), split)
    counts = np.bincount(sampled_ranks("mine", same, drawn, split).sampled_ranks, minlength=4)[1:]
    # ranks 1 to 3, each with probability 1/3; four standard deviations
    assert (abs(counts - 4000 / 3) < 4 * np.sqrt(4000 * 2 / 9)).all()


@pytest.mark.parametrize(
    ("rows", "row", "problem"),
    [
        ([(7, "c"), (9, "x")], 2, "found x; expected an item of the split"),
        ([(7, "c"), (4, "a")], None, "user 9 is missing; every user of the split is needed"),
        ([(7, "c"), (7, "d"), (9, "a")], None, "user 9 has 1 negatives and user 7 has 2; give "),
    ],
)
def test_negatives_that_cannot_be_used(tmp_path, rows, row, problem):
    with pytest.raises(InputError) as caught:
        negatives(tmp_path, rows)
    assert caught.value.row == row
    assert caught.value.problem.startswith(problem)


def test_seen_items_have_no_rank(tmp_path):
    drawn = negatives(tmp_path, [(7, "a"), (9, "a")])
    with pytest.raises(InputError, match="negative a of user 7 is among the user's training items"):
        sampled_ranks("mine", CODES, drawn, SPLIT)


def test_command_and_tables(run, tmp_path):
    rng = np.random.default_rng(0)
    n_users, n_items = 60, 40
    split = everything_unseen(n_users, n_items)
    save_split(tmp_path / "split.npz", split)
    scores = {name: rng.normal(size=(n_users, n_items)) for name in "AB"}
    scores["B"][:, 0] += 2  # so that B ranks the held-out item higher
    for name, of_name in scores.items():
        save_outcomes(tmp_path / f"{name}.npy", outcomes(of_name.__getitem__, split))
    drawn = np.array([1 + rng.choice(n_items - 1, 15, replace=False) for _ in range(n_users)])
    negatives(tmp_path, zip(np.repeat(np.arange(n_users), 15), drawn.ravel(), strict=True), split)
    done = run(
        *("study", "negatives", tmp_path / "split.npz", tmp_path / "negatives.csv"),
        *(tmp_path / "A.npy", tmp_path / "B.npy", "--output", tmp_path),
        *("--settings", json.dumps({"metrics": ["recall@10"]})),
    )
    assert done.returncode == 0
    values = pd.read_csv(tmp_path / "values.csv").set_index("recommender")
    for name, of_name in scores.items():
        better = of_name > of_name[:, [0]]
        among = np.take_along_axis(better, drawn, axis=1).sum(axis=1)
        assert values.loc[name, "exact"] == pytest.approx((better.sum(axis=1) < 10).mean())
        assert values.loc[name, "sampled"] == pytest.approx((among < 10).mean())
        kept = pd.read_parquet(tmp_path / f"{name}.parquet")
        assert (kept["sampled_rank"] - 1).tolist() == among.tolist()
    (order,) = pd.read_csv(tmp_path / "orders.csv").to_dict("records")
    assert order["exact"] == pytest.approx(values["exact"]["B"] - values["exact"]["A"])
    # all 39 candidates cost less than 100 scores, so the evaluation on a budget is exact
    assert order["exact_order"] == order["budget_order"] == "b"
    assert order["budget_low"] == pytest.approx(order["exact"])
    assert len(pd.read_csv(tmp_path / "checks.csv")) == 8
    text = (tmp_path / "negatives.md").read_text()
    assert text.startswith("# What negatives.csv says of the recommenders")
    assert "| A, B   | recall@10 |" in text
