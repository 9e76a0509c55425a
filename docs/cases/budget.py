# %% [markdown]
# # Scores at a price
#
# Then ask for about 100 scores per user, chosen where they say most.

# %%
import numpy as np
from scipy.sparse import csr_array

import sampled_metrics as sm

rng = np.random.default_rng(0)  # made up: users x items
taste = rng.normal(size=(2000, 1000)) - np.log(np.arange(1, 1001))
liked = np.argsort(-taste - rng.gumbel(size=taste.shape))[:, :21]
rows = np.repeat(np.arange(2000), 20)
seen = csr_array(
    (np.ones(40000), (rows, liked[:, 1:].ravel())), taste.shape
)


def score(users, items):  # yours: a score of each pair
    return taste[users, items]


given = {"relevant": liked[:, 0], "seen": seen}
result = sm.evaluate_on_budget(score, "HR@10, MRR@10", **given)
exact = sm.evaluate(taste, "HR@10, MRR@10", **given)
axes = result.plot(exact=exact)

# %%
result

# %% [markdown]
# The bars are intervals; here all scores are known, and so are the
# exact values. The [guide](../budget.md) has several recommenders,
# and what to do when it stops.
