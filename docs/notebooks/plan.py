# %% [markdown]
# # Plan an evaluation: how many negatives, how many users
#
# How many negatives do you need to see which of two recommenders is
# better? Start from full rankings like those you expect, for example
# of two older recommenders.
#
# ## How many negatives decide an order

# %%
from pathlib import Path

import numpy as np

import sampled_metrics as sm

if Path(
    "A.csv"
).exists():  # yours: exact ranks, columns user_id, rank
    a, b = "A.csv", "B.csv"
else:  # made up: ranks of 5,000 users among 2,000 items
    rng = np.random.default_rng(0)
    rank = 2000 ** rng.random((2, 5000)) ** [[0.8], [1.0]]
    a, b = np.ceil(rank).astype(int)
sm.plan(a, b, "HR@10", n_items=2000)

# %% [markdown]
# You can rely on a range that decides an order; the sign of an
# estimate can be wrong in every draw.

# %% [markdown]
# ## Without rankings
#
# Before anything is ranked, state the value of the metric and the
# difference that you want to detect. Ranks are then assumed to follow
# power laws with these two values, independently for both
# recommenders.

# %%
sm.plan(
    metrics="HR@10",
    effect=0.05,
    value=0.1,
    n_items=3000,
    n_users=6000,
)
