"""Every public function and constructor, with valid arguments."""

import inspect
from functools import partial

import numpy as np

import sampled_metrics as sm
from tests.robustness.values import (
    CANDIDATE_SCORES,
    HELD_OUT,
    ITEMS,
    LISTS,
    N_NEGATIVES,
    NEGATIVES,
    PAIRS,
    RANKS,
    SAMPLED,
    SCORES,
    SEEN,
    TEST,
    TRAIN,
    TWO_MODELS,
    USERS,
)

# These take results of other functions of the package.
INTERNAL: set[str] = set()


def public_names():
    """Names of the functions and constructors of the package, without warnings and errors."""
    names = []
    for name in sm.__all__:
        value = getattr(sm, name)
        if inspect.isclass(value) and issubclass(value, Exception):
            continue
        names.append(name)
        if inspect.isclass(value):
            methods = inspect.getmembers(value, inspect.ismethod)
            names += [f"{name}.{each}" for each, _ in methods if each[0] != "_"]
    return [name for name in names if name not in INTERNAL]


def rank_batches(metrics, n_items, missing, confidence, scores, positive, users):
    """Rank two batches with one meter each, and merge them."""
    meters = []
    for _ in range(2):
        meter = sm.RankMeter(metrics, n_items=n_items, missing=missing, confidence=confidence)
        meter.update(scores, positive, users=users)
        meters.append(meter)
    meters[0].merge(meters[1]).ranks()
    return meters[0].compute()


def rank_negatives(metrics, n_items, n_negatives, sampling, ranks, users):
    """Update a meter with sampled ranks."""
    meter = sm.RankMeter(metrics, n_items=n_items, n_negatives=n_negatives, sampling=sampling)
    meter.update(ranks=ranks, users=users)
    return meter.compute()


def read_records(kind, records, path):
    """Write records to a file and read it."""
    records.write(path)
    return kind.read(path)


def cases():
    """Names, functions and arguments; new objects for each call, because some are changed."""
    vectors = np.random.default_rng(0)
    users, items = vectors.normal(size=(USERS, 4)), vectors.normal(size=(ITEMS, 4))
    full = {"metrics": "recall@3", "relevant": HELD_OUT, "seen": SEEN}
    lists = {"data": LISTS, "metrics": "recall@3", "relevant": TEST, "seen": TRAIN}
    few = {"metrics": "auc", "estimators": "sampled", "n_items": 99}
    budget = {"metrics": "hr@1", "relevant": HELD_OUT, "seen": SEEN, "budget": 20.0}
    printed = {"printed": {"HR@10": 0.5}, "metrics": "HR@10", "n_items": 99}
    rows = [
        {
            "n_items": 99,
            "n_negatives": 20,
            "n_users": 50,
            "HR@1": "0.2",
            "HR@5": "0.5",
        }
    ]
    whole = LISTS.assign(label=(LISTS["item_id"] == np.repeat(HELD_OUT, ITEMS)).astype(int))
    top = np.argsort(-SCORES, axis=1)
    ranks = sm.Ranks([9, 9], [1, 2], [0, 0])
    sampled = sm.SampledRanks([1, 2], 50, 9)
    results = sm.correct(sampled, "hit@1", "sampled", shape="none")
    both = {"ranks": np.array([1, 2, 5]), "users": [1, 2, 3]}
    return [
        ("evaluate", sm.evaluate, {"data": SCORES, **full, "confidence": 0.9}),
        ("evaluate", sm.evaluate, {**lists, "complete": True, "min_relevance": 0.0}),
        ("evaluate", sm.evaluate, {"data": RANKS, "metrics": "auc", "n_items": ITEMS}),
        ("values_by_user", sm.values_by_user,
         {"data": SCORES, **full, "ties": "random", "seed": 1}),
        ("correct", sm.correct,
         {"data": CANDIDATE_SCORES, **few, "positive": 0, "ties": "random", "sampling": None}),
        ("correct", sm.correct, {"data": PAIRS, **few, "seed": 0, "shape": 1.5}),
        ("correct", sm.correct, {"data": SAMPLED, **few, "n_negatives": N_NEGATIVES}),
        ("compare", sm.compare, {"data": TWO_MODELS, **full, "correction": "holm"}),
        ("compare", sm.compare,
         {"data": {"A": CANDIDATE_SCORES, "B": CANDIDATE_SCORES[::-1]}, **few, "positive": 0}),
        ("report", sm.report,
         {"data": TWO_MODELS, **full, "path": "page.html", "ties": "expected"}),
        ("rank", sm.rank,
         {"score": SCORES, "seen": SEEN, "relevant": HELD_OUT, "users": None, "items": None}),
        ("rank", sm.rank,
         {"score": (users, items), "seen": None, "relevant": SEEN, "block_size": 5}),
        ("draw_sampled_ranks", sm.draw_sampled_ranks, {"ranks": ranks, "m": 3, "seed": vectors}),
        ("reported", sm.reported, {**printed, "n_negatives": 20, "n_users": 50, "runs": 1}),
        ("check", sm.check, {"table": rows, "metric": "hit@5", "n_items": None}),
        ("plan", sm.plan,
         {"a": RANKS, "b": RANKS[::-1], "metrics": "auc", "n_items": ITEMS, "sizes": [2, 5]}),
        ("plan", sm.plan, {"effect": 0.1, "value": 0.3, "n_items": 99, "n_users": 50}),
        ("negatives", sm.negatives,
         {"relevant": TEST, "seen": TRAIN, "n_negatives": 3, "items": None, "seed": 0}),
        ("negatives", sm.negatives,
         {"relevant": TEST, "seen": TRAIN, "n_negatives": 3, "design": "half", "counts": TRAIN}),
        ("check_negatives", sm.check_negatives,
         {"negatives": NEGATIVES, "relevant": TEST, "seen": TRAIN, "items": None}),
        ("check_negatives", sm.check_negatives,
         {"negatives": NEGATIVES, "relevant": TEST, "seen": TRAIN, "counts": TRAIN}),
        ("evaluate_on_budget", sm.evaluate_on_budget,
         {"recommender": SCORES, **budget, "proxy": "popularity", "candidates": None}),
        ("rmse", sm.rmse, {"true": [1.0, 2.0], "predicted": [1.5, 2.5]}),
        ("mae", sm.mae, {"true": [1.0, 2.0], "predicted": [1.5, 2.5]}),
        ("Ranks", sm.Ranks,
         {"n_candidates": [9, 9], "n_better": [1, 2], "n_tied": [0, 0], "users": ["a", "b"]}),
        ("Ranks", ranks.at_least, {"min_relevance": 1}),
        ("Ranks", ranks.replace, {"source": "x", "users": [3, 4]}),
        ("Ranks", ranks.write, {"path": "written.parquet", "items": None}),
        ("Ranks.concatenate", sm.Ranks.concatenate, {"parts": [ranks, ranks]}),
        ("Ranks.from_factors", sm.Ranks.from_factors,
         {"user_vectors": users, "item_vectors": items, "relevant": HELD_OUT, "seen": SEEN}),
        ("Ranks.from_function", sm.Ranks.from_function,
         {"score": lambda users: SCORES[users], "relevant": HELD_OUT, "n_items": ITEMS,
          "seen": SEEN}),
        ("Ranks.from_lists", sm.Ranks.from_lists,
         {"recommended": LISTS, "relevant": TEST, "seen": TRAIN, "complete": True}),
        ("Ranks.from_pairs", sm.Ranks.from_pairs, {"pairs": whole, "min_relevance": 0.0}),
        ("Ranks.from_ranks", sm.Ranks.from_ranks, {"ranks": RANKS, "n_items": ITEMS}),
        ("Ranks.from_scores", sm.Ranks.from_scores,
         {"scores": SCORES, "relevant": HELD_OUT, "seen": SEEN, "up_to": None}),
        ("Ranks.from_table", sm.Ranks.from_table,
         {"table": {"n_candidates": [9], "n_better": [1], "n_tied": [0]}, "n_items": None}),
        ("Ranks.from_top_k", sm.Ranks.from_top_k,
         {"ids": top, "relevant": HELD_OUT, "scores": None, "users": None}),
        ("Ranks.read", partial(read_records, sm.Ranks, ranks), {"path": "ranks.parquet"}),
        ("SampledRanks", sm.SampledRanks,
         {"sampled_ranks": [1, 2], "n_items": 50, "n_negatives": 9, "users": [3, 4]}),
        ("SampledRanks", sampled.write, {"path": "written.parquet"}),
        ("correct", results.parts, {"intervals": True}),
        ("correct", results.plot, {"exact": {"hit@1": 0.5}, "axes": None}),
        ("SampledRanks.from_pairs", sm.SampledRanks.from_pairs,
         {"pairs": PAIRS, "n_items": 99, "missing": "refuse"}),
        ("SampledRanks.from_scores", sm.SampledRanks.from_scores,
         {"scores": CANDIDATE_SCORES, "positive": 0, "n_items": 99, "seed": 0}),
        ("SampledRanks.from_table", sm.SampledRanks.from_table,
         {"table": {"sampled_rank": [1, 2]}, "n_items": 50, "n_negatives": 9}),
        ("SampledRanks.read", partial(read_records, sm.SampledRanks, sampled),
         {"path": "sampled.parquet"}),
        ("RankMeter", rank_batches,
         {"metrics": "recall@3", "n_items": None, "missing": "refuse", "confidence": 0.9,
          "scores": SCORES, "positive": HELD_OUT, "users": None}),
        ("RankMeter", rank_negatives,
         {"metrics": "auc", "n_items": 50, "n_negatives": 9, "sampling": None, **both}),
    ]  # fmt: skip
