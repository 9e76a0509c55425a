# %% [markdown]
# # Claims from the literature
#
# What do the sampled metrics of published evaluations say about the
# exact ones?
#
# ## Neural Collaborative Filtering
#
# He et al. (WWW 2017) rank the held-out item of MovieLens 1M among 99
# negatives. They published the weights of two of their models, GMF
# and MLP, and the negatives. `config/ncf.yaml` ranks both among all
# items, beside X, Y and Z of the paper, on the same split. The ranks
# are in `results/reference` of the repository; run this notebook in
# the root of a clone. Their HR@10 is the Recall@10 among the
# published negatives:

# %%
from pathlib import Path

import pandas as pd
from scipy.stats import hypergeom

import sampled_metrics as sm

REFERENCE = Path("results/reference")
FULL = {
    "X": "ranks/X.parquet",
    "Y": "ranks/Y.parquet",
    "Z": "ranks/Z.parquet",
    "GMF": "ncf/GMF.parquet",
    "MLP": "ncf/MLP.parquet",
}

rows = {}
for name, path in FULL.items():
    full = sm.Ranks.read(REFERENCE / path)
    sampled = sm.SampledRanks.read(
        REFERENCE / f"ncf/{name}.sampled.parquet"
    )
    (estimate,) = sm.correct(sampled, "recall@10", "sampled")
    (exact,) = sm.evaluate(full, "recall@10")
    span = estimate.range_low, estimate.range_high
    rows[name] = (estimate.value, *span, exact.value)
columns = ["99 negatives", "range from", "to", "exact Recall@10"]
table = pd.DataFrame.from_dict(rows, "index", columns=columns)
table.sort_values("99 negatives", ascending=False).round(4)

# %% [markdown]
# An HR@10 of .67 corresponds to a Recall@10 of .08 over all items,
# and the order is wrong as well: among the published negatives MLP is
# best and Z is worst; over all items Z is best, and Y is better than
# MLP. The ranges contain the exact values, but are too wide to order
# any pair. An evaluation on a budget of 100 scores per user orders
# the pairs that differ enough. The better one of each pair:

# %%
orders = (
    pd.read_csv(REFERENCE / "ncf/orders.csv")
    .query("metric == 'recall@10'")
    .set_index(["a", "b"])
)
names = {
    (a, b): {"a": a, "b": b, "undecided": "undecided"}
    for a, b in orders.index
}
better = orders[["exact_order", "sampled_order", "budget_order"]]
better = better.apply(
    lambda column: [
        names[pair][order] for pair, order in column.items()
    ]
)
better.set_axis(
    ["over all items", "99 negatives", "100 scores on a budget"],
    axis=1,
)

# %% [markdown]
# On a budget, all decided orders are right. `values.csv` and
# `orders.csv` in `results/reference/ncf` also contain NDCG@10 and
# average precision.
#
# ## The negatives of Neural Collaborative Filtering
#
# `sampled-metrics check-negatives` reports on the published ones:

# %%
checks = pd.read_csv(REFERENCE / "ncf/checks.csv")
checks.drop(columns="remark").set_index("name").round(4)

# %% [markdown]
# They are uniform, distinct and unseen, except that for 156 users the
# held-out item is among its own negatives. About this many are
# expected if negatives are drawn from all items that a user has not
# seen in training, without excluding the held-out item:

# %%
float((99 / full.n_candidates).sum())

# %% [markdown]
# ## Rank 1,490 of 10,000 in the top 20
#
# Rank an item together with 100 negatives. At rank 1,490 of 10,000 it
# is in the top 20, unless 20 or more of the 1,489 better items are
# drawn. It is there in 90 % of draws:

# %%
float(hypergeom(9999, 1489, 100).cdf(19))

# %% [markdown]
# ## Recall@10 with 20 negatives
#
# Recommenders built on language models are often evaluated among
# about 20 negatives, because each score is expensive. The top 10 are
# then about half of the list. With 3,541 items, the metric acts like

# %%
one = sm.SampledRanks([1], n_items=3541, n_negatives=20)
(result,) = sm.correct(one, ["recall@10"], ["sampled"])
f"recall@{result.acts_like}"

# %% [markdown]
# that is, it tells how often the held-out item is in the better half
# of the catalogue. If scores are expensive, see [evaluation on a
# budget](../budget.md).
