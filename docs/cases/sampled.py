# %% [markdown]
# # Sampled ranks
#
# The exact metric is then known only as a *range*, so some orders
# stay open.

# %%
from pathlib import Path

import numpy as np

import sampled_metrics as sm

if Path("scores.npy").exists():  # yours: users x (1 + m)
    scores = np.load("scores.npy")
else:  # made up: the held-out item first, then 100 others
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2000, 101))
    scores[:, 0] += 1.5 * rng.exponential(size=2000)
corrected = sm.correct(scores, "HR@10", positive=0, n_items=5000)
axes = corrected.plot()

# %%
corrected

# %% [markdown]
# The bar is the range. `sampled` is far outside, because it acts like
# the recall at a much larger cut-off. [Estimators and
# ranges](../estimators.md) explains both,
# [negatives](../negatives.md) what is assumed of the 100.
