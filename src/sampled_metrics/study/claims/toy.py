"""Sections 3 and 4.2: metrics of single ranks, and the recommenders A, B and C."""

from collections.abc import Iterable
from functools import cache
from itertools import groupby

import numpy as np

from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling import expected_values
from sampled_metrics.study.claims.registry import Finding, measurement
from sampled_metrics.study.claims.words import by_metric, listed, ranked
from sampled_metrics.study.settings import N_ITEMS
from sampled_metrics.study.toy import PREDICTED_RANKS

RECALL, NDCG, AP, AUC = (parse_measure(name) for name in ("recall@10", "ndcg", "ap", "auc"))
TOP_HEAVY = {"AP": AP, "NDCG": NDCG, "Recall@10": RECALL}
ALL = {"AUC": AUC, **TOP_HEAVY}
HALF_UNIT = 0.0005  # of Tables 1 and 2; closer numbers are equal in print
M = 99  # negatives of Table 2


def exact(measure: Measure) -> dict[str, float]:
    """Exact metric of A, B and C."""
    return {
        name: float(measure.at(np.array(ranks), N_ITEMS).mean())
        for name, ranks in PREDICTED_RANKS.items()
    }


@cache
def _values(measure: Measure, name: str, m: int) -> float:
    ranks = PREDICTED_RANKS[name]
    return float(expected_values(measure, ranks, N_ITEMS, m, Sampling.WITHOUT_REPLACEMENT).mean())


def sampled(measure: Measure, m: int = M) -> dict[str, float]:
    """Expected sampled metric of A, B and C."""
    return {name: _values(measure, name, m) for name in PREDICTED_RANKS}


def orders(measure: Measure, sizes: Iterable[int]) -> str:
    """Orders of the expected sampled metric and the m at which they hold."""
    parts = []
    for order, of_order in groupby(sizes, lambda m: ranked(sampled(measure, m))):
        same = list(of_order)
        at = f"m = {same[0]:,}" + (f" to {same[-1]:,}" if len(same) > 1 else "")
        parts.append(f"{order} at {at}")
    return ", ".join(parts)


@measurement
def _rank_1_against_rank_2_by_ap() -> Finding:
    first, second = AP.at([1, 2], N_ITEMS)
    return Finding(first / second == 2.0, f"{first / second:g}")


@measurement
def _rank_1_against_rank_2_by_ndcg() -> Finding:
    first, second = NDCG.at([1, 2], N_ITEMS)
    return Finding(f"{first / second:.2f}" == "1.58", f"{first / second:.3f} times")


@measurement
def _equal_gains_by_auc() -> Finding:
    top, second, hundred, next_ = AUC.at([1, 2, 100, 101], N_ITEMS)
    gains = top - second, hundred - next_
    return Finding(abs(gains[0] - gains[1]) < 1e-12, f"{gains[1]:.6f} and {gains[0]:.6f}")


@measurement
def _best_by_auc() -> Finding:
    values = exact(AUC)
    return Finding(ranked(values).startswith("A"), listed(values, 3))


@measurement
def _best_by_top_heavy_metrics() -> Finding:
    values = {name: exact(measure) for name, measure in TOP_HEAVY.items()}
    holds = all(ranked(of_metric).startswith("C >") for of_metric in values.values())
    return Finding(
        holds, by_metric({name: listed(of_metric, 3) for name, of_metric in values.items()})
    )


@measurement
def _ap_of_c_over_a_and_b() -> Finding:
    values = exact(AP)
    ratios = {name: values["C"] / values[name] for name in "AB"}
    holds = all(round(ratio) == 10 for ratio in ratios.values())
    return Finding(holds, f"C over A {ratios['A']:.2f}, over B {ratios['B']:.2f}")


@measurement
def _worst_by_sampled_ap() -> Finding:
    values = sampled(AP)
    return Finding(ranked(values).endswith("> C"), listed(values, 3))


@measurement
def _a_and_b_equal_by_exact_metrics() -> Finding:
    values = {name: exact(measure) for name, measure in ALL.items()}
    holds = all(abs(of_metric["A"] - of_metric["B"]) < HALF_UNIT for of_metric in values.values())
    pairs = {
        name: f"{of_metric['A']:.3f} and {of_metric['B']:.3f}" for name, of_metric in values.items()
    }
    return Finding(holds, by_metric(pairs))


@measurement
def _sampled_ap_of_a_over_b() -> Finding:
    values = sampled(AP)
    ratio = values["A"] / values["B"]
    return Finding(round(ratio) == 2, f"{ratio:.2f}")


@measurement
def _orders_change() -> Finding:
    before = {name: ranked(exact(measure), HALF_UNIT) for name, measure in TOP_HEAVY.items()}
    after = {name: ranked(sampled(measure), HALF_UNIT) for name, measure in TOP_HEAVY.items()}
    holds = all(before[name][0] != after[name][0] for name in TOP_HEAVY) and (
        after["AP"][-1] == before["AP"][0]
    )
    changes = {name: f"{before[name]} becomes {after[name]}" for name in TOP_HEAVY}
    return Finding(holds, by_metric(changes))


@measurement
def _ndcg_and_recall_disagree() -> Finding:
    changes = {}
    for name in ("NDCG", "Recall@10"):
        changes[name] = ranked(exact(TOP_HEAVY[name])), ranked(sampled(TOP_HEAVY[name]))
    holds = all(before != after for before, after in changes.values())
    return Finding(holds, by_metric({k: f"{b} becomes {a}" for k, (b, a) in changes.items()}))


@measurement
def _only_auc_keeps_the_order() -> Finding:
    kept = [
        name
        for name, measure in ALL.items()
        if ranked(exact(measure), HALF_UNIT) == ranked(sampled(measure), HALF_UNIT)
    ]
    return Finding(kept == ["AUC"], f"order kept at m = {M}: {', '.join(kept)}")


def _at_sizes(order: str, sizes: Iterable[int]) -> Finding:
    seen = {ranked(sampled(AP, m)) for m in sizes}
    return Finding(seen == {order}, orders(AP, range(1, 601)))


@measurement
def _order_below_50() -> Finding:
    return _at_sizes("A > C > B", range(1, 50))


@measurement
def _order_near_200() -> Finding:
    return _at_sizes("A > B > C", [190, 200, 210])


@measurement
def _order_near_500() -> Finding:
    return _at_sizes("C > A > B", [475, 500, 525])


@measurement
def _order_of_large_samples() -> Finding:
    values = sampled(AP, N_ITEMS - 1)
    return Finding(ranked(values, HALF_UNIT) == "C > A = B", listed(values, 4))


@measurement
def _orders_by_ndcg() -> Finding:
    sizes = geometric_sizes(1, N_ITEMS - 1, 41)
    in_words = orders(NDCG, sizes)
    return Finding(in_words.count(" at m") > 1, in_words)


@measurement
def _size_for_a_consistent_recall() -> Finding:
    def best(m: int) -> float:
        values = sampled(RECALL, m)
        return values["C"] - max(values["A"], values["B"])

    def equal(m: int) -> float:
        values = sampled(RECALL, m)
        return HALF_UNIT - abs(values["A"] - values["B"])

    sizes = geometric_sizes(1, N_ITEMS - 1, 41)
    first, last = (smallest_from(lead, sizes) or 0 for lead in (best, equal))
    return Finding(
        first <= last and abs(last - 5000) <= 500,
        f"C > A = B from m = {last:,} on; C is the best from m = {first:,} on",
    )


@measurement
def _only_auc_is_consistent_for_all_m() -> Finding:
    sizes = geometric_sizes(1, N_ITEMS - 1, 41)
    kept = [
        name
        for name, measure in ALL.items()
        if all(ranked(sampled(measure, m)) == ranked(exact(measure)) for m in sizes)
    ]
    moves = max(
        abs(sampled(AUC, m)[name] - value) for m in sizes for name, value in exact(AUC).items()
    )
    return Finding(
        kept == ["AUC"] and moves < 1e-9,
        f"order kept at all of {len(sizes)} m: {', '.join(kept)}; AUC moves by {moves:.0e}",
    )


@measurement
def _orders_by_each_metric() -> Finding:
    sizes = geometric_sizes(1, N_ITEMS - 1, 41)
    numbers = {
        name: len({ranked(sampled(measure, m), 1e-12) for m in sizes})
        for name, measure in TOP_HEAVY.items()
    }
    holds = all(number > 1 for number in numbers.values())
    return Finding(holds, by_metric({name: f"{number} orders" for name, number in numbers.items()}))
