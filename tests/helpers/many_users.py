"""300 users and 400 items, for warnings of what is unlikely, and the hit rate at 10.

Each user has seen 12 items, whose scores are too high if they are not left out, and holds out one.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tests.helpers import cases
from tests.helpers.cases import Call
from tests.helpers.forms import InForms, table_forms

N_USERS, N_ITEMS, N_SEEN, N_NEGATIVES, TOP = 300, 400, 12, 50, 20
N_CANDIDATES = N_ITEMS - N_SEEN
USERS = np.arange(N_USERS)
LISTED_USERS = np.repeat(USERS, TOP)
RNG = np.random.default_rng(11)


def table(users: Any, items: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"user_id": users, "item_id": np.ravel(items), **columns})


# Users like 13 items, of which one is held out; popular ones are liked by many.
popularity = 1 / np.arange(10, N_ITEMS + 10)
taste = RNG.normal(size=(N_USERS, 8)) @ RNG.normal(size=(8, N_ITEMS)) / 2
in_order = RNG.permutation(N_ITEMS)
taste = (taste + np.log(popularity))[:, in_order]
POPULARITY = popularity[in_order]
liked = np.argsort(-taste - RNG.gumbel(size=taste.shape), axis=1)[:, : N_SEEN + 1]
held_out = RNG.integers(N_SEEN + 1, size=N_USERS)
HELD_OUT = liked[USERS, held_out]
seen_items = liked[np.arange(N_SEEN + 1) != held_out[:, None]].reshape(N_USERS, N_SEEN)
IS_SEEN = np.zeros((N_USERS, N_ITEMS), bool)
np.put_along_axis(IS_SEEN, seen_items, True, axis=1)

SCORES = taste + RNG.normal(size=taste.shape) / 2 + 2 * IS_SEEN
MASKED = np.where(IS_SEEN, -np.inf, SCORES)
RANKS = 1 + (MASKED[USERS, HELD_OUT][:, None] < MASKED).sum(axis=1)
HIT_RATE = float(np.mean(RANKS <= 10))
SEEN = csr_array(IS_SEEN.astype(float))
TEST, TRAIN = table(USERS, HELD_OUT), table(np.repeat(USERS, N_SEEN), seen_items)


def top_lists(scores: np.ndarray, length: int = TOP) -> pd.DataFrame:
    """Return the best items of each user, best first, with their scores."""
    items = np.argsort(-scores, axis=1, kind="stable")[:, :length]
    of_items = np.take_along_axis(scores, items, axis=1)
    return table(np.repeat(USERS, length), items, score=of_items.ravel())


LISTS = top_lists(MASKED)
UNSCORED = LISTS.drop(columns="score")
WITH_SEEN = top_lists(SCORES, 40)  # of which 28 or more are new
TOP_ITEMS, TOP_SCORES = (LISTS[name].to_numpy().reshape(-1, TOP) for name in ("item_id", "score"))


# Samples: the held-out item and then 50 negatives


def draw_negatives(weights: Any = 1.0, seed: int = 7) -> np.ndarray:
    """Draw new items by weights without replacement."""
    keys = np.log(weights) + np.random.default_rng(seed).gumbel(size=(N_USERS, N_ITEMS))
    keys[IS_SEEN] = -np.inf
    keys[USERS, HELD_OUT] = -np.inf
    return np.argsort(-keys, axis=1)[:, :N_NEGATIVES]


def sample_scores(negatives: np.ndarray) -> np.ndarray:
    return np.take_along_axis(SCORES, np.column_stack([HELD_OUT, negatives]), axis=1)


def labelled_pairs(negatives: np.ndarray) -> pd.DataFrame:
    items = np.column_stack([HELD_OUT, negatives])
    frame = table(np.repeat(USERS, items.shape[1]), items, score=sample_scores(negatives).ravel())
    return frame.assign(label=np.tile(np.arange(items.shape[1]) == 0, N_USERS).astype(int))


NEGATIVES = draw_negatives()
SAMPLE, PAIRS = sample_scores(NEGATIVES), labelled_pairs(NEGATIVES)
SAMPLED_RANKS = 1 + (SAMPLE[:, 1:] > SAMPLE[:, :1]).sum(axis=1)


# Calls whose value is the hit rate, or whether a range contains it


def evaluate(data: Any, relevant: Any = HELD_OUT, **options: Any) -> Call:
    return cases.evaluate(data, "hit@10", relevant=relevant, **options)


def of_ranks(ranks: Any, metrics: str = "hit@10") -> Call:
    frame = pd.DataFrame({"rank": ranks})
    forms = InForms(lambda folder: {"array": ranks} | table_forms(frame, folder))
    return cases.evaluate(forms, metrics, n_items=N_CANDIDATES)


def correct(data: Any, **options: Any) -> Call:
    """Return whether the range contains the hit rate among all candidates."""
    options = {"n_items": N_CANDIDATES, "metrics": "hit@10", "estimators": "cls", **options}
    call = cases.correct(data, **options)
    return call._replace(value=lambda r: int(r[0].range_low <= HIT_RATE <= r[0].range_high))


def of_sampled_ranks(ranks: Any) -> Call:
    frame = pd.DataFrame({"sampled_rank": ranks})
    forms = InForms(lambda folder: {"array": ranks} | table_forms(frame, folder))
    return correct(forms, n_negatives=N_NEGATIVES)
