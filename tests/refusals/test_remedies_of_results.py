"""The remedy that a refusal names gives the right number, beyond `evaluate` and `correct`.

Samples of all other items (n_negatives = n_items - 1) have the true ranks, so that ranges of exact
metrics are known: from printed numbers, the number and half a unit of its last digit.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

import sampled_metrics as sm
from sampled_metrics.budget.model import MOST_DEPTH
from tests.helpers.remedies import (
    Remedy,
    assert_remedy_works,
)
from tests.helpers.results import value_of

# Item 2 of user 0 is at rank 2, item 0 of user 1 at rank 3; in the other order at 2 and 1.
SCORES = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.6]])
HELD = [2, 0]
NOTHING_SEEN = np.zeros((2, 3))
RR, OTHER_RR = (1 / 2 + 1 / 3) / 2, (1 / 2 + 1) / 2


def rank_by_hand(scores: np.ndarray, held: Any) -> np.ndarray:
    """Return the rank of the held-out item of each row."""
    held_scores = scores[np.arange(len(scores)), held]
    return 1 + (scores > held_scores[:, None]).sum(axis=1)


# evaluate_on_budget: a budget for all candidates gives exact metrics.


def budget_value(
    recommender: Any = SCORES, metrics: str = "mrr", **options: Any
) -> Callable[[], float]:
    arguments = {"relevant": HELD, "seen": NOTHING_SEEN, "budget": 9, **options}
    if "candidates" in arguments:
        del arguments["seen"]
    return lambda: sm.evaluate_on_budget(recommender, metrics, **arguments).estimates[0][0].value


def budget_interval_holds(budget: float, right: float) -> bool:
    """Return whether the interval of a budget has the exact metric, and excludes others."""
    result = sm.evaluate_on_budget(
        MANY_SCORES,
        "hr@20",
        relevant=MANY_HELD,
        seen=np.zeros(MANY_SCORES.shape),
        budget=budget,
    )
    estimate = result.estimates[0][0]
    return 0.1 < estimate.low <= right <= estimate.high < 0.9


RELEVANT = pd.DataFrame({"user_id": ["a", "b"], "item_id": ["z", "x"]})
SEEN = pd.DataFrame({"user_id": ["a", "b"], "item_id": ["x", "z"]})
FRAME = pd.DataFrame(SCORES, ["a", "b"], list("xyz"))
RNG = np.random.default_rng(1)
MANY_SCORES = RNG.random((1000, 300))
MANY_HELD = RNG.integers(0, 300, 1000)
MANY_SCORES[np.arange(1000), MANY_HELD] += 0.5
MANY_HIT_RATE = float(np.mean(rank_by_hand(MANY_SCORES, MANY_HELD) <= 20))
LONG_SCORES = RNG.random((2, MOST_DEPTH + 9))
LONG_SCORES[:, :2] = [[0.3, 0.9], [0.0, 0.2]]
LONG_CUTOFF = MOST_DEPTH + 1
ALL_ITEMS = np.ones((2, 3))

BUDGET_REMEDIES = {
    "neither seen nor candidates, by seen": Remedy(
        budget_value(seen=None), "pass one of them", budget_value(), RR),
    "neither seen nor candidates, nothing seen": Remedy(
        budget_value(seen=None), "seen='none'", budget_value(seen="none", proxy=SCORES), RR),
    "neither seen nor candidates, by candidates": Remedy(
        budget_value(seen=None), "pass one of them",
        budget_value(candidates=ALL_ITEMS, proxy=SCORES), RR),
    "ids and positions, as tables": Remedy(
        budget_value(FRAME, relevant=RELEVANT), "give all as tables",
        budget_value(FRAME, relevant=RELEVANT, seen=SEEN), 1 / 2),  # two candidates each
    "ids and positions, without tables": Remedy(
        budget_value(seen=SEEN), "as tables, or none", budget_value(seen=[[0], [2]]), 1 / 2),
    "held-out item that is seen, of repeats": Remedy(
        budget_value(seen=[[2], []]), "leave these pairs out of seen",
        budget_value(seen=[[], []]), RR),
    "held-out item that is seen, of new items": Remedy(
        budget_value(FRAME, relevant=RELEVANT, seen=RELEVANT[:1]), "or out of relevant",
        budget_value(FRAME, relevant=RELEVANT[1:], seen=RELEVANT[:1]), 1 / 3),
    "lists without a size": Remedy(
        budget_value(lambda u, i: SCORES[u, i], seen=[[], []]), "give items, the number",
        budget_value(lambda u, i: SCORES[u, i], seen=[[], []], items=3), RR),
    "another number of items": Remedy(
        budget_value(items=8), "expected 3", budget_value(items=3), RR),
    "file of scores": Remedy(
        budget_value("scores.npy"), "expected scores", budget_value(SCORES), RR),
    "name of a recommender": Remedy(
        budget_value({1: SCORES}), "1 as a name.*text", budget_value({"1": SCORES}), RR),
    "no recommender": Remedy(budget_value({}), "at least one", budget_value({"1": SCORES}), RR),
    "budget for less than a round": Remedy(
        lambda: budget_interval_holds(2, MANY_HIT_RATE), "first round needs 9",
        lambda: budget_interval_holds(9, MANY_HIT_RATE), True),
    "deep cut-off": Remedy(
        budget_value(LONG_SCORES, f"hr@{LONG_CUTOFF}", relevant=[0, 0],
            seen=np.zeros(LONG_SCORES.shape), budget=MOST_DEPTH + 9),
        "rank fully",
        lambda: value_of(sm.evaluate(sm.rank(LONG_SCORES, seen=[[], []], relevant=[0, 0]),
            f"hr@{LONG_CUTOFF}")),
        1 / 2),  # the item of user 1 has the last rank
    "metric that has no estimate": Remedy(
        budget_value(metrics="rr-by-relevant"), "known:.*mrr", budget_value(), RR),
    "several held-out items": Remedy(
        budget_value(metrics="hr@2", relevant=[[2, 1], [0]]), "take recall@k",
        budget_value(metrics="recall@2", relevant=[[2, 1], [0]]), (1 + 0) / 2),
    "several held-out items, by AP": Remedy(
        budget_value(metrics="mrr", relevant=[[2, 1], [0]]), "or ap",
        budget_value(metrics="ap", relevant=[[2, 1], [0]]), (1 + 1 / 3) / 2),
    "unknown proxy": Remedy(
        budget_value(proxy="popular"), "expected popularity", budget_value(proxy="popularity"), RR),
    "popularity without seen items": Remedy(
        budget_value(candidates=ALL_ITEMS), "give scores as proxy",
        budget_value(candidates=ALL_ITEMS, proxy=-SCORES), RR),
    "scores without ids": Remedy(
        budget_value(SCORES, relevant=RELEVANT, seen=SEEN), "DataFrame with index and columns",
        budget_value(FRAME, relevant=RELEVANT, seen=SEEN), 1 / 2),
    "user without candidates": Remedy(
        budget_value(candidates=[[2], [1]], proxy=SCORES), "expected some for each user",
        budget_value(candidates=[[1], [1]], proxy=SCORES), 1 / 2),
    "function of users": Remedy(
        budget_value(lambda users: SCORES[users], items=3), "function that scores pairs",
        budget_value(lambda users, items: SCORES[users, items], items=3), RR),
    "score that is not a number": Remedy(
        budget_value(np.where(SCORES == 0.1, np.nan, SCORES)), "expected a finite number",
        budget_value(np.where(SCORES == 0.1, -9.0, SCORES)), RR),
}  # fmt: skip


# compare: exact metrics of full rankings, as values of the second recommender


def comparison(
    data: Any, *arguments: Any, metrics: str = "rr", **options: Any
) -> Callable[[], Any]:
    def run() -> tuple[float, float]:
        result = sm.compare(data, metrics, *arguments, **options)[0]
        return result.value_a, result.value_b

    return run


def sampled_comparison(data: Any, *estimators: str, **options: Any) -> Callable[..., Any]:
    """Return a comparison of HR@1 among all other items, whose range has the true difference."""

    def run() -> tuple[float, float]:
        arguments = {"n_items": 3, "n_negatives": 2, **options}
        result = sm.compare(data, "hr@1", *estimators, **arguments)[0]
        values = [
            value_of(sm.correct(each, "hr@1", "sampled", **arguments)) for each in data.values()
        ]
        low, high = result.range_low, result.range_high
        assert low <= values[1] - values[0] <= high
        return values[0], values[1]

    return run


BOTH = {"a": SCORES, "b": -SCORES}
BOTH_RR = (RR, OTHER_RR)
TRUE_RANKS = {"a": [1, 2, 3, 1], "b": [2, 3, 3, 1]}
VISITS = pd.DataFrame({"user_id": [1, 1, 2, 2], "visit_id": [1, 2, 1, 2]})
VISITS_A, VISITS_B = VISITS.assign(rank=[1, 2, 1, 3]), VISITS.assign(rank=[2] * 4)
VISITS_RR = ((1 + 1 / 2 + 1 + 1 / 3) / 4, 1 / 2)
USERS_A = pd.DataFrame({"user_id": [1, 2, 3], "rank": [1, 2, 3]})
USERS_B = pd.DataFrame({"user_id": [1, 3], "rank": [2, 3]})
COMMON_RR = ((1 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 2)


def sampled_ranks(ranks: Any, m: int) -> sm.SampledRanks:
    return sm.SampledRanks(ranks, n_negatives=m, n_items=m + 1)


def full_ranks(ranks: Any, **options: Any) -> sm.Ranks:
    return sm.Ranks.from_ranks(ranks, 3, **options)


FULL_RANKS = {"a": full_ranks([2, 3]), "b": full_ranks([2, 1])}
VISIT_RANKS = {
    name: full_ranks(table["rank"], users=table["user_id"], visits=table["visit_id"])
    for name, table in (("a", VISITS_A), ("b", VISITS_B))
}

COMPARE_REMEDIES = {
    "list of recommenders": Remedy(
        comparison([SCORES, -SCORES], relevant=HELD), "dictionary by name",
        comparison(BOTH, relevant=HELD), BOTH_RR),
    "one recommender": Remedy(
        comparison({"a": SCORES}, relevant=HELD), "give two or more",
        comparison(BOTH, relevant=HELD), BOTH_RR),
    "estimators beside full rankings": Remedy(
        comparison(BOTH, "sampled", relevant=HELD), "leave them out",
        comparison(BOTH, relevant=HELD), BOTH_RR),
    "estimators beside ranks among negatives": Remedy(
        comparison(TRUE_RANKS, "sampled", n_items=3), "give n_negatives",
        sampled_comparison(TRUE_RANKS, "sampled"), (1 / 2, 1 / 4)),
    "sampling beside full rankings": Remedy(
        comparison(TRUE_RANKS, n_items=3, sampling="with-replacement"), "leave it out",
        comparison(TRUE_RANKS, n_items=3),
        ((1 + 1 / 2 + 1 / 3 + 1) / 4, (1 / 2 + 1 / 3 + 1 / 3 + 1) / 4)),
    "complete beside sampled ranks": Remedy(
        sampled_comparison(TRUE_RANKS, complete=True), "complete does not.*leave it out",
        sampled_comparison(TRUE_RANKS), (1 / 2, 1 / 4)),
    "relevant beside scores of samples": Remedy(
        sampled_comparison(BOTH, relevant=HELD, positive=[2, 0], n_negatives=None),
        "leave it out.*positive",
        sampled_comparison(BOTH, positive=[2, 0], n_negatives=None), (0.0, 1 / 2)),
    "scores without relevant items": Remedy(
        comparison(BOTH), "give relevant", comparison(BOTH, relevant=HELD), BOTH_RR),
    "different numbers of negatives": Remedy(
        comparison({"a": sampled_ranks([1, 2, 3, 1], 2), "b": sampled_ranks([1] * 4, 3)}),
        "in the same way",
        sampled_comparison(TRUE_RANKS), (1 / 2, 1 / 4)),
    "full and sampled ranks": Remedy(
        comparison({"a": full_ranks([1, 2]), "b": sampled_ranks([1, 2], 2)}),
        "rankings of one kind",
        comparison({"a": full_ranks([1, 2]), "b": full_ranks([2, 2])}), (3 / 4, 1 / 2)),
    "name of a recommender": Remedy(
        comparison({("a", 1): SCORES, "b": -SCORES}, relevant=HELD), "expected text",
        comparison({"a, 1": SCORES, "b": -SCORES}, relevant=HELD), BOTH_RR),
    "relevant beside Ranks of one recommender": Remedy(
        comparison({"a": SCORES, "b": FULL_RANKS["b"]}, relevant=HELD),
        "give a as Ranks as well.*leave it out",
        comparison({"a": sm.Ranks.from_scores(SCORES, HELD), "b": FULL_RANKS["b"]}), BOTH_RR),
    "relevant beside Ranks of both": Remedy(
        comparison(FULL_RANKS, relevant=HELD), "leave it out", comparison(FULL_RANKS), BOTH_RR),
    "relevant beside ranks of one recommender": Remedy(
        comparison({"a": SCORES, "b": [2, 1]}, relevant=HELD),
        "leave it out, and compare with Ranks.from_scores",
        comparison({"a": sm.Ranks.from_scores(SCORES, HELD), "b": FULL_RANKS["b"]}), BOTH_RR),
    "size beside scores and ranks": Remedy(
        comparison({"a": FULL_RANKS["a"], "b": [2, 1]}, n_items=3), "leave it out",
        comparison(FULL_RANKS), BOTH_RR),
    "unknown correction": Remedy(
        comparison(BOTH, relevant=HELD, correction="bonferoni"), "known: none, holm",
        comparison(BOTH, relevant=HELD, correction="holm"), BOTH_RR),
    "unknown tie policy": Remedy(
        comparison(BOTH, relevant=HELD, ties="odd"), "known: expected",
        comparison(BOTH, relevant=HELD, ties="expected"), BOTH_RR),
    "unknown sampling": Remedy(
        sampled_comparison(TRUE_RANKS, sampling="uniform"), "known: without-replacement",
        sampled_comparison(TRUE_RANKS, sampling="without-replacement"), (1 / 2, 1 / 4)),
    "unknown estimator": Remedy(
        sampled_comparison(TRUE_RANKS, "rank"), "known: sampled",
        sampled_comparison(TRUE_RANKS, "sampled"), (1 / 2, 1 / 4)),
    "two recommenders of one name": Remedy(
        comparison({1: SCORES, "1": -SCORES}, relevant=HELD), "rename one",
        comparison({1: SCORES, "2": -SCORES}, relevant=HELD), BOTH_RR),
    "visits of one recommender": Remedy(
        comparison({"a": VISIT_RANKS["a"], "b": full_ranks([2] * 4)}), "visit_id .*for all",
        comparison(VISIT_RANKS), VISITS_RR),
    "visits of one recommender, by a column": Remedy(
        comparison({"a": VISIT_RANKS["a"], "b": full_ranks([2] * 4)}), "a column visit_id",
        comparison({"a": VISITS_A, "b": VISITS_B}, n_items=3), VISITS_RR),
    "size beside ranks": Remedy(
        comparison(VISIT_RANKS, n_items=3), "n_items does not go with Ranks; leave it out",
        comparison(VISIT_RANKS), VISITS_RR),
    "users without ids, by users": Remedy(
        comparison({"a": full_ranks([1, 2, 3]), "b": full_ranks([2, 3])}), "users=",
        comparison({"a": full_ranks([1, 2, 3], users=[1, 2, 3]),
            "b": full_ranks([2, 3], users=[1, 3])}),
        COMMON_RR),
    "users without ids, by a column": Remedy(
        comparison({"a": full_ranks([1, 2, 3]), "b": full_ranks([2, 3])}), "column user_id",
        comparison({"a": USERS_A, "b": USERS_B}, n_items=3), COMMON_RR),
}  # fmt: skip

# Sampled ranks whose second true rank is three times as likely as the first.
PEAKED_RANKS = np.repeat(np.arange(1, 42), [150, 450, 450] + 38 * [51])
PEAKED_SAMPLE = 1 + hypergeom.rvs(40, PEAKED_RANKS - 1, 40, random_state=1)


def hit_rate_range_holds(**options: Any) -> bool:
    result = sm.correct(PEAKED_SAMPLE, "hr@1", "sampled", n_items=41, n_negatives=40, **options)[0]
    return 0.02 < result.range_low <= np.mean(PEAKED_RANKS == 1) <= result.range_high < 0.1


SHAPE_REMEDIES = {
    "ranks that contradict a shape": Remedy(
        hit_rate_range_holds, "Give shape=3", lambda: hit_rate_range_holds(shape=3), True),
}  # fmt: skip


LISTS = {"u": ["a", "b"], "v": ["a", "b"]}
OTHER_LISTS = {"u": ["b", "a"], "v": ["b", "a"]}
LISTS_TEST = {"u": ["a"], "v": ["b"]}

# plan: the exact metrics that it plans for


def planned(*data: Any, metrics: str = "hr@1", **options: Any) -> Callable[[], Any]:
    def run() -> tuple[float, float]:
        result = sm.plan(*data, metrics=metrics, sizes=[1], **options)[0]
        return result.exact_a, result.exact_b

    return run


def planned_effect(metrics: str = "hr@10", **changes: Any) -> Callable[[], Any]:
    return planned(metrics=metrics, **{**ASSUMED, **changes})


FIRST, SECOND = [1, 2, 1, 3], [3, 3, 2, 1]
HITS = (1 / 2, 1 / 4)
RANKED = {"x": full_ranks(FIRST), "y": full_ranks(SECOND)}
ASSUMED = {"effect": 0.1, "value": 0.2, "n_items": 300, "n_users": 50}
VECTORS = np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.2]])
OTHER_VECTORS = VECTORS[0], -VECTORS[1]
LABELLED = pd.DataFrame(
    {"user_id": [1, 1, 2, 2], "score": [0.9, 0.1, 0.2, 0.3], "label": [1, 0, 1, 0]}
)

PLAN_REMEDIES = {
    "a dictionary and b": Remedy(
        planned(RANKED, full_ranks(FIRST)), "dictionary of both", planned(RANKED), HITS),
    "metrics in the place of b": Remedy(
        lambda: sm.plan(RANKED, "hr@1"), "metrics=", planned(RANKED), HITS),
    "three recommenders": Remedy(
        planned({name: full_ranks(FIRST) for name in "xyz"}), "for two recommenders",
        planned(RANKED), HITS),
    "no rankings": Remedy(planned(), "give rankings", planned(FIRST, SECOND, n_items=3), HITS),
    "no rankings, by an effect": Remedy(
        planned(), "effect and value", planned_effect(), (0.2, 0.3)),
    "rankings of one recommender": Remedy(
        planned(FIRST, n_items=3), "the other as b", planned(FIRST, SECOND, n_items=3), HITS),
    "dictionaries of columns": Remedy(
        planned({"rank": FIRST}, {"rank": SECOND}, n_items=3), "dictionary of both",
        planned({"x": {"rank": FIRST}, "y": {"rank": SECOND}}, n_items=3), HITS),
    "users beside visits": Remedy(
        planned(VISITS_A, VISITS_B, n_items=3, n_users=4), "leave it out",
        planned(VISITS_A, VISITS_B, n_items=3), (1 / 2, 0.0)),
    **{
        f"no {name}": Remedy(
            planned_effect(**{name: None}), f"needs {name}", planned_effect(), (0.2, 0.3))
        for name in ASSUMED
    },
    "effect on two metrics": Remedy(
        planned_effect("hr@10, ndcg@10"), "one metric", planned_effect(), (0.2, 0.3)),
    "effect in percent": Remedy(
        planned_effect(effect=10), "between 0 and 1", planned_effect(effect=0.10), (0.2, 0.3)),
    "effect beside rankings": Remedy(
        planned(FIRST, SECOND, **ASSUMED), "leave them out",
        planned(FIRST, SECOND, n_items=3), HITS),
    "effect beyond the best value": Remedy(
        planned_effect(value=0.95), "a smaller effect",
        planned_effect(value=0.95, effect=0.04), (0.95, 0.99)),
    "value below that of a random order": Remedy(
        planned_effect(value=0.01), "random order.*another value",
        planned_effect(value=0.05), (0.05, 0.15)),
    "vectors": Remedy(
        planned(VECTORS, OTHER_VECTORS), "`compare` takes them, with relevant",
        comparison({"a": VECTORS, "b": OTHER_VECTORS}, metrics="hr@1", relevant=[0, 0]),
        (1 / 2, 1 / 2)),
    "scores": Remedy(
        planned(SCORES, -SCORES), r"Ranks.from_scores\(scores, relevant\)",
        planned(sm.Ranks.from_scores(SCORES, HELD), sm.Ranks.from_scores(-SCORES, HELD)),
        (0.0, 1 / 2)),
    "lists": Remedy(
        planned({"x": LISTS, "y": OTHER_LISTS}),
        r"Ranks.from_lists\(lists, relevant, complete=True\)",
        planned(sm.Ranks.from_lists(LISTS, LISTS_TEST, complete=True),
            sm.Ranks.from_lists(OTHER_LISTS, LISTS_TEST, complete=True)),
        (1 / 2, 1 / 2)),
    "functions": Remedy(
        planned(lambda users: SCORES[users], lambda users: -SCORES[users]),
        r"Ranks.from_function\(score, relevant\)",
        planned(sm.Ranks.from_function(lambda users: SCORES[users], HELD),
            sm.Ranks.from_function(lambda users: -SCORES[users], HELD)),
        (0.0, 1 / 2)),
    "scores, by a table of ranks": Remedy(
        planned(SCORES, -SCORES), "a table of user_id and rank",
        planned(pd.DataFrame({"user_id": [1, 2], "rank": [2, 3]}),
            pd.DataFrame({"user_id": [1, 2], "rank": [2, 1]}), n_items=3),
        (0.0, 1 / 2)),
    "labelled pairs": Remedy(
        planned(LABELLED, LABELLED), "Ranks.from_pairs",
        planned(sm.Ranks.from_pairs(LABELLED), sm.Ranks.from_pairs(LABELLED)), (1 / 2, 1 / 2)),
    "sampled ranks": Remedy(
        planned(sampled_ranks([1, 2], 2), sampled_ranks([1, 2], 2)), "`correct` takes them",
        lambda: value_of(sm.correct(sampled_ranks([1, 2], 2), "hr@1", "sampled")), 1 / 2),
    "ranks without a size": Remedy(
        planned(FIRST, SECOND), "give n_items", planned(FIRST, SECOND, n_items=3), HITS),
    "ranks in a table without a size": Remedy(
        planned(USERS_A, USERS_B), "column n_candidates",
        planned(USERS_A.assign(n_candidates=3), USERS_B.assign(n_candidates=3)), (1 / 2, 0.0)),
    "several held-out items": Remedy(
        planned(*(sm.Ranks.from_scores(SCORES, [[2, 1], [0]]),) * 2), "one held-out item each",
        planned(*(sm.Ranks.from_scores(SCORES, [[1], [0]]),) * 2), (1 / 2, 1 / 2)),
}  # fmt: skip


# check and reported: the range of the exact metric


def checked(rows: Any, metric: str = "hr@1", **options: Any) -> Callable[[], Any]:
    def run() -> list[float]:
        result = sm.check(rows, metric, **options)[0]
        return [result.range_low, result.range_high]

    return run


def reported_range(printed: Any, **options: Any) -> Callable[[], Any]:
    def run() -> list[float]:
        arguments = {"n_items": 2, "n_negatives": 1, **options}
        result = sm.reported(printed, **arguments)[0]
        return [result.range_low, result.range_high]

    return run


ROW = {"HR@1": "0.7", "n_items": 2, "n_negatives": 1}
WITHOUT_ITEMS = {"HR@1": "0.7", "n_negatives": 1}
WITHOUT_NEGATIVES = {"HR@1": "0.7", "n_items": 2}
SIZES = {"n_items": 2, "n_negatives": 1}
RANGE = [0.65, 0.75]
ALL_OTHERS = {"n_items": 101, "n_negatives": 100}
SECOND_LIKELIER = {"HR@1": "0.10", "HR@2": "0.28"}  # 0.10 at rank 1, 0.18 at rank 2
EQUAL_AT_10_AND_50 = {"HR@10": "0.70", "HR@50": "0.70"}
PERCENT_RANGE = [0.695, 0.705]

CHECK_REMEDIES = {
    "no metric, by a column": Remedy(
        checked([{"accuracy": "0.7", **SIZES}]), "column such as HR@10", checked([ROW]), RANGE),
    "no metric, by printed": Remedy(
        checked([{"accuracy": "0.7", **SIZES}]), "or printed",
        checked([{"printed": "HR@1=0.7", **SIZES}]), RANGE),
    "no n_items, by a column": Remedy(
        checked([WITHOUT_ITEMS]), "add a column.*give n_items", checked([ROW]), RANGE),
    "no n_items, by an argument": Remedy(
        checked([WITHOUT_ITEMS]), "add a column.*give n_items",
        checked([WITHOUT_ITEMS], n_items=2), RANGE),
    "no n_negatives, by a column": Remedy(
        checked([WITHOUT_NEGATIVES]), "add a column.*give n_negatives", checked([ROW]), RANGE),
    "no n_negatives, by an argument": Remedy(
        checked([WITHOUT_NEGATIVES]), "add a column.*give n_negatives",
        checked([WITHOUT_NEGATIVES], n_negatives=1), RANGE),
    "number without a metric": Remedy(
        checked([{"printed": "HR@1 0.7", **SIZES}]), "such as HR@10=",
        checked([{"printed": "HR@1=0.7", **SIZES}]), RANGE),
    "number in percent": Remedy(
        checked([{**ROW, "HR@1": "70"}]), "write 0.7", checked([ROW]), RANGE),
    "metric under two names": Remedy(
        checked([{**ROW, "hit@1": "0.7"}]), "give it once", checked([ROW]), RANGE),
    "dictionary of columns, as a DataFrame": Remedy(
        checked({key: [value] for key, value in ROW.items()}), "a DataFrame",
        checked(pd.DataFrame({key: [value] for key, value in ROW.items()})), RANGE),
    "row without names": Remedy(
        checked([["0.7", 2, 1]]), "expected a dictionary", checked([ROW]), RANGE),
    "more negatives than items": Remedy(
        checked([{**ROW, "n_negatives": 2}]), "n_negatives < n_items", checked([ROW]), RANGE),
    "number of items in words": Remedy(
        checked([{**ROW, "n_items": "two"}]), "whole number", checked([ROW]), RANGE),
    "metric without a cut-off": Remedy(
        checked([ROW], "hit"), "as in hit@10", checked([ROW], "hit@1"), RANGE),
    "unknown sampling": Remedy(
        checked([{**ROW, "sampling": "uniformly"}]), "known: without-replacement",
        checked([{**ROW, "sampling": "without-replacement"}]), RANGE),
    "unknown shape": Remedy(
        checked([ROW], shape="steep"), "expected non-increasing",
        checked([ROW], shape="non-increasing"), RANGE),
    "printed numbers, empty": Remedy(
        reported_range({}), "a dictionary", reported_range({"HR@1": "0.7"}), RANGE),
    "printed number alone": Remedy(
        reported_range(0.7), "a dictionary", reported_range({"HR@1": 0.7}), RANGE),
    "printed number in percent": Remedy(
        reported_range({"HR@1": 70}), "write 0.7", reported_range({"HR@1": 0.7}), RANGE),
    "printed text without a sign": Remedy(
        reported_range("HR@1 0.7"), "HR@10=0.8245", reported_range("HR@1=0.7"), RANGE),
    "printed number twice": Remedy(
        reported_range(["HR@1=0.7", "HR@1=0.70"]), "give one of them",
        reported_range(["HR@1=0.70"]), PERCENT_RANGE),
    "printed text that is no number": Remedy(
        reported_range({"HR@1": "0,7"}), "0.8245", reported_range({"HR@1": "0.7"}), RANGE),
    "as many negatives as items": Remedy(
        reported_range({"HR@1": "0.7"}, n_negatives=2), "n_negatives < n_items",
        reported_range({"HR@1": "0.7"}, n_negatives=1), RANGE),
    "items that are not scored": Remedy(
        reported_range(EQUAL_AT_10_AND_50, **ALL_OTHERS, unscored=0), "give unscored",
        reported_range(EQUAL_AT_10_AND_50, **ALL_OTHERS, unscored=0.5), PERCENT_RANGE),
    **{
        f"second rank likelier than the first, {options}": Remedy(
            reported_range(SECOND_LIKELIER, **ALL_OTHERS, **options), "try shape=2",
            reported_range(SECOND_LIKELIER, **ALL_OTHERS, **{**options, "shape": 2}),
            [0.095, 0.105])
        for options in ({"unscored": 0}, {}, {"shape": 1.5})
    },
    "second rank much likelier than the first": Remedy(
        reported_range({"HR@1": "0.01", "HR@2": "0.28"}, **ALL_OTHERS, shape=2), "try shape='none'",
        reported_range({"HR@1": "0.01", "HR@2": "0.28"}, **ALL_OTHERS, shape="none"),
        [0.005, 0.015]),
    "metric of ratings": Remedy(
        reported_range({"rmse": "0.7"}), r"sampled_metrics.rmse\(true, predicted\)",
        lambda: sm.rmse([5.0, 3.0], [4.0, 4.0]), 1.0),
}  # fmt: skip


# check_negatives: the share of negatives that fail a check


NEGATIVES = pd.DataFrame({"user_id": list("aabb"), "item_id": ["z", "x", "z", "w"]})
NAMED_OTHERWISE = NEGATIVES.rename(columns={"user_id": "who"})


def found_share(
    negatives: Any = NEGATIVES,
    seen: Any = (("a", "y"), ("b", "x")),
    check: str = "held-out item",
    **options: Any,
) -> Callable[[], float]:
    """Return a check of negatives of users a and b, whose held-out items are x and y."""
    seen_items = {user: [item] for user, item in seen}

    def run() -> float:
        held_out = {"a": ["x"], "b": ["y"]}
        checks = sm.check_negatives(negatives, held_out, seen_items, **options)
        return {result.name: result.found for result in checks}[check]

    return run


NEGATIVES_REMEDIES = {
    "array of negatives": Remedy(
        found_share(np.array([["z", "x"], ["z", "w"]])), "table of user_id and item_id",
        found_share(), 1),
    "column of another name": Remedy(
        found_share(NAMED_OTHERWISE), "columns=.'user': NAME.",
        found_share(NAMED_OTHERWISE, columns={"user": "who"}), 1),
    "held-out item that is seen, of repeats": Remedy(
        found_share(seen=[("a", "x"), ("b", "z")], check="seen items"), "out of seen",
        found_share(seen=[("b", "z")], check="seen items"), 1),
    "user without a held-out item": Remedy(
        found_share(NEGATIVES.assign(user_id=list("aacc"))), "an id of the relevant items",
        found_share(), 1),
    "items in a table of two dimensions": Remedy(
        found_share(items=np.array([list("wxyz")])), "one id for each item",
        found_share(items=np.array(list("wxyz"))), 1),
}  # fmt: skip


# rmse and mae


def error(*data: Any, function: Callable[..., float] = sm.rmse) -> Callable[[], float]:
    return lambda: function(*data)


TRUE = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 6, 5], "rating": [5.0, 3, 4]})
PREDICTED = pd.DataFrame({"user_id": [2, 1, 1], "item_id": [5, 5, 6], "prediction": [4.0, 4, 5]})
ERROR = np.sqrt((1 + 4 + 0) / 3)
MEAN_ERROR = (1 + 2 + 0) / 3
UNNAMED = PREDICTED.rename(columns={"prediction": "p"})
SPLIT = pd.Series([5.0, 3, 4], [17, 3, 8])  # with the index of the whole data
BY_PAIR = {1: {5: 4.0, 6: 5.0}, 2: {5: 4.0}}
RATING_ROWS = TRUE.to_numpy()
PREDICTED_ROWS = PREDICTED.to_numpy()

RATING_REMEDIES = {
    "one prediction for two ratings": Remedy(
        error([5, 3], [4]), "for each rating", error([5, 3], [4, 5]), np.sqrt(5 / 2)),
    "indexes in another order": Remedy(
        error(TRUE["rating"], pd.Series([4.0, 5, 4], [2, 1, 0]), function=sm.mae),
        "sort both alike",
        error(TRUE["rating"].sort_index(), pd.Series([4.0, 5, 4], [2, 1, 0]).sort_index(),
            function=sm.mae),
        MEAN_ERROR),
    "index of a split": Remedy(
        error(SPLIT, pd.Series([4.0, 5, 4])), r"to_numpy\(\)",
        error(SPLIT.to_numpy(), pd.Series([4.0, 5, 4]).to_numpy()), ERROR),
    "ratings as text": Remedy(
        error(np.array(["5", "3"]), [4, 5]), "expected numbers",
        error(np.array(["5", "3"]).astype(float), [4, 5]), np.sqrt(5 / 2)),
    "pairs without a rating": Remedy(
        error([5, np.nan, 3], [4, 4, 5], function=sm.mae), "without pairs that have no rating",
        error([5, 3], [4, 5], function=sm.mae), 3 / 2),
    "matrix in a DataFrame": Remedy(
        error(pd.DataFrame([[5.0, 3]]), pd.DataFrame([[4.0, 5]])), r"to_numpy\(\) of a matrix",
        error(pd.DataFrame([[5.0, 3]]).to_numpy(), pd.DataFrame([[4.0, 5]]).to_numpy()),
        np.sqrt(5 / 2)),
}  # fmt: skip


REMEDIES = {
    f"{function}: {name}": remedy
    for function, remedies in (
        ("budget", BUDGET_REMEDIES),
        ("compare", COMPARE_REMEDIES),
        ("shape", SHAPE_REMEDIES),
        ("plan", PLAN_REMEDIES),
        ("printed", CHECK_REMEDIES),
        ("check_negatives", NEGATIVES_REMEDIES),
        ("ratings", RATING_REMEDIES),
    )
    for name, remedy in remedies.items()
}


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("name", REMEDIES)
def test_followed_remedy_gives_the_right_number(name: str) -> None:
    assert_remedy_works(REMEDIES[name])


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(
    ("data", "options", "page", "remedy", "followed_data", "followed_options"),
    [
        (SCORES, {"relevant": HELD}, "a.html", "give one", {"a": SCORES}, {"relevant": HELD}),
        ({"a": SCORES}, {}, "a.html", "give relevant", {"a": SCORES}, {"relevant": HELD}),
        ({"a": [2, 3]}, {}, "a.html", "give n_items", {"a": [2, 3]}, {"n_items": 3}),
        ({"a": SCORES}, {"relevant": HELD, "sampling": "with-replacement"}, "a.html",
         "leave it out", {"a": SCORES}, {"relevant": HELD}),
        ({"a": SCORES}, {"relevant": HELD}, "a.txt",
         "known: .html", {"a": SCORES}, {"relevant": HELD}),
    ],
)  # fmt: skip
def test_followed_remedy_of_a_report_gives_the_right_number(
    data, options, page, remedy, followed_data, followed_options, tmp_path
):
    with pytest.raises(sm.InputError, match=remedy):
        sm.report(data, tmp_path / page, "rr", **options)
    sm.report(followed_data, tmp_path / "a.html", "rr", **followed_options)
    assert f">{RR:.3f}<" in (tmp_path / "a.html").read_text()
