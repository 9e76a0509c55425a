# %% [markdown]
# # Is my sampler sound?
#
# Corrections and ranges assume uniform negatives. Here are three ways to draw 100 negatives for
# each of 1,000 users out of 2,000 items, one of them right.

# %%
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.sampling.negatives import Drawn, check_negatives, draw_negatives

n_users, n_items, m = 1000, 2000, 100
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

# %% [markdown]
# Corrections and ranges of ranks among popular negatives are wrong, even if these are distinct and
# unseen. A recommender with a Recall@10 of .23, corrected from uniform and from popular negatives:

# %%
scores = np.log(popularity) + rng.normal(size=shape)
scores[users, items[:, :1]] += 0.5
(exact,) = sm.evaluate(scores, "recall@10", relevant=items[:, 0], seen=seen)
drawn_by_popularity = np.log(popularity) + rng.gumbel(size=shape)
drawn_by_popularity[(seen + held_out).toarray() > 0] = -np.inf
negatives = {
    "uniform": draw_negatives(seen + held_out, m, seed=1),
    "popular": np.argsort(-drawn_by_popularity, axis=1)[:, :m],
}
rows = []
for name, drawn in negatives.items():
    among = np.take_along_axis(scores, np.hstack([items[:, :1], drawn]), axis=1)
    (cls,) = sm.correct(among, "recall@10", "cls", positive=0, n_items=n_items - 40)
    rows.append((name, exact.value, cls.value, cls.range_low, cls.range_high))
columns = ["negatives", "exact", "cls", "range from", "to"]
pd.DataFrame(rows, columns=columns).set_index("negatives").round(3)
