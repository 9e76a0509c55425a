# %% [markdown]
# # Full rankings
#
# Then rank every item. There is nothing to correct, and it is fast.

# %%
from pathlib import Path

import numpy as np

import sampled_metrics as sm

if Path("scores.npz").exists():  # yours
    file = np.load("scores.npz")
    a, b, held_out, seen = (
        file[name] for name in ("a", "b", "held_out", "seen")
    )
else:  # made up: users x items, higher is better
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 2000, 1000))
    held_out = rng.integers(1000, size=2000)  # an item of each user
    a[np.arange(2000), held_out] += 1.5
    b[np.arange(2000), held_out] += 1.3
    seen = np.zeros(a.shape, bool)  # true at items of training
given = {"relevant": held_out, "seen": seen}
compared = sm.compare({"A": a, "B": b}, "HR@10, NDCG@10", **given)
axes = compared.plot()

# %%
compared

# %% [markdown]
# The bars are intervals of B less A: A is better. `compare`
# also takes tables, functions and files: see [inputs](../inputs.md).
