# %% [markdown]
# # Is my sampler sound?
#
# Corrections and ranges assume uniform negatives. Here are three ways to draw 20 negatives for
# each of 1,000 users out of 2,000 items, one of them right.

# %%
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from sampled_metrics.sampling.negatives import draw_negatives
from sampled_metrics.sampling.soundness import Drawn, check_negatives

n_users, n_items, m = 1000, 2000, 20
rng = np.random.default_rng(0)
popularity = 1.0 / np.arange(1, n_items + 1) ** 0.8
popularity /= popularity.sum()
items = np.array([rng.choice(n_items, 41, replace=False, p=popularity) for _ in range(n_users)])
users = np.arange(n_users)[:, np.newaxis]
shape = (n_users, n_items)
seen = csr_array(
    (np.ones(n_users * 40), (np.repeat(np.arange(n_users), 40), items[:, 1:].ravel())), shape
)
held_out = csr_array((np.ones(n_users), (np.arange(n_users), items[:, 0])), shape)


def checked(negatives):
    drawn = Drawn(np.repeat(np.arange(n_users), m), negatives.ravel(), seen, held_out)
    return pd.DataFrame(check_negatives(drawn)).set_index("name")


# %% [markdown]
# ## Uniform

# %%
checked(draw_negatives(seen + held_out, m, seed=1))

# %% [markdown]
# ## The first of sorted draws
#
# A public evaluator draws 2 m ids, drops duplicates, which sorts them, and keeps the first m.

# %%
first = np.stack([np.unique(row)[:m] for row in rng.integers(n_items, size=(n_users, 2 * m))])
checked(first)[["passed", "remark"]]

# %% [markdown]
# ## By popularity

# %%
popular = rng.choice(n_items, size=(n_users, m), p=popularity)
checked(popular)[["passed", "remark"]]
