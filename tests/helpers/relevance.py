"""Metrics of one ranking by their definitions (Eq. 2-6 and other conventions), to compare with."""

from itertools import chain, permutations, product
from math import log2

import numpy as np

from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.ranks import Ranks

ALL_KINDS = (
    *("recall", "recall-micro", "precision", "f1", "f2", "f0.5", "hit", "rr"),
    *("recall-capped", "rr-by-relevant"),
    *("ap", "ap-by-relevant", "ndcg", "ndcg-by-relevant", "ndcg-by-k"),
)


def metric_names(*cutoffs):
    return [
        "auc",
        "auc-micro",
        "ap",
        "rr-by-relevant",
        "r-precision",
        "ndcg",
        "rr",
        *(f"{kind}@{k}" for kind in ALL_KINDS for k in cutoffs),
    ]


def metric_by_definition(name, row):
    """Return the metric of one ranking; `row` says for each place whether its item is relevant."""
    kind, _, cutoff = name.partition("@")
    if kind.startswith("auc"):
        hits = [place for place, hit in enumerate(row) if hit]
        others = [place for place, hit in enumerate(row) if not hit]
        return sum(a < b for a in hits for b in others) / (len(hits) * len(others))
    if kind == "r-precision":
        return sum(row[: sum(row)]) / sum(row)
    k = int(cutoff) if cutoff else len(row)
    return _with_cutoff(kind, k, [place for place, hit in enumerate(row, start=1) if hit])


def _with_cutoff(kind, k, relevant):
    top = [place for place in relevant if place <= k]
    if kind == "hit":
        return float(bool(top))
    if kind == "rr":
        return 1 / top[0] if top else 0.0
    if kind in ("rr-by-relevant", "recall-capped"):
        capped = len(top) / min(len(relevant), k)
        whole = sum(1 / place for place in top) / len(relevant)
        return capped if kind == "recall-capped" else whole
    if kind.startswith("ap"):
        total = sum(nth / place for nth, place in enumerate(top, start=1))
        return total / (min(len(relevant), k) if kind == "ap" else len(relevant))
    if kind.startswith("ndcg"):
        sizes = {
            "ndcg": min(len(relevant), k),
            "ndcg-by-relevant": len(relevant),
            "ndcg-by-k": k,
        }
        ideal = sizes[kind]
        return _discounted_gain(top) / _discounted_gain(range(1, ideal + 1))
    return _precision_and_recall(kind, len(top) / k, len(top) / len(relevant))


def _discounted_gain(places):
    return sum(1 / log2(place + 1) for place in places)


def _precision_and_recall(kind, precision, recall):
    if kind in ("precision", "recall", "recall-micro"):
        return precision if kind == "precision" else recall
    weight = float(kind[1:]) ** 2
    if precision == 0:
        return 0.0
    return (1 + weight) * precision * recall / (weight * precision + recall)


def orders_with_ties(scores):
    """Return every order of the candidates by falling score, as tuples of their indexes."""
    groups = [
        [item for item, score in enumerate(scores) if score == level]
        for level in sorted(set(scores), reverse=True)
    ]
    return [tuple(chain(*order)) for order in product(*map(permutations, groups))]


def ranks_by_user(user, n_better, n_tied, n_relevant, n_candidates, depth):
    """Return ranks of items, given the index of the user of each in increasing order."""
    n_found = np.bincount(np.asarray(user, dtype=int), minlength=len(n_relevant))
    return Ranks(
        n_candidates,
        n_better,
        n_tied,
        n_found=n_found,
        n_relevant=n_relevant,
        depth=depth,
    )


def ranks_of_scores(users, depth=None):
    """Return ranks of users, each given as scores and the indexes of relevant items.

    With a depth, these are the ranks in lists of that length; then scores must not tie.
    """
    rows = []
    for user, (scores, relevant) in enumerate(users):
        for item in relevant:
            better = sum(score > scores[item] for score in scores)
            tied = sum(score == scores[item] for score in scores) - 1
            if depth is None or better < depth:
                rows.append((user, better, tied))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    n = np.array([len(scores) for scores, _ in users], dtype=np.int64)
    count = np.array([len(relevant) for _, relevant in users], dtype=np.int64)
    return ranks_by_user(*columns, count, n, n if depth is None else np.minimum(n, depth))


def ranks_at_places(*places, n, n_relevant=None, depth=None):
    """Return ranks of one user whose relevant items are at these places."""
    better = np.array(places, dtype=np.int64) - 1
    zero = np.zeros_like(better)
    return ranks_by_user(
        zero,
        better,
        zero,
        [n_relevant or len(places)],
        [n],
        [n if depth is None else depth],
    )


def metric_values(name, ranks, *args):
    """Return the metric with a name for each user; further arguments as for `values`."""
    return values(parse_measure(name), ranks, *args)


FIVE_RANKS = np.array([1, 2, 3, 4, 5])  # of 5 candidates


def values_at(name, rank=FIVE_RANKS, n=5):
    """Return the metric with a name for one relevant item at each rank."""
    return parse_measure(name).value_at(rank, n)
