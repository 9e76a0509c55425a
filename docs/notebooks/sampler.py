# %% [markdown]
# # Is my sampler sound?
#
# Corrections and ranges assume uniform negatives. Here are three ways
# to draw 100 negatives for each of 1,000 users out of 2,000 items,
# one of them right.

# %%
from pathlib import Path

import numpy as np
import pandas as pd

import sampled_metrics as sm

n_users, n_items, m = 1000, 2000, 100
rng = np.random.default_rng(0)
popularity = 1.0 / np.arange(1, n_items + 1) ** 0.8
popularity /= popularity.sum()
liked = np.array(
    [
        rng.choice(n_items, 41, replace=False, p=popularity)
        for _ in range(n_users)
    ]
)


def table(items):
    users = np.repeat(np.arange(len(items)), items.shape[1])
    return pd.DataFrame({"user_id": users, "item_id": items.ravel()})


if Path("negatives.csv").exists():  # yours, columns user_id, item_id
    seen, held_out = "train.csv", "test.csv"
    uniform = "negatives.csv"
else:
    seen, held_out = table(liked[:, 1:]), table(liked[:, :1])
    uniform = sm.negatives(held_out, seen, m)
sm.check_negatives(uniform, held_out, seen)

# %% [markdown]
# ## The first of sorted draws
#
# A public evaluator draws 2 m ids, drops duplicates, which sorts
# them, and keeps the first m.

# %%
known = table(liked[:, :1]), table(liked[:, 1:])
draws = rng.integers(n_items, size=(n_users, 2 * m))
first = np.stack([np.unique(row)[:m] for row in draws])
sm.check_negatives(table(first), *known)

# %% [markdown]
# ## By popularity

# %%
popular = rng.choice(n_items, size=(n_users, m), p=popularity)
sm.check_negatives(table(popular), *known)

# %% [markdown]
# Corrections and ranges of ranks among popular negatives are wrong,
# even if these are distinct and unseen:

# %%
scores = np.log(popularity) + rng.normal(size=(n_users, n_items))
np.put_along_axis(
    scores,
    liked[:, :1],
    np.take_along_axis(scores, liked[:, :1], 1) + 0.5,
    1,
)
(exact,) = sm.evaluate(
    scores, "HR@10", relevant=liked[:, 0], seen=table(liked[:, 1:])
)
by_popularity = np.log(popularity) + rng.gumbel(size=scores.shape)
np.put_along_axis(by_popularity, liked, -np.inf, 1)
negatives = {
    "uniform": sm.negatives(*known, m)["item_id"]
    .to_numpy()
    .reshape(-1, m),
    "popular": np.argsort(-by_popularity, axis=1)[:, :m],
}
rows = []
for name, drawn in negatives.items():
    among = np.take_along_axis(
        scores, np.hstack([liked[:, :1], drawn]), axis=1
    )
    (cls,) = sm.correct(
        among, "HR@10", "cls", positive=0, n_items=n_items - 40
    )
    rows.append(
        (name, exact.value, cls.value, cls.range_low, cls.range_high)
    )
columns = ["negatives", "exact", "cls", "range from", "to"]
pd.DataFrame(rows, columns=columns).set_index("negatives").round(3)
