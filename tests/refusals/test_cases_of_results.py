"""What `compare`, `plan`, `check` and others refuse, and that their suggestions are right.

Samples of all other items (n_negatives = n_items - 1) have the true ranks, so that ranges of exact
metrics are known: from printed numbers, the number and half a unit of its last digit.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import dok_array
from scipy.stats import hypergeom

import sampled_metrics as sm
from sampled_metrics.budget.model import MOST_DEPTH
from tests.helpers.cases import (
    OMIT,
    Call,
    Case,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
)
from tests.helpers.results import value_of
from tests.helpers.world import (
    HELD,
    LABELLED,
    LISTS,
    RANKS,
    RR,
    SCORES,
    TEST,
    TEST_PAIRS,
    WIDE,
    score_pairs,
    score_users,
)

pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
# The scores in the other order, by which the ranks are 2 and 1.
REVERSED, OTHER_RR = -SCORES, (1 / 2 + 1) / 2
NO_ONE = [-1, -1]

# evaluate_on_budget: a budget for all candidates gives exact metrics.


def budget(recommender: Any = SCORES, metrics: str = "mrr", **options: Any) -> Call:
    """Return the value of the two users, of whom each has three candidates."""
    arguments = {"relevant": HELD, "seen": np.zeros((2, 3)), "budget": 9, **options}
    if "candidates" in options:
        del arguments["seen"]
    named = {"recommender": recommender, "metrics": metrics, **arguments}
    return Call(sm.evaluate_on_budget, named, lambda result: result.estimates[0][0].value)


RNG = np.random.default_rng(1)
MANY_SCORES = RNG.random((1000, 300))
MANY_HELD = RNG.integers(0, 300, 1000)
MANY_SCORES[np.arange(1000), MANY_HELD] += 0.5
MANY_RANKS = 1 + (MANY_SCORES[np.arange(1000), MANY_HELD][:, None] < MANY_SCORES).sum(axis=1)
MANY_HIT_RATE = float(np.mean(MANY_RANKS <= 20))


def interval_contains_hit_rate(result: Any) -> bool:
    """Return whether the interval of a budget contains the exact metric, and excludes others."""
    estimate = result.estimates[0][0]
    return 0.1 < estimate.low <= MANY_HIT_RATE <= estimate.high < 0.9


SMALL_BUDGET = budget(
    MANY_SCORES, "hr@20", relevant=MANY_HELD, seen=np.zeros(MANY_SCORES.shape), budget=2
)._replace(value=interval_contains_hit_rate)
LONG_SCORES = RNG.random((2, MOST_DEPTH + 9))
LONG_SCORES[:, :2] = [[0.3, 0.9], [0.0, 0.2]]  # the first item of user b has the last rank
LONG_CUTOFF = MOST_DEPTH + 1
DEEP = budget(LONG_SCORES, f"hr@{LONG_CUTOFF}", relevant=[0, 0], seen=np.zeros(LONG_SCORES.shape),
    budget=MOST_DEPTH + 9)  # fmt: skip
ALL_ITEMS = np.ones((2, 3))
SEEN = pd.DataFrame({"user_id": ["a", "b"], "item_id": ["x", "z"]})
BY_ID = {"relevant": TEST_PAIRS, "seen": SEEN}  # 2nd of two candidates each
SEVERAL = {"relevant": [[2, 1], [0]]}  # ranks 1 and 2 of user a, 3 of user b
NAN_SCORE = np.where(SCORES == 0.1, np.nan, SCORES)
WITH_FACTORS = SimpleNamespace(user_factors=SCORES, item_factors=SCORES)

BUDGET_CASES = [
    Case("neither seen nor candidates: seen", budget(seen=None), "pass one of them",
         {"seen": np.zeros((2, 3))}, RR),
    Case("neither seen nor candidates: nothing seen", budget(seen=None), "seen='none'",
         {"seen": "none", "proxy": SCORES}, RR),
    Case("neither seen nor candidates: candidates", budget(seen=None), "pass one of them",
         {"candidates": ALL_ITEMS, "proxy": SCORES}, RR),
    Case("ids and positions: tables", budget(WIDE, relevant=TEST_PAIRS), "pass all as tables",
         {"seen": SEEN}, (1 / 2 + 1 / 2) / 2),
    Case("ids and positions: without", budget(seen=SEEN), "as tables, or none",
         {"seen": [[0], [2]]}, (1 / 2 + 1 / 2) / 2),
    Case("seen held-out item, repeats", budget(seen=[[2], []]), "drop these pairs from seen",
         {"seen": [[], []]}, RR),
    Case("seen held-out item, new items", budget(WIDE, relevant=TEST_PAIRS, seen=TEST_PAIRS[:1]),
         "or from relevant", {"relevant": TEST_PAIRS[1:]}, 1 / 3),
    Case("no size", budget(score_pairs, seen=[[], []]), "pass items, the number", {"items": 3}, RR),
    Case("another size", budget(items=8), "expected 3", {"items": 3}, RR),
    Case("size in a file", budget(items="items.csv"), "items is 'items.csv', .*whole number"),
    Case("file", budget("scores.npy"), "expected scores", {"recommender": SCORES}, RR),
    Case("name", budget({1: SCORES}), "1 as a name.*text", {"recommender": {"1": SCORES}}, RR),
    Case("nobody", budget({}), "at least one", {"recommender": {"1": SCORES}}, RR),
    Case("less than a round", SMALL_BUDGET, "first round needs 9", {"budget": 9}, True),
    Case("deep cut-off", DEEP, "rank fully",
         evaluate(LONG_SCORES, f"hr@{LONG_CUTOFF}", relevant=[0, 0]), (1 + 0) / 2),
    Case("no estimate", budget(metrics="rr-by-relevant"), "known:.*mrr", {"metrics": "mrr"}, RR),
    Case("several held-out items", budget(metrics="hr@2", **SEVERAL), "use recall@k",
         {"metrics": "recall@2"}, (1 + 0) / 2),
    Case("several held-out items: ap", budget(metrics="mrr", **SEVERAL), "or ap",
         {"metrics": "ap"}, (1 + 1 / 3) / 2),
    Case("unknown proxy", budget(proxy="popular"), "expected popularity",
         {"proxy": "popularity"}, RR),
    Case("popularity without seen items", budget(candidates=ALL_ITEMS), "pass scores as proxy",
         {"proxy": -SCORES}, RR),
    Case("scores without ids", budget(SCORES, **BY_ID), "DataFrame with index and columns",
         {"recommender": WIDE}, 1 / 2),
    Case("user without candidates", budget(candidates=[[2], [1]], proxy=SCORES),
         "at least one per user", {"candidates": [[1], [1]]}, (1 / 2 + 1 / 2) / 2),
    Case("function of users", budget(score_users, items=3), "function that scores pairs",
         {"recommender": score_pairs}, RR),
    Case("nan", budget(NAN_SCORE), "expected a finite number",
         {"recommender": np.where(SCORES == 0.1, -9.0, SCORES)}, RR),
    Case("model with factors", budget(WITH_FACTORS), r"\(model.user_factors, model.item_factors\)"),
    Case("class", budget(SimpleNamespace), "recommender: scores: found type"),
    Case("class as proxy", budget(proxy=SimpleNamespace), "proxy: scores: found type"),
]  # fmt: skip


@each_case(BUDGET_CASES)
def test_wrong_budgets_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# compare: values of both recommenders


def both_values(results: Any) -> tuple[float, float]:
    return results[0].value_a, results[0].value_b


def compare(data: Any, estimators: Any = None, metrics: str = "rr", **options: Any) -> Call:
    named = {"data": data, "metrics": metrics, "estimators": estimators, **options}
    return Call(sm.compare, named, both_values)


def compare_samples(data: Any, estimators: Any = None, **options: Any) -> Call:
    """Return a comparison of HR@1 among all other items, whose range has the true difference."""

    def run(data: Any, estimators: Any = None, **sizes: Any) -> tuple[float, float]:
        result = sm.compare(data, "hr@1", estimators, **sizes)[0]
        a, b = (value_of(sm.correct(each, "hr@1", "sampled", **sizes)) for each in data.values())
        assert result.range_low <= b - a <= result.range_high
        return a, b

    arguments = {"data": data, "estimators": estimators, "n_items": 3, "n_negatives": 2, **options}
    return Call(run, arguments, tuple)


def of_sizes(ranks: Any, m: int = 2) -> sm.SampledRanks:
    return sm.SampledRanks(ranks, n_negatives=m, n_items=m + 1)


def full(ranks: Any, **options: Any) -> sm.Ranks:
    return sm.Ranks.from_ranks(ranks, 3, **options)


BOTH = {"a": SCORES, "b": REVERSED}
BOTH_RR = (RR, OTHER_RR)
FULL = {"a": full([2, 3]), "b": full([2, 1])}
WHOLE = sm.Ranks.from_scores(SCORES, HELD)
TRUE_RANKS, HITS = {"a": [1, 2, 3, 1], "b": [2, 3, 3, 1]}, (2 / 4, 1 / 4)
TRUE_RR = ((1 + 1 / 2 + 1 / 3 + 1) / 4, (1 / 2 + 1 / 3 + 1 / 3 + 1) / 4)
VISITS = pd.DataFrame({"user_id": [1, 1, 2, 2], "visit_id": [1, 2, 1, 2]})
VISITS_A, VISITS_B = VISITS.assign(rank=[1, 2, 1, 3]), VISITS.assign(rank=[2] * 4)
VISITS_RR = ((1 + 1 / 2 + 1 + 1 / 3) / 4, 1 / 2)
VISIT_RANKS = {
    name: full(table["rank"], users=table["user_id"], visits=table["visit_id"])
    for name, table in (("a", VISITS_A), ("b", VISITS_B))
}
NO_VISITS = {**VISIT_RANKS, "b": full([2] * 4)}
USERS_A = pd.DataFrame({"user_id": [1, 2, 3], "rank": [1, 2, 3]})
USERS_B = pd.DataFrame({"user_id": [1, 3], "rank": [2, 3]})
COMMON_RR = ((1 + 1 / 3) / 2, (1 / 2 + 1 / 3) / 2)
UNEQUAL = {"a": full([1, 2, 3]), "b": full([2, 3])}
SAMPLES = {"a": [[0.5, 0.1, 0.9], [0.2, 0.8, 0.6]], "b": [[0.9, 0.1, 0.5], [0.2, 0.8, 0.6]]}
OF_SCORES = {"relevant": HELD}

COMPARE_CASES = [
    Case("list", compare([SCORES, REVERSED], **OF_SCORES), "dictionary by name", {"data": BOTH},
         BOTH_RR),
    Case("one", compare({"a": SCORES}, **OF_SCORES), "pass two or more", {"data": BOTH}, BOTH_RR),
    Case("name of a tuple", compare({("a", 1): SCORES, "b": REVERSED}, **OF_SCORES),
         "expected text", {"data": {"a, 1": SCORES, "b": REVERSED}}, BOTH_RR),
    Case("name of nan", compare({"a": SCORES, np.nan: SCORES}, **OF_SCORES), "name"),
    Case("one name twice", compare({1: SCORES, "1": REVERSED}, **OF_SCORES), "rename one",
         {"data": {1: SCORES, "2": REVERSED}}, BOTH_RR),
    Case("no relevant items", compare(BOTH), "pass relevant", OF_SCORES, BOTH_RR),
    Case("nobody has a relevant item", compare(BOTH, relevant=NO_ONE), "a: no user has"),
    Case("estimators beside full rankings", compare(BOTH, "sampled", **OF_SCORES),
         "drop them", {"estimators": OMIT}, BOTH_RR),
    Case("estimators without negatives", compare_samples(TRUE_RANKS, "sampled").but(
         n_negatives=OMIT), "pass n_negatives", {"n_negatives": 2}, HITS),
    Case("sampling beside ranks", compare(TRUE_RANKS, n_items=3, sampling="with-replacement"),
         "drop it", {"sampling": OMIT}, TRUE_RR),
    Case("sampling beside scores", compare(BOTH, sampling="distinct", **OF_SCORES), "sampling",
         {"sampling": OMIT}, BOTH_RR),
    Case("complete beside samples", compare_samples(TRUE_RANKS, complete=True),
         "complete cannot be used.*drop it", {"complete": OMIT}, HITS),
    Case("relevant beside samples", compare_samples(SAMPLES, positive=0, relevant=HELD,
         n_negatives=None), "drop it.*positive", {"relevant": OMIT}, (0, 1 / 2)),
    Case("seen beside samples", compare_samples(SAMPLES, positive=0, seen=SEEN,
         n_negatives=None), "seen", {"seen": OMIT}, (0, 1 / 2)),
    Case("other numbers of negatives",
         compare({"a": of_sizes([1, 2, 3, 1]), "b": of_sizes([1] * 4, 3)}), "in the same way",
         compare_samples(TRUE_RANKS), HITS),
    Case("full and sampled", compare({"a": full([1, 2]), "b": of_sizes([1, 2])}),
         "rankings of one kind", {"data": {"a": full([1, 2]), "b": full([2, 2])}}, (3 / 4, 1 / 2)),
    Case("scores and Ranks", compare({"a": SCORES, "b": FULL["b"]}, **OF_SCORES),
         "drop it.*pass a as Ranks",
         {"data": {"a": WHOLE, "b": FULL["b"]}, "relevant": OMIT}, BOTH_RR),
    Case("relevant beside Ranks", compare(FULL, **OF_SCORES), "drop it", {"relevant": OMIT},
         BOTH_RR),
    Case("scores and ranks", compare({"a": SCORES, "b": [2, 1]}, **OF_SCORES),
         "drop it, and compare with Ranks.from_scores",
         {"data": {"a": WHOLE, "b": FULL["b"]}, "relevant": OMIT}, BOTH_RR),
    Case("Ranks and ranks", compare({"a": FULL["a"], "b": [2, 1]}, n_items=3), "drop it",
         {"data": FULL, "n_items": OMIT}, BOTH_RR),
    Case("size beside Ranks", compare(VISIT_RANKS, n_items=3),
         "n_items cannot be used with Ranks; drop it", {"n_items": OMIT}, VISITS_RR),
    Case("unknown correction", compare(BOTH, correction="bonferoni", **OF_SCORES),
         "known: none, holm", {"correction": "holm"}, BOTH_RR),
    Case("unknown ties", compare(BOTH, ties="odd", **OF_SCORES), "known: expected",
         {"ties": "expected"}, BOTH_RR),
    Case("unknown sampling", compare_samples(TRUE_RANKS, sampling="uniform"),
         "known: without-replacement", {"sampling": "without-replacement"}, HITS),
    Case("unknown estimator", compare_samples(TRUE_RANKS, "rank"), "known: sampled",
         {"estimators": "sampled"}, HITS),
    Case("visits of one", compare(NO_VISITS), "visit_id .*for all", {"data": VISIT_RANKS},
         VISITS_RR),
    Case("visits of one: a column", compare(NO_VISITS), "a column visit_id",
         {"data": {"a": VISITS_A, "b": VISITS_B}, "n_items": 3}, VISITS_RR),
    Case("users without ids", compare(UNEQUAL), "users=",
         {"data": {"a": full([1, 2, 3], users=[1, 2, 3]), "b": full([2, 3], users=[1, 3])}},
         COMMON_RR),
    Case("users without ids: a column", compare(UNEQUAL), "column user_id",
         {"data": {"a": USERS_A, "b": USERS_B}, "n_items": 3}, COMMON_RR),
]  # fmt: skip


@each_case(COMPARE_CASES)
def test_wrong_comparisons_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# plan: the exact metrics that it plans for

EFFECT = {"effect": 0.1, "value": 0.2, "n_items": 300, "n_users": 50}


def plan(a: Any = None, b: Any = None, metrics: str = "hr@1", **options: Any) -> Call:
    named = {"a": a, "b": b, "metrics": metrics, "sizes": [1], **options}
    return Call(sm.plan, named, lambda result: (result[0].exact_a, result[0].exact_b))


def plan_effect(metrics: str = "hr@10", **changes: Any) -> Call:
    """Return a plan for a metric of 0.2, and of 0.3 after a change."""
    return plan(metrics=metrics, **{**EFFECT, **changes})


FIRST, SECOND = [1, 2, 1, 3], [3, 3, 2, 1]  # HITS, as above
RANKED = {"x": full(FIRST), "y": full(SECOND)}
BOTH_LISTS = {"x": LISTS, "y": {user: items[::-1] for user, items in LISTS.items()}}
TWO_PAIRS = LABELLED[LABELLED["item_id"] != "y"]  # ranks 1 and 2
FACTORS = np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.2]])  # item 0 is first and last

PLAN_CASES = [
    Case("a dictionary and b", plan(RANKED, full(FIRST)), "dictionary of both", {"b": None}, HITS),
    Case("metrics in the place of b", plan(RANKED, "hr@1", OMIT).but(), "metrics=",
         {"b": None, "metrics": "hr@1"}, HITS),
    Case("three", plan({name: full(FIRST) for name in "xyz"}), "for two recommenders",
         {"a": RANKED}, HITS),
    Case("nothing", plan(), "pass rankings", {"a": FIRST, "b": SECOND, "n_items": 3}, HITS),
    Case("nothing: an effect", plan(), "effect and value", {**EFFECT, "metrics": "hr@10"},
         (0.2, 0.3)),
    Case("one", plan(FIRST, n_items=3), "the other as b", {"b": SECOND}, HITS),
    Case("columns", plan({"rank": FIRST}, {"rank": SECOND}, n_items=3), "dictionary of both",
         {"a": {"x": {"rank": FIRST}, "y": {"rank": SECOND}}, "b": None}, HITS),
    Case("users beside visits", plan(VISITS_A, VISITS_B, n_items=3, n_users=4), "drop it",
         {"n_users": OMIT}, (2 / 4, 0 / 4)),
    *(Case(f"no {name}", plan_effect(**{name: None}), f"needs {name}", {name: EFFECT[name]},
         (0.2, 0.3)) for name in EFFECT),
    Case("effect on two metrics", plan_effect("hr@10, ndcg@10"), "one metric",
         {"metrics": "hr@10"}, (0.2, 0.3)),
    Case("effect in percent", plan_effect(effect=10), "between 0 and 1", {"effect": 0.10},
         (0.2, 0.3)),
    Case("effect of text", plan_effect(effect="x"), "effect"),
    Case("value of text", plan_effect(value="x"), "value"),
    Case("effect beside rankings", plan(FIRST, SECOND, **EFFECT), "drop them",
         {**dict.fromkeys(EFFECT, OMIT), "n_items": 3}, HITS),
    Case("effect beyond 1", plan_effect(value=0.95), "a smaller effect", {"effect": 0.04},
         (0.95, 0.99)),
    Case("value below a random order", plan_effect(value=0.01), "random order.*another value",
         {"value": 0.05}, (0.05, 0.15)),
    Case("vectors", plan(FACTORS, FACTORS), "use `compare`, with relevant",
         compare({"a": FACTORS, "b": FACTORS}, metrics="hr@1", relevant=[0, 0]), (1 / 2, 1 / 2)),
    Case("scores", plan(SCORES, REVERSED), r"Ranks.from_scores\(scores, relevant\)",
         {"a": WHOLE, "b": sm.Ranks.from_scores(REVERSED, HELD)}, (0, 1 / 2)),
    Case("scores: a table", plan(SCORES, REVERSED), "a table of user_id and rank",
         {"a": RANKS, "b": RANKS.assign(rank=[2, 1]), "n_items": 3}, (0, 1 / 2)),
    Case("lists", plan(BOTH_LISTS), r"Ranks.from_lists\(lists, relevant, complete=True\)",
         {"a": {name: sm.Ranks.from_lists(lists, TEST, complete=True)
             for name, lists in BOTH_LISTS.items()}}, (0, 1 / 2)),
    Case("functions", plan(score_users, score_users), r"Ranks.from_function\(score, relevant\)",
         {"a": sm.Ranks.from_function(score_users, HELD), "b": FULL["b"]}, (0, 1 / 2)),
    Case("labelled pairs", plan(TWO_PAIRS, TWO_PAIRS), "Ranks.from_pairs",
         {"a": sm.Ranks.from_pairs(TWO_PAIRS), "b": sm.Ranks.from_pairs(TWO_PAIRS)},
         (1 / 2, 1 / 2)),
    Case("sampled ranks", plan(of_sizes([1, 2]), of_sizes([1, 2])), "use `correct`",
         correct(of_sizes([1, 2]), metrics="hr@1").but(n_items=OMIT), 1 / 2),
    Case("no size", plan(FIRST, SECOND), "pass n_items", {"n_items": 3}, HITS),
    Case("no size in tables", plan(RANKS, RANKS), "column n_candidates",
         {"a": RANKS.assign(n_candidates=3), "b": RANKS.assign(n_candidates=3)}, (0, 0)),
    Case("several held-out items", plan(*[sm.Ranks.from_scores(SCORES, [[2, 1], [0]])] * 2),
         "one held-out item each", {"a": WHOLE, "b": FULL["b"]}, (0, 1 / 2)),
    Case("nobody", plan(full([1]).take([]), full([1])), "a: no user has"),
]  # fmt: skip


@each_case(PLAN_CASES)
def test_wrong_plans_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# check and reported: the range of the exact metric


def range_of(results: Any) -> list[float]:
    return [results[0].range_low, results[0].range_high]


def check(table: Any, metric: str = "hr@1", **options: Any) -> Call:
    return call_of(sm.check, table, metric, **options)._replace(value=range_of)


def reported(printed: Any, **options: Any) -> Call:
    """Return the range of numbers that are printed of a sample of all of two items."""
    arguments = {"n_items": 2, "n_negatives": 1, **options}
    return call_of(sm.reported, printed, **arguments)._replace(value=range_of)


SIZES = {"n_items": 2, "n_negatives": 1}
ROW, RANGE = {"HR@1": "0.7", **SIZES}, [0.65, 0.75]
NO_ITEMS, NO_NEGATIVES = {"HR@1": "0.7", "n_negatives": 1}, {"HR@1": "0.7", "n_items": 2}
TABLE = {"table": [ROW]}
PRINTED = {"printed": {"HR@1": "0.7"}}
ALL_OTHERS = {"n_items": 101, "n_negatives": 100}
SECOND_LIKELIER = {"HR@1": "0.10", "HR@2": "0.28"}  # 0.10 at rank 1, 0.18 at rank 2
EQUAL_AT_10_AND_50 = {"HR@10": "0.70", "HR@50": "0.70"}

PRINTED_CASES = [
    Case("no metric", check([{"accuracy": "0.7", **SIZES}]), "column such as HR@10", TABLE, RANGE),
    Case("no metric: printed", check([{"accuracy": "0.7", **SIZES}]), "or printed",
         {"table": [{"printed": "HR@1=0.7", **SIZES}]}, RANGE),
    Case("no n_items: a column", check([NO_ITEMS]), "add a column.*pass n_items", TABLE, RANGE),
    Case("no n_items: an argument", check([NO_ITEMS]), "add a column.*pass n_items",
         {"n_items": 2}, RANGE),
    Case("no n_negatives: a column", check([NO_NEGATIVES]), "add a column.*pass n_negatives", TABLE,
         RANGE),
    Case("no n_negatives: an argument", check([NO_NEGATIVES]), "add a column.*pass n_negatives",
         {"n_negatives": 1}, RANGE),
    Case("no sign", check([{"printed": "HR@1 0.7", **SIZES}]), "such as HR@10=",
         {"table": [{"printed": "HR@1=0.7", **SIZES}]}, RANGE),
    Case("percent", check([{**ROW, "HR@1": "70"}]), "write 0.7", TABLE, RANGE),
    Case("two names", check([{**ROW, "hit@1": "0.7"}]), "keep one", TABLE, RANGE),
    Case("columns", check({key: [value] for key, value in ROW.items()}), "a DataFrame",
         {"table": pd.DataFrame({key: [value] for key, value in ROW.items()})}, RANGE),
    Case("no names", check([["0.7", 2, 1]]), "expected a dictionary", TABLE, RANGE),
    Case("more negatives than items", check([{**ROW, "n_negatives": 2}]), "n_negatives < n_items",
         TABLE, RANGE),
    Case("size in words", check([{**ROW, "n_items": "two"}]), "whole number", TABLE, RANGE),
    Case("no cut-off", check([ROW], "hit"), "as in hit@10", {"metric": "hit@1"}, RANGE),
    Case("unknown sampling", check([{**ROW, "sampling": "uniformly"}]),
         "known: without-replacement", {"table": [{**ROW, "sampling": "without-replacement"}]},
         RANGE),
    Case("unknown shape", check([ROW], shape="steep"), "expected non-increasing",
         {"shape": "non-increasing"}, RANGE),
    Case("a lazy table", check(SimpleNamespace(shape=(6, 9), collect=0, lazy=0)),
         "SimpleNamespace; .*table"),
    # reported
    Case("nothing printed", reported({}), "a dictionary", PRINTED, RANGE),
    Case("number alone", reported(0.7), "a dictionary", PRINTED, RANGE),
    Case("printed in percent", reported({"HR@1": 70}), "write 0.7", PRINTED, RANGE),
    Case("printed without a sign", reported("HR@1 0.7"), "HR@10=0.8245", {"printed": "HR@1=0.7"},
         RANGE),
    Case("printed twice", reported(["HR@1=0.7", "HR@1=0.70"]), "pass one of them",
         {"printed": ["HR@1=0.70"]}, [0.695, 0.705]),
    Case("printed with a comma", reported({"HR@1": "0,7"}), "0.8245", PRINTED, RANGE),
    Case("as many negatives as items", reported({"HR@1": "0.7"}, n_negatives=2),
         "n_negatives < n_items", {"n_negatives": 1}, RANGE),
    Case("items that are not scored", reported(EQUAL_AT_10_AND_50, **ALL_OTHERS, unscored=0),
         "pass unscored", {"unscored": 0.5}, [0.695, 0.705]),
    *(Case(f"second rank likelier, {options}",
         reported(SECOND_LIKELIER, **ALL_OTHERS, **options), "try shape=2", {"shape": 2},
         [0.095, 0.105]) for options in ({"unscored": 0}, {}, {"shape": 1.5})),
    Case("second rank much likelier", reported({**SECOND_LIKELIER, "HR@1": "0.01"}, **ALL_OTHERS,
         shape=2), "try shape='none'", {"shape": "none"}, [0.005, 0.015]),
    Case("metric of ratings", reported({"rmse": "0.7"}), r"sampled_metrics.rmse\(true, predicted\)",
         lambda: sm.rmse([5.0, 3.0], [4.0, 4.0]), 1),
    Case("number as a metric", reported({1: 0.5}), "1 is not a metric name"),
    Case("none as a metric", reported({None: 0.5}), "None is not a metric name"),
    Case("tuple as a metric", reported({("a", "b"): 0.5}), "is not a metric name"),
    Case("list of a list", reported({"HR@1": [0.5, [1]]}), "expected a number such as"),
    Case("list of lists of metrics", reported({"HR@1": 0.5}, metrics=[["HR@1"]]),
         "entry of type list"),
    Case("unscored in a list", reported({"HR@1": 0.5}, unscored=[0.1]), "unscored is"),
    Case("unscored in a dictionary", reported({"HR@1": 0.5}, unscored={}), "unscored is"),
    Case("sparse matrix", reported(dok_array((2, 2))), "no printed numbers"),
]  # fmt: skip


@each_case(PRINTED_CASES)
def test_wrong_printed_numbers_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# correct: sampled ranks of which the second true rank is three times as likely as the first

PEAKED = np.repeat(np.arange(1, 42), [150, 450, 450] + 38 * [51])
PEAKED_SAMPLE = 1 + hypergeom.rvs(40, PEAKED - 1, 40, random_state=1)


def range_contains_hit_rate(results: Any) -> bool:
    low, high = range_of(results)
    return 0.02 < low <= np.mean(PEAKED == 1) <= high < 0.1


# negatives and check_negatives: the number of negatives that fail a check

NEGATIVES = pd.DataFrame({"user_id": list("aabb"), "item_id": ["z", "x", "z", "w"]})
NAMED_OTHERWISE = NEGATIVES.rename(columns={"user_id": "who"})
PRESENT = {"relevant": {"a": ["x"], "b": ["y"]}, "seen": {"a": ["y"], "b": ["x"]}}


def found(negatives: Any = NEGATIVES, check: str = "held-out item", **options: Any) -> Call:
    """Return a check of negatives, of which x of user a is a held-out item."""

    def value(checks: Any) -> float:
        return {result.name: result.found for result in checks}[check]

    call = call_of(sm.check_negatives, negatives, **{**PRESENT, **options})
    return call._replace(value=value)


OTHER_CASES = [
    Case("ranks that contradict a shape",
         call_of(sm.correct, PEAKED_SAMPLE, "hr@1", "sampled", n_items=41, n_negatives=40)
             ._replace(value=range_contains_hit_rate), "Pass shape=3", {"shape": 3}, True),
    Case("array of negatives", found(np.array([["z", "x"], ["z", "w"]])),
         "table of user_id and item_id", {"negatives": NEGATIVES}, 1),
    Case("lazy table of negatives", found(SimpleNamespace(shape=(6, 9), collect=0, lazy=0)),
         "negatives: .*SimpleNamespace"),
    Case("column of another name", found(NAMED_OTHERWISE), "columns=.'user': NAME.",
         {"columns": {"user": "who"}}, 1),
    Case("seen held-out item", found(seen={"a": ["x"], "b": ["z"]}, check="seen items"),
         "from seen", {"seen": {"b": ["z"]}}, 1),
    Case("user without a held-out item", found(NEGATIVES.assign(user_id=list("aacc"))),
         "an id of the relevant items", {"negatives": NEGATIVES}, 1),
    Case("items in two dimensions", found(items=np.array([list("wxyz")])), "one id for each item",
         {"items": np.array(list("wxyz"))}, 1),
    Case("item of a huge number", call_of(sm.negatives, [10**12], [[1]], 1),
         "relevant has an item 1000000000000"),
    Case("items of two axes to draw from",
         call_of(sm.negatives, {"u": [1]}, None, 1, items=np.ones((2, 2), int)), r"\(2, 2\)"),
]  # fmt: skip


@each_case(OTHER_CASES)
def test_wrong_shapes_and_negatives_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# rmse and mae


def rmse(true: Any, predicted: Any) -> Call:
    return Call(sm.rmse, {"true": true, "predicted": predicted}, float)


def mae(true: Any, predicted: Any) -> Call:
    return Call(sm.mae, {"true": true, "predicted": predicted}, float)


RATINGS = pd.Series([5.0, 3, 4], [17, 3, 8])  # with the index of the whole data
GUESSES = pd.Series([4.0, 5, 4])  # errors of 1, 2 and 0
SHUFFLED = pd.Series([4.0, 5, 4], [2, 1, 0])
MATRIX, GUESSED = pd.DataFrame([[5.0, 3]]), pd.DataFrame([[4.0, 5]])  # errors of 1 and 2

RATING_CASES = [
    Case("one prediction of two", rmse([5, 3], [4]), "for each rating", {"predicted": [4, 5]},
         np.sqrt((1 + 4) / 2)),
    Case("indexes in another order", mae(pd.Series([5.0, 3, 4]), SHUFFLED), "sort both alike",
         {"predicted": SHUFFLED.sort_index()}, (1 + 2 + 0) / 3),
    Case("index of a split", rmse(RATINGS, GUESSES), r"to_numpy\(\)",
         {"true": RATINGS.to_numpy(), "predicted": GUESSES.to_numpy()}, np.sqrt((1 + 4 + 0) / 3)),
    Case("text", rmse(np.array(["5", "3"]), [4, 5]), "expected numbers",
         {"true": np.array(["5", "3"]).astype(float)}, np.sqrt((1 + 4) / 2)),
    Case("pairs without a rating", mae([5, np.nan, 3], [4, 4, 5]),
         "without pairs that have no rating", {"true": [5, 3], "predicted": [4, 5]}, (1 + 2) / 2),
    Case("matrix in a DataFrame", rmse(MATRIX, GUESSED), r"to_numpy\(\) of a matrix",
         {"true": MATRIX.to_numpy(), "predicted": GUESSED.to_numpy()}, np.sqrt((1 + 4) / 2)),
]  # fmt: skip


@each_case(RATING_CASES)
def test_wrong_ratings_are_refused_with_a_remedy_that_is_right(case: Case) -> None:
    assert_ends_as_expected(case)


# report: the value on the page that is written


def report(data: Any, name: str = "a.html", **options: Any) -> Call:
    """Return the first line of cells of the page of a recommender with an RR of 5 / 12."""
    named = {"data": data, "name": name, "metrics": "rr", **options}

    def write(data: Any, name: str, folder: Path, **options: Any) -> Path:
        sm.report(data, folder / name, **options)
        return folder / name

    return Call(write, named, lambda page: f">{RR:.3f}<" in page.read_text())


REPORT_CASES = [
    Case("no name", report(SCORES, **OF_SCORES), "pass one", {"data": {"a": SCORES}}, True),
    Case("no relevant items", report({"a": SCORES}), "pass relevant", OF_SCORES, True),
    Case("no size", report({"a": [2, 3]}), "pass n_items", {"n_items": 3}, True),
    Case("sampling beside scores",
         report({"a": SCORES}, sampling="with-replacement", **OF_SCORES), "drop it",
         {"sampling": OMIT}, True),
    Case("another suffix", report({"a": SCORES}, "a.txt", **OF_SCORES), "known: .html",
         {"name": "a.html"}, True),
    Case("no file name", report({"a": SCORES}, "a\0b.html", **OF_SCORES), "not a valid file name"),
    Case("nobody has a relevant item", report({"a": SCORES}, relevant=NO_ONE), "a: no user has"),
]  # fmt: skip


@each_case(REPORT_CASES)
def test_wrong_reports_are_refused_with_a_remedy_that_is_right(case: Case, tmp_path: Path) -> None:
    assert isinstance(case.call, Call)
    assert_ends_as_expected(case._replace(call=case.call.but(folder=tmp_path)))
