"""What a retriever returns for made-up users: the ten best items of each, and their scores."""

import numpy as np

N_USERS, N_ITEMS = 60, 50
RNG = np.random.default_rng(0)
HELD_OUT = RNG.integers(0, N_ITEMS, N_USERS)
ITEM_SCORES = RNG.normal(size=(N_USERS, N_ITEMS))
ITEM_SCORES[np.arange(N_USERS), HELD_OUT] += 2
TOP_ITEMS = np.argsort(-ITEM_SCORES, axis=1)[:, :10]
TOP_SCORES = np.take_along_axis(ITEM_SCORES, TOP_ITEMS, axis=1)
# of users whose held-out item is among the first five
HIT_RATE = np.mean([HELD_OUT[user] in TOP_ITEMS[user, :5] for user in range(N_USERS)])
