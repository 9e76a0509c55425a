"""Printed tables and the lines below them, one golden file each, in `tests/golden/printed`.

`python -m tests.golden.test_printed_tables` writes them again; read the difference before you
commit it. The numbers are those of results, which tests of the results check.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.budget import BudgetResult, Estimate
from sampled_metrics.evaluation.compare_text import exact_verdict, sampled_verdict
from sampled_metrics.intervals.ranges import Range
from tests.helpers.comparisons import make_compared

FOLDER = Path(__file__).with_name("printed")


def full(first, last, users=None):
    """Rankings of users with the ranks `first` to `last` among 300 candidates."""
    better = np.arange(first - 1, last)
    return sm.Ranks([300] * better.size, better, [0] * better.size, users=users)


HEAD = full(1, 40)
BROAD = full(6, 45)
OTHERS = full(6, 45, users=range(100, 140))
ONE_BEST = sm.Ranks([300] * 30, [0, *range(40, 69)], [0] * 30)  # rank 1, others 41 to 69

# Of 11 sampled ranks, a sample that is good at the top, and one that is not.
AMONG_10 = {"n_items": 300, "n_negatives": 10}
TOP = [1] * 60 + [2] * 12 + [3, 4, 5, 6, 7, 8, 9, 10, 11] * 2
MIDDLE = [1, 2, 3, 4, 5] * 12 + [6, 7, 8, 9, 10, 11] * 5

COUNTS = {item: 1 + 1000 // (item + 1) for item in range(200)}


def by_popularity(noise):
    """Scores of 150 users for a held-out item and 40 negatives, drawn in proportion to counts."""
    rng = np.random.RandomState(0)  # whose stream is the same in all versions
    popularity = np.array([*COUNTS.values()], float)
    scores = np.log(popularity) + rng.normal(size=(150, 200))
    scores += noise * np.random.RandomState(1).normal(size=scores.shape)
    shares = popularity / popularity.sum()
    rows = []
    for user in range(150):
        held_out, *negatives = rng.choice(200, 41, replace=False, p=shares)
        rows.append((user, held_out, scores[user, held_out] + 1.0, 1))
        rows += [(user, item, scores[user, item], 0) for item in negatives]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "score", "label"])


PAPER = {"n_items": 300, "n_negatives": 20, "n_users": 500, "source_id": "S", "data_set": "D"}
TABLE = [
    {"model": "A", "HR@5": "0.52", "exact HR@5": "0.11", **PAPER},
    {"model": "B", "HR@5": "0.20", **PAPER},
    {"HR@5": "0.92", "HR@1": "0.75", **PAPER},
    {"HR@5": "0.20", "HR@10": "0.10", **PAPER, "source_id": "T"},  # fewer hits among more items
]


def far_apart(n_rows):
    """Rows of a paper with 10^6 users, of which most pairs are decided."""
    about = {"n_items": 60, "n_negatives": 40, "n_users": 10**6}
    return [{"HR@5": f"{0.99 - 0.09 * row:.2f}", **about} for row in range(n_rows)]


def estimate(value, model=None):
    """An estimate on a budget; the audit disagrees if `model` is another value."""
    model = value if model is None else model
    return Estimate(value, value - 0.02, value + 0.02, value, 0.01, 20.0, model)


def budget(**changes):
    """Result of three recommenders, of which B's value is from the audit."""
    usual = {
        "names": ("A", "B", "C"),
        "metrics": ("recall@10",),
        "estimates": [[estimate(0.1)], [estimate(0.2, model=0.19)], [estimate(0.3)]],
        "differences": {(0, 1): [estimate(0.1)], (0, 2): [estimate(0.2)], (1, 2): [estimate(0.0)]},
        "n_asked": (1000, 1000, 1000),
        "n_held_out": 50,
        "n_users": 50,
        "n_audited": 10,
        "n_ranked": (15, 20, 14),
        "n_candidates": 5000,
        "confidence": 0.95,
        "proxy": "als",
        "proxy_helps": (True, True, True),
        "seconds_per_score": (1e-3,) * 3,
    }
    return BudgetResult(**(usual | changes))


def budget_of_one(n_asked):
    return budget(
        names=("A",), estimates=[[estimate(0.1)]], differences={}, n_asked=(n_asked,),
        n_ranked=(15,), proxy_helps=(True,), seconds_per_score=(1.0,),
    )  # fmt: skip


def verdicts():
    """Verdicts on one pair: by full rankings, by a decided sample, by an undecided one."""
    low, high = Range(0.1, 0.25, False), Range(0.2, 0.5, False)
    exact = [
        {"order": "a"}, {"order": "b", "users_needed": 9}, {}, {"n_users": 1},
        {"users_needed": 1234}, {"users_needed": 10**7}, {"users_needed": 10**7 + 1},
    ]  # fmt: skip
    decided = [
        {"order": "b", "holds_up_to": factor} for factor in (None, 1.04, 1.96, 2.0, 15.9, 16.0)
    ]
    undecided = [{"n_negatives": m} for m in (1, 2, 1000)]
    return "\n".join(
        [exact_verdict(make_compared(**changes)) for changes in exact]
        + [sampled_verdict(make_compared(**each), low, high) for each in decided + undecided]
    )


CASES = {
    "evaluate": lambda: sm.evaluate(HEAD, "recall@3, ap"),
    "evaluate_one_user": lambda: sm.evaluate(full(1, 1), "ap"),
    "evaluate_few_carry": lambda: sm.evaluate(
        ONE_BEST, "recall@3, ap", ties="optimistic", confidence=0.5
    ),
    "evaluate_few_users": lambda: sm.evaluate(
        sm.Ranks([300, 301, 200], [0, 4, 9], [0] * 3), "mean-rank, recall@5"
    ),
    "evaluate_visits": lambda: sm.evaluate(
        sm.Ranks([300] * 4, [0, 4, 9, 1], [0] * 4, users=[1, 1, 2, 3], visits=[1, 2, 1, 1]),
        "recall@5",
    ),
    "evaluate_grades": lambda: sm.evaluate(
        [[0.9, 0.5, 0.1]], "ndcg@3, recall@1", relevant=[[3, 2, 1]], min_relevance=2
    ),
    "evaluate_all_grades": lambda: sm.evaluate(
        [[0.9, 0.5, 0.1]], "ndcg@3, recall@1", relevant=[[3, 2, 1]]
    ),
    "correct": lambda: sm.correct(TOP, "recall@3, auc", "sampled, cls, likely", **AMONG_10),
    "correct_with_replacement": lambda: sm.correct(
        TOP, "recall@3", "sampled", **AMONG_10, sampling="with-replacement", shape="none"
    ),
    "correct_by_popularity": lambda: sm.correct(by_popularity(0.3), "HR@10", counts=COUNTS),
    "compare_by_popularity": lambda: sm.compare(
        {"A": by_popularity(0.3), "B": by_popularity(3.0)}, "HR@10", counts=COUNTS
    ),
    "compare": lambda: sm.compare({"A": HEAD, "B": BROAD, "C": full(5, 44)}, "recall@10, ap"),
    "compare_uncorrected": lambda: sm.compare(
        {"A": HEAD, "B": BROAD}, "ap", correction="none", confidence=0.9
    ),
    "compare_many_metrics": lambda: sm.compare(
        {"A": HEAD, "B": BROAD, "C": full(21, 60)}, [f"recall@{k}" for k in range(1, 12)]
    ),
    "compare_unpaired": lambda: sm.compare({"A": full(1, 40, users=range(40)), "B": OTHERS}, "ap"),
    "compare_samples": lambda: sm.compare(
        {"A": TOP, "B": MIDDLE, "C": MIDDLE[::-1]}, "auc, f1@3, ap", "sampled, likely", **AMONG_10
    ),
    "compare_samples_many_metrics": lambda: sm.compare(
        {"A": TOP, "B": MIDDLE, "C": TOP[::-1]},
        [f"recall@{k}" for k in range(1, 12)], "sampled", **AMONG_10,
    ),
    "verdicts": verdicts,
    "plan": lambda: sm.plan(HEAD, BROAD, "recall@10", sizes=[5, 300]),
    "plan_decides_nothing": lambda: sm.plan(HEAD, HEAD, "recall@10", sizes=[]),
    "reported": lambda: sm.reported("HR@5=0.52 NDCG@10=0.41", n_items=300, n_negatives=20),
    "reported_any_ranks": lambda: sm.reported(
        "HR@5=0.52", n_items=300, n_negatives=20, n_users=6040, shape="none",
        sampling="with-replacement", confidence=0.99,
    ),
    "check": lambda: sm.check(TABLE, "HR@5", confidence=0.9),
    "check_many_orders": lambda: sm.check(far_apart(9), "HR@5"),
    "budget": budget,
    "budget_weak_proxy": lambda: budget(proxy_helps=(True, True, False), n_ranked=(14, 0, 3)),
    "budget_too_small": lambda: budget(
        n_ranked=(14, 15, 15), n_users=6040, n_candidates=6040 * 3000, confidence=0.9
    ),
    "budget_one": lambda: budget_of_one(n_asked=1000),
    "budget_all_scored": lambda: budget_of_one(n_asked=5000),
    "budget_orders": lambda: budget().compare(),
}  # fmt: skip


def printed(name):
    """Return what a case prints, and its explanation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)
        result = CASES[name]()
    explained = "" if isinstance(result, str) else result.explain()
    return f"{result}\n\n{explained}".rstrip() + "\n"


SLOW = ("compare_by_popularity", "compare_samples_many_metrics")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in CASES]
)
def test_printed_table_matches_golden_file(name):
    assert printed(name) == (FOLDER / f"{name}.txt").read_text()


if __name__ == "__main__":
    for name in CASES:
        (FOLDER / f"{name}.txt").write_text(printed(name))
