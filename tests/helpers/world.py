"""Two users, three items and a held-out item of each: the data of the tables of cases.

scores  x    y    z     held out   rank   among its negatives
a      0.1  0.9  0.5    z          2      1 of 2 is below
b      0.2  0.8  0.6    x          3      0 of 2 are below
"""

from typing import Any

import numpy as np
import pandas as pd

SCORES = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.6]])
HELD = [2, 0]  # columns of the held-out items
RR = (1 / 2 + 1 / 3) / 2
HIT_2 = (1 + 0) / 2
AUC = (1 / 2 + 0 / 2) / 2

# The same by position: columns best first, and scores of the held-out item and its negatives.
IDS = np.array([[1, 2, 0], [1, 2, 0]])
SAMPLE = np.array([[0.5, 0.1, 0.9], [0.2, 0.8, 0.6]])

# The same by id.
USERS, ITEMS = ["a", "b"], ["x", "y", "z"]
TEST = {"a": ["z"], "b": ["x"]}
LISTS = {"a": ["y", "z", "x"], "b": ["y", "z", "x"]}
WIDE = pd.DataFrame(SCORES, USERS, ITEMS)
TEST_PAIRS = pd.DataFrame({"user_id": USERS, "item_id": ["z", "x"]})
FRAME = pd.DataFrame(
    {"user_id": list("aaabbb"), "item_id": list("yzx") * 2, "score": [0.9, 0.5, 0.1, 0.8, 0.6, 0.2]}
)
LABELLED = FRAME.assign(label=[0, 1, 0, 0, 0, 1])
RANKS = pd.DataFrame({"user_id": USERS, "rank": [2, 3]})
SAMPLED_RANKS = pd.DataFrame({"user_id": USERS, "sampled_rank": [2, 3]})


def score_pairs(users: Any, items: Any) -> np.ndarray:
    return SCORES[users, items]


def score_users(users: Any) -> np.ndarray:
    return SCORES[users]
