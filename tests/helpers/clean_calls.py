"""Calls with data as their owners mean it, about which no warning is due.

Held-out items are drawn by a true preference, and recommenders score by the same preference with
noise. Noise and shape differ from call to call; data is small, so that all calls take seconds.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import sampled_metrics as sm

Calls = dict[str, Callable[[], Any]]

DIMENSIONS = 16
USERS, ITEMS = 400, 1500  # unless a call says otherwise
STRENGTHS = {"weak": 0.12, "usual": 0.25, "strong": 0.35, "very strong": 0.5}
SEEN_PER_USER = 20


class World(NamedTuple):
    """Users and items with vectors, whose inner products are preferences and scores."""

    user_vectors: np.ndarray
    item_vectors: np.ndarray
    scores: np.ndarray
    held_out: np.ndarray  # the item of each user
    relevant: list[np.ndarray]  # one to seven items of each user, the held-out item first
    seen: list[np.ndarray]  # no item that is relevant
    test: pd.DataFrame  # of held-out items
    train: pd.DataFrame  # of seen items


@cache
def world(users: int = USERS, items: int = ITEMS, strength: str = "usual", seed: int = 0) -> World:
    """Draw the items of users by their preference and Gumbel noise, so by a softmax."""
    rng = np.random.default_rng([users, items, seed])
    user_vectors = rng.normal(size=(users, DIMENSIONS))
    lengths = np.exp(rng.normal(0, 0.5, items))  # some items are more popular
    item_vectors = rng.normal(size=(items, DIMENSIONS)) * lengths[:, None]
    scores = user_vectors @ item_vectors.T
    noisy = 1.5 * STRENGTHS[strength] * scores + rng.gumbel(size=scores.shape)
    order = np.argsort(-noisy, axis=1)
    relevant = [row[: 1 + user % 7] for user, row in enumerate(order)]
    seen = [row[7 : 7 + min(SEEN_PER_USER, items // 4)] for row in order]
    held_out = order[:, 0].copy()
    return World(
        user_vectors,
        item_vectors,
        scores,
        held_out,
        relevant,
        seen,
        pd.DataFrame({"user_id": np.arange(users), "item_id": held_out}),
        long_table(seen),
    )


def long_table(items_by_user: list[np.ndarray]) -> pd.DataFrame:
    sizes = [len(items) for items in items_by_user]
    users = np.repeat(np.arange(len(items_by_user)), sizes)
    return pd.DataFrame({"user_id": users, "item_id": np.concatenate(items_by_user)})


def top(scores: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-scores, axis=1)[:, :k]


def scored_lists(scores: np.ndarray, k: int) -> pd.DataFrame:
    items = top(scores, k)
    values = np.take_along_axis(scores, items, axis=1).ravel()
    return long_table(list(items)).assign(score=values)


def exact_ranks(scores: np.ndarray, items: np.ndarray) -> np.ndarray:
    held_out = scores[np.arange(len(scores)), items]
    return 1 + (scores > held_out[:, None]).sum(axis=1)


def sample(data: World, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return each user's held-out item and m other items, drawn uniformly, and their scores."""
    keys = np.random.default_rng([m, seed]).random(data.scores.shape)
    keys[np.arange(len(keys)), data.held_out] = 2.0
    candidates = np.column_stack([data.held_out, np.argsort(keys, axis=1)[:, :m]])
    return candidates, np.take_along_axis(data.scores, candidates, axis=1)


def evaluation(data: Any, metrics: str = "hr@10, ndcg@10", **options: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate(data, metrics, **options)


def catalogues() -> Calls:
    """Catalogues of round and other sizes, as matrices and vectors, with and without `seen`."""
    calls: Calls = {}
    for items in (50, 100, 500, 1000, 1234, 3000):
        data = world(300, items)
        vectors = (data.user_vectors, data.item_vectors)
        held = {"relevant": data.held_out}
        name = f"{items:,} items"
        calls |= {
            f"scores of {name}, no seen": evaluation(data.scores, **held),
            f"scores of {name}, nothing seen": evaluation(data.scores, seen="none", **held),
            f"scores of {name}, seen": evaluation(data.scores, relevant=data.test, seen=data.train),
            f"vectors of {name}, no seen": evaluation(vectors, **held),
            f"vectors of {name}, nothing seen": evaluation(vectors, seen=[], **held),
            f"vectors of {name}, seen": evaluation(vectors, seen=data.seen, **held),
            f"ranked vectors of {name}": lambda vectors=vectors, data=data: sm.evaluate(
                sm.rank(vectors, "none", data.held_out), "hr@10, ndcg@10"
            ),
        }
    return calls


def strengths() -> Calls:
    """Weak and strong recommenders, by all metrics that are usual."""
    calls: Calls = {}
    metrics = "hr@10, ndcg@10, mrr, auc"
    for strength in STRENGTHS:
        data = world(600, 2000, strength)
        vectors = (data.user_vectors, data.item_vectors)
        ranks = exact_ranks(data.scores, data.held_out)
        options = {"relevant": data.held_out, "seen": "none"}
        lists = dict(enumerate(top(data.scores, 20).tolist()))
        relevant = {user: [int(item)] for user, item in enumerate(data.held_out)}
        calls |= {
            f"{strength}, scores": evaluation(data.scores, metrics, **options),
            f"{strength}, vectors, cut-offs only": evaluation(vectors, "hr@20, mrr@20", **options),
            f"{strength}, ranks": evaluation(ranks, metrics, n_items=2000),
            f"{strength}, lists": evaluation(lists, relevant=relevant),
            f"{strength}, best 20 of 2,000": lambda data=data: sm.evaluate(
                sm.Ranks.from_top_k(top(data.scores, 20), data.test, n_items=2000), "hr@10"
            ),
        }
    return calls


def baselines() -> Calls:
    """Recommenders that know popularity or nothing."""
    rng = np.random.default_rng(1)
    popularity = rng.pareto(1.0, ITEMS)
    held_out = rng.choice(ITEMS, USERS, p=popularity / popularity.sum())
    options = {"relevant": held_out, "seen": "none"}
    everybody = np.tile(popularity, (USERS, 1))
    random = rng.random((USERS, ITEMS))
    return {
        "popularity": evaluation(everybody, **options),
        "popularity, as counts with ties": evaluation(np.floor(3 * everybody), **options),
        "popularity, AUC": evaluation(everybody, "auc", **options),
        "popularity, lists": lambda: sm.evaluate(
            sm.Ranks.from_top_k(top(everybody, 50), held_out[:, None]), "hr@10, ndcg@10"
        ),
        "a random baseline": evaluation(random, **options),
        "a random baseline beside popularity": lambda: sm.compare(
            {"popularity": everybody, "random": random}, "hr@10", **options
        ),
    }


def lists() -> Calls:
    """Lists of the best items, in the forms that libraries write."""
    calls: Calls = {}
    data = world()
    relevant = {user: [int(item)] for user, item in enumerate(data.held_out)}
    for k in (5, 10, 20, 50, 100):
        metrics = f"hr@{min(k, 10)}, ndcg@{min(k, 10)}"
        items = top(data.scores, k)
        frame = scored_lists(data.scores, k)
        places = frame.drop(columns="score").assign(rank=np.tile(np.arange(1, k + 1), USERS))
        scores = np.take_along_axis(data.scores, items, axis=1)
        runs = {
            user: dict(zip(items[user].tolist(), scores[user].tolist(), strict=True))
            for user in range(USERS)
        }
        calls |= {
            f"{k} items, dictionary": evaluation(
                dict(enumerate(items.tolist())), metrics, relevant=relevant
            ),
            f"{k} items, dictionary of scores": evaluation(runs, metrics, relevant=relevant),
            f"{k} items, scores in a frame": evaluation(frame, metrics, relevant=data.test),
            f"{k} items, shuffled frame": evaluation(
                frame.sample(frac=1, random_state=0), metrics, relevant=data.test
            ),
            f"{k} items, ranks in a frame": evaluation(places, metrics, relevant=data.test),
            f"{k} items, arrays": evaluation((items, scores), metrics, relevant=data.held_out),
            f"{k} items, known catalogue": lambda items=items, metrics=metrics: sm.evaluate(
                sm.Ranks.from_top_k(items, data.test, n_items=ITEMS, missing="last"), metrics
            ),
        }
    return calls


def several_relevant() -> Calls:
    """Users with one to seven relevant items."""
    data = world()
    marks = csr_array(
        (np.ones(sum(map(len, data.relevant))), np.concatenate(data.relevant),
         np.append(0, np.cumsum([len(items) for items in data.relevant]))),
        shape=(USERS, ITEMS),
    )  # fmt: skip
    table = long_table(data.relevant)
    metrics = "recall@20, ndcg@20, precision@5"
    frame = scored_lists(data.scores, 50)
    by_user = {user: items.tolist() for user, items in enumerate(data.relevant)}
    return {
        "several relevant, columns": evaluation(
            data.scores, "recall@20, ap, auc", relevant=data.relevant, seen=data.seen
        ),
        "several relevant, marks": evaluation(data.scores, metrics, relevant=marks, seen="none"),
        "several relevant, table": evaluation(
            data.scores, metrics, relevant=table, seen=data.train
        ),
        "several relevant, lists": evaluation(frame, metrics, relevant=table),
        "several relevant, dictionaries": evaluation(
            dict(enumerate(top(data.scores, 30).tolist())), metrics, relevant=by_user
        ),
        "several relevant, small catalogue": evaluation(
            world(300, 50).scores, "ap, auc", relevant=world(300, 50).relevant, seen="none"
        ),
    }


def grades() -> Calls:
    """Stars from 1 to 5, whose mean follows the preference, as does what users rate."""
    data = world(200, 300)
    rng = np.random.default_rng(3)
    liking = data.scores / data.scores.std() + rng.normal(size=data.scores.shape)
    stars = np.clip(np.round(3 + liking), 1, 5)
    is_rated = rng.random(stars.shape) < 0.2 / (1 + np.exp(-liking))
    rated = np.where(is_rated, stars, 0)
    user, item = np.nonzero(is_rated)
    pairs = pd.DataFrame({"user_id": user, "item_id": item, "label": stars[user, item]})
    scored = pairs.assign(score=data.scores[user, item])
    qrels = {u: {int(i): int(rated[u, i]) for i in np.flatnonzero(rated[u])} for u in range(200)}
    queries = {u: dict(enumerate(data.scores[u].tolist())) for u in range(200)}
    zero_to_four = scored.assign(label=scored["label"] - 1)
    return {
        "grades, matrix": evaluation(data.scores, "ndcg@10", relevant=rated, seen="none"),
        "grades, four stars are relevant": evaluation(
            data.scores, "recall@10, auc", relevant=rated, seen="none", min_relevance=4
        ),
        "grades, rated pairs": evaluation(scored, "auc, hit@1", complete=True, min_relevance=4),
        "grades, pairs from 0": evaluation(
            zero_to_four, "auc, recall@5", complete=True, min_relevance=3
        ),
        "grades, NDCG of pairs from 0": evaluation(zero_to_four, "ndcg@5", complete=True),
        "grades, qrels": evaluation(queries, "ndcg@10, ap", relevant=qrels, seen="none"),
        "grades, lists": evaluation(
            scored_lists(data.scores, 50), "recall@20", relevant=pairs, min_relevance=4
        ),
    }


def impressions() -> Calls:
    """Items shown together, of which one or several are clicked."""
    calls: Calls = {}
    rng = np.random.default_rng(4)
    for n_shown, n_clicks in ((5, 1), (10, 1), (20, 1), (20, 3), (100, 1), (100, 4), (30, 2)):
        n = 300
        score = rng.normal(size=(n, n_shown))
        order = np.argsort(-(score + rng.gumbel(size=score.shape)), axis=1)
        label = (np.argsort(order, axis=1) < n_clicks).astype(int)
        table = pd.DataFrame(
            {
                "impression_id": np.repeat(np.arange(n), n_shown),
                "item_id": np.tile(np.arange(n_shown), n),
                "score": score.ravel(),
                "label": label.ravel(),
            }
        )
        name = f"impressions of {n_shown}, {n_clicks} clicked"
        metrics = "mrr, ndcg@5, auc"
        calls[name] = evaluation(table, metrics, complete=True)
        visits = table.assign(user_id=table["impression_id"] // 3)
        calls[f"{name}, by user"] = evaluation(visits, metrics, complete=True)
    lengths = table[rng.random(len(table)) < np.where(table["label"] == 1, 1.0, 0.5)]
    calls["impressions of different lengths"] = evaluation(lengths, metrics, complete=True)
    return calls


def ranks() -> Calls:
    """Exact ranks that another program computed."""
    calls: Calls = {}
    for items in (300, 1234, 3000):
        data = world(400, items)
        rank = exact_ranks(data.scores, data.held_out)
        table = pd.DataFrame({"user_id": np.arange(400), "rank": rank})
        counts = pd.DataFrame({"n_candidates": items, "n_better": rank - 1, "n_tied": 0})
        metrics = "hr@10, mrr, auc"
        calls |= {
            f"ranks of {items:,}, array": evaluation(rank, metrics, n_items=items),
            f"ranks of {items:,}, table": evaluation(table, metrics, n_items=items),
            f"ranks of {items:,}, counts": evaluation(counts, metrics),
            f"ranks of {items:,}, Ranks": evaluation(
                sm.Ranks([items] * 400, rank - 1, [0] * 400), metrics
            ),
        }
    candidates = ITEMS - np.random.default_rng(5).integers(0, 50, USERS)
    rank = np.minimum(exact_ranks(world().scores, world().held_out), candidates)
    calls["ranks among different numbers"] = evaluation(
        pd.DataFrame({"rank": rank, "n_candidates": candidates}), "hr@10, mrr"
    )
    return calls


def samples() -> Calls:
    """Held-out items among sampled negatives."""
    calls: Calls = {}

    def correction(data: Any, **options: Any) -> Callable[[], Any]:
        return lambda: sm.correct(data, "hr@10", "cls", n_items=ITEMS, **options)

    for m in (20, 50, 99, 100, 500):
        data = world(USERS, ITEMS)
        candidates, scores = sample(data, m)
        rank = exact_ranks(scores, np.zeros(USERS, int))
        pairs = long_table(list(candidates)).assign(score=scores.ravel())
        pairs["label"] = np.tile(np.arange(m + 1) == 0, USERS).astype(int)
        table = pd.DataFrame({"user_id": np.arange(USERS), "sampled_rank": rank})
        calls |= {
            f"{m} negatives, scores": correction(scores, positive=0),
            f"{m} negatives, held-out item last": correction(scores[:, ::-1], positive=-1),
            f"{m} negatives, ranks": correction(rank, n_negatives=m),
            f"{m} negatives, table of ranks": correction(table, n_negatives=m),
            f"{m} negatives, pairs": correction(pairs),
        }
    for strength in ("weak", "strong", "very strong"):
        scores = sample(world(USERS, ITEMS, strength), 100)[1]
        calls[f"100 negatives, {strength}"] = correction(scores, positive=0)
    return calls


def sessions() -> Calls:
    """Several visits of a user, each with its own lists."""
    data = world()
    frame = scored_lists(data.scores, 20).rename(columns={"user_id": "session_id"})
    test = data.test.rename(columns={"user_id": "session_id"})
    users = {"user_id": lambda table: table["session_id"] // 4}
    return {
        "sessions, lists": evaluation(frame, relevant=test),
        "sessions of users, lists": evaluation(
            frame.assign(**users), relevant=test.assign(**users)
        ),
        "sessions, scores": evaluation(data.scores, relevant=data.held_out),
    }


def few_users() -> Calls:
    """Examples of a few users, which may be unlikely by chance."""
    calls: Calls = {}
    for users in (1, 3, 5, 9, 12, 30):
        data = world(users, 200)
        lists_of_users = dict(enumerate(top(data.scores, 10).tolist()))
        relevant = {user: [int(item)] for user, item in enumerate(data.held_out)}
        calls[f"{users} users, scores"] = evaluation(
            data.scores, relevant=data.held_out, seen="none"
        )
        calls[f"{users} users, lists"] = evaluation(lists_of_users, relevant=relevant)
    return calls


def comparisons() -> Calls:
    """Recommenders of the same users."""
    data = world()
    noise = np.random.default_rng(6).normal(size=data.scores.shape)
    models = {"A": data.scores, "B": data.scores + 2 * noise, "C": data.scores + 6 * noise}
    rank = {name: exact_ranks(scores, data.held_out) for name, scores in models.items()}
    sampled = {
        name: exact_ranks(
            np.take_along_axis(scores, sample(data, 100)[0], axis=1), np.zeros(USERS, int)
        )
        for name, scores in models.items()
    }
    run = {name: scored_lists(scores, 20) for name, scores in models.items()}
    options = {"relevant": data.held_out, "seen": data.seen}
    return {
        "comparison of scores": lambda: sm.compare(models, "hr@10, ndcg@10", **options),
        "comparison of scores, no seen": lambda: sm.compare(
            models, "hr@10", relevant=data.held_out
        ),
        "comparison of ranks": lambda: sm.compare(rank, "hr@10, mrr", n_items=ITEMS),
        "comparison of lists": lambda: sm.compare(run, "hr@10", relevant=data.test),
        "comparison of sampled ranks": lambda: sm.compare(
            sampled, "hr@10", n_items=ITEMS, n_negatives=100
        ),
        "plan": lambda: sm.plan(rank["A"], rank["B"], "hr@10", n_items=ITEMS, sizes=[100]),
    }


def other_forms() -> Calls:
    """Functions, masks, types of scores, meters, budgets and negatives."""
    data = world()
    masked = data.scores.copy()
    masked[data.train["user_id"], data.train["item_id"]] = -np.inf
    frame = pd.DataFrame(data.scores).add_prefix("i")
    named = data.test.assign(item_id="i" + data.test["item_id"].astype(str))
    held = {"relevant": data.held_out}
    small = world(60, 200)
    items = pd.DataFrame({"item_id": np.arange(ITEMS)})

    def meter(scores: np.ndarray, positive: Any, **options: Any) -> Callable[[], Any]:
        def compute() -> Any:
            filled = sm.RankMeter("hr@10", **options)
            for rows in np.array_split(np.arange(USERS), 7):
                filled.update(scores[rows], positive if np.ndim(positive) == 0 else positive[rows])
            return filled.compute()

        return compute

    def drawn() -> Any:
        return sm.negatives(data.test, data.train, 50, items=items)

    return {
        "function of users": evaluation(lambda users: data.scores[users], seen=data.seen, **held),
        "function of pairs": evaluation(
            lambda users, items: small.scores[users, items], n_items=200, seen="none",
            relevant=small.held_out,
        ),
        "seen items masked": evaluation(masked, **held),
        "ids in index and columns": evaluation(frame, relevant=named, seen="none"),
        "float32": evaluation(data.scores.astype(np.float32), seen="none", **held),
        "float16": evaluation(data.scores.astype(np.float16), seen="none", **held),
        "sigmoid": evaluation(1 / (1 + np.exp(-data.scores / 4)), seen="none", **held),
        "negative distances": evaluation(data.scores - 100, seen="none", **held),
        "a third of the items unscored": evaluation(
            np.where(np.arange(ITEMS) % 3 == 0, data.scores.min(), data.scores), **held,
            seen="none",
        ),
        "meter, masked": meter(masked, data.held_out),
        "meter, all items": meter(data.scores, data.held_out, n_items=ITEMS),
        "meter, no n_items": meter(data.scores, data.held_out),
        "meter, sample": meter(sample(data, 100)[1], 0, n_items=ITEMS),
        "budget": lambda: sm.evaluate_on_budget(
            small.scores, "hr@10", relevant=small.held_out, seen=csr_array((60, 200)),
            proxy=small.scores + np.random.default_rng(7).normal(size=(60, 200)), budget=60,
        ),
        "negatives": drawn,
        "checked negatives": lambda: sm.check_negatives(
            drawn(), data.test, data.train, items=items
        ),
        "printed numbers": lambda: sm.reported(
            {"HR@10": 0.61, "NDCG@10": 0.35}, "HR@10", n_items=3706, n_negatives=99
        ),
    }  # fmt: skip


def clean_calls() -> Calls:
    """Return all calls by name."""
    groups = (
        catalogues, strengths, baselines, lists, several_relevant, grades, impressions, ranks,
        samples, sessions, few_users, comparisons, other_forms,
    )  # fmt: skip
    calls: Calls = {}
    for group in groups:
        calls |= group()
    return calls
